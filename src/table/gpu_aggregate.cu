/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_aggregate_fill.cuh"
#include "table/gpu_aggregate_gather.cuh"
#include "table/gpu_aggregate_sample.cuh"
#include "table/gpu_aggregate_sort.cuh"
#include "table/gpu_aggregate_tile.cuh"

#ifndef AGGREGATE_STAGE /* for measuring */
#define AGGREGATE_STAGE(unit, queue, stage) ((void)0)
#endif

/* What a GPU's shared memory has room for. */
typedef struct geometry {
  uint32_t tile; /* records */
  unsigned hot_bits;
  uint32_t parts;
  uint32_t table_bytes;
} geometry;

enum { SMALL_TILE = 2048, SMALL_HOT_BITS = 6, MOST_TABLE_BYTES = 200 * 1024 };
enum { LEAST_PARTS = 32, MOST_PARTS = 1024, PART = 8192 /* records of a part, at least */ };
enum { LEAST_TABLE = 512, OWN_SHARED = 6 * 1024 /* of a gathering block, beside the table */ };

static geometry plan_geometry(const dzo_unit *unit, bool wide, bool first, uint64_t count,
                              uint64_t parts) {
  geometry g = {AGGREGATE_MOST_TILE, AGGREGATE_MOST_HOT_BITS, LEAST_PARTS, MOST_TABLE_BYTES};
  if (unit->shared < MOST_TABLE_BYTES + 2048) {
    g.tile = SMALL_TILE;
    g.hot_bits = SMALL_HOT_BITS;
    g.table_bytes = unit->shared > 66 * 1024 ? 64 * 1024 : (uint32_t)unit->shared - 2048;
  }
  uint32_t most = wide || first ? 2 * MOST_PARTS : MOST_PARTS;
  while (g.parts < most && count / g.parts > PART)
    g.parts *= 2;
  if (parts > 0)
    g.parts = (uint32_t)parts;
  return g;
}

/* Where things lie in the workspace. */
typedef struct workspace_plan {
  uint64_t counts, sampled, sampled_at, hot_ranks, hot_keys, hot_sums, hot_first;
  uint64_t records, record_at, index, ranges;
  uint64_t bytes;
} workspace_plan;

static uint64_t take(uint64_t *end, uint64_t bytes) {
  uint64_t begin = *end;
  *end += (bytes + 255) & ~(uint64_t)255;
  return begin;
}

static workspace_plan plan_workspace(const geometry *g, bool wide, bool first, uint64_t count) {
  uint64_t word = wide ? 8 : 4, tiles = (count + g->tile - 1) / g->tile, end = 0;
  uint64_t hot = (uint64_t)AGGREGATE_HOT_SLOTS << g->hot_bits;
  workspace_plan plan;
  plan.counts = take(&end, sizeof(aggregate_counts));
  plan.sampled = take(&end, (uint64_t)AGGREGATE_SAMPLE_SLOTS * 8);
  plan.sampled_at = take(&end, (uint64_t)AGGREGATE_SAMPLE_SLOTS * 4);
  plan.hot_ranks = take(&end, hot * 8);
  plan.hot_keys = take(&end, hot * word);
  plan.hot_sums = take(&end, hot * word);
  plan.hot_first = take(&end, hot * 4);
  plan.records = take(&end, count * 2 * word);
  plan.record_at = take(&end, first ? count * 2 : 0);
  plan.index = take(&end, tiles * (g->parts + 1) * 2);
  plan.ranges = take(&end, g->parts * sizeof(aggregate_range));
  plan.bytes = end;
  return plan;
}

extern "C" uint64_t table_aggregate_bytes(const dzo_unit *unit, bool wide, bool first,
                                          uint64_t count, uint64_t parts) {
  geometry g = plan_geometry(unit, wide, first, count, 0);
  geometry filling = plan_geometry(unit, wide, first, count, parts);
  uint64_t bytes = plan_workspace(&g, wide, first, count).bytes;
  uint64_t others = plan_workspace(&filling, wide, first, count).bytes;
  return bytes > others ? bytes : others;
}

/* What the first and the last have in common with the least and the greatest: they are those of
 * positions. */
