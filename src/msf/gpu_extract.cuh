/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One pass over the arcs. All keys are read, neighbours of light arcs only. Each row's first light
 * arc is what its vertex picks in round one; light arcs u -> v with u < v go to the list. A warp
 * takes a supertile of contiguous arcs and goes through it in tiles. */
#ifndef DZO_MSF_GPU_EXTRACT_CUH
#define DZO_MSF_GPU_EXTRACT_CUH

#include "msf/gpu_list.cuh"

/* Blocks at once on a multiprocessor: as many as have registers enough. */
template <typename K> struct msf_extract_shape {
  enum {
    WARPS = 4,
    THREADS = 32 * WARPS,
    BLOCKS = sizeof(K) == 4 ? 6 : 5,
    VECTOR = 16 / sizeof(K), /* keys of one load */
    LOADS = MSF_TILE / (32 * (16 / sizeof(K))),
    EACH = MSF_TILE / 32
  };
};

/* A warp's shared memory. */
template <typename K> struct __align__(16) msf_tile {
  K key[MSF_TILE];             /* as stored */
  u32 row[MSF_TILE + 4];       /* rows that begin in the tile, after that of its first arc */
  uint2 begins[MSF_TILE / 32]; /* bits of the places where rows begin; how many begin before */
  uint16_t place[MSF_TILE];    /* of the light arcs */
};

/* Where a supertile ends and which rows cross its borders. */
typedef struct msf_super {
  u32 id;
  u64 begin, end;
  u32 first, last; /* rows that cross its begin and its end, or NONE */
} msf_super;

/* The row whose least light arc may go on in the next batch; the same in all lanes. */
template <typename K> struct msf_carry {
  u32 row;
  K key;
  bool any;
};

/* Keys of a whole tile into registers: load j of lane l has the keys from (32 j + l) * VECTOR on.
 */
template <typename K>
__device__ __forceinline__ void msf_load_tile(const msf_work &w, u64 begin, K *x) {
  typedef msf_extract_shape<K> shape;
  const K *keys = (const K *)w.keys + begin + dzo_lane() * (u64)shape::VECTOR;
#pragma unroll
  for (int j = 0; j < shape::LOADS; j++) {
    uint4 four = __ldcs((const uint4 *)(const void *)(keys + j * 32 * shape::VECTOR));
    if (sizeof(K) == 4) {
      x[4 * j] = (K)four.x;
      x[4 * j + 1] = (K)four.y;
      x[4 * j + 2] = (K)four.z;
      x[4 * j + 3] = (K)four.w;
    } else {
      x[2 * j] = (K)((u64)four.y << 32 | four.x);
      x[2 * j + 1] = (K)((u64)four.w << 32 | four.z);
    }
  }
}

/* The same of any tile, through shared memory. */
template <typename K>
__device__ __forceinline__ void msf_load_slowly(const msf_work &w, msf_tile<K> *t, u64 begin,
                                                u64 end, K *x) {
  typedef msf_extract_shape<K> shape;
#pragma unroll 1
  for (u32 i = dzo_lane(); i < MSF_TILE; i += 32)
    t->key[i] = w.keys != NULL && begin + i < end ? __ldcs((const K *)w.keys + begin + i) : 0;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < shape::EACH; i++)
    x[i] = t->key[(i / shape::VECTOR * 32 + (int)dzo_lane()) * shape::VECTOR + i % shape::VECTOR];
  __syncwarp();
}

/* The top 32 bits of a key, or, of wide ones, what stands for them: zeros of both signs and the
 * negative numbers next to them get one value, see msf_most_top(). */
template <typename K, bool MAPPED>
__device__ __forceinline__ u32 msf_key_top(const msf_work &w, K raw) {
  if (sizeof(K) == 4)
    return (u32)(MAPPED ? msf_map_key<K>(w, raw) : raw);
  u32 top = (u32)((u64)raw >> 32);
  if (w.real && top == 1u << 31)
    top = 0;
  return top ^ (top >> 31 ? (u32)(w.negative >> 32) : 0) ^ (u32)(w.flip >> 32);
}

