/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The arcs that are left: which lead out of their component? A warp takes 32 vertices and walks
 * their rows one behind the other. Where one component is a giant, only vertices outside walk, and
 * each keeps one arc into it, the first; of edges between others the end in the row of the smaller
 * endpoint is kept. */
#ifndef DZO_MSF_GPU_SCAN_CUH
#define DZO_MSF_GPU_SCAN_CUH

#include "msf/gpu_label.cuh"

enum { MSF_SCAN_STEP = 4 /* arcs of a lane in flight */ };

/* An edge of each lane that emits one goes to the list of the rest, which is in no order: ranks are
 * the places of pages. */
template <typename K>
__device__ __forceinline__ void msf_list_rest(const msf_work &w, msf_pool *pool, msf_writer *t,
                                              bool emit, u32 u, u32 v, K key, u64 arc) {
  u32 takers = __ballot_sync(DZO_WARP_ALL, emit), total = (u32)__popc(takers);
  if (total == 0)
    return;
  u32 at = t->fill + (u32)__popc(takers & dzo_lanes_below()), after = t->page;
  if (t->fill + total > MSF_PAGE) {
    after = msf_new_page(w, pool, true);
    if (after != MSF_NONE && dzo_lane() == 0)
      w.page_at[after] = after;
  }
  u32 page = at < MSF_PAGE ? t->page : after;
  t->fill += total;
  if (t->fill > MSF_PAGE) {
    t->fill -= MSF_PAGE;
    t->page = after;
  }
  if (emit && page != MSF_NONE)
    msf_put(w, pool, page * MSF_PAGE + at % MSF_PAGE, u, v, key, arc);
}

/* Rows of 32 vertices, those that are empty left out. */
template <typename K> struct msf_rows {
  u64 begin[32]; /* of the row, less the arcs of the rows before */
  u32 vertex[32], label[32];
  K key[32]; /* first least arc into the giant, with its place; NONE if none */
  u32 place[32];
};

/* Which bytes of (key, smaller endpoint) are counted: those at `shift` of edges that agree with
 * `prefix` above. */
typedef struct msf_digit {
  u64 key;
  u32 vertex;
  int shift;
  bool of_vertex;
} msf_digit;

/* Does the arc before join the same two vertices and come no later in the order? */
template <typename K, bool PLAIN>
__device__ __forceinline__ bool msf_repeats(const msf_work &w, u32 u, u32 v, K key, u64 arc) {
  return arc > msf_offset(w, u) && msf_neighbour_of<PLAIN>(w, arc - 1) == v &&
         msf_key_at<K>(w, arc - 1) <= key;
}

template <typename K>
__device__ __forceinline__ void msf_count_digit(u32 *s_count, msf_digit digit, K key, u32 smaller) {
  u64 whole = digit.of_vertex ? smaller : (u64)key,
      prefix = digit.of_vertex ? digit.vertex : digit.key;
  if (digit.of_vertex && (u64)key != digit.key)
    return;
  if ((whole ^ prefix) >> digit.shift <= 255)
    atomicAdd(&s_count[whole >> digit.shift & 255], 1u);
}

/* Keep an arc into the giant if it is its row's first least; all lanes of the warp. */
template <typename K>
__device__ __forceinline__ void msf_keep_first(msf_rows<K> *rows, bool into, u32 k, K key, u32 x) {
  if (!__any_sync(DZO_WARP_ALL, into))
    return;
  K before = 0;
  bool none = true;
  if (into) {
    before = rows->key[k];
    none = rows->place[k] == MSF_NONE;
  }
  __syncwarp();
  bool better = into && (none || key < before);
  if (better)
    atomicMin(&rows->key[k], key);
  __syncwarp();
  better = better && rows->key[k] == key;
  if (better)
    atomicExch(&rows->place[k], MSF_NONE);
  __syncwarp();
  if (better)
    atomicMin(&rows->place[k], x);
  __syncwarp();
}

/* The rows of 32 vertices into shared memory. *mine: the first place of this lane's row, NONE where
 * empty. Returns their number of arcs. */
template <typename K>
__device__ __forceinline__ u32 msf_load_rows(const msf_work &w, msf_rows<K> *rows, u32 u, u64 begin,
                                             u32 degree, u32 *mine) {
  u32 through = msf_warp_sum(degree), before = through - degree;
  u32 some = __ballot_sync(DZO_WARP_ALL, degree != 0);
  if (degree != 0) {
    u32 k = (u32)__popc(some & dzo_lanes_below());
    rows->begin[k] = begin - before;
    rows->vertex[k] = u;
    rows->label[k] = __ldg(&w.label[u]);
  }
  rows->key[dzo_lane()] = (K)MSF_NEVER;
  rows->place[dzo_lane()] = MSF_NONE;
  *mine = degree != 0 ? before : MSF_NONE;
  __syncwarp();
  return __shfl_sync(DZO_WARP_ALL, through, 31);
}

