/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Aggregation by sorting, for keys that were chosen to meet in one part: slower, but what it costs
 * does not depend on the keys. */
#ifndef DZO_TABLE_GPU_AGGREGATE_SORT_CUH
#define DZO_TABLE_GPU_AGGREGATE_SORT_CUH

#include "device/primitives.h"
#include "table/gpu_aggregate.cuh"

typedef struct aggregate_sorting {
  uint64_t *keys[2];
  uint32_t *positions[2];
  uint32_t *heads; /* 1: the first of its key; then how many heads came before */
  void *scratch;
  uint64_t scratch_bytes;
} aggregate_sorting;

template <typename Word>
static __global__ void aggregate_list(aggregate_state<Word> s, aggregate_sorting a) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.count;
       i += gridDim.x * blockDim.x) {
    a.keys[0][i] = aggregate_mixed(s.keys[i], s.mix);
    a.positions[0][i] = i;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0)
    s.counts->unique = 0;
}

static __device__ __forceinline__ bool aggregate_is_head(const aggregate_sorting &a, uint32_t i) {
  return i == 0 || a.keys[1][i] != a.keys[1][i - 1];
}

static __global__ void aggregate_find_heads(aggregate_sorting a, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    a.heads[i] = aggregate_is_head(a, i);
}

template <typename Word>
static __global__ void aggregate_put_heads(aggregate_state<Word> s, aggregate_sorting a) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.count;
       i += gridDim.x * blockDim.x) {
    bool head = aggregate_is_head(a, i);
    if (i + 1 == s.count)
      s.counts->unique = a.heads[i] + head;
    if (!head)
      continue;
    s.out_keys[a.heads[i]] = (Word)a.keys[1][i];
    s.out_values[a.heads[i]] = aggregate_identity<Word>(s.kind);
    if (s.out_first != NULL)
      s.out_first[a.heads[i]] = a.positions[1][i];
  }
}

template <typename Word>
static __global__ void aggregate_sum_sorted(aggregate_state<Word> s, aggregate_sorting a) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.count;
       i += gridDim.x * blockDim.x) {
    uint32_t to = a.heads[i] - (aggregate_is_head(a, i) ? 0 : 1);
    aggregate_into(s.kind, &s.out_values[to], aggregate_value(s, a.positions[1][i]));
  }
}

static dzo_status aggregate_sorting_allocate(dzo_unit *unit, uint64_t count, aggregate_sorting *a) {
  a->scratch_bytes = dzo_gpu_sort_bytes(unit, count);
  if (a->scratch_bytes < dzo_gpu_sum_bytes(unit, count))
    a->scratch_bytes = dzo_gpu_sum_bytes(unit, count);
  for (int i = 0; i < 2; i++) {
    DZO_TRY(dzo_unit_allocate(unit, count, 8, (void **)&a->keys[i]));
    DZO_TRY(dzo_unit_allocate(unit, count, 4, (void **)&a->positions[i]));
  }
  DZO_TRY(dzo_unit_allocate(unit, count, 4, (void **)&a->heads));
  return dzo_unit_allocate(unit, a->scratch_bytes, 1, &a->scratch);
}

static void aggregate_sorting_release(dzo_unit *unit, aggregate_sorting *a) {
  for (int i = 0; i < 2; i++) {
    dzo_unit_release(unit, a->keys[i]);
    dzo_unit_release(unit, a->positions[i]);
  }
  dzo_unit_release(unit, a->heads);
  dzo_unit_release(unit, a->scratch);
}

template <typename Word>
static dzo_status aggregate_sort_steps(dzo_unit *unit, int queue, const aggregate_state<Word> &s,
                                       const aggregate_sorting &a) {
  unsigned blocks = (unsigned)unit->processors * 8;
  DZO_TRY(DZO_LAUNCH(unit, queue, aggregate_list<Word>, blocks, 256, s, a));
  DZO_TRY(dzo_gpu_sort_u64_u32(unit, queue, a.scratch, a.scratch_bytes, a.keys[0], a.keys[1],
                               a.positions[0], a.positions[1], s.count, 0,
                               (int)(8 * sizeof(Word))));
  DZO_TRY(DZO_LAUNCH(unit, queue, aggregate_find_heads, blocks, 256, a, s.count));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, queue, a.scratch, a.scratch_bytes, a.heads, a.heads,
                                    s.count));
  DZO_TRY(DZO_LAUNCH(unit, queue, aggregate_put_heads<Word>, blocks, 256, s, a));
  return DZO_LAUNCH(unit, queue, aggregate_sum_sorted<Word>, blocks, 256, s, a);
}

template <typename Word>
static dzo_status aggregate_by_sorting(dzo_unit *unit, int queue, const aggregate_state<Word> &s) {
  aggregate_sorting a = {};
  dzo_status status = aggregate_sorting_allocate(unit, s.count, &a);
  if (status == DZO_OK)
    status = aggregate_sort_steps(unit, queue, s, a);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, queue);
  aggregate_sorting_release(unit, &a);
  return status;
}

#endif
