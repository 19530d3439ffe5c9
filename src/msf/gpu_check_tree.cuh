/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The tree that Boruvka's levels on the claimed edges make. */
#ifndef DZO_MSF_GPU_CHECK_TREE_CUH
#define DZO_MSF_GPU_CHECK_TREE_CUH

#include "msf/arcs.cuh"

#define CHECK_NONE UINT32_MAX  /* no edge; no node above */
#define CHECK_APART UINT32_MAX /* two vertices of different trees */

/* Numbers that the host reads. */
typedef struct check_counts {
  uint64_t bad_claim;  /* least place of a claimed arc that is none, or UINT64_MAX */
  uint64_t low, high;  /* sums of the lower and upper halves of the claimed keys */
  uint64_t culprit;    /* least arc that shows the claim to be wrong, or UINT64_MAX */
  uint64_t hub;        /* degree and number of a vertex of most arcs */
  uint32_t alive;      /* edges left for the next level */
  uint32_t cycle;      /* least rank of an edge that closes a cycle, or CHECK_NONE */
  uint32_t changed[3]; /* for msf_jump() */
} check_counts;

/* Edges are named by rank: their place in the ascending order of keys. A level's nodes stand behind
 * those of the level below; level 0 are the vertices. */
typedef struct check_state {
  arc_reader reader;
  const uint64_t *offsets;
  uint32_t vertices;
  uint64_t arcs;
  const uint64_t *claim;
  uint32_t count;
  uint64_t *claimed_key;   /* [count] in the order of the claim, as the next three */
  uint32_t *claimed_place; /* [count] */
  uint32_t *claimed_u, *claimed_v;
  uint64_t *key;   /* [count] by rank, as the next three */
  uint32_t *place; /* [count] in the claim */
  uint32_t *a, *b; /* [count] the nodes it joins in the present level, from the level's first */
  uint32_t *alive, *next_alive;  /* [count] ranks */
  uint32_t *best;                /* [n] rank that a node of this level chose */
  uint32_t *hook, *flags, *sums; /* [n], [n + 1], [n + 1] */
  uint2 *nodes;    /* [2 n] the node above, or CHECK_NONE, and the rank of the edge to it */
  uint32_t *reach; /* [n] */
  void *scratch;
  uint64_t scratch_bytes;
  check_counts *counts;
} check_state;

static __device__ __forceinline__ uint32_t check_first() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint32_t check_stride() { return gridDim.x * blockDim.x; }

static __device__ __forceinline__ void check_lower(uint64_t *least, uint64_t x) {
  if (x < dzo_load_shared(least))
    atomicMin((unsigned long long *)least, (unsigned long long)x);
}
static __device__ __forceinline__ void check_lower(uint32_t *least, uint32_t x) {
  if (x < dzo_load_shared(least))
    atomicMin(least, x);
}

/* The edges by rank, from the claim's order. */
static __global__ void check_rank_claim(check_state s) {
  for (uint32_t r = check_first(); r < s.count; r += check_stride()) {
    s.a[r] = s.claimed_u[s.place[r]];
    s.b[r] = s.claimed_v[s.place[r]];
    s.alive[r] = r;
  }
}

/* ---- One level ------------------------------------------------------------------------------- */

static __global__ void check_clear_level(check_state s, uint32_t nodes) {
  for (uint32_t c = check_first(); c < nodes; c += check_stride())
    s.best[c] = CHECK_NONE;
  if (check_first() == 0) {
    s.counts->alive = 0;
    s.counts->changed[0] = 0;
  }
}

static __global__ void check_choose(check_state s, uint32_t edges) {
  for (uint32_t i = check_first(); i < edges; i += check_stride()) {
    uint32_t r = s.alive[i];
    check_lower(s.best + s.a[r], r);
    check_lower(s.best + s.b[r], r);
  }
}

/* Hook each node to the one that its edge leads to; of two that chose the same edge the smaller is
 * a root. */
static __global__ void check_hook(check_state s, uint32_t nodes) {
  for (uint32_t c = check_first(); c < nodes; c += check_stride()) {
    uint32_t r = s.best[c], to = c;
    if (r != CHECK_NONE) {
      uint32_t other = s.a[r] ^ s.b[r] ^ c;
      to = c < other && s.best[other] == r ? c : other;
    }
    s.hook[c] = to;
  }
}

static __global__ void check_flag_roots(check_state s, uint32_t nodes) {
  for (uint32_t c = check_first(); c <= nodes; c += check_stride())
    s.flags[c] = c < nodes && s.hook[c] == c && s.best[c] != CHECK_NONE;
}

/* A node without edges is the top of its tree. */
static __global__ void check_link(check_state s, uint32_t base, uint32_t nodes) {
  for (uint32_t c = check_first(); c < nodes; c += check_stride()) {
    uint2 link = make_uint2(CHECK_NONE, 0);
    if (s.best[c] != CHECK_NONE)
      link = make_uint2(base + nodes + s.sums[s.hook[c]], s.best[c]);
    s.nodes[base + c] = link;
  }
}

/* Edges that were chosen are done; another one within a new node closes a cycle. */
static __device__ __forceinline__ bool check_carry(const check_state &s, uint32_t r) {
  uint32_t a = s.a[r], b = s.b[r];
  if (s.best[a] == r || s.best[b] == r)
    return false;
  a = s.sums[s.hook[a]];
  b = s.sums[s.hook[b]];
  if (a == b) {
    check_lower(&s.counts->cycle, r);
    return false;
  }
  s.a[r] = a;
  s.b[r] = b;
  return true;
}

static __global__ void check_carry_edges(check_state s, uint32_t edges) {
  for (uint32_t first = check_first() & ~31u; first < edges; first += check_stride()) {
    uint32_t i = first + dzo_lane(), r = i < edges ? s.alive[i] : 0, at = 0;
    bool stays = i < edges && check_carry(s, r);
    unsigned staying = __ballot_sync(DZO_WARP_ALL, stays);
    if (dzo_lane() == 0 && staying != 0)
      at = atomicAdd(&s.counts->alive, (uint32_t)__popc(staying));
    at = __shfl_sync(DZO_WARP_ALL, at, 0);
    if (stays)
      s.next_alive[at + (uint32_t)__popc(staying & dzo_lanes_below())] = r;
  }
}

/* ---- The finished tree ----------------------------------------------------------------------- */

/* The rank of the heaviest claimed edge on the way between two vertices, u != v, or CHECK_APART. */
static __device__ __forceinline__ uint32_t check_heaviest(const check_state &s, uint32_t u,
                                                          uint32_t v) {
  uint32_t heaviest = 0;
  while (u != v) {
    uint2 a = __ldg(s.nodes + u), b = __ldg(s.nodes + v);
    if (a.x == CHECK_NONE || b.x == CHECK_NONE)
      return CHECK_APART;
    uint32_t heavier = a.y > b.y ? a.y : b.y;
    heaviest = heavier > heaviest ? heavier : heaviest;
    u = a.x;
    v = b.x;
  }
  return heaviest;
}

#endif
