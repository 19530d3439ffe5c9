/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_numbers.h"

#include "base/item.h"

enum { PART = 1 << 14, BLOCK = 64 };

/* Numbers of so many pieces are marked together when they are sent. */
enum { TOGETHER = 8, TURNS = MSF_LOOKS_FOUND / TOGETHER };

/* Marks: what was asked for in each turn has arrived; what was sent in each has; all has. */
enum { ASKED = MSF_RING_MERGED + 1, SENT = ASKED + MSF_LOOKS, ALL_SENT = SENT + TURNS };
_Static_assert((int)ALL_SENT < (int)DZO_MARKS, "marks of their own");

/* ---- Looking --------------------------------------------------------------------------------- */

static void look_up_block(const dzo_graph *g, const uint32_t *u, const uint32_t *ids,
                          unsigned count, uint64_t *out) {
  for (unsigned i = 0; i < count; i++) {
    out[i] = g->offsets[u[i]] + ids[i];
    if (g->numbers32 != NULL)
      DZO_PREFETCH(&g->numbers32[out[i]]);
    else
      DZO_PREFETCH(&g->numbers64[out[i]]);
  }
  for (unsigned i = 0; i < count; i++)
    out[i] = dzo_arc_number(g, out[i]);
}

void msf_look_up(const dzo_graph *g, const uint32_t *u, const uint32_t *ids, uint64_t count,
                 uint64_t *out) {
  for (uint64_t at = 0; at < count; at += BLOCK)
    look_up_block(g, u + at, ids + at, count - at < BLOCK ? (unsigned)(count - at) : BLOCK,
                  out + at);
}

static uint32_t *rows_of(const msf_numbers *n, uint64_t look) {
  return n->staging + look % MSF_LOOKS * 2 * n->piece;
}

static uint32_t *found_of(const msf_numbers *n, uint64_t look) {
  return n->found + look % MSF_LOOKS_FOUND * n->piece;
}

/* A part of a look. */
static void look_up_part(const msf_numbers *n, uint64_t look, uint64_t part) {
  const msf_look *here = &n->looks[look % MSF_LOOKS];
  uint64_t begin = part * PART, end = begin + PART < here->count ? begin + PART : here->count;
  const uint32_t *u = rows_of(n, look);
  const uint32_t *ids = rows_of(n, look) + n->piece;
  uint32_t *found = found_of(n, look);
  for (uint64_t at = begin; at < end; at += BLOCK) {
    uint64_t numbers[BLOCK];
    unsigned count = end - at < BLOCK ? (unsigned)(end - at) : BLOCK;
    look_up_block(n->graph, u + at, ids + at, count, numbers);
    for (unsigned i = 0; i < count; i++)
      found[at + i] = (uint32_t)numbers[i];
  }
  dzo_board_finish(n->board, look);
}

void msf_numbers_work(msf_numbers *n) {
  uint64_t look, part;
  (void)dzo_fetch_add_u64(&n->helpers, 1);
  while (n->board != NULL && dzo_board_take(n->board, true, &look, &part))
    look_up_part(n, look, part);
}

void msf_numbers_stop(msf_numbers *n) {
  if (n->board != NULL)
    dzo_board_stop(n->board);
}

/* ---- The way here and back ------------------------------------------------------------------- */

/* Ask for the next piece. */
static dzo_status ask(msf_numbers *n) {
  dzo_unit *unit = n->ring->unit;
  const msf_filter *f = &n->ring->filter;
  msf_look *look = &n->looks[n->asked % MSF_LOOKS];
  *look = (msf_look){n->next, n->end - n->next < n->piece ? n->end - n->next : n->piece};
  uint64_t bytes = look->count * sizeof(uint32_t);
  uint32_t *to = rows_of(n, n->asked);
  DZO_TRY(dzo_unit_copy(unit, MSF_RING_LOOKS, to, f->columns[MSF_U] + look->first, bytes));
  DZO_TRY(
      dzo_unit_copy(unit, MSF_RING_LOOKS, to + n->piece, f->columns[MSF_ID] + look->first, bytes));
  DZO_TRY(dzo_unit_mark(unit, MSF_RING_LOOKS, ASKED + (int)(n->asked % MSF_LOOKS)));
  n->next += look->count;
  n->asked++;
  return DZO_OK;
}

/* Has the oldest piece asked for arrived, and is there a place for its numbers? */
static bool may_post(const msf_numbers *n) {
  dzo_unit *unit = n->ring->unit;
  if (!dzo_unit_reached(unit, ASKED + (int)(n->posted % MSF_LOOKS)))
    return false;
  return n->posted < MSF_LOOKS_FOUND ||
         dzo_unit_reached(unit, SENT + (int)(n->posted / TOGETHER % TURNS));
}

