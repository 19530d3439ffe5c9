/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* CSR from an edge list, both in device memory. The arcs of a slice of rows are selected in the
 * order of the edges and sorted stably by (row, neighbour), so parallel arcs stay in the order of
 * their numbers; slices bound the memory. The edges are read twice a slice. */
#include "device/cuda.h"
#include "device/primitives.h"
#include "graph/gpu_graph.h"

enum {
  THREADS = 256,
  WARP = 32,
  TILE = 1024, /* edges that a warp selects from */
  BUCKETS = 2048
};

#define SLICE_ARCS (UINT64_C(1) << 28)

/* Rows first .. last - 1. Selected are arcs that begin there; or, for `loops`, loops. */
struct row_slice {
  uint64_t first, last;
  unsigned vertex_bits; /* a sort key is (row - first) << vertex_bits | neighbour */
  bool loops;
};

struct edge_ends {
  const uint32_t *u, *v;
  uint64_t count;
};

struct key_source {
  const void *weights;
  dzo_weight_type type;
  bool raw;
};

/* Scratch of a slice, all of the capacity in arcs of the largest. */
struct sort_room {
  uint64_t capacity;
  uint64_t *words_in, *words_out;
  uint32_t *numbers_in, *numbers_out;
  uint64_t *weights_in, *weights_out; /* presorting only */
  uint32_t *places_in, *places_out;   /* presorting only */
  uint64_t *tiles;                    /* [tile_count + 1] */
  uint64_t tile_count;
  void *scratch;
  uint64_t scratch_bytes;
};

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Arcs, without loops, by bucket of rows. */
static __global__ void count_buckets(edge_ends edges, unsigned shift, uint64_t *buckets) {
  __shared__ uint32_t local[BUCKETS];
  for (unsigned b = threadIdx.x; b < BUCKETS; b += blockDim.x)
    local[b] = 0;
  __syncthreads();
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; e < edges.count; e += step) {
    uint32_t u = edges.u[e], v = edges.v[e];
    if (u == v)
      continue;
    atomicAdd(&local[u >> shift], 1u);
    atomicAdd(&local[v >> shift], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < BUCKETS; b += blockDim.x)
    if (local[b] != 0)
      atomicAdd((unsigned long long *)&buckets[b], (unsigned long long)local[b]);
}

/* A warp's look at 32 edges: does its own edge give an arc from u, one from v? */
struct chosen {
  uint32_t u, v;
  bool from_u, from_v;
};

__device__ __forceinline__ chosen choose_edge(const edge_ends &edges, uint64_t e,
                                              const row_slice &slice) {
  chosen x = {0, 0, false, false};
  if (e >= edges.count)
    return x;
  x.u = edges.u[e];
  x.v = edges.v[e];
  bool loop = x.u == x.v;
  x.from_u = slice.loops ? loop : !loop && x.u >= slice.first && x.u < slice.last;
  x.from_v = !slice.loops && !loop && x.v >= slice.first && x.v < slice.last;
  return x;
}

static __global__ void count_chosen(edge_ends edges, row_slice slice, uint64_t *tiles,
                                    uint64_t tile_count) {
  unsigned lane = dzo_lane();
  uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / WARP);
  uint64_t warp = (uint64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  for (uint64_t tile = warp; tile < tile_count; tile += warps) {
    uint64_t sum = 0;
    for (uint64_t e = tile * TILE + lane; e < (tile + 1) * TILE; e += WARP) {
      chosen x = choose_edge(edges, e, slice);
      unsigned from_u = __ballot_sync(DZO_WARP_ALL, x.from_u);
      unsigned from_v = __ballot_sync(DZO_WARP_ALL, x.from_v);
      sum += (unsigned)__popc(from_u) + (unsigned)__popc(from_v);
    }
    if (lane == 0)
      tiles[tile] = sum;
  }
}

