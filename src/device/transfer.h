/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Large copies between a GPU and host memory. The driver alone moves pageable memory slowly: the
 * context's threads copy to and from the unit's staging memory while the last piece is on its way.
 * Pinned memory is copied as it is. */
#ifndef DZO_DEVICE_TRANSFER_H
#define DZO_DEVICE_TRANSFER_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the bytes first .. first + bytes - 1 of what is fetched, from memory that is soon used
 * anew; by the calling thread, in order. */
typedef void (*dzo_take_fn)(void *argument, const void *piece, uint64_t first, uint64_t bytes);

/* By queue 0, complete on return. They use the unit's staging memory and the marks 22 to 25. */
dzo_status dzo_unit_send(dzo_unit *unit, void *to_device, const void *from_host, uint64_t bytes);
dzo_status dzo_unit_fetch(dzo_unit *unit, void *to_host, const void *from_device, uint64_t bytes);
/* The same, piece by piece; pieces begin at multiples of 64. */
dzo_status dzo_unit_fetch_pieces(dzo_unit *unit, const void *from_device, uint64_t bytes,
                                 dzo_take_fn take, void *argument);
/* Let the context's threads touch fresh host memory, which one alone would wait for page by page.
 */
void dzo_unit_touch(const dzo_unit *unit, void *host, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
