/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The entries: checks, the choice of an engine, and the CPU where a GPU gives up. */
#include "dzo/msf.h"

#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "device/device.h"
#include "msf/cpu.h"
#include "msf/engine.h"

void dzo_msf_options_init(dzo_msf_options *options) {
  *options = (dzo_msf_options){.size = sizeof *options};
}

void msf_reset(dzo_msf *msf) {
  dzo_free(msf->edges);
  dzo_free(msf->component_of);
  dzo_free(msf->u);
  dzo_free(msf->v);
  dzo_free(msf->patterns);
  *msf = (dzo_msf){
      .vertices = msf->vertices, .graph_edges = msf->graph_edges, .weight_type = msf->weight_type};
}

/* ---- Engines --------------------------------------------------------------------------------- */

static const msf_engine *engine_of(dzo_device device) {
  switch (device) {
  case DZO_DEVICE_CUDA:
    return &msf_engine_cuda;
  case DZO_DEVICE_HYBRID:
    return &msf_engine_hybrid;
  case DZO_DEVICE_AUTO:
  case DZO_DEVICE_CPU:
    break;
  }
  return &msf_engine_cpu;
}

/* `graph` NULL: a stream. A GPU is not started for what the CPU has done by then. */
static const msf_engine *choose_engine(dzo_context *context, const dzo_graph *graph) {
  dzo_device device = context->device;
  if (device == DZO_DEVICE_AUTO)
    device = msf_choose_device(context, graph);
  if (device == DZO_DEVICE_CPU || dzo_context_gpu(context) == NULL)
    return &msf_engine_cpu;
  return engine_of(device);
}

/* Is this an end that the CPU may make good? */
static bool gives_way(dzo_status status) {
  return status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED || status == DZO_E_MEMORY ||
         status == DZO_E_UNSUPPORTED;
}

/* The CPU takes over from an engine that gave up; the message becomes a notice. */
static void take_over(dzo_context *context, dzo_msf *msf) {
  char reason[sizeof context->message];
  memcpy(reason, context->message, sizeof reason);
  dzo_begin(context);
  dzo_notice(context, "%s; solved on the CPU",
             reason[0] != '\0' ? reason : "the GPU could not do it");
  msf_reset(msf);
}

static dzo_status solve(dzo_context *context, const dzo_graph *graph, bool maximum, dzo_msf *msf) {
  msf->vertices = graph->vertices;
  msf->graph_edges = graph->edges;
  msf->weight_type = graph->map.type;
  const msf_engine *engine = choose_engine(context, graph);
  dzo_status status = engine->solve(context, graph, maximum, msf);
  if (engine == &msf_engine_cpu || !gives_way(status))
    return status;
  take_over(context, msf);
  return msf_engine_cpu.solve(context, graph, maximum, msf);
}

/* Counts the chunks that were taken: what is consumed cannot be given to another engine. */
typedef struct counted_source {
  const dzo_edge_source *source;
  uint64_t taken;
} counted_source;

static dzo_status next_counted(void *user, dzo_context *context, dzo_edges *chunk) {
  counted_source *counted = user;
  counted->taken++;
  return counted->source->next(counted->source->user, context, chunk);
}

static dzo_status solve_stream(dzo_context *context, const dzo_edge_source *source, bool maximum,
                               dzo_msf *msf) {
  counted_source counted = {source, 0};
  dzo_edge_source through = {.user = &counted, .next = next_counted};
  const msf_engine *engine = choose_engine(context, NULL);
  dzo_status status = engine->stream(context, &through, maximum, msf);
  if (engine == &msf_engine_cpu || !gives_way(status) || counted.taken > 0)
    return status;
  take_over(context, msf);
  return msf_engine_cpu.stream(context, &through, maximum, msf);
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* What both entries end with: *out is set if `status` is good, and what an attempt before the last
 * one failed with is no message of the call. */
static dzo_status finish(dzo_context *context, dzo_status status, dzo_msf *msf, dzo_msf **out) {
  if (status != DZO_OK) {
    dzo_msf_destroy(msf);
    return status;
  }
  context->message[0] = '\0';
  *out = msf;
  return DZO_OK;
}

dzo_status dzo_msf_run(dzo_context *context, const dzo_graph *graph, const dzo_msf_options *options,
                       dzo_msf **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_msf_run: nowhere to put the forest");
  *out = NULL;
  dzo_msf_options o;
  dzo_msf_options_init(&o);
  if (graph == NULL || !dzo_options_read(&o, sizeof o, options))
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_msf_run: no graph, or options of another size");
  dzo_msf *msf = dzo_calloc(context, 1, sizeof *msf);
  if (msf == NULL)
    return DZO_E_MEMORY;
  return finish(context, solve(context, graph, o.maximum != 0, msf), msf, out);
}

dzo_status dzo_msf_stream(dzo_context *context, const dzo_edge_source *source,
                          const dzo_msf_options *options, dzo_msf **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_msf_stream: nowhere to put the forest");
  *out = NULL;
  dzo_msf_options o;
  dzo_msf_options_init(&o);
  if (source == NULL || source->next == NULL || !dzo_options_read(&o, sizeof o, options))
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "dzo_msf_stream: no source, or options of another size");
  dzo_msf *msf = dzo_calloc(context, 1, sizeof *msf);
  if (msf == NULL)
    return DZO_E_MEMORY;
  return finish(context, solve_stream(context, source, o.maximum != 0, msf), msf, out);
}

void dzo_msf_destroy(dzo_msf *msf) {
  if (msf == NULL)
    return;
  msf_reset(msf);
  dzo_free(msf);
}

uint64_t dzo_msf_vertices(const dzo_msf *msf) { return msf->vertices; }
uint64_t dzo_msf_graph_edges(const dzo_msf *msf) { return msf->graph_edges; }
uint64_t dzo_msf_count(const dzo_msf *msf) { return msf->count; }
const uint64_t *dzo_msf_edges(const dzo_msf *msf) { return msf->edges; }
uint64_t dzo_msf_components(const dzo_msf *msf) { return msf->components; }
const uint32_t *dzo_msf_component_of(const dzo_msf *msf) { return msf->component_of; }
dzo_weight_sum dzo_msf_weight(const dzo_msf *msf) { return msf->weight; }
dzo_device dzo_msf_device(const dzo_msf *msf) { return msf->device; }
const char *dzo_msf_plan(const dzo_msf *msf) { return msf->plan; }
