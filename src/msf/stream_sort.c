/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* An in-place radix sort, most significant byte first ("American flag sort", McIlroy, Bostic,
 * McIlroy 1993), since a stream has no memory to spare; small or tied runs by comparison. */
#include "msf/stream_edge.h"

enum { SMALL = 48, BUCKETS = 256 };

typedef struct order {
  const uint64_t *labels;
  bool by_number;
} order;

static uint64_t sort_key(const order *o, const stream_edge *e) {
  return o->by_number ? e->number : e->key;
}

static bool before(const order *o, const stream_edge *a, const stream_edge *b) {
  return o->by_number ? a->number < b->number : stream_before(o->labels, a, b);
}

static void insertion_sort(const order *o, stream_edge *e, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    stream_edge x = e[i];
    uint64_t j = i;
    for (; j > 0 && before(o, &x, &e[j - 1]); j--)
      e[j] = e[j - 1];
    e[j] = x;
  }
}

static void sift_down(const order *o, stream_edge *e, uint64_t root, uint64_t count) {
  stream_edge x = e[root];
  for (;;) {
    uint64_t child = 2 * root + 1;
    if (child >= count)
      break;
    if (child + 1 < count && before(o, &e[child], &e[child + 1]))
      child++;
    if (!before(o, &x, &e[child]))
      break;
    e[root] = e[child];
    root = child;
  }
  e[root] = x;
}

/* For runs of equal keys, which no radix can split. */
static void heap_sort(const order *o, stream_edge *e, uint64_t count) {
  for (uint64_t i = count / 2; i-- > 0;)
    sift_down(o, e, i, count);
  for (uint64_t end = count; end-- > 1;) {
    stream_edge x = e[0];
    e[0] = e[end];
    e[end] = x;
    sift_down(o, e, 0, end);
  }
}

static bool is_sorted(const order *o, const stream_edge *e, uint64_t count) {
  for (uint64_t i = 1; i < count; i++)
    if (before(o, &e[i], &e[i - 1]))
      return false;
  return true;
}

/* Bits that differ between keys decide where the radix begins. */
static unsigned top_shift(const order *o, const stream_edge *e, uint64_t count) {
  uint64_t differ = 0, first = sort_key(o, &e[0]);
  for (uint64_t i = 1; i < count; i++)
    differ |= sort_key(o, &e[i]) ^ first;
  unsigned bits = differ == 0 ? 0 : 64 - (unsigned)__builtin_clzll(differ);
  return bits > 8 ? bits - 8 : 0;
}

static void flag_sort(const order *o, stream_edge *e, uint64_t count, unsigned shift) {
  uint64_t next[BUCKETS], end[BUCKETS];
  for (unsigned b = 0; b < BUCKETS; b++)
    end[b] = 0;
  for (uint64_t i = 0; i < count; i++)
    end[sort_key(o, &e[i]) >> shift & 255]++;
  uint64_t sum = 0;
  for (unsigned b = 0; b < BUCKETS; b++) {
    next[b] = sum;
    sum += end[b];
    end[b] = sum;
  }
  for (unsigned b = 0; b < BUCKETS; b++) {
    while (next[b] < end[b]) {
      stream_edge x = e[next[b]];
      unsigned home = sort_key(o, &x) >> shift & 255;
      if (home == b) {
        next[b]++;
        continue;
      }
      e[next[b]] = e[next[home]];
      e[next[home]++] = x;
    }
  }
  for (unsigned b = 0; b < BUCKETS; b++) {
    uint64_t begin = b == 0 ? 0 : end[b - 1], size = end[b] - begin;
    if (size <= SMALL)
      insertion_sort(o, e + begin, size);
    else if (shift > 0)
      flag_sort(o, e + begin, size, shift > 8 ? shift - 8 : 0);
    else if (!is_sorted(o, e + begin, size))
      heap_sort(o, e + begin, size);
  }
}

static void sort(const order *o, stream_edge *edges, uint64_t count) {
  if (count > SMALL)
    flag_sort(o, edges, count, top_shift(o, edges, count));
  else
    insertion_sort(o, edges, count);
}

void stream_sort(stream_edge *edges, uint64_t count, const uint64_t *labels) {
  order o = {labels, false};
  sort(&o, edges, count);
}

void stream_sort_by_number(stream_edge *edges, uint64_t count) {
  order o = {NULL, true};
  sort(&o, edges, count);
}
