/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The set that readers fill: numbers taken from words, items and instances appended. */
#include "io/knapsack_reading.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/number.h"

enum { LEAST_ROOM = 64, WHAT = 64 };

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Up to 18 digits and nothing else. */
static bool take_digits(dzo_word word, int64_t *out) {
  uint64_t value = 0;
  if (word.length == 0 || word.length > 18 ||
      dzo_parse_digits(word.at, word.at + word.length, &value) != word.at + word.length)
    return false;
  *out = (int64_t)value;
  return true;
}

static dzo_status refuse_number(dzo_knapsack_reading *r, dzo_word word, const char *what,
                                dzo_decimal_kind kind) {
  char shown[DZO_SHOWN_BYTES];
  dzo_word_show(word, shown);
  if (word.length == 0)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "%s is missing", what);
  if (kind == DZO_DECIMAL_BAD)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected %s, found '%s'", what, shown);
  return DZO_KNAPSACK_REFUSE(r, DZO_E_UNSUPPORTED, "%s, %s, does not fit 64 bits", what, shown);
}

static dzo_status refuse_scaled(dzo_knapsack_reading *r, dzo_knapsack_quantity quantity,
                                dzo_word word, const char *what) {
  char shown[DZO_SHOWN_BYTES], where[WHAT];
  int places = r->places[quantity];
  uint64_t line = r->found_line[quantity];
  if (places == 0)
    return refuse_number(r, word, what, DZO_DECIMAL_HUGE);
  (void)snprintf(where, sizeof where, "line %llu has", (unsigned long long)line);
  return DZO_KNAPSACK_REFUSE(
      r, DZO_E_UNSUPPORTED, "%s, %s, does not fit 64 bits with the %d decimal places that %s", what,
      dzo_word_show(word, shown), places, line > 0 ? where : "the capacity has");
}

/* Note the places; false: the number does not fit, and not for want of places alone. */
static bool take_decimal(dzo_knapsack_reading *r, dzo_knapsack_quantity quantity,
                         dzo_decimal decimal, uint64_t line, int64_t *out) {
  if (decimal.places > r->found[quantity]) {
    r->found[quantity] = decimal.places;
    r->found_line[quantity] = line;
  }
  return dzo_decimal_scale(decimal, r->places[quantity], out) ||
         decimal.places > r->places[quantity];
}

dzo_status dzo_knapsack_take(dzo_knapsack_reading *r, dzo_knapsack_quantity quantity, dzo_word word,
                             const char *what, int64_t *out) {
  if (r->places[quantity] == 0 && take_digits(word, out))
    return DZO_OK;
  char text[WHAT];
  if (what == NULL) {
    (void)snprintf(text, sizeof text, "the %s of item %llu",
                   quantity == DZO_QUANTITY_VALUE ? "value" : "weight",
                   (unsigned long long)dzo_knapsack_items_read(r));
    what = text;
  }
  dzo_decimal decimal;
  dzo_decimal_kind kind = dzo_parse_decimal(word.at, word.length, &decimal);
  if (kind != DZO_DECIMAL_GOOD)
    return refuse_number(r, word, what, kind);
  if (take_decimal(r, quantity, decimal, r->lines.number, out))
    return DZO_OK;
  return refuse_scaled(r, quantity, word, what);
}

dzo_status dzo_knapsack_take_count(dzo_knapsack_reading *r, dzo_word word, uint64_t *out) {
  char shown[DZO_SHOWN_BYTES];
  if (!dzo_word_u64(word, out))
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected a number of items, found '%s'",
                               dzo_word_show(word, shown));
  if (*out > DZO_KNAPSACK_ITEMS)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_UNSUPPORTED, "%s items are over the limit of %llu",
                               dzo_word_show(word, shown), (unsigned long long)DZO_KNAPSACK_ITEMS);
  return DZO_OK;
}

/* ---- Room ------------------------------------------------------------------------------------ */

