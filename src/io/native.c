/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/native.h"

#include "base/bytes.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/compress.h"
#include "io/adjacency.h"
#include "io/write.h"

enum { HEADER = 128, ALIGN = 64, VERSION = 1, CHECKSUM = 8, COPY_GRAIN = 1 << 16 };

static const char magic[8] = {'D', 'Z', 'O', 'G', 'R', 'A', 'P', 'H'};

/* Positions in the header. */
enum {
  AT_VERSION = 8, /* u32 */
  AT_FLAGS = 12,  /* u32 */
  AT_VERTICES = 16 /* u64, as all to AT_WEIGHT_TYPE */,
  AT_EDGES = 24,
  AT_ARCS = 32,
  AT_LOOPS = 40,
  AT_NUMBER_BOUND = 48,
  AT_FIRST_LABEL = 56,
  AT_KEY_BASE = 64,
  AT_DICTIONARY = 72,
  AT_EXCEPTIONS = 80,
  AT_WEIGHT_TYPE = 88, /* u32, as all to AT_CHECKSUM */
  AT_KEY_KIND = 92,
  AT_ROW_ORDER = 96,
  AT_CHECKSUM = 120 /* u64, of the header before it */
};

enum { FLAG_COMPRESSED = 1, FLAG_LABELS = 2, FLAG_WIDE = 4, FLAG_NUMBERS64 = 8, FLAGS_KNOWN = 15 };

/* ---- Checksum -------------------------------------------------------------------------------- */

/* A sum over the items, each mixed with its place, so that a team may take them in any order. */
DZO_ITEM uint64_t mix_item(uint64_t place, uint64_t item) {
  uint64_t x = item + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static uint64_t header_checksum(const unsigned char *header) {
  uint64_t sum = 0;
  for (unsigned at = 0; at < AT_CHECKSUM; at += 8)
    sum += mix_item(at, dzo_get64(header + at));
  return sum;
}

/* ---- Sections -------------------------------------------------------------------------------- */

static int add_section(dzo_sections *s, void *field, uint64_t count, uint32_t width) {
  s->list[s->count] = (dzo_section){field, count, width, 0};
  return s->count++;
}

/* Fields are pointers of several types. */
static void *array_of(const dzo_section *s) {
  void *array;
  memcpy(&array, s->field, sizeof array);
  return array;
}

/* By the counts and flags of the graph, whose arrays need not be there yet. */
static void list_sections(dzo_graph *g, bool wide, bool numbers64, bool labels, dzo_sections *s) {
  *s = (dzo_sections){.keys = -1, .dictionary = -1, .loops = -1};
  s->offsets = add_section(s, &g->offsets, g->vertices + 1, 8);
  dzo_compressed *c = g->compressed;
  if (c != NULL) {
    s->neighbours = add_section(s, &c->bases, c->blocks, 4);
    (void)add_section(s, &c->low, c->blocks * DZO_BLOCK_ARCS, 1);
    (void)add_section(s, &c->high, c->blocks * DZO_BLOCK_PLANE, 1);
    (void)add_section(s, &c->block_exception, c->blocks + 1, 2);
    (void)add_section(s, &c->group_exception, c->blocks / DZO_GROUP_BLOCKS + 1, 8);
    (void)add_section(s, &c->exceptions, c->exception_count, 4);
  } else {
    s->neighbours = add_section(s, &g->neighbours, g->arcs, 4);
  }
  if (g->map.type != DZO_WEIGHT_NONE)
    s->keys =
        wide ? add_section(s, &g->keys64, g->arcs, 8) : add_section(s, &g->keys32, g->arcs, 4);
  s->numbers = numbers64 ? add_section(s, &g->numbers64, g->arcs, 8)
                         : add_section(s, &g->numbers32, g->arcs, 4);
  if (g->map.kind == DZO_KEY_DICTIONARY)
    s->dictionary = add_section(s, &g->map.dictionary, g->map.dictionary_size, 8);
  s->loops = add_section(s, &g->loop_vertices, g->loops, 4);
  (void)add_section(s, &g->loop_keys, g->loops, 8);
  (void)add_section(s, &g->loop_numbers, g->loops, 8);
  if (labels)
    (void)add_section(s, &g->labels, g->vertices, 8);
}

/* Where the sections stand; false if that goes beyond `size`. *end is set behind the last. */
static bool place_sections(dzo_sections *s, uint64_t size, uint64_t *end) {
  *end = HEADER;
  for (int i = 0; i < s->count; i++) {
    uint64_t rest = *end % ALIGN;
    if (rest != 0 && !dzo_layout_take(end, 1, ALIGN - rest, size))
      return false;
    s->list[i].at = *end;
    if (!dzo_layout_take(end, s->list[i].count, s->list[i].width, size))
      return false;
  }
  return true;
}

DZO_ITEM uint64_t get_item(const unsigned char *from, uint32_t width) {
  switch (width) {
  case 1:
    return *from;
  case 2:
    return (uint64_t)from[0] | (uint64_t)from[1] << 8;
  case 4:
    return dzo_get32(from);
  default:
    return dzo_get64(from);
  }
}

/* ---- Saving ---------------------------------------------------------------------------------- */

typedef struct save_job {
  const dzo_section *section;
  uint64_t *checksum; /* accessed atomically */
} save_job;

static char *put_section(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const save_job *job = argument;
  const dzo_section *s = job->section;
  const void *array = array_of(s);
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t item = s->width == 1   ? ((const uint8_t *)array)[i]
                    : s->width == 2 ? ((const uint16_t *)array)[i]
                    : s->width == 4 ? ((const uint32_t *)array)[i]
                                    : ((const uint64_t *)array)[i];
    sum += mix_item(s->at + i, item);
    if (s->width == 8)
      to = dzo_put64(to, item);
    else if (s->width == 4)
      to = dzo_put32(to, (uint32_t)item);
    else
      for (uint32_t b = 0; b < s->width; b++)
        *to++ = (char)(item >> 8 * b);
  }
  dzo_fetch_add_u64(job->checksum, sum);
  return to;
}

