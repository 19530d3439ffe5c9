/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The SSCA2 generator of the GraphHPC-2015 contest, after the HPCS Scalable Synthetic Compact
 * Applications 2 (D. A. Bader, K. Madduri): cliques of random sizes and a few edges between them.
 * All random numbers come from one drand48 sequence, and loops over a number of parallel edges that
 * is always one still draw for their conditions.
 *
 * The contest fills the rows of this graph from the front, but those of R-MAT from the back. Edges
 * are numbered from the last drawn to the first, so that one way of filling rows, from the back,
 * gives the contest's rows for both. */
#include "base/memory.h"
#include "graph/generate.h"
#include "graph/weight_map.h"

enum { CLIQUE_GRAIN = 64, EDGE_GRAIN = 1 << 14, FIRST_LINKS = 1 << 10 };

enum { DRAWS_OF_A_CLIQUE_EDGE = 2 };

typedef struct links {
  uint64_t count, capacity;
  uint32_t *u, *v;
} links;

typedef struct ssca2 {
  dzo_context *context;
  const dzo_generate_options *options;
  uint64_t vertices;
  uint64_t state;
  dzo_cliques cliques;
  links links; /* edges between cliques */
  uint32_t *permutation;
} ssca2;

static double draw(uint64_t *state) {
  *state = dzo_lcg48_next(*state);
  return dzo_lcg48_real(*state);
}

/* The contest draws sizes for an estimated number of cliques, uses as many as fill the vertices,
 * and gives the rest to the last. */
static uint64_t estimated_cliques(const dzo_generate_options *options, uint64_t vertices) {
  uint64_t half = options->max_clique / 2;
  uint64_t estimate = (uint64_t)(1.25 * (double)vertices / (double)half);
  return estimate > 0 ? estimate : 1;
}

static dzo_status draw_sizes(dzo_context *context, const dzo_generate_options *options,
                             dzo_cliques *q, uint64_t *state) {
  uint64_t vertices = UINT64_C(1) << options->scale;
  uint64_t estimate = estimated_cliques(options, vertices);
  uint64_t most = estimate < vertices ? estimate : vertices;
  q->first = dzo_alloc(context, most + 1, sizeof *q->first);
  q->edges = dzo_alloc(context, most + 1, sizeof *q->edges);
  q->clique_of = dzo_alloc(context, vertices, sizeof *q->clique_of);
  if (q->first == NULL || q->edges == NULL || q->clique_of == NULL)
    return DZO_E_MEMORY;
  uint64_t next = 0;
  while (q->count < estimate && next < vertices) {
    DZO_TRY(dzo_generate_poll(context, q->count, estimate));
    q->first[q->count++] = (uint32_t)next;
    next += 1 + (uint64_t)((double)options->max_clique * draw(state));
  }
  q->first[q->count] = (uint32_t)vertices;
  *state = dzo_lcg48_apply(dzo_lcg48_jump_of(estimate - q->count), *state);
  return DZO_OK;
}

static void mark_cliques(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const dzo_cliques *q = argument;
  for (uint64_t i = begin; i < end; i++) {
    for (uint32_t x = q->first[i]; x < q->first[i + 1]; x++)
      q->clique_of[x] = (uint32_t)i;
  }
}

/* All of them together, and those in the cliques before each. */
static uint64_t count_clique_edges(dzo_cliques *q) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < q->count; i++) {
    uint64_t size = q->first[i + 1] - q->first[i];
    q->edges[i] = sum;
    sum += size * (size - 1) / 2;
    q->largest = size > q->largest ? size : q->largest;
  }
  q->edges[q->count] = sum;
  return sum;
}

dzo_status dzo_ssca2_draw_cliques(dzo_context *context, const dzo_generate_options *options,
                                  dzo_cliques *out, uint64_t *state) {
  *out = (dzo_cliques){0};
  DZO_TRY(draw_sizes(context, options, out, state));
  DZO_TRY(dzo_generate_items(context, out->count, CLIQUE_GRAIN, mark_cliques, out));
  uint64_t inside = count_clique_edges(out);
  *state = dzo_lcg48_apply(dzo_lcg48_jump_of(inside * DRAWS_OF_A_CLIQUE_EDGE), *state);
  return DZO_OK;
}

void dzo_cliques_free(dzo_cliques *cliques) {
  dzo_free(cliques->first);
  dzo_free(cliques->edges);
  dzo_free(cliques->clique_of);
}

/* From this t on no vertex finds one of its own clique: all are too far, also around the end. */
static unsigned first_far(const dzo_generate_options *options, const dzo_cliques *cliques) {
  unsigned t = 1;
  if (UINT64_C(1) << options->scale >> 2 < cliques->largest)
    return options->scale;
  while (t < options->scale && UINT64_C(1) << t < cliques->largest)
    t++;
  return t;
}

dzo_status dzo_ssca2_link_states(dzo_context *context, const dzo_generate_options *options,
                                 const dzo_cliques *cliques, unsigned step, uint64_t *states,
                                 uint64_t *state) {
  uint64_t vertices = UINT64_C(1) << options->scale, x = *state, j;
  unsigned far = first_far(options, cliques);
  dzo_lcg48_jump rest = dzo_lcg48_jump_of((uint64_t)DZO_SSCA2_LINK_DRAWS *
                                          (options->scale > far ? options->scale - far : 0));
  for (uint64_t i = 0; i < vertices; i++) {
    DZO_TRY(dzo_generate_poll(context, i, vertices));
    if (i % step == 0)
      states[i / step] = x;
    for (unsigned t = 1; t < far; t++)
      (void)dzo_ssca2_try_link(&x, i, t, 0, vertices, cliques->clique_of, &j);
    x = dzo_lcg48_apply(rest, x);
  }
  *state = x;
  return DZO_OK;
}

