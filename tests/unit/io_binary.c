/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "io_bytes.h"
#include "io_files.h"
#include "random_graphs.h"

/* ---- Files made by hand ---------------------------------------------------------------------- */

static void put(bytes *b, uint64_t value, unsigned width) {
  assert_true(b->size + width <= MOST_BYTES);
  for (unsigned i = 0; i < width; i++)
    b->data[b->size++] = (unsigned char)(value >> 8 * i);
}

static void put_all(bytes *b, const uint64_t *values, size_t count, unsigned width) {
  for (size_t i = 0; i < count; i++)
    put(b, values[i], width);
}

static void put_real(bytes *b, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  put(b, bits, 8);
}

/* What reading should give. */
typedef struct expected {
  uint64_t vertices, count;
  const uint32_t *u, *v;
  dzo_weight_type type;
  const double *weights; /* NULL: all 1 */
  const uint64_t *numbers;
} expected;

static double weight_at(const dzo_edges *e, uint64_t i) {
  switch (e->weight_type) {
  case DZO_WEIGHT_U32:
    return ((const uint32_t *)e->weights)[i];
  case DZO_WEIGHT_I64:
    return (double)((const int64_t *)e->weights)[i];
  case DZO_WEIGHT_F64:
    return ((const double *)e->weights)[i];
  default:
    return 1;
  }
}

static uint64_t number_at(const dzo_edges *e, uint64_t i) {
  return e->numbers != NULL ? e->numbers[i] : e->first_number + i;
}

static void check_chunk(const dzo_edges *got, const expected *x, uint64_t first) {
  assert_int_equal(got->vertices, x->vertices);
  assert_int_equal(got->weight_type, x->type);
  for (uint64_t i = 0; i < got->count; i++) {
    assert_true(first + i < x->count);
    assert_int_equal(got->u[i], x->u[first + i]);
    assert_int_equal(got->v[i], x->v[first + i]);
    assert_int_equal(number_at(got, i), x->numbers[first + i]);
    assert_true(weight_at(got, i) == (x->weights != NULL ? x->weights[first + i] : 1));
  }
}

