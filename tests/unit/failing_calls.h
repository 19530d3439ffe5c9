/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A public call with its first, second, ... allocation failing, until it gets through: each time it
 * must say DZO_E_MEMORY, hand out nothing, keep nothing, and work afterwards. */
#ifndef DZO_TESTS_FAILING_CALLS_H
#define DZO_TESTS_FAILING_CALLS_H

#include "io/forest.h"
#include "oracle.h"
#include "random_graphs.h"

#define NEVER UINT64_MAX

/* An allocator that fails once. */
typedef struct failing {
  uint64_t calls;   /* accessed atomically, as is all below */
  uint64_t fail_at; /* the call that fails, NEVER: none */
  int64_t live;
} failing;

void *fail_or_allocate(void *user, size_t bytes);
void release(void *user, void *pointer);

enum { INTEGERS, REALS, FEW_REALS, KINDS };

typedef struct fixture {
  failing allocator;
  dzo_context *context;
  random_graph *edges[KINDS];
  char folder[256];
  char path[512];    /* to read or write */
  dzo_format format; /* to write */
  int kind;          /* of edges */
  dzo_graph *graph;  /* made without failures before each call, where wanted */
  dzo_msf *msf;      /* likewise */
  dzo_generator generator;
  dzo_forest_format forest_format;
  const char *name; /* of the case, for messages */
} fixture;

int set_up(void **state);
int tear_down(void **state);
fixture *fix(void **state);
/* The edges of f->kind. */
dzo_edges view(const fixture *f);
/* Their graph, made without failures. */
dzo_graph *graph_of(fixture *f);
/* Files in the folder; removes them if asked to. */
int files_left(const fixture *f, bool remove_them);
void must(const fixture *f, dzo_status status);

/* Does the call, destroys what it made, and hands its status back. */
typedef dzo_status (*call_fn)(fixture *f);

void check_call(fixture *f, const char *name, call_fn call);

#define EXPECT_NOTHING(status, pointer)                                                            \
  do {                                                                                             \
    if (((status) == DZO_OK) != ((pointer) != NULL))                                               \
      fail_msg("%s: %s, but the result is %s", f->name, dzo_status_name(status),                   \
               (pointer) ? "not NULL" : "NULL");                                                   \
  } while (0)

#endif
