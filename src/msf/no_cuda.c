/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What stands in for this folder's .cu files where the library is built without CUDA. No GPU can be
 * opened then, so none of it is ever called. */
#include "msf/gpu.h"
#include "msf/gpu_check.h"
#include "msf/gpu_filter.h"
#include "msf/gpu_result.h"
#include "msf/gpu_rows.h"
#include "msf/gpu_solve.h"
#include "msf/seed.h"

static dzo_status missing(dzo_unit *unit) {
  return dzo_fail(unit->context, DZO_E_DEVICE, "this dzo was built without CUDA");
}

uint64_t msf_gpu_workspace_bytes(const msf_gpu_graph *graph) {
  (void)graph;
  return 0;
}

dzo_status msf_gpu_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest) {
  (void)graph, (void)forest;
  return missing(unit);
}

dzo_status msf_gpu_solve_tuned(dzo_unit *unit, const msf_gpu_graph *graph,
                               const msf_gpu_tuning *tuning, msf_gpu_forest *forest) {
  (void)graph, (void)tuning, (void)forest;
  return missing(unit);
}

dzo_status msf_gpu_number_trees(dzo_unit *unit, uint32_t *labels, uint64_t vertices,
                                uint32_t *first, uint32_t *flags, void *scratch,
                                uint64_t scratch_bytes) {
  (void)labels, (void)vertices, (void)first, (void)flags, (void)scratch, (void)scratch_bytes;
  return missing(unit);
}

uint64_t msf_gpu_result_bytes(const dzo_gpu_csr *graph, uint64_t count) {
  (void)graph, (void)count;
  return 0;
}

dzo_status msf_gpu_result_make(dzo_unit *unit, msf_gpu_result *result) {
  (void)result;
  return missing(unit);
}

uint64_t msf_gpu_rows_check_bytes(void) { return 0; }

dzo_status msf_gpu_rows_check(dzo_unit *unit, const msf_gpu_graph *graph, void *workspace) {
  (void)graph, (void)workspace;
  return missing(unit);
}

uint64_t msf_gpu_rows_order_bytes(dzo_unit *unit, uint64_t count) {
  (void)unit, (void)count;
  return 0;
}

dzo_status msf_gpu_rows_order(dzo_unit *unit, const msf_gpu_graph *graph, uint64_t *arcs,
                              uint64_t count, void *workspace, uint64_t bytes) {
  (void)graph, (void)arcs, (void)count, (void)workspace, (void)bytes;
  return missing(unit);
}

dzo_status msf_seed_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest) {
  (void)graph, (void)forest;
  return missing(unit);
}

dzo_status msf_seed_solve_host(dzo_unit *unit, const dzo_graph *graph, bool maximum,
                               msf_gpu_forest *forest) {
  (void)graph, (void)maximum, (void)forest;
  return missing(unit);
}

dzo_status msf_gpu_check(dzo_unit *unit, const msf_gpu_graph *graph, const uint64_t *arcs,
                         uint64_t count, msf_gpu_verdict *out) {
  (void)graph, (void)arcs, (void)count, (void)out;
  return missing(unit);
}

dzo_status msf_gpu_check_labels(dzo_unit *unit, const msf_gpu_graph *graph, const uint32_t *labels,
                                uint64_t components, msf_gpu_verdict *out) {
  (void)graph, (void)labels, (void)components, (void)out;
  return missing(unit);
}

dzo_status msf_filter_vertices(msf_filter *f, uint64_t vertices) {
  (void)vertices;
  return missing(f->unit);
}

dzo_status msf_filter_chunk(msf_filter *f, const msf_chunk *chunk) {
  (void)chunk;
  return missing(f->unit);
}

dzo_status msf_filter_count(msf_filter *f, msf_filter_tally *to) {
  (void)to;
  return missing(f->unit);
}

dzo_status msf_filter_merge(msf_filter *f, uint64_t front, uint64_t back, bool last) {
  (void)front, (void)back, (void)last;
  return missing(f->unit);
}

dzo_status msf_filter_taken(msf_filter *f, uint64_t count, uint32_t **bits) {
  (void)count, (void)bits;
  return missing(f->unit);
}

dzo_status msf_filter_numbers(msf_filter *f) { return missing(f->unit); }

dzo_status msf_filter_sum(msf_filter *f, uint64_t count) {
  (void)count;
  return missing(f->unit);
}

dzo_status msf_filter_sort_numbers(msf_filter *f, uint64_t count, int bits, uint32_t **sorted) {
  (void)count, (void)bits, (void)sorted;
  return missing(f->unit);
}

dzo_status msf_filter_labels(msf_filter *f, uint32_t **labels) {
  (void)labels;
  return missing(f->unit);
}

dzo_status msf_filter_bounds(msf_filter *f) { return missing(f->unit); }

dzo_status msf_filter_look(msf_filter *f, uint32_t count, const uint32_t *vertices,
                           uint64_t *bounds, uint32_t *roots) {
  (void)vertices, (void)count, (void)bounds, (void)roots;
  return missing(f->unit);
}

dzo_status msf_filter_bits(msf_filter *f, uint32_t root, uint64_t bound, uint32_t **bits) {
  (void)root, (void)bound, (void)bits;
  return missing(f->unit);
}

dzo_status msf_gpu_check_list(dzo_unit *unit, const msf_checker *checker, bool *right) {
  (void)checker, (void)right;
  return missing(unit);
}
