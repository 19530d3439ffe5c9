/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the first pass noted: duplicates by position, and keys that found both their buckets full.
 */
#include "dzo/table.h"
#include "table/gpu_direct.cuh"

enum { THREADS = TABLE_DIRECT_THREADS, WALKERS = 64, AHEAD = 2 };
enum { NONE = 0xffffffff, LEAST_ROOM = 32 };

/* Steps that a pair may go; fewer where so many have to that their keys must have been chosen. */
enum { STEPS = 400, FEW_STEPS = 24, CROWD = 8, LEAST_CROWD = 4096 };

static u64 blocks_for(u64 threads, u64 each) { return (threads + each - 1) / each; }

/* ---- The set of the noted keys ----------------------------------------------------------------
 */

static __device__ __forceinline__ u32 set_start(const table_direct_set &s, u64 key) {
  u32 x = (u32)(key >> 32) * 0x85ebca6bu ^ (u32)key ^ s.salt;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return __umulhi(x ^ x >> 16, s.room);
}

/* The entry of a key; without `make`, of one that is in it, or NONE. */
template <typename W> static __device__ u32 entry_of(const table_direct_set &s, W key, bool make) {
  W *keys = (W *)s.keys;
  if (key == table_word<W>::FREE)
    return make || dzo_load_shared(&s.first[s.room]) != NONE ? s.room : (u32)NONE;
  for (u32 i = set_start(s, key);; i = i + 1 == s.room ? 0 : i + 1) {
    W there = dzo_load_shared(&keys[i]);
    if (there == table_word<W>::FREE && make)
      there = atomicCAS(&keys[i], (W)table_word<W>::FREE, key);
    if (there == key)
      return i;
    if (there == table_word<W>::FREE)
      return make ? i : (u32)NONE;
  }
}

static __device__ __forceinline__ void note_position(const table_direct &d, u32 entry, u32 i) {
  atomicMin(&d.set.first[entry], i);
  if (d.operation == DZO_TABLE_ASSIGN)
    atomicMin(&d.set.last[entry], ~i);
}

/* Which queries were noted: those that met their key, then those that found no slot. */
static __device__ __forceinline__ u32 noted(const table_direct &d, u32 n, u32 met) {
  return n < met ? d.noted[n] : d.noted[d.count - 1 - (n - met)];
}

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
    direct_note(table_layout t, table_direct d, u32 met, u32 left) {
  u32 n = blockIdx.x * THREADS + threadIdx.x;
  if (n >= met + left)
    return;
  u32 i = noted(d, n, met);
  W key = table_direct_key<W>(t, d, i);
  if (n < met && !passes_filter(d, key))
    return;
  u32 entry = entry_of(d.set, key, true);
  note_position(d, entry, i);
  if (d.set.sums != NULL && n >= met)
    table_direct_combine<W>(d.operation, (W *)d.set.sums + entry, table_direct_value<W>(d, i));
}

/* Queries that claimed the slot of a key which others met. */
template <typename W>
static __global__ void __launch_bounds__(THREADS)
    direct_note_claims(table_layout t, table_direct d) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (!is_claimer(d, i))
    return;
  u32 entry = entry_of(d.set, table_direct_key<W>(t, d, i), false);
  if (entry == NONE)
    return;
  d.set.claimer[entry] = i;
  note_position(d, entry, i);
}

/* ---- Queries that met their key ---------------------------------------------------------------
 */

/* Of the queries of a key, the one whose value stays is a noted one. */
static __device__ bool decides(const table_direct &d, u32 entry, u32 i) {
  if (d.operation == DZO_TABLE_ASSIGN)
    return d.set.last[entry] == ~i;
  return d.operation == DZO_TABLE_INSERT && d.set.claimer[entry] != NONE && d.set.first[entry] == i;
}

/* The claimer's answer is another's who came before it. */
static __device__ void answer_first(const table_direct &d, u32 entry, u32 i) {
  u32 claimer = d.set.claimer[entry];
  if (claimer == NONE || d.set.first[entry] != i)
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
    u32 entry = passes_filter(d, key) ? entry_of(d.set, key, false) : (u32)NONE;
    writes = writes || (entry != NONE && decides(d, entry, i));
    if (entry != NONE && d.answers != NULL)
      answer_first(d, entry, i);
  }
  if (writes)
    table_direct_combine<W>(d.operation, table_direct_find<W, S>(t, key),
                            table_direct_value<W>(d, i));
}