/* All keys up to `key`, and maybe some more that come next, have at most this. */
template <typename K> __device__ __forceinline__ u32 msf_most_top(const msf_work &w, u64 key) {
  if (sizeof(K) == 4)
    return (u32)key;
  u32 top = (u32)(key >> 32);
  return w.real && top == 0x7fffffffu ? top + 1 : top;
}

__device__ __forceinline__ void msf_store_keys(u32 *to, const u32 *x) {
  *(uint4 *)(void *)to = make_uint4(x[0], x[1], x[2], x[3]);
}
__device__ __forceinline__ void msf_store_keys(u64 *to, const u64 *x) {
  *(ulonglong2 *)(void *)to = make_ulonglong2(x[0], x[1]);
}

/* Keys into shared memory, places of light arcs compacted in order; returns their number. */
template <typename K, bool MAPPED>
__device__ __forceinline__ u32 msf_compact_light(const msf_work &w, msf_tile<K> *t, const K *x,
                                                 u32 size, u32 most) {
  typedef msf_extract_shape<K> shape;
  u32 lane = dzo_lane(), bits = 0;
  u64 packed = 0; /* light arcs of each load, a byte each */
#pragma unroll
  for (int i = 0; i < shape::EACH; i++)
    bits |= (u32)(msf_key_top<K, MAPPED>(w, x[i]) <= most) << i;
  if (size < MSF_TILE) {
#pragma unroll
    for (int i = 0; i < shape::EACH; i++)
      if ((i / shape::VECTOR * 32 + lane) * shape::VECTOR + i % shape::VECTOR >= size)
        bits &= ~(1u << i);
  }
#pragma unroll
  for (int j = 0; j < shape::LOADS; j++) {
    msf_store_keys(&t->key[(j * 32 + (int)lane) * shape::VECTOR], &x[j * shape::VECTOR]);
    u32 m = bits >> j * shape::VECTOR & ((1u << shape::VECTOR) - 1);
    packed |= (u64)__popc(m) << 8 * j;
  }
  u64 through = sizeof(K) == 4 ? msf_warp_sum((u32)packed) : msf_warp_sum(packed);
  u64 total = __shfl_sync(DZO_WARP_ALL, through, 31), before = through - packed;
  u32 count = 0;
#pragma unroll
  for (int j = 0; j < shape::LOADS; j++) {
    u32 to = count + (u32)(before >> 8 * j & 255), at = (u32)(j * 32 + (int)lane) * shape::VECTOR;
#pragma unroll
    for (int c = 0; c < shape::VECTOR; c++)
      if (bits >> (j * shape::VECTOR + c) & 1)
        t->place[to++] = (uint16_t)(at + c);
    count += (u32)(total >> 8 * j & 255);
  }
  return count;
}

/* Rows that begin in the tile begin .. end - 1, from the one that holds its first arc on; returns
 * the last. `from`: offset of row + 1 + lane, loaded ahead. */
template <typename K>
__device__ __forceinline__ u32 msf_find_rows(const msf_work &w, msf_tile<K> *t, u32 row, u64 begin,
                                             u64 end, u64 from) {
  u32 lane = dzo_lane(), found = 0, last = row;
  if (lane < MSF_TILE / 32)
    t->begins[lane].x = 0;
  if (lane == 0)
    t->row[0] = row;
  __syncwarp();
  for (u32 base = row + 1;;) {
    u64 to = __shfl_down_sync(DZO_WARP_ALL, from, 1);
    u32 r = base + lane;
    bool here = r < w.n && from < end, begins = here && to > from && lane < 31;
    u32 mask = __ballot_sync(DZO_WARP_ALL, begins);
    if (begins) {
      t->row[found + 1 + (u32)__popc(mask & dzo_lanes_below())] = r;
      u32 place = (u32)(from - begin);
      atomicOr(&t->begins[place / 32].x, 1u << place % 32);
    }
    found += (u32)__popc(mask);
    if (mask != 0)
      last = base + 31 - (u32)__clz((int)mask);
    if (!__all_sync(DZO_WARP_ALL, here))
      break;
    base += 31;      /* the last lane only tells where a row ends */
    if (mask == 0) { /* many empty rows: the next that is not */
      u64 arc = __shfl_sync(DZO_WARP_ALL, from, 31);
      base = max(base, msf_row_of(w, arc));
    }
    from = msf_offset(w, min(base + lane, w.n));
  }
  __syncwarp();
  u32 many = lane < MSF_TILE / 32 ? (u32)__popc(t->begins[lane].x) : 0;
  u32 through = msf_warp_sum(many);
  if (lane < MSF_TILE / 32)
    t->begins[lane].y = through - many;
  __syncwarp();
  return last;
}

