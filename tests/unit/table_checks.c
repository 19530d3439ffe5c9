/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/transfer.h"
#include "table_checks.h"

enum { PATTERN = 0xab, MOST_ORDERED = 6 };

void table_must(const dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
}

void checked_table_open(checked_table *t, dzo_context *context, const dzo_table_options *options) {
  dzo_table_options o;
  dzo_table_options_init(&o);
  if (options != NULL)
    o = *options;
  *t = (checked_table){.context = context,
                       .key_bits = o.key_bits,
                       .value_bits = o.value_bits,
                       .fixed = o.fixed != 0,
                       .capacity = o.capacity,
                       .device = "?"};
  table_must(context, dzo_table_create(context, &o, &t->table));
  t->oracle = oracle_table_make(o.value_bits);
}

void checked_table_close(checked_table *t) {
  dzo_table_destroy(t->table);
  oracle_table_free(t->oracle);
  t->table = NULL;
  t->oracle = NULL;
}

struct dzo_unit *checked_table_gpu(const checked_table *t) {
  return dzo_table_device(t->table) == DZO_DEVICE_CPU ? NULL : dzo_context_gpu(t->context);
}

static void *must_have(uint64_t count, size_t size) {
  void *block = malloc(count * size > 0 ? count * size : 1);
  assert_non_null(block);
  return block;
}

/* ---- Arrays of a width, in some memory ------------------------------------------------------- */

static size_t bytes_of(int bits) { return (size_t)bits / 8; }

static void *narrow(const uint64_t *items, uint64_t count, int bits) {
  if (items == NULL)
    return NULL;
  void *out = must_have(count, bytes_of(bits));
  for (uint64_t i = 0; i < count; i++) {
    if (bits == 64)
      ((uint64_t *)out)[i] = items[i];
    else
      ((uint32_t *)out)[i] = (uint32_t)items[i];
  }
  return out;
}

static uint64_t item_at(const void *items, int bits, uint64_t i) {
  return bits == 64 ? ((const uint64_t *)items)[i] : ((const uint32_t *)items)[i];
}

/* What is handed over: a copy on the GPU, or the array itself. */
static void *hand_over(struct dzo_unit *unit, void *array, uint64_t bytes) {
  if (unit == NULL || array == NULL)
    return array;
  void *there = NULL;
  table_must(unit->context, dzo_unit_allocate(unit, bytes, 1, &there));
  table_must(unit->context, dzo_unit_send(unit, there, array, bytes));
  return there;
}

static void take_back(struct dzo_unit *unit, void *array, void *there, uint64_t bytes) {
  if (unit == NULL || array == NULL)
    return;
  table_must(unit->context, dzo_unit_fetch(unit, array, there, bytes));
  dzo_unit_release(unit, there);
}

/* A batch that ran. */
typedef struct ran {
  const checked_batch *asked;
  dzo_status status;
  dzo_table_batch counts;
  void *results;
  uint8_t *answers;
} ran;

/* Of arrays that are there already. */
static dzo_status run_with_little(const checked_table *t, dzo_table_batch *batch) {
  struct dzo_unit *unit = checked_table_gpu(t);
  if (t->fail_at > 0)
    unit->fail_at = unit->operations + t->fail_at;
  if (t->room > 0)
    unit->limit = unit->used + t->room;
  dzo_status status = dzo_table_run(t->table, batch);
  unit->limit = UINT64_MAX;
  unit->fail_at = 0;
  return status;
}

