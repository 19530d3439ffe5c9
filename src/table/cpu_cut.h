/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Cutting batches into parts, for one width of words. What is cut is gathered by the line and
 * written past the caches (software write combining; J. Wassenberg, P. Sanders 2011), where a line
 * would else be read, written in pieces and pushed out of the cache between them. */
#include "base/clones.h"
#include "table/cpu_search.h"

enum {
  AT_A_TIME = 256,
  LINE = 64 / (WIDE ? 16 : 8), /* items of a cache line */
  TAG_LINE = 16                /* tags of one */
};

DZO_ITEM void find_parts(const table_cpu_cut *cut, uint64_t begin, unsigned count,
                         uint16_t *parts) {
  const WORD *keys = (const WORD *)cut->keys + begin;
  uint64_t seed = cut->store->seed;
  unsigned shift = 63 - cut->bits;
  for (unsigned i = 0; i < count; i++)
    parts[i] = (uint16_t)(table_hash(keys[i], seed) >> 1 >> shift);
}

DZO_ITEM void put_item(uint64_t *items, uint64_t at, uint64_t key, uint64_t value) {
#if WIDE
  items[2 * at] = key;
  items[2 * at + 1] = value;
#else
  items[at] = key | value << 32;
#endif
}

DZO_ITEM uint64_t value_to_put(const table_cpu_cut *cut, uint64_t i) {
  return cut->values != NULL ? ((const WORD *)cut->values)[i] : cut->value;
}

DZO_ITEM uint32_t tag_of(const table_cpu_cut *cut, uint64_t i) {
  return (uint32_t)i |
         (cut->operations != NULL ? (uint32_t)cut->operations[i] << TABLE_CPU_TAG_BITS : 0);
}

static void pack(const table_cpu_cut *cut, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; i++) {
    put_item(cut->items, i - begin, ((const WORD *)cut->keys)[i], value_to_put(cut, i));
    if (cut->tags != NULL)
      cut->tags[i - begin] = tag_of(cut, i);
  }
}

DZO_CLONES static void count_parts(const table_cpu_cut *cut, uint64_t begin, uint64_t end,
                                   uint32_t *counts) {
  uint16_t parts[AT_A_TIME];
  for (uint64_t at = begin; at < end; at += AT_A_TIME) {
    unsigned here = end - at < AT_A_TIME ? (unsigned)(end - at) : AT_A_TIME;
    find_parts(cut, at, here, parts);
    for (unsigned i = 0; i < here; i++)
      counts[parts[i]]++;
  }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* A whole line, past the caches. */
DZO_ITEM void write_line(void *to, const void *line) {
#if defined(__SSE2__)
  for (unsigned i = 0; i < 4; i++)
    _mm_stream_si128((__m128i *)to + i, _mm_load_si128((const __m128i *)line + i));
#else
  memcpy(to, line, 64);
#endif
}

/* Others may look for the lines from now on. */
DZO_ITEM void end_lines(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/* Write positions begin .. end - 1 of a part, which are within one line; what is before them there
 * is another thread's. */
DZO_ITEM void flush_items(const table_cpu_cut *cut, const table_cpu_lines *lines, unsigned part,
                          uint64_t begin, uint64_t end) {
  uint64_t *to = (uint64_t *)cut->items + begin * (TABLE_CPU_WORDS / LINE);
  const uint64_t *from = lines->items[part] + begin % LINE * (TABLE_CPU_WORDS / LINE);
  if (end - begin == LINE)
    write_line(to, from);
  else
    memcpy(to, from, (size_t)(end - begin) * (64 / LINE));
}

DZO_ITEM void flush_tags(const table_cpu_cut *cut, const table_cpu_lines *lines, unsigned part,
                         uint64_t begin, uint64_t end) {
  uint32_t *to = cut->tags + begin;
  const uint32_t *from = lines->tags[part] + begin % TAG_LINE;
  if (end - begin == TAG_LINE)
    write_line(to, from);
  else
    memcpy(to, from, (size_t)(end - begin) * sizeof *to);
}

DZO_ITEM uint64_t line_begin(const table_cpu_lines *lines, unsigned part, uint64_t at,
                             unsigned line) {
  uint64_t begin = at / line * line, first = lines->firsts[part];
  return begin > first ? begin : first;
}

DZO_ITEM void gather(const table_cpu_cut *cut, table_cpu_lines *lines, uint64_t i, unsigned part,
                     uint64_t at, bool tagged) {
  put_item(lines->items[part], at % LINE, ((const WORD *)cut->keys)[i], value_to_put(cut, i));
  if (at % LINE == LINE - 1)
    flush_items(cut, lines, part, line_begin(lines, part, at, LINE), at + 1);
  if (!tagged)
    return;
  lines->tags[part][at % TAG_LINE] = tag_of(cut, i);
  if (at % TAG_LINE == TAG_LINE - 1)
    flush_tags(cut, lines, part, line_begin(lines, part, at, TAG_LINE), at + 1);
}

DZO_ITEM void scatter_as(const table_cpu_cut *cut, uint64_t begin, uint64_t end, uint32_t *starts,
                         table_cpu_lines *lines, bool tagged) {
  uint16_t parts[AT_A_TIME];
  for (uint64_t from = begin; from < end; from += AT_A_TIME) {
    unsigned here = end - from < AT_A_TIME ? (unsigned)(end - from) : AT_A_TIME;
    find_parts(cut, from, here, parts);
    for (unsigned i = 0; i < here; i++)
      gather(cut, lines, from + i, parts[i], starts[parts[i]]++, tagged);
  }
}

DZO_CLONES static void scatter(const table_cpu_cut *cut, uint64_t begin, uint64_t end,
                               uint32_t *starts, table_cpu_lines *lines) {
  size_t parts = (size_t)1 << cut->bits;
  memcpy(lines->firsts, starts, parts * sizeof *starts);
  if (cut->tags != NULL)
    scatter_as(cut, begin, end, starts, lines, true);
  else
    scatter_as(cut, begin, end, starts, lines, false);
  for (unsigned part = 0; part < parts; part++) {
    uint64_t at = starts[part];
    if (at % LINE != 0 && at > lines->firsts[part])
      flush_items(cut, lines, part, line_begin(lines, part, at, LINE), at);
    if (cut->tags != NULL && at % TAG_LINE != 0 && at > lines->firsts[part])
      flush_tags(cut, lines, part, line_begin(lines, part, at, TAG_LINE), at);
  }
  end_lines();
}
