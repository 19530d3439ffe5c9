/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The entries for single operations. */
#include "table/handle.h"

#include <inttypes.h>

#include "base/memory.h"
#include "table/handle_word.h"

/* ---- The first handle and the last ----------------------------------------------------------- */

static dzo_status begin_session(table_share *share) {
  table_cpu *t = share->engine;
  share->base = (int64_t)t->pairs;
  handle_level *l = handle_level_make(share, t->store, 0);
  if (l == NULL)
    return DZO_E_MEMORY;
  __atomic_store_n(&share->level, l, __ATOMIC_SEQ_CST);
  return DZO_OK;
}

/* Of a 32-bit table of one region, TOMBs cannot be told from slots of erased keys. */
static dzo_status drop_tombs(table_cpu *t) {
  if (t->wide || t->store->bits > 0)
    return DZO_OK;
  table_cpu_recount(t);
  if (t->store->regions[0].tombs == 0)
    return DZO_OK;
  table_cpu_store *store;
  DZO_TRY(table_cpu_rebuild(t, t->store, table_cpu_limit(t, t->store), 1, &store));
  table_cpu_store_free(t->store);
  t->store = store;
  return DZO_OK;
}

static void end_session(table_share *share) {
  table_cpu *t = share->engine;
  handle_level *l = share->level;
  t->pairs = handle_count(share);
  for (dzo_table_handle *h = share->handles; h != NULL; h = h->next)
    h->net = 0;
  handle_level_settle(share, l);
  for (uint64_t region = 0; region < (uint64_t)1 << l->s.bits; region++)
    l->s.regions[region].failures = 0;
  t->store = l->store;
  share->level = NULL;
  handle_level_free(l);
  handle_reclaim(share);
  table_cpu_recount(t);
}

/* ---- Handles --------------------------------------------------------------------------------- */