/* Let it be looked up. */
static void post(msf_numbers *n) {
  dzo_board_post(n->board, (n->looks[n->posted % MSF_LOOKS].count + PART - 1) / PART);
  n->posted++;
}

/* Send the oldest piece's numbers; not by the queue in which pieces come, which must not wait for
 * the chunks that are sent before them. */
static dzo_status send_back(msf_numbers *n) {
  const msf_look *look = &n->looks[n->sent % MSF_LOOKS];
  msf_filter *f = &n->ring->filter;
  dzo_unit *unit = n->ring->unit;
  DZO_TRY(dzo_unit_copy(unit, MSF_RING_COPIES, f->columns[MSF_ID] + look->first,
                        found_of(n, n->sent), look->count * sizeof(uint32_t)));
  f->numbered = look->first + look->count;
  n->sent++;
  if (n->sent % TOGETHER == 0)
    return dzo_unit_mark(unit, MSF_RING_COPIES, SENT + (int)((n->sent - 1) / TOGETHER % TURNS));
  return DZO_OK;
}

/* The last merge is done: look up what has no number yet. */
static dzo_status begin(msf_numbers *n) {
  const msf_filter_control *control;
  n->merges = n->ring->merges;
  DZO_TRY(msf_ring_forest(n->ring, &control));
  n->ring->filter.numbered = n->next = control->numbered;
  n->end = control->front;
  return dzo_unit_queue_after(n->ring->unit, MSF_RING_LOOKS, MSF_RING_MERGED);
}

dzo_status msf_numbers_go_on(msf_numbers *n, bool late) {
  if (n->board == NULL || dzo_load_u64(&n->helpers) == 0)
    return DZO_OK;
  dzo_unit *unit = n->ring->unit;
  if (n->merges != n->ring->merges) {
    if (!late || !dzo_unit_reached(unit, MSF_RING_MERGED))
      return DZO_OK;
    DZO_TRY(begin(n));
  }
  while (n->posted < n->asked && may_post(n))
    post(n);
  while (n->sent < n->posted && dzo_board_is_done(n->board, false, n->sent))
    DZO_TRY(send_back(n));
  while (n->next < n->end && n->asked - n->sent < MSF_LOOKS)
    DZO_TRY(ask(n));
  return DZO_OK;
}

/* Before a merge: what is being looked up is looked up to the end and sent; what is only on its way
 * is forgotten. */
static dzo_status finish(void *argument) {
  msf_numbers *n = argument;
  dzo_unit *unit = n->ring->unit;
  uint64_t look, part;
  if (n->ring->merges > 0 && n->merges != n->ring->merges)
    DZO_TRY(begin(n));
  while (dzo_board_take(n->board, false, &look, &part))
    look_up_part(n, look, part);
  while (n->sent < n->posted) {
    (void)dzo_board_is_done(n->board, true, n->sent);
    DZO_TRY(send_back(n));
  }
  n->asked = n->posted;
  n->next = n->end;
  DZO_TRY(dzo_unit_mark(unit, MSF_RING_COPIES, ALL_SENT));
  DZO_TRY(dzo_unit_queue_after(unit, MSF_RING_FILTERS, ALL_SENT));
  DZO_TRY(dzo_unit_mark(unit, MSF_RING_LOOKS, ALL_SENT));
  return dzo_unit_queue_after(unit, MSF_RING_FILTERS, ALL_SENT);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

bool msf_numbers_are_early(const dzo_graph *g) { return g->numbers32 != NULL; }

static uint64_t piece_of(const dzo_graph *g) {
  return g->vertices < MSF_LOOKS_EDGES ? g->vertices : MSF_LOOKS_EDGES;
}

uint64_t msf_numbers_bytes(const dzo_graph *g) {
  uint64_t words = (2 * MSF_LOOKS + MSF_LOOKS_FOUND) * piece_of(g);
  return msf_numbers_are_early(g) ? words * sizeof(uint32_t) : 0;
}

dzo_status msf_numbers_open(msf_numbers *n, msf_ring *ring, const dzo_graph *graph, void *staging) {
  if (n->board != NULL) {
    DZO_TRY(finish(n));
    msf_numbers_close(n);
  }
  *n = (msf_numbers){.ring = ring, .graph = graph, .piece = piece_of(graph), .staging = staging};
  if (!msf_numbers_are_early(graph))
    return DZO_OK;
  n->found = n->staging + 2 * MSF_LOOKS * n->piece;
  DZO_TRY(dzo_board_create(ring->unit->context, MSF_LOOKS, &n->board));
  n->merges = ring->merges;
  ring->before_merge = finish;
  ring->merge_argument = n;
  return DZO_OK;
}

void msf_numbers_close(msf_numbers *n) {
  dzo_board_destroy(n->board);
  n->board = NULL;
}
