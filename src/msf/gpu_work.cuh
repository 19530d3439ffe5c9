/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the kernels of the GPU solver share: the graph, the workspace, the control block in device
 * memory by which steps tell each other what to do without asking the host. */
#ifndef DZO_MSF_GPU_WORK_CUH
#define DZO_MSF_GPU_WORK_CUH

#include "msf/arcs.cuh"

typedef uint32_t u32;
typedef unsigned long long u64; /* the 64-bit type of CUDA's atomics */

#define MSF_NONE 0xffffffffu
#define MSF_NEVER 0xffffffffffffffffull

enum {
  MSF_WARPS = 8, /* of a block, where a kernel says nothing else */
  MSF_THREADS = 32 * MSF_WARPS,
  MSF_TILE = 512,  /* arcs a warp looks at in one step of the extraction */
  MSF_PAGE = 32,   /* entries of a page of a list */
  MSF_ROUNDS = 40, /* more than Boruvka ever needs: components halve */
  MSF_SAMPLES = 8192,
  MSF_SAMPLE_THREADS = 1024
};

/* Parents of components. A root has its number of the next round in the low bits; or, when it has
 * no edge left, its final number. */
#define MSF_ROOT 0x80000000u
#define MSF_FINAL 0x40000000u
#define MSF_ID 0x3fffffffu

/* How the arcs that are left after the light edges are looked at. */
enum {
  MSF_SCAN_GIANT = 1, /* one component has many arcs: only vertices outside look at theirs */
  MSF_SCAN_PLAIN,     /* all rows in order */
  MSF_SCAN_GROUPED    /* all rows, component by component, whose labels then stay in the cache */
};

/* Lists of edges. The lightest ones go first: when their components are known, most other light
 * edges lie inside one. How many go first is known after round one only, so the extraction makes
 * three parts, of which one or two do. */
enum { MSF_LIGHTEST, MSF_LIGHT, MSF_REST, MSF_LISTS };
enum { MSF_PARTS = 3 };

/* So few components that all pairs of them fit into shared memory. */
enum { MSF_PAIRED = 64, MSF_PAIRS = MSF_PAIRED * (MSF_PAIRED - 1) / 2 };

/* The best light arc seen of a row that crosses the border of a supertile; row is NONE if none. */
typedef struct msf_record {
  u32 row, neighbour, arc; /* arc: the low 32 bits */
  u32 unused;
  u64 key;
} msf_record;

/* One list of edges and the rounds on it. */
typedef struct msf_list_state {
  u32 physical; /* pages handed out */
  u32 overflow; /* there were too few; the list is void */
  u32 finished; /* components that have no edge left */
  u32 rounds;
  u32 hot;                              /* a component that abstains next */
  u32 left;                             /* components after the last round */
  u64 inverse_least, most, ones, zeros; /* ~least and greatest key; bits that are 1, 0 somewhere */
  u32 components[MSF_ROUNDS + 1];
  u32 edges[MSF_ROUNDS + 1];
  u32 tied[MSF_ROUNDS + 1]; /* entries that take part in ties, about */
} msf_list_state;

/* Edges up to (key, smaller endpoint). */
typedef struct msf_bound {
  u64 key;
  u32 vertex;
  u32 everything;
} msf_bound;

typedef struct msf_control {
  msf_bound part[MSF_PARTS]; /* where the parts of the light edges end; the last is that of all */
  u32 part_pages[MSF_PARTS];
  u32 careful;    /* the list is short: leave out edges that repeat others */
  msf_bound high; /* of the arcs that the scan takes now */
  u32 ticket;
  u32 forest; /* arcs found */
  u32 mode;
  u32 giant, share; /* of 256 sampled arc ends */
  u32 listed;       /* vertices that the scan goes through */
  u32 isolated;
  u32 refused; /* a row has 2^32 arcs or more */
  msf_list_state list[MSF_LISTS];
  u64 histogram[256];
} msf_control;

