/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "dzo/msf.h"
#include "failing_memory.h"
#include "io/forest.h"
#include "io_files.h"
#include "random_graphs.h"

/* Vertices 10, 20, 30, 40, 50; edges 3: 10-30 (-2), 5: 20-30 (7), 9: 10-30 (4), 11: 40-40 (1). */
static const uint32_t graph_u[] = {0, 2, 0, 3}, graph_v[] = {2, 1, 2, 3};
static const int64_t graph_weights[] = {-2, 7, 4, 1};
static const uint64_t graph_numbers[] = {3, 5, 9, 11}, graph_labels[] = {10, 20, 30, 40, 50};
static const dzo_edges graph = {.vertices = 5,
                                .count = 4,
                                .u = graph_u,
                                .v = graph_v,
                                .weight_type = DZO_WEIGHT_I64,
                                .weights = graph_weights,
                                .numbers = graph_numbers,
                                .labels = graph_labels};

static const uint64_t forest_numbers[] = {3, 5};
static const uint32_t forest_u[] = {0, 1}, forest_v[] = {2, 2}, forest_of[] = {0, 0, 0, 1, 2};
static const dzo_weight forest_weights[] = {{.i64 = -2}, {.i64 = 7}};
static const dzo_forest forest = {.vertices = 5,
                                  .count = 2,
                                  .numbers = forest_numbers,
                                  .u = forest_u,
                                  .v = forest_v,
                                  .weight_type = DZO_WEIGHT_I64,
                                  .weights = forest_weights,
                                  .components = 3,
                                  .component_of = forest_of,
                                  .labels = graph_labels};

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_is(dzo_context *context, dzo_forest_format format, const void *data,
                     size_t size) {
  must(context, dzo_forest_write(context, &forest, format, files_path("forest")));
  assert_true(files_equal(files_path("forest"), data, size));
}

static void forests_look_as_expected(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  const char *edges = "3 10 30 -2\n5 20 30 7\n";
  write_is(context, DZO_FOREST_EDGES, edges, strlen(edges));
  const char *mtx = "%%MatrixMarket matrix coordinate integer symmetric\n5 5 2\n3 1 -2\n3 2 7\n";
  write_is(context, DZO_FOREST_MTX, mtx, strlen(mtx));
  const unsigned char mst[] = {3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, /* 3 trees, 2 edges */
                               0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, /* 0 .. 2 */
                               2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, /* none */
                               2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, /* none */
                               3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
  write_is(context, DZO_FOREST_GRAPHHPC, mst, sizeof mst);
  char npy[128 + 16] = {0};
  memset(npy, ' ', 128);
  memcpy(npy, "\x93NUMPY\1\0\x76\0", 10);
  const char *header = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }";
  memcpy(npy + 10, header, strlen(header));
  npy[127] = '\n';
  npy[128] = 3;
  npy[136] = 5;
  write_is(context, DZO_FOREST_NPY, npy, sizeof npy);
  const char *components = "10 0\n20 0\n30 0\n40 1\n50 2\n";
  must(context, dzo_components_write(context, &forest, files_path("components")));
  assert_true(files_equal(files_path("components"), components, strlen(components)));
  char array[128 + 20] = {0};
  memcpy(array, npy, 128);
  memcpy(strstr(array + 10, "u8"), "u4", 2);
  memcpy(strstr(array + 10, "(2"), "(5", 2);
  array[128 + 12] = 1;
  array[128 + 16] = 2;
  must(context, dzo_components_write(context, &forest, files_path("components.npy")));
  assert_true(files_equal(files_path("components.npy"), array, sizeof array));
  dzo_context_destroy(context);
}

