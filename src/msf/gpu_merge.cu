/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Merging a batch into the forest by Boruvka's rounds, all in one launch, which leave the new
 * hierarchy behind. Where 32-bit keys come in the total order among equals, an edge is compared by
 * its key and its place; otherwise edges are ranked first, by stable sorts, and compared by rank.
 * The component that most edges touch abstains from choosing: others may still merge into it (the
 * cut property holds for each component alone), its atomics would be contended, and the bound on
 * climbs stays, since a path's heaviest edge was chosen by a component that holds one of its ends.
 */
#include "device/cuda.h"
#include "device/primitives.h"
#include "msf/gpu_filter.cuh"

enum { THREADS = 512, SAMPLES = 256, HOPS = 8 };
enum { FEW = 2048 }; /* components of which a block has a table: all edges ask for the same few */
#define NONE MSF_NODE_NONE
#define FLAG MSF_NODE_FLAG
#define TAKEN (UINT32_C(1) << 31)

/* The batch and the forest while they are merged. Two arrays of the filter hold it all; one, where
 * edges are compared by key and place: there a node is the first edge that touches it, until it is
 * hooked. */
typedef struct merge {
  uint32_t edges;
  uint32_t front;       /* of them, at the front of the columns; the others, at the end, lie */
  uint32_t gap;         /* so much behind */
  bool last;            /* the forest is to be all at the front */
  uint2 *pairs;         /* [edges] the components of each edge's ends */
  bool direct;          /* by key and place, not by rank: */
  uint32_t *ranks;      /* [edges] place in the total order; TAKEN: in the forest */
  const uint32_t *perm; /* [edges] the edge of each rank */
} merge;

#define NO_EDGE UINT64_MAX

