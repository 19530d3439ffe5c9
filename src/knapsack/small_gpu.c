/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Small problems through the GPU, in pieces: while one is packed by the CPU's threads, another is
 * on its way or being solved. Numbers go in 32 bits, which all problems that the GPU takes need. */
#include "knapsack/small_gpu.h"

#include <string.h>

#include "base/parallel.h"

enum { SLOTS = 2, GRAIN = 256, PIECE_ITEMS = 1 << 20, PIECE_PROBLEMS = 1 << 15, LINE = 256 };

/* One of the pieces under way, in staging memory and on the GPU alike: what goes in, then what
 * comes out. */
typedef struct slot {
  char *staging, *device;
  uint64_t first, count;
  bool busy;
} slot;

typedef struct pipeline {
  knapsack_job *job;
  const knapsack_smalls *smalls;
  uint64_t items, problems; /* of a piece, at most */
  uint32_t most_items;      /* of a problem that the GPU takes */
  uint64_t offset, capacity, best, taken, rest, counters, bits, end; /* bytes from its start */
  slot slots[SLOTS];
  uint64_t cells;
} pipeline;

static uint64_t take(uint64_t *at, uint64_t bytes) {
  uint64_t here = *at;
  *at += (bytes + LINE - 1) / LINE * LINE;
  return here;
}

/* Items come first; `rest` and what is behind it is on the GPU alone. */
static void lay_out(pipeline *p) {
  uint64_t at = 0;
  (void)take(&at, p->items * sizeof(small_gpu_item));
  p->offset = take(&at, (p->problems + 1) * sizeof(uint32_t));
  p->capacity = take(&at, p->problems * sizeof(int32_t));
  p->best = take(&at, p->problems * sizeof(int64_t));
  p->counters = take(&at, SMALL_GPU_COUNTERS * sizeof(uint64_t));
  p->taken = take(&at, p->items);
  p->rest = take(&at, SMALL_GPU_LISTS * p->problems * sizeof(small_gpu_rest));
  p->bits = take(&at, small_gpu_bit_words(p->job->gpu) * sizeof(uint32_t));
  p->end = at;
}

static uint64_t items_of(const knapsack_smalls *s, uint64_t problem) {
  return s->offsets[problem + 1] - s->offsets[problem];
}

typedef struct piece {
  const pipeline *pipeline;
  const slot *slot;
} piece;

/* Pack a problem; false: the GPU does not take it. */
static bool pack_problem(const knapsack_smalls *s, uint64_t problem, small_gpu_item *to) {
  if (items_of(s, problem) > SMALL_GPU_ITEMS)
    return false;
  uint64_t bits = 0, value = 0, weight = 0;
  for (uint64_t i = s->offsets[problem]; i < s->offsets[problem + 1]; i++, to++) {
    bits |= (uint64_t)s->value[i];
    value += (uint64_t)s->value[i];
    weight += (uint64_t)s->weight[i];
    *to = (small_gpu_item){(uint32_t)s->value[i], (uint32_t)s->weight[i]};
  }
  return bits <= INT32_MAX && value <= INT32_MAX && weight > (uint64_t)s->capacity[problem];
}

static void pack(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const piece *x = argument;
  const pipeline *p = x->pipeline;
  const knapsack_smalls *s = p->smalls;
  char *staging = x->slot->staging;
  small_gpu_item *items = (void *)staging;
  uint32_t *offset = (void *)(staging + p->offset);
  int32_t *capacity = (void *)(staging + p->capacity);
  for (uint64_t k = begin; k < end; k++) {
    uint64_t problem = x->slot->first + k;
    offset[k] = (uint32_t)(s->offsets[problem] - s->offsets[x->slot->first]);
    bool packed = pack_problem(s, problem, items + offset[k]);
    capacity[k] = packed ? (int32_t)s->capacity[problem] : -1;
  }
}

static void unpack(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const piece *x = argument;
  const pipeline *p = x->pipeline;
  const knapsack_smalls *s = p->smalls;
  uint64_t first = x->slot->first + begin, last = x->slot->first + end;
  uint64_t from = s->offsets[first], skipped = from - s->offsets[x->slot->first];
  memcpy(s->best + first, x->slot->staging + p->best + begin * sizeof(int64_t),
         (end - begin) * sizeof(int64_t));
  memcpy(s->taken + from, x->slot->staging + p->taken + skipped, s->offsets[last] - from);
}

/* As many problems from `first` on as a piece has room for. */
static uint64_t cut(const pipeline *p, uint64_t first) {
  const knapsack_smalls *s = p->smalls;
  uint64_t end = s->count - first < p->problems ? s->count : first + p->problems;
  while (s->offsets[end] - s->offsets[first] > p->items)
    end = first + (end - first) / 2;
  return end - first;
}

