/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Claims of random graphs, right, damaged in every way, and changed at random. */
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

#ifdef __SANITIZE_ADDRESS__
enum { ROUNDS = 150 };
#else
enum { ROUNDS = 600 };
#endif

static const dzo_weight_type every_type[] = {DZO_WEIGHT_NONE, DZO_WEIGHT_U32, DZO_WEIGHT_I64,
                                             DZO_WEIGHT_U64,  DZO_WEIGHT_F32, DZO_WEIGHT_F64};
enum { TYPES = sizeof every_type / sizeof *every_type };

static uint64_t number_at(const dzo_edges *e, uint64_t place) {
  return e->numbers ? e->numbers[place] : e->first_number + place;
}

/* ---- A claim that a test can damage ---------------------------------------------------------- */

typedef struct trial {
  random_source random;
  random_graph *graph;
  const dzo_edges *edges;
  int maximum;
  oracle_forest *forest;
  uint64_t count;
  uint64_t *places;  /* [count] of the claimed edges, with room for two more */
  uint64_t *numbers; /* the claim itself, likewise */
  uint32_t *u, *v;
} trial;

static void fill_claim(trial *t) {
  for (uint64_t i = 0; i < t->count; i++) {
    t->numbers[i] = number_at(t->edges, t->places[i]);
    bool swap = random_below(&t->random, 2) == 1;
    t->u[i] = swap ? t->edges->v[t->places[i]] : t->edges->u[t->places[i]];
    t->v[i] = swap ? t->edges->u[t->places[i]] : t->edges->v[t->places[i]];
  }
}

static void trial_start(trial *t, uint64_t seed, uint64_t most, uint64_t ties) {
  *t = (trial){.random = {seed ^ 0xabcdef}};
  t->graph = random_graph_make(seed, most, every_type[seed % TYPES], 0);
  t->edges = &t->graph->edges;
  t->maximum = seed / TYPES % 2 == 1;
  t->forest = oracle_solve(t->edges, t->maximum, ties);
  t->count = t->forest->count;
  uint64_t room = t->edges->count + t->edges->vertices + 2;
  t->places = calloc(room, sizeof *t->places);
  t->numbers = calloc(room, sizeof *t->numbers);
  t->u = calloc(room, sizeof *t->u);
  t->v = calloc(room, sizeof *t->v);
  assert_true(t->places && t->numbers && t->u && t->v);
  memcpy(t->places, t->forest->places, t->count * sizeof *t->places);
  fill_claim(t);
}

static void trial_end(trial *t) {
  random_graph_free(t->graph);
  oracle_free(t->forest);
  free(t->places);
  free(t->numbers);
  free(t->u);
  free(t->v);
}

static void shuffle_claim(trial *t) {
  for (uint64_t i = t->count; i > 1; i--) {
    uint64_t j = random_below(&t->random, i), place = t->places[j];
    t->places[j] = t->places[i - 1];
    t->places[i - 1] = place;
  }
  fill_claim(t);
}

static dzo_msf_claim by_number(const trial *t) {
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.maximum = t->maximum;
  claim.count = t->count;
  claim.numbers = t->numbers;
  return claim;
}

static dzo_msf_claim by_pair(const trial *t) {
  dzo_msf_claim claim = by_number(t);
  claim.numbers = NULL;
  claim.u = t->u;
  claim.v = t->v;
  return claim;
}

/* ---- Right claims ---------------------------------------------------------------------------- */

static void right_claims_are_accepted(void **state) {
  (void)state;
  dzo_context *contexts[] = {context_of(1), context_of(3)};
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    trial t;
    trial_start(&t, seed, seed % 50 == 0 ? 3000 : 60, seed % 3); /* ties broken in other ways too */
    dzo_context *context = contexts[seed / 2 % 2];
    for (int shuffled = 0; shuffled < 2; shuffled++) {
      dzo_msf_claim numbers = by_number(&t), pairs = by_pair(&t);
      if (!is_valid(context, t.edges, &numbers) || !is_valid(context, t.edges, &pairs))
        fail_msg("seed %d: %s", (int)seed, dzo_context_message(context));
      shuffle_claim(&t);
    }
    trial_end(&t);
  }
  dzo_context_destroy(contexts[0]);
  dzo_context_destroy(contexts[1]);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Harms the claim; false if this graph gives no occasion. */
typedef bool (*damage_fn)(trial *t);

static bool is_loop(const trial *t, uint64_t place) {
  return t->edges->u[place] == t->edges->v[place];
}

static bool in_forest(const trial *t, uint64_t place) {
  for (uint64_t i = 0; i < t->forest->count; i++)
    if (t->forest->places[i] == place)
      return true;
  return false;
}

/* A place outside the forest, by chance; false after too many misses. */
static bool pick_outsider(trial *t, bool loop, uint64_t *place) {
  for (int tries = 0; tries < 50 && t->edges->count > 0; tries++) {
    *place = random_below(&t->random, t->edges->count);
    if (is_loop(t, *place) == loop && !in_forest(t, *place))
      return true;
  }
  return false;
}