typedef struct msf_work {
  u32 n;
  u64 arcs;
  const u64 *offsets;
  arc_reader reader;
  const void *keys; /* NULL: all are equal */
  bool mapped;      /* keys are not what is stored: see msf_map_key() */
  bool real;
  bool presorted;    /* and this is made use of */
  bool by_neighbour; /* rows ascend by neighbour */
  bool aligned;      /* keys can be read 16 bytes at a time */
  u64 negative, flip;
  double light;               /* edges a vertex that are light, 0 for all */
  double part[MSF_PARTS - 1]; /* and that are in the first part, in the first two; 0: no parts */
  u64 cache;                  /* bytes of the second-level cache */
  u32 forced_mode;

  u32 *next, *pick; /* [n] picked neighbour, low bits of the picked arc */
  u32 *label;       /* [n] */
  u64 *best[2];     /* [n / 2], [n / 4]: components halve, and one may abstain */
  /* Parents of components, of the rounds one behind the other, on each list: [n]; the second list's
   * lie in next, the third's where those of the first were. */
  u32 *parent[MSF_LISTS];
  /* Later uses of the same memory. */
  u32 *listed, *place;             /* [n] = pick, next */
  u32 *member_count, *member_base; /* [n / 2] = best[0] */
  u32 *giant_bits;                 /* = best[1] */
  u64 *exact[MSF_LISTS];           /* [n / 2] = pick, pick, next */
  u64 *pair;                       /* [n / 2] = pick */

  u32 supertiles;
  int super_log;  /* arcs, or rows where presorted, of a supertile */
  u32 *super_row; /* [supertiles + 1] */
  /* Of the first part's pages, then the second's, the third's: [MSF_PARTS * supertiles]. */
  u32 *super_pages, *super_base;
  msf_record *records; /* [2 * supertiles] */

  u32 capacity; /* pages */
  u32 chunk;    /* pages taken at once */
  uint4 *entries;
  u32 *entry_high; /* upper halves of wide keys */
  uint2 *home;     /* of a page: its supertile and its place there */
  u32 *page_at;    /* the page of a rank */
  u32 *group_count[2];
  u32 *ties;  /* ranks of entries that take part in ties */
  u64 *pairs; /* [2 * MSF_PAIRS] of each list of light edges, the first between two components */

  u64 *out;
  msf_control *control;
  msf_control
      *report; /* in host memory; the kernel that gets it is the last, and tells all there */
} msf_work;

/* All edges were light, and all fitted. */
__device__ __forceinline__ bool msf_is_done(const msf_work &w) {
  return w.control->part[MSF_PARTS - 1].everything && !w.control->list[MSF_LIGHTEST].overflow;
}

