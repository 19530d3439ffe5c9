/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What stands in for this folder's .cu files where the library is built without CUDA. No GPU can be
 * opened then, so none of it is ever called. */
#include "table/gpu_aggregate.h"
#include "table/seed.h"

static dzo_status missing(dzo_unit *unit) {
  return dzo_fail(unit->context, DZO_E_DEVICE, "this dzo was built without CUDA");
}

dzo_status table_seed_create(dzo_unit *unit, uint64_t slots, table_seed *out) {
  (void)slots;
  *out = (table_seed){0};
  return missing(unit);
}

void table_seed_destroy(table_seed *seed) { *seed = (table_seed){0}; }

dzo_status table_seed_clear(table_seed *seed) { return missing(seed->unit); }

dzo_status table_seed_run(table_seed *seed, const dzo_table_batch *batch) {
  (void)batch;
  return missing(seed->unit);
}

uint64_t table_aggregate_bytes(const dzo_unit *unit, bool wide, bool first, uint64_t count) {
  (void)unit;
  (void)wide;
  (void)first;
  (void)count;
  return 0;
}

dzo_status table_aggregate_look(dzo_unit *unit, int queue, table_aggregate *job) {
  (void)queue;
  (void)job;
  return missing(unit);
}

dzo_status table_aggregate_run(dzo_unit *unit, int queue, table_aggregate *job) {
  (void)queue;
  (void)job;
  return missing(unit);
}
