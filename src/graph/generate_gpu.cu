/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The generators on the GPU: an edge a thread, by jumps in the one sequence of draws. */
#include "device/primitives.h"
#include "graph/generate.h"
#include "graph/generate_gpu.cuh"

enum { TILE = 1024 /* vertices of a grid that a warp handles */ };

/* Where the generated edges go. */
struct edge_arrays {
  uint32_t *u, *v;
  uint64_t count;
  dzo_weight_type type;
  void *weights;
};

static edge_arrays arrays_of(const dzo_gpu_edges *edges) {
  edge_arrays arrays = {edges->u, edges->v, edges->count, edges->weight_type, edges->weights};
  return arrays;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static __global__ void draw_weights(edge_arrays out, lcg48_strides strides, uint64_t state,
                                    bool reversed) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < out.count; i += step)
    dzo_generate_store(out.type, out.weights, reversed ? out.count - 1 - i : i,
                       lcg48_stride(strides, i + 1, state));
}

static __global__ void draw_rmat(edge_arrays out, lcg48_strides strides, uint64_t state,
                                 unsigned scale, const uint32_t *permutation) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < out.count; i += step) {
    dzo_rmat_edge edge;
    edge.state = lcg48_stride(strides, i, state);
    dzo_rmat_first(&edge);
    for (unsigned level = 1; level < scale; level++)
      dzo_rmat_next(&edge);
    out.u[i] = permutation[edge.place >> 32];
    out.v[i] = permutation[edge.place & UINT32_MAX];
  }
}

static __global__ void draw_uniform(edge_arrays out, uint64_t seed, unsigned scale) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < out.count; i += step) {
    uint64_t ends = dzo_uniform_ends(seed, i, scale);
    out.u[i] = (uint32_t)(ends >> 32);
    out.v[i] = (uint32_t)ends;
    dzo_generate_store(out.type, out.weights, i, dzo_random_word(seed, 2 * i + 1) >> 16);
  }
}

struct grid_shape {
  uint64_t rows, columns, seed;
  double keep;
};

__device__ __forceinline__ void put_grid_edge(const edge_arrays &out, uint64_t at, uint64_t u,
                                              uint64_t v, uint64_t seed, uint64_t edge) {
  out.u[at] = (uint32_t)u;
  out.v[at] = (uint32_t)v;
  dzo_generate_store(out.type, out.weights, at, dzo_random_word(seed, 2 * edge + 1) >> 16);
}

/* The kept edges of each tile of vertices are counted, or written where `out.u` is there: tiles[]
 * then holds the sums before each. */
static __global__ void draw_grid(grid_shape grid, uint64_t *tiles, uint64_t tile_count,
                                 edge_arrays out) {
  unsigned lane = dzo_lane();
  uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / GENERATE_WARP);
  uint64_t warp = (uint64_t)blockIdx.x * (blockDim.x / GENERATE_WARP) + threadIdx.x / GENERATE_WARP;
  uint64_t vertices = grid.rows * grid.columns;
  for (uint64_t tile = warp; tile < tile_count; tile += warps) {
    uint64_t base = out.u != NULL ? tiles[tile] : 0;
    for (uint64_t x = tile * TILE + lane; x < (tile + 1) * TILE; x += GENERATE_WARP) {
      bool right = x < vertices && (x + 1) % grid.columns != 0 &&
                   dzo_grid_keeps(grid.seed, 2 * x, grid.keep);
      bool down = x + grid.columns < vertices && dzo_grid_keeps(grid.seed, 2 * x + 1, grid.keep);
      unsigned rights = __ballot_sync(DZO_WARP_ALL, right);
      unsigned downs = __ballot_sync(DZO_WARP_ALL, down);
      uint64_t at = base + (unsigned)__popc(rights & dzo_lanes_below()) +
                    (unsigned)__popc(downs & dzo_lanes_below());
      if (out.u != NULL && right)
        put_grid_edge(out, at++, x, x + 1, grid.seed, 2 * x);
      if (out.u != NULL && down)
        put_grid_edge(out, at, x, x + grid.columns, grid.seed, 2 * x + 1);
      base += (unsigned)__popc(rights) + (unsigned)__popc(downs);
    }
    if (out.u == NULL && lane == 0)
      tiles[tile] = base;
  }
}

/* ---- What the generators share --------------------------------------------------------------- */

dzo_status generate_take_edges(dzo_unit *unit, uint64_t vertices, uint64_t count,
                               dzo_weight_type type, dzo_gpu_edges *out) {
  size_t size = dzo_weight_bytes(type);
  uint64_t room = count > 0 ? count : 1;
  out->unit = unit;
  out->vertices = vertices;
  out->count = count;
  out->weight_type = type;
  if (count > UINT32_MAX)
    return dzo_fail(unit->context, DZO_E_UNSUPPORTED, "%llu edges are too many for the GPU",
                    (unsigned long long)count);
  DZO_TRY(dzo_unit_allocate(unit, room, sizeof *out->u, (void **)&out->u));
  DZO_TRY(dzo_unit_allocate(unit, room, sizeof *out->v, (void **)&out->v));
  return size > 0 ? dzo_unit_allocate(unit, room, size, &out->weights) : DZO_OK;
}

dzo_status generate_draw_weights(dzo_gpu_edges *edges, uint64_t state, bool reversed) {
  if (edges->weights == NULL || edges->count == 0)
    return DZO_OK;
  return DZO_LAUNCH(edges->unit, 0, draw_weights, generate_blocks(edges->unit, edges->count),
                    GENERATE_THREADS, arrays_of(edges), lcg48_strides_of(1), state, reversed);
}

