/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Queries that met their key while others claimed slots: duplicates resolve by position. */
#include "table/gpu_direct_set.cuh"

enum { THREADS = TABLE_DIRECT_THREADS };

static u64 blocks_for(u64 threads, u64 each) { return (threads + each - 1) / each; }

/* ---- The set of the keys that were met --------------------------------------------------------
 */

/* A bit for each claimed key: most keys that were met are old, and need no entry. In the order of
 * the mixed keys, in which batches that were brought to parts come. */
template <typename W>
static __device__ __forceinline__ u32 filter_bit(const table_direct &d, W key) {
  return __umulhi((u32)(key >> (8 * sizeof(W) - 32)), d.filter_words * 32);
}
template <typename W>
static __device__ __forceinline__ bool passes_filter(const table_direct &d, W key) {
  u32 bit = filter_bit(d, key);
  return d.filter == NULL || (dzo_load_shared(&d.filter[bit / 32]) >> (bit & 31) & 1) != 0;
}

static __device__ __forceinline__ bool is_claimer(const table_direct &d, u32 i) {
  return i < d.count && (d.claims[i / 32] >> (i & 31) & 1) != 0;
}

template <typename W>
static __global__ void __launch_bounds__(THREADS)
    direct_mark_claims(table_layout t, table_direct d) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (!is_claimer(d, i))
    return;
  u32 bit = filter_bit(d, table_direct_key<W>(t, d, i));
  atomicOr(&d.filter[bit / 32], 1u << (bit & 31));
}

template <typename W>
static __global__ void __launch_bounds__(THREADS)
    direct_note(table_layout t, table_direct d, u32 met) {
  u32 n = blockIdx.x * THREADS + threadIdx.x;
  if (n >= met)
    return;
  u32 i = d.noted[n];
  W key = table_direct_key<W>(t, d, i);
  if (passes_filter(d, key))
    (void)table_set_make<W>(d, key, i);
}

/* Queries that claimed the slot of a key which others met. */
template <typename W>
static __global__ void __launch_bounds__(THREADS)
    direct_note_claims(table_layout t, table_direct d) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (!is_claimer(d, i))
    return;
  W key = table_direct_key<W>(t, d, i);
  u32 entry = table_set_find<W>(d.set, key);
  if (entry == TABLE_SET_NONE)
    return;
  d.set.claimer[entry] = i;
  table_set_note<W>(d, entry, key, i);
}

/* ---- Queries that met their key ---------------------------------------------------------------
 */

/* Of the queries of a key, the one whose value stays is a noted one. */
template <typename W> static __device__ bool decides(const table_direct &d, u32 entry, u32 i) {
  if (d.operation == DZO_TABLE_ASSIGN)
    return d.set.last[entry] == ~i;
  return d.operation == DZO_TABLE_INSERT && d.set.claimer[entry] != TABLE_SET_NONE &&
         table_set_first(d.set, entry, (W)0) == i;
}

/* The claimer's answer is another's who came before it. */
template <typename W> static __device__ void answer_first(const table_direct &d, u32 entry, u32 i) {
  u32 claimer = d.set.claimer[entry];
  if (claimer == TABLE_SET_NONE || table_set_first(d.set, entry, (W)0) != i)
    return;
  d.answers[i] = DZO_TABLE_INSERTED;
  d.answers[claimer] = DZO_TABLE_FOUND;
}

template <typename W, int S>
static __global__ void __launch_bounds__(THREADS)
    direct_settle(table_layout t, table_direct d, u32 met, bool aggregates) {
  u32 n = blockIdx.x * THREADS + threadIdx.x;
  if (n >= met)
    return;
  u32 i = d.noted[n];
  W key = table_direct_key<W>(t, d, i);
  bool writes = aggregates;
  if (d.set.room > 0) {
    u32 entry = passes_filter(d, key) ? table_set_find<W>(d.set, key) : (u32)TABLE_SET_NONE;
    writes = writes || (entry != TABLE_SET_NONE && decides<W>(d, entry, i));
    if (entry != TABLE_SET_NONE && d.answers != NULL)
      answer_first<W>(d, entry, i);
  }
  if (writes)
    table_direct_combine<W>(d.operation, table_direct_find<W, S>(t, key),
                            table_direct_value<W>(d, i));
}

/* ---- Refused ----------------------------------------------------------------------------------
 */

static __global__ void __launch_bounds__(THREADS) direct_refuse(table_direct d, u32 left) {
  u32 n = blockIdx.x * THREADS + threadIdx.x;
  if (n < left)
    d.answers[d.noted[d.count - 1 - n]] = DZO_TABLE_REFUSED;
}

/* ---- From the host ----------------------------------------------------------------------------
 */

