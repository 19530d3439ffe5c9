/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GPU's verifier and claims that are damaged in every way, or changed at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_claim.h"

enum { DAMAGES_EACH = GPU_ROUNDS / 10 };

/* Harms the claim; false if this graph gives no occasion. */
typedef bool (*damage_fn)(trial *t);

static uint64_t pick_other(trial *t, uint64_t i) {
  return (i + 1 + random_below(&t->random, t->count - 1)) % t->count;
}

static bool arc_missing(trial *t) {
  if (t->count == 0)
    return false;
  t->claim[pick_entry(t)] = t->claim[t->count - 1];
  t->count--;
  return true;
}

static bool first_arc_missing(trial *t) {
  if (t->count == 0)
    return false;
  memmove(t->claim, t->claim + 1, --t->count * sizeof *t->claim);
  return true;
}

static bool arc_twice_instead_of_another(trial *t) {
  if (t->count < 2)
    return false;
  uint64_t i = pick_entry(t);
  t->claim[i] = t->claim[pick_other(t, i)];
  return true;
}

static bool edge_by_both_arcs_instead_of_another(trial *t) {
  if (t->count < 2)
    return false;
  uint64_t i = pick_entry(t), j = pick_other(t, i);
  t->claim[i] = t->arcs_of[2 * t->places[j]];
  t->claim[j] = t->arcs_of[2 * t->places[j] + 1];
  return true;
}

static bool arc_twice_besides(trial *t) {
  if (t->count == 0 || t->count + 1 >= t->edges->vertices)
    return false;
  t->claim[t->count] = t->claim[pick_entry(t)];
  t->count++;
  return true;
}

static bool edge_by_both_arcs_besides(trial *t) {
  if (t->count == 0 || t->count + 1 >= t->edges->vertices)
    return false;
  uint64_t i = pick_entry(t), *pair = &t->arcs_of[2 * t->places[i]];
  t->claim[t->count++] = t->claim[i] ^ pair[0] ^ pair[1];
  return true;
}

static bool put(trial *t, uint64_t arc) {
  if (t->count == 0)
    return false;
  t->claim[pick_entry(t)] = arc;
  return true;
}

static bool arc_behind_the_last(trial *t) { return put(t, t->graph->arcs); }
static bool arc_of_all_ones(trial *t) { return put(t, UINT64_MAX); }
static bool arc_of_a_large_number(trial *t) { return put(t, UINT64_C(1) << 36); }
static bool arc_with_a_high_bit(trial *t) {
  return t->count > 0 && put(t, t->claim[0] | UINT64_C(1) << 63);
}

static bool cycle_besides(trial *t) {
  uint64_t place;
  if (t->count + 1 >= t->edges->vertices || !pick_outsider(t, &place))
    return false;
  t->claim[t->count++] = any_arc(t, place);
  return true;
}

/* Swap an outsider in for an edge that is not on its cycle. */
static bool swap_breaking(trial *t, bool same_weight) {
  uint64_t outsider;
  if (t->count == 0)
    return false;
  for (int tries = 0; tries < 40; tries++) {
    if (!pick_outsider(t, &outsider))
      return false;
    uint64_t i = pick_entry(t), old = t->places[i];
    t->places[i] = outsider;
    if (!oracle_spans(t->edges, t->places, t->count) &&
        (!same_weight || oracle_compare_weights(t->edges->weight_type, oracle_weight(t->edges, old),
                                                oracle_weight(t->edges, outsider)) == 0)) {
      fill_claim(t);
      return true;
    }
    t->places[i] = old;
  }
  return false;
}

static bool cycle_by_a_swap(trial *t) { return swap_breaking(t, false); }
static bool right_weight_and_count_but_not_spanning(trial *t) { return swap_breaking(t, true); }

/* A spanning forest that is worse by one edge. */
static bool worse_edge_swapped_in(trial *t) {
  uint64_t outsider;
  if (t->count == 0)
    return false;
  for (int tries = 0; tries < 100; tries++) {
    if (!pick_outsider(t, &outsider))
      return false;
    uint64_t i = pick_entry(t), old = t->places[i];
    int order = oracle_compare_weights(t->edges->weight_type, oracle_weight(t->edges, outsider),
                                       oracle_weight(t->edges, old));
    t->places[i] = outsider;
    if ((t->maximum ? order < 0 : order > 0) && oracle_spans(t->edges, t->places, t->count)) {
      fill_claim(t);
      return true;
    }
    t->places[i] = old;
  }
  return false;
}

