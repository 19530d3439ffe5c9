/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Options of callers that were compiled with older, shorter or with newer, longer structs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "dzo/dzo.h"
#include "graph/edge_list.h"
#include "io_files.h"

/* ---- Structs of any size --------------------------------------------------------------------- */

/* A block of just `size` bytes, so that a sanitizer finds a read beyond: as much of the struct of
 * full_size bytes as fits, then zeros; its first member says `size`. The caller frees it. */
static void *of_size(size_t size, const void *full, size_t full_size) {
  unsigned char *block = calloc(size, 1);
  assert_non_null(block);
  memcpy(block, full, size < full_size ? size : full_size);
  memcpy(block, &size, sizeof size);
  return block;
}

#define OF_SIZE(size, full) of_size(size, &(full), sizeof(full))

typedef struct sample {
  size_t size;
  int first;
  int second;
  double third;
} sample;

static const sample defaults = {sizeof(sample), 1, 2, 3};
static const sample wishes = {sizeof(sample), 10, 20, 30};

static void expect_sample(const sample *s, int first, int second, double third) {
  assert_int_equal(s->size, sizeof *s);
  assert_int_equal(s->first, first);
  assert_int_equal(s->second, second);
  assert_memory_equal(&s->third, &third, sizeof third);
}

static void no_options_leave_the_defaults(void **state) {
  (void)state;
  sample s = defaults;
  assert_true(dzo_options_read(&s, sizeof s, NULL));
  expect_sample(&s, 1, 2, 3);
}

static void shorter_options_leave_the_rest(void **state) {
  (void)state;
  const size_t sizes[] = {offsetof(sample, second), offsetof(sample, third), sizeof(sample)};
  for (int i = 0; i < 3; i++) {
    sample s = defaults, *given = OF_SIZE(sizes[i], wishes);
    assert_true(dzo_options_read(&s, sizeof s, given));
    expect_sample(&s, 10, i >= 1 ? 20 : 2, i >= 2 ? 30 : 3);
    free(given);
  }
}

static void longer_options_may_only_add_zeros(void **state) {
  (void)state;
  for (size_t more = 1; more <= 64; more++) {
    sample s = defaults;
    unsigned char *given = OF_SIZE(sizeof s + more, wishes);
    for (size_t at = sizeof s; at < sizeof s + more; at++) {
      given[at] = 1;
      assert_false(dzo_options_read(&s, sizeof s, given));
      expect_sample(&s, 1, 2, 3);
      given[at] = 0;
    }
    assert_true(dzo_options_read(&s, sizeof s, given));
    expect_sample(&s, 10, 20, 30);
    free(given);
  }
}

static void sizes_that_cannot_be_are_refused(void **state) {
  (void)state;
  const size_t sizes[] = {0, 1, sizeof(size_t) - 1, sizeof(size_t), 1 << 20, SIZE_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    sample s = defaults, given = wishes;
    given.size = sizes[i];
    assert_false(dzo_options_read(&s, sizeof s, &given));
    expect_sample(&s, 1, 2, 3);
  }
  sample s = defaults, *far_longer = OF_SIZE(1 << 20, wishes);
  assert_false(dzo_options_read(&s, sizeof s, far_longer));
  free(far_longer);
}

/* ---- The public functions -------------------------------------------------------------------- */

enum { LONGER = 24 }; /* bytes that a newer header may have added */

static dzo_context *context_of(const dzo_context_options *options) {
  dzo_context *context;
  assert_int_equal(dzo_context_create(options, &context), DZO_OK);
  return context;
}

static void end(dzo_context *context) {
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

/* A longer copy of a struct, which ends with zeros if it is to be understood. */
static void *longer_of(const void *full, size_t full_size, bool understood) {
  unsigned char *given = of_size(full_size + LONGER, full, full_size);
  given[full_size + LONGER - 1] = understood ? 0 : 7;
  return given;
}

static void contexts_are_made(void **state) {
  (void)state;
  dzo_context_options full;
  dzo_context_options_init(&full);
  full.threads = 3;
  dzo_context_options *shorter = OF_SIZE(offsetof(dzo_context_options, memory), full);
  dzo_context *context = context_of(shorter);
  assert_int_equal(dzo_context_threads(context), 3);
  dzo_context_destroy(context);
  free(shorter);
  for (int understood = 0; understood < 2; understood++) {
    dzo_context_options *longer = longer_of(&full, sizeof full, understood);
    dzo_status status = dzo_context_create(longer, &context);
    assert_int_equal(status, understood ? DZO_OK : DZO_E_ARGUMENT);
    assert_int_equal(context != NULL, understood);
    dzo_context_destroy(context);
    free(longer);
  }
}

static void expect_same_list(const dzo_edge_list *a, const dzo_edge_list *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->weight_type, b->weight_type);
  assert_memory_equal(a->u, b->u, a->count * sizeof *a->u);
  assert_memory_equal(a->v, b->v, a->count * sizeof *a->v);
}

