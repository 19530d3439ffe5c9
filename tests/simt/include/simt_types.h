/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* CUDA's vector types. */
#ifndef SIMT_TYPES_H
#define SIMT_TYPES_H

#define SIMT_VECTOR2(name, type, bytes)                                                            \
  struct __attribute__((aligned(bytes))) name {                                                    \
    type x, y;                                                                                     \
  };                                                                                               \
  static inline name make_##name(type x, type y) { return name{x, y}; }
#define SIMT_VECTOR4(name, type, bytes)                                                            \
  struct __attribute__((aligned(bytes))) name {                                                    \
    type x, y, z, w;                                                                               \
  };                                                                                               \
  static inline name make_##name(type x, type y, type z, type w) { return name{x, y, z, w}; }

SIMT_VECTOR2(uchar2, unsigned char, 2)
SIMT_VECTOR4(uchar4, unsigned char, 4)
SIMT_VECTOR2(ushort2, unsigned short, 4)
SIMT_VECTOR4(ushort4, unsigned short, 8)
SIMT_VECTOR2(int2, int, 8)
SIMT_VECTOR4(int4, int, 16)
SIMT_VECTOR2(uint2, unsigned, 8)
SIMT_VECTOR4(uint4, unsigned, 16)
SIMT_VECTOR2(longlong2, long long, 16)
SIMT_VECTOR2(ulonglong2, unsigned long long, 16)
SIMT_VECTOR4(ulonglong4, unsigned long long, 16)
SIMT_VECTOR2(float2, float, 8)
SIMT_VECTOR4(float4, float, 16)
SIMT_VECTOR2(double2, double, 16)

static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }

#endif
