/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/normalize.h"

#include <string.h>

#include "base/clones.h"
#include "base/item.h"
#include "base/memory.h"

/* ---- Where there is nothing to do ------------------------------------------------------------ */

typedef struct facts {
  int64_t value_min, value_max, weight_min, weight_max;
  uint64_t value_low, value_high, weight_low, weight_high; /* sums of 32-bit halves */
} facts;

/* At most 2^30 items, so that sums of halves fit. */
DZO_CLONES static void look(uint64_t count, const int64_t *values, const int64_t *weights,
                            facts *out) {
  facts f = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0, 0, 0, 0};
  for (uint64_t i = 0; i < count; i++) {
    int64_t v = values[i], w = weights[i];
    f.value_min = v < f.value_min ? v : f.value_min;
    f.value_max = v > f.value_max ? v : f.value_max;
    f.weight_min = w < f.weight_min ? w : f.weight_min;
    f.weight_max = w > f.weight_max ? w : f.weight_max;
    f.value_low += (uint32_t)v;
    f.value_high += (uint64_t)v >> 32;
    f.weight_low += (uint32_t)w;
    f.weight_high += (uint64_t)w >> 32;
  }
  *out = f;
}

bool knapsack_is_normal(uint64_t count, const int64_t *values, const int64_t *weights,
                        const int64_t *copies, int64_t capacity, knapsack_problem *problem) {
  if (copies != NULL || count < 2)
    return false;
  facts f;
  look(count, values, weights, &f);
  if (f.value_min < 1 || f.weight_min < 1 || f.weight_max > capacity)
    return false;
  *problem = (knapsack_problem){
      .items = (uint32_t)count,
      .value = values,
      .weight = weights,
      .capacity = capacity,
      .value_sum = ((knapsack_wide)f.value_high << 32) + f.value_low,
      .weight_sum = ((knapsack_wide)f.weight_high << 32) + f.weight_low,
      .value_max = f.value_max,
      .weight_max = f.weight_max,
  };
  return problem->weight_sum > capacity;
}

/* ---- Every other instance -------------------------------------------------------------------- */

/* An item on which something is left to decide: to take up to `copies` of it, or (`back`) to give
 * up to so many back. */
typedef struct entry {
  uint64_t value, weight, copies; /* all at least 1 */
  uint32_t item;
  bool back;
} entry;

typedef struct reduction {
  knapsack_job *job;
  dzo_context *context; /* the job's */
  const dzo_knapsack_instance *instance;
  knapsack_normal *out;
  entry *entries;
  uint64_t count;
  knapsack_wide capacity; /* less what is taken from the start weighs */
} reduction;

/* Items that take no time to speak of. */
enum { POLL = 1 << 19 };

/* Fails once the job has to stop, which is looked at for each so manieth item. */
static dzo_status go_on(reduction *r, uint64_t item) {
  if (item % POLL != POLL - 1 || !knapsack_must_stop(r->job))
    return DZO_OK;
  return r->job->stopped == KNAPSACK_CANCELLED
             ? dzo_fail(r->context, DZO_E_CANCELLED, "cancelled")
             : dzo_fail(r->context, DZO_E_LIMIT, "the time limit was reached");
}

static uint64_t magnitude(int64_t x) { return x < 0 ? -(uint64_t)x : (uint64_t)x; }

