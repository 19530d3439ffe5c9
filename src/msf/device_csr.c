/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Forests of a caller's graph in GPU memory, left there. */
#include "base/options.h"
#include "dzo/msf.h"
#include "graph/csr.h"
#include "msf/gpu.h"
#include "msf/gpu_rows.h"

void dzo_device_csr_init(dzo_device_csr *csr) { *csr = (dzo_device_csr){.size = sizeof *csr}; }

/* One call, its arguments read. */
typedef struct device_call {
  dzo_unit *unit;
  dzo_device_csr csr;
  dzo_msf_options options;
  msf_gpu_graph graph;
} device_call;

static msf_key_type key_type_of(dzo_weight_type type) {
  switch (type) {
  case DZO_WEIGHT_U32:
    return MSF_KEY_U32;
  case DZO_WEIGHT_I64:
    return MSF_KEY_I64;
  case DZO_WEIGHT_U64:
    return MSF_KEY_U64;
  case DZO_WEIGHT_F32:
    return MSF_KEY_F32;
  case DZO_WEIGHT_F64:
    return MSF_KEY_F64;
  case DZO_WEIGHT_NONE:
    break;
  }
  return MSF_KEY_NONE;
}

static dzo_status read_arguments(dzo_context *context, const dzo_device_csr *csr,
                                 const dzo_msf_options *options, device_call *call) {
  dzo_device_csr *c = &call->csr;
  dzo_device_csr_init(c);
  dzo_msf_options_init(&call->options);
  if (csr == NULL || !dzo_options_read(c, sizeof *c, csr) ||
      !dzo_options_read(&call->options, sizeof call->options, options))
    return dzo_fail(context, DZO_E_ARGUMENT, "no device CSR, or options of another size");
  if ((unsigned)c->weight_type > DZO_WEIGHT_F64 || (unsigned)c->row_order > DZO_ROWS_BY_WEIGHT)
    return dzo_fail(context, DZO_E_ARGUMENT, "weight_type %d, row_order %d: no such value",
                    (int)c->weight_type, (int)c->row_order);
  if (c->vertices >= UINT64_C(1) << 30 || c->arcs >= UINT64_C(1) << 36)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "%llu vertices, %llu arcs: on a GPU below 2^30 and 2^36",
                    (unsigned long long)c->vertices, (unsigned long long)c->arcs);
  if (c->vertices == 0 && c->arcs > 0)
    return dzo_fail(context, DZO_E_ARGUMENT, "arcs without vertices");
  call->graph = (msf_gpu_graph){.vertices = (uint32_t)c->vertices,
                                .arcs = c->arcs,
                                .offsets = c->offsets,
                                .neighbours = c->neighbours,
                                .keys = c->weights,
                                .key_type = key_type_of(c->weight_type),
                                .presorted = c->row_order == DZO_ROWS_BY_WEIGHT,
                                .maximum = call->options.maximum != 0};
  return dzo_context_need_gpu(context, &call->unit);
}

static dzo_status check_pointer(const device_call *call, const void *pointer, const char *name) {
  if (dzo_unit_owns(call->unit, pointer))
    return DZO_OK;
  return dzo_fail(call->unit->context, DZO_E_ARGUMENT, "%s is no memory of GPU %d", name,
                  call->unit->index);
}

static dzo_status check_pointers(const device_call *call, const uint64_t *arcs) {
  const dzo_device_csr *c = &call->csr;
  DZO_TRY(check_pointer(call, arcs, "arcs"));
  DZO_TRY(check_pointer(call, c->offsets, "offsets"));
  if (c->arcs == 0)
    return DZO_OK;
  DZO_TRY(check_pointer(call, c->neighbours, "neighbours"));
  if ((c->weights == NULL) != (c->weight_type == DZO_WEIGHT_NONE))
    return dzo_fail(call->unit->context, DZO_E_ARGUMENT,
                    "weights are given exactly where weight_type is not none");
  return c->weights == NULL ? DZO_OK : check_pointer(call, c->weights, "weights");
}

/* Checking, solving and ordering come one after the other, in the same bytes. */
static uint64_t workspace_bytes(const device_call *call) {
  uint64_t bytes = msf_gpu_workspace_bytes(&call->graph);
  uint64_t check = call->csr.trusted ? 0 : msf_gpu_rows_check_bytes();
  uint64_t order =
      call->options.any_order ? 0 : msf_gpu_rows_order_bytes(call->unit, call->csr.vertices);
  bytes = check > bytes ? check : bytes;
  return order > bytes ? order : bytes;
}

static dzo_status order_arcs(const device_call *call, uint64_t *arcs, uint64_t count) {
  uint64_t bytes = msf_gpu_rows_order_bytes(call->unit, count);
  void *workspace;
  DZO_TRY(dzo_unit_workspace(call->unit, bytes, &workspace));
  return msf_gpu_rows_order(call->unit, &call->graph, arcs, count, workspace, bytes);
}

static dzo_status solve(const device_call *call, uint64_t *arcs, uint64_t *count) {
  dzo_unit *unit = call->unit;
  dzo_context *context = unit->context;
  DZO_TRY(check_pointers(call, arcs));
  DZO_TRY(dzo_progress(context, "solve", 0, 1));
  void *workspace;
  DZO_TRY(dzo_unit_workspace(unit, workspace_bytes(call), &workspace));
  DZO_TRY(dzo_unit_wait_all(unit));
  if (!call->csr.trusted)
    DZO_TRY(msf_gpu_rows_check(unit, &call->graph, workspace));
  msf_gpu_forest forest = {.arcs = arcs};
  if (call->csr.arcs > 0)
    DZO_TRY(msf_gpu_solve(unit, &call->graph, &forest));
  if (!call->options.any_order)
    DZO_TRY(order_arcs(call, arcs, forest.count));
  DZO_TRY(dzo_unit_wait(unit, 0));
  DZO_TRY(dzo_progress(context, "solve", 1, 1));
  *count = forest.count;
  return DZO_OK;
}

dzo_status dzo_msf_run_device(dzo_context *context, const dzo_device_csr *csr,
                              const dzo_msf_options *options, uint64_t *arcs, uint64_t *count) {
  dzo_begin(context);
  if (count == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_msf_run_device: nowhere to put the count");
  *count = 0;
  device_call call;
  DZO_TRY(read_arguments(context, csr, options, &call));
  if (call.csr.vertices == 0)
    return DZO_OK;
  dzo_status status = solve(&call, arcs, count);
  return status == DZO_E_DEVICE ? DZO_E_DEVICE_FAILED : status;
}

dzo_status dzo_msf_device_workspace(dzo_context *context, const dzo_device_csr *csr,
                                    const dzo_msf_options *options, uint64_t *bytes) {
  dzo_begin(context);
  if (bytes == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_msf_device_workspace: nowhere to put the bytes");
  *bytes = 0;
  device_call call;
  DZO_TRY(read_arguments(context, csr, options, &call));
  *bytes = call.csr.vertices > 0 ? workspace_bytes(&call) : 0;
  return DZO_OK;
}
