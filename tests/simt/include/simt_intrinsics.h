/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What kernels call. Collectives know the line they are called from, so that lanes that meet at
 * different ones are found out. */
#ifndef SIMT_INTRINSICS_H
#define SIMT_INTRINSICS_H

#include <string.h>

#include "simt.h"

#define SIMT_FROM const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define SIMT_WHERE file, line

/* Barriers. */
static inline void __syncthreads(SIMT_FROM) {
  simt_block_barrier(SIMT_SYNCTHREADS, false, SIMT_WHERE);
}
static inline int __syncthreads_count(int p, SIMT_FROM) {
  return (int)simt_block_barrier(SIMT_SYNCTHREADS, p != 0, SIMT_WHERE);
}
static inline int __syncthreads_or(int p, SIMT_FROM) {
  return simt_block_barrier(SIMT_SYNCTHREADS, p != 0, SIMT_WHERE) != 0;
}
static inline int __syncthreads_and(int p, SIMT_FROM) {
  return simt_block_barrier(SIMT_SYNCTHREADS, p == 0, SIMT_WHERE) == 0;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_FROM) {
  simt_collective(SIMT_SYNCWARP, mask, 0, SIMT_WHERE);
}

/* Votes. */
static inline unsigned __ballot_sync(unsigned mask, int p, SIMT_FROM) {
  return simt_collective(SIMT_BALLOT, mask, p != 0, SIMT_WHERE)->mask;
}
static inline int __any_sync(unsigned mask, int p, SIMT_FROM) {
  return simt_collective(SIMT_ANY, mask, p != 0, SIMT_WHERE)->mask != 0;
}
static inline int __all_sync(unsigned mask, int p, SIMT_FROM) {
  return simt_collective(SIMT_ALL, mask, p == 0, SIMT_WHERE)->mask == 0;
}

/* Shuffles, for types of 4 and 8 bytes. */
template <typename T> static inline uint64_t simt_bits(T x) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 32 or 64 bits");
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof x);
  return bits;
}
template <typename T>
static inline T simt_shuffle(simt_kind kind, unsigned mask, T x, unsigned from, bool inside,
                             const char *file, int line) {
  const simt_exchange *all = simt_collective(kind, mask, simt_bits(x), SIMT_WHERE);
  if (!inside || from >= all->lanes)
    return x;
  T y;
  memcpy(&y, &all->value[from], sizeof y);
  return y;
}
static inline unsigned simt_lane() { return simt_here.thread.x & 31; }
template <typename T>
static inline T __shfl_sync(unsigned mask, T x, int from, int width = 32, SIMT_FROM) {
  unsigned first = simt_lane() & ~((unsigned)width - 1);
  return simt_shuffle(SIMT_SHFL, mask, x, first + ((unsigned)from & ((unsigned)width - 1)), true,
                      SIMT_WHERE);
}
template <typename T>
static inline T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32, SIMT_FROM) {
  unsigned inside = simt_lane() & ((unsigned)width - 1);
  return simt_shuffle(SIMT_SHFL_UP, mask, x, simt_lane() - by, inside >= by, SIMT_WHERE);
}
template <typename T>
static inline T __shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32, SIMT_FROM) {
  unsigned inside = simt_lane() & ((unsigned)width - 1);
  return simt_shuffle(SIMT_SHFL_DOWN, mask, x, simt_lane() + by, inside + by < (unsigned)width,
                      SIMT_WHERE);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T x, int by, int width = 32, SIMT_FROM) {
  unsigned from = simt_lane() ^ (unsigned)by, segment = ~((unsigned)width - 1);
  return simt_shuffle(SIMT_SHFL_XOR, mask, x, from, (from & segment) <= (simt_lane() & segment),
                      SIMT_WHERE);
}

