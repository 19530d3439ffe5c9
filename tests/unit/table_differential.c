/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Millions of random queries of every kind against a plain map, on every device: batches of 1 to
 * 200 thousand, of keys that repeat, crowd together, stand at the ends of the range or were chosen
 * to collide; tables that grow, are fixed and overfull, are cleared, shrunk, copied, saved and
 * loaded between. DZO_TEST_OPERATIONS says how many queries instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_graphs.h"
#include "table/cpu.h"
#include "table/gpu.h"
#include "table/hybrid.h"
#include "table_checks.h"

#if defined(DZO_TEST_TINY) /* compute-sanitizer slows a GPU down a hundredfold */
enum { OPERATIONS = 6000, SMALL_OPERATIONS = 6000, WORLDS = 4 };
#elif defined(__SANITIZE_THREAD__)
enum { OPERATIONS = 150000, SMALL_OPERATIONS = 30000, WORLDS = 8 };
#elif defined(__SANITIZE_ADDRESS__)
enum { OPERATIONS = 1500000, SMALL_OPERATIONS = 50000, WORLDS = 10 };
#else
enum { OPERATIONS = 10000000, SMALL_OPERATIONS = 400000, WORLDS = 24 };
#endif
#if defined(DZO_TEST_SMALL) && (defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__))
enum { SCALE = 64 };
#else
enum { SCALE = 4 };
#endif
enum { MOST_QUERIES = 200000, OFTEN_COMPARED = 20000 };

static uint64_t operation_count(void) {
  const char *text = getenv("DZO_TEST_OPERATIONS");
  if (text != NULL)
    return strtoull(text, NULL, 10);
#ifdef DZO_TEST_SMALL
  return SMALL_OPERATIONS;
#else
  return OPERATIONS;
#endif
}

/* ---- Ways ------------------------------------------------------------------------------------ */

typedef struct way {
  const char *name;
  dzo_device device;
  int threads;
  bool on_gpu; /* arrays */
  dzo_context *context;
} way;

static way ways[] = {{"cpu, 1 thread", DZO_DEVICE_CPU, 1, false, NULL},
                     {"cpu, 2 threads", DZO_DEVICE_CPU, 2, false, NULL},
                     {"cpu, 5 threads", DZO_DEVICE_CPU, 5, false, NULL},
                     {"cuda", DZO_DEVICE_CUDA, 2, false, NULL},
                     {"cuda, arrays there", DZO_DEVICE_CUDA, 1, true, NULL},
                     {"hybrid", DZO_DEVICE_HYBRID, 2, false, NULL},
                     {"hybrid, arrays there", DZO_DEVICE_HYBRID, 3, true, NULL}};
enum { WAYS = sizeof ways / sizeof *ways, FIRST_GPU = 3 };

static int ways_open;

static int open_ways(void **state) {
  (void)state;
  int count;
  const char *reason;
  dzo_devices(NULL, 0, &count, &reason);
  if (count < 2)
    print_message("no GPU (%s): only the CPU is tested\n", reason);
  ways_open = count < 2 ? FIRST_GPU : WAYS;
  for (int i = 0; i < ways_open; i++) {
    dzo_context_options options;
    dzo_context_options_init(&options);
    options.device = ways[i].device;
    options.threads = ways[i].threads;
    if (dzo_context_create(&options, &ways[i].context) != DZO_OK)
      return -1;
  }
  return 0;
}

static int close_ways(void **state) {
  (void)state;
  for (int i = 0; i < WAYS; i++)
    dzo_context_destroy(ways[i].context);
  return 0;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

typedef enum shape { DENSE, SPREAD, TOP, ENDS, CLASHING, SHAPES } shape;

/* A table's life. */
typedef struct world {
  checked_table t;
  const way *way;
  random_source random;
  shape keys;
  uint64_t range; /* keys that may occur */
  uint64_t next;  /* of those that come in order */
  uint64_t spent; /* queries */
} world;

/* The x of which the hash of tables is y, if their seed is 0: step by step backwards. */
static uint64_t unshift(uint64_t y, int bits) {
  uint64_t x = y;
  for (int i = bits; i < 64; i += bits)
    x = y ^ x >> bits;
  return x;
}
static uint64_t inverse_of(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; i++)
    x *= 2 - odd * x;
  return x;
}
static uint64_t key_of_hash(uint64_t y) {
  uint64_t x = unshift(y, 31) * inverse_of(UINT64_C(0x94d049bb133111eb));
  return unshift(unshift(x, 27) * inverse_of(UINT64_C(0xbf58476d1ce4e5b9)), 30);
}

