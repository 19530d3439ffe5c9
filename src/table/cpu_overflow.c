/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The pairs that a region's buckets cannot hold: a crit-bit tree (D. J. Bernstein). Its depth is
 * bounded by the bits of a key, so that keys chosen to collide cost a constant each. */
#include "base/memory.h"
#include "table/cpu.h"

enum { FIRST_NODES = 8, SLACK = 16 };

/* Nodes are numbered through all chunks, the oldest chunk's first; the newest is at the head. */
typedef struct table_cpu_chunk {
  struct table_cpu_chunk *next;
  uint64_t before; /* nodes of older chunks */
  uint64_t room;
  table_cpu_node nodes[];
} chunk;

static bool is_pair(uintptr_t link) { return (link & 1) != 0; }

/* What a link to a branch or a pair means. */
static table_cpu_node *node_of(uintptr_t link) {
  return (table_cpu_node *)(link & ~(uintptr_t)1); // NOLINT(performance-no-int-to-ptr)
}

static uintptr_t follow(const uintptr_t *link) {
  TABLE_STEP(0);
  return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

/* The pair that shares the most leading bits with key, as far as branches look. */
static table_cpu_node *nearest(uintptr_t link, uint64_t key) {
  while (!is_pair(link)) {
    const table_cpu_node *branch = node_of(link);
    link = follow(&branch->below[key >> branch->bit & 1]);
  }
  return node_of(link);
}

table_cpu_node *table_cpu_overflow_find(const table_cpu_region *region, uint64_t key) {
  uintptr_t root = follow(&region->overflow);
  if (root == 0)
    return NULL;
  table_cpu_node *node = nearest(root, key);
  return node->key == key ? node : NULL;
}

static chunk *add_chunk(table_cpu_store *s, table_cpu_region *region, uint64_t room) {
  chunk *c = dzo_alloc(s->context, sizeof *c + room * sizeof *c->nodes, 1);
  if (c == NULL)
    return NULL;
  c->next = region->chunks;
  c->before = region->nodes;
  c->room = room;
  region->chunks = c;
  return c;
}

static table_cpu_node *new_node(table_cpu_store *s, table_cpu_region *region) {
  chunk *c = region->chunks;
  if (c == NULL || region->nodes - c->before == c->room)
    c = add_chunk(s, region, c == NULL ? FIRST_NODES : 2 * c->room);
  return c != NULL ? &c->nodes[region->nodes - c->before] : NULL;
}

/* Hang a filled node into the tree where its key leads. */
static void hang(table_cpu_region *region, table_cpu_node *node) {
  uintptr_t *at = &region->overflow;
  if (*at != 0) {
    uint64_t differs = nearest(*at, node->key)->key ^ node->key;
    uint32_t bit = 63u - (uint32_t)__builtin_clzll(differs);
    while (!is_pair(*at) && node_of(*at)->bit > bit)
      at = &node_of(*at)->below[node->key >> node_of(*at)->bit & 1];
    unsigned side = node->key >> bit & 1;
    node->bit = bit;
    node->below[side] = (uintptr_t)node | 1;
    node->below[side ^ 1] = *at;
  }
  __atomic_store_n(at, region->overflow == 0 ? (uintptr_t)node | 1 : (uintptr_t)node,
                   __ATOMIC_RELEASE);
  region->nodes++;
}

table_cpu_node *table_cpu_overflow_add(table_cpu_store *s, table_cpu_region *region, uint64_t key,
                                       uint64_t value) {
  table_cpu_node *node = new_node(s, region);
  if (node == NULL)
    return NULL;
  *node = (table_cpu_node){.key = key, .value = value, .alive = 1};
  hang(region, node);
  region->pairs++;
  return node;
}

void table_cpu_overflow_revive(table_cpu_region *region, table_cpu_node *node, uint64_t value) {
  dzo_store_u64(&node->value, value);
  __atomic_store_n(&node->alive, 1, __ATOMIC_RELEASE);
  region->pairs++;
}

table_cpu_node *table_cpu_overflow_at(const table_cpu_region *region, uint64_t number) {
  chunk *c = region->chunks;
  while (number < c->before)
    c = c->next;
  return &c->nodes[number - c->before];
}

static void free_chunks(chunk *c) {
  while (c != NULL) {
    chunk *next = c->next;
    dzo_free(c);
    c = next;
  }
}

void table_cpu_overflow_free(table_cpu_region *region) {
  free_chunks(region->chunks);
  region->chunks = NULL;
  region->overflow = 0;
  region->pairs = region->nodes = 0;
}

uint64_t table_cpu_overflow_bytes(const table_cpu_region *region) {
  uint64_t bytes = 0;
  for (const chunk *c = region->chunks; c != NULL; c = c->next)
    bytes += sizeof *c + c->room * sizeof *c->nodes;
  return bytes;
}

void table_cpu_overflow_purge(table_cpu_store *s, table_cpu_region *region) {
  table_cpu_region fresh = {0};
  if (region->pairs > 0 && add_chunk(s, &fresh, region->pairs + SLACK) == NULL)
    return;
  for (uint64_t i = 0; i < region->nodes; i++) {
    const table_cpu_node *node = table_cpu_overflow_at(region, i);
    if (node->alive != 0)
      (void)table_cpu_overflow_add(s, &fresh, node->key, node->value);
  }
  free_chunks(region->chunks);
  region->chunks = fresh.chunks;
  region->overflow = fresh.overflow;
  region->nodes = fresh.nodes;
}

void table_cpu_overflow_erase(table_cpu_store *s, table_cpu_region *region, table_cpu_node *node) {
  node->alive = 0;
  region->pairs--;
  if (region->nodes > 2 * region->pairs + SLACK)
    table_cpu_overflow_purge(s, region);
}
