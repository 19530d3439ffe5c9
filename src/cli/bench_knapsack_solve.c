/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench knapsack: one run of one method, and the check of its answer. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "bench/textbook_core.h"
#include "cli/bench_knapsack.h"
#include "knapsack/entry.h"
#include "knapsack/seed.h"

const knapsack_contestant knapsack_contestants[KNAPSACK_WHO] = {
    [KNAPSACK_BY_BRUTE_FORCE] = {"brute", DZO_KNAPSACK_BRUTE_FORCE, false},
    [KNAPSACK_BY_BRUTE_FORCE_GPU] = {"brute-gpu", DZO_KNAPSACK_BRUTE_FORCE, true},
    [KNAPSACK_BY_SEED_BRUTE_FORCE] = {"seed-brute", DZO_KNAPSACK_BRUTE_FORCE, true},
    [KNAPSACK_BY_HOROWITZ_SAHNI] = {"h-s", DZO_KNAPSACK_HOROWITZ_SAHNI, false},
    [KNAPSACK_BY_HYBRID] = {"hybrid", DZO_KNAPSACK_HYBRID, false},
    [KNAPSACK_BY_HYBRID_GPU] = {"hybrid-gpu", DZO_KNAPSACK_HYBRID, true},
    [KNAPSACK_BY_SEED_HYBRID] = {"seed-hybr", DZO_KNAPSACK_HYBRID, true},
    [KNAPSACK_BY_CORE] = {"core", DZO_KNAPSACK_CORE, false},
    [KNAPSACK_BY_TWO_LIST] = {"two-list", DZO_KNAPSACK_TWO_LIST, false},
    [KNAPSACK_BY_TWO_LIST_GPU] = {"lists-gpu", DZO_KNAPSACK_TWO_LIST, true},
    [KNAPSACK_BY_DENSE] = {"dense", DZO_KNAPSACK_DENSE, false},
    [KNAPSACK_BY_DENSE_GPU] = {"dense-gpu", DZO_KNAPSACK_DENSE, true},
    [KNAPSACK_BY_AUTO] = {"auto", DZO_KNAPSACK_AUTO, false},
    [KNAPSACK_BY_AUTO_GPU] = {"auto-gpu", DZO_KNAPSACK_AUTO, true},
    [KNAPSACK_BY_TEXTBOOK] = {"textbook", DZO_KNAPSACK_AUTO, false},
};

static bool is_seed(knapsack_who who) {
  return who == KNAPSACK_BY_SEED_BRUTE_FORCE || who == KNAPSACK_BY_SEED_HYBRID;
}

uint32_t knapsack_bench_columns(const knapsack_bench *bench) {
  uint32_t columns = 0;
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (bench->gpu != NULL || !knapsack_contestants[who].gpu)
      columns |= UINT32_C(1) << who;
  return columns;
}

/* The set again as the checker takes it. */
static int64_t *taken_of(dzo_context *context, const dzo_knapsack *answer, uint64_t items) {
  int64_t *taken = dzo_calloc(context, items, sizeof *taken);
  if (taken == NULL)
    return NULL;
  const uint64_t *numbers = dzo_knapsack_items(answer);
  const int64_t *copies = dzo_knapsack_copies(answer);
  for (uint64_t i = 0; i < dzo_knapsack_count(answer); i++)
    if (numbers[i] < items)
      taken[numbers[i]] = copies[i];
  return taken;
}

static bool is_same(dzo_int128 a, dzo_int128 b) { return a.high == b.high && a.low == b.low; }

/* Is the set what it says it is? */
static dzo_status check_set(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                            const int64_t *taken, dzo_int128 claimed, bool proved, const char *who,
                            knapsack_row *row) {
  dzo_context *context = bench->call->context;
  int valid = 0;
  dzo_int128 value = {0, 0};
  DZO_TRY(dzo_knapsack_verify(context, instance, taken, &valid, &value, NULL));
  if (!valid)
    knapsack_row_doubt(row, who, dzo_context_message(context));
  else if (!is_same(value, claimed))
    knapsack_row_doubt(row, who, "its set is not worth what it says");
  else if (proved)
    knapsack_bench_agree(row, who, value);
  return DZO_OK;
}

