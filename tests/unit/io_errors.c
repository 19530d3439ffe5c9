/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Every malformed input gives one line that names it, and nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "graph/edge_list.h"
#include "io/reader.h"
#include "io_files.h"
#include "io_texts.h"

#define MTX "%%MatrixMarket matrix coordinate "
#define ARRAY "%%MatrixMarket matrix array "
#define BAD DZO_E_FORMAT
#define NOT DZO_E_UNSUPPORTED

typedef struct wrong {
  dzo_format format;
  const char *text;
  dzo_status status;
  const char *message;        /* the whole of it */
  const char *stream_message; /* of a stream where it differs; "" where a stream cannot tell */
} wrong;

static const wrong WRONG[] = {
    /* No format. */
    {DZO_FORMAT_AUTO, "", BAD, "in:1: the file is empty", NULL},
    {DZO_FORMAT_AUTO, "hello world\n", BAD, "in:1: no graph format begins with 'hello world'",
     NULL},
    /* Matrix Market. */
    {DZO_FORMAT_MTX, "", BAD, "in:1: expected '%%MatrixMarket', found ''", NULL},
    {DZO_FORMAT_MTX, "1 2\n", BAD, "in:1: expected '%%MatrixMarket', found '1'", NULL},
    {DZO_FORMAT_AUTO, "%%MatrixMarket matrix coordinate real\n", BAD,
     "in:1: expected '%%MatrixMarket matrix coordinate|array FIELD SYMMETRY'", NULL},
    {DZO_FORMAT_AUTO, "%%MatrixMarket vector coordinate real general\n", NOT,
     "in:1: 'vector' is no matrix", NULL},
    {DZO_FORMAT_AUTO, "%%MatrixMarket graph coordinate real general\n", BAD,
     "in:1: 'graph' is no matrix", NULL},
    {DZO_FORMAT_AUTO, "%%MatrixMarket matrix elements real general\n", BAD,
     "in:1: 'elements' is neither 'coordinate' nor 'array'", NULL},
    {DZO_FORMAT_AUTO, MTX "quaternion general\n", BAD,
     "in:1: 'quaternion' is none of 'real', 'integer', 'pattern'", NULL},
    {DZO_FORMAT_AUTO, MTX "complex general\n1 1 0\n", NOT,
     "in:1: complex and hermitian matrices have no order of weights", NULL},
    {DZO_FORMAT_AUTO, MTX "real hermitian\n1 1 0\n", NOT,
     "in:1: complex and hermitian matrices have no order of weights", NULL},
    {DZO_FORMAT_AUTO, MTX "real sym\n1 1 0\n", BAD,
     "in:1: 'sym' is none of 'general', 'symmetric', 'skew-symmetric'", NULL},
    {DZO_FORMAT_AUTO, ARRAY "pattern general\n1 1\n", BAD, "in:1: a pattern cannot be an array",
     NULL},
    {DZO_FORMAT_AUTO, MTX "pattern skew-symmetric\n1 1 0\n", BAD,
     "in:1: a pattern cannot be skew-symmetric", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n% no sizes\n", BAD, "in:2: the file ends before the sizes",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3\n", BAD,
     "in:2: expected the sizes: rows columns entries", NULL},
    {DZO_FORMAT_AUTO, ARRAY "real general\n3 3 9\n", BAD, "in:2: expected the sizes: rows columns",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 4 0\n", NOT,
     "in:2: a rectangular matrix (3 x 4) is no graph of its rows", NULL},
    {DZO_FORMAT_AUTO, MTX "real symmetric\n3 4 0\n", BAD,
     "in:2: a rectangular matrix (3 x 4) is no graph of its rows", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n4294967296 4294967296 0\n", NOT,
     "in:2: 4294967296 vertices, more than 2^32 - 1", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 2\n1 1 1\n", BAD,
     "in:3: the file ends after 1 of 2 edges", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 2", BAD, "in:2: the file ends after 0 of 2 edges",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 1 1\n\n2 2 2\n3 3 3\n", BAD,
     "in:5: more edges than the 1 promised", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 4 1\n", BAD, "in:3: vertex 4 is outside 1..3",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n0 1 1\n", BAD, "in:3: vertex 0 is outside 1..3",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n-1 1 1\n", BAD, "in:3: vertex -1 is outside 1..3",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 99999999999999999999999 1\n", BAD,
     "in:3: vertex 99999999999999999999999 is outside 1..3", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n0 0 1\n1 1 1\n", BAD,
     "in:3: vertex 1 in a graph of no vertices", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 one 1\n", BAD,
     "in:3: expected a vertex number, found 'one'", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 2\n", BAD, "in:3: the weight is missing", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1\n", BAD, "in:3: the second vertex is missing",
     NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 2 pi\n", BAD,
     "in:3: expected a weight, found 'pi'", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 2 1 1\n", BAD,
     "in:3: unexpected '1' behind the weight", NULL},
    {DZO_FORMAT_AUTO, MTX "pattern general\n3 3 1\n1 2 1\n", BAD,
     "in:3: unexpected '1' behind the second vertex", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 2 nan\n", BAD,
     "in:3: the weight is not a number (nan)", NULL},
    {DZO_FORMAT_AUTO, MTX "real general\n3 3 1\n1 2 1e999\n", NOT,
     "in:3: weight 1e999 is beyond the range of doubles", NULL},
    {DZO_FORMAT_AUTO, MTX "integer general\n3 3 1\n1 2 0.5\n", BAD,
     "in:3: weight 0.5 is not an integer", NULL},
    {DZO_FORMAT_AUTO, MTX "integer general\n3 3 1\n1 2 18446744073709551616\n", NOT,
     "in:3: integer 18446744073709551616 does not fit 64 bits", NULL},
    {DZO_FORMAT_AUTO, MTX "integer general\n3 3 2\n1 2 -1\n1 2 18446744073709551615\n", NOT,
     "in:3: weight -1 is negative, others are over 2^63 - 1: no 64-bit type holds both", NULL},
    {DZO_FORMAT_AUTO, MTX "real skew-symmetric\n3 3 2\n2 1 1\n2 2 0\n", BAD,
     "in:4: a skew-symmetric matrix has no diagonal", NULL},
    {DZO_FORMAT_AUTO, ARRAY "real general\n2 2\n1\n2\n3\n", BAD,
     "in:5: the file ends after 3 of 4 edges", NULL},
    {DZO_FORMAT_AUTO, ARRAY "real symmetric\n2 2\n1\n2\n3\n4\n", BAD,
     "in:6: more edges than the 3 promised", NULL},
    {DZO_FORMAT_AUTO, ARRAY "real general\n2 2\n1 2\n3 4\n", BAD,
     "in:3: expected one value a line, found '2' behind it", NULL},
    /* DIMACS. */
    {DZO_FORMAT_DIMACS, "", BAD, "in:1: the file ends before 'p sp VERTICES ARCS'", NULL},
    {DZO_FORMAT_AUTO, "c only\nc comments", BAD, "in:2: the file ends before 'p sp VERTICES ARCS'",
     NULL},
    {DZO_FORMAT_AUTO, "c x\na 1 2 3\n", BAD, "in:2: expected 'p sp VERTICES ARCS', found 'a'",
     NULL},
    {DZO_FORMAT_AUTO, "p edge 2 1\ne 1 2\n", NOT, "in:1: problem 'edge' is not 'sp'", NULL},
    {DZO_FORMAT_AUTO, "p sp 2\n", BAD, "in:1: expected 'p sp VERTICES ARCS'", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1 1\n", BAD, "in:1: expected 'p sp VERTICES ARCS'", NULL},
    {DZO_FORMAT_AUTO, "p sp 4294967296 0\n", NOT, "in:1: 4294967296 vertices, more than 2^32 - 1",
     NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1\ne 1 2 3\n", BAD,
     "in:2: expected a line that begins with 'a', found 'e'", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1\na1 2 3\n", BAD,
     "in:2: expected a line that begins with 'a', found 'a1'", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1\na 1 2\n", BAD, "in:2: the weight is missing", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1\na 1 3 1\n", BAD, "in:2: vertex 3 is outside 1..2", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1\na 1 2 1.5\n", BAD, "in:2: weight 1.5 is not an integer", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 2\na 1 2 1\n", BAD, "in:2: the file ends after 1 of 2 edges", NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1\na 1 2 1\na 2 1 1\n", BAD, "in:3: more edges than the 1 promised",
     NULL},
    {DZO_FORMAT_AUTO, "p sp 2 1000000000000\na 1 2 1\n", BAD,
     "in:2: the file ends after 1 of 1000000000000 edges", NULL},
    /* SNAP. */
    {DZO_FORMAT_AUTO, "1 2\n3\n", BAD, "in:2: the second vertex is missing", NULL},
    {DZO_FORMAT_AUTO, "1 2\n3 4\n5 6 7\n", BAD, "in:3: unexpected '7' behind the second vertex",
     NULL},
    {DZO_FORMAT_AUTO, "1 2 3\n1 2 3 4\n", BAD,
     "in:2: unexpected '4' behind the weight; the konect format allows it", NULL},
    {DZO_FORMAT_AUTO, "1 2 3\n1 2\n", BAD, "in:2: the weight is missing", NULL},
    {DZO_FORMAT_AUTO, "1 2\n1 -2\n", NOT, "in:2: vertex -2 is negative; names are 0 to 2^64 - 1",
     NULL},
    {DZO_FORMAT_AUTO, "1 2\n1 18446744073709551616\n", NOT,
     "in:2: vertex 18446744073709551616 does not fit 64 bits", NULL},
    {DZO_FORMAT_AUTO, "1 2\n1.0 2\n", BAD, "in:2: expected a vertex number, found '1.0'", NULL},
    {DZO_FORMAT_AUTO, "1 2 0.5\n1 2 9007199254740993\n", BAD,
     "in:2: integer 9007199254740993, among decimals, is not exactly a double", NULL},
    {DZO_FORMAT_AUTO, "1 2 9007199254740993\n1 2 0.5\n", BAD,
     "in:1: integer 9007199254740993, among decimals, is not exactly a double", NULL},
    {DZO_FORMAT_AUTO, "1 2 -1\n1 2 18446744073709551615\n", NOT,
     "in:1: weight -1 is negative, others are over 2^63 - 1: no 64-bit type holds both", NULL},
    {DZO_FORMAT_AUTO, "1 2 5\n1 2 NaN\n", BAD, "in:2: the weight is not a number (NaN)", NULL},
    {DZO_FORMAT_AUTO, "1 2 5\n1 2 \x01\x02zz\n", BAD, "in:2: expected a weight, found '\?\?zz'",
     NULL},
    {DZO_FORMAT_AUTO, "5\n2\n0 1\n", BAD, "in:3: the file ends after 1 of 2 edges", NULL},
    {DZO_FORMAT_AUTO, "5\n1\n0 5\n", BAD, "in:3: vertex 5 is outside 0..4", NULL},
    {DZO_FORMAT_AUTO, "4294967296\n1\n0 5\n", NOT, "in:1: 4294967296 vertices, more than 2^32 - 1",
     NULL},
    {DZO_FORMAT_SNAP, "5\nx\n0 1\n", BAD, "in:1: expected the numbers of vertices and edges", NULL},
    {DZO_FORMAT_AUTO, "5 3\n0 1 2\n", BAD, "in:2: the file ends after 1 of 3 edges", NULL},
    /* CSV. */
    {DZO_FORMAT_CSV, "1 2 3\n", BAD, "in:1: expected columns separated by ',', ';' or tabs", NULL},
    {DZO_FORMAT_AUTO, "source,target,weight\n1,2,\n", BAD, "in:2: the weight is missing", NULL},
    {DZO_FORMAT_AUTO, "source,target,weight\n1,,3\n", BAD, "in:2: the second vertex is missing",
     NULL},
    {DZO_FORMAT_AUTO, "1,2,3\n1;2;3\n", BAD, "in:2: expected a vertex number, found '1;2;3'", NULL},
    {DZO_FORMAT_AUTO, "1;2;0,5\n", BAD, "in:1: expected a weight, found '0,5'", NULL},
    {DZO_FORMAT_AUTO, "1,2,3\n\"4,5\n", BAD, "in:2: expected a vertex number, found '\"4,5'", NULL},
    /* KONECT. */
    {DZO_FORMAT_AUTO, "% bip weighted\n1 1 1\n", NOT,
     "in:1: the two sides of a bipartite network are numbered apart", NULL},
    {DZO_FORMAT_AUTO, "% sym weighted\n1 2 3\n1 x\n", BAD,
     "in:3: expected a vertex number, found 'x'", NULL},
    {DZO_FORMAT_AUTO, "% sym weighted\n1 2 3\n1 2\n", BAD, "in:3: the weight is missing", NULL},
    /* METIS. */
    {DZO_FORMAT_METIS, "% c\n", BAD, "in:1: the file ends before 'VERTICES EDGES [FMT [NCON]]'",
     NULL},
    {DZO_FORMAT_METIS, "3 2 2\n\n\n\n", BAD, "in:1: expected 'VERTICES EDGES [FMT [NCON]]'", NULL},
    {DZO_FORMAT_METIS, "3 2 1 1 1\n", BAD, "in:1: expected 'VERTICES EDGES [FMT [NCON]]'", NULL},
    {DZO_FORMAT_METIS, "4294967296 0\n", NOT, "in:1: 4294967296 vertices, more than 2^32 - 1",
     NULL},
    {DZO_FORMAT_METIS, "3 2\n2\n1 3\n", BAD, "in:3: the file ends after 2 of 3 rows", NULL},
    {DZO_FORMAT_METIS, "3 2", BAD, "in:1: the file ends after 0 of 3 rows", NULL},
    {DZO_FORMAT_METIS, "2 1\n2\n1\n\n2\n", BAD,
     "in:5: a row behind the last vertex begins with '2'", NULL},
    {DZO_FORMAT_METIS, "3 2\n2\n1 4\n2\n", BAD, "in:3: neighbour '4' is outside 1..3", NULL},
    {DZO_FORMAT_METIS, "3 2\n2\n1 0\n2\n", BAD, "in:3: neighbour '0' is outside 1..3", NULL},
    {DZO_FORMAT_METIS, "3 2\n2\n1 x\n2\n", BAD, "in:3: expected a neighbour, found 'x'", NULL},
    {DZO_FORMAT_METIS, "3 2 1\n2 5\n1 5 3\n2 5\n", BAD,
     "in:3: the weight of the last neighbour is missing, found ''", NULL},
    {DZO_FORMAT_METIS, "2 1 1\n2 0.5\n1 0.5\n", BAD,
     "in:2: expected an integer weight, found '0.5'", NULL},
    {DZO_FORMAT_METIS, "2 1 1\n2 9223372036854775808\n1 1\n", NOT,
     "in:2: weight '9223372036854775808' does not fit 64 bits with a sign", NULL},
    {DZO_FORMAT_METIS, "2 1 11\nx 2 1\n1 1 1\n", BAD,
     "in:2: expected a vertex size or weight, found 'x'", NULL},
    {DZO_FORMAT_METIS, "2 5\n2\n1\n", BAD, "in:1: 5 edges are promised, the rows hold 1", NULL},
    {DZO_FORMAT_METIS, "3 2\n2 3\n\n1\n", BAD,
     "in:2: 2 is listed as a neighbour of 1, but not 1 of 2",
     "in: some edge stands in one of its two rows only, or with two weights"},
    {DZO_FORMAT_METIS, "3 2 1\n2 5\n1 5 3 6\n2 7\n", BAD,
     "in:3: 3 is listed as a neighbour of 2, but not 2 of 3 with the same weight",
     "in: some edge stands in one of its two rows only, or with two weights"},
};

static void check_wrong(dzo_context *context, const wrong *w, int stream) {
  dzo_edge_list *list;
  dzo_status status = stream != 0
                          ? texts_stream(context, w->text, strlen(w->text), w->format, &list)
                          : texts_read(context, w->text, strlen(w->text), w->format, &list);
  const char *message = stream != 0 && w->stream_message != NULL ? w->stream_message : w->message;
  if (status != w->status || strcmp(dzo_context_message(context), message) != 0)
    fail_msg("%s: %s instead of %s: %s", dzo_status_name(status), dzo_context_message(context),
             dzo_status_name(w->status), message);
  assert_null(list);
  assert_int_equal(dzo_context_memory_used(context), 0);
}

static void malformed_inputs_are_named(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    dzo_context *context = texts_context(threads, 0);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
      for (int stream = 0; stream < 2; stream++)
        check_wrong(context, &WRONG[i], stream);
    dzo_context_destroy(context);
  }
}

