/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
/* Columns of integers in pieces of every size, packed and not, and with memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/radix.h"
#include "failing_memory.h"
#include "io/columns.h"

enum { ROWS = 20000, ROOM = 1 << 20 };

static uint64_t keys[ROWS], values[ROWS];
static char plain[ROOM];
static unsigned char packed[2 * ROOM];

static uint64_t random_word(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (*state >> 33) * 0x9e3779b97f4a7c15u;
}

/* ---- Contents -------------------------------------------------------------------------------- */

typedef size_t (*content_fn)(dzo_columns_options *options);

static size_t text_content(dzo_columns_options *options) {
  size_t size = 0;
  options->column = "id";
  options->values = "3";
  size += (size_t)sprintf(plain, "name,\"id\",n\n");
  for (int i = 0; i < ROWS; i++) {
    size += (size_t)sprintf(plain + size, i % 5 == 0 ? "\"x, %d\",%lld,%lld\n" : "%d,%lld,%lld\n",
                            i, (long long)keys[i], (long long)values[i]);
    if (i % 100 == 0)
      size += (size_t)sprintf(plain + size, i % 200 == 0 ? "\n# %d\n" : "  \r\n", i);
  }
  return size - 1; /* the last line has no end */
}

static size_t raw_content(dzo_columns_options *options) {
  options->key_typed = true;
  options->key_type = DZO_INTEGER_I64;
  memcpy(plain, keys, sizeof keys);
  return sizeof keys;
}

static size_t records_content(dzo_columns_options *options) {
  static const char head[] = "{'descr': [('v', '<i8'), ('odd', '|u1'), ('k', '>i8')], "
                             "'fortran_order': False, 'shape': (20000,), }\n";
  size_t size = 10 + sizeof head - 1;
  options->column = "k";
  memcpy(plain, "\x93NUMPY\1\0", 8);
  plain[8] = (char)(sizeof head - 1);
  plain[9] = 0;
  memcpy(plain + 10, head, sizeof head - 1);
  for (int i = 0; i < ROWS; i++) {
    memcpy(plain + size, &values[i], 8);
    plain[size + 8] = (char)i;
    for (int b = 0; b < 8; b++)
      plain[size + 9 + (size_t)b] = (char)(keys[i] >> (56 - 8 * b));
    size += 17;
  }
  return size;
}

static const content_fn contents[] = {text_content, raw_content, records_content};

static size_t pack(size_t size) {
  z_stream z = {.next_in = (unsigned char *)plain,
                .avail_in = (unsigned)size,
                .next_out = packed,
                .avail_out = sizeof packed};
  assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t made = z.total_out;
  assert_int_equal(deflateEnd(&z), Z_OK);
  return made;
}

static int make_numbers(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < ROWS; i++) {
    keys[i] = random_word(&random) >> (random >> 40) % 64;
    keys[i] = (random >> 50 & 1) != 0 ? keys[i] >> 1 : 0 - (keys[i] >> 1);
    values[i] = 0 - (uint64_t)i;
  }
  return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static dzo_status read_all(dzo_context *context, const void *data, size_t size,
                           const dzo_columns_options *options, bool check) {
  dzo_input *input;
  dzo_columns *columns;
  dzo_status status = dzo_input_open_memory(context, "input", data, size, DZO_INPUT_STREAM, &input);
  if (status != DZO_OK)
    return status;
  status = dzo_columns_open_input(context, input, options, &columns);
  if (status != DZO_OK) {
    dzo_input_close(input);
    return status;
  }
  dzo_piece piece = {.count = 1};
  uint64_t rows = 0;
  while (status == DZO_OK && piece.count > 0) {
    status = dzo_columns_next(columns, &piece);
    for (uint64_t i = 0; i < piece.count && status == DZO_OK && check; i++) {
      assert_true(piece.first == rows);
      assert_true(rows + i < ROWS && ((const uint64_t *)piece.keys)[i] == keys[rows + i]);
      assert_true(piece.values == NULL || piece.values[i] == values[rows + i]);
    }
    rows += piece.count;
  }
  if (status == DZO_OK && check)
    assert_int_equal(rows, ROWS);
  dzo_columns_close(columns);
  return status;
}

static void every_piece_size_gives_the_same(void **state) {
  (void)state;
  static const uint64_t pieces[] = {0, 64, 1000, 4096};
  for (int threads = 1; threads <= 3; threads += 2) {
    dzo_context_options context_options;
    dzo_context *context;
    dzo_context_options_init(&context_options);
    context_options.threads = threads;
    assert_int_equal(dzo_context_create(&context_options, &context), DZO_OK);
    for (size_t c = 0; c < sizeof contents / sizeof contents[0]; c++)
      for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        dzo_columns_options options = {.piece = pieces[p]};
        size_t size = contents[c](&options);
        assert_int_equal(read_all(context, plain, size, &options, true), DZO_OK);
        assert_int_equal(read_all(context, packed, pack(size), &options, true), DZO_OK);
      }
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_destroy(context);
  }
}