/* ---- The generators -------------------------------------------------------------------------- */

static dzo_status generate_rmat(dzo_unit *unit, const dzo_generate_options *options,
                                dzo_gpu_edges *out) {
  uint64_t vertices = UINT64_C(1) << options->scale, count = dzo_generate_edge_count(options);
  uint64_t draws = dzo_rmat_draws(options->scale);
  uint64_t first = dzo_lcg48_seed((uint32_t)options->seed);
  uint64_t state = dzo_lcg48_apply(dzo_lcg48_jump_of(count * draws), first);
  uint32_t *permutation;
  DZO_TRY(generate_take_edges(unit, vertices, count, options->weight_type, out));
  DZO_TRY(generate_shuffle(unit, vertices, false, &state, &permutation));
  dzo_status status = DZO_OK;
  if (count > 0)
    status = DZO_LAUNCH(unit, 0, draw_rmat, generate_blocks(unit, count), GENERATE_THREADS,
                        arrays_of(out), lcg48_strides_of(draws), first, options->scale,
                        (const uint32_t *)permutation);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  dzo_unit_release(unit, permutation);
  return status == DZO_OK ? generate_draw_weights(out, state, false) : status;
}

static dzo_status generate_uniform(dzo_unit *unit, const dzo_generate_options *options,
                                   dzo_gpu_edges *out) {
  uint64_t count = dzo_generate_edge_count(options);
  DZO_TRY(
      generate_take_edges(unit, UINT64_C(1) << options->scale, count, options->weight_type, out));
  if (count == 0)
    return DZO_OK;
  return DZO_LAUNCH(unit, 0, draw_uniform, generate_blocks(unit, count), GENERATE_THREADS,
                    arrays_of(out), options->seed, options->scale);
}

/* Count the edges of the tiles, then write them. `tiles` has an entry more, 0 at first. */
static dzo_status fill_grid(dzo_unit *unit, const dzo_generate_options *options, grid_shape grid,
                            uint64_t *tiles, uint64_t tile_count, dzo_gpu_edges *out) {
  uint64_t count = 0, vertices = grid.rows * grid.columns,
           bytes = dzo_gpu_sum_bytes(unit, tile_count + 1);
  unsigned blocks = generate_blocks(unit, tile_count * GENERATE_WARP);
  void *scratch;
  DZO_TRY(dzo_unit_fill(unit, 0, tiles + tile_count, 0, sizeof *tiles));
  DZO_TRY(DZO_LAUNCH(unit, 0, draw_grid, blocks, GENERATE_THREADS, grid, tiles, tile_count,
                     arrays_of(out)));
  DZO_TRY(dzo_unit_allocate(unit, bytes > 0 ? bytes : 1, 1, &scratch));
  dzo_status status =
      dzo_gpu_exclusive_sum_u64(unit, 0, scratch, bytes, tiles, tiles, tile_count + 1);
  if (status == DZO_OK)
    status = dzo_unit_copy(unit, 0, &count, tiles + tile_count, sizeof count);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  dzo_unit_release(unit, scratch);
  DZO_TRY(status);
  DZO_TRY(generate_take_edges(unit, vertices, count, options->weight_type, out));
  DZO_TRY(DZO_LAUNCH(unit, 0, draw_grid, blocks, GENERATE_THREADS, grid, tiles, tile_count,
                     arrays_of(out)));
  return dzo_unit_wait(unit, 0);
}

static dzo_status generate_grid(dzo_unit *unit, const dzo_generate_options *options,
                                dzo_gpu_edges *out) {
  grid_shape grid = {UINT64_C(1) << options->scale / 2,
                     UINT64_C(1) << (options->scale - options->scale / 2), options->seed,
                     options->keep};
  uint64_t tile_count = (grid.rows * grid.columns + TILE - 1) / TILE;
  uint64_t *tiles;
  DZO_TRY(dzo_unit_allocate(unit, tile_count + 1, sizeof *tiles, (void **)&tiles));
  dzo_status status = fill_grid(unit, options, grid, tiles, tile_count, out);
  dzo_unit_release(unit, tiles);
  return status;
}

static dzo_status generate(dzo_unit *unit, dzo_generator generator,
                           const dzo_generate_options *options, dzo_gpu_edges *out) {
  switch (generator) {
  case DZO_GENERATE_RMAT:
    return generate_rmat(unit, options, out);
  case DZO_GENERATE_SSCA2:
    return generate_ssca2(unit, options, out);
  case DZO_GENERATE_UNIFORM:
    return generate_uniform(unit, options, out);
  case DZO_GENERATE_GRID:
    return generate_grid(unit, options, out);
  }
  return DZO_E_INTERNAL;
}

extern "C" dzo_status dzo_gpu_edges_generate(dzo_unit *unit, dzo_generator generator,
                                             const dzo_generate_options *options,
                                             dzo_gpu_edges *out) {
  dzo_generate_options read;
  *out = {};
  DZO_TRY(dzo_generate_options_read(unit->context, generator, options, &read));
  dzo_gpu_edges edges = {};
  edges.unit = unit;
  dzo_status status = generate(unit, generator, &read, &edges);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  if (status == DZO_OK)
    *out = edges;
  else
    dzo_gpu_edges_destroy(&edges);
  return status;
}
