/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Filtering chunks of edges against the forest, and what the forest tells of its vertices. */
#include "msf/gpu_filter.h"

#include "device/cuda.h"
#include "device/primitives.h"
#include "msf/gpu_filter.cuh"
#include "msf/gpu_result.h"

/* Of each thread, so that it need not wait for one edge at a time; and of a block, whose warps have
 * EACH * 32 neighbouring ones. */
enum { EACH = MSF_EACH, EDGES = EACH * MSF_TILE };

/* ---- Edges of a chunk ------------------------------------------------------------------------ */

typedef struct chunk_edge {
  uint32_t u, v;
  uint64_t key;
} chunk_edge;

/* The row of an arc among whole rows, a warp searching 32 ways at a time. All lanes call. */
static __device__ uint32_t find_whole_row(const msf_chunk &chunk, uint64_t arc) {
  uint32_t low = 0, count = chunk.rows;
  while (count > 1) {
    uint32_t step = (count + 31) / 32, at = dzo_lane() * step;
    bool before = at < count && __ldg(&chunk.offsets[low + at]) <= arc;
    uint32_t mask = __ballot_sync(DZO_WARP_ALL, before);
    at = mask == 0 ? 0 : (31 - __clz(mask)) * step;
    low += at;
    count = min(step, count - at);
  }
  return low;
}

/* The rows of a block's first and last edge; found by the first two warps where nobody tells. */
static __device__ void find_rows(const msf_chunk &chunk, uint32_t begin, uint32_t rows[2]) {
  uint32_t warp = threadIdx.x / 32;
  if (chunk.rows == 0 || warp > 1)
    return;
  uint32_t row, i = warp == 0 ? begin : min(begin + EDGES, chunk.edges) - 1;
  if (chunk.offsets != NULL)
    row = find_whole_row(chunk, chunk.first_arc + i);
  else
    row = __ldg(&chunk.tile_rows[warp == 0 ? i / MSF_TILE : i / MSF_TILE + 1]);
  if (dzo_lane() == 0)
    rows[warp] = row;
}

/* The row of edge i, between two rows. */
static __device__ __forceinline__ uint32_t row_of(const msf_chunk &chunk, uint32_t i,
                                                  const uint32_t rows[2]) {
  uint32_t low = rows[0], high = rows[1];
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    bool before = chunk.offsets != NULL ? __ldg(&chunk.offsets[middle]) <= chunk.first_arc + i
                                        : __ldg(&chunk.starts[middle]) <= i;
    low = before ? middle : low;
    high = before ? high : middle - 1;
  }
  return low;
}

template <bool DIRECT>
static __device__ __forceinline__ uint64_t key_of(const msf_filter &f, const msf_chunk &chunk,
                                                  uint32_t i) {
  if (chunk.keys == NULL)
    return DIRECT ? (uint32_t)f.shape.flip : f.shape.flip;
  if (DIRECT || !f.shape.wide)
    return __ldg((const uint32_t *)chunk.keys + i) ^ (uint32_t)f.shape.flip;
  return __ldg((const uint64_t *)chunk.keys + i) ^ f.shape.flip;
}

static __device__ __forceinline__ uint64_t id_of(const msf_chunk &chunk, uint32_t i, uint32_t row) {
  if (chunk.offsets != NULL)
    return chunk.first_arc + i - __ldg(&chunk.offsets[row]);
  return chunk.rows > 0 ? i + __ldg(&chunk.shifts[row]) : chunk.first_id + chunk.ids[i];
}

/* ---- The filter ------------------------------------------------------------------------------ */

/* Is a tie between the new edge e and edge i of the forest, which came before, won by e? */
static __device__ bool wins_tie(const msf_filter &f, const chunk_edge &e, uint32_t i) {
  if (f.shape.ordered && !f.loose && !f.both_ends)
    return false;
  uint64_t a = msf_name(f, e.u), b = msf_name(f, e.v);
  uint64_t c = msf_name(f, f.columns[MSF_U][i]), d = msf_name(f, f.columns[MSF_V][i]);
  uint64_t first = min(a, b), other_first = min(c, d);
  if (first != other_first)
    return first < other_first;
  uint64_t second = max(a, b), other_second = max(c, d);
  return second < other_second || (second == other_second && f.both_ends);
}

