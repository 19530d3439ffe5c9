/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The two lists in GPU memory: full ones, that is of all sums, since they are for data of which
 * dominance prunes nothing. */
#ifndef DZO_KNAPSACK_TWO_LIST_GPU_H
#define DZO_KNAPSACK_TWO_LIST_GPU_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums of subsets by rising weight, and the most value that each weight buys, which rises too.
 * value NULL: each is worth its weight. All are below 2^62. */
typedef struct two_list_device {
  int64_t *weight; /* [count] */
  int64_t *value;  /* [count] */
  uint64_t count;
} two_list_device;

/* out = in, and in with one more item. out has room for twice as many sums as in, elsewhere. */
dzo_status two_list_gpu_add(dzo_unit *unit, const two_list_device *in, int64_t weight,
                            int64_t value, two_list_device *out);

/* The best that a block of threads has seen. */
typedef struct two_list_record {
  int64_t value;
  int64_t weight[2]; /* of the sums of either list that make it up */
  uint64_t scan;     /* the number of the scan that found it */
} two_list_record;

/* One scan over both lists: of each sum of the first and the best one of the second that fits
 * beside it. */
typedef struct two_list_scan {
  const two_list_device *first, *second;
  int64_t capacity; /* at least 0 */
  int64_t base;     /* value to be added to all */
  int64_t goal;     /* when this value is found, this scan and all later ones end */
  uint64_t number;
  two_list_record *records; /* [two_list_gpu_records()] on the device; only replaced by better */
  unsigned *found;          /* on the device: 1 when the goal has been found */
} two_list_scan;
unsigned two_list_gpu_records(dzo_unit *unit, bool values);
dzo_status two_list_gpu_scan(dzo_unit *unit, const two_list_scan *scan);

#ifdef __cplusplus
}
#endif
#endif