/* ---- Making room ------------------------------------------------------------------------------
 */

/* The region of a walk. Buckets have locks; nobody waits for one. */
template <typename W> struct walk_region {
  typename table_word<W>::slot *slots;
  u32 *locks;
  u64 number; /* of its first bucket */
};

template <typename W> static __device__ bool try_lock(const walk_region<W> &r, u32 bucket) {
  u64 b = r.number + bucket;
  u32 bit = 1u << (b & 31);
  if ((atomicOr(&r.locks[b / 32], bit) & bit) != 0)
    return false;
  __threadfence();
  return true;
}
template <typename W> static __device__ void unlock(const walk_region<W> &r, u32 bucket) {
  u64 b = r.number + bucket;
  __threadfence();
  atomicAnd(&r.locks[b / 32], ~(1u << (b & 31)));
}

template <typename W, int S>
static __device__ __forceinline__ u32 free_in(const walk_region<W> &r, u32 bucket) {
  table_bucket<W, S> b;
  table_load_now<S>(r.slots + bucket * S, &b);
  return table_look<W, S>(b, (W)table_word<W>::FREE).free;
}

template <typename W> static __device__ u32 other_bucket(const table_layout &t, W key, u32 bucket) {
  u32 first = table_first_bucket(table_place_of(key, t.regions), t.buckets);
  return first == bucket ? table_second_bucket(key, t.buckets) : first;
}

/* Into a locked bucket, if it has a free slot. */
template <typename W, int S>
static __device__ bool fill_locked(const walk_region<W> &r, u32 bucket,
                                   typename table_word<W>::slot pair) {
  u32 free = free_in<W, S>(r, bucket);
  if (free != 0)
    dzo_store_shared(r.slots + bucket * S + (__ffs((int)free) - 1), pair);
  return free != 0;
}

/* A place in a full bucket, within it, whose pair may go on to its other bucket; without locks, so
 * it is only likely. AHEAD of them are looked at at a time. */
template <typename W, int S>
static __device__ bool seek_exit(const table_layout &t, const walk_region<W> &r, u32 bucket,
                                 u32 random, u32 *at, u32 *other) {
  for (u32 i = 0; i < S; i += AHEAD) {
    u32 places[AHEAD], others[AHEAD], free[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      places[k] = (i + k + random) % S;
      W key = table_slot_key(dzo_load_shared(r.slots + bucket * S + places[k]));
      others[k] = key == table_word<W>::FREE ? bucket : other_bucket<W>(t, key, bucket);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
      free[k] = others[k] != bucket ? free_in<W, S>(r, others[k]) : 0;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      *at = places[k];
      *other = others[k];
      if (free[k] != 0)
        return true;
    }
  }
  return false;
}

/* The pair of slot `at` of a locked bucket to its other bucket. */
template <typename W, int S>
static __device__ bool move_on(const table_layout &t, const walk_region<W> &r, u32 bucket, u32 at,
                               u32 other) {
  if (!try_lock(r, other))
    return false;
  typename table_word<W>::slot old = dzo_load_shared(r.slots + bucket * S + at);
  W key = table_slot_key(old);
  bool moved = key != table_word<W>::FREE && other_bucket<W>(t, key, bucket) == other &&
               fill_locked<W, S>(r, other, old);
  unlock(r, other);
  return moved;
}

/* Into a bucket, if it has a free slot. Slots are only taken meanwhile, so that one that has none
 * will not have any. */
