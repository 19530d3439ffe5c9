/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Filling the table, and following its decisions back. Where not all decisions fit into memory,
 * those of the last levels are kept; they lead back to one cell of an earlier level, and the table
 * is filled anew up to there, for that cell alone, which needs fewer cells than before. */
#include "base/memory.h"
#include "knapsack/dense.h"
#include "knapsack/dense_stage.h"

enum { PIECE = 1 << 16 };

typedef struct filling {
  knapsack_job *job;
  const dense_rest *rest;
  dense_plan *plan;
  dense_engine engine;
  dense_segment *segment;
  dense_stage *stage; /* [plan->items] */
  uint32_t stages;
  int64_t *cells;      /* [PIECE] room for reading a row */
  uint32_t kept;       /* decisions of this stage and those behind it are kept, */
  uint32_t kept_level; /* and this is the level before them */
  uint64_t done;       /* cells */
} filling;

/* The set of a cell of the last level. */
typedef struct cell {
  int64_t weight, value;
} cell;

uint64_t dense_row_bytes(const dense_plan *plan, bool wide) {
  return 2 * plan->widest * (wide ? sizeof(int64_t) : sizeof(int32_t)) +
         dense_plan_segments(plan) * sizeof(dense_segment);
}

/* As many of the last stages as the memory has room for; at least one. */
static bool choose_kept(filling *f, uint64_t bytes) {
  uint64_t rows = dense_row_bytes(f->plan, f->engine.wide);
  uint64_t words = bytes > rows ? (bytes - rows) / sizeof(uint64_t) : 0;
  f->kept = f->stages;
  for (uint64_t sum = 0; f->kept > 0; f->kept--) {
    sum += f->stage[f->kept - 1].words;
    if (sum > words)
      break;
  }
  if (f->kept == f->stages)
    return false;
  f->kept_level = f->stage[f->kept].level;
  return true;
}

static bool fits(filling *f, const dense_engine_kind *kind, uint64_t bytes) {
  const dense_plan *p = f->plan;
  f->engine.kind = kind;
  f->stages = 0;
  uint64_t before = 0;
  for (uint32_t level = 0; level < p->items; f->stages++) {
    dense_stage *stage = &f->stage[f->stages];
    dense_stage_make(p, kind == &dense_engine_gpu ? f->job->gpu : NULL, level, stage);
    stage->before = before;
    before += stage->words;
    level += stage->items;
  }
  return choose_kept(f, bytes);
}

/* The GPU where it is faster, or nobody else may; DZO_E_MEMORY where neither has the room. */
static dzo_status choose_engine(filling *f) {
  knapsack_job *job = f->job;
  bool wants_gpu = job->gpu != NULL && (!job->cpu || dense_seconds(f->plan, job, true) <
                                                         dense_seconds(f->plan, job, false));
  uint64_t available = wants_gpu ? dzo_unit_available(job->gpu) : 0;
  if (wants_gpu && fits(f, &dense_engine_gpu, available - available / 16))
    return DZO_OK;
  if (fits(f, &dense_engine_cpu, job->memory))
    return DZO_OK;
  return dzo_fail(job->context, DZO_E_MEMORY, "a table of %llu capacities needs %llu MB of memory",
                  (unsigned long long)f->plan->widest,
                  (unsigned long long)(dense_row_bytes(f->plan, f->engine.wide) >> 20));
}

static dzo_status fill_rows(filling *f) {
  const dense_plan *p = f->plan;
  for (uint32_t k = 0; k < f->stages && !knapsack_must_stop(f->job); k++) {
    const dense_stage *stage = &f->stage[k];
    uint32_t end = stage->level + stage->items;
    dense_step step = {.segment = f->segment,
                       .width = dense_plan_width(p, end),
                       .keep = k >= f->kept,
                       .first_word = stage->before - f->stage[f->kept].before};
    if (stage->items > 1)
      step.pass = &stage->pass;
    else
      step.segments = dense_plan_cut(p, stage->level, f->segment);
    DZO_TRY(f->engine.kind->step(&f->engine, &step));
    for (uint32_t level = stage->level + 1; level <= end; level++)
      f->done += dense_plan_width(p, level);
  }
  return DZO_OK;
}

/* The best of `count` cells from number `first` on, which belong to a span. */
static void look(const filling *f, const dense_span *span, uint64_t first, uint64_t count,
                 cell *best) {
  const int32_t *narrow = (const int32_t *)f->cells;
  for (uint64_t i = 0; i < count; i++) {
    int64_t value = f->engine.wide ? f->cells[i] : narrow[i];
    if (value < (f->engine.wide ? 0 : DENSE_LEAST) || value + span->base <= best->value)
      continue;
    *best = (cell){span->low + (int64_t)(first + i - span->at), value + span->base};
  }
}

static dzo_status find_best(filling *f, cell *best) {
  const dense_plan *p = f->plan;
  for (uint64_t i = p->first[p->items]; i < p->first[p->items + 1]; i++) {
    const dense_span *span = &p->span[i];
    uint64_t count = (uint64_t)(span->high - span->low) + 1;
    for (uint64_t k = 0; k < count; k += PIECE) {
      uint64_t piece = count - k < PIECE ? count - k : PIECE;
      DZO_TRY(f->engine.kind->read(&f->engine, span->at + k, piece, f->cells));
      look(f, span, span->at + k, piece, best);
    }
  }
  return DZO_OK;
}

