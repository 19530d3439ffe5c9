/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GPU's verifier: right claims, close keys, long lists, labels, a GPU that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_claim.h"

/* ---- Right claims ---------------------------------------------------------------------------- */

static uint64_t key_of(const trial *t, uint64_t place) {
  if (t->device.raw != NULL)
    return dzo_weight_pattern(t->edges->weight_type, t->edges->weights, place);
  if (t->device.graph.key_type == MSF_KEY_NONE)
    return 1;
  return dzo_arc_key(t->graph, t->arcs_of[2 * place]);
}

static void expect_right(const trial *t, const char *what) {
  msf_gpu_verdict verdict = verdict_on(t);
  if (!verdict.valid)
    fail_msg("%s: %s", what, verdict.reason);
  expect_list(t, true, what);
  assert_int_equal(verdict.components, t->forest->components);
  uint64_t low = 0, high = 0;
  for (uint64_t i = 0; i < t->count; i++) {
    uint64_t key = key_of(t, t->places[i]);
    low += key;
    high += low < key;
  }
  assert_int_equal(verdict.sum_low, low);
  assert_int_equal(verdict.sum_high, high);
}

static void right_claims_are_accepted(void **state) {
  (void)state;
  need_gpu(claim_host);
  for (uint64_t seed = 0; seed < gpu_rounds(); seed++) {
    trial t;
    trial_start(&t, seed, seed % 40 == 0 ? 3000 : 60, seed % 3); /* ties broken in other ways too */
    char name[64];
    snprintf(name, sizeof name, "seed %d", (int)seed);
    expect_right(&t, name);
    for (uint64_t i = t.count; i > 1; i--) {
      uint64_t j = random_below(&t.random, i), place = t.places[j];
      t.places[j] = t.places[i - 1];
      t.places[i - 1] = place;
    }
    fill_claim(&t);
    expect_right(&t, name);
    trial_end(&t);
  }
}