/* Of two parallel edges, the worse. */
static bool worse_parallel_edge(trial *t) {
  const dzo_edges *e = t->edges;
  for (uint64_t i = 0; i < t->count; i++) {
    uint64_t old = t->places[i];
    for (uint64_t p = 0; p < e->count; p++) {
      bool parallel = (e->u[p] == e->u[old] && e->v[p] == e->v[old]) ||
                      (e->u[p] == e->v[old] && e->v[p] == e->u[old]);
      if (parallel &&
          oracle_compare_weights(e->weight_type, oracle_weight(e, p), oracle_weight(e, old)) != 0) {
        t->places[i] = p;
        fill_claim(t);
        return true;
      }
    }
  }
  return false;
}

static bool other_direction(trial *t) {
  oracle_forest *other = oracle_solve(t->edges, !t->maximum, 0);
  bool better = oracle_accepts(t->edges, t->forest, other->places, other->count);
  memcpy(t->places, other->places, other->count * sizeof *t->places);
  fill_claim(t);
  oracle_free(other);
  return !better;
}

static bool all_arcs(trial *t) {
  for (uint64_t a = 0; a < t->graph->arcs; a++)
    t->claim[a] = a;
  t->count = t->graph->arcs;
  return t->count >= t->edges->vertices && t->count > 0;
}

static bool more_than_there_can_be(trial *t) {
  if (t->count == 0)
    return false;
  while (t->count < t->edges->vertices)
    t->claim[t->count++] = t->claim[0];
  return true;
}

static bool nothing(trial *t) {
  bool occasion = t->count > 0;
  t->count = 0;
  return occasion;
}

static bool one_tree_forgotten(trial *t) {
  if (t->forest->components < 2 || t->count == 0)
    return false;
  uint32_t tree = t->forest->component_of[t->edges->u[t->places[pick_entry(t)]]];
  uint64_t kept = 0;
  for (uint64_t i = 0; i < t->count; i++)
    if (t->forest->component_of[t->edges->u[t->places[i]]] != tree)
      t->places[kept++] = t->places[i];
  t->count = kept;
  fill_claim(t);
  return true;
}

static bool one_vertex_cut_off(trial *t) {
  if (t->count == 0)
    return false;
  uint32_t v = t->edges->u[t->places[pick_entry(t)]];
  uint64_t kept = 0;
  for (uint64_t i = 0; i < t->count; i++)
    if (t->edges->u[t->places[i]] != v && t->edges->v[t->places[i]] != v)
      t->places[kept++] = t->places[i];
  t->count = kept;
  fill_claim(t);
  return true;
}

/* The forest of a graph in which one edge has since become better than all. */
static bool better_edge_appeared(trial *t) {
  uint64_t place;
  if (t->edges->weight_type != DZO_WEIGHT_I64 || !pick_outsider(t, &place))
    return false;
  int64_t *weights = t->made->weights;
  for (uint64_t i = 0; i < t->edges->count; i++)
    weights[i] /= 2;
  weights[place] = t->maximum ? INT64_MAX : INT64_MIN;
  device_graph_free(claim_host, &t->device);
  t->device = device_graph_make(claim_host, t->graph, t->edges, t->maximum);
  t->device.graph.presorted = false;
  return true;
}

/* The forest of a graph that has one edge more, to a vertex that had none. */
static bool graph_has_changed(trial *t) {
  if (t->graph->neighbours == NULL || t->forest->components < 2 || t->graph->arcs == 0)
    return false;
  uint64_t arc = random_below(&t->random, t->graph->arcs);
  uint32_t stranger = 0, tree = t->forest->component_of[t->graph->neighbours[arc]];
  while (t->forest->component_of[stranger] == tree)
    stranger++;
  uint64_t pair[2] = {arc, 0}, number = dzo_arc_number(t->graph, arc);
  pair[1] = t->arcs_of[2 * number] ^ t->arcs_of[2 * number + 1] ^ arc;
  for (int i = 0; i < 2; i++) /* one of both is u -> v, u < v, or the other is */
    must_on(claim_host, dzo_unit_copy(claim_host.unit, 0, t->device.csr.neighbours + pair[i],
                                      &stranger, sizeof stranger));
  must_on(claim_host, dzo_unit_wait(claim_host.unit, 0));
  return !in_forest(t, number) && t->graph->neighbours[arc] < stranger &&
         t->graph->neighbours[pair[1]] < stranger;
}

