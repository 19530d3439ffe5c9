/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_stream.h"

dzo_status msf_stream_gpu(dzo_unit *unit, const dzo_edge_source *source, bool maximum, bool hybrid,
                          dzo_msf *out) {
  (void)source, (void)maximum, (void)hybrid, (void)out;
  return dzo_fail(unit->context, DZO_E_UNSUPPORTED, "streams are not solved on the GPU");
}