/* Is the stage's only item taken where it leads to this weight? */
static dzo_status read_decision(filling *f, const dense_stage *stage, int64_t weight,
                                uint8_t *chosen) {
  const dense_span *span = dense_plan_find(f->plan, stage->level + 1, weight);
  uint64_t bit = span->at + (uint64_t)(weight - span->low), bits;
  uint64_t first = stage->before - f->stage[f->kept].before;
  DZO_TRY(f->engine.kind->read_word(&f->engine, first + bit / 64, &bits));
  *chosen = bits >> (bit % 64) & 1;
  return DZO_OK;
}

/* Back to the level before what is kept; *weight is that of the items before it then. */
static dzo_status follow(filling *f, int64_t *weight, uint8_t *chosen) {
  for (uint32_t end = f->stages; end > f->kept;) {
    const dense_stage *stage = &f->stage[end - 1];
    uint32_t passes = 0;
    while (end - passes > f->kept && f->stage[end - passes - 1].items > 1)
      passes++;
    if (passes > 0) {
      end -= passes;
      stage = &f->stage[end];
      DZO_TRY(f->engine.kind->follow(&f->engine, stage, passes,
                                     stage->before - f->stage[f->kept].before, weight,
                                     chosen + stage->level));
      continue;
    }
    end--;
    DZO_TRY(read_decision(f, stage, *weight, &chosen[stage->level]));
    *weight -= chosen[stage->level] ? f->plan->weight[stage->level] : 0;
  }
  return DZO_OK;
}

static dzo_status fill_and_follow(filling *f, cell *best, bool *found, uint8_t *chosen) {
  const dense_plan *p = f->plan;
  const dense_stage *last = &f->stage[f->stages - 1];
  uint64_t words = last->before + last->words - f->stage[f->kept].before;
  DZO_TRY(f->engine.kind->open(&f->engine, p->widest, words, dense_plan_segments(p)));
  DZO_TRY(fill_rows(f));
  if (knapsack_must_stop(f->job))
    return DZO_OK;
  cell start = *best;
  DZO_TRY(find_best(f, best));
  *found = best->value > start.value;
  return *found ? follow(f, &best->weight, chosen) : DZO_OK;
}

static dzo_status fill_once(filling *f, cell *best, bool *found, uint8_t *chosen,
                            knapsack_answer *answer) {
  dzo_context *context = f->job->context;
  f->segment = dzo_alloc(context, dense_plan_segments(f->plan), sizeof *f->segment);
  f->cells = dzo_alloc(context, PIECE, sizeof *f->cells);
  f->stage = dzo_alloc(context, f->plan->items, sizeof *f->stage);
  dzo_status status = DZO_E_MEMORY;
  if (f->segment != NULL && f->cells != NULL && f->stage != NULL)
    status = choose_engine(f);
  if (status == DZO_OK) {
    status = fill_and_follow(f, best, found, chosen);
    f->engine.kind->close(&f->engine);
  }
  dzo_free(f->segment);
  dzo_free(f->cells);
  dzo_free(f->stage);
  answer->cells += f->done;
  if (f->engine.kind == &dense_engine_gpu)
    answer->device = DZO_DEVICE_CUDA;
  return status;
}

/* A plan of the first items of another, for sets of exactly this weight. */
static dzo_status plan_again(dense_plan *plan, uint32_t items, int64_t weight) {
  dense_plan_free(plan);
  plan->items = items;
  return dense_plan_make(plan, weight, weight, UINT64_MAX);
}

/* What was chosen has to be worth what the table said, and to fit. */
static bool is_right(const dense_rest *rest, const uint8_t *chosen, int64_t value) {
  int64_t left = rest->capacity;
  for (uint32_t j = 0; j < rest->items; j++) {
    value -= chosen[j] ? rest->value[j] : 0;
    left -= chosen[j] ? rest->weight[j] : 0;
  }
  return value == 0 && left >= 0;
}

static dzo_status not_right(knapsack_job *job, const knapsack_answer *answer) {
  static const char *const text = "a table of capacities does not add up";
  if (job->gpu != NULL && answer->device == DZO_DEVICE_CUDA)
    return dzo_unit_lose(job->gpu, "%s", text);
  return dzo_fail(job->context, DZO_E_DEVICE, "%s", text);
}

dzo_status dense_fill(knapsack_job *job, const dense_rest *rest, dense_plan *plan, int64_t *value,
                      uint8_t *chosen, bool *found, knapsack_answer *answer) {
  *found = false;
  int64_t best_value = 0;
  for (uint32_t above = UINT32_MAX; above > 0;) {
    bool again = above < UINT32_MAX, here = false;
    cell best = {0, again ? INT64_MIN : *value};
    filling f = {.job = job, .rest = rest, .plan = plan};
    f.engine = (dense_engine){.job = job, .wide = !rest->narrow};
    DZO_TRY(fill_once(&f, &best, &here, chosen, answer));
    if (!here)
      return again && !knapsack_must_stop(job) ? not_right(job, answer) : DZO_OK;
    best_value = again ? best_value : best.value;
    above = f.kept_level;
    if (above > 0)
      DZO_TRY(plan_again(plan, above, best.weight));
  }
  if (!is_right(rest, chosen, best_value))
    return not_right(job, answer);
  *found = true;
  *value = best_value;
  return DZO_OK;
}
