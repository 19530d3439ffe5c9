/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "graph/compress.h"
#include "graph_checks.h"
#include "random_graphs.h"

/* Neighbours alone: compression looks at nothing else. */
static dzo_graph *bare_graph(dzo_context *context, const uint32_t *neighbours, uint64_t arcs) {
  dzo_graph *g = dzo_calloc(context, 1, sizeof *g);
  assert_non_null(g);
  g->context = context;
  g->arcs = arcs;
  g->neighbours = dzo_alloc(context, arcs, sizeof *g->neighbours);
  assert_non_null(g->neighbours);
  if (arcs > 0)
    memcpy(g->neighbours, neighbours, arcs * sizeof *neighbours);
  return g;
}

/* Neighbours of many kinds: windows of all widths and places, with some far ones between. */
static uint32_t *random_neighbours(random_source *random, uint64_t count) {
  uint32_t *values = malloc((count + 1) * sizeof *values);
  assert_non_null(values);
  uint64_t base = 0, width = 1, far = 100;
  for (uint64_t i = 0; i < count; i++) {
    if (random_below(random, 100) == 0) {
      const uint64_t widths[] = {1, 64, 1022, 1023, 1024, 1025, 4000, UINT64_C(1) << 32};
      width = widths[random_below(random, 8)];
      base = random_below(random, 4) == 0 ? (UINT64_C(1) << 32) - width
                                          : random_below(random, (UINT64_C(1) << 32) - width + 1);
      far = 2 + random_below(random, 100);
    }
    bool is_far = random_below(random, far) == 0;
    values[i] = (uint32_t)(is_far ? random_bits(random) : base + random_below(random, width));
  }
  return values;
}

static void expect_neighbours(const dzo_graph *g, const uint32_t *values, random_source *random) {
  uint32_t *decoded = malloc((g->arcs + 1) * sizeof *decoded);
  assert_non_null(decoded);
  dzo_compressed_decode(g->compressed, 0, g->arcs, decoded);
  assert_int_equal(memcmp(decoded, values, g->arcs * sizeof *values), 0);
  for (int round = 0; round < 300 && g->arcs > 0; round++) {
    uint64_t begin = random_below(random, g->arcs), left = g->arcs - begin;
    uint64_t count = random_below(random, (round % 2 && left > 100 ? 100 : left) + 1);
    decoded[count] = 12345;
    dzo_compressed_decode(g->compressed, begin, begin + count, decoded);
    assert_int_equal(memcmp(decoded, values + begin, count * sizeof *values), 0);
    assert_int_equal(decoded[count], 12345);
    assert_int_equal(dzo_compressed_at(g->compressed, begin), values[begin]);
    assert_int_equal(dzo_arc_neighbour(g, begin), values[begin]);
  }
  free(decoded);
}

static void any_neighbours_are_kept(void **state) {
  (void)state;
  random_source random = {1};
  for (int round = 0; round < 200; round++) {
    uint64_t count = random_below(&random, round % 20 == 0 ? 300000 : 2000);
    count = round < 3 ? (uint64_t)round : round < 6 ? 62 + (uint64_t)round : count;
    uint32_t *values = random_neighbours(&random, count + 1);
    dzo_context *context = teams[round % TEAMS];
    dzo_graph *g = bare_graph(context, values, count);
    must(context, dzo_graph_compress(context, g));
    assert_null(g->neighbours);
    assert_true(dzo_graph_is_compressed(g));
    expect_neighbours(g, values, &random);
    const dzo_compressed *before = g->compressed;
    must(context, dzo_graph_compress(context, g)); /* once more does nothing */
    assert_ptr_equal(g->compressed, before);
    dzo_graph_destroy(g);
    free(values);
  }
}

/* Whole groups of blocks, the last of them full or not, all arcs far: the largest starts. */
static void groups_begin_and_end_anywhere(void **state) {
  (void)state;
  const uint64_t group = (uint64_t)DZO_GROUP_BLOCKS * DZO_BLOCK_ARCS;
  const uint64_t counts[] = {group - 1, group, group + 1, 2 * group, 2 * group + 64};
  random_source random = {2};
  uint32_t *values = malloc((2 * group + 64) * sizeof *values);
  assert_non_null(values);
  for (uint64_t i = 0; i < 2 * group + 64; i++)
    values[i] = (uint32_t)(i % DZO_BLOCK_ARCS * 5000);
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    dzo_graph *g = bare_graph(teams[1], values, counts[k]);
    must(teams[1], dzo_graph_compress(teams[1], g));
    uint64_t blocks = (counts[k] + DZO_BLOCK_ARCS - 1) / DZO_BLOCK_ARCS;
    assert_int_equal(g->compressed->exception_count, counts[k] - blocks);
    expect_neighbours(g, values, &random);
    dzo_graph_destroy(g);
  }
  free(values);
}

