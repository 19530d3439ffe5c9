/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GPU's verifier: right claims, claims damaged in every way, claims changed at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_graphs.h"
#include "forest_checks.h"
#include "msf/gpu_check.h"

enum { DAMAGES_EACH = GPU_ROUNDS / 10 };

static gpu_host host;

/* ---- A claim that a test can damage ---------------------------------------------------------- */

typedef struct trial {
  random_source random;
  random_graph *made;
  const dzo_edges *edges; /* numbered by place */
  bool maximum;
  oracle_forest *forest;
  dzo_graph *graph;
  device_graph device;
  uint64_t *arcs_of; /* [2 * edges] of each edge, by place; ARC_LESS for loops */
  uint64_t count;
  uint64_t *places; /* [count] claimed edges, with room for more */
  uint64_t *claim;  /* [count] one arc of each; what is checked */
} trial;

#define ARC_LESS UINT64_MAX

static uint64_t any_arc(trial *t, uint64_t place) {
  return t->arcs_of[2 * place + random_below(&t->random, 2)];
}

static void fill_claim(trial *t) {
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

/* `raw`: keys are weights as they are. */
static void trial_prepare(trial *t, preparation how, bool raw, uint64_t ties) {
  t->forest = oracle_solve(t->edges, t->maximum, ties);
  t->graph = prepare(host.context, t->edges, how);
  t->device = device_graph_make(host, t->graph, raw ? t->edges : NULL, t->maximum);
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

static void trial_start(trial *t, uint64_t seed, uint64_t most, uint64_t ties) {
  *t = (trial){.random = {seed ^ 0xabcdef}};
  t->made = random_graph_make(seed, most, every_type[seed % TYPES], RANDOM_PLAIN_NUMBERS);
  t->edges = &t->made->edges;
  t->maximum = seed / TYPES % 2 == 1;
  trial_prepare(t, (preparation)(seed / TYPES / 2 % RENUMBERED), seed % 5 < 2, ties);
}

static void trial_end(trial *t) {
  if (t->made != NULL)
    random_graph_free(t->made);
  oracle_free(t->forest);
  device_graph_free(host, &t->device);
  dzo_graph_destroy(t->graph);
  free(t->arcs_of);
  free(t->places);
  free(t->claim);
}

static msf_gpu_verdict verdict_on(const trial *t) {
  uint64_t *arcs = to_gpu(host, t->claim, t->count, sizeof *arcs);
  msf_gpu_verdict verdict;
  memset(&verdict, 0x5a, sizeof verdict);
  must_on(host, msf_gpu_check(host.unit, &t->device.graph, arcs, t->count, &verdict));
  dzo_unit_release(host.unit, arcs);
  assert_true(verdict.valid == (verdict.reason[0] == '\0'));
  return verdict;
}

/* Does the check of lists, which only says yes or no, agree? */
static void expect_list(const trial *t, bool right, const char *what) {
  dzo_edges edges = *t->edges;
  dzo_msf_claim claim = {.count = t->count};
  msf_claimed *forest = malloc((t->count + 1) * sizeof *forest);
  assert_non_null(forest);
  msf_checker checker = {.context = host.context, .edges = &edges, .claim = &claim};
  checker.flip = t->maximum ? UINT64_MAX : 0;
  checker.span = UINT64_MAX;
  checker.forest = forest;
  for (uint64_t i = 0; i < t->count; i++) {
    uint64_t place = t->places[i];
    uint64_t pattern = dzo_weight_pattern(edges.weight_type, edges.weights, place);
    forest[i] = (msf_claimed){pattern ^ checker.flip, edges.u[place], edges.v[place]};
  }
  bool settled = !right;
  must_on(host, msf_gpu_check_list(host.unit, &checker, &settled));
  if (settled != (right && edges.vertices > 0))
    fail_msg("%s: the list was judged otherwise", what);
  free(forest);
}

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
  need_gpu(host);
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
  need_gpu(host);
  const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_U32, DZO_WEIGHT_NONE, DZO_WEIGHT_F32};
  for (int kind = 0; kind < 4; kind++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = GPU_SCALE + 1;
    options.weight_type = types[kind];
    dzo_edge_list *list;
    must(host.context, dzo_edge_list_generate(host.context, (dzo_generator)kind, &options, &list));
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

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Harms the claim; false if this graph gives no occasion. */
typedef bool (*damage_fn)(trial *t);

static bool in_forest(const trial *t, uint64_t place) {
  for (uint64_t i = 0; i < t->forest->count; i++)
    if (t->forest->places[i] == place)
      return true;
  return false;
}

/* An edge outside the forest, by chance; false after too many misses. */
static bool pick_outsider(trial *t, uint64_t *place) {
  for (int tries = 0; tries < 50 && t->edges->count > 0; tries++) {
    *place = random_below(&t->random, t->edges->count);
    if (t->arcs_of[2 * *place] != ARC_LESS && !in_forest(t, *place))
      return true;
  }
  return false;
}

static uint64_t pick_entry(trial *t) { return random_below(&t->random, t->count); }
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
  device_graph_free(host, &t->device);
  t->device = device_graph_make(host, t->graph, t->edges, t->maximum);
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
    must_on(host, dzo_unit_copy(host.unit, 0, t->device.csr.neighbours + pair[i], &stranger,
                                sizeof stranger));
  must_on(host, dzo_unit_wait(host.unit, 0));
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
  need_gpu(host);
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
  need_gpu(host);
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

/* ---- Wide keys ------------------------------------------------------------------------------- */

/* Keys that differ by one in a range of nearly 2^64: a triangle, and an edge to either end. */
static void close_keys_are_told_apart(void **state) {
  (void)state;
  need_gpu(host);
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
  need_gpu(host);
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
  uint64_t before = host.unit->operations;
  must(host.context, dzo_msf_verify(host.context, edges, &claim, &valid));
  *asked = host.unit->operations > before;
  assert_true((valid != 0) == (dzo_context_message(host.context)[0] == '\0'));
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
  assert_int_equal(dzo_msf_verify(host.context, edges, &claim, &valid), DZO_E_ARGUMENT);
  assert_non_null(strstr(dzo_context_message(host.context), word));
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
  need_gpu(host);
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
  assert_string_equal(dzo_context_notice(host.context), "");
  assert_false(is_right(&edges, numbers, count - 1, &asked));
  spoil_edges(edges, numbers, count);
  gpu_host other = host;
  for (uint64_t k = 2; k < 100; k *= 3) {
    host = gpu_host_open();
    host.unit->fail_at = host.unit->operations + k;
    assert_true(is_right(&edges, numbers, count, &asked));
    assert_true(host.unit->lost);
    assert_non_null(strstr(dzo_context_notice(host.context), "verified on the CPU"));
    gpu_host_close(&host);
  }
  host = other;
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
  need_gpu(host);
  gpu_host other = host;
  bool failed = true;
  for (uint64_t k = 1; failed; k += 1 + k / 4) {
    host = gpu_host_open();
    trial t;
    trial_start(&t, 13, 60, 0);
    uint64_t *arcs = to_gpu(host, t.claim, t.count, sizeof *arcs), used = host.unit->used;
    msf_gpu_verdict verdict;
    host.unit->fail_at = host.unit->operations + k;
    dzo_status status = msf_gpu_check(host.unit, &t.device.graph, arcs, t.count, &verdict);
    failed = host.unit->lost;
    assert_int_equal(status, failed ? DZO_E_DEVICE : DZO_OK);
    assert_true(verdict.valid != failed);
    if (!failed)
      assert_int_equal(host.unit->used, used);
    dzo_unit_release(host.unit, arcs);
    trial_end(&t);
    gpu_host_close(&host);
  }
  host = other;
}

/* ---- Rows with loops in them ----------------------------------------------------------------- */

/* 0 - 1 (5), 1 - 2 (5), a loop at 1 (0). */
static void loops_in_rows_are_no_edges(void **state) {
  (void)state;
  need_gpu(host);
  const uint64_t offsets[] = {0, 1, 4, 5};
  const uint32_t neighbours[] = {1, 0, 1, 2, 1}, keys[] = {5, 5, 0, 5, 5};
  msf_gpu_graph graph = {.vertices = 3, .arcs = 5, .key_type = MSF_KEY_U32};
  graph.offsets = to_gpu(host, offsets, 4, sizeof *offsets);
  graph.neighbours = to_gpu(host, neighbours, 5, sizeof *neighbours);
  graph.keys = to_gpu(host, keys, 5, sizeof *keys);
  for (uint64_t second = 2; second < 4; second++) {
    uint64_t claim[] = {0, second}, *arcs = to_gpu(host, claim, 2, sizeof *claim);
    msf_gpu_verdict verdict;
    must_on(host, msf_gpu_check(host.unit, &graph, arcs, 2, &verdict));
    assert_true(verdict.valid == (second == 3));
    if (second == 2)
      assert_string_equal(verdict.reason, "arc 2 is a loop");
    dzo_unit_release(host.unit, arcs);
  }
  dzo_unit_release(host.unit, (void *)(uintptr_t)graph.offsets);
  dzo_unit_release(host.unit, (void *)(uintptr_t)graph.neighbours);
  dzo_unit_release(host.unit, (void *)(uintptr_t)graph.keys);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static msf_gpu_verdict verdict_on_labels(const trial *t, const uint32_t *labels,
                                         uint64_t components) {
  uint32_t *there = to_gpu(host, labels, t->edges->vertices, sizeof *labels);
  msf_gpu_verdict verdict;
  must_on(host, msf_gpu_check_labels(host.unit, &t->device.graph, there, components, &verdict));
  dzo_unit_release(host.unit, there);
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
  need_gpu(host);
  for (uint64_t seed = 0; seed < gpu_rounds() / 3; seed++) {
    trial t;
    trial_start(&t, seed, 60, 0);
    check_labels(&t);
    trial_end(&t);
  }
}

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_claims_are_accepted),
      cmocka_unit_test(generated_forests_are_accepted),
      cmocka_unit_test(every_damage_is_found),
      cmocka_unit_test(random_changes_are_judged_as_the_oracle_does),
      cmocka_unit_test(close_keys_are_told_apart),
      cmocka_unit_test(sums_carry_on_beyond_64_bits),
      cmocka_unit_test(long_lists_are_settled),
      cmocka_unit_test(failures_end_it),
      cmocka_unit_test(loops_in_rows_are_no_edges),
      cmocka_unit_test(labels_are_checked),
  };
  return cmocka_run_group_tests(tests, open_host, close_host);
}