static uint64_t pick_entry(trial *t) { return random_below(&t->random, t->count); }

static bool edge_missing(trial *t) {
  if (t->count == 0)
    return false;
  t->places[pick_entry(t)] = t->places[t->count - 1];
  t->count--;
  fill_claim(t);
  return true;
}

static bool edge_twice_instead_of_another(trial *t) {
  if (t->count < 2)
    return false;
  uint64_t i = pick_entry(t), j = (i + 1 + random_below(&t->random, t->count - 1)) % t->count;
  t->places[i] = t->places[j];
  fill_claim(t);
  return true;
}

static bool edge_twice_besides(trial *t) {
  if (t->count == 0 || t->count + 1 >= t->edges->vertices)
    return false;
  t->places[t->count] = t->places[pick_entry(t)];
  t->count++;
  fill_claim(t);
  return true;
}

static bool number_beyond_the_last(trial *t) {
  if (t->count == 0)
    return false;
  t->numbers[pick_entry(t)] = number_at(t->edges, t->edges->count - 1) + 1;
  return true;
}

static bool number_of_all_ones(trial *t) {
  if (t->count == 0)
    return false;
  t->numbers[pick_entry(t)] = UINT64_MAX;
  return true;
}

static bool number_before_the_first(trial *t) {
  uint64_t first = t->edges->count > 0 ? number_at(t->edges, 0) : 0;
  if (t->count == 0 || first == 0)
    return false;
  t->numbers[pick_entry(t)] = first - 1;
  return true;
}

static bool number_in_a_gap(trial *t) {
  if (t->count == 0 || t->edges->numbers == NULL)
    return false;
  for (uint64_t i = 1; i < t->edges->count; i++) {
    if (t->edges->numbers[i - 1] + 1 < t->edges->numbers[i]) {
      t->numbers[pick_entry(t)] = t->edges->numbers[i] - 1;
      return true;
    }
  }
  return false;
}

static bool cycle_besides(trial *t) {
  if (t->count + 1 >= t->edges->vertices || !pick_outsider(t, false, &t->places[t->count]))
    return false;
  t->count++;
  fill_claim(t);
  return true;
}

