/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the checks of graphs and of lists share: from the claimed edges to a tree that tells the
 * heaviest of them between two vertices. */
#ifndef DZO_MSF_GPU_CHECK_RUN_CUH
#define DZO_MSF_GPU_CHECK_RUN_CUH

#include "device/primitives.h"
#include "msf/gpu_check.h"
#include "msf/gpu_check_tree.cuh"
#include "msf/jump.cuh"

enum { THREADS = 256, WAVES = 16 /* blocks a multiprocessor, at most */ };

#define FAR_AWAY UINT32_MAX /* the reach of a vertex outside the hub's tree */

/* ---- Reach ----------------------------------------------------------------------------------- */

/* Keys in units of 2^shift from the least of the claim, to fit 32 bits. */
typedef struct check_scale {
  uint64_t least;
  int shift;
} check_scale;

/* flags[] are zero. */
static __global__ void check_count_degrees(check_state s) {
  for (uint32_t r = check_first(); r < s.count; r += check_stride()) {
    atomicAdd(s.flags + s.a[r], 1u);
    atomicAdd(s.flags + s.b[r], 1u);
  }
}

/* The hub has the most claimed edges. */
static __global__ void check_find_hub(check_state s) {
  uint64_t most = 0;
  for (uint32_t v = check_first(); v < s.vertices; v += check_stride()) {
    uint64_t offer = (uint64_t)s.flags[v] << 32 | v;
    most = offer > most ? offer : most;
  }
  for (int step = 16; step > 0; step /= 2) {
    uint64_t other = __shfl_xor_sync(DZO_WARP_ALL, most, step);
    most = other > most ? other : most;
  }
  if (dzo_lane() == 0)
    atomicMax((unsigned long long *)&s.counts->hub, (unsigned long long)most);
}

/* reach[v] is no less than the heaviest claimed edge between v and the hub. */
static __global__ void check_measure_reach(check_state s, uint32_t hub, check_scale scale) {
  uint64_t rounding = (UINT64_C(1) << scale.shift) - 1;
  for (uint32_t v = check_first(); v < s.vertices; v += check_stride()) {
    uint32_t rank = v == hub ? 0 : check_heaviest(s, v, hub), units = FAR_AWAY;
    if (v == hub) {
      units = 0;
    } else if (rank != CHECK_APART) {
      uint64_t above = s.key[rank] - scale.least;
      units = (uint32_t)((above >> scale.shift) + ((above & rounding) != 0));
    }
    s.reach[v] = units;
  }
}

/* Is the edge u - v in order: within one tree, and no lighter than the claim's way between? */
static __device__ __forceinline__ bool check_edge(const check_state &s, check_scale scale,
                                                  uint32_t u, uint32_t v, uint64_t key) {
  uint64_t units = key < scale.least ? 0 : (key - scale.least) >> scale.shift;
  units = units < FAR_AWAY ? units : FAR_AWAY - 1;
  uint32_t far = max(__ldg(s.reach + u), __ldg(s.reach + v));
  if (key >= scale.least && far <= units)
    return true;
  uint32_t rank = check_heaviest(s, u, v);
  return rank != CHECK_APART && __ldg(s.key + rank) <= key;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The next array of a block; with a NULL block, only counts. */
static void *carve(char *block, uint64_t *used, uint64_t count, uint64_t size) {
  void *at = block == NULL ? NULL : block + *used;
  *used += (count * size + 255) / 256 * 256;
  return at;
}

static uint64_t lay_out(dzo_unit *unit, uint64_t n, uint64_t count, char *block, check_state *s) {
  uint64_t used = 0;
  s->counts = (check_counts *)carve(block, &used, 1, sizeof(check_counts));
  s->claimed_key = (uint64_t *)carve(block, &used, count, sizeof(uint64_t));
  s->claimed_place = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->claimed_u = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->claimed_v = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->key = (uint64_t *)carve(block, &used, count, sizeof(uint64_t));
  s->place = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->a = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->b = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->alive = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->next_alive = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->best = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  s->hook = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  s->flags = (uint32_t *)carve(block, &used, n + 1, sizeof(uint32_t));
  s->sums = (uint32_t *)carve(block, &used, n + 1, sizeof(uint32_t));
  s->nodes = (uint2 *)carve(block, &used, 2 * n, sizeof(uint2));
  s->reach = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  uint64_t sum_bytes = dzo_gpu_sum_bytes(unit, n + 1), sort_bytes = dzo_gpu_sort_bytes(unit, count);
  s->scratch_bytes = sum_bytes > sort_bytes ? sum_bytes : sort_bytes;
  s->scratch = carve(block, &used, s->scratch_bytes, 1);
  return used;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

typedef struct check_run {
  dzo_unit *unit;
  check_state s;
  int key_bits;
  check_counts counts;  /* as last read */
  msf_gpu_verdict *out; /* or NULL */
} check_run;

static unsigned blocks_for(const dzo_unit *unit, uint64_t threads) {
  uint64_t blocks = (threads + THREADS - 1) / THREADS;
  uint64_t most = (uint64_t)unit->processors * WAVES;
  return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

static dzo_status read_counts(check_run *r) {
  DZO_TRY(dzo_unit_copy(r->unit, 0, &r->counts, r->s.counts, sizeof r->counts));
  return dzo_unit_wait(r->unit, 0);
}

static dzo_status clear_counts(check_run *r) {
  r->counts = {};
  r->counts.bad_claim = UINT64_MAX;
  r->counts.culprit = UINT64_MAX;
  r->counts.cycle = CHECK_NONE;
  DZO_TRY(dzo_unit_copy(r->unit, 0, r->s.counts, &r->counts, sizeof r->counts));
  return dzo_unit_wait(r->unit, 0);
}

/* One level of `nodes` nodes from `base` on; *above is how many the next one has. */
static dzo_status build_level(check_run *r, uint32_t base, uint32_t nodes, uint32_t edges,
                              uint32_t *above) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  unsigned each_node = blocks_for(unit, nodes), each_edge = blocks_for(unit, edges);
  unsigned together = DZO_RESIDENT_BLOCKS(unit, msf_jump, THREADS);
  together = each_node < together ? each_node : together;
  uint64_t flags = (uint64_t)nodes + 1;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_clear_level, each_node, THREADS, s, nodes));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_choose, each_edge, THREADS, s, edges));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_hook, each_node, THREADS, s, nodes));
  DZO_TRY(
      DZO_LAUNCH_TOGETHER(unit, 0, msf_jump, together, THREADS, s.hook, nodes, s.counts->changed));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_flag_roots, blocks_for(unit, flags), THREADS, s, nodes));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, s.scratch, s.scratch_bytes, s.flags, s.sums, flags));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_link, each_node, THREADS, s, base, nodes));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_carry_edges, each_edge, THREADS, s, edges));
  DZO_TRY(dzo_unit_copy(unit, 0, above, s.sums + nodes, sizeof *above));
  return read_counts(r);
}

