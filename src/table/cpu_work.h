/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches for one width of words. Queries are worked in groups: while one is probed, the buckets of
 * the next are on their way. What its first bucket does not decide, a query leaves for the end of
 * its group; queries of one key do so together or not at all (only a bucket without EMPTY slot
 * leaves them, and a group gives it none), so that they keep their order. */
#include "table/cpu_tidy.h"

enum { GROUP = 16 };

#define KEY_OF(items, i) (WIDE ? (items)[2 * (i)] : (items)[i] & UINT32_MAX)
#define VALUE_OF(items, i) (WIDE ? (items)[2 * (i) + 1] : (items)[i] >> 32)

DZO_ITEM bool creates(dzo_table_operation operation) {
  return operation != DZO_TABLE_FIND && operation != DZO_TABLE_ERASE;
}

/* The value that an operation leaves where there was one. */
DZO_ITEM uint64_t combined(dzo_table_operation operation, uint64_t old, uint64_t value) {
  switch (operation) {
  case DZO_TABLE_ASSIGN:
    return value;
  case DZO_TABLE_ADD:
    return (WORD)(old + value);
  case DZO_TABLE_MIN:
    return value < old ? value : old;
  case DZO_TABLE_MAX:
    return value > old ? value : old;
  default:
    return old;
  }
}

/* ---- Answers --------------------------------------------------------------------------------- */

DZO_ITEM void give(table_cpu_task *task, uint64_t i, dzo_table_operation operation,
                   dzo_table_answer answer, uint64_t value) {
  task->found += answer == DZO_TABLE_FOUND;
  task->inserted += answer == DZO_TABLE_INSERTED;
  task->refused += answer == DZO_TABLE_REFUSED;
  uint64_t position = task->tags == NULL ? i : task->tags[i] & ((1u << TABLE_CPU_TAG_BITS) - 1);
  if (task->answers != NULL)
    task->answers[position] = (uint8_t)answer;
  if (operation == DZO_TABLE_FIND && task->results != NULL)
    ((WORD *)task->results)[position] = (WORD)value;
}

/* ---- One query at a time --------------------------------------------------------------------- */

/* A query whose pair stands in a slot. Returns the value found. */
DZO_ITEM uint64_t hit(table_cpu_task *task, uint64_t *b, unsigned slot, uint64_t number,
                      dzo_table_operation operation, uint64_t value) {
  uint64_t old = value_at(b, slot);
  if (operation == DZO_TABLE_ERASE) {
    task->erased++;
    table_cpu_region *region = &task->store->regions[number];
    bool full = empty_slots(b) == 0;
    region->failures -= region->failures > 0;
    region->tombs += full;
    region->erased += full;
    set_free(b, slot, full);
    /* Often enough, and no more often than the overflow, which may be long, can be gone through. */
    if (DZO_UNLIKELY(region->erased > task->store->buckets * SLOTS / 2 + region->nodes))
      task->untidy = number + 1;
  } else if (operation != DZO_TABLE_FIND && operation != DZO_TABLE_INSERT) {
    set_value(b, slot, combined(operation, old, value));
  }
  return old;
}

/* A query whose pair stands in the overflow. */
static uint64_t hit_node(table_cpu_task *task, table_cpu_region *region, table_cpu_node *node,
                         dzo_table_operation operation, uint64_t value) {
  uint64_t old = node->value;
  if (operation == DZO_TABLE_ERASE) {
    task->erased++;
    table_cpu_overflow_erase(task->store, region, node);
  } else {
    node->value = combined(operation, old, value);
  }
  return old;
}

/* A query for a key that stands aside. */
static dzo_table_answer ask_side(table_cpu_task *task, dzo_table_operation operation, uint64_t key,
                                 uint64_t value, uint64_t *seen) {
  table_cpu_side *side = &task->table->side[key - RESERVED];
  bool was = side->alive;
  if (was) {
    *seen = side->value;
    side->value = combined(operation, side->value, value);
    side->alive = operation != DZO_TABLE_ERASE;
    task->erased += operation == DZO_TABLE_ERASE;
    return DZO_TABLE_FOUND;
  }
  if (!creates(operation))
    return DZO_TABLE_ABSENT;
  *side = (table_cpu_side){true, value};
  return DZO_TABLE_INSERTED;
}

