/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/scan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- Plain C --------------------------------------------------------------------------------- */

#define PLAIN_ROW(name, type, row)                                                                 \
  static row name(const type *keys, uint64_t count, type flip) {                                   \
    row out = {0, keys[0] ^ flip};                                                                 \
    for (uint64_t i = 1; i < count; i++) {                                                         \
      type key = keys[i] ^ flip;                                                                   \
      if (key < out.min) {                                                                         \
        out.min = key;                                                                             \
        out.first = i;                                                                             \
      }                                                                                            \
    }                                                                                              \
    return out;                                                                                    \
  }

#define PLAIN_AT_MOST(name, type)                                                                  \
  static uint64_t name(const type *keys, unsigned count, type flip, type last) {                   \
    uint64_t mask = 0;                                                                             \
    for (unsigned i = 0; i < count; i++)                                                           \
      mask |= (uint64_t)((keys[i] ^ flip) <= last) << i;                                           \
    return mask;                                                                                   \
  }

PLAIN_AT_MOST(at_most32_plain, uint32_t)
PLAIN_AT_MOST(at_most64_plain, uint64_t)
PLAIN_ROW(row32_plain, uint32_t, msf_first32)
PLAIN_ROW(row64_plain, uint64_t, msf_first64)

static msf_first32 light32_plain(const msf_row_part *part, uint32_t flip, uint32_t last,
                                 msf_entry32 *out, unsigned *count) {
  unsigned found = 0;
  for (unsigned i = 0; i < part->count; i++) {
    uint32_t v = part->neighbours[i], key = part->keys[i] ^ flip;
    out[found] = (msf_entry32){part->u, v, key, part->arc + i};
    found += (unsigned)(v > part->u) & (unsigned)(key <= last);
  }
  *count += found;
  return row32_plain(part->keys, part->count, flip);
}

static uint64_t crossing_plain(const uint32_t *neighbours, unsigned count, const uint32_t *label,
                               uint32_t u) {
  uint64_t mask = 0;
  uint32_t own = label[u];
  for (unsigned i = 0; i < count; i++)
    mask |= (uint64_t)(neighbours[i] > u && label[neighbours[i]] != own) << i;
  return mask;
}

msf_scan msf_scan_plain(void) {
  return (msf_scan){.row32 = row32_plain,
                    .row64 = row64_plain,
                    .light32 = light32_plain,
                    .at_most32 = at_most32_plain,
                    .at_most64 = at_most64_plain,
                    .crossing = crossing_plain};
}

#if defined(__x86_64__)

/* ---- AVX2: eight 32-bit keys; 64-bit keys have no unsigned minimum there and stay plain --------
 */

#define AVX2 __attribute__((target("avx2")))

AVX2 static __m256i load8(const uint32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2 static uint64_t at_most32_avx2(const uint32_t *keys, unsigned count, uint32_t flip,
                                    uint32_t last) {
  const __m256i mask = _mm256_set1_epi32((int)flip), bound = _mm256_set1_epi32((int)last);
  uint64_t found = 0;
  unsigned i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i x = _mm256_xor_si256(load8(keys + i), mask);
    __m256i at_most = _mm256_cmpeq_epi32(_mm256_min_epu32(x, bound), x);
    found |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(at_most)) << i;
  }
  for (; i < count; i++)
    found |= (uint64_t)((keys[i] ^ flip) <= last) << i;
  return found;
}

AVX2 static uint64_t first_equal_avx2(const uint32_t *keys, uint64_t count, uint32_t wanted) {
  const __m256i all = _mm256_set1_epi32((int)wanted);
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i equal = _mm256_cmpeq_epi32(load8(keys + i), all);
    int mask = _mm256_movemask_ps(_mm256_castsi256_ps(equal));
    if (mask != 0)
      return i + (uint64_t)__builtin_ctz((unsigned)mask);
  }
  while (keys[i] != wanted)
    i++;
  return i;
}

AVX2 static msf_first32 row32_avx2(const uint32_t *keys, uint64_t count, uint32_t flip) {
  if (count < 16)
    return row32_plain(keys, count, flip);
  const __m256i mask = _mm256_set1_epi32((int)flip);
  /* The last eight overlap what the loop sees, which a minimum does not mind. */
  __m256i best = _mm256_xor_si256(load8(keys + count - 8), mask);
  for (uint64_t i = 0; i + 8 <= count; i += 8)
    best = _mm256_min_epu32(best, _mm256_xor_si256(load8(keys + i), mask));
  __m128i half = _mm_min_epu32(_mm256_castsi256_si128(best), _mm256_extracti128_si256(best, 1));
  half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0xb1));
  msf_first32 out = {.min = (uint32_t)_mm_cvtsi128_si32(half)};
  out.first = first_equal_avx2(keys, count, out.min ^ flip);
  return out;
}