/* Where edge i is in the columns. */
static __device__ __forceinline__ uint32_t place_in_columns(const merge &m, uint32_t i) {
  return i < m.front ? i : i + m.gap;
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

/* 32 bits of what edges are sorted by, the least significant first. */
typedef enum part { MAX_NAME, MAX_NAME_HIGH, MIN_NAME, MIN_NAME_HIGH, KEY, KEY_HIGH, PARTS } part;

static __device__ __forceinline__ uint32_t part_of(const msf_filter &f, part which, uint32_t i) {
  if (which == KEY)
    return f.columns[MSF_KEY][i];
  if (which == KEY_HIGH)
    return f.columns[MSF_KEY_HIGH][i];
  uint64_t a = msf_name(f, f.columns[MSF_U][i]), b = msf_name(f, f.columns[MSF_V][i]);
  uint64_t name = which == MIN_NAME || which == MIN_NAME_HIGH ? min(a, b) : max(a, b);
  return which == MIN_NAME || which == MAX_NAME ? (uint32_t)name : (uint32_t)(name >> 32);
}

/* Above the numbers of the edges, in the order so far (NULL: as they stand), what they are sorted
 * by next. */
static __global__ void spell(msf_filter f, merge m, part which, const uint64_t *order,
                             uint64_t *out) {
  uint32_t count = m.edges;
  for (uint32_t r = blockIdx.x * blockDim.x + threadIdx.x; r < count; r += gridDim.x * blockDim.x) {
    uint32_t i = order == NULL ? r : (uint32_t)order[r];
    out[r] = (uint64_t)part_of(f, which, place_in_columns(m, i)) << 32 | i;
  }
}

static __global__ void rank_edges(const uint64_t *order, uint32_t *ranks, uint32_t *perm,
                                  uint32_t count) {
  for (uint32_t r = blockIdx.x * blockDim.x + threadIdx.x; r < count; r += gridDim.x * blockDim.x) {
    uint32_t i = (uint32_t)order[r];
    ranks[i] = r;
    perm[r] = i;
  }
}

static int bits_of(uint64_t below) {
  int bits = 1;
  while (bits < 32 && below >> bits != 0)
    bits++;
  return bits;
}

static dzo_status sort_by(const msf_filter &f, const merge &m, part which, int bits,
                          uint64_t **order) {
  uint64_t *out = *order == NULL ? f.first : *order;
  uint64_t *other = out == f.first ? f.second : f.first;
  DZO_TRY(DZO_LAUNCH(f.unit, 0, spell, msf_blocks(f, m.edges), 256, f, m, which, *order, out));
  return dzo_gpu_sort_u64(f.unit, 0, f.scratch, f.scratch_bytes, out, other, m.edges, 32, 32 + bits,
                          order);
}

/* Rank by (key, smaller name, larger name, arrival). Edges that come in order need the key alone,
 * since sorting is stable and the forest came before the batch. */
static dzo_status rank(msf_filter *filter, merge *m) {
  const msf_filter &f = *filter;
  bool wanted[PARTS] = {false, false, false, false, true, f.shape.wide};
  bool by_names = !f.shape.ordered || f.loose;
  wanted[MAX_NAME] = wanted[MIN_NAME] = by_names;
  wanted[MAX_NAME_HIGH] = wanted[MIN_NAME_HIGH] = by_names && f.shape.named;
  uint64_t *order = NULL;
  for (int i = 0; i < PARTS; i++) {
    int bits = i < MIN_NAME_HIGH && !f.shape.named ? bits_of(f.vertices) : 32;
    if (wanted[i])
      DZO_TRY(sort_by(f, *m, (part)i, bits, &order));
  }
  uint64_t *other = order == f.first ? f.second : f.first;
  filter->taken_in_second = other == f.second;
  m->pairs = reinterpret_cast<uint2 *>(order);
  m->ranks = reinterpret_cast<uint32_t *>(other);
  uint32_t *perm = m->ranks + f.shape.capacity;
  m->perm = perm;
  return DZO_LAUNCH(f.unit, 0, rank_edges, msf_blocks(f, m->edges), 256, order, m->ranks, perm,
                    m->edges);
}

/* ---- Boruvka's rounds ------------------------------------------------------------------------ */

static __global__ void start(msf_filter f, merge m) {
  uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (uint32_t v = thread; v < f.vertices; v += threads) {
    f.nodes[v] = msf_node{NONE, NONE};
  }
  for (uint32_t i = thread; i < m.edges; i += threads) {
    uint32_t at = place_in_columns(m, i);
    m.pairs[i] = make_uint2(f.columns[MSF_U][at], f.columns[MSF_V][at]);
  }
}

/* The component that a good part of sampled edges between components touches, or NONE. All blocks
 * find the same. */
static __device__ uint32_t find_giant(const merge &m, uint32_t round) {
  __shared__ uint32_t sample[SAMPLES];
  __shared__ uint64_t best;
  __shared__ uint32_t seen;
  if (threadIdx.x == 0) {
    best = 0;
    seen = 0;
  }
  uint32_t t = threadIdx.x % SAMPLES;
  uint32_t i = (uint32_t)((uint64_t)((t * 2654435761u + round * 40503u) ^ t << 7) * m.edges >> 32);
  uint2 p = m.pairs[i];
  uint32_t mine = p.x == p.y ? NONE : t & 1 ? p.x : p.y;
  if (threadIdx.x < SAMPLES)
    sample[t] = mine;
  __syncthreads();
  uint32_t same = 0;
  for (unsigned s = 0; s < SAMPLES; s++)
    same += sample[s] == mine;
  if (threadIdx.x < SAMPLES && mine != NONE) {
    atomicAdd(&seen, 1u);
    atomicMax((unsigned long long *)&best, (unsigned long long)((uint64_t)same << 32 | mine));
  }
  __syncthreads();
  bool found = seen >= 32 && (best >> 32) * 4 >= seen;
  uint32_t giant = found ? (uint32_t)best : NONE;
  __syncthreads();
  return giant;
}

static __device__ __forceinline__ void offer_rank(uint32_t *best, uint32_t rank) {
  if (rank < dzo_load_shared(best))
    atomicMin(best, rank);
}

static __device__ __forceinline__ void offer_edge(uint64_t *best, uint64_t edge) {
  if (edge < dzo_load_shared(best))
    atomicMin(reinterpret_cast<unsigned long long *>(best), (unsigned long long)edge);
}

template <bool DIRECT>
static __device__ __forceinline__ uint64_t offer_of(const msf_filter &f, const merge &m,
                                                    uint32_t i) {
  return DIRECT ? (uint64_t)f.columns[MSF_KEY][place_in_columns(m, i)] << 32 | i : m.ranks[i];
}

static __device__ __forceinline__ void offer_in_block(uint64_t *best, uint64_t offer) {
  if (offer < dzo_load_block(best))
    atomicMin(reinterpret_cast<unsigned long long *>(best), (unsigned long long)offer);
}

/* The first edge that touches a node, above its place the key: the value that the node will keep.
 */
static __device__ __forceinline__ uint64_t *best_of(const msf_filter &f, uint32_t node) {
  return reinterpret_cast<uint64_t *>(f.nodes + node);
}

/* The best of a block's offers to each of few components, and then the best of all blocks'. */
template <bool DIRECT>
static __device__ void offer_few(const msf_filter &f, const merge &m, uint32_t begin,
                                 uint32_t count, uint32_t giant, uint64_t *table) {
  for (uint32_t k = threadIdx.x; k < count; k += THREADS)
    table[k] = NO_EDGE;
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < m.edges;
       i += gridDim.x * blockDim.x) {
    uint2 p = m.pairs[i];
    if (p.x == p.y)
      continue;
    uint64_t offer = offer_of<DIRECT>(f, m, i);
    if (p.x != giant)
      offer_in_block(&table[p.x - begin], offer);
    if (p.y != giant)
      offer_in_block(&table[p.y - begin], offer);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < count; k += THREADS) {
    uint64_t offer = table[k];
    if (offer != NO_EDGE && DIRECT)
      offer_edge(best_of(f, begin + k), offer);
    else if (offer != NO_EDGE)
      offer_rank(&f.nodes[begin + k].value, (uint32_t)offer);
  }
  __syncthreads();
}

