/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Joining items. Equal ones differ only in number: k of them are replaced by
 * bundles of 1, 2, 4,
 * ..., and the rest, of which some make any number up to k (multiplicity
 * reduction: R. da Silva, T. de Queiroz, R. Schouery, arXiv:2604.05232, 2026).
 * Items that are multiples a_1 <= a_2 <= ... of one item are as good as that
 * many of it where each a_i is at most 1 more than all before it together, so
 * that every number of it up to the sum can be made. */
#include <math.h>

#include "base/memory.h"
#include "knapsack/core.h"

typedef struct group {
  uint32_t begin, end; /* members[]: by rising weight */
  int64_t unit_value, unit_weight;
  int64_t units;
} group;

typedef struct bundle {
  uint32_t group;
  int64_t units;
} bundle;

struct core_groups {
  const core_level *level;
  core_ranked *members; /* [items] */
  core_ranked *room;
  group *groups;
  uint32_t group_count;
  bundle *bundles;
  uint32_t bundle_count;
  int64_t *value, *weight; /* [bundle_count] */
  int32_t *pieces;         /* [bundle_count] items in each, or NULL */
  bool equals;             /* only items that are equal were joined */
};

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

void core_groups_free(core_groups *g) {
  if (g == NULL)
    return;
  dzo_free(g->members);
  dzo_free(g->room);
  dzo_free(g->groups);
  dzo_free(g->bundles);
  dzo_free(g->value);
  dzo_free(g->weight);
  dzo_free(g->pieces);
  dzo_free(g);
}

static void add_group(core_groups *g, uint32_t begin, uint32_t end, int64_t unit) {
  const core_level *v = g->level;
  uint32_t first = g->members[begin].item;
  int64_t all = 0;
  for (uint32_t i = begin; i < end; i++)
    all += v->weight[g->members[i].item] / unit;
  int64_t value = v->value[first] / (v->weight[first] / unit);
  g->groups[g->group_count++] = (group){begin, end, value, unit, all};
}

/* Members of exactly one ratio, by rising weight. */
static void join_proportional(core_groups *g, uint32_t begin, uint32_t end) {
  const core_level *v = g->level;
  uint32_t first = g->members[begin].item;
  int64_t unit = 0;
  /* w = a * unit and value = a * (value per unit): the unit divides all weights
   * and values. */
  int64_t common = gcd(v->value[first], v->weight[first]), weight0 = v->weight[first] / common;
  for (uint32_t i = begin; i < end; i++)
    unit = gcd(v->weight[g->members[i].item] / weight0, unit);
  unit *= weight0;
  int64_t reach = 0;
  bool complete = true;
  for (uint32_t i = begin; i < end && complete; i++) {
    int64_t a = v->weight[g->members[i].item] / unit;
    complete = a <= reach + 1;
    reach += a;
  }
  if (complete) {
    g->equals = g->equals && reach == (int64_t)end - begin;
    add_group(g, begin, end, unit);
    return;
  }
  for (uint32_t i = begin, next; i < end; i = next) {
    for (next = i + 1; next < end && g->members[next].key == g->members[i].key;)
      next++;
    add_group(g, i, next, v->weight[g->members[i].item]);
  }
}

static bool is_proportional(const core_level *v, uint32_t a, uint32_t b) {
  return (core_wide)v->value[a] * v->weight[b] == (core_wide)v->value[b] * v->weight[a];
}

/* Members of one ratio as far as doubles tell: nearly always, of exactly one.
 */
static void join_run(core_groups *g, uint32_t begin, uint32_t end) {
  const core_level *v = g->level;
  uint32_t first = g->members[begin].item;
  bool one = true;
  for (uint32_t i = begin; i < end; i++) {
    uint32_t item = g->members[i].item;
    g->members[i].key = (double)v->weight[item];
    one &= is_proportional(v, first, item);
  }
  core_sort(v->run, g->members + begin, end - begin, g->room);
  if (one) {
    join_proportional(g, begin, end);
    return;
  }
  for (uint32_t i = begin; i < end; i++)
    add_group(g, i, i + 1, v->weight[g->members[i].item]);
}

static void join(core_groups *g) {
  const core_level *v = g->level;
  for (uint32_t i = 0; i < v->items; i++)
    g->members[i] = (core_ranked){(double)v->value[i] / (double)v->weight[i], i};
  core_sort(v->run, g->members, v->items, g->room);
  if (v->run->stopped)
    return;
  for (uint32_t i = 0, next; i < v->items; i = next) {
    for (next = i + 1; next < v->items && g->members[next].key == g->members[i].key;)
      next++;
    join_run(g, i, next);
  }
}

