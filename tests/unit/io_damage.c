/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "dzo/msf.h"
#include "failing_memory.h"
#include "graph/csr.h"
#include "graph/edge_list.h"
#include "io/native.h"
#include "io_bytes.h"
#include "io_files.h"
#include "random_graphs.h"

/* ---- Small files, damaged -------------------------------------------------------------------- */

/* A small graph file of a binary format. */
static bytes small_file(dzo_context *context, dzo_format format, int variant) {
  const uint32_t u[] = {0, 2, 1, 3, 0, 2}, v[] = {1, 1, 1, 4, 1, 2};
  const uint32_t weights[] = {7, 0, 3, 100000, 7, 2};
  const uint64_t labels[] = {5, 6, 8, 100, 101, 200},
                 sparse[] = {1, 700, 70000, 1000000, 1 << 30, 1u << 31};
  dzo_edges edges = {.vertices = 6,
                     .count = 6,
                     .u = u,
                     .v = v,
                     .weight_type = variant == 1 ? DZO_WEIGHT_NONE : DZO_WEIGHT_U32,
                     .weights = variant == 1 ? NULL : weights};
  const double reals[] = {0.1, 1e300, -5, (double)INFINITY, 0.3, -0.1};
  if (variant >= 2 && format == DZO_FORMAT_DZO) {
    edges.labels = labels;
    edges.numbers = sparse;
    edges.weight_type = DZO_WEIGHT_F64;
    edges.weights = reals;
  }
  dzo_graph *graph;
  must(context, dzo_graph_from_edges(context, &edges, &graph));
  if (variant == 3)
    must(context, dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT));
  if (variant >= 2)
    must(context, dzo_graph_compress(context, graph));
  const char *path = files_path("small");
  must(context, dzo_graph_write(context, graph, format, path));
  dzo_graph_destroy(graph);
  size_t size;
  char *data = files_get(path, &size);
  assert_true(data != NULL && size <= MOST_BYTES);
  bytes b = {.size = size};
  memcpy(b.data, data, size);
  free(data);
  return b;
}

/* Whatever was read must be a graph. */
static bool try_bytes(dzo_context *context, const bytes *b, dzo_format format) {
  dzo_edge_list *list;
  /* A block of just that size, so that a sanitizer sees a read beyond it. */
  unsigned char *exact = malloc(b->size > 0 ? b->size : 1);
  assert_non_null(exact);
  memcpy(exact, b->data, b->size);
  dzo_input *input;
  must(context, dzo_input_open_memory(context, "file", exact, b->size, DZO_INPUT_WHOLE, &input));
  dzo_status status = dzo_edge_list_read_input(context, input, format, &list);
  dzo_input_close(input);
  free(exact);
  if (status == DZO_OK) {
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    dzo_graph *graph;
    must(context, dzo_graph_from_edges(context, &edges, &graph));
    dzo_graph_destroy(graph);
    dzo_edge_list_destroy(list);
  } else {
    assert_null(list);
    assert_true(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED);
    assert_true(strlen(dzo_context_message(context)) > 0);
  }
  assert_int_equal(dzo_context_memory_used(context), 0);
  return status == DZO_OK;
}

static void no_flipped_byte_or_early_end_crashes(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  for (int format = DZO_FORMAT_GRAPHHPC; format <= DZO_FORMAT_DZO; format++)
    for (int variant = 0; variant < 4; variant++) {
      bytes b = small_file(context, (dzo_format)format, variant);
      int accepted = 0;
      for (size_t at = 0; at < b.size; at++) {
        unsigned char kept = b.data[at];
        const unsigned char flips[] = {0x01, 0x80, 0xff, 0x7f};
        for (size_t f = 0; f < sizeof flips; f++) {
          b.data[at] = kept ^ flips[f];
          (void)try_bytes(context, &b, (dzo_format)format);
        }
        b.data[at] = kept;
        bytes shorter = b;
        shorter.size = at;
        accepted += at > 0 && try_bytes(context, &shorter, (dzo_format)format);
      }
      /* Without its weights, or its padding, a file may be one without weights. */
      assert_true(accepted <= (format != DZO_FORMAT_GRAPHHPC && format != DZO_FORMAT_DZO));
    }
  dzo_context_destroy(context);
}

