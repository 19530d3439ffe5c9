/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench: the settings of all benchmarks; of dzo bench msf also cases, their measurement, and
 * what is told about it. */
#ifndef DZO_CLI_BENCH_H
#define DZO_CLI_BENCH_H

#include "cli/cli.h"

typedef struct bench_settings {
  cli_common common;
  bool quick;
  const char *graph; /* "all" or one kind */
  uint64_t scale;    /* 0: those of the cases */
  uint64_t repeats;
  const char *yardstick; /* "textbook", "prefetch" or "none" */
  const char *plot;      /* a folder, or NULL */
  const char *from;      /* "gpu" or "host": where graphs lie */
  bool table;            /* all scales on all devices */
  uint64_t count;        /* keys of dzo bench table; 0: those of the cases */
  const char *part;      /* of dzo bench table or knapsack: "all" or one */
  double time_limit;     /* of a run of dzo bench knapsack, in seconds */
} bench_settings;

/* One graph to solve. */
typedef struct bench_case {
  const char *kind;
  dzo_generator generator;
  unsigned scale;
  double degree; /* rmat, uniform */
  double keep;   /* grid */
  bool sorted;   /* rows ordered by weight beforehand, untimed: the contest's protocol */
} bench_case;

/* A case as measured. Times are seconds, medians and minima of the repeats. */
typedef struct bench_row {
  bench_case of;
  uint64_t vertices, edges, arcs;
  uint64_t graph_bytes; /* the graph in memory, edge numbers included */
  uint64_t pass_bytes;  /* offsets, neighbours and weights: what one pass must read */
  uint64_t peak_bytes;  /* most memory during a solve, the graph included */
  uint64_t forest_edges, components;
  dzo_weight_sum weight;
  char plan[256];
  double generate, build, sort, verify;
  double median, least;
  double first;                             /* the first solve, on fresh memory */
  double yardstick_median, yardstick_least; /* 0: not run */
  bool verified;                            /* by the verifier, and equal to the yardstick */
  char reason[256];                         /* why not */
} bench_row;

typedef struct bench_machine {
  const char *yardstick;
  char processor[128];
  int threads;
  double read_bandwidth; /* bytes a second */
} bench_machine;

/* Times that a row may show. */
double bench_floor(const bench_machine *machine, const bench_row *row);
double bench_ratio(const bench_row *row); /* yardstick / ours, of the medians; 0: not run */
double bench_mteps(const bench_row *row);
double bench_memory_ratio(const bench_row *row);
/* "rmat.22 sorted" */
void bench_name(const bench_case *which, char text[64]);

/* Generate, build, solve and check one case. */
dzo_status bench_measure(cli_call *call, const bench_case *which, bench_row *row);

/* The cases that the settings choose are each passed to `visit`, until one fails. */
typedef cli_exit (*bench_visit)(void *user, const bench_case *which);
cli_exit bench_each_case(const bench_settings *settings, bench_visit visit, void *user);

void bench_print_header(FILE *out, const bench_machine *machine);
void bench_print_row(FILE *out, const bench_machine *machine, const bench_row *row);
void bench_print_notes(FILE *out);
/* All rows as one JSON object on one line. */
void bench_print_json(FILE *out, const bench_machine *machine, const bench_row *rows, size_t count);
/* The median (of an even number, the mean of the middle two) and the least. Sorts the times. */
void bench_summarize(double *times, uint64_t count, double *median, double *least);

/* Files for gnuplot in a folder, which bench_plot_folder() makes. */
enum { BENCH_PATH = 4096 };
cli_exit bench_plot_folder(const char *folder);
FILE *bench_plot_open(const char *folder, const char *name, char path[BENCH_PATH]);
cli_exit bench_plot_close(FILE *file, const char *path);
/* The path of a file as a gnuplot string. */
void bench_plot_quote(FILE *file, const char *folder, const char *name);
/* Run gnuplot, where it is installed, on a script that draws `pictures` beside itself. */
void bench_plot_draw(cli_call *call, char *script, const char *pictures);
/* Write msf.dat, msf.gp and, where gnuplot is installed, msf.png to `folder`. */
cli_exit bench_plot(cli_call *call, const char *folder, const bench_machine *machine,
                    const bench_row *rows, size_t count);

#endif
