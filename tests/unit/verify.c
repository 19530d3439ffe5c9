/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Claims of small and large graphs, what is told of them, and the arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"
#include "random_graphs.h"
#include "verdicts.h"

static void tiny_graphs_are_judged(void **state) {
  (void)state;
  dzo_context *context = context_of(2);
  dzo_msf_claim none;
  dzo_msf_claim_init(&none);
  dzo_edges edges = {0};
  assert_true(is_valid(context, &edges, &none));
  edges.vertices = 1;
  assert_true(is_valid(context, &edges, &none));
  edges.vertices = 1000;
  assert_true(is_valid(context, &edges, &none));
  const uint32_t zero[] = {0, 0};
  edges = (dzo_edges){.vertices = 1, .count = 2, .u = zero, .v = zero};
  assert_true(is_valid(context, &edges, &none));
  dzo_msf_claim loop = none;
  loop.count = 1;
  loop.numbers = (const uint64_t[]){1};
  assert_false(is_valid(context, &edges, &loop));
  edges.vertices = 2;
  assert_false(is_valid(context, &edges, &loop));
  assert_non_null(strstr(dzo_context_message(context), "is a loop"));
  dzo_context_destroy(context);
}

/* Many ranges and threads: the first edge at fault is always the one that is told. */
static void large_graphs_are_judged_alike_by_any_team(void **state) {
  (void)state;
  enum { N = 30000, M = 200000 };
  uint32_t *u = malloc(M * sizeof *u), *v = malloc(M * sizeof *v);
  double *w = malloc(M * sizeof *w);
  assert_true(u && v && w);
  random_source random = {99};
  for (size_t i = 0; i < M; i++) {
    u[i] = (uint32_t)random_below(&random, N);
    v[i] = (uint32_t)random_below(&random, i % 2 ? N : 1 + u[i] / 2);
    w[i] = random_unit(&random);
  }
  dzo_edges edges = {.vertices = N, .count = M, .u = u, .v = v, .weight_type = DZO_WEIGHT_F64};
  edges.weights = w;
  oracle_forest *forest = oracle_solve(&edges, 0, 0);
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = forest->count;
  claim.numbers = forest->numbers;
  char told[512] = "";
  const int teams[] = {1, 2, 8};
  for (int harmed = 0; harmed < 2; harmed++) {
    for (int i = 0; i < 3; i++) {
      dzo_context *context = context_of(teams[i]);
      assert_int_equal(is_valid(context, &edges, &claim), !harmed);
      if (harmed && i > 0)
        assert_string_equal(dzo_context_message(context), told);
      snprintf(told, sizeof told, "%s", dzo_context_message(context));
      dzo_context_destroy(context);
    }
    for (int k = 0; k < 50; k++) /* forest edges that have become heavy */
      w[forest->places[random_below(&random, forest->count)]] += 1;
  }
  oracle_free(forest);
  free(u);
  free(v);
  free(w);
}

/* ---- Messages and arguments ------------------------------------------------------------------ */

/* 1 -2- 2 -5- 3, 1 -3.5- 3; labels from 1, numbers from 10 */
static const uint32_t triangle_u[] = {0, 1, 2};
static const uint32_t triangle_v[] = {1, 2, 0};

static dzo_edges triangle(const double *weights) {
  return (dzo_edges){.vertices = 3,
                     .count = 3,
                     .u = triangle_u,
                     .v = triangle_v,
                     .weight_type = DZO_WEIGHT_F64,
                     .weights = weights,
                     .first_number = 10,
                     .first_label = 1};
}

static void messages_name_the_edge(void **state) {
  (void)state;
  dzo_context *context = context_of(1);
  dzo_edges edges = triangle((const double[]){2, 5, 3.5});
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = 2;
  claim.numbers = (const uint64_t[]){10, 11};
  assert_false(is_valid(context, &edges, &claim));
  assert_string_equal(dzo_context_message(context),
                      "edge 12 (3-1, weight 3.5) is lighter than the heaviest edge (2-3, weight "
                      "5), on the claim's path between its ends");
  claim.count = 1;
  assert_false(is_valid(context, &edges, &claim));
  assert_string_equal(dzo_context_message(context),
                      "edge 11 (2-3, weight 5) joins two trees of the claim, which does not span "
                      "the graph");
  claim.count = 2;
  claim.numbers = (const uint64_t[]){12, 13};
  assert_false(is_valid(context, &edges, &claim));
  assert_string_equal(dzo_context_message(context),
                      "edge 13 (entry 1 of the claim) is not in the graph");
  claim.numbers = (const uint64_t[]){10, 12};
  assert_true(is_valid(context, &edges, &claim));
  claim.maximum = 1;
  assert_false(is_valid(context, &edges, &claim));
  claim.numbers = (const uint64_t[]){11, 12};
  assert_true(is_valid(context, &edges, &claim));
  dzo_context_destroy(context);
}