/* ---- AVX-512: sixteen 32-bit or eight 64-bit keys ----------------------------------------------
 */

enum { FAR_AHEAD = 1024 }; /* bytes */

#if defined(__GNUC__) && !defined(__clang__)
/* Without optimization these intrinsics are macros, whose conversions would be taken for ours. */
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#define AVX512 __attribute__((target("avx512f")))

AVX512 static __mmask16 lanes16(uint64_t count) {
  return (__mmask16)(count >= 16 ? 0xffffu : (1u << count) - 1);
}

AVX512 static uint64_t at_most32_avx512(const uint32_t *keys, unsigned count, uint32_t flip,
                                        uint32_t last) {
  const __m512i mask = _mm512_set1_epi32((int)flip), bound = _mm512_set1_epi32((int)last);
  uint64_t found = 0;
  for (unsigned i = 0; i < count; i += 16) {
    __mmask16 lanes = lanes16(count - i);
    __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, keys + i), mask);
    found |= (uint64_t)_mm512_mask_cmple_epu32_mask(lanes, x, bound) << i;
  }
  return found;
}

AVX512 static uint64_t first_equal_avx512(const uint32_t *keys, uint64_t count, uint32_t wanted) {
  const __m512i all = _mm512_set1_epi32((int)wanted);
  for (uint64_t i = 0;; i += 16) {
    __mmask16 lanes = lanes16(count - i);
    __m512i x = _mm512_maskz_loadu_epi32(lanes, keys + i);
    __mmask16 equal = _mm512_mask_cmpeq_epi32_mask(lanes, x, all);
    if (equal != 0)
      return i + (uint64_t)__builtin_ctz(equal);
  }
}

AVX512 static msf_first32 row32_avx512(const uint32_t *keys, uint64_t count, uint32_t flip) {
  const __m512i mask = _mm512_set1_epi32((int)flip);
  __m512i best = _mm512_set1_epi32(-1);
  uint64_t i = 0;
  for (; i + 16 <= count; i += 16)
    best = _mm512_min_epu32(best, _mm512_xor_si512(_mm512_loadu_si512(keys + i), mask));
  __mmask16 lanes = lanes16(count - i);
  __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, keys + i), mask);
  best = _mm512_mask_min_epu32(best, lanes, best, x);
  msf_first32 out = {.min = _mm512_reduce_min_epu32(best)};
  out.first = first_equal_avx512(keys, count, out.min ^ flip);
  return out;
}

AVX512 static uint64_t at_most64_avx512(const uint64_t *keys, unsigned count, uint64_t flip,
                                        uint64_t last) {
  const __m512i mask = _mm512_set1_epi64((long long)flip);
  const __m512i bound = _mm512_set1_epi64((long long)last);
  uint64_t found = 0;
  for (unsigned i = 0; i < count; i += 8) {
    __mmask8 lanes = (__mmask8)lanes16(count - i);
    __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(lanes, keys + i), mask);
    found |= (uint64_t)_mm512_mask_cmple_epu64_mask(lanes, x, bound) << i;
  }
  return found;
}

AVX512 static msf_first64 row64_avx512(const uint64_t *keys, uint64_t count, uint64_t flip) {
  if (count < 8)
    return row64_plain(keys, count, flip);
  const __m512i mask = _mm512_set1_epi64((long long)flip);
  __m512i best = _mm512_xor_si512(_mm512_loadu_si512(keys + count - 8), mask);
  for (uint64_t i = 0; i + 8 <= count; i += 8)
    best = _mm512_min_epu64(best, _mm512_xor_si512(_mm512_loadu_si512(keys + i), mask));
  msf_first64 out = {.min = _mm512_reduce_min_epu64(best)};
  while ((keys[out.first] ^ flip) != out.min)
    out.first++;
  return out;
}

AVX512 static uint64_t crossing_avx512(const uint32_t *neighbours, unsigned count,
                                       const uint32_t *label, uint32_t u) {
  const __m512i own = _mm512_set1_epi32((int)label[u]), from = _mm512_set1_epi32((int)u);
  /* A gather's indices are signed: look up from the middle of the 32-bit range. */
  const __m512i middle = _mm512_set1_epi32(INT32_MIN);
  const uint32_t *base = label + ((uint64_t)1 << 31);
  uint64_t found = 0;
  for (unsigned i = 0; i < count; i += 16) {
    __mmask16 lanes = lanes16(count - i);
    __m512i v = _mm512_maskz_loadu_epi32(lanes, neighbours + i);
    lanes = _mm512_mask_cmpgt_epu32_mask(lanes, v, from);
    __m512i other = _mm512_mask_i32gather_epi32(own, lanes, _mm512_xor_si512(v, middle), base, 4);
    found |= (uint64_t)_mm512_mask_cmpneq_epi32_mask(lanes, other, own) << i;
  }
  return found;
}

