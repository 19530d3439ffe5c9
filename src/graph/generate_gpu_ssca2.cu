/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* SSCA2 on the GPU. The CPU draws the sizes of the cliques and follows the sequence of draws
 * through the links, whose number decides where the next ones stand; all edges are made here. */
#include "base/memory.h"
#include "device/primitives.h"
#include "graph/generate.h"
#include "graph/generate_gpu.cuh"

enum { GROUP = 32 /* vertices whose links a thread draws */ };

/* Arrays in device memory. */
struct ssca2_room {
  uint32_t *first, *clique_of, *permutation;
  uint64_t *edges;
  uint64_t *states; /* [groups] before the links of each group */
  uint64_t *links;  /* [groups + 1] of each group, then of all groups before */
};

struct ssca2_shape {
  uint64_t vertices;
  uint64_t cliques, inside; /* edges inside cliques */
  uint64_t count;           /* of all edges; 0 while links are counted */
  unsigned scale;
  double inter_clique;
};

/* Edge k in the order of drawing is number count - 1 - k. */
struct ssca2_target {
  uint32_t *u, *v;
};

/* A clique a warp: the edges of each vertex with all before it. */
static __global__ void fill_cliques(ssca2_room room, ssca2_shape shape, ssca2_target out) {
  unsigned lane = dzo_lane();
  uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / GENERATE_WARP);
  uint64_t warp = (uint64_t)blockIdx.x * (blockDim.x / GENERATE_WARP) + threadIdx.x / GENERATE_WARP;
  for (uint64_t c = warp; c < shape.cliques; c += warps) {
    uint32_t first = room.first[c], size = room.first[c + 1] - first;
    uint64_t last = shape.count - 1 - room.edges[c];
    for (uint64_t i = 1; i < size; i++) {
      uint32_t u = room.permutation[first + i];
      for (uint64_t j = lane; j < i; j += GENERATE_WARP) {
        out.u[last - i * (i - 1) / 2 - j] = u;
        out.v[last - i * (i - 1) / 2 - j] = room.permutation[first + j];
      }
    }
  }
}

/* A group of vertices a thread: their links are counted, or written where `out.u` is there. */
static __global__ void draw_links(ssca2_room room, ssca2_shape shape, uint64_t groups,
                                  ssca2_target out) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t g = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += step) {
    uint64_t state = room.states[g], end = (g + 1) * GROUP, found = 0, j;
    uint64_t last = out.u != NULL ? shape.count - 1 - shape.inside - room.links[g] : 0;
    end = end < shape.vertices ? end : shape.vertices;
    for (uint64_t i = g * GROUP; i < end; i++) {
      double probability = shape.inter_clique;
      for (unsigned t = 1; t < shape.scale; t++, probability *= 0.5) {
        if (!dzo_ssca2_try_link(&state, i, t, probability, shape.vertices, room.clique_of, &j))
          continue;
        if (out.u != NULL) {
          out.u[last - found] = room.permutation[i];
          out.v[last - found] = room.permutation[j];
        }
        found++;
      }
    }
    if (out.u == NULL)
      room.links[g] = found;
  }
}

/* ---- On the host ----------------------------------------------------------------------------- */

struct ssca2_job {
  dzo_unit *unit;
  const dzo_generate_options *options;
  dzo_cliques cliques;
  uint64_t state;
  uint64_t groups;
  uint64_t *states;
  ssca2_room room;
  ssca2_shape shape;
};

static dzo_status send(dzo_unit *unit, const void *from, uint64_t count, size_t size, void **out) {
  DZO_TRY(dzo_unit_allocate(unit, count, size, out));
  return dzo_unit_copy(unit, 0, *out, from, count * size);
}

