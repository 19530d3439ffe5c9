/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Each method says what it expects to take, and at worst. The one that is likely to be the first
 * may be wrong, so it gets as much time as the next one expects to take, and then that one's turn
 * comes, with twice as much; and so on. Core begins, since to ask the table costs time. */
#include "knapsack/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "knapsack/small.h"

enum { METHODS = DZO_KNAPSACK_TWO_LIST + 1, LISTED = 80 };

/* Seconds: core may be much faster than it expects, but not where it expects so much. */
static const double HOPELESS = 100;

/* Finding and opening a GPU takes half as long as this; and a budget below a millisecond is not
 * worth its looks at the clock. */
static const double GPU_START = 0.7, LEAST_BUDGET = 1e-3;

/* Seconds an item before the table is asked how long it would take, which takes about as long. */
static const double ASK = 20e-6;

/* A method on the CPU alone, or with the job's GPU. */
typedef struct candidate {
  const knapsack_method *method; /* NULL: it was not asked yet */
  bool gpu;
  bool refuses;
  bool was_early; /* asked when the call had only begun: an answer without much thought */
  bool failed;    /* it is of no use here */
  double budget;  /* what it had in vain */
  knapsack_estimate estimate;
} candidate;

typedef enum ending {
  PROVED,
  OUT_OF_BUDGET,
  OUT_OF_TIME,
  CANCELLED,
  NO_MEMORY,
  NO_DEVICE,
  BROKEN
} ending;

typedef struct search {
  knapsack_job *job;
  const knapsack_problem *problem;
  knapsack_answer *best;
  uint8_t *spare; /* [items] for the next attempt */
  knapsack_record *record;
  candidate candidates[METHODS][2]; /* on the CPU, with the GPU */
  double first_budget;              /* core's */
  bool has_begun;                   /* core had its first turn: now who knows about himself */
  bool asks_all;                    /* and those too that take long to ask */
  bool is_desperate;                /* none expects to have memory enough: they may be wrong */
  bool chooses;                     /* nobody asked for a method */
  dzo_status status;                /* of the last attempt */
} search;

/* ---- Words ----------------------------------------------------------------------------------- */

static void say(knapsack_record *record, const char *text) {
  size_t length = strlen(record->plan), room = sizeof record->plan - length;
  snprintf(record->plan + length, room, "%s%s", length > 0 ? "; " : "", text);
}

static const char *time_text(double seconds, char *text, size_t size) {
  if (seconds < 1e-3)
    snprintf(text, size, "%.3g us", seconds * 1e6);
  else if (seconds < 1)
    snprintf(text, size, "%.3g ms", seconds * 1e3);
  else
    snprintf(text, size, "%.3g s", seconds);
  return text;
}

static const char *const endings[] = {
    [PROVED] = "",
    [OUT_OF_BUDGET] = " and was given up",
    [OUT_OF_TIME] = " up to the time limit",
    [CANCELLED] = " until it was cancelled",
    [NO_MEMORY] = " and needed more memory",
    [NO_DEVICE] = " and lost the GPU",
    [BROKEN] = " and could not go on",
};

static void say_attempt(search *s, const candidate *c, bool gpu, double seconds, ending end) {
  char text[160], expected[32], took[32];
  snprintf(text, sizeof text, "%s%s took %s (expected %s)%s",
           dzo_knapsack_algorithm_name(c->method->algorithm), gpu ? " on the GPU" : "",
           time_text(seconds, took, sizeof took),
           time_text(c->estimate.seconds, expected, sizeof expected), endings[end]);
  say(s->record, text);
}

/* ---- Attempts -------------------------------------------------------------------------------- */

/* One that works on the GPU may do with the CPU what is faster there, but only the table knows. */
static knapsack_job job_for(const search *s, dzo_knapsack_algorithm algorithm, bool gpu,
                            double budget) {
  knapsack_job job = *s->job;
  job.stopped = KNAPSACK_GOES_ON;
  job.memory = knapsack_memory_left(s->job);
  job.gpu = gpu ? s->job->gpu : NULL;
  job.cpu = !gpu || s->job->cpu || (s->chooses && algorithm == DZO_KNAPSACK_DENSE);
  double end = dzo_clock() + budget;
  job.deadline = end < job.deadline ? end : job.deadline;
  return job;
}

