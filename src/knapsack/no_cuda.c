/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What stands in for this folder's .cu files where the library is built without CUDA. No GPU can be
 * opened then, so none of it is ever called. */
#include "knapsack/brute_force.h"
#include "knapsack/dense_pass.h"
#include "knapsack/dense_tile.h"
#include "knapsack/hybrid.h"
#include "knapsack/method.h"
#include "knapsack/seed.h"
#include "knapsack/small_gpu.h"
#include "knapsack/two_list_gpu.h"

static dzo_status missing(dzo_unit *unit) {
  return dzo_fail(unit->context, DZO_E_DEVICE, "this dzo was built without CUDA");
}

unsigned brute_gpu_blocks(dzo_unit *unit, bool is_short) {
  (void)unit, (void)is_short;
  return 0;
}

dzo_status brute_gpu_run(dzo_unit *unit, const brute_gpu *job, uint64_t begin, uint64_t end) {
  (void)job, (void)begin, (void)end;
  return missing(unit);
}

uint64_t small_gpu_bit_words(const dzo_unit *unit) {
  (void)unit;
  return 0;
}

dzo_status small_gpu_launch(dzo_unit *unit, int queue, const small_gpu_batch *batch) {
  (void)queue, (void)batch;
  return missing(unit);
}

dzo_status two_list_gpu_add(dzo_unit *unit, const two_list_device *in, int64_t weight,
                            int64_t value, two_list_device *out) {
  (void)in, (void)weight, (void)value, (void)out;
  return missing(unit);
}

unsigned two_list_gpu_records(dzo_unit *unit, bool values) {
  (void)unit, (void)values;
  return 0;
}

dzo_status two_list_gpu_scan(dzo_unit *unit, const two_list_scan *scan) {
  (void)scan;
  return missing(unit);
}

unsigned hybrid_gpu_blocks(dzo_unit *unit, bool is_short) {
  (void)unit, (void)is_short;
  return 0;
}

unsigned hybrid_gpu_threads(void) { return 0; }

uint64_t hybrid_gpu_left(unsigned blocks) {
  (void)blocks;
  return 0;
}

dzo_status hybrid_gpu_run(dzo_unit *unit, const hybrid_launch *launch) {
  (void)launch;
  return missing(unit);
}

dzo_status dense_pass_run(dzo_unit *unit, int queue, const dense_pass *pass, const int32_t *in,
                          int32_t *out, uint32_t *bits) {
  (void)queue, (void)pass, (void)in, (void)out, (void)bits;
  return missing(unit);
}

dzo_status dense_pass_follow(dzo_unit *unit, int queue, const dense_pass *pass,
                             const uint32_t *bits, int64_t *weight, uint8_t *chosen) {
  (void)queue, (void)pass, (void)bits, (void)weight, (void)chosen;
  return missing(unit);
}

dzo_status dense_tiles_run(dzo_unit *unit, int queue, bool wide, const dense_tiles *tiles) {
  (void)queue, (void)wide, (void)tiles;
  return missing(unit);
}

dzo_status knapsack_seed_brute_force(dzo_unit *unit, const knapsack_problem *problem,
                                     knapsack_seed_answer *answer) {
  (void)problem, (void)answer;
  return missing(unit);
}

dzo_status knapsack_seed_hybrid(dzo_unit *unit, const knapsack_problem *problem,
                                knapsack_seed_answer *answer) {
  (void)problem, (void)answer;
  return missing(unit);
}