/* Read whole and as a stream, with the format given and found. */
static void check(const bytes *b, dzo_format format, const expected *x) {
  dzo_context *context = files_context(2);
  const dzo_format formats[] = {format, DZO_FORMAT_AUTO};
  files_put(files_path("fixture"), b->data, b->size);
  for (int i = 0; i < 2; i++) {
    dzo_edge_list *list;
    must(context, read_memory(context, b, formats[i], &list));
    assert_int_equal(dzo_edge_list_format(list), format);
    dzo_edges got;
    dzo_edge_list_view(list, &got);
    assert_int_equal(got.count, x->count);
    check_chunk(&got, x, 0);
    dzo_edge_list_destroy(list);
    dzo_read_options options;
    dzo_read_options_init(&options);
    options.format = formats[i];
    dzo_edge_source source;
    must(context, dzo_edge_source_open(context, files_path("fixture"), &options, &source));
    uint64_t count = 0;
    do {
      must(context, source.next(source.user, context, &got));
      check_chunk(&got, x, count);
      count += got.count;
    } while (got.count > 0);
    assert_int_equal(count, x->count);
    source.close(source.user);
  }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

/* 0-1 (1.5), 1-2 (-1), 1-1 (0.25) twice in its row, 1-2 (7) again, vertex 3 alone. */
static void make_contest(bytes *b) {
  *b = (bytes){.size = 0};
  put(b, 4, 4);
  put(b, 8, 8);
  put(b, 0, 1);
  put(b, 0, 1);
  put_all(b, (const uint64_t[]){0, 1, 6, 8, 8}, 5, 8);
  put_all(b, (const uint64_t[]){1, 2, 1, 1, 0, 2, 1, 1}, 8, 4);
  const double weights[] = {1.5, -1, 0.25, 0.25, 1.5, 7, 7, -1};
  for (int i = 0; i < 8; i++)
    put_real(b, weights[i]);
}

static void contest_files_are_read(void **state) {
  (void)state;
  bytes b;
  make_contest(&b);
  check(&b, DZO_FORMAT_GRAPHHPC,
        &(expected){4, 4, (const uint32_t[]){0, 1, 1, 1}, (const uint32_t[]){1, 2, 1, 2},
                    DZO_WEIGHT_F64, (const double[]){1.5, -1, 0.25, 7},
                    (const uint64_t[]){0, 1, 2, 5}});
}

static void make_egr(bytes *b, bool weighted, bool symmetric) {
  *b = (bytes){.size = 0};
  put(b, 3, 4);
  put(b, 5, 4);
  put_all(b, (const uint64_t[]){0, 1, 3, 5}, 4, 4);
  put_all(b, (const uint64_t[]){1, 0, 2, 1, 2}, 5, 4);
  if (weighted)
    put_all(b, (const uint64_t[]){9, symmetric ? 9 : 8, (uint64_t)-4, (uint64_t)-4, 3}, 5, 4);
}

static void ecl_files_are_read(void **state) {
  (void)state;
  bytes b;
  make_egr(&b, true, true);
  check(&b, DZO_FORMAT_EGR,
        &(expected){3, 3, (const uint32_t[]){0, 1, 2}, (const uint32_t[]){1, 2, 2}, DZO_WEIGHT_I64,
                    (const double[]){9, -4, 3}, (const uint64_t[]){0, 2, 4}});
  make_egr(&b, false, true);
  check(&b, DZO_FORMAT_EGR,
        &(expected){3, 3, (const uint32_t[]){0, 1, 2}, (const uint32_t[]){1, 2, 2}, DZO_WEIGHT_NONE,
                    NULL, (const uint64_t[]){0, 2, 4}});
  make_egr(&b, true, false);
  check(&b, DZO_FORMAT_EGR,
        &(expected){3, 5, (const uint32_t[]){0, 1, 1, 2, 2}, (const uint32_t[]){1, 0, 2, 1, 2},
                    DZO_WEIGHT_I64, (const double[]){9, 8, -4, -4, 3},
                    (const uint64_t[]){0, 1, 2, 3, 4}});
}

static void make_gap(bytes *b, bool directed, bool weighted) {
  *b = (bytes){.size = 0};
  put(b, directed, 1);
  put(b, 4, 8);
  put(b, 3, 8);
  for (int side = 0; side < 1 + directed; side++) {
    put_all(b, (const uint64_t[]){0, 1, 3, 4}, 4, 8);
    const uint64_t neighbours[] = {1, 0, 2, 1}, weights[] = {5, 5, 6, directed ? 7 : 6};
    for (int i = 0; i < 4; i++) {
      put(b, neighbours[i], 4);
      if (weighted)
        put(b, weights[i], 4);
    }
  }
}

static void gap_files_are_read(void **state) {
  (void)state;
  bytes b;
  make_gap(&b, false, true);
  check(&b, DZO_FORMAT_GAP,
        &(expected){3, 2, (const uint32_t[]){0, 1}, (const uint32_t[]){1, 2}, DZO_WEIGHT_U32,
                    (const double[]){5, 6}, (const uint64_t[]){0, 2}});
  make_gap(&b, false, false);
  check(&b, DZO_FORMAT_GAP,
        &(expected){3, 2, (const uint32_t[]){0, 1}, (const uint32_t[]){1, 2}, DZO_WEIGHT_NONE, NULL,
                    (const uint64_t[]){0, 2}});
  make_gap(&b, true, true);
  check(&b, DZO_FORMAT_GAP,
        &(expected){3, 4, (const uint32_t[]){0, 1, 1, 2}, (const uint32_t[]){1, 0, 2, 1},
                    DZO_WEIGHT_U32, (const double[]){5, 5, 6, 7}, (const uint64_t[]){0, 1, 2, 3}});
}

/* One way: 0-1, 0-2, 2-2. */
static void make_galois(bytes *b, unsigned version, unsigned weight_bytes, bool padded) {
  *b = (bytes){.size = 0};
  put_all(b, (const uint64_t[]){version, weight_bytes, 3, 3}, 4, 8);
  put_all(b, (const uint64_t[]){2, 2, 3}, 3, 8);
  put_all(b, (const uint64_t[]){1, 2, 2}, 3, version == 1 ? 4 : 8);
  if (version == 1 && padded)
    put(b, 0, 4);
  put_all(b, (const uint64_t[]){10, 20, 30}, 3, weight_bytes);
}

static void galois_files_are_read(void **state) {
  (void)state;
  bytes b;
  expected x = {3,
                3,
                (const uint32_t[]){0, 0, 2},
                (const uint32_t[]){1, 2, 2},
                DZO_WEIGHT_U32,
                (const double[]){10, 20, 30},
                (const uint64_t[]){0, 1, 2}};
  for (unsigned version = 1; version <= 2; version++) {
    make_galois(&b, version, 4, true);
    x.type = DZO_WEIGHT_U32;
    check(&b, DZO_FORMAT_GALOIS, &x);
    make_galois(&b, version, 8, true);
    x.type = DZO_WEIGHT_I64;
    check(&b, DZO_FORMAT_GALOIS, &x);
  }
  x.type = DZO_WEIGHT_NONE;
  x.weights = NULL;
  make_galois(&b, 1, 0, true);
  check(&b, DZO_FORMAT_GALOIS, &x);
  make_galois(&b, 1, 0, false);
  check(&b, DZO_FORMAT_GALOIS, &x);
}

static void empty_graphs_are_read(void **state) {
  (void)state;
  bytes b = {.size = 0};
  put_all(&b, (const uint64_t[]){1, 0, 0, 0}, 4, 8);
  const expected none = {.vertices = 0, .type = DZO_WEIGHT_NONE};
  check(&b, DZO_FORMAT_GALOIS, &none);
  b = (bytes){.size = 0};
  put_all(&b, (const uint64_t[]){0, 0, 0}, 3, 4);
  dzo_context *context = files_context(1);
  dzo_edge_list *list;
  must(context, read_memory(context, &b, DZO_FORMAT_EGR, &list));
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static void fails(const bytes *b, dzo_format format, dzo_status expected_status, const char *part) {
  dzo_context *context = files_context(1);
  dzo_edge_list *list;
  must_fail(context, read_memory(context, b, format, &list), expected_status, part);
  assert_null(list);
  dzo_edge_source source;
  files_put(files_path("broken"), b->data, b->size);
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = format;
  dzo_status status = dzo_edge_source_open(context, files_path("broken"), &options, &source);
  if (status == DZO_OK) {
    dzo_edges chunk = {.count = 1};
    while (status == DZO_OK && chunk.count > 0)
      status = source.next(source.user, context, &chunk);
    source.close(source.user);
  }
  must_fail(context, status, expected_status, part);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void set(bytes *b, size_t at, uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; i++)
    b->data[at + i] = (unsigned char)(value >> 8 * i);
}

static void contest_damage_is_named(void **state) {
  (void)state;
  const size_t offsets = 14, neighbours = 14 + 40, weights = neighbours + 32;
  bytes good, b;
  make_contest(&good);
  b = good;
  b.data[12] = 1;
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 12");
  b = good;
  b.size--;
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 149: the file has 149 bytes");
  b = good;
  b.size = 13;
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "14 bytes");
  b = good;
  set(&b, 4, UINT64_C(1) << 62, 8);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "4611686018427387904 entries");
  b = good;
  set(&b, offsets, 1, 8);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 14: row offset 1 of vertex 0 is not 0");
  b = good;
  set(&b, offsets + 16, 9, 8);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 38: row offset 8 of vertex 3 is less");
  b = good;
  set(&b, offsets + 32, 9, 8);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 46: row offset 9 of vertex 4 is not the num");
  b = good;
  set(&b, neighbours + 4 * 4, 4, 4);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 70: neighbour 4 is not below the 4 vertices");
  b = good;
  set(&b, weights + 8 * 2 + 6, 0x7ff8, 2);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 102: the weight of entry 2 is NaN");
  b = good;
  set(&b, weights + 6, 0x4000, 2); /* 0-1 weighs differently from 1-0 */
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT,
        "byte 54: the rows of vertices 0 and 1 do not agree");
  b = good;
  set(&b, weights + 8 * 2 + 6, 0x4000, 2);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 58: vertex 1 has a loop that is not two");
  b = good;
  set(&b, neighbours + 4 * 2, 3, 4);
  fails(&b, DZO_FORMAT_GRAPHHPC, DZO_E_FORMAT, "byte 58: the rows of vertices 1 and 3 do not");
}