/* The better set and the better bound, whoever found them. */
static void keep_best(search *s, knapsack_answer *a) {
  knapsack_answer *best = s->best;
  best->nodes += a->nodes;
  best->cells += a->cells;
  best->bound = a->bound < best->bound ? a->bound : best->bound;
  if (a->value <= best->value) {
    if (a->value == a->bound)
      best->device = a->device;
    return;
  }
  s->spare = best->taken;
  best->taken = a->taken;
  best->value = a->value;
  best->device = a->device;
}

static ending ending_of(const search *s, const knapsack_job *job) {
  if (s->best->value == s->best->bound)
    return PROVED;
  switch (s->status) {
  case DZO_OK:
  case DZO_E_LIMIT:
    break;
  case DZO_E_MEMORY:
    return NO_MEMORY;
  case DZO_E_DEVICE:
  case DZO_E_DEVICE_FAILED:
    return NO_DEVICE;
  case DZO_E_CANCELLED:
    return CANCELLED;
  default:
    return BROKEN;
  }
  switch ((knapsack_stop)job->stopped) {
  case KNAPSACK_CANCELLED:
    return CANCELLED;
  case KNAPSACK_OUT_OF_MEMORY:
    return NO_MEMORY;
  case KNAPSACK_OUT_OF_TIME:
    return dzo_clock() >= s->job->deadline ? OUT_OF_TIME : OUT_OF_BUDGET;
  case KNAPSACK_GOES_ON:
    break;
  }
  return BROKEN;
}

/* The rest of the call is done by the CPU. */
static void give_up_gpu(search *s) {
  dzo_notice(s->job->context, "%s; solved on the CPU",
             s->job->gpu->lost ? s->job->gpu->reason : s->job->context->message);
  s->job->gpu = NULL;
  s->job->cpu = true;
}

static ending attempt(search *s, candidate *c, double budget) {
  double begun = dzo_clock();
  knapsack_job job = job_for(s, c->method->algorithm, c->gpu, budget);
  memset(s->spare, 0, s->problem->items);
  bool is_dense = c->method->algorithm == DZO_KNAPSACK_DENSE;
  knapsack_answer a = {.taken = s->spare,
                       .bound = is_dense ? s->best->bound : s->problem->value_sum,
                       .device = DZO_DEVICE_CPU};
  s->status = c->method->solve(&job, s->problem, &a);
  bool on_gpu = c->gpu && (!is_dense || a.device != DZO_DEVICE_CPU);
  keep_best(s, &a);
  ending end = ending_of(s, &job);
  say_attempt(s, c, on_gpu, dzo_clock() - begun, end);
  s->record->algorithm = c->method->algorithm;
  if (end == NO_DEVICE)
    give_up_gpu(s);
  c->failed = end == NO_MEMORY || end == BROKEN;
  if (end == OUT_OF_BUDGET)
    c->budget = budget;
  return end;
}

/* ---- The choice ------------------------------------------------------------------------------ */

static bool has_gpu_form(dzo_knapsack_algorithm algorithm) {
  return algorithm != DZO_KNAPSACK_CORE && algorithm != DZO_KNAPSACK_HOROWITZ_SAHNI;
}

/* This method, with the GPU or without; NULL where it does not take the problem. */
static candidate *consider(search *s, dzo_knapsack_algorithm algorithm, bool gpu) {
  candidate *c = &s->candidates[algorithm][gpu];
  const knapsack_method *method = knapsack_method_of(algorithm);
  if (method == NULL || (gpu && (s->job->gpu == NULL || !has_gpu_form(algorithm))))
    return NULL;
  bool is_early = dzo_clock() - s->job->begun < KNAPSACK_EARLY;
  if (c->method == NULL || (c->was_early && !is_early)) {
    knapsack_job job = job_for(s, algorithm, gpu, INFINITY);
    char why[160];
    c->method = method;
    c->gpu = gpu;
    c->was_early = is_early;
    c->refuses = method->refusal(s->problem, &job, why, sizeof why) != NULL;
    if (!c->refuses)
      c->estimate = method->estimate(s->problem, &job);
    if (c->estimate.bound > 0 && c->estimate.bound < s->best->bound)
      s->best->bound = c->estimate.bound;
  }
  return c->refuses || c->failed ? NULL : c;
}