/* Take a place in the overflow, if there is one left. */
static bool take_room(table_cpu_task *task) {
  if (!task->bounded)
    return true;
  uint64_t left = dzo_load_u64(task->room);
  while (left > 0)
    if (dzo_cas_u64(task->room, &left, left - 1))
      return true;
  return false;
}

/* A new key, for which there is no free slot. A region that has refused one refuses all for the
 * rest of the batch, so that a key is refused each time. */
static dzo_table_answer create_elsewhere(table_cpu_task *task, table_cpu_place place, uint64_t key,
                                         uint64_t value) {
  table_cpu_store *s = task->store;
  table_cpu_region *region = &s->regions[place.region];
  if (put_by_moves(s, place, key, value))
    return DZO_TABLE_INSERTED;
  if (take_room(task)) {
    if (put_in_overflow(s, region, key, value))
      return DZO_TABLE_INSERTED;
    task->starved = true;
  }
  region->closed = task->table->serial;
  return DZO_TABLE_REFUSED;
}

/* All that a query may need. What most need has few branches, since they cannot be foreseen. */
DZO_ITEM dzo_table_answer ask(table_cpu_task *task, table_cpu_place place,
                              dzo_table_operation operation, uint64_t key, uint64_t value,
                              uint64_t *seen) {
  if (DZO_UNLIKELY(key >= RESERVED))
    return ask_side(task, operation, key, value, seen);
  table_cpu_store *s = task->store;
  uint64_t *first = table_cpu_bucket(s, place.first);
  uint64_t *second = table_cpu_bucket(s, place.second);
  unsigned in_first = slots_of(first, key), in_second = slots_of(second, key);
  if ((in_first | in_second) != 0) {
    uint64_t *b = in_first != 0 ? first : second;
    *seen =
        hit(task, b, lowest(in_first != 0 ? in_first : in_second), place.region, operation, value);
    return DZO_TABLE_FOUND;
  }
  table_cpu_region *region = &s->regions[place.region];
  if (DZO_UNLIKELY(region->pairs > 0)) {
    table_cpu_node *node = table_cpu_overflow_find(region, key);
    if (node != NULL && node->alive != 0) {
      *seen = hit_node(task, region, node, operation, value);
      return DZO_TABLE_FOUND;
    }
  }
  if (!creates(operation))
    return DZO_TABLE_ABSENT;
  if (DZO_UNLIKELY(region->closed == task->table->serial))
    return DZO_TABLE_REFUSED;
  unsigned free_first = free_slots(first), free_second = free_slots(second);
  if (DZO_UNLIKELY((free_first | free_second) == 0))
    return create_elsewhere(task, place, key, value);
  fill_slot(region, free_first != 0 ? first : second, free_first != 0 ? free_first : free_second,
            key, value);
  return DZO_TABLE_INSERTED;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

DZO_ITEM dzo_table_operation operation_of(const table_cpu_task *task, uint64_t i,
                                          dzo_table_operation operation) {
  return operation == DZO_TABLE_MIXED ? (dzo_table_operation)(task->tags[i] >> TABLE_CPU_TAG_BITS)
                                      : operation;
}

DZO_ITEM uint64_t *first_bucket(const table_cpu_store *s, uint64_t hash) {
  return table_cpu_bucket(s, table_cpu_region_of(s, hash) * s->buckets +
                                 table_cpu_first_in(s->buckets, hash));
}

/* Hash a group of keys and ask for their first buckets. */
DZO_ITEM void aim(const table_cpu_task *task, uint64_t begin, unsigned count, uint64_t *hashes) {
  const uint64_t *items = task->items;
  for (unsigned j = 0; j < count; j++) {
    hashes[j] = table_hash(KEY_OF(items, begin + j), task->store->seed);
    DZO_PREFETCH_WRITE(first_bucket(task->store, hashes[j]));
  }
}

/* What a first bucket decides. False: it does not. */
DZO_ITEM bool try_first(table_cpu_task *task, uint64_t i, uint64_t hash,
                        dzo_table_operation operation) {
  const uint64_t *items = task->items;
  uint64_t key = KEY_OF(items, i), value = VALUE_OF(items, i);
  if (DZO_UNLIKELY(key >= RESERVED))
    return false;
  uint64_t *b = first_bucket(task->store, hash);
  unsigned slots = slots_of(b, key);
  if (slots != 0) {
    give(task, i, operation, DZO_TABLE_FOUND,
         hit(task, b, lowest(slots), table_cpu_region_of(task->store, hash), operation, value));
    return true;
  }
  unsigned empty = empty_slots(b);
  if (empty == 0)
    return false;
  if (creates(operation)) {
    set_pair(b, lowest(empty), key, value);
    give(task, i, operation, DZO_TABLE_INSERTED, 0);
  } else {
    give(task, i, operation, DZO_TABLE_ABSENT, 0);
  }
  return true;
}

/* Not where a key was refused, which must not find an EMPTY slot in this batch. */
static void tidy_after(table_cpu_task *task) {
  uint64_t number = task->untidy - 1;
  task->untidy = 0;
  if (task->store->regions[number].closed != task->table->serial)
    tidy(task->store, number);
}

DZO_ITEM void work_group(table_cpu_task *task, uint64_t begin, unsigned count,
                         const uint64_t *hashes, dzo_table_operation operation) {
  const uint64_t *items = task->items;
  table_cpu_place places[GROUP];
  unsigned left[GROUP], lefts = 0;
  for (unsigned j = 0; j < count; j++)
    if (!try_first(task, begin + j, hashes[j], operation_of(task, begin + j, operation))) {
      places[lefts] = table_cpu_find_place(task->store, hashes[j]);
      DZO_PREFETCH_WRITE(table_cpu_bucket(task->store, places[lefts].second));
      left[lefts++] = j;
    }
  for (unsigned k = 0; k < lefts; k++) {
    uint64_t i = begin + left[k], seen = 0;
    dzo_table_operation own = operation_of(task, i, operation);
    dzo_table_answer answer =
        ask(task, places[k], own, KEY_OF(items, i), VALUE_OF(items, i), &seen);
    give(task, i, own, answer, seen);
  }
  if (operation >= DZO_TABLE_ERASE && DZO_UNLIKELY(task->untidy != 0))
    tidy_after(task);
}

DZO_ITEM void work_as(table_cpu_task *task, dzo_table_operation operation) {
  uint64_t hashes[2][GROUP];
  uint64_t count = task->count, begin = 0;
  unsigned here = count < GROUP ? (unsigned)count : GROUP;
  aim(task, 0, here, hashes[0]);
  for (unsigned turn = 0; begin < count && task->inserted < task->quota; turn ^= 1) {
    uint64_t next = begin + here;
    unsigned ahead = count - next < GROUP ? (unsigned)(count - next) : GROUP;
    aim(task, next, ahead, hashes[turn ^ 1]);
    work_group(task, begin, here, hashes[turn], operation);
    begin = next;
    here = ahead;
  }
  task->count = begin;
}

static void work(table_cpu_task *task) {
  switch (task->operation) {
  case DZO_TABLE_FIND:
    work_as(task, DZO_TABLE_FIND);
    break;
  case DZO_TABLE_INSERT:
    work_as(task, DZO_TABLE_INSERT);
    break;
  case DZO_TABLE_ASSIGN:
    work_as(task, DZO_TABLE_ASSIGN);
    break;
  case DZO_TABLE_ADD:
    work_as(task, DZO_TABLE_ADD);
    break;
  case DZO_TABLE_MIN:
    work_as(task, DZO_TABLE_MIN);
    break;
  case DZO_TABLE_MAX:
    work_as(task, DZO_TABLE_MAX);
    break;
  case DZO_TABLE_ERASE:
    work_as(task, DZO_TABLE_ERASE);
    break;
  case DZO_TABLE_MIXED:
    work_as(task, DZO_TABLE_MIXED);
    break;
  }
}
