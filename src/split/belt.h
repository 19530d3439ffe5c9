/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Chunks that many threads make and one thread uses, in order, in a ring of slots: chunk c stands
 * in slot c % slots. Makers are handed chunks in ascending order, so whoever asks more often makes
 * more, and a chunk that somebody has claimed will be made. */
#ifndef DZO_SPLIT_BELT_H
#define DZO_SPLIT_BELT_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dzo_belt dzo_belt;

typedef enum dzo_belt_state {
  DZO_BELT_MADE,     /* ready to be used */
  DZO_BELT_MAKING,   /* somebody is making it */
  DZO_BELT_UNCLAIMED /* nobody is */
} dzo_belt_state;

dzo_status dzo_belt_create(dzo_context *context, uint64_t chunks, uint32_t slots, dzo_belt **out);
void dzo_belt_destroy(dzo_belt *belt); /* NULL is fine */

/* A maker's next chunk; waits until its slot is free. false: there are no more. */
bool dzo_belt_claim(dzo_belt *belt, uint64_t *chunk);
/* The same without waiting: false also where the next slot is in use. */
bool dzo_belt_try_claim(dzo_belt *belt, uint64_t *chunk);
void dzo_belt_made(dzo_belt *belt, uint64_t chunk);

dzo_belt_state dzo_belt_look(dzo_belt *belt, uint64_t chunk);
/* Wait for a chunk that somebody is making. */
void dzo_belt_wait(dzo_belt *belt, uint64_t chunk);
/* The slots of all chunks before `chunk` are free. */
void dzo_belt_release(dzo_belt *belt, uint64_t chunk);
/* From now on there are at most so many chunks; false if more are claimed already. */
bool dzo_belt_limit(dzo_belt *belt, uint64_t chunks);
/* From now on there are no more chunks to claim. */
void dzo_belt_stop(dzo_belt *belt);

#ifdef __cplusplus
}
#endif
#endif