/* Bundles of 1, 2, 4, ... and the rest. */
static uint32_t bundle_up(core_groups *g, bool count_only) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < g->group_count; i++) {
    int64_t left = g->groups[i].units;
    for (int64_t size = 1; left > 0; size *= 2, count++) {
      int64_t units = size < left ? size : left;
      left -= units;
      if (count_only)
        continue;
      g->bundles[count] = (bundle){i, units};
      g->value[count] = units * g->groups[i].unit_value;
      g->weight[count] = units * g->groups[i].unit_weight;
      if (g->pieces != NULL)
        g->pieces[count] = (int32_t)units;
    }
  }
  return count;
}

/* Can doubles tell weights apart? */
static bool is_exact(const core_level *v) {
  for (uint32_t i = 0; i < v->items; i++)
    if (v->weight[i] >= INT64_C(1) << 53 || v->value[i] >= INT64_C(1) << 53)
      return false;
  return true;
}

/* Are there enough items of one ratio? By a sample of which that many would
 * show in about 24 pairs. */
static dzo_status look_for_equals(const core_level *v, bool *likely) {
  uint32_t sample = (uint32_t)(4 * sqrt(v->items));
  *likely = sample >= v->items / 2;
  if (*likely)
    return DZO_OK;
  core_ranked *r = dzo_alloc(v->run->context, 2 * (uint64_t)sample, sizeof *r);
  if (r == NULL)
    return DZO_E_MEMORY;
  uint32_t step = v->items / sample, equal = 0;
  for (uint32_t i = 0; i < sample; i++)
    r[i] = (core_ranked){(double)v->value[i * step] / (double)v->weight[i * step], i * step};
  core_sort(NULL, r, sample, r + sample);
  for (uint32_t i = 1; i < sample; i++)
    equal += r[i].key == r[i - 1].key;
  dzo_free(r);
  *likely = equal >= 10;
  return DZO_OK;
}

static dzo_status make(core_groups *g, bool *pays) {
  const core_level *v = g->level;
  dzo_context *context = v->run->context;
  g->members = dzo_alloc(context, v->items, sizeof *g->members);
  g->room = dzo_alloc(context, v->items, sizeof *g->room);
  g->groups = dzo_alloc(context, v->items, sizeof *g->groups);
  if (g->members == NULL || g->room == NULL || g->groups == NULL)
    return DZO_E_MEMORY;
  join(g);
  if (v->run->stopped)
    return DZO_OK;
  g->bundle_count = bundle_up(g, true);
  *pays = g->bundle_count <= v->items / 4 * 3;
  if (!*pays)
    return DZO_OK;
  g->bundles = dzo_alloc(context, g->bundle_count, sizeof *g->bundles);
  g->value = dzo_alloc(context, g->bundle_count, sizeof *g->value);
  g->weight = dzo_alloc(context, g->bundle_count, sizeof *g->weight);
  if (g->equals)
    g->pieces = dzo_alloc(context, g->bundle_count, sizeof *g->pieces);
  if (g->bundles == NULL || g->value == NULL || g->weight == NULL ||
      (g->equals && g->pieces == NULL))
    return DZO_E_MEMORY;
  (void)bundle_up(g, false);
  return DZO_OK;
}

dzo_status core_groups_make(const core_level *v, core_groups **out) {
  *out = NULL;
  if (v->items < 4 || !is_exact(v))
    return DZO_OK;
  bool likely = false, pays = false;
  dzo_status status = look_for_equals(v, &likely);
  if (status != DZO_OK)
    return v->run->status = status;
  if (!likely)
    return DZO_OK;
  core_groups *g = dzo_calloc(v->run->context, 1, sizeof *g);
  if (g == NULL)
    return v->run->status = DZO_E_MEMORY;
  g->level = v;
  g->equals = v->pieces == NULL;
  status = make(g, &pays);
  if (status == DZO_OK && pays) {
    *out = g;
    return DZO_OK;
  }
  core_groups_free(g);
  if (status != DZO_OK)
    v->run->status = status;
  return status;
}

void core_groups_level(const core_groups *g, core_level *level) {
  level->items = g->bundle_count;
  level->value = g->value;
  level->weight = g->weight;
  level->pieces = g->pieces;
  for (uint32_t i = 0; i < g->bundle_count; i++) {
    level->value_max = g->value[i] > level->value_max ? g->value[i] : level->value_max;
    level->weight_max = g->weight[i] > level->weight_max ? g->weight[i] : level->weight_max;
  }
}

static void unfold_group(const core_groups *g, const group *one, int64_t units, uint8_t *set) {
  for (uint32_t i = one->end; i-- > one->begin;) {
    uint32_t item = g->members[i].item;
    int64_t a = g->level->weight[item] / one->unit_weight;
    set[item] = a <= units;
    units -= set[item] ? a : 0;
  }
}

void core_groups_unfold(const core_groups *g, const uint8_t *joined, uint8_t *set) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < g->group_count; i++) {
    int64_t units = 0;
    for (; at < g->bundle_count && g->bundles[at].group == i; at++)
      units += joined[at] ? g->bundles[at].units : 0;
    unfold_group(g, &g->groups[i], units, set);
  }
}