template <int S>
static __device__ bool fill(const walk_region<u64> &r, u32 bucket, ulonglong2 pair) {
  while (free_in<u64, S>(r, bucket) != 0) {
    if (!try_lock(r, bucket))
      continue;
    bool placed = fill_locked<u64, S>(r, bucket, pair);
    unlock(r, bucket);
    return placed;
  }
  return false;
}
template <int S> static __device__ bool fill(const walk_region<u32> &r, u32 bucket, u64 pair) {
  table_bucket<u32, S> b;
  table_load_now<S>(r.slots + bucket * S, &b);
  table_seen seen = table_look<u32, S>(b, (u32)table_word<u32>::FREE);
  for (u32 free = seen.free; free != 0; free &= free - 1) {
    u32 i = (u32)__ffs((int)free) - 1;
    u32 was =
        (seen.empty >> i & 1) != 0 ? (u32)table_word<u32>::EMPTY : (u32)table_word<u32>::ERASED;
    u64 old = table_slot_of(was, (u32)table_word<u32>::FREE);
    if (atomicCAS(r.slots + bucket * S + i, old, pair) == old)
      return true;
  }
  return false;
}

/* One step in a bucket. True: the pair is placed. With `force`, if it cannot be, it takes the place
 * of another, which then is *pair, and *bucket that one's other. */
template <int S>
static __device__ bool step(const table_layout &t, const walk_region<u64> &r, u32 *bucket,
                            ulonglong2 *pair, u32 random, bool force) {
  u32 here = *bucket, at = 0, other = 0;
  bool exit = free_in<u64, S>(r, here) == 0 && seek_exit<u64, S>(t, r, here, random, &at, &other);
  if (!try_lock(r, here))
    return false; /* somebody is there: later */
  bool placed = fill_locked<u64, S>(r, here, *pair);
  if (!placed && exit && move_on<u64, S>(t, r, here, at, other)) {
    dzo_store_shared(r.slots + here * S + at, *pair);
    placed = true;
  } else if (!placed && force && !exit) {
    ulonglong2 *victim = r.slots + here * S + random % S, old = dzo_load_shared(victim);
    dzo_store_shared(victim, *pair);
    *pair = old;
    *bucket = other_bucket<u64>(t, old.y, here);
  }
  unlock(r, here);
  return placed;
}

/* A pair of 32-bit words is one word, which nobody needs a lock to take or to exchange. */
template <int S>
static __device__ bool step(const table_layout &t, const walk_region<u32> &r, u32 *bucket,
                            u64 *pair, u32 random, bool force) {
  u32 here = *bucket, at = here * S + random % S, other = 0, place;
  if (fill<S>(r, here, *pair))
    return true;
  if (seek_exit<u32, S>(t, r, here, random, &place, &other))
    at = here * S + place;
  else if (!force)
    return false;
  u64 old = atomicExch(r.slots + at, *pair);
  u32 key = table_slot_key(old);
  if (key == table_word<u32>::FREE)
    return true;
  *pair = old;
  *bucket = other_bucket<u32>(t, key, here);
  return false;
}

/* False: *pair has no place. */
template <typename W, int S>
static __device__ bool walk(const table_layout &t, const table_direct &d,
                            typename table_word<W>::slot *pair, int steps) {
  W key = table_slot_key(*pair);
  table_direct_place_of<W> p = table_direct_places<W, S>(t, key);
  walk_region<W> r = {p.region, d.locks, (u64)table_place_of(key, t.regions).region * t.buckets};
  u32 random = (u32)key * 0x9e3779b1u, bucket = p.first;
  for (int i = 0; i < steps; i++) {
    random = random * 1664525u + 1013904223u;
    if (step<S>(t, r, &bucket, pair, random >> 20, i > 0))
      return true;
    if (i == 0 && table_slot_key(*pair) == key)
      bucket = p.second;
  }
  /* None is for the overflow while one of its buckets has a free slot, since there look-ups end. */
  u32 other = other_bucket<W>(t, table_slot_key(*pair), bucket);
  return fill<S>(r, bucket, *pair) || fill<S>(r, other, *pair);
}

/* The value of a key that is new: of its only query, or of all of them. */
template <typename W> static __device__ W value_of_left(const table_direct &d, u32 entry, u32 i) {
  if (d.set.sums != NULL)
    return dzo_load_shared((W *)d.set.sums + entry);
  return table_direct_value<W>(d, d.operation == DZO_TABLE_ASSIGN ? ~d.set.last[entry] : i);
}

