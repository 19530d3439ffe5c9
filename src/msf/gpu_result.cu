/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_result.h"

#include "device/cuda.h"
#include "device/primitives.h"

enum { THREADS = 256, MOST_BLOCKS = 1 << 16 };

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
  uint64_t keys_in, numbers, keys, sort_scratch;
  uint64_t bytes;
} layout;

static layout lay_out(const dzo_gpu_csr *g, uint64_t count) {
  uint64_t key = g->keys64 != NULL ? 8 : 4;
  layout l;
  l.flags = rounded(4 * g->vertices);
  l.sum_scratch = l.flags + rounded(4 * g->vertices);
  l.keys_in = 0;
  l.numbers = rounded(key * count);
  l.keys = l.numbers + rounded(8 * count);
  l.sort_scratch = l.keys + rounded(key * count);
  l.bytes = larger(l.sum_scratch + dzo_gpu_sum_bytes(g->vertices),
                   l.sort_scratch + dzo_gpu_sort_bytes(count));
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

static dzo_status sort_edges(dzo_unit *unit, msf_gpu_result *r, const layout *l) {
  const dzo_gpu_csr *g = r->graph;
  char *base = (char *)r->workspace;
  void *keys = base + l->keys_in, *scratch = base + l->sort_scratch;
  uint64_t scratch_bytes = l->bytes - l->sort_scratch;
  r->numbers = (uint64_t *)(base + l->numbers);
  r->keys = base + l->keys;
  DZO_TRY(launch_gather(unit, g, r->arcs, r->count, keys));
  int bits = bits_of(g->number_bound);
  if (g->keys64 != NULL)
    return dzo_gpu_sort_u64_u64(unit, 0, scratch, scratch_bytes, r->arcs, r->numbers,
                                (const uint64_t *)keys, (uint64_t *)r->keys, r->count, 0, bits);
  return dzo_gpu_sort_u64_u32(unit, 0, scratch, scratch_bytes, r->arcs, r->numbers,
                              (const uint32_t *)keys, (uint32_t *)r->keys, r->count, 0, bits);
}

dzo_status msf_gpu_result_make(dzo_unit *unit, msf_gpu_result *result) {
  layout l = lay_out(result->graph, result->count);
  if (result->workspace_bytes < l.bytes)
    return DZO_E_MEMORY;
  if (result->graph->vertices > 0)
    DZO_TRY(number_labels(unit, result, &l));
  return result->count > 0 ? sort_edges(unit, result, &l) : DZO_OK;
}