/* Two bad lines far down in a large file: the first is named by any number of threads. */
static void the_first_bad_line_is_named(void **state) {
  (void)state;
  enum { LINES = 60000 };
  static char text[LINES * 16];
  for (int bad = 1; bad < LINES; bad += 6007) {
    size_t size = 0;
    for (int i = 1; i <= LINES; i++)
      size +=
          (size_t)(i == bad || i > bad + 40 + bad / 7 ? sprintf(text + size, "1 2 x\n")
                                                      : sprintf(text + size, "%d 7 %d\n", i, i));
    char expected[64];
    (void)sprintf(expected, "in:%d: expected a weight, found 'x'", bad);
    for (int threads = 1; threads <= 8; threads++) {
      dzo_context *context = texts_context(threads, 1 << 20);
      dzo_edge_list *list;
      dzo_status status = texts_read(context, text, size, DZO_FORMAT_SNAP, &list);
      assert_int_equal(status, DZO_E_FORMAT);
      assert_string_equal(dzo_context_message(context), expected);
      status = texts_stream(context, text, size, DZO_FORMAT_SNAP, &list);
      assert_int_equal(status, DZO_E_FORMAT);
      assert_string_equal(dzo_context_message(context), expected);
      dzo_context_destroy(context);
    }
  }
}