/* All levels; a cycle is a refutation. */
static dzo_status build_tree(check_run *r) {
  check_state *s = &r->s;
  uint32_t base = 0, nodes = s->vertices, edges = s->count, above;
  while (nodes > 0) {
    DZO_TRY(build_level(r, base, nodes, edges, &above));
    if (r->counts.cycle != CHECK_NONE)
      break;
    base += nodes;
    nodes = above;
    edges = r->counts.alive;
    uint32_t *alive = s->alive;
    s->alive = s->next_alive;
    s->next_alive = alive;
  }
  return DZO_OK;
}

/* Sort the claim and build the tree; counts.cycle tells of a cycle. */
static dzo_status check_build(check_run *r) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  unsigned blocks = blocks_for(unit, s.count);
  DZO_TRY(dzo_unit_fill(unit, 0, s.flags, 0, (uint64_t)s.vertices * sizeof *s.flags));
  if (s.count > 0) {
    DZO_TRY(dzo_gpu_sort_u64_u32(unit, 0, s.scratch, s.scratch_bytes, s.claimed_key, s.key,
                                 s.claimed_place, s.place, s.count, 0, r->key_bits));
    DZO_TRY(DZO_LAUNCH(unit, 0, check_rank_claim, blocks, THREADS, s));
    DZO_TRY(DZO_LAUNCH(unit, 0, check_count_degrees, blocks, THREADS, s));
  }
  DZO_TRY(DZO_LAUNCH(unit, 0, check_find_hub, blocks_for(unit, s.vertices), THREADS, s));
  return build_tree(r);
}

/* Measure how far all vertices are from the hub. The tree has been built. */
static dzo_status check_measure(check_run *r, check_scale *scale) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  uint64_t most = 0;
  *scale = {0, 0};
  if (s.count > 0) {
    DZO_TRY(dzo_unit_copy(unit, 0, &scale->least, s.key, sizeof scale->least));
    DZO_TRY(dzo_unit_copy(unit, 0, &most, s.key + s.count - 1, sizeof most));
    DZO_TRY(dzo_unit_wait(unit, 0));
  }
  while ((most - scale->least) >> scale->shift >= FAR_AWAY - 1)
    scale->shift++;
  return DZO_LAUNCH(unit, 0, check_measure_reach, blocks_for(unit, s.vertices), THREADS, s,
                    (uint32_t)r->counts.hub, *scale);
}

/* Memory for a check of `count` edges over n vertices, to be released by the caller. */
static dzo_status check_open(check_run *r, uint32_t n, uint64_t count, void **block) {
  uint64_t bytes = lay_out(r->unit, n, count, NULL, &r->s);
  DZO_TRY(dzo_unit_allocate(r->unit, bytes, 1, block));
  lay_out(r->unit, n, count, (char *)*block, &r->s);
  r->s.vertices = n;
  r->s.count = (uint32_t)count;
  return DZO_OK;
}

#endif
