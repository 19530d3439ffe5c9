/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Solving a graph in every way and comparing with the oracle; a difference fails the test. */
#ifndef DZO_TESTS_FOREST_CHECKS_H
#define DZO_TESTS_FOREST_CHECKS_H

#include "base/context.h"

#include "oracle.h"
#include "random_graphs.h"

/* DZO_TEST_SMALL: where a GPU is made of threads, which are slow. DZO_TEST_TINY: where each access
 * of a GPU is watched. */
#ifdef DZO_TEST_TINY
enum { ROUNDS = 12, MEDIUM_SCALE = 7 };
#elif defined(DZO_TEST_SMALL) && defined(__SANITIZE_THREAD__)
enum { ROUNDS = 30, MEDIUM_SCALE = 8 };
#elif defined(DZO_TEST_SMALL) && defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 60, MEDIUM_SCALE = 8 };
#elif defined(DZO_TEST_SMALL)
enum { ROUNDS = 100, MEDIUM_SCALE = 9 };
#elif defined(__SANITIZE_THREAD__)
enum { ROUNDS = 120, MEDIUM_SCALE = 10 };
#elif defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 300, MEDIUM_SCALE = 10 };
#else
enum { ROUNDS = 600, MEDIUM_SCALE = 13 };
#endif
/* Of the variants of larger graphs, one in STRIDE is tried: the findings of sanitizers, which are
 * slow, do not hang on their number. */
#if defined(__SANITIZE_THREAD__) || (defined(DZO_TEST_SMALL) && defined(__SANITIZE_ADDRESS__))
enum { STRIDE = 4 };
#elif defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 3 };
#elif defined(DZO_TEST_SMALL)
enum { STRIDE = 2 };
#else
enum { STRIDE = 1 };
#endif
/* Is this one of them? One in STRIDE calls, in no order: over many graphs all variants come. */
bool takes_turn(void);
enum { TYPES = 6, TEAMS = 4 };

extern const dzo_weight_type every_type[TYPES];

/* Contexts of 1, 2, 3 and 8 threads; made and destroyed by each test's setup and teardown. */
extern dzo_context *teams[TEAMS];
int make_teams(void **state);
int break_teams(void **state);
dzo_context *context_of(int threads);
/* What context_of() asks for. The environment says where the tests run: DZO_TEST_DEVICE is cpu
 * (without it), cuda or hybrid; DZO_TEST_GPU_MEMORY the bytes of GPU memory to take at most; with
 * DZO_TEST_RESIDENT graphs are uploaded before they are solved. */
dzo_context_options wishes_of(int threads);
bool tests_gpu(void);
/* Does it hold memory, where nothing lives? (With a GPU it keeps some for the next call.) */
bool leaks(const dzo_context *context);

/* The call succeeded. */
void must(dzo_context *context, dzo_status status);

/* All that a result tells is as the oracle has it; `graph` NULL for a stream. */
void expect_forest(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                   const dzo_edges *edges, const oracle_forest *f, const char *what);

typedef enum preparation {
  BY_NEIGHBOUR,
  BY_WEIGHT,
  COMPRESSED,
  COMPRESSED_BY_WEIGHT,
  RENUMBERED,
  RENUMBERED_BY_WEIGHT,
  PREPARATIONS
} preparation;

dzo_graph *prepare(dzo_context *context, const dzo_edges *edges, preparation how);
dzo_msf *solve(dzo_context *context, const dzo_graph *graph, int maximum);
/* Prepare, solve, compare, verify. */
void check_in_memory(dzo_context *context, const dzo_edges *edges, preparation how, int maximum,
                     const oracle_forest *f, const char *name);
/* The same, from a copy in GPU memory where `upload`. The solver has to do as asked: no notice. */
void check_prepared(dzo_context *context, const dzo_edges *edges, preparation how, bool upload,
                    int maximum, const oracle_forest *f, const char *name);

/* An edge list as a source of chunks of random sizes. */
typedef struct chunk_source {
  const dzo_edges *edges;
  uint64_t at;
  uint64_t most; /* edges a chunk */
  bool growing;  /* tell only of the vertices seen so far, of all of them at the end */
  uint64_t seen;
  random_source random;
  dzo_status failure; /* to return after half of the edges */
  int closed;
} chunk_source;

dzo_status stream(dzo_context *context, chunk_source *chunks, int maximum, dzo_msf **msf);
/* Stream and compare. */
void check_stream(dzo_context *context, const dzo_edges *edges, uint64_t most, bool growing,
                  int maximum, const oracle_forest *f, const char *name);

/* Every preparation and some streams, each by another team. */
void check_everywhere(const dzo_edges *edges, const char *name);

#endif
