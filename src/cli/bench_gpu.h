/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench msf on a GPU: graphs in its memory, graphs that must cross the bus, and the contest's
 * table over all scales. */
#ifndef DZO_CLI_BENCH_GPU_H
#define DZO_CLI_BENCH_GPU_H

#include "cli/bench.h"
#include "cli/json.h"
#include "graph/gpu_graph.h"
#include "msf/gpu_result.h"

/* The GPU that is measured, and what it does at best. */
typedef struct gpu_machine {
  char gpu[128];
  char processor[128];
  int threads;
  double read_rate;      /* bytes a second, in order */
  double near_rate;      /* 32-bit reads a second anywhere in its cache */
  double far_rate;       /* and beyond it */
  double bus_rate;       /* bytes a second from pinned memory; 0: not measured */
  double host_bandwidth; /* bytes a second that the threads read; 0: not measured */
} gpu_machine;

typedef struct gpu_bench {
  cli_call *call;
  const bench_settings *settings;
  dzo_context *context; /* with the GPU, whatever --gpu-memory says */
  dzo_context *host;    /* of the CPU alone, for verifying */
  dzo_unit *unit;
  gpu_machine machine;
  bool wrong; /* some answer was not verified */
} gpu_bench;

/* Open the GPU and measure its rates. CLI_NO_DEVICE after a message. Close also after a failure. */
cli_exit gpu_bench_open(cli_call *call, gpu_bench *bench);
void gpu_bench_close(gpu_bench *bench);
/* Small graphs and tables are for seconds; then the rates are measured quickly too. */
bool gpu_bench_is_small(const bench_settings *settings);
/* What is told at the end, and the exit status. */
cli_exit gpu_bench_verdict(const gpu_bench *bench);
void gpu_bench_json_machine(cli_json *json, const gpu_bench *bench);
/* A context of that device for a graph of so many bytes, whose calls Ctrl-C cancels. */
dzo_status gpu_bench_context(const gpu_bench *bench, dzo_device device, uint64_t gpu_memory,
                             uint64_t keep, dzo_context **out);
dzo_status gpu_bench_generate(const gpu_bench *bench, const char *kind, unsigned scale,
                              dzo_weight_type weights, dzo_gpu_edges *out);
/* --repeats, or `otherwise` where it is not given. */
uint64_t gpu_bench_repeats(const gpu_bench *bench, uint64_t otherwise);
/* Seconds on the GPU's clock of one msf_gpu_solve() or another method's. */
typedef dzo_status (*gpu_solve_fn)(dzo_unit *unit, const msf_gpu_graph *graph,
                                   msf_gpu_forest *forest);
dzo_status gpu_bench_time(gpu_bench *bench, gpu_solve_fn solve, const msf_gpu_graph *graph,
                          msf_gpu_forest *forest, uint64_t repeats, double *median, double *least);
/* Replace arcs by the numbers of their edges, below `bound`, and put these in ascending order. */
dzo_status gpu_bench_number(gpu_bench *bench, uint64_t *arcs, uint64_t count,
                            const uint32_t *of_arcs, uint64_t arc_count, uint64_t bound);
/* The edge numbers of a forest in device memory, ascending; a dzo_alloc'ed array. */
dzo_status gpu_bench_numbers(gpu_bench *bench, const dzo_gpu_csr *csr, const msf_gpu_forest *forest,
                             uint64_t **numbers);
bool gpu_bench_same(const dzo_msf *msf, const uint64_t *numbers, uint64_t count);

/* ---- Rows: graphs in GPU memory ----
 */

typedef enum gpu_form {
  GPU_BY_NEIGHBOUR,
  GPU_BY_WEIGHT,
  GPU_RENUMBERED, /* linked vertices have near numbers */
  GPU_COMPRESSED  /* the same, neighbours in ten bits */
} gpu_form;

typedef struct gpu_case {
  const char *kind;
  unsigned scale;
  gpu_form form;
  dzo_weight_type weights;
  bool seed;   /* the contest's method beside it */
  double goal; /* milliseconds that were aimed at; 0: none */
} gpu_case;

/* Times are seconds. */
typedef struct gpu_row {
  gpu_case of;
  uint64_t vertices, edges, arcs;
  uint64_t graph_bytes, neighbour_bytes, workspace_bytes;
  uint64_t forest_edges, components;
  double generate, median, least, verify;
  double floor;                   /* one pass over the graph */
  double call_median, call_least; /* dzo_msf_run() of the resident graph; 0: not run */
  double seed_median, seed_least; /* 0: not run */
  char plan[256];
  char steps[256];        /* of a run that was timed in itself */
  char call_plan[256];    /* of dzo_msf_run() */
  bool verified, on_host; /* who verified it */
  char reason[256];
} gpu_row;

cli_exit gpu_bench_rows(gpu_bench *bench);
typedef cli_exit (*gpu_visit)(void *user, const gpu_case *which);
cli_exit gpu_each_case(const bench_settings *settings, gpu_visit visit, void *user);
/* The graph that a row can use again: renumbering takes long. */
typedef struct gpu_prepared {
  const char *kind;
  unsigned scale;
  dzo_graph *graph;
} gpu_prepared;
dzo_status gpu_measure(gpu_bench *bench, const gpu_case *which, gpu_prepared *prepared,
                       gpu_row *row);

void gpu_row_name(const gpu_case *which, char text[64]);
void gpu_print_header(FILE *out, const gpu_machine *machine);
void gpu_print_row(FILE *out, const gpu_row *row);
void gpu_print_notes(FILE *out);
void gpu_json_row(cli_json *json, const gpu_row *row);

/* ---- Rows: graphs in host memory ----
 */

cli_exit gpu_bench_host(gpu_bench *bench);

/* ---- The contest's table ----
 */

cli_exit gpu_bench_table(gpu_bench *bench);

#endif