/* Does e come before the edge of this link? */
template <bool DIRECT>
static __device__ __forceinline__ bool precedes(const msf_filter &f, const chunk_edge &e,
                                                uint32_t value) {
  if (DIRECT) /* a tie that may be won is left to the merge */
    return (uint32_t)e.key < value || ((f.loose || f.both_ends) && (uint32_t)e.key == value);
  if (value == MSF_NODE_NONE)
    return false;
  uint64_t key = msf_column_key(f, value);
  return e.key != key ? e.key < key : wins_tie(f, e, value);
}

/* Of the edges in a mask: which are not ruled out, since the forest's edges before them do not join
 * their endpoints? All climb at once. */
template <bool DIRECT>
static __device__ __forceinline__ uint32_t keep_of(const msf_filter &f, const chunk_edge e[EACH],
                                                   uint32_t climbing) {
  uint32_t a[EACH], b[EACH], keep = 0;
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) {
    a[k] = e[k].u;
    b[k] = e[k].v;
  }
  while (climbing != 0) {
    /* Set for compilers that do not see that the same mask guards reads and writes. */
    msf_node x[EACH] = {}, y[EACH] = {};
#pragma unroll
    for (unsigned k = 0; k < EACH; k++)
      if (climbing >> k & 1) {
        x[k] = msf_load_node(f.nodes + a[k]);
        y[k] = msf_load_node(f.nodes + b[k]);
      }
#pragma unroll
    for (unsigned k = 0; k < EACH; k++)
      if (climbing >> k & 1) {
        bool kept = x[k].parent == MSF_NODE_NONE || y[k].parent == MSF_NODE_NONE ||
                    precedes<DIRECT>(f, e[k], x[k].value) || precedes<DIRECT>(f, e[k], y[k].value);
        a[k] = x[k].parent & ~MSF_NODE_FLAG;
        b[k] = y[k].parent & ~MSF_NODE_FLAG;
        keep |= (uint32_t)kept << k;
        climbing &= ~((uint32_t)(kept || a[k] == b[k]) << k);
      }
  }
  return keep;
}

/* What a block tells in f.kept: above, which chunk it is of; below, how many of its edges are kept,
 * or, marked, of its own and all blocks before. */
#define ALL_BEFORE (UINT64_C(1) << 31)

static __device__ __forceinline__ uint64_t tell_kept(const msf_filter &f, uint32_t kept) {
  return (uint64_t)f.chunks << 32 | kept;
}

/* What the block of ticket t tells, as soon as it does; it runs or has ended. */
static __device__ __forceinline__ uint64_t ask_kept(const msf_filter &f, uint32_t t) {
  uint64_t told = dzo_poll_shared(&f.kept[t]);
  while (told >> 32 != f.chunks)
    told = dzo_poll_shared(&f.kept[t]);
  return told;
}

/* Edges kept of all blocks before: a warp asks 32 of them at a time, from the nearest back, until
 * one knows (D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back",
 * 2016). */
static __device__ uint32_t look_back(const msf_filter &f, uint32_t ticket) {
  uint32_t sum = 0, knows = 0;
  for (uint32_t end = ticket; end > 0 && knows == 0; end -= min(end, 32u)) {
    uint64_t told = end > dzo_lane() ? ask_kept(f, end - 1 - dzo_lane()) : ALL_BEFORE;
    knows = __ballot_sync(DZO_WARP_ALL, (told & ALL_BEFORE) != 0);
    uint32_t last = knows == 0 ? 31 : (uint32_t)__ffs((int)knows) - 1;
    uint32_t here = dzo_lane() <= last ? (uint32_t)(told & (ALL_BEFORE - 1)) : 0;
    for (unsigned d = 16; d > 0; d /= 2)
      here += __shfl_xor_sync(DZO_WARP_ALL, here, d);
    sum += here;
  }
  return sum;
}

/* The same, to all threads of the block, of which `kept` are kept; and those behind learn of it. */
static __device__ uint32_t kept_before(const msf_filter &f, uint32_t ticket, uint32_t kept) {
  __shared__ uint32_t before;
  if (threadIdx.x < 32) {
    uint32_t sum = look_back(f, ticket);
    if (threadIdx.x == 0) {
      before = sum;
      dzo_store_shared(&f.kept[ticket], tell_kept(f, sum + kept) | ALL_BEFORE);
    }
  }
  __syncthreads();
  return before;
}

static __device__ __forceinline__ void append(const msf_filter &f, const chunk_edge &e, uint64_t id,
                                              uint64_t at) {
  f.columns[MSF_U][at] = e.u;
  f.columns[MSF_V][at] = e.v;
  f.columns[MSF_ID][at] = (uint32_t)id;
  f.columns[MSF_KEY][at] = (uint32_t)e.key;
  if (f.shape.wide)
    f.columns[MSF_KEY_HIGH][at] = (uint32_t)(e.key >> 32);
  if (f.shape.long_ids)
    f.columns[MSF_ID_HIGH][at] = (uint32_t)(id >> 32);
}

