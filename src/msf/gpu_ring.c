/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_ring.h"

#include "base/clock.h"

/* Queues. Chunks take turns with two for copies, so that the bus need not wait between them; but
 * two that are copied at once arrive at once, and later: not where a few long ones fill the ring.
 */
enum { FILTERS = MSF_RING_FILTERS, COPIES = MSF_RING_COPIES, LANES = 2 };

/* Marks: of each group's copies in both queues, of its filters, and of the last copy in each queue.
 */
enum { COPIED = 0, FILTERED = LANES * MSF_GROUPS, ARRIVED = (LANES + 1) * MSF_GROUPS };
_Static_assert((int)(ARRIVED + LANES) <= (int)MSF_RING_MERGED, "marks of their own");

/* Of a chunk. What is packed had better stay in a processor's cache; whole rows are copied from
 * where they lie, and long copies waste less of the bus. */
enum { UNITS_MAX = 1 << 18, WHOLE_UNITS_MAX = 1 << 21, WHOLE_UNITS_SHORT = 1 << 20 };
enum { UNITS_MIN = 1 << 6 };
enum { SHORT_RING = 32 };  /* slots on the device */
enum { NEWS_BYTES = 512 }; /* of staging memory, for tallies and the control block */
_Static_assert(MSF_GROUPS * sizeof(msf_filter_tally) + sizeof(msf_filter_control) <= NEWS_BYTES,
               "room for the news");

/* Staging memory: slots for whole rows, which only need it on the way back; and how much of it for
 * a thread that packs. */
enum { WHOLE_SLOTS = 8, WHOLE_SLOT_BYTES = 1 << 22, STAGING_BYTES = 10 << 20 };

/* On the device, more than comes in the longest merge. */
#define RING_BYTES (UINT64_C(1) << 30)

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint64_t slot_bytes_of(const msf_ring_shape *shape) {
  return msf_slot_bytes(shape->units, shape->key_bytes, shape->lists);
}

static uint64_t slots_bytes(const msf_ring_shape *shape) {
  return shape->device_slots * slot_bytes_of(shape);
}

uint64_t msf_ring_bytes(const msf_ring_shape *shape) {
  return msf_filter_bytes(&shape->filter) + slots_bytes(shape);
}

static bool fits(msf_ring_shape *shape, uint64_t capacity, uint64_t bytes) {
  shape->filter.capacity = capacity;
  return msf_ring_bytes(shape) <= bytes;
}

/* A batch of as many edges as vertices. Each merge costs as much as forest and batch are long, and
 * after each, twice as many edges can come before the next: shorter batches and longer ones both
 * cost more. */
static uint64_t wanted_batch(const msf_ring_shape *shape) {
  uint64_t batch = shape->filter.room;
  if (batch < UNITS_MAX)
    batch = UNITS_MAX;
  if (batch > shape->edges)
    batch = shape->edges;
  return batch < shape->units ? shape->units : batch;
}

/* And as much again for what has been sent and not yet counted: of most chunks little is kept, but
 * the host must not wait to know. */