/* Where nobody asked for it, what is hopeless is not tried; nor are the methods that go through
 * sets one by one, which the others have overtaken. */
static candidate *consider_for_auto(search *s, dzo_knapsack_algorithm algorithm, bool gpu) {
  if (!(algorithm == DZO_KNAPSACK_CORE || (algorithm == DZO_KNAPSACK_TWO_LIST && s->has_begun) ||
        (algorithm == DZO_KNAPSACK_DENSE && s->asks_all)))
    return NULL;
  /* The table looks at both devices itself, since to plan it takes long. */
  if (algorithm == DZO_KNAPSACK_DENSE && !gpu && s->job->gpu != NULL)
    return NULL;
  /* The GPU has nothing to add to lists that are pruned. */
  if (algorithm == DZO_KNAPSACK_TWO_LIST && gpu && s->problem->items > LISTED)
    return NULL;
  candidate *c = consider(s, algorithm, gpu);
  if (c == NULL || s->is_desperate)
    return c;
  /* What core takes can only be found out. */
  bool fits = algorithm == DZO_KNAPSACK_CORE || c->estimate.memory <= knapsack_memory_left(s->job);
  return fits && c->estimate.seconds < INFINITY ? c : NULL;
}

typedef struct choice {
  candidate *first;                   /* NULL: none */
  double first_promise, next_promise; /* seconds; INFINITY: there is none */
  candidate *certain;                 /* of the least worst case; NULL: none has one */
} choice;

/* As measured on two machines, tables take up to twice as long as they expect. */
static double doubt(const candidate *c) {
  return c->method->algorithm == DZO_KNAPSACK_DENSE ? 2 : 1;
}

/* When would it be through, by what is known? What it had in vain counts against it, and more so
 * for core, whose lists grow faster and faster. */
static double promise(const candidate *c) {
  bool is_core = c->method->algorithm == DZO_KNAPSACK_CORE;
  double likely = c->estimate.seconds * doubt(c), least = 2 * c->budget;
  bool is_wrong = likely < least || (likely > 4 * least && likely < HOPELESS);
  if (is_core && least > 0 && (c->was_early || is_wrong))
    likely = 4 * least;
  return likely > least ? likely : least;
}

static double worst_of(const candidate *c) {
  return c->budget > 0 ? INFINITY : c->estimate.worst * doubt(c);
}

static choice choose(search *s, dzo_knapsack_algorithm algorithm) {
  choice best = {NULL, INFINITY, INFINITY, NULL};
  for (int a = DZO_KNAPSACK_BRUTE_FORCE; a < METHODS; a++)
    for (int gpu = 0; gpu < 2; gpu++) {
      candidate *c = NULL;
      if (algorithm == DZO_KNAPSACK_AUTO)
        c = consider_for_auto(s, (dzo_knapsack_algorithm)a, gpu != 0);
      else if ((int)algorithm == a)
        c = consider(s, algorithm, gpu != 0);
      if (c == NULL)
        continue;
      if (worst_of(c) < INFINITY && (best.certain == NULL || worst_of(c) < worst_of(best.certain)))
        best.certain = c;
      double p = promise(c);
      if (best.first == NULL || p < best.first_promise) {
        best.next_promise = best.first_promise;
        best.first = c;
        best.first_promise = p;
      } else if (p < best.next_promise) {
        best.next_promise = p;
      }
    }
  return best;
}

