/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The inner loops of the sequential passes over keys and neighbours, in the widest instructions the
 * machine has. A key counts as key ^ flip. */
#ifndef DZO_MSF_SCAN_H
#define DZO_MSF_SCAN_H

#include <stdint.h>

/* What a row says at a glance. */
typedef struct msf_row32 {
  uint64_t light; /* bit i is set where key i is at most `last`, of the first 64 */
  uint64_t first; /* position of the first smallest key */
  uint32_t min;   /* that key, flipped */
} msf_row32;

typedef struct msf_row64 {
  uint64_t light;
  uint64_t first;
  uint64_t min;
} msf_row64;

typedef struct msf_scan {
  /* A row of count >= 1 keys. */
  msf_row32 (*row32)(const uint32_t *keys, uint64_t count, uint32_t flip, uint32_t last);
  msf_row64 (*row64)(const uint64_t *keys, uint64_t count, uint64_t flip, uint64_t last);
  /* Bit i is set where key i is at most `last`; count <= 64. */
  uint64_t (*at_most32)(const uint32_t *keys, unsigned count, uint32_t flip, uint32_t last);
  uint64_t (*at_most64)(const uint64_t *keys, unsigned count, uint64_t flip, uint64_t last);
  /* Bit i is set where neighbour i is larger than u and has another label than u; count <= 64. */
  uint64_t (*crossing)(const uint32_t *neighbours, unsigned count, const uint32_t *label,
                       uint32_t u);
  const char *name; /* "avx512", "avx2" or "plain" */
} msf_scan;

/* The fastest that this machine runs. */
msf_scan msf_scan_best(void);
/* The plain C twins, for machines without vectors and for the tests. */
msf_scan msf_scan_plain(void);

#endif