/* *sum += a * b, unless that does not fit. */
static bool add_product(knapsack_wide *sum, knapsack_wide a, knapsack_wide b) {
  knapsack_wide product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

static dzo_status too_large(const reduction *r, uint64_t item) {
  return dzo_fail(r->context, DZO_E_UNSUPPORTED,
                  "item %llu: with it, sums of values or weights need more than 128 bits",
                  (unsigned long long)item);
}

static dzo_status begin_with(reduction *r, uint64_t item, int64_t copies) {
  const dzo_knapsack_instance *k = r->instance;
  if (r->out->begun == NULL)
    r->out->begun = dzo_calloc(r->context, k->count, sizeof *r->out->begun);
  if (r->out->begun == NULL)
    return DZO_E_MEMORY;
  r->out->begun[item] = copies;
  if (!add_product(&r->out->value_base, copies, k->values[item]) ||
      !add_product(&r->capacity, -(knapsack_wide)copies, k->weights[item]))
    return too_large(r, item);
  return DZO_OK;
}

/* What is decided by signs alone: an item that costs nothing is taken, one that is worth nothing is
 * left. One that is worth less than nothing but makes room is taken, and may be given back. */
static dzo_status look_at_signs(reduction *r) {
  const dzo_knapsack_instance *k = r->instance;
  for (uint64_t i = 0; i < k->count; i++) {
    int64_t copies = k->copies != NULL ? k->copies[i] : 1, v = k->values[i], w = k->weights[i];
    DZO_TRY(go_on(r, i));
    if (copies < 0)
      return dzo_fail(r->context, DZO_E_ARGUMENT, "item %llu: there cannot be %lld copies of it",
                      (unsigned long long)i, (long long)copies);
    if (copies == 0 || (v <= 0 && w >= 0))
      continue;
    if (w <= 0)
      DZO_TRY(begin_with(r, i, copies));
    if ((v > 0 && w > 0) || (v < 0 && w < 0))
      r->entries[r->count++] =
          (entry){magnitude(v), magnitude(w), (uint64_t)copies, (uint32_t)i, v < 0};
  }
  return DZO_OK;
}

/* Drop what does not fit, and how often it does not. */
static dzo_status look_at_capacity(reduction *r) {
  uint64_t kept = 0;
  for (uint64_t k = 0; k < r->count; k++) {
    entry e = r->entries[k];
    DZO_TRY(go_on(r, k));
    knapsack_wide most = r->capacity <= INT64_MAX
                             ? (knapsack_wide)((uint64_t)r->capacity / e.weight)
                             : r->capacity / (knapsack_wide)e.weight;
    if (most < e.copies)
      e.copies = (uint64_t)most;
    if (e.copies > 0)
      r->entries[kept++] = e;
  }
  r->count = kept;
  return DZO_OK;
}

/* Does all that is left fit? Then it is taken. */
static dzo_status look_at_sums(reduction *r, bool *all_fit) {
  knapsack_wide value = 0, weight = 0, total;
  *all_fit = true;
  for (uint64_t k = 0; k < r->count; k++) {
    const entry *e = &r->entries[k];
    DZO_TRY(go_on(r, k));
    if (!add_product(&value, (knapsack_wide)e->copies, (knapsack_wide)e->value) ||
        __builtin_add_overflow(value, r->out->value_base, &total))
      return too_large(r, e->item);
    if (*all_fit && (!add_product(&weight, (knapsack_wide)e->copies, (knapsack_wide)e->weight) ||
                     weight > r->capacity))
      *all_fit = false;
  }
  if (!*all_fit || r->count == 0)
    return DZO_OK;
  if (r->out->begun == NULL)
    r->out->begun = dzo_calloc(r->context, r->instance->count, sizeof *r->out->begun);
  if (r->out->begun == NULL)
    return DZO_E_MEMORY;
  for (uint64_t k = 0; k < r->count; k++) {
    const entry *e = &r->entries[k];
    r->out->begun[e->item] += e->back ? -(int64_t)e->copies : (int64_t)e->copies;
  }
  r->out->value_base += value;
  r->count = 0;
  return DZO_OK;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Divide by what divides all weights, and all values. Neither changes which sets fit, nor which
 * are best; and bounds then round down to what a set can be worth. */
static dzo_status divide(reduction *r) {
  uint64_t values = 0, weights = 0;
  for (uint64_t k = 0; k < r->count && (values != 1 || weights != 1); k++) {
    DZO_TRY(go_on(r, k));
    values = gcd(r->entries[k].value, values);
    weights = gcd(r->entries[k].weight, weights);
  }
  r->out->value_scale = (knapsack_wide)values;
  r->capacity /= (knapsack_wide)weights;
  if (values == 1 && weights == 1)
    return DZO_OK;
  for (uint64_t k = 0; k < r->count; k++) {
    DZO_TRY(go_on(r, k));
    r->entries[k].value /= values;
    r->entries[k].weight /= weights;
  }
  return DZO_OK;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Bundles of 1, 2, 4, ... copies and the rest, from which every number of copies can be put
 * together; none of them larger than `most`. */
typedef struct bundles {
  uint64_t left, size, most;
} bundles;

static uint64_t next_bundle(bundles *b) {
  uint64_t one = b->size < b->left ? b->size : b->left;
  b->left -= one;
  b->size = b->size <= b->most / 2 ? 2 * b->size : b->most;
  return one;
}

/* How many copies may stand together, so that their value stays a number of the problem. */
static uint64_t most_together(const reduction *r, const entry *e) {
  uint64_t largest = r->out->is_wide ? UINT64_MAX : INT64_MAX;
  uint64_t heavy = largest / e->weight, rich = largest / e->value;
  return heavy < rich ? heavy : rich;
}

static bundles bundles_of(const reduction *r, const entry *e) {
  return (bundles){e->copies, 1, most_together(r, e)};
}

/* Bundles of `most` copies, beyond one an item, with which methods and clocks still get on. */
#define LARGEST_BUNDLES (UINT64_C(1) << 24)

static dzo_status count_bundles(reduction *r, uint64_t *count) {
  uint64_t largest = 0;
  *count = 0;
  for (uint64_t k = 0; k < r->count; k++) {
    bundles b = bundles_of(r, &r->entries[k]);
    for (; b.left > 0 && b.size < b.most; ++*count)
      (void)next_bundle(&b);
    *count += b.left / b.most + (b.left % b.most != 0);
    largest += b.left > b.most ? b.left / b.most - 1 : 0;
    if (*count > DZO_KNAPSACK_ITEMS || largest > LARGEST_BUNDLES)
      return dzo_fail(r->context, DZO_E_UNSUPPORTED,
                      "item %llu: its copies, in bundles whose values and weights are 64-bit "
                      "numbers, make too many items",
                      (unsigned long long)r->entries[k].item);
  }
  return DZO_OK;
}

static dzo_status make_room(reduction *r, uint64_t items) {
  knapsack_normal *n = r->out;
  uint64_t each = sizeof *n->value + sizeof *n->weight + sizeof *n->from + sizeof *n->multiple;
  if (items > knapsack_memory_left(r->job) / each)
    return dzo_fail(r->context, DZO_E_MEMORY, "the memory does not suffice for %llu items",
                    (unsigned long long)items);
  n->value = dzo_alloc(r->context, items, sizeof *n->value);
  n->weight = dzo_alloc(r->context, items, sizeof *n->weight);
  n->from = dzo_alloc(r->context, items, sizeof *n->from);
  n->multiple = dzo_alloc(r->context, items, sizeof *n->multiple);
  bool all = n->value != NULL && n->weight != NULL && n->from != NULL && n->multiple != NULL;
  return all ? DZO_OK : DZO_E_MEMORY;
}

static void add_item(knapsack_normal *n, const entry *e, uint64_t copies) {
  knapsack_problem *p = &n->problem;
  uint32_t at = p->items++;
  n->from[at] = e->item;
  n->multiple[at] = e->back ? -(int64_t)copies : (int64_t)copies;
  n->value[at] = copies * e->value;
  n->weight[at] = copies * e->weight;
  p->value_sum += n->value[at];
  p->weight_sum += n->weight[at];
}

/* Of the numbers as the problem holds them; not meant for wide ones. */
static void find_greatest(knapsack_problem *p) {
  for (uint32_t k = 0; k < p->items; k++) {
    p->value_max = p->value[k] > p->value_max ? p->value[k] : p->value_max;
    p->weight_max = p->weight[k] > p->weight_max ? p->weight[k] : p->weight_max;
  }
}

static dzo_status make_problem(reduction *r) {
  knapsack_normal *n = r->out;
  n->is_wide = r->capacity > INT64_MAX;
  for (uint64_t k = 0; k < r->count && !n->is_wide; k++)
    n->is_wide = r->entries[k].value > INT64_MAX;
  uint64_t items;
  DZO_TRY(count_bundles(r, &items));
  DZO_TRY(make_room(r, items));
  for (uint64_t k = 0; k < r->count; k++) {
    const entry *e = &r->entries[k];
    for (bundles b = bundles_of(r, e); b.left > 0;) {
      DZO_TRY(go_on(r, n->problem.items));
      add_item(n, e, next_bundle(&b));
    }
  }
  n->problem.value = (const int64_t *)n->value;
  n->problem.weight = (const int64_t *)n->weight;
  n->problem.capacity = n->is_wide ? INT64_MAX : (int64_t)r->capacity;
  n->wide_capacity = r->capacity;
  if (!n->is_wide)
    find_greatest(&n->problem);
  return DZO_OK;
}

/* ---- All together ---------------------------------------------------------------------------- */

static dzo_status reduce(reduction *r) {
  DZO_TRY(look_at_signs(r));
  if (r->capacity < 0) {
    r->out->infeasible = true;
    return DZO_OK;
  }
  DZO_TRY(look_at_capacity(r));
  bool all_fit;
  DZO_TRY(look_at_sums(r, &all_fit));
  if (all_fit)
    return DZO_OK;
  DZO_TRY(divide(r));
  return make_problem(r);
}

/* What divides all values, and all weights. */
static dzo_status find_divisors(reduction *r, uint64_t *values, uint64_t *weights) {
  const knapsack_problem *p = &r->out->problem;
  *values = *weights = 0;
  for (uint32_t k = 0; k < p->items && (*values != 1 || *weights != 1); k++) {
    DZO_TRY(go_on(r, k));
    *values = *values == 1 ? 1 : gcd((uint64_t)p->value[k], *values);
    *weights = *weights == 1 ? 1 : gcd((uint64_t)p->weight[k], *weights);
  }
  return DZO_OK;
}

static dzo_status divide_numbers(reduction *r, const int64_t *numbers, uint64_t divisor,
                                 uint64_t **out) {
  uint32_t items = r->out->problem.items;
  *out = dzo_alloc(r->context, items, sizeof **out);
  if (*out == NULL)
    return DZO_E_MEMORY;
  for (uint32_t k = 0; k < items; k++) {
    DZO_TRY(go_on(r, k));
    (*out)[k] = (uint64_t)numbers[k] / divisor;
  }
  return DZO_OK;
}

/* An instance in normal form but for divisors. */
static dzo_status divide_only(reduction *r) {
  knapsack_normal *n = r->out;
  knapsack_problem *p = &n->problem;
  uint64_t values, weights;
  DZO_TRY(find_divisors(r, &values, &weights));
  if (values != 1) {
    DZO_TRY(divide_numbers(r, p->value, values, &n->value));
    p->value = (const int64_t *)n->value;
    p->value_sum /= (knapsack_wide)values;
    p->value_max /= (int64_t)values;
    n->value_scale = (knapsack_wide)values;
  }
  if (weights != 1) {
    DZO_TRY(divide_numbers(r, p->weight, weights, &n->weight));
    p->weight = (const int64_t *)n->weight;
    p->weight_sum /= (knapsack_wide)weights;
    p->weight_max /= (int64_t)weights;
    p->capacity /= (int64_t)weights;
  }
  return DZO_OK;
}

static dzo_status reduce_any(reduction *r) {
  r->out->problem = (knapsack_problem){0};
  r->entries = dzo_alloc(r->context, r->instance->count, sizeof *r->entries);
  dzo_status status = r->entries != NULL ? reduce(r) : DZO_E_MEMORY;
  dzo_free(r->entries);
  return status;
}

dzo_status knapsack_normalize(knapsack_job *job, const dzo_knapsack_instance *instance,
                              knapsack_normal *out) {
  *out = (knapsack_normal){.value_scale = 1};
  reduction r = {.job = job,
                 .context = job->context,
                 .instance = instance,
                 .out = out,
                 .capacity = instance->capacity};
  bool normal = knapsack_is_normal(instance->count, instance->values, instance->weights,
                                   instance->copies, instance->capacity, &out->problem);
  dzo_status status = normal ? divide_only(&r) : reduce_any(&r);
  if (status != DZO_OK)
    knapsack_normal_free(out);
  return status;
}

void knapsack_normal_free(knapsack_normal *normal) {
  dzo_free(normal->value);
  dzo_free(normal->weight);
  dzo_free(normal->from);
  dzo_free(normal->multiple);
  dzo_free(normal->begun);
  *normal = (knapsack_normal){0};
}

void knapsack_expand(const knapsack_normal *normal, uint64_t count, const uint8_t *taken,
                     int64_t *out) {
  if (normal->begun != NULL)
    memcpy(out, normal->begun, count * sizeof *out);
  else if (normal->from != NULL || normal->problem.items < count)
    memset(out, 0, count * sizeof *out);
  for (uint32_t k = 0; k < normal->problem.items; k++) {
    if (normal->from == NULL)
      out[k] = taken[k];
    else if (taken[k])
      out[normal->from[k]] += normal->multiple[k];
  }
}
