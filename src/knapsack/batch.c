/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Most batches are of many instances that need no normal form but for items that do not fit. So
 * such are looked at, packed side by side where something is dropped, and solved together; nothing
 * is allocated for one of them. */
#include "knapsack/batch.h"

#include <string.h>

#include "base/clones.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/parallel.h"
#include "knapsack/small.h"

/* Instances and items that are solved together at most. */
enum { PIECE = 1 << 20, PIECE_ITEMS = 1 << 23, GRAIN = 128 };

void dzo_knapsack_batch_init(dzo_knapsack_batch *batch) {
  *batch = (dzo_knapsack_batch){.size = sizeof *batch};
}

/* ---- Answers --------------------------------------------------------------------------------- */

dzo_knapsack_instance batch_instance(const dzo_knapsack_batch *batch, uint64_t i) {
  uint64_t at = batch->offsets[i];
  dzo_knapsack_instance instance = {.size = sizeof instance,
                                    .count = batch->offsets[i + 1] - at,
                                    .capacity = batch->capacities[i]};
  if (instance.count > 0) {
    instance.values = batch->values + at;
    instance.weights = batch->weights + at;
    instance.copies = batch->copies != NULL ? batch->copies + at : NULL;
  }
  return instance;
}

void batch_put(batch_run *run, uint64_t i, dzo_knapsack_outcome outcome, dzo_int128 value,
               dzo_int128 weight, dzo_int128 bound) {
  dzo_knapsack_batch *b = run->batch;
  if (b->outcomes != NULL)
    b->outcomes[i] = (uint8_t)outcome;
  if (b->value_sums != NULL)
    b->value_sums[i] = value;
  if (b->weight_sums != NULL)
    b->weight_sums[i] = weight;
  if (b->bounds != NULL)
    b->bounds[i] = bound;
}

void batch_report(batch_run *run, uint64_t done) {
  if (dzo_progress(run->job.context, "solve", done, run->batch->count) != DZO_OK)
    __atomic_store_n(&run->job.stopped, KNAPSACK_CANCELLED, __ATOMIC_RELAXED);
}

/* ---- A piece of the batch -------------------------------------------------------------------- */

enum { SINGLE, ALL_FIT, WHOLE, PACKED };

typedef struct piece {
  batch_run *run;
  uint64_t begin, count; /* instances of the batch */
  uint8_t *kinds;        /* [count] */
  uint64_t *offsets;     /* [count + 1] kept items of each instance, then where they lie */
  uint64_t *solved;      /* [smalls.count] which instance of the piece is the small one k */
  int64_t *value, *weight, *capacity, *best;
  uint8_t *taken;
  knapsack_smalls smalls;
  bool wrong; /* accessed atomically */
} piece;

/* Is this item one to decide about? Of those that are not, some are free. */
static bool is_open(int64_t value, int64_t weight, int64_t capacity) {
  return value > 0 && weight > 0 && weight <= capacity;
}
static bool is_free(int64_t value, int64_t weight) { return value > 0 && weight == 0; }

static uint8_t kind_of(const dzo_knapsack_instance *k, uint64_t *kept) {
  knapsack_problem p;
  *kept = k->count;
  if (k->copies != NULL || k->capacity < 0)
    return SINGLE;
  if (knapsack_is_normal(k->count, k->values, k->weights, NULL, k->capacity, &p))
    return knapsack_is_small(&p) ? WHOLE : SINGLE;
  p = (knapsack_problem){.capacity = k->capacity};
  for (uint64_t i = 0; i < k->count; i++) {
    int64_t v = k->values[i], w = k->weights[i];
    if (v < 0 || w < 0)
      return SINGLE;
    if (!is_open(v, w, k->capacity))
      continue;
    p.items++;
    p.value_sum += v;
    p.weight_sum += w;
  }
  *kept = p.items;
  if (!knapsack_is_small(&p))
    return SINGLE;
  return p.weight_sum <= p.capacity ? ALL_FIT : PACKED;
}

static void look(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  piece *p = argument;
  bool asked = p->run->options->algorithm != DZO_KNAPSACK_AUTO;
  for (uint64_t i = begin; i < end; i++) {
    dzo_knapsack_instance k = batch_instance(p->run->batch, p->begin + i);
    p->kinds[i] = asked ? SINGLE : kind_of(&k, &p->offsets[i]);
  }
}

