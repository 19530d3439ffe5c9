/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* --verify of dzo table: the files are read again and sorted, and what a table found must be what
 * stands side by side. Nothing is shared with the tables and their sorting; the sort is a radix
 * exchange, which partitions in place by one bit after another. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/table.h"

__extension__ typedef __int128 i128;

#define SIGN (UINT64_C(1) << 63)

typedef struct row {
  uint64_t key, value; /* or the number of the row */
} row;

typedef struct rows {
  row *list; /* [capacity] */
  uint64_t count, capacity;
  uint64_t *values; /* [capacity] by the number of the row, or NULL */
} rows;

/* ---- Reading again --------------------------------------------------------------------------- */

static dzo_status make_room(dzo_context *context, rows *r, uint64_t more, bool with_values) {
  uint64_t needed = r->count + more;
  if (needed <= r->capacity)
    return DZO_OK;
  uint64_t capacity = r->count == 0 ? needed : needed + needed / 2;
  row *list = dzo_realloc(context, r->list, capacity, sizeof *list);
  if (list == NULL)
    return DZO_E_MEMORY;
  r->list = list;
  if (with_values) {
    uint64_t *values = dzo_realloc(context, r->values, capacity, sizeof *values);
    if (values == NULL)
      return DZO_E_MEMORY;
    r->values = values;
  }
  r->capacity = capacity;
  return DZO_OK;
}

/* Rows with their values, or with their numbers and the values beside. */
static dzo_status read_rows(dzo_context *context, dzo_columns *columns, bool numbered, rows *r) {
  dzo_piece piece;
  dzo_columns_widen(columns);
  for (;;) {
    DZO_TRY(dzo_columns_next(columns, &piece));
    if (piece.count == 0)
      return DZO_OK;
    DZO_TRY(make_room(context, r, piece.count, numbered && piece.values != NULL));
    for (uint64_t i = 0; i < piece.count; i++) {
      uint64_t number = piece.first + i;
      row *to = &r->list[r->count++];
      to->key = ((const uint64_t *)piece.keys)[i];
      to->value = numbered ? number : piece.values != NULL ? piece.values[i] : 1;
      if (numbered && piece.values != NULL)
        r->values[number] = piece.values[i];
    }
  }
}

static cli_exit read_again(table_job *job, int which, bool numbered, rows *r) {
  dzo_columns *columns;
  cli_exit result = cli_table_open(job, which, &columns);
  if (result != CLI_DONE)
    return result;
  dzo_status status = read_rows(job->call->context, columns, numbered, r);
  dzo_columns_close(columns);
  return status == DZO_OK ? CLI_DONE : cli_fail(job->call, status, CLI_BAD_INPUT);
}

static void release(rows *r) {
  dzo_free(r->list);
  dzo_free(r->values);
}

/* ---- Sorting --------------------------------------------------------------------------------- */

static void sort_few(row *list, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    row moved = list[i];
    uint64_t k = i;
    for (; k > 0 && list[k - 1].key > moved.key; k--)
      list[k] = list[k - 1];
    list[k] = moved;
  }
}

/* A cancel leaves it as it is. */
static void sort_by_bit(const dzo_context *context, row *list, uint64_t count, int bit) {
  enum { FEW = 24 };
  while (count > FEW && bit >= 0 && !dzo_is_cancelled(context)) {
    uint64_t low = 0, high = count;
    while (low < high) {
      if ((list[low].key >> bit & 1) == 0) {
        low++;
        continue;
      }
      row moved = list[--high];
      list[high] = list[low];
      list[low] = moved;
    }
    bit--;
    sort_by_bit(context, list, low, bit);
    list += low;
    count -= low;
  }
  if (count <= FEW)
    sort_few(list, count);
}

static dzo_status sort(dzo_context *context, rows *r) {
  DZO_TRY(dzo_progress(context, "verify", 0, 0));
  sort_by_bit(context, r->list, r->count, 63);
  return dzo_progress(context, "verify", 0, 0);
}

static uint64_t end_of_run(const rows *r, uint64_t begin) {
  uint64_t end = begin + 1;
  while (end < r->count && r->list[end].key == r->list[begin].key)
    end++;
  return end;
}

/* ---- Counts and aggregates ------------------------------------------------------------------- */

static uint64_t aggregate_run(const table_job *job, const row *run, uint64_t count) {
  bool is_signed = dzo_integer_is_signed(job->value_types[0]);
  uint64_t flip = is_signed ? SIGN : 0, least = UINT64_MAX, most = 0;
  i128 sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t value = run[i].value ^ flip;
    sum += is_signed ? (i128)(int64_t)run[i].value : (i128)run[i].value;
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  switch (job->aggregate) {
  case TABLE_AGGREGATE_COUNT:
    break;
  case TABLE_AGGREGATE_SUM:
    return (uint64_t)sum;
  case TABLE_AGGREGATE_MIN:
    return least ^ flip;
  case TABLE_AGGREGATE_MAX:
    return most ^ flip;
  }
  return count;
}

