/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Forests by the GPU of what does not lie in its memory. Each edge crosses to the GPU once, is
 * filtered there against the running forest, and forgotten. docs/spanning-forest.md. */
#ifndef DZO_MSF_GPU_STREAM_H
#define DZO_MSF_GPU_STREAM_H

#include "device/device.h"
#include "msf/gpu_ends.h"
#include "msf/result.h"

/* What may be done in two ways. */
typedef enum msf_choice { MSF_NEVER, MSF_ALWAYS, MSF_BY_RATES } msf_choice;

typedef struct msf_stream_ways {
  msf_choice two_passes; /* the CPU drops edges that the GPU need not see, in graphs for that */
  msf_choice whole_rows; /* the bus fetches rows as they are, from graphs in pinned memory */
  msf_choice both_ends;  /* whole rows come from the back, too, where threads may pack some: */
  double part;           /* if always: so large a part of all rows and arcs */
} msf_stream_ways;

/* A graph in host memory: fill edges, components, weight, plan and device of `out`, which is
 * otherwise zero. DZO_E_DEVICE, DZO_E_MEMORY, DZO_E_UNSUPPORTED: let the CPU do it. */
dzo_status msf_solve_in_ways(dzo_unit *unit, const dzo_graph *graph, bool maximum,
                             msf_stream_ways ways, dzo_msf *out);
/* The CPU's threads only move data. */
dzo_status msf_solve_streamed(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out);
/* By both processors, or by the one that is faster alone: out->device tells. */
dzo_status msf_solve_hybrid(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out);

/* Edges that are seen once. Once it has taken any from the source it finishes, on the CPU if it
 * must, and leaves a notice. */
dzo_status msf_stream_gpu(dzo_unit *unit, const dzo_edge_source *source, bool maximum, bool hybrid,
                          dzo_msf *out);

#endif
