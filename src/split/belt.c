/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "split/belt.h"

#include <pthread.h>

#include "base/memory.h"

struct dzo_belt {
  pthread_mutex_t lock;
  pthread_cond_t freed, made;
  uint64_t chunks;
  uint32_t slots;
  uint64_t claimed;  /* chunks before are */
  uint64_t released; /* slots of chunks before are free */
  bool stopped;
  uint64_t *ready; /* [slots] 1 + the last chunk made in each */
};

dzo_status dzo_belt_create(dzo_context *context, uint64_t chunks, uint32_t slots, dzo_belt **out) {
  *out = NULL;
  dzo_belt *belt = dzo_calloc(context, 1, sizeof *belt);
  uint64_t *ready = dzo_calloc(context, slots, sizeof *ready);
  if (belt == NULL || ready == NULL) {
    dzo_free(belt);
    dzo_free(ready);
    return DZO_E_MEMORY;
  }
  *belt = (dzo_belt){.chunks = chunks, .slots = slots, .ready = ready};
  pthread_mutex_init(&belt->lock, NULL);
  pthread_cond_init(&belt->freed, NULL);
  pthread_cond_init(&belt->made, NULL);
  *out = belt;
  return DZO_OK;
}

void dzo_belt_destroy(dzo_belt *belt) {
  if (belt == NULL)
    return;
  pthread_cond_destroy(&belt->made);
  pthread_cond_destroy(&belt->freed);
  pthread_mutex_destroy(&belt->lock);
  dzo_free(belt->ready);
  dzo_free(belt);
}

/* Under the lock. */
static bool is_over(const dzo_belt *belt) { return belt->stopped || belt->claimed == belt->chunks; }

static bool claim(dzo_belt *belt, uint64_t *chunk, bool wait) {
  pthread_mutex_lock(&belt->lock);
  while (wait && !is_over(belt) && belt->claimed - belt->released >= belt->slots)
    pthread_cond_wait(&belt->freed, &belt->lock);
  bool is = !is_over(belt) && belt->claimed - belt->released < belt->slots;
  if (is)
    *chunk = belt->claimed++;
  if (is && is_over(belt))
    pthread_cond_broadcast(&belt->freed);
  pthread_mutex_unlock(&belt->lock);
  return is;
}

bool dzo_belt_claim(dzo_belt *belt, uint64_t *chunk) { return claim(belt, chunk, true); }

bool dzo_belt_try_claim(dzo_belt *belt, uint64_t *chunk) { return claim(belt, chunk, false); }

void dzo_belt_made(dzo_belt *belt, uint64_t chunk) {
  pthread_mutex_lock(&belt->lock);
  belt->ready[chunk % belt->slots] = chunk + 1;
  pthread_cond_signal(&belt->made);
  pthread_mutex_unlock(&belt->lock);
}

dzo_belt_state dzo_belt_look(dzo_belt *belt, uint64_t chunk) {
  pthread_mutex_lock(&belt->lock);
  dzo_belt_state state = belt->ready[chunk % belt->slots] == chunk + 1 ? DZO_BELT_MADE
                         : chunk < belt->claimed                       ? DZO_BELT_MAKING
                                                                       : DZO_BELT_UNCLAIMED;
  pthread_mutex_unlock(&belt->lock);
  return state;
}

void dzo_belt_wait(dzo_belt *belt, uint64_t chunk) {
  pthread_mutex_lock(&belt->lock);
  while (belt->ready[chunk % belt->slots] != chunk + 1)
    pthread_cond_wait(&belt->made, &belt->lock);
  pthread_mutex_unlock(&belt->lock);
}

void dzo_belt_release(dzo_belt *belt, uint64_t chunk) {
  pthread_mutex_lock(&belt->lock);
  if (chunk > belt->released) {
    belt->released = chunk;
    pthread_cond_broadcast(&belt->freed);
  }
  pthread_mutex_unlock(&belt->lock);
}

bool dzo_belt_limit(dzo_belt *belt, uint64_t chunks) {
  pthread_mutex_lock(&belt->lock);
  bool is = belt->claimed <= chunks;
  if (is && chunks < belt->chunks) {
    belt->chunks = chunks;
    if (is_over(belt))
      pthread_cond_broadcast(&belt->freed);
  }
  pthread_mutex_unlock(&belt->lock);
  return is;
}

void dzo_belt_stop(dzo_belt *belt) {
  pthread_mutex_lock(&belt->lock);
  belt->stopped = true;
  pthread_cond_broadcast(&belt->freed);
  pthread_mutex_unlock(&belt->lock);
}
