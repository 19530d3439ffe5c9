/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Reading and writing without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "failing_calls.h"

/* ---- Files ----------------------------------------------------------------------------------- */

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

/* ---- Files of forests ------------------------------------------------------------------------ */

static dzo_status write_forest_file(fixture *f, bool components) {
  dzo_edges edges = view(f);
  oracle_forest *o = oracle_solve(&edges, 0, 0);
  dzo_forest forest = {.vertices = edges.vertices,
                       .count = o->count,
                       .numbers = o->numbers,
                       .u = o->u,
                       .v = o->v,
                       .weight_type = edges.weight_type,
                       .weights = o->weights,
                       .components = o->components,
                       .component_of = o->component_of};
  dzo_status status = components ? dzo_components_write(f->context, &forest, f->path)
                                 : dzo_forest_write(f->context, &forest, f->forest_format, f->path);
  oracle_free(o);
  return status;
}
static dzo_status write_forest(fixture *f) { return expect_file(f, write_forest_file(f, false)); }
static dzo_status write_components(fixture *f) {
  return expect_file(f, write_forest_file(f, true));
}

static dzo_status read_forest(fixture *f) {
  dzo_edges edges = view(f);
  dzo_forest_file file = {0};
  dzo_status status = dzo_forest_read(f->context, f->path, &edges, NULL, &file);
  if (status == DZO_OK)
    assert_int_equal(file.count, edges.vertices - 1);
  else
    assert_true(file.numbers == NULL && file.u == NULL && file.v == NULL);
  dzo_forest_file_release(&file);
  return status;
}

static void forest_files_survive(void **state) {
  fixture *f = fix(state);
  const char *const names[] = {"edges", "graphhpc", "mtx", "npy"};
  f->kind = REALS;
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(f->path, sizeof f->path, "%s/forest", f->folder);
    must(f, dzo_forest_format_from_name(names[i], &f->forest_format));
    snprintf(name, sizeof name, "write a forest as %s", names[i]);
    check_call(f, name, write_forest);
    must(f, write_forest_file(f, false));
    snprintf(name, sizeof name, "read a forest of %s", names[i]);
    check_call(f, name, read_forest);
    files_left(f, true);
  }
  check_call(f, "write components", write_components);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(writers_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(readers_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(packed_files_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(forest_files_survive, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
