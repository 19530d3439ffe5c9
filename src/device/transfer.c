/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/transfer.h"

#include <string.h>

#include "base/parallel.h"

enum { STAGES = 4, FIRST_MARK = 22, GRAIN = 1 << 18, SMALL_PAGE = 1 << 12, LARGE_PAGE = 1 << 21 };

/* Below, the driver is as fast. */
#define STAGE_BYTES (UINT64_C(8) << 20)

typedef struct copy_job {
  char *to;
  const char *from;
} copy_job;

static void copy_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const copy_job *job = argument;
  memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
}

static void copy_bytes(const dzo_unit *unit, char *to, const char *from, uint64_t bytes) {
  copy_job job = {to, from};
  dzo_parallel_for(unit->context->threads, bytes, GRAIN, copy_range, &job);
}

static uint64_t piece_bytes(uint64_t piece, uint64_t bytes) {
  uint64_t left = bytes - piece * STAGE_BYTES;
  return left < STAGE_BYTES ? left : STAGE_BYTES;
}

static dzo_status copy_at_once(dzo_unit *unit, void *to, const void *from, uint64_t bytes) {
  if (bytes > 0)
    DZO_TRY(dzo_unit_copy(unit, 0, to, from, bytes));
  return dzo_unit_wait(unit, 0);
}

dzo_status dzo_unit_send(dzo_unit *unit, void *to_device, const void *from_host, uint64_t bytes) {
  if (bytes <= STAGE_BYTES || dzo_unit_pinned(unit, from_host))
    return copy_at_once(unit, to_device, from_host, bytes);
  char *stages;
  DZO_TRY(dzo_unit_staging(unit, STAGES * STAGE_BYTES, (void **)&stages));
  uint64_t pieces = (bytes + STAGE_BYTES - 1) / STAGE_BYTES;
  for (uint64_t i = 0; i < pieces; i++) {
    uint64_t at = i * STAGE_BYTES, size = piece_bytes(i, bytes);
    char *stage = stages + i % STAGES * STAGE_BYTES;
    int mark = FIRST_MARK + (int)(i % STAGES);
    if (i >= STAGES)
      DZO_TRY(dzo_unit_wait_mark(unit, mark));
    copy_bytes(unit, stage, (const char *)from_host + at, size);
    DZO_TRY(dzo_unit_copy(unit, 0, (char *)to_device + at, stage, size));
    DZO_TRY(dzo_unit_mark(unit, 0, mark));
  }
  return dzo_unit_wait(unit, 0);
}

dzo_status dzo_unit_fetch_pieces(dzo_unit *unit, const void *from_device, uint64_t bytes,
                                 dzo_take_fn take, void *argument) {
  uint64_t pieces = (bytes + STAGE_BYTES - 1) / STAGE_BYTES;
  char *stages;
  DZO_TRY(
      dzo_unit_staging(unit, (pieces < STAGES ? pieces : STAGES) * STAGE_BYTES, (void **)&stages));
  for (uint64_t i = 0; i < pieces + STAGES - 1; i++) {
    if (i < pieces) {
      DZO_TRY(dzo_unit_copy(unit, 0, stages + i % STAGES * STAGE_BYTES,
                            (const char *)from_device + i * STAGE_BYTES, piece_bytes(i, bytes)));
      DZO_TRY(dzo_unit_mark(unit, 0, FIRST_MARK + (int)(i % STAGES)));
    }
    if (i < STAGES - 1)
      continue;
    /* The oldest piece that is on its way. */
    uint64_t done = i - (STAGES - 1);
    if (done >= pieces)
      break;
    DZO_TRY(dzo_unit_wait_mark(unit, FIRST_MARK + (int)(done % STAGES)));
    take(argument, stages + done % STAGES * STAGE_BYTES, done * STAGE_BYTES,
         piece_bytes(done, bytes));
  }
  return DZO_OK;
}

typedef struct fetch_job {
  const dzo_unit *unit;
  char *to;
} fetch_job;

static void take_copy(void *argument, const void *piece, uint64_t first, uint64_t bytes) {
  const fetch_job *job = argument;
  copy_bytes(job->unit, job->to + first, piece, bytes);
}

dzo_status dzo_unit_fetch(dzo_unit *unit, void *to_host, const void *from_device, uint64_t bytes) {
  if (bytes <= STAGE_BYTES || dzo_unit_pinned(unit, to_host))
    return copy_at_once(unit, to_host, from_device, bytes);
  fetch_job job = {unit, to_host};
  dzo_unit_touch(unit, to_host, bytes);
  return dzo_unit_fetch_pieces(unit, from_device, bytes, take_copy, &job);
}

static void touch_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  volatile char *bytes = argument;
  for (uint64_t i = begin; i < end; i += SMALL_PAGE)
    bytes[i] = 0;
}

void dzo_unit_touch(const dzo_unit *unit, void *host, uint64_t bytes) {
  dzo_parallel_for(unit->context->threads, bytes, LARGE_PAGE, touch_range, host);
}