/* The block's ticket, of which all threads learn. */
static __device__ uint32_t take_ticket(const msf_filter &f, uint32_t *ticket) {
  if (threadIdx.x == 0) {
    *ticket = atomicAdd(&f.control->tickets[f.chunks & 1], 1u);
    if (*ticket + 1 == gridDim.x)
      dzo_store_shared(&f.control->tickets[(f.chunks & 1) ^ 1], 0u);
  }
  __syncthreads();
  return *ticket;
}

/* Where the edges kept of a block go, when so many of the blocks before are kept; the last one
 * counts them all. */
static __device__ uint64_t place_kept(const msf_filter &f, bool back, uint32_t before,
                                      uint32_t kept, bool is_last) {
  uint64_t *count = back ? f.control->tally.back : f.control->tally.front;
  unsigned turn = back ? f.back_turn : f.turn;
  uint64_t begin = count[turn] + before, end = begin + kept;
  if (is_last && threadIdx.x == 0)
    count[turn ^ 1] = end;
  return back ? f.shape.capacity - end : begin;
}

/* The edges of a thread, begin, begin + 32, ...; which of them may have to be kept. */
template <bool DIRECT>
static __device__ __forceinline__ uint32_t read_edges(const msf_filter &f, const msf_chunk &chunk,
                                                      uint32_t first, uint32_t begin,
                                                      uint32_t shared_rows[2], chunk_edge e[EACH],
                                                      uint32_t row[EACH]) {
  uint32_t candidates = 0;
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) { /* on their way while rows are found */
    uint32_t i = begin + k * 32;
    bool is = i < chunk.edges;
    e[k].v = is ? __ldg(&chunk.v[i]) : 0;
    e[k].key = is ? key_of<DIRECT>(f, chunk, i) : 0;
  }
  find_rows(chunk, first, shared_rows);
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) {
    uint32_t i = begin + k * 32;
    bool is = i < chunk.edges;
    row[k] = is && chunk.rows > 0 ? row_of(chunk, i, shared_rows) : 0;
    e[k].u = chunk.rows > 0 ? chunk.first_row + row[k] : is ? __ldg(&chunk.u[i]) : 0;
    is = is && (chunk.offsets != NULL ? e[k].u < e[k].v : e[k].u != e[k].v);
    candidates |= (uint32_t)is << k;
  }
  return candidates;
}

/* A block EDGES edges: which are kept, and, beside those of the blocks before, the edges. A chunk
 * from the back is taken from its end to its beginning. */
template <bool DIRECT>
static __global__ void __launch_bounds__(MSF_TILE) filter(msf_filter f, msf_chunk chunk) {
  __shared__ uint32_t shared_ticket, rows[2], counts[MSF_TILE / 32];
  uint32_t ticket = take_ticket(f, &shared_ticket), warp = threadIdx.x / 32;
  uint32_t first = (chunk.back ? gridDim.x - 1 - ticket : ticket) * EDGES;
  uint32_t begin = first + warp * EACH * 32 + dzo_lane(), row[EACH], masks[EACH], here = 0;
  chunk_edge e[EACH];
  uint32_t keep = read_edges<DIRECT>(f, chunk, first, begin, rows, e, row);
  keep = keep_of<DIRECT>(f, e, keep);
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) {
    masks[k] = __ballot_sync(DZO_WARP_ALL, (keep >> k & 1) != 0);
    here += __popc(masks[k]);
    if (dzo_lane() == 0)
      f.masks[begin / 32 + k] = masks[k];
  }
  if (dzo_lane() == 0)
    counts[warp] = here;
  uint32_t kept = msf_block_sum(dzo_lane() == 0 ? here : 0);
  bool is_last = ticket + 1 == gridDim.x;
  if (threadIdx.x == 0)
    dzo_store_shared(&f.kept[ticket], tell_kept(f, kept));
  if (kept == 0 && !is_last)
    return;
  uint64_t at = place_kept(f, chunk.back, kept_before(f, ticket, kept), kept, is_last);
  for (uint32_t w = 0; w < warp; w++)
    at += counts[w];
#pragma unroll
  for (unsigned k = 0; k < EACH; k++) {
    if (keep >> k & 1)
      append(f, e[k], id_of(chunk, begin + k * 32, row[k]),
             at + __popc(masks[k] & dzo_lanes_below()));
    at += __popc(masks[k]);
  }
}