static void other_damage_is_named(void **state) {
  (void)state;
  bytes b;
  make_egr(&b, true, true);
  set(&b, 0, (uint64_t)-1, 4);
  fails(&b, DZO_FORMAT_EGR, DZO_E_FORMAT, "2^31 - 1");
  make_egr(&b, true, true);
  b.size -= 2;
  fails(&b, DZO_FORMAT_EGR, DZO_E_FORMAT, "the file has");
  make_gap(&b, false, true);
  set(&b, 17 + 32 + 4, 6, 4);
  fails(&b, DZO_FORMAT_GAP, DZO_E_FORMAT, "byte 49: the rows of vertices 0 and 1 do not agree");
  make_gap(&b, false, true);
  b.data[0] = 2;
  fails(&b, DZO_FORMAT_GAP, DZO_E_FORMAT, "byte 0");
  make_gap(&b, true, true);
  set(&b, 17 + 32, (uint64_t)-1, 4);
  fails(&b, DZO_FORMAT_GAP, DZO_E_FORMAT, "neighbour 4294967295");
  make_galois(&b, 1, 4, true);
  b.data[0] = 3;
  fails(&b, DZO_FORMAT_GALOIS, DZO_E_FORMAT, "version");
  make_galois(&b, 1, 4, true);
  b.data[8] = 16;
  fails(&b, DZO_FORMAT_GALOIS, DZO_E_FORMAT, "4 nor 8 bytes");
  make_galois(&b, 2, 4, true);
  set(&b, 32 + 24, UINT64_C(1) << 32, 8);
  fails(&b, DZO_FORMAT_GALOIS, DZO_E_FORMAT, "neighbour 4294967296");
  b = (bytes){.size = 0};
  put_all(&b, (const uint64_t[]){2, 0, UINT64_C(1) << 40, 0}, 4, 8);
  fails(&b, DZO_FORMAT_GALOIS, DZO_E_FORMAT, "1099511627776 vertices");
}
/* ---- Larger files ---------------------------------------------------------------------------- */