static void run_on_table(const checked_table *t, ran *r) {
  const checked_batch *b = r->asked;
  struct dzo_unit *unit = b->on_gpu ? checked_table_gpu(t) : NULL;
  uint64_t n = b->count, value_bytes = n * bytes_of(t->value_bits);
  void *keys = narrow(b->keys, n, t->key_bits), *values = narrow(b->values, n, t->value_bits);
  uint8_t *operations = NULL;
  if (b->operations != NULL)
    operations = memcpy(must_have(n, 1), b->operations, n);
  bool answers = b->wants_answers || b->any || t->fixed || t->may_fail;
  r->results = b->wants_results ? memset(must_have(value_bytes, 1), PATTERN, value_bytes) : NULL;
  r->answers = answers ? memset(must_have(n, 1), PATTERN, n) : NULL;

  dzo_table_batch_init(&r->counts);
  dzo_table_batch *c = &r->counts;
  void *far_keys = hand_over(unit, keys, n * bytes_of(t->key_bits));
  void *far_values = hand_over(unit, values, value_bytes);
  uint8_t *far_operations = hand_over(unit, operations, n);
  c->operation = b->operation;
  c->flags = b->any ? DZO_TABLE_ANY : 0;
  c->count = n;
  c->keys = far_keys;
  c->values = far_values;
  c->operations = far_operations;
  c->results = hand_over(unit, r->results, value_bytes);
  c->answers = hand_over(unit, r->answers, n);
  bool little = t->fail_at > 0 || t->room > 0;
  r->status = little ? run_with_little(t, c) : dzo_table_run(t->table, c);
  if (r->status == DZO_E_DEVICE_FAILED)
    unit = NULL;
  take_back(unit, keys, far_keys, n * bytes_of(t->key_bits));
  take_back(unit, values, far_values, value_bytes);
  take_back(unit, operations, far_operations, n);
  take_back(unit, r->results, c->results, value_bytes);
  take_back(unit, r->answers, c->answers, n);
  for (uint64_t i = 0; i < n; i++)
    if (item_at(keys, t->key_bits, i) != b->keys[i])
      fail_msg("%s: key %d was changed", t->device, (int)i);
  free(keys);
  free(values);
  free(operations);
}

/* ---- In order -------------------------------------------------------------------------------- */

static dzo_table_operation operation_of(const checked_batch *b, uint64_t i) {
  return b->operations != NULL ? (dzo_table_operation)b->operations[i] : b->operation;
}

static uint64_t value_of(const checked_batch *b, uint64_t i) {
  return b->values != NULL ? b->values[i] : b->operation == DZO_TABLE_ADD ? 1 : 0;
}

static bool stores(dzo_table_operation operation) {
  return operation != DZO_TABLE_FIND && operation != DZO_TABLE_ERASE;
}

static void check_result(const checked_table *t, const ran *r, uint64_t i,
                         dzo_table_operation operation, uint64_t expected) {
  if (r->results == NULL || (operation != DZO_TABLE_FIND && r->asked->operations == NULL))
    return;
  uint64_t untouched = t->value_bits == 64 ? UINT64_C(0xabababababababab) : 0xababababu;
  if (operation != DZO_TABLE_FIND)
    expected = untouched;
  uint64_t got = item_at(r->results, t->value_bits, i);
  if (got != expected)
    fail_msg("%s: query %llu of %llu (operation %d, key %#llx): result %#llx, not %#llx", t->device,
             (unsigned long long)i, (unsigned long long)r->asked->count, (int)operation,
             (unsigned long long)r->asked->keys[i], (unsigned long long)got,
             (unsigned long long)expected);
}

static void check_answer(const checked_table *t, const ran *r, uint64_t i, uint8_t expected) {
  if (r->answers != NULL && r->answers[i] != expected)
    fail_msg("%s: query %llu of %llu (operation %d, key %#llx): answer %d, not %d", t->device,
             (unsigned long long)i, (unsigned long long)r->asked->count,
             (int)operation_of(r->asked, i), (unsigned long long)r->asked->keys[i], r->answers[i],
             expected);
}

/* A query that was refused would have stored a new key, and no other query of its key was taken. */
static void check_refused(const checked_table *t, const ran *r, uint64_t i,
                          oracle_table *refused_keys) {
  uint64_t ignored, key = r->asked->keys[i];
  if (r->status == DZO_E_MEMORY || r->status == DZO_E_CANCELLED)
    return; /* any query may be left undone */
  if (!stores(operation_of(r->asked, i)) || oracle_table_get(t->oracle, key, &ignored))
    fail_msg("%s: query %llu (key %#llx) was refused without need", t->device,
             (unsigned long long)i, (unsigned long long)key);
  oracle_table_set(refused_keys, key, 0);
}