static void formats_have_names(void **state) {
  (void)state;
  dzo_forest_format format;
  assert_int_equal(dzo_forest_format_from_name("npy", &format), DZO_OK);
  assert_int_equal(format, DZO_FOREST_NPY);
  assert_int_equal(dzo_forest_format_from_name("edges", &format), DZO_OK);
  assert_int_equal(format, DZO_FOREST_EDGES);
  assert_int_equal(dzo_forest_format_from_name("tree", &format), DZO_E_ARGUMENT);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static dzo_status read_bytes(dzo_context *context, const void *data, size_t size,
                             dzo_forest_file *out) {
  const char *path = files_path("claim");
  files_put(path, data, size);
  return dzo_forest_read(context, path, &graph, NULL, out);
}

static void reads_numbers(const char *text) {
  dzo_context *context = files_context(1);
  dzo_forest_file file;
  must(context, read_bytes(context, text, strlen(text), &file));
  assert_int_equal(file.count, 2);
  assert_non_null(file.numbers);
  assert_int_equal(file.numbers[0], 3);
  assert_int_equal(file.numbers[1], 5);
  dzo_forest_file_release(&file);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void reads_pairs(const char *text) {
  dzo_context *context = files_context(1);
  dzo_forest_file file;
  must(context, read_bytes(context, text, strlen(text), &file));
  assert_int_equal(file.count, 2);
  assert_null(file.numbers);
  assert_int_equal(file.u[0] + file.v[0], 2);
  assert_int_equal(file.u[1] + file.v[1], 3);
  dzo_forest_file_release(&file);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void text_is_understood_by_its_columns(void **state) {
  (void)state;
  reads_numbers("3 10 30 -2\n5 20 30 7\n");
  reads_numbers("# a comment\n\n3\t30 10 -2.0\r\n% another\n5,20,30,7e0");
  reads_numbers("3\n5");
  reads_pairs("10 30\n20 30\n");
  reads_pairs("30 10 -2\n30 20 7\n");
  reads_pairs("%%MatrixMarket matrix coordinate pattern symmetric\n% no\n5 5 2\n3 1\n3 2\n");
  dzo_context *context = files_context(1);
  dzo_forest_file file;
  must(context, read_bytes(context, "# none\n", 7, &file));
  assert_int_equal(file.count, 0);
  assert_non_null(file.numbers);
  dzo_forest_file_release(&file);
  /* An edge that is not there is for the verifier to judge. */
  must(context, read_bytes(context, "4 10 30 -2\n", 11, &file));
  assert_int_equal(file.numbers[0], 4);
  dzo_forest_file_release(&file);
  dzo_context_destroy(context);
}

static void fails(const void *data, size_t size, const char *part) {
  dzo_context *context = files_context(1);
  dzo_forest_file file;
  must_fail(context, read_bytes(context, data, size, &file), DZO_E_FORMAT, part);
  assert_null(file.numbers);
  assert_null(file.u);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void fails_text(const char *text, const char *part) { fails(text, strlen(text), part); }

static void wrong_lines_are_named(void **state) {
  (void)state;
  fails_text("3 10 30 -2\n5 20 40 7\n", "claim:2: these are not the ends of edge '5'");
  fails_text("3 10 30 -2\n5 20 30 8\n", "claim:2: the edge of this number has another weight");
  fails_text("3 10 30 nan\n", "another weight");
  fails_text("3 10 30 -2\n5 20 30\n", "claim:2: not as many columns");
  fails_text("1 2 3 4 5\n", "claim:1: not as many columns");
  fails_text("10 30\n10 31\n", "claim:2: not a vertex of the graph: '31'");
  fails_text("10 30\nten 31\n", "claim:2: not a vertex of the graph: 'ten'");
  fails_text("3\n-5\n", "claim:2: not an edge number: '-5'");
  fails_text("3.5\n", "not an edge number");
  fails_text("%%MatrixMarket matrix coordinate pattern symmetric\n5 5\n", "claim:2: not the sizes");
  fails_text("%%MatrixMarket matrix coordinate pattern symmetric\n5 5 1\n6 1\n", "'6'");
}

static void arrays_and_contest_answers_are_read(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  const dzo_forest_format formats[] = {DZO_FOREST_GRAPHHPC, DZO_FOREST_NPY, DZO_FOREST_EDGES};
  for (int i = 0; i < 3; i++) {
    dzo_forest_file file;
    must(context, dzo_forest_write(context, &forest, formats[i], files_path("forest")));
    must(context, dzo_forest_read(context, files_path("forest"), &graph, NULL, &file));
    assert_int_equal(file.count, 2);
    assert_int_equal(file.numbers[0], 3);
    assert_int_equal(file.numbers[1], 5);
    dzo_forest_file_release(&file);
  }
  must(context, dzo_forest_write(context, &forest, DZO_FOREST_NPY, files_path("forest")));
  size_t size;
  char *npy = files_get(files_path("forest"), &size);
  fails(npy, size - 1, "shape");
  memcpy(strstr(npy + 10, "u8"), "i8", 2);
  npy[128 + 7] = (char)0x80;
  fails(npy, size, "byte 128: an edge number is negative");
  memcpy(strstr(npy + 10, "i8"), "f8", 2);
  fails(npy, size, "integers");
  free(npy);
  must(context, dzo_forest_write(context, &forest, DZO_FOREST_GRAPHHPC, files_path("forest")));
  char *mst = files_get(files_path("forest"), &size);
  mst[12] = 3;
  fails(mst, size, "byte 12: the edges of a tree are out of range");
  mst[12] = 1;
  fails(mst, size, "byte 4: the trees do not have as many edges");
  free(mst);
  dzo_context_destroy(context);
}

/* ---- Contest answers may name an edge by either of its arcs -----------------------------------
 */

/* A contest graph in a file, and as read from there. */
static dzo_edge_list *contest_graph(dzo_context *context, unsigned scale, const char *path,
                                    dzo_edges *edges) {
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = scale;
  dzo_edge_list *list;
  must(context, dzo_edge_list_generate(context, DZO_GENERATE_RMAT, &options, &list));
  dzo_edge_list_view(list, edges);
  must(context, dzo_edges_write(context, edges, DZO_FORMAT_GRAPHHPC, path));
  dzo_edge_list_destroy(list);
  must(context, dzo_edge_list_read(context, path, NULL, &list));
  dzo_edge_list_view(list, edges);
  return list;
}

/* An answer that names all arcs: each edge twice. */
static void put_all_arcs(const char *path, uint64_t arcs) {
  const uint64_t bounds[] = {0, arcs};
  size_t size = 12 + 16 + 8 * arcs;
  char *mst = calloc(1, size);
  assert_non_null(mst);
  mst[0] = 1;
  memcpy(mst + 4, &arcs, 8);
  memcpy(mst + 12, bounds, 16);
  for (uint64_t a = 0; a < arcs; a++)
    memcpy(mst + 28 + 8 * a, &a, 8);
  files_put(path, mst, size);
  free(mst);
}

static void either_arc_names_an_edge(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  dzo_edges edges;
  const char *path = files_path("graph"), *claim = files_path("arcs.mst");
  dzo_edge_list *list = contest_graph(context, 8, path, &edges);
  uint64_t arcs = 2 * edges.count;
  put_all_arcs(claim, arcs);
  dzo_forest_file file;
  must(context, dzo_forest_read(context, claim, &edges, path, &file));
  assert_int_equal(file.count, arcs);
  uint32_t *times = calloc(arcs, sizeof *times);
  assert_non_null(times);
  for (uint64_t a = 0; a < arcs; a++) {
    assert_true(file.numbers[a] < arcs);
    times[file.numbers[a]]++;
  }
  for (uint64_t i = 0; i < edges.count; i++)
    assert_int_equal(times[edges.numbers[i]], 2);
  free(times);
  dzo_forest_file_release(&file);
  must(context, dzo_forest_read(context, claim, &edges, NULL, &file));
  for (uint64_t a = 0; a < arcs; a++)
    assert_int_equal(file.numbers[a], a);
  dzo_forest_file_release(&file);
  dzo_edge_list_destroy(list);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void arcs_are_found_or_memory_is_short(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  dzo_edges edges;
  const char *path = files_path("graph"), *claim = files_path("arcs.mst");
  dzo_edge_list *list = contest_graph(context, 4, path, &edges);
  put_all_arcs(claim, 2 * edges.count);
  uint64_t before = dzo_context_memory_used(context);
  for (int64_t k = 0;; k++) {
    dzo_forest_file file;
    memory.left = k;
    dzo_status status = dzo_forest_read(context, claim, &edges, path, &file);
    memory.left = -1;
    dzo_forest_file_release(&file);
    assert_int_equal(dzo_context_memory_used(context), before);
    if (status == DZO_OK)
      break;
    assert_string_equal(dzo_status_name(status), "DZO_E_MEMORY");
  }
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

/* Solve, write, read, verify. */
static void check_written_forest(dzo_context *context, const dzo_edges *edges,
                                 dzo_forest_format format) {
  dzo_graph *built;
  dzo_msf *msf;
  must(context, dzo_graph_from_edges(context, edges, &built));
  must(context, dzo_msf_run(context, built, NULL, &msf));
  uint64_t count = dzo_msf_count(msf);
  uint32_t *u = calloc(count + 1, sizeof *u), *v = calloc(count + 1, sizeof *v);
  dzo_weight *weights = calloc(count + 1, sizeof *weights);
  assert_true(u != NULL && v != NULL && weights != NULL);
  must(context, dzo_msf_endpoints_into(context, msf, built, u, v, weights));
  const dzo_forest found = {.vertices = edges->vertices,
                            .count = count,
                            .numbers = dzo_msf_edges(msf),
                            .u = u,
                            .v = v,
                            .weight_type = edges->weight_type,
                            .weights = weights,
                            .components = dzo_msf_components(msf),
                            .component_of = dzo_msf_component_of(msf),
                            .labels = edges->labels,
                            .first_label = edges->first_label};
  const char *path = files_path("solved");
  must(context, dzo_forest_write(context, &found, format, path));
  dzo_forest_file file;
  must(context, dzo_forest_read(context, path, edges, NULL, &file));
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = file.count;
  claim.numbers = file.numbers;
  claim.u = file.u;
  claim.v = file.v;
  int valid;
  must(context, dzo_msf_verify(context, edges, &claim, &valid));
  if (!valid)
    fail_msg("%s", dzo_context_message(context));
  dzo_forest_file_release(&file);
  free(u);
  free(v);
  free(weights);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(built);
}

static void solved_forests_survive_every_format(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  for (uint64_t seed = 100; seed < 130; seed++)
    for (int type = DZO_WEIGHT_NONE; type <= DZO_WEIGHT_F64; type++) {
      random_graph *g = random_graph_make(seed, 200, (dzo_weight_type)type, 0);
      for (int format = DZO_FOREST_EDGES; format <= DZO_FOREST_NPY; format++)
        check_written_forest(context, &g->edges, (dzo_forest_format)format);
      random_graph_free(g);
    }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

/* Renumbered graphs have names in no order. */
static void names_need_not_ascend(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  const uint64_t labels[] = {30, 10, 50, 20, 40};
  const uint32_t u[] = {1, 0}, v[] = {0, 3};
  dzo_edges edges = {.vertices = 5, .count = 2, .u = u, .v = v, .labels = labels};
  const char *text = "0 10 30 1\n1 20 30 1\n";
  files_put(files_path("claim"), text, strlen(text));
  dzo_forest_file file;
  must(context, dzo_forest_read(context, files_path("claim"), &edges, NULL, &file));
  assert_int_equal(file.count, 2);
  dzo_forest_file_release(&file);
  text = "10 30\n20 30\n";
  files_put(files_path("claim"), text, strlen(text));
  must(context, dzo_forest_read(context, files_path("claim"), &edges, NULL, &file));
  assert_int_equal(file.u[1], 3);
  assert_int_equal(file.v[1], 0);
  dzo_forest_file_release(&file);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (int format = DZO_FOREST_EDGES; format <= DZO_FOREST_NPY; format++) {
    for (int64_t k = 0;; k++) {
      memory.left = k;
      dzo_status status =
          dzo_forest_write(context, &forest, (dzo_forest_format)format, files_path("starved"));
      memory.left = -1;
      assert_int_equal(dzo_context_memory_used(context), 0);
      if (status == DZO_OK)
        break;
      assert_string_equal(dzo_status_name(status), "DZO_E_MEMORY");
      assert_int_not_equal(access(files_path("starved"), F_OK), 0);
    }
    for (int64_t k = 0;; k++) {
      dzo_forest_file file;
      memory.left = k;
      dzo_status status = dzo_forest_read(context, files_path("starved"), &graph, NULL, &file);
      memory.left = -1;
      dzo_forest_file_release(&file);
      assert_int_equal(dzo_context_memory_used(context), 0);
      if (status == DZO_OK)
        break;
      assert_string_equal(dzo_status_name(status), "DZO_E_MEMORY");
    }
    assert_int_equal(unlink(files_path("starved")), 0);
  }
  dzo_context_destroy(context);
}

static void full_disks_are_noticed(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0)
    skip();
  dzo_context *context = files_context(1);
  must_fail(context, dzo_forest_write(context, &forest, DZO_FOREST_EDGES, "/dev/full"), DZO_E_IO,
            "/dev/full");
  must_fail(context, dzo_components_write(context, &forest, "/dev/full"), DZO_E_IO, "/dev/full");
  must_fail(context, dzo_components_write(context, &forest, files_path("none/x")), DZO_E_IO,
            "none/x");
  dzo_forest_file file;
  must_fail(context, dzo_forest_read(context, files_path("none"), &graph, NULL, &file), DZO_E_IO,
            "none");
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forests_look_as_expected),
      cmocka_unit_test(formats_have_names),
      cmocka_unit_test(text_is_understood_by_its_columns),
      cmocka_unit_test(wrong_lines_are_named),
      cmocka_unit_test(arrays_and_contest_answers_are_read),
      cmocka_unit_test(either_arc_names_an_edge),
      cmocka_unit_test(arcs_are_found_or_memory_is_short),
      cmocka_unit_test(solved_forests_survive_every_format),
      cmocka_unit_test(names_need_not_ascend),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(full_disks_are_noticed),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
