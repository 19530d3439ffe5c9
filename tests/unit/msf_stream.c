/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forest_checks.h"

static void streams_equal_the_oracle(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 2 * ROUNDS; seed++) {
    uint64_t size = seed % 100 == 0 ? 2000 : seed % 3 == 0 ? 6 : 50;
    random_graph *g = random_graph_make(seed + 1000000, size, every_type[seed % TYPES], 0);
    random_source random = {seed};
    int maximum = seed / TYPES % 2 == 1;
    oracle_forest *f = oracle_solve(&g->edges, maximum, 0);
    const uint64_t most[] = {1, 3, 64, 100000};
    const int step = tests_gpu() ? 2 : 1; /* which is slow where it is made of threads */
    for (int i = (int)seed % step; i < 4; i += step) {
      char name[64];
      snprintf(name, sizeof name, "seed %d + 1000000", (int)seed);
      check_stream(teams[random_below(&random, TEAMS)], &g->edges, most[i],
                   random_below(&random, 2) == 0, maximum, f, name);
    }
    oracle_free(f);
    random_graph_free(g);
  }
}

/* The edge numbers alone, for streams whose vertices are not those of the oracle. */
static void check_numbers(dzo_context *context, const dzo_edges *edges, uint64_t most, int maximum,
                          const oracle_forest *f, const char *what) {
  chunk_source chunks = {.edges = edges, .most = most, .random = {most}};
  dzo_msf *msf;
  must(context, stream(context, &chunks, maximum, &msf));
  assert_int_equal(dzo_msf_count(msf), f->count);
  for (uint64_t i = 0; i < f->count; i++)
    if (dzo_msf_edges(msf)[i] != f->numbers[i])
      fail_msg("%s: forest edge %d differs", what, (int)i);
  dzo_msf_destroy(msf);
}

/* A stream may name vertices as they come; the order of names still breaks the ties. */
static void streams_break_ties_by_label(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS / 4; seed++) {
    random_graph *g = random_graph_make(seed + 2000000, 30, every_type[seed % TYPES], 0);
    random_source random = {seed};
    uint64_t n = g->edges.vertices;
    oracle_forest *f = oracle_solve(&g->edges, 0, 0);
    uint64_t *labels = calloc(n + 1, sizeof *labels);
    uint32_t *place = calloc(n + 1, sizeof *place);
    assert_true(labels && place);
    for (uint64_t i = 0; i < n; i++)
      place[i] = (uint32_t)i;
    for (uint64_t i = n; i > 1; i--) {
      uint64_t j = random_below(&random, i);
      uint32_t swapped = place[j];
      place[j] = place[i - 1];
      place[i - 1] = swapped;
    }
    for (uint64_t v = 0; v < n; v++)
      labels[place[v]] = 10 * v + 3;
    for (uint64_t i = 0; i < g->edges.count; i++) {
      g->u[i] = place[g->u[i]];
      g->v[i] = place[g->v[i]];
    }
    dzo_edges shuffled = g->edges;
    shuffled.labels = labels;
    char what[64];
    snprintf(what, sizeof what, "seed %d + 2000000", (int)seed);
    check_numbers(teams[seed % TEAMS], &shuffled, 1 + random_below(&random, 20), 0, f, what);
    free(labels);
    free(place);
    oracle_free(f);
    random_graph_free(g);
  }
}

static int compare_backwards(const void *a, const void *b) {
  const uint32_t *x = a, *y = b; /* u, v, weight */
  if (x[2] != y[2])
    return x[2] < y[2] ? 1 : -1;
  if (x[0] != y[0])
    return x[0] < y[0] ? 1 : -1;
  return (x[1] < y[1]) - (x[1] > y[1]);
}

/* Many batches, full of ties, that come in a random order, from the last to the first, and from the
 * first to the last. */