/* Of each run of lanes with equal rows, the first least key among those that count: is it this
 * lane's? *least, *any and the lanes *start .. *stop are of the run. */
template <typename K>
__device__ __forceinline__ bool msf_first_of_run(u32 row, K key, bool counts, K *least, bool *any,
                                                 u32 *start_out, u32 *stop_out) {
  u32 lane = dzo_lane(), upto = dzo_lanes_below() | 1u << lane;
  u32 before = __shfl_up_sync(DZO_WARP_ALL, row, 1);
  u32 heads = __ballot_sync(DZO_WARP_ALL, lane == 0 || before != row);
  u32 start = 31 - (u32)__clz((int)(heads & upto)), above = heads & ~upto;
  u32 stop = above != 0 ? (u32)__ffs((int)above) - 2 : 31;
  K k = counts ? key : (K)MSF_NEVER;
#pragma unroll
  for (u32 d = 1; d < 32; d *= 2) {
    bool inside = lane >= d + start;
    if (!__any_sync(DZO_WARP_ALL, inside))
      break;
    K other = __shfl_up_sync(DZO_WARP_ALL, k, d);
    if (inside && other < k)
      k = other;
  }
  *least = __shfl_sync(DZO_WARP_ALL, k, (int)stop);
  u32 run = (0xffffffffu << start) & (0xffffffffu >> (31 - stop));
  u32 hits = __ballot_sync(DZO_WARP_ALL, counts && key == *least) & run;
  *any = hits != 0;
  *start_out = start;
  *stop_out = stop;
  return hits != 0 && lane == (u32)__ffs((int)hits) - 1;
}

/* What vertex u picks; rows that cross a supertile's border are put together later. */
template <typename K>
__device__ __forceinline__ void msf_pick(const msf_work &w, const msf_super &s, u32 u, u32 v, K key,
                                         u64 arc) {
  if (u == s.first || u == s.last) {
    msf_record *record = &w.records[2 * s.id + (u != s.first)];
    record->row = u;
    record->neighbour = v;
    record->arc = (u32)arc;
    record->key = key;
  } else {
    w.next[u] = v;
    w.pick[u] = (u32)arc;
  }
}

/* One batch of up to 32 light arcs. */
template <typename K, bool MAPPED>
__device__ __forceinline__ void
msf_take_batch(const msf_work &w, const msf_super &s, msf_tile<K> *t, u64 begin, u32 at, u32 count,
               u32 v, msf_carry<K> *carry, msf_pool *pool, msf_light_writer *writer) {
  u32 lane = dzo_lane(), u = MSF_NONE;
  bool there = at + lane < count;
  u64 arc = 0;
  K key = 0;
  if (there) {
    u32 place = t->place[at + lane];
    key = MAPPED ? msf_map_key<K>(w, t->key[place]) : t->key[place];
    uint2 b = t->begins[place / 32];
    u = t->row[b.y + (u32)__popc(b.x & (0xffffffffu >> (31 - place % 32)))];
    arc = begin + place;
  }
  bool edge = there && u != v;
  K least;
  bool any;
  u32 start, stop;
  int end = (int)min(31u, count - at - 1);
  bool first = msf_first_of_run(u, key, edge, &least, &any, &start, &stop);
  if (first && !(u == carry->row && carry->any && carry->key <= key))
    msf_pick(w, s, u, v, key, arc);
  /* What a vertex picks is known to be merged; its row may go on before and after the batch. */
  if (first && stop != (u32)end && (start != 0 || u != carry->row) && u != s.first)
    edge = false;
  u32 row = __shfl_sync(DZO_WARP_ALL, u, end);
  least = __shfl_sync(DZO_WARP_ALL, least, end);
  any = __any_sync(DZO_WARP_ALL, any && (int)lane == end);
  if (row != carry->row || !carry->any)
    *carry = {row, least, any};
  else if (any && least < carry->key)
    carry->key = least;
  msf_list_light(w, pool, writer, s.id, edge && u < v, u, v, key, arc);
  __syncwarp();
}

