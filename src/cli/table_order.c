/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Pairs in the order in which they are written. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/radix.h"
#include "cli/table.h"

enum { GRAIN = 1 << 16, FEW = 16 };
#define SIGN32 (UINT64_C(1) << 31)
#define SIGN64 (UINT64_C(1) << 63)

/* What makes unsigned integers, ascending, of keys and values. */
typedef struct masks {
  uint64_t key, value;
} masks;

static masks masks_of(const table_order *o, bool packed) {
  masks m = {0, 0};
  if (o->signed_keys)
    m.key = o->wide_keys ? SIGN64 : SIGN32;
  if (o->by_value)
    m.value = (packed ? UINT32_MAX : UINT64_MAX) ^ (o->signed_values ? SIGN64 : 0);
  return m;
}

typedef struct flipping {
  table_pairs *pairs;
  masks masks;
} flipping;

static void flip_some(void *argument, uint64_t begin, uint64_t end, int thread) {
  const flipping *f = argument;
  uint64_t *items = f->pairs->items;
  (void)thread;
  if (f->pairs->packed) {
    for (uint64_t i = begin; i < end; i++)
      items[i] ^= f->masks.key << 32 | f->masks.value;
    return;
  }
  for (uint64_t i = begin; i < end; i++) {
    items[2 * i] ^= f->masks.key;
    items[2 * i + 1] ^= f->masks.value;
  }
}

static void flip(dzo_context *context, table_pairs *pairs, masks m) {
  flipping job = {pairs, m};
  if (m.key != 0 || m.value != 0)
    dzo_parallel_for(context->threads, pairs->count, GRAIN, flip_some, &job);
}

static dzo_status sort(dzo_context *context, const table_order *o, table_pairs *p) {
  if (p->packed) {
    DZO_TRY(dzo_radix_sort(context, &p->items, p->count, 1, 0, 32, 64, "sort"));
    return o->by_value ? dzo_radix_sort(context, &p->items, p->count, 1, 0, 0, 32, "sort") : DZO_OK;
  }
  unsigned key_bits = o->wide_keys ? 64 : 32;
  DZO_TRY(dzo_radix_sort(context, &p->items, p->count, 2, 0, 0, key_bits, "sort"));
  return o->by_value ? dzo_radix_sort(context, &p->items, p->count, 2, 1, 0, 64, "sort") : DZO_OK;
}

/* ---- The first ones alone -------------------------------------------------------------------- */

/* Does pair i come before pair k? */
DZO_ITEM bool precedes(const table_pairs *p, uint64_t i, uint64_t k, bool by_value) {
  uint64_t a = table_pairs_value(p, i), b = table_pairs_value(p, k);
  if (by_value && a != b)
    return a < b;
  return table_pairs_key(p, i) < table_pairs_key(p, k);
}

static void swap(table_pairs *p, uint64_t i, uint64_t k) {
  unsigned words = p->packed ? 1 : 2;
  for (unsigned w = 0; w < words; w++) {
    uint64_t x = p->items[words * i + w];
    p->items[words * i + w] = p->items[words * k + w];
    p->items[words * k + w] = x;
  }
}

static void sink(table_pairs *p, uint64_t size, uint64_t at, bool by_value) {
  for (uint64_t child = 2 * at + 1; child < size; at = child, child = 2 * at + 1) {
    if (child + 1 < size && precedes(p, child, child + 1, by_value))
      child++;
    if (!precedes(p, at, child, by_value))
      return;
    swap(p, at, child);
  }
}

/* Gather the `top` first pairs at the front: a heap of them, whose root is the last. */
static dzo_status select_top(dzo_context *context, const table_order *o, table_pairs *p) {
  for (uint64_t i = o->top / 2; i-- > 0;)
    sink(p, o->top, i, o->by_value);
  for (uint64_t i = o->top; i < p->count; i++) {
    if (i % GRAIN == 0)
      DZO_TRY(dzo_progress(context, "sort", i, p->count));
    if (!precedes(p, i, 0, o->by_value))
      continue;
    swap(p, i, 0);
    sink(p, o->top, 0, o->by_value);
  }
  p->count = o->top;
  return DZO_OK;
}

dzo_status cli_table_order_pairs(dzo_context *context, const table_order *order,
                                 table_pairs *pairs) {
  masks m = masks_of(order, pairs->packed);
  dzo_status status = DZO_OK;
  flip(context, pairs, m);
  if (order->top > 0 && order->top < pairs->count / FEW)
    status = select_top(context, order, pairs);
  if (status == DZO_OK)
    status = sort(context, order, pairs);
  if (order->top > 0 && order->top < pairs->count)
    pairs->count = order->top;
  flip(context, pairs, m);
  return status;
}
