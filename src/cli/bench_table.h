/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: batches on a table beside those on the seed's, on the CPU or in GPU memory. */
#ifndef DZO_CLI_BENCH_TABLE_H
#define DZO_CLI_BENCH_TABLE_H

#include "cli/bench.h"
#include "cli/bench_gpu.h"
#include "cli/json.h"
#include "dzo/table.h"

/* Who is measured. The seed: its table on the GPU, or its method on the CPU. */
typedef enum table_series { TABLE_ORDERED, TABLE_ANY_ORDER, TABLE_SEED, TABLE_SERIES } table_series;
extern const char *const table_series_names[TABLE_SERIES];

/* Times are seconds. */
typedef struct table_row {
  const char *part;                                 /* "operations", "mixed", ... */
  const char *operation;                            /* "insert", "find hit", ... */
  const char *data;                                 /* of keys: "unique", "zipf .99", ... */
  int bits;                                         /* of keys, and of values */
  uint64_t keys;                                    /* in the table, when full */
  double load;                                      /* of the table then */
  uint64_t queries;                                 /* of the batch that is timed */
  double median[TABLE_SERIES], least[TABLE_SERIES]; /* 0: not run */
  double goal; /* queries a second that were aimed at on an H200; 0: none */
  bool verified;
  char reason[256]; /* why not */
} table_row;

enum { TABLE_ROWS = 256 };

typedef struct table_bench {
  cli_call *call;
  const bench_settings *settings;
  gpu_bench gpu;        /* opened where the tables are on the GPU */
  dzo_context *context; /* of the tables */
  dzo_unit *unit;       /* their GPU, or NULL */
  char processor[128];
  int threads;
  double read_rate; /* bytes a second that the device reads in order */
  table_row rows[TABLE_ROWS];
  size_t count;
  bool wrong; /* some answer was */
} table_bench;

/* Run the parts that the settings choose, on the GPU or on the CPU. */
cli_exit bench_table_run(cli_call *call, bool gpu);

/* ---- Arrays of a batch, filled on the host ---- */

typedef struct table_array {
  table_bench *bench;
  void *host;
  void *device; /* NULL on the CPU */
  uint64_t bytes;
} table_array;
dzo_status table_array_make(table_bench *bench, uint64_t count, size_t size, table_array *out);
void table_array_free(table_array *array);
dzo_status table_array_send(table_array *array);  /* host to device, where there is one */
dzo_status table_array_fetch(table_array *array); /* and back */
/* The element `first` of where the tables are. */
void *table_array_at(const table_array *array, uint64_t first, size_t size);

/* The i-th of the keys that are all different, and the value that goes with a key. */
uint64_t table_key(int bits, uint64_t i);
uint64_t table_value(int bits, uint64_t key);
/* words[i] = table_key(first + i * stride % modulus), or the values of such keys. */
typedef struct table_fill {
  int bits;
  uint64_t first, stride, modulus;
  bool values;
} table_fill;
dzo_status table_array_fill(table_array *array, const table_fill *fill, uint64_t count);

/* ---- Contestants ---- */

typedef struct table_shape {
  int bits;
  uint64_t capacity;
  double load; /* with capacity pairs in it */
  bool growing;
} table_shape;

typedef struct table_contestant {
  dzo_table *table; /* NULL for the seed's */
  void *seed;
  table_bench *bench;
  table_series series;
} table_contestant;
/* Can that series be measured, for keys of so many bits? */
bool table_contestant_exists(const table_bench *bench, table_series series, int bits);
dzo_status table_contestant_create(table_bench *bench, table_series series,
                                   const table_shape *shape, table_contestant *out);
void table_contestant_destroy(table_contestant *who);
/* Does it tell more of a FIND than results? */
bool table_contestant_answers(const table_contestant *who);
dzo_status table_contestant_clear(table_contestant *who);
/* Run a batch, whose flags are set here, and tell how long it took: on the GPU's clock if it has
 * one. */
dzo_status table_contestant_time(table_contestant *who, dzo_table_batch *batch, double *seconds);
/* The same of any work on the queue 0. */
typedef dzo_status (*table_work_fn)(void *argument);
dzo_status table_bench_time(table_bench *bench, table_work_fn work, void *argument,
                            double *seconds);

/* ---- Parts ---- */

dzo_status table_bench_operations(table_bench *bench);
dzo_status table_bench_mixed(table_bench *bench);
dzo_status table_bench_growth(table_bench *bench);
dzo_status table_bench_sweep(table_bench *bench);
dzo_status table_bench_aggregate(table_bench *bench);
dzo_status table_bench_transfer(table_bench *bench);

/* What the parts share: sizes by --count and --quick, repeats, a row to fill, and a wrong answer.
 */
uint64_t table_bench_keys(const table_bench *bench, int bits);
uint64_t table_bench_repeats(const table_bench *bench);
void table_bench_add(table_bench *bench, const table_row *row);
void table_row_doubt(table_row *row, table_series series, const char *what);
/* Does every answer of a FIND of keys that are there hold its key's value? `answers` may be NULL.
 */
bool table_found_all(int bits, const table_array *keys, const table_array *results,
                     const table_array *answers, uint64_t count);

/* ---- Telling ---- */

void table_print_header(FILE *out, const table_bench *bench);
void table_print_row(FILE *out, const table_row *row);
void table_print_notes(FILE *out, const table_bench *bench);
void table_print_json(FILE *out, const table_bench *bench);
/* Write table.dat and table.gp, rate against load, and draw table.png and .svg. */
cli_exit table_plot(table_bench *bench, const char *folder);

#endif