/* `tiles` holds the sums before each tile. `words` NULL: the numbers only. */
static __global__ void write_chosen(edge_ends edges, row_slice slice, const uint64_t *tiles,
                                    uint64_t tile_count, uint64_t *words, uint32_t *numbers) {
  unsigned lane = dzo_lane();
  uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / WARP);
  uint64_t warp = (uint64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  for (uint64_t tile = warp; tile < tile_count; tile += warps) {
    uint64_t base = tiles[tile];
    for (uint64_t e = tile * TILE + lane; e < (tile + 1) * TILE; e += WARP) {
      chosen x = choose_edge(edges, e, slice);
      unsigned from_u = __ballot_sync(DZO_WARP_ALL, x.from_u);
      unsigned from_v = __ballot_sync(DZO_WARP_ALL, x.from_v);
      uint64_t at = base + (unsigned)__popc(from_u & dzo_lanes_below()) +
                    (unsigned)__popc(from_v & dzo_lanes_below());
      if (x.from_u) {
        if (words != NULL)
          words[at] = (x.u - slice.first) << slice.vertex_bits | x.v;
        numbers[at++] = (uint32_t)e;
      }
      if (x.from_v) {
        words[at] = (x.v - slice.first) << slice.vertex_bits | x.u;
        numbers[at] = (uint32_t)e;
      }
      base += (unsigned)__popc(from_u) + (unsigned)__popc(from_v);
    }
  }
}

/* Where each row begins among sorted words. */
static __global__ void place_rows(const uint64_t *words, uint64_t count, row_slice slice,
                                  uint64_t base, uint64_t *offsets) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  uint64_t rows = slice.last - slice.first;
  for (uint64_t r = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += step) {
    uint64_t wanted = r << slice.vertex_bits, low = 0, high = count;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (words[middle] < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    offsets[slice.first + r] = base + low;
  }
}

__device__ __forceinline__ uint64_t key_of(const key_source &source, uint64_t number) {
  if (!source.raw)
    return dzo_weight_pattern(source.type, source.weights, number);
  return source.type == DZO_WEIGHT_F64 ? ((const uint64_t *)source.weights)[number]
                                       : ((const uint32_t *)source.weights)[number];
}

/* Words to sort a slice by weight: (row, 32-bit pattern), or 64-bit patterns alone. */
static __global__ void weigh_arcs(key_source source, const uint64_t *words, const uint32_t *numbers,
                                  uint64_t count, unsigned vertex_bits, uint64_t *weights,
                                  uint32_t *places) {
  source.raw = false;
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    uint64_t pattern = key_of(source, numbers[i]);
    weights[i] = source.type == DZO_WEIGHT_F64 ? pattern : words[i] >> vertex_bits << 32 | pattern;
    places[i] = (uint32_t)i;
  }
}

static __global__ void rows_of_places(const uint64_t *words, const uint32_t *places, uint64_t count,
                                      unsigned vertex_bits, uint64_t *rows) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    rows[i] = words[places[i]] >> vertex_bits;
}

/* The arrays of the graph, from the first arc of a slice on. */
struct slice_rows {
  uint32_t *neighbours, *keys32;
  uint64_t *keys64;
  uint32_t *numbers;
};

/* `places` NULL: in the order of the words. */
static __global__ void write_arcs(key_source source, const uint64_t *words, const uint32_t *numbers,
                                  const uint32_t *places, uint64_t count, unsigned vertex_bits,
                                  slice_rows out) {
  uint64_t mask = (UINT64_C(1) << vertex_bits) - 1;
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    uint64_t from = places != NULL ? places[i] : i;
    uint32_t number = numbers[from];
    out.neighbours[i] = (uint32_t)(words[from] & mask);
    if (out.keys32 != NULL)
      out.keys32[i] = (uint32_t)key_of(source, number);
    if (out.keys64 != NULL)
      out.keys64[i] = key_of(source, number);
    if (out.numbers != NULL)
      out.numbers[i] = number;
  }
}

/* ---- Slices ---------------------------------------------------------------------------------- */

/* Building one graph. */
struct csr_builder {
  dzo_unit *unit;
  const dzo_gpu_edges *edges;
  edge_ends ends;
  dzo_gpu_csr_choices choices;
  dzo_gpu_csr *out;
  unsigned vertex_bits;
  unsigned shift; /* row r is in bucket r >> shift */
  uint64_t buckets[BUCKETS];
  sort_room room;
};

static unsigned bit_length(uint64_t x) {
  unsigned bits = 0;
  for (; x != 0; x >>= 1)
    bits++;
  return bits;
}

/* Blocks for a grid-stride loop. */
static unsigned blocks_for(const dzo_unit *unit, uint64_t items) {
  uint64_t most = (uint64_t)unit->processors * 8, blocks = (items + THREADS - 1) / THREADS;
  return (unsigned)(blocks > most ? most : blocks > 0 ? blocks : 1);
}

