/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/edge_list.h"
#include "io_files.h"
#include "io_texts.h"

/* ---- Small inputs ---------------------------------------------------------------------------- */

typedef struct sample {
  const char *text, *shown;
} sample;

#define MTX "%%MatrixMarket matrix coordinate "

static const sample SAMPLES[] = {
    /* Matrix Market. */
    {MTX "real general\n3 3 2\n1 2 0.5\n3 3 -1e-3\n", "mtx 3 f64 1-2:0.5 3-3:-0.001"},
    {"%%matrixmarket MATRIX Coordinate Integer SYMMETRIC\n%%GraphBLAS type int8_t\n% x\n\n4 4 2\n"
     "% in between\n2 1 +7\n\n 4\t3  -7 ",
     "mtx 4 i64 2-1:7 4-3:-7"},
    {MTX "pattern symmetric\r\n2 2 1\r\n2 1\r\n", "mtx 2 none 2-1"},
    {MTX "integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -5\n", "mtx 3 i64 2-1:5 3-1:-5"},
    {MTX "integer general\n2 2 2\n1 2 18446744073709551615\n2 2 0\n",
     "mtx 2 u64 1-2:18446744073709551615 2-2:0"},
    {MTX "integer general\n2 2 2\n1 2 -9223372036854775808\n2 2 9223372036854775807\n",
     "mtx 2 i64 1-2:-9223372036854775808 2-2:9223372036854775807"},
    {MTX "real general\n2 2 3\n1 2 inf\n2 2 -Infinity\n1 1 100000000000000000000\n",
     "mtx 2 f64 1-2:inf 2-2:-inf 1-1:1e+20"},
    {MTX "real general\n2 2 1\n1 2 9007199254740993\n", "mtx 2 f64 1-2:9007199254740992"},
    {MTX "real general\n5 5 0\n", "mtx 5 f64"},
    {MTX "real general\n0 0 0\n", "mtx 0 f64"},
    {MTX "double general\n1 1 1\n0001 1 .5\n", "mtx 1 f64 1-1:0.5"},
    {MTX "integer general\n2 2 1\n00000000000000000000000001 2 000000000000000000000000007\n",
     "mtx 2 i64 1-2:7"},
    {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4.5\n",
     "mtx 2 f64 1-1:1 2-1:2 1-2:3 2-2:4.5"},
    {"%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
     "mtx 3 i64 1-1:1 2-1:2 3-1:3 2-2:4 3-2:5 3-3:6"},
    {"%%MatrixMarket matrix array integer skew-symmetric\n4 4\n1\n2\n3\n\n4\n5\n%\n6\n",
     "mtx 4 i64 2-1:1 3-1:2 4-1:3 3-2:4 4-2:5 4-3:6"},
    {"\xef\xbb\xbf" MTX "pattern general\n2 2 2\n1 2\n2 1\n", "mtx 2 none 1-2 2-1"},
    /* DIMACS. */
    {"c hello\nc\np sp 3 2\na 1 2 5\nc between\na 3 3 -1\n", "dimacs 3 i64 1-2:5 3-3:-1"},
    {"p sp 2 1\r\n\r\n  a  2\t1   0\r\n", "dimacs 2 i64 2-1:0"},
    {"p sp 9 0", "dimacs 9 i64"},
    /* SNAP, .el, .wel. */
    {"# FromNodeId ToNodeId\n30 1412\n30 3352\n", "snap 3 none 30-1412 30-3352"},
    {"0 1 2\n1 2 3", "snap 3 i64 0-1:2 1-2:3"},
    {"1\t2\t0.5\n2\t1\t7\n", "snap 2 f64 1-2:0.5 2-1:7"},
    {"0 18446744073709551615\n5 5\n", "snap 3 none 0-18446744073709551615 5-5"},
    {"7 9 -5\n# x\n\n  9 7 9223372036854775807  \n", "snap 2 i64 7-9:-5 9-7:9223372036854775807"},
    {"7 9 1\n9 7 9223372036854775808\n", "snap 2 u64 7-9:1 9-7:9223372036854775808"},
    {"1 2 -1\n1 2 9223372036854775808\n1 2 0.5\n",
     "snap 2 f64 1-2:-1 1-2:9.2233720368547758e+18 1-2:0.5"},
    {"1 2 5\n2 3 INF\n", "snap 3 f64 1-2:5 2-3:inf"},
    {"# nothing\n", "snap 0 none"},
    {"1 2\n", "snap 2 none 1-2"},
    {"5 5\n", "snap 1 none 5-5"},
    {"8\n3\n4 5 35\n4 7 37\n0 7 16\n", "snap 8 i64 4-5:35 4-7:37 0-7:16"},
    {"4\n2\n0 1\n2 3\n", "snap 4 none 0-1 2-3"},
    {"9 2\n0 1 0.5\n2 3 1.5\n", "snap 9 f64 0-1:0.5 2-3:1.5"},
    /* CSV. */
    {"source,target,weight\n1,2,3\n", "csv 2 i64 1-2:3"},
    {"Source,Target,Rating,Time\n6,2,4,1289241911.7\n6,5,-10,x y\n", "csv 3 i64 6-2:4 6-5:-10"},
    {"id,weight,to,from\n9,1.5,3,4\r\n9,2,4,\"5\"\n", "csv 3 f64 4-3:1.5 5-4:2"},
    {"u,v\n10,20\n\n# x\n20,30\n", "csv 3 none 10-20 20-30"},
    {"0;1;0.25\n1;2;1e3\n", "csv 3 f64 0-1:0.25 1-2:1000"},
    {"\"a, b\";c;d\n1;2;3\n", "csv 2 i64 1-2:3"},
    {"from\tto\tw\n1\t2\t3\n", "csv 2 i64 1-2:3"},
    {"1 , 2 , 3 , \"x \"\"y\"\"\"\n", "csv 2 i64 1-2:3"},
    {"\"1\",\"2\",\" 3 \"\n", "csv 2 i64 1-2:3"},
    {"source,target,timestamp\n1,2,99\n", "csv 2 none 1-2"},
    {"source,target\n", "csv 0 none"},
    {"1,2\n3,4,5\n", "csv 4 none 1-2 3-4"},
    /* KONECT. */
    {"% asym posweighted\n% 2 3 3\n1 2  1.25\n3 1 2 1289241911\n", "konect 3 f64 1-2:1.25 3-1:2"},
    {"% sym unweighted\n10 20\n20 30\n", "konect 3 none 10-20 20-30"},
    {"%\n10 20 1\n20 30 1 5 7\n", "konect 3 i64 10-20:1 20-30:1"},
    /* METIS. */
    {"3 2\n2\n1 3\n2\n", "metis 3 none 1-2 #2 2-3"},
    {"4 2 1\n2 5\n% c\n1 5 3 -7\n 2 -7\n\n", "metis 4 i64 1-2:5 #2 2-3:-7"},
    {"4 1\n\n3\n2\n\n", "metis 4 none 2-3"},
    {"3 2 111 2\r\n9 1 1 2 4\r\n9 1 1 1 4 3 6\r\n9 1 1 2 6\r\n\r\n\r\n",
     "metis 3 i64 1-2:4 #2 2-3:6"},
    {"3 2 10\n7 2\n7 1 3\n7 2\n", "metis 3 none 1-2 #2 2-3"},
    {"3 3\n2 3\n1 3\n1 2\n", "metis 3 none 1-2 1-3 #3 2-3"},
    {"2 2\n1 2\n1 2\n", "metis 2 none 1-1 1-2 #3 2-2"},
    {"2 2\n2 2\n1 1\n", "metis 2 none 1-2 1-2"},
    {"3 0\n\n\n\n", "metis 3 none"},
};