static bool same_pairs(const table_job *job, const rows *all, const rows *found) {
  uint64_t i = 0;
  for (uint64_t begin = 0; begin < all->count; i++) {
    uint64_t end = end_of_run(all, begin);
    if (i == found->count || found->list[i].key != all->list[begin].key)
      return false;
    if (job->operation == TABLE_COUNT &&
        found->list[i].value != aggregate_run(job, all->list + begin, end - begin))
      return false;
    begin = end;
  }
  return i == found->count;
}

static cli_exit conclude(table_job *job, bool right, double begun) {
  job->times.verify += cli_now() - begun;
  job->verified = right;
  if (right)
    return CLI_DONE;
  cli_progress_clear(&job->call->progress);
  cli_error("%s: the result is wrong, please report this: sorting gives another", job->paths[0]);
  return CLI_FAILED;
}

cli_exit cli_table_verify_pairs(table_job *job, const table_pairs *pairs) {
  dzo_context *context = job->call->context;
  rows all = {0}, found = {0};
  bool right = false;
  double begun = cli_now();
  cli_exit result = read_again(job, 0, false, &all);
  dzo_status status = result == CLI_DONE ? make_room(context, &found, pairs->count, false) : DZO_OK;
  if (result == CLI_DONE && status == DZO_OK) {
    for (uint64_t i = 0; i < pairs->count; i++)
      found.list[found.count++] = (row){table_extend(job->key_types[0], table_pairs_key(pairs, i)),
                                        table_pairs_value(pairs, i)};
    status = sort(context, &all);
    if (status == DZO_OK)
      status = sort(context, &found);
    right = status == DZO_OK && same_pairs(job, &all, &found);
  }
  release(&all);
  release(&found);
  if (result != CLI_DONE)
    return result;
  return status == DZO_OK ? conclude(job, right, begun) : cli_fail(job->call, status, CLI_FAILED);
}

/* ---- Joins ----------------------------------------------------------------------------------- */

typedef struct joined {
  uint64_t digest, matched, pairs;
} joined;

/* Rows with one key on both sides; no rows on the other: count2 is 0. */
static void join_runs(const table_job *job, const row *a, uint64_t count, const row *b,
                      uint64_t count2, const uint64_t *values2, joined *sum) {
  uint64_t first = UINT64_MAX;
  for (uint64_t k = 0; k < count2; k++)
    first = b[k].value < first ? b[k].value : first;
  sum->matched += count2 > 0 ? count : 0;
  for (uint64_t i = 0; i < count && !dzo_is_cancelled(job->call->context); i++) {
    if (job->operation == TABLE_LOOKUP) {
      uint64_t value = count2 == 0 ? 0 : values2 != NULL ? values2[first] : first;
      sum->digest += table_digest(a[i].value, value, count2 > 0);
      continue;
    }
    for (uint64_t k = 0; k < count2; k++)
      sum->digest += table_digest(a[i].value, b[k].value, true);
    sum->pairs += count2;
  }
}

static void join_sorted(const table_job *job, const rows *a, const rows *b, joined *sum) {
  bool opposed =
      dzo_integer_is_signed(job->key_types[0]) != dzo_integer_is_signed(job->key_types[1]);
  uint64_t begin2 = 0;
  for (uint64_t begin = 0; begin < a->count;) {
    uint64_t key = a->list[begin].key, end = end_of_run(a, begin);
    while (begin2 < b->count && b->list[begin2].key < key)
      begin2++;
    bool meets = begin2 < b->count && b->list[begin2].key == key && !(opposed && (key & SIGN) != 0);
    uint64_t count2 = meets ? end_of_run(b, begin2) - begin2 : 0;
    join_runs(job, a->list + begin, end - begin, b->list + begin2, count2, b->values, sum);
    begin = end;
  }
}

cli_exit cli_table_verify_join(table_job *job, uint64_t digest) {
  dzo_context *context = job->call->context;
  rows sides[2] = {{0}, {0}};
  joined sum = {0, 0, 0};
  double begun = cli_now();
  cli_exit result = read_again(job, 0, true, &sides[0]);
  if (result == CLI_DONE)
    result = read_again(job, 1, true, &sides[1]);
  dzo_status status = DZO_OK;
  for (int i = 0; i < 2 && result == CLI_DONE && status == DZO_OK; i++)
    status = sort(context, &sides[i]);
  if (result == CLI_DONE && status == DZO_OK)
    join_sorted(job, &sides[0], &sides[1], &sum);
  if (result == CLI_DONE && status == DZO_OK)
    status = dzo_progress(context, "verify", 0, 0);
  release(&sides[0]);
  release(&sides[1]);
  if (result != CLI_DONE)
    return result;
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_FAILED);
  return conclude(
      job, sum.digest == digest && sum.matched == job->matched && sum.pairs == job->pairs, begun);
}
