/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Names numbered by first appearance. Known names are looked up in parallel; new ones, soon rare,
 * are entered one after another in the order of the edges, so that the numbers do not depend on
 * the threads. Names that are small for the number of vertices are looked up in an array, others in
 * an open hash table, whose slots hold a number of 4 bytes only; the name is at labels[number]. */
#include <string.h>

#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "io/vertex_ids.h"

enum { GRAIN = 1 << 13, FIRST_CAPACITY = 1 << 12, BATCH = 32, SPREAD = 4 };

static const uint32_t EMPTY = UINT32_MAX;

struct dzo_vertex_ids {
  uint64_t count;
  uint64_t *labels; /* [room] */
  uint64_t room;
  uint32_t *direct; /* [direct_size] the number of each name, or EMPTY */
  uint64_t direct_size;
  uint32_t *slots; /* [capacity], EMPTY or a number; at most 3/4 full */
  uint64_t capacity;
  uint64_t hashed; /* names in the table */
};

/* As in vertex_ids.c: the finalizer of MurmurHash3 (Appleby). */
DZO_ITEM uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
  x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ (x >> 33);
}

/* From its first slot on, the slot of a name, or the empty one where it would go. */
DZO_ITEM uint64_t slot_from(const dzo_vertex_ids *ids, uint64_t slot, uint64_t name) {
  while (ids->slots[slot] != EMPTY && ids->labels[ids->slots[slot]] != name)
    slot = (slot + 1) & (ids->capacity - 1);
  return slot;
}

/* An array of `size` numbers, all of them EMPTY. */
static uint32_t *empty_array(dzo_context *context, uint64_t size) {
  uint32_t *array = dzo_alloc(context, size, sizeof *array);
  if (array != NULL)
    memset(array, 0xff, size * sizeof *array);
  return array;
}

static dzo_status resize_table(dzo_context *context, dzo_vertex_ids *ids, uint64_t capacity) {
  uint32_t *slots = empty_array(context, capacity);
  if (slots == NULL)
    return DZO_E_MEMORY;
  dzo_free(ids->slots);
  ids->slots = slots;
  ids->capacity = capacity;
  ids->hashed = 0;
  for (uint64_t i = 0; i < ids->count; i++) {
    if (ids->labels[i] < ids->direct_size)
      continue;
    slots[slot_from(ids, mix(ids->labels[i]) & (capacity - 1), ids->labels[i])] = (uint32_t)i;
    ids->hashed++;
  }
  return DZO_OK;
}

/* Let the array hold names below `size`, and the table all others. */
static dzo_status resize_direct(dzo_context *context, dzo_vertex_ids *ids, uint64_t size) {
  dzo_free(ids->direct);
  ids->direct_size = 0;
  ids->direct = empty_array(context, size);
  if (ids->direct == NULL)
    return DZO_E_MEMORY;
  ids->direct_size = size;
  uint64_t others = 0, capacity = FIRST_CAPACITY;
  for (uint64_t i = 0; i < ids->count; i++) {
    if (ids->labels[i] < size)
      ids->direct[ids->labels[i]] = (uint32_t)i;
    else
      others++;
  }
  while (others > capacity / 2)
    capacity *= 2;
  return resize_table(context, ids, capacity);
}

dzo_status dzo_vertex_ids_create(dzo_context *context, dzo_vertex_ids **out) {
  *out = NULL;
  dzo_vertex_ids *ids = dzo_calloc(context, 1, sizeof *ids);
  if (ids == NULL)
    return DZO_E_MEMORY;
  dzo_status status = resize_table(context, ids, FIRST_CAPACITY);
  if (status != DZO_OK) {
    dzo_free(ids);
    return status;
  }
  *out = ids;
  return DZO_OK;
}

void dzo_vertex_ids_destroy(dzo_vertex_ids *ids) {
  if (ids == NULL)
    return;
  dzo_free(ids->labels);
  dzo_free(ids->direct);
  dzo_free(ids->slots);
  dzo_free(ids);
}