static void check_counts(const checked_table *t, const ran *r, uint64_t found, uint64_t inserted,
                         uint64_t refused) {
  const dzo_table_batch *c = &r->counts;
  if (c->found != found || c->inserted != inserted || c->refused != refused)
    fail_msg("%s: operation %d, %llu queries: counted %llu, %llu, %llu; right %llu, %llu, %llu",
             t->device, (int)r->asked->operation, (unsigned long long)r->asked->count,
             (unsigned long long)c->found, (unsigned long long)c->inserted,
             (unsigned long long)c->refused, (unsigned long long)found,
             (unsigned long long)inserted, (unsigned long long)refused);
}

static void compare_in_order(checked_table *t, const ran *r) {
  const checked_batch *b = r->asked;
  uint64_t count[4] = {0};
  oracle_table *refused_keys = r->counts.refused > 0 ? oracle_table_make(64) : NULL;
  for (uint64_t i = 0; i < b->count; i++) {
    dzo_table_operation operation = operation_of(b, i);
    uint64_t result, ignored;
    if (refused_keys != NULL && r->answers[i] == DZO_TABLE_REFUSED) {
      check_refused(t, r, i, refused_keys);
      count[DZO_TABLE_REFUSED]++;
      continue;
    }
    dzo_table_answer answer =
        oracle_table_run(t->oracle, operation, b->keys[i], value_of(b, i), &result);
    if (refused_keys != NULL && b->operations == NULL && answer == DZO_TABLE_INSERTED &&
        oracle_table_get(refused_keys, b->keys[i], &ignored))
      fail_msg("%s: query %llu was taken though its key was refused", t->device,
               (unsigned long long)i);
    count[answer]++;
    check_answer(t, r, i, (uint8_t)answer);
    check_result(t, r, i, operation, result);
  }
  check_counts(t, r, count[DZO_TABLE_FOUND], count[DZO_TABLE_INSERTED], count[DZO_TABLE_REFUSED]);
  if (refused_keys != NULL)
    oracle_table_free(refused_keys);
}

/* ---- In any order ---------------------------------------------------------------------------- */

typedef struct keyed_query {
  uint64_t key, index;
} keyed_query;