/* Every edge between components offers itself to both, but not to the giant. */
template <bool DIRECT>
static __device__ void offer_all(const msf_filter &f, const merge &m, uint32_t giant) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < m.edges;
       i += gridDim.x * blockDim.x) {
    uint2 p = m.pairs[i];
    if (p.x == p.y)
      continue;
    uint64_t offer = offer_of<DIRECT>(f, m, i);
    if (DIRECT) {
      if (p.x != giant)
        offer_edge(best_of(f, p.x), offer);
      if (p.y != giant)
        offer_edge(best_of(f, p.y), offer);
    } else {
      if (p.x != giant)
        offer_rank(&f.nodes[p.x].value, (uint32_t)offer);
      if (p.y != giant)
        offer_rank(&f.nodes[p.y].value, (uint32_t)offer);
    }
  }
}

/* A number for each lane that wants one. All lanes call. */
static __device__ __forceinline__ uint32_t take_number(uint32_t *counter, bool wants) {
  uint32_t mask = __ballot_sync(DZO_WARP_ALL, wants), first = 0;
  if (dzo_lane() == 0 && mask != 0)
    first = atomicAdd(counter, (uint32_t)__popc(mask));
  first = __shfl_sync(DZO_WARP_ALL, first, 0);
  return first + __popc(mask & dzo_lanes_below());
}

/* A component that no edge leaves is a tree. */
static __device__ __forceinline__ void make_tree(const msf_filter &f, uint32_t node,
                                                 uint32_t number) {
  dzo_store_shared(&f.nodes[node].parent, NONE);
  dzo_store_shared(&f.nodes[node].value, number);
}

/* A root is what became of its new component: node `next` of the level above. */
static __device__ __forceinline__ void make_root(const msf_filter &f, uint32_t node,
                                                 uint32_t next) {
  dzo_store_shared(&f.nodes[node].parent, FLAG | next);
  f.nodes[next] = msf_node{NONE, NONE};
}