dzo_status msf_filter_chunk(msf_filter *f, const msf_chunk *chunk) {
  unsigned blocks = (chunk->edges + EDGES - 1) / EDGES;
  if (blocks == 0)
    return DZO_OK;
  f->chunks++;
  if (msf_is_direct(*f))
    DZO_TRY(DZO_LAUNCH(f->unit, 0, filter<true>, blocks, MSF_TILE, *f, *chunk));
  else
    DZO_TRY(DZO_LAUNCH(f->unit, 0, filter<false>, blocks, MSF_TILE, *f, *chunk));
  *(chunk->back ? &f->back_turn : &f->turn) ^= 1;
  return DZO_OK;
}

dzo_status msf_filter_count(msf_filter *f, msf_filter_tally *to) {
  return dzo_unit_copy(f->unit, 0, to, &f->control->tally, sizeof *to);
}

/* ---- Vertices -------------------------------------------------------------------------------- */

static __global__ void make_roots(msf_filter f, uint32_t begin, uint32_t end) {
  for (uint32_t v = begin + blockIdx.x * blockDim.x + threadIdx.x; v < end;
       v += gridDim.x * blockDim.x)
    f.nodes[v] = msf_node{MSF_NODE_NONE, 0};
}

dzo_status msf_filter_vertices(msf_filter *f, uint64_t vertices) {
  if (f->vertices == 0) {
    DZO_TRY(dzo_unit_fill(f->unit, 0, f->control, 0, sizeof *f->control));
    DZO_TRY(dzo_unit_fill(f->unit, 0, f->kept, 0,
                          (f->shape.chunk_edges / MSF_TILE + 1) * sizeof *f->kept));
    f->turn = f->back_turn = 0;
    f->chunks = 0;
  }
  if (vertices > f->vertices)
    DZO_TRY(DZO_LAUNCH(f->unit, 0, make_roots, msf_blocks(*f, vertices - f->vertices), 256, *f,
                       (uint32_t)f->vertices, (uint32_t)vertices));
  f->vertices = vertices;
  return DZO_OK;
}

/* ---- What the forest tells ------------------------------------------------------------------- */

static __global__ void find_trees(msf_filter f, uint32_t *labels) {
  for (uint32_t v = blockIdx.x * blockDim.x + threadIdx.x; v < f.vertices;
       v += gridDim.x * blockDim.x) {
    msf_node x = msf_load_node(f.nodes + v);
    while (x.parent != MSF_NODE_NONE)
      x = msf_load_node(f.nodes + (x.parent & ~MSF_NODE_FLAG));
    labels[v] = x.value;
  }
}

dzo_status msf_filter_labels(msf_filter *f, uint32_t **labels) {
  *labels = f->columns[MSF_V];
  if (f->vertices == 0)
    return DZO_OK;
  uint32_t *first = reinterpret_cast<uint32_t *>(f->first);
  DZO_TRY(DZO_LAUNCH(f->unit, 0, find_trees, msf_blocks(*f, f->vertices), 256, *f, *labels));
  return msf_gpu_number_trees(f->unit, *labels, f->vertices, first, first + f->shape.room,
                              f->scratch, f->scratch_bytes);
}

static __global__ void widen(const uint32_t *ids, uint64_t *out, uint64_t count) {
  for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    out[i] = ids[i];
}

dzo_status msf_filter_numbers(msf_filter *f) {
  if (f->numbered == 0)
    return DZO_OK;
  return DZO_LAUNCH(f->unit, 0, widen, msf_blocks(*f, f->numbered), 256, f->columns[MSF_ID],
                    f->first, f->numbered);
}

/* Neither half can overflow: there are fewer than 2^31 keys. */
static __global__ void add_keys(msf_filter f, uint64_t count) {
  uint64_t low = 0, high = 0;
  for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    low += f.columns[MSF_KEY][i] ^ (uint32_t)f.shape.flip;
    high += f.shape.wide ? f.columns[MSF_KEY_HIGH][i] ^ (uint32_t)(f.shape.flip >> 32) : 0;
  }
  for (unsigned step = 16; step > 0; step /= 2) {
    low += __shfl_xor_sync(DZO_WARP_ALL, low, step);
    high += __shfl_xor_sync(DZO_WARP_ALL, high, step);
  }
  if (dzo_lane() == 0) {
    atomicAdd((unsigned long long *)&f.control->sums[0], (unsigned long long)low);
    atomicAdd((unsigned long long *)&f.control->sums[1], (unsigned long long)high);
  }
}