static dzo_status add_link(ssca2 *g, uint64_t u, uint64_t v) {
  links *l = &g->links;
  if (l->count == l->capacity) {
    uint64_t capacity = l->capacity > 0 ? 2 * l->capacity : FIRST_LINKS;
    uint32_t *longer_u = dzo_realloc(g->context, l->u, capacity, sizeof *l->u);
    if (longer_u == NULL)
      return DZO_E_MEMORY;
    l->u = longer_u;
    uint32_t *longer_v = dzo_realloc(g->context, l->v, capacity, sizeof *l->v);
    if (longer_v == NULL)
      return DZO_E_MEMORY;
    l->v = longer_v;
    l->capacity = capacity;
  }
  l->u[l->count] = (uint32_t)u;
  l->v[l->count] = (uint32_t)v;
  l->count++;
  return DZO_OK;
}

static dzo_status draw_links_of(ssca2 *g, uint64_t i) {
  uint64_t state = g->state, j;
  double probability = g->options->inter_clique;
  for (unsigned t = 1; t < g->options->scale; t++, probability *= 0.5)
    if (dzo_ssca2_try_link(&state, i, t, probability, g->vertices, g->cliques.clique_of, &j))
      DZO_TRY(add_link(g, i, j));
  g->state = state;
  return DZO_OK;
}

static dzo_status draw_links(ssca2 *g) {
  for (uint64_t i = 0; i < g->vertices; i++) {
    DZO_TRY(dzo_generate_poll(g->context, i, g->vertices));
    DZO_TRY(draw_links_of(g, i));
  }
  return DZO_OK;
}

/* Fisher and Yates. */
static dzo_status draw_permutation(ssca2 *g) {
  uint32_t *p = g->permutation = dzo_generate_identity(g->context, g->vertices);
  if (p == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < g->vertices; i++) {
    DZO_TRY(dzo_generate_poll(g->context, i, g->vertices));
    g->state = dzo_lcg48_next(g->state);
    uint64_t j = dzo_ssca2_partner(g->state, i, g->vertices);
    uint32_t moved = p[i];
    p[i] = p[j];
    p[j] = moved;
  }
  return DZO_OK;
}

typedef struct fill_job {
  const ssca2 *g;
  dzo_edge_list *list;
} fill_job;

static void fill_cliques(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const fill_job *job = argument;
  const dzo_cliques *q = &job->g->cliques;
  uint32_t *u = job->list->u + q->edges[begin], *v = job->list->v + q->edges[begin];
  for (uint64_t c = begin; c < end; c++) {
    for (uint32_t i = q->first[c]; i < q->first[c + 1]; i++) {
      for (uint32_t j = q->first[c]; j < i; j++) {
        *u++ = i;
        *v++ = j;
      }
    }
  }
}

static void swap_bytes(void *a, void *b, size_t size) {
  char moved[sizeof(double)];
  memcpy(moved, a, size);
  memcpy(a, b, size);
  memcpy(b, moved, size);
}

static void reverse_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  dzo_edge_list *list = argument;
  size_t size = dzo_weight_bytes(list->weight_type);
  for (uint64_t i = begin; i < end; i++) {
    uint64_t twin = list->count - 1 - i;
    swap_bytes(&list->u[i], &list->u[twin], sizeof *list->u);
    swap_bytes(&list->v[i], &list->v[twin], sizeof *list->v);
    if (list->weights != NULL)
      swap_bytes((char *)list->weights + i * size, (char *)list->weights + twin * size, size);
  }
}

static dzo_status fill_edges(ssca2 *g, dzo_edge_list *list) {
  fill_job job = {g, list};
  uint64_t inside = g->cliques.edges[g->cliques.count];
  DZO_TRY(dzo_generate_items(g->context, g->cliques.count, CLIQUE_GRAIN, fill_cliques, &job));
  for (uint64_t i = 0; i < g->links.count; i++) {
    list->u[inside + i] = g->links.u[i];
    list->v[inside + i] = g->links.v[i];
  }
  DZO_TRY(dzo_generate_permute(g->context, list, g->permutation));
  DZO_TRY(dzo_generate_weights(g->context, list, g->state));
  return dzo_generate_items(g->context, list->count / 2, EDGE_GRAIN, reverse_range, list);
}

static dzo_status generate(ssca2 *g, dzo_edge_list **out) {
  DZO_TRY(dzo_ssca2_draw_cliques(g->context, g->options, &g->cliques, &g->state));
  uint64_t inside = g->cliques.edges[g->cliques.count];
  DZO_TRY(draw_links(g));
  DZO_TRY(draw_permutation(g));
  DZO_TRY(dzo_edge_list_create(g->context, g->vertices, inside + g->links.count,
                               g->options->weight_type, out));
  return fill_edges(g, *out);
}

dzo_status dzo_generate_ssca2(dzo_context *context, const dzo_generate_options *options,
                              dzo_edge_list **out) {
  ssca2 g = {
      .context = context,
      .options = options,
      .vertices = UINT64_C(1) << options->scale,
      .state = dzo_lcg48_seed((uint32_t)options->seed),
  };
  dzo_status status = generate(&g, out);
  dzo_cliques_free(&g.cliques);
  dzo_free(g.links.u);
  dzo_free(g.links.v);
  dzo_free(g.permutation);
  return status;
}