static table_share *make_share(dzo_table *table) {
  table_share *share = dzo_calloc(table->context, 1, sizeof *share);
  if (share == NULL)
    return NULL;
  share->table = table;
  share->engine = table->state;
  pthread_mutex_init(&share->lock, NULL);
  table_share *there = NULL;
  if (__atomic_compare_exchange_n(&table->share, &there, share, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return share;
  table_share_free(share); /* another thread's first handle */
  return there;
}

void table_share_free(table_share *share) {
  if (share == NULL)
    return;
  for (dzo_table_handle *h = share->handles, *next; h != NULL; h = next) {
    next = h->next;
    dzo_free(h);
  }
  pthread_mutex_destroy(&share->lock);
  dzo_free(share);
}

/* With the lock held. */
static dzo_table_handle *take_handle(table_share *share) {
  for (dzo_table_handle *h = share->handles; h != NULL; h = h->next)
    if (!h->used)
      return h;
  dzo_table_handle *h = dzo_calloc(share->table->context, 1, sizeof *h);
  if (h == NULL)
    return NULL;
  h->share = share;
  h->next = share->handles;
  __atomic_store_n(&share->handles, h, __ATOMIC_SEQ_CST);
  return h;
}

static dzo_status create_locked(table_share *share, dzo_table_handle **out) {
  dzo_table_handle *h = take_handle(share);
  if (h == NULL)
    return DZO_E_MEMORY;
  if (share->level == NULL) {
    DZO_TRY(drop_tombs(share->engine));
    DZO_TRY(begin_session(share));
  }
  h->used = true;
  h->credit = 0;
  __atomic_fetch_add(&share->table->handles, 1, __ATOMIC_ACQ_REL);
  *out = h;
  return DZO_OK;
}

dzo_status dzo_table_handle_create(dzo_table *table, dzo_table_handle **out) {
  if (table == NULL || out == NULL)
    return DZO_E_ARGUMENT;
  *out = NULL;
  if (table->engine->device != DZO_DEVICE_CPU)
    return dzo_fail(table->context, DZO_E_UNSUPPORTED,
                    "dzo_table_handle_create: only tables on the CPU have handles");
  table_share *share = __atomic_load_n(&table->share, __ATOMIC_ACQUIRE);
  if (share == NULL)
    share = make_share(table);
  if (share == NULL)
    return DZO_E_MEMORY;
  pthread_mutex_lock(&share->lock);
  dzo_status status = create_locked(share, out);
  pthread_mutex_unlock(&share->lock);
  return status;
}

void dzo_table_handle_destroy(dzo_table_handle *handle) {
  if (handle == NULL)
    return;
  table_share *share = handle->share;
  pthread_mutex_lock(&share->lock);
  handle->used = false;
  if (__atomic_load_n(&share->table->handles, __ATOMIC_RELAXED) == 1)
    end_session(share);
  else
    handle_reclaim(share);
  __atomic_fetch_sub(&share->table->handles, 1, __ATOMIC_ACQ_REL);
  pthread_mutex_unlock(&share->lock);
}

/* Overflows are not counted: they change meanwhile. */
bool table_share_ask(const dzo_table *table, table_share_figures *out) {
  table_share *share = __atomic_load_n(&table->share, __ATOMIC_ACQUIRE);
  if (share == NULL)
    return false;
  pthread_mutex_lock(&share->lock);
  const handle_level *l = share->level;
  if (l != NULL) {
    uint64_t buckets = l->s.buckets << l->s.bits;
    *out = (table_share_figures){handle_count(share), l->limit,
                                 buckets * TABLE_CPU_WORDS * sizeof *l->s.words +
                                     ((uint64_t)1 << l->s.bits) * sizeof *l->s.regions};
  }
  pthread_mutex_unlock(&share->lock);
  return l != NULL;
}

/* ---- Keys and values ------------------------------------------------------------------------- */

static bool is_key(const dzo_table_options *o, uint64_t key) {
  return o->key_bits == 64 || key <= UINT32_MAX;
}

/* The engine's word of a value, of which the table keeps value_bits. */
static uint64_t word_for(const dzo_table_options *o, uint64_t value) {
  return table_word_of(o, o->value_bits == 64 ? value : value & UINT32_MAX);
}

static void tell(const dzo_table_options *o, uint64_t *seen, uint64_t word) {
  if (seen != NULL)
    *seen = table_value_of(o, word);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* One look, which counts unless a pair moved meanwhile: then it may have been missed, or the word
 * be that of another key. */
DZO_ITEM bool look(handle_level *l, uint64_t hash, uint64_t key, bool wide, bool *is_there,
                   uint64_t *word) {
  const uint64_t *version = &l->s.regions[table_cpu_region_of(&l->s, hash)].version;
  uint64_t before = word_load(version);
  handle_word w = find_word(l, hash, key, wide);
  *is_there = false;
  if (w.at != NULL) {
    uint64_t x = word_load(w.at);
    if (!wide && w.in_slot) {
      /* The slot was the key's when it was found. */
      *is_there = (uint32_t)x == (uint32_t)key;
      if (!*is_there && x != w.absent)
        return false;
    } else {
      *is_there = x != w.absent;
      if (wide && w.in_slot && word_load(w.at - 1) != key)
        return false;
    }
    *word = x >> w.shift;
  }
  return word_load(version) == before;
}

DZO_ITEM bool look_until_sure(handle_level *l, uint64_t hash, uint64_t key, bool wide,
                              uint64_t *word) {
  bool is_there;
  while (!look(l, hash, key, wide, &is_there, word)) {
  }
  return is_there;
}

dzo_table_answer dzo_table_handle_find(dzo_table_handle *handle, uint64_t key, uint64_t *value) {
  const dzo_table_options *o = &handle->share->table->options;
  if (!is_key(o, key))
    return DZO_TABLE_ABSENT;
  handle_level *l = handle_read(handle);
  uint64_t hash = table_hash(key, l->s.seed), word = 0;
  bool is_there = l->s.wide ? look_until_sure(l, hash, key, true, &word)
                            : look_until_sure(l, hash, key, false, &word);
  handle_leave(handle);
  if (!is_there)
    return DZO_TABLE_ABSENT;
  tell(o, value, word);
  return DZO_TABLE_FOUND;
}

/* ---- Changing -------------------------------------------------------------------------------- */

typedef struct change {
  dzo_table_operation operation;
  uint64_t hash, key, word;
  dzo_table_answer answer;
  uint64_t seen;
} change;

/* What the key's word becomes when it was x; x itself: nothing changes. False: it cannot be. */
DZO_ITEM bool next_word(const change *c, const handle_word *w, uint64_t x, bool wide,
                        uint64_t *next) {
  uint64_t value = c->word;
  *next = x;
  if (x == w->absent) {
    if (c->operation == DZO_TABLE_ERASE)
      return true;
  } else if (c->operation == DZO_TABLE_ERASE) {
    *next = w->absent;
    return true;
  } else if (c->operation == DZO_TABLE_INSERT) {
    return true;
  } else if (c->operation == DZO_TABLE_ADD) {
    value += x >> w->shift;
    if (!wide)
      value &= UINT32_MAX;
  }
  *next = value << w->shift | w->low;
  return *next != w->absent;
}

/* Do it to the key's word. */
DZO_ITEM handle_outcome change_word(change *c, const handle_word *w, bool wide) {
  uint64_t x = word_load(w->at), next;
  do {
    if (!next_word(c, w, x, wide, &next))
      return HANDLE_NO_WORD;
  } while (next != x && !word_swap(w->at, &x, next));
  if (x != w->absent) {
    c->answer = DZO_TABLE_FOUND;
    c->seen = x >> w->shift;
  } else if (c->operation == DZO_TABLE_ERASE) {
    c->answer = DZO_TABLE_ABSENT;
  } else {
    c->answer = DZO_TABLE_INSERTED;
    c->seen = next >> w->shift;
  }
  return HANDLE_DONE;
}

/* Inside as a writer. */
DZO_ITEM handle_outcome try_change(handle_level *l, change *c, bool wide) {
  for (;;) {
    handle_word w = find_word(l, c->hash, c->key, wide);
    if (w.at != NULL)
      return change_word(c, &w, wide);
    if (c->operation == DZO_TABLE_ERASE) {
      c->answer = DZO_TABLE_ABSENT;
      return HANDLE_DONE;
    }
    if (w.claim == NULL)
      return HANDLE_NO_ROOM;
    uint64_t owner = TABLE_CPU_EMPTY;
    bool is_own = word_swap(w.claim, &owner, wide ? c->key : c->word << 32 | c->key);
    if (wide && (is_own || owner == c->key)) {
      w.at = w.claim + 1;
      return change_word(c, &w, wide);
    }
    if (is_own) {
      c->answer = DZO_TABLE_INSERTED;
      c->seen = c->word;
      return HANDLE_DONE;
    }
  }
}

static handle_outcome attempt(dzo_table_handle *h, change *c, uint64_t *number) {
  handle_level *l = handle_write(h, c->hash);
  *number = l->number;
  handle_outcome outcome = l->s.wide ? try_change(l, c, true) : try_change(l, c, false);
  handle_leave(h);
  return outcome;
}

static dzo_table_answer refuse(change *c) { return c->answer = DZO_TABLE_REFUSED; }

static dzo_table_answer run(dzo_table_handle *h, change *c) {
  for (;;) {
    uint64_t number;
    handle_outcome outcome = attempt(h, c, &number);
    if (outcome == HANDLE_DONE) {
      if (c->answer == DZO_TABLE_INSERTED)
        handle_count_insert(h);
      else if (c->operation == DZO_TABLE_ERASE && c->answer == DZO_TABLE_FOUND)
        __atomic_store_n(&h->net, h->net - 1, __ATOMIC_RELAXED);
      return c->answer;
    }
    if (outcome == HANDLE_NO_ROOM)
      outcome = handle_make_room(h, c->hash, c->key, c->word);
    if (outcome == HANDLE_NO_WORD)
      outcome = handle_rebuild(h, number);
    if (outcome == HANDLE_REFUSED)
      return refuse(c);
    if (outcome == HANDLE_DONE) {
      c->seen = c->word;
      return c->answer = DZO_TABLE_INSERTED;
    }
  }
}

static dzo_table_answer change_key(dzo_table_handle *h, dzo_table_operation operation, uint64_t key,
                                   uint64_t value, uint64_t *seen) {
  const dzo_table_options *o = &h->share->table->options;
  if (!is_key(o, key))
    return operation == DZO_TABLE_ERASE ? DZO_TABLE_ABSENT : DZO_TABLE_REFUSED;
  change c = {.operation = operation,
              .hash = table_hash(key, h->share->engine->seed),
              .key = key,
              .word = word_for(o, value)};
  dzo_table_answer answer = run(h, &c);
  if (answer == DZO_TABLE_FOUND || answer == DZO_TABLE_INSERTED)
    tell(o, seen, c.seen);
  return answer;
}

dzo_table_answer dzo_table_handle_insert(dzo_table_handle *handle, uint64_t key, uint64_t value,
                                         uint64_t *seen) {
  return change_key(handle, DZO_TABLE_INSERT, key, value, seen);
}

dzo_table_answer dzo_table_handle_assign(dzo_table_handle *handle, uint64_t key, uint64_t value,
                                         uint64_t *seen) {
  return change_key(handle, DZO_TABLE_ASSIGN, key, value, seen);
}

dzo_table_answer dzo_table_handle_add(dzo_table_handle *handle, uint64_t key, uint64_t value,
                                      uint64_t *seen) {
  return change_key(handle, DZO_TABLE_ADD, key, value, seen);
}

dzo_table_answer dzo_table_handle_erase(dzo_table_handle *handle, uint64_t key, uint64_t *seen) {
  return change_key(handle, DZO_TABLE_ERASE, key, 0, seen);
}
