/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Edge numbers, each of which is somewhere in the host's memory, are looked up while edges are
 * still on their way: after a merge late in the stream most of its forest will stay, so the ids of
 * its edges come back, threads that have nothing to pack look the numbers up, and these take the
 * place of the ids. The next merge keeps the edges that have numbers before the others. */
#ifndef DZO_MSF_GPU_NUMBERS_H
#define DZO_MSF_GPU_NUMBERS_H

#include "graph/csr.h"
#include "msf/gpu_ring.h"
#include "split/board.h"

/* Pieces that are asked for or being looked up; places for their numbers, which wait for the bus
 * behind chunks; and edges of a piece. */
enum { MSF_LOOKS = 8, MSF_LOOKS_FOUND = 32, MSF_LOOKS_EDGES = 1 << 18 };

/* A piece of the forest on its way here, being looked up, or on its way back. */
typedef struct msf_look {
  uint64_t first, count; /* edges of the forest */
} msf_look;

typedef struct msf_numbers {
  msf_ring *ring;
  const dzo_graph *graph;
  uint64_t piece;     /* edges that are looked up at a time */
  uint32_t *staging;  /* [MSF_LOOKS][2][piece] rows and ids */
  uint32_t *found;    /* staging: [MSF_LOOKS_FOUND][piece] numbers */
  dzo_board *board;   /* of looks */
  uint64_t helpers;   /* threads that look, accessed atomically; without any, none is asked */
  uint64_t merges;    /* of the ring; after the last of them it looks */
  uint64_t next, end; /* edges of the forest not asked for yet */
  uint64_t asked, posted, sent; /* looks; those between are on their way, or being looked up */
  msf_look looks[MSF_LOOKS];
} msf_numbers;

/* Can numbers be looked up before the end? */
bool msf_numbers_are_early(const dzo_graph *graph);
/* Staging memory for it. */
uint64_t msf_numbers_bytes(const dzo_graph *graph);
/* Zero-filled at first; once more for another pass over the graph. */
dzo_status msf_numbers_open(msf_numbers *numbers, msf_ring *ring, const dzo_graph *graph,
                            void *staging);
void msf_numbers_close(msf_numbers *numbers);

/* Do what can be done without waiting; by the thread that uses the ring. `late`: most of the forest
 * after a merge will stay. */
dzo_status msf_numbers_go_on(msf_numbers *numbers, bool late);
/* Look numbers up until msf_numbers_stop(). Any other thread. */
void msf_numbers_work(msf_numbers *numbers);
void msf_numbers_stop(msf_numbers *numbers);

/* Prefetches, then reads: out[i] = number of the arc ids[i] of row u[i]. */
void msf_look_up(const dzo_graph *graph, const uint32_t *u, const uint32_t *ids, uint64_t count,
                 uint64_t *out);

#endif
