/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Stands for src/device/primitives.cu: the same functions by the standard library. */
#include "device/primitives.h"

#include <string.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "device/cuda.h"

static void run_and_end(void *work) {
  std::function<void()> *f = (std::function<void()> *)work;
  (*f)();
  delete f;
}

static dzo_status put(dzo_unit *unit, int queue, const std::function<void()> &work) {
  if (dzo_cuda_may_launch(unit) != DZO_OK)
    return DZO_E_DEVICE;
  std::function<void()> *copy = new std::function<void()>(work);
  cudaError_t error = simt_call_in(dzo_cuda_stream(unit, queue), run_and_end, copy);
  if (error != cudaSuccess)
    delete copy;
  return dzo_cuda_launched(unit, error);
}

static void check_scratch(const char *what, void *scratch, uint64_t bytes, uint64_t needed) {
  if (bytes < needed)
    simt_die("%s: scratch of %llu bytes instead of %llu", what, (unsigned long long)bytes,
             (unsigned long long)needed);
  simt_check_range(what, scratch, bytes);
}

/* As much as the real one might ask for; it is written to, so that it must be the caller's. */
uint64_t dzo_gpu_sort_bytes(dzo_unit *, uint64_t count) { return 16 * count + 1000; }
uint64_t dzo_gpu_sort_keys_bytes(dzo_unit *, uint64_t count) { return 1000 + count / 64; }
uint64_t dzo_gpu_sum_bytes(dzo_unit *, uint64_t count) { return count / 64 + 1000; }

template <typename Value>
static dzo_status sort(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                       const uint64_t *keys_in, uint64_t *keys_out, const Value *values_in,
                       Value *values_out, uint64_t count, int begin, int end) {
  static const char what[] = "dzo_gpu_sort";
  check_scratch(what, scratch, bytes, dzo_gpu_sort_bytes(unit, count));
  simt_check_range(what, keys_in, count * sizeof *keys_in);
  simt_check_range(what, keys_out, count * sizeof *keys_out);
  simt_check_range(what, values_in, count * sizeof *values_in);
  simt_check_range(what, values_out, count * sizeof *values_out);
  if (begin < 0 || begin > end || end > 64)
    simt_die("%s: bits %d to %d", what, begin, end);
  return put(unit, queue, [=] {
    uint64_t mask = end - begin == 64 ? ~(uint64_t)0 : (((uint64_t)1 << (end - begin)) - 1);
    memset(scratch, 0x5c, bytes);
    std::vector<uint64_t> order(count);
    for (uint64_t i = 0; i < count; i++)
      order[i] = i;
    if (mask != 0)
      std::stable_sort(order.begin(), order.end(), [=](uint64_t a, uint64_t b) {
        return (keys_in[a] >> begin & mask) < (keys_in[b] >> begin & mask);
      });
    for (uint64_t i = 0; i < count; i++) {
      keys_out[i] = keys_in[order[i]];
      values_out[i] = values_in[order[i]];
    }
  });
}

/* Which of the two arrays holds the result depends on the number of passes. */
dzo_status dzo_gpu_sort_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                            uint64_t *keys, uint64_t *other, uint64_t count, int begin, int end,
                            uint64_t **sorted) {
  static const char what[] = "dzo_gpu_sort_u64";
  check_scratch(what, scratch, bytes, dzo_gpu_sort_keys_bytes(unit, count));
  simt_check_range(what, keys, count * sizeof *keys);
  simt_check_range(what, other, count * sizeof *other);
  if (begin < 0 || begin > end || end > 64)
    simt_die("%s: bits %d to %d", what, begin, end);
  bool swapped = (end - begin + 7) / 8 % 2 != 0;
  *sorted = swapped ? other : keys;
  return put(unit, queue, [=] {
    uint64_t mask = end - begin == 64 ? ~(uint64_t)0 : (((uint64_t)1 << (end - begin)) - 1);
    memset(scratch, 0x5c, bytes);
    if (mask != 0)
      std::stable_sort(keys, keys + count, [=](uint64_t a, uint64_t b) {
        return (a >> begin & mask) < (b >> begin & mask);
      });
    memcpy(other, keys, count * sizeof *keys);
    memset(swapped ? keys : other, 0x5c, count * sizeof *keys);
  });
}

template <typename T>
static dzo_status exclusive_sum(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const T *in, T *out, uint64_t count) {
  static const char what[] = "dzo_gpu_exclusive_sum";
  check_scratch(what, scratch, bytes, dzo_gpu_sum_bytes(unit, count));
  simt_check_range(what, in, count * sizeof *in);
  simt_check_range(what, out, count * sizeof *out);
  return put(unit, queue, [=] {
    memset(scratch, 0x5c, bytes);
    T sum = 0;
    for (uint64_t i = 0; i < count; i++) {
      T next = in[i];
      out[i] = sum;
      sum = (T)(sum + next);
    }
  });
}

dzo_status dzo_gpu_sort_u64_u32(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const uint64_t *keys_in, uint64_t *keys_out,
                                const uint32_t *values_in, uint32_t *values_out, uint64_t count,
                                int begin, int end) {
  return sort(unit, queue, scratch, bytes, keys_in, keys_out, values_in, values_out, count, begin,
              end);
}
dzo_status dzo_gpu_sort_u64_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const uint64_t *keys_in, uint64_t *keys_out,
                                const uint64_t *values_in, uint64_t *values_out, uint64_t count,
                                int begin, int end) {
  return sort(unit, queue, scratch, bytes, keys_in, keys_out, values_in, values_out, count, begin,
              end);
}
dzo_status dzo_gpu_exclusive_sum_u32(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                     const uint32_t *in, uint32_t *out, uint64_t count) {
  return exclusive_sum(unit, queue, scratch, bytes, in, out, count);
}
dzo_status dzo_gpu_exclusive_sum_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                     const uint64_t *in, uint64_t *out, uint64_t count) {
  return exclusive_sum(unit, queue, scratch, bytes, in, out, count);
}