static void merges_keep_the_order(void **state) {
  (void)state;
  enum { N = 400 };
  const int m = tests_gpu() ? 24000 : 120000;
  uint32_t(*edges)[3] = calloc((size_t)m, sizeof *edges);
  uint32_t *u = calloc((size_t)m, sizeof *u), *v = calloc((size_t)m, sizeof *v);
  uint32_t *w = calloc((size_t)m, sizeof *w);
  assert_true(edges && u && v && w);
  random_source random = {3};
  for (int i = 0; i < m; i++) {
    edges[i][0] = (uint32_t)random_below(&random, N);
    edges[i][1] = (uint32_t)random_below(&random, N);
    edges[i][2] = (uint32_t)random_below(&random, 2);
  }
  uint64_t mirrored[N];
  for (uint64_t i = 0; i < N; i++)
    mirrored[i] = N - 1 - i;
  for (int order = 0; order < 3; order++) {
    if (order == 1)
      qsort(edges, (size_t)m, sizeof *edges, compare_backwards);
    for (int i = 0; i < m; i++) {
      const uint32_t *e = edges[order == 2 ? m - 1 - i : i];
      u[i] = e[0];
      v[i] = e[1];
      w[i] = e[2];
    }
    dzo_edges list = {
        .vertices = N, .count = (uint64_t)m, .u = u, .v = v, .weight_type = DZO_WEIGHT_U32};
    list.weights = w;
    for (int maximum = 0; maximum < 2; maximum++) {
      oracle_forest *f = oracle_solve(&list, maximum, 0);
      check_stream(teams[order], &list, 10000, order == 1, maximum, f, "ordered");
      for (int i = 0; i < m; i++) { /* the same, named from the last vertex to the first */
        u[i] = N - 1 - u[i];
        v[i] = N - 1 - v[i];
      }
      list.labels = mirrored;
      check_numbers(teams[order], &list, 10000, maximum, f, "mirrored");
      list.labels = NULL;
      for (int i = 0; i < m; i++) {
        u[i] = N - 1 - u[i];
        v[i] = N - 1 - v[i];
      }
      oracle_free(f);
    }
  }
  free(edges);
  free(u);
  free(v);
  free(w);
}

/* Many more edges than vertices, made as they are asked for. */
typedef struct endless {
  random_source random;
  uint64_t vertices, left, number;
  uint32_t u[4096], v[4096], weights[4096];
} endless;

static dzo_status next_endless(void *user, dzo_context *context, dzo_edges *chunk) {
  (void)context;
  endless *s = user;
  uint64_t count = s->left < 4096 ? s->left : 4096;
  for (uint64_t i = 0; i < count; i++) {
    s->u[i] = (uint32_t)random_below(&s->random, s->vertices);
    s->v[i] = (uint32_t)random_below(&s->random, s->vertices);
    s->weights[i] = (uint32_t)random_bits(&s->random);
  }
  *chunk = (dzo_edges){.vertices = s->vertices,
                       .count = count,
                       .u = s->u,
                       .v = s->v,
                       .weight_type = DZO_WEIGHT_U32,
                       .weights = s->weights,
                       .first_number = s->number};
  s->left -= count;
  s->number += count;
  return DZO_OK;
}

static void a_stream_keeps_a_forest_not_the_edges(void **state) {
  (void)state;
  if (tests_gpu()) /* it is fed from buffers of a size of their own, more than this little graph */
    skip();
  endless *edges = calloc(1, sizeof *edges);
  assert_non_null(edges);
  uint64_t peaks[2];
  for (int i = 0; i < 2; i++) {
    *edges = (endless){.random = {7}, .vertices = 2000, .left = i == 0 ? 200000 : 800000};
    dzo_context_options options = wishes_of(2);
    options.memory = 8 << 20;
    dzo_context *context;
    assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
    dzo_edge_source source = {edges, next_endless, NULL};
    dzo_msf *msf;
    must(context, dzo_msf_stream(context, &source, NULL, &msf));
    assert_int_equal(dzo_msf_count(msf), 1999);
    assert_int_equal(dzo_msf_graph_edges(msf), i == 0 ? 200000 : 800000);
    peaks[i] = dzo_context_memory_peak(context);
    assert_in_range(peaks[i], 1, 8 << 20);
    dzo_msf_destroy(msf);
    dzo_context_destroy(context);
  }
  assert_in_range(peaks[1], 1, peaks[0] + peaks[0] / 2);
  free(edges);
}

static int stop_after(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)done, (void)total;
  return --*(int *)user < 0;
}

/* Cancelled at its first, second, ... look at the progress, until it gets through. */
static void cancelling_leaves_nothing(void **state) {
  (void)state;
  int calls_left = INT32_MAX, cancelled = 0;
  dzo_context_options options = wishes_of(2);
  options.progress = stop_after;
  options.progress_user = &calls_left;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  random_graph *g = random_graph_make(3 * TYPES + 5, 3000, DZO_WEIGHT_F64, 0);
  dzo_msf *msf;
  for (dzo_status status = DZO_E_CANCELLED; status != DZO_OK; cancelled++) {
    calls_left = cancelled;
    chunk_source chunks = {.edges = &g->edges, .most = 1000};
    msf = (dzo_msf *)&calls_left;
    status = stream(context, &chunks, 0, &msf);
    dzo_context_resume(context);
    if (status != DZO_OK) {
      assert_int_equal(status, DZO_E_CANCELLED);
      assert_null(msf);
      assert_false(leaks(context));
    }
    assert_in_range(cancelled, 0, 10000);
  }
  assert_in_range(cancelled, 2, 10000);
  dzo_msf_destroy(msf);
  random_graph_free(g);
  assert_false(leaks(context));
  dzo_context_destroy(context);
}

