/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the GPU keeps of a stream, kept on the host, too, so that a GPU that fails loses nothing:
 * the same edges in the same order. For each chunk it is told which edges were kept, for each merge
 * which are in the forest: a bit an edge comes back. */
#ifndef DZO_MSF_GPU_MIRROR_H
#define DZO_MSF_GPU_MIRROR_H

#include "dzo/graph.h"
#include "msf/gpu_pack.h"
#include "msf/stream_edge.h"

typedef struct msf_mirror {
  dzo_context *context;
  uint64_t flip; /* of a key, for a maximum */
  unsigned key_bytes;
  stream_edge *edges; /* [count] with room for `room` */
  uint64_t count, room;
} msf_mirror;

/* Add the edges of a packed list whose bits are set; all of them if `masks` is NULL. */
dzo_status msf_mirror_add(msf_mirror *mirror, const msf_packed *packed, const char *slot,
                          const uint32_t *masks);
/* Keep those whose bits are set. */
dzo_status msf_mirror_keep(msf_mirror *mirror, const uint32_t *bits);

/* A source that yields a mirror's edges, then the rest of another source. */
typedef struct msf_rest {
  const msf_mirror *mirror;
  dzo_edges frame; /* vertices, weight type and labels of what the mirror holds */
  uint64_t at;     /* edges yielded of the mirror */
  dzo_edges chunk; /* what comes then, if count > 0 or `ended` */
  bool ended;      /* the chunk was the source's last */
  bool chunk_given;
  const dzo_edge_source *source;
  uint64_t later; /* edges yielded that are not the mirror's */
  uint32_t *u, *v;
  uint64_t *numbers, *weights;
} msf_rest;

dzo_status msf_rest_open(msf_rest *rest, dzo_context *context);
void msf_rest_close(msf_rest *rest);
/* A dzo_edge_source's next(); the user is an msf_rest. */
dzo_status msf_rest_next(void *user, dzo_context *context, dzo_edges *chunk);

#endif
