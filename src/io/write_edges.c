/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The text formats that list edges: mtx, dimacs, snap, csv, konect. One line an edge, in the order
 * of the edges. Matrix Market and DIMACS number their vertices from 1; the others hold the input's
 * names. A vertex without edges has no line: snap, csv and konect then forget it, but for a count
 * in a comment. */
#include "base/context.h"
#include "io/numeral.h"
#include "io/write.h"

enum { WIDEST = 2 * 20 + DZO_NUMERAL_MAX + 8 };

static bool is_float(dzo_weight_type type) {
  return type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64;
}

static char *put_name(char *to, const dzo_edges *e, uint32_t v) {
  return dzo_put_u64(to, e->labels != NULL ? e->labels[v] : v + e->first_label);
}

/* "u v" or "u v w" by name. */
static char *put_lines(const dzo_edges *e, uint64_t begin, uint64_t end, char *to, char separator) {
  for (uint64_t i = begin; i < end; i++) {
    to = put_name(to, e, e->u[i]);
    *to++ = separator;
    to = put_name(to, e, e->v[i]);
    if (e->weight_type != DZO_WEIGHT_NONE) {
      *to++ = separator;
      to = dzo_put_weight(to, e->weight_type, e->weights, i);
    }
    *to++ = '\n';
  }
  return to;
}

/* ---- Matrix Market --------------------------------------------------------------------------- */

/* A symmetric matrix is stored by its lower triangle. */
static char *put_mtx(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_edges *e = argument;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t u = e->u[i], v = e->v[i];
    to = dzo_put_u64(to, 1 + (u > v ? u : v));
    *to++ = ' ';
    to = dzo_put_u64(to, 1 + (u > v ? v : u));
    if (e->weight_type != DZO_WEIGHT_NONE) {
      *to++ = ' ';
      to = dzo_put_weight(to, e->weight_type, e->weights, i);
    }
    *to++ = '\n';
  }
  return to;
}

static dzo_status write_mtx(dzo_context *context, const dzo_edges *e, dzo_output *output) {
  (void)context;
  const char *field = e->weight_type == DZO_WEIGHT_NONE ? "pattern"
                      : is_float(e->weight_type)        ? "real"
                                                        : "integer";
  DZO_TRY(dzo_output_print(output, "%%%%MatrixMarket matrix coordinate %s symmetric\n", field));
  DZO_TRY(dzo_output_print(output, "%llu %llu %llu\n", (unsigned long long)e->vertices,
                           (unsigned long long)e->vertices, (unsigned long long)e->count));
  return dzo_output_items(output, e->count, WIDEST, put_mtx, e);
}

const dzo_writer dzo_writer_mtx = {.format = DZO_FORMAT_MTX, .edges = write_mtx};

/* ---- DIMACS ---------------------------------------------------------------------------------- */

static bool is_fraction(const void *argument, uint64_t i) {
  const dzo_edges *e = argument;
  int64_t value;
  return !dzo_weight_as_i64(e->weight_type, dzo_edges_weight(e, i), &value);
}

static dzo_status check_dimacs(dzo_context *context, const dzo_edges *e) {
  if (!is_float(e->weight_type))
    return DZO_OK;
  uint64_t i = dzo_find_first(context, e->count, is_fraction, e);
  if (i == e->count)
    return DZO_OK;
  return dzo_fail_weight(context, DZO_FORMAT_DIMACS, "64-bit integer weights only",
                         dzo_edge_number(e, i), e->weight_type, dzo_edges_weight(e, i));
}

static char *put_dimacs(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_edges *e = argument;
  for (uint64_t i = begin; i < end; i++) {
    *to++ = 'a';
    *to++ = ' ';
    to = dzo_put_u64(to, 1 + (uint64_t)e->u[i]);
    *to++ = ' ';
    to = dzo_put_u64(to, 1 + (uint64_t)e->v[i]);
    *to++ = ' ';
    int64_t value;
    if (is_float(e->weight_type) &&
        dzo_weight_as_i64(e->weight_type, dzo_edges_weight(e, i), &value))
      to = dzo_put_i64(to, value);
    else
      to = dzo_put_weight(to, e->weight_type, e->weights, i);
    *to++ = '\n';
  }
  return to;
}

static dzo_status write_dimacs(dzo_context *context, const dzo_edges *e, dzo_output *output) {
  (void)context;
  DZO_TRY(dzo_output_print(output, "p sp %llu %llu\n", (unsigned long long)e->vertices,
                           (unsigned long long)e->count));
  return dzo_output_items(output, e->count, WIDEST, put_dimacs, e);
}

const dzo_writer dzo_writer_dimacs = {
    .format = DZO_FORMAT_DIMACS, .check_edges = check_dimacs, .edges = write_dimacs};

/* ---- SNAP, CSV, KONECT ----------------------------------------------------------------------- */

static char *put_snap(const void *argument, uint64_t begin, uint64_t end, char *to) {
  return put_lines(argument, begin, end, to, '\t');
}

static dzo_status write_snap(dzo_context *context, const dzo_edges *e, dzo_output *output) {
  (void)context;
  DZO_TRY(dzo_output_print(output, "# Undirected graph\n# Nodes: %llu Edges: %llu\n",
                           (unsigned long long)e->vertices, (unsigned long long)e->count));
  DZO_TRY(dzo_output_print(output, "# FromNodeId\tToNodeId%s\n",
                           e->weight_type != DZO_WEIGHT_NONE ? "\tWeight" : ""));
  return dzo_output_items(output, e->count, WIDEST, put_snap, e);
}

const dzo_writer dzo_writer_snap = {.format = DZO_FORMAT_SNAP, .edges = write_snap};

static char *put_csv(const void *argument, uint64_t begin, uint64_t end, char *to) {
  return put_lines(argument, begin, end, to, ',');
}

static dzo_status write_csv(dzo_context *context, const dzo_edges *e, dzo_output *output) {
  (void)context;
  DZO_TRY(dzo_output_print(output, "source,target%s\n",
                           e->weight_type != DZO_WEIGHT_NONE ? ",weight" : ""));
  return dzo_output_items(output, e->count, WIDEST, put_csv, e);
}

const dzo_writer dzo_writer_csv = {.format = DZO_FORMAT_CSV, .edges = write_csv};

static char *put_konect(const void *argument, uint64_t begin, uint64_t end, char *to) {
  return put_lines(argument, begin, end, to, ' ');
}

static dzo_status write_konect(dzo_context *context, const dzo_edges *e, dzo_output *output) {
  (void)context;
  DZO_TRY(dzo_output_print(output, "%% sym %s\n%% %llu %llu %llu\n",
                           e->weight_type != DZO_WEIGHT_NONE ? "weighted" : "unweighted",
                           (unsigned long long)e->count, (unsigned long long)e->vertices,
                           (unsigned long long)e->vertices));
  return dzo_output_items(output, e->count, WIDEST, put_konect, e);
}

const dzo_writer dzo_writer_konect = {.format = DZO_FORMAT_KONECT, .edges = write_konect};