/* A stream has to keep the type of weights that it began with; samples make that rare. */
static void late_decimals_in_a_stream_are_named(void **state) {
  (void)state;
  enum { LINES = 60000 };
  static char text[LINES * 16];
  size_t size = 0;
  for (int i = 1; i <= LINES; i++)
    size += (size_t)sprintf(text + size, "%d 7 %s\n", i, i == LINES - 3 ? "0.5" : "5");
  dzo_context *context = texts_context(2, 1 << 20);
  dzo_edge_list *list;
  must(context, texts_read(context, text, size, DZO_FORMAT_AUTO, &list));
  assert_int_equal(list->weight_type, DZO_WEIGHT_F64);
  dzo_edge_list_destroy(list);
  must_fail(context, texts_stream(context, text, size, DZO_FORMAT_AUTO, &list), DZO_E_UNSUPPORTED,
            "in:59997: a decimal after a stream of integers");
  size = 0;
  for (int i = 1; i <= LINES; i++)
    size += (size_t)sprintf(text + size, "%d 7 %s\n", i, i > LINES / 2 ? "0.5" : "5");
  must(context, texts_stream(context, text, size, DZO_FORMAT_AUTO, &list));
  assert_int_equal(list->weight_type, DZO_WEIGHT_F64);
  assert_int_equal(list->count, LINES);
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

/* A header's word alone costs no memory. */
static void promises_cost_nothing(void **state) {
  (void)state;
  static const char *const TEXTS[] = {
      MTX "real general\n4294967295 4294967295 1000000000000\n1 1 1\n",
      ARRAY "real general\n4294967295 4294967295\n1\n",
      "p sp 4294967295 18446744073709551615\na 1 2 3\n",
      "4294967295 9223372036854775807\n\n\n",
      "4294967295\n18446744073709551615\n1 2\n",
      "4294967295 4294967295 011 1000000\n1 2 3\n2 3 4 5 6\n\n",
      "0 18446744073709551615\n1 18446744073709551614\n",
  };
  dzo_context *context = texts_context(2, 0);
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    dzo_edge_list *list;
    (void)texts_read(context, TEXTS[i], strlen(TEXTS[i]), DZO_FORMAT_AUTO, &list);
    dzo_edge_list_destroy(list);
  }
  assert_true(dzo_context_memory_peak(context) < 4 << 20);
  dzo_context_destroy(context);
}