/* The first query of each key brings it in. */
template <typename W, int S>
static __global__ void __launch_bounds__(WALKERS)
    direct_walk(table_layout t, table_direct d, u32 left, int steps) {
  u32 n = blockIdx.x * WALKERS + threadIdx.x;
  bool live = n < left, first = false;
  if (live) {
    u32 i = d.noted[d.count - 1 - n];
    W key = table_direct_key<W>(t, d, i);
    u32 entry = entry_of(d.set, key, false);
    first = d.set.first[entry] == i;
    if (first) {
      typename table_word<W>::slot pair = table_slot_of(value_of_left<W>(d, entry, i), key);
      if (!walk<W, S>(t, d, &pair, steps)) {
        u64 to = atomicAdd((u64 *)&d.counters->spilled, 1ull);
        ((typename table_word<W>::slot *)d.spill)[to] = pair;
      }
    }
    if (d.answers != NULL)
      d.answers[i] = first ? DZO_TABLE_INSERTED : DZO_TABLE_FOUND;
  }
  __syncwarp();
  u32 made = __ballot_sync(DZO_WARP_ALL, first),
      others = __ballot_sync(DZO_WARP_ALL, live && !first);
  if (dzo_lane() == 0 && made != 0)
    atomicAdd((u64 *)&d.counters->inserted, (u64)__popc(made));
  if (dzo_lane() == 0 && others != 0)
    atomicAdd((u64 *)&d.counters->found, (u64)__popc(others));
}

/* Of a mixed batch: the others change what the first has brought to a slot, or to the spill. */
template <int S>
static __global__ void __launch_bounds__(THREADS)
    direct_again(table_layout t, table_direct d, u32 left) {
  u32 n = blockIdx.x * THREADS + threadIdx.x;
  if (n >= left)
    return;
  u32 i = d.noted[d.count - 1 - n], key = table_direct_key<u32>(t, d, i);
  if (d.codes[i] == DZO_TABLE_INSERT || d.set.first[entry_of(d.set, key, false)] == i)
    return;
  u32 *at = table_direct_find<u32, S>(t, key);
  table_pair<u32> *spill = (table_pair<u32> *)d.spill;
  u64 spilled = at == NULL ? d.counters->spilled : 0;
  for (u64 k = 0; at == NULL && k < spilled; k++)
    at = spill[k].key == key ? &spill[k].value : (u32 *)NULL;
  if (at != NULL)
    table_direct_combine<u32>(d.codes[i], at, table_direct_value<u32>(d, i));
}

template <typename W, int S>
static dzo_status again(dzo_unit *unit, const table_layout *t, const table_direct *d, u32 left) {
  if (sizeof(W) == 8 || d->operation != DZO_TABLE_MIXED)
    return DZO_OK;
  return DZO_LAUNCH(unit, 0, direct_again<S>, blocks_for(left, THREADS), THREADS, *t, *d, left);
}

static __global__ void __launch_bounds__(THREADS) direct_refuse(table_direct d, u32 left) {
  u32 n = blockIdx.x * THREADS + threadIdx.x;
  if (n < left)
    d.answers[d.noted[d.count - 1 - n]] = DZO_TABLE_REFUSED;
}

/* ---- From the host ----------------------------------------------------------------------------
 */

static u64 round_up(u64 bytes) { return (bytes + 255) / 256 * 256; }

static u32 room_for(u64 keys) { return (u32)(keys + keys / 2 + LEAST_ROOM); }

static u64 lock_bytes(const table_layout *t, bool wide) {
  return wide ? (t->regions * t->buckets + 31) / 32 * 4 : 0;
}

/* Eight bits a query. */
static u32 filter_words(u64 count) { return (u32)((count + 3) / 4) + 1; }

static bool has_sums(int operation) {
  return operation != DZO_TABLE_INSERT && operation != DZO_TABLE_ASSIGN &&
         operation != DZO_TABLE_MIXED;
}

/* Arrays of the set, the sums last. */
static u64 place_set(bool wide, bool sums, u32 room, table_direct_set *s, char *memory) {
  u64 entries = (u64)room + 1, used = 0, word = wide ? 8 : 4;
  s->room = room;
  s->keys = memory;
  used += round_up(entries * word);
  s->first = (u32 *)(memory + used);
  used += round_up(entries * 4);
  s->claimer = (u32 *)(memory + used);
  used += round_up(entries * 4);
  s->last = (u32 *)(memory + used);
  used += round_up(entries * 4);
  s->sums = sums ? memory + used : NULL;
  return sums ? used + round_up(entries * word) : used;
}

