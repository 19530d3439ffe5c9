/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* --verify of commands that write graphs: read the file back and compare. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/weight_map.h"

/* Sums of hashes of the edges, so that their order does not matter. */
typedef struct fingerprint {
  uint64_t by_name, by_place, by_weight;
} fingerprint;

/* The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * 2014). */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static uint64_t hash_pair(uint64_t a, uint64_t b, uint64_t weight) {
  uint64_t low = a < b ? a : b, high = a < b ? b : a;
  return mix(mix(mix(low + 1) ^ high) + weight);
}

/* Equal weights of different types have equal hashes: 3 and 3.0, say. */
static uint64_t hash_weight(const dzo_edges *edges, uint64_t i) {
  dzo_weight weight = dzo_weight_of_pattern(
      edges->weight_type, dzo_weight_pattern(edges->weight_type, edges->weights, i));
  if (edges->weight_type != DZO_WEIGHT_F32 && edges->weight_type != DZO_WEIGHT_F64)
    return mix(weight.u64);
  if (fabs(weight.f64) < 0x1p63 && weight.f64 == trunc(weight.f64))
    return mix((uint64_t)(int64_t)weight.f64);
  uint64_t bits;
  memcpy(&bits, &weight.f64, sizeof bits);
  return mix(bits ^ UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t name_of(const dzo_edges *edges, uint32_t v) {
  return edges->labels != NULL ? edges->labels[v] : v + edges->first_label;
}

static fingerprint take_fingerprint(const dzo_edges *edges) {
  fingerprint sum = {0, 0, 0};
  for (uint64_t i = 0; i < edges->count; i++) {
    uint32_t u = edges->u[i], v = edges->v[i];
    uint64_t weight = hash_weight(edges, i);
    sum.by_name += hash_pair(name_of(edges, u), name_of(edges, v), weight);
    sum.by_place += hash_pair(u, v, weight);
    sum.by_weight += mix(weight);
  }
  return sum;
}

static const char *difference(const dzo_edges *wanted, const dzo_edges *found, bool weights_only) {
  if (wanted->count != found->count)
    return "it has another number of edges";
  fingerprint a = take_fingerprint(wanted), b = take_fingerprint(found);
  if (a.by_weight != b.by_weight)
    return "it has other weights";
  if (!weights_only && a.by_name != b.by_name && a.by_place != b.by_place)
    return "it has other edges";
  return NULL;
}

cli_exit cli_check_written(cli_call *call, const dzo_edges *edges, dzo_format format,
                           const char *path, bool weights_only) {
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = format;
  dzo_edge_list *list;
  dzo_status status = dzo_edge_list_read(call->context, path, &options, &list);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  dzo_edges found;
  dzo_edge_list_view(list, &found);
  const char *problem = difference(edges, &found, weights_only);
  dzo_edge_list_destroy(list);
  if (problem == NULL)
    return CLI_DONE;
  cli_progress_clear(&call->progress);
  cli_error("%s: is not what was to be written: %s", path, problem);
  return CLI_FAILED;
}