/* `array` is the address of a pointer, of whatever type. */
static bool grow(dzo_context *context, void *array, uint64_t room, size_t size) {
  void *old, *moved;
  memcpy(&old, array, sizeof old);
  moved = dzo_realloc(context, old, room, size);
  if (moved != NULL)
    memcpy(array, &moved, sizeof moved);
  return moved != NULL;
}

static uint64_t room_for(uint64_t room, uint64_t needed) {
  uint64_t more = room + room / 2;
  more = more > LEAST_ROOM ? more : LEAST_ROOM;
  return more > needed ? more : needed;
}

static dzo_status make_item_room(dzo_context *context, dzo_knapsack_set *set) {
  if (set->items < set->item_room)
    return DZO_OK;
  uint64_t room = room_for(set->item_room, set->items + 1);
  if (!grow(context, &set->values, room, sizeof *set->values) ||
      !grow(context, &set->weights, room, sizeof *set->weights) ||
      (set->copies != NULL && !grow(context, &set->copies, room, sizeof *set->copies)) ||
      (set->names != NULL && !grow(context, &set->names, room, sizeof *set->names)))
    return DZO_E_MEMORY;
  set->item_room = room;
  return DZO_OK;
}

static dzo_status make_instance_room(dzo_context *context, dzo_knapsack_set *set) {
  if (set->count < set->instance_room)
    return DZO_OK;
  uint64_t room = room_for(set->instance_room, set->count + 1);
  if (!grow(context, &set->offsets, room + 1, sizeof *set->offsets) ||
      !grow(context, &set->capacities, room, sizeof *set->capacities) ||
      !grow(context, &set->origins, room, sizeof *set->origins))
    return DZO_E_MEMORY;
  set->instance_room = room;
  set->offsets[0] = 0;
  return DZO_OK;
}

/* An array beside the items that was not needed so far. */
static dzo_status begin_copies(dzo_context *context, dzo_knapsack_set *set) {
  if (set->copies != NULL)
    return DZO_OK;
  set->copies = dzo_alloc(context, set->item_room, sizeof *set->copies);
  if (set->copies == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < set->items; i++)
    set->copies[i] = 1;
  return DZO_OK;
}

static dzo_status begin_names(dzo_context *context, dzo_knapsack_set *set) {
  if (set->names != NULL)
    return DZO_OK;
  set->names = dzo_alloc(context, set->item_room, sizeof *set->names);
  if (set->names == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < set->items; i++)
    set->names[i] = UINT64_MAX;
  return DZO_OK;
}

/* Keep a name; of two quotes that stand together one. */
static dzo_status keep_text(dzo_context *context, dzo_knapsack_set *set, dzo_word word,
                            uint64_t *place) {
  uint64_t needed = set->text_size + word.length + 1;
  if (needed > set->text_room) {
    uint64_t room = room_for(set->text_room, needed);
    if (!grow(context, &set->text, room, 1))
      return DZO_E_MEMORY;
    set->text_room = room;
  }
  char *to = set->text + set->text_size;
  for (size_t i = 0; i < word.length; i++) {
    *to++ = word.at[i] != '\0' ? word.at[i] : '?';
    if (word.at[i] == '"' && i + 1 < word.length && word.at[i + 1] == '"')
      i++;
  }
  *to++ = '\0';
  *place = set->text_size;
  set->text_size = (uint64_t)(to - set->text);
  return DZO_OK;
}

/* ---- Items and instances --------------------------------------------------------------------- */

dzo_status dzo_knapsack_add(dzo_knapsack_reading *r, int64_t value, int64_t weight,
                            int64_t copies) {
  enum { OFTEN = 1 << 16 };
  dzo_knapsack_set *set = r->set;
  if (dzo_knapsack_items_read(r) >= DZO_KNAPSACK_ITEMS)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_UNSUPPORTED, "more than %llu items",
                               (unsigned long long)DZO_KNAPSACK_ITEMS);
  if (set->items % OFTEN == 0)
    DZO_TRY(dzo_progress(r->context, "read", 0, 0));
  DZO_TRY(make_item_room(r->context, set));
  if (copies != 1)
    DZO_TRY(begin_copies(r->context, set));
  set->values[set->items] = value;
  set->weights[set->items] = weight;
  if (set->copies != NULL)
    set->copies[set->items] = copies;
  if (set->names != NULL)
    set->names[set->items] = UINT64_MAX;
  set->items++;
  return DZO_OK;
}

