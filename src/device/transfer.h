/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Large copies between a GPU and pageable memory, which the driver alone moves slowly: the
 * context's threads copy to and from the unit's staging memory while the last piece is on its way.
 */
#ifndef DZO_DEVICE_TRANSFER_H
#define DZO_DEVICE_TRANSFER_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By queue 0, complete on return. They use the unit's staging memory and the marks 22 to 25. */
dzo_status dzo_unit_send(dzo_unit *unit, void *to_device, const void *from_host, uint64_t bytes);
dzo_status dzo_unit_fetch(dzo_unit *unit, void *to_host, const void *from_device, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
