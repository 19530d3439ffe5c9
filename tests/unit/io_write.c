/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "graph/csr.h"
#include "io_files.h"
#include "random_graphs.h"

static const uint32_t small_u[] = {0, 2, 1, 3}, small_v[] = {1, 1, 1, 4};
static const double small_weights[] = {0.5, -2, 3, 1e20};

static dzo_edges small_edges(void) {
  return (dzo_edges){.vertices = 6,
                     .count = 4,
                     .u = small_u,
                     .v = small_v,
                     .weight_type = DZO_WEIGHT_F64,
                     .weights = small_weights};
}

/* ---- Exact bytes ----------------------------------------------------------------------------- */

static void text_formats_look_as_expected(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  const struct {
    dzo_format format;
    const char *text;
  } cases[] = {
      {DZO_FORMAT_MTX, "%%MatrixMarket matrix coordinate real symmetric\n6 6 4\n2 1 0.5\n3 2 -2\n"
                       "2 2 3\n5 4 1e+20\n"},
      {DZO_FORMAT_SNAP, "# Undirected graph\n# Nodes: 6 Edges: 4\n# FromNodeId\tToNodeId\tWeight\n"
                        "0\t1\t0.5\n2\t1\t-2\n1\t1\t3\n3\t4\t1e+20\n"},
      {DZO_FORMAT_CSV, "source,target,weight\n0,1,0.5\n2,1,-2\n1,1,3\n3,4,1e+20\n"},
      {DZO_FORMAT_KONECT, "% sym weighted\n% 4 6 6\n0 1 0.5\n2 1 -2\n1 1 3\n3 4 1e+20\n"},
  };
  const char *path = files_path("text");
  dzo_edges edges = small_edges();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    must(context, dzo_edges_write(context, &edges, cases[i].format, path));
    assert_true(files_equal(path, cases[i].text, strlen(cases[i].text)));
  }
  const int64_t integers[] = {5, -2, INT64_MAX, INT64_MIN};
  edges.weight_type = DZO_WEIGHT_I64;
  edges.weights = integers;
  const char *dimacs = "p sp 6 4\na 1 2 5\na 3 2 -2\na 2 2 9223372036854775807\n"
                       "a 4 5 -9223372036854775808\n";
  must(context, dzo_edges_write(context, &edges, DZO_FORMAT_DIMACS, path));
  assert_true(files_equal(path, dimacs, strlen(dimacs)));
  const uint64_t labels[] = {7, UINT64_MAX, 9, 30, 40, 50};
  edges.labels = labels;
  edges.weight_type = DZO_WEIGHT_NONE;
  edges.weights = NULL;
  const char *named = "source,target\n7,18446744073709551615\n9,18446744073709551615\n"
                      "18446744073709551615,18446744073709551615\n30,40\n";
  must(context, dzo_edges_write(context, &edges, DZO_FORMAT_CSV, path));
  assert_true(files_equal(path, named, strlen(named)));
  dzo_context_destroy(context);
}

static void metis_lists_rows(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  const char *path = files_path("metis");
  const uint32_t u[] = {0, 4, 1, 1}, v[] = {1, 1, 2, 2};
  const uint32_t weights[] = {5, 6, 7, 4000000000u};
  dzo_edges edges = {
      .vertices = 6, .count = 4, .u = u, .v = v, .weight_type = DZO_WEIGHT_U32, .weights = weights};
  const char *weighted = "6 4 1\n2 5 \n1 5 3 7 3 4000000000 5 6 \n2 7 2 4000000000 \n\n2 6 \n\n";
  must(context, dzo_edges_write(context, &edges, DZO_FORMAT_METIS, path));
  assert_true(files_equal(path, weighted, strlen(weighted)));
  edges.weight_type = DZO_WEIGHT_NONE;
  edges.weights = NULL;
  const char *plain = "6 4\n2 \n1 3 3 5 \n2 2 \n\n2 \n\n";
  must(context, dzo_edges_write(context, &edges, DZO_FORMAT_METIS, path));
  assert_true(files_equal(path, plain, strlen(plain)));
  dzo_context_destroy(context);
}

/* ---- What does not fit ----------------------------------------------------------------------- */

