/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The two inner loops of the sequential pass over the keys, in the widest instructions the machine
 * has. A key counts as key ^ flip. */
#ifndef DZO_MSF_SCAN_H
#define DZO_MSF_SCAN_H

#include <stdint.h>

typedef struct msf_scan {
  /* Position of the first smallest of count >= 1 keys; *min becomes its flipped key. */
  uint64_t (*min32)(const uint32_t *keys, uint64_t count, uint32_t flip, uint32_t *min);
  uint64_t (*min64)(const uint64_t *keys, uint64_t count, uint64_t flip, uint64_t *min);
  /* Bit i is set where key i is at most `last`; count <= 64. */
  uint64_t (*at_most32)(const uint32_t *keys, unsigned count, uint32_t flip, uint32_t last);
  uint64_t (*at_most64)(const uint64_t *keys, unsigned count, uint64_t flip, uint64_t last);
  const char *name; /* "avx512", "avx2" or "plain" */
} msf_scan;

/* The fastest that this machine runs. */
msf_scan msf_scan_best(void);
/* The plain C twins, for machines without vectors and for the tests. */
msf_scan msf_scan_plain(void);

#endif
