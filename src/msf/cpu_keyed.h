/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CPU solver for one width of keys. Included by cpu_keys32.c and cpu_keys64.c, which define
 *   KEY      the unsigned type of a key
 *   KEY_BITS 32 or 64
 *   SOLVE    the name of the solver
 * The method (docs/spanning-forest.md): one sequential pass finds every vertex's first arc, which
 * is round one of Boruvka, and sets aside the lightest edges; Boruvka on those alone, contracted;
 * then only the vertices outside the giant component look for lighter ways out. */
#ifndef KEY
#error "KEY, KEY_BITS and SOLVE are to be defined by the file that includes this one"
#endif

#include "msf/keyed_boruvka.h"
#include "msf/keyed_gather.h"

/* The key of u's picked arc; narrow ones are kept where labels will be. */
static uint64_t picked_key(const msf_solver *s, uint32_t u, uint64_t arc) {
  return KEY_BITS == 32 ? s->label[u] : key_at(s, arc);
}

/* Take the picked arcs of all vertices but those that another vertex also picked. Each vertex's
 * data are somewhere else, so they are asked for a block ahead. */
static void take_picks(void *argument, uint64_t begin, uint64_t end, int thread) {
  msf_solver *s = argument;
  const dzo_graph *graph = s->graph;
  for (uint64_t at = begin; at < end; at += BLOCK) {
    unsigned count = end - at < BLOCK ? (unsigned)(end - at) : BLOCK;
    uint64_t arcs[BLOCK], numbers[BLOCK];
    for (unsigned i = 0; i < count; i++) {
      arcs[i] = graph->offsets[at + i] + s->pick[at + i];
      DZO_PREFETCH(&s->hook[dzo_load_u32(&s->hook[at + i])]);
      prefetch_number(graph, arcs[i]);
    }
    for (unsigned i = 0; i < count; i++) {
      bool isolated = graph->offsets[at + i] == graph->offsets[at + i + 1];
      numbers[i] = isolated ? 0 : dzo_arc_number(graph, arcs[i]);
      if (s->taken.bitmap != NULL)
        DZO_PREFETCH_WRITE(&s->taken.bitmap[numbers[i] / 64]);
    }
    for (unsigned i = 0; i < count; i++) {
      uint32_t u = (uint32_t)(at + i), v = dzo_load_u32(&s->hook[u]);
      if (v == u)
        continue;
      if (u < v && dzo_load_u32(&s->hook[v]) == u)
        dzo_store_u32(&s->hook[u], u);
      else
        msf_take(s, thread, numbers[i], picked_key(s, u, arcs[i]) ^ s->flip);
    }
  }
}

/* Round one, and on the way the light edges, contracted. */
static dzo_status first_phase(msf_solver *s, const msf_prefix *bound, uint64_t capacity,
                              list *light) {
  list raw = {0};
  bool direct = s->graph->arcs <= DZO_MSF_DIRECT_ARCS;
  if (!bound->all)
    DZO_TRY(list_alloc(s->context, &raw, capacity, direct));
  gather_job job = {s, bound->all ? NULL : &raw, *bound};
  dzo_parallel_for(s->threads, msf_row_units(s), ROW_GRAIN, pick_first, &job);
  msf_note(s, "scan");
  dzo_status status = dzo_progress(s->context, "solve", 0, s->n);
  if (status == DZO_OK) {
    dzo_parallel_for(s->threads, s->n, COMPONENT_GRAIN, take_picks, s);
    msf_note(s, "take");
    status = msf_contract(s, s->hook, s->n, s->label, &s->components);
  }
  msf_free_picks(s);
  msf_note(s, "contract");
  s->giant = DZO_MSF_NONE;
  *light = (list){0};
  if (status != DZO_OK || bound->all || raw.count > raw.capacity) {
    list_free(&raw);
    return status;
  }
  rounds r = {.s = s, .entries = raw.entries, .count = raw.count, .map = s->label};
  status = cross(&r, light);
  if (status == DZO_OK) {
    light->arcs = raw.arcs;
    light->rows = raw.rows;
    raw.arcs = NULL;
    raw.rows = NULL;
  }
  list_free(&raw);
  msf_note(s, "light");
  return status;
}

/* Gather and merge what is in the prefix and crosses. Should there be more of it than sampling
 * foretold, *full is set and nothing else has happened. */
static dzo_status next_phase(msf_solver *s, const msf_prefix *bound, uint64_t capacity,
                             bool *full) {
  list rest;
  DZO_TRY(list_alloc(s->context, &rest, capacity,
                     s->giant == DZO_MSF_NONE && s->graph->arcs <= DZO_MSF_DIRECT_ARCS));
  gather_job job = {s, &rest, *bound};
  dzo_parallel_for(s->threads, msf_row_units(s), ROW_GRAIN, gather_rest, &job);
  msf_note(s, "gather");
  *full = rest.count > rest.capacity;
  dzo_status status = dzo_progress(s->context, "solve", s->n - s->components, s->n);
  if (status == DZO_OK && !*full)
    status = boruvka(s, &rest);
  list_free(&rest);
  return status;
}

dzo_status SOLVE(msf_solver *s) {
  msf_prefix bound;
  uint64_t capacity;
  DZO_TRY(msf_choose_prefix(s, &bound, &capacity));
  list light;
  msf_note(s, "sample");
  DZO_TRY(first_phase(s, &bound, capacity, &light));
  dzo_status status = boruvka(s, &light);
  list_free(&light);
  if (status != DZO_OK || s->components == 1)
    return status;
  return msf_finish(s, next_phase);
}