static dzo_status begin_piece(pipeline *p, int number) {
  slot *slot = &p->slots[number];
  dzo_unit *unit = p->job->gpu;
  int queue = 1 + number;
  piece x = {p, slot};
  dzo_parallel_for(p->job->threads, slot->count, GRAIN, pack, &x);
  uint64_t items = p->smalls->offsets[slot->first + slot->count] - p->smalls->offsets[slot->first];
  ((uint32_t *)(void *)(slot->staging + p->offset))[slot->count] = (uint32_t)items;
  char *device = slot->device;
  DZO_TRY(dzo_unit_copy(unit, queue, device, slot->staging, items * sizeof(small_gpu_item)));
  DZO_TRY(dzo_unit_copy(unit, queue, device + p->offset, slot->staging + p->offset,
                        (slot->count + 1) * sizeof(uint32_t)));
  DZO_TRY(dzo_unit_copy(unit, queue, device + p->capacity, slot->staging + p->capacity,
                        slot->count * sizeof(int32_t)));
  DZO_TRY(dzo_unit_fill(unit, queue, device + p->best, 0xff, slot->count * sizeof(int64_t)));
  DZO_TRY(dzo_unit_fill(unit, queue, device + p->taken, 0, items));
  DZO_TRY(
      dzo_unit_fill(unit, queue, device + p->counters, 0, SMALL_GPU_COUNTERS * sizeof(uint64_t)));
  small_gpu_batch batch = {
      .count = (uint32_t)slot->count,
      .most_items = p->most_items,
      .offset = (void *)(device + p->offset),
      .item = (void *)device,
      .capacity = (void *)(device + p->capacity),
      .best = (void *)(device + p->best),
      .taken = (void *)(device + p->taken),
      .rest = (void *)(device + p->rest),
      .counters = (void *)(device + p->counters),
      .bits = (void *)(device + p->bits),
  };
  DZO_TRY(small_gpu_launch(unit, queue, &batch));
  DZO_TRY(dzo_unit_copy(unit, queue, slot->staging + p->best, device + p->best,
                        p->taken + items - p->best));
  slot->busy = true;
  return dzo_unit_mark(unit, queue, number);
}

static dzo_status end_piece(pipeline *p, int number) {
  slot *slot = &p->slots[number];
  if (!slot->busy)
    return DZO_OK;
  slot->busy = false;
  DZO_TRY(dzo_unit_wait_mark(p->job->gpu, number));
  piece x = {p, slot};
  dzo_parallel_for(p->job->threads, slot->count, 16 * GRAIN, unpack, &x);
  const uint64_t *counters = (void *)(slot->staging + p->counters);
  p->cells += counters[SMALL_GPU_CELLS];
  return DZO_OK;
}

static dzo_status run(pipeline *p) {
  uint64_t first = 0;
  for (int number = 0; first < p->smalls->count; number = (number + 1) % SLOTS) {
    DZO_TRY(end_piece(p, number));
    if (knapsack_must_stop(p->job))
      break;
    slot *slot = &p->slots[number];
    slot->first = first;
    slot->count = cut(p, first);
    DZO_TRY(begin_piece(p, number));
    first += slot->count;
  }
  for (int number = 0; number < SLOTS; number++)
    DZO_TRY(end_piece(p, number));
  return DZO_OK;
}

dzo_status small_gpu_run(knapsack_job *job, const knapsack_smalls *smalls, uint64_t *cells) {
  pipeline p = {.job = job, .smalls = smalls};
  uint64_t items = smalls->offsets[smalls->count];
  /* A piece holds the largest problem in any case. */
  p.items = items < PIECE_ITEMS ? items : PIECE_ITEMS;
  p.problems = smalls->count < PIECE_PROBLEMS ? smalls->count : PIECE_PROBLEMS;
  for (uint64_t i = 0; i < smalls->count; i++) {
    uint64_t one = items_of(smalls, i);
    if (one <= SMALL_GPU_ITEMS && one > p.most_items)
      p.most_items = (uint32_t)one;
  }
  lay_out(&p);
  void *device, *staging;
  DZO_TRY(dzo_unit_workspace(job->gpu, SLOTS * p.end, &device));
  DZO_TRY(dzo_unit_staging(job->gpu, SLOTS * p.rest, &staging));
  for (int i = 0; i < SLOTS; i++) {
    p.slots[i].device = (char *)device + (uint64_t)i * p.end;
    p.slots[i].staging = (char *)staging + (uint64_t)i * p.rest;
  }
  dzo_status status = run(&p);
  *cells += p.cells;
  return status;
}