/* ---- Our own format -------------------------------------------------------------------------- */

static void native_damage_is_noticed(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  bytes b = small_file(context, DZO_FORMAT_DZO, 0);
  dzo_edge_list *list;
  bytes good = b;
  b.data[0] = 'X';
  must_fail(context, read_memory(context, &b, DZO_FORMAT_DZO, &list), DZO_E_FORMAT, "byte 0");
  b = good;
  b.data[8] = 2;
  must_fail(context, read_memory(context, &b, DZO_FORMAT_DZO, &list), DZO_E_UNSUPPORTED,
            "version 2");
  b = good;
  b.data[16]++;
  must_fail(context, read_memory(context, &b, DZO_FORMAT_DZO, &list), DZO_E_FORMAT,
            "header is damaged");
  b = good;
  b.data[b.size - 1]++;
  must_fail(context, read_memory(context, &b, DZO_FORMAT_DZO, &list), DZO_E_FORMAT, "checksum");
  b = good;
  b.size--;
  must_fail(context, read_memory(context, &b, DZO_FORMAT_DZO, &list), DZO_E_FORMAT, "size");
  dzo_context_destroy(context);
}

/* With the checksums left out, what is loaded must still be a graph. */
static bool loads(dzo_context *context, const bytes *b) {
  unsigned char *exact = malloc(b->size);
  assert_non_null(exact);
  memcpy(exact, b->data, b->size);
  dzo_input *input;
  must(context, dzo_input_open_memory(context, "file", exact, b->size, DZO_INPUT_WHOLE, &input));
  dzo_graph *graph;
  dzo_status status = dzo_graph_load_unsummed(context, input, &graph);
  dzo_input_close(input);
  free(exact);
  if (status == DZO_OK) {
    dzo_edge_list *list;
    dzo_msf *msf;
    must(context, dzo_graph_to_edge_list(context, graph, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    must(context, dzo_edges_check(context, &edges));
    must(context, dzo_msf_run(context, graph, NULL, &msf));
    dzo_msf_destroy(msf);
    dzo_edge_list_destroy(list);
    dzo_graph_destroy(graph);
  } else {
    assert_null(graph);
    assert_true(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED);
  }
  assert_int_equal(dzo_context_memory_used(context), 0);
  return status == DZO_OK;
}

static void forged_checksums_do_not_help(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  for (int variant = 0; variant < 4; variant++) {
    bytes b = small_file(context, DZO_FORMAT_DZO, variant);
    assert_true(loads(context, &b));
    int accepted = 0, tried = 0;
    for (size_t at = 0; at < b.size; at++) {
      unsigned char kept = b.data[at];
      for (unsigned flip = 1; flip < 256; flip = flip * 2 + (flip == 128)) {
        b.data[at] = (unsigned char)(kept ^ flip);
        accepted += loads(context, &b);
        tried++;
      }
      b.data[at] = kept;
    }
    /* Padding, labels, and weights that change in a consistent way. */
    assert_true(accepted < tried * 3 / 4);
  }
  dzo_context_destroy(context);
}

static bool same_array(const void *a, const void *b, uint64_t bytes) {
  return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, bytes) == 0);
}

