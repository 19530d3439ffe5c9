/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a table on the GPU needs beside itself while kernels of the caller's use it, through
 * dzo/table_device.cuh: locks, and a stash for pairs whose buckets are full. */
#ifndef DZO_TABLE_GPU_VIEW_H
#define DZO_TABLE_GPU_VIEW_H

#include "device/device.h"
#include "dzo/table.h"
#include "table/gpu_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All of it in device memory. */
typedef struct table_gpu_view {
  uint32_t *locks, *claims;
  void *stash;
  uint32_t stash_slots;
} table_gpu_view;

/* Allocates, and makes a view of the table. Pairs of its overflow are copied to the stash: until
 * the view is closed, the overflow is not looked at. */
dzo_status table_gpu_view_open(dzo_unit *unit, bool wide, const table_layout *layout,
                               table_gpu_view *view, dzo_table_view *out);

/* Pairs that are in the stash now. No kernel uses the view any more. */
dzo_status table_gpu_view_count(dzo_unit *unit, bool wide, const table_gpu_view *view,
                                uint64_t *count);
/* Those, to slots[count] in device memory. */
dzo_status table_gpu_view_take(dzo_unit *unit, bool wide, const table_gpu_view *view, void *slots);
/* Gives the memory back; what the stash holds is lost with it. */
void table_gpu_view_close(dzo_unit *unit, table_gpu_view *view);

#ifdef __cplusplus
}
#endif
#endif