static uint64_t limit_of(int bits) { return bits == 64 ? UINT64_MAX : UINT32_MAX; }

/* Key number i of the range. */
static uint64_t key_at(const world *w, uint64_t i) {
  uint64_t most = limit_of(w->t.key_bits);
  switch (w->keys) {
  case SPREAD:
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> (w->t.key_bits == 64 ? 0 : 32);
  case TOP:
    return most - i;
  case ENDS: /* 0, the last, 1, the last but one; the middle; powers of two */
    return i % 4 == 0   ? i / 4
           : i % 4 == 1 ? most - i / 4
           : i % 4 == 2 ? most / 2 + i / 4
                        : UINT64_C(1) << (i / 4) % (unsigned)w->t.key_bits;
  case CLASHING: /* the hash begins with the same bits, or ends with them */
    if (w->t.key_bits == 32)
      return (i * 65536 + 77) & most;
    return key_of_hash(i % 2 != 0 ? i : i << 40 | 12345);
  default:
    return i;
  }
}

typedef enum draw { EVENLY, IN_ORDER, FEW_OFTEN, ONE, DRAWS } draw;

static uint64_t draw_key(world *w, draw how) {
  switch (how) {
  case IN_ORDER:
    return key_at(w, w->next++ % w->range);
  case FEW_OFTEN:
    return key_at(w, random_below(&w->random, w->range) >> random_below(&w->random, 20));
  case ONE:
    return key_at(w, w->next % w->range);
  default:
    return key_at(w, random_below(&w->random, w->range));
  }
}

static uint64_t draw_value(world *w) {
  uint64_t most = limit_of(w->t.value_bits);
  switch (random_below(&w->random, 5)) {
  case 0:
    return 0;
  case 1:
    return most - random_below(&w->random, 3);
  case 2:
    return random_below(&w->random, 100);
  default:
    return random_bits(&w->random) & most;
  }
}

/* ---- Batches --------------------------------------------------------------------------------- */

static dzo_table_operation draw_operation(world *w) {
  static const dzo_table_operation often[] = {
      DZO_TABLE_FIND, DZO_TABLE_FIND, DZO_TABLE_INSERT, DZO_TABLE_INSERT, DZO_TABLE_ASSIGN,
      DZO_TABLE_ADD,  DZO_TABLE_MIN,  DZO_TABLE_MAX,    DZO_TABLE_ERASE,  DZO_TABLE_ERASE};
  return often[random_below(&w->random, sizeof often / sizeof *often)];
}

static uint64_t draw_size(world *w, uint64_t most) {
  static const uint64_t classes[] = {1, 10, 100, 1000, 5000, 20000, MOST_QUERIES};
  uint64_t size = classes[random_below(&w->random, sizeof classes / sizeof *classes)];
  size = size == 1 ? 1 : 1 + random_below(&w->random, size);
  return size < most ? size : most;
}

static void random_batch(world *w, uint64_t budget) {
  uint64_t n = draw_size(w, budget);
  checked_batch b = {.operation = draw_operation(w),
                     .any = random_below(&w->random, 4) == 0,
                     .on_gpu = w->way->on_gpu,
                     .wants_results = random_below(&w->random, 4) != 0,
                     .wants_answers = random_below(&w->random, 4) != 0,
                     .count = n};
  bool mixed = random_below(&w->random, 3) == 0, values = random_below(&w->random, 8) != 0;
  draw how = (draw)random_below(&w->random, DRAWS + 2);
  b.keys = malloc(n * sizeof *b.keys);
  b.values = values ? malloc(n * sizeof *b.values) : NULL;
  b.operations = mixed ? malloc(n) : NULL;
  assert_true(b.keys != NULL && (!values || b.values != NULL) && (!mixed || b.operations != NULL));
  if (mixed)
    b.operation = DZO_TABLE_MIXED;
  bool finds = random_below(&w->random, 2) == 0; /* mostly */
  for (uint64_t i = 0; i < n; i++) {
    b.keys[i] = draw_key(w, how);
    if (values)
      b.values[i] = draw_value(w);
    if (mixed)
      b.operations[i] = finds && random_below(&w->random, 10) < 8 ? (uint8_t)DZO_TABLE_FIND
                                                                  : (uint8_t)draw_operation(w);
  }
  w->next++;
  checked_table_run(&w->t, &b);
  w->spent += n;
  free(b.keys);
  free(b.values);
  free(b.operations);
}