/* Swap an outsider in for an edge that is not on its cycle. */
static bool swap_breaking(trial *t, bool same_weight) {
  uint64_t outsider;
  if (t->count == 0)
    return false;
  for (int tries = 0; tries < 40; tries++) {
    if (!pick_outsider(t, false, &outsider))
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
    if (!pick_outsider(t, false, &outsider))
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

static bool loop_instead_of_an_edge(trial *t) {
  if (t->count == 0 || !pick_outsider(t, true, &t->places[pick_entry(t)]))
    return false;
  for (uint64_t i = 0; i < t->count; i++)
    if (is_loop(t, t->places[i])) {
      fill_claim(t);
      return true;
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

static bool all_edges(trial *t) {
  if (t->edges->count < t->edges->vertices)
    return false;
  for (uint64_t i = 0; i < t->edges->count; i++)
    t->places[i] = i;
  t->count = t->edges->count;
  fill_claim(t);
  return t->count > 0;
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

/* The forest of a graph in which one edge has since become better than all. */
static bool better_edge_appeared(trial *t) {
  uint64_t place;
  if (t->edges->weight_type != DZO_WEIGHT_I64 || !pick_outsider(t, false, &place))
    return false;
  int64_t *weights = t->graph->weights;
  for (uint64_t i = 0; i < t->edges->count; i++)
    weights[i] /= 2;
  weights[place] = t->maximum ? INT64_MAX : INT64_MIN;
  return true;
}

static bool pair_that_is_no_edge(trial *t) {
  if (t->count == 0)
    return false;
  for (int tries = 0; tries < 50; tries++) {
    uint32_t u = (uint32_t)random_below(&t->random, t->edges->vertices);
    uint32_t v = (uint32_t)random_below(&t->random, t->edges->vertices);
    bool joined = false;
    for (uint64_t i = 0; i < t->edges->count && !joined; i++)
      joined = (t->edges->u[i] == u && t->edges->v[i] == v) ||
               (t->edges->u[i] == v && t->edges->v[i] == u);
    if (!joined) {
      uint64_t i = pick_entry(t);
      t->u[i] = u;
      t->v[i] = v;
      return true;
    }
  }
  return false;
}

static bool pair_of_a_vertex_that_is_not(trial *t) {
  if (t->count == 0)
    return false;
  uint32_t beyond = random_below(&t->random, 2) ? UINT32_MAX : (uint32_t)t->edges->vertices;
  uint64_t i = pick_entry(t);
  if (random_below(&t->random, 2))
    t->u[i] = beyond;
  else
    t->v[i] = beyond;
  return true;
}

typedef struct damage {
  const char *name;
  damage_fn harm;
  bool pairs;
  const char *words[3]; /* one of them must be in the message */
} damage;

#define OF_NUMBERS(fn, ...)                                                                        \
  {                                                                                                \
#fn, fn, false, { __VA_ARGS__ }                                                                \
  }
#define OF_PAIRS(fn, ...)                                                                          \
  {                                                                                                \
#fn ", as pairs", fn, true, { __VA_ARGS__ }                                                    \
  }

static const damage damages[] = {
    OF_NUMBERS(edge_missing, "joins two trees of the claim"),
    OF_NUMBERS(edge_twice_instead_of_another, "is named twice"),
    OF_NUMBERS(edge_twice_besides, "is named twice"),
    OF_NUMBERS(number_beyond_the_last, "is not in the graph"),
    OF_NUMBERS(number_of_all_ones, "is not in the graph"),
    OF_NUMBERS(number_before_the_first, "is not in the graph"),
    OF_NUMBERS(number_in_a_gap, "is not in the graph"),
    OF_NUMBERS(cycle_besides, "closes a cycle"),
    OF_NUMBERS(cycle_by_a_swap, "closes a cycle"),
    OF_NUMBERS(right_weight_and_count_but_not_spanning, "closes a cycle"),
    OF_NUMBERS(worse_edge_swapped_in, "lighter than the heaviest", "heavier than the lightest"),
    OF_NUMBERS(loop_instead_of_an_edge, "is a loop"),
    OF_NUMBERS(other_direction, "lighter than the heaviest", "heavier than the lightest"),
    OF_NUMBERS(all_edges, "has at most"),
    OF_NUMBERS(nothing, "joins two trees of the claim"),
    OF_NUMBERS(one_tree_forgotten, "joins two trees of the claim"),
    OF_NUMBERS(better_edge_appeared, "lighter than the heaviest", "heavier than the lightest"),
    OF_PAIRS(edge_missing, "joins two trees of the claim"),
    OF_PAIRS(edge_twice_instead_of_another, "is named twice"),
    OF_PAIRS(cycle_besides, "closes a cycle", "is named twice"),
    OF_PAIRS(cycle_by_a_swap, "closes a cycle", "is named twice"),
    OF_PAIRS(loop_instead_of_an_edge, "is a loop"),
    OF_PAIRS(pair_that_is_no_edge, "no edge of the graph joins"),
    OF_PAIRS(pair_of_a_vertex_that_is_not, "names vertex"),
};

static void check_damage(dzo_context *context, const damage *d, uint64_t seed, int *done) {
  trial t;
  trial_start(&t, seed, 40, 0);
  if (d->harm(&t)) {
    dzo_msf_claim claim = d->pairs ? by_pair(&t) : by_number(&t);
    if (is_valid(context, t.edges, &claim))
      fail_msg("%s, seed %d: accepted", d->name, (int)seed);
    const char *message = dzo_context_message(context);
    bool told = false;
    for (int w = 0; w < 3 && d->words[w] != NULL; w++)
      told |= strstr(message, d->words[w]) != NULL;
    if (!told)
      fail_msg("%s, seed %d: unexpected message: %s", d->name, (int)seed, message);
    (*done)++;
  }
  trial_end(&t);
}

static void every_damage_is_found_and_told(void **state) {
  (void)state;
  dzo_context *context = context_of(2);
  for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
    int done = 0;
    for (uint64_t seed = 1; seed <= 4000 && done < ROUNDS / 10; seed++)
      check_damage(context, &damages[d], seed, &done);
    if (done < ROUNDS / 10)
      fail_msg("%s: only %d occasions", damages[d].name, done);
  }
  dzo_context_destroy(context);
}

/* Random exchanges; ties make some of them harmless. */
static void verdicts_are_those_of_the_oracle(void **state) {
  (void)state;
  dzo_context *context = context_of(2);
  int accepted = 0, rejected = 0;
  for (uint64_t seed = 5000; seed < 5000 + 4 * ROUNDS; seed++) {
    trial t;
    trial_start(&t, seed, 30, 0);
    uint64_t exchanges = t.count > 0 ? 1 + random_below(&t.random, 3) : 0;
    for (uint64_t k = 0; k < exchanges; k++)
      t.places[pick_entry(&t)] = random_below(&t.random, t.edges->count);
    fill_claim(&t);
    bool right = oracle_accepts(t.edges, t.forest, t.places, t.count);
    dzo_msf_claim claim = by_number(&t);
    if (is_valid(context, t.edges, &claim) != right)
      fail_msg("seed %d: %s", (int)seed, right ? dzo_context_message(context) : "accepted");
    *(right ? &accepted : &rejected) += 1;
    trial_end(&t);
  }
  assert_true(accepted > ROUNDS / 10);
  assert_true(rejected > ROUNDS / 10);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_claims_are_accepted),
      cmocka_unit_test(every_damage_is_found_and_told),
      cmocka_unit_test(verdicts_are_those_of_the_oracle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