template <typename Word>
static void choose_source(const table_aggregate *job, aggregate_state<Word> *s) {
  s->kind = job->kind;
  s->source = job->values != NULL ? AGGREGATE_GIVEN : AGGREGATE_SAME;
  s->same = job->kind == TABLE_AGGREGATE_ADD;
  if (job->kind != TABLE_AGGREGATE_FIRST && job->kind != TABLE_AGGREGATE_LAST)
    return;
  s->kind = job->kind == TABLE_AGGREGATE_FIRST ? TABLE_AGGREGATE_MIN : TABLE_AGGREGATE_MAX;
  s->source = AGGREGATE_POSITION;
}

/* How many keys there may be, if all are as frequent; 0: they are not. By A. Chao, "Nonparametric
 * estimation of the number of classes in a population", 1984; keys that are equally frequent are
 * seen three times as often as those seen once and twice tell. */
static double estimate_keys(const table_aggregate_sample *s) {
  double once = s->single, twice = s->twice;
  double unseen = twice > 0 ? once * once / (2 * twice) : once * (once - 1) / 2;
  double thrice = once > 0 ? 2 * twice * twice / (3 * once) : s->thrice;
  return s->thrice > 2 * thrice + 32 ? 0 : s->distinct + unseen;
}

/* As large as the part's keys need, where that is known: small tables leave room for more blocks,
 * and twice of it is better where it costs none of them. */
static uint32_t plan_slots(const dzo_unit *unit, const geometry *g, const table_aggregate *job,
                           uint32_t slot_bytes, uint32_t each) {
  uint64_t shared = unit->shared_all / AGGREGATE_FEW;
  uint32_t few = shared > 2 * OWN_SHARED ? (uint32_t)((shared - OWN_SHARED) / slot_bytes) - 1 : 0;
  uint32_t most = g->table_bytes / slot_bytes - 1;
  if (job->into != NULL) { /* a part of more keys does not fit the region either */
    uint32_t part = job->into->buckets * job->into->bucket_slots / job->times;
    most = part + part / 2 + LEAST_TABLE < most ? part + part / 2 + LEAST_TABLE : most;
  }
  double keys = job->looked ? estimate_keys(&job->sample) / g->parts : 0;
  if (keys > 0 && 4 * keys + LEAST_TABLE < few)
    most = (uint32_t)(4 * keys) + LEAST_TABLE;
  else if (keys > 0 && 2 * keys + LEAST_TABLE < most)
    most = (uint32_t)(2 * keys) + LEAST_TABLE;
  return most - most % each;
}

template <typename Word>
static aggregate_state<Word> make_state(const dzo_unit *unit, const table_aggregate *job) {
  bool wide = sizeof(Word) == 8, first = job->out_first != NULL;
  uint64_t parts = job->into != NULL ? job->into->regions * job->times : 0;
  geometry g = plan_geometry(unit, wide, first, job->count, parts);
  workspace_plan plan = plan_workspace(&g, wide, first, job->count);
  unsigned char *space = (unsigned char *)job->workspace;
  aggregate_state<Word> s = {};
  s.keys = (const Word *)job->keys;
  s.values = (const Word *)job->values;
  s.mix = job->mix;
  s.count = (uint32_t)job->count;
  s.tile = g.tile;
  s.tiles = (uint32_t)((job->count + g.tile - 1) / g.tile);
  s.parts = g.parts;
  s.hot_bits = g.hot_bits;
  s.table_slots = plan_slots(unit, &g, job, 2 * sizeof(Word) + (first ? 4 : 0), 16 / sizeof(Word));
  choose_source(job, &s);
  s.counts = (aggregate_counts *)(space + plan.counts);
  s.sampled = (unsigned long long *)(space + plan.sampled);
  s.sampled_at = (uint32_t *)(space + plan.sampled_at);
  s.hot_ranks = (unsigned long long *)(space + plan.hot_ranks);
  s.hot_keys = (Word *)(space + plan.hot_keys);
  s.hot_sums = (Word *)(space + plan.hot_sums);
  s.hot_first = (uint32_t *)(space + plan.hot_first);
  s.records = (aggregate_pair<Word> *)(space + plan.records);
  s.record_at = (uint16_t *)(space + plan.record_at);
  s.index = (uint16_t *)(space + plan.index);
  s.ranges = (aggregate_range *)(space + plan.ranges);
  s.out_keys = (Word *)job->out_keys;
  s.out_values = (Word *)job->out_values;
  s.out_first = job->out_first;
  return s;
}

/* ---- The steps ------------------------------------------------------------------------------- */

