/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_ends.h"

#include "base/memory.h"

/* Of a chunk that a thread packs, whose slot had better stay in a processor's cache; and chunks of
 * the graph, so that all threads have some. */
enum { PACKED_MOST = 1 << 19, PACKED_LEAST = 16, CHUNKS = 64 };

/* Below so many seconds on the bus, waking the threads costs more than they gain. */
#define WORTH 2e-3

double msf_ends_time(double packing, double whole) {
  return whole < WORTH ? whole : packing * whole / (packing + whole);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Of which `units` are a multiple. */
static uint64_t back_units(const msf_packer *packer, uint64_t units) {
  const dzo_graph *g = packer->graph;
  uint64_t most = (g->arcs + g->vertices) / CHUNKS;
  most = most < PACKED_MOST ? most : PACKED_MOST;
  while (units > most && units > PACKED_LEAST && units % 2 == 0)
    units /= 2;
  return units;
}

/* Chunks that threads may pack. */
static uint64_t packed_chunks(const msf_packer *back, double part) {
  uint64_t chunks = msf_packer_chunks(back);
  double wanted = part * (double)chunks;
  return wanted < (double)chunks ? (uint64_t)wanted : chunks;
}

/* Two for each thread: one is packed while the other waits for the bus. */
static uint32_t slots_for(uint64_t chunks, int threads) {
  uint64_t slots = 2 * (uint64_t)threads + 4;
  return (uint32_t)(slots < chunks ? slots : chunks);
}

static uint64_t slot_bytes_of(const msf_packer *back) {
  return msf_slot_bytes(back->units, back->key_bytes, false);
}

uint64_t msf_ends_bytes(const msf_packer *packer, uint64_t units, double part, int threads) {
  msf_packer back = *packer;
  back.units = back_units(packer, units);
  return slots_for(packed_chunks(&back, part), threads) * slot_bytes_of(&back);
}

dzo_status msf_ends_open(msf_ends *ends, dzo_context *context, const msf_packer *packer,
                         double part, void *memory) {
  *ends = (msf_ends){.front = *packer, .back = *packer, .memory = memory};
  ends->back.units = back_units(packer, packer->units);
  ends->all = msf_packer_chunks(&ends->back);
  ends->slot_bytes = slot_bytes_of(&ends->back);
  uint64_t chunks = packed_chunks(&ends->back, part);
  ends->slots = slots_for(chunks, context->threads);
  ends->slots += ends->slots == 0; /* so that there is a belt */
  ends->packed = dzo_alloc(context, ends->slots, sizeof *ends->packed);
  ends->ends = dzo_alloc(context, ends->slots, sizeof *ends->ends);
  if (ends->packed == NULL || ends->ends == NULL)
    return DZO_E_MEMORY;
  return dzo_belt_create(context, chunks, ends->slots, &ends->belt);
}

void msf_ends_close(msf_ends *ends) {
  dzo_belt_destroy(ends->belt);
  dzo_free(ends->packed);
  dzo_free(ends->ends);
  *ends = (msf_ends){0};
}

/* ---- Packing and sending --------------------------------------------------------------------- */

bool msf_ends_pack(msf_ends *ends, int thread) {
  uint64_t chunk;
  if (!dzo_belt_claim(ends->belt, &chunk))
    return false;
  char *slot = ends->memory + chunk % ends->slots * ends->slot_bytes;
  msf_packed *packed = &ends->packed[chunk % ends->slots];
  msf_pack(&ends->back, ends->all - 1 - chunk, thread, slot, packed);
  packed->memory = slot;
  packed->back = true;
  dzo_belt_made(ends->belt, chunk);
  return true;
}

/* The oldest chunk from the back that was not sent. */
static void take_back(msf_ends *ends, uint64_t number, msf_packed *packed) {
  *packed = ends->packed[ends->sent % ends->slots];
  ends->ends[ends->sent % ends->slots] = number + 1;
  ends->sent++;
}

/* The bus is to fetch rows from the front, if nobody has begun to pack any of them. */
static bool fetch_front(msf_ends *ends, uint64_t chunks, const msf_packer *packer,
                        msf_packed *packed) {
  if (chunks > ends->all - ends->next ||
      !dzo_belt_limit(ends->belt, ends->all - ends->next - chunks))
    return false;
  msf_pack_whole(packer, ends->next / chunks, packed);
  ends->next += chunks;
  return true;
}

bool msf_ends_next(msf_ends *ends, uint64_t number, msf_packed *packed) {
  if (dzo_belt_look(ends->belt, ends->sent) == DZO_BELT_MADE) {
    take_back(ends, number, packed);
    return true;
  }
  if (fetch_front(ends, ends->front.units / ends->back.units, &ends->front, packed) ||
      fetch_front(ends, 1, &ends->back, packed))
    return true;
  if (dzo_belt_look(ends->belt, ends->sent) == DZO_BELT_UNCLAIMED)
    return false;
  dzo_belt_wait(ends->belt, ends->sent);
  take_back(ends, number, packed);
  return true;
}

void msf_ends_release(msf_ends *ends, uint64_t number) {
  while (ends->left < ends->sent && ends->ends[ends->left % ends->slots] <= number)
    ends->left++;
  dzo_belt_release(ends->belt, ends->left);
}

double msf_ends_seen(const msf_ends *ends) {
  double all = (double)ends->all, rest = 1 - (double)ends->next / all,
         back = (double)ends->sent / all;
  return 1 - rest * rest + back * back;
}
