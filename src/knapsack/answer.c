/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/answer.h"

#include "base/memory.h"

static bool add(knapsack_wide *sum, int64_t copies, int64_t number) {
  return !__builtin_add_overflow(*sum, (knapsack_wide)copies * number, sum);
}

bool knapsack_sum(const dzo_knapsack_instance *instance, const int64_t *taken, knapsack_wide *value,
                  knapsack_wide *weight) {
  *value = *weight = 0;
  for (uint64_t i = 0; i < instance->count; i++)
    if (!add(value, taken[i], instance->values[i]) || !add(weight, taken[i], instance->weights[i]))
      return false;
  return true;
}

/* The items with at least one copy. */
static dzo_status list_items(dzo_context *context, uint64_t count, const int64_t *taken,
                             dzo_knapsack *out) {
  uint64_t kinds = 0;
  for (uint64_t i = 0; i < count; i++)
    kinds += taken[i] > 0;
  out->items = dzo_alloc(context, kinds, sizeof *out->items);
  out->copies = dzo_alloc(context, kinds, sizeof *out->copies);
  if (out->items == NULL || out->copies == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < count; i++)
    if (taken[i] > 0) {
      out->items[out->count] = i;
      out->copies[out->count++] = taken[i];
    }
  return DZO_OK;
}

dzo_status knapsack_answer_make(dzo_context *context, const dzo_knapsack_instance *instance,
                                const knapsack_normal *normal, const knapsack_answer *answer,
                                dzo_knapsack *out) {
  int64_t *taken = dzo_alloc(context, instance->count, sizeof *taken);
  if (taken == NULL)
    return DZO_E_MEMORY;
  knapsack_expand(normal, instance->count, answer->taken, taken);
  knapsack_wide value, weight;
  bool right = knapsack_sum(instance, taken, &value, &weight) && weight <= instance->capacity &&
               value == normal->value_base + normal->value_scale * answer->value;
  dzo_status status = right ? list_items(context, instance->count, taken, out)
                            : dzo_fail(context, DZO_E_INTERNAL,
                                       "the items that were found are not worth what they should");
  dzo_free(taken);
  out->value = knapsack_public(value);
  out->weight = knapsack_public(weight);
  out->bound = knapsack_public(normal->value_base + normal->value_scale * answer->bound);
  out->outcome = answer->value == answer->bound ? DZO_KNAPSACK_OPTIMAL : DZO_KNAPSACK_FEASIBLE;
  out->device = answer->device;
  out->nodes = answer->nodes;
  out->cells = answer->cells;
  return status;
}

void dzo_knapsack_destroy(dzo_knapsack *knapsack) {
  if (knapsack == NULL)
    return;
  dzo_free(knapsack->items);
  dzo_free(knapsack->copies);
  dzo_free(knapsack);
}

dzo_knapsack_outcome dzo_knapsack_outcome_of(const dzo_knapsack *k) { return k->outcome; }
dzo_int128 dzo_knapsack_value(const dzo_knapsack *k) { return k->value; }
dzo_int128 dzo_knapsack_weight(const dzo_knapsack *k) { return k->weight; }
dzo_int128 dzo_knapsack_bound(const dzo_knapsack *k) { return k->bound; }
uint64_t dzo_knapsack_count(const dzo_knapsack *k) { return k->count; }
const uint64_t *dzo_knapsack_items(const dzo_knapsack *k) { return k->items; }
const int64_t *dzo_knapsack_copies(const dzo_knapsack *k) { return k->copies; }
dzo_knapsack_algorithm dzo_knapsack_algorithm_of(const dzo_knapsack *k) {
  return k->record.algorithm;
}
dzo_device dzo_knapsack_device(const dzo_knapsack *k) { return k->device; }
uint64_t dzo_knapsack_nodes(const dzo_knapsack *k) { return k->nodes; }
uint64_t dzo_knapsack_cells(const dzo_knapsack *k) { return k->cells; }
const char *dzo_knapsack_plan(const dzo_knapsack *k) { return k->record.plan; }
