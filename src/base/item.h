/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Macros and atomics by which per-item code (a hash, a comparison, one step of a find) compiles as
 * C11 and as CUDA. Plain integers and these wrappers, never C11 atomic types, which CUDA
 * does not know. All atomics here are relaxed: order comes from the end of a team. */
#ifndef DZO_BASE_ITEM_H
#define DZO_BASE_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define DZO_ITEM static __host__ __device__ __forceinline__
#else
#define DZO_ITEM static inline __attribute__((always_inline, unused))
#endif

#if defined(__GNUC__) || defined(__clang__)
#define DZO_LIKELY(x) __builtin_expect(!!(x), 1)
#define DZO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DZO_PREFETCH(p) __builtin_prefetch(p)
#define DZO_PREFETCH_WRITE(p) __builtin_prefetch(p, 1)
#else
#define DZO_LIKELY(x) (x)
#define DZO_UNLIKELY(x) (x)
#define DZO_PREFETCH(p) ((void)(p))
#define DZO_PREFETCH_WRITE(p) ((void)(p))
#endif

#if defined(__CUDA_ARCH__)
/* The second-level cache is where a GPU's threads meet. */
DZO_ITEM uint32_t dzo_load_u32(const uint32_t *p) { return *(const volatile uint32_t *)p; }
DZO_ITEM uint64_t dzo_load_u64(const uint64_t *p) { return *(const volatile uint64_t *)p; }
DZO_ITEM void dzo_store_u32(uint32_t *p, uint32_t x) { *(volatile uint32_t *)p = x; }
DZO_ITEM void dzo_store_u64(uint64_t *p, uint64_t x) { *(volatile uint64_t *)p = x; }
DZO_ITEM uint64_t dzo_fetch_add_u64(uint64_t *p, uint64_t x) {
  return atomicAdd((unsigned long long *)p, (unsigned long long)x);
}
DZO_ITEM uint64_t dzo_fetch_or_u64(uint64_t *p, uint64_t x) {
  return atomicOr((unsigned long long *)p, (unsigned long long)x);
}
DZO_ITEM bool dzo_cas_u32(uint32_t *p, uint32_t *expected, uint32_t x) {
  uint32_t found = atomicCAS(p, *expected, x);
  bool done = found == *expected;
  *expected = found;
  return done;
}
DZO_ITEM bool dzo_cas_u64(uint64_t *p, uint64_t *expected, uint64_t x) {
  uint64_t found =
      atomicCAS((unsigned long long *)p, (unsigned long long)*expected, (unsigned long long)x);
  bool done = found == *expected;
  *expected = found;
  return done;
}
#else
DZO_ITEM uint32_t dzo_load_u32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
DZO_ITEM uint64_t dzo_load_u64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
DZO_ITEM void dzo_store_u32(uint32_t *p, uint32_t x) { __atomic_store_n(p, x, __ATOMIC_RELAXED); }
DZO_ITEM void dzo_store_u64(uint64_t *p, uint64_t x) { __atomic_store_n(p, x, __ATOMIC_RELAXED); }
DZO_ITEM uint64_t dzo_fetch_add_u64(uint64_t *p, uint64_t x) {
  return __atomic_fetch_add(p, x, __ATOMIC_RELAXED);
}
DZO_ITEM uint64_t dzo_fetch_or_u64(uint64_t *p, uint64_t x) {
  return __atomic_fetch_or(p, x, __ATOMIC_RELAXED);
}
/* On failure *expected becomes what was found. */
DZO_ITEM bool dzo_cas_u32(uint32_t *p, uint32_t *expected, uint32_t x) {
  return __atomic_compare_exchange_n(p, expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
DZO_ITEM bool dzo_cas_u64(uint64_t *p, uint64_t *expected, uint64_t x) {
  return __atomic_compare_exchange_n(p, expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#endif
/* Lower *p to x; a plain read first, since most offers lose. */
DZO_ITEM void dzo_min_u64(uint64_t *p, uint64_t x) {
  uint64_t seen = dzo_load_u64(p);
  while (x < seen && !dzo_cas_u64(p, &seen, x)) {
  }
}

#endif
