/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/hybrid.h"

#include "msf/engine.h"

dzo_device msf_choose_device(dzo_context *context, const dzo_graph *graph) {
  (void)context, (void)graph;
  return DZO_DEVICE_CPU;
}
