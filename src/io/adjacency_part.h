/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Parts of adjacency files in memory: between adjacency.c, which reads files whole, and
 * adjacency_stream.c. */
#ifndef DZO_IO_ADJACENCY_PART_H
#define DZO_IO_ADJACENCY_PART_H

#include "io/adjacency.h"

enum { DZO_ADJACENCY_CHUNK = 1 << 14 }; /* entries handled at a time */

/* Decoded entries. */
typedef struct dzo_adjacency_part {
  uint64_t begin, end;  /* entries */
  uint32_t *neighbours; /* [DZO_ADJACENCY_CHUNK] */
  uint64_t *weights;    /* [DZO_ADJACENCY_CHUNK] integers or doubles as 64 bits; 0 if none */
  unsigned char *raw;   /* bytes of the file, where it is not in memory */
  uint64_t bad;         /* first entry with a neighbour out of range or weight NaN, or UINT64_MAX */
} dzo_adjacency_part;

typedef struct dzo_adjacency_file {
  dzo_context *context;
  dzo_input *input;
  dzo_adjacency layout;
  uint64_t *offsets; /* [vertices + 1] */
  dzo_adjacency_part *parts;
  int part_count;
  void *chunks;         /* what a scan found, for adjacency.c */
  dzo_weight_type type; /* of the edges; known after a scan, or from the layout */
} dzo_adjacency_file;

/* Load and check the offsets and make room for `parts` parts. To be closed even on failure; the
 * input stays open. */
dzo_status dzo_adjacency_open(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                              int parts, dzo_adjacency_file *out);
void dzo_adjacency_close(dzo_adjacency_file *file);
/* The row of an entry. */
uint64_t dzo_adjacency_row(const dzo_adjacency_file *file, uint64_t entry);
/* Decode at most DZO_ADJACENCY_CHUNK entries. Any thread, each with its own part. */
dzo_status dzo_adjacency_load(dzo_adjacency_file *file, uint64_t begin, uint64_t end,
                              dzo_adjacency_part *part);
/* Say what is wrong with an entry: DZO_E_FORMAT. */
dzo_status dzo_adjacency_fail_entry(dzo_adjacency_file *file, uint64_t entry);

/* Pass over all entries: settles symmetry and weight type. `passes`: of how many passes over the
 * file this is the first, for progress reports. */
dzo_status dzo_adjacency_scan(dzo_adjacency_file *file, uint64_t passes);

/* Where edges go: the next to place `at`, which moves, never beyond `end`. */
typedef struct dzo_adjacency_target {
  uint32_t *u, *v;
  void *weights;
  uint64_t *numbers; /* NULL: not wanted */
  uint64_t at, end;
} dzo_adjacency_target;

/* Of the row that a part begins in: loop entries before the part, modulo 2. */
typedef struct dzo_adjacency_walk {
  unsigned parity;
} dzo_adjacency_walk;

/* Put the edges of a part, by the file's symmetry; `walk` goes on to the next part. */
void dzo_adjacency_emit(const dzo_adjacency_file *file, const dzo_adjacency_part *part,
                        dzo_adjacency_walk *walk, dzo_adjacency_target *to);

/* Sums that are 0 over a whole symmetric file, for reading in one pass. `loops` leaves out the
 * loops of the row in which the part begins, unless it begins with it; they are in `head`. */
typedef struct dzo_adjacency_sums {
  uint64_t pairs[2], loops[2], head[2];
} dzo_adjacency_sums;
void dzo_adjacency_sum(const dzo_adjacency_file *file, const dzo_adjacency_part *part,
                       dzo_adjacency_sums *out);
/* Add those of the next part; `parity` is that of the walk before the part. */
void dzo_adjacency_add_sum(dzo_adjacency_sums *total, const dzo_adjacency_sums *part,
                           unsigned parity);
/* DZO_E_FORMAT unless both hold: sums of pairs and of loops are 0. */
dzo_status dzo_adjacency_check_symmetric(dzo_adjacency_file *file, bool pairs, bool loops);
/* Find an edge whose two entries do not agree, or a vertex whose loop entries are not in pairs, by
 * further passes, and say so: DZO_E_FORMAT. */
dzo_status dzo_adjacency_fail_pair(dzo_adjacency_file *file);
dzo_status dzo_adjacency_fail_loop(dzo_adjacency_file *file);

#endif
