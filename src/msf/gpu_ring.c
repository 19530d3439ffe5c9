/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_ring.h"

#include "base/parallel.h"

enum { FILTERS = 0, COPIES = 1 }; /* queues */

/* Marks: of each group's copies, of its filters, and of the copy that is filtered next. */
enum { COPIED = 0, FILTERED = MSF_GROUPS, ARRIVED = 2 * MSF_GROUPS };

enum { UNITS_MAX = 1 << 19, UNITS_MIN = 1 << 6 };

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint64_t slots_bytes(const msf_ring_shape *shape) {
  return shape->device_slots * msf_slot_bytes(shape->units, shape->key_bytes, shape->lists);
}

uint64_t msf_ring_bytes(const msf_ring_shape *shape) {
  return msf_filter_bytes(&shape->filter) + slots_bytes(shape);
}

static bool fits(msf_ring_shape *shape, uint64_t capacity, uint64_t bytes) {
  shape->filter.capacity = capacity;
  return msf_ring_bytes(shape) <= bytes;
}

/* A batch of twice as many edges as vertices: merging costs about as much as both, and a longer one
 * would gain little. */
static uint64_t wanted_capacity(const msf_ring_shape *shape) {
  uint64_t batch = 2 * shape->filter.room;
  if (batch < UNITS_MAX)
    batch = UNITS_MAX;
  if (batch > shape->edges)
    batch = shape->edges;
  if (batch < shape->units)
    batch = shape->units;
  uint64_t capacity = shape->filter.room + batch;
  return capacity < MSF_FILTER_EDGES_MAX ? capacity : MSF_FILTER_EDGES_MAX;
}

/* The largest batch for chunks of this size. */
static bool fit_batch(msf_ring_shape *shape, uint64_t bytes) {
  uint64_t high = wanted_capacity(shape), low = shape->filter.room + shape->units;
  if (low > high || !fits(shape, low, bytes))
    return false;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2;
    if (fits(shape, middle, bytes))
      low = middle;
    else
      high = middle - 1;
  }
  return fits(shape, low, bytes);
}

bool msf_ring_plan(msf_ring_shape *shape, uint64_t bytes) {
  uint64_t units = UNITS_MAX, piece = shape->piece > 0 ? shape->piece : shape->edges;
  while (units > UNITS_MIN && units / 2 >= piece)
    units /= 2;
  for (; units >= UNITS_MIN; units /= 2) {
    shape->units = units;
    shape->filter.chunk_edges = units;
    shape->group_chunks = units >= UNITS_MAX / 16 ? 4 : 1;
    shape->device_slots = 7 * shape->group_chunks;
    shape->slots = 2 * (uint32_t)shape->threads + shape->group_chunks;
    if (shape->slots > shape->device_slots)
      shape->slots = shape->device_slots;
    if ((units == UNITS_MIN || slots_bytes(shape) <= bytes / 10) && fit_batch(shape, bytes))
      return true;
  }
  return false;
}

dzo_status msf_ring_fit(msf_ring_shape *shape, dzo_unit *unit) {
  uint64_t bytes = dzo_unit_available(unit) + unit->workspace_bytes;
  if (msf_ring_plan(shape, bytes))
    return DZO_OK;
  return dzo_fail(unit->context, DZO_E_MEMORY,
                  "the forest of %llu vertices does not fit into %llu bytes of GPU memory",
                  (unsigned long long)shape->filter.room, (unsigned long long)bytes);
}

static uint64_t words_of_masks(const msf_ring_shape *shape) {
  return shape->retain ? (shape->units / MSF_TILE + 1) * (MSF_TILE / 32) : 0;
}

dzo_status msf_ring_open(msf_ring *ring, dzo_unit *unit, const msf_ring_shape *shape) {
  void *memory = NULL, *staging = NULL;
  uint64_t filter_bytes = msf_filter_bytes(&shape->filter);
  uint64_t slot_bytes = msf_slot_bytes(shape->units, shape->key_bytes, shape->lists);
  uint64_t mask_words = words_of_masks(shape);
  DZO_TRY(dzo_unit_workspace(unit, msf_ring_bytes(shape), &memory));
  DZO_TRY(dzo_unit_staging(
      unit, shape->slots * (slot_bytes + mask_words * sizeof(uint32_t)) + 256 + shape->extra,
      &staging));
  *ring = (msf_ring){.unit = unit,
                     .slot_bytes = slot_bytes,
                     .slots = shape->slots,
                     .device_slots = shape->device_slots,
                     .group_chunks = shape->group_chunks,
                     .staging = staging,
                     .device = (char *)memory + filter_bytes,
                     .mask_words = mask_words};
  ring->counts = (uint64_t *)(void *)(ring->staging + shape->slots * slot_bytes);
  ring->masks = (uint32_t *)(void *)(ring->counts + 256 / sizeof *ring->counts);
  ring->extra = ring->masks + shape->slots * mask_words;
  msf_filter_place(&ring->filter, unit, &shape->filter, memory);
  return DZO_OK;
}