static __device__ __forceinline__ uint32_t other_end(const merge &m, uint32_t edge, uint32_t node) {
  uint2 p = m.pairs[edge];
  return p.x == node ? p.y : p.x;
}

/* Hook component `node` along the edge it chose, by rank; true: it is the root of its new component
 * instead, one of the two that chose the same edge. */
static __device__ __forceinline__ bool hook_by_rank(const msf_filter &f, const merge &m,
                                                    uint32_t node, uint32_t rank) {
  uint32_t edge = m.perm[rank], other = other_end(m, edge, node);
  bool mutual = dzo_load_shared(&f.nodes[other].value) == rank;
  bool root = mutual && node < other;
  if (!mutual || root)
    m.ranks[edge] = rank | TAKEN;
  if (!root)
    dzo_store_shared(&f.nodes[node].parent, other);
  return root;
}

/* The same by key and place, but all hook; the roots are found when all have. */
static __device__ __forceinline__ void hook_by_place(const msf_filter &f, const merge &m,
                                                     uint32_t node, uint32_t edge) {
  atomicOr(&f.taken[edge / 32], 1u << edge % 32);
  dzo_store_shared(&f.nodes[node].parent, other_end(m, edge, node));
}

/* The level's nodes begin .. begin + count - 1 hook along their choices, or are trees, or roots of
 * new components: nodes of the next level. */
template <bool DIRECT>
static __device__ void hook_all(const msf_filter &f, const merge &m, uint32_t begin, uint32_t count,
                                uint32_t giant) {
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x - dzo_lane(); at < count;
       at += gridDim.x * blockDim.x) {
    bool is = at + dzo_lane() < count, chose = false, root = false;
    uint32_t node = begin + at + dzo_lane();
    uint64_t best = is && DIRECT ? dzo_load_shared(best_of(f, node)) : 0;
    uint32_t rank = is && !DIRECT ? dzo_load_shared(&f.nodes[node].value) : NONE;
    if (is)
      chose = DIRECT ? best != NO_EDGE : rank != NONE;
    root = is && !chose && node == giant;
    if (DIRECT && root)
      dzo_store_shared(&f.nodes[node].value, 0u); /* no edge leads up */
    if (DIRECT && chose)
      hook_by_place(f, m, node, (uint32_t)best);
    else if (chose)
      root = hook_by_rank(f, m, node, rank);
    bool tree = is && !chose && !root;
    uint32_t number = take_number(&f.control->components, tree);
    uint32_t next = (uint32_t)f.shape.room + take_number(&f.control->made, root);
    if (tree)
      make_tree(f, node, number);
    if (root)
      make_root(f, node, next);
  }
}

/* Of two nodes that are hooked to each other, since they chose the same edge, the first is the
 * root.
 */
static __device__ void find_roots(const msf_filter &f, uint32_t begin, uint32_t count) {
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x - dzo_lane(); at < count;
       at += gridDim.x * blockDim.x) {
    uint32_t node = begin + at + dzo_lane(), other = FLAG;
    if (at + dzo_lane() < count)
      other = dzo_load_shared(&f.nodes[node].parent);
    bool root = !(other & FLAG) && node < other;
    if (root)
      root = dzo_load_shared(&f.nodes[other].parent) == node;
    uint32_t next = (uint32_t)f.shape.room + take_number(&f.control->made, root);
    if (root)
      make_root(f, node, next);
  }
}

/* Follow hooks, all nodes at once, a few steps a pass: chains may be as long as the level. */
static __device__ bool follow_hooks(const msf_filter &f, uint32_t begin, uint32_t count) {
  bool pending = false;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    uint32_t *parent = &f.nodes[begin + i].parent;
    uint32_t to = dzo_load_shared(parent);
    if (to & FLAG)
      continue;
    for (int hop = 0; hop < HOPS && !(to & FLAG); hop++)
      to = dzo_load_shared(&f.nodes[to].parent);
    dzo_store_shared(parent, to);
    pending |= !(to & FLAG);
  }
  return pending;
}

