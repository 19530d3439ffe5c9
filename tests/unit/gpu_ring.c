/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Chunks of edges sent to the running forest on the GPU from both ends of their order, where most
 * keys are equal; in turns and with merges that a stream's threads bring about now and then, drawn
 * here; against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_graphs.h"
#include "msf/gpu_ring.h"
#include "random_graphs.h"

/* A block of the filter takes 1024 edges, of which a chunk holds some blocks. */
enum { EDGES = 6000, CHUNK = 3000 };

static gpu_host host;

static int open_host(void **state) {
  (void)state;
  host = gpu_host_open();
  return 0;
}

static int close_host(void **state) {
  (void)state;
  gpu_host_close(&host);
  return 0;
}

/* Edges by smaller, then larger end; a place is an edge's number. */
typedef struct ordered_edges {
  uint32_t u[EDGES], v[EDGES], ids[EDGES], narrow[EDGES];
  uint64_t ends[EDGES], wide[EDGES];
  dzo_edges edges;
} ordered_edges;

static int compare_words(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Few vertices have many parallel edges, and few kinds of keys make ties of most. */
static void draw_edges(ordered_edges *e, uint64_t seed, bool wide) {
  random_source random = {seed};
  static const uint64_t vertices[] = {7, 1500, 40, 1500}, kinds[] = {1, 3, 300};
  uint64_t n = vertices[seed % 4];
  for (uint64_t i = 0; i < EDGES; i++) {
    uint64_t a = random_below(&random, n), b = random_below(&random, n);
    e->ends[i] = a < b ? a << 32 | b : b << 32 | a;
  }
  qsort(e->ends, EDGES, sizeof *e->ends, compare_words);
  for (uint32_t i = 0; i < EDGES; i++) {
    e->u[i] = (uint32_t)(e->ends[i] >> 32);
    e->v[i] = (uint32_t)e->ends[i];
    e->ids[i] = i;
    e->narrow[i] = (uint32_t)random_below(&random, kinds[seed % 3]);
    e->wide[i] = random_below(&random, 2) << 40 | e->narrow[i];
  }
  e->edges = (dzo_edges){.vertices = n, .count = EDGES, .u = e->u, .v = e->v};
  e->edges.weight_type = wide ? DZO_WEIGHT_U64 : DZO_WEIGHT_U32;
  e->edges.weights = wide ? (const void *)e->wide : e->narrow;
}

/* With room for little more than the forest and a chunk. */
static void open_ring(msf_ring *ring, const ordered_edges *e, bool wide, bool maximum) {
  uint64_t flip = !maximum ? 0 : wide ? UINT64_MAX : UINT32_MAX;
  msf_ring_shape shape = {
      .filter = {.room = e->edges.vertices, .wide = wide, .ordered = true, .flip = flip},
      .edges = EDGES,
      .piece = CHUNK,
      .most = 1,
      .key_bytes = wide ? 8 : 4,
      .lists = true,
      .threads = 1};
  must_on(host, msf_ring_fit(&shape, host.unit));
  must_on(host, msf_ring_open(ring, host.unit, &shape));
  must_on(host, msf_filter_vertices(&ring->filter, e->edges.vertices));
  ring->filter.both_ends = true;
}

/* A list, or the upper parts of rows. */
static void write_list(const ordered_edges *e, uint64_t begin, uint32_t count, char *slot,
                       msf_packed *packed) {
  msf_packed_place(packed, sizeof e->narrow[0], count, 0);
  memcpy(slot + packed->u, e->u + begin, count * sizeof *e->u);
  memcpy(slot + packed->ids, e->ids + begin, count * sizeof *e->ids);
}

static void write_rows(const ordered_edges *e, uint64_t begin, uint32_t count, char *slot,
                       msf_packed *packed) {
  const uint32_t *u = e->u + begin;
  uint32_t rows = u[count - 1] - u[0] + 1, tiles = count / MSF_TILE + 1, i = 0;
  msf_packed_place(packed, sizeof e->narrow[0], count, rows);
  packed->first_row = u[0];
  uint32_t *starts = (uint32_t *)(void *)(slot + packed->starts);
  uint32_t *shifts = (uint32_t *)(void *)(slot + packed->shifts);
  uint32_t *tile_rows = (uint32_t *)(void *)(slot + packed->tile_rows);
  for (uint32_t row = 0; row < rows; row++) {
    starts[row] = i;
    shifts[row] = (uint32_t)begin;
    while (i < count && u[i] == u[0] + row)
      i++;
  }
  starts[rows] = count;
  for (uint32_t t = 0; t < tiles; t++)
    tile_rows[t] = t * MSF_TILE < count ? u[t * MSF_TILE] - u[0] : rows - 1;
  tile_rows[tiles] = rows - 1;
}

static void send(msf_ring *ring, const ordered_edges *e, uint64_t begin, uint32_t count, bool back,
                 bool rows) {
  msf_packed packed = {.back = back};
  char *slot = msf_ring_slot(ring, ring->submitted);
  if (rows)
    write_rows(e, begin, count, slot, &packed);
  else
    write_list(e, begin, count, slot, &packed);
  memcpy(slot + packed.v, e->v + begin, count * sizeof *e->v);
  packed.keys = (msf_packed_head(&packed) + 7) / 8 * 8;
  memcpy(slot + packed.keys,
         ring->key_bytes == 8 ? (const void *)(e->wide + begin) : e->narrow + begin,
         (uint64_t)count * ring->key_bytes);
  must_on(host, msf_ring_submit(ring, &packed));
  while (ring->submitted - msf_ring_released(ring) >= ring->slots)
    must_on(host, msf_ring_reclaim(ring));
}

/* Merges may be asked for at any time, also when nothing came since the last. */
static void merge_now_and_then(msf_ring *ring, random_source *random) {
  uint64_t times = random_below(random, 4), count;
  for (uint64_t i = 0; i + 1 < times; i++) {
    msf_ring_merge_soon(ring);
    if (random_below(random, 2) == 0)
      must_on(host, msf_ring_settle(ring, &count));
    must_on(host, msf_ring_go_on(ring));
  }
}

/* `thirds` of the chunks from the back. */
static void send_all(msf_ring *ring, const ordered_edges *e, uint64_t thirds,
                     random_source *random) {
  uint64_t front = 0, back = EDGES;
  uint64_t most = e->edges.vertices < 100 ? CHUNK / 8 : CHUNK; /* parting many parallel edges */
  while (front < back) {
    uint64_t count = 1 + random_below(random, most);
    count = count < back - front ? count : back - front;
    bool from_back = random_below(random, 3) < thirds;
    back -= from_back ? count : 0;
    send(ring, e, from_back ? back : front, (uint32_t)count, from_back,
         random_below(random, 2) == 0);
    front += from_back ? 0 : count;
    merge_now_and_then(ring, random);
  }
}

static void expect_the_forest(msf_ring *ring, const oracle_forest *f, const char *what) {
  static uint32_t ids[EDGES];
  const msf_filter_control *control;
  must_on(host, msf_ring_forest(ring, &control));
  if (control->edges != f->count)
    fail_msg("%s: %u edges, not %u", what, control->edges, (unsigned)f->count);
  must_on(host, msf_ring_fetch_words(ring, MSF_RING_FILTERS, ring->filter.columns[MSF_ID], f->count,
                                     ids));
  for (uint64_t i = 0; i < f->count; i++)
    if (ids[i] != f->numbers[i])
      fail_msg("%s: forest edge %u is %u, not %u", what, (unsigned)i, ids[i],
               (unsigned)f->numbers[i]);
}

static void ties_from_both_ends(bool wide) {
  need_gpu(host);
  static ordered_edges e;
  uint64_t rounds = gpu_rounds() < 30 ? 3 : gpu_rounds() / 10;
  for (uint64_t seed = 0; seed < rounds; seed++) {
    random_source random = {seed + 100};
    bool maximum = seed / 2 % 2 == 1;
    char what[64];
    (void)snprintf(what, sizeof what, "seed %u, %s keys", (unsigned)seed, wide ? "wide" : "narrow");
    draw_edges(&e, seed, wide);
    oracle_forest *f = oracle_solve(&e.edges, maximum, 0);
    msf_ring ring;
    open_ring(&ring, &e, wide, maximum);
    send_all(&ring, &e, 3 - seed % 3, &random);
    must_on(host, msf_ring_merge(&ring));
    expect_the_forest(&ring, f, what);
    oracle_free(f);
  }
}

static void narrow_ties_are_broken_by_place(void **state) {
  (void)state;
  ties_from_both_ends(false);
}

static void wide_ties_are_broken_by_place(void **state) {
  (void)state;
  ties_from_both_ends(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(narrow_ties_are_broken_by_place, open_host, close_host),
      cmocka_unit_test_setup_teardown(wide_ties_are_broken_by_place, open_host, close_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