static dzo_status count_arcs(csr_builder *b) {
  uint64_t *counts;
  b->vertex_bits = bit_length(b->edges->vertices > 1 ? b->edges->vertices - 1 : 1);
  b->shift = b->vertex_bits > 11 ? b->vertex_bits - 11 : 0;
  DZO_TRY(dzo_unit_allocate(b->unit, BUCKETS, sizeof *counts, (void **)&counts));
  dzo_status status = dzo_unit_fill(b->unit, 0, counts, 0, sizeof b->buckets);
  if (status == DZO_OK)
    status = DZO_LAUNCH(b->unit, 0, count_buckets, blocks_for(b->unit, b->ends.count), THREADS,
                        b->ends, b->shift, counts);
  if (status == DZO_OK)
    status = dzo_unit_copy(b->unit, 0, b->buckets, counts, sizeof b->buckets);
  if (status == DZO_OK)
    status = dzo_unit_wait(b->unit, 0);
  dzo_unit_release(b->unit, counts);
  b->out->arcs = 0;
  for (unsigned i = 0; i < BUCKETS; i++)
    b->out->arcs += b->buckets[i];
  return status;
}

static uint64_t tile_count_of(const csr_builder *b) { return (b->ends.count + TILE - 1) / TILE; }

/* What take_room() takes for slices of so many arcs. */
static uint64_t room_bytes(const csr_builder *b, uint64_t arcs) {
  const uint64_t arrays = 9, padding = 256, tiles = tile_count_of(b) + 1;
  uint64_t sorting = dzo_gpu_sort_bytes(b->unit, arcs), summing = dzo_gpu_sum_bytes(b->unit, tiles);
  return arcs * (b->choices.presort ? 40 : 24) + tiles * sizeof(uint64_t) + arrays * padding +
         (sorting > summing ? sorting : summing);
}

/* Slices as large as fits, but large enough for every bucket. */
static uint64_t choose_capacity(const csr_builder *b) {
  uint64_t largest = 1, available = dzo_unit_available(b->unit);
  for (unsigned i = 0; i < BUCKETS; i++)
    largest = b->buckets[i] > largest ? b->buckets[i] : largest;
  uint64_t capacity = b->out->arcs < SLICE_ARCS ? b->out->arcs : SLICE_ARCS;
  while (capacity > largest && room_bytes(b, capacity) > available)
    capacity -= capacity / 8 + 1;
  return capacity > largest ? capacity : largest;
}

static dzo_status take_room(csr_builder *b) {
  sort_room *r = &b->room;
  dzo_unit *unit = b->unit;
  r->capacity = choose_capacity(b);
  r->tile_count = tile_count_of(b);
  DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->words_in, (void **)&r->words_in));
  DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->words_out, (void **)&r->words_out));
  DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->numbers_in, (void **)&r->numbers_in));
  DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->numbers_out, (void **)&r->numbers_out));
  if (b->choices.presort) {
    DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->weights_out, (void **)&r->weights_out));
    DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->places_out, (void **)&r->places_out));
    DZO_TRY(dzo_unit_allocate(unit, r->capacity, sizeof *r->places_in, (void **)&r->places_in));
    r->weights_in = r->words_in;
  }
  DZO_TRY(dzo_unit_allocate(unit, r->tile_count + 1, sizeof *r->tiles, (void **)&r->tiles));
  uint64_t sorting = dzo_gpu_sort_bytes(b->unit, r->capacity),
           summing = dzo_gpu_sum_bytes(b->unit, r->tile_count + 1);
  r->scratch_bytes = sorting > summing ? sorting : summing;
  return dzo_unit_allocate(unit, r->scratch_bytes > 0 ? r->scratch_bytes : 1, 1, &r->scratch);
}

static void give_room_back(csr_builder *b) {
  sort_room *r = &b->room;
  dzo_unit_release(b->unit, r->words_in);
  dzo_unit_release(b->unit, r->words_out);
  dzo_unit_release(b->unit, r->numbers_in);
  dzo_unit_release(b->unit, r->numbers_out);
  dzo_unit_release(b->unit, r->weights_out);
  dzo_unit_release(b->unit, r->places_in);
  dzo_unit_release(b->unit, r->places_out);
  dzo_unit_release(b->unit, r->tiles);
  dzo_unit_release(b->unit, r->scratch);
}

