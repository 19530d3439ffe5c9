/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The entry: checks, the choice of a solver, and the reading of its result. */
#include "dzo/msf.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "graph/csr.h"
#include "msf/cpu.h"

void dzo_msf_options_init(dzo_msf_options *options) {
  *options = (dzo_msf_options){.size = sizeof *options};
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
  msf->vertices = graph->vertices;
  msf->graph_edges = graph->edges;
  msf->weight_type = graph->map.type;
  dzo_status status = msf_solve_cpu(context, graph, o.maximum != 0, msf);
  if (status != DZO_OK) {
    dzo_msf_destroy(msf);
    return status;
  }
  *out = msf;
  return DZO_OK;
}

void dzo_msf_destroy(dzo_msf *msf) {
  if (msf == NULL)
    return;
  dzo_free(msf->edges);
  dzo_free(msf->component_of);
  dzo_free(msf->u);
  dzo_free(msf->v);
  dzo_free(msf->patterns);
  dzo_free(msf);
}

uint64_t dzo_msf_vertices(const dzo_msf *msf) { return msf->vertices; }
uint64_t dzo_msf_graph_edges(const dzo_msf *msf) { return msf->graph_edges; }
uint64_t dzo_msf_count(const dzo_msf *msf) { return msf->count; }
const uint64_t *dzo_msf_edges(const dzo_msf *msf) { return msf->edges; }
uint64_t dzo_msf_components(const dzo_msf *msf) { return msf->components; }
const uint32_t *dzo_msf_component_of(const dzo_msf *msf) { return msf->component_of; }
dzo_weight_sum dzo_msf_weight(const dzo_msf *msf) { return msf->weight; }
const char *dzo_msf_plan(const dzo_msf *msf) { return msf->plan; }
