/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a few thousand random arcs say about a graph: which prefix of the order holds a wanted
 * number of edges, and how many edges still join two components. */
#ifndef DZO_MSF_SAMPLE_H
#define DZO_MSF_SAMPLE_H

#include "msf/solver.h"

enum { DZO_MSF_SAMPLES = 4096 };

/* The prefix to begin with, which holds the lightest edges, a few for each vertex, and room for
 * them; or all edges where these would be most. */
dzo_status msf_choose_prefix(msf_solver *s, msf_prefix *out, uint64_t *capacity);

/* A prefix whose edges that join two components number at most about `target`, and room for them
 * (times `slack`, but never more than a list can have). */
dzo_status msf_choose_crossing(msf_solver *s, uint64_t target, double slack, msf_prefix *out,
                               uint64_t *capacity);

#endif
