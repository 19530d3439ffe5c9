/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Knapsack instances and solutions. The first byte chooses the options, the rest is the input. What
 * was read is written and read again, and must be the same; the text is also taken as a solution of
 * itself. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "io/decimal.h"
#include "io/knapsack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what) {
  if (holds)
    return;
  (void)fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

static void check_message(const dzo_context *context, dzo_status status) {
  const char *message = dzo_context_message(context);
  check(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED || status == DZO_E_MEMORY ||
            status == DZO_E_ARGUMENT,
        "another status");
  check(message[0] != '\0', "no message");
  for (; *message != '\0'; message++)
    check(*message >= ' ' && *message <= '~', "an unprintable message");
}

static void check_name(const dzo_knapsack_set *set, uint64_t place) {
  if (place != UINT64_MAX)
    check(place < set->text_size && memchr(set->text + place, '\0', set->text_size - place) != NULL,
          "a name outside the text");
}

static void check_set(const dzo_knapsack_set *set) {
  check(set->count > 0 && set->offsets[0] == 0 && set->offsets[set->count] == set->items,
        "instances and items do not go together");
  for (uint64_t k = 0; k < set->count; k++) {
    const dzo_knapsack_origin *o = &set->origins[k];
    check(set->offsets[k] <= set->offsets[k + 1], "offsets descend");
    check(o->value_places >= 0 && o->value_places <= DZO_DECIMAL_PLACES, "places of values");
    check(o->weight_places >= 0 && o->weight_places <= DZO_DECIMAL_PLACES, "places of weights");
    check_name(set, o->name);
  }
  for (uint64_t i = 0; i < set->items; i++) {
    check(set->copies == NULL || set->copies[i] >= 0, "copies below 0");
    if (set->names != NULL)
      check_name(set, set->names[i]);
  }
}

static dzo_status read_bytes(dzo_context *context, const void *data, size_t size,
                             const dzo_knapsack_read_options *options, dzo_knapsack_set *set) {
  dzo_input *input;
  dzo_status status = dzo_input_open_memory(context, "input", data, size, DZO_INPUT_WHOLE, &input);
  if (status != DZO_OK)
    return status;
  status = dzo_knapsack_read_input(context, input, options, set);
  dzo_input_close(input);
  return status;
}

static char *put(char *to, int64_t x, int places) {
  return dzo_put_decimal(to, (dzo_int128){x < 0 ? -1 : 0, (uint64_t)x}, places);
}

/* As plain text, with its decimals. */
static void check_again(dzo_context *context, const dzo_knapsack_set *set) {
  char *text = malloc((set->items + set->count + 1) * 2 * DZO_DECIMAL_TEXT), *to = text;
  static const dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_PLAIN};
  dzo_knapsack_set again = {0};
  if (text == NULL)
    return;
  for (uint64_t k = 0; k < set->count; k++) {
    const dzo_knapsack_origin *o = &set->origins[k];
    to += sprintf(to, "%llu ", (unsigned long long)(set->offsets[k + 1] - set->offsets[k]));
    to = put(to, set->capacities[k], o->weight_places);
    *to++ = '\n';
    for (uint64_t i = set->offsets[k]; i < set->offsets[k + 1]; i++) {
      to = put(to, set->values[i], o->value_places);
      *to++ = ' ';
      to = put(to, set->weights[i], o->weight_places);
      *to++ = '\n';
    }
  }
  dzo_status status = read_bytes(context, text, (size_t)(to - text), &options, &again);
  check(status == DZO_OK && again.count == set->count && again.items == set->items,
        "what was read cannot be read again");
  for (uint64_t k = 0; k < set->count; k++) { /* fewer places may do, if the optimum had most */
    char a[DZO_DECIMAL_TEXT], b[DZO_DECIMAL_TEXT];
    *put(a, set->capacities[k], set->origins[k].weight_places) = '\0';
    *put(b, again.capacities[k], again.origins[k].weight_places) = '\0';
    check(strcmp(a, b) == 0, "another capacity");
    for (uint64_t i = set->offsets[k]; i < set->offsets[k + 1]; i++) {
      *put(a, set->values[i], set->origins[k].value_places) = '\0';
      *put(b, again.values[i], again.origins[k].value_places) = '\0';
      check(strcmp(a, b) == 0, "another value");
    }
  }
  dzo_knapsack_set_release(&again);
  free(text);
}

static void read_solution(dzo_context *context, const uint8_t *data, size_t size,
                          const dzo_knapsack_set *set) {
  dzo_input *input;
  dzo_knapsack_solution solution;
  dzo_status status = dzo_input_open_memory(context, "input", data, size, DZO_INPUT_WHOLE, &input);
  if (status != DZO_OK)
    return;
  status = dzo_knapsack_solution_read_input(context, input, set, &solution);
  if (status != DZO_OK)
    check_message(context, status);
  for (uint64_t i = 0; i < set->items && status == DZO_OK; i++)
    check(solution.taken[i] >= 0, "fewer than no copies");
  dzo_knapsack_solution_release(&solution);
  dzo_input_close(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const capacities[] = {NULL, "10", "2.5", "many"};
  static const char *const columns[] = {NULL, "1", "v", "3"};
  static const char five[] = "5 10.5\n6 3\n5 4\n7.25 5\n5 2\n9 9\n1 4\n1 1\n";
  static const dzo_knapsack_read_options plain = {.format = DZO_KNAPSACK_FILE_PLAIN};
  if (size == 0)
    return 0;
  unsigned choice = data[0];
  dzo_knapsack_read_options options = {.format = (dzo_knapsack_format)((choice & 7) % 5),
                                       .capacity = capacities[choice >> 3 & 3],
                                       .value_column = columns[choice >> 5 & 3],
                                       .count_column = (choice & 128) != 0 ? "n" : NULL};
  dzo_context_options context_options;
  dzo_context *context;
  dzo_knapsack_set set = {0};
  dzo_context_options_init(&context_options);
  context_options.threads = 1;
  context_options.device = DZO_DEVICE_CPU;
  if (dzo_context_create(&context_options, &context) != DZO_OK)
    return 0;
  dzo_status status = read_bytes(context, data + 1, size - 1, &options, &set);
  if (status == DZO_OK) {
    check_set(&set);
    check_again(context, &set);
    read_solution(context, data + 1, size - 1, &set);
  } else {
    check_message(context, status);
    check(set.count == 0 && set.items == 0, "what failed left something");
  }
  check(read_bytes(context, five, sizeof five - 1, &plain, &set) == DZO_OK, "five items");
  read_solution(context, data + 1, size - 1, &set);
  dzo_knapsack_set_release(&set);
  check(dzo_context_memory_used(context) == 0, "memory is not given back");
  dzo_context_destroy(context);
  return 0;
}
