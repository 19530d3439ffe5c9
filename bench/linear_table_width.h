/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* linear_table.c for keys and values of one width. Included there twice, with BITS 32 and 64. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define N(name) PASTE(name, BITS)
#define WORD PASTE(PASTE(uint, BITS), _t)
#define LOAD PASTE(dzo_load_u, BITS)
#define STORE PASTE(dzo_store_u, BITS)
#define CAS PASTE(dzo_cas_u, BITS)
#define NONE ((WORD)-1)

typedef struct N(pair) {
  WORD key, value;
} N(pair);

static bool N(insert_one)(N(pair) * pairs, uint64_t slots, WORD key, WORD value) {
  uint64_t at = N(start)(key, slots);
  for (uint64_t probes = 0; probes < slots; probes++) {
    WORD found = NONE;
    bool added = CAS(&pairs[at].key, &found, key);
    if (added || found == key) {
      STORE(&pairs[at].value, value);
      return added;
    }
    at = at + 1 < slots ? at + 1 : 0;
  }
  return false;
}

/* The key's pair, or NULL. */
static N(pair) * N(seek)(N(pair) * pairs, uint64_t slots, WORD key) {
  uint64_t at = N(start)(key, slots);
  for (uint64_t probes = 0; probes < slots; probes++) {
    WORD found = LOAD(&pairs[at].key);
    if (found == key)
      return &pairs[at];
    if (found == NONE)
      return NULL;
    at = at + 1 < slots ? at + 1 : 0;
  }
  return NULL;
}

static void N(insert)(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  linear_job *job = argument;
  const WORD *keys = job->keys, *values = job->values;
  uint64_t added = 0;
  for (uint64_t i = begin; i < end; i++)
    added += N(insert_one)(job->table->pairs, job->table->slots, keys[i], values[i]);
  (void)dzo_fetch_add_u64(&job->counted, added);
}

static void N(find)(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  linear_job *job = argument;
  const WORD *keys = job->keys;
  WORD *results = job->results;
  uint64_t found = 0;
  for (uint64_t i = begin; i < end; i++) {
    N(pair) *pair = N(seek)(job->table->pairs, job->table->slots, keys[i]);
    results[i] = pair != NULL ? LOAD(&pair->value) : NONE;
    found += results[i] != NONE;
  }
  (void)dzo_fetch_add_u64(&job->counted, found);
}

static void N(erase)(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  linear_job *job = argument;
  const WORD *keys = job->keys;
  uint64_t erased = 0;
  for (uint64_t i = begin; i < end; i++) {
    N(pair) *pair = N(seek)(job->table->pairs, job->table->slots, keys[i]);
    if (pair == NULL)
      continue;
    STORE(&pair->value, NONE);
    erased++;
  }
  (void)dzo_fetch_add_u64(&job->counted, erased);
}

#undef PASTE_
#undef PASTE
#undef N
#undef WORD
#undef LOAD
#undef STORE
#undef CAS
#undef NONE