/* Might a GPU that nobody has opened yet be of help? */
static bool may_open_gpu(const search *s) {
  const dzo_context *context = s->job->context;
  if (s->job->gpu != NULL || context->device != DZO_DEVICE_AUTO || context->gpu_tried ||
      s->job->quiet || dzo_backend_cuda.versions == NULL)
    return false;
  int runtime, driver;
  dzo_backend_cuda.versions(&runtime, &driver);
  return driver > 0;
}

/* Even who is certain may be wrong. */
static double patience(double worst) { return 16 * worst + 0.5; }

/* How long the first one may try before the next one's turn comes. One that knows how long it takes
 * is not given up, unless another may be much faster. */
static double budget_of(const search *s, const choice *c, bool opens) {
  const candidate *first = c->first;
  double next = c->next_promise, worst = worst_of(first);
  double budget = next > 2 * c->first_promise ? next : 2 * c->first_promise;
  double thought = first->was_early ? INFINITY : first->estimate.seconds;
  if (thought <= 2 * next && budget < 4 * thought)
    budget = 4 * thought;
  if (worst <= 4 * c->first_promise || worst <= 4 * next)
    budget = patience(worst);
  if (!s->asks_all)
    budget = budget < s->first_budget ? budget : s->first_budget;
  if (opens && budget > GPU_START && worst > GPU_START)
    budget = GPU_START;
  return budget > LEAST_BUDGET ? budget : LEAST_BUDGET;
}

/* Where no method takes the problem, for its large numbers: a list of states, as far as it goes. */
static ending run_last(search *s) {
  if (s->record->plan[0] != '\0')
    return NO_MEMORY;
  knapsack_job job = job_for(s, DZO_KNAPSACK_TWO_LIST, false, INFINITY);
  knapsack_normal whole = {.problem = *s->problem, .wide_capacity = s->problem->capacity};
  memset(s->spare, 0, s->problem->items);
  knapsack_answer a = {.taken = s->spare, .bound = s->problem->value_sum, .device = DZO_DEVICE_CPU};
  s->status = knapsack_wide_solve(&job, &whole, &a);
  keep_best(s, &a);
  s->record->algorithm = DZO_KNAPSACK_TWO_LIST;
  say(s->record, "large numbers, by one list of states");
  ending end = ending_of(s, &job);
  return end == BROKEN ? NO_MEMORY : end;
}

/* Nobody is left: ask more of them. */
static bool widen(search *s) {
  if (!s->has_begun)
    s->has_begun = true;
  else if (!s->asks_all)
    s->asks_all = true;
  else if (may_open_gpu(s))
    s->job->gpu = dzo_context_gpu(s->job->context);
  else if (!s->is_desperate)
    s->is_desperate = true;
  else
    return false;
  return true;
}

/* Where there is one that is certain to be through before long, compared with what has been spent
 * already, it is that one's turn. */
static bool is_paid(const search *s, const candidate *certain) {
  return certain != NULL && worst_of(certain) <= 4 * (dzo_clock() - s->job->begun);
}

/* For core: as long as it takes to ask the table, or as two short lists take. */
static double first_budget(search *s) {
  const candidate *lists = consider(s, DZO_KNAPSACK_TWO_LIST, false);
  double ask = ASK * s->problem->items > KNAPSACK_EARLY ? ASK * s->problem->items : KNAPSACK_EARLY;
  return lists != NULL && lists->estimate.worst < ask ? lists->estimate.worst : ask;
}

static ending run_auto(search *s) {
  s->first_budget = first_budget(s);
  for (;;) {
    choice c = choose(s, DZO_KNAPSACK_AUTO);
    bool certainly = is_paid(s, c.certain);
    if (!certainly && s->has_begun && !s->asks_all)
      c.first = NULL;
    if (c.first == NULL) {
      if (!widen(s))
        return run_last(s);
      continue;
    }
    bool opens = s->asks_all && may_open_gpu(s);
    ending end = certainly ? attempt(s, c.certain, patience(worst_of(c.certain)))
                           : attempt(s, c.first, budget_of(s, &c, opens));
    if (end == PROVED || end == OUT_OF_TIME || end == CANCELLED)
      return end;
    if (end == OUT_OF_BUDGET && opens)
      s->job->gpu = dzo_context_gpu(s->job->context);
    s->has_begun = true;
  }
}