uint64_t table_direct_place(const table_layout *t, bool wide, table_direct *d, void *workspace) {
  char *base = (char *)workspace;
  u64 used = 0;
  if (d->operation == DZO_TABLE_ERASE) {
    d->where = (uint64_t *)workspace;
    return round_up(8 * (u64)d->count);
  }
  table_direct_set set = {};
  d->set.keys = base;
  used += place_set(wide, has_sums(d->operation), room_for(d->count), &set, base);
  d->noted = (u32 *)(base + used);
  used += round_up(4 * (u64)d->count);
  d->claims = (u32 *)(base + used);
  used += round_up((d->count + 31) / 32 * 4);
  d->filter_words = filter_words(d->count);
  d->filter = (u32 *)(base + used);
  used += round_up(4 * (u64)d->filter_words);
  d->locks = (u32 *)(base + used);
  used += round_up(lock_bytes(t, wide));
  d->spill = base + used;
  return used + round_up((u64)d->count * (wide ? 16 : 8));
}

/* Do positions matter? */
static bool has_duplicates(const table_direct *d, const table_counters *seen) {
  if (!d->ordered || seen->met == 0)
    return false;
  if (d->operation == DZO_TABLE_ASSIGN)
    return true;
  return seen->inserted > 0 && (d->answers != NULL || d->operation == DZO_TABLE_INSERT);
}

/* Only what is wanted of it is filled: claimers if there may be some. */
static dzo_status make_set(dzo_unit *unit, bool wide, table_direct *d, u64 keys, bool claimers) {
  char *memory = (char *)d->set.keys;
  u64 entries = room_for(keys) + 1ull, word = wide ? 8 : 4;
  place_set(wide, has_sums(d->operation), room_for(keys), &d->set, memory);
  u32 *last = claimers ? d->set.claimer : d->set.first;
  if (d->operation == DZO_TABLE_ASSIGN)
    last = d->set.last;
  DZO_TRY(dzo_unit_fill(unit, 0, memory, 0xff, (u64)((char *)last - memory) + 4 * entries));
  if (d->set.sums == NULL)
    return DZO_OK;
  return dzo_unit_fill(unit, 0, d->set.sums, d->operation == DZO_TABLE_MIN ? 0xff : 0,
                       entries * word);
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
  bool aggregates = wide && has_sums(d->operation);
  u32 met = ordered ? (u32)seen->met : 0, left = (u32)seen->left;
  u64 blocks = blocks_for((u64)met + left, THREADS);
  if (met > 0)
    DZO_TRY(mark(unit, wide, t, d));
  if (met + left > 0) {
    DZO_TRY(make_set(unit, wide, d, (u64)met + left, met > 0));
    DZO_TRY(DZO_LAUNCH(unit, 0, direct_note<W>, blocks, THREADS, *t, *d, met, left));
  }
  if (met > 0 && seen->inserted > 0)
    DZO_TRY(
        DZO_LAUNCH(unit, 0, direct_note_claims<W>, blocks_for(d->count, THREADS), THREADS, *t, *d));
  if (seen->met > 0 && (met > 0 || aggregates)) {
    table_direct e = *d;
    e.set.room = met > 0 ? d->set.room : 0;
    DZO_TRY(DZO_LAUNCH(unit, 0, (direct_settle<W, S>), blocks_for(seen->met, THREADS), THREADS, *t,
                       e, (u32)seen->met, aggregates));
  }
  if (left == 0)
    return DZO_OK;
  if (wide)
    DZO_TRY(dzo_unit_fill(unit, 0, d->locks, 0, lock_bytes(t, true)));
  bool crowd = left > LEAST_CROWD && left > d->count / CROWD;
  DZO_TRY(DZO_LAUNCH(unit, 0, (direct_walk<W, S>), blocks_for(left, WALKERS), WALKERS, *t, *d, left,
                     crowd ? (int)FEW_STEPS : (int)STEPS));
  return again<W, S>(unit, t, d, left);
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