static dzo_status check(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                        const dzo_knapsack *answer, const char *who, knapsack_row *row) {
  int64_t *taken = taken_of(bench->call->context, answer, instance->count);
  if (taken == NULL)
    return DZO_E_MEMORY;
  dzo_status status = check_set(bench, instance, taken, dzo_knapsack_value(answer),
                                dzo_knapsack_outcome_of(answer) == DZO_KNAPSACK_OPTIMAL, who, row);
  dzo_free(taken);
  return status;
}

/* ---- Without the plan ------------------------------------------------------------------------ */

/* As normal form has it; false where the instance is not in it. */
static bool problem_of(const dzo_knapsack_instance *instance, knapsack_problem *p) {
  *p = (knapsack_problem){.items = (uint32_t)instance->count,
                          .value = instance->values,
                          .weight = instance->weights,
                          .capacity = instance->capacity};
  for (uint32_t i = 0; i < p->items; i++) {
    int64_t value = p->value[i], weight = p->weight[i];
    if (value < 1 || weight < 1 || weight > p->capacity)
      return false;
    p->value_sum += value;
    p->weight_sum += weight;
    p->value_max = value > p->value_max ? value : p->value_max;
    p->weight_max = weight > p->weight_max ? weight : p->weight_max;
  }
  return p->weight_sum > p->capacity && instance->copies == NULL;
}

static bool is_bare(const knapsack_bench *bench, const knapsack_contestant *c) {
  return bench->part->bare &&
         (c->algorithm == DZO_KNAPSACK_BRUTE_FORCE || c->algorithm == DZO_KNAPSACK_HOROWITZ_SAHNI ||
          c->algorithm == DZO_KNAPSACK_HYBRID);
}

static dzo_status check_bare(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                             const knapsack_answer *answer, const char *who, knapsack_row *row) {
  dzo_context *context = bench->call->context;
  int64_t *taken = dzo_calloc(context, instance->count, sizeof *taken);
  if (taken == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < instance->count; i++)
    taken[i] = answer->taken[i];
  dzo_status status = check_set(bench, instance, taken, knapsack_public(answer->value),
                                answer->bound == answer->value, who, row);
  dzo_free(taken);
  return status;
}

static dzo_status solve_bare(knapsack_bench *bench, dzo_context *context,
                             const knapsack_contestant *c, const dzo_knapsack_instance *instance,
                             knapsack_row *row, knapsack_end *end, double *seconds) {
  char why[256];
  knapsack_problem problem;
  dzo_knapsack_options options;
  dzo_knapsack_options_init(&options);
  options.time_limit = knapsack_bench_limit(bench);
  knapsack_job job = knapsack_job_of(context, &options);
  const knapsack_method *method = knapsack_method_of(c->algorithm);
  *end = KNAPSACK_REFUSED;
  if (method == NULL || !problem_of(instance, &problem) ||
      method->refusal(&problem, &job, why, sizeof why) != NULL)
    return DZO_OK;
  knapsack_answer answer = {.taken = dzo_calloc(context, problem.items, 1),
                            .bound = problem.value_sum};
  if (answer.taken == NULL)
    return DZO_E_MEMORY;
  double begun = cli_now();
  dzo_status status = method->solve(&job, &problem, &answer);
  *seconds = cli_now() - begun;
  if (status == DZO_OK && answer.bound == answer.value)
    *end = c->gpu && answer.device == DZO_DEVICE_CPU ? KNAPSACK_REFUSED : KNAPSACK_RAN;
  else
    *end = KNAPSACK_GAVE_UP;
  if (status == DZO_OK)
    status = check_bare(bench, instance, &answer, c->name, row);
  else if (status == DZO_E_MEMORY)
    status = DZO_OK;
  else
    (void)dzo_fail(bench->call->context, status, "%s", dzo_context_message(context));
  dzo_free(answer.taken);
  return status;
}

