/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench knapsack: methods side by side on the same instances. */
#ifndef DZO_CLI_BENCH_KNAPSACK_H
#define DZO_CLI_BENCH_KNAPSACK_H

#include "cli/bench.h"
#include "cli/json.h"
#include "dzo/knapsack.h"

/* Who is measured. */
typedef enum knapsack_who {
  KNAPSACK_BY_BRUTE_FORCE,
  KNAPSACK_BY_BRUTE_FORCE_GPU,
  KNAPSACK_BY_SEED_BRUTE_FORCE, /* the kernels as published */
  KNAPSACK_BY_HOROWITZ_SAHNI,
  KNAPSACK_BY_HYBRID,
  KNAPSACK_BY_HYBRID_GPU,
  KNAPSACK_BY_SEED_HYBRID,
  KNAPSACK_BY_CORE,
  KNAPSACK_BY_TWO_LIST,
  KNAPSACK_BY_TWO_LIST_GPU,
  KNAPSACK_BY_DENSE,
  KNAPSACK_BY_DENSE_GPU,
  KNAPSACK_BY_AUTO,
  KNAPSACK_BY_AUTO_GPU,
  KNAPSACK_BY_TEXTBOOK, /* a core method as textbooks have it */
  KNAPSACK_WHO
} knapsack_who;

typedef enum knapsack_end {
  KNAPSACK_NOT_RUN,
  KNAPSACK_RAN,
  KNAPSACK_GAVE_UP, /* at the time limit, or for want of memory */
  KNAPSACK_REFUSED  /* it does not solve such instances */
} knapsack_end;

/* Times are seconds. */
typedef struct knapsack_entry {
  knapsack_end end;
  double median, least;
  double limit; /* of a run */
} knapsack_entry;

typedef struct knapsack_row {
  const char *part;
  char name[160]; /* a class, or a file */
  uint64_t items;
  uint64_t instances; /* solved in one call; 1 but for batches */
  int64_t range;      /* 0: unknown */
  int64_t capacity;
  knapsack_entry by[KNAPSACK_WHO];
  bool known; /* some method proved `value` */
  dzo_int128 value;
  unsigned agree; /* methods that proved it */
  bool verified;
  char reason[256]; /* why not */
} knapsack_row;

/* Two of the columns, and what to call how many times the second is faster. */
typedef struct knapsack_ratio {
  const char *name;
  knapsack_who slow, fast;
} knapsack_ratio;

typedef struct knapsack_bench knapsack_bench;

typedef struct knapsack_part {
  const char *name, *title;
  uint32_t columns; /* bit i: knapsack_who i */
  bool one_thread;
  bool auto_first; /* and the others only some times as long, unless a limit was given */
  bool bare;       /* the seed's methods see the instance as it is: no divisors, no reductions */
  knapsack_ratio ratios[3]; /* the last ones may be empty */
  dzo_status (*run)(knapsack_bench *bench);
} knapsack_part;

struct knapsack_bench {
  cli_call *call;
  const bench_settings *settings;
  dzo_context *cpu, *single, *gpu; /* all threads; one; NULL: none */
  char processor[128], gpu_name[128];
  int threads;
  const knapsack_part *part; /* that is running */
  double patience;           /* seconds a run may take; 0: as the settings say */
  knapsack_row *rows;
  size_t count, room;
  bool wrong;
};

cli_exit bench_knapsack_run(cli_call *call);

/* ---- What the parts share ---- */

/* Run all columns of the part on an instance and add the row, of which name and range are set. */
dzo_status knapsack_bench_row(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                              knapsack_row *row);
/* The same for one of the generator's: 50/101 of the weights fit, and of Finkelstein's an odd half.
 */
dzo_status knapsack_bench_class(knapsack_bench *bench, dzo_knapsack_class kind, uint64_t items,
                                int64_t range, uint64_t seed, uint32_t columns, knapsack_row *row);
dzo_status knapsack_bench_add(knapsack_bench *bench, const knapsack_row *row);
void knapsack_row_doubt(knapsack_row *row, const char *who, const char *what);
double knapsack_bench_limit(const knapsack_bench *bench); /* seconds a run may take */
/* Add a run's answer to what is known of the row's instance. */
void knapsack_bench_agree(knapsack_row *row, const char *who, dzo_int128 value);
dzo_status knapsack_bench_fill(knapsack_bench *bench, dzo_knapsack_class kind, uint64_t items,
                               int64_t range, uint64_t seed, int64_t *values, int64_t *weights,
                               int64_t *capacity);

/* ---- Who ---- */

typedef struct knapsack_contestant {
  const char *name;
  dzo_knapsack_algorithm algorithm;
  bool gpu;
} knapsack_contestant;
extern const knapsack_contestant knapsack_contestants[KNAPSACK_WHO];
/* Columns that this machine has. */
uint32_t knapsack_bench_columns(const knapsack_bench *bench);
/* Solve once. DZO_OK also where the run was given up or refused, as *end says. */
dzo_status knapsack_bench_solve(knapsack_bench *bench, knapsack_who who,
                                const dzo_knapsack_instance *instance, knapsack_row *row,
                                knapsack_end *end, double *seconds);

/* ---- Parts ---- */

dzo_status knapsack_bench_thesis(knapsack_bench *bench);
dzo_status knapsack_bench_growth(knapsack_bench *bench);
dzo_status knapsack_bench_classes(knapsack_bench *bench);
dzo_status knapsack_bench_sums(knapsack_bench *bench);
dzo_status knapsack_bench_files(knapsack_bench *bench);
dzo_status knapsack_bench_batch(knapsack_bench *bench);

/* ---- Telling ---- */

void knapsack_print_header(FILE *out, const knapsack_bench *bench);
void knapsack_print_part(FILE *out, const knapsack_bench *bench);
void knapsack_print_row(FILE *out, const knapsack_bench *bench, const knapsack_row *row);
void knapsack_print_notes(FILE *out, const knapsack_bench *bench);
void knapsack_print_json(FILE *out, const knapsack_bench *bench);
/* Write knapsack.dat and knapsack.gp, time against items, and draw knapsack.png and .svg. */
cli_exit knapsack_plot(knapsack_bench *bench, const char *folder);

#endif
