/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Instances for experiments: the classes of D. Pisinger, "Where are the hard knapsack problems?",
 * Computers & Operations Research 32, 2005. Item i is made of the words 2 i and 2 i + 1 of the
 * stream `seed`, a spanner set of the words behind those of all items. There is no floating point,
 * so that every machine makes the same. */
#include "base/context.h"
#include "base/random.h"
#include "dzo/knapsack.h"
#include "knapsack/classes.h"

__extension__ typedef unsigned __int128 wide;

enum { LEAST_RANGE = 10 };
#define MOST_RANGE INT64_C(100000000000000000)

/* Parameters of the classes, as in the paper. */
enum {
  SPANNERS = 2, /* items of a spanner set */
  MULTIPLES = 10,
  MULTIPLE_DIVISOR = 6,
  CEILING = 3,
  SIMILAR_WEIGHT = 100000,
  SIMILAR_SPREAD = 100,
  SIMILAR_VALUE = 1000,
  FINKELSTEIN = 2
};

typedef struct item {
  int64_t value, weight;
} item;

typedef struct maker {
  dzo_knapsack_class kind;
  int64_t range;
  uint64_t seed;
  item spanner[SPANNERS];
} maker;

const char *dzo_knapsack_class_name(dzo_knapsack_class kind) {
  static const char *const names[DZO_KNAPSACK_CLASSES] = {KNAPSACK_CLASS_NAMES};
  return (unsigned)kind < DZO_KNAPSACK_CLASSES ? names[kind] : NULL;
}

/* A number of least .. most, from word k; even to within (most - least) / 2^64. */
static int64_t draw(const maker *m, uint64_t k, int64_t least, int64_t most) {
  uint64_t span = (uint64_t)(most - least) + 1;
  return least + (int64_t)(uint64_t)((wide)dzo_random_word(m->seed, k) * span >> 64);
}

