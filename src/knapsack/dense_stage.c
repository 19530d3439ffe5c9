/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/dense_stage.h"

/* As measured on an H200. */
#define STEP_RATE 3.3e11  /* cells a second, one item at a time */
#define PASS_RATE 2.2e12  /* of all levels, those that are thrown away included, */
#define PASS_BYTES 3.3e12 /* or so many bytes of the rows, whichever takes longer */
#define STEP_BEGIN 15e-6  /* seconds */
#define PASS_BEGIN 8e-6
enum { RESIDENT = 3, MOST_BLOCKS = 12 }; /* of a multiprocessor: at once, one after another */

static uint32_t columns_of(const dense_pass *p) {
  return DENSE_PASS_BITS / p->items * DENSE_PASS_LANES * DENSE_PASS_WARPS;
}

static uint64_t shared_bytes(const dense_pass *p) {
  return (uint64_t)2 * p->items * (p->pad + columns_of(p)) * sizeof(int32_t);
}

static uint32_t ceiling(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

/* How far the items take cells to the left of the one above; false: too far. */
static bool set_shifts(const dense_plan *plan, uint32_t level, dense_pass *p) {
  int64_t least = plan->weight[level + p->items - 1], halo = 0, most = 0;
  for (uint32_t i = 0; i < p->items; i++) {
    int64_t shift = plan->weight[level + i] - least;
    if (shift < 0 || shift > columns_of(p))
      return false;
    p->shift[i] = (uint32_t)shift;
    p->value[i] = (int32_t)plan->value[level + i];
    halo += shift;
    most = shift > most ? shift : most;
  }
  p->stride = (uint32_t)least;
  p->halo = (uint32_t)halo;
  p->pad = (uint32_t)most;
  return halo <= columns_of(p) / 2;
}

/* Rows that the busiest multiprocessor goes through: to begin takes a block as long as a row, and
 * those above its first one count as well. */
static double rows_of_busiest(const dzo_unit *unit, const dense_pass *p) {
  uint32_t blocks = p->tiles * ceiling(p->rows, p->rows_each);
  double each = p->rows_each < p->rows ? (double)p->rows_each + p->items : p->rows;
  return ceiling(blocks, (uint32_t)unit->processors) * (each + 1);
}

/* Blocks get a tile of as few columns as need be, and as many rows as suit the GPU best. */
static void cut(const dzo_unit *unit, uint32_t cells, dense_pass *p) {
  uint32_t chunk = DENSE_PASS_BITS / p->items * DENSE_PASS_LANES;
  p->tiles = ceiling(p->stride, columns_of(p) - p->halo);
  p->tile = ceiling(p->stride, p->tiles);
  p->chunk_first = p->halo / chunk;
  p->chunks = (p->halo + p->tile - 1) / chunk + 1 - p->chunk_first;
  p->rows = ceiling(cells, p->stride);
  dense_pass best = *p;
  best.rows_each = p->rows;
  for (uint32_t blocks = RESIDENT; blocks <= MOST_BLOCKS; blocks++) {
    p->rows_each = ceiling(p->rows, ceiling(blocks * (uint32_t)unit->processors, p->tiles));
    if (rows_of_busiest(unit, p) < rows_of_busiest(unit, &best))
      best.rows_each = p->rows_each;
  }
  p->rows_each = best.rows_each;
}

/* A pass of p->items from this level on, where there can be one. Values within it are less the base
 * of its first level, and within 32 bits where all of its cells would make one span. */
static bool set_pass(const dense_plan *plan, const dzo_unit *unit, uint32_t level, dense_pass *p) {
  for (uint32_t j = level; j <= level + p->items; j++)
    if (plan->first[j + 1] - plan->first[j] != 1)
      return false;
  const dense_span *in = &plan->span[plan->first[level]],
                   *out = &plan->span[plan->first[level + p->items]];
  int64_t cells = out->high - in->low + 1;
  if (out->low < in->low || cells > plan->longest || cells > INT32_MAX / 2 ||
      plan->weight[level] > cells || !set_shifts(plan, level, p))
    return false;
  p->low = in->low;
  p->in_count = (uint32_t)(in->high - in->low + 1);
  p->out_first = (uint32_t)(out->low - in->low);
  p->out_count = (uint32_t)(out->high - out->low + 1);
  p->add = (int32_t)(in->base - out->base);
  cut(unit, (uint32_t)cells, p);
  return shared_bytes(p) <= unit->shared;
}

/* Threads in the halo do what others do as well. */
static double pass_seconds(const dzo_unit *unit, const dense_pass *p) {
  double columns = (double)(p->tile + p->halo);
  double work = rows_of_busiest(unit, p) * unit->processors * columns * p->items / PASS_RATE,
         bytes = sizeof(int32_t) * ((double)p->in_count * columns / p->tile + p->out_count) +
                 (double)p->rows * p->stride * p->items / 8;
  return PASS_BEGIN + (work > bytes / PASS_BYTES ? work : bytes / PASS_BYTES);
}

double dense_stage_make(const dense_plan *plan, const dzo_unit *unit, uint32_t level,
                        dense_stage *stage) {
  stage->level = level;
  stage->items = 1;
  uint64_t width = dense_plan_width(plan, level + 1);
  stage->words = (width + 63) / 64;
  double best = STEP_BEGIN + (double)width / STEP_RATE;
  bool is_narrow = plan->rate > 0;
  for (uint32_t items = DENSE_PASS_ITEMS; unit != NULL && is_narrow && items > 1; items /= 2) {
    dense_pass p = {.items = items};
    if (items > plan->items - level || !set_pass(plan, unit, level, &p))
      continue;
    double each = pass_seconds(unit, &p) / items;
    if (each >= best)
      continue;
    best = each;
    stage->items = items;
    stage->pass = p;
    stage->words = (uint64_t)p.rows * p.tiles * p.chunks * (DENSE_PASS_LANES / 2);
  }
  return best * stage->items;
}