dzo_status dzo_knapsack_take_item(dzo_knapsack_reading *r, dzo_word value, dzo_word weight,
                                  int64_t copies) {
  int64_t v, w;
  DZO_TRY(dzo_knapsack_take(r, DZO_QUANTITY_VALUE, value, NULL, &v));
  DZO_TRY(dzo_knapsack_take(r, DZO_QUANTITY_WEIGHT, weight, NULL, &w));
  return dzo_knapsack_add(r, v, w, copies);
}

dzo_status dzo_knapsack_name_item(dzo_knapsack_reading *r, dzo_word name) {
  DZO_TRY(begin_names(r->context, r->set));
  return keep_text(r->context, r->set, name, &r->set->names[r->set->items - 1]);
}

/* The capacity that the user gives goes before that of the file. */
static dzo_status take_capacity(dzo_knapsack_reading *r, dzo_word word, int64_t *out) {
  const char *given = r->options->capacity;
  dzo_decimal decimal;
  char shown[DZO_SHOWN_BYTES];
  if (given == NULL && word.length == 0)
    return dzo_fail(r->context, DZO_E_ARGUMENT,
                    "%s: this format holds no capacity; give one (--capacity)", r->name);
  if (given == NULL) {
    uint64_t line = r->lines.number;
    if (r->capacity_line != 0)
      r->lines.number = r->capacity_line;
    dzo_status status = dzo_knapsack_take(r, DZO_QUANTITY_WEIGHT, word, "the capacity", out);
    r->lines.number = line;
    return status;
  }
  word = (dzo_word){given, strlen(given)};
  dzo_word_show(word, shown);
  if (dzo_parse_decimal(given, word.length, &decimal) == DZO_DECIMAL_BAD)
    return dzo_fail(r->context, DZO_E_ARGUMENT, "the capacity '%s' is no number", shown);
  if (take_decimal(r, DZO_QUANTITY_WEIGHT, decimal, 0, out))
    return DZO_OK;
  return dzo_fail(r->context, DZO_E_ARGUMENT,
                  "the capacity %s does not fit 64 bits with the %d decimal places of the weights",
                  shown, r->places[DZO_QUANTITY_WEIGHT]);
}

dzo_status dzo_knapsack_close(dzo_knapsack_reading *r, dzo_knapsack_format format, dzo_word name,
                              dzo_word capacity, const int64_t *optimum) {
  dzo_knapsack_set *set = r->set;
  dzo_knapsack_origin origin = {.format = format,
                                .value_places = r->places[DZO_QUANTITY_VALUE],
                                .weight_places = r->places[DZO_QUANTITY_WEIGHT],
                                .name = UINT64_MAX,
                                .has_optimum = optimum != NULL && r->options->capacity == NULL,
                                .optimum = optimum != NULL ? *optimum : 0};
  DZO_TRY(make_instance_room(r->context, set));
  DZO_TRY(take_capacity(r, capacity, &set->capacities[set->count]));
  if (name.length > 0)
    DZO_TRY(keep_text(r->context, set, name, &origin.name));
  set->origins[set->count++] = origin;
  set->offsets[set->count] = set->items;
  r->open = set->items;
  return DZO_OK;
}

void dzo_knapsack_set_release(dzo_knapsack_set *set) {
  dzo_free(set->offsets);
  dzo_free(set->capacities);
  dzo_free(set->origins);
  dzo_free(set->values);
  dzo_free(set->weights);
  dzo_free(set->copies);
  dzo_free(set->names);
  dzo_free(set->text);
  *set = (dzo_knapsack_set){0};
}
