/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 int128;

static void *take(uint64_t count, size_t size) {
  void *p = calloc(count + 1, size);
  if (p == NULL)
    abort();
  return p;
}

/* ---- Weights --------------------------------------------------------------------------------- */

static bool is_floating(dzo_weight_type type) {
  return type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64;
}

dzo_weight oracle_weight(const dzo_edges *edges, uint64_t i) {
  dzo_weight w = {.u64 = 1};
  if (edges->weight_type == DZO_WEIGHT_U32)
    w.u64 = ((const uint32_t *)edges->weights)[i];
  if (edges->weight_type == DZO_WEIGHT_U64)
    w.u64 = ((const uint64_t *)edges->weights)[i];
  if (edges->weight_type == DZO_WEIGHT_I64)
    w.i64 = ((const int64_t *)edges->weights)[i];
  if (edges->weight_type == DZO_WEIGHT_F32)
    w.f64 = (double)((const float *)edges->weights)[i];
  if (edges->weight_type == DZO_WEIGHT_F64)
    w.f64 = ((const double *)edges->weights)[i];
  return w;
}

int oracle_compare_weights(dzo_weight_type type, dzo_weight a, dzo_weight b) {
  if (is_floating(type))
    return (a.f64 > b.f64) - (a.f64 < b.f64);
  if (type == DZO_WEIGHT_I64)
    return (a.i64 > b.i64) - (a.i64 < b.i64);
  return (a.u64 > b.u64) - (a.u64 < b.u64);
}

/* ---- Exact sums: doubles as multiples of 2^-1074 in signed 32-bit digits --------------------- */

enum { DIGITS = 72 };

typedef struct big_sum {
  int64_t digits[DIGITS];
  uint64_t added;
  int infinities, minus_infinities;
  int128 integer;
} big_sum;

static void carry(big_sum *s) {
  for (int i = 0; i + 1 < DIGITS; i++) {
    int64_t low = s->digits[i] & INT64_C(0xffffffff);
    s->digits[i + 1] += (s->digits[i] - low) / (INT64_C(1) << 32);
    s->digits[i] = low;
  }
}

static void add_real(big_sum *s, double x) {
  if (isinf(x)) {
    s->infinities += x > 0;
    s->minus_infinities += x < 0;
    return;
  }
  int exponent;
  int64_t mantissa = (int64_t)ldexp(frexp(x, &exponent), 53);
  int place = exponent - 53 + 1074; /* of the mantissa's lowest bit */
  if (place < 0) {                  /* subnormal: the bits below 2^-1074 are zero */
    mantissa /= INT64_C(1) << -place;
    place = 0;
  }
  int64_t sign = mantissa < 0 ? -1 : 1;
  uint64_t rest = (uint64_t)(sign * mantissa);
  int128 wide = (int128)rest * ((int128)1 << place % 32);
  for (int i = place / 32; wide != 0; i++, wide >>= 32)
    s->digits[i] += sign * (int64_t)(wide & 0xffffffff);
  if (++s->added % (1 << 30) == 0)
    carry(s);
}

static double round_real(const big_sum *sum) {
  if (sum->infinities > 0 || sum->minus_infinities > 0)
    return sum->minus_infinities == 0 ? (double)INFINITY
           : sum->infinities == 0     ? -(double)INFINITY
                                      : (double)NAN;
  big_sum s = *sum;
  carry(&s);
  bool negative = s.digits[DIGITS - 1] < 0;
  if (negative) {
    for (int i = 0; i < DIGITS; i++)
      s.digits[i] = -s.digits[i];
    carry(&s);
  }
  int top = 32 * DIGITS - 1;
  while (top >= 0 && !(s.digits[top / 32] >> top % 32 & 1))
    top--;
  int bottom = top < 52 ? 0 : top - 52; /* of the 53 bits that stay */
  uint64_t mantissa = 0;
  for (int i = top; i >= bottom; i--)
    mantissa = 2 * mantissa + (uint64_t)(s.digits[i / 32] >> i % 32 & 1);
  bool half = bottom > 0 && (s.digits[(bottom - 1) / 32] >> (bottom - 1) % 32 & 1);
  bool more = false;
  for (int i = 0; i < bottom - 1; i++)
    more |= s.digits[i / 32] >> i % 32 & 1;
  mantissa += half && (more || mantissa % 2 == 1);
  double x = ldexp((double)mantissa, bottom - 1074);
  return negative ? -x : x;
}

