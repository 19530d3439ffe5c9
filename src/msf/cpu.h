/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_MSF_CPU_H
#define DZO_MSF_CPU_H

#include "msf/result.h"

/* Fill edges, components, sums and plan of `out`, which is otherwise zero. */
dzo_status msf_solve_cpu(dzo_context *context, const dzo_graph *graph, bool maximum, dzo_msf *out);

/* The same of edges that are seen once. */
dzo_status msf_stream_cpu(dzo_context *context, const dzo_edge_source *source, bool maximum,
                          dzo_msf *out);

#endif
