/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_result.h"

#include "device/cuda.h"
#include "device/primitives.h"

enum { THREADS = 256, MOST_BLOCKS = 1 << 16, SUM_EACH = 16 };

static unsigned blocks_for(uint64_t count) {
  uint64_t blocks = (count + THREADS - 1) / THREADS;
  uint64_t most = MOST_BLOCKS;
  return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

#define EACH(i, count)                                                                             \
  (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < (count);                         \
   i += (uint64_t)gridDim.x * THREADS)

/* ---- Trees numbered by smallest vertex ------------------------------------------------------- */

/* Most offers lose, and a plain look tells; without it a large tree is one hot address. */
static __global__ void find_first(const uint32_t *labels, uint64_t vertices, uint32_t *first) {
  for
    EACH(v, vertices) {
      uint32_t *best = &first[labels[v]];
      if ((uint32_t)v < dzo_load_shared(best))
        atomicMin(best, (uint32_t)v);
    }
}

static __global__ void flag_firsts(const uint32_t *labels, uint64_t vertices, const uint32_t *first,
                                   uint32_t *flags) {
  for
    EACH(v, vertices)
  flags[v] = first[labels[v]] == (uint32_t)v;
}

static __global__ void number_trees(uint32_t *labels, uint64_t vertices, const uint32_t *first,
                                    const uint32_t *ranks) {
  for
    EACH(v, vertices)
  labels[v] = ranks[first[labels[v]]];
}

/* ---- Edge numbers and keys ------------------------------------------------------------------- */

/* arcs[i] becomes the number of that arc, keys_out[i] its key; no keys at all are zeros. */
template <typename Number, typename Key>
static __global__ void gather(uint64_t *arcs, uint64_t count, const Number *numbers,
                              const Key *keys, Key *keys_out) {
  for
    EACH(i, count) {
      uint64_t arc = arcs[i];
      arcs[i] = numbers[arc];
      keys_out[i] = keys != NULL ? keys[arc] : 0;
    }
}

/* Into the array they were sorted from. */
static __global__ void narrow(const uint64_t *numbers, uint64_t count, uint32_t *out) {
  for
    EACH(i, count) { out[i] = (uint32_t)numbers[i]; }
}

/* Neither half can overflow: there are fewer than 2^30 keys. */
template <typename Key>
static __global__ void sum_keys(const Key *keys, uint64_t count, uint64_t *sums) {
  uint64_t low = 0, high = 0;
  for
    EACH(i, count) {
      low += (uint32_t)keys[i];
      high += (uint64_t)keys[i] >> 32;
    }
  for (unsigned step = 16; step > 0; step /= 2) {
    low += __shfl_xor_sync(DZO_WARP_ALL, low, step);
    high += __shfl_xor_sync(DZO_WARP_ALL, high, step);
  }
  if (dzo_lane() == 0) {
    atomicAdd((unsigned long long *)&sums[0], (unsigned long long)low);
    atomicAdd((unsigned long long *)&sums[1], (unsigned long long)high);
  }
}

static dzo_status launch_gather(dzo_unit *unit, const dzo_gpu_csr *g, uint64_t *arcs,
                                uint64_t count, void *keys) {
  unsigned blocks = blocks_for(count);
  bool wide = g->keys64 != NULL;
  if (g->numbers32 != NULL && !wide)
    return DZO_LAUNCH(unit, 0, (gather<uint32_t, uint32_t>), blocks, THREADS, arcs, count,
                      (const uint32_t *)g->numbers32, (const uint32_t *)g->keys32,
                      (uint32_t *)keys);
  if (g->numbers32 != NULL)
    return DZO_LAUNCH(unit, 0, (gather<uint32_t, uint64_t>), blocks, THREADS, arcs, count,
                      (const uint32_t *)g->numbers32, (const uint64_t *)g->keys64,
                      (uint64_t *)keys);
  if (!wide)
    return DZO_LAUNCH(unit, 0, (gather<uint64_t, uint32_t>), blocks, THREADS, arcs, count,
                      (const uint64_t *)g->numbers64, (const uint32_t *)g->keys32,
                      (uint32_t *)keys);
  return DZO_LAUNCH(unit, 0, (gather<uint64_t, uint64_t>), blocks, THREADS, arcs, count,
                    (const uint64_t *)g->numbers64, (const uint64_t *)g->keys64, (uint64_t *)keys);
}

/* ---- The workspace --------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t rounded(uint64_t bytes) { return (bytes + 255) & ~UINT64_C(255); }

/* Where things lie; the trees are done before the edges, in the same bytes. */
typedef struct layout {
  uint64_t flags, sum_scratch;
  uint64_t sums, keys, other, sort_scratch;
  uint64_t bytes;
} layout;

static layout lay_out(const dzo_gpu_csr *g, uint64_t count) {
  uint64_t key = g->keys64 != NULL ? 8 : 4;
  layout l;
  l.flags = rounded(4 * g->vertices);
  l.sum_scratch = l.flags + rounded(4 * g->vertices);
  l.sums = 0;
  l.keys = rounded(2 * sizeof(uint64_t));
  l.other = l.keys + rounded(key * count);
  l.sort_scratch = l.other + rounded(8 * count);
  l.bytes = larger(l.sum_scratch + dzo_gpu_sum_bytes(g->unit, g->vertices),
                   l.sort_scratch + dzo_gpu_sort_keys_bytes(g->unit, count));
  return l;
}

uint64_t msf_gpu_result_bytes(const dzo_gpu_csr *graph, uint64_t count) {
  return lay_out(graph, count).bytes;
}

dzo_status msf_gpu_number_trees(dzo_unit *unit, uint32_t *labels, uint64_t vertices,
                                uint32_t *first, uint32_t *flags, void *scratch,
                                uint64_t scratch_bytes) {
  unsigned blocks = blocks_for(vertices);
  DZO_TRY(dzo_unit_fill(unit, 0, first, 0xff, 4 * vertices));
  DZO_TRY(
      DZO_LAUNCH(unit, 0, find_first, blocks, THREADS, (const uint32_t *)labels, vertices, first));
  DZO_TRY(DZO_LAUNCH(unit, 0, flag_firsts, blocks, THREADS, (const uint32_t *)labels, vertices,
                     (const uint32_t *)first, flags));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, scratch, scratch_bytes, flags, flags, vertices));
  return DZO_LAUNCH(unit, 0, number_trees, blocks, THREADS, labels, vertices,
                    (const uint32_t *)first, (const uint32_t *)flags);
}