/* Eight bits a query. */
static u32 filter_words(u64 count) { return (u32)((count + 3) / 4) + 1; }

uint64_t table_direct_place(const table_layout *t, bool wide, table_direct *d, void *workspace) {
  char *base = (char *)workspace;
  u64 used = 0;
  if (d->operation == DZO_TABLE_ERASE) {
    d->where = (uint64_t *)workspace;
    return table_set_round(8 * (u64)d->count);
  }
  table_direct_set set = {};
  d->set.keys = base;
  used +=
      table_set_place(wide, table_set_has_sums(d->operation), table_set_room(d->count), &set, base);
  d->noted = (u32 *)(base + used);
  used += table_set_round(4 * (u64)d->count);
  d->claims = (u32 *)(base + used);
  used += table_set_round((d->count + 31) / 32 * 4);
  d->filter_words = filter_words(d->count);
  d->filter = (u32 *)(base + used);
  used += table_set_round(4 * (u64)d->filter_words);
  d->locks = (u32 *)(base + used);
  used += table_set_round(4 * (wide ? table_lock_words(t) : 0));
  d->spill = base + used;
  return used + table_set_round((u64)d->count * (wide ? 16 : 8));
}

/* Do positions matter? */
static bool has_duplicates(const table_direct *d, const table_counters *seen) {
  if (!d->ordered || seen->met == 0)
    return false;
  if (d->operation == DZO_TABLE_ASSIGN)
    return true;
  return seen->inserted > 0 && (d->answers != NULL || d->operation == DZO_TABLE_INSERT);
}

/* Only what is wanted of it is filled. */
static dzo_status make_set(dzo_unit *unit, bool wide, table_direct *d, u64 keys) {
  char *memory = (char *)d->set.keys;
  u64 entries = table_set_room(keys) + 1ull;
  table_set_place(wide, false, table_set_room(keys), &d->set, memory);
  u32 *last = d->operation == DZO_TABLE_ASSIGN ? d->set.last : d->set.claimer;
  return dzo_unit_fill(unit, 0, memory, 0xff, (u64)((char *)last - memory) + 4 * entries);
}

/* Of old keys alone, only ASSIGN has to know the order. */
static dzo_status mark(dzo_unit *unit, bool wide, const table_layout *t, table_direct *d) {
  u64 blocks = blocks_for(d->count, THREADS);
  if (d->operation == DZO_TABLE_ASSIGN) {
    d->filter = NULL;
    return DZO_OK;
  }
  DZO_TRY(dzo_unit_fill(unit, 0, d->filter, 0, 4 * (u64)d->filter_words));
  return wide ? DZO_LAUNCH(unit, 0, direct_mark_claims<u64>, blocks, THREADS, *t, *d)
              : DZO_LAUNCH(unit, 0, direct_mark_claims<u32>, blocks, THREADS, *t, *d);
}

template <typename W, int S>
static dzo_status settle(dzo_unit *unit, const table_layout *t, table_direct *d,
                         const table_counters *seen) {
  bool wide = sizeof(W) == 8, ordered = has_duplicates(d, seen);
  bool assigns = d->operation == DZO_TABLE_ASSIGN && !ordered;
  bool aggregates = wide && (table_set_has_sums(d->operation) || assigns);
  u32 met = (u32)seen->met;
  u64 all = blocks_for(d->count, THREADS), blocks = blocks_for(met, THREADS);
  if (met == 0 || !(ordered || aggregates))
    return DZO_OK;
  d->set.room = 0;
  if (ordered) {
    DZO_TRY(mark(unit, wide, t, d));
    DZO_TRY(make_set(unit, wide, d, met));
    DZO_TRY(DZO_LAUNCH(unit, 0, direct_note<W>, blocks, THREADS, *t, *d, met));
  }
  if (ordered && seen->inserted > 0)
    DZO_TRY(DZO_LAUNCH(unit, 0, direct_note_claims<W>, all, THREADS, *t, *d));
  return DZO_LAUNCH(unit, 0, (direct_settle<W, S>), blocks, THREADS, *t, *d, met, aggregates);
}

dzo_status table_direct_settle(dzo_unit *unit, const table_layout *t, bool wide, table_direct *d,
                               const table_counters *seen) {
  if (t->bucket_slots == 4)
    return wide ? settle<u64, 4>(unit, t, d, seen) : settle<u32, 4>(unit, t, d, seen);
  return wide ? settle<u64, 8>(unit, t, d, seen) : settle<u32, 8>(unit, t, d, seen);
}

dzo_status table_direct_refuse(dzo_unit *unit, const table_direct *d, uint64_t left) {
  if (d->answers == NULL)
    return DZO_OK;
  return DZO_LAUNCH(unit, 0, direct_refuse, blocks_for(left, THREADS), THREADS, *d, (u32)left);
}
