/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the GPU's kernels offer to the rest of the engine. Plain C: the callers are .c files, the
 * definitions are in .cu files (and in no_cuda.c where the library is built without CUDA). */
#ifndef DZO_MSF_GPU_H
#define DZO_MSF_GPU_H

#include "device/device.h"
#include "graph/compress.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a weight becomes an order-preserving key when it is read. */
typedef enum msf_key_type {
  MSF_KEY_NONE, /* all weights are equal; no array */
  MSF_KEY_U32,  /* 32-bit keys, or u32 weights */
  MSF_KEY_U64,  /* 64-bit keys, or u64 weights */
  MSF_KEY_F32,  /* raw f32 */
  MSF_KEY_I64,  /* raw i64 */
  MSF_KEY_F64   /* raw f64 */
} msf_key_type;

/* Symmetric CSR in device memory: every edge u - v, u != v, is an arc in both rows. Loops may be
 * there and are skipped. Rows ascend by neighbour, parallel arcs in one order in both rows; or,
 * presorted, by (weight, neighbour). */
typedef struct msf_gpu_graph {
  uint32_t vertices; /* below 2^30 */
  uint64_t arcs;     /* below 2^36 */
  const uint64_t *offsets;
  const uint32_t *neighbours;       /* NULL: compressed */
  const dzo_compressed *compressed; /* host struct whose arrays are device memory */
  const void *keys;
  msf_key_type key_type;
  bool presorted; /* rows ascend in the weight */
  bool maximum;   /* flip the keys */
} msf_gpu_graph;

/* What a solve gives, in device memory of the caller. Arcs u -> v, u < v or u > v, each edge once,
 * in no particular order. */
typedef struct msf_gpu_forest {
  uint64_t *arcs;   /* [vertices] */
  uint64_t count;   /* on return */
  uint32_t *labels; /* [vertices] or NULL: the component of each vertex, 0 .. components - 1 */
  uint32_t components;
  char plan[256]; /* steps and their milliseconds where `timed`, else the choices made */
  bool timed;     /* measure each step, which costs time */
} msf_gpu_forest;

/* Bytes of workspace msf_gpu_solve() takes from the unit. */
uint64_t msf_gpu_workspace_bytes(const msf_gpu_graph *graph);

/* The forest of a graph in device memory, by queue 0. DZO_E_UNSUPPORTED for more vertices or arcs
 * than above; DZO_E_MEMORY; DZO_E_DEVICE. */
dzo_status msf_gpu_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest);

#ifdef __cplusplus
}
#endif
#endif
