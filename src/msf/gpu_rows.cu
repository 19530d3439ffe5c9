/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_rows.h"

#include "device/cuda.h"
#include "device/primitives.h"
#include "graph/weight_map.h"

enum { THREADS = 256, EACH_ARCS = 8, TILE = THREADS * EACH_ARCS, MOST_BLOCKS = 1 << 15 };

/* What a graph's rows are, for kernels. */
typedef struct rows {
  const uint64_t *offsets;
  const uint32_t *neighbours;
  const void *weights;
  uint64_t arcs;
  uint32_t vertices;
  int type; /* msf_key_type */
  int by_weight;
} rows;

static rows rows_of(const msf_gpu_graph *g) {
  rows r;
  r.offsets = g->offsets;
  r.neighbours = g->neighbours;
  r.weights = g->keys;
  r.arcs = g->arcs;
  r.vertices = g->vertices;
  r.type = (int)g->key_type;
  r.by_weight = g->presorted;
  return r;
}

/* The weight of an arc as a key that orders as it does. */
static __device__ uint64_t key_at(const rows *r, uint64_t arc) {
  switch (r->type) {
  case MSF_KEY_U32:
    return ((const uint32_t *)r->weights)[arc];
  case MSF_KEY_F32:
    return dzo_pattern_of_f32(((const float *)r->weights)[arc]);
  case MSF_KEY_U64:
    return ((const uint64_t *)r->weights)[arc];
  case MSF_KEY_I64:
    return dzo_pattern_of_i64(((const int64_t *)r->weights)[arc]);
  case MSF_KEY_F64:
    return dzo_pattern_of_f64(((const double *)r->weights)[arc]);
  }
  return 0;
}

static __device__ bool is_nan(const rows *r, uint64_t arc) {
  if (r->type == MSF_KEY_F32) {
    float x = ((const float *)r->weights)[arc];
    return x != x;
  }
  if (r->type == MSF_KEY_F64) {
    double x = ((const double *)r->weights)[arc];
    return x != x;
  }
  return false;
}

/* The row that holds `arc`, among the rows low .. high: the last that begins at or before it. */
static __device__ uint32_t row_of(const rows *r, uint64_t arc, uint32_t low, uint32_t high) {
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    if (r->offsets[middle] <= arc)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* ---- Checking -------------------------------------------------------------------------------- */

enum { BAD_OFFSETS, BAD_NEIGHBOUR, BAD_WEIGHT, BAD_ORDER, PROBLEMS };

/* The first row with each problem, and the sum over edges told by their smaller endpoints, less the
 * sum over those told by the larger: 0 if both sides tell the same edges. */
typedef struct verdict {
  uint64_t row[PROBLEMS];
  uint64_t balance;
} verdict;

static __device__ void report(verdict *v, int problem, uint64_t row) {
  atomicMin((unsigned long long *)&v->row[problem], (unsigned long long)row);
}

static __global__ void check_offsets(rows r, verdict *v) {
  uint64_t stride = (uint64_t)gridDim.x * THREADS;
  for (uint64_t u = (uint64_t)blockIdx.x * THREADS + threadIdx.x; u < r.vertices; u += stride) {
    uint64_t begin = r.offsets[u], end = r.offsets[u + 1];
    bool good = begin <= end && end <= r.arcs && (u > 0 || begin == 0) &&
                (u + 1 < r.vertices || end == r.arcs);
    if (!good)
      report(v, BAD_OFFSETS, u);
  }
}

static __device__ uint64_t mix(uint64_t x) { /* Steele, Lea, Flood 2014 */
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* What the arc adds to the balance. */
static __device__ uint64_t check_arc(const rows *r, verdict *v, uint64_t arc, uint32_t u) {
  uint32_t to = r->neighbours[arc];
  uint64_t key = key_at(r, arc);
  if (to >= r->vertices)
    report(v, BAD_NEIGHBOUR, u);
  if (is_nan(r, arc))
    report(v, BAD_WEIGHT, u);
  if (arc > r->offsets[u]) {
    uint32_t before = r->neighbours[arc - 1];
    uint64_t key_before = r->by_weight ? key_at(r, arc - 1) : key;
    if (key_before > key || (key_before == key && before > to))
      report(v, BAD_ORDER, u);
  }
  if (u == to)
    return 0;
  uint64_t ends = u < to ? (uint64_t)u << 32 | to : (uint64_t)to << 32 | u;
  uint64_t hash = mix(mix(ends + UINT64_C(0x9e3779b97f4a7c15)) ^ key);
  return u < to ? hash : UINT64_C(0) - hash;
}

/* A tile of arcs a block; the rows are wrong only if the offsets, which were checked before, are
 * right. */
static __global__ void check_arcs(rows r, verdict *v) {
  __shared__ uint32_t range[2];
  uint64_t balance = 0;
  bool good = v->row[BAD_OFFSETS] == UINT64_MAX;
  uint64_t tiles = good ? (r.arcs + TILE - 1) / TILE : 0;
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    uint64_t begin = tile * TILE, end = begin + TILE < r.arcs ? begin + TILE : r.arcs;
    if (threadIdx.x < 2)
      range[threadIdx.x] = row_of(&r, threadIdx.x == 0 ? begin : end - 1, 0, r.vertices - 1);
    __syncthreads();
    uint32_t first = range[0], last = range[1];
    for (uint64_t arc = begin + threadIdx.x; arc < end; arc += THREADS)
      balance += check_arc(&r, v, arc, row_of(&r, arc, first, last));
    __syncthreads();
  }
  for (unsigned step = 16; step > 0; step /= 2)
    balance += __shfl_xor_sync(DZO_WARP_ALL, balance, step);
  if (dzo_lane() == 0 && balance != 0)
    atomicAdd((unsigned long long *)&v->balance, (unsigned long long)balance);
}

uint64_t msf_gpu_rows_check_bytes(void) { return sizeof(verdict); }

static dzo_status tell(dzo_unit *unit, const msf_gpu_graph *g, const verdict *v) {
  static const char *const texts[PROBLEMS] = {
      "the offsets do not ascend from 0 to the number of arcs", "a neighbour is out of range",
      "a weight is not a number", "the arcs are not in the order of row_order"};
  for (int i = 0; i < PROBLEMS; i++)
    if (v->row[i] != UINT64_MAX)
      return dzo_fail(unit->context, DZO_E_ARGUMENT, "row %llu of %lu: %s",
                      (unsigned long long)v->row[i], (unsigned long)g->vertices, texts[i]);
  if (v->balance != 0)
    return dzo_fail(unit->context, DZO_E_ARGUMENT,
                    "the graph is not symmetric: an edge stands in the row of one of its "
                    "endpoints only, or with two weights");
  return DZO_OK;
}

static unsigned blocks_for(uint64_t count, uint64_t each) {
  uint64_t blocks = (count + each - 1) / each;
  uint64_t most = MOST_BLOCKS;
  return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

dzo_status msf_gpu_rows_check(dzo_unit *unit, const msf_gpu_graph *graph, void *workspace) {
  if (graph->vertices == 0)
    return DZO_OK;
  verdict host, *v = (verdict *)workspace;
  for (int i = 0; i < PROBLEMS; i++)
    host.row[i] = UINT64_MAX;
  host.balance = 0;
  rows r = rows_of(graph);
  DZO_TRY(dzo_unit_copy(unit, 0, v, &host, sizeof host));
  DZO_TRY(dzo_unit_wait(unit, 0));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_offsets, blocks_for(graph->vertices, THREADS), THREADS, r, v));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_arcs, blocks_for(graph->arcs, TILE), THREADS, r, v));
  DZO_TRY(dzo_unit_copy(unit, 0, &host, v, sizeof host));
  DZO_TRY(dzo_unit_wait(unit, 0));
  return tell(unit, graph, &host);
}

/* ---- The order of a forest ------------------------------------------------------------------- */

/* The first arc of row u that goes to `to` with this key. */
static __device__ uint64_t first_arc(const rows *r, uint32_t u, uint32_t to, uint64_t key) {
  uint64_t low = r->offsets[u], high = r->offsets[u + 1];
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    uint64_t here = r->by_weight ? key_at(r, middle) : key;
    if (here < key || (here == key && r->neighbours[middle] < to))
      low = middle + 1;
    else
      high = middle;
  }
  while (low + 1 < r->offsets[u + 1] && key_at(r, low) != key)
    low++;
  return low;
}

static __global__ void find_smaller_rows(rows r, const uint64_t *arcs, uint64_t count,
                                         uint64_t *out) {
  uint64_t stride = (uint64_t)gridDim.x * THREADS;
  for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
    uint64_t arc = arcs[i];
    uint32_t u = row_of(&r, arc, 0, r.vertices - 1), v = r.neighbours[arc];
    out[i] = first_arc(&r, u < v ? u : v, u < v ? v : u, key_at(&r, arc));
  }
}

static uint64_t rounded(uint64_t bytes) { return (bytes + 255) & ~UINT64_C(255); }

uint64_t msf_gpu_rows_order_bytes(dzo_unit *unit, uint64_t count) {
  return rounded(8 * count) + dzo_gpu_sort_keys_bytes(unit, count);
}

dzo_status msf_gpu_rows_order(dzo_unit *unit, const msf_gpu_graph *graph, uint64_t *arcs,
                              uint64_t count, void *workspace, uint64_t bytes) {
  if (count == 0)
    return DZO_OK;
  uint64_t *found = (uint64_t *)workspace, *sorted, used = rounded(8 * count);
  int bits = 1;
  while (bits < 64 && graph->arcs >> bits != 0)
    bits++;
  DZO_TRY(DZO_LAUNCH(unit, 0, find_smaller_rows, blocks_for(count, THREADS), THREADS,
                     rows_of(graph), (const uint64_t *)arcs, count, found));
  DZO_TRY(dzo_gpu_sort_u64(unit, 0, (char *)workspace + used, bytes - used, found, arcs, count, 0,
                           bits, &sorted));
  return sorted == arcs ? DZO_OK : dzo_unit_copy(unit, 0, arcs, sorted, count * sizeof *arcs);
}