static void put_counts(const dzo_graph *g, bool numbers64, char *header) {
  uint32_t flags = (g->compressed != NULL ? FLAG_COMPRESSED : 0u) |
                   (g->labels != NULL ? FLAG_LABELS : 0u) | (g->map.wide ? FLAG_WIDE : 0u) |
                   (numbers64 ? FLAG_NUMBERS64 : 0u);
  memcpy(header, magic, sizeof magic);
  (void)dzo_put32(header + AT_VERSION, VERSION);
  (void)dzo_put32(header + AT_FLAGS, flags);
  (void)dzo_put64(header + AT_VERTICES, g->vertices);
  (void)dzo_put64(header + AT_EDGES, g->edges);
  (void)dzo_put64(header + AT_ARCS, g->arcs);
  (void)dzo_put64(header + AT_LOOPS, g->loops);
  (void)dzo_put64(header + AT_NUMBER_BOUND, g->number_bound);
  (void)dzo_put64(header + AT_FIRST_LABEL, g->first_label);
  (void)dzo_put64(header + AT_KEY_BASE, g->map.base);
  (void)dzo_put64(header + AT_DICTIONARY, g->map.dictionary_size);
  (void)dzo_put64(header + AT_EXCEPTIONS,
                  g->compressed != NULL ? g->compressed->exception_count : 0);
  (void)dzo_put32(header + AT_WEIGHT_TYPE, (uint32_t)g->map.type);
  (void)dzo_put32(header + AT_KEY_KIND, (uint32_t)g->map.kind);
  (void)dzo_put32(header + AT_ROW_ORDER, (uint32_t)g->row_order);
}

dzo_status dzo_graph_save(dzo_context *context, const dzo_graph *graph, dzo_output *output) {
  (void)context;
  unsigned char header[HEADER] = {0};
  dzo_graph g = *graph; /* the sections point into this copy, which is only read */
  bool numbers64 = g.numbers64 != NULL;
  put_counts(&g, numbers64, (char *)header);
  (void)dzo_put64((char *)header + AT_CHECKSUM, header_checksum(header));
  DZO_TRY(dzo_output_write(output, header, sizeof header));
  dzo_sections s;
  list_sections(&g, g.map.wide, numbers64, g.labels != NULL, &s);
  uint64_t end, at = HEADER, checksum = 0;
  if (!place_sections(&s, UINT64_MAX, &end))
    return dzo_fail(context, DZO_E_UNSUPPORTED, "the graph is too large for a file");
  static const char padding[ALIGN];
  for (int i = 0; i < s.count; i++) {
    DZO_TRY(dzo_output_write(output, padding, s.list[i].at - at));
    save_job job = {&s.list[i], &checksum};
    DZO_TRY(dzo_output_items(output, s.list[i].count, s.list[i].width, put_section, &job));
    at = s.list[i].at + s.list[i].count * s.list[i].width;
  }
  char trailer[CHECKSUM];
  (void)dzo_put64(trailer, checksum);
  return dzo_output_write(output, trailer, sizeof trailer);
}

const dzo_writer dzo_writer_dzo = {.format = DZO_FORMAT_DZO, .graph = dzo_graph_save};

/* ---- Loading --------------------------------------------------------------------------------- */

typedef struct load_job {
  const dzo_section *section;
  const unsigned char *from;
  uint64_t checksum; /* accessed atomically */
} load_job;

