/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The rest of a search on the GPU: lists that the CPU began are sent there, grow on, and are walked
 * over once for each choice about the items that remain. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/two_list.h"
#include "knapsack/two_list_gpu.h"

/* Two items that are left to choices cost as much in walks as they save in merging, and save half
 * the memory. A scan's blocks are asked whether to stop behind so many subsets' walks. */
enum { LEFT = 2, ALIGNMENT = 256 };
#define BATCH_SUBSETS (UINT64_C(1) << 36)
#define LONG_LIST (UINT64_C(1) << 26)
/* More memory than this is given back: others may want it, and taking it again is a matter of
 * milliseconds where the search took tens. */
#define KEPT_BYTES (UINT64_C(1) << 30)

typedef struct device_run {
  two_list_run *run;
  dzo_unit *unit;
  bool values;
  two_list_device list[2], spare;
  uint32_t joins[2]; /* items that each list takes on the GPU */
  uint64_t count[2]; /* subsets in the end */
  unsigned blocks;
  two_list_record *records, *received; /* [blocks] on the device and here */
  unsigned *found;
  uint8_t *places; /* [TWO_LIST_CHOICES][items] what was chosen for the scans of a batch */
} device_run;

/* The GPU prunes nothing, so where bounds do, it is of use for the last few items only, which it
 * adds to both lists in some 20 ms; where they do not, as far as its memory goes, and for a few
 * choices beyond. */
static bool is_near_the_end(const two_list_run *run) {
  enum { FEW = 56, CHOSEN = 10 };
  double room = (double)(dzo_unit_available(run->job->gpu) + run->job->gpu->workspace_bytes) / 40;
  double pairs = (double)run->list[0].count * (double)run->list[1].count;
  double bits = log2(pairs) + run->problem->items - run->joined;
  return bits < (run->unpruned ? 2 * log2(room) + CHOSEN : FEW);
}

bool two_list_gpu_suits(const two_list_run *run, uint64_t subsets) {
  bool pruned = !run->kind->sums && !run->unpruned;
  return run->top && run->job->gpu != NULL && !run->gpu_off && run->kind->part != NULL &&
         subsets >= run->tuning->gpu_from[pruned] && knapsack_is_narrow(run->problem) &&
         (run->kind->sums || is_near_the_end(run));
}

/* ---- What the GPU's memory holds ------------------------------------------------------------- */