/* What the scan of one warp goes with. */
typedef struct msf_scan_state {
  bool giant;
  bool limited; /* by control->high */
  bool careful;
  msf_pool pool;
  msf_writer writer;
  u32 *s_count; /* where digits are counted */
  msf_digit digit;
} msf_scan_state;

/* An arc of each lane: the place of its row among the rows, and what is known of it. */
typedef struct msf_scanned {
  u64 arc;
  u32 k, v;
  u32 other; /* the component of v, where asked for; else of the row's vertex */
  bool into, crosses;
} msf_scanned;

/* The place `place` of the rows; the last one where there are fewer. */
template <typename K>
__device__ __forceinline__ void msf_find_arc(const msf_rows<K> *rows, u32 mine, u32 base, u32 total,
                                             msf_scanned *a) {
  u32 upto = dzo_lanes_below() | 1u << dzo_lane(), from = mine - base;
  u32 begins = __reduce_or_sync(DZO_WARP_ALL, mine != MSF_NONE && from < 32 ? 1u << from : 0);
  u32 before = (u32)__popc(__ballot_sync(DZO_WARP_ALL, mine < base));
  a->crosses = base + dzo_lane() < total;
  a->k = a->crosses ? before + (u32)__popc(begins & upto) - 1 : 0;
  a->arc = rows->begin[a->k] + (a->crosses ? base + dzo_lane() : 0);
}

/* What leads out is kept or counted. Edges that repeat others are left out only where the list may
 * be too short. */
template <typename K, bool PLAIN, bool COUNT>
__device__ __forceinline__ void msf_scan_arc(const msf_work &w, msf_rows<K> *rows,
                                             msf_scan_state *s, const msf_scanned *a, K key,
                                             u32 place) {
  u32 u = rows->vertex[a->k];
  bool below = COUNT || !s->limited || msf_upto<K>(w.control->high, key, min(u, a->v));
  if (s->giant)
    msf_keep_first<K>(rows, a->into && below, a->k, key, place);
  bool emit = a->crosses && below;
  if (COUNT || s->careful)
    emit = emit && !msf_repeats<K, PLAIN>(w, u, a->v, key, a->arc);
  if (COUNT) {
    if (emit)
      msf_count_digit<K>(s->s_count, s->digit, key, u);
    return;
  }
  msf_list_rest(w, &s->pool, &s->writer, emit, rows->label[a->k], a->other, key, a->arc);
}

/* 128 places of the rows from `first` on. All loads of a kind are sent before any is waited for. */
template <typename K, bool PLAIN, bool COUNT>
__device__ __forceinline__ void msf_scan_step(const msf_work &w, msf_rows<K> *rows,
                                              msf_scan_state *s, u32 mine, u32 first, u32 total) {
  msf_scanned a[MSF_SCAN_STEP];
  K key[MSF_SCAN_STEP];
  bool any = s->giant;
#pragma unroll
  for (u32 j = 0; j < MSF_SCAN_STEP; j++)
    msf_find_arc(rows, mine, first + j * 32, total, &a[j]);
#pragma unroll
  for (u32 j = 0; j < MSF_SCAN_STEP; j++) {
    a[j].v = msf_neighbour_once<PLAIN>(w, a[j].arc);
    a[j].into = false;
  }
  if (s->giant) {
    u32 bits[MSF_SCAN_STEP];
#pragma unroll
    for (u32 j = 0; j < MSF_SCAN_STEP; j++)
      bits[j] = __ldg(&w.giant_bits[a[j].v / 32]);
#pragma unroll
    for (u32 j = 0; j < MSF_SCAN_STEP; j++)
      a[j].into = a[j].crosses & (bits[j] >> a[j].v % 32 & 1);
  }
#pragma unroll
  for (u32 j = 0; j < MSF_SCAN_STEP; j++) {
    bool ask = a[j].crosses & !a[j].into & (rows->vertex[a[j].k] < a[j].v);
    a[j].other = ask ? __ldg(&w.label[a[j].v]) : rows->label[a[j].k];
  }
#pragma unroll
  for (u32 j = 0; j < MSF_SCAN_STEP; j++) {
    a[j].crosses = a[j].other != rows->label[a[j].k];
    any |= a[j].crosses;
  }
  if (!__any_sync(DZO_WARP_ALL, any))
    return;
#pragma unroll
  for (u32 j = 0; j < MSF_SCAN_STEP; j++)
    key[j] = a[j].into | a[j].crosses ? msf_key_at<K>(w, a[j].arc) : 0;
#pragma unroll
  for (u32 j = 0; j < MSF_SCAN_STEP; j++)
    msf_scan_arc<K, PLAIN, COUNT>(w, rows, s, &a[j], key[j], first + j * 32 + dzo_lane());
}

