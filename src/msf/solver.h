/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the steps of the CPU solver share. docs/spanning-forest.md explains the method. */
#ifndef DZO_MSF_SOLVER_H
#define DZO_MSF_SOLVER_H

#include "base/context.h"
#include "base/exact_sum.h"
#include "graph/csr.h"
#include "msf/result.h"
#include "msf/scan.h"

enum { DZO_MSF_ROW_COST = 4 }; /* work of a row, in arcs */

/* "No vertex", "no arc of the row". Vertices are below 2^32 - 1, so no vertex has this number. */
#define DZO_MSF_NONE UINT32_MAX

/* Entries of a list at most: 32 bits number them, and stand beside a key. */
#define DZO_MSF_LIST_MAX UINT32_MAX

/* Arcs that 32 bits in an entry can name; of graphs with more, lists keep the arcs beside the
 * entries. A test makes it 0. */
#ifndef DZO_MSF_DIRECT_ARCS
#define DZO_MSF_DIRECT_ARCS UINT32_MAX
#endif

/* A prefix of the total order on edges: those with key < `key`, and those with key == `key` whose
 * smaller endpoint is at most `vertex`. Keys here are flipped for a maximum forest. */
typedef struct msf_prefix {
  uint64_t key;
  uint32_t vertex;
  bool all; /* no bound: every edge */
} msf_prefix;

typedef struct msf_solver {
  dzo_context *context;
  const dzo_graph *graph;
  int threads;
  uint64_t key_mask; /* all bits of a key */
  uint64_t flip;     /* key ^ flip ascends in the order wanted: 0, or key_mask for a maximum */
  msf_scan scan;
  bool presorted; /* rows ascend in key ^ flip */
  uint32_t n;

  uint32_t *hook;  /* [n] vertex or component each one merges into; then its root */
  uint32_t *pick;  /* [n] position in its row of each vertex's first arc in the order */
  uint32_t *label; /* [n] component of each vertex, once round one is done */
  uint32_t components;
  uint32_t giant; /* component that holds a good part of all vertices, or NONE */

  msf_taken taken;
  msf_sum *sums;  /* [threads] of the weights taken */
  double clock;   /* when the step that runs began */
  char plan[256]; /* steps done and their milliseconds */
} msf_solver;

/* Ranges of rows with about equal work, for dzo_parallel_for over msf_row_units() units. */
uint64_t msf_row_units(const msf_solver *s);
/* The first row at or after unit `unit`. */
uint32_t msf_row_at(const msf_solver *s, uint64_t unit);

/* hook[0 .. count) is a forest whose roots hook to themselves. Point each at its root, and number
 * the roots 0 .. *roots - 1, ascending: dense[i] becomes the new component of i. */
dzo_status msf_contract(msf_solver *s, uint32_t *hook, uint32_t count, uint32_t *dense,
                        uint32_t *roots);

/* label[v] = map[label[v]] for all vertices. */
void msf_relabel(msf_solver *s, const uint32_t *map);

/* The component most vertices of a sample are in, or NONE if none has a quarter of it. */
uint32_t msf_find_giant(const msf_solver *s);

/* Free hook and pick, which only round one needs. */
void msf_free_picks(msf_solver *s);

/* A step is done: note its name and time in the plan. */
void msf_note(msf_solver *s, const char *step);

/* Put an edge into the forest. */
DZO_ITEM void msf_take(msf_solver *s, int thread, uint64_t number, uint64_t key) {
  msf_taken_add(&s->taken, number);
  const dzo_weight_map *map = &s->graph->map;
  msf_sum_add(&s->sums[thread], map->type, dzo_key_pattern(map, key & s->key_mask));
}

/* A step of the solver: gather what is in the prefix and crosses, at most `capacity` edges, and
 * merge along it. *full is set, and nothing else has happened, if there are more. */
typedef dzo_status (*msf_phase_fn)(msf_solver *s, const msf_prefix *bound, uint64_t capacity,
                                   bool *full);

/* Run phases until no edge crosses. */
dzo_status msf_finish(msf_solver *s, msf_phase_fn phase);

/* The solvers for each width of keys; on return labels, bitmap and sums are complete. */
dzo_status msf_solve_keys32(msf_solver *s);
dzo_status msf_solve_keys64(msf_solver *s);

#endif
