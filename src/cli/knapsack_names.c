/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Words and numbers of knapsacks. */
#include <math.h>
#include <string.h>

#include "cli/knapsack.h"

__extension__ typedef __int128 i128;

const char *const cli_knapsack_formats[] = {"auto", "pisinger", "jooken", "plain",
                                            "csv",  "fsu",      NULL};
const char *const cli_knapsack_algorithms[] = {"auto", "brute-force", "horowitz-sahni", "hybrid",
                                               "core", "dense",       "two-list",       NULL};

static unsigned index_of(const char *const *words, const char *word) {
  unsigned i = 0;
  while (strcmp(words[i], word) != 0)
    i++;
  return i;
}

dzo_knapsack_format cli_knapsack_format(const char *name) {
  return (dzo_knapsack_format)index_of(cli_knapsack_formats, name);
}

dzo_knapsack_algorithm cli_knapsack_algorithm(const char *name) {
  return (dzo_knapsack_algorithm)index_of(cli_knapsack_algorithms, name);
}

const char *cli_knapsack_outcome(uint8_t outcome) {
  static const char *const names[] = {"optimal", "feasible", "infeasible"};
  return outcome < 3 ? names[outcome] : "unknown";
}

void cli_knapsack_value_text(const dzo_knapsack_origin *origin, dzo_int128 sum,
                             char text[DZO_DECIMAL_TEXT]) {
  *dzo_put_decimal(text, sum, origin->value_places) = '\0';
}

void cli_knapsack_weight_text(const dzo_knapsack_origin *origin, dzo_int128 sum,
                              char text[DZO_DECIMAL_TEXT]) {
  *dzo_put_decimal(text, sum, origin->weight_places) = '\0';
}

dzo_int128 cli_knapsack_wide(int64_t x) { return (dzo_int128){x < 0 ? -1 : 0, (uint64_t)x}; }

double cli_knapsack_gap(dzo_int128 value, dzo_int128 bound) {
  i128 v = (i128)value.high * ((i128)1 << 64) + value.low;
  i128 b = (i128)bound.high * ((i128)1 << 64) + bound.low;
  if (v == b)
    return 0;
  return v != 0 ? (double)(b - v) / fabs((double)v) : INFINITY;
}

void cli_knapsack_instance(const dzo_knapsack_set *set, uint64_t k, dzo_knapsack_instance *out) {
  uint64_t first = set->offsets[k];
  dzo_knapsack_instance_init(out);
  out->count = set->offsets[k + 1] - first;
  out->values = set->values + first;
  out->weights = set->weights + first;
  out->copies = set->copies != NULL ? set->copies + first : NULL;
  out->capacity = set->capacities[k];
}

dzo_knapsack_read_options cli_knapsack_read_options(const knapsack_settings *s) {
  return (dzo_knapsack_read_options){.format = cli_knapsack_format(s->format),
                                     .capacity = s->capacity,
                                     .value_column = s->value_column,
                                     .weight_column = s->weight_column,
                                     .count_column = s->count_column,
                                     .name_column = s->name_column};
}