typedef struct damage {
  const char *name;
  damage_fn harm;
  const char *words[2]; /* one of them must be in the reason */
} damage;

#define DAMAGE(fn, ...)                                                                            \
  {                                                                                                \
#fn, fn, { __VA_ARGS__ }                                                                       \
  }

static const damage damages[] = {
    DAMAGE(arc_missing, "joins two trees"),
    DAMAGE(first_arc_missing, "joins two trees"),
    DAMAGE(arc_twice_instead_of_another, "closes a cycle"),
    DAMAGE(edge_by_both_arcs_instead_of_another, "closes a cycle"),
    DAMAGE(arc_twice_besides, "closes a cycle"),
    DAMAGE(edge_by_both_arcs_besides, "closes a cycle"),
    DAMAGE(arc_behind_the_last, "is not in the graph"),
    DAMAGE(arc_of_all_ones, "is not in the graph"),
    DAMAGE(arc_of_a_large_number, "is not in the graph"),
    DAMAGE(arc_with_a_high_bit, "is not in the graph"),
    DAMAGE(cycle_besides, "closes a cycle"),
    DAMAGE(cycle_by_a_swap, "closes a cycle"),
    DAMAGE(right_weight_and_count_but_not_spanning, "closes a cycle"),
    DAMAGE(worse_edge_swapped_in, "is before arc"),
    DAMAGE(worse_parallel_edge, "is before arc"),
    DAMAGE(other_direction, "is before arc"),
    DAMAGE(all_arcs, "has at most"),
    DAMAGE(more_than_there_can_be, "has at most"),
    DAMAGE(nothing, "joins two trees"),
    DAMAGE(one_tree_forgotten, "joins two trees"),
    DAMAGE(one_vertex_cut_off, "joins two trees"),
    DAMAGE(better_edge_appeared, "is before arc"),
    DAMAGE(graph_has_changed, "joins two trees"),
};

static void every_damage_is_found(void **state) {
  (void)state;
  need_gpu(claim_host);
  for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
    int done = 0;
    for (uint64_t seed = 0; done < DAMAGES_EACH && seed < 2000; seed++) {
      trial t;
      trial_start(&t, seed * 7 + d, 40, 0);
      if (damages[d].harm(&t)) {
        msf_gpu_verdict verdict = verdict_on(&t);
        const char *const *words = damages[d].words;
        if (verdict.valid)
          fail_msg("%s, seed %d: accepted", damages[d].name, (int)seed);
        if (strstr(verdict.reason, words[0]) == NULL &&
            (words[1] == NULL || strstr(verdict.reason, words[1]) == NULL))
          fail_msg("%s, seed %d: %s", damages[d].name, (int)seed, verdict.reason);
        done++;
      }
      trial_end(&t);
    }
    if (done < DAMAGES_EACH)
      fail_msg("%s: only %d occasions", damages[d].name, done);
  }
}

/* Accepted exactly if the oracle accepts it. */
static void random_changes_are_judged_as_the_oracle_does(void **state) {
  (void)state;
  need_gpu(claim_host);
  int accepted = 0;
  for (uint64_t seed = 0; seed < gpu_rounds(); seed++) {
    trial t;
    trial_start(&t, seed + 5000, 12, 0);
    for (int round = 0; round < 6 && t.count > 0; round++) {
      uint64_t place;
      if (pick_outsider(&t, &place))
        t.places[pick_entry(&t)] = place;
      fill_claim(&t);
      bool right = oracle_accepts(t.edges, t.forest, t.places, t.count);
      msf_gpu_verdict verdict = verdict_on(&t);
      if (verdict.valid != right)
        fail_msg("seed %d: %s", (int)seed, right ? verdict.reason : "accepted");
      expect_list(&t, right, "changed");
      accepted += right;
      if (!right)
        memcpy(t.places, t.forest->places, t.count * sizeof *t.places);
    }
    trial_end(&t);
  }
  assert_true(accepted > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_damage_is_found),
      cmocka_unit_test(random_changes_are_judged_as_the_oracle_does),
  };
  return cmocka_run_group_tests(tests, open_claim_host, close_claim_host);
}
