/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Weights as order-preserving unsigned keys. The solvers compare keys only; values come back
 * through the map. */
#ifndef DZO_GRAPH_WEIGHT_MAP_H
#define DZO_GRAPH_WEIGHT_MAP_H

#include <string.h>

#include "base/item.h"
#include "dzo/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a key becomes a 64-bit pattern (the value's order-preserving pattern, see below). */
typedef enum dzo_key_kind {
  DZO_KEY_OFFSET,    /* pattern = base + key */
  DZO_KEY_F32,       /* key is the pattern of an f32; the values are f64 that f32 holds exactly */
  DZO_KEY_DICTIONARY /* pattern = dictionary[key] */
} dzo_key_kind;

typedef struct dzo_weight_map {
  dzo_weight_type type;
  dzo_key_kind kind;
  bool wide;            /* keys are 64 bits, otherwise 32 */
  uint64_t base;        /* OFFSET */
  uint64_t *dictionary; /* DICTIONARY: [dictionary_size] ascending patterns; owned by the graph */
  uint64_t dictionary_size;
} dzo_weight_map;

/* Order-preserving patterns. u32 and u64 stand for themselves; signed integers have the sign bit
 * flipped; floats have all bits flipped when negative and the sign bit otherwise. -0 becomes +0, so
 * that equal weights have equal keys. */
DZO_ITEM uint64_t dzo_pattern_of_i64(int64_t x) { return (uint64_t)x ^ (UINT64_C(1) << 63); }
DZO_ITEM int64_t dzo_i64_of_pattern(uint64_t p) { return (int64_t)(p ^ (UINT64_C(1) << 63)); }

DZO_ITEM uint64_t dzo_pattern_of_f64(double x) {
  uint64_t bits;
  x += 0.0;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
DZO_ITEM double dzo_f64_of_pattern(uint64_t p) {
  uint64_t bits = p >> 63 ? p ^ UINT64_C(1) << 63 : ~p;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
DZO_ITEM uint32_t dzo_pattern_of_f32(float x) {
  uint32_t bits;
  x += 0.0f;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}
DZO_ITEM float dzo_f32_of_pattern(uint32_t p) {
  uint32_t bits = p >> 31 ? p ^ UINT32_C(1) << 31 : ~p;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The pattern of weights[i]. NONE gives 1. f32 weights give an f32 pattern. */
DZO_ITEM uint64_t dzo_weight_pattern(dzo_weight_type type, const void *weights, uint64_t i) {
  switch (type) {
  case DZO_WEIGHT_NONE:
    return 1;
  case DZO_WEIGHT_U32:
    return ((const uint32_t *)weights)[i];
  case DZO_WEIGHT_I64:
    return dzo_pattern_of_i64(((const int64_t *)weights)[i]);
  case DZO_WEIGHT_U64:
    return ((const uint64_t *)weights)[i];
  case DZO_WEIGHT_F32:
    return dzo_pattern_of_f32(((const float *)weights)[i]);
  case DZO_WEIGHT_F64:
    return dzo_pattern_of_f64(((const double *)weights)[i]);
  }
  return 0;
}

/* The weight that has this pattern. */
DZO_ITEM dzo_weight dzo_weight_of_pattern(dzo_weight_type type, uint64_t pattern) {
  dzo_weight w = {.u64 = pattern};
  if (type == DZO_WEIGHT_I64)
    w.i64 = dzo_i64_of_pattern(pattern);
  else if (type == DZO_WEIGHT_F32)
    w.f64 = (double)dzo_f32_of_pattern((uint32_t)pattern);
  else if (type == DZO_WEIGHT_F64)
    w.f64 = dzo_f64_of_pattern(pattern);
  return w;
}

DZO_ITEM uint64_t dzo_key_pattern(const dzo_weight_map *map, uint64_t key) {
  switch (map->kind) {
  case DZO_KEY_OFFSET:
    return map->base + key;
  case DZO_KEY_F32:
    return dzo_pattern_of_f64((double)dzo_f32_of_pattern((uint32_t)key));
  case DZO_KEY_DICTIONARY:
    return map->dictionary[key];
  }
  return 0;
}

/* The weight that has this key. */
DZO_ITEM dzo_weight dzo_key_weight(const dzo_weight_map *map, uint64_t key) {
  return dzo_weight_of_pattern(map->type, dzo_key_pattern(map, key));
}

DZO_ITEM size_t dzo_weight_bytes(dzo_weight_type type) {
  return type == DZO_WEIGHT_NONE ? 0 : type == DZO_WEIGHT_U32 || type == DZO_WEIGHT_F32 ? 4 : 8;
}

/* Choose a map for these edges: 32-bit keys where the type is 32 bits wide, where the patterns'
 * range fits, where every f64 is an f32, or where there are few distinct values; else 64. A NaN is
 * DZO_E_ARGUMENT naming its edge. The dictionary, if any, is dzo_free'd by the caller. */
dzo_status dzo_weight_map_choose(dzo_context *context, const dzo_edges *edges, dzo_weight_map *out);

/* The place of a pattern in a dictionary that holds it. */
uint64_t dzo_dictionary_find(const dzo_weight_map *map, uint64_t pattern);

/* The key of a pattern under a map that holds it. */
DZO_ITEM uint64_t dzo_pattern_key(const dzo_weight_map *map, uint64_t pattern) {
  switch (map->kind) {
  case DZO_KEY_OFFSET:
    return pattern - map->base;
  case DZO_KEY_F32:
    return dzo_pattern_of_f32((float)dzo_f64_of_pattern(pattern));
  case DZO_KEY_DICTIONARY:
    return dzo_dictionary_find(map, pattern);
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif
