/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Knapsack instances and solutions in files. Numbers may be decimals: values, and weights with the
 * capacity, are integers times a power of ten each, the same in all of a file. */
#ifndef DZO_IO_KNAPSACK_H
#define DZO_IO_KNAPSACK_H

#include "dzo/knapsack.h"
#include "io/input.h"

typedef enum dzo_knapsack_format {
  DZO_KNAPSACK_FILE_AUTO,     /* by content */
  DZO_KNAPSACK_FILE_PISINGER, /* name, n, c, z, time, `index,profit,weight,x` ..., "-----" */
  DZO_KNAPSACK_FILE_JOOKEN,   /* n, `id profit weight` ..., capacity */
  DZO_KNAPSACK_FILE_PLAIN,    /* `n capacity`, `profit weight` ... */
  DZO_KNAPSACK_FILE_CSV,      /* a line of column names, an item a line, no capacity */
  DZO_KNAPSACK_FILE_FSU       /* NAME_c.txt, NAME_w.txt, NAME_p.txt, NAME_s.txt */
} dzo_knapsack_format;
/* "pisinger" */
const char *dzo_knapsack_format_name(dzo_knapsack_format format);

typedef struct dzo_knapsack_read_options {
  dzo_knapsack_format format;
  const char *capacity; /* a number in the place of the files' own; NULL: theirs */
  /* CSV: a name of the first line, or a number from 1; NULL: the usual names. */
  const char *value_column, *weight_column, *count_column, *name_column;
} dzo_knapsack_read_options;

/* Where an instance comes from. */
typedef struct dzo_knapsack_origin {
  dzo_knapsack_format format;
  int value_places, weight_places; /* numbers stand for number * 10^-places */
  uint64_t name;                   /* place in `text`, or UINT64_MAX */
  bool has_optimum;                /* the file tells it */
  int64_t optimum;
} dzo_knapsack_origin;

/* Instances one behind another, as dzo_knapsack_batch takes them. Arrays are dzo_alloc'ed. */
typedef struct dzo_knapsack_set {
  uint64_t count;    /* instances */
  uint64_t *offsets; /* [count + 1] */
  int64_t *capacities;
  dzo_knapsack_origin *origins;
  uint64_t items; /* offsets[count] */
  int64_t *values, *weights;
  int64_t *copies; /* NULL: one of each */
  uint64_t *names; /* [items] places in `text`, or UINT64_MAX; NULL: no item has a name */
  char *text;      /* names, each with its terminator */
  uint64_t text_size;
  uint64_t instance_room, item_room, text_room;
} dzo_knapsack_set;

/* Append the instances of a file ("-": standard input) to a set, which begins as zeros. On failure
 * the set is as it was. DZO_E_IO; DZO_E_FORMAT and DZO_E_UNSUPPORTED name file and line; an
 * instance without a capacity is DZO_E_ARGUMENT, as are columns that are not there. */
dzo_status dzo_knapsack_read(dzo_context *context, const char *path,
                             const dzo_knapsack_read_options *options, dzo_knapsack_set *set);
/* The same of an open input, which is whole; one column of a set of four files is refused. */
dzo_status dzo_knapsack_read_input(dzo_context *context, dzo_input *input,
                                   const dzo_knapsack_read_options *options, dzo_knapsack_set *set);
void dzo_knapsack_set_release(dzo_knapsack_set *set);

/* Write instances of integers. FSU is not written. CSV holds one instance and not its capacity.
 * Names are for PISINGER; NULL: "knapsack". */
dzo_status dzo_knapsack_write(dzo_context *context, const char *path, dzo_knapsack_format format,
                              const char *name, const dzo_knapsack_instance *instance);

/* ---- Solutions ------------------------------------------------------------------------------- */

/* A claim about an instance of a set: the solution file is text,
 *
 *   instance 3          before the items of instance 3; not needed for the first
 *   # value 77.25       comments; these two are checked, others are skipped
 *   # weight 20.625
 *   4                   one item 4
 *   6 2                 two copies of item 6
 *
 * or a 0 or 1 for each item of a single instance, a line each. */
typedef struct dzo_knapsack_solution {
  int64_t *taken;                       /* [items of the set] */
  uint8_t *told;                        /* [instances] 1: the file has a part for it */
  uint8_t *claims;                      /* [instances] 1: a value, 2: a weight, 3: both */
  dzo_int128 *value_sums, *weight_sums; /* [instances] claimed, times 10^places */
} dzo_knapsack_solution;

dzo_status dzo_knapsack_solution_read(dzo_context *context, const char *path,
                                      const dzo_knapsack_set *set, dzo_knapsack_solution *out);
/* The same of an open input, which is whole. */
dzo_status dzo_knapsack_solution_read_input(dzo_context *context, dzo_input *input,
                                            const dzo_knapsack_set *set,
                                            dzo_knapsack_solution *out);
void dzo_knapsack_solution_release(dzo_knapsack_solution *solution);

#endif