/* What must be drawn in sequence. */
static dzo_status draw_sequence(ssca2_job *job) {
  dzo_context *context = job->unit->context;
  const dzo_cliques *q = &job->cliques;
  DZO_TRY(dzo_ssca2_draw_cliques(context, job->options, &job->cliques, &job->state));
  job->states = (uint64_t *)dzo_alloc(context, job->groups, sizeof *job->states);
  if (job->states == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(dzo_ssca2_link_states(context, job->options, q, GROUP, job->states, &job->state));
  job->shape.cliques = q->count;
  job->shape.inside = q->edges[q->count];
  dzo_unit *unit = job->unit;
  ssca2_room *room = &job->room;
  DZO_TRY(send(unit, q->first, q->count + 1, sizeof *q->first, (void **)&room->first));
  DZO_TRY(send(unit, q->edges, q->count + 1, sizeof *q->edges, (void **)&room->edges));
  DZO_TRY(send(unit, q->clique_of, job->shape.vertices, sizeof *q->clique_of,
               (void **)&room->clique_of));
  DZO_TRY(send(unit, job->states, job->groups, sizeof *job->states, (void **)&room->states));
  DZO_TRY(dzo_unit_allocate(unit, job->groups + 1, sizeof *room->links, (void **)&room->links));
  return dzo_unit_wait(unit, 0);
}

static dzo_status count_links(ssca2_job *job, uint64_t *links) {
  dzo_unit *unit = job->unit;
  uint64_t bytes = dzo_gpu_sum_bytes(unit, job->groups + 1), *sums = job->room.links;
  ssca2_target nowhere = {NULL, NULL};
  void *scratch;
  DZO_TRY(dzo_unit_fill(unit, 0, sums + job->groups, 0, sizeof *sums));
  DZO_TRY(DZO_LAUNCH(unit, 0, draw_links, generate_blocks(unit, job->groups), GENERATE_THREADS,
                     job->room, job->shape, job->groups, nowhere));
  DZO_TRY(dzo_unit_allocate(unit, bytes > 0 ? bytes : 1, 1, &scratch));
  dzo_status status =
      dzo_gpu_exclusive_sum_u64(unit, 0, scratch, bytes, sums, sums, job->groups + 1);
  if (status == DZO_OK)
    status = dzo_unit_copy(unit, 0, links, sums + job->groups, sizeof *links);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  dzo_unit_release(unit, scratch);
  return status;
}

static dzo_status make_edges(ssca2_job *job, dzo_gpu_edges *out) {
  dzo_unit *unit = job->unit;
  uint64_t links = 0;
  DZO_TRY(draw_sequence(job));
  DZO_TRY(count_links(job, &links));
  job->shape.count = job->shape.inside + links;
  DZO_TRY(generate_take_edges(unit, job->shape.vertices, job->shape.count,
                              job->options->weight_type, out));
  DZO_TRY(generate_shuffle(unit, job->shape.vertices, true, &job->state, &job->room.permutation));
  if (job->shape.count == 0)
    return DZO_OK;
  ssca2_target target = {out->u, out->v};
  DZO_TRY(DZO_LAUNCH(unit, 0, fill_cliques,
                     generate_blocks(unit, job->shape.cliques * GENERATE_WARP), GENERATE_THREADS,
                     job->room, job->shape, target));
  DZO_TRY(DZO_LAUNCH(unit, 0, draw_links, generate_blocks(unit, job->groups), GENERATE_THREADS,
                     job->room, job->shape, job->groups, target));
  DZO_TRY(generate_draw_weights(out, job->state, true));
  return dzo_unit_wait(unit, 0);
}

dzo_status generate_ssca2(dzo_unit *unit, const dzo_generate_options *options, dzo_gpu_edges *out) {
  ssca2_job job = {};
  job.unit = unit;
  job.options = options;
  job.state = dzo_lcg48_seed((uint32_t)options->seed);
  job.shape.vertices = UINT64_C(1) << options->scale;
  job.shape.scale = options->scale;
  job.shape.inter_clique = options->inter_clique;
  job.groups = (job.shape.vertices + GROUP - 1) / GROUP;
  dzo_status status = make_edges(&job, out);
  dzo_cliques_free(&job.cliques);
  dzo_free(job.states);
  dzo_unit_release(unit, job.room.first);
  dzo_unit_release(unit, job.room.edges);
  dzo_unit_release(unit, job.room.clique_of);
  dzo_unit_release(unit, job.room.states);
  dzo_unit_release(unit, job.room.links);
  dzo_unit_release(unit, job.room.permutation);
  return status;
}
