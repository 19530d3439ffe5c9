/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Operations of a mixed batch that lie in GPU memory, where the host does not see them. */
#ifndef DZO_TABLE_GPU_CODES_H
#define DZO_TABLE_GPU_CODES_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lowers *first, in device memory, to the position of the first code that is no operation, and adds
 * to *stores those that are neither FIND nor ERASE, and to *erases those that are ERASE. */
dzo_status table_gpu_check_codes(dzo_unit *unit, const uint8_t *codes, uint64_t count,
                                 uint64_t *first, uint64_t *stores, uint64_t *erases);

#ifdef __cplusplus
}
#endif
#endif
