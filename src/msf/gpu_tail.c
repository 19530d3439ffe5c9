/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_tail.h"

#include "base/item.h"
#include "base/memory.h"

/* Rows are looked at in so many places, a few in each. */
enum { PLACES = 256, ROWS = 4 };

/* Threads are to be done in this part of the time that the bus needs to come to the tail. */
#define READY 0.8
/* The looks may err by this much. */
#define MARGIN 1.15
/* Below so many seconds on the bus, waking the threads costs more than the tail gains. */
#define WORTH 2e-3

double msf_tail_time(double packing, double whole) {
  if (whole < WORTH)
    return whole;
  double part = READY * whole / (packing + READY * whole);
  return whole * (1 - part + part * part / 2);
}

/* ---- Where to begin -------------------------------------------------------------------------- */

/* The part of arcs that lead upwards, of a few rows among first .. end - 1. */
static double upper_part(const dzo_graph *g, uint64_t first, uint64_t end) {
  uint64_t upper = 0, all = 0;
  for (uint64_t i = 0; i < ROWS; i++) {
    uint64_t row = first + (end - first) * (2 * i + 1) / (2 * ROWS);
    uint64_t low = g->offsets[row], high = g->offsets[row + 1], begin = low;
    all += high - begin;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (g->neighbours[middle] > row)
        high = middle;
      else
        low = middle + 1;
    }
    upper += g->offsets[row + 1] - low;
  }
  return all > 0 ? (double)upper / (double)all : 0;
}

void msf_tail_plan(msf_tail *tail, const dzo_graph *g, unsigned key_bytes,
                   const msf_tail_limits *limits) {
  uint64_t places = g->vertices < PLACES ? g->vertices : PLACES;
  double bytes = 0;
  *tail = (msf_tail){.first = UINT64_MAX};
  if (limits->whole < WORTH)
    return;
  for (uint64_t i = places; i-- > 0;) {
    uint64_t row = g->vertices * i / places, end = g->vertices * (i + 1) / places;
    double here = (double)(g->offsets[end] - g->offsets[row]);
    double arcs = (double)(g->arcs - g->offsets[row]), rows = (double)(g->vertices - row);
    double part = arcs / ((double)g->arcs + 1), packing = arcs * limits->arc + rows * limits->row;
    bytes += here * upper_part(g, row, end) * (4.0 + key_bytes) + 8.0 * (double)(end - row);
    if (packing > READY * limits->whole * (1 - part) || part > limits->part ||
        bytes * MARGIN > (double)limits->bytes)
      return;
    tail->first = g->offsets[row] + row;
    tail->arena_bytes = (uint64_t)(bytes * MARGIN);
  }
}

/* ---- Packing --------------------------------------------------------------------------------- */

dzo_status msf_tail_open(msf_tail *tail, dzo_context *context, const msf_packer *packer,
                         uint64_t front_units, void *arena) {
  if (tail->first == UINT64_MAX)
    return DZO_OK;
  tail->begin = (tail->first + front_units - 1) / front_units * (front_units / packer->units);
  tail->end = msf_packer_chunks(packer);
  if (tail->begin >= tail->end)
    return DZO_OK;
  tail->arena = arena;
  tail->scratch_bytes = msf_slot_bytes(packer->units, packer->key_bytes, false);
  tail->scratch = dzo_alloc(context, (uint64_t)context->threads, tail->scratch_bytes);
  tail->packed = dzo_alloc(context, tail->end - tail->begin, sizeof *tail->packed);
  return tail->scratch != NULL && tail->packed != NULL ? DZO_OK : DZO_E_MEMORY;
}

void msf_tail_close(msf_tail *tail) {
  dzo_free(tail->scratch);
  dzo_free(tail->packed);
  tail->scratch = NULL;
  tail->packed = NULL;
}

void msf_tail_pack(msf_tail *tail, const msf_packer *packer, uint64_t chunk, int thread) {
  msf_packed packed, *out = &tail->packed[chunk - tail->begin];
  char *slot = tail->scratch + (uint64_t)thread * tail->scratch_bytes;
  msf_pack(packer, chunk, thread, slot, &packed);
  uint64_t bytes = msf_packed_close_up(&packed, packer->key_bytes, out);
  uint64_t at = dzo_fetch_add_u64(&tail->used, bytes);
  if (at + bytes <= tail->arena_bytes && !packed.overflow)
    msf_packed_move(&packed, packer->key_bytes, slot, tail->arena + at, out);
  else
    msf_pack_whole(packer, chunk, out);
}