static void bytes_are_counted(void **state) {
  (void)state;
  uint32_t values[640];
  for (uint32_t i = 0; i < 640; i++)
    values[i] = i;
  dzo_graph *g = bare_graph(teams[0], values, 640);
  uint64_t stored, plain;
  dzo_graph_neighbour_bytes(g, &stored, &plain);
  assert_int_equal(stored, 2560);
  assert_int_equal(plain, 2560);
  uint64_t others = dzo_context_memory_used(teams[0]) - 2560;
  must(teams[0], dzo_graph_compress(teams[0], g));
  dzo_graph_neighbour_bytes(g, &stored, &plain);
  assert_int_equal(plain, 2560);
  assert_true(stored >= 860 && stored < 1000); /* ten blocks of 64 + 16 + 4 + 2, and the header */
  uint64_t held = dzo_context_memory_used(teams[0]) - others;
  assert_true(stored <= held && held <= stored + 1024);
  dzo_graph_destroy(g);
}

static void expect_same(const dzo_compressed *a, const dzo_compressed *b) {
  assert_int_equal(a->exception_count, b->exception_count);
  assert_memory_equal(a->bases, b->bases, a->blocks * sizeof *a->bases);
  assert_memory_equal(a->low, b->low, a->blocks * DZO_BLOCK_ARCS);
  assert_memory_equal(a->high, b->high, a->blocks * DZO_BLOCK_PLANE);
  assert_memory_equal(a->exceptions, b->exceptions, a->exception_count * sizeof *a->exceptions);
  assert_memory_equal(a->block_exception, b->block_exception,
                      (a->blocks + 1) * sizeof *a->block_exception);
}

static void any_number_of_threads_stores_the_same(void **state) {
  (void)state;
  random_source random = {3};
  uint32_t *values = random_neighbours(&random, 200001);
  dzo_graph *first = bare_graph(teams[0], values, 200001);
  must(teams[0], dzo_graph_compress(teams[0], first));
  for (int t = 1; t < TEAMS; t++) {
    dzo_graph *g = bare_graph(teams[t], values, 200001);
    must(teams[t], dzo_graph_compress(teams[t], g));
    expect_same(first->compressed, g->compressed);
    dzo_graph_destroy(g);
  }
  dzo_graph_destroy(first);
  free(values);
}

/* The seed's figure for the contest's SSCA2 graphs. */
static void ssca2_shrinks_2_9_times(void **state) {
  (void)state;
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = 14;
  dzo_edge_list *list;
  must(teams[1], dzo_edge_list_generate(teams[1], DZO_GENERATE_SSCA2, &options, &list));
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_graph *g;
  must(teams[1], dzo_graph_from_edges(teams[1], &e, &g));
  must(teams[1], dzo_graph_renumber(teams[1], g));
  must(teams[1], dzo_graph_compress(teams[1], g));
  uint64_t stored, plain;
  dzo_graph_neighbour_bytes(g, &stored, &plain);
  assert_true((double)plain / (double)stored >= 2.9);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  assert_int_equal(dzo_graph_compress(teams[0], NULL), DZO_E_ARGUMENT);
  dzo_graph *g = bare_graph(teams[0], (const uint32_t[]){1, 2, 3}, 3);
  dzo_context_cancel(teams[0]);
  assert_int_equal(dzo_graph_compress(teams[0], g), DZO_E_CANCELLED);
  dzo_context_resume(teams[0]);
  assert_int_equal(g->neighbours[2], 3);
  assert_false(dzo_graph_is_compressed(g));
  dzo_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_neighbours_are_kept),
      cmocka_unit_test(groups_begin_and_end_anywhere),
      cmocka_unit_test(bytes_are_counted),
      cmocka_unit_test(any_number_of_threads_stores_the_same),
      cmocka_unit_test(ssca2_shrinks_2_9_times),
      cmocka_unit_test(wrong_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, make_teams, break_teams);
}
