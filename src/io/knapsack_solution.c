/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Solutions in files; knapsack.h shows the text. */
#include <string.h>

#include "base/memory.h"
#include "io/knapsack.h"
#include "io/text.h"

__extension__ typedef unsigned __int128 u128;

enum { CLAIMS_VALUE = 1, CLAIMS_WEIGHT = 2 };

typedef struct reading {
  dzo_context *context;
  const char *name;
  const dzo_knapsack_set *set;
  dzo_knapsack_solution *out;
  dzo_lines lines;
  uint64_t instance;
} reading;

#define REFUSE(r, ...)                                                                             \
  dzo_text_refuse((r)->context, (r)->name, (r)->lines.number, DZO_E_FORMAT, __VA_ARGS__)

/* ---- Claims ---------------------------------------------------------------------------------- */

/* A sum, which may be beyond 64 bits, times 10^places. */
static bool parse_sum(dzo_word word, int places, dzo_int128 *out) {
  const char *p = word.at, *end = p + word.length;
  bool negative = p < end && *p == '-', point = false, any = false;
  u128 x = 0;
  p += negative;
  for (; p < end; p++) {
    if (*p == '.' && !point) {
      point = true;
      continue;
    }
    unsigned digit = (unsigned char)(*p - '0');
    if (digit > 9 || (point && places == 0 && digit != 0))
      return false;
    any = true;
    if (point && places == 0)
      continue;
    places -= point;
    if (__builtin_mul_overflow(x, (u128)10, &x) || __builtin_add_overflow(x, (u128)digit, &x))
      return false;
  }
  for (; places > 0; places--)
    if (__builtin_mul_overflow(x, (u128)10, &x))
      return false;
  if (x >> 127 != 0)
    return false;
  x = negative ? 0 - x : x;
  *out = (dzo_int128){(int64_t)(uint64_t)(x >> 64), (uint64_t)x};
  return any;
}