static void check_sample(const sample *s, int threads) {
  dzo_context *context = texts_context(threads, 0);
  dzo_edge_list *list, *streamed;
  must(context, texts_read(context, s->text, strlen(s->text), DZO_FORMAT_AUTO, &list));
  assert_string_equal(texts_show(list), s->shown);
  must(context, texts_stream(context, s->text, strlen(s->text), DZO_FORMAT_AUTO, &streamed));
  assert_true(texts_same(list, streamed));
  dzo_edge_list_destroy(list);
  dzo_edge_list_destroy(streamed);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void every_format_reads_small_inputs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES; i++)
    for (int threads = 1; threads <= 3; threads += 2)
      check_sample(&SAMPLES[i], threads);
}

static void a_named_format_is_obeyed(void **state) {
  (void)state;
  static const struct {
    dzo_format format;
    const char *text, *shown;
  } CASES[] = {
      {DZO_FORMAT_SNAP, "3 2\n2\n", NULL},
      {DZO_FORMAT_SNAP, "", "snap 0 none"},
      {DZO_FORMAT_SNAP, "2 1\n1 2\n", "snap 2 none 2-1 1-2"},
      {DZO_FORMAT_METIS, "2 1\n2\n1\n", "metis 2 none 1-2"},
      {DZO_FORMAT_KONECT, "2 1 5 9\n", "konect 2 i64 2-1:5"},
      {DZO_FORMAT_CSV, "2,1,5,9\n", "csv 2 i64 2-1:5"},
  };
  dzo_context *context = texts_context(2, 0);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    dzo_edge_list *list;
    size_t size = strlen(CASES[i].text);
    dzo_status status = texts_read(context, CASES[i].text, size, CASES[i].format, &list);
    if (CASES[i].shown == NULL) {
      must_fail(context, status, DZO_E_FORMAT, "in:2: ");
      continue;
    }
    must(context, status);
    assert_string_equal(texts_show(list), CASES[i].shown);
    dzo_edge_list_destroy(list);
  }
  dzo_context_destroy(context);
}

