/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Chunks of a graph in host memory, packed for their way to the GPU: each edge once, by the arc
 * that leads upwards (u -> v, u < v). Where rows ascend by neighbour these are the end of each row,
 * and only v and key travel, with a row's bounds; from other rows they are picked into a list. */
#ifndef DZO_MSF_GPU_PACK_H
#define DZO_MSF_GPU_PACK_H

#include "graph/csr.h"
#include "msf/gpu_filter.h"
#include "msf/scan.h"

/* Where a packed chunk stands in its slot; or, of whole rows that the bus fetches, where it will.
 */
typedef struct msf_packed {
  const dzo_graph *whole; /* the rows' graph, or NULL */
  const char *memory;     /* where it lies in pinned memory; NULL: in its slot */
  uint64_t first_arc;
  uint64_t units;
  uint32_t edges;
  uint32_t rows; /* 0: a list */
  uint32_t first_row;
  uint64_t first_id;
  bool keyed;
  bool back;      /* of the graph's end, from which chunks come in descending order */
  bool closed_up; /* keys stand where they will on the device */
  bool overflow;  /* the slot was too short, or places in a row */
  double seconds; /* that packing took */
  uint64_t starts, shifts, tile_rows, u, ids, v, keys; /* offsets in the slot */
} msf_packed;

/* The same as the kernels want it, the slot being at `memory`. */
msf_chunk msf_packed_chunk(const msf_packed *packed, const char *memory);

/* Bytes of the slot that hold all but the keys; those, edges * key_bytes, are at `keys`. */
uint64_t msf_packed_head(const msf_packed *packed);

/* Lay out `rows` rows or, if it is 0, a list, of at most `edges` edges. */
void msf_packed_place(msf_packed *packed, unsigned key_bytes, uint32_t edges, uint32_t rows);
/* Bytes of a slot that holds any chunk of `units` rows and arcs, or lists of as many edges. */
uint64_t msf_slot_bytes(uint64_t units, unsigned key_bytes, bool lists);

/* What of the graph is packed. */
typedef enum msf_packing {
  MSF_PACK_ALL,    /* every edge */
  MSF_PACK_LIGHT,  /* those up to the key `last` */
  MSF_PACK_OUTSIDE /* heavier ones with an end outside the giant, from such an end's row */
} msf_packing;

typedef struct msf_packer {
  const dzo_graph *graph;
  msf_packing packing;
  uint64_t units;      /* of a chunk: each row is one, and each arc */
  uint64_t list_edges; /* a slot holds as a list */
  unsigned key_bytes;  /* 0, 4 or 8 */
  uint64_t flip;
  bool lists;            /* rows are not ordered by neighbour */
  uint32_t *decoded;     /* [threads][units] of a compressed graph */
  uint64_t last;         /* of light edges, flipped */
  const uint32_t *giant; /* a bit a vertex */
  msf_scan scan;
} msf_packer;

/* Edges that a slot holds as a list. */
uint64_t msf_slot_list_edges(uint64_t slot_bytes, unsigned key_bytes);
uint64_t msf_packer_chunks(const msf_packer *packer);
/* Describe a chunk of whole rows, of a graph in pinned memory, instead of packing it. */
void msf_pack_whole(const msf_packer *packer, uint64_t chunk, msf_packed *out);
/* Pack one chunk into its slot. Any thread. */
void msf_pack(const msf_packer *packer, uint64_t chunk, int thread, char *slot, msf_packed *out);

#endif
