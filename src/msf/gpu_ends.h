/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A graph in pinned memory, sent from both ends: the bus fetches rows from the first on as they
 * are, lower arcs and all, while threads pack rows from the last one back, until they meet. The
 * later a row, the fewer of its arcs lead upwards, so that packing saves the most there. Nobody
 * has to know beforehand who is how fast, and the GPU gets its edges at an even pace. */
#ifndef DZO_MSF_GPU_ENDS_H
#define DZO_MSF_GPU_ENDS_H

#include "msf/gpu_pack.h"
#include "split/belt.h"

typedef struct msf_ends {
  msf_packer front, back; /* which differ in the units of their chunks */
  uint64_t all;           /* chunks of the back's units in the graph */
  uint64_t next;          /* chunks of the back's units from the front on that were handed out */
  dzo_belt *belt;         /* chunk b is the one before the last b */
  uint32_t slots;
  uint64_t slot_bytes;
  char *memory;        /* pinned: [slots][slot_bytes] */
  msf_packed *packed;  /* [slots] */
  uint64_t *ends;      /* [slots] 1 + the ring's number of the chunk sent from each */
  uint64_t sent, left; /* chunks of the back; of them, those that have left their slots */
} msf_ends;

/* Pinned memory for it, where threads may pack so large a part of all rows and arcs. */
uint64_t msf_ends_bytes(const msf_packer *packer, uint64_t units, double part, int threads);
/* With that memory; chunks that the bus fetches are of packer->units. DZO_E_MEMORY. */
dzo_status msf_ends_open(msf_ends *ends, dzo_context *context, const msf_packer *packer,
                         double part, void *memory);
void msf_ends_close(msf_ends *ends);

/* Pack a chunk; false if there is none. Any thread but the one that sends. */
bool msf_ends_pack(msf_ends *ends, int thread);
/* The next chunk to send, which will be the ring's chunk `number`; false if there is none. */
bool msf_ends_next(msf_ends *ends, uint64_t number, msf_packed *packed);
/* The ring's chunks before this one have left their slots. */
void msf_ends_release(msf_ends *ends, uint64_t number);
/* The part of all edges that was handed out, if vertices have no order. */
double msf_ends_seen(const msf_ends *ends);
/* Seconds for all rows, which take the threads `packing`, the bus `whole`. */
double msf_ends_time(double packing, double whole);

#endif