static void real_malformed_files_are_named(void **state) {
  (void)state;
  static const char *const NAMES[] = {"1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",      "9",
                                      "10", "11", "12", "13", "14", "15", "16", "_format"};
  if (texts_data("") == NULL) {
    print_message("skipped: no DZO_TEST_DATA\n");
    skip();
  }
  dzo_context *context = texts_context(2, 0);
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    char name[64], part[80];
    dzo_edge_list *list;
    (void)snprintf(name, sizeof name, "mangled/mangled%s.mtx", NAMES[i]);
    (void)snprintf(part, sizeof part, "%s:", name);
    dzo_status status = dzo_edge_list_read(context, texts_data(name), NULL, &list);
    assert_true(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED);
    assert_non_null(strstr(dzo_context_message(context), part));
    assert_null(strchr(dzo_context_message(context), '\n'));
  }
  dzo_context_destroy(context);
}

/* ---- Arguments, files, memory, cancelling ---------------------------------------------------- */

static void arguments_are_checked(void **state) {
  (void)state;
  dzo_context *context = texts_context(1, 0);
  dzo_edge_list *list = (dzo_edge_list *)&state;
  dzo_graph *graph = (dzo_graph *)&state;
  dzo_edge_source source;
  dzo_read_options options;
  assert_int_equal(dzo_edge_list_read(NULL, "x", NULL, &list), DZO_E_ARGUMENT);
  assert_int_equal(dzo_edge_list_read(context, NULL, NULL, &list), DZO_E_ARGUMENT);
  assert_null(list);
  assert_int_equal(dzo_edge_list_read(context, "x", NULL, NULL), DZO_E_ARGUMENT);
  assert_int_equal(dzo_graph_read(context, NULL, NULL, &graph), DZO_E_ARGUMENT);
  assert_null(graph);
  assert_int_equal(dzo_edge_source_open(context, NULL, NULL, &source), DZO_E_ARGUMENT);
  assert_null(source.next);
  dzo_read_options_init(&options);
  options.size = 3;
  must_fail(context, dzo_edge_list_read(context, "x", &options, &list), DZO_E_ARGUMENT, "size");
  dzo_read_options_init(&options);
  options.format = (dzo_format)99;
  must_fail(context, dzo_edge_list_read(context, "x", &options, &list), DZO_E_ARGUMENT, "format");
  must_fail(context, dzo_edge_list_read(context, "/no/such/file", NULL, &list), DZO_E_IO,
            "/no/such/file: cannot open: ");
  must_fail(context, dzo_graph_read(context, "/", NULL, &graph), DZO_E_IO, "/: is a directory");
  must_fail(context, dzo_edge_source_open(context, "/no/such/file", NULL, &source), DZO_E_IO,
            "/no/such/file");
  dzo_format format;
  assert_int_equal(dzo_format_from_name("metis", &format), DZO_OK);
  assert_int_equal(format, DZO_FORMAT_METIS);
  assert_int_equal(dzo_format_from_name("METIS", &format), DZO_E_ARGUMENT);
  assert_int_equal(dzo_format_from_name(NULL, &format), DZO_E_ARGUMENT);
  assert_string_equal(dzo_format_name(DZO_FORMAT_GALOIS), "galois");
  assert_string_equal(dzo_format_name((dzo_format)77), "unknown");
  dzo_context_destroy(context);
}

