/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/scan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PLAIN_MIN(name, type)                                                                      \
  static uint64_t name(const type *keys, uint64_t count, type flip, type *min) {                   \
    type best = keys[0] ^ flip;                                                                    \
    uint64_t position = 0;                                                                         \
    for (uint64_t i = 1; i < count; i++) {                                                         \
      type key = keys[i] ^ flip;                                                                   \
      if (key < best) {                                                                            \
        best = key;                                                                                \
        position = i;                                                                              \
      }                                                                                            \
    }                                                                                              \
    *min = best;                                                                                   \
    return position;                                                                               \
  }

#define PLAIN_AT_MOST(name, type)                                                                  \
  static uint64_t name(const type *keys, unsigned count, type flip, type last) {                   \
    uint64_t mask = 0;                                                                             \
    for (unsigned i = 0; i < count; i++)                                                           \
      mask |= (uint64_t)((keys[i] ^ flip) <= last) << i;                                           \
    return mask;                                                                                   \
  }

PLAIN_MIN(min32_plain, uint32_t)
PLAIN_MIN(min64_plain, uint64_t)
PLAIN_AT_MOST(at_most32_plain, uint32_t)
PLAIN_AT_MOST(at_most64_plain, uint64_t)

msf_scan msf_scan_plain(void) {
  return (msf_scan){min32_plain, min64_plain, at_most32_plain, at_most64_plain, "plain"};
}

#if defined(__x86_64__)

/* ---- AVX2: eight 32-bit keys; 64-bit keys have no unsigned minimum there and stay plain -------- */

__attribute__((target("avx2"))) static uint64_t min32_avx2(const uint32_t *keys, uint64_t count,
                                                           uint32_t flip, uint32_t *min) {
  if (count < 16)
    return min32_plain(keys, count, flip, min);
  const __m256i mask = _mm256_set1_epi32((int)flip);
  __m256i best = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)keys), mask);
  uint64_t i = 8;
  for (; i + 8 <= count; i += 8) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(keys + i));
    best = _mm256_min_epu32(best, _mm256_xor_si256(x, mask));
  }
  /* The last eight overlap what was seen, which a minimum does not mind. */
  __m256i tail = _mm256_loadu_si256((const __m256i *)(const void *)(keys + count - 8));
  best = _mm256_min_epu32(best, _mm256_xor_si256(tail, mask));
  __m128i half = _mm_min_epu32(_mm256_castsi256_si128(best), _mm256_extracti128_si256(best, 1));
  half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0xb1));
  *min = (uint32_t)_mm_cvtsi128_si32(half);
  const __m256i wanted = _mm256_set1_epi32((int)(*min ^ flip));
  for (i = 0; i + 8 <= count; i += 8) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(keys + i));
    int equal = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, wanted)));
    if (equal != 0)
      return i + (uint64_t)__builtin_ctz((unsigned)equal);
  }
  while ((keys[i] ^ flip) != *min)
    i++;
  return i;
}

__attribute__((target("avx2"))) static uint64_t at_most32_avx2(const uint32_t *keys, unsigned count,
                                                               uint32_t flip, uint32_t last) {
  const __m256i mask = _mm256_set1_epi32((int)flip), bound = _mm256_set1_epi32((int)last);
  uint64_t found = 0;
  unsigned i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(keys + i));
    x = _mm256_xor_si256(x, mask);
    __m256i at_most = _mm256_cmpeq_epi32(_mm256_min_epu32(x, bound), x);
    found |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(at_most)) << i;
  }
  for (; i < count; i++)
    found |= (uint64_t)((keys[i] ^ flip) <= last) << i;
  return found;
}

/* ---- AVX-512: sixteen 32-bit or eight 64-bit keys ---------------------------------------------- */

#define AVX512 __attribute__((target("avx512f")))