/* Of the two ways of one method, the quicker; the other where it fails. */
static ending run_one(search *s, dzo_knapsack_algorithm algorithm) {
  ending end = BROKEN;
  for (;;) {
    choice c = choose(s, algorithm);
    if (c.first != NULL && c.first_promise > GPU_START && may_open_gpu(s)) {
      s->job->gpu = dzo_context_gpu(s->job->context);
      c = choose(s, algorithm);
    }
    if (c.first == NULL)
      return end;
    candidate *with = NULL;
    if (s->job->context->device == DZO_DEVICE_CUDA)
      with = consider(s, algorithm, true);
    end = attempt(s, with != NULL ? with : c.first, INFINITY);
    if (end != NO_MEMORY && end != NO_DEVICE && end != BROKEN)
      return end;
  }
}

/* ---- What a method is refused for ------------------------------------------------------------ */

static dzo_status refuse(search *s, dzo_knapsack_algorithm algorithm) {
  dzo_context *context = s->job->context;
  const char *name = dzo_knapsack_algorithm_name(algorithm);
  const knapsack_method *method = knapsack_method_of(algorithm);
  if (method == NULL)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%s is not part of this build", name);
  if (context->device == DZO_DEVICE_CUDA && !has_gpu_form(algorithm))
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "%s works on the CPU; ask for another algorithm, or for device cpu, hybrid or "
                    "auto",
                    name);
  bool on_cpu = consider(s, algorithm, false) != NULL;
  if (consider(s, algorithm, true) != NULL || on_cpu)
    return DZO_OK;
  char why[160];
  knapsack_job job =
      job_for(s, algorithm, s->job->gpu != NULL && has_gpu_form(algorithm), INFINITY);
  const char *reason = method->refusal(s->problem, &job, why, sizeof why);
  if (reason == NULL) /* it had no memory to find out */
    return dzo_fail(context, DZO_E_MEMORY, "%s has no memory to work in", name);
  return dzo_fail(context, DZO_E_UNSUPPORTED, "%s: %s", name, reason);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Items that are looked at by worth in less than a second, and at once. */
enum { QUICK = 1 << 24, AT_ONCE = 1 << 20 };

/* What can still be had cheaply where the methods were stopped early. */
static void improve(search *s) {
  const knapsack_problem *p = s->problem;
  if (p->items > AT_ONCE && s->best->value > 0 && s->best->bound < p->value_sum)
    return;
  knapsack_answer quick = {.taken = s->spare, .bound = p->value_sum, .device = DZO_DEVICE_CPU};
  uint32_t *order = NULL;
  if (p->items <= QUICK)
    order = dzo_alloc(s->job->context, p->items, sizeof *order);
  if (order != NULL) {
    knapsack_quick(p, order, &quick);
  } else {
    int64_t left = p->capacity;
    for (uint32_t i = 0; i < p->items; i++) {
      quick.taken[i] = p->weight[i] <= left;
      left -= quick.taken[i] ? p->weight[i] : 0;
      quick.value += quick.taken[i] ? p->value[i] : 0;
    }
  }
  keep_best(s, &quick);
  dzo_free(order);
}

static dzo_status finish(search *s, ending end) {
  dzo_context *context = s->job->context;
  if (end != PROVED && end != BROKEN)
    improve(s);
  if (s->record->plan[0] == '\0')
    say(s->record, "stopped before any method began");
  if (s->best->value == s->best->bound)
    end = PROVED;
  switch (end) {
  case PROVED:
    context->message[0] = '\0';
    return DZO_OK;
  case OUT_OF_TIME:
  case OUT_OF_BUDGET:
    return dzo_fail(context, DZO_E_LIMIT, "the time limit was reached");
  case CANCELLED:
    return dzo_fail(context, DZO_E_CANCELLED, "cancelled");
  case NO_MEMORY:
  case NO_DEVICE:
    return dzo_fail(context, DZO_E_LIMIT, "%s", "the memory does not suffice to find the optimum");
  case BROKEN:
    break;
  }
  return s->status != DZO_OK ? s->status
                             : dzo_fail(context, DZO_E_INTERNAL, "no method found the optimum");
}

