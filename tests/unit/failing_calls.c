/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_calls.h"

void *fail_or_allocate(void *user, size_t bytes) {
  failing *f = user;
  if (__atomic_fetch_add(&f->calls, 1, __ATOMIC_RELAXED) ==
      __atomic_load_n(&f->fail_at, __ATOMIC_RELAXED))
    return NULL;
  void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (block != NULL)
    __atomic_add_fetch(&f->live, 1, __ATOMIC_RELAXED);
  return block;
}

void release(void *user, void *pointer) {
  failing *f = user;
  __atomic_sub_fetch(&f->live, 1, __ATOMIC_RELAXED);
  free(pointer);
}

fixture *fix(void **state) { return *state; }

dzo_edges view(const fixture *f) { return f->edges[f->kind]->edges; }

static random_graph *make_edges(dzo_weight_type type, uint64_t distinct) {
  random_graph *g = calloc(1, sizeof *g);
  random_source random = {distinct};
  enum { N = 60, M = 300 };
  assert_non_null(g);
  g->u = malloc(M * sizeof *g->u);
  g->v = malloc(M * sizeof *g->v);
  g->weights = malloc(M * sizeof(double));
  assert_true(g->u && g->v && g->weights);
  for (uint32_t i = 0; i < M; i++) {
    g->u[i] = (uint32_t)random_below(&random, N);
    g->v[i] = i < N ? i : (uint32_t)random_below(&random, N);
    if (g->u[i] == g->v[i] && type != DZO_WEIGHT_F64) /* METIS holds no loops */
      g->v[i] = (g->u[i] + 1) % N;
    if (type == DZO_WEIGHT_F64)
      ((double *)g->weights)[i] = 1.0 / (1.0 + (double)random_below(&random, distinct));
    else
      ((int64_t *)g->weights)[i] = 1 + (int64_t)random_below(&random, distinct);
  }
  g->edges = (dzo_edges){.vertices = N, .count = M, .u = g->u, .v = g->v, .weight_type = type};
  g->edges.weights = g->weights;
  return g;
}

int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  if (f == NULL)
    return 1;
  *state = f;
  f->allocator.fail_at = NEVER;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  options.allocator = (dzo_allocator){&f->allocator, fail_or_allocate, release};
  if (dzo_context_create(&options, &f->context) != DZO_OK)
    return 1;
  f->edges[INTEGERS] = make_edges(DZO_WEIGHT_I64, 1000);
  f->edges[REALS] = make_edges(DZO_WEIGHT_F64, 1000000);
  f->edges[FEW_REALS] = make_edges(DZO_WEIGHT_F64, 9);
  const char *base = getenv("TMPDIR");
  snprintf(f->folder, sizeof f->folder, "%.200s/dzo-allocation-XXXXXX", base ? base : "/tmp");
  return mkdtemp(f->folder) == NULL;
}

int files_left(const fixture *f, bool remove_them) {
  DIR *folder = opendir(f->folder);
  assert_non_null(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[600];
    if (entry->d_name[0] == '.' && strchr("./", entry->d_name[1]) != NULL)
      continue; /* "." and ".." */
    count++;
    snprintf(path, sizeof path, "%s/%.300s", f->folder, entry->d_name);
    if (remove_them)
      assert_int_equal(unlink(path), 0);
  }
  closedir(folder);
  return count;
}

int tear_down(void **state) {
  fixture *f = *state;
  files_left(f, true);
  rmdir(f->folder);
  for (int i = 0; i < KINDS; i++)
    random_graph_free(f->edges[i]);
  dzo_context_destroy(f->context);
  bool leak = f->allocator.live != 0;
  free(f);
  return leak;
}

void must(const fixture *f, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s: %s", f->name, dzo_status_name(status), dzo_context_message(f->context));
}

void check_call(fixture *f, const char *name, call_fn call) {
  f->name = name;
  int64_t live = f->allocator.live;
  uint64_t used = dzo_context_memory_used(f->context);
  uint64_t at = 0;
  for (dzo_status status = DZO_E_MEMORY; status != DZO_OK; at++) {
    f->allocator.calls = 0;
    f->allocator.fail_at = at;
    status = call(f);
    bool failed = f->allocator.calls > at;
    f->allocator.fail_at = NEVER;
    if (failed && status != DZO_E_MEMORY)
      fail_msg("%s: allocation %d failed, but the status is %s (%s)", name, (int)at,
               dzo_status_name(status), dzo_context_message(f->context));
    if (!failed && status != DZO_OK)
      fail_msg("%s: %s: %s", name, dzo_status_name(status), dzo_context_message(f->context));
    if (f->allocator.live != live || dzo_context_memory_used(f->context) != used)
      fail_msg("%s: allocation %d failed, and %d blocks leak", name, (int)at,
               (int)(f->allocator.live - live));
    if (failed && strstr(dzo_context_message(f->context), "memory") == NULL &&
        strstr(dzo_context_message(f->context), "allocate") == NULL)
      fail_msg("%s: allocation %d failed, but the message is \"%s\"", name, (int)at,
               dzo_context_message(f->context));
    assert_true(at < 100000);
  }
  assert_true(at > 1); /* at least one allocation was there to fail */
  must(f, call(f));    /* and once more */
}

dzo_graph *graph_of(fixture *f) {
  dzo_edges edges = view(f);
  uint64_t fail_at = f->allocator.fail_at, calls = f->allocator.calls;
  f->allocator.fail_at = NEVER;
  dzo_graph *graph;
  must(f, dzo_graph_from_edges(f->context, &edges, &graph));
  f->allocator.fail_at = fail_at;
  f->allocator.calls = calls;
  return graph;
}