/* Where the items of each small instance will lie. Returns whether they lie so already. */
static bool place(piece *p) {
  uint64_t at = 0, smalls = 0;
  bool whole = true;
  for (uint64_t i = 0; i < p->count; i++) {
    uint64_t kept = p->offsets[i];
    whole = whole && p->kinds[i] == WHOLE;
    if (p->kinds[i] == SINGLE)
      p->run->singles[p->run->single_count++] = p->begin + i;
    if (p->kinds[i] < WHOLE)
      continue;
    p->offsets[smalls] = at;
    p->capacity[smalls] = p->run->batch->capacities[p->begin + i];
    p->solved[smalls++] = i;
    at += kept;
  }
  p->offsets[smalls] = at;
  p->smalls.count = smalls;
  return whole;
}

static void pack(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  piece *p = argument;
  for (uint64_t s = begin; s < end; s++) {
    dzo_knapsack_instance k = batch_instance(p->run->batch, p->begin + p->solved[s]);
    uint64_t at = p->offsets[s];
    for (uint64_t i = 0; i < k.count; i++)
      if (is_open(k.values[i], k.weights[i], k.capacity)) {
        p->value[at] = k.values[i];
        p->weight[at++] = k.weights[i];
      }
  }
}

/* ---- What became of it ----------------------------------------------------------------------- */

typedef struct sums {
  int64_t open_value, open_weight; /* of those taken that were to be decided about */
  knapsack_wide all_value;         /* of all of those, taken or not */
  knapsack_wide free_value;
} sums;

/* Where all items are open. */
DZO_CLONES static void add_taken(const dzo_knapsack_instance *k, const uint8_t *taken, sums *s) {
  int64_t value = 0, weight = 0;
  for (uint64_t i = 0; i < k->count; i++) {
    int64_t mask = -(int64_t)taken[i];
    value += k->values[i] & mask;
    weight += k->weights[i] & mask;
  }
  s->open_value = value;
  s->open_weight = weight;
}

DZO_CLONES static void widen(uint64_t count, const uint8_t *taken, int64_t *out) {
  for (uint64_t i = 0; i < count; i++)
    out[i] = taken[i];
}

/* Write which items are taken; `taken` NULL: all that are open. */
static sums spread(const dzo_knapsack_instance *k, const uint8_t *taken, bool whole, int64_t *out) {
  sums s = {0, 0, 0, 0};
  if (whole) {
    add_taken(k, taken, &s);
    if (out != NULL)
      widen(k->count, taken, out);
    return s;
  }
  for (uint64_t i = 0, at = 0; i < k->count; i++) {
    bool open = is_open(k->values[i], k->weights[i], k->capacity),
         is_taken = open && (taken == NULL || taken[at]);
    at += open;
    s.open_value += is_taken ? k->values[i] : 0;
    s.open_weight += is_taken ? k->weights[i] : 0;
    s.all_value += open ? k->values[i] : 0;
    if (is_free(k->values[i], k->weights[i])) {
      is_taken = true;
      s.free_value += k->values[i];
    }
    if (out != NULL)
      out[i] = is_taken;
  }
  return s;
}

void batch_note_device(batch_run *run, dzo_device device) {
  unsigned devices = device == DZO_DEVICE_CUDA     ? BATCH_GPU
                     : device == DZO_DEVICE_HYBRID ? BATCH_CPU | BATCH_GPU
                                                   : BATCH_CPU;
  __atomic_fetch_or(&run->devices, devices, __ATOMIC_RELAXED);
}

static int64_t *taken_of(const batch_run *run, uint64_t i) {
  dzo_knapsack_batch *b = run->batch;
  return b->taken != NULL && b->offsets[i + 1] > b->offsets[i] ? b->taken + b->offsets[i] : NULL;
}

/* Instance i of the batch, of which the method says that it is worth `best`; -1: it was not begun.
 */
static bool put_small(batch_run *run, uint64_t i, bool whole, const uint8_t *taken, int64_t best) {
  dzo_knapsack_instance k = batch_instance(run->batch, i);
  bool begun = best >= 0;
  sums s = spread(&k, taken, whole && begun, taken_of(run, i));
  knapsack_wide value = s.open_value + s.free_value;
  knapsack_wide bound = begun ? value : s.all_value + s.free_value;
  batch_put(run, i, value == bound ? DZO_KNAPSACK_OPTIMAL : DZO_KNAPSACK_FEASIBLE,
            knapsack_public(value), knapsack_public(s.open_weight), knapsack_public(bound));
  __atomic_fetch_add(&run->outcomes[value == bound ? DZO_KNAPSACK_OPTIMAL : DZO_KNAPSACK_FEASIBLE],
                     1, __ATOMIC_RELAXED);
  return !begun || (s.open_value == best && s.open_weight <= k.capacity);
}