static int by_key(const void *a, const void *b) {
  const keyed_query *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

typedef struct key_state {
  bool there;
  uint64_t value;
} key_state;

/* The queries of one key. */
typedef struct group {
  const checked_table *t;
  const ran *r;
  const keyed_query *queries;
  uint64_t count;
  key_state before, after;
} group;

static bool result_is_right(const group *g, uint64_t i, uint64_t expected) {
  const ran *r = g->r;
  return r->results == NULL || operation_of(r->asked, i) != DZO_TABLE_FIND ||
         item_at(r->results, g->t->value_bits, i) == expected;
}

/* Can query q come next, by its answer and result? *s becomes the state behind it. */
static bool comes_next(const group *g, uint64_t q, key_state *s) {
  uint64_t i = g->queries[q].index, result;
  dzo_table_operation operation = operation_of(g->r->asked, i);
  if (g->r->answers[i] == DZO_TABLE_REFUSED)
    return g->t->may_fail || (!s->there && stores(operation));
  dzo_table_answer answer = oracle_step(operation, value_of(g->r->asked, i), g->t->value_bits,
                                        &s->there, &s->value, &result);
  return g->r->answers[i] == answer && result_is_right(g, i, result);
}

/* Is there an order of the queries that are not `done` that explains everything? */
static bool has_order(const group *g, key_state s, unsigned done) {
  if (done + 1 == 1u << g->count)
    return s.there == g->after.there && (!s.there || s.value == g->after.value);
  for (unsigned q = 0; q < g->count; q++) {
    key_state next = s;
    if ((done >> q & 1) == 0 && comes_next(g, q, &next) && has_order(g, next, done | 1u << q))
      return true;
  }
  return false;
}

/* Of many queries: each answer by itself, how many made and erased the pair, and, of one operation,
 * the value left. */
static bool adds_up(const group *g) {
  int64_t there = g->before.there;
  uint64_t sum = g->before.there ? g->before.value : 0, least = UINT64_MAX, most = 0;
  uint64_t mask = g->t->value_bits == 64 ? UINT64_MAX : UINT32_MAX;
  bool one_of_them = g->before.there, taken = false;
  const checked_batch *b = g->r->asked;
  for (uint64_t q = 0; q < g->count; q++) {
    uint64_t i = g->queries[q].index, value = value_of(b, i);
    uint8_t answer = g->r->answers[i];
    there += answer == DZO_TABLE_INSERTED;
    there -= answer == DZO_TABLE_FOUND && operation_of(b, i) == DZO_TABLE_ERASE;
    if (answer == DZO_TABLE_REFUSED)
      continue;
    taken = true;
    sum += value;
    least = value < least ? value : least;
    most = value > most ? value : most;
    one_of_them |= value == g->after.value && b->operation != DZO_TABLE_INSERT;
    one_of_them |= value == g->after.value && !g->before.there;
  }
  if (there != (int64_t)g->after.there)
    return false;
  if (b->operations != NULL || !g->after.there || !taken)
    return true;
  key_state old = g->before;
  switch (b->operation) {
  case DZO_TABLE_ADD:
    return g->after.value == (sum & mask);
  case DZO_TABLE_MIN:
    return g->after.value == (old.there && old.value < least ? old.value : least);
  case DZO_TABLE_MAX:
    return g->after.value == (old.there && old.value > most ? old.value : most);
  case DZO_TABLE_INSERT:
    return old.there ? g->after.value == old.value : one_of_them;
  case DZO_TABLE_ASSIGN:
    return one_of_them;
  default:
    return g->after.value == old.value;
  }
}

/* What the table holds of each key of the batch, by another batch. */
static key_state *look_up(const checked_table *t, const checked_batch *b) {
  key_state *states = must_have(b->count, sizeof *states);
  void *keys = narrow(b->keys, b->count, t->key_bits);
  void *results = must_have(b->count, bytes_of(t->value_bits));
  uint8_t *found = must_have(b->count, 1);
  table_must(t->context, dzo_table_find(t->table, b->count, keys, results, found, NULL));
  for (uint64_t i = 0; i < b->count; i++)
    states[i] = (key_state){found[i] == DZO_TABLE_FOUND, item_at(results, t->value_bits, i)};
  free(keys);
  free(results);
  free(found);
  return states;
}

static void check_group(const checked_table *t, const group *g) {
  bool few = g->count <= MOST_ORDERED;
  if (!(few ? has_order(g, g->before, 0) : adds_up(g)))
    fail_msg("%s: in no order do %llu queries (operation %d, key %#llx) have these answers",
             t->device, (unsigned long long)g->count, (int)g->r->asked->operation,
             (unsigned long long)g->queries[0].key);
  if (g->after.there)
    oracle_table_set(t->oracle, g->queries[0].key, g->after.value);
  else if (g->before.there) {
    uint64_t ignored;
    (void)oracle_table_run(t->oracle, DZO_TABLE_ERASE, g->queries[0].key, 0, &ignored);
  }
}

static void compare_in_any_order(checked_table *t, const ran *r) {
  const checked_batch *b = r->asked;
  keyed_query *queries = must_have(b->count, sizeof *queries);
  key_state *after = look_up(t, b);
  uint64_t count[4] = {0};
  for (uint64_t i = 0; i < b->count; i++) {
    queries[i] = (keyed_query){b->keys[i], i};
    assert_in_range(r->answers[i], DZO_TABLE_ABSENT, DZO_TABLE_REFUSED);
    count[r->answers[i]]++;
  }
  check_counts(t, r, count[DZO_TABLE_FOUND], count[DZO_TABLE_INSERTED], count[DZO_TABLE_REFUSED]);
  qsort(queries, b->count, sizeof *queries, by_key);
  for (uint64_t begin = 0, end; begin < b->count; begin = end) {
    for (end = begin; end < b->count && queries[end].key == queries[begin].key;)
      end++;
    group g = {.t = t, .r = r, .queries = queries + begin, .count = end - begin};
    g.before.there = oracle_table_get(t->oracle, queries[begin].key, &g.before.value);
    g.after = after[queries[begin].index];
    check_group(t, &g);
  }
  free(queries);
  free(after);
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* A fixed table refuses only what would not fit. */
static void check_fullness(const checked_table *t, const ran *r, uint64_t size_before) {
  if (t->may_fail && (r->status == DZO_E_MEMORY || r->status == DZO_E_CANCELLED))
    return;
  if (r->counts.refused == 0) {
    table_must(t->context, r->status);
    return;
  }
  if (!t->fixed)
    fail_msg("%s: %llu queries were refused: %s", t->device, (unsigned long long)r->counts.refused,
             dzo_context_message(t->context));
  assert_int_equal(r->status, DZO_E_LIMIT);
  assert_non_null(strstr(dzo_context_message(t->context), "full"));
  /* Where the batch erases as well, its new pairs may come first. */
  uint64_t most = size_before + r->counts.inserted + r->counts.refused;
  bool erases = r->asked->operations != NULL;
  if (most <= t->capacity || (!erases && dzo_table_size(t->table) < t->capacity))
    fail_msg("%s: refused %llu with %llu pairs in a table for %llu", t->device,
             (unsigned long long)r->counts.refused, (unsigned long long)dzo_table_size(t->table),
             (unsigned long long)t->capacity);
}

void checked_table_run(checked_table *t, const checked_batch *batch) {
  ran r = {.asked = batch};
  uint64_t size_before = oracle_table_size(t->oracle);
  run_on_table(t, &r);
  t->status = r.status;
  if (t->may_lose && r.status == DZO_E_DEVICE_FAILED) {
    free(r.results);
    free(r.answers);
    return;
  }
  check_fullness(t, &r, size_before);
  t->refused += r.counts.refused;
  if (batch->any)
    compare_in_any_order(t, &r);
  else
    compare_in_order(t, &r);
  assert_int_equal(dzo_table_size(t->table), oracle_table_size(t->oracle));
  free(r.results);
  free(r.answers);
}

void checked_table_compare(const checked_table *t, bool on_gpu) {
  uint64_t size = oracle_table_size(t->oracle);
  assert_int_equal(dzo_table_size(t->table), size);
  struct dzo_unit *unit = on_gpu ? checked_table_gpu(t) : NULL;
  uint64_t key_bytes = size * bytes_of(t->key_bits), value_bytes = size * bytes_of(t->value_bits);
  void *keys = must_have(key_bytes, 1), *values = must_have(value_bytes, 1);
  void *far_keys = hand_over(unit, keys, key_bytes);
  void *far_values = hand_over(unit, values, value_bytes);
  table_must(t->context, dzo_table_export_into(t->table, far_keys, far_values));
  take_back(unit, keys, far_keys, key_bytes);
  take_back(unit, values, far_values, value_bytes);
  oracle_table_new_round(t->oracle);
  for (uint64_t i = 0; i < size; i++) {
    uint64_t key = item_at(keys, t->key_bits, i), value = item_at(values, t->value_bits, i);
    uint64_t right;
    bool again;
    if (!oracle_table_get_once(t->oracle, key, &right, &again) || value != right)
      fail_msg("%s: the table has %#llx -> %#llx, which is wrong", t->device,
               (unsigned long long)key, (unsigned long long)value);
    if (again)
      fail_msg("%s: key %#llx stands twice in the table", t->device, (unsigned long long)key);
  }
  free(keys);
  free(values);
}