static void check_same_graph(const dzo_graph *a, const dzo_graph *b) {
  assert_int_equal(a->vertices, b->vertices);
  assert_int_equal(a->edges, b->edges);
  assert_int_equal(a->arcs, b->arcs);
  assert_int_equal(a->loops, b->loops);
  assert_int_equal(a->number_bound, b->number_bound);
  assert_int_equal(a->first_label, b->first_label);
  assert_int_equal(a->row_order, b->row_order);
  assert_int_equal(a->map.type, b->map.type);
  assert_int_equal(a->map.kind, b->map.kind);
  assert_int_equal(a->map.wide, b->map.wide);
  assert_int_equal(a->map.base, b->map.base);
  assert_int_equal(a->map.dictionary_size, b->map.dictionary_size);
  assert_true(same_array(a->map.dictionary, b->map.dictionary, 8 * a->map.dictionary_size));
  assert_true(same_array(a->offsets, b->offsets, 8 * (a->vertices + 1)));
  assert_true(same_array(a->neighbours, b->neighbours, 4 * a->arcs));
  assert_true(same_array(a->keys32, b->keys32, 4 * a->arcs));
  assert_true(same_array(a->keys64, b->keys64, 8 * a->arcs));
  assert_true(same_array(a->numbers32, b->numbers32, 4 * a->arcs));
  assert_true(same_array(a->numbers64, b->numbers64, 8 * a->arcs));
  assert_true(same_array(a->loop_vertices, b->loop_vertices, 4 * a->loops));
  assert_true(same_array(a->loop_keys, b->loop_keys, 8 * a->loops));
  assert_true(same_array(a->loop_numbers, b->loop_numbers, 8 * a->loops));
  assert_true(same_array(a->labels, b->labels, 8 * a->vertices));
  assert_int_equal(dzo_graph_is_compressed(a), dzo_graph_is_compressed(b));
  assert_int_equal(dzo_graph_bytes(a), dzo_graph_bytes(b));
}

static void save_and_load(dzo_context *context, const dzo_graph *graph) {
  const char *path = files_path("native");
  dzo_graph *loaded;
  must(context, dzo_graph_write(context, graph, DZO_FORMAT_DZO, path));
  must(context, dzo_graph_read(context, path, NULL, &loaded));
  check_same_graph(graph, loaded);
  size_t size;
  char *data = files_get(path, &size);
  must(context, dzo_graph_write(context, loaded, DZO_FORMAT_DZO, path));
  assert_true(files_equal(path, data, size));
  free(data);
  dzo_graph_destroy(loaded);
}

static void prepared_graphs_come_back_as_they_were(void **state) {
  (void)state;
  dzo_context *context = files_context(3);
  for (uint64_t seed = 0; seed < 40; seed++)
    for (int type = DZO_WEIGHT_NONE; type <= DZO_WEIGHT_F64; type++) {
      random_graph *g = random_graph_make(seed, 300, (dzo_weight_type)type, 0);
      dzo_graph *graph;
      must(context, dzo_graph_from_edges(context, &g->edges, &graph));
      save_and_load(context, graph);
      if (seed % 2 == 1)
        must(context, dzo_graph_renumber(context, graph));
      must(context, dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT));
      save_and_load(context, graph);
      must(context, dzo_graph_compress(context, graph));
      save_and_load(context, graph);
      dzo_graph_destroy(graph);
      random_graph_free(g);
    }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (int format = DZO_FORMAT_GRAPHHPC; format <= DZO_FORMAT_DZO; format++)
    for (int variant = 0; variant < 4; variant += 2) {
      bytes b = small_file(context, (dzo_format)format, variant);
      files_put(files_path("starved"), b.data, b.size);
      for (int streamed = 0; streamed < 2; streamed++)
        for (int64_t k = 0;; k++) {
          dzo_edge_list *list = NULL;
          dzo_edge_source source = {0};
          dzo_edges chunk;
          memory.left = k;
          dzo_status status =
              streamed ? dzo_edge_source_open(context, files_path("starved"), NULL, &source)
                       : dzo_edge_list_read(context, files_path("starved"), NULL, &list);
          if (streamed && status == DZO_OK) {
            status = source.next(source.user, context, &chunk);
            source.close(source.user);
          }
          memory.left = -1;
          dzo_edge_list_destroy(list);
          assert_int_equal(dzo_context_memory_used(context), 0);
          if (status == DZO_OK)
            break;
          assert_string_equal(dzo_status_name(status), "DZO_E_MEMORY");
        }
    }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_flipped_byte_or_early_end_crashes),
      cmocka_unit_test(native_damage_is_noticed),
      cmocka_unit_test(forged_checksums_do_not_help),
      cmocka_unit_test(prepared_graphs_come_back_as_they_were),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