/* Sixteen entries from four columns; most blocks have no more than four light arcs. */
AVX512 static void store_entries(msf_entry32 *out, unsigned count, __m512i u, __m512i v,
                                 __m512i key, __m512i ref) {
  __m512i low = _mm512_unpacklo_epi32(u, v), high = _mm512_unpackhi_epi32(u, v);
  __m512i low2 = _mm512_unpacklo_epi32(key, ref), high2 = _mm512_unpackhi_epi32(key, ref);
  /* Entries 0, 4, 8, 12; then 1, 5, ...; and so on. */
  __m512i e0 = _mm512_unpacklo_epi64(low, low2), e1 = _mm512_unpackhi_epi64(low, low2);
  __m512i e2 = _mm512_unpacklo_epi64(high, high2), e3 = _mm512_unpackhi_epi64(high, high2);
  __m512i a = _mm512_shuffle_i32x4(e0, e1, 0x44), b = _mm512_shuffle_i32x4(e2, e3, 0x44);
  _mm512_storeu_si512(out, _mm512_shuffle_i32x4(a, b, 0x88));
  if (count <= 4)
    return;
  _mm512_storeu_si512(out + 4, _mm512_shuffle_i32x4(a, b, 0xdd));
  a = _mm512_shuffle_i32x4(e0, e1, 0xee);
  b = _mm512_shuffle_i32x4(e2, e3, 0xee);
  _mm512_storeu_si512(out + 8, _mm512_shuffle_i32x4(a, b, 0x88));
  _mm512_storeu_si512(out + 12, _mm512_shuffle_i32x4(a, b, 0xdd));
}

/* One loop, and no second one to look for the place of the minimum: what a row costs is mostly the
 * branches that its length, which nobody foresees, makes go wrong. */
AVX512 static msf_first32 light32_avx512(const msf_row_part *part, uint32_t flip, uint32_t last,
                                         msf_entry32 *out, unsigned *count) {
  const __m512i mask = _mm512_set1_epi32((int)flip), bound = _mm512_set1_epi32((int)last);
  const __m512i u = _mm512_set1_epi32((int)part->u), sixteen = _mm512_set1_epi32(16);
  const __m512i first_arc = _mm512_set1_epi32((int)part->arc);
  __m512i position = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i best = _mm512_set1_epi32(-1), best_position = position;
  unsigned found = 0;
  for (unsigned i = 0; i < part->count; i += 16) {
    __mmask16 lanes = lanes16(part->count - i);
    /* Rows follow each other in memory, but two streams in fits and starts outrun the hardware. */
    _mm_prefetch((const char *)(part->keys + i) + FAR_AHEAD, _MM_HINT_T0);
    _mm_prefetch((const char *)(part->neighbours + i) + FAR_AHEAD, _MM_HINT_T0);
    __m512i key = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, part->keys + i), mask);
    __m512i v = _mm512_maskz_loadu_epi32(lanes, part->neighbours + i);
    __mmask16 better = _mm512_mask_cmplt_epu32_mask(lanes, key, best);
    best = _mm512_mask_mov_epi32(best, better, key);
    best_position = _mm512_mask_mov_epi32(best_position, better, position);
    __mmask16 light = _mm512_mask_cmple_epu32_mask(lanes, key, bound);
    light = _mm512_mask_cmpgt_epu32_mask(light, v, u);
    __m512i ref = _mm512_add_epi32(position, first_arc);
    position = _mm512_add_epi32(position, sixteen);
    if (light == 0)
      continue;
    unsigned lights = (unsigned)__builtin_popcount(light);
    store_entries(out + found, lights, u, _mm512_maskz_compress_epi32(light, v),
                  _mm512_maskz_compress_epi32(light, key), _mm512_maskz_compress_epi32(light, ref));
    found += lights;
  }
  *count += found;
  msf_first32 row = {.min = _mm512_reduce_min_epu32(best)};
  __mmask16 equal = _mm512_cmpeq_epi32_mask(best, _mm512_set1_epi32((int)row.min));
  row.first = _mm512_mask_reduce_min_epu32(equal, best_position);
  return row;
}

msf_scan msf_scan_best(void) {
  msf_scan scan = msf_scan_plain();
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) {
    scan.row32 = row32_avx2;
    scan.at_most32 = at_most32_avx2;
  }
  if (__builtin_cpu_supports("avx512f"))
    scan = (msf_scan){.row32 = row32_avx512,
                      .row64 = row64_avx512,
                      .light32 = light32_avx512,
                      .at_most32 = at_most32_avx512,
                      .at_most64 = at_most64_avx512,
                      .crossing = crossing_avx512};
  return scan;
}

#else

msf_scan msf_scan_best(void) { return msf_scan_plain(); }

#endif
