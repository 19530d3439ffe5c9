/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Who fills the table's rows: the CPU's threads or the GPU. Two rows, one read and one written, and
 * a bit for each cell that says whether the item is taken there. Cells are of 32 bits or of 64. */
#ifndef DZO_KNAPSACK_DENSE_ENGINE_H
#define DZO_KNAPSACK_DENSE_ENGINE_H

#include "knapsack/dense_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values in 32 bits, less the base of their span, lie within this of 0 where they are of use, and
 * never fall below DENSE_NONE, which is what no set has. */
#define DENSE_NONE INT32_C(-1610612736)
#define DENSE_LEAST INT32_C(-536870912)
/* In 64 bits they are what they are, and sums fit 62 bits. */
#define DENSE_NONE_WIDE (-(INT64_C(1) << 62))

struct dense_pass;
struct dense_stage;
typedef struct dense_step {
  const struct dense_pass *pass; /* NULL: one item, by segments */
  const dense_segment *segment;
  uint64_t segments;
  uint64_t width;      /* cells written */
  bool keep;           /* keep the decisions? */
  uint64_t first_word; /* where, in words of 64 */
} dense_step;

typedef struct dense_engine dense_engine;
typedef struct dense_engine_kind {
  /* Room for rows of `width` cells and so many words of decisions; the first row is one cell of
   * value 0. `segments`: of a step at most. */
  dzo_status (*open)(dense_engine *engine, uint64_t width, uint64_t words, uint64_t segments);
  void (*close)(dense_engine *engine);
  dzo_status (*step)(dense_engine *engine, const dense_step *step);
  /* Cells of the last row, into host memory. */
  dzo_status (*read)(dense_engine *engine, uint64_t first, uint64_t count, void *cells);
  dzo_status (*read_word)(dense_engine *engine, uint64_t word, uint64_t *bits);
  /* Back through `stages` passes, one behind another, the first of which has its decisions from
   * word `first` on: *weight becomes that of the level before them, chosen[items] what was taken.
   * NULL where there are no passes. */
  dzo_status (*follow)(dense_engine *engine, const struct dense_stage *stage, uint32_t stages,
                       uint64_t first, int64_t *weight, uint8_t *chosen);
} dense_engine_kind;

struct dense_engine {
  const dense_engine_kind *kind;
  knapsack_job *job;
  bool wide;
  void *row[2]; /* read from, written to: swapped by each step */
  uint64_t *decision;
  /* The GPU's. */
  void *device, *staging;
  uint64_t stride, tiles_at; /* bytes of staging for a step; before its list of tiles */
  unsigned steps;
};

extern const dense_engine_kind dense_engine_cpu;
extern const dense_engine_kind dense_engine_gpu;

#ifdef __cplusplus
}
#endif
#endif