static void every_failed_allocation_is_survived(void **state) {
  (void)state;
  static const char *const TEXTS[] = {
      MTX "integer general\n3 3 3\n1 2 3\n% x\n% y\n2 3 4\n3 3 18446744073709551615\n",
      ARRAY "real general\n2 2\n1\n2\n3\n4\n",
      "p sp 3 1\na 1 2 3\n",
      "1 2 3\n5 6 7\n9 4 0.5\n",
      "1 18446744073709551615\n3 8888888888888888888\n",
      "source,target,weight\n1,2,3\n",
      "3 2 1\n2 5\n1 5 3 6\n2 6\n",
      "% x\n3 2 1\n2 5\n1 5 3 6\n2 7\n",
  };
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
    for (int stream = 0; stream < 2; stream++) {
      int64_t alive = memory.alive;
      dzo_status status = DZO_E_MEMORY;
      for (int64_t k = 0; status == DZO_E_MEMORY; k++) {
        dzo_edge_list *list;
        memory.left = k;
        assert_true(k < 1000);
        status = stream != 0
                     ? texts_stream(context, TEXTS[i], strlen(TEXTS[i]), DZO_FORMAT_AUTO, &list)
                     : texts_read(context, TEXTS[i], strlen(TEXTS[i]), DZO_FORMAT_AUTO, &list);
        assert_true(status != DZO_OK || memory.left >= 0 || k > 0);
        dzo_edge_list_destroy(list);
        assert_int_equal(memory.alive, alive);
        assert_int_equal(dzo_context_memory_used(context), 0);
      }
      assert_true(status == DZO_OK ||
                  (status == DZO_E_FORMAT && i + 1 == sizeof TEXTS / sizeof *TEXTS));
    }
  memory.left = -1;
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
}