static void refuse(dzo_context *context, dzo_weight_type type, const void *weights, bool loop,
                   dzo_format format, const char *part) {
  const uint32_t u[] = {0, 1}, v[] = {1, 2}, loops[] = {1, 1};
  dzo_edges edges = {.vertices = 3,
                     .count = 2,
                     .u = u,
                     .v = loop ? loops : v,
                     .weight_type = type,
                     .weights = weights,
                     .first_number = 10};
  int before = files_count();
  must_fail(context, dzo_edges_write(context, &edges, format, files_path("refused")),
            DZO_E_UNSUPPORTED, part);
  assert_int_equal(files_count(), before);
}

static void what_a_format_cannot_hold_is_named(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  const double fraction[] = {1, 2.5}, huge[] = {1, 1e19}, infinite[] = {-(double)INFINITY, 1};
  const int64_t wide[] = {1, 3000000000}, zero[] = {1, 0}, precise[] = {1, (1LL << 53) + 1};
  const uint64_t large[] = {1, UINT64_MAX};
  const char *text = "edge 11 has weight 2.5";
  refuse(context, DZO_WEIGHT_F64, fraction, false, DZO_FORMAT_DIMACS, text);
  refuse(context, DZO_WEIGHT_F64, fraction, false, DZO_FORMAT_METIS, text);
  refuse(context, DZO_WEIGHT_F64, fraction, false, DZO_FORMAT_EGR, text);
  refuse(context, DZO_WEIGHT_F64, fraction, false, DZO_FORMAT_GAP, text);
  refuse(context, DZO_WEIGHT_F64, fraction, true, DZO_FORMAT_GALOIS, text);
  refuse(context, DZO_WEIGHT_F64, huge, false, DZO_FORMAT_DIMACS, "weight 1e+19");
  refuse(context, DZO_WEIGHT_F64, infinite, false, DZO_FORMAT_GALOIS, "edge 10 has weight -inf");
  refuse(context, DZO_WEIGHT_I64, wide, false, DZO_FORMAT_EGR, "edge 11 has weight 3000000000");
  refuse(context, DZO_WEIGHT_I64, wide, true, DZO_FORMAT_GAP, "edge 11 has weight 3000000000");
  refuse(context, DZO_WEIGHT_U64, large, false, DZO_FORMAT_GALOIS, "18446744073709551615");
  refuse(context, DZO_WEIGHT_I64, zero, false, DZO_FORMAT_METIS, "positive");
  refuse(context, DZO_WEIGHT_I64, precise, false, DZO_FORMAT_GRAPHHPC, "9007199254740993");
  refuse(context, DZO_WEIGHT_U64, large, false, DZO_FORMAT_GRAPHHPC, "18446744073709551615");
  refuse(context, DZO_WEIGHT_NONE, NULL, true, DZO_FORMAT_METIS, "loops");
  dzo_context_destroy(context);
}

/* ---- Round trips ----------------------------------------------------------------------------- */

static bool is_binary(dzo_format format) { return format >= DZO_FORMAT_GRAPHHPC; }

/* Formats that hold the input's names of vertices. */
static bool holds_names(dzo_format format) {
  return format == DZO_FORMAT_SNAP || format == DZO_FORMAT_CSV || format == DZO_FORMAT_KONECT ||
         format == DZO_FORMAT_DZO;
}

static bool integral_between(const dzo_edges *e, long double low, long double high) {
  for (uint64_t i = 0; i < e->count; i++) {
    long double w = 1;
    if (e->weight_type == DZO_WEIGHT_U32)
      w = ((const uint32_t *)e->weights)[i];
    else if (e->weight_type == DZO_WEIGHT_I64)
      w = (long double)((const int64_t *)e->weights)[i];
    else if (e->weight_type == DZO_WEIGHT_U64)
      w = (long double)((const uint64_t *)e->weights)[i];
    else if (e->weight_type == DZO_WEIGHT_F32)
      w = ((const float *)e->weights)[i];
    else if (e->weight_type == DZO_WEIGHT_F64)
      w = ((const double *)e->weights)[i];
    if (!(w >= low && w <= high) || w != truncl(w))
      return false;
  }
  return true;
}

static bool has_loops(const dzo_edges *e) {
  for (uint64_t i = 0; i < e->count; i++)
    if (e->u[i] == e->v[i])
      return true;
  return false;
}

static bool all_doubles(const dzo_edges *e) {
  for (uint64_t i = 0; i < e->count; i++) {
    if (e->weight_type == DZO_WEIGHT_I64 &&
        (long double)(double)((const int64_t *)e->weights)[i] != ((const int64_t *)e->weights)[i])
      return false;
    if (e->weight_type == DZO_WEIGHT_U64 &&
        (long double)(double)((const uint64_t *)e->weights)[i] != ((const uint64_t *)e->weights)[i])
      return false;
  }
  return true;
}

