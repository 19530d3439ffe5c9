/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* From the forest in a ring's columns to a result on the host. */
#ifndef DZO_MSF_GPU_FOREST_H
#define DZO_MSF_GPU_FOREST_H

#include "msf/gpu_ring.h"
#include "msf/result.h"

/* Memory for the result of so many vertices, unless it is there. */
dzo_status msf_forest_room(dzo_context *context, dzo_msf *out);
/* Touch part `part` of `parts` of it: fresh pages are slow to come. Any thread. */
void msf_forest_touch(const dzo_msf *out, int part, int parts);
/* After the last merge, waiting for it: out->count and components. */
dzo_status msf_forest_count(msf_ring *ring, dzo_msf *out);

/* What is to be fetched; device memory. */
typedef struct msf_found {
  uint64_t count;
  int bits;         /* of a number */
  uint32_t *sorted; /* [count] numbers, of 32 bits if these are enough, else of 64 */
  uint32_t *labels; /* [vertices] */
  bool summed;      /* the GPU adds up the keys */
} msf_found;
/* Then: look up what edge numbers are not known yet, and let the GPU sort them. */
dzo_status msf_forest_find(msf_ring *ring, const dzo_graph *graph, uint64_t count,
                           msf_found *found);
/* Then: edges, weight and trees. */
dzo_status msf_forest_fetch(msf_ring *ring, const dzo_graph *graph, const msf_found *found,
                            dzo_msf *out);

#endif
