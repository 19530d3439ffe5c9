/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Every public call with its first, second, ... allocation failing, until it gets through: each
 * time it must say DZO_E_MEMORY, hand out nothing, keep nothing, and work afterwards. */
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
#include <zlib.h>
#include <zstd.h>

#include "base/context.h"
#include "oracle.h"
#include "random_graphs.h"

#define NEVER UINT64_MAX

/* ---- An allocator that fails once -------------------------------------------------------------
 */

typedef struct failing {
  uint64_t calls;   /* accessed atomically, as is all below */
  uint64_t fail_at; /* the call that fails, NEVER: none */
  int64_t live;
} failing;

static void *fail_or_allocate(void *user, size_t bytes) {
  failing *f = user;
  if (__atomic_fetch_add(&f->calls, 1, __ATOMIC_RELAXED) ==
      __atomic_load_n(&f->fail_at, __ATOMIC_RELAXED))
    return NULL;
  void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (block != NULL)
    __atomic_add_fetch(&f->live, 1, __ATOMIC_RELAXED);
  return block;
}

static void release(void *user, void *pointer) {
  failing *f = user;
  __atomic_sub_fetch(&f->live, 1, __ATOMIC_RELAXED);
  free(pointer);
}

/* ---- What the calls work on -------------------------------------------------------------------
 */

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
  const char *name; /* of the case, for messages */
} fixture;

static fixture *fix(void **state) { return *state; }

static dzo_edges view(const fixture *f) { return f->edges[f->kind]->edges; }

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