char *msf_ring_slot(const msf_ring *ring, uint64_t chunk) {
  return ring->staging + chunk % ring->slots * ring->slot_bytes;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static int mark_of(int kind, uint64_t group) { return kind + (int)(group % MSF_GROUPS); }

static msf_ring_group *group_at(msf_ring *ring, uint64_t group) {
  return &ring->groups[group % MSF_GROUPS];
}

static uint32_t *masks_of(const msf_ring *ring, uint64_t chunk) {
  return ring->masks + chunk % ring->slots * ring->mask_words;
}

static dzo_status retain_until(msf_ring *ring, uint64_t end) {
  for (; ring->retain != NULL && ring->retained < end; ring->retained++)
    DZO_TRY(ring->retain(ring->retain_argument, ring->retained, masks_of(ring, ring->retained)));
  return DZO_OK;
}

/* Wait for the oldest group whose count is not known. */
static dzo_status count_group(msf_ring *ring) {
  DZO_TRY(dzo_unit_wait_mark(ring->unit, mark_of(FILTERED, ring->counted)));
  DZO_TRY(retain_until(ring, group_at(ring, ring->counted)->end));
  ring->known = ring->counts[ring->counted % MSF_GROUPS];
  ring->counted++;
  if (ring->copied < ring->counted)
    ring->copied = ring->counted;
  return DZO_OK;
}

static dzo_status close_group(msf_ring *ring) {
  while (ring->closed - ring->counted >= MSF_GROUPS)
    DZO_TRY(count_group(ring));
  uint64_t group = ring->closed;
  DZO_TRY(dzo_unit_mark(ring->unit, COPIES, mark_of(COPIED, group)));
  DZO_TRY(msf_filter_count(&ring->filter, &ring->counts[group % MSF_GROUPS]));
  DZO_TRY(dzo_unit_mark(ring->unit, FILTERS, mark_of(FILTERED, group)));
  *group_at(ring, group) = (msf_ring_group){ring->submitted, ring->open_edges};
  ring->open_edges = 0;
  ring->closed++;
  return DZO_OK;
}

static uint64_t last_end(msf_ring *ring) {
  return ring->closed == 0 ? 0 : group_at(ring, ring->closed - 1)->end;
}

/* Edges in the columns at most. */
static uint64_t most_edges(msf_ring *ring) {
  uint64_t edges = ring->known + ring->open_edges;
  for (uint64_t g = ring->counted; g < ring->closed; g++)
    edges += group_at(ring, g)->edges;
  return edges;
}

dzo_status msf_ring_settle(msf_ring *ring, uint64_t *count) {
  DZO_TRY(close_group(ring));
  while (ring->counted < ring->closed)
    DZO_TRY(count_group(ring));
  *count = ring->known;
  return DZO_OK;
}

uint64_t msf_ring_released(const msf_ring *ring) {
  uint64_t groups = ring->retain != NULL ? ring->counted : ring->copied;
  return groups == 0 ? 0 : ring->groups[(groups - 1) % MSF_GROUPS].end;
}

dzo_status msf_ring_reclaim(msf_ring *ring) {
  uint64_t groups = ring->retain != NULL ? ring->counted : ring->copied;
  if (groups == ring->closed && ring->submitted > last_end(ring))
    DZO_TRY(close_group(ring));
  if (groups == ring->closed)
    return DZO_OK;
  if (ring->retain != NULL)
    return count_group(ring);
  DZO_TRY(dzo_unit_wait_mark(ring->unit, mark_of(COPIED, ring->copied)));
  ring->copied++;
  return DZO_OK;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

dzo_status msf_ring_merge(msf_ring *ring) {
  uint64_t count;
  DZO_TRY(msf_ring_settle(ring, &count));
  DZO_TRY(msf_filter_merge(&ring->filter, count));
  ring->known = count < ring->filter.vertices ? count : ring->filter.vertices;
  ring->merges++;
  return DZO_OK;
}

dzo_status msf_ring_has_room(msf_ring *ring, uint64_t edges, bool *fits) {
  while (most_edges(ring) + edges > ring->filter.shape.capacity) {
    *fits = false;
    if (ring->counted == ring->closed && ring->open_edges == 0)
      return DZO_OK;
    if (ring->counted == ring->closed)
      DZO_TRY(close_group(ring));
    DZO_TRY(count_group(ring));
  }
  *fits = true;
  return DZO_OK;
}

/* Copies must not overtake the filters of the chunk that had the slot before. */
static dzo_status await_slot(msf_ring *ring) {
  if (ring->submitted < ring->device_slots)
    return DZO_OK;
  uint64_t before = ring->submitted - ring->device_slots;
  for (uint64_t g = ring->counted; g < ring->closed; g++)
    if (group_at(ring, g)->end > before)
      return dzo_unit_queue_after(ring->unit, COPIES, mark_of(FILTERED, g));
  return DZO_OK;
}

dzo_status msf_ring_submit(msf_ring *ring, const msf_packed *packed) {
  if (packed->edges > 0) {
    bool fits;
    DZO_TRY(msf_ring_has_room(ring, packed->edges, &fits));
    if (!fits)
      DZO_TRY(msf_ring_merge(ring));
    char *to = ring->device + ring->submitted % ring->device_slots * ring->slot_bytes;
    DZO_TRY(await_slot(ring));
    DZO_TRY(
        dzo_unit_copy(ring->unit, COPIES, to, msf_ring_slot(ring, ring->submitted), packed->bytes));
    DZO_TRY(dzo_unit_mark(ring->unit, COPIES, ARRIVED));
    DZO_TRY(dzo_unit_queue_after(ring->unit, FILTERS, ARRIVED));
    msf_chunk chunk = msf_packed_chunk(packed, to);
    DZO_TRY(msf_filter_chunk(&ring->filter, &chunk));
    if (ring->retain != NULL)
      DZO_TRY(dzo_unit_copy(ring->unit, FILTERS, masks_of(ring, ring->submitted),
                            ring->filter.masks, (packed->edges + 31) / 32 * sizeof(uint32_t)));
  }
  ring->submitted++;
  ring->open_edges += packed->edges;
  if (ring->submitted - last_end(ring) >= ring->group_chunks)
    DZO_TRY(close_group(ring));
  return DZO_OK;
}

/* ---- The way back ---------------------------------------------------------------------------- */

enum { PIECE_MAX = 1 << 20, FETCH_GRAIN = 1 << 13, COLUMNS_MAX = 8 };

dzo_status msf_ring_components(msf_ring *ring, uint32_t *components) {
  DZO_TRY(dzo_unit_copy(ring->unit, FILTERS, ring->counts, &ring->filter.control->components,
                        sizeof *components));
  DZO_TRY(dzo_unit_wait(ring->unit, FILTERS));
  *components = *(const uint32_t *)(const void *)ring->counts;
  return DZO_OK;
}

typedef struct fetch_job {
  uint64_t first;
  const uint32_t *columns[COLUMNS_MAX];
  msf_take_fn take;
  void *argument;
} fetch_job;

static void take_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const fetch_job *job = argument;
  job->take(job->argument, job->first, job->columns, begin, end);
}

/* Where column k of a piece arrives; pieces take turns with the halves of the staging slots. */
static uint32_t *landing(const msf_ring *ring, uint64_t piece, int number, int half, int k) {
  return (uint32_t *)(void *)ring->staging + piece * (uint64_t)(half * number + k);
}

static dzo_status ask(msf_ring *ring, uint32_t *const *columns, int number, uint64_t count,
                      uint64_t piece, uint64_t at) {
  uint64_t here = count - at < piece ? count - at : piece;
  int half = (int)(at / piece % 2);
  for (int k = 0; k < number; k++)
    DZO_TRY(dzo_unit_copy(ring->unit, FILTERS, landing(ring, piece, number, half, k),
                          columns[k] + at, here * sizeof **columns));
  return dzo_unit_mark(ring->unit, FILTERS, half);
}

dzo_status msf_ring_fetch(msf_ring *ring, uint32_t *const *columns, int number, uint64_t count,
                          msf_take_fn take, void *argument) {
  uint64_t piece = ring->slots * ring->slot_bytes / 2 / sizeof **columns / (uint64_t)number;
  if (piece > PIECE_MAX)
    piece = PIECE_MAX;
  if (count > 0)
    DZO_TRY(ask(ring, columns, number, count, piece, 0));
  for (uint64_t at = 0; at < count; at += piece) {
    if (count - at > piece)
      DZO_TRY(ask(ring, columns, number, count, piece, at + piece));
    int half = (int)(at / piece % 2);
    DZO_TRY(dzo_unit_wait_mark(ring->unit, half));
    fetch_job job = {.first = at, .take = take, .argument = argument};
    for (int k = 0; k < number; k++)
      job.columns[k] = landing(ring, piece, number, half, k);
    dzo_parallel_for(ring->unit->context->threads, count - at < piece ? count - at : piece,
                     FETCH_GRAIN, take_range, &job);
  }
  return DZO_OK;
}