/* "# value 309", "# weight 165"; all else is a comment. */
static dzo_status take_comment(reading *r, const char *p, const char *end) {
  char shown[DZO_SHOWN_BYTES];
  dzo_word key = dzo_next_word(&p, end), number = dzo_next_word(&p, end);
  bool value = dzo_word_is(key, "value"), weight = dzo_word_is(key, "weight");
  if ((!value && !weight) || r->instance >= r->set->count)
    return DZO_OK;
  const dzo_knapsack_origin *origin = &r->set->origins[r->instance];
  dzo_int128 *sum = value ? &r->out->value_sums[r->instance] : &r->out->weight_sums[r->instance];
  if (!parse_sum(number, value ? origin->value_places : origin->weight_places, sum))
    return REFUSE(r, "expected a sum of %s, found '%s'", value ? "values" : "weights",
                  dzo_word_show(number, shown));
  r->out->claims[r->instance] |= value ? CLAIMS_VALUE : CLAIMS_WEIGHT;
  return DZO_OK;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static dzo_status take_instance(reading *r, dzo_word word) {
  char shown[DZO_SHOWN_BYTES];
  uint64_t number;
  if (!dzo_word_u64(word, &number) || number >= r->set->count)
    return REFUSE(r, "there is no instance '%s' among %llu, which are numbered from 0",
                  dzo_word_show(word, shown), (unsigned long long)r->set->count);
  r->instance = number;
  r->out->told[number] = 1;
  return DZO_OK;
}

/* "ITEM" or "ITEM COPIES" */
static dzo_status take_item(reading *r, dzo_word word, dzo_word more) {
  char shown[DZO_SHOWN_BYTES];
  uint64_t first = r->set->offsets[r->instance];
  uint64_t count = r->set->offsets[r->instance + 1] - first, item, copies = 1;
  if (!dzo_word_u64(word, &item))
    return REFUSE(r, "expected the number of an item, found '%s'", dzo_word_show(word, shown));
  if (item >= count)
    return REFUSE(r, "there is no item %s among %llu, which are numbered from 0",
                  dzo_word_show(word, shown), (unsigned long long)count);
  if (more.length > 0 && (!dzo_word_u64(more, &copies) || copies > INT64_MAX))
    return REFUSE(r, "expected how many copies of item %llu, found '%s'", (unsigned long long)item,
                  dzo_word_show(more, shown));
  r->out->told[r->instance] = 1;
  if (__builtin_add_overflow(r->out->taken[first + item], (int64_t)copies,
                             &r->out->taken[first + item]))
    return REFUSE(r, "more copies of item %llu than 64 bits count", (unsigned long long)item);
  return DZO_OK;
}

static dzo_status take_line(reading *r, const char *p, const char *end) {
  char shown[DZO_SHOWN_BYTES];
  if (*p == '#')
    return take_comment(r, p + 1, end);
  dzo_word word = dzo_next_word(&p, end), next = dzo_next_word(&p, end);
  dzo_word more = dzo_next_word(&p, end);
  if (more.length > 0)
    return REFUSE(r, "unexpected '%s'", dzo_word_show(more, shown));
  return dzo_word_is(word, "instance") ? take_instance(r, next) : take_item(r, word, next);
}

/* ---- A 0 or 1 for each item ------------------------------------------------------------------ */

static bool is_selection(dzo_lines lines, uint64_t items) {
  const char *p, *end;
  uint64_t count = 0;
  for (; dzo_lines_next(&lines, &p, &end); count++) {
    if (p < end && *p == '#')
      return false;
    if (p == end)
      count--;
    else if (end - p != 1 || (*p != '0' && *p != '1'))
      return false;
  }
  /* Of two items, 0 and 1 could be their numbers. */
  return count == items && items > 2;
}

static void take_selection(reading *r) {
  const char *p, *end;
  int64_t *taken = r->out->taken;
  r->out->told[0] = 1;
  while (dzo_lines_next(&r->lines, &p, &end))
    if (p < end)
      *taken++ = *p - '0';
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static dzo_status read_lines(reading *r) {
  const char *p, *end;
  r->out->told[0] = r->set->count == 1; /* nothing may be taken */
  if (r->set->count == 1 && is_selection(r->lines, r->set->items)) {
    take_selection(r);
    return DZO_OK;
  }
  while (dzo_lines_next(&r->lines, &p, &end))
    if (p < end)
      DZO_TRY(take_line(r, p, end));
  return DZO_OK;
}

static dzo_status make_room(dzo_context *context, const dzo_knapsack_set *set,
                            dzo_knapsack_solution *out) {
  out->taken = dzo_calloc(context, set->items, sizeof *out->taken);
  out->told = dzo_calloc(context, set->count, sizeof *out->told);
  out->claims = dzo_calloc(context, set->count, sizeof *out->claims);
  out->value_sums = dzo_calloc(context, set->count, sizeof *out->value_sums);
  out->weight_sums = dzo_calloc(context, set->count, sizeof *out->weight_sums);
  bool good = out->taken != NULL && out->told != NULL && out->claims != NULL &&
              out->value_sums != NULL && out->weight_sums != NULL;
  return good ? DZO_OK : DZO_E_MEMORY;
}

dzo_status dzo_knapsack_solution_read_input(dzo_context *context, dzo_input *input,
                                            const dzo_knapsack_set *set,
                                            dzo_knapsack_solution *out) {
  *out = (dzo_knapsack_solution){0};
  reading r = {.context = context,
               .name = dzo_input_name(input),
               .set = set,
               .out = out,
               .lines = dzo_lines_of((const char *)dzo_input_data(input), dzo_input_size(input))};
  dzo_status status = make_room(context, set, out);
  if (status == DZO_OK)
    status = read_lines(&r);
  if (status != DZO_OK)
    dzo_knapsack_solution_release(out);
  return status;
}

dzo_status dzo_knapsack_solution_read(dzo_context *context, const char *path,
                                      const dzo_knapsack_set *set, dzo_knapsack_solution *out) {
  dzo_begin(context);
  *out = (dzo_knapsack_solution){0};
  dzo_input *input;
  DZO_TRY(dzo_input_open(context, path, DZO_INPUT_WHOLE, &input));
  dzo_status status = dzo_knapsack_solution_read_input(context, input, set, out);
  dzo_input_close(input);
  return status;
}

void dzo_knapsack_solution_release(dzo_knapsack_solution *solution) {
  dzo_free(solution->taken);
  dzo_free(solution->told);
  dzo_free(solution->claims);
  dzo_free(solution->value_sums);
  dzo_free(solution->weight_sums);
  *solution = (dzo_knapsack_solution){0};
}
