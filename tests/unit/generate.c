/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _DEFAULT_SOURCE /* drand48, glibc's own, against which ours is checked */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "dzo/graph.h"

static dzo_context *context_of(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

static dzo_edge_list *generate(dzo_context *context, dzo_generator generator,
                               const dzo_generate_options *options) {
  dzo_edge_list *list;
  dzo_status status = dzo_edge_list_generate(context, generator, options, &list);
  if (status != DZO_OK)
    fail_msg("%s", dzo_context_message(context));
  return list;
}

static dzo_generate_options of_scale(unsigned scale) {
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = scale;
  return options;
}

/* ---- Random numbers ---- */

static void lcg_is_drand48(void **unused) {
  (void)unused;
  const uint32_t seeds[] = {0, 1, 2387, UINT32_MAX};
  for (int s = 0; s < 4; s++) {
    srand48((long)seeds[s]);
    uint64_t start = dzo_lcg48_seed(seeds[s]), state = start;
    for (uint64_t k = 0; k < 1000; k++) {
      assert_true(dzo_lcg48_apply(dzo_lcg48_jump_of(k), start) == state);
      state = dzo_lcg48_next(state);
      assert_true(dzo_lcg48_real(state) == drand48());
    }
  }
}

/* The period is 2^48, and jumps add up. */
static void jumps_compose(void **unused) {
  (void)unused;
  uint64_t state = dzo_lcg48_seed(5);
  assert_true(dzo_lcg48_apply(dzo_lcg48_jump_of(UINT64_C(1) << 48), state) == state);
  uint64_t far = dzo_lcg48_apply(dzo_lcg48_jump_of(123456789012345), state);
  uint64_t on = dzo_lcg48_apply(dzo_lcg48_jump_of(98765432109), far);
  assert_true(dzo_lcg48_apply(dzo_lcg48_jump_of(123456789012345 + 98765432109), state) == on);
}

/* The first outputs of SplitMix64 for seed 1234567, as its authors' reference program gives them.
 */
static void words_are_splitmix64(void **unused) {
  (void)unused;
  const uint64_t expected[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                               UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                               UINT64_C(16408922859458223821)};
  for (uint64_t k = 0; k < 5; k++)
    assert_true(dzo_random_word(1234567, k) == expected[k]);
}

/* ---- The contest's graphs ---- */

/* A contest file in memory. */
typedef struct sample {
  uint32_t vertices;
  uint64_t arcs;
  const uint64_t *rows;
  const uint32_t *ends;
  const double *weights;
  void *owned[3];
} sample;

static void *slice(const char *bytes, size_t offset, size_t size) {
  void *copy = malloc(size);
  assert_non_null(copy);
  memcpy(copy, bytes + offset, size);
  return copy;
}

static bool read_sample(const char *name, sample *out) {
  const char *folder = getenv("DZO_TEST_DATA");
  if (folder == NULL || *folder == '\0')
    return false;
  char path[512];
  snprintf(path, sizeof path, "%s/mst/graphhpc2015/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return false;
  static char bytes[1 << 20];
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  memcpy(&out->vertices, bytes, 4);
  memcpy(&out->arcs, bytes + 4, 8);
  size_t rows = 8 * ((size_t)out->vertices + 1), ends = 4 * (size_t)out->arcs;
  assert_int_equal(size, 14 + rows + ends + 8 * (size_t)out->arcs);
  out->rows = out->owned[0] = slice(bytes, 14, rows);
  out->ends = out->owned[1] = slice(bytes, 14 + rows, ends);
  out->weights = out->owned[2] = slice(bytes, 14 + rows + ends, 8 * (size_t)out->arcs);
  return true;
}

static void free_sample(sample *s) {
  for (int i = 0; i < 3; i++)
    free(s->owned[i]);
}

static void put_arc(const sample *s, uint64_t *place, uint32_t row, uint32_t end, double weight) {
  uint64_t at = place[row]++;
  assert_true(at < s->rows[row + 1]);
  assert_int_equal(s->ends[at], end);
  assert_true(s->weights[at] == weight);
}

/* Fill rows from the back and compare arc by arc. */
static void assert_is_sample(const dzo_edges *edges, const sample *s) {
  assert_int_equal(edges->vertices, s->vertices);
  assert_int_equal(2 * edges->count, s->arcs);
  uint64_t *place = malloc(s->vertices * sizeof *place);
  assert_non_null(place);
  memcpy(place, s->rows, s->vertices * sizeof *place);
  const double *weights = edges->weights;
  for (uint64_t i = edges->count; i-- > 0;) {
    put_arc(s, place, edges->u[i], edges->v[i], weights[i]);
    put_arc(s, place, edges->v[i], edges->u[i], weights[i]);
  }
  free(place);
}

static void assert_generates(dzo_generator generator, const dzo_generate_options *options,
                             const char *name) {
  sample s;
  if (!read_sample(name, &s)) {
    print_message("skipped: no sample file %s in DZO_TEST_DATA\n", name);
    return;
  }
  for (int threads = 1; threads <= 3; threads += 2) {
    dzo_context *context = context_of(threads);
    dzo_edge_list *list = generate(context, generator, options);
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    assert_is_sample(&edges, &s);
    dzo_edge_list_destroy(list);
    dzo_context_destroy(context);
  }
  free_sample(&s);
}

static void rmat_is_the_contest_sample(void **unused) {
  (void)unused;
  dzo_generate_options options = of_scale(10);
  assert_generates(DZO_GENERATE_RMAT, &options, "rmat-10");
}

/* Samples of version 0.2 of the contest's package, which had other parameters. */
static void ssca2_is_the_contest_sample(void **unused) {
  (void)unused;
  dzo_generate_options options = of_scale(10);
  options.max_clique = 10;
  options.inter_clique = 0.05;
  assert_generates(DZO_GENERATE_SSCA2, &options, "ssca2-10");
  options.scale = 5;
  options.max_clique = 3;
  assert_generates(DZO_GENERATE_SSCA2, &options, "ssca2-5");
}

/* ---- Known total weights ---- */

typedef struct weighted {
  uint32_t weight, u, v;
} weighted;

static int by_weight(const void *a, const void *b) {
  uint32_t x = ((const weighted *)a)->weight, y = ((const weighted *)b)->weight;
  return (x > y) - (x < y);
}

static uint32_t find(uint32_t *parent, uint32_t x) {
  while (parent[x] != x)
    x = parent[x] = parent[parent[x]];
  return x;
}

static uint64_t kruskal(const dzo_edges *edges) {
  weighted *sorted = malloc(edges->count * sizeof *sorted);
  uint32_t *parent = malloc(edges->vertices * sizeof *parent);
  assert_non_null(sorted);
  assert_non_null(parent);
  const uint32_t *weights = edges->weights;
  for (uint64_t i = 0; i < edges->count; i++)
    sorted[i] = (weighted){weights[i], edges->u[i], edges->v[i]};
  qsort(sorted, edges->count, sizeof *sorted, by_weight);
  for (uint64_t i = 0; i < edges->vertices; i++)
    parent[i] = (uint32_t)i;
  uint64_t total = 0;
  for (uint64_t i = 0; i < edges->count; i++) {
    uint32_t x = find(parent, sorted[i].u), y = find(parent, sorted[i].v);
    if (x != y)
      total += sorted[i].weight;
    parent[x] = y;
  }
  free(sorted);
  free(parent);
  return total;
}

/* Totals on which all published solvers agree, in units of 2^-24. */
static void forests_have_the_known_weight(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  dzo_generate_options options = of_scale(16);
  options.weight_type = DZO_WEIGHT_U32;
  const uint64_t known[] = {
      [DZO_GENERATE_RMAT] = UINT64_C(100179645547), [DZO_GENERATE_SSCA2] = UINT64_C(62553617725)};
  for (int g = DZO_GENERATE_RMAT; g <= DZO_GENERATE_SSCA2; g++) {
    dzo_edge_list *list = generate(context, (dzo_generator)g, &options);
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    assert_true(kruskal(&edges) == known[g]);
    dzo_edge_list_destroy(list);
  }
  dzo_context_destroy(context);
}

/* ---- All generators ---- */

static bool same_edges(const dzo_edges *a, const dzo_edges *b) {
  return a->vertices == b->vertices && a->count == b->count &&
         memcmp(a->u, b->u, a->count * sizeof *a->u) == 0 &&
         memcmp(a->v, b->v, a->count * sizeof *a->v) == 0 &&
         memcmp(a->weights, b->weights, a->count * 8) == 0;
}

static void threads_do_not_matter(void **unused) {
  (void)unused;
  for (int g = DZO_GENERATE_RMAT; g <= DZO_GENERATE_GRID; g++) {
    dzo_generate_options options = of_scale(13);
    dzo_context *one = context_of(1);
    dzo_edge_list *first = generate(one, (dzo_generator)g, &options);
    dzo_edges expected, edges;
    dzo_edge_list_view(first, &expected);
    for (int threads = 2; threads <= 8; threads += 3) {
      dzo_context *context = context_of(threads);
      dzo_edge_list *list = generate(context, (dzo_generator)g, &options);
      dzo_edge_list_view(list, &edges);
      assert_true(same_edges(&expected, &edges));
      dzo_edge_list_destroy(list);
      dzo_context_destroy(context);
    }
    options.seed++;
    dzo_edge_list *other = generate(one, (dzo_generator)g, &options);
    dzo_edge_list_view(other, &edges);
    assert_false(same_edges(&expected, &edges));
    dzo_edge_list_destroy(other);
    dzo_edge_list_destroy(first);
    dzo_context_destroy(one);
  }
}

static void weight_types_agree(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  for (int g = DZO_GENERATE_RMAT; g <= DZO_GENERATE_GRID; g++) {
    dzo_generate_options options = of_scale(8);
    dzo_edge_list *lists[4];
    dzo_edges edges[4];
    const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_F32, DZO_WEIGHT_U32,
                                     DZO_WEIGHT_NONE};
    for (int t = 0; t < 4; t++) {
      options.weight_type = types[t];
      lists[t] = generate(context, (dzo_generator)g, &options);
      dzo_edge_list_view(lists[t], &edges[t]);
      assert_int_equal(edges[t].weight_type, types[t]);
      assert_int_equal(edges[t].count, edges[0].count);
      assert_memory_equal(edges[t].u, edges[0].u, edges[0].count * 4);
    }
    assert_null(edges[3].weights);
    for (uint64_t i = 0; i < edges[0].count; i++) {
      double w = ((const double *)edges[0].weights)[i];
      uint32_t top = ((const uint32_t *)edges[2].weights)[i];
      assert_true(w >= 0 && w < 1 && ldexp(w, 48) == floor(ldexp(w, 48)));
      assert_true(top == (uint32_t)(w * 0x1p24));
      assert_true((double)((const float *)edges[1].weights)[i] == ldexp(top, -24));
    }
    for (int t = 0; t < 4; t++)
      dzo_edge_list_destroy(lists[t]);
  }
  dzo_context_destroy(context);
}

/* Every scale and parameter at its bounds gives endpoints in range and the promised counts. */
static void small_and_extreme_options_work(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  for (int g = DZO_GENERATE_RMAT; g <= DZO_GENERATE_GRID; g++) {
    for (unsigned scale = 1; scale <= 9; scale++) {
      dzo_generate_options options = of_scale(scale);
      options.degree = scale % 2 ? 3 : 0.3;
      options.max_clique = scale % 2 ? 2 : 1000;
      options.inter_clique = scale % 3 ? 1 : 0;
      options.keep = scale % 2;
      dzo_edge_list *list = generate(context, (dzo_generator)g, &options);
      dzo_edges edges;
      dzo_edge_list_view(list, &edges);
      assert_int_equal(edges.vertices, 1u << scale);
      for (uint64_t i = 0; i < edges.count; i++)
        assert_true(edges.u[i] < edges.vertices && edges.v[i] < edges.vertices);
      if (g == DZO_GENERATE_RMAT || g == DZO_GENERATE_UNIFORM)
        assert_int_equal(edges.count, (uint64_t)(options.degree * (1 << scale) / 2 + 0.5));
      dzo_edge_list_destroy(list);
    }
  }
  dzo_context_destroy(context);
}

static void grids_are_grids(void **unused) {
  (void)unused;
  dzo_context *context = context_of(3);
  for (unsigned scale = 1; scale <= 16; scale++) {
    uint64_t rows = UINT64_C(1) << scale / 2, columns = UINT64_C(1) << (scale + 1) / 2;
    uint64_t all = rows * (columns - 1) + columns * (rows - 1);
    dzo_generate_options options = of_scale(scale);
    options.keep = 1;
    dzo_edge_list *list = generate(context, DZO_GENERATE_GRID, &options);
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    assert_int_equal(edges.count, all);
    for (uint64_t i = 0; i < all; i++) {
      uint32_t u = edges.u[i], v = edges.v[i];
      assert_true(v == u + columns || (v == u + 1 && v % columns != 0));
      if (i > 0)
        assert_true(u > edges.u[i - 1] || (u == edges.u[i - 1] && v > edges.v[i - 1]));
    }
    dzo_edge_list_destroy(list);
    options.keep = 0.7;
    list = generate(context, DZO_GENERATE_GRID, &options);
    dzo_edge_list_view(list, &edges);
    double sigma = sqrt((double)all * 0.21);
    assert_true(fabs((double)edges.count - 0.7 * (double)all) <= 5 * sigma);
    dzo_edge_list_destroy(list);
  }
  dzo_context_destroy(context);
}

/* Mean degrees of all vertices of a uniform graph: chi-squared with 2^12 - 1 degrees of freedom,
 * within 5 standard deviations of its mean. */
static void uniform_is_uniform(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  dzo_generate_options options = of_scale(12);
  dzo_edge_list *list = generate(context, DZO_GENERATE_UNIFORM, &options);
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  static double degree[2][4096];
  for (uint64_t i = 0; i < edges.count; i++) {
    degree[0][edges.u[i]]++;
    degree[1][edges.v[i]]++;
  }
  for (int side = 0; side < 2; side++) {
    double chi = 0;
    for (int x = 0; x < 4096; x++)
      chi += (degree[side][x] - 16) * (degree[side][x] - 16) / 16;
    assert_true(fabs(chi - 4095) < 5 * sqrt(2 * 4095.0));
  }
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

/* ---- Failures ---- */

static void refuse(dzo_context *context, dzo_generator generator,
                   const dzo_generate_options *options, const char *word) {
  dzo_edge_list *list = (dzo_edge_list *)&list;
  assert_int_equal(dzo_edge_list_generate(context, generator, options, &list), DZO_E_ARGUMENT);
  assert_null(list);
  assert_non_null(strstr(dzo_context_message(context), word));
}

static void bad_options_are_refused(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  dzo_generate_options o = of_scale(0);
  refuse(context, DZO_GENERATE_GRID, &o, "scale 0");
  o = of_scale(32);
  refuse(context, DZO_GENERATE_GRID, &o, "scale 32");
  o = of_scale(5);
  o.size = 1;
  refuse(context, DZO_GENERATE_RMAT, &o, "initialised");
  o = of_scale(5);
  o.seed = UINT64_C(1) << 32;
  refuse(context, DZO_GENERATE_RMAT, &o, "seed 4294967296");
  refuse(context, DZO_GENERATE_SSCA2, &o, "seed 4294967296");
  o = of_scale(5);
  o.degree = -1;
  refuse(context, DZO_GENERATE_UNIFORM, &o, "degree -1");
  o.degree = (double)NAN;
  refuse(context, DZO_GENERATE_RMAT, &o, "degree");
  o = of_scale(5);
  o.max_clique = 1;
  refuse(context, DZO_GENERATE_SSCA2, &o, "max_clique 1");
  o = of_scale(5);
  o.inter_clique = 1.5;
  refuse(context, DZO_GENERATE_SSCA2, &o, "inter_clique 1.5");
  o = of_scale(5);
  o.keep = -0.5;
  refuse(context, DZO_GENERATE_GRID, &o, "keep -0.5");
  o = of_scale(5);
  o.weight_type = DZO_WEIGHT_I64;
  refuse(context, DZO_GENERATE_GRID, &o, "u32");
  o = of_scale(5);
  refuse(context, (dzo_generator)9, &o, "9");
  assert_int_equal(dzo_edge_list_generate(context, DZO_GENERATE_GRID, &o, NULL), DZO_E_ARGUMENT);
  dzo_context_destroy(context);
}

typedef struct failing {
  int left; /* allocations until one fails */
  int alive;
} failing;

static void *failing_allocate(void *user, size_t bytes) {
  failing *f = user;
  if (f->left-- == 0)
    return NULL;
  f->alive++;
  return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static void failing_release(void *user, void *pointer) {
  ((failing *)user)->alive--;
  free(pointer);
}

/* Every allocation fails once; nothing leaks, and what has not failed works. */
static void every_allocation_may_fail(void **unused) {
  (void)unused;
  for (int g = DZO_GENERATE_RMAT; g <= DZO_GENERATE_GRID; g++) {
    int failures = 0;
    for (int k = 1;; k++) {
      failing f = {k, 0};
      dzo_context_options options;
      dzo_context_options_init(&options);
      options.threads = 1;
      options.allocator = (dzo_allocator){&f, failing_allocate, failing_release};
      dzo_context *context;
      assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
      dzo_generate_options small = of_scale(12);
      small.max_clique = 7;
      small.inter_clique = 1;
      dzo_edge_list *list;
      dzo_status status = dzo_edge_list_generate(context, (dzo_generator)g, &small, &list);
      if (status == DZO_OK) {
        dzo_edge_list_destroy(list);
      } else {
        assert_int_equal(status, DZO_E_MEMORY);
        assert_null(list);
        failures++;
      }
      dzo_context_destroy(context);
      assert_int_equal(f.alive, 0);
      if (status == DZO_OK)
        break;
    }
    assert_true(failures >= 4);
  }
}

static int cancel_at_once(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)done;
  (void)total;
  assert_string_equal(phase, "generate");
  return --*(int *)user <= 0;
}

static void generating_can_be_cancelled(void **unused) {
  (void)unused;
  for (int g = DZO_GENERATE_RMAT; g <= DZO_GENERATE_GRID; g++) {
    for (int calls = 1; calls <= 2; calls++) {
      int left = calls;
      dzo_context_options options;
      dzo_context_options_init(&options);
      options.progress = cancel_at_once;
      options.progress_user = &left;
      dzo_context *context;
      assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
      dzo_generate_options small = of_scale(8);
      dzo_edge_list *list;
      assert_int_equal(dzo_edge_list_generate(context, (dzo_generator)g, &small, &list),
                       DZO_E_CANCELLED);
      assert_null(list);
      assert_int_equal(dzo_context_memory_used(context), 0);
      dzo_context_destroy(context);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lcg_is_drand48),
      cmocka_unit_test(jumps_compose),
      cmocka_unit_test(words_are_splitmix64),
      cmocka_unit_test(rmat_is_the_contest_sample),
      cmocka_unit_test(ssca2_is_the_contest_sample),
      cmocka_unit_test(forests_have_the_known_weight),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(weight_types_agree),
      cmocka_unit_test(small_and_extreme_options_work),
      cmocka_unit_test(grids_are_grids),
      cmocka_unit_test(uniform_is_uniform),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(generating_can_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