static void a_pair_stands_for_its_best_edge(void **state) {
  (void)state;
  dzo_context *context = context_of(1);
  const uint32_t u[] = {0, 1, 0, 1, 2}, v[] = {1, 0, 1, 2, 0};
  const int64_t weights[] = {9, -4, 3, 7, 5};
  dzo_edges edges = {.vertices = 3, .count = 5, .u = u, .v = v, .weight_type = DZO_WEIGHT_I64};
  edges.weights = weights;
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = 2;
  claim.u = (const uint32_t[]){1, 0};
  claim.v = (const uint32_t[]){0, 2};
  assert_true(is_valid(context, &edges, &claim));
  claim.maximum = 1;
  assert_false(is_valid(context, &edges, &claim));
  claim.v = (const uint32_t[]){2, 1};
  assert_true(is_valid(context, &edges, &claim));
  dzo_context_destroy(context);
}

static void expect_argument_error(dzo_context *context, const dzo_edges *edges,
                                  const dzo_msf_claim *claim, const char *words) {
  int valid = -1;
  assert_int_equal(dzo_msf_verify(context, edges, claim, &valid), DZO_E_ARGUMENT);
  assert_int_equal(valid, 0);
  if (strstr(dzo_context_message(context), words) == NULL)
    fail_msg("expected \"%s\" in: %s", words, dzo_context_message(context));
  assert_int_equal(dzo_context_memory_used(context), 0);
}

static void wrong_arguments_are_named(void **state) {
  (void)state;
  dzo_context *context = context_of(2);
  dzo_edges good = triangle((const double[]){2, 5, 3.5}), edges = good;
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = 2;
  claim.numbers = (const uint64_t[]){10, 12};
  assert_int_equal(dzo_msf_verify(context, &edges, &claim, NULL), DZO_E_ARGUMENT);
  expect_argument_error(context, NULL, &claim, "NULL");
  expect_argument_error(context, &edges, NULL, "NULL");
  edges.weights = (const double[]){2, (double)NAN, 3.5};
  expect_argument_error(context, &edges, &claim, "edge 11 (2-3) has a weight that is not a number");
  edges.weights = (const double[]){2, -(double)NAN, 3.5};
  expect_argument_error(context, &edges, &claim, "edge 11 (2-3) has a weight that is not a number");
  edges.weights = (const double[]){2, 5, (double)NAN};
  expect_argument_error(context, &edges, &claim, "edge 12");
  edges.weight_type = DZO_WEIGHT_F32;
  edges.weights = (const float[]){2, NAN, 3};
  expect_argument_error(context, &edges, &claim, "edge 11");
  edges.weights = NULL;
  expect_argument_error(context, &edges, &claim, "no weights");
  edges = good;
  edges.vertices = 2;
  claim.count = 1;
  expect_argument_error(context, &edges, &claim, "edge 11 ends at vertex 2");
  edges.vertices = UINT64_C(1) << 32;
  expect_argument_error(context, &edges, &claim, "vertices");
  edges = good;
  edges.numbers = (const uint64_t[]){4, 8, 8};
  expect_argument_error(context, &edges, &claim, "8 follows 8");
  edges = good;
  edges.u = NULL;
  expect_argument_error(context, &edges, &claim, "endpoints");
  claim.numbers = NULL;
  expect_argument_error(context, &good, &claim, "neither");
  claim.u = (const uint32_t[]){0, 1};
  claim.v = (const uint32_t[]){1, 2};
  edges = good;
  edges.weights = (const double[]){2, 5, (double)NAN};
  expect_argument_error(context, &edges, &claim, "edge 12");
  claim.size = 8;
  expect_argument_error(context, &good, &claim, "dzo_msf_claim_init");
  dzo_context_destroy(context);
}

static int stop_at_once(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)done, (void)total;
  return --*(int *)user < 0;
}

static void cancelling_leaves_nothing(void **state) {
  (void)state;
  int calls_left = 0;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.progress = stop_at_once;
  options.progress_user = &calls_left;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_edges edges = triangle((const double[]){2, 5, 3.5});
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = 2;
  claim.numbers = (const uint64_t[]){10, 12};
  int cancelled = 0;
  for (int calls = 0; calls < 1000; calls++) {
    calls_left = calls;
    int valid = -1;
    dzo_status status = dzo_msf_verify(context, &edges, &claim, &valid);
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_resume(context);
    if (status == DZO_OK) {
      assert_int_equal(valid, 1);
      break;
    }
    assert_int_equal(status, DZO_E_CANCELLED);
    assert_int_equal(valid, 0);
    cancelled++;
  }
  assert_in_range(cancelled, 3, 900);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiny_graphs_are_judged),
      cmocka_unit_test(large_graphs_are_judged_alike_by_any_team),
      cmocka_unit_test(messages_name_the_edge),
      cmocka_unit_test(a_pair_stands_for_its_best_edge),
      cmocka_unit_test(wrong_arguments_are_named),
      cmocka_unit_test(cancelling_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