/* ---- The table as a whole -------------------------------------------------------------------- */

typedef struct bytes {
  unsigned char *data;
  size_t count, room, at;
} bytes;

static dzo_status write_bytes(void *user, const void *data, size_t count) {
  bytes *b = user;
  if (b->room - b->count < count) {
    b->room = 2 * b->room + count;
    b->data = realloc(b->data, b->room);
    assert_non_null(b->data);
  }
  memcpy(b->data + b->count, data, count);
  b->count += count;
  return DZO_OK;
}

static dzo_status read_bytes(void *user, void *data, size_t count, size_t *got) {
  bytes *b = user;
  *got = b->count - b->at < count ? b->count - b->at : count;
  if (*got > 1000) /* not always all that is asked for */
    *got -= *got / 3;
  memcpy(data, b->data + b->at, *got);
  b->at += *got;
  return DZO_OK;
}

static void tune_cpu(world *w, table_cpu *t) {
  t->sizes = (table_cpu_sizes){.region_buckets = 2 + random_below(&w->random, 200),
                               .piece = 500 + random_below(&w->random, 40000),
                               .direct = random_below(&w->random, 2000),
                               .pass = random_below(&w->random, 200000)};
}

static void tune_gpu(world *w, table_gpu *g) {
  g->sizes.piece = 500 + random_below(&w->random, 40000);
  g->sizes.host_piece = 500 + random_below(&w->random, 40000);
  g->sizes.direct = 1 + random_below(&w->random, 2000);
  g->sizes.heavy = 1 + random_below(&w->random, 20000);
  g->sizes.sift = 1 + random_below(&w->random, 5000);
}

/* Sizes beyond which engines do as with large tables and batches, so that small ones get there. */
static void tune(world *w) {
  if (random_below(&w->random, 3) == 0)
    return;
  void *state = w->t.table->state;
  switch (dzo_table_device(w->t.table)) {
  case DZO_DEVICE_CPU:
    tune_cpu(w, state);
    break;
  case DZO_DEVICE_CUDA:
    tune_gpu(w, state);
    break;
  default: {
    table_hybrid *h = state;
    h->piece = 1 + random_below(&w->random, 30000);
    h->alone = random_below(&w->random, 2000);
    if (random_below(&w->random, 2) == 0)
      (void)table_hybrid_shift(h);
    table_hybrid_free_room(&h->parted);
    tune_cpu(w, h->part[ON_CPU]);
    tune_gpu(w, h->part[ON_GPU]);
  }
  }
}

/* Go on with another table of the same contents. */
static void replace(world *w, dzo_table *table, const way *way) {
  dzo_table_destroy(w->t.table);
  w->t.table = table;
  w->t.context = way->context;
  w->t.device = way->name;
  w->way = way;
  tune(w);
}

static void copy_table(world *w) {
  const way *to = &ways[random_below(&w->random, (uint64_t)ways_open)];
  dzo_table *copy = NULL;
  table_must(to->context, dzo_table_copy(w->t.table, to->context, &copy));
  replace(w, copy, to);
}

static void save_and_load(world *w) {
  bytes b = {NULL, 0, 0, 0};
  dzo_table *loaded = NULL;
  table_must(w->t.context, dzo_table_save(w->t.table, write_bytes, &b));
  assert_int_equal(b.count, 72 + dzo_table_size(w->t.table) *
                                     (uint64_t)(w->t.key_bits + w->t.value_bits) / 8);
  table_must(w->way->context, dzo_table_load(w->way->context, read_bytes, &b, &loaded));
  assert_int_equal(b.at, b.count);
  assert_int_equal(dzo_table_key_bits(loaded), w->t.key_bits);
  assert_int_equal(dzo_table_value_bits(loaded), w->t.value_bits);
  replace(w, loaded, w->way);
  free(b.data);
}