template <typename Word>
static dzo_status take_sample(dzo_unit *unit, int queue, const aggregate_state<Word> &s) {
  unsigned blocks = DZO_RESIDENT_BLOCKS(unit, aggregate_take_sample<Word>, 1024);
  if (blocks > AGGREGATE_SAMPLE / 1024)
    blocks = AGGREGATE_SAMPLE / 1024;
  return DZO_LAUNCH_TOGETHER(unit, queue, aggregate_take_sample<Word>, blocks, 1024, s);
}

template <typename Word, bool FIRST, unsigned THREADS, unsigned EACH>
static dzo_status run_tiles(dzo_unit *unit, int queue, const aggregate_state<Word> &s) {
  unsigned blocks = (unsigned)unit->processors * (1024 / THREADS);
  return DZO_LAUNCH_SHARED(unit, queue, (aggregate_tiles<Word, FIRST, THREADS, EACH>),
                           s.tiles < blocks ? s.tiles : blocks, THREADS,
                           aggregate_tile_bytes(s, FIRST), s);
}

/* Not for words of 64 bits. */
static dzo_status fill(dzo_unit *, int, const aggregate_state<unsigned long long> &,
                       const table_aggregate *) {
  return DZO_OK;
}

static dzo_status fill(dzo_unit *unit, int queue, const aggregate_state<uint32_t> &s,
                       const table_aggregate *job) {
  const table_layout *t = job->into;
  table_batch_run run = {};
  run.spill = job->spill;
  run.counters = &s.counts->filled;
  u64 bytes = table_block_bytes<u32>(t->buckets * t->bucket_slots, t->buckets);
  return t->bucket_slots == 4 ? DZO_LAUNCH_SHARED(unit, queue, aggregate_fill<4>, t->regions,
                                                  TABLE_BLOCK, bytes, s, *t, run, job->times)
                              : DZO_LAUNCH_SHARED(unit, queue, aggregate_fill<8>, t->regions,
                                                  TABLE_BLOCK, bytes, s, *t, run, job->times);
}

template <typename Word, bool FIRST>
static dzo_status run_tiles_of(dzo_unit *unit, int queue, const aggregate_state<Word> &s) {
  enum { THREADS = sizeof(Word) == 4 ? 512 : 1024 };
  return s.tile == SMALL_TILE
             ? run_tiles<Word, FIRST, 256, SMALL_TILE / 256>(unit, queue, s)
             : run_tiles<Word, FIRST, THREADS, AGGREGATE_MOST_TILE / THREADS>(unit, queue, s);
}

template <typename Word, bool FIRST>
static dzo_status run_gather(dzo_unit *unit, int queue, const aggregate_state<Word> &s) {
  size_t bytes = aggregate_table_bytes(s, FIRST);
  if ((bytes + OWN_SHARED) * AGGREGATE_FEW <= unit->shared_all)
    return DZO_LAUNCH_SHARED(unit, queue, (aggregate_gather<Word, FIRST, AGGREGATE_FEW_GATHERERS>),
                             s.parts, AGGREGATE_FEW_GATHERERS, bytes, s);
  return DZO_LAUNCH_SHARED(unit, queue, (aggregate_gather<Word, FIRST, AGGREGATE_GATHERERS>),
                           s.parts, AGGREGATE_GATHERERS, bytes, s);
}

/* FIRST and LAST: the values at the positions found. */
template <typename Word>
static __global__ void aggregate_values_at(const Word *values, Word *positions, uint32_t *first,
                                           const aggregate_counts *counts) {
  uint32_t unique = counts->unique;
  for (uint32_t i = aggregate_first(); i < unique; i += aggregate_stride()) {
    uint32_t at = (uint32_t)positions[i];
    positions[i] = values != NULL ? values[at] : (Word)0;
    if (first != NULL)
      first[i] = at;
  }
}

static dzo_status read_counts(dzo_unit *unit, int queue, const aggregate_counts *from,
                              table_aggregate *job, aggregate_counts *counts) {
  DZO_TRY(dzo_unit_copy(unit, queue, counts, from, sizeof *counts));
  DZO_TRY(dzo_unit_wait(unit, queue));
  job->sample.taken = AGGREGATE_SAMPLE;
  if (job->count < AGGREGATE_SAMPLE)
    job->sample.taken = (uint32_t)job->count;
  job->sample.distinct = counts->claimed;
  job->sample.single = counts->seen[1];
  job->sample.twice = counts->seen[2];
  job->sample.thrice = counts->seen[3];
  job->sample.hot = counts->hot;
  job->sample.hot_taken = counts->hot_taken;
  return DZO_OK;
}