static __device__ uint32_t parent_of(const msf_filter &f, uint32_t node) {
  return dzo_load_shared(&f.nodes[node].parent) & ~FLAG;
}

/* Is there still an edge between components? Where they were few, a block keeps their parents. */
static __device__ bool rename_pairs(const msf_filter &f, const merge &m, uint32_t begin,
                                    uint32_t count, uint64_t *table) {
  bool live = false, few = count <= FEW;
  for (uint32_t k = threadIdx.x; few && k < count; k += THREADS)
    table[k] = parent_of(f, begin + k);
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < m.edges;
       i += gridDim.x * blockDim.x) {
    uint2 p = m.pairs[i];
    if (p.x == p.y)
      continue;
    if (few)
      p = make_uint2((uint32_t)table[p.x - begin], (uint32_t)table[p.y - begin]);
    else
      p = make_uint2(parent_of(f, p.x), parent_of(f, p.y));
    m.pairs[i] = p;
    live |= p.x != p.y;
  }
  return live;
}

template <bool DIRECT>
static __global__ void __launch_bounds__(THREADS) boruvka(msf_filter f, merge m) {
  __shared__ uint64_t table[FEW];
  msf_filter_control *control = f.control;
  bool is_first = blockIdx.x == 0 && threadIdx.x == 0, live = m.edges > 0;
  uint32_t begin = 0, count = (uint32_t)f.vertices, made = 0, giant = NONE, pass = 0;
  for (uint32_t round = 0; count > 0; round++) {
    if (live && giant == NONE)
      giant = find_giant(m, round);
    if (!live)
      giant = NONE;
    if (live && count <= FEW)
      offer_few<DIRECT>(f, m, begin, count, giant, table);
    else if (live)
      offer_all<DIRECT>(f, m, giant);
    dzo_grid_sync();
    if (is_first)
      dzo_store_shared(&control->live[(round + 1) & 1], 0u);
    hook_all<DIRECT>(f, m, begin, count, giant);
    dzo_grid_sync();
    if (DIRECT && live) {
      find_roots(f, begin, count);
      dzo_grid_sync();
    }
    uint32_t now = dzo_load_shared(&control->made);
    for (bool pending = live; pending; pass++) {
      if (is_first)
        dzo_store_shared(&control->pending[(pass + 1) % 3], 0u);
      if (follow_hooks(f, begin, count))
        dzo_store_shared(&control->pending[pass % 3], 1u);
      dzo_grid_sync();
      pending = dzo_load_shared(&control->pending[pass % 3]) != 0;
    }
    if (giant != NONE)
      giant = parent_of(f, giant);
    if (live && rename_pairs(f, m, begin, count, table))
      dzo_store_shared(&control->live[round & 1], 1u);
    dzo_grid_sync();
    live = dzo_load_shared(&control->live[round & 1]) != 0;
    begin = (uint32_t)f.shape.room + made;
    count = now - made;
    made = now;
  }
}

/* ---- The new forest -------------------------------------------------------------------------- */

static __device__ __forceinline__ bool is_taken(const msf_filter &f, const merge &m, uint32_t i) {
  if (i >= m.edges)
    return false;
  return m.direct ? f.taken[i / 32] >> i % 32 & 1 : (m.ranks[i] & TAKEN) != 0;
}

static __global__ void __launch_bounds__(MSF_TILE) count_taken(msf_filter f, merge m) {
  uint32_t i = blockIdx.x * MSF_TILE + threadIdx.x;
  bool taken = is_taken(f, m, i);
  uint32_t mask = __ballot_sync(DZO_WARP_ALL, taken);
  uint32_t sum = msf_block_sum(dzo_lane() == 0 ? __popc(mask) : 0);
  if (threadIdx.x == 0)
    f.tiles[blockIdx.x] = sum;
}