static void load_items(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  load_job *job = argument;
  const dzo_section *s = job->section;
  void *array = array_of(s);
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t item = get_item(job->from + i * s->width, s->width);
    sum += mix_item(s->at + i, item);
    if (s->width == 1)
      ((uint8_t *)array)[i] = (uint8_t)item;
    else if (s->width == 2)
      ((uint16_t *)array)[i] = (uint16_t)item;
    else if (s->width == 4)
      ((uint32_t *)array)[i] = (uint32_t)item;
    else
      ((uint64_t *)array)[i] = item;
  }
  dzo_fetch_add_u64(&job->checksum, sum);
}

static dzo_status fail_header(dzo_context *context, const dzo_input *input, unsigned at,
                              const char *what) {
  return dzo_fail(context, DZO_E_FORMAT, "%s: byte %u: %s", dzo_input_name(input), at, what);
}

/* What does not depend on other numbers. */
static dzo_status check_header(dzo_context *context, const dzo_input *input, const unsigned char *h,
                               bool summed) {
  if (memcmp(h, magic, sizeof magic) != 0)
    return fail_header(context, input, 0, "not a dzo graph, which begins with DZOGRAPH");
  if (dzo_get32(h + AT_VERSION) != VERSION)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "%s: byte %d: version %lu of the format; this program knows version %d",
                    dzo_input_name(input), AT_VERSION, (unsigned long)dzo_get32(h + AT_VERSION),
                    VERSION);
  if (summed && dzo_get64(h + AT_CHECKSUM) != header_checksum(h))
    return fail_header(context, input, AT_CHECKSUM, "the header is damaged");
  if ((dzo_get32(h + AT_FLAGS) & ~(uint32_t)FLAGS_KNOWN) != 0)
    return fail_header(context, input, AT_FLAGS, "unknown flags");
  if (dzo_get64(h + AT_VERTICES) > UINT32_MAX)
    return fail_header(context, input, AT_VERTICES, "more than 2^32 - 1 vertices");
  if (dzo_get64(h + AT_FIRST_LABEL) > 1)
    return fail_header(context, input, AT_FIRST_LABEL, "the first label is neither 0 nor 1");
  if (dzo_get32(h + AT_WEIGHT_TYPE) > DZO_WEIGHT_F64)
    return fail_header(context, input, AT_WEIGHT_TYPE, "unknown weight type");
  if (dzo_get32(h + AT_KEY_KIND) > DZO_KEY_DICTIONARY)
    return fail_header(context, input, AT_KEY_KIND, "unknown kind of keys");
  if (dzo_get32(h + AT_ROW_ORDER) > DZO_ROWS_BY_WEIGHT)
    return fail_header(context, input, AT_ROW_ORDER, "unknown order of rows");
  return DZO_OK;
}

/* Types of 32 bits and none have plain keys; only plain keys are wide. */
static bool kind_fits(const dzo_weight_map *map) {
  bool plain = map->kind == DZO_KEY_OFFSET;
  if (map->kind != DZO_KEY_DICTIONARY && map->dictionary_size != 0)
    return false;
  if (map->kind == DZO_KEY_F32 && map->type != DZO_WEIGHT_F64)
    return false;
  if (map->type == DZO_WEIGHT_NONE)
    return plain && !map->wide && map->base == 1;
  if (map->type == DZO_WEIGHT_U32 || map->type == DZO_WEIGHT_F32)
    return plain && !map->wide;
  return plain || !map->wide;
}

static dzo_status take_header(dzo_context *context, const dzo_input *input, const unsigned char *h,
                              dzo_graph *g) {
  g->context = context;
  g->format = DZO_FORMAT_DZO;
  g->vertices = dzo_get64(h + AT_VERTICES);
  g->edges = dzo_get64(h + AT_EDGES);
  g->arcs = dzo_get64(h + AT_ARCS);
  g->loops = dzo_get64(h + AT_LOOPS);
  g->number_bound = dzo_get64(h + AT_NUMBER_BOUND);
  g->first_label = dzo_get64(h + AT_FIRST_LABEL);
  g->row_order = (dzo_row_order)dzo_get32(h + AT_ROW_ORDER);
  g->map.type = (dzo_weight_type)dzo_get32(h + AT_WEIGHT_TYPE);
  g->map.kind = (dzo_key_kind)dzo_get32(h + AT_KEY_KIND);
  g->map.wide = (dzo_get32(h + AT_FLAGS) & FLAG_WIDE) != 0;
  g->map.base = dzo_get64(h + AT_KEY_BASE);
  g->map.dictionary_size = dzo_get64(h + AT_DICTIONARY);
  uint64_t size = dzo_input_size(input);
  if (g->arcs > size || g->loops > size || g->arcs % 2 != 0 || g->edges != g->arcs / 2 + g->loops)
    return fail_header(context, input, AT_EDGES, "edges, arcs and loops do not agree");
  bool narrow = (dzo_get32(h + AT_FLAGS) & FLAG_NUMBERS64) == 0;
  if (g->number_bound < g->edges || (narrow && g->number_bound > UINT64_C(1) << 32))
    return fail_header(context, input, AT_NUMBER_BOUND, "edge numbers do not fit their bound");
  if (!kind_fits(&g->map))
    return fail_header(context, input, AT_KEY_KIND, "keys and weights do not agree");
  return DZO_OK;
}