bool knapsack_is_small(const knapsack_problem *problem) {
  knapsack_wide cells = (knapsack_wide)problem->items * ((knapsack_wide)problem->capacity + 1);
  return cells <= (knapsack_wide)DZO_KNAPSACK_SMALL && knapsack_is_narrow(problem);
}

static dzo_status run_small(search *s) {
  dzo_context *context = s->job->context;
  void *room = dzo_alloc(context, 1, knapsack_small_room());
  if (room == NULL)
    return DZO_E_MEMORY;
  int64_t value;
  knapsack_small_solve(s->problem, room, s->best->taken, &value, &s->best->cells);
  dzo_free(room);
  s->best->value = s->best->bound = value;
  s->record->algorithm = DZO_KNAPSACK_DENSE;
  say(s->record, "a small instance, by a table");
  return DZO_OK;
}

static dzo_status run(search *s, dzo_knapsack_algorithm algorithm) {
  bool stops = knapsack_must_stop(s->job);
  if (stops && s->job->stopped == KNAPSACK_CANCELLED)
    return finish(s, CANCELLED);
  if (algorithm == DZO_KNAPSACK_AUTO && knapsack_is_small(s->problem))
    return run_small(s);
  if (stops)
    return finish(s, OUT_OF_TIME);
  if (algorithm == DZO_KNAPSACK_AUTO)
    return finish(s, run_auto(s));
  DZO_TRY(refuse(s, algorithm));
  ending end = run_one(s, algorithm);
  /* Without its GPU, a method may not be able to do it. */
  return finish(s, end == NO_DEVICE ? run_auto(s) : end);
}

static dzo_status run_wide(knapsack_job *job, const knapsack_normal *normal,
                           dzo_knapsack_algorithm algorithm, knapsack_answer *answer,
                           knapsack_record *record) {
  const char *what = normal->wide_capacity > INT64_MAX
                         ? "whose capacity, with the negative weights added, is beyond 64 bits"
                         : "with an item whose value is -2^63";
  if (algorithm != DZO_KNAPSACK_AUTO)
    return dzo_fail(job->context, DZO_E_UNSUPPORTED, "%s takes no instance %s; auto does",
                    dzo_knapsack_algorithm_name(algorithm), what);
  record->algorithm = DZO_KNAPSACK_TWO_LIST;
  say(record, "numbers beyond 64 bits, by one list of states");
  knapsack_job own = *job;
  own.memory = knapsack_memory_left(job);
  return knapsack_wide_solve(&own, normal, answer);
}

dzo_status knapsack_plan_run(knapsack_job *job, const knapsack_normal *normal,
                             dzo_knapsack_algorithm algorithm, knapsack_answer *answer,
                             knapsack_record *record) {
  const knapsack_problem *p = &normal->problem;
  *record = (knapsack_record){.algorithm = algorithm};
  answer->value = 0;
  answer->bound = p->value_sum;
  answer->nodes = answer->cells = 0;
  answer->device = DZO_DEVICE_CPU;
  if (p->items > 0)
    memset(answer->taken, 0, p->items);
  if (p->items == 0) {
    say(record, "nothing was left to decide");
    return DZO_OK;
  }
  if (normal->is_wide)
    return run_wide(job, normal, algorithm, answer, record);
  uint8_t *spare = dzo_alloc(job->context, p->items, 1);
  if (spare == NULL)
    return DZO_E_MEMORY;
  search s = {.job = job,
              .problem = p,
              .best = answer,
              .spare = spare,
              .record = record,
              .chooses = algorithm == DZO_KNAPSACK_AUTO};
  dzo_status status = run(&s, algorithm);
  dzo_free(s.spare);
  return status;
}