/* ---- Larger inputs, any number of threads, whole and streamed -------------------------------- */

static uint64_t random_state = 88172645463325252u;
static uint64_t random_bits(void) { /* xorshift64, Marsaglia 2003 */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

typedef struct text {
  char *at;
  size_t size, room;
} text;

static void put(text *t, const char *format, ...) {
  if (t->room - t->size < 256) {
    t->room = 2 * t->room + 4096;
    t->at = realloc(t->at, t->room);
    assert_non_null(t->at);
  }
  va_list arguments;
  va_start(arguments, format);
  t->size += (size_t)vsnprintf(t->at + t->size, t->room - t->size, format, arguments);
  va_end(arguments);
}

enum { LARGE = 30000 };
typedef enum names { NAMES_DENSE, NAMES_NARROW, NAMES_FAR } names;

static uint64_t random_name(names kind) {
  uint64_t x = random_bits() % 5000;
  return kind == NAMES_DENSE    ? x
         : kind == NAMES_NARROW ? 3 * x + 17
                                : x * UINT64_C(3689348814741910);
}

static void put_noise(text *t, const char *comment) {
  if (random_bits() % 50 == 0)
    put(t, "%s a comment\n", comment);
  if (random_bits() % 50 == 0)
    put(t, " \t \r\n");
}

static text large_text(dzo_format format, names kind, bool decimals) {
  text t = {NULL, 0, 0};
  const char *comment = format == DZO_FORMAT_DIMACS                               ? "c"
                        : format == DZO_FORMAT_MTX || format == DZO_FORMAT_KONECT ? "%"
                                                                                  : "#";
  if (format == DZO_FORMAT_MTX)
    put(&t, "%%%%MatrixMarket matrix coordinate %s general\n5000 5000 %d\n",
        decimals ? "real" : "integer", LARGE);
  if (format == DZO_FORMAT_DIMACS)
    put(&t, "p sp 5000 %d\n", LARGE);
  if (format == DZO_FORMAT_KONECT)
    put(&t, "%% asym\n");
  const char *gap = format == DZO_FORMAT_CSV ? "," : random_bits() % 2 != 0 ? "\t" : " ";
  uint64_t base = format == DZO_FORMAT_MTX || format == DZO_FORMAT_DIMACS;
  for (int i = 0; i < LARGE; i++) {
    if (i > 0)
      put_noise(&t, comment);
    put(&t, "%s%" PRIu64 "%s%" PRIu64 "%s", format == DZO_FORMAT_DIMACS ? "a " : "",
        random_name(kind) + base, gap, random_name(kind) + base, gap);
    if (decimals)
      put(&t, "%.*e", (int)(random_bits() % 18), (double)(random_bits() >> 30) / 1024 - 1e6);
    else
      put(&t, "%d", (int)(random_bits() % 2000001) - 1000000);
    put(&t, i % 7 == 0 ? "\r\n" : i + 1 == LARGE ? "" : "\n");
  }
  return t;
}

static text large_metis(void) {
  enum { N = 2000 };
  static unsigned char linked[N][N];
  text t = {NULL, 0, 0};
  memset(linked, 0, sizeof linked);
  uint64_t edges = 0;
  for (int i = 0; i < LARGE; i++) {
    uint64_t u = random_bits() % N, v = random_bits() % N;
    if (u == v || linked[u][v] != 0)
      continue;
    linked[u][v] = linked[v][u] = (unsigned char)(1 + random_bits() % 200);
    edges++;
  }
  put(&t, "%d %" PRIu64 " 1\n", N, edges);
  for (int u = 0; u < N; u++) {
    if (u % 100 == 5)
      put(&t, "%% a comment\n");
    for (int v = 0; v < N; v++)
      if (linked[u][v] != 0)
        put(&t, "%d %d ", v + 1, linked[u][v]);
    put(&t, "\n");
  }
  return t;
}

/* Find the format, read with several numbers of threads, stream in small blocks: always the same.
 */
static void check_large(const text *t, dzo_format format) {
  static const int THREADS[] = {1, 2, 3, 8};
  dzo_context *first_context = texts_context(1, 0);
  dzo_edge_list *first;
  must(first_context, texts_read(first_context, t->at, t->size, DZO_FORMAT_AUTO, &first));
  assert_int_equal(first->format, format);
  for (size_t i = 0; i < sizeof THREADS / sizeof *THREADS; i++) {
    dzo_context *context = texts_context(THREADS[i], 1 << 20);
    dzo_edge_list *list;
    must(context, texts_read(context, t->at, t->size, DZO_FORMAT_AUTO, &list));
    assert_true(texts_same(first, list));
    assert_int_equal(first->vertices, list->vertices);
    assert_memory_equal(first->u, list->u, first->count * sizeof *first->u);
    assert_memory_equal(first->v, list->v, first->count * sizeof *first->v);
    dzo_edge_list_destroy(list);
    must(context, texts_stream(context, t->at, t->size, DZO_FORMAT_AUTO, &list));
    assert_true(texts_same(first, list));
    dzo_edge_list_destroy(list);
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_destroy(context);
  }
  dzo_edge_list_destroy(first);
  dzo_context_destroy(first_context);
}

static void threads_and_blocks_do_not_matter(void **state) {
  (void)state;
  static const dzo_format FORMATS[] = {DZO_FORMAT_MTX, DZO_FORMAT_DIMACS, DZO_FORMAT_SNAP,
                                       DZO_FORMAT_CSV, DZO_FORMAT_KONECT};
  for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
    for (int kind = NAMES_DENSE; kind <= NAMES_FAR; kind++) {
      bool declared = FORMATS[i] == DZO_FORMAT_MTX || FORMATS[i] == DZO_FORMAT_DIMACS;
      if (declared && kind != NAMES_DENSE)
        continue;
      for (int decimals = 0; decimals < (FORMATS[i] == DZO_FORMAT_DIMACS ? 1 : 2); decimals++) {
        text t = large_text(FORMATS[i], (names)kind, decimals != 0);
        check_large(&t, FORMATS[i]);
        free(t.at);
      }
    }
  text t = large_metis();
  check_large(&t, DZO_FORMAT_METIS);
  free(t.at);
}

/* Where rows of METIS look like lines of edges, and the other way round. */
static void lines_and_rows_are_told_apart(void **state) {
  (void)state;
  enum { RING = 40000 };
  text ring = {NULL, 0, 0}, far = {NULL, 0, 0}, star = {NULL, 0, 0};
  put(&ring, "%d %d\n", RING, RING);
  for (int i = 0; i < RING; i++)
    put(&ring, "%d %d\n", (i + 1) % RING + 1, (i + RING - 1) % RING + 1);
  put(&far, "1000000 999999\n");
  for (int i = 0; i < RING; i++)
    put(&far, "%d %d\n%s", (int)(500000 + random_bits() % 500000),
        (int)(500000 + random_bits() % 500000), i == 7 ? "\n" : "");
  put(&star, "%d %d\n", RING + 1, RING);
  for (int i = 0; i < RING; i++)
    put(&star, "%d ", i + 2);
  for (int i = 0; i < RING; i++)
    put(&star, "\n1");
  check_large(&ring, DZO_FORMAT_METIS);
  check_large(&far, DZO_FORMAT_SNAP);
  check_large(&star, DZO_FORMAT_METIS);
  free(ring.at);
  free(far.at);
  free(star.at);
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The labels are the distinct names, ascending; the ends name them again. */
static void names_are_renumbered_ascending(void **state) {
  (void)state;
  for (int kind = NAMES_DENSE; kind <= NAMES_FAR; kind++) {
    enum { COUNT = 20000 };
    uint64_t *names = calloc(2 * COUNT, sizeof *names), *sorted = calloc(2 * COUNT, sizeof *sorted);
    text t = {NULL, 0, 0};
    for (int i = 0; i < 2 * COUNT; i++) {
      names[i] = i == 9 && kind == NAMES_FAR ? UINT64_MAX : random_name((enum names)kind);
      put(&t, "%" PRIu64 "%s", names[i], i % 2 == 0 ? " " : "\n");
    }
    memcpy(sorted, names, 2 * COUNT * sizeof *names);
    qsort(sorted, 2 * COUNT, sizeof *sorted, compare_u64);
    uint64_t distinct = 0;
    for (int i = 0; i < 2 * COUNT; i++)
      if (i == 0 || sorted[i] != sorted[distinct - 1])
        sorted[distinct++] = sorted[i];
    dzo_context *context = texts_context(3, 0);
    dzo_edge_list *list;
    must(context, texts_read(context, t.at, t.size, DZO_FORMAT_SNAP, &list));
    assert_int_equal(list->vertices, distinct);
    for (uint64_t v = 0; v < distinct; v++)
      assert_int_equal(list->labels != NULL ? list->labels[v] : v + list->first_label, sorted[v]);
    for (int i = 0; i < COUNT; i++) {
      assert_int_equal(sorted[list->u[i]], names[2 * i]);
      assert_int_equal(sorted[list->v[i]], names[2 * i + 1]);
    }
    dzo_edge_list_destroy(list);
    dzo_context_destroy(context);
    free(t.at);
    free(names);
    free(sorted);
  }
}

/* ---- Real files ------------------------------------------------------------------------------ */

typedef struct real_file {
  const char *name;
  uint64_t vertices, edges, loops;
} real_file;

static const real_file real_files[] = {
    {"tinyEWG.txt", 8, 16, 0},
    {"mediumEWG.txt", 250, 1273, 0},
    {"rome99.gr", 3353, 4444, 0},
    {"soc-sign-bitcoinotc.csv", 5881, 35592, 0},
    {"wiki-Vote.txt", 7115, 103689, 0},
    {"foodweb-baydry.konect", 128, 2137, 0},
    {"astro-ph.graph", 16706, 121251, 0},
    {"PGPgiantcompo.graph", 10680, 24316, 0},
    {"power.graph", 4941, 6594, 0},
    {"lesmis.graph", 77, 254, 0},
    {"4elt.graph", 15606, 45878, 0},
    {"bcsstk13.mtx", 2003, 42943, 2003},
    {"bips98_606.mtx", 7135, 34738, 6900},
    {"LFAT5.mtx", 14, 30, 14},
    {"jagmesh7.mtx", 1138, 4294, 1138},
    {"west0067.mtx", 67, 294, 2},
    {"karate.mtx", 34, 78, 0},
    {"chesapeake.mtx", 39, 170, 0},
    {"msf1.mtx", 6, 8, 0},
    {"msf2.mtx", 8, 12, 0},
    {"msf3.mtx", 5, 7, 0},
    {"ldbc-undirected-example.mtx", 9, 12, 0},
    {"full_symmetric.mtx", 4, 10, 4},
    {"matrix_int64.mtx", 7, 12, 0},
    {"matrix_uint64.mtx", 7, 12, 0},
    {"skew_fp64.mtx", 6, 10, 0},
    {"mangled/mangled_int32.mtx", 7, 12, 0},
    {"mangled/mangled_skew.mtx", 6, 10, 0},
};

static void check_real_file(dzo_context *context, const real_file *file) {
  dzo_edge_list *list, *streamed;
  dzo_edge_source source;
  const char *path = texts_data(file->name);
  must(context, dzo_edge_list_read(context, path, NULL, &list));
  uint64_t loops = 0;
  for (uint64_t e = 0; e < list->count; e++)
    loops += list->u[e] == list->v[e];
  assert_int_equal(list->vertices, file->vertices);
  assert_int_equal(list->count, file->edges);
  assert_int_equal(loops, file->loops);
  must(context, dzo_edge_source_open(context, path, NULL, &source));
  must(context, texts_collect(context, &source, &streamed));
  assert_true(texts_same(list, streamed));
  dzo_edge_list_destroy(streamed);
  dzo_edge_list_destroy(list);
}

static void real_files_have_their_known_sizes(void **state) {
  (void)state;
  if (texts_data("") == NULL) {
    print_message("skipped: no DZO_TEST_DATA\n");
    skip();
  }
  for (int threads = 1; threads <= 8; threads *= 2) {
    dzo_context *context = texts_context(threads, 0);
    for (size_t i = 0; i < sizeof real_files / sizeof *real_files; i++)
      check_real_file(context, &real_files[i]);
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_destroy(context);
  }
}

static void standard_input_is_read(void **state) {
  (void)state;
  static const char TEXT[] = "1 2 5\n2 3 6\n";
  dzo_context *context = texts_context(1, 0);
  int saved = dup(STDIN_FILENO), ends[2];
  for (int streamed = 0; streamed < 2; streamed++) {
    dzo_edge_list *list;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], TEXT, strlen(TEXT)), strlen(TEXT));
    assert_int_equal(close(ends[1]), 0);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    assert_int_equal(close(ends[0]), 0);
    if (streamed != 0) {
      dzo_edge_source source;
      must(context, dzo_edge_source_open(context, "-", NULL, &source));
      must(context, texts_collect(context, &source, &list));
    } else {
      must(context, dzo_edge_list_read(context, "-", NULL, &list));
    }
    assert_int_equal(list->count, 2);
    dzo_edge_list_destroy(list);
  }
  assert_true(dup2(saved, STDIN_FILENO) >= 0);
  assert_int_equal(close(saved), 0);
  dzo_context_destroy(context);
}

static void graphs_are_built_from_files(void **state) {
  (void)state;
  static const char TEXT[] = "# x\n10 20 0.5\n20 30 1.5\n30 30 9\n";
  dzo_context *context = texts_context(2, 0);
  const char *path = files_path("graph.any");
  files_put(path, TEXT, strlen(TEXT));
  dzo_graph *graph;
  must(context, dzo_graph_read(context, path, NULL, &graph));
  assert_int_equal(dzo_graph_vertices(graph), 3);
  assert_int_equal(dzo_graph_edges(graph), 3);
  assert_int_equal(dzo_graph_arcs(graph), 4);
  assert_int_equal(dzo_graph_label(graph, 2), 30);
  dzo_graph_destroy(graph);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_reads_small_inputs),
      cmocka_unit_test(a_named_format_is_obeyed),
      cmocka_unit_test(threads_and_blocks_do_not_matter),
      cmocka_unit_test(lines_and_rows_are_told_apart),
      cmocka_unit_test(names_are_renumbered_ascending),
      cmocka_unit_test(real_files_have_their_known_sizes),
      cmocka_unit_test(standard_input_is_read),
      cmocka_unit_test(graphs_are_built_from_files),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