/* The edges of a stream, all of them. */
static void collect(dzo_context *context, const char *path, dzo_edges *out) {
  dzo_edge_source source;
  must(context, dzo_edge_source_open(context, path, NULL, &source));
  *out = (dzo_edges){.count = 0};
  uint32_t *u = NULL, *v = NULL;
  uint64_t *numbers = NULL;
  char *weights = NULL;
  dzo_edges chunk;
  for (;;) {
    must(context, source.next(source.user, context, &chunk));
    if (chunk.count == 0)
      break;
    uint64_t count = out->count + chunk.count;
    size_t width = chunk.weight_type == DZO_WEIGHT_U32    ? 4
                   : chunk.weight_type == DZO_WEIGHT_NONE ? 0
                                                          : 8;
    u = realloc(u, count * sizeof *u);
    v = realloc(v, count * sizeof *v);
    numbers = realloc(numbers, count * sizeof *numbers);
    weights = realloc(weights, count * 8);
    assert_true(u != NULL && v != NULL && numbers != NULL && weights != NULL);
    memcpy(u + out->count, chunk.u, chunk.count * sizeof *u);
    memcpy(v + out->count, chunk.v, chunk.count * sizeof *v);
    if (width > 0)
      memcpy(weights + out->count * width, chunk.weights, chunk.count * width);
    for (uint64_t i = 0; i < chunk.count; i++)
      numbers[out->count + i] = number_at(&chunk, i);
    *out = chunk;
    out->u = u;
    out->v = v;
    out->weights = weights;
    out->numbers = numbers;
    out->count = count;
  }
  source.close(source.user);
}

static void free_collected(dzo_edges *e) {
  free((void *)(uintptr_t)e->u);
  free((void *)(uintptr_t)e->v);
  free((void *)(uintptr_t)e->weights);
  free((void *)(uintptr_t)e->numbers);
}

static void check_same_edges(const dzo_edges *a, const dzo_edges *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->vertices, b->vertices);
  assert_int_equal(a->weight_type, b->weight_type);
  for (uint64_t i = 0; i < a->count; i++) {
    if (a->u[i] != b->u[i] || a->v[i] != b->v[i] || number_at(a, i) != number_at(b, i) ||
        weight_at(a, i) != weight_at(b, i))
      fail_msg("edge %llu differs", (unsigned long long)i);
  }
}

