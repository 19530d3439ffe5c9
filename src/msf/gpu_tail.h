/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The last rows of a graph in pinned memory, which threads pack while the bus fetches those before.
 * The later a row, the fewer of its arcs lead upwards (in a graph whose vertices have no order, the
 * last part t of all arcs holds t^2 of the edges), so that packing these saves the bus the most.
 * All of them fit into an arena of pinned memory: nobody waits for anybody. */
#ifndef DZO_MSF_GPU_TAIL_H
#define DZO_MSF_GPU_TAIL_H

#include "msf/gpu_pack.h"

typedef struct msf_tail {
  uint64_t first; /* unit of the graph with which it begins; UINT64_MAX: there is none */
  uint64_t arena_bytes;
  char *arena;   /* pinned */
  uint64_t used; /* of it, accessed atomically */
  char *scratch; /* [threads][scratch_bytes] where a chunk is packed, before its size is known */
  uint64_t scratch_bytes;
  uint64_t begin, end; /* chunks of the packer */
  msf_packed *packed;  /* [end - begin] */
} msf_tail;

/* Seconds that the bus takes for all rows of a graph whose vertices have no order, if the threads,
 * which pack all in `packing`, pack the last of them; it takes `whole` if they do not. */
double msf_tail_time(double packing, double whole);

/* What the threads and the bus can do, and how much is wanted. */
typedef struct msf_tail_limits {
  double arc, row; /* seconds that the threads together take to pack one */
  double whole;    /* that the bus takes for all rows */
  double part;     /* of all arcs, at most */
  uint64_t bytes;  /* packed, at most */
} msf_tail_limits;

/* Where to begin: as early as the threads are done well before the bus comes to the tail. None
 * where the bus is soon done anyway. */
void msf_tail_plan(msf_tail *tail, const dzo_graph *graph, unsigned key_bytes,
                   const msf_tail_limits *limits);
/* With the memory there, and chunks of packer->units, of which `front_units` are a multiple. */
dzo_status msf_tail_open(msf_tail *tail, dzo_context *context, const msf_packer *packer,
                         uint64_t front_units, void *arena);
void msf_tail_close(msf_tail *tail);

/* Pack a chunk; if the arena is full, let the bus fetch it as it is. Any thread. */
void msf_tail_pack(msf_tail *tail, const msf_packer *packer, uint64_t chunk, int thread);

#endif
