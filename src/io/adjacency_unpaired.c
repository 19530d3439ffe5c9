/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Which edge makes a file unsymmetric? The sums that told that one does are taken again, apart by
 * the edges' ends, eight bits of an end a pass. */
#include <string.h>

#include "base/context.h"
#include "io/adjacency_hash.h"
#include "io/adjacency_part.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

typedef struct finder {
  dzo_adjacency_file *file;
  bool low_known; /* then the larger end is sought */
  uint32_t low;
  uint64_t prefix; /* bits found so far of the end that is sought */
  unsigned shift;  /* bits below the digit of this pass */
  dzo_hash_sum sums[DIGITS];
} finder;

/* Called for each entry of the file. */
typedef void (*visit_fn)(void *argument, uint64_t entry, uint32_t row, uint32_t v, uint64_t weight);

static dzo_status visit_all(dzo_adjacency_file *file, visit_fn visit, void *argument) {
  dzo_adjacency_part *part = &file->parts[0];
  uint64_t entries = file->layout.entries, row = 0;
  for (uint64_t begin = 0; begin < entries; begin += DZO_ADJACENCY_CHUNK) {
    uint64_t left = entries - begin;
    DZO_TRY(dzo_adjacency_load(
        file, begin, begin + (left < DZO_ADJACENCY_CHUNK ? left : DZO_ADJACENCY_CHUNK), part));
    for (uint64_t k = part->begin; k < part->end; k++) {
      while (k >= file->offsets[row + 1])
        row++;
      visit(argument, k, (uint32_t)row, part->neighbours[k - begin], part->weights[k - begin]);
    }
    DZO_TRY(dzo_progress(file->context, "read", begin, entries));
  }
  return DZO_OK;
}

static void add_entry(void *argument, uint64_t entry, uint32_t row, uint32_t v, uint64_t weight) {
  (void)entry;
  finder *f = argument;
  uint32_t low = row < v ? row : v, high = row < v ? v : row;
  uint64_t end = f->low_known ? high : low;
  if (row == v || (f->low_known && low != f->low) || end >> f->shift >> DIGIT_BITS != f->prefix)
    return;
  dzo_hash_add(&f->sums[end >> f->shift & (DIGITS - 1)], dzo_hash_entry(low, high, weight),
               row > v);
}

static dzo_status find_end(finder *f, uint32_t *end) {
  f->prefix = 0;
  for (f->shift = 32; f->shift > 0;) {
    f->shift -= DIGIT_BITS;
    memset(f->sums, 0, sizeof f->sums);
    DZO_TRY(visit_all(f->file, add_entry, f));
    uint64_t digit = 0;
    while (digit < DIGITS - 1 && dzo_hash_is_zero(f->sums[digit]))
      digit++;
    f->prefix = f->prefix << DIGIT_BITS | digit;
  }
  *end = (uint32_t)f->prefix;
  return DZO_OK;
}

static unsigned long long byte_of(const dzo_adjacency_file *file, uint64_t entry) {
  return (unsigned long long)(file->layout.neighbours_at + entry * file->layout.neighbour_step);
}

dzo_status dzo_adjacency_fail_pair(dzo_adjacency_file *file) {
  finder f = {.file = file};
  uint32_t high;
  DZO_TRY(find_end(&f, &f.low));
  f.low_known = true;
  DZO_TRY(find_end(&f, &high));
  return dzo_fail(file->context, DZO_E_FORMAT,
                  "%s: byte %llu: the rows of vertices %lu and %lu do not agree on the edges "
                  "between them and their weights: the graph is not symmetric",
                  dzo_input_name(file->input),
                  byte_of(file, f.low < file->layout.vertices ? file->offsets[f.low] : 0),
                  (unsigned long)f.low, (unsigned long)high);
}

typedef struct loop_finder {
  bool found;
  uint32_t row, found_row;
  unsigned count; /* loop entries of the row so far */
  dzo_hash_sum sum;
} loop_finder;

static void end_row(loop_finder *f) {
  if (!f->found && !dzo_hash_is_zero(f->sum)) {
    f->found = true;
    f->found_row = f->row;
  }
  f->count = 0;
  f->sum = (dzo_hash_sum){0, 0};
}

static void add_loop(void *argument, uint64_t entry, uint32_t row, uint32_t v, uint64_t weight) {
  (void)entry;
  loop_finder *f = argument;
  if (row != f->row)
    end_row(f);
  f->row = row;
  if (row == v)
    dzo_hash_add(&f->sum, dzo_hash_entry(v, v, weight), f->count++ % 2 != 0);
}

dzo_status dzo_adjacency_fail_loop(dzo_adjacency_file *file) {
  loop_finder f = {.found = false};
  DZO_TRY(visit_all(file, add_loop, &f));
  end_row(&f);
  return dzo_fail(file->context, DZO_E_FORMAT,
                  "%s: byte %llu: vertex %lu has a loop that is not two entries of one weight",
                  dzo_input_name(file->input), byte_of(file, file->offsets[f.found_row]),
                  (unsigned long)f.found_row);
}