/* The thesis' kernels, which answer with a bit for each item. */
static dzo_status solve_seed(knapsack_bench *bench, knapsack_who who,
                             const dzo_knapsack_instance *instance, knapsack_row *row,
                             knapsack_end *end, double *seconds) {
  knapsack_problem p;
  dzo_unit *unit = dzo_context_gpu(bench->gpu);
  *end = KNAPSACK_REFUSED;
  if (unit == NULL || !problem_of(instance, &p) || p.items > SEED_ITEMS)
    return DZO_OK;
  knapsack_seed_answer found;
  double begun = cli_now();
  dzo_status status = who == KNAPSACK_BY_SEED_HYBRID ? knapsack_seed_hybrid(unit, &p, &found)
                                                     : knapsack_seed_brute_force(unit, &p, &found);
  *seconds = cli_now() - begun;
  if (status == DZO_E_UNSUPPORTED)
    return DZO_OK;
  if (status != DZO_OK)
    return dzo_fail(bench->call->context, status, "%s", dzo_context_message(bench->gpu));
  int64_t taken[SEED_ITEMS] = {0};
  for (uint32_t i = 0; i < p.items; i++)
    taken[i] = (int64_t)(found.taken >> i & 1);
  *end = KNAPSACK_RAN;
  return check_set(bench, instance, taken, knapsack_public(found.value), true,
                   knapsack_contestants[who].name, row);
}

/* It multiplies values and weights in 64 bits, and tells no set. */
static dzo_status solve_textbook(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                                 knapsack_row *row, knapsack_end *end, double *seconds) {
  knapsack_problem p;
  *end = KNAPSACK_REFUSED;
  if (!problem_of(instance, &p) || p.value_sum * p.weight_max >= INT64_MAX ||
      p.weight_sum * p.value_max >= INT64_MAX)
    return DZO_OK;
  int64_t best;
  bool proved;
  uint64_t states;
  double begun = cli_now();
  dzo_status status = textbook_core(bench->single, p.items, p.value, p.weight, p.capacity,
                                    knapsack_bench_limit(bench), &best, &proved, &states);
  *seconds = cli_now() - begun;
  *end = status == DZO_OK && proved ? KNAPSACK_RAN : KNAPSACK_GAVE_UP;
  if (*end == KNAPSACK_RAN)
    knapsack_bench_agree(row, "textbook", (dzo_int128){0, (uint64_t)best});
  return status == DZO_E_MEMORY ? DZO_OK : status;
}

/* ---- A run ----------------------------------------------------------------------------------- */

dzo_status knapsack_bench_solve(knapsack_bench *bench, knapsack_who who,
                                const dzo_knapsack_instance *instance, knapsack_row *row,
                                knapsack_end *end, double *seconds) {
  const knapsack_contestant *c = &knapsack_contestants[who];
  dzo_context *context = c->gpu ? bench->gpu : bench->part->one_thread ? bench->single : bench->cpu;
  if (who == KNAPSACK_BY_TEXTBOOK)
    return solve_textbook(bench, instance, row, end, seconds);
  if (is_seed(who))
    return solve_seed(bench, who, instance, row, end, seconds);
  if (is_bare(bench, c))
    return solve_bare(bench, context, c, instance, row, end, seconds);
  dzo_knapsack_options options;
  dzo_knapsack_options_init(&options);
  options.algorithm = c->algorithm;
  options.time_limit = knapsack_bench_limit(bench);
  dzo_knapsack *answer = NULL;
  double begun = cli_now();
  dzo_status status = dzo_knapsack_run(context, instance, &options, &answer);
  *seconds = cli_now() - begun;
  bool elsewhere = status == DZO_OK && c->gpu && dzo_knapsack_device(answer) == DZO_DEVICE_CPU &&
                   c->algorithm != DZO_KNAPSACK_AUTO;
  *end = status == DZO_E_UNSUPPORTED || elsewhere ? KNAPSACK_REFUSED
         : status == DZO_OK                       ? KNAPSACK_RAN
                                                  : KNAPSACK_GAVE_UP;
  if (status == DZO_OK)
    status = check(bench, instance, answer, c->name, row);
  else if (status == DZO_E_LIMIT || status == DZO_E_UNSUPPORTED || status == DZO_E_MEMORY)
    status = DZO_OK;
  else
    (void)dzo_fail(bench->call->context, status, "%s", dzo_context_message(context));
  dzo_knapsack_destroy(answer);
  return status;
}