static dzo_status select_arcs(csr_builder *b, row_slice slice, uint64_t *words, uint32_t *numbers) {
  const sort_room *r = &b->room;
  unsigned blocks = blocks_for(b->unit, r->tile_count * WARP);
  if (r->tile_count == 0)
    return DZO_OK;
  DZO_TRY(DZO_LAUNCH(b->unit, 0, count_chosen, blocks, THREADS, b->ends, slice, r->tiles,
                     r->tile_count));
  DZO_TRY(dzo_gpu_exclusive_sum_u64(b->unit, 0, r->scratch, r->scratch_bytes, r->tiles, r->tiles,
                                    r->tile_count));
  return DZO_LAUNCH(b->unit, 0, write_chosen, blocks, THREADS, b->ends, slice, r->tiles,
                    r->tile_count, words, numbers);
}

/* Order the sorted arcs of a slice by (row, weight), stably; places_out tells where each was. */
static dzo_status order_by_weight(csr_builder *b, key_source source, uint64_t count,
                                  unsigned row_bits) {
  const sort_room *r = &b->room;
  dzo_unit *unit = b->unit;
  bool wide = source.type == DZO_WEIGHT_F64;
  unsigned blocks = blocks_for(unit, count);
  DZO_TRY(DZO_LAUNCH(unit, 0, weigh_arcs, blocks, THREADS, source, r->words_out, r->numbers_out,
                     count, b->vertex_bits, r->weights_in, r->places_in));
  DZO_TRY(dzo_gpu_sort_u64_u32(unit, 0, r->scratch, r->scratch_bytes, r->weights_in, r->weights_out,
                               r->places_in, r->places_out, count, 0,
                               wide ? 64 : 32 + (int)row_bits));
  if (!wide)
    return DZO_OK;
  DZO_TRY(dzo_unit_copy(unit, 0, r->places_in, r->places_out, count * sizeof *r->places_in));
  DZO_TRY(DZO_LAUNCH(unit, 0, rows_of_places, blocks, THREADS, r->words_out, r->places_in, count,
                     b->vertex_bits, r->weights_in));
  return dzo_gpu_sort_u64_u32(unit, 0, r->scratch, r->scratch_bytes, r->weights_in, r->weights_out,
                              r->places_in, r->places_out, count, 0, (int)row_bits);
}

/* The rows of a slice whose `count` arcs begin at arc `base`. */
static dzo_status build_slice(csr_builder *b, row_slice slice, uint64_t base, uint64_t count) {
  const sort_room *r = &b->room;
  dzo_unit *unit = b->unit;
  dzo_gpu_csr *out = b->out;
  unsigned row_bits = bit_length(slice.last - slice.first - 1);
  if (row_bits == 0)
    row_bits = 1;
  if (count > 0) {
    DZO_TRY(select_arcs(b, slice, r->words_in, r->numbers_in));
    DZO_TRY(dzo_gpu_sort_u64_u32(unit, 0, r->scratch, r->scratch_bytes, r->words_in, r->words_out,
                                 r->numbers_in, r->numbers_out, count, 0,
                                 (int)(b->vertex_bits + row_bits)));
  }
  DZO_TRY(DZO_LAUNCH(unit, 0, place_rows, blocks_for(unit, slice.last - slice.first), THREADS,
                     r->words_out, count, slice, base, out->offsets));
  if (count == 0)
    return DZO_OK;
  key_source source = {b->edges->weights, b->edges->weight_type, out->raw};
  bool presort = b->choices.presort && source.type != DZO_WEIGHT_NONE;
  if (presort)
    DZO_TRY(order_by_weight(b, source, count, row_bits));
  slice_rows rows = {out->neighbours + base, out->keys32 != NULL ? out->keys32 + base : NULL,
                     out->keys64 != NULL ? out->keys64 + base : NULL,
                     out->numbers32 != NULL ? out->numbers32 + base : NULL};
  return DZO_LAUNCH(unit, 0, write_arcs, blocks_for(unit, count), THREADS, source, r->words_out,
                    r->numbers_out, presort ? r->places_out : (const uint32_t *)NULL, count,
                    b->vertex_bits, rows);
}

