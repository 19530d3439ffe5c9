/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GPU solver with its choices made by hand, for tests and tuning. */
#ifndef DZO_MSF_GPU_SOLVE_H
#define DZO_MSF_GPU_SOLVE_H

#include "msf/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros: as msf_gpu_solve() chooses. */
typedef struct msf_gpu_tuning {
  double light;      /* light edges a vertex; negative: all edges */
  double first;      /* of these, those in the first part; negative: all */
  double second;     /* those in the first two */
  uint64_t capacity; /* entries that the list of edges has room for */
  int super_log;     /* arcs of a supertile, 9 or more */
  int scan;          /* how the rest is looked at: 1 giant, 2 in order, 3 grouped */
  bool roomy;        /* a list that has room for more than is to be expected */
} msf_gpu_tuning;

dzo_status msf_gpu_solve_tuned(dzo_unit *unit, const msf_gpu_graph *graph,
                               const msf_gpu_tuning *tuning, msf_gpu_forest *forest);

#ifdef __cplusplus
}
#endif
#endif