static bool fits(const dzo_edges *e, dzo_format format) {
  const long double low64 = (long double)INT64_MIN, high64 = (long double)INT64_MAX;
  switch (format) {
  case DZO_FORMAT_DIMACS:
    return e->weight_type == DZO_WEIGHT_U64 || integral_between(e, low64, high64);
  case DZO_FORMAT_METIS:
    return !has_loops(e) && integral_between(e, 1, high64);
  case DZO_FORMAT_GRAPHHPC:
    return all_doubles(e);
  case DZO_FORMAT_EGR:
  case DZO_FORMAT_GAP:
    return integral_between(e, INT32_MIN, INT32_MAX);
  case DZO_FORMAT_GALOIS:
    return integral_between(e, low64, high64);
  default:
    return true;
  }
}

/* Text of both negative integers and such beyond int64 is refused by readers. */
static bool is_readable(const dzo_edges *e, dzo_format format) {
  return e->count > 0 || is_binary(format) || format == DZO_FORMAT_MTX ||
         format == DZO_FORMAT_DIMACS || format == DZO_FORMAT_METIS;
}

static void read_back(dzo_context *context, const char *path, const dzo_edges *e,
                      dzo_format format) {
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = format;
  dzo_edge_list *list;
  if (!is_readable(e, format))
    return;
  must(context, dzo_edge_list_read(context, path, &options, &list));
  dzo_edges got;
  dzo_edge_list_view(list, &got);
  bool names = holds_names(format);
  if (!same_edges(e, &got, names))
    fail_msg("%s: the edges differ", dzo_format_name(format));
  if (!names || format == DZO_FORMAT_DZO)
    assert_int_equal(got.vertices, e->vertices);
  dzo_edge_list_destroy(list);
  /* Found by content too. */
  if (e->count > 3) {
    must(context, dzo_edge_list_read(context, path, NULL, &list));
    assert_string_equal(dzo_format_name(dzo_edge_list_format(list)), dzo_format_name(format));
    dzo_edge_list_destroy(list);
  }
}

static void round_trip(dzo_context *context, const dzo_edges *e, dzo_format format) {
  const char *path = files_path("round");
  dzo_status status = dzo_edges_write(context, e, format, path);
  if (!fits(e, format)) {
    assert_string_equal(dzo_status_name(status), "DZO_E_UNSUPPORTED");
    return;
  }
  must(context, status);
  read_back(context, path, e, format);
  dzo_graph *graph;
  must(context, dzo_graph_from_edges(context, e, &graph));
  must(context, dzo_graph_write(context, graph, format, path));
  read_back(context, path, e, format);
  must(context, dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT));
  must(context, dzo_graph_write(context, graph, format, path));
  read_back(context, path, e, format);
  must(context, dzo_graph_compress(context, graph));
  must(context, dzo_graph_write(context, graph, format, path));
  read_back(context, path, e, format);
  dzo_graph_destroy(graph);
}

