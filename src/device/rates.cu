/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/rates.h"

#include "device/cuda.h"

enum { THREADS = 256, BLOCKS = 8 /* a multiprocessor */, PASSES = 5, FROM = 0, TO = 1 };

/* Sums of a block, so that nothing read is thrown away. */
__device__ __forceinline__ void add_up(uint64_t sum, uint64_t *total) {
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_xor_sync(DZO_WARP_ALL, (unsigned long long)sum, d);
  if (dzo_lane() == 0)
    atomicAdd((unsigned long long *)total, (unsigned long long)sum);
}

static __global__ void read_in_order(const uint4 *words, uint64_t count, uint64_t *total) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x, sum = 0;
  uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    uint4 a = __ldcs(&words[i]), b = __ldcs(&words[i + step]);
    uint4 c = __ldcs(&words[i + 2 * step]), d = __ldcs(&words[i + 3 * step]);
    sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
    sum += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
  }
  for (; i < count; i += step)
    sum += words[i].x + words[i].y + words[i].z + words[i].w;
  add_up(sum, total);
}

/* `count` is a power of two. */
static __global__ void read_anywhere(const uint32_t *words, uint64_t count, uint64_t reads,
                                     uint64_t *total) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x, sum = 0;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < reads; i += 4 * step) {
    uint64_t place[4];
    for (int k = 0; k < 4; k++) {
      place[k] = (i + (uint64_t)k * step) * UINT64_C(0x9e3779b97f4a7c15);
      place[k] = (place[k] ^ place[k] >> 29) & (count - 1);
    }
    for (int k = 0; k < 4; k++)
      sum += __ldcg(&words[place[k]]);
  }
  add_up(sum, total);
}

struct measurement {
  dzo_unit *unit;
  void *words;
  uint64_t bytes;
  uint64_t *total;
};

static dzo_status read_once(const measurement *m, bool anywhere, double *milliseconds) {
  unsigned blocks = (unsigned)m->unit->processors * BLOCKS;
  DZO_TRY(dzo_unit_mark(m->unit, 0, FROM));
  if (anywhere)
    DZO_TRY(DZO_LAUNCH(m->unit, 0, read_anywhere, blocks, THREADS, (const uint32_t *)m->words,
                       m->bytes / 4, m->bytes / 4, m->total));
  else
    DZO_TRY(DZO_LAUNCH(m->unit, 0, read_in_order, blocks, THREADS, (const uint4 *)m->words,
                       m->bytes / 16, m->total));
  DZO_TRY(dzo_unit_mark(m->unit, 0, TO));
  DZO_TRY(dzo_unit_wait_mark(m->unit, TO));
  return dzo_unit_elapsed(m->unit, FROM, TO, milliseconds);
}

static dzo_status best_of(measurement *m, bool anywhere, double *milliseconds) {
  dzo_unit *unit = m->unit;
  DZO_TRY(dzo_unit_allocate(unit, m->bytes, 1, &m->words));
  DZO_TRY(dzo_unit_allocate(unit, 1, sizeof *m->total, (void **)&m->total));
  DZO_TRY(dzo_unit_fill(unit, 0, m->words, 1, m->bytes));
  for (int pass = 0; pass < PASSES; pass++) {
    double time;
    DZO_TRY(read_once(m, anywhere, &time));
    *milliseconds = pass == 0 || time < *milliseconds ? time : *milliseconds;
  }
  return DZO_OK;
}

/* The largest power of two up to `bytes`, but not more than half of what is there. */
static uint64_t fitting(dzo_unit *unit, uint64_t bytes) {
  uint64_t most = dzo_unit_available(unit) / 2, size = 1 << 12;
  while (size * 2 <= bytes && size * 2 <= most)
    size *= 2;
  return size;
}

static dzo_status measure(dzo_unit *unit, uint64_t bytes, bool anywhere, double *a_second) {
  measurement m = {unit, NULL, fitting(unit, bytes), NULL};
  double milliseconds = 0;
  dzo_status status = best_of(&m, anywhere, &milliseconds);
  *a_second = milliseconds > 0 ? (double)m.bytes * 1e3 / milliseconds : 0;
  dzo_unit_release(unit, m.words);
  dzo_unit_release(unit, m.total);
  return status;
}

extern "C" dzo_status dzo_gpu_read_rate(dzo_unit *unit, uint64_t bytes, double *rate) {
  return measure(unit, bytes, false, rate);
}

extern "C" dzo_status dzo_gpu_random_rate(dzo_unit *unit, uint64_t bytes, double *rate) {
  dzo_status status = measure(unit, bytes, true, rate);
  *rate /= 4;
  return status;
}

static dzo_status cross_bus(const measurement *m, const void *staging, double *milliseconds) {
  for (int pass = 0; pass < PASSES; pass++) {
    double time;
    DZO_TRY(dzo_unit_mark(m->unit, 0, FROM));
    DZO_TRY(dzo_unit_copy(m->unit, 0, m->words, staging, m->bytes));
    DZO_TRY(dzo_unit_mark(m->unit, 0, TO));
    DZO_TRY(dzo_unit_wait_mark(m->unit, TO));
    DZO_TRY(dzo_unit_elapsed(m->unit, FROM, TO, &time));
    *milliseconds = pass == 0 || time < *milliseconds ? time : *milliseconds;
  }
  return DZO_OK;
}

extern "C" dzo_status dzo_gpu_bus_rate(dzo_unit *unit, uint64_t bytes, double *rate) {
  measurement m = {unit, NULL, fitting(unit, bytes), NULL};
  void *staging = NULL;
  double milliseconds = 0;
  dzo_status status = dzo_unit_allocate(unit, m.bytes, 1, &m.words);
  if (status == DZO_OK)
    status = dzo_unit_allocate_staging(unit, m.bytes, 1, &staging);
  if (status == DZO_OK)
    status = cross_bus(&m, staging, &milliseconds);
  *rate = milliseconds > 0 ? (double)m.bytes * 1e3 / milliseconds : 0;
  dzo_unit_release(unit, m.words);
  dzo_unit_release_staging(unit, staging);
  return status;
}
