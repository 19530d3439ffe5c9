/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Columns of integers. The first byte chooses the options, the rest is the input. It is read with
 * pieces of two sizes, which must give the same numbers, all within their types. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "io/columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
  dzo_status status;
  uint64_t count, digest;
} outcome;

static void check(int holds, const char *what) {
  if (holds)
    return;
  (void)fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

static void check_message(const dzo_context *context, dzo_status status) {
  const char *message = dzo_context_message(context);
  check(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED || status == DZO_E_MEMORY ||
            status == DZO_E_ARGUMENT || status == DZO_E_IO,
        "another status");
  check(message[0] != '\0', "no message");
  for (; *message != '\0'; message++)
    check(*message >= ' ' && *message <= '~', "an unprintable message");
}

static bool within(dzo_integer type, uint64_t word) {
  if (type == DZO_INTEGER_U32)
    return word <= UINT32_MAX;
  return type != DZO_INTEGER_I32 || ((int64_t)word >= INT32_MIN && (int64_t)word <= INT32_MAX);
}

static void add_piece(const dzo_columns *columns, const dzo_piece *piece, outcome *all) {
  dzo_integer key_type = dzo_columns_key_type(columns);
  dzo_integer words = dzo_columns_is_wide(columns)
                          ? (dzo_integer_is_signed(key_type) ? DZO_INTEGER_I64 : DZO_INTEGER_U64)
                          : key_type;
  check(piece->first == all->count, "rows are left out");
  for (uint64_t i = 0; i < piece->count; i++) {
    uint64_t key = dzo_integer_word(words, piece->keys, i);
    uint64_t value = piece->values != NULL ? piece->values[i] : 1;
    check(within(key_type, key), "a key out of range");
    check(piece->values == NULL || within(dzo_columns_value_type(columns), value),
          "a value out of range");
    all->digest = (all->digest ^ key ^ value << 1) * UINT64_C(0x100000001b3);
  }
  all->count += piece->count;
}

static outcome read_all(dzo_context *context, const uint8_t *data, size_t size,
                        const dzo_columns_options *options, bool widen) {
  outcome all = {DZO_OK, 0, 0};
  dzo_input *input;
  dzo_columns *columns = NULL;
  all.status = dzo_input_open_memory(context, "input", data, size, DZO_INPUT_STREAM, &input);
  if (all.status == DZO_OK) {
    all.status = dzo_columns_open_input(context, input, options, &columns);
    if (all.status != DZO_OK)
      dzo_input_close(input);
  }
  if (all.status == DZO_OK && widen)
    dzo_columns_widen(columns);
  dzo_piece piece = {.count = 1};
  while (all.status == DZO_OK && piece.count > 0) {
    all.status = dzo_columns_next(columns, &piece);
    if (all.status == DZO_OK)
      add_piece(columns, &piece, &all);
  }
  if (all.status != DZO_OK)
    check_message(context, all.status);
  dzo_columns_close(columns);
  return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const columns[] = {NULL, "1", "id", "2"};
  if (size == 0)
    return 0;
  unsigned choice = data[0];
  dzo_columns_options options = {.format = (dzo_columns_format)(choice & 3),
                                 .key_typed = (choice & 4) != 0,
                                 .key_type = (dzo_integer)(choice >> 3 & 3),
                                 .column = columns[choice >> 5 & 3],
                                 .values = (choice & 128) != 0 ? "/nowhere/2" : NULL};
  if (options.format == DZO_COLUMNS_CSV && options.values != NULL)
    options.values = "2";
  dzo_context_options context_options;
  dzo_context *context;
  dzo_context_options_init(&context_options);
  context_options.threads = 2;
  context_options.memory = 1 << 20;
  if (dzo_context_create(&context_options, &context) != DZO_OK)
    return 0;
  outcome whole = read_all(context, data + 1, size - 1, &options, false);
  options.piece = 5;
  outcome pieces = read_all(context, data + 1, size - 1, &options, true);
  if (whole.status == DZO_OK && pieces.status == DZO_OK)
    check(whole.count == pieces.count && whole.digest == pieces.digest,
          "other numbers in other pieces");
  check(dzo_context_memory_used(context) == 0, "memory is not given back");
  dzo_context_destroy(context);
  return 0;
}