template <typename Word>
static dzo_status put_values(dzo_unit *unit, int queue, const aggregate_state<Word> &s,
                             bool first) {
  if (s.source != AGGREGATE_POSITION)
    return DZO_OK;
  return DZO_LAUNCH(unit, queue, aggregate_values_at<Word>, unit->processors * 8, 256, s.values,
                    s.out_values, first ? NULL : s.out_first, s.counts);
}

template <typename Word> static dzo_status look(dzo_unit *unit, int queue, table_aggregate *job) {
  aggregate_state<Word> s = make_state<Word>(unit, job);
  aggregate_counts counts;
  DZO_TRY(take_sample(unit, queue, s));
  DZO_TRY(read_counts(unit, queue, s.counts, job, &counts));
  job->looked = true;
  return DZO_OK;
}

/* Sets job->filled if the table could take all; if not, it is empty again. */
template <typename Word>
static dzo_status try_fill(dzo_unit *unit, int queue, const aggregate_state<Word> &s,
                           table_aggregate *job) {
  const table_layout *t = job->into;
  aggregate_counts counts;
  DZO_TRY(fill(unit, queue, s, job));
  AGGREGATE_STAGE(unit, queue, 4);
  DZO_TRY(read_counts(unit, queue, s.counts, job, &counts));
  job->filled = counts.filled.refused == 0 && counts.filled.inserted <= job->most;
  job->unique = counts.filled.inserted;
  job->spilled = counts.filled.spilled;
  uint64_t slots = t->regions * t->buckets * t->bucket_slots + 1;
  return job->filled ? DZO_OK : dzo_unit_fill(unit, queue, t->slots, 0xff, slots * 8);
}

template <typename Word, bool FIRST>
static dzo_status end_gather(dzo_unit *unit, int queue, const aggregate_state<Word> &s,
                             table_aggregate *job) {
  aggregate_counts counts;
  DZO_TRY(put_values(unit, queue, s, FIRST));
  DZO_TRY(read_counts(unit, queue, s.counts, job, &counts));
  if (counts.failed > 0) {
    DZO_TRY(aggregate_by_sorting(unit, queue, s));
    DZO_TRY(put_values(unit, queue, s, FIRST));
    DZO_TRY(read_counts(unit, queue, s.counts, job, &counts));
  }
  job->unique = counts.unique;
  return DZO_OK;
}

template <typename Word, bool FIRST>
static dzo_status run_steps(dzo_unit *unit, int queue, const aggregate_state<Word> &s,
                            table_aggregate *job) {
  AGGREGATE_STAGE(unit, queue, 1);
  DZO_TRY((run_tiles_of<Word, FIRST>(unit, queue, s)));
  AGGREGATE_STAGE(unit, queue, 2);
  DZO_TRY((run_gather<Word, FIRST>(unit, queue, s)));
  AGGREGATE_STAGE(unit, queue, 3);
  if (job->into != NULL)
    DZO_TRY(try_fill(unit, queue, s, job));
  return job->filled ? DZO_OK : end_gather<Word, FIRST>(unit, queue, s, job);
}

template <typename Word> static dzo_status run(dzo_unit *unit, int queue, table_aggregate *job) {
  /* The first position is what FIRST finds anyway. */
  bool first = job->out_first != NULL && job->kind != TABLE_AGGREGATE_FIRST;
  AGGREGATE_STAGE(unit, queue, 0);
  if (!job->looked)
    DZO_TRY(look<Word>(unit, queue, job));
  aggregate_state<Word> s = make_state<Word>(unit, job);
  return first ? run_steps<Word, true>(unit, queue, s, job)
               : run_steps<Word, false>(unit, queue, s, job);
}

extern "C" dzo_status table_aggregate_look(dzo_unit *unit, int queue, table_aggregate *job) {
  job->sample = {};
  if (job->count == 0)
    return DZO_OK;
  return job->wide ? look<unsigned long long>(unit, queue, job) : look<uint32_t>(unit, queue, job);
}

extern "C" dzo_status table_aggregate_run(dzo_unit *unit, int queue, table_aggregate *job) {
  job->unique = job->spilled = 0;
  job->filled = false;
  if (job->count == 0)
    return DZO_OK;
  return job->wide ? run<unsigned long long>(unit, queue, job) : run<uint32_t>(unit, queue, job);
}
