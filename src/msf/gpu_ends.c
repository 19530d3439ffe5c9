/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_ends.h"

#include "base/memory.h"

/* Of what the bus fetches, a chunk is so many of those that threads pack, whose slots had better
 * stay in a processor's cache. */
enum { FETCHED_UNITS = 4 };

/* Below so many seconds on the bus, waking the threads costs more than they gain. */
#define WORTH 2e-3

double msf_ends_time(double packing, double whole) {
  return whole < WORTH ? whole : packing * whole / (packing + whole);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint64_t back_units(uint64_t units, const msf_ends_plan *plan) {
  return plan->packed > 0 && units >= FETCHED_UNITS ? units / FETCHED_UNITS : units;
}

static uint64_t part_of(uint64_t chunks, double part) {
  double wanted = part * (double)chunks;
  return wanted < (double)chunks ? (uint64_t)wanted : chunks;
}

static uint64_t chunks_of(const msf_packer *packer, uint64_t units) {
  msf_packer back = *packer;
  back.units = units;
  return msf_packer_chunks(&back);
}

/* Two for each thread: one is packed while the other waits for the bus. */
static uint64_t slots_of(uint64_t chunks, int threads) {
  uint64_t slots = 2 * (uint64_t)threads + 4;
  return slots < chunks + 1 ? slots : chunks + 1;
}

static uint64_t packed_slots(const msf_packer *packer, uint64_t units, const msf_ends_plan *plan,
                             int threads) {
  uint64_t chunks = part_of(chunks_of(packer, back_units(units, plan)), plan->packed);
  return chunks > 0 ? slots_of(chunks, threads) : 0;
}

uint64_t msf_ends_bytes(const msf_packer *packer, uint64_t units, const msf_ends_plan *plan,
                        int threads) {
  return packed_slots(packer, units, plan, threads) *
         msf_slot_bytes(back_units(units, plan), packer->key_bytes, false);
}

dzo_status msf_ends_open(msf_ends *ends, dzo_context *context, const msf_packer *packer,
                         const msf_ends_plan *plan, void *memory) {
  *ends = (msf_ends){.front = *packer, .back = *packer, .memory = memory};
  ends->back.units = back_units(packer->units, plan);
  ends->all = msf_packer_chunks(&ends->back);
  ends->fetched = plan->packed > 0 ? 0 : part_of(ends->all, plan->fetched);
  ends->slot_bytes = msf_slot_bytes(ends->back.units, packer->key_bytes, false);
  uint64_t packed = part_of(ends->all, plan->packed);
  uint64_t chunks = packed > 0 ? packed : ends->fetched;
  uint64_t slots = packed > 0 ? packed_slots(packer, packer->units, plan, context->threads)
                              : slots_of(chunks, context->threads);
  ends->slots = (uint32_t)slots;
  ends->packed = dzo_alloc(context, slots, sizeof *ends->packed);
  ends->ends = dzo_alloc(context, slots, sizeof *ends->ends);
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

/* The bus is to fetch the next rows from the back. */
static bool fetch_back(msf_ends *ends) {
  uint64_t chunk;
  if (ends->fetched == 0 || !dzo_belt_try_claim(ends->belt, &chunk))
    return false;
  msf_packed *packed = &ends->packed[chunk % ends->slots];
  msf_pack_whole(&ends->back, ends->all - 1 - chunk, packed);
  packed->back = true;
  dzo_belt_made(ends->belt, chunk);
  return true;
}

/* Those from the front, if nobody has begun to pack any of them. */
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
  ends->turn = !ends->turn;
  if (dzo_belt_look(ends->belt, ends->sent) == DZO_BELT_MADE || (ends->turn && fetch_back(ends))) {
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