/* Where the number of a name is or goes. */
DZO_ITEM uint32_t *place_of(const dzo_vertex_ids *ids, uint64_t name) {
  return name < ids->direct_size
             ? &ids->direct[name]
             : &ids->slots[slot_from(ids, mix(name) & (ids->capacity - 1), name)];
}

static dzo_status enter(dzo_context *context, dzo_vertex_ids *ids, uint64_t name, uint32_t *out) {
  uint32_t *place = place_of(ids, name);
  *out = *place;
  if (*out != EMPTY)
    return DZO_OK;
  if (ids->count == UINT32_MAX)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "more than 2^32 - 1 different vertices");
  if (ids->count == ids->room) {
    uint64_t room = ids->room + ids->room / 4 + 1024;
    uint64_t *labels = dzo_realloc(context, ids->labels, room, sizeof *labels);
    if (labels == NULL)
      return DZO_E_MEMORY;
    ids->labels = labels;
    ids->room = room;
  }
  *out = *place = (uint32_t)ids->count;
  ids->labels[ids->count++] = name;
  if (name < ids->direct_size)
    return DZO_OK;
  ids->hashed++;
  if (name / SPREAD < ids->count && name < UINT32_MAX)
    return resize_direct(context, ids, name + name / 4 + FIRST_CAPACITY);
  if (ids->hashed > ids->capacity / 4 * 3)
    return resize_table(context, ids, 2 * ids->capacity);
  return DZO_OK;
}

typedef struct lookup {
  const dzo_vertex_ids *ids;
  uint64_t *const *names;
  uint32_t *end[2];
} lookup;

/* Every step of a look-up may miss the caches, so a batch takes each step together. */
static void look_up_batch(const dzo_vertex_ids *ids, const uint64_t *names, uint64_t count,
                          uint32_t *out) {
  const uint32_t *places[BATCH];
  uint64_t mask = ids->capacity - 1;
  for (uint64_t i = 0; i < count; i++) {
    places[i] =
        names[i] < ids->direct_size ? &ids->direct[names[i]] : &ids->slots[mix(names[i]) & mask];
    DZO_PREFETCH(places[i]);
  }
  for (uint64_t i = 0; i < count; i++)
    if (names[i] >= ids->direct_size && *places[i] != EMPTY)
      DZO_PREFETCH(&ids->labels[*places[i]]);
  for (uint64_t i = 0; i < count; i++)
    out[i] = names[i] < ids->direct_size
                 ? *places[i]
                 : ids->slots[slot_from(ids, (uint64_t)(places[i] - ids->slots), names[i])];
}

static void look_up(void *argument, uint64_t begin, uint64_t end, int thread) {
  lookup *l = argument;
  (void)thread;
  for (int side = 0; side < 2; side++)
    for (uint64_t i = begin; i < end; i += BATCH)
      look_up_batch(l->ids, l->names[side] + i, end - i < BATCH ? end - i : BATCH,
                    l->end[side] + i);
}

dzo_status dzo_vertex_ids_add(dzo_context *context, dzo_vertex_ids *ids, uint64_t *const names[2],
                              uint64_t count, uint32_t *u, uint32_t *v) {
  lookup job = {ids, names, {u, v}};
  dzo_parallel_for(context->threads, count, GRAIN, look_up, &job);
  for (uint64_t i = 0; i < count; i++)
    for (int side = 0; side < 2; side++)
      if (job.end[side][i] == EMPTY)
        DZO_TRY(enter(context, ids, names[side][i], &job.end[side][i]));
  return DZO_OK;
}

uint64_t dzo_vertex_ids_count(const dzo_vertex_ids *ids) { return ids->count; }

const uint64_t *dzo_vertex_ids_labels(const dzo_vertex_ids *ids) { return ids->labels; }
