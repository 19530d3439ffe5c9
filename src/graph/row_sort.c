/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/row_sort.h"

#include "base/context.h"
#include "base/memory.h"

enum { DIGIT_BITS = 8, FEW = 24, FIRST_CAPACITY = 1 << 12 };

void dzo_row_sorter_free(dzo_row_sorter *s) {
  dzo_free(s->items);
  dzo_free(s->spare);
  dzo_free(s->copy);
  dzo_free(s->rows);
  dzo_free(s->row_ends);
  *s = (dzo_row_sorter){.context = s->context};
}

dzo_status dzo_rows_reserve(dzo_row_sorter *s, uint64_t count) {
  if (count > UINT32_MAX)
    return dzo_fail(s->context, DZO_E_LIMIT, "%llu arcs of neighbouring vertices exceed 2^32 - 1",
                    (unsigned long long)count);
  if (count <= s->capacity && s->capacity > 0)
    return DZO_OK;
  uint64_t capacity = count > FIRST_CAPACITY ? count + count / 8 : FIRST_CAPACITY;
  dzo_row_sorter_free(s);
  s->items = dzo_alloc(s->context, capacity, sizeof *s->items);
  s->spare = dzo_alloc(s->context, capacity, sizeof *s->spare);
  s->copy = dzo_alloc(s->context, capacity, sizeof *s->copy);
  s->rows = dzo_alloc(s->context, capacity, sizeof *s->rows);
  s->row_ends = dzo_alloc(s->context, DZO_GROUP_ROWS, sizeof *s->row_ends);
  if (s->items == NULL || s->spare == NULL || s->copy == NULL || s->rows == NULL ||
      s->row_ends == NULL)
    return DZO_E_MEMORY;
  s->capacity = capacity;
  return DZO_OK;
}

dzo_status dzo_rows_begin(dzo_row_sorter *s, uint64_t count) {
  DZO_TRY(dzo_rows_reserve(s, count));
  s->count = count;
  for (uint64_t i = 0; i < count; i++)
    s->items[i] = i;
  return DZO_OK;
}

static void insertion_sort(uint64_t *items, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    uint64_t x = items[i], j = i;
    for (; j > 0 && items[j - 1] >> 32 > x >> 32; j--)
      items[j] = items[j - 1];
    items[j] = x;
  }
}

static void scatter_by_digit(dzo_row_sorter *s, unsigned shift, unsigned bits) {
  uint32_t ends[1 << DIGIT_BITS];
  uint64_t mask = (UINT64_C(1) << bits) - 1;
  memset(ends, 0, sizeof *ends << bits);
  for (uint64_t i = 0; i < s->count; i++)
    ends[s->items[i] >> shift & mask]++;
  uint32_t sum = 0;
  for (uint64_t d = 0; d <= mask; d++) {
    uint32_t count = ends[d];
    ends[d] = sum;
    sum += count;
  }
  for (uint64_t i = 0; i < s->count; i++) {
    uint64_t x = s->items[i];
    s->spare[ends[x >> shift & mask]++] = x;
  }
  uint64_t *swap = s->items;
  s->items = s->spare;
  s->spare = swap;
}

/* Sort by the upper halves, which hold values below 2^bits. */
static void sort_items(dzo_row_sorter *s, unsigned bits) {
  if (s->count <= FEW) {
    insertion_sort(s->items, s->count);
    return;
  }
  unsigned passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
  for (unsigned p = 0, done = 0; p < passes; p++) {
    unsigned width = (bits - done + (passes - p) - 1) / (passes - p);
    scatter_by_digit(s, 32 + done, width);
    done += width;
  }
}

static unsigned bit_length(uint64_t x) { return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x); }

void dzo_rows_by_u32(dzo_row_sorter *s, const uint32_t *values) {
  uint32_t low = UINT32_MAX, high = 0;
  for (uint64_t i = 0; i < s->count; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  if (low >= high)
    return;
  for (uint64_t i = 0; i < s->count; i++) {
    uint32_t arc = (uint32_t)s->items[i];
    s->items[i] = (uint64_t)(values[arc] - low) << 32 | arc;
  }
  sort_items(s, bit_length(high - low));
}

static void by_half(dzo_row_sorter *s, const uint64_t *values, uint64_t low, unsigned shift,
                    unsigned bits) {
  for (uint64_t i = 0; i < s->count; i++) {
    uint32_t arc = (uint32_t)s->items[i];
    s->items[i] = (uint64_t)(uint32_t)((values[arc] - low) >> shift) << 32 | arc;
  }
  sort_items(s, bits);
}

void dzo_rows_by_u64(dzo_row_sorter *s, const uint64_t *values) {
  uint64_t low = UINT64_MAX, high = 0;
  for (uint64_t i = 0; i < s->count; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  if (low >= high)
    return;
  unsigned bits = bit_length(high - low);
  by_half(s, values, low, 0, bits < 32 ? bits : 32);
  if (bits > 32)
    by_half(s, values, low, 32, bits - 32);
}

void dzo_rows_place(dzo_row_sorter *s, const uint16_t *rows, uint64_t row_count) {
  memset(s->row_ends, 0, (size_t)row_count * sizeof *s->row_ends);
  for (uint64_t i = 0; i < s->count; i++)
    s->row_ends[rows[i]]++;
  uint32_t sum = 0;
  for (uint64_t r = 0; r < row_count; r++) {
    uint32_t count = s->row_ends[r];
    s->row_ends[r] = sum;
    sum += count;
  }
  for (uint64_t i = 0; i < s->count; i++) {
    uint32_t arc = (uint32_t)s->items[i];
    s->spare[s->row_ends[rows[arc]]++] = arc;
  }
}

void dzo_rows_apply_u32(dzo_row_sorter *s, uint32_t *values) {
  if (values == NULL)
    return;
  uint32_t *copy = (uint32_t *)(void *)s->copy;
  memcpy(copy, values, (size_t)s->count * sizeof *copy);
  for (uint64_t i = 0; i < s->count; i++)
    values[i] = copy[s->spare[i]];
}

void dzo_rows_apply_u64(dzo_row_sorter *s, uint64_t *values) {
  if (values == NULL)
    return;
  memcpy(s->copy, values, (size_t)s->count * sizeof *s->copy);
  for (uint64_t i = 0; i < s->count; i++)
    values[i] = s->copy[s->spare[i]];
}