static void graphs_are_generated(void **state) {
  (void)state;
  dzo_context *context = context_of(NULL);
  dzo_generate_options full;
  dzo_generate_options_init(&full);
  full.scale = 6;
  full.degree = 4;
  dzo_edge_list *expected, *list;
  assert_int_equal(dzo_edge_list_generate(context, DZO_GENERATE_RMAT, &full, &expected), DZO_OK);
  dzo_generate_options *shorter = OF_SIZE(offsetof(dzo_generate_options, weight_type), full);
  assert_int_equal(dzo_edge_list_generate(context, DZO_GENERATE_RMAT, shorter, &list), DZO_OK);
  expect_same_list(list, expected);
  dzo_edge_list_destroy(list);
  free(shorter);
  for (int understood = 0; understood < 2; understood++) {
    dzo_generate_options *longer = longer_of(&full, sizeof full, understood);
    dzo_status status = dzo_edge_list_generate(context, DZO_GENERATE_RMAT, longer, &list);
    assert_int_equal(status, understood ? DZO_OK : DZO_E_ARGUMENT);
    dzo_edge_list_destroy(list);
    free(longer);
  }
  dzo_edge_list_destroy(expected);
  end(context);
}

/* Two parallel edges, so that the minimum and the maximum forest differ. */
static const uint32_t twice_u[] = {0, 0}, twice_v[] = {1, 1};
static const int64_t twice_weights[] = {5, 9};
static const dzo_edges twice = {.vertices = 2,
                                .count = 2,
                                .u = twice_u,
                                .v = twice_v,
                                .weight_type = DZO_WEIGHT_I64,
                                .weights = twice_weights};

static dzo_status next_twice(void *user, dzo_context *context, dzo_edges *chunk) {
  (void)context;
  *chunk = twice;
  chunk->count = (*(int *)user)++ == 0 ? 2 : 0;
  return DZO_OK;
}

static dzo_status solve(dzo_context *context, const dzo_graph *graph,
                        const dzo_msf_options *options, dzo_msf **msf) {
  int calls = 0;
  dzo_edge_source source = {.user = &calls, .next = next_twice};
  return graph != NULL ? dzo_msf_run(context, graph, options, msf)
                       : dzo_msf_stream(context, &source, options, msf);
}

/* Of a graph, or streamed where `graph` is NULL. */
static void check_forests(dzo_context *context, const dzo_graph *graph) {
  dzo_msf_options full;
  dzo_msf_options_init(&full);
  full.maximum = 1;
  for (int longer = 0; longer < 2; longer++) {
    for (int understood = 0; understood < 2; understood++) {
      dzo_msf_options *given =
          longer ? longer_of(&full, sizeof full, understood)
                 : OF_SIZE(understood ? sizeof(size_t) + sizeof(int) : sizeof(size_t), full);
      dzo_msf *msf;
      assert_int_equal(solve(context, graph, given, &msf), understood ? DZO_OK : DZO_E_ARGUMENT);
      assert_int_equal(msf != NULL, understood);
      if (msf != NULL)
        assert_int_equal(dzo_msf_edges(msf)[0], 1);
      dzo_msf_destroy(msf);
      free(given);
    }
  }
}

static void forests_are_found(void **state) {
  (void)state;
  dzo_context *context = context_of(NULL);
  dzo_graph *graph;
  assert_int_equal(dzo_graph_from_edges(context, &twice, &graph), DZO_OK);
  check_forests(context, graph);
  check_forests(context, NULL);
  dzo_graph_destroy(graph);
  end(context);
}

static void claims_are_verified(void **state) {
  (void)state;
  dzo_context *context = context_of(NULL);
  dzo_msf_claim full;
  dzo_msf_claim_init(&full);
  full.count = 1;
  full.numbers = (const uint64_t[]){0};
  int valid;
  for (full.maximum = 1; full.maximum >= 0; full.maximum--) {
    dzo_msf_claim *shorter = OF_SIZE(offsetof(dzo_msf_claim, u), full);
    assert_int_equal(dzo_msf_verify(context, &twice, shorter, &valid), DZO_OK);
    assert_int_equal(valid, !full.maximum);
    free(shorter);
  }
  full.maximum = 0;
  for (int understood = 0; understood < 2; understood++) {
    dzo_msf_claim *longer = longer_of(&full, sizeof full, understood);
    dzo_status status = dzo_msf_verify(context, &twice, longer, &valid);
    assert_int_equal(status, understood ? DZO_OK : DZO_E_ARGUMENT);
    assert_int_equal(valid, understood);
    free(longer);
  }
  end(context);
}

static void files_are_read(void **state) {
  (void)state;
  const char *path = files_path("pair");
  files_put(path, "1 2 5\n", 6);
  dzo_context *context = context_of(NULL);
  dzo_read_options full;
  dzo_read_options_init(&full);
  full.format = DZO_FORMAT_SNAP;
  for (int understood = 0; understood < 2; understood++) {
    dzo_read_options *longer = longer_of(&full, sizeof full, understood);
    dzo_status expected = understood ? DZO_OK : DZO_E_ARGUMENT;
    dzo_edge_list *list;
    assert_int_equal(dzo_edge_list_read(context, path, longer, &list), expected);
    assert_int_equal(list != NULL, understood);
    dzo_edge_list_destroy(list);
    dzo_edge_source source;
    assert_int_equal(dzo_edge_source_open(context, path, longer, &source), expected);
    if (source.close != NULL)
      source.close(source.user);
    free(longer);
  }
  end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_options_leave_the_defaults),
      cmocka_unit_test(shorter_options_leave_the_rest),
      cmocka_unit_test(longer_options_may_only_add_zeros),
      cmocka_unit_test(sizes_that_cannot_be_are_refused),
      cmocka_unit_test(contexts_are_made),
      cmocka_unit_test(graphs_are_generated),
      cmocka_unit_test(forests_are_found),
      cmocka_unit_test(claims_are_verified),
      cmocka_unit_test(files_are_read),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