static void add_weight(big_sum *s, dzo_weight_type type, dzo_weight w) {
  if (is_floating(type))
    add_real(s, w.f64);
  else
    s->integer += type == DZO_WEIGHT_I64 ? (int128)w.i64 : (int128)w.u64;
}

static dzo_weight_sum finish_sum(const big_sum *s, dzo_weight_type type) {
  dzo_weight_sum sum = {.type = type};
  if (is_floating(type)) {
    sum.real = round_real(s);
  } else {
    sum.low = (uint64_t)s->integer;
    sum.high = (int64_t)(s->integer >> 64);
  }
  return sum;
}

bool oracle_same_sum(dzo_weight_sum a, dzo_weight_sum b) {
  if (a.type != b.type)
    return false;
  if (is_floating(a.type))
    return a.real == b.real || (isnan(a.real) && isnan(b.real));
  return a.high == b.high && a.low == b.low;
}

/* ---- Kruskal --------------------------------------------------------------------------------- */

typedef struct candidate {
  dzo_weight_type type;
  int maximum;
  dzo_weight weight;
  uint64_t tie;
  uint32_t u, v;
  uint64_t number, place;
} candidate;

static int compare_candidates(const void *x, const void *y) {
  const candidate *a = x, *b = y;
  int order = oracle_compare_weights(a->type, a->weight, b->weight);
  if (order != 0)
    return a->maximum ? -order : order;
  if (a->tie != b->tie)
    return a->tie < b->tie ? -1 : 1;
  if (a->u != b->u)
    return a->u < b->u ? -1 : 1;
  if (a->v != b->v)
    return a->v < b->v ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

static int compare_numbers(const void *x, const void *y) {
  const candidate *a = x, *b = y;
  return (a->number > b->number) - (a->number < b->number);
}

static uint32_t find(uint32_t *parent, uint32_t v) {
  while (parent[v] != v)
    v = parent[v] = parent[parent[v]];
  return v;
}

/* Moves the forest's edges to the front of `all` and returns how many there are. */
static uint64_t kruskal(candidate *all, uint64_t count, uint32_t *parent) {
  uint64_t kept = 0;
  qsort(all, count, sizeof *all, compare_candidates);
  for (uint64_t i = 0; i < count; i++) {
    uint32_t a = find(parent, all[i].u), b = find(parent, all[i].v);
    if (a == b)
      continue;
    parent[a > b ? a : b] = a > b ? b : a; /* so that the root is the smallest vertex */
    all[kept++] = all[i];
  }
  qsort(all, kept, sizeof *all, compare_numbers);
  return kept;
}

static candidate *candidates_of(const dzo_edges *edges, int maximum, uint64_t shuffle) {
  candidate *all = take(edges->count, sizeof *all);
  for (uint64_t i = 0; i < edges->count; i++) {
    uint32_t u = edges->u[i], v = edges->v[i];
    uint64_t tie = (i + shuffle) * UINT64_C(0xd1342543de82ef95) ^ shuffle;
    all[i] = (candidate){.type = edges->weight_type,
                         .maximum = maximum,
                         .weight = oracle_weight(edges, i),
                         .tie = shuffle != 0 ? tie ^ tie >> 31 : 0,
                         .u = u < v ? u : v,
                         .v = u < v ? v : u,
                         .number = edges->numbers ? edges->numbers[i] : edges->first_number + i,
                         .place = i};
  }
  return all;
}

static void fill_components(oracle_forest *f, uint32_t *parent) {
  f->component_of = take(f->vertices, sizeof *f->component_of);
  for (uint64_t v = 0; v < f->vertices; v++) {
    uint32_t root = find(parent, (uint32_t)v);
    f->component_of[v] = root == v ? (uint32_t)f->components++ : f->component_of[root];
  }
}

static void fill_edges(oracle_forest *f, const candidate *kept, dzo_weight_type type) {
  f->numbers = take(f->count, sizeof *f->numbers);
  f->places = take(f->count, sizeof *f->places);
  f->u = take(f->count, sizeof *f->u);
  f->v = take(f->count, sizeof *f->v);
  f->weights = take(f->count, sizeof *f->weights);
  f->trees = take(f->components, sizeof *f->trees);
  big_sum *trees = take(f->components, sizeof *trees), *total = take(1, sizeof *total);
  for (uint64_t i = 0; i < f->count; i++) {
    f->numbers[i] = kept[i].number;
    f->places[i] = kept[i].place;
    f->u[i] = kept[i].u;
    f->v[i] = kept[i].v;
    f->weights[i] = kept[i].weight;
    add_weight(total, type, kept[i].weight);
    add_weight(&trees[f->component_of[kept[i].u]], type, kept[i].weight);
  }
  f->total = finish_sum(total, type);
  for (uint64_t c = 0; c < f->components; c++)
    f->trees[c] = finish_sum(&trees[c], type);
  free(trees);
  free(total);
}

oracle_forest *oracle_solve(const dzo_edges *edges, int maximum, uint64_t shuffle) {
  oracle_forest *f = take(1, sizeof *f);
  candidate *all = candidates_of(edges, maximum, shuffle);
  uint32_t *parent = take(edges->vertices, sizeof *parent);
  for (uint64_t v = 0; v < edges->vertices; v++)
    parent[v] = (uint32_t)v;
  f->vertices = edges->vertices;
  f->count = kruskal(all, edges->count, parent);
  fill_components(f, parent);
  fill_edges(f, all, edges->weight_type);
  free(all);
  free(parent);
  return f;
}

void oracle_free(oracle_forest *f) {
  if (f == NULL)
    return;
  free(f->numbers);
  free(f->places);
  free(f->u);
  free(f->v);
  free(f->weights);
  free(f->component_of);
  free(f->trees);
  free(f);
}

/* ---- Judging other forests ------------------------------------------------------------------- */

bool oracle_spans(const dzo_edges *edges, const uint64_t *places, uint64_t count) {
  uint32_t *parent = take(edges->vertices, sizeof *parent);
  for (uint64_t v = 0; v < edges->vertices; v++)
    parent[v] = (uint32_t)v;
  bool good = true;
  for (uint64_t i = 0; i < count && good; i++) {
    uint32_t a = find(parent, edges->u[places[i]]), b = find(parent, edges->v[places[i]]);
    good = a != b;
    parent[a] = b;
  }
  for (uint64_t i = 0; i < edges->count && good; i++)
    good = find(parent, edges->u[i]) == find(parent, edges->v[i]);
  free(parent);
  return good;
}

static int compare_weights_only(const void *x, const void *y) {
  const candidate *a = x, *b = y;
  return oracle_compare_weights(a->type, a->weight, b->weight);
}

static candidate *sorted_weights(const dzo_edges *edges, const uint64_t *places, uint64_t count) {
  candidate *all = take(count, sizeof *all);
  for (uint64_t i = 0; i < count; i++)
    all[i] = (candidate){.type = edges->weight_type, .weight = oracle_weight(edges, places[i])};
  qsort(all, count, sizeof *all, compare_weights_only);
  return all;
}

bool oracle_accepts(const dzo_edges *edges, const oracle_forest *forest, const uint64_t *places,
                    uint64_t count) {
  if (count != forest->count || !oracle_spans(edges, places, count))
    return false;
  candidate *ours = sorted_weights(edges, places, count);
  candidate *best = sorted_weights(edges, forest->places, count);
  bool same = true;
  for (uint64_t i = 0; i < count && same; i++)
    same = compare_weights_only(&ours[i], &best[i]) == 0;
  free(ours);
  free(best);
  return same;
}
