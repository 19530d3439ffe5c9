/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The table's rows on the GPU. The CPU cuts the next step while the GPU works on the last two. */
#include <string.h>

#include "knapsack/dense_stage.h"
#include "knapsack/dense_tile.h"

enum { SLOTS = 2, LINE = 256 };

static uint64_t whole_lines(uint64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static dzo_status gpu_open(dense_engine *e, uint64_t width, uint64_t words, uint64_t segments) {
  dzo_unit *unit = e->job->gpu;
  uint64_t cell = e->wide ? sizeof(int64_t) : sizeof(int32_t);
  uint64_t tiles = width / DENSE_TILE + 2 * segments;
  e->tiles_at = whole_lines(segments * sizeof(dense_segment));
  e->stride = e->tiles_at + whole_lines(tiles * sizeof(uint32_t));
  DZO_TRY(dzo_unit_staging(unit, SLOTS * e->stride, &e->staging));
  DZO_TRY(dzo_unit_allocate(unit, SLOTS * e->stride, 1, &e->device));
  DZO_TRY(dzo_unit_allocate(unit, width, cell, &e->row[0]));
  DZO_TRY(dzo_unit_allocate(unit, width, cell, &e->row[1]));
  void *decision;
  DZO_TRY(dzo_unit_allocate(unit, words + 1, sizeof(uint64_t), &decision));
  e->decision = decision;
  DZO_TRY(dzo_unit_fill(unit, 0, decision, 0, words * sizeof(uint64_t)));
  return dzo_unit_fill(unit, 0, e->row[0], 0, cell);
}

static void gpu_close(dense_engine *e) {
  dzo_unit *unit = e->job->gpu;
  (void)dzo_unit_wait(unit, 0);
  dzo_unit_release(unit, e->device);
  dzo_unit_release(unit, e->row[0]);
  dzo_unit_release(unit, e->row[1]);
  dzo_unit_release(unit, e->decision);
}

/* Copies the segments, and lists their tiles. */
static uint32_t list_tiles(const dense_step *step, dense_segment *segment, uint32_t *of_tile) {
  uint64_t tiles = 0;
  memcpy(segment, step->segment, step->segments * sizeof *segment);
  for (uint64_t i = 0; i < step->segments; i++) {
    segment[i].tile = tiles;
    uint64_t cells = segment[i].out % DENSE_BITS + segment[i].count;
    for (uint64_t end = tiles + (cells + DENSE_TILE - 1) / DENSE_TILE; tiles < end; tiles++)
      of_tile[tiles] = (uint32_t)i;
  }
  return (uint32_t)tiles;
}

static dzo_status launch_tiles(dense_engine *e, const dense_step *step, unsigned slot) {
  dzo_unit *unit = e->job->gpu;
  char *staging = (char *)e->staging + slot * e->stride,
       *device = (char *)e->device + slot * e->stride;
  uint32_t tiles = list_tiles(step, (void *)staging, (void *)(staging + e->tiles_at));
  if (tiles == 0)
    return DZO_OK;
  DZO_TRY(dzo_unit_copy(unit, 0, device, staging, step->segments * sizeof(dense_segment)));
  DZO_TRY(dzo_unit_copy(unit, 0, device + e->tiles_at, staging + e->tiles_at,
                        tiles * sizeof(uint32_t)));
  dense_tiles work = {
      .segment = (void *)device,
      .of_tile = (void *)(device + e->tiles_at),
      .count = tiles,
      .in = e->row[0],
      .out = e->row[1],
      .bits = step->keep ? (uint32_t *)(void *)(e->decision + step->first_word) : NULL,
  };
  return dense_tiles_run(unit, 0, e->wide, &work);
}

static dzo_status gpu_step(dense_engine *e, const dense_step *step) {
  dzo_unit *unit = e->job->gpu;
  unsigned slot = e->steps++ % SLOTS;
  if (e->steps > SLOTS)
    DZO_TRY(dzo_unit_wait_mark(unit, (int)slot));
  if (step->pass != NULL)
    DZO_TRY(
        dense_pass_run(unit, 0, step->pass, e->row[0], e->row[1],
                       step->keep ? (uint32_t *)(void *)(e->decision + step->first_word) : NULL));
  else
    DZO_TRY(launch_tiles(e, step, slot));
  void *row = e->row[0];
  e->row[0] = e->row[1];
  e->row[1] = row;
  return dzo_unit_mark(unit, 0, (int)slot);
}

static dzo_status gpu_read(dense_engine *e, uint64_t first, uint64_t count, void *cells) {
  uint64_t cell = e->wide ? sizeof(int64_t) : sizeof(int32_t);
  DZO_TRY(dzo_unit_copy(e->job->gpu, 0, cells, (char *)e->row[0] + first * cell, count * cell));
  return dzo_unit_wait(e->job->gpu, 0);
}

static dzo_status gpu_read_word(dense_engine *e, uint64_t word, uint64_t *bits) {
  void *mailbox;
  DZO_TRY(dzo_unit_mailbox(e->job->gpu, &mailbox));
  DZO_TRY(dzo_unit_copy(e->job->gpu, 0, mailbox, e->decision + word, sizeof *bits));
  DZO_TRY(dzo_unit_wait(e->job->gpu, 0));
  memcpy(bits, mailbox, sizeof *bits);
  return DZO_OK;
}

/* room: the weight, then a byte for each item. */
static dzo_status follow_in(dense_engine *e, const dense_stage *stage, uint32_t stages,
                            uint64_t first, int64_t *weight, uint8_t *chosen, void *room) {
  dzo_unit *unit = e->job->gpu;
  uint8_t *bytes = (uint8_t *)room + sizeof *weight;
  uint32_t items = stage[stages - 1].level + stage[stages - 1].items - stage->level;
  DZO_TRY(dzo_unit_copy(unit, 0, room, weight, sizeof *weight));
  for (uint32_t k = stages; k-- > 0;) {
    uint64_t word = first + stage[k].before - stage->before;
    DZO_TRY(dense_pass_follow(unit, 0, &stage[k].pass, (uint32_t *)(void *)(e->decision + word),
                              room, bytes + (stage[k].level - stage->level)));
  }
  DZO_TRY(dzo_unit_copy(unit, 0, weight, room, sizeof *weight));
  DZO_TRY(dzo_unit_copy(unit, 0, chosen, bytes, items));
  return dzo_unit_wait(unit, 0);
}

static dzo_status gpu_follow(dense_engine *e, const dense_stage *stage, uint32_t stages,
                             uint64_t first, int64_t *weight, uint8_t *chosen) {
  uint32_t items = stage[stages - 1].level + stage[stages - 1].items - stage->level;
  void *room;
  DZO_TRY(dzo_unit_allocate(e->job->gpu, sizeof *weight + items, 1, &room));
  dzo_status status = follow_in(e, stage, stages, first, weight, chosen, room);
  dzo_unit_release(e->job->gpu, room);
  return status;
}

const dense_engine_kind dense_engine_gpu = {gpu_open, gpu_close,     gpu_step,
                                            gpu_read, gpu_read_word, gpu_follow};
