/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The contest's shuffles in parallel, with the outcome of the sequential loop (J. Shun, Y. Gu,
 * G. E. Blelloch, J. T. Fineman, P. B. Gibbons, "Sequential random permutation, list contraction
 * and tree contraction are highly parallel", SODA 2015). Step i swaps the places i and partner(i).
 * In each round all steps that are left bid for their two places, the earliest wins a place, and
 * who won both swaps: no earlier step that is left touches them. */
#include "graph/generate_gpu.cuh"

struct shuffle {
  uint64_t vertices;
  uint64_t state;
  bool ssca2;
};

struct shuffle_room {
  uint32_t *places, *partner, *winner;
  uint32_t *steps, *left; /* now, and after this round */
  uint32_t *count;        /* of those left */
};

static __global__ void draw_partners(shuffle of, lcg48_strides strides, shuffle_room room) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < of.vertices; i += step) {
    uint64_t state = lcg48_stride(strides, i + 1, of.state);
    room.partner[i] = (uint32_t)(of.ssca2 ? dzo_ssca2_partner(state, i, of.vertices)
                                          : dzo_rmat_partner(state, of.vertices));
    room.places[i] = (uint32_t)i;
    room.steps[i] = (uint32_t)i;
    room.winner[i] = UINT32_MAX;
  }
}

static __global__ void bid(shuffle_room room, uint64_t count) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step) {
    uint32_t i = room.steps[k];
    atomicMin(&room.winner[i], i);
    atomicMin(&room.winner[room.partner[i]], i);
  }
}

static __global__ void swap_won(shuffle_room room, uint64_t count) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  uint64_t first = (uint64_t)blockIdx.x * blockDim.x;
  for (uint64_t base = first; base < count; base += step) {
    uint64_t k = base + threadIdx.x;
    uint32_t i = k < count ? room.steps[k] : 0, j = k < count ? room.partner[i] : 0;
    bool won = k < count && room.winner[i] == i && room.winner[j] == i;
    if (won) {
      uint32_t moved = room.places[i];
      room.places[i] = room.places[j];
      room.places[j] = moved;
    }
    unsigned losers = __ballot_sync(DZO_WARP_ALL, k < count && !won);
    uint32_t at = 0;
    if (dzo_lane() == 0 && losers != 0)
      at = atomicAdd(room.count, (uint32_t)__popc(losers));
    at = __shfl_sync(DZO_WARP_ALL, at, 0);
    if (k < count && !won)
      room.left[at + (unsigned)__popc(losers & dzo_lanes_below())] = i;
  }
}

/* Only the losers' places are bid for again. */
static __global__ void forget_bids(shuffle_room room, uint64_t count) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step) {
    uint32_t i = room.left[k];
    dzo_store_shared(&room.winner[i], (uint32_t)UINT32_MAX);
    dzo_store_shared(&room.winner[room.partner[i]], (uint32_t)UINT32_MAX);
  }
}

static dzo_status run_rounds(dzo_unit *unit, shuffle_room room, uint64_t vertices) {
  uint32_t left = 0;
  for (uint64_t count = vertices; count > 0; count = left) {
    unsigned blocks = generate_blocks(unit, count);
    DZO_TRY(dzo_unit_fill(unit, 0, room.count, 0, sizeof *room.count));
    DZO_TRY(DZO_LAUNCH(unit, 0, bid, blocks, GENERATE_THREADS, room, count));
    DZO_TRY(DZO_LAUNCH(unit, 0, swap_won, blocks, GENERATE_THREADS, room, count));
    DZO_TRY(dzo_unit_copy(unit, 0, &left, room.count, sizeof left));
    DZO_TRY(dzo_unit_wait(unit, 0));
    if (left == count)
      return dzo_fail(unit->context, DZO_E_INTERNAL, "the shuffle does not get on");
    if (left > 0)
      DZO_TRY(DZO_LAUNCH(unit, 0, forget_bids, generate_blocks(unit, left), GENERATE_THREADS, room,
                         (uint64_t)left));
    uint32_t *steps = room.steps;
    room.steps = room.left;
    room.left = steps;
  }
  return DZO_OK;
}

static dzo_status take_room(dzo_unit *unit, uint64_t vertices, shuffle_room *room) {
  DZO_TRY(dzo_unit_allocate(unit, vertices, sizeof *room->places, (void **)&room->places));
  DZO_TRY(dzo_unit_allocate(unit, vertices, sizeof *room->partner, (void **)&room->partner));
  DZO_TRY(dzo_unit_allocate(unit, vertices, sizeof *room->winner, (void **)&room->winner));
  DZO_TRY(dzo_unit_allocate(unit, vertices, sizeof *room->steps, (void **)&room->steps));
  DZO_TRY(dzo_unit_allocate(unit, vertices, sizeof *room->left, (void **)&room->left));
  return dzo_unit_allocate(unit, 1, sizeof *room->count, (void **)&room->count);
}

dzo_status generate_shuffle(dzo_unit *unit, uint64_t vertices, bool ssca2, uint64_t *state,
                            uint32_t **out) {
  shuffle_room room = {};
  shuffle of = {vertices, *state, ssca2};
  dzo_status status = take_room(unit, vertices, &room);
  if (status == DZO_OK)
    status = DZO_LAUNCH(unit, 0, draw_partners, generate_blocks(unit, vertices), GENERATE_THREADS,
                        of, lcg48_strides_of(1), room);
  if (status == DZO_OK)
    status = run_rounds(unit, room, vertices);
  *state = dzo_lcg48_apply(dzo_lcg48_jump_of(vertices), *state);
  dzo_unit_release(unit, room.partner);
  dzo_unit_release(unit, room.winner);
  dzo_unit_release(unit, room.steps);
  dzo_unit_release(unit, room.left);
  dzo_unit_release(unit, room.count);
  if (status != DZO_OK) {
    dzo_unit_release(unit, room.places);
    room.places = NULL;
  }
  *out = room.places;
  return status;
}
