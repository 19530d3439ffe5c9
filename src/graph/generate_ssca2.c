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

enum { DRAWS_OF_A_CLIQUE_EDGE = 2, DRAWS_AFTER_ACCEPTING = 1 };

typedef struct cliques {
  uint64_t count;
  uint32_t *first;     /* [count + 1] vertices */
  uint64_t *edges;     /* [count + 1] edges in the cliques before */
  uint32_t *clique_of; /* [vertices] */
} cliques;

typedef struct links {
  uint64_t count, capacity;
  uint32_t *u, *v;
} links;

typedef struct ssca2 {
  dzo_context *context;
  const dzo_generate_options *options;
  uint64_t vertices;
  uint64_t state;
  cliques cliques;
  links links; /* edges between cliques */
  uint32_t *permutation;
} ssca2;

static double draw(uint64_t *state) {
  *state = dzo_lcg48_next(*state);
  return dzo_lcg48_real(*state);
}

/* The contest draws sizes for an estimated number of cliques, uses as many as fill the vertices,
 * and gives the rest to the last. */
static uint64_t estimated_cliques(const ssca2 *g) {
  uint64_t half = g->options->max_clique / 2;
  uint64_t estimate = (uint64_t)(1.25 * (double)g->vertices / (double)half);
  return estimate > 0 ? estimate : 1;
}

static dzo_status draw_cliques(ssca2 *g) {
  cliques *q = &g->cliques;
  uint64_t estimate = estimated_cliques(g);
  uint64_t most = estimate < g->vertices ? estimate : g->vertices;
  q->first = dzo_alloc(g->context, most + 1, sizeof *q->first);
  q->edges = dzo_alloc(g->context, most + 1, sizeof *q->edges);
  q->clique_of = dzo_alloc(g->context, g->vertices, sizeof *q->clique_of);
  if (q->first == NULL || q->edges == NULL || q->clique_of == NULL)
    return DZO_E_MEMORY;
  uint64_t next = 0;
  while (q->count < estimate && next < g->vertices) {
    DZO_TRY(dzo_generate_poll(g->context, q->count, estimate));
    q->first[q->count++] = (uint32_t)next;
    next += 1 + (uint64_t)((double)g->options->max_clique * draw(&g->state));
  }
  q->first[q->count] = (uint32_t)g->vertices;
  g->state = dzo_lcg48_apply(dzo_lcg48_jump_of(estimate - q->count), g->state);
  return DZO_OK;
}

static void mark_cliques(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const cliques *q = argument;
  for (uint64_t i = begin; i < end; i++) {
    for (uint32_t x = q->first[i]; x < q->first[i + 1]; x++)
      q->clique_of[x] = (uint32_t)i;
  }
}

/* All of them together, and those in the cliques before each. */
static uint64_t count_clique_edges(const cliques *q) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < q->count; i++) {
    uint64_t size = q->first[i + 1] - q->first[i];
    q->edges[i] = sum;
    sum += size * (size - 1) / 2;
  }
  q->edges[q->count] = sum;
  return sum;
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

/* One vertex: for t = 1 .. scale - 1 a vertex at distance 2^t and up to half of that more, taken
 * with a probability that halves each time if it is in another clique. */
static dzo_status draw_links_of(ssca2 *g, uint64_t i) {
  uint64_t state = g->state;
  double probability = g->options->inter_clique;
  uint32_t clique = g->cliques.clique_of[i];
  for (unsigned t = 1; t < g->options->scale; t++, probability *= 0.5) {
    uint64_t distance = UINT64_C(1) << t;
    double ahead = (double)(i + distance) + draw(&state) * (double)(distance / 2);
    uint64_t j = (uint64_t)ahead & (g->vertices - 1);
    if (g->cliques.clique_of[j] == clique)
      continue;
    state = dzo_lcg48_next(state);
    double p = draw(&state);
    for (int extra = 0; extra < DRAWS_AFTER_ACCEPTING; extra++)
      state = dzo_lcg48_next(state);
    if (p < probability)
      DZO_TRY(add_link(g, i, j));
  }
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
    uint64_t j = (uint64_t)((double)i + draw(&g->state) * (double)(g->vertices - i));
    /* The sum may be rounded up to `vertices`. */
    if (j == g->vertices)
      j--;
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
  const cliques *q = &job->g->cliques;
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
  DZO_TRY(draw_cliques(g));
  DZO_TRY(
      dzo_generate_items(g->context, g->cliques.count, CLIQUE_GRAIN, mark_cliques, &g->cliques));
  uint64_t inside = count_clique_edges(&g->cliques);
  g->state = dzo_lcg48_apply(dzo_lcg48_jump_of(inside * DRAWS_OF_A_CLIQUE_EDGE), g->state);
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
  dzo_free(g.cliques.first);
  dzo_free(g.cliques.edges);
  dzo_free(g.cliques.clique_of);
  dzo_free(g.links.u);
  dzo_free(g.links.v);
  dzo_free(g.permutation);
  return status;
}