/* Where an edge goes in the forest, if it is taken. All threads of a block of MSF_TILE call. */
static __device__ uint32_t place_of(const msf_filter &f, bool taken) {
  __shared__ uint32_t masks[MSF_TILE / 32];
  uint32_t mask = __ballot_sync(DZO_WARP_ALL, taken), warp = threadIdx.x / 32;
  if (dzo_lane() == 0)
    masks[warp] = mask;
  __syncthreads();
  uint32_t at = f.tiles[blockIdx.x] + __popc(mask & dzo_lanes_below());
  for (unsigned w = 0; w < warp; w++)
    at += __popc(masks[w]);
  return at;
}

/* The number of edges in the forest; and, where there are ranks, in place of each the edge's place,
 * or NONE. */
static __global__ void __launch_bounds__(MSF_TILE) place_taken(msf_filter f, merge m) {
  uint32_t i = blockIdx.x * MSF_TILE + threadIdx.x;
  bool taken = is_taken(f, m, i);
  uint32_t at = place_of(f, taken);
  if (i < m.edges && !m.direct)
    m.ranks[i] = taken ? at : NONE;
  if (i + 1 == f.numbered)
    f.control->numbered = at + taken;
  if (i + 1 == m.front)
    f.control->front = at + taken;
  if (i + 1 == m.edges)
    f.control->edges = at + taken;
}

/* The links of the hierarchy tell ranks: let them tell keys, or places in the forest. */
static __global__ void finish_links(msf_filter f, merge m) {
  uint32_t count = (uint32_t)f.vertices + f.control->made;
  bool direct = msf_is_direct(f);
  uint32_t front = m.last ? UINT32_MAX : f.control->front;
  uint32_t gap = (uint32_t)f.shape.capacity - f.control->edges;
  for (uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
    msf_node *node = &f.nodes[k < f.vertices ? k : f.shape.room + (k - f.vertices)];
    if (node->parent == NONE)
      continue;
    uint32_t rank = node->value, i = rank == NONE ? NONE : m.perm[rank];
    if (i == NONE)
      node->value = direct ? 0 : NONE;
    else if (direct)
      node->value = f.columns[MSF_KEY][place_in_columns(m, i)];
    else
      node->value = m.ranks[i] < front ? m.ranks[i] : m.ranks[i] + gap;
  }
}

/* Two columns at a time, or one, on their way to where the forest's edges belong. */
typedef struct columns {
  uint32_t *of[2];  /* NULL: none */
  uint32_t *out[2]; /* gathered */
} columns;

static __global__ void __launch_bounds__(MSF_TILE) gather(msf_filter f, merge m, columns two) {
  uint32_t i = blockIdx.x * MSF_TILE + threadIdx.x, at = 0;
  bool taken = false;
  if (m.direct) {
    taken = is_taken(f, m, i);
    at = place_of(f, taken);
  } else if (i < m.edges) {
    at = m.ranks[i];
    taken = at != NONE;
  }
  for (int c = 0; c < 2; c++)
    if (taken && two.of[c] != NULL)
      two.out[c][at] = two.of[c][place_in_columns(m, i)];
}

/* The forest's columns take the place of those they were gathered from; and its edges are counted.
 */
static __global__ void put_back(msf_filter f, merge m, columns two) {
  uint32_t edges = f.control->edges, front = m.last ? edges : f.control->front;
  uint32_t gap = (uint32_t)f.shape.capacity - edges;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < edges; i += gridDim.x * blockDim.x)
    for (int c = 0; c < 2; c++)
      if (two.of[c] != NULL)
        two.of[c][i < front ? i : i + gap] = two.out[c][i];
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    f.control->tally.front[f.turn] = front;
    f.control->tally.back[f.back_turn] = edges - front;
  }
}