static void every_format_gives_back_what_it_took(void **state) {
  (void)state;
  dzo_context *context = files_context(3);
  for (uint64_t seed = 0; seed < 12; seed++)
    for (int type = DZO_WEIGHT_NONE; type <= DZO_WEIGHT_F64; type++) {
      random_graph *g = random_graph_make(seed, 60, (dzo_weight_type)type, 0);
      for (int format = DZO_FORMAT_MTX; format <= DZO_FORMAT_DZO; format++)
        round_trip(context, &g->edges, (dzo_format)format);
      random_graph_free(g);
    }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static random_graph *large_graph(dzo_weight_type type) {
  enum { EDGES = 150000, VERTICES = 5000 };
  random_graph *g = random_graph_make(1, 0, type, 0);
  random_source random = {9};
  g->u = realloc(g->u, EDGES * sizeof *g->u);
  g->v = realloc(g->v, EDGES * sizeof *g->v);
  g->weights = realloc(g->weights, EDGES * sizeof(int64_t));
  assert_true(g->u != NULL && g->v != NULL && g->weights != NULL);
  for (uint64_t i = 0; i < EDGES; i++) {
    g->u[i] = (uint32_t)(random_unit(&random) * random_unit(&random) * VERTICES);
    g->v[i] = i % 50 == 0 ? g->u[i] : (uint32_t)random_below(&random, VERTICES);
    ((uint32_t *)g->weights)[i] = 1 + (uint32_t)random_below(&random, 100000);
  }
  g->edges = (dzo_edges){.vertices = VERTICES,
                         .count = EDGES,
                         .u = g->u,
                         .v = g->v,
                         .weight_type = type,
                         .weights = g->weights};
  return g;
}

static void teams_write_the_same_bytes(void **state) {
  (void)state;
  random_graph *g = large_graph(DZO_WEIGHT_U32);
  dzo_context *one = files_context(1), *many = files_context(5);
  for (int format = DZO_FORMAT_MTX; format <= DZO_FORMAT_DZO; format++) {
    if (format == DZO_FORMAT_METIS)
      continue; /* has loops */
    const char *a = files_path("one"), *b = files_path("many");
    must(one, dzo_edges_write(one, &g->edges, (dzo_format)format, a));
    must(many, dzo_edges_write(many, &g->edges, (dzo_format)format, b));
    size_t size;
    char *data = files_get(a, &size);
    assert_true(files_equal(b, data, size));
    free(data);
    read_back(many, b, &g->edges, (dzo_format)format);
  }
  random_graph_free(g);
  dzo_context_destroy(one);
  dzo_context_destroy(many);
}

/* The contest's layout, entry by entry: each edge goes to the back of what is free in its rows. */
static void contest_files_are_filled_from_the_back(void **state) {
  (void)state;
  random_graph *g = large_graph(DZO_WEIGHT_U32);
  const dzo_edges *e = &g->edges;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 3;
  options.memory = 16 << 20; /* several blocks of rows */
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  const char *path = files_path("contest");
  must(context, dzo_edges_write(context, e, DZO_FORMAT_GRAPHHPC, path));
  size_t size;
  char *data = files_get(path, &size);
  uint64_t n = e->vertices, arcs = 2 * e->count;
  assert_int_equal(size, 14 + 8 * (n + 1) + 12 * arcs);
  uint64_t *free_end = calloc(n, sizeof *free_end);
  assert_non_null(free_end);
  memcpy(free_end, data + 14 + 8, 8 * n);
  const char *neighbours = data + 14 + 8 * (n + 1), *weights = neighbours + 4 * arcs;
  for (uint64_t i = 0; i < e->count; i++)
    for (int side = 0; side < 2; side++) {
      uint64_t at = --free_end[side == 0 ? e->u[i] : e->v[i]];
      uint32_t neighbour;
      double weight;
      memcpy(&neighbour, neighbours + 4 * at, 4);
      memcpy(&weight, weights + 8 * at, 8);
      assert_int_equal(neighbour, side == 0 ? e->v[i] : e->u[i]);
      assert_true(weight == ((const uint32_t *)e->weights)[i]);
    }
  for (uint64_t v = 0; v < n; v++) {
    uint64_t begin;
    memcpy(&begin, data + 14 + 8 * v, 8);
    assert_int_equal(free_end[v], begin);
  }
  free(free_end);
  free(data);
  random_graph_free(g);
  dzo_context_destroy(context);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  dzo_edges edges = small_edges();
  edges.count = 3;
  const double whole[] = {1, 2, 3};
  edges.weights = whole;
  int before = files_count();
  for (int format = DZO_FORMAT_MTX; format <= DZO_FORMAT_DZO; format++) {
    dzo_edges e = edges;
    if (format == DZO_FORMAT_METIS)
      e.count = 2;
    const char *path = files_path("starved");
    for (int64_t k = 0;; k++) {
      memory.left = k;
      dzo_status status = dzo_edges_write(context, &e, (dzo_format)format, path);
      memory.left = -1;
      assert_int_equal(dzo_context_memory_used(context), 0);
      if (status == DZO_OK)
        break;
      assert_string_equal(dzo_status_name(status), "DZO_E_MEMORY");
      assert_int_equal(files_count(), before);
    }
    assert_int_equal(unlink(path), 0);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_formats_look_as_expected),
      cmocka_unit_test(metis_lists_rows),
      cmocka_unit_test(what_a_format_cannot_hold_is_named),
      cmocka_unit_test(every_format_gives_back_what_it_took),
      cmocka_unit_test(teams_write_the_same_bytes),
      cmocka_unit_test(contest_files_are_filled_from_the_back),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