AVX512 static uint64_t min32_avx512(const uint32_t *keys, uint64_t count, uint32_t flip,
                                    uint32_t *min) {
  if (count < 8)
    return min32_plain(keys, count, flip, min);
  const __m512i mask = _mm512_set1_epi32((int)flip), high = _mm512_set1_epi32(-1);
  __m512i best = high;
  uint64_t i = 0;
  for (; i + 16 <= count; i += 16)
    best = _mm512_min_epu32(best, _mm512_xor_si512(_mm512_loadu_si512(keys + i), mask));
  if (i < count) {
    __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);
    __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(rest, keys + i), mask);
    best = _mm512_mask_min_epu32(best, rest, best, x);
  }
  *min = _mm512_reduce_min_epu32(best);
  const __m512i wanted = _mm512_set1_epi32((int)(*min ^ flip));
  for (i = 0; i + 16 <= count; i += 16) {
    __mmask16 equal = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(keys + i), wanted);
    if (equal != 0)
      return i + (uint64_t)__builtin_ctz(equal);
  }
  __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);
  __m512i x = _mm512_maskz_loadu_epi32(rest, keys + i);
  return i + (uint64_t)__builtin_ctz(_mm512_mask_cmpeq_epi32_mask(rest, x, wanted));
}

AVX512 static uint64_t at_most32_avx512(const uint32_t *keys, unsigned count, uint32_t flip,
                                        uint32_t last) {
  const __m512i mask = _mm512_set1_epi32((int)flip), bound = _mm512_set1_epi32((int)last);
  uint64_t found = 0;
  for (unsigned i = 0; i < count; i += 16) {
    unsigned left = count - i;
    __mmask16 rest = left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
    __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(rest, keys + i), mask);
    found |= (uint64_t)_mm512_mask_cmple_epu32_mask(rest, x, bound) << i;
  }
  return found;
}

AVX512 static uint64_t min64_avx512(const uint64_t *keys, uint64_t count, uint64_t flip,
                                    uint64_t *min) {
  if (count < 8)
    return min64_plain(keys, count, flip, min);
  const __m512i mask = _mm512_set1_epi64((long long)flip);
  __m512i best = _mm512_set1_epi64(-1);
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    best = _mm512_min_epu64(best, _mm512_xor_si512(_mm512_loadu_si512(keys + i), mask));
  __m512i tail = _mm512_loadu_si512(keys + count - 8);
  best = _mm512_min_epu64(best, _mm512_xor_si512(tail, mask));
  *min = _mm512_reduce_min_epu64(best);
  const __m512i wanted = _mm512_set1_epi64((long long)(*min ^ flip));
  for (i = 0; i + 8 <= count; i += 8) {
    __mmask8 equal = _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(keys + i), wanted);
    if (equal != 0)
      return i + (uint64_t)__builtin_ctz(equal);
  }
  while ((keys[i] ^ flip) != *min)
    i++;
  return i;
}

AVX512 static uint64_t at_most64_avx512(const uint64_t *keys, unsigned count, uint64_t flip,
                                        uint64_t last) {
  const __m512i mask = _mm512_set1_epi64((long long)flip);
  const __m512i bound = _mm512_set1_epi64((long long)last);
  uint64_t found = 0;
  for (unsigned i = 0; i < count; i += 8) {
    unsigned left = count - i;
    __mmask8 rest = left >= 8 ? (__mmask8)0xff : (__mmask8)((1u << left) - 1);
    __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(rest, keys + i), mask);
    found |= (uint64_t)_mm512_mask_cmple_epu64_mask(rest, x, bound) << i;
  }
  return found;
}

msf_scan msf_scan_best(void) {
  msf_scan scan = msf_scan_plain();
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) {
    scan.min32 = min32_avx2;
    scan.at_most32 = at_most32_avx2;
    scan.name = "avx2";
  }
  if (__builtin_cpu_supports("avx512f"))
    scan = (msf_scan){min32_avx512, min64_avx512, at_most32_avx512, at_most64_avx512, "avx512"};
  return scan;
}

#else

msf_scan msf_scan_best(void) { return msf_scan_plain(); }

#endif