static uint64_t aligned(uint64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static uint64_t spare_count(const device_run *d) {
  uint64_t spare = 1;
  for (int i = 0; i < 2; i++)
    if (d->joins[i] > 0 && d->count[i] / 2 > spare)
      spare = d->count[i] / 2;
  return spare;
}

static uint64_t bytes_of(const device_run *d) {
  uint64_t each = d->values ? 2 : 1;
  return each *
             (aligned(d->count[0] * 8) + aligned(d->count[1] * 8) + aligned(spare_count(d) * 8)) +
         aligned(d->blocks * sizeof *d->records) + ALIGNMENT;
}

/* How many of the remaining items join on the GPU, and which list each does. */
static bool plan(device_run *d, double hits, uint8_t *side) {
  two_list_run *run = d->run;
  const two_list_tuning *tuning = run->tuning;
  uint64_t most = dzo_unit_available(d->unit) + d->unit->workspace_bytes;
  most -= most / 16;
  if (tuning->gpu_memory != 0 && tuning->gpu_memory < most)
    most = tuning->gpu_memory;
  uint32_t rest = run->problem->items - run->joined, joins = 0;
  uint32_t items[2] = {run->list[0].items, run->list[1].items};
  for (int i = 0; i < 2; i++)
    d->count[i] = run->list[i].count;
  if (bytes_of(d) > most)
    return false;
  for (; joins + LEFT < rest; joins++) {
    int which = d->count[1] < d->count[0];
    if (items[which] + 1 > 2 * run->problem->items / 3)
      which = 1 - which;
    if (run->kind->sums && two_list_density(run, (double)d->count[0], (double)d->count[1]) >= hits)
      break;
    d->count[which] *= 2;
    d->joins[which]++;
    if (bytes_of(d) > most) {
      d->count[which] /= 2;
      d->joins[which]--;
      break;
    }
    items[which]++;
    side[joins] = (uint8_t)which;
  }
  return true;
}

static char *carve(char *at, uint64_t count, bool values, two_list_device *list) {
  list->weight = (int64_t *)(void *)at;
  at += aligned(count * 8);
  list->value = values ? (int64_t *)(void *)at : NULL;
  return values ? at + aligned(count * 8) : at;
}

static dzo_status take_memory(device_run *d) {
  void *memory;
  DZO_TRY(dzo_unit_workspace(d->unit, bytes_of(d), &memory));
  char *at = memory;
  at = carve(at, d->count[0], d->values, &d->list[0]);
  at = carve(at, d->count[1], d->values, &d->list[1]);
  at = carve(at, spare_count(d), d->values, &d->spare);
  d->records = (two_list_record *)(void *)at;
  d->found = (unsigned *)(void *)(at + aligned(d->blocks * sizeof *d->records));
  dzo_context *context = d->run->job->context;
  d->received = dzo_alloc(context, d->blocks, sizeof *d->received);
  d->places = dzo_alloc(context, TWO_LIST_CHOICES, d->run->problem->items);
  return d->received == NULL || d->places == NULL ? DZO_E_MEMORY : DZO_OK;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static dzo_status send(device_run *d, const two_list_list *list, two_list_device *to) {
  const two_list_kind *kind = d->run->kind;
  int64_t *parts = dzo_alloc(d->run->job->context, list->count, 2 * sizeof *parts);
  if (parts == NULL)
    return DZO_E_MEMORY;
  kind->part(list, parts, parts + list->count);
  uint64_t bytes = list->count * sizeof *parts;
  dzo_status status = dzo_unit_copy(d->unit, 0, to->weight, parts, bytes);
  if (status == DZO_OK && d->values)
    status = dzo_unit_copy(d->unit, 0, to->value, parts + list->count, bytes);
  if (status == DZO_OK)
    status = dzo_unit_wait(d->unit, 0);
  dzo_free(parts);
  to->count = list->count;
  return status;
}

/* The items that join one list; it ends up in its own memory. */
static dzo_status grow(device_run *d, int which, const uint8_t *side) {
  two_list_run *run = d->run;
  two_list_device *from = d->joins[which] % 2 != 0 ? &d->spare : &d->list[which],
                  *to = d->joins[which] % 2 != 0 ? &d->list[which] : &d->spare;
  DZO_TRY(send(d, &run->list[which], from));
  uint32_t joins = d->joins[0] + d->joins[1];
  for (uint32_t k = 0; k < joins && !run->stopped; k++) {
    uint32_t item = run->queue[run->joined + k];
    if (side[k] != which)
      continue;
    DZO_TRY(
        two_list_gpu_add(d->unit, from, run->problem->weight[item], run->problem->value[item], to));
    run->place[item] = which == 0 ? TWO_LIST_FIRST : TWO_LIST_SECOND;
    run->states += to->count;
    two_list_device *other = from;
    from = to;
    to = other;
    if (from->count >= LONG_LIST) {
      DZO_TRY(dzo_unit_wait(d->unit, 0));
      run->stopped = two_list_report(run);
    }
  }
  return DZO_OK;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static dzo_status begin_records(device_run *d) {
  for (unsigned i = 0; i < d->blocks; i++)
    d->received[i] = (two_list_record){.value = (int64_t)d->run->best};
  DZO_TRY(dzo_unit_fill(d->unit, 0, d->found, 0, sizeof *d->found));
  DZO_TRY(dzo_unit_copy(d->unit, 0, d->records, d->received, d->blocks * sizeof *d->records));
  return dzo_unit_wait(d->unit, 0);
}

/* What the scans of a batch found. */
static dzo_status receive(device_run *d, uint64_t first) {
  DZO_TRY(dzo_unit_copy(d->unit, 0, d->received, d->records, d->blocks * sizeof *d->records));
  DZO_TRY(dzo_unit_wait(d->unit, 0));
  const two_list_record *best = &d->received[0];
  for (unsigned i = 1; i < d->blocks; i++)
    if (d->received[i].value > best->value)
      best = &d->received[i];
  if (best->value > d->run->best)
    two_list_claim_pair(d->run, d->places + (best->scan - first) * d->run->problem->items,
                        best->weight, best->value);
  return DZO_OK;
}

static dzo_status walk_batch(device_run *d, two_list_choices *choices, uint64_t first,
                             uint64_t most, bool *all) {
  two_list_run *run = d->run;
  uint64_t count = 0;
  for (; count < most; count++) {
    *all = !two_list_choices_next(choices);
    if (*all)
      break;
    memcpy(d->places + count * run->problem->items, run->place, run->problem->items);
    two_list_scan scan = {.first = &d->list[0],
                          .second = &d->list[1],
                          .capacity = choices->left,
                          .base = (int64_t)choices->in,
                          .goal = (int64_t)run->goal,
                          .number = first + count,
                          .records = d->records,
                          .found = d->found};
    DZO_TRY(two_list_gpu_scan(d->unit, &scan));
    run->states += d->count[0] + d->count[1];
  }
  return count == 0 ? DZO_OK : receive(d, first);
}

static dzo_status walk(device_run *d) {
  two_list_run *run = d->run;
  two_list_choices choices;
  uint64_t most = BATCH_SUBSETS / (d->count[0] + d->count[1]), number = 0;
  unsigned limit = run->tuning->gpu_choices;
  most = most < 1 ? 1 : most > limit ? limit : most;
  dzo_status status = two_list_choices_begin(run, &choices);
  if (status == DZO_OK)
    status = begin_records(d);
  bool all = false;
  while (status == DZO_OK && !all && !run->stopped && run->best < run->goal) {
    status = walk_batch(d, &choices, number, most, &all);
    number += most;
    run->stopped = two_list_report(run);
  }
  if (status == DZO_OK && all)
    run->goal = run->best;
  two_list_choices_end(&choices);
  return status;
}

static dzo_status search(device_run *d, const uint8_t *side) {
  two_list_run *run = d->run;
  DZO_TRY(take_memory(d));
  DZO_TRY(grow(d, 0, side));
  DZO_TRY(grow(d, 1, side));
  run->joined += d->joins[0] + d->joins[1];
  return run->stopped ? DZO_OK : walk(d);
}

dzo_status two_list_on_gpu(two_list_run *run, double hits, bool *done) {
  device_run d = {.run = run, .unit = run->job->gpu, .values = !run->kind->sums};
  d.blocks = two_list_gpu_records(d.unit, d.values);
  uint8_t *side = dzo_calloc(run->job->context, run->problem->items, 1);
  if (side == NULL)
    return DZO_E_MEMORY;
  *done = plan(&d, hits, side);
  dzo_status status = *done ? search(&d, side) : DZO_OK;
  run->on_gpu = run->on_gpu || *done;
  if (d.unit->workspace_bytes > KEPT_BYTES)
    dzo_unit_workspace_release(d.unit);
  dzo_free(d.received);
  dzo_free(d.places);
  dzo_free(side);
  return status;
}