static void what_fails_gives_its_memory_back(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  int64_t before = memory.alive;
  for (size_t c = 0; c < sizeof contents / sizeof contents[0]; c++)
    for (int is_packed = 0; is_packed < 2; is_packed++) {
      dzo_columns_options options = {.piece = 4096};
      size_t size = contents[c](&options), packed_size = pack(size);
      dzo_status status = DZO_E_MEMORY;
      for (int k = 0; status != DZO_OK; k++) {
        assert_true(k < 200);
        memory.left = k;
        status = is_packed != 0 ? read_all(context, packed, packed_size, &options, true)
                                : read_all(context, plain, size, &options, true);
        memory.left = -1;
        assert_true(status == DZO_OK || status == DZO_E_MEMORY);
        assert_int_equal(memory.alive, before);
      }
    }
  dzo_context_destroy(context);
}

/* What the thread that reads ahead has to say outlives what the context is used for meanwhile. */
static void the_reason_of_a_failure_is_kept(void **state) {
  (void)state;
  dzo_columns_options options = {.piece = 1000};
  size_t size = pack(records_content(&options)) - 100;
  dzo_context *context;
  dzo_input *input;
  dzo_columns *columns;
  dzo_piece piece;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  assert_int_equal(dzo_input_open_memory(context, "input", packed, size, DZO_INPUT_STREAM, &input),
                   DZO_OK);
  assert_int_equal(dzo_columns_open_input(context, input, &options, &columns), DZO_OK);
  dzo_status status;
  do {
    struct timespec pause = {0, 5000000};
    (void)nanosleep(&pause, NULL);
    dzo_begin(context); /* as a batch of a table would */
    status = dzo_columns_next(columns, &piece);
  } while (status == DZO_OK && piece.count > 0);
  assert_int_equal(status, DZO_E_FORMAT);
  assert_non_null(strstr(dzo_context_message(context), "the end is missing"));
  dzo_columns_close(columns);
  dzo_context_destroy(context);
}

/* A reader that is closed halfway stops the thread that reads ahead. */
static void closing_early_is_fine(void **state) {
  (void)state;
  dzo_context *context;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  dzo_columns_options options = {.piece = 512};
  size_t size = pack(text_content(&options));
  for (int taken = 0; taken < 5; taken++) {
    dzo_input *input;
    dzo_columns *columns;
    dzo_piece piece;
    assert_int_equal(
        dzo_input_open_memory(context, "input", packed, size, DZO_INPUT_STREAM, &input), DZO_OK);
    assert_int_equal(dzo_columns_open_input(context, input, &options, &columns), DZO_OK);
    for (int i = 0; i < taken; i++)
      assert_int_equal(dzo_columns_next(columns, &piece), DZO_OK);
    dzo_columns_close(columns);
  }
  dzo_context_cancel(context);
  assert_int_equal(read_all(context, packed, size, &options, false), DZO_E_CANCELLED);
  dzo_context_destroy(context);
}

/* ---- Sorting --------------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sort records of (key, place), where equal keys must keep their places in order. */
static void check_sort(dzo_context *context, uint64_t count, unsigned first, unsigned last) {
  uint64_t random = count + first;
  uint64_t *records = dzo_alloc(context, count, 2 * sizeof *records);
  uint64_t *wanted = malloc((count + 1) * 2 * sizeof *wanted);
  uint64_t mask = last - first == 64 ? UINT64_MAX : (UINT64_C(1) << (last - first)) - 1;
  for (uint64_t i = 0; i < count; i++) {
    records[2 * i] = random_word(&random) % (count * 3 + 1) << first | random % 2;
    records[2 * i + 1] = i;
    wanted[2 * i] = (records[2 * i] >> first & mask) * count + i;
    wanted[2 * i + 1] = records[2 * i];
  }
  qsort(wanted, count, 2 * sizeof *wanted, by_first);
  assert_int_equal(dzo_radix_sort(context, &records, count, 2, 0, first, last, "sort"), DZO_OK);
  for (uint64_t i = 0; i < count; i++) {
    assert_true(records[2 * i] == wanted[2 * i + 1]);
    assert_true(records[2 * i + 1] == wanted[2 * i] % count);
  }
  free(wanted);
  dzo_free(records);
}

static void a_radix_sort_is_stable(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    dzo_context_options options;
    dzo_context *context;
    dzo_context_options_init(&options);
    options.threads = threads;
    assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
    for (uint64_t count = 0; count <= 100000; count = 3 * count + 1) {
      check_sort(context, count, 0, 32);
      check_sort(context, count, 5, 27);
      check_sort(context, count, 32, 64);
      check_sort(context, count, 0, 0);
    }
    dzo_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_piece_size_gives_the_same),
      cmocka_unit_test(what_fails_gives_its_memory_back),
      cmocka_unit_test(the_reason_of_a_failure_is_kept),
      cmocka_unit_test(closing_early_is_fine),
      cmocka_unit_test(a_radix_sort_is_stable),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