static dzo_status build_slices(csr_builder *b) {
  dzo_gpu_csr *out = b->out;
  uint64_t base = 0, vertices = out->vertices, buckets = ((vertices - 1) >> b->shift) + 1;
  for (uint64_t i = 0; i < buckets;) {
    uint64_t first = i, count = b->buckets[i++];
    while (i < buckets && count + b->buckets[i] <= b->room.capacity)
      count += b->buckets[i++];
    row_slice slice = {first << b->shift, i << b->shift, b->vertex_bits, false};
    if (slice.last > vertices)
      slice.last = vertices;
    DZO_TRY(build_slice(b, slice, base, count));
    base += count;
    DZO_TRY(dzo_unit_wait(b->unit, 0));
    DZO_TRY(dzo_progress(b->unit->context, "build", i, buckets));
  }
  return dzo_unit_copy(b->unit, 0, out->offsets + vertices, &out->arcs, sizeof out->arcs);
}

/* The numbers of the loops, ascending. */
static dzo_status keep_loops(csr_builder *b) {
  dzo_gpu_csr *out = b->out;
  out->loops = b->ends.count - out->arcs / 2;
  if (out->loops == 0)
    return DZO_OK;
  DZO_TRY(dzo_unit_allocate(b->unit, out->loops, sizeof *out->loop_numbers,
                            (void **)&out->loop_numbers));
  row_slice loops = {0, 0, 0, true};
  return select_arcs(b, loops, NULL, out->loop_numbers);
}

static dzo_status take_arrays(csr_builder *b) {
  dzo_gpu_csr *out = b->out;
  dzo_unit *unit = b->unit;
  uint64_t arcs = out->arcs > 0 ? out->arcs : 1;
  dzo_weight_type type = b->edges->weight_type;
  DZO_TRY(dzo_unit_allocate(unit, out->vertices + 1, sizeof *out->offsets, (void **)&out->offsets));
  DZO_TRY(dzo_unit_allocate(unit, arcs, sizeof *out->neighbours, (void **)&out->neighbours));
  if (type == DZO_WEIGHT_F64)
    DZO_TRY(dzo_unit_allocate(unit, arcs, sizeof *out->keys64, (void **)&out->keys64));
  else if (type != DZO_WEIGHT_NONE)
    DZO_TRY(dzo_unit_allocate(unit, arcs, sizeof *out->keys32, (void **)&out->keys32));
  if (b->choices.numbers)
    DZO_TRY(dzo_unit_allocate(unit, arcs, sizeof *out->numbers32, (void **)&out->numbers32));
  return DZO_OK;
}

static dzo_status build(csr_builder *b) {
  DZO_TRY(count_arcs(b));
  DZO_TRY(take_arrays(b));
  DZO_TRY(take_room(b));
  DZO_TRY(build_slices(b));
  if (b->choices.numbers)
    DZO_TRY(keep_loops(b));
  return dzo_unit_wait(b->unit, 0);
}

extern "C" dzo_status dzo_gpu_csr_from_edges(const dzo_gpu_edges *edges,
                                             const dzo_gpu_csr_choices *choices, dzo_gpu_csr *out) {
  dzo_gpu_csr csr = {};
  csr.unit = edges->unit;
  csr.vertices = edges->vertices;
  csr.edges = csr.number_bound = edges->count;
  csr.map.type = edges->weight_type;
  csr.map.kind = DZO_KEY_OFFSET;
  csr.map.wide = edges->weight_type == DZO_WEIGHT_F64;
  csr.map.base = edges->weight_type == DZO_WEIGHT_NONE ? 1 : 0;
  csr.raw = choices->raw && (csr.map.wide || edges->weight_type == DZO_WEIGHT_F32);
  csr.row_order = choices->presort ? DZO_ROWS_BY_WEIGHT : DZO_ROWS_BY_NEIGHBOUR;
  csr_builder builder = {};
  builder.unit = edges->unit;
  builder.edges = edges;
  builder.ends = {edges->u, edges->v, edges->count};
  builder.choices = *choices;
  builder.out = &csr;
  dzo_status status = build(&builder);
  give_room_back(&builder);
  if (status != DZO_OK)
    dzo_gpu_csr_destroy(&csr);
  *out = csr;
  return status;
}