static void reserve(world *w) {
  uint64_t capacity = random_below(&w->random, 2 * w->range);
  table_must(w->t.context, dzo_table_reserve(w->t.table, capacity));
  assert_true(dzo_table_capacity(w->t.table) >= capacity);
  if (w->t.capacity < capacity)
    w->t.capacity = capacity;
}

static void shrink(world *w) {
  table_must(w->t.context, dzo_table_shrink(w->t.table));
  w->t.capacity = oracle_table_size(w->t.oracle);
  assert_true(dzo_table_capacity(w->t.table) >= w->t.capacity);
}

static void check_stats(const world *w) {
  dzo_table_stats stats = {.size = sizeof stats};
  table_must(w->t.context, dzo_table_stats_into(w->t.table, &stats));
  uint64_t size = oracle_table_size(w->t.oracle), probes = 0;
  for (int i = 0; i < DZO_TABLE_PROBES; i++)
    probes += stats.probes[i];
  assert_int_equal(stats.pairs, size);
  assert_int_equal(probes, size);
  assert_true(stats.load >= 0 && stats.overflow <= size);
}

static void random_event(world *w) {
  switch (random_below(&w->random, 40)) {
  case 0:
    table_must(w->t.context, dzo_table_clear(w->t.table));
    oracle_table_clear(w->t.oracle);
    break;
  case 1:
  case 2:
    copy_table(w);
    break;
  case 3:
  case 4:
    save_and_load(w);
    break;
  case 5:
    reserve(w);
    break;
  case 6:
  case 7:
    shrink(w);
    break;
  case 8:
    check_stats(w);
    break;
  default:
    return;
  }
  checked_table_compare(&w->t, w->way->on_gpu);
}

/* ---- Lives ----------------------------------------------------------------------------------- */

static void open_world(world *w, const way *way, uint64_t seed, bool large) {
  static const double loads[] = {0.25, 0.5, 0.8, 0.9, 0.95};
  *w = (world){.way = way, .random = {seed}};
  random_source *r = &w->random;
  w->range = 1 + (random_bits(r) >> 44 >> random_below(r, 14)) / SCALE;
  if (large)
    w->range += 200000 + random_below(r, 400000);
  w->keys = (shape)random_below(r, SHAPES);
  dzo_table_options options;
  dzo_table_options_init(&options);
  uint64_t widths = seed % 4;
  options.key_bits = widths == 1 || widths == 2 ? 64 : 32;
  options.value_bits = widths == 1 || widths == 3 ? 64 : 32;
  options.fixed = random_below(r, 3) == 0;
  options.capacity = options.fixed != 0        ? random_below(r, w->range + w->range / 4 + 1)
                     : random_below(r, 2) == 0 ? random_below(r, 2 * w->range)
                                               : 0;
  options.max_load = loads[random_below(r, 5)];
  options.seed = w->keys == CLASHING ? 0 : random_bits(r) & random_bits(r);
  checked_table_open(&w->t, way->context, &options);
  w->t.device = way->name;
  tune(w);
}

static void live(const way *way, uint64_t seed, uint64_t budget, uint64_t *refused) {
  world w;
  open_world(&w, way, seed, budget > MOST_QUERIES);
  while (w.spent < budget) {
    uint64_t before = w.spent;
    random_batch(&w, budget - w.spent);
    uint64_t size = oracle_table_size(w.t.oracle);
    if (size < OFTEN_COMPARED / 20 || size < 4 * (w.spent - before) ||
        random_below(&w.random, 16) == 0)
      checked_table_compare(&w.t, w.way->on_gpu);
    random_event(&w);
  }
  checked_table_compare(&w.t, w.way->on_gpu);
  *refused += w.t.refused;
  checked_table_close(&w.t);
}

/* Half of the queries in one life, the others in many short ones. */
static void tables_equal_a_plain_map(void **state) {
  (void)state;
  uint64_t each = operation_count() / (uint64_t)ways_open, refused = 0;
  for (int i = 0; i < ways_open; i++)
    for (uint64_t world = 0; world < WORLDS; world++)
      live(&ways[i], world + (uint64_t)i * (WORLDS + 1),
           world == 0 ? each / 2 : each / 2 / (WORLDS - 1) + 1, &refused);
  print_message("%d ways, %d queries each; %d were refused\n", ways_open, (int)each, (int)refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_equal_a_plain_map)};
  return cmocka_run_group_tests(tests, open_ways, close_ways);
}
