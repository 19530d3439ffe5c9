/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The table's rows on the CPU: each thread writes ranges of a row, and all of a word of decisions.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/clones.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "knapsack/dense_engine.h"

/* GRAIN is a multiple of WORD; BLOCK cells are decided on before their bits are packed. */
enum { WORD = 64, BLOCK = 1024, GRAIN = 1 << 16 };

/* out[i] = max(stay[i] + stay_add, take[i] + take_add), not below none; taken[i]: is it the second?
 */
#define DENSE_CHOOSE(bits, none)                                                                   \
  DZO_CLONES static void choose##bits(const int##bits##_t *restrict stay, int##bits##_t stay_add,  \
                                      const int##bits##_t *restrict take, int##bits##_t take_add,  \
                                      uint64_t count, int##bits##_t *restrict out,                 \
                                      uint8_t *restrict taken) {                                   \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      int##bits##_t without = stay[i] + stay_add, with = take[i] + take_add;                       \
      int##bits##_t best = with > without ? with : without;                                        \
      out[i] = best > none ? best : none;                                                          \
      taken[i] = with > without;                                                                   \
    }                                                                                              \
  }                                                                                                \
  DZO_CLONES static void move##bits(const int##bits##_t *restrict from, int##bits##_t add,         \
                                    uint64_t count, int##bits##_t *restrict out) {                 \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      int##bits##_t best = from[i] + add;                                                          \
      out[i] = best > none ? best : none;                                                          \
    }                                                                                              \
  }                                                                                                \
  static void fill##bits(uint64_t count, int##bits##_t *out) {                                     \
    for (uint64_t i = 0; i < count; i++)                                                           \
      out[i] = none;                                                                               \
  }
DENSE_CHOOSE(32, DENSE_NONE)
DENSE_CHOOSE(64, DENSE_NONE_WIDE)

/* Eight bytes of 0 or 1 as eight bits: byte i goes from bit 8 i to bit 56 + i. */
DZO_ITEM uint64_t pack8(const uint8_t *taken) {
  return dzo_get64(taken) * UINT64_C(0x0102040810204080) >> 56;
}

/* Set the bits from number `at` on. The words are 0 there. */
static void set_bits(uint64_t *words, uint64_t at, const uint8_t *taken, uint64_t count) {
  uint64_t i = 0;
  for (; i < count && (at + i) % WORD != 0; i++)
    words[(at + i) / WORD] |= (uint64_t)taken[i] << ((at + i) % WORD);
  for (; i + WORD <= count; i += WORD) {
    uint64_t word = 0;
    for (unsigned k = 0; k < WORD; k += 8)
      word |= pack8(taken + i + k) << k;
    words[(at + i) / WORD] = word;
  }
  for (; i < count; i++)
    words[(at + i) / WORD] |= (uint64_t)taken[i] << ((at + i) % WORD);
}

typedef struct row_job {
  dense_engine *engine;
  const dense_step *step;
} row_job;

/* Cells first .. first + count - 1 of a segment, at most BLOCK; taken[count] becomes the decisions.
 */
static void write_block(const dense_engine *e, const dense_segment *s, uint64_t first,
                        uint64_t count, uint8_t *taken) {
  bool stays = s->stay != DENSE_NOWHERE, takes = s->take != DENSE_NOWHERE;
  uint64_t stay = s->stay + first, take = s->take + first, out = s->out + first;
  uint64_t from = stays ? stay : take;
  int64_t add = stays ? s->stay_add : s->take_add;
  if (!(stays && takes))
    memset(taken, takes, count);
  if (e->wide) {
    const int64_t *in = e->row[0];
    int64_t *to = (int64_t *)e->row[1] + out;
    if (stays && takes)
      choose64(in + stay, s->stay_add, in + take, s->take_add, count, to, taken);
    else if (stays || takes)
      move64(in + from, add, count, to);
    else
      fill64(count, to);
    return;
  }
  const int32_t *in = e->row[0];
  int32_t *to = (int32_t *)e->row[1] + out;
  if (stays && takes)
    choose32(in + stay, (int32_t)s->stay_add, in + take, (int32_t)s->take_add, count, to, taken);
  else if (stays || takes)
    move32(in + from, (int32_t)add, count, to);
  else
    fill32(count, to);
}

/* The segment of a cell. */
static uint64_t find_segment(const dense_step *step, uint64_t cell) {
  uint64_t low = 0, high = step->segments;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (step->segment[middle].out <= cell)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void write_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const row_job *job = argument;
  const dense_engine *e = job->engine;
  const dense_step *step = job->step;
  if (knapsack_must_stop(e->job))
    return;
  uint64_t *words = e->decision + step->first_word;
  if (step->keep)
    memset(words + begin / WORD, 0, (end - begin + WORD - 1) / WORD * sizeof *words);
  uint8_t taken[BLOCK];
  uint64_t number = find_segment(step, begin);
  for (uint64_t at = begin; at < end;) {
    const dense_segment *s = &step->segment[number];
    uint64_t first = at - s->out, count = s->count - first;
    /* Blocks after the first begin with a whole word. */
    uint64_t block = BLOCK - at % WORD;
    count = count < end - at ? count : end - at;
    count = count < block ? count : block;
    write_block(e, s, first, count, taken);
    if (step->keep)
      set_bits(words, at, taken, count);
    at += count;
    if (at == s->out + s->count)
      number++;
  }
}

static dzo_status cpu_open(dense_engine *e, uint64_t width, uint64_t words, uint64_t segments) {
  (void)segments;
  uint64_t cell = e->wide ? sizeof(int64_t) : sizeof(int32_t);
  dzo_context *context = e->job->context;
  e->row[0] = dzo_alloc(context, width, cell);
  e->row[1] = dzo_alloc(context, width, cell);
  e->decision = dzo_alloc(context, words, sizeof *e->decision);
  if (e->row[0] == NULL || e->row[1] == NULL || e->decision == NULL)
    return DZO_E_MEMORY;
  memset(e->row[0], 0, cell);
  return DZO_OK;
}

static void cpu_close(dense_engine *e) {
  dzo_free(e->row[0]);
  dzo_free(e->row[1]);
  dzo_free(e->decision);
}

static dzo_status cpu_step(dense_engine *e, const dense_step *step) {
  row_job job = {e, step};
  int threads = step->width < 2 * (uint64_t)GRAIN ? 1 : e->job->threads;
  dzo_parallel_for(threads, step->width, GRAIN, write_range, &job);
  void *row = e->row[0];
  e->row[0] = e->row[1];
  e->row[1] = row;
  return DZO_OK;
}

static dzo_status cpu_read(dense_engine *e, uint64_t first, uint64_t count, void *cells) {
  uint64_t cell = e->wide ? sizeof(int64_t) : sizeof(int32_t);
  memcpy(cells, (const char *)e->row[0] + first * cell, count * cell);
  return DZO_OK;
}

static dzo_status cpu_read_word(dense_engine *e, uint64_t word, uint64_t *bits) {
  *bits = e->decision[word];
  return DZO_OK;
}

const dense_engine_kind dense_engine_cpu = {cpu_open, cpu_close,     cpu_step,
                                            cpu_read, cpu_read_word, NULL};