static int set_up(void **state) {
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

/* Files in the folder; removes them if asked to. */
static int files_left(const fixture *f, bool remove_them) {
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

static int tear_down(void **state) {
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

static void must(const fixture *f, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s: %s", f->name, dzo_status_name(status), dzo_context_message(f->context));
}

/* ---- Failing at every allocation --------------------------------------------------------------
 */

/* Does the call, destroys what it made, and hands its status back. */
typedef dzo_status (*call_fn)(fixture *f);

static void check_call(fixture *f, const char *name, call_fn call) {
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

#define EXPECT_NOTHING(status, pointer)                                                            \
  do {                                                                                             \
    if (((status) == DZO_OK) != ((pointer) != NULL))                                               \
      fail_msg("%s: %s, but the result is %s", f->name, dzo_status_name(status),                   \
               (pointer) ? "not NULL" : "NULL");                                                   \
  } while (0)

/* ---- Contexts ---------------------------------------------------------------------------------
 */

static void a_context_needs_memory(void **state) {
  (void)state;
  failing allocator = {.fail_at = 0};
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.allocator = (dzo_allocator){&allocator, fail_or_allocate, release};
  dzo_context *context = (dzo_context *)&options;
  assert_int_equal(dzo_context_create(&options, &context), DZO_E_MEMORY);
  assert_null(context);
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_context_destroy(context);
  assert_int_equal(allocator.live, 0);
}

/* ---- Edge lists -------------------------------------------------------------------------------
 */

static dzo_status copy(fixture *f) {
  static const uint64_t numbers[] = {3, 5}, labels[] = {7, 9};
  static const uint32_t u[] = {0, 1}, v[] = {1, 0};
  static const float weights[] = {2, 3};
  dzo_edges edges = {.vertices = 2,
                     .count = 2,
                     .u = u,
                     .v = v,
                     .weight_type = DZO_WEIGHT_F32,
                     .weights = weights,
                     .numbers = numbers,
                     .labels = labels};
  dzo_edge_list *list = (dzo_edge_list *)f;
  dzo_status status = dzo_edge_list_copy(f->context, &edges, &list);
  EXPECT_NOTHING(status, list);
  dzo_edge_list_destroy(list);
  return status;
}

static dzo_status generate(fixture *f) {
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = 6;
  dzo_edge_list *list = (dzo_edge_list *)f;
  dzo_status status = dzo_edge_list_generate(f->context, f->generator, &options, &list);
  EXPECT_NOTHING(status, list);
  dzo_edge_list_destroy(list);
  return status;
}

static void edge_lists_survive(void **state) {
  fixture *f = fix(state);
  check_call(f, "copy", copy);
  const char *const names[] = {"rmat", "ssca2", "uniform", "grid"};
  for (int g = 0; g < 4; g++) {
    f->generator = (dzo_generator)g;
    check_call(f, names[g], generate);
  }
}

/* ---- Graphs -----------------------------------------------------------------------------------
 */

static dzo_status build(fixture *f) {
  dzo_edges edges = view(f);
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_from_edges(f->context, &edges, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  return status;
}

static dzo_status build_with_names(fixture *f) {
  random_graph *named = random_graph_make(4, 50, DZO_WEIGHT_F32, 0);
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_from_edges(f->context, &named->edges, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  random_graph_free(named);
  return status;
}

static dzo_status import_csr(fixture *f, int symmetric) {
  static const uint64_t offsets[] = {0, 3, 5, 7};
  static const uint32_t neighbours[] = {0, 1, 2, 0, 2, 0, 1};
  static const int64_t weights[] = {9, 4, 5, 4, 6, 5, 6};
  dzo_csr csr = {3, offsets, neighbours, DZO_WEIGHT_I64, weights, symmetric};
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_from_csr(f->context, &csr, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  return status;
}
static dzo_status import_symmetric(fixture *f) { return import_csr(f, 1); }
static dzo_status import_directed(fixture *f) { return import_csr(f, 0); }

static dzo_graph *graph_of(fixture *f) {
  dzo_edges edges = view(f);
  uint64_t fail_at = f->allocator.fail_at, calls = f->allocator.calls;
  f->allocator.fail_at = NEVER;
  dzo_graph *graph;
  must(f, dzo_graph_from_edges(f->context, &edges, &graph));
  f->allocator.fail_at = fail_at;
  f->allocator.calls = calls;
  return graph;
}

/* A graph is as good as before, whatever became of the call. */
static void expect_sound(fixture *f, const dzo_graph *graph) {
  uint64_t fail_at = f->allocator.fail_at, calls = f->allocator.calls;
  f->allocator.fail_at = NEVER;
  dzo_edges edges = view(f);
  oracle_forest *forest = oracle_solve(&edges, 0, 0);
  dzo_msf *msf;
  must(f, dzo_msf_run(f->context, graph, NULL, &msf));
  if (!oracle_same_sum(dzo_msf_weight(msf), forest->total))
    fail_msg("%s: the graph has changed", f->name);
  dzo_msf_destroy(msf);
  oracle_free(forest);
  f->allocator.fail_at = fail_at;
  f->allocator.calls = calls;
}

typedef dzo_status (*preparation_fn)(dzo_context *context, dzo_graph *graph);

static dzo_status prepared(fixture *f, preparation_fn prepare) {
  dzo_graph *graph = graph_of(f);
  dzo_status status = prepare(f->context, graph);
  char message[600];
  snprintf(message, sizeof message, "%s", dzo_context_message(f->context));
  expect_sound(f, graph);
  (void)dzo_fail(f->context, status, "%s", message); /* as the call left it */
  dzo_graph_destroy(graph);
  return status;
}

static dzo_status by_weight(dzo_context *context, dzo_graph *graph) {
  return dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT);
}
static dzo_status sort_rows(fixture *f) { return prepared(f, by_weight); }
static dzo_status renumber(fixture *f) { return prepared(f, dzo_graph_renumber); }
static dzo_status compress_neighbours(fixture *f) { return prepared(f, dzo_graph_compress); }

static void graphs_survive(void **state) {
  fixture *f = fix(state);
  for (f->kind = 0; f->kind < KINDS; f->kind++) {
    check_call(f, "build", build);
    check_call(f, "sort rows", sort_rows);
    check_call(f, "renumber", renumber);
    check_call(f, "compress", compress_neighbours);
  }
  check_call(f, "build with names", build_with_names);
  check_call(f, "symmetric CSR", import_symmetric);
  check_call(f, "directed CSR", import_directed);
}

/* ---- Files ------------------------------------------------------------------------------------
 */

static const dzo_format formats[] = {DZO_FORMAT_MTX,      DZO_FORMAT_DIMACS, DZO_FORMAT_SNAP,
                                     DZO_FORMAT_CSV,      DZO_FORMAT_KONECT, DZO_FORMAT_METIS,
                                     DZO_FORMAT_GRAPHHPC, DZO_FORMAT_EGR,    DZO_FORMAT_GAP,
                                     DZO_FORMAT_GALOIS,   DZO_FORMAT_DZO};
enum { FORMATS = sizeof formats / sizeof *formats };

/* No file may be there that the call did not finish. */
static dzo_status expect_file(fixture *f, dzo_status status) {
  int files = files_left(f, true);
  if (files != (status == DZO_OK))
    fail_msg("%s: %s, and %d files", f->name, dzo_status_name(status), files);
  return status;
}

static dzo_status write_graph(fixture *f) {
  return expect_file(f, dzo_graph_write(f->context, f->graph, f->format, f->path));
}

static dzo_status write_edges(fixture *f) {
  dzo_edges edges = view(f);
  return expect_file(f, dzo_edges_write(f->context, &edges, f->format, f->path));
}

/* Which kind of edges a format can hold. */
static int kind_for(fixture *f, dzo_format format) {
  for (f->kind = INTEGERS; f->kind <= REALS; f->kind++) {
    dzo_edges edges = view(f);
    dzo_status status = dzo_edges_write(f->context, &edges, format, f->path);
    files_left(f, true);
    if (status == DZO_OK)
      return f->kind;
    assert_int_equal(status, DZO_E_UNSUPPORTED);
  }
  return -1;
}

static void writers_survive(void **state) {
  fixture *f = fix(state);
  for (int i = 0; i < FORMATS; i++) {
    f->format = formats[i];
    snprintf(f->path, sizeof f->path, "%s/written", f->folder);
    f->kind = kind_for(f, f->format);
    char name[64];
    snprintf(name, sizeof name, "write edges as %s", dzo_format_name(f->format));
    if (f->kind >= 0)
      check_call(f, name, write_edges);
    f->kind = f->kind < 0 ? 0 : f->kind;
    f->graph = graph_of(f);
    snprintf(name, sizeof name, "write a graph as %s", dzo_format_name(f->format));
    check_call(f, name, write_graph);
    dzo_graph_destroy(f->graph);
  }
}

static dzo_status read_edges(fixture *f) {
  dzo_edge_list *list = (dzo_edge_list *)f;
  dzo_status status = dzo_edge_list_read(f->context, f->path, NULL, &list);
  EXPECT_NOTHING(status, list);
  dzo_edge_list_destroy(list);
  return status;
}

static dzo_status read_graph(fixture *f) {
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_read(f->context, f->path, NULL, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  return status;
}

static dzo_status read_stream(fixture *f) {
  dzo_edge_source source;
  dzo_status status = dzo_edge_source_open(f->context, f->path, NULL, &source);
  if (status != DZO_OK)
    return status;
  dzo_edges chunk = {.count = 1};
  while (status == DZO_OK && chunk.count > 0)
    status = source.next(source.user, f->context, &chunk);
  if (source.close != NULL)
    source.close(source.user);
  return status;
}

static void check_readers(fixture *f, const char *what) {
  char name[100];
  snprintf(name, sizeof name, "read edges of %s", what);
  check_call(f, name, read_edges);
  snprintf(name, sizeof name, "read a graph of %s", what);
  check_call(f, name, read_graph);
  snprintf(name, sizeof name, "stream %s", what);
  check_call(f, name, read_stream);
}

static void readers_survive(void **state) {
  fixture *f = fix(state);
  for (int i = 0; i < FORMATS; i++) {
    snprintf(f->path, sizeof f->path, "%s/file", f->folder);
    f->kind = kind_for(f, formats[i]);
    f->kind = f->kind < 0 ? 0 : f->kind;
    f->graph = graph_of(f);
    must(f, dzo_graph_write(f->context, f->graph, formats[i], f->path));
    dzo_graph_destroy(f->graph);
    check_readers(f, dzo_format_name(formats[i]));
    files_left(f, true);
  }
}

/* 2000 lines with wide names, so that lists must grow. */
static size_t make_text(char *out, size_t room) {
  size_t length = 0;
  random_source random = {5};
  for (int i = 0; i < 2000; i++)
    length +=
        (size_t)snprintf(out + length, room - length, "%llu %llu %.3f\n",
                         (unsigned long long)(random_bits(&random) >> 50) << 30,
                         (unsigned long long)random_below(&random, 3000), random_unit(&random));
  return length;
}

static void write_file(const char *path, const void *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static void packed_files_survive(void **state) {
  fixture *f = fix(state);
  enum { ROOM = 1 << 20 };
  char *plain = malloc(ROOM), *packed = malloc(ROOM);
  assert_true(plain && packed);
  size_t length = make_text(plain, ROOM);
  snprintf(f->path, sizeof f->path, "%s/text", f->folder);
  write_file(f->path, plain, length);
  check_readers(f, "a longer text");
  snprintf(f->path, sizeof f->path, "%s/text.gz", f->folder);
  gzFile file = gzopen(f->path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, plain, (unsigned)length), (int)length);
  assert_int_equal(gzclose(file), Z_OK);
  check_readers(f, "a gzip file");
  snprintf(f->path, sizeof f->path, "%s/text.zst", f->folder);
  write_file(f->path, packed, ZSTD_compress(packed, ROOM, plain, length, 1));
  check_readers(f, "a zstd file");
  free(plain);
  free(packed);
}

/* ---- Forests ----------------------------------------------------------------------------------
 */

static dzo_status run(fixture *f) {
  dzo_msf *msf = (dzo_msf *)f;
  dzo_status status = dzo_msf_run(f->context, f->graph, NULL, &msf);
  EXPECT_NOTHING(status, msf);
  dzo_msf_destroy(msf);
  return status;
}

typedef struct pieces {
  dzo_edges edges;
  uint64_t at;
} pieces;

static dzo_status next_piece(void *user, dzo_context *context, dzo_edges *chunk) {
  (void)context;
  pieces *p = user;
  uint64_t left = p->edges.count - p->at;
  *chunk = p->edges;
  chunk->count = left < 37 ? left : 37;
  chunk->u += p->at;
  chunk->v += p->at;
  chunk->weights = (const char *)chunk->weights + 8 * p->at;
  chunk->first_number = p->at;
  p->at += chunk->count;
  return DZO_OK;
}

static dzo_status run_stream(fixture *f) {
  pieces p = {view(f), 0};
  dzo_edge_source source = {&p, next_piece, NULL};
  dzo_msf *msf = (dzo_msf *)f;
  dzo_status status = dzo_msf_stream(f->context, &source, NULL, &msf);
  EXPECT_NOTHING(status, msf);
  dzo_msf_destroy(msf);
  return status;
}

static dzo_status endpoints(fixture *f) {
  uint64_t count = dzo_msf_count(f->msf);
  uint32_t *u = malloc(count * sizeof *u), *v = malloc(count * sizeof *v);
  dzo_weight *w = malloc(count * sizeof *w);
  assert_true(u && v && w);
  dzo_status status = dzo_msf_endpoints_into(f->context, f->msf, f->graph, u, v, w);
  free(u);
  free(v);
  free(w);
  return status;
}

static dzo_status tree_weights(fixture *f) {
  dzo_weight_sum *trees = malloc(dzo_msf_components(f->msf) * sizeof *trees);
  assert_non_null(trees);
  dzo_status status = dzo_msf_tree_weights_into(f->context, f->msf, f->graph, trees);
  free(trees);
  return status;
}

static dzo_status verify(fixture *f, bool pairs) {
  dzo_edges edges = view(f);
  uint64_t count = dzo_msf_count(f->msf);
  uint32_t *u = malloc(count * sizeof *u), *v = malloc(count * sizeof *v);
  assert_true(u && v);
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = count;
  claim.numbers = pairs ? NULL : dzo_msf_edges(f->msf);
  claim.u = u;
  claim.v = v;
  for (uint64_t i = 0; i < count; i++) {
    u[i] = edges.u[dzo_msf_edges(f->msf)[i]];
    v[i] = edges.v[dzo_msf_edges(f->msf)[i]];
  }
  int valid = -1;
  dzo_status status = dzo_msf_verify(f->context, &edges, &claim, &valid);
  assert_int_equal(valid, status == DZO_OK);
  free(u);
  free(v);
  return status;
}
static dzo_status verify_numbers(fixture *f) { return verify(f, false); }
static dzo_status verify_pairs(fixture *f) { return verify(f, true); }

static void forests_survive(void **state) {
  fixture *f = fix(state);
  for (f->kind = 0; f->kind < KINDS; f->kind++) {
    f->graph = graph_of(f);
    for (int prepared = 0; prepared < 3; prepared++) {
      check_call(f, "run", run);
      must(f, dzo_msf_run(f->context, f->graph, NULL, &f->msf));
      check_call(f, "endpoints", endpoints);
      check_call(f, "tree weights", tree_weights);
      check_call(f, "verify numbers", verify_numbers);
      check_call(f, "verify pairs", verify_pairs);
      dzo_msf_destroy(f->msf);
      must(f, prepared == 0 ? dzo_graph_sort_rows(f->context, f->graph, DZO_ROWS_BY_WEIGHT)
                            : dzo_graph_compress(f->context, f->graph));
    }
    dzo_graph_destroy(f->graph);
    check_call(f, "stream", run_stream);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_context_needs_memory),
      cmocka_unit_test_setup_teardown(edge_lists_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(graphs_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(writers_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(readers_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(packed_files_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(forests_survive, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
