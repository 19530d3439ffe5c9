/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Orders of the core method. The break item is found without sorting: a sample
 * says about where it is, and what is surely before or behind is left out (E.
 * Balas and E. Zemel, "An algorithm for large zero-one knapsack problems",
 * Operations Research 28, 1980; the sample as in R. W. Floyd and R. L. Rivest,
 * "Expected time bounds for selection", CACM 18, 1975). */
#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "knapsack/core.h"

enum { INSERTION = 12, BUCKETS = 1024, SAMPLE = 96, SMALL_SAMPLE = 48, MANY = 4096, FEW = 64 };

static void insert(core_ranked *r, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    core_ranked one = r[i];
    uint32_t at = i;
    for (; at > 0 && one.key < r[at - 1].key; at--)
      r[at] = r[at - 1];
    r[at] = one;
  }
}

static void merge(const core_ranked *from, uint32_t middle, uint32_t end, core_ranked *to) {
  uint32_t a = 0, b = middle, k = 0;
  while (a < middle && b < end) {
    bool second = from[b].key < from[a].key;
    to[k++] = from[second ? b : a];
    b += second;
    a += !second;
  }
  memcpy(to + k, from + a, (middle - a) * sizeof *to);
  k += middle - a;
  memcpy(to + k, from + b, (end - b) * sizeof *to);
}

static void merge_sort(core_ranked *r, uint32_t count, core_ranked *room) {
  for (uint32_t i = 0; i < count; i += INSERTION)
    insert(r + i, count - i < INSERTION ? count - i : INSERTION);
  core_ranked *from = r, *to = room;
  for (uint64_t width = INSERTION; width < count; width *= 2) {
    for (uint64_t i = 0; i < count; i += 2 * width) {
      uint64_t end = count - i < 2 * width ? count - i : 2 * width;
      merge(from + i, (uint32_t)(width < end ? width : end), (uint32_t)end, to + i);
    }
    core_ranked *other = from;
    from = to;
    to = other;
  }
  if (from != r)
    memcpy(r, from, count * sizeof *r);
}

/* Most keys are spread evenly enough for a bucket to have but a few. */
void core_sort(core_run *run, core_ranked *r, uint32_t count, core_ranked *room) {
  double least = INFINITY, most = -INFINITY;
  for (uint32_t i = 0; i < count; i++) {
    least = r[i].key < least ? r[i].key : least;
    most = r[i].key > most ? r[i].key : most;
  }
  uint32_t buckets = count < BUCKETS ? count : BUCKETS, begin[BUCKETS + 1];
  double each = ((double)buckets - 1) / (most - least);
  if (count <= INSERTION || !(each > 0 && each < INFINITY)) {
    merge_sort(r, count, room);
    return;
  }
  memset(begin, 0, (buckets + 1) * sizeof *begin);
  for (uint32_t i = 0; i < count; i++)
    begin[(uint32_t)((r[i].key - least) * each) + 1]++;
  for (uint32_t b = 1; b < buckets; b++)
    begin[b] += begin[b - 1];
  memcpy(room, r, count * sizeof *r);
  for (uint32_t i = 0; i < count; i++)
    r[begin[(uint32_t)((room[i].key - least) * each)]++] = room[i];
  for (uint32_t b = 0, at = 0; b < buckets; at = begin[b++]) {
    if (run != NULL && !core_passes(run, count))
      return;
    if (begin[b] - at > 1)
      merge_sort(r + at, begin[b] - at, room);
  }
}

/* What weighs `target` of a sample, sorted by rising key, as of all: its
 * position. */
static uint32_t position(const core_ranked *sample, uint32_t count, const int64_t *weight,
                         double share) {
  double all = 0, sum = 0;
  for (uint32_t i = 0; i < count; i++)
    all += (double)weight[sample[i].item];
  uint32_t at = count;
  while (at > 0 && sum <= share * all)
    sum += (double)weight[sample[--at].item];
  return at;
}

typedef struct cut {
  int64_t above;  /* weight of the keys > high */
  int64_t inside; /* and of low <= key <= high */
} cut;

DZO_CLONES static void weigh(const double *key, const int64_t *weight, uint32_t count, double low,
                             double high, cut *out) {
  int64_t above = 0, inside = 0;
  for (uint32_t i = 0; i < count; i++) {
    above += key[i] > high ? weight[i] : 0;
    bool is_inside = (key[i] <= high) & (key[i] >= low);
    inside += is_inside ? weight[i] : 0;
  }
  *out = (cut){above, inside};
}

static uint32_t keep(double *key, int64_t *weight, uint32_t count, double low, double high) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    double k = key[i];
    int64_t w = weight[i];
    key[kept] = k;
    weight[kept] = w;
    kept += (k >= low) & (k <= high);
  }
  return kept;
}

static double find_sorted(const double *key, const int64_t *weight, uint32_t count,
                          int64_t target) {
  core_ranked r[FEW], room[FEW];
  for (uint32_t i = 0; i < count; i++)
    r[i] = (core_ranked){key[i], i};
  core_sort(NULL, r, count, room);
  for (uint32_t i = count; i-- > 0;) {
    if (weight[r[i].item] > target)
      return r[i].key;
    target -= weight[r[i].item];
  }
  return -INFINITY;
}

/* The keys between which the break is likely, or one key if that is all that
 * helps. */
static void guess(const double *key, const int64_t *weight, uint32_t count, double share,
                  bool narrow, double *low, double *high) {
  core_ranked sample[SAMPLE], room[SAMPLE];
  uint32_t size = count < MANY ? SMALL_SAMPLE : SAMPLE, step = count / size;
  for (uint32_t i = 0; i < size; i++)
    sample[i] = (core_ranked){key[i * step + step / 2], i * step + step / 2};
  core_sort(NULL, sample, size, room);
  uint32_t at = position(sample, size, weight, share), margin = narrow ? 0 : size / 8 + 1;
  uint32_t from = at > margin ? at - margin : 0, to = at + margin < size ? at + margin : size - 1;
  *low = at > margin || narrow ? sample[from].key : -INFINITY;
  *high = at + margin < size || narrow ? sample[to].key : INFINITY;
}

double core_break_key(double *key, int64_t *weight, uint32_t count, int64_t target) {
  int64_t all = 0;
  for (uint32_t i = 0; i < count; i++)
    all += weight[i];
  if (all <= target)
    return -INFINITY;
  bool narrow = false;
  while (count > FEW) {
    double low, high;
    guess(key, weight, count, (double)target / (double)all, narrow, &low, &high);
    cut c;
    weigh(key, weight, count, low, high, &c);
    uint32_t before = count;
    if (target < c.above) {
      count = keep(key, weight, count, nextafter(high, INFINITY), INFINITY);
      all = c.above;
    } else if (target < c.above + c.inside) {
      if (low == high)
        return low;
      count = keep(key, weight, count, low, high);
      all = c.inside;
      target -= c.above;
    } else {
      count = keep(key, weight, count, -INFINITY, nextafter(low, -INFINITY));
      all -= c.above + c.inside;
      target -= c.above + c.inside;
    }
    narrow = count > before / 2;
  }
  return find_sorted(key, weight, count, target);
}