/* floor(sqrt(x)), bit by bit from the top. */
static uint64_t square_root(wide x) {
  wide root = 0, bit = (wide)1 << 126;
  while (bit > x)
    bit >>= 2;
  for (; bit != 0; bit >>= 2) {
    bool fits = x >= root + bit;
    x -= fits ? root + bit : 0;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return (uint64_t)root;
}

/* floor(2/3 sqrt(4 R^2 - (w - 2 R)^2)): a weight's place on an arc of a circle. */
static int64_t on_circle(int64_t range, int64_t weight) {
  wide squared = (wide)(uint64_t)weight * (uint64_t)(4 * range - weight);
  return (int64_t)square_root(4 * squared / 9);
}

/* Of the classes that spanners are made of, too. */
static item basic_item(const maker *m, dzo_knapsack_class kind, uint64_t k) {
  int64_t tenth = m->range / 10, weight = draw(m, k, 1, m->range);
  if (kind == DZO_KNAPSACK_STRONGLY_CORRELATED)
    return (item){weight + tenth, weight};
  if (kind == DZO_KNAPSACK_UNCORRELATED)
    return (item){draw(m, k + 1, 1, m->range), weight};
  int64_t value = draw(m, k + 1, weight - tenth, weight + tenth);
  return (item){value < 1 ? 1 : value, weight};
}

static item even_item(const maker *m, uint64_t k, int64_t more) {
  int64_t weight = 2 * draw(m, k, 1, m->range / 2);
  return (item){weight + more, weight};
}

static item spanned_item(const maker *m, uint64_t k) {
  const item *s = &m->spanner[draw(m, k, 0, SPANNERS - 1)];
  int64_t times = draw(m, k + 1, 1, MULTIPLES);
  return (item){times * s->value, times * s->weight};
}

static item make_item(const maker *m, uint64_t k) {
  int64_t range = m->range, tenth = range / 10, few = range / 500;
  int64_t weight = draw(m, k, 1, range);
  switch (m->kind) {
  case DZO_KNAPSACK_INVERSE_STRONGLY_CORRELATED:
    return (item){weight, weight + tenth};
  case DZO_KNAPSACK_ALMOST_STRONGLY_CORRELATED:
    return (item){draw(m, k + 1, weight + tenth - few, weight + tenth + few), weight};
  case DZO_KNAPSACK_SUBSET_SUM:
    return (item){weight, weight};
  case DZO_KNAPSACK_EVEN_ODD_SUBSET_SUM:
    return even_item(m, k, 0);
  case DZO_KNAPSACK_EVEN_ODD:
    return even_item(m, k, tenth);
  case DZO_KNAPSACK_SIMILAR_WEIGHTS:
    return (item){draw(m, k, 1, SIMILAR_VALUE),
                  draw(m, k + 1, SIMILAR_WEIGHT, SIMILAR_WEIGHT + SIMILAR_SPREAD)};
  case DZO_KNAPSACK_SPANNER_UNCORRELATED:
  case DZO_KNAPSACK_SPANNER_WEAKLY:
  case DZO_KNAPSACK_SPANNER_STRONGLY:
    return spanned_item(m, k);
  case DZO_KNAPSACK_MULTIPLE_STRONGLY:
    return (item){weight + (weight % MULTIPLE_DIVISOR == 0 ? 3 : 2) * range / 10, weight};
  case DZO_KNAPSACK_PROFIT_CEILING:
    return (item){(weight + CEILING - 1) / CEILING * CEILING, weight};
  case DZO_KNAPSACK_CIRCLE:
    return (item){on_circle(range, weight), weight};
  case DZO_KNAPSACK_FINKELSTEIN:
    return (item){FINKELSTEIN, FINKELSTEIN};
  default:
    return basic_item(m, m->kind, k);
  }
}

/* The spanner set: items of the basic class, made small enough that multiples stay about the range.
 */
static void make_spanners(maker *m, uint64_t first_word) {
  dzo_knapsack_class kind = m->kind == DZO_KNAPSACK_SPANNER_WEAKLY ? DZO_KNAPSACK_WEAKLY_CORRELATED
                            : m->kind == DZO_KNAPSACK_SPANNER_STRONGLY
                                ? DZO_KNAPSACK_STRONGLY_CORRELATED
                                : DZO_KNAPSACK_UNCORRELATED;
  for (uint64_t i = 0; i < SPANNERS; i++) {
    item s = basic_item(m, kind, first_word + 2 * i);
    m->spanner[i] = (item){s.value / (MULTIPLES + 1) + 1, s.weight / (MULTIPLES + 1) + 1};
  }
}

/* Even weights, of which some optimum would fill an even capacity. */
static bool wants_odd_capacity(dzo_knapsack_class kind) {
  return kind == DZO_KNAPSACK_EVEN_ODD || kind == DZO_KNAPSACK_EVEN_ODD_SUBSET_SUM ||
         kind == DZO_KNAPSACK_FINKELSTEIN;
}

static dzo_status check(dzo_context *context, const maker *m, uint64_t count, uint64_t part,
                        uint64_t parts) {
  if ((unsigned)m->kind >= DZO_KNAPSACK_CLASSES)
    return dzo_fail(context, DZO_E_ARGUMENT, "there is no class of knapsack instances number %d",
                    (int)m->kind);
  if (count > DZO_KNAPSACK_ITEMS)
    return dzo_fail(context, DZO_E_ARGUMENT, "%llu items are over the limit of %llu",
                    (unsigned long long)count, (unsigned long long)DZO_KNAPSACK_ITEMS);
  if (m->range < LEAST_RANGE || m->range > MOST_RANGE)
    return dzo_fail(context, DZO_E_ARGUMENT, "a range of %lld is not in %d..%lld",
                    (long long)m->range, (int)LEAST_RANGE, (long long)MOST_RANGE);
  if (parts == 0 || part > parts)
    return dzo_fail(context, DZO_E_ARGUMENT, "a capacity of %llu/%llu of the weights",
                    (unsigned long long)part, (unsigned long long)parts);
  return DZO_OK;
}

dzo_status dzo_knapsack_generate(dzo_context *context, dzo_knapsack_class kind, uint64_t count,
                                 int64_t range, uint64_t seed, uint64_t part, uint64_t parts,
                                 int64_t *values, int64_t *weights, int64_t *capacity) {
  if (context == NULL)
    return DZO_E_ARGUMENT;
  dzo_begin(context);
  maker m = {.kind = kind, .range = range, .seed = seed};
  DZO_TRY(check(context, &m, count, part, parts));
  if (capacity == NULL || (count > 0 && (values == NULL || weights == NULL)))
    return dzo_fail(context, DZO_E_ARGUMENT, "no room for the instance");
  make_spanners(&m, 2 * count);
  wide sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    item made = make_item(&m, 2 * i);
    values[i] = made.value;
    weights[i] = made.weight;
    sum += (uint64_t)made.weight;
  }
  wide fraction = sum / parts * part + sum % parts * part / parts;
  if (fraction >= INT64_MAX)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "the weights of %llu items up to %lld are so much that the capacity does not "
                    "fit 64 bits",
                    (unsigned long long)count, (long long)range);
  *capacity = (int64_t)fraction | (wants_odd_capacity(kind) ? 1 : 0);
  return DZO_OK;
}
