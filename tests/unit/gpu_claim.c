/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "gpu_claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

gpu_host claim_host;

int open_claim_host(void **state) {
  (void)state;
  claim_host = gpu_host_open();
  return 0;
}

int close_claim_host(void **state) {
  (void)state;
  gpu_host_close(&claim_host);
  return 0;
}

uint64_t any_arc(trial *t, uint64_t place) {
  return t->arcs_of[2 * place + random_below(&t->random, 2)];
}

void fill_claim(trial *t) {
  for (uint64_t i = 0; i < t->count; i++)
    t->claim[i] = any_arc(t, t->places[i]);
}

static void find_arcs(trial *t) {
  memset(t->arcs_of, 0xff, 2 * t->edges->count * sizeof *t->arcs_of);
  for (uint64_t a = 0; a < t->graph->arcs; a++) {
    uint64_t *pair = &t->arcs_of[2 * dzo_arc_number(t->graph, a)];
    pair[pair[0] != ARC_LESS] = a;
  }
}

void trial_prepare(trial *t, preparation how, bool raw, uint64_t ties) {
  t->forest = oracle_solve(t->edges, t->maximum, ties);
  t->graph = prepare(claim_host.context, t->edges, how);
  t->device = device_graph_make(claim_host, t->graph, raw ? t->edges : NULL, t->maximum);
  uint64_t room = 2 * (t->edges->count + t->edges->vertices) + 2;
  t->arcs_of = calloc(room, sizeof *t->arcs_of);
  t->places = calloc(room, sizeof *t->places);
  t->claim = calloc(room, sizeof *t->claim);
  assert_true(t->arcs_of && t->places && t->claim);
  find_arcs(t);
  t->count = t->forest->count;
  memcpy(t->places, t->forest->places, t->count * sizeof *t->places);
  fill_claim(t);
}

void trial_start(trial *t, uint64_t seed, uint64_t most, uint64_t ties) {
  *t = (trial){.random = {seed ^ 0xabcdef}};
  t->made = random_graph_make(seed, most, every_type[seed % TYPES], RANDOM_PLAIN_NUMBERS);
  t->edges = &t->made->edges;
  t->maximum = seed / TYPES % 2 == 1;
  trial_prepare(t, (preparation)(seed / TYPES / 2 % RENUMBERED), seed % 5 < 2, ties);
}

void trial_end(trial *t) {
  if (t->made != NULL)
    random_graph_free(t->made);
  oracle_free(t->forest);
  device_graph_free(claim_host, &t->device);
  dzo_graph_destroy(t->graph);
  free(t->arcs_of);
  free(t->places);
  free(t->claim);
}

msf_gpu_verdict verdict_on(const trial *t) {
  uint64_t *arcs = to_gpu(claim_host, t->claim, t->count, sizeof *arcs);
  msf_gpu_verdict verdict;
  memset(&verdict, 0x5a, sizeof verdict);
  must_on(claim_host, msf_gpu_check(claim_host.unit, &t->device.graph, arcs, t->count, &verdict));
  dzo_unit_release(claim_host.unit, arcs);
  assert_true(verdict.valid == (verdict.reason[0] == '\0'));
  return verdict;
}

void expect_list(const trial *t, bool right, const char *what) {
  dzo_edges edges = *t->edges;
  dzo_msf_claim claim = {.count = t->count};
  msf_claimed *forest = malloc((t->count + 1) * sizeof *forest);
  assert_non_null(forest);
  msf_checker checker = {.context = claim_host.context, .edges = &edges, .claim = &claim};
  checker.flip = t->maximum ? UINT64_MAX : 0;
  checker.span = UINT64_MAX;
  checker.forest = forest;
  for (uint64_t i = 0; i < t->count; i++) {
    uint64_t place = t->places[i];
    uint64_t pattern = dzo_weight_pattern(edges.weight_type, edges.weights, place);
    forest[i] = (msf_claimed){pattern ^ checker.flip, edges.u[place], edges.v[place]};
  }
  bool settled = !right;
  must_on(claim_host, msf_gpu_check_list(claim_host.unit, &checker, &settled));
  if (settled != (right && edges.vertices > 0))
    fail_msg("%s: the list was judged otherwise", what);
  free(forest);
}

bool in_forest(const trial *t, uint64_t place) {
  for (uint64_t i = 0; i < t->forest->count; i++)
    if (t->forest->places[i] == place)
      return true;
  return false;
}

bool pick_outsider(trial *t, uint64_t *place) {
  for (int tries = 0; tries < 50 && t->edges->count > 0; tries++) {
    *place = random_below(&t->random, t->edges->count);
    if (t->arcs_of[2 * *place] != ARC_LESS && !in_forest(t, *place))
      return true;
  }
  return false;
}

uint64_t pick_entry(trial *t) { return random_below(&t->random, t->count); }