static uint64_t wanted_capacity(const msf_ring_shape *shape) {
  uint64_t capacity = shape->filter.room + 2 * wanted_batch(shape);
  uint64_t least = shape->filter.room + shape->units;
  if (shape->most > 0 && capacity > shape->most)
    capacity = shape->most > least ? shape->most : least;
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

/* So many that chunks on their way still fit, of which much may be kept. */
static uint64_t enough_of(const msf_ring_shape *shape) {
  uint64_t wanted = shape->filter.room + wanted_batch(shape);
  uint64_t capacity = shape->filter.capacity, most = capacity - (capacity - shape->filter.room) / 8;
  return wanted < most ? wanted : most;
}

/* Of a graph, whose rows and arcs take a place each in chunks; UINT64_MAX: not known. */
static uint64_t places_of(const msf_ring_shape *shape) {
  return shape->edges == UINT64_MAX ? UINT64_MAX : shape->filter.room + 2 * shape->edges;
}

/* Slots of staging memory: threads go on packing while a batch is merged, as long as there are free
 * ones. Pinning a slot takes as long as copying its bytes twenty times. */
static uint32_t count_slots(const msf_ring_shape *shape, uint64_t chunks) {
  uint64_t threads = (uint64_t)shape->threads, least = threads + threads / 2 + 4;
  uint64_t most = threads * STAGING_BYTES / slot_bytes_of(shape), slots = chunks / 16;
  slots = slots < most ? slots : most;
  slots = slots > least ? slots : least;
  slots = shape->whole ? WHOLE_SLOTS : shape->retain ? least : slots;
  slots = slots < chunks || slots < MSF_GROUPS ? slots : chunks;
  return (uint32_t)(slots < MSF_SLOTS_MAX ? slots : MSF_SLOTS_MAX);
}

/* As many slots on the device as this part of its memory holds, so that chunks go on arriving while
 * a batch is merged; no more than there are chunks for. */
static bool plan_slots(msf_ring_shape *shape, uint64_t bytes, uint64_t part) {
  enum { LEAST = MSF_GROUPS - 1, MOST = 32 * LEAST };
  uint64_t chunks = places_of(shape) / shape->units + 1;
  uint64_t most = bytes / part < RING_BYTES ? bytes / part : RING_BYTES;
  uint64_t room = most / slot_bytes_of(shape);
  bool fit = room >= (shape->whole && shape->units > WHOLE_UNITS_SHORT ? SHORT_RING : LEAST);
  room = room < 2 * chunks ? room : 2 * chunks;
  room = room < MOST ? room : MOST;
  shape->device_slots = room > LEAST ? (uint32_t)room : LEAST;
  shape->group_chunks = shape->device_slots / LEAST;
  shape->slots = count_slots(shape, chunks);
  return fit || shape->units == UNITS_MIN;
}

/* A fifth of the memory for chunks on their way, but no more than a tenth where batches would
 * become short of that. */
static bool share_memory(msf_ring_shape *shape, uint64_t bytes) {
  uint64_t least = shape->filter.room + shape->filter.room / 4;
  if (plan_slots(shape, bytes, 5) && fit_batch(shape, bytes) && shape->filter.capacity >= least)
    return true;
  return plan_slots(shape, bytes, 10) && fit_batch(shape, bytes);
}

bool msf_ring_plan(msf_ring_shape *shape, uint64_t bytes) {
  uint64_t units = shape->whole ? WHOLE_UNITS_MAX : UNITS_MAX;
  uint64_t piece = shape->piece > 0 ? shape->piece : places_of(shape) / (shape->whole ? 16 : 2);
  while (units > UNITS_MIN && units / 2 >= piece)
    units /= 2;
  for (; units >= UNITS_MIN; units /= 2) {
    shape->units = units;
    shape->filter.chunk_edges = units;
    if (share_memory(shape, bytes))
      return true;
  }
  return false;
}

dzo_status msf_ring_fit(msf_ring_shape *shape, dzo_unit *unit) {
  uint64_t bytes = dzo_unit_available(unit) + unit->workspace_bytes;
  shape->filter.unit = unit;
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
  uint64_t slot_bytes = slot_bytes_of(shape);
  if (shape->whole && slot_bytes > WHOLE_SLOT_BYTES)
    slot_bytes = WHOLE_SLOT_BYTES;
  uint64_t mask_words = words_of_masks(shape);
  bool is_short = shape->whole && shape->device_slots < SHORT_RING;
  DZO_TRY(dzo_unit_workspace(unit, msf_ring_bytes(shape), &memory));
  DZO_TRY(dzo_unit_staging(
      unit, shape->slots * (slot_bytes + mask_words * sizeof(uint32_t)) + NEWS_BYTES + shape->extra,
      &staging));
  *ring = (msf_ring){.unit = unit,
                     .slot_bytes = slot_bytes,
                     .key_bytes = shape->key_bytes,
                     .slots = shape->slots,
                     .group_chunks = shape->group_chunks,
                     .copy_chunks = (shape->slots + 7) / 8,
                     .lanes = is_short ? 1 : LANES,
                     .is_short = is_short,
                     .staging = staging,
                     .device = (char *)memory + filter_bytes,
                     .device_bytes = slots_bytes(shape),
                     .mask_words = mask_words,
                     .enough = enough_of(shape)};
  char *news = ring->staging + shape->slots * slot_bytes;
  ring->tallies = (msf_filter_tally *)(void *)news;
  ring->control = (msf_filter_control *)(void *)(ring->tallies + MSF_GROUPS);
  ring->masks = (uint32_t *)(void *)(news + NEWS_BYTES);
  ring->extra = ring->masks + shape->slots * mask_words;
  msf_filter_place(&ring->filter, unit, &shape->filter, memory);
  return DZO_OK;
}

void msf_ring_abandon(msf_ring *ring) {
  if (ring->unit->lost)
    return;
  for (int queue = FILTERS; queue <= MSF_RING_LOOKS; queue++)
    (void)dzo_unit_wait(ring->unit, queue);
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

/* The oldest group of copies has left its slots. */
static void leave_copies(msf_ring *ring) {
  ring->copied_end = ring->copy_ends[ring->copied % MSF_GROUPS];
  ring->copied++;
}

/* Wait for the oldest group whose count is not known. */
static dzo_status count_group(msf_ring *ring) {
  DZO_TRY(dzo_unit_wait_mark(ring->unit, mark_of(FILTERED, ring->counted)));
  DZO_TRY(retain_until(ring, group_at(ring, ring->counted)->end));
  const msf_ring_group *group = group_at(ring, ring->counted);
  const msf_filter_tally *tally = &ring->tallies[ring->counted % MSF_GROUPS];
  ring->known_back = tally->back[group->back_turn];
  ring->known = tally->front[group->turn] + ring->known_back;
  uint64_t end = group->end;
  ring->counted++;
  ring->counted_end = end;
  while (ring->copied < ring->copies && ring->copy_ends[ring->copied % MSF_GROUPS] <= end)
    leave_copies(ring);
  return DZO_OK;
}

static dzo_status close_group(msf_ring *ring) {
  while (ring->closed - ring->counted >= MSF_GROUPS)
    DZO_TRY(count_group(ring));
  uint64_t group = ring->closed;
  DZO_TRY(msf_filter_count(&ring->filter, &ring->tallies[group % MSF_GROUPS]));
  DZO_TRY(dzo_unit_mark(ring->unit, FILTERS, mark_of(FILTERED, group)));
  *group_at(ring, group) =
      (msf_ring_group){ring->filtered, ring->open_edges, ring->filter.turn, ring->filter.back_turn};
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

/* ---- Groups of copies ------------------------------------------------------------------------ */

static uint64_t last_copy_end(const msf_ring *ring) {
  return ring->copies == 0 ? 0 : ring->copy_ends[(ring->copies - 1) % MSF_GROUPS];
}

static dzo_status await_copies(msf_ring *ring) {
  for (int lane = 0; lane < (int)ring->lanes; lane++)
    DZO_TRY(dzo_unit_wait_mark(ring->unit, mark_of(COPIED + lane * MSF_GROUPS, ring->copied)));
  leave_copies(ring);
  return DZO_OK;
}

static dzo_status close_copies(msf_ring *ring) {
  if (ring->copies - ring->copied >= MSF_GROUPS)
    DZO_TRY(await_copies(ring));
  for (int lane = 0; lane < (int)ring->lanes; lane++)
    DZO_TRY(dzo_unit_mark(ring->unit, COPIES + lane,
                          mark_of(COPIED + lane * MSF_GROUPS, ring->copies)));
  ring->copy_ends[ring->copies % MSF_GROUPS] = ring->submitted;
  ring->copies++;
  return DZO_OK;
}

uint64_t msf_ring_released(const msf_ring *ring) {
  return ring->retain != NULL ? ring->counted_end : ring->copied_end;
}

bool msf_ring_left(const msf_ring *ring) {
  if (ring->retain != NULL || ring->copied == ring->copies || ring->unit->backend->reached == NULL)
    return true;
  for (int lane = 0; lane < (int)ring->lanes; lane++)
    if (!dzo_unit_reached(ring->unit, mark_of(COPIED + lane * MSF_GROUPS, ring->copied)))
      return ring->unit->lost;
  return true;
}

dzo_status msf_ring_reclaim(msf_ring *ring) {
  if (ring->retain != NULL) {
    if (ring->counted == ring->closed && ring->filtered > last_end(ring))
      DZO_TRY(close_group(ring));
    return ring->counted < ring->closed ? count_group(ring) : DZO_OK;
  }
  if (ring->copied == ring->copies && ring->submitted > last_copy_end(ring))
    DZO_TRY(close_copies(ring));
  return ring->copied < ring->copies ? await_copies(ring) : DZO_OK;
}

/* ---- Filtering and merging ------------------------------------------------------------------- */

static msf_flight *flight_at(msf_ring *ring, uint64_t chunk) {
  return &ring->flights[chunk % MSF_FLIGHTS];
}

static dzo_status count_reached(msf_ring *ring) {
  while (ring->counted < ring->closed &&
         dzo_unit_reached(ring->unit, mark_of(FILTERED, ring->counted)))
    DZO_TRY(count_group(ring));
  return DZO_OK;
}

static bool may_close(const msf_ring *ring) { return ring->closed - ring->counted < MSF_GROUPS; }

/* Merge what is counted, which must be all that was filtered. */
static dzo_status merge_counted(msf_ring *ring, bool last) {
  uint64_t count = ring->known, back = ring->known_back;
  if (ring->before_merge != NULL)
    DZO_TRY(ring->before_merge(ring->merge_argument));
  DZO_TRY(msf_filter_merge(&ring->filter, count - back, back, last));
  DZO_TRY(dzo_unit_copy(ring->unit, FILTERS, ring->control, ring->filter.control,
                        sizeof *ring->control));
  DZO_TRY(dzo_unit_mark(ring->unit, FILTERS, MSF_RING_MERGED));
  ring->known = count < ring->filter.vertices ? count : ring->filter.vertices;
  ring->merges++;
  ring->merged = ring->filtered;
  ring->due = false;
  return DZO_OK;
}

static dzo_status filter_next(msf_ring *ring) {
  const msf_flight *flight = flight_at(ring, ring->filtered);
  const msf_packed *packed = &flight->packed;
  if (packed->edges > 0) {
    /* What was sent since has mostly arrived, too. */
    if (ring->filtered >= ring->copied_end)
      DZO_TRY(
          dzo_unit_queue_after(ring->unit, FILTERS, ARRIVED + (int)(ring->filtered % ring->lanes)));
    msf_chunk chunk = msf_packed_chunk(packed, ring->device + flight->at);
    DZO_TRY(msf_filter_chunk(&ring->filter, &chunk));
    if (ring->retain != NULL)
      DZO_TRY(dzo_unit_copy(ring->unit, FILTERS, masks_of(ring, ring->filtered), ring->filter.masks,
                            (packed->edges + 31) / 32 * sizeof(uint32_t)));
  }
  ring->filtered++;
  ring->open_edges += packed->edges;
  return ring->filtered - last_end(ring) >= ring->group_chunks ? close_group(ring) : DZO_OK;
}

/* Merge if enough is known to have been kept, and filter what has been sent as long as there is
 * room. */
dzo_status msf_ring_go_on(msf_ring *ring) {
  DZO_TRY(count_reached(ring));
  for (;;) {
    ring->due |= ring->retain == NULL && ring->known >= ring->enough;
    bool pending = ring->filtered<ring->submitted, open = ring->filtered> last_end(ring);
    bool fits = pending && may_close(ring) &&
                most_edges(ring) + flight_at(ring, ring->filtered)->packed.edges <=
                    ring->filter.shape.capacity;
    if (!ring->due && fits) {
      DZO_TRY(filter_next(ring));
    } else if (!ring->due && !pending) {
      return DZO_OK;
    } else if (open && may_close(ring)) {
      DZO_TRY(close_group(ring));
    } else if (open || ring->counted < ring->closed) {
      return DZO_OK;
    } else {
      DZO_TRY(merge_counted(ring, false));
    }
  }
}

/* Wait for the oldest group, or go on without. */
static dzo_status wait_and_go_on(msf_ring *ring) {
  if (ring->counted == ring->closed && ring->filtered > last_end(ring))
    DZO_TRY(close_group(ring));
  if (ring->counted < ring->closed)
    DZO_TRY(count_group(ring));
  return msf_ring_go_on(ring);
}

dzo_status msf_ring_settle(msf_ring *ring, uint64_t *count) {
  while (ring->filtered < ring->submitted)
    DZO_TRY(wait_and_go_on(ring));
  DZO_TRY(close_group(ring));
  while (ring->counted < ring->closed)
    DZO_TRY(count_group(ring));
  *count = ring->known;
  return DZO_OK;
}

dzo_status msf_ring_merge(msf_ring *ring) {
  uint64_t count;
  DZO_TRY(msf_ring_settle(ring, &count));
  return merge_counted(ring, true);
}

/* Right after a merge there is nothing to do, and how many edges the forest has is not known. */
void msf_ring_merge_soon(msf_ring *ring) { ring->due |= ring->filtered > ring->merged; }

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

dzo_status msf_ring_restart(msf_ring *ring) {
  uint64_t count, vertices = ring->filter.vertices;
  DZO_TRY(msf_ring_settle(ring, &count));
  ring->filter.vertices = 0;
  ring->filter.loose = false;
  ring->known = ring->known_back = 0;
  return msf_filter_vertices(&ring->filter, vertices);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Bytes of a chunk on the device, where its keys follow the rest. */
static uint64_t place_keys(const msf_ring *ring, msf_packed *packed) {
  if (!packed->closed_up)
    packed->keys = (msf_packed_head(packed) + 255) / 256 * 256;
  uint64_t keys = packed->keyed ? (uint64_t)packed->edges * ring->key_bytes : 0;
  return (packed->keys + keys + 255) / 256 * 256;
}

/* Find so many bytes behind the chunks that are in use, or before them. */
static bool place_chunk(msf_ring *ring, uint64_t bytes) {
  if (ring->submitted - ring->counted_end >= MSF_FLIGHTS)
    return false;
  if (ring->submitted == ring->counted_end)
    ring->next_at = 0;
  uint64_t used = ring->submitted == ring->counted_end ? 0 : flight_at(ring, ring->counted_end)->at;
  if (ring->next_at < used)
    return used - ring->next_at > bytes;
  if (ring->device_bytes - ring->next_at >= bytes)
    return true;
  if (used <= bytes)
    return false;
  ring->next_at = 0;
  return true;
}

static dzo_status copy_slot(msf_ring *ring, int queue, const msf_packed *packed,
                            const msf_packed *there, char *to) {
  const char *from = packed->memory;
  if (from == NULL)
    from = msf_ring_slot(ring, ring->submitted);
  uint64_t key_bytes = packed->keyed ? (uint64_t)packed->edges * ring->key_bytes : 0;
  if (packed->closed_up)
    return dzo_unit_copy(ring->unit, queue, to, from, packed->keys + key_bytes);
  DZO_TRY(dzo_unit_copy(ring->unit, queue, to, from, msf_packed_head(packed)));
  if (!packed->keyed)
    return DZO_OK;
  return dzo_unit_copy(ring->unit, queue, to + there->keys, from + packed->keys, key_bytes);
}

/* Whole rows, from where the graph lies. */
static dzo_status copy_whole(msf_ring *ring, int queue, const msf_packed *there, char *to) {
  const dzo_graph *g = there->whole;
  uint64_t arc = there->first_arc, count = there->edges;
  DZO_TRY(dzo_unit_copy(ring->unit, queue, to + there->starts, g->offsets + there->first_row,
                        ((uint64_t)there->rows + 1) * sizeof *g->offsets));
  DZO_TRY(dzo_unit_copy(ring->unit, queue, to + there->v, g->neighbours + arc,
                        count * sizeof *g->neighbours));
  if (!there->keyed)
    return DZO_OK;
  const void *keys = g->keys32 != NULL ? (const void *)(g->keys32 + arc) : g->keys64 + arc;
  return dzo_unit_copy(ring->unit, queue, to + there->keys, keys, count * ring->key_bytes);
}

static dzo_status send_chunk(msf_ring *ring, const msf_packed *packed, const msf_flight *flight) {
  int lane = (int)(ring->submitted % ring->lanes);
  char *to = ring->device + flight->at;
  if (packed->whole != NULL)
    DZO_TRY(copy_whole(ring, COPIES + lane, &flight->packed, to));
  else
    DZO_TRY(copy_slot(ring, COPIES + lane, packed, &flight->packed, to));
  return dzo_unit_mark(ring->unit, COPIES + lane, ARRIVED + lane);
}

dzo_status msf_ring_submit(msf_ring *ring, const msf_packed *packed) {
  msf_packed there = *packed;
  uint64_t bytes = packed->edges > 0 ? place_keys(ring, &there) : 0;
  DZO_TRY(msf_ring_go_on(ring));
  while (!place_chunk(ring, bytes))
    DZO_TRY(wait_and_go_on(ring));
  msf_flight *flight = flight_at(ring, ring->submitted);
  *flight = (msf_flight){there, ring->next_at};
  if (packed->edges > 0)
    DZO_TRY(send_chunk(ring, packed, flight));
  ring->next_at += bytes;
  ring->submitted++;
  if (ring->submitted - last_copy_end(ring) >= ring->copy_chunks)
    DZO_TRY(close_copies(ring));
  return msf_ring_go_on(ring);
}

/* ---- The bus --------------------------------------------------------------------------------- */

dzo_status msf_ring_measure(msf_ring *ring, double *bytes_a_second) {
  double best = 0;
  for (int i = 0; i < 3; i++) {
    double begin = dzo_clock();
    DZO_TRY(dzo_unit_copy(ring->unit, COPIES, ring->device, ring->staging, ring->slot_bytes));
    DZO_TRY(dzo_unit_wait(ring->unit, COPIES));
    double rate = (double)ring->slot_bytes / (dzo_clock() - begin + 1e-9);
    best = rate > best ? rate : best;
  }
  *bytes_a_second = best;
  return DZO_OK;
}
