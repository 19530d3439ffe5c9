/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The memory of a filter on the GPU. */
#include "msf/gpu_filter.h"

#include "device/primitives.h"

/* Cuts pieces off a block of memory; with no block, only adds up. */
typedef struct cutter {
  char *memory;
  uint64_t used;
} cutter;

static void *cut(cutter *c, uint64_t count, uint64_t size) {
  void *piece = c->memory == NULL ? NULL : c->memory + c->used;
  c->used += (count * size + 255) / 256 * 256;
  return piece;
}

static uint64_t scratch_bytes(const msf_filter_shape *shape) {
  uint64_t tiles = shape->capacity / MSF_TILE + 1;
  uint64_t sort = dzo_gpu_sort_keys_bytes(shape->unit, shape->capacity);
  uint64_t sum = dzo_gpu_sum_bytes(shape->unit, tiles > shape->room ? tiles : shape->room);
  return sort > sum ? sort : sum;
}

/* Where nothing is ranked, one array is enough to merge. */
static uint64_t second_words(const msf_filter_shape *shape) {
  bool ranks = !shape->ordered || shape->wide || shape->ranked;
  return ranks ? shape->capacity : 0;
}

static void place(msf_filter *f, cutter *c) {
  const msf_filter_shape *shape = &f->shape;
  const bool there[MSF_COLUMNS] = {[MSF_U] = true,
                                   [MSF_V] = true,
                                   [MSF_ID] = true,
                                   [MSF_KEY] = true,
                                   [MSF_KEY_HIGH] = shape->wide,
                                   [MSF_ID_HIGH] = shape->long_ids};
  f->control = cut(c, 1, sizeof *f->control);
  for (int i = 0; i < MSF_COLUMNS; i++)
    f->columns[i] = there[i] ? cut(c, shape->capacity, sizeof(uint32_t)) : NULL;
  f->nodes = cut(c, 2 * shape->room + 128, sizeof *f->nodes);
  f->names = shape->named ? cut(c, shape->room, sizeof *f->names) : NULL;
  f->first = cut(c, shape->capacity, sizeof *f->first);
  f->second = cut(c, second_words(shape), sizeof *f->second);
  f->masks = cut(c, shape->chunk_edges / 32 + MSF_EACH * MSF_TILE / 32, sizeof *f->masks);
  f->taken = cut(c, shape->capacity / 32 + 1, sizeof *f->taken);
  f->tiles = cut(c, shape->capacity / MSF_TILE + 2, sizeof *f->tiles);
  f->kept = cut(c, shape->chunk_edges / MSF_TILE + 1, sizeof *f->kept);
  f->scratch_bytes = scratch_bytes(shape);
  f->scratch = cut(c, f->scratch_bytes, 1);
}

uint64_t msf_filter_bytes(const msf_filter_shape *shape) {
  msf_filter f = {.shape = *shape};
  cutter c = {0};
  place(&f, &c);
  return c.used;
}

void msf_filter_place(msf_filter *f, dzo_unit *unit, const msf_filter_shape *shape, void *memory) {
  *f = (msf_filter){.unit = unit, .shape = *shape};
  cutter c = {.memory = memory};
  place(f, &c);
}

/* They stand at the end of `second`, of which roots and bits take the beginning and the middle. */
uint32_t msf_filter_looks(const msf_filter *f) {
  uint64_t looks = f->shape.capacity / 16;
  return looks < 1024 ? (uint32_t)looks : 1024;
}