/* Reductions and matches over the warp. */
#define SIMT_REDUCTION(name, type, start, combine)                                                 \
  static inline type name(unsigned mask, type x, SIMT_FROM) {                                      \
    const simt_exchange *all = simt_collective(SIMT_REDUCE, mask, simt_bits(x), SIMT_WHERE);       \
    type a = start;                                                                                \
    for (unsigned i = 0; i < all->lanes; i++) {                                                    \
      type b = (type)all->value[i];                                                                \
      a = combine;                                                                                 \
    }                                                                                              \
    return a;                                                                                      \
  }
SIMT_REDUCTION(__reduce_add_sync, unsigned, 0, a + b)
SIMT_REDUCTION(__reduce_min_sync, unsigned, 0xffffffffu, b < a ? b : a)
SIMT_REDUCTION(__reduce_max_sync, unsigned, 0, b > a ? b : a)
SIMT_REDUCTION(__reduce_or_sync, unsigned, 0, a | b)
SIMT_REDUCTION(__reduce_and_sync, unsigned, 0xffffffffu, a &b)
template <typename T> static inline unsigned __match_any_sync(unsigned mask, T x, SIMT_FROM) {
  const simt_exchange *all = simt_collective(SIMT_MATCH, mask, simt_bits(x), SIMT_WHERE);
  unsigned equal = 0;
  for (unsigned i = 0; i < all->lanes; i++)
    equal |= (unsigned)(all->value[i] == simt_bits(x)) << i;
  return equal;
}

/* Accesses that race by design: relaxed atomics, word by word. */
template <size_t bytes> struct simt_word { typedef uint64_t type; };
template <> struct simt_word<1> { typedef uint8_t type; };
template <> struct simt_word<2> { typedef uint16_t type; };
template <> struct simt_word<4> { typedef uint32_t type; };
template <typename T> static inline T simt_load(const T *p) {
  typedef typename simt_word<sizeof(T)>::type word;
  simt_touch();
  word words[sizeof(T) / sizeof(word)];
  for (size_t i = 0; i < sizeof(T) / sizeof(word); i++)
    words[i] = __atomic_load_n((const word *)(const void *)p + i, __ATOMIC_RELAXED);
  T x;
  memcpy(&x, words, sizeof x);
  return x;
}
template <typename T> static inline void simt_store(T *p, T x) {
  typedef typename simt_word<sizeof(T)>::type word;
  simt_touch();
  word words[sizeof(T) / sizeof(word)];
  memcpy(words, &x, sizeof x);
  for (size_t i = 0; i < sizeof(T) / sizeof(word); i++)
    __atomic_store_n((word *)(void *)p + i, words[i], __ATOMIC_RELAXED);
}
template <typename T> static inline T __ldcg(const T *p) { return simt_load(p); }
template <typename T> static inline T __ldcv(const T *p) { return simt_load(p); }
template <typename T> static inline void __stcg(T *p, T x) { simt_store(p, x); }
template <typename T> static inline void __stwt(T *p, T x) { simt_store(p, x); }
template <typename T> static inline T __ldg(const T *p) { return *p; }
template <typename T> static inline T __ldca(const T *p) { return *p; }
template <typename T> static inline T __ldcs(const T *p) { return *p; }
template <typename T> static inline T __ldlu(const T *p) { return *p; }
template <typename T> static inline void __stcs(T *p, T x) { *p = x; }
template <typename T> static inline void __stwb(T *p, T x) { *p = x; }

