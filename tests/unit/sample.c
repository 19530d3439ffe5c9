/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The plans that sampling makes, where the sample misleads and where a graph is larger than lists
 * can be. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "msf/sample.h"

static dzo_context *context;

static int set_up(void **state) {
  (void)state;
  return dzo_context_create(NULL, &context) == DZO_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  dzo_context_destroy(context);
  return 0;
}

/* Two vertices and `edges` parallel edges of weight 1 between them, as one may build on a page of
 * zeros: row 1 is all zeros, and row 0, which should be all ones, is not looked at closely. */
typedef struct zeros {
  uint64_t offsets[3];
  uint32_t label[2];
  dzo_graph graph;
  msf_solver solver;
  size_t bytes;
} zeros;

static bool make_zeros(zeros *z, uint64_t edges) {
  *z = (zeros){.offsets = {0, edges, 2 * edges}, .bytes = (size_t)(2 * edges) * sizeof(uint32_t)};
  void *pages = mmap(NULL, z->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    return false;
  z->graph = (dzo_graph){
      .vertices = 2, .edges = edges, .arcs = 2 * edges, .offsets = z->offsets, .neighbours = pages};
  z->solver =
      (msf_solver){.context = context, .graph = &z->graph, .threads = 1, .n = 2, .label = z->label};
  return true;
}

static void free_zeros(zeros *z) { (void)munmap(z->graph.neighbours, z->bytes); }

/* No arc of the sample crosses, yet many may: the room must grow with the slack up to all edges. */
static void slack_makes_room_whatever_the_sample_says(void **state) {
  (void)state;
  enum { EDGES = 1 << 22 };
  zeros z;
  assert_true(make_zeros(&z, EDGES));
  msf_prefix bound;
  uint64_t capacity = 0;
  int doublings = 0;
  for (double slack = 1.2; capacity < EDGES; slack *= 2, doublings++) {
    uint64_t before = capacity;
    assert_int_equal(msf_choose_crossing(&z.solver, 8, slack, &bound, &capacity), DZO_OK);
    assert_true(bound.all);
    assert_true(capacity > before);
    assert_in_range(doublings, 0, 40);
  }
  assert_int_equal(capacity, EDGES);
  free_zeros(&z);
}

static void lists_are_never_too_long_to_number(void **state) {
  (void)state;
  zeros z;
  if (sizeof(size_t) < 8 || !make_zeros(&z, UINT64_C(1) << 34)) {
    print_message("skipped: no address space\n");
    skip();
  }
  z.label[1] = 1;
  msf_prefix bound;
  uint64_t capacity;
  for (double slack = 1.2; slack < 1e9; slack *= 10) {
    assert_int_equal(msf_choose_crossing(&z.solver, UINT64_MAX, slack, &bound, &capacity), DZO_OK);
    assert_in_range(capacity, 1 << 14, DZO_MSF_LIST_MAX);
  }
  z.solver.n = UINT32_MAX; /* as if there were more vertices, without edges */
  assert_int_equal(msf_choose_prefix(&z.solver, &bound, &capacity), DZO_OK);
  assert_false(bound.all);
  assert_in_range(capacity, 1 << 14, DZO_MSF_LIST_MAX);
  free_zeros(&z);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slack_makes_room_whatever_the_sample_says),
      cmocka_unit_test(lists_are_never_too_long_to_number),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