static dzo_status number_labels(dzo_unit *unit, msf_gpu_result *r, const layout *l) {
  char *base = (char *)r->workspace;
  return msf_gpu_number_trees(unit, r->labels, r->graph->vertices, (uint32_t *)base,
                              (uint32_t *)(base + l->flags), base + l->sum_scratch,
                              l->bytes - l->sum_scratch);
}

static int bits_of(uint64_t bound) {
  int bits = 1;
  while (bits < 64 && bound >> bits != 0)
    bits++;
  return bits;
}

static dzo_status sum_all(dzo_unit *unit, msf_gpu_result *r, bool wide) {
  unsigned blocks = blocks_for(r->count / SUM_EACH);
  DZO_TRY(dzo_unit_fill(unit, 0, r->sums, 0, 2 * sizeof *r->sums));
  if (wide)
    return DZO_LAUNCH(unit, 0, sum_keys<uint64_t>, blocks, THREADS, (const uint64_t *)r->keys,
                      r->count, r->sums);
  return DZO_LAUNCH(unit, 0, sum_keys<uint32_t>, blocks, THREADS, (const uint32_t *)r->keys,
                    r->count, r->sums);
}

static dzo_status sort_edges(dzo_unit *unit, msf_gpu_result *r, const layout *l) {
  const dzo_gpu_csr *g = r->graph;
  char *base = (char *)r->workspace;
  uint64_t *other = (uint64_t *)(base + l->other), *sorted;
  r->keys = base + l->keys;
  r->sums = (uint64_t *)(base + l->sums);
  DZO_TRY(launch_gather(unit, g, r->arcs, r->count, r->keys));
  DZO_TRY(sum_all(unit, r, g->keys64 != NULL));
  DZO_TRY(dzo_gpu_sort_u64(unit, 0, base + l->sort_scratch, l->bytes - l->sort_scratch, r->arcs,
                           other, r->count, 0, bits_of(g->number_bound), &sorted));
  r->numbers = sorted;
  r->narrow = g->number_bound <= UINT32_MAX;
  if (!r->narrow)
    return DZO_OK;
  r->numbers = sorted == other ? r->arcs : other;
  return DZO_LAUNCH(unit, 0, narrow, blocks_for(r->count), THREADS, (const uint64_t *)sorted,
                    r->count, (uint32_t *)r->numbers);
}

dzo_status msf_gpu_result_make(dzo_unit *unit, msf_gpu_result *result) {
  layout l = lay_out(result->graph, result->count);
  if (result->workspace_bytes < l.bytes)
    return DZO_E_MEMORY;
  if (result->graph->vertices > 0)
    DZO_TRY(number_labels(unit, result, &l));
  return result->count > 0 ? sort_edges(unit, result, &l) : DZO_OK;
}