/* Atomics, relaxed, of the types that CUDA has. */
template <typename T, typename F> static inline T simt_change(T *p, F next) {
  simt_touch();
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  for (;;) {
    T now = next(old);
    if (now == old ||
        __atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}
#define SIMT_ATOMICS(type)                                                                         \
  static inline type atomicAdd(type *p, type x) {                                                  \
    simt_touch();                                                                                  \
    return __atomic_fetch_add(p, x, __ATOMIC_RELAXED);                                             \
  }                                                                                                \
  static inline type atomicExch(type *p, type x) {                                                 \
    simt_touch();                                                                                  \
    return __atomic_exchange_n(p, x, __ATOMIC_RELAXED);                                            \
  }                                                                                                \
  static inline type atomicOr(type *p, type x) {                                                   \
    simt_touch();                                                                                  \
    return __atomic_fetch_or(p, x, __ATOMIC_RELAXED);                                              \
  }                                                                                                \
  static inline type atomicAnd(type *p, type x) {                                                  \
    simt_touch();                                                                                  \
    return __atomic_fetch_and(p, x, __ATOMIC_RELAXED);                                             \
  }                                                                                                \
  static inline type atomicXor(type *p, type x) {                                                  \
    simt_touch();                                                                                  \
    return __atomic_fetch_xor(p, x, __ATOMIC_RELAXED);                                             \
  }                                                                                                \
  static inline type atomicCAS(type *p, type expected, type x) {                                   \
    simt_touch();                                                                                  \
    __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);       \
    return expected;                                                                               \
  }                                                                                                \
  static inline type atomicMin(type *p, type x) {                                                  \
    return simt_change(p, [x](type old) { return x < old ? x : old; });                            \
  }                                                                                                \
  static inline type atomicMax(type *p, type x) {                                                  \
    return simt_change(p, [x](type old) { return x > old ? x : old; });                            \
  }
SIMT_ATOMICS(int)
SIMT_ATOMICS(unsigned)
SIMT_ATOMICS(unsigned long long)
static inline unsigned atomicSub(unsigned *p, unsigned x) { return atomicAdd(p, 0u - x); }
static inline int atomicSub(int *p, int x) { return atomicAdd(p, -x); }
static inline unsigned atomicInc(unsigned *p, unsigned most) {
  return simt_change(p, [most](unsigned old) { return old >= most ? 0 : old + 1; });
}
static inline long long atomicMin(long long *p, long long x) {
  return simt_change(p, [x](long long old) { return x < old ? x : old; });
}
static inline long long atomicMax(long long *p, long long x) {
  return simt_change(p, [x](long long old) { return x > old ? x : old; });
}

/* Fences; ThreadSanitizer knows none, so what it sees is an access to one common word. */
void simt_fence();
static inline void __threadfence() { simt_fence(); }
static inline void __threadfence_block() { simt_fence(); }
static inline void __threadfence_system() { simt_fence(); }
static inline void __nanosleep(unsigned) { simt_interrupt(); }

/* Bits and numbers. */
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; i++)
    y |= (x >> i & 1) << (31 - i);
  return y;
}
static inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned select) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned y = 0;
  for (int i = 0; i < 4; i++)
    y |= (unsigned)(both >> 8 * (select >> 4 * i & 7) & 0xff) << 8 * i;
  return y;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
template <typename To, typename From> static inline To simt_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "the bits of one type as another");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
static inline unsigned __float_as_uint(float x) { return simt_as<unsigned>(x); }
static inline int __float_as_int(float x) { return simt_as<int>(x); }
static inline float __uint_as_float(unsigned x) { return simt_as<float>(x); }
static inline float __int_as_float(int x) { return simt_as<float>(x); }
static inline long long __double_as_longlong(double x) { return simt_as<long long>(x); }
static inline double __longlong_as_double(long long x) { return simt_as<double>(x); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __double2float_rn(double a) { return (float)a; }
static inline double __ull2double_rn(unsigned long long a) { return (double)a; }
static inline double __uint2double_rn(unsigned a) { return (double)a; }
static inline float __uint2float_rn(unsigned a) { return (float)a; }

template <typename A, typename B>
static inline constexpr typename std::common_type<A, B>::type min(A a, B b) {
  typedef typename std::common_type<A, B>::type type;
  return (type)b < (type)a ? (type)b : (type)a;
}
template <typename A, typename B>
static inline constexpr typename std::common_type<A, B>::type max(A a, B b) {
  typedef typename std::common_type<A, B>::type type;
  return (type)b > (type)a ? (type)b : (type)a;
}

static inline int __vimax3_s32(int a, int b, int c) { return max(max(a, b), c); }

#endif