static void unpack(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  piece *p = argument;
  for (uint64_t s = begin; s < end; s++) {
    uint64_t i = p->solved[s];
    uint8_t *taken = p->taken + p->offsets[s];
    if (p->best[s] < 0)
      memset(taken, 0, p->offsets[s + 1] - p->offsets[s]);
    if (!put_small(p->run, p->begin + i, p->kinds[i] == WHOLE, taken, p->best[s]))
      __atomic_store_n(&p->wrong, true, __ATOMIC_RELAXED);
  }
}

/* Those of which all that is worth anything fits. */
static void take_all(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  piece *p = argument;
  for (uint64_t i = begin; i < end; i++)
    if (p->kinds[i] == ALL_FIT)
      (void)put_small(p->run, p->begin + i, false, NULL, 0);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void free_piece(piece *p) {
  dzo_free(p->kinds);
  dzo_free(p->offsets);
  dzo_free(p->solved);
  dzo_free(p->capacity);
  dzo_free(p->best);
  dzo_free(p->value);
  dzo_free(p->weight);
  dzo_free(p->taken);
}

static dzo_status make_piece(batch_run *run, piece *p) {
  dzo_context *context = run->job.context;
  p->kinds = dzo_alloc(context, p->count, 1);
  p->offsets = dzo_alloc(context, p->count + 1, sizeof *p->offsets);
  p->solved = dzo_alloc(context, p->count, sizeof *p->solved);
  p->capacity = dzo_alloc(context, p->count, sizeof *p->capacity);
  p->best = dzo_alloc(context, p->count, sizeof *p->best);
  bool all = p->kinds != NULL && p->offsets != NULL && p->solved != NULL && p->capacity != NULL &&
             p->best != NULL;
  return all ? DZO_OK : DZO_E_MEMORY;
}

/* Bring the items together, where they are not. */
static dzo_status gather(piece *p, bool whole) {
  dzo_context *context = p->run->job.context;
  uint64_t items = p->offsets[p->smalls.count];
  p->taken = dzo_alloc(context, items, 1);
  if (p->taken == NULL)
    return DZO_E_MEMORY;
  p->smalls.offsets = p->offsets;
  p->smalls.capacity = p->capacity;
  p->smalls.taken = p->taken;
  p->smalls.best = p->best;
  if (whole) {
    p->smalls.value = p->run->batch->values + p->run->batch->offsets[p->begin];
    p->smalls.weight = p->run->batch->weights + p->run->batch->offsets[p->begin];
    return DZO_OK;
  }
  p->value = dzo_alloc(context, items, sizeof *p->value);
  p->weight = dzo_alloc(context, items, sizeof *p->weight);
  if (p->value == NULL || p->weight == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(p->run->job.threads, p->smalls.count, GRAIN, pack, p);
  p->smalls.value = p->value;
  p->smalls.weight = p->weight;
  return DZO_OK;
}

static dzo_status solve_smalls(piece *p) {
  knapsack_job *job = &p->run->job;
  uint64_t cells = 0;
  dzo_device device = DZO_DEVICE_CPU;
  for (uint64_t s = 0; s < p->smalls.count; s++)
    p->best[s] = -1;
  dzo_status status = knapsack_small_run(job, &p->smalls, &cells, &device);
  if ((status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED || status == DZO_E_MEMORY) &&
      job->gpu != NULL) {
    dzo_notice(job->context, "%s; solved on the CPU",
               job->gpu->lost ? job->gpu->reason : job->context->message);
    job->gpu = NULL;
    job->cpu = true;
    status = knapsack_small_run(job, &p->smalls, &cells, &device);
  }
  batch_note_device(p->run, device);
  return status;
}

static dzo_status run_piece(batch_run *run, piece *p) {
  DZO_TRY(make_piece(run, p));
  dzo_parallel_for(run->job.threads, p->count, GRAIN, look, p);
  bool whole = place(p);
  dzo_parallel_for(run->job.threads, p->count, GRAIN, take_all, p);
  if (p->smalls.count == 0)
    return DZO_OK;
  DZO_TRY(gather(p, whole));
  DZO_TRY(solve_smalls(p));
  dzo_parallel_for(run->job.threads, p->smalls.count, GRAIN, unpack, p);
  return !p->wrong ? DZO_OK
                   : dzo_fail(run->job.context, DZO_E_INTERNAL,
                              "the items that were found are not worth what they should");
}

/* As many instances as go together. */
static uint64_t end_of_piece(const dzo_knapsack_batch *b, uint64_t begin) {
  uint64_t end = begin + 1;
  while (end < b->count && end - begin < PIECE &&
         b->offsets[end + 1] - b->offsets[begin] <= PIECE_ITEMS)
    end++;
  return end;
}

static dzo_status run_batch(batch_run *run) {
  dzo_context *context = run->job.context;
  run->singles = dzo_alloc(context, run->batch->count, sizeof *run->singles);
  dzo_status status = run->singles != NULL ? DZO_OK : DZO_E_MEMORY;
  for (uint64_t begin = 0, end; begin < run->batch->count && status == DZO_OK; begin = end) {
    end = end_of_piece(run->batch, begin);
    piece p = {.run = run, .begin = begin, .count = end - begin};
    status = run_piece(run, &p);
    free_piece(&p);
    batch_report(run, end - run->single_count);
  }
  if (status == DZO_OK)
    status = batch_solve_singles(run);
  dzo_free(run->singles);
  return status;
}

/* ---- The entry ------------------------------------------------------------------------------- */

static dzo_status check_copies(dzo_context *context, const dzo_knapsack_batch *b, uint64_t i) {
  for (uint64_t k = b->offsets[i]; b->copies != NULL && k < b->offsets[i + 1]; k++)
    if (b->copies[k] < 0)
      return dzo_fail(
          context, DZO_E_ARGUMENT, "instance %llu, item %llu: there cannot be %lld copies of it",
          (unsigned long long)i, (unsigned long long)(k - b->offsets[i]), (long long)b->copies[k]);
  return DZO_OK;
}

static dzo_status check(dzo_context *context, const dzo_knapsack_batch *b) {
  if (b == NULL || b->size < sizeof *b)
    return dzo_fail(context, DZO_E_ARGUMENT, "no batch, or one of another size");
  if (b->count == 0)
    return DZO_OK;
  if (b->offsets == NULL || b->capacities == NULL || b->offsets[0] != 0)
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "a batch needs capacities, and offsets that begin with 0");
  for (uint64_t i = 0; i < b->count; i++) {
    if (b->offsets[i + 1] < b->offsets[i] || b->offsets[i + 1] - b->offsets[i] > DZO_KNAPSACK_ITEMS)
      return dzo_fail(context, DZO_E_ARGUMENT,
                      "instance %llu: its items begin at %llu and end before %llu",
                      (unsigned long long)i, (unsigned long long)b->offsets[i],
                      (unsigned long long)b->offsets[i + 1]);
    if (b->copies != NULL)
      DZO_TRY(check_copies(context, b, i));
  }
  if (b->offsets[b->count] > 0 && (b->values == NULL || b->weights == NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "items without values or weights");
  return DZO_OK;
}

dzo_status dzo_knapsack_run_batch(dzo_context *context, dzo_knapsack_batch *batch,
                                  const dzo_knapsack_options *options) {
  dzo_begin(context);
  dzo_knapsack_options o;
  DZO_TRY(knapsack_read_options(context, options, &o));
  DZO_TRY(check(context, batch));
  batch_run run = {.batch = batch, .options = &o, .job = knapsack_job_of(context, &o)};
  dzo_status status = batch->count > 0 ? run_batch(&run) : DZO_OK;
  batch->optimal = run.outcomes[DZO_KNAPSACK_OPTIMAL];
  batch->feasible = run.outcomes[DZO_KNAPSACK_FEASIBLE];
  batch->infeasible = run.outcomes[DZO_KNAPSACK_INFEASIBLE];
  batch->device = run.devices == (BATCH_CPU | BATCH_GPU) ? DZO_DEVICE_HYBRID
                  : run.devices == BATCH_GPU             ? DZO_DEVICE_CUDA
                                                         : DZO_DEVICE_CPU;
  if (status != DZO_OK)
    return status;
  context->message[0] = '\0';
  if (batch->feasible == 0)
    return DZO_OK;
  (void)knapsack_must_stop(&run.job);
  if (run.job.stopped == KNAPSACK_CANCELLED)
    return dzo_fail(context, DZO_E_CANCELLED, "cancelled");
  return dzo_fail(context, DZO_E_LIMIT, "%llu of %llu instances are not solved: %s",
                  (unsigned long long)batch->feasible, (unsigned long long)batch->count,
                  run.job.stopped == KNAPSACK_OUT_OF_TIME ? "the time limit was reached"
                                                          : "the memory does not suffice");
}