static dzo_status keep_taken(msf_filter *f, const merge &m) {
  uint32_t tiles = (m.edges + MSF_TILE - 1) / MSF_TILE;
  DZO_TRY(DZO_LAUNCH(f->unit, 0, count_taken, tiles, MSF_TILE, *f, m));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(f->unit, 0, f->scratch, f->scratch_bytes, f->tiles, f->tiles,
                                    tiles));
  DZO_TRY(DZO_LAUNCH(f->unit, 0, place_taken, tiles, MSF_TILE, *f, m));
  if (!m.direct)
    DZO_TRY(DZO_LAUNCH(f->unit, 0, finish_links, msf_blocks(*f, 2 * f->vertices), 256, *f, m));
  uint64_t most = f->vertices < m.edges ? f->vertices : m.edges;
  uint32_t *out = reinterpret_cast<uint32_t *>(m.pairs);
  for (int i = 0; i < MSF_COLUMNS; i += 2) {
    columns two = {{f->columns[i], f->columns[i + 1]}, {out, out + f->shape.capacity}};
    if (two.of[0] == NULL && two.of[1] == NULL)
      continue;
    DZO_TRY(DZO_LAUNCH(f->unit, 0, gather, tiles, MSF_TILE, *f, m, two));
    DZO_TRY(DZO_LAUNCH(f->unit, 0, put_back, msf_blocks(*f, most), 256, *f, m, two));
  }
  return DZO_OK;
}

/* Edges of 32-bit keys in order need no ranks. */
static dzo_status prepare(msf_filter *f, merge *m) {
  m->direct = msf_is_direct(*f) && !f->loose;
  if (!m->direct)
    return m->edges > 0 ? rank(f, m) : DZO_OK;
  m->pairs = reinterpret_cast<uint2 *>(f->first);
  return dzo_unit_fill(f->unit, 0, f->taken, 0, (m->edges + 31) / 32 * sizeof *f->taken);
}

template <bool DIRECT> static dzo_status run_rounds(msf_filter *f, const merge &m) {
  unsigned blocks = DZO_RESIDENT_BLOCKS(f->unit, boruvka<DIRECT>, THREADS);
  unsigned wanted = (unsigned)((f->vertices + m.edges + THREADS - 1) / THREADS);
  return DZO_LAUNCH_TOGETHER(f->unit, 0, boruvka<DIRECT>, wanted < blocks ? wanted : blocks,
                             THREADS, *f, m);
}

dzo_status msf_filter_merge(msf_filter *f, uint64_t front, uint64_t back, bool last) {
  if (f->vertices == 0)
    return DZO_OK;
  uint64_t count = front + back;
  merge m = {(uint32_t)count,
             (uint32_t)front,
             (uint32_t)(f->shape.capacity - count),
             last,
             NULL,
             false,
             NULL,
             NULL};
  DZO_TRY(dzo_unit_fill(f->unit, 0, &f->control->made, 0,
                        sizeof *f->control - offsetof(msf_filter_control, made)));
  DZO_TRY(prepare(f, &m));
  DZO_TRY(DZO_LAUNCH(f->unit, 0, start, msf_blocks(*f, f->vertices + count), 256, *f, m));
  DZO_TRY(m.direct ? run_rounds<true>(f, m) : run_rounds<false>(f, m));
  return count > 0 ? keep_taken(f, m) : DZO_OK;
}

static __global__ void mark_taken(const uint32_t *places, uint32_t *bits, uint32_t count) {
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x - dzo_lane(); at < count;
       at += gridDim.x * blockDim.x) {
    uint32_t i = at + dzo_lane();
    uint32_t mask = __ballot_sync(DZO_WARP_ALL, i < count && places[i] != NONE);
    if (dzo_lane() == 0)
      bits[at / 32] = mask;
  }
}

dzo_status msf_filter_taken(msf_filter *f, uint64_t count, uint32_t **bits) {
  uint32_t *places = reinterpret_cast<uint32_t *>(f->first);
  if (f->taken_in_second)
    places = reinterpret_cast<uint32_t *>(f->second);
  *bits = places + f->shape.capacity;
  return DZO_LAUNCH(f->unit, 0, mark_taken, msf_blocks(*f, count), 256, places, *bits,
                    (uint32_t)count);
}