static void expect_stream_error(const dzo_edges *edges, dzo_status failure, dzo_status expected,
                                const char *words) {
  dzo_context *context = teams[1];
  for (uint64_t most = 1; most < 6; most++) {
    chunk_source chunks = {.edges = edges, .most = most, .failure = failure};
    dzo_msf *msf = (dzo_msf *)&chunks;
    assert_int_equal(stream(context, &chunks, 0, &msf), expected);
    assert_null(msf);
    if (strstr(dzo_context_message(context), words) == NULL)
      fail_msg("expected \"%s\" in: %s", words, dzo_context_message(context));
    assert_false(leaks(context));
  }
}

static void wrong_arguments_are_named(void **state) {
  (void)state;
  const uint32_t u[] = {0, 1, 2, 3}, v[] = {1, 2, 3, 0};
  dzo_edges edges = {.vertices = 4, .count = 4, .u = u, .v = v, .weight_type = DZO_WEIGHT_F64};
  edges.weights = (const double[]){1, 2, (double)NAN, 3};
  edges.first_number = 70;
  expect_stream_error(&edges, DZO_OK, DZO_E_ARGUMENT, "72");
  edges.weights = (const double[]){1, 2, 4, 3};
  edges.vertices = 3;
  expect_stream_error(&edges, DZO_OK, DZO_E_ARGUMENT, "72");
  edges.vertices = 4;
  expect_stream_error(&edges, DZO_E_IO, DZO_E_IO, "");
  edges.weights = NULL;
  expect_stream_error(&edges, DZO_OK, DZO_E_ARGUMENT, "need an array");
  dzo_msf *msf = (dzo_msf *)&edges;
  assert_int_equal(dzo_msf_stream(teams[1], NULL, NULL, &msf), DZO_E_ARGUMENT);
  assert_null(msf);
}

/* Chunks as they are, one a call, then an empty one. */
typedef struct fixed_source {
  dzo_edges chunks[3];
  int at;
} fixed_source;

static dzo_status next_fixed(void *user, dzo_context *context, dzo_edges *chunk) {
  fixed_source *s = user;
  (void)context;
  *chunk = s->at < 3 ? s->chunks[s->at] : (dzo_edges){0};
  s->at++;
  return DZO_OK;
}

static void expect_fixed(const fixed_source *chunks, dzo_status expected, const char *words) {
  fixed_source s = *chunks;
  dzo_edge_source source = {&s, next_fixed, NULL};
  dzo_msf *msf = (dzo_msf *)&s;
  assert_int_equal(dzo_msf_stream(teams[1], &source, NULL, &msf), expected);
  if (expected == DZO_OK)
    assert_int_equal(dzo_msf_count(msf), 3);
  else
    assert_null(msf);
  if (strstr(dzo_context_message(teams[1]), words) == NULL)
    fail_msg("expected \"%s\" in: %s", words, dzo_context_message(teams[1]));
  dzo_msf_destroy(msf);
  assert_false(leaks(teams[1]));
}

static void chunks_must_go_together(void **state) {
  (void)state;
  static const uint32_t ends[] = {0, 1, 2, 3, 0, 3};
  static const double weights[] = {1, 2, 3};
  fixed_source good = {0};
  for (uint64_t i = 0; i < 3; i++)
    good.chunks[i] = (dzo_edges){.vertices = 4,
                                 .count = 1,
                                 .u = &ends[i],
                                 .v = &ends[i + 1],
                                 .weight_type = DZO_WEIGHT_F64,
                                 .weights = &weights[i],
                                 .first_number = i};
  expect_fixed(&good, DZO_OK, "");
  fixed_source shrinks = good;
  shrinks.chunks[1].vertices = 3;
  expect_fixed(&shrinks, DZO_E_ARGUMENT, "4 vertices, and now has 3");
  fixed_source changes = good;
  changes.chunks[2].weight_type = DZO_WEIGHT_U64;
  expect_fixed(&changes, DZO_E_ARGUMENT, "weight type changes");
  fixed_source odd = good;
  odd.chunks[0].weight_type = (dzo_weight_type)17;
  expect_fixed(&odd, DZO_E_ARGUMENT, "17");
  fixed_source bare = good;
  bare.chunks[1].u = NULL;
  expect_fixed(&bare, DZO_E_ARGUMENT, "without endpoint");
  fixed_source large = good;
  large.chunks[2].vertices = UINT64_C(1) << 32;
  expect_fixed(&large, DZO_E_ARGUMENT, "4294967296");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(streams_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(streams_break_ties_by_label, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(merges_keep_the_order, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(a_stream_keeps_a_forest_not_the_edges, make_teams,
                                      break_teams),
      cmocka_unit_test_setup_teardown(cancelling_leaves_nothing, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(wrong_arguments_are_named, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(chunks_must_go_together, make_teams, break_teams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