static dzo_status take_compressed(dzo_context *context, const unsigned char *h, dzo_graph *g) {
  if ((dzo_get32(h + AT_FLAGS) & FLAG_COMPRESSED) == 0)
    return DZO_OK;
  g->compressed = dzo_calloc(context, 1, sizeof *g->compressed);
  if (g->compressed == NULL)
    return DZO_E_MEMORY;
  g->compressed->arcs = g->arcs;
  g->compressed->blocks = g->arcs / DZO_BLOCK_ARCS + (g->arcs % DZO_BLOCK_ARCS != 0);
  g->compressed->exception_count = dzo_get64(h + AT_EXCEPTIONS);
  return DZO_OK;
}

static dzo_status load_sections(dzo_context *context, const dzo_input *input, dzo_sections *s,
                                uint64_t *checksum) {
  uint64_t done = 0, total = dzo_input_size(input);
  for (int i = 0; i < s->count; i++) {
    dzo_section *section = &s->list[i];
    void *array = dzo_alloc(context, section->count, section->width);
    if (array == NULL)
      return DZO_E_MEMORY;
    memcpy(section->field, &array, sizeof array);
    load_job job = {section, dzo_input_data(input) + section->at, 0};
    dzo_parallel_for(context->threads, section->count, COPY_GRAIN, load_items, &job);
    *checksum += job.checksum;
    done += section->count * section->width;
    DZO_TRY(dzo_progress(context, "read", done, total));
  }
  return DZO_OK;
}

static dzo_status load(dzo_context *context, dzo_input *input, bool summed, dzo_graph *g) {
  const unsigned char *data = dzo_input_data(input);
  uint64_t size = dzo_input_size(input), end;
  if (size < HEADER + CHECKSUM)
    return dzo_fail(context, DZO_E_FORMAT, "%s: byte %llu: the file ends within its header",
                    dzo_input_name(input), (unsigned long long)size);
  DZO_TRY(check_header(context, input, data, summed));
  DZO_TRY(take_header(context, input, data, g));
  DZO_TRY(take_compressed(context, data, g));
  uint32_t flags = dzo_get32(data + AT_FLAGS);
  dzo_sections s;
  list_sections(g, g->map.wide, (flags & FLAG_NUMBERS64) != 0, (flags & FLAG_LABELS) != 0, &s);
  if (!place_sections(&s, size, &end) || end != size - CHECKSUM)
    return dzo_fail(context, DZO_E_FORMAT,
                    "%s: byte %llu: the size of the file is not what its header takes",
                    dzo_input_name(input), (unsigned long long)size);
  uint64_t checksum = 0;
  DZO_TRY(load_sections(context, input, &s, &checksum));
  if (summed && checksum != dzo_get64(data + end))
    return dzo_fail(context, DZO_E_FORMAT,
                    "%s: byte %llu: the checksum differs: the file is damaged",
                    dzo_input_name(input), (unsigned long long)end);
  return dzo_graph_check_loaded(context, g, &s, dzo_input_name(input));
}

static dzo_status load_new(dzo_context *context, dzo_input *input, bool summed, dzo_graph **out) {
  *out = NULL;
  if (dzo_input_data(input) == NULL)
    DZO_TRY(dzo_input_load(context, input));
  dzo_graph *g = dzo_calloc(context, 1, sizeof *g);
  if (g == NULL)
    return DZO_E_MEMORY;
  dzo_status status = load(context, input, summed, g);
  if (status != DZO_OK) {
    dzo_graph_destroy(g);
    return status;
  }
  *out = g;
  return DZO_OK;
}

dzo_status dzo_graph_load_unsummed(dzo_context *context, dzo_input *input, dzo_graph **out) {
  return load_new(context, input, false, out);
}

dzo_status dzo_graph_load(dzo_context *context, dzo_input *input, dzo_graph **out) {
  return load_new(context, input, true, out);
}

static bool detect(const dzo_sample *sample) {
  return sample->head_size >= sizeof magic && memcmp(sample->head, magic, sizeof magic) == 0;
}

static dzo_status read_dzo(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  *out = NULL;
  dzo_graph *graph;
  DZO_TRY(dzo_graph_load(context, input, &graph));
  dzo_status status = dzo_graph_to_edge_list(context, graph, out);
  dzo_graph_destroy(graph);
  return status;
}

const dzo_reader dzo_reader_dzo = {.format = DZO_FORMAT_DZO, .detect = detect, .read = read_dzo};
