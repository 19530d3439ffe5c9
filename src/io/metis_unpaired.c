/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Which entry of a METIS file has no twin: only for a message, so simple and sequential. Sums in
 * many buckets make most entries innocent at once; a suspect is proved by counting in both rows. */
#include <string.h>

#include "base/memory.h"
#include "io/metis_rows.h"
#include "io/number.h"

enum { BUCKETS = 1 << 16, MOST_SUSPECTS = 1000 };

/* An entry. */
typedef struct entry {
  uint64_t row, neighbour;
  int64_t weight;
  uint64_t line;
} entry;

/* A walk over all entries, which are known to be well formed. */
typedef struct walk {
  const dzo_metis_header *header;
  dzo_lines lines;
  const char *p, *end;
  entry at;
  uint64_t next_row;
} walk;

static walk walk_from_start(const dzo_metis_rows *rows, const char *text, uint64_t size) {
  const dzo_metis_header *h = &rows->header;
  walk w = {.header = h, .lines = {text + h->offset, text + size, h->line - 1}};
  return w;
}

/* The next row; false at the end. */
static bool next_row(walk *w) {
  do {
    if (!dzo_lines_next(&w->lines, &w->p, &w->end))
      return false;
  } while (w->p < w->end && *w->p == '%');
  w->at.row = w->next_row++;
  w->at.line = w->lines.number;
  for (uint64_t i = 0; i < w->header->skipped && w->p < w->end; i++)
    (void)dzo_next_word(&w->p, w->end);
  return true;
}

/* The next entry of the row; false at its end. */
static bool next_in_row(walk *w) {
  dzo_word word = dzo_next_word(&w->p, w->end);
  if (!dzo_word_u64(word, &w->at.neighbour))
    return false;
  w->at.neighbour--;
  w->at.weight = 0;
  if (w->header->weights) {
    word = dzo_next_word(&w->p, w->end);
    w->at.weight = dzo_parse_number(word.at, word.length).i64;
  }
  return true;
}

/* How often the row of `from` names `to` with this weight. */
static uint64_t count_in_row(walk w, uint64_t from, uint64_t to, int64_t weight) {
  uint64_t count = 0;
  while (next_row(&w))
    if (w.at.row == from) {
      while (next_in_row(&w))
        count += w.at.neighbour == to && w.at.weight == weight;
      break;
    }
  return count;
}

static bool is_suspect(const uint64_t (*sums)[BUCKETS], const entry *e) {
  uint64_t hashes[2];
  dzo_metis_hash(e->row, e->neighbour, (uint64_t)e->weight, hashes);
  return sums[0][hashes[0] % BUCKETS] != 0 && sums[1][hashes[1] % BUCKETS] != 0;
}

static void add_entry(uint64_t (*sums)[BUCKETS], const entry *e) {
  uint64_t hashes[2], sign = e->row < e->neighbour ? 1 : UINT64_MAX;
  dzo_metis_hash(e->row, e->neighbour, (uint64_t)e->weight, hashes);
  sums[0][hashes[0] % BUCKETS] += sign * hashes[1];
  sums[1][hashes[1] % BUCKETS] += sign * hashes[0];
}

static bool find_unpaired(walk start, const uint64_t (*sums)[BUCKETS], entry *out) {
  unsigned suspects = 0;
  for (walk w = start; next_row(&w);)
    while (next_in_row(&w)) {
      if (w.at.row == w.at.neighbour || !is_suspect(sums, &w.at))
        continue;
      uint64_t here = count_in_row(start, w.at.row, w.at.neighbour, w.at.weight);
      uint64_t there = count_in_row(start, w.at.neighbour, w.at.row, w.at.weight);
      *out = w.at;
      if (here > there)
        return true;
      if (++suspects == MOST_SUSPECTS)
        return false;
    }
  return false;
}

dzo_status dzo_metis_refuse_unpaired(const dzo_metis_rows *rows, const char *text, uint64_t size) {
  const dzo_metis_header *h = &rows->header;
  uint64_t(*sums)[BUCKETS] = text != NULL ? dzo_calloc(rows->context, 2, sizeof *sums) : NULL;
  entry bad = {0, 0, 0, 0};
  bool found = false;
  if (text != NULL && sums == NULL)
    return DZO_E_MEMORY;
  if (sums != NULL) {
    walk start = walk_from_start(rows, text, size);
    for (walk w = start; next_row(&w);)
      while (next_in_row(&w))
        if (w.at.row != w.at.neighbour)
          add_entry(sums, &w.at);
    found = find_unpaired(start, (const uint64_t(*)[BUCKETS])sums, &bad);
    dzo_free(sums);
  }
  if (!found)
    return dzo_fail(rows->context, DZO_E_FORMAT,
                    "%s: some edge stands in one of its two rows only, or with two weights",
                    h->name);
  return dzo_text_refuse(rows->context, h->name, bad.line, DZO_E_FORMAT,
                         "%llu is listed as a neighbour of %llu, but not %llu of %llu%s",
                         (unsigned long long)bad.neighbour + 1, (unsigned long long)bad.row + 1,
                         (unsigned long long)bad.row + 1, (unsigned long long)bad.neighbour + 1,
                         h->weights ? " with the same weight" : "");
}
