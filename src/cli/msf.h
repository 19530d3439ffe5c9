/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The parts of `dzo msf`. */
#ifndef DZO_CLI_MSF_H
#define DZO_CLI_MSF_H

#include "cli/cli.h"
#include "io/forest.h"

typedef struct msf_settings {
  cli_common common;
  const char *format;
  const char *output; /* NULL: no file */
  const char *output_format;
  const char *components; /* NULL: no file */
  bool maximum, stream, sort;
} msf_settings;

/* Seconds by phase. */
typedef struct msf_times {
  double read, build, sort, solve, verify, write, total;
} msf_times;

typedef struct msf_job {
  cli_call *call;
  const msf_settings *settings;
  const char *path;
  bool streamed;
  bool verified;
  dzo_format format;
  dzo_edge_list *list; /* kept for --verify; NULL when streamed */
  dzo_graph *graph;    /* NULL when streamed */
  dzo_edge_source source;
  bool source_open;
  dzo_msf *msf;
  dzo_weight_type weight_type;
  uint64_t vertices;
  const uint64_t *labels; /* the graph's, or the source's */
  uint64_t first_label;
  msf_times times;
} msf_job;

/* Should this file be streamed because it would not fit the memory? Says so if it should. */
bool msf_should_stream(msf_job *job);
/* cli_fail(), and the way out where memory was short. */
cli_exit msf_fail(msf_job *job, dzo_status status, cli_exit otherwise);
/* Read the graph and build it. CLI_DONE, or the exit status after a message. */
cli_exit msf_load(msf_job *job);
/* Solve while reading, in bounded memory. */
cli_exit msf_solve_stream(msf_job *job);
/* Tell a forest in the order of its vertices' names, as that of a graph in memory is, where it is
 * not: u and v (NULL: none) are changed, and `forest` gets arrays that `names` owns. */
typedef struct msf_names {
  uint64_t *labels;
  uint32_t *component_of;
  uint32_t *place; /* [vertices] of each vertex in the new order */
  uint32_t *tree;  /* [components] the new number of each tree */
} msf_names;
dzo_status msf_order_by_name(dzo_context *context, dzo_forest *forest, uint32_t *u, uint32_t *v,
                             msf_names *names);
void msf_names_release(msf_names *names);
/* What was found, as text or as JSON. */
void msf_report(const msf_job *job);

#endif