__device__ __forceinline__ u32 msf_hash(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/* By the last kernel, all threads of a block, when nothing of it changes any more: what the host
 * asks for, which a copy would bring later. */
__device__ __forceinline__ void msf_report(const msf_work &w) {
  if (w.report == NULL || blockIdx.x != 0)
    return;
  __syncthreads();
  const u32 *from = (const u32 *)w.control;
  u32 *to = (u32 *)w.report;
  for (u32 i = threadIdx.x; i < offsetof(msf_control, histogram) / 4; i += blockDim.x)
    to[i] = dzo_load_shared(&from[i]);
}

/* ---- Keys and arcs --------------------------------------------------------------------------- */

/* Raw weights become keys: real ones are inverted where negative and have the sign flipped,
 * integers may have the sign flipped; for a maximum all bits once more. */
template <typename K> __device__ __forceinline__ K msf_map_key(const msf_work &w, K raw) {
  K top = (K)1 << (8 * sizeof(K) - 1);
  if (w.real && raw == top)
    raw = 0;
  return raw ^ (raw & top ? (K)w.negative : 0) ^ (K)w.flip;
}

template <typename K> __device__ __forceinline__ K msf_key_at(const msf_work &w, u64 arc) {
  if (w.keys == NULL)
    return 0;
  return msf_map_key<K>(w, __ldg((const K *)w.keys + arc));
}

/* Where kernels are made twice, PLAIN is for neighbours that are not compressed: the other way
 * costs registers. */
template <bool PLAIN> __device__ __forceinline__ u32 msf_neighbour_of(const msf_work &w, u64 arc) {
  return PLAIN ? __ldg(w.reader.neighbours + arc) : arc_neighbour(w.reader, arc);
}

/* The same where nobody asks for it again: other things stay in the cache. */
template <bool PLAIN>
__device__ __forceinline__ u32 msf_neighbour_once(const msf_work &w, u64 arc) {
  return PLAIN ? __ldcs(w.reader.neighbours + arc) : arc_neighbour(w.reader, arc);
}

__device__ __forceinline__ u32 msf_neighbour(const msf_work &w, u64 arc) {
  return arc_neighbour(w.reader, arc);
}

__device__ __forceinline__ u64 msf_offset(const msf_work &w, u32 vertex) {
  return __ldg(w.offsets + vertex);
}

/* The row that holds an arc. */
__device__ __forceinline__ u32 msf_row_of(const msf_work &w, u64 arc) {
  u32 low = 0, high = w.n;
  while (high - low > 1) {
    u32 middle = low + (high - low) / 2;
    if (msf_offset(w, middle) <= arc)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The same where many ask at the same time: a step waits for memory, so few steps are taken, each
 * of which asks for seven rows. */
__device__ __forceinline__ u32 msf_row_of_soon(const msf_work &w, u64 arc) {
  u32 low = 0, size = w.n;
  while (size > 1) {
    u32 step = (size + 7) / 8, before = 0;
#pragma unroll
    for (u32 k = 1; k < 8; k++)
      before += k * step < size && msf_offset(w, low + k * step) <= arc;
    low += before * step;
    size = min(step, size - before * step);
  }
  return low;
}

/* The arc of a row from its low 32 bits. */
__device__ __forceinline__ u64 msf_whole_arc(u64 row_begin, u32 low) {
  return row_begin + (u32)(low - (u32)row_begin);
}

/* ---- Warps ----------------------------------------------------------------------------------- */

/* Inclusive prefix sum. */
template <typename T> __device__ __forceinline__ T msf_warp_sum(T x) {
  unsigned lane = dzo_lane();
#pragma unroll
  for (unsigned d = 1; d < 32; d *= 2) {
    T y = __shfl_up_sync(DZO_WARP_ALL, x, d);
    if (lane >= d)
      x += y;
  }
  return x;
}

/* Each of the three counts gets a range of its counter; lanes 0 to 2 ask, all know. */
typedef struct msf_ranges {
  u32 first[3];
} msf_ranges;

__device__ __forceinline__ msf_ranges msf_reserve3(u32 *a, u32 na, u32 *b, u32 nb, u32 *c, u32 nc) {
  unsigned lane = dzo_lane();
  u32 *counter = lane == 0 ? a : lane == 1 ? b : c;
  u32 count = lane == 0 ? na : lane == 1 ? nb : lane == 2 ? nc : 0;
  u32 first = 0;
  if (count != 0)
    first = atomicAdd(counter, count);
  msf_ranges r;
  r.first[0] = __shfl_sync(DZO_WARP_ALL, first, 0);
  r.first[1] = __shfl_sync(DZO_WARP_ALL, first, 1);
  r.first[2] = __shfl_sync(DZO_WARP_ALL, first, 2);
  return r;
}

/* Work is shared by all blocks but the first, which is at something else. */
__device__ __forceinline__ u32 msf_other_threads() { return max(gridDim.x - 1, 1u) * blockDim.x; }
__device__ __forceinline__ u32 msf_other_thread() {
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
  return gridDim.x == 1 ? thread : blockIdx.x == 0 ? MSF_NONE : thread - blockDim.x;
}

/* Warps are numbered so that neighbours are in different blocks: short work spreads over all
 * multiprocessors. */
__device__ __forceinline__ u32 msf_spread_warp() {
  return (threadIdx.x >> 5) * gridDim.x + blockIdx.x;
}
__device__ __forceinline__ u32 msf_warps() { return gridDim.x * (blockDim.x >> 5); }

#endif
