/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The R-MAT generator of the GraphHPC-2015 contest, after D. Chakrabarti, Y. Zhan, C. Faloutsos,
 * "R-MAT: a recursive model for graph mining", 2004. The contest draws all its random numbers from
 * one drand48 sequence: 1 + 5 (scale - 1) for each edge, then one for each vertex to permute the
 * names, then one for each weight. So the place of every draw is known, and edges can be made in
 * any order; the arithmetic of one edge is kept to the letter. */
#include "base/clones.h"
#include "base/memory.h"
#include "graph/generate.h"

enum { LANES = 64, GRAIN = 1 << 12 };

/* Many edges side by side, for vector units. */
typedef struct lanes {
  uint64_t state[LANES];
  double a[LANES], b[LANES], c[LANES], d[LANES]; /* probabilities of the four quadrants */
  uint64_t place[LANES];                         /* u in the upper half, v in the lower */
} lanes;

DZO_ITEM dzo_rmat_edge take_lane(const lanes *x, int i) {
  return (dzo_rmat_edge){x->state[i], x->a[i], x->b[i], x->c[i], x->d[i], x->place[i]};
}

DZO_ITEM void put_lane(lanes *x, int i, const dzo_rmat_edge *edge) {
  x->state[i] = edge->state;
  x->a[i] = edge->a;
  x->b[i] = edge->b;
  x->c[i] = edge->c;
  x->d[i] = edge->d;
  x->place[i] = edge->place;
}

DZO_ITEM void choose_half(lanes *x) {
  for (int i = 0; i < LANES; i++) {
    dzo_rmat_edge edge = {.state = x->state[i]};
    dzo_rmat_first(&edge);
    put_lane(x, i, &edge);
  }
}

DZO_ITEM void choose_next(lanes *x) {
  for (int i = 0; i < LANES; i++) {
    dzo_rmat_edge edge = take_lane(x, i);
    dzo_rmat_next(&edge);
    put_lane(x, i, &edge);
  }
}

/* Make the next edge of every lane. */
DZO_CLONES
static void make_edges(lanes *x, unsigned scale) {
  choose_half(x);
  for (unsigned level = 1; level < scale; level++)
    choose_next(x);
}

typedef struct rmat_job {
  dzo_edge_list *list;
  uint64_t state;        /* before the first draw */
  uint64_t draws;        /* of one edge */
  dzo_lcg48_jump edge;   /* over one edge */
  dzo_lcg48_jump onward; /* over the edges of the other lanes */
  unsigned scale;
} rmat_job;

static void rmat_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const rmat_job *job = argument;
  lanes x;
  uint64_t state = dzo_lcg48_apply(dzo_lcg48_jump_of(begin * job->draws), job->state);
  for (int i = 0; i < LANES; i++) {
    x.state[i] = state;
    state = dzo_lcg48_apply(job->edge, state);
  }
  for (uint64_t first = begin; first < end; first += LANES) {
    make_edges(&x, job->scale);
    for (uint64_t i = 0; i < LANES; i++) {
      x.state[i] = dzo_lcg48_apply(job->onward, x.state[i]);
      if (first + i < end) {
        job->list->u[first + i] = (uint32_t)(x.place[i] >> 32);
        job->list->v[first + i] = (uint32_t)x.place[i];
      }
    }
  }
}

/* The contest's shuffle: swap each place in turn with any place. Advances *state. */
static dzo_status draw_permutation(dzo_context *context, uint64_t vertices, uint32_t *permutation,
                                   uint64_t *state) {
  for (uint64_t i = 0; i < vertices; i++) {
    DZO_TRY(dzo_generate_poll(context, i, vertices));
    *state = dzo_lcg48_next(*state);
    uint64_t j = dzo_rmat_partner(*state, vertices);
    uint32_t moved = permutation[i];
    permutation[i] = permutation[j];
    permutation[j] = moved;
  }
  return DZO_OK;
}

dzo_status dzo_generate_rmat(dzo_context *context, const dzo_generate_options *options,
                             dzo_edge_list **out) {
  uint64_t vertices = UINT64_C(1) << options->scale;
  uint64_t count = dzo_generate_edge_count(options);
  DZO_TRY(dzo_edge_list_create(context, vertices, count, options->weight_type, out));
  uint64_t draws = dzo_rmat_draws(options->scale);
  rmat_job job = {
      .list = *out,
      .state = dzo_lcg48_seed((uint32_t)options->seed),
      .draws = draws,
      .edge = dzo_lcg48_jump_of(draws),
      .onward = dzo_lcg48_jump_of((LANES - 1) * draws),
      .scale = options->scale,
  };
  DZO_TRY(dzo_generate_items(context, count, GRAIN, rmat_range, &job));

  uint64_t state = dzo_lcg48_apply(dzo_lcg48_jump_of(count * draws), job.state);
  uint32_t *permutation = dzo_generate_identity(context, vertices);
  if (permutation == NULL)
    return DZO_E_MEMORY;
  dzo_status status = draw_permutation(context, vertices, permutation, &state);
  if (status == DZO_OK)
    status = dzo_generate_permute(context, *out, permutation);
  dzo_free(permutation);
  DZO_TRY(status);
  return dzo_generate_weights(context, *out, state);
}