static void generated_forests_are_accepted(void **state) {
  (void)state;
  need_gpu(claim_host);
  const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_U32, DZO_WEIGHT_NONE, DZO_WEIGHT_F32};
  for (int kind = 0; kind < 4; kind++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = GPU_SCALE + 1;
    options.weight_type = types[kind];
    dzo_edge_list *list;
    must(claim_host.context,
         dzo_edge_list_generate(claim_host.context, (dzo_generator)kind, &options, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    for (int how = 0; how < RENUMBERED; how += GPU_STEP) {
      trial t = {.random = {1}, .edges = &edges, .maximum = how % 2 == 1};
      trial_prepare(&t, (preparation)how, kind % 2 == how / 2, (uint64_t)how);
      expect_right(&t, "generated");
      trial_end(&t);
    }
    dzo_edge_list_destroy(list);
  }
}

/* ---- Wide keys ------------------------------------------------------------------------------- */

/* Keys that differ by one in a range of nearly 2^64: a triangle, and an edge to either end. */
static void close_keys_are_told_apart(void **state) {
  (void)state;
  need_gpu(claim_host);
  uint32_t u[] = {0, 1, 2, 0, 0}, v[] = {1, 2, 0, 3, 4};
  uint64_t middle = UINT64_C(1) << 62;
  uint64_t weights[] = {middle, middle, middle + 1, 0, UINT64_MAX - 1};
  dzo_edges edges = {.vertices = 5, .count = 5, .u = u, .v = v};
  edges.weight_type = DZO_WEIGHT_U64;
  edges.weights = weights;
  for (int maximum = 0; maximum < 2; maximum++) {
    for (uint64_t left_out = 0; left_out < 3; left_out++) {
      trial t = {.random = {left_out}, .edges = &edges, .maximum = maximum};
      trial_prepare(&t, BY_NEIGHBOUR, true, 0);
      t.count = 0;
      for (uint64_t place = 0; place < 5; place++)
        if (place != left_out)
          t.places[t.count++] = place;
      fill_claim(&t);
      bool right = maximum ? left_out < 2 : left_out == 2;
      assert_true(verdict_on(&t).valid == right);
      expect_list(&t, right, "close keys");
      trial_end(&t);
    }
  }
}

static void sums_carry_on_beyond_64_bits(void **state) {
  (void)state;
  need_gpu(claim_host);
  uint32_t u[] = {0, 1, 2, 3}, v[] = {1, 2, 3, 4};
  uint64_t ones = UINT32_MAX;
  uint64_t weights[] = {(ones - 2) << 32 | ones, UINT64_C(1) << 32 | ones, UINT64_C(1) << 32 | ones,
                        UINT64_MAX};
  for (uint64_t count = 3; count <= 4; count++) {
    dzo_edges edges = {.vertices = 5, .count = count, .u = u, .v = v};
    edges.weight_type = DZO_WEIGHT_U64;
    edges.weights = weights;
    trial t = {.random = {1}, .edges = &edges};
    trial_prepare(&t, BY_NEIGHBOUR, true, 0);
    expect_right(&t, "wide sums");
    trial_end(&t);
  }
}

/* ---- Long lists ------------------------------------------------------------------------------ */

static bool is_right(const dzo_edges *edges, const uint64_t *numbers, uint64_t count, bool *asked) {
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = count;
  claim.numbers = numbers;
  int valid;
  uint64_t before = claim_host.unit->operations;
  must(claim_host.context, dzo_msf_verify(claim_host.context, edges, &claim, &valid));
  *asked = claim_host.unit->operations > before;
  assert_true((valid != 0) == (dzo_context_message(claim_host.context)[0] == '\0'));
  return valid != 0;
}

/* A malformed edge is the CPU's to tell of. */
static void expect_malformed(const dzo_edges *edges, const uint64_t *numbers, uint64_t count,
                             const char *word) {
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = count;
  claim.numbers = numbers;
  int valid;
  assert_int_equal(dzo_msf_verify(claim_host.context, edges, &claim, &valid), DZO_E_ARGUMENT);
  assert_non_null(strstr(dzo_context_message(claim_host.context), word));
}

static void spoil_edges(dzo_edges edges, const uint64_t *numbers, uint64_t count) {
  uint64_t last = edges.count - 1;
  assert_true(numbers[count - 1] < last);
  float *weight = (float *)(uintptr_t)edges.weights + last, kept_weight = *weight;
  uint32_t *v = (uint32_t *)(uintptr_t)edges.v + last, kept_v = *v;
  *weight = strtof("nan", NULL);
  expect_malformed(&edges, numbers, count, "not a number");
  *weight = kept_weight;
  *v = (uint32_t)edges.vertices;
  expect_malformed(&edges, numbers, count, "vertices");
  *v = UINT32_MAX;
  expect_malformed(&edges, numbers, count, "vertices");
  *v = kept_v;
}

/* dzo_msf_verify() on a context with a GPU, which takes the list in two pieces. */
static void long_lists_are_settled(void **state) {
  (void)state;
  need_gpu(claim_host);
  if (gpu_rounds() < 100)
    skip();
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = 17;
  options.degree = 80;
  options.weight_type = DZO_WEIGHT_F32;
  dzo_context *cpu = context_of(2);
  dzo_edge_list *list;
  must(cpu, dzo_edge_list_generate(cpu, DZO_GENERATE_RMAT, &options, &list));
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  assert_true(edges.count > 1 << 22);
  dzo_graph *graph = prepare(cpu, &edges, BY_NEIGHBOUR);
  dzo_msf *msf = solve(cpu, graph, 0);
  uint64_t count = dzo_msf_count(msf), *numbers = malloc(count * sizeof *numbers);
  assert_non_null(numbers);
  memcpy(numbers, dzo_msf_edges(msf), count * sizeof *numbers);
  bool asked;
  assert_true(is_right(&edges, numbers, count, &asked));
  assert_true(asked);
  assert_string_equal(dzo_context_notice(claim_host.context), "");
  assert_false(is_right(&edges, numbers, count - 1, &asked));
  spoil_edges(edges, numbers, count);
  gpu_host other = claim_host;
  for (uint64_t k = 2; k < 100; k *= 3) {
    claim_host = gpu_host_open();
    claim_host.unit->fail_at = claim_host.unit->operations + k;
    assert_true(is_right(&edges, numbers, count, &asked));
    assert_true(claim_host.unit->lost);
    assert_non_null(strstr(dzo_context_notice(claim_host.context), "verified on the CPU"));
    gpu_host_close(&claim_host);
  }
  claim_host = other;
  numbers[0] = numbers[1];
  assert_false(is_right(&edges, numbers, count, &asked));
  free(numbers);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  dzo_edge_list_destroy(list);
  dzo_context_destroy(cpu);
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* A GPU that fails in the middle of a check of a graph or of a list. */
static void failures_end_it(void **state) {
  (void)state;
  need_gpu(claim_host);
  gpu_host other = claim_host;
  bool failed = true;
  for (uint64_t k = 1; failed; k += 1 + k / 4) {
    claim_host = gpu_host_open();
    trial t;
    trial_start(&t, 13, 60, 0);
    uint64_t *arcs = to_gpu(claim_host, t.claim, t.count, sizeof *arcs),
             used = claim_host.unit->used;
    msf_gpu_verdict verdict;
    claim_host.unit->fail_at = claim_host.unit->operations + k;
    dzo_status status = msf_gpu_check(claim_host.unit, &t.device.graph, arcs, t.count, &verdict);
    failed = claim_host.unit->lost;
    assert_int_equal(status, failed ? DZO_E_DEVICE : DZO_OK);
    assert_true(verdict.valid != failed);
    if (!failed)
      assert_int_equal(claim_host.unit->used, used);
    dzo_unit_release(claim_host.unit, arcs);
    trial_end(&t);
    gpu_host_close(&claim_host);
  }
  claim_host = other;
}

/* ---- Rows with loops in them ----------------------------------------------------------------- */

/* 0 - 1 (5), 1 - 2 (5), a loop at 1 (0). */
static void loops_in_rows_are_no_edges(void **state) {
  (void)state;
  need_gpu(claim_host);
  const uint64_t offsets[] = {0, 1, 4, 5};
  const uint32_t neighbours[] = {1, 0, 1, 2, 1}, keys[] = {5, 5, 0, 5, 5};
  msf_gpu_graph graph = {.vertices = 3, .arcs = 5, .key_type = MSF_KEY_U32};
  graph.offsets = to_gpu(claim_host, offsets, 4, sizeof *offsets);
  graph.neighbours = to_gpu(claim_host, neighbours, 5, sizeof *neighbours);
  graph.keys = to_gpu(claim_host, keys, 5, sizeof *keys);
  for (uint64_t second = 2; second < 4; second++) {
    uint64_t claim[] = {0, second}, *arcs = to_gpu(claim_host, claim, 2, sizeof *claim);
    msf_gpu_verdict verdict;
    must_on(claim_host, msf_gpu_check(claim_host.unit, &graph, arcs, 2, &verdict));
    assert_true(verdict.valid == (second == 3));
    if (second == 2)
      assert_string_equal(verdict.reason, "arc 2 is a loop");
    dzo_unit_release(claim_host.unit, arcs);
  }
  dzo_unit_release(claim_host.unit, (void *)(uintptr_t)graph.offsets);
  dzo_unit_release(claim_host.unit, (void *)(uintptr_t)graph.neighbours);
  dzo_unit_release(claim_host.unit, (void *)(uintptr_t)graph.keys);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static msf_gpu_verdict verdict_on_labels(const trial *t, const uint32_t *labels,
                                         uint64_t components) {
  uint32_t *there = to_gpu(claim_host, labels, t->edges->vertices, sizeof *labels);
  msf_gpu_verdict verdict;
  must_on(claim_host,
          msf_gpu_check_labels(claim_host.unit, &t->device.graph, there, components, &verdict));
  dzo_unit_release(claim_host.unit, there);
  return verdict;
}

static void check_labels(trial *t) {
  uint64_t n = t->edges->vertices, trees = t->forest->components;
  if (n == 0)
    return;
  uint32_t *labels = malloc((n + 1) * sizeof *labels);
  assert_non_null(labels);
  for (uint64_t v = 0; v < n; v++) /* in another order */
    labels[v] = (uint32_t)(trees - 1 - t->forest->component_of[v]);
  assert_true(verdict_on_labels(t, labels, trees).valid);
  assert_false(verdict_on_labels(t, labels, trees - 1).valid);
  assert_false(verdict_on_labels(t, labels, trees + 1).valid);
  uint64_t v = random_below(&t->random, n);
  uint32_t old = labels[v];
  labels[v] = UINT32_MAX;
  assert_false(verdict_on_labels(t, labels, trees).valid);
  labels[v] = (uint32_t)((old + 1) % trees);
  if (trees > 1)
    assert_false(verdict_on_labels(t, labels, trees).valid);
  labels[v] = old;
  for (uint64_t i = 0; i < n; i++)
    labels[i] = labels[i] == 0 ? (uint32_t)trees - 1 : labels[i]; /* two trees of one label */
  assert_true(verdict_on_labels(t, labels, trees).valid == (trees == 1));
  free(labels);
}

static void labels_are_checked(void **state) {
  (void)state;
  need_gpu(claim_host);
  for (uint64_t seed = 0; seed < gpu_rounds() / 3; seed++) {
    trial t;
    trial_start(&t, seed, 60, 0);
    check_labels(&t);
    trial_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_claims_are_accepted),
      cmocka_unit_test(generated_forests_are_accepted),
      cmocka_unit_test(close_keys_are_told_apart),
      cmocka_unit_test(sums_carry_on_beyond_64_bits),
      cmocka_unit_test(long_lists_are_settled),
      cmocka_unit_test(failures_end_it),
      cmocka_unit_test(loops_in_rows_are_no_edges),
      cmocka_unit_test(labels_are_checked),
  };
  return cmocka_run_group_tests(tests, open_claim_host, close_claim_host);
}
