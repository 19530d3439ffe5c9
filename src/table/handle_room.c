/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What writers may not do beside each other: making room in a region, and a new level. */
#include "base/memory.h"
#include "table/handle_word.h"

/* ---- In a region ----------------------------------------------------------------------------- */

/* Pairs put under the lock before the region is cleared: each costs then a few slots looked at. */
static uint32_t most_made(const handle_level *l) { return (uint32_t)(l->s.buckets / 2) + 4; }

static void note_pair(dzo_table_handle *h) {
  __atomic_store_n(&h->net, h->net + 1, __ATOMIC_RELAXED);
}

/* Under the region's lock. */
static handle_outcome put_alone(dzo_table_handle *h, handle_level *l, uint64_t hash, uint64_t key,
                                uint64_t value) {
  handle_word word = find_word(l, hash, key, l->s.wide);
  if (word.at != NULL || word.claim != NULL)
    return HANDLE_AGAIN;
  if (l->s.wide && value == l->absent)
    return HANDLE_NO_WORD;
  table_cpu_place place = table_cpu_find_place(&l->s, hash);
  if (l->s.wide) {
    handle_bury(l, table_cpu_bucket(&l->s, place.first));
    handle_bury(l, table_cpu_bucket(&l->s, place.second));
  }
  if (!table_cpu_put(&l->s, key, value))
    return HANDLE_REFUSED;
  note_pair(h);
  if (++l->made[place.region] > most_made(l))
    handle_clear_region(l, place.region);
  return HANDLE_DONE;
}

/* Would the pair be one too many? Where the table is fixed, and about full, all are counted. */
static bool is_full(const dzo_table_handle *h, const handle_level *l) {
  return h->share->engine->fixed && handle_count(h->share) >= l->limit;
}

handle_outcome handle_make_room(dzo_table_handle *h, uint64_t hash, uint64_t key, uint64_t value) {
  handle_level *l = handle_read(h);
  uint64_t region = table_cpu_region_of(&l->s, hash), number = l->number;
  handle_outcome outcome = HANDLE_AGAIN;
  bool is_crowded = false;
  if (handle_lock(h, l, region)) {
    outcome = is_full(h, l) ? HANDLE_REFUSED : put_alone(h, l, hash, key, value);
    is_crowded = l->s.regions[region].nodes > __atomic_load_n(&l->nodes, __ATOMIC_RELAXED);
    handle_unlock(l, region);
  }
  handle_leave(h);
  /* The pair is in, so it is no matter whether there is memory. */
  if (is_crowded)
    (void)handle_rebuild(h, number);
  return outcome;
}

/* ---- All ------------------------------------------------------------------------------------- */

static uint64_t next_capacity(const table_share *share, const handle_level *l) {
  uint64_t count = handle_count(share);
  bool grows = !share->engine->fixed && count >= l->limit / 2;
  return grows ? 2 * l->limit : l->limit;
}

/* A level in place of l, whose regions are locked; NULL: no memory. */
static handle_level *replace(table_share *share, handle_level *l) {
  table_cpu *t = share->engine;
  handle_level_settle(share, l);
  table_cpu_store *store;
  if (table_cpu_rebuild(t, l->store, next_capacity(share, l), t->context->threads, &store) !=
      DZO_OK)
    return NULL;
  handle_level *next = handle_level_make(share, store, l->absent);
  if (next == NULL)
    table_cpu_store_free(store);
  return next;
}

handle_outcome handle_rebuild(dzo_table_handle *h, uint64_t number) {
  table_share *share = h->share;
  handle_outcome outcome = HANDLE_AGAIN;
  handle_lock_share(share);
  handle_level *l = share->level;
  if (l->number == number) {
    handle_lock_all(share, l);
    handle_level *next = replace(share, l);
    if (next != NULL) {
      __atomic_store_n(&share->level, next, __ATOMIC_SEQ_CST);
      l->retired = share->retired;
      __atomic_store_n(&share->retired, l, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(&l->nodes, 2 * l->nodes, __ATOMIC_RELAXED); /* not again at once */
      handle_unlock_all(l);
      outcome = HANDLE_REFUSED;
    }
    handle_reclaim(share);
  }
  pthread_mutex_unlock(&share->lock);
  return outcome;
}

/* ---- When ------------------------------------------------------------------------------------ */

enum { MOST_CREDIT = 4096 };

/* Of a level that was still read when it was replaced. */
static void try_reclaim(table_share *share) {
  if (__atomic_load_n(&share->retired, __ATOMIC_RELAXED) != NULL &&
      pthread_mutex_trylock(&share->lock) == 0) {
    handle_reclaim(share);
    pthread_mutex_unlock(&share->lock);
  }
}

void handle_count_insert(dzo_table_handle *h) {
  note_pair(h);
  if (DZO_LIKELY(h->credit-- > 0))
    return;
  table_share *share = h->share;
  h->credit = MOST_CREDIT;
  try_reclaim(share);
  if (share->engine->fixed)
    return;
  handle_level *l = handle_read(h);
  uint64_t count = handle_count(share), limit = l->limit, number = l->number;
  handle_leave(h);
  if (count >= limit) {
    /* Without memory, all slots were looked at in vain. */
    bool grew = handle_rebuild(h, number) != HANDLE_REFUSED;
    h->credit = grew ? 0 : limit / 8 + MOST_CREDIT;
    return;
  }
  /* All handles together do not get far beyond the limit. */
  uint64_t left =
      (limit - count) / 2 / (1 + __atomic_load_n(&share->table->handles, __ATOMIC_RELAXED));
  if (left < MOST_CREDIT)
    h->credit = left;
}
