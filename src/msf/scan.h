/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The inner loops of the sequential passes over keys and neighbours, in the widest instructions the
 * machine has. A key counts as key ^ flip. */
#ifndef DZO_MSF_SCAN_H
#define DZO_MSF_SCAN_H

#include <stdint.h>

/* The first smallest of a row's keys: where it stands, and its flipped key. */
typedef struct msf_first32 {
  uint64_t first;
  uint32_t min;
} msf_first32;

typedef struct msf_first64 {
  uint64_t first;
  uint64_t min;
} msf_first64;

/* An edge with a 32-bit key. */
typedef struct msf_entry32 {
  uint32_t u, v, key, ref;
} msf_entry32;

/* Up to 64 arcs of row u, the first of which is numbered `arc`. */
typedef struct msf_row_part {
  const uint32_t *keys, *neighbours;
  unsigned count;
  uint32_t u;
  uint32_t arc;
} msf_row_part;

/* Entries that light32() may overwrite after those it counts. */
enum { DZO_MSF_LIGHT_SPARE = 16 };

typedef struct msf_scan {
  /* A row of count >= 1 keys. */
  msf_first32 (*row32)(const uint32_t *keys, uint64_t count, uint32_t flip);
  msf_first64 (*row64)(const uint64_t *keys, uint64_t count, uint64_t flip);
  /* The same of part of a row, 1 to 64 arcs; those with keys of at most `last` to neighbours larger
   * than u are written to `out`, and *count grows by their number. */
  msf_first32 (*light32)(const msf_row_part *part, uint32_t flip, uint32_t last, msf_entry32 *out,
                         unsigned *count);
  /* Bit i is set where key i is at most `last`; count <= 64. */
  uint64_t (*at_most32)(const uint32_t *keys, unsigned count, uint32_t flip, uint32_t last);
  uint64_t (*at_most64)(const uint64_t *keys, unsigned count, uint64_t flip, uint64_t last);
  /* Bit i is set where neighbour i is larger than u and has another label than u; count <= 64. */
  uint64_t (*crossing)(const uint32_t *neighbours, unsigned count, const uint32_t *label,
                       uint32_t u);
} msf_scan;

/* The fastest that this machine runs. */
msf_scan msf_scan_best(void);
/* The plain C twins, for machines without vectors and for the tests. */
msf_scan msf_scan_plain(void);

#endif