static int cancel_at_once(void *user, const char *phase, uint64_t done, uint64_t total) {
  assert_string_equal(phase, "read");
  assert_true(total == 0 || done <= total);
  return ++*(int *)user > 1;
}

static void reading_can_be_cancelled(void **state) {
  (void)state;
  enum { LINES = 200000 };
  static char text[LINES * 16];
  size_t size = 0;
  for (int i = 1; i <= LINES; i++)
    size += (size_t)sprintf(text + size, "%d 7\n", i);
  int calls = 0;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  options.memory = 1 << 20;
  options.progress = cancel_at_once;
  options.progress_user = &calls;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  for (int stream = 0; stream < 2; stream++) {
    dzo_edge_list *list;
    calls = 0;
    dzo_status status = stream != 0 ? texts_stream(context, text, size, DZO_FORMAT_SNAP, &list)
                                    : texts_read(context, text, size, DZO_FORMAT_SNAP, &list);
    assert_int_equal(status, DZO_E_CANCELLED);
    assert_null(list);
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_resume(context);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(malformed_inputs_are_named),
      cmocka_unit_test(the_first_bad_line_is_named),
      cmocka_unit_test(late_decimals_in_a_stream_are_named),
      cmocka_unit_test(promises_cost_nothing),
      cmocka_unit_test(real_malformed_files_are_named),
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(every_failed_allocation_is_survived),
      cmocka_unit_test(reading_can_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
