/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Who is where. A handle says in a line of its own what it is about to do, then looks whether it
 * may; whoever shuts a region or takes a level away does so first, then looks who is inside. All
 * four are sequentially consistent, so that one of the two sees the other (Dekker). */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "base/memory.h"
#include "table/handle.h"

enum { SPINS = 64, YIELDS = 64, NAP = 50000 };

/* What a thread does while it waits for another, longer each time. */
static void wait_a_little(unsigned *times) {
  TABLE_STEP(1);
  if (*times < SPINS) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else if (*times < SPINS + YIELDS) {
    sched_yield();
  } else {
    struct timespec nap = {0, NAP};
    nanosleep(&nap, NULL);
    return;
  }
  ++*times;
}

static handle_level *current(const table_share *share) {
  TABLE_STEP(0);
  return __atomic_load_n(&share->level, __ATOMIC_SEQ_CST);
}

static uint32_t *lock_of(const handle_level *l, uint64_t region) {
  return &l->s.regions[region].lock;
}

static bool is_locked(const handle_level *l, uint64_t region) {
  TABLE_STEP(0);
  return __atomic_load_n(lock_of(l, region), __ATOMIC_SEQ_CST) != 0;
}

void handle_leave(dzo_table_handle *h) {
  TABLE_STEP(0);
  __atomic_store_n(&h->at, 0, __ATOMIC_RELEASE);
}

static handle_level *enter(dzo_table_handle *h, uintptr_t writer) {
  for (;;) {
    handle_level *l = current(h->share);
    TABLE_STEP(0);
    (void)__atomic_exchange_n(&h->at, (uintptr_t)l | writer, __ATOMIC_SEQ_CST);
    if (DZO_LIKELY(current(h->share) == l))
      return l;
  }
}

handle_level *handle_read(dzo_table_handle *h) { return enter(h, 0); }

/* Wait until the region is open or gone. Inside as a reader, so that the level stays. */
static void wait_for_region(const dzo_table_handle *h, const handle_level *l, uint64_t region) {
  unsigned times = 0;
  while (is_locked(l, region) && current(h->share) == l)
    wait_a_little(&times);
}

handle_level *handle_write(dzo_table_handle *h, uint64_t hash) {
  __atomic_store_n(&h->hash, hash, __ATOMIC_RELEASE);
  for (;;) {
    handle_level *l = enter(h, 1);
    uint64_t region = table_cpu_region_of(&l->s, hash);
    if (DZO_LIKELY(!is_locked(l, region)))
      return l;
    __atomic_store_n(&h->at, (uintptr_t)l, __ATOMIC_RELEASE);
    wait_for_region(h, l, region);
  }
}

/* The share's lock, for growing. */
void handle_lock_share(table_share *share) {
  unsigned times = 0;
  while (pthread_mutex_trylock(&share->lock) != 0)
    wait_a_little(&times);
}

/* ---- Shutting regions ------------------------------------------------------------------------ */

enum { ANY_REGION = -1 };

static bool writes_in(const dzo_table_handle *h, const handle_level *l, uint64_t region) {
  TABLE_STEP(0);
  if (__atomic_load_n(&h->at, __ATOMIC_SEQ_CST) != ((uintptr_t)l | 1))
    return false;
  return region == (uint64_t)ANY_REGION ||
         table_cpu_region_of(&l->s, __atomic_load_n(&h->hash, __ATOMIC_ACQUIRE)) == region;
}

static void wait_for_writers(const table_share *share, const handle_level *l, uint64_t region) {
  for (const dzo_table_handle *h = __atomic_load_n(&share->handles, __ATOMIC_SEQ_CST); h != NULL;
       h = h->next) {
    unsigned times = 0;
    while (writes_in(h, l, region))
      wait_a_little(&times);
  }
}

static bool try_lock(const handle_level *l, uint64_t region) {
  uint32_t open = 0;
  return __atomic_compare_exchange_n(lock_of(l, region), &open, 1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED);
}

bool handle_lock(dzo_table_handle *h, handle_level *l, uint64_t region) {
  while (!try_lock(l, region)) {
    wait_for_region(h, l, region);
    if (current(h->share) != l)
      return false;
  }
  wait_for_writers(h->share, l, region);
  return true;
}

void handle_unlock(handle_level *l, uint64_t region) {
  __atomic_store_n(lock_of(l, region), 0, __ATOMIC_RELEASE);
}

void handle_lock_all(table_share *share, handle_level *l) {
  uint64_t regions = (uint64_t)1 << l->s.bits;
  for (uint64_t region = 0; region < regions; region++) {
    unsigned times = 0;
    while (!try_lock(l, region))
      wait_a_little(&times);
  }
  wait_for_writers(share, l, (uint64_t)ANY_REGION);
}

void handle_unlock_all(handle_level *l) {
  uint64_t regions = (uint64_t)1 << l->s.bits;
  for (uint64_t region = 0; region < regions; region++)
    handle_unlock(l, region);
}

/* ---- Levels that were replaced --------------------------------------------------------------- */

static bool is_anybody_in(const table_share *share, const handle_level *l) {
  for (const dzo_table_handle *h = __atomic_load_n(&share->handles, __ATOMIC_SEQ_CST); h != NULL;
       h = h->next)
    if ((__atomic_load_n(&h->at, __ATOMIC_SEQ_CST) & ~(uintptr_t)1) == (uintptr_t)l)
      return true;
  return false;
}

void handle_reclaim(table_share *share) {
  handle_level **at = &share->retired;
  while (*at != NULL) {
    handle_level *l = *at;
    if (is_anybody_in(share, l)) {
      at = &l->retired;
      continue;
    }
    __atomic_store_n(at, l->retired, __ATOMIC_RELAXED);
    table_cpu_store_free(l->store);
    handle_level_free(l);
  }
}

uint64_t handle_count(const table_share *share) {
  int64_t count = share->base;
  for (const dzo_table_handle *h = __atomic_load_n(&share->handles, __ATOMIC_ACQUIRE); h != NULL;
       h = h->next)
    count += __atomic_load_n(&h->net, __ATOMIC_RELAXED);
  return count < 0 ? 0 : (uint64_t)count; /* one that erased came before one that inserted */
}
