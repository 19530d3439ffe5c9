/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/engine.h"

static dzo_status create(const table_plan *plan, void **out) {
  *out = NULL;
  return dzo_fail(plan->context, DZO_E_UNSUPPORTED, "tables on a GPU are not there yet");
}

static void destroy(void *state) { (void)state; }

const table_engine table_engine_cuda = {
    .name = "cuda", .device = DZO_DEVICE_CUDA, .create = create, .destroy = destroy};