template <typename K, bool MAPPED, bool PLAIN>
__device__ __forceinline__ void msf_extract_super(const msf_work &w, const msf_super &s,
                                                  msf_tile<K> *t, u32 row, msf_pool *pool,
                                                  msf_light_writer *writer) {
  u32 lane = dzo_lane(), most = msf_most_top<K>(w, writer->bounds[MSF_PARTS - 1].key);
  K x[msf_extract_shape<K>::EACH];
  msf_carry<K> carry = {MSF_NONE, 0, false};
  bool ahead = false;
  u64 from = msf_offset(w, min(row + 1 + lane, w.n));
  for (u64 begin = s.begin; begin < s.end; begin += MSF_TILE) {
    u64 end = min(begin + MSF_TILE, s.end);
    if (!ahead && w.aligned && begin + MSF_TILE <= s.end)
      msf_load_tile(w, begin, x);
    else if (!ahead)
      msf_load_slowly(w, t, begin, s.end, x);
    u32 count = msf_compact_light<K, MAPPED>(w, t, x, (u32)(end - begin), most);
    row = msf_find_rows(w, t, row, begin, end, from);
    u32 v = lane < count ? msf_neighbour_of<PLAIN>(w, begin + t->place[lane]) : 0;
    ahead = w.aligned && end + MSF_TILE <= s.end;
    if (ahead) /* the next tile travels meanwhile */
      msf_load_tile(w, end, x);
    from = msf_offset(w, min(row + 1 + lane, w.n));
    for (u32 at = 0; at < count; at += 32) {
      u32 next = at + 32 + lane;
      u32 after = next < count ? msf_neighbour_of<PLAIN>(w, begin + t->place[next]) : 0;
      msf_take_batch<K, MAPPED>(w, s, t, begin, at, count, v, &carry, pool, writer);
      v = after;
    }
    __syncwarp();
  }
}

/* The warp's next supertile, its first row and the row after it; false where there is none. */
__device__ __forceinline__ bool msf_next_super(const msf_work &w, msf_super *s, u32 *row,
                                               u32 *after) {
  u32 lane = dzo_lane(), id = 0;
  if (lane == 0)
    id = atomicAdd(&w.control->ticket, 1u);
  s->id = __shfl_sync(DZO_WARP_ALL, id, 0);
  if (s->id >= w.supertiles)
    return false;
  s->begin = (u64)s->id << w.super_log;
  s->end = min(s->begin + (1ull << w.super_log), w.arcs);
  *row = __ldg(&w.super_row[s->id]);
  *after = __ldg(&w.super_row[s->id + 1]);
  s->first = msf_offset(w, *row) < s->begin ? *row : MSF_NONE;
  s->last = s->end < w.arcs && msf_offset(w, *after) < s->end ? *after : MSF_NONE;
  if (lane < 2)
    w.records[2 * s->id + lane].row = MSF_NONE;
  __syncwarp();
  return true;
}

template <typename K, bool MAPPED, bool PLAIN>
__global__ void __launch_bounds__(msf_extract_shape<K>::THREADS, msf_extract_shape<K>::BLOCKS)
    msf_k_extract(msf_work w) {
  dzo_after_previous();
  __shared__ msf_tile<K> s_tile[msf_extract_shape<K>::WARPS];
  __shared__ msf_bound s_bounds[MSF_PARTS];
  msf_light_writer writer = msf_light_writer_new(w, s_bounds);
  __shared__ msf_key_marks s_marks[msf_marks_room<K, msf_extract_shape<K>::WARPS>::COUNT];
  msf_pool pool = msf_pool_new<K>(s_marks);
  msf_super s;
  u32 row, after;
  while (msf_next_super(w, &s, &row, &after)) {
    msf_extract_super<K, MAPPED, PLAIN>(w, s, &s_tile[threadIdx.x >> 5], row, &pool, &writer);
    msf_close_super(w, &writer, s.id);
  }
  msf_close_pool<K>(w, &pool, false);
}

#endif