/* Where neighbours larger than u begin in its row, which ascends. */
template <bool PLAIN>
__device__ __forceinline__ u64 msf_larger_neighbours(const msf_work &w, u32 u, u64 begin, u64 end) {
  while (begin < end) {
    u64 middle = begin + (end - begin) / 2;
    if (msf_neighbour_of<PLAIN>(w, middle) > u)
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

/* Up to 32 vertices, one a lane. */
template <typename K, bool PLAIN, bool COUNT>
__device__ __forceinline__ void msf_scan_rows(const msf_work &w, msf_rows<K> *rows,
                                              msf_scan_state *s, bool there, u32 u) {
  u64 begin = there ? msf_offset(w, u) : 0, end = there ? msf_offset(w, u + 1) : 0;
  if (!s->giant && w.by_neighbour)
    begin = msf_larger_neighbours<PLAIN>(w, u, begin, end);
  u64 degree = end - begin;
  u64 all = __shfl_sync(DZO_WARP_ALL, msf_warp_sum(degree), 31);
  u32 passes = all >> 32 != 0 ? 32 : 1; /* places have 32 bits */
  for (u32 pass = 0; pass < passes; pass++) {
    u32 mine, here = passes == 1 || pass == dzo_lane() ? (u32)degree : 0;
    u32 total = msf_load_rows(w, rows, u, begin, here, &mine);
    for (u64 first = 0; first < total; first += 32 * MSF_SCAN_STEP)
      msf_scan_step<K, PLAIN, COUNT>(w, rows, s, mine, (u32)first, total);
    __syncwarp();
    u32 x = rows->place[dzo_lane()];
    bool emit = x != MSF_NONE;
    if (!COUNT && s->giant) {
      u32 k = emit ? dzo_lane() : 0;
      msf_list_rest(w, &s->pool, &s->writer, emit, rows->label[k], w.control->giant, rows->key[k],
                    rows->begin[k] + x);
    }
    __syncwarp();
  }
}

template <typename K, bool PLAIN, bool COUNT>
__global__ void __launch_bounds__(MSF_THREADS, 4) msf_k_scan(msf_work w, msf_digit digit) {
  dzo_after_previous();
  __shared__ msf_rows<K> s_rows[MSF_WARPS];
  __shared__ u32 s_count[256];
  __shared__ msf_key_marks s_marks[msf_marks_room<K, MSF_WARPS>::COUNT];
  msf_control *control = w.control;
  if (msf_is_done(w) && !COUNT)
    return;
  if (control->list[MSF_LIGHTEST].overflow && control->high.everything && !COUNT) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      control->list[MSF_REST].overflow = 1;
    return;
  }
  if (!COUNT)
    msf_clear(w, w.parent[MSF_REST], control->list[MSF_REST].components[0]);
  msf_scan_state s = {control->mode == MSF_SCAN_GIANT,
                      !control->high.everything,
                      control->careful != 0,
                      msf_pool_new<K>(s_marks),
                      msf_writer_new(),
                      s_count,
                      digit};
  bool plain = control->mode == MSF_SCAN_PLAIN;
  u32 count = plain ? w.n : control->listed, warp = threadIdx.x >> 5;
  s_count[threadIdx.x] = 0;
  __syncthreads();
  for (u64 base = ((u64)blockIdx.x * MSF_WARPS + warp) * 32; base < count;
       base += (u64)gridDim.x * MSF_THREADS) {
    u32 at = (u32)base + dzo_lane();
    u32 u = at >= count ? 0 : plain ? at : __ldg(&w.listed[at]);
    msf_scan_rows<K, PLAIN, COUNT>(w, &s_rows[warp], &s, at < count, u);
  }
  if (!COUNT) {
    msf_close_page(w, &s.writer);
    msf_close_pool<K>(w, &s.pool, true);
    return;
  }
  __syncthreads();
  if (s_count[threadIdx.x] != 0)
    atomicAdd(&control->histogram[threadIdx.x], (u64)s_count[threadIdx.x]);
}

#endif