/* Rows of many lengths, loops in most, one row that spans many chunks and is mostly loops. */
static void streams_give_what_reading_gives(void **state) {
  (void)state;
  enum { EDGES = 200000, VERTICES = 3000 };
  uint32_t *u = calloc(EDGES, sizeof *u), *v = calloc(EDGES, sizeof *v);
  int64_t *weights = calloc(EDGES, sizeof *weights);
  assert_true(u != NULL && v != NULL && weights != NULL);
  random_source random = {4};
  for (uint64_t i = 0; i < EDGES; i++) {
    u[i] = i % 3 == 0 ? 1500 : (uint32_t)random_below(&random, VERTICES);
    v[i] = i % 5 == 0 ? u[i] : (uint32_t)random_below(&random, VERTICES);
    weights[i] = (int64_t)random_below(&random, 1000) - 300;
  }
  dzo_edges edges = {.vertices = VERTICES,
                     .count = EDGES,
                     .u = u,
                     .v = v,
                     .weight_type = DZO_WEIGHT_I64,
                     .weights = weights};
  for (int threads = 1; threads <= 3; threads += 2) {
    dzo_context *context = files_context(threads);
    for (int format = DZO_FORMAT_GRAPHHPC; format <= DZO_FORMAT_GALOIS; format++) {
      const char *path = files_path("large");
      must(context, dzo_edges_write(context, &edges, (dzo_format)format, path));
      dzo_edge_list *list;
      must(context, dzo_edge_list_read(context, path, NULL, &list));
      assert_int_equal(dzo_edge_list_format(list), format);
      dzo_edges whole, streamed;
      dzo_edge_list_view(list, &whole);
      assert_true(same_edges(&edges, &whole, false));
      collect(context, path, &streamed);
      check_same_edges(&whole, &streamed);
      free_collected(&streamed);
      dzo_edge_list_destroy(list);
    }
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_destroy(context);
  }
  free(u);
  free(v);
  free(weights);
}

/* ---- The contest's own files ----------------------------------------------------------------- */

static const char *contest_path(const char *name) {
  static char path[512];
  const char *folder = getenv("DZO_TEST_DATA");
  (void)snprintf(path, sizeof path, "%s/mst/graphhpc2015/%s", folder != NULL ? folder : "", name);
  return folder != NULL && folder[0] != '\0' ? path : NULL;
}

static void contest_samples_have_their_numbers(void **state) {
  (void)state;
  const struct {
    const char *name;
    uint64_t vertices, edges, loops;
  } samples[] = {{"rmat-10", 1024, 16384, 98}, {"ssca2-10", 1024, 3056, 0}, {"ssca2-5", 32, 20, 0}};
  if (contest_path("") == NULL) {
    print_message("no DZO_TEST_DATA: skipped\n");
    skip();
  }
  dzo_context *context = files_context(2);
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    dzo_edge_list *list;
    must(context, dzo_edge_list_read(context, contest_path(samples[i].name), NULL, &list));
    assert_int_equal(dzo_edge_list_format(list), DZO_FORMAT_GRAPHHPC);
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    assert_int_equal(edges.vertices, samples[i].vertices);
    assert_int_equal(edges.count, samples[i].edges);
    uint64_t loops = 0;
    for (uint64_t e = 0; e < edges.count; e++)
      loops += edges.u[e] == edges.v[e];
    assert_int_equal(loops, samples[i].loops);
    dzo_edge_list_destroy(list);
  }
  dzo_context_destroy(context);
}

static void a_generated_graph_equals_the_contest_sample(void **state) {
  (void)state;
  if (contest_path("") == NULL) {
    print_message("no DZO_TEST_DATA: skipped\n");
    skip();
  }
  dzo_context *context = files_context(2);
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = 10;
  dzo_edge_list *list;
  must(context, dzo_edge_list_generate(context, DZO_GENERATE_RMAT, &options, &list));
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  must(context, dzo_edges_write(context, &edges, DZO_FORMAT_GRAPHHPC, files_path("rmat-10")));
  size_t size;
  char *sample = files_get(contest_path("rmat-10"), &size);
  assert_non_null(sample);
  assert_true(files_equal(files_path("rmat-10"), sample, size));
  free(sample);
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contest_files_are_read),
      cmocka_unit_test(ecl_files_are_read),
      cmocka_unit_test(gap_files_are_read),
      cmocka_unit_test(galois_files_are_read),
      cmocka_unit_test(empty_graphs_are_read),
      cmocka_unit_test(contest_damage_is_named),
      cmocka_unit_test(other_damage_is_named),
      cmocka_unit_test(streams_give_what_reading_gives),
      cmocka_unit_test(contest_samples_have_their_numbers),
      cmocka_unit_test(a_generated_graph_equals_the_contest_sample),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