dzo_status msf_filter_sum(msf_filter *f, uint64_t count) {
  return DZO_LAUNCH(f->unit, 0, add_keys, msf_blocks(*f, count), 256, *f, count);
}

static __global__ void narrow(const uint64_t *numbers, uint32_t *out, uint64_t count) {
  for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    out[i] = (uint32_t)numbers[i];
}

dzo_status msf_filter_sort_numbers(msf_filter *f, uint64_t count, int bits, uint32_t **sorted) {
  uint64_t *wide, *other = reinterpret_cast<uint64_t *>(f->nodes);
  DZO_TRY(dzo_gpu_sort_u64(f->unit, 0, f->scratch, f->scratch_bytes, f->first, other, count, 0,
                           bits, &wide));
  *sorted = reinterpret_cast<uint32_t *>(wide);
  if (bits > 32 || count == 0)
    return DZO_OK;
  *sorted = reinterpret_cast<uint32_t *>(wide == f->first ? other : f->first);
  return DZO_LAUNCH(f->unit, 0, narrow, msf_blocks(*f, count), 256, wide, *sorted, count);
}

static __device__ __forceinline__ uint64_t link_key(const msf_filter &f, uint32_t value) {
  if (msf_is_direct(f))
    return value;
  return value == MSF_NODE_NONE ? 0 : msf_column_key(f, value);
}

static __global__ void find_bounds(msf_filter f, uint64_t *bounds, uint32_t *roots) {
  for (uint32_t v = blockIdx.x * blockDim.x + threadIdx.x; v < f.vertices;
       v += gridDim.x * blockDim.x) {
    uint32_t at = v;
    uint64_t bound = 0;
    msf_node x = msf_load_node(f.nodes + at);
    while (x.parent != MSF_NODE_NONE) {
      bound = max(bound, link_key(f, x.value));
      at = x.parent & ~MSF_NODE_FLAG;
      x = msf_load_node(f.nodes + at);
    }
    bounds[v] = bound;
    roots[v] = at;
  }
}

dzo_status msf_filter_bounds(msf_filter *f) {
  return DZO_LAUNCH(f->unit, 0, find_bounds, msf_blocks(*f, f->vertices), 256, *f, f->first,
                    reinterpret_cast<uint32_t *>(f->second));
}

static __global__ void look(msf_filter f, const uint32_t *vertices, uint32_t count,
                            uint64_t *bounds, uint32_t *roots) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  bounds[i] = f.first[vertices[i]];
  roots[i] = reinterpret_cast<const uint32_t *>(f.second)[vertices[i]];
}

dzo_status msf_filter_look(msf_filter *f, uint32_t count, const uint32_t *vertices,
                           uint64_t *bounds, uint32_t *roots) {
  uint64_t *device_bounds = f->second + f->shape.capacity - 2 * (uint64_t)count;
  uint32_t *device_roots = reinterpret_cast<uint32_t *>(device_bounds + count);
  uint32_t *device_vertices = device_roots + count;
  DZO_TRY(dzo_unit_copy(f->unit, 0, device_vertices, vertices, count * sizeof *vertices));
  DZO_TRY(DZO_LAUNCH(f->unit, 0, look, (count + 255) / 256, 256, *f, device_vertices, count,
                     device_bounds, device_roots));
  DZO_TRY(dzo_unit_copy(f->unit, 0, bounds, device_bounds, count * sizeof *bounds));
  return dzo_unit_copy(f->unit, 0, roots, device_roots, count * sizeof *roots);
}

static __global__ void mark_below(msf_filter f, uint32_t root, uint64_t bound, uint32_t *bits) {
  const uint32_t *roots = reinterpret_cast<const uint32_t *>(f.second);
  uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x - dzo_lane(); at < f.vertices;
       at += stride) {
    uint32_t v = at + dzo_lane();
    bool is = v < f.vertices && roots[v] == root && f.first[v] <= bound;
    uint32_t mask = __ballot_sync(DZO_WARP_ALL, is);
    if (dzo_lane() == 0)
      bits[at / 32] = mask;
  }
}

dzo_status msf_filter_bits(msf_filter *f, uint32_t root, uint64_t bound, uint32_t **bits) {
  *bits = reinterpret_cast<uint32_t *>(f->second) + f->shape.capacity;
  return DZO_LAUNCH(f->unit, 0, mark_below, msf_blocks(*f, f->vertices), 256, *f, root, bound,
                    *bits);
}
