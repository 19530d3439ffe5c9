/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What stands in for this folder's .cu files where the library is built without CUDA. No GPU can be
 * opened then, so none of it is ever called. */
#include "table/gpu_aggregate.h"
#include "table/gpu_codes.h"
#include "table/gpu_counters.h"
#include "table/gpu_direct.h"
#include "table/gpu_find.h"
#include "table/gpu_heavy.h"
#include "table/gpu_partition.h"
#include "table/gpu_rebuild.h"
#include "table/gpu_region.h"
#include "table/gpu_rest.h"
#include "table/gpu_sift.h"
#include "table/gpu_view.h"
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

uint64_t table_aggregate_bytes(const dzo_unit *unit, bool wide, bool first, uint64_t count,
                               uint64_t parts) {
  (void)unit;
  (void)wide;
  (void)first;
  (void)count;
  (void)parts;
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

uint64_t table_partition_place(dzo_unit *unit, table_partition *p, void *workspace) {
  (void)unit;
  (void)p;
  (void)workspace;
  return 0;
}

dzo_status table_partition_run(dzo_unit *unit, table_partition *p, const void *keys, bool mixed,
                               const void *values, uint64_t value, const uint8_t *codes) {
  (void)p;
  (void)keys;
  (void)mixed;
  (void)values;
  (void)value;
  (void)codes;
  return missing(unit);
}

dzo_status table_partition_back(dzo_unit *unit, table_partition *p, void *results, uint8_t *answers,
                                const uint8_t *codes) {
  (void)p;
  (void)results;
  (void)answers;
  (void)codes;
  return missing(unit);
}

uint32_t table_region_slots(uint64_t shared, bool wide, uint32_t bucket_slots) {
  (void)shared;
  (void)wide;
  return bucket_slots;
}

dzo_status table_region_bounds(dzo_unit *unit, const table_layout *t, bool wide, bool pairs,
                               const table_batch_run *run) {
  (void)t;
  (void)wide;
  (void)pairs;
  (void)run;
  return missing(unit);
}

dzo_status table_region_store(dzo_unit *unit, const table_layout *t, bool wide, int operation,
                              const table_batch_run *run) {
  (void)t;
  (void)wide;
  (void)operation;
  (void)run;
  return missing(unit);
}

dzo_status table_region_erase(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_batch_run *run) {
  (void)t;
  (void)wide;
  (void)run;
  return missing(unit);
}

dzo_status table_region_mixed(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_batch_run *run) {
  (void)t;
  (void)wide;
  (void)run;
  return missing(unit);
}

dzo_status table_gpu_find(dzo_unit *unit, const table_layout *t, bool wide, uint64_t count,
                          const void *keys, bool mixed, void *values, uint8_t *answers,
                          table_counters *counters) {
  (void)t;
  (void)wide;
  (void)count;
  (void)keys;
  (void)mixed;
  (void)values;
  (void)answers;
  (void)counters;
  return missing(unit);
}

dzo_status table_gpu_erase(dzo_unit *unit, const table_layout *t, uint64_t count, const void *keys,
                           bool mixed, uint8_t *answers, table_counters *counters) {
  (void)t;
  (void)count;
  (void)keys;
  (void)mixed;
  (void)answers;
  (void)counters;
  return missing(unit);
}

dzo_status table_gpu_rebuild(dzo_unit *unit, const table_layout *from, const table_layout *to,
                             bool wide, bool plenty, void *spill, uint64_t room,
                             table_counters *counters) {
  (void)from;
  (void)to;
  (void)wide;
  (void)plenty;
  (void)spill;
  (void)room;
  (void)counters;
  return missing(unit);
}

dzo_status table_gpu_export(dzo_unit *unit, const table_layout *t, bool wide, uint64_t first,
                            uint64_t count, void *keys, void *values, table_counters *counters) {
  (void)t;
  (void)wide;
  (void)first;
  (void)count;
  (void)keys;
  (void)values;
  (void)counters;
  return missing(unit);
}

dzo_status table_gpu_census(dzo_unit *unit, const table_layout *t, bool wide,
                            table_census *census) {
  (void)t;
  (void)wide;
  (void)census;
  return missing(unit);
}

uint64_t table_gpu_add_over_bytes(dzo_unit *unit, const table_layout *t, bool wide,
                                  uint64_t count) {
  (void)unit;
  (void)t;
  (void)wide;
  (void)count;
  return 0;
}

dzo_status table_gpu_show_counters(dzo_unit *unit, const table_counters *counters,
                                   table_counters *seen, table_counters *next) {
  (void)counters;
  (void)seen;
  (void)next;
  return missing(unit);
}

dzo_status table_gpu_add_over(dzo_unit *unit, table_layout *t, bool wide, const void *slots,
                              uint64_t count, table_counters *counters) {
  (void)t;
  (void)wide;
  (void)slots;
  (void)count;
  (void)counters;
  return missing(unit);
}

void table_gpu_free_over(dzo_unit *unit, table_layout *t) {
  (void)unit;
  (void)t;
}

uint64_t table_gpu_over_bytes(const table_layout *t, bool wide) {
  (void)t;
  (void)wide;
  return 0;
}

dzo_status table_gpu_rest(dzo_unit *unit, const table_layout *t, bool wide, bool pairs,
                          const table_batch_run *run, const table_rest *rest) {
  (void)t;
  (void)wide;
  (void)pairs;
  (void)run;
  (void)rest;
  return missing(unit);
}

dzo_status table_gpu_refuse(dzo_unit *unit, const table_layout *t, bool wide,
                            const table_batch_run *run) {
  (void)t, (void)wide, (void)run;
  return missing(unit);
}

dzo_status table_gpu_check_codes(dzo_unit *unit, const uint8_t *codes, uint64_t count,
                                 uint64_t *first, uint64_t *stores, uint64_t *erases) {
  (void)codes, (void)count, (void)first, (void)stores, (void)erases;
  return missing(unit);
}

uint64_t table_sift_place(dzo_unit *unit, table_sift *s, void *memory) {
  (void)unit, (void)s, (void)memory;
  return 0;
}

uint64_t table_sift_place_rest(table_sift *s, bool wide, uint64_t count, void *memory) {
  (void)s, (void)wide, (void)count, (void)memory;
  return 0;
}

dzo_status table_sift_any(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                          table_counters *counters) {
  (void)t, (void)wide, (void)s, (void)counters;
  return missing(unit);
}

dzo_status table_sift_ordered(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                              table_counters *counters) {
  (void)t, (void)wide, (void)s, (void)counters;
  return missing(unit);
}

dzo_status table_sift_gather(dzo_unit *unit, bool wide, const table_sift *s) {
  (void)wide, (void)s;
  return missing(unit);
}

dzo_status table_sift_deliver(dzo_unit *unit, bool wide, const table_sift *s, uint64_t first,
                              uint64_t count) {
  (void)wide, (void)s, (void)first, (void)count;
  return missing(unit);
}

dzo_status table_gpu_view_open(dzo_unit *unit, bool wide, const table_layout *layout,
                               table_gpu_view *view, dzo_table_view *out) {
  (void)wide;
  (void)layout;
  *view = (table_gpu_view){0};
  *out = (dzo_table_view){{0}};
  return missing(unit);
}

dzo_status table_gpu_view_count(dzo_unit *unit, bool wide, const table_gpu_view *view,
                                uint64_t *count) {
  (void)wide;
  (void)view;
  *count = 0;
  return missing(unit);
}

dzo_status table_gpu_view_take(dzo_unit *unit, bool wide, const table_gpu_view *view, void *slots) {
  (void)wide;
  (void)view;
  (void)slots;
  return missing(unit);
}

void table_gpu_view_close(dzo_unit *unit, table_gpu_view *view) {
  (void)unit;
  *view = (table_gpu_view){0};
}

dzo_status table_heavy_answers(dzo_unit *unit, const uint32_t *first, const uint8_t *unique_answers,
                               uint64_t unique, uint8_t *answers) {
  (void)first;
  (void)unique_answers;
  (void)unique;
  (void)answers;
  return missing(unit);
}

dzo_status table_heavy_refuse(dzo_unit *unit, uint8_t *answers, uint64_t count,
                              table_counters *counters) {
  (void)answers;
  (void)count;
  (void)counters;
  return missing(unit);
}

uint64_t table_direct_place(const table_layout *t, bool wide, table_direct *d, void *workspace) {
  (void)t, (void)wide, (void)d, (void)workspace;
  return 0;
}

dzo_status table_direct_store(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_direct *d) {
  (void)t, (void)wide, (void)d;
  return missing(unit);
}

dzo_status table_direct_mixed(dzo_unit *unit, const table_layout *t, const table_direct *d) {
  (void)t, (void)d;
  return missing(unit);
}

dzo_status table_direct_settle(dzo_unit *unit, const table_layout *t, bool wide, table_direct *d,
                               const table_counters *seen) {
  (void)t, (void)wide, (void)d, (void)seen;
  return missing(unit);
}

dzo_status table_direct_bring_in(dzo_unit *unit, const table_layout *t, bool wide,
                                 const table_direct *d, uint64_t most, bool met_too) {
  (void)t;
  (void)wide;
  (void)d;
  (void)most;
  (void)met_too;
  return missing(unit);
}

dzo_status table_direct_refuse(dzo_unit *unit, const table_direct *d, uint64_t left) {
  (void)d, (void)left;
  return missing(unit);
}

dzo_status table_direct_erase(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_direct *d) {
  (void)t, (void)wide, (void)d;
  return missing(unit);
}
