/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "io/numeral.h"
#include "io/output.h"
#include "io_files.h"
#include "random_graphs.h"

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The significant digits of a number, without zeros at either end. */
static void digits_of(const char *text, char *digits) {
  size_t count = 0;
  for (; *text != '\0' && *text != 'e'; text++)
    if (*text >= '0' && *text <= '9' && (count > 0 || *text != '0'))
      digits[count++] = *text;
  while (count > 0 && digits[count - 1] == '0')
    count--;
  digits[count] = '\0';
}

static void check_double(double x) {
  char ours[64], theirs[64], our_digits[64], their_digits[64];
  char *end = dzo_put_f64(ours, x);
  *end = '\0';
  assert_true(end - ours <= DZO_NUMERAL_MAX);
  assert_true(strtod(ours, NULL) == x);
  for (int precision = 15; precision <= 17; precision++) {
    (void)snprintf(theirs, sizeof theirs, "%.*g", precision, x);
    if (strtod(theirs, NULL) == x)
      break;
  }
  digits_of(ours, our_digits);
  digits_of(theirs, their_digits);
  assert_string_equal(our_digits, their_digits);
}

static void doubles_are_as_short_as_printf_makes_them(void **state) {
  (void)state;
  random_source random = {1};
  for (int i = 0; i < 60000; i++) {
    uint64_t bits = random_bits(&random);
    double any;
    memcpy(&any, &bits, sizeof any);
    if (isfinite(any))
      check_double(any);
    check_double((double)(bits >> 16) * 0x1p-48);
    check_double((double)(bits >> 40) * 0x1p-24);
    check_double(ldexp((double)(bits >> 11), -(int)(bits % 70)));
    check_double((double)(bits % 1000000) / 100);
  }
  for (int e = -1074; e < 1024; e++) {
    double x = ldexp(1, e);
    check_double(x);
    check_double(nextafter(x, 0));
    check_double(nextafter(x, 1e308));
  }
  for (int e = -320; e < 309; e++) {
    char text[16];
    (void)snprintf(text, sizeof text, "1e%d", e);
    double x = strtod(text, NULL);
    check_double(x);
    check_double(nextafter(x, 0));
    check_double(nextafter(x, 1e308));
  }
}

static void numbers_look_as_people_write_them(void **state) {
  (void)state;
  const struct {
    double x;
    const char *text;
  } reals[] = {{0, "0"},
               {3, "3"},
               {-0.1, "-0.1"},
               {1e20, "1e+20"},
               {0.00001, "0.00001"},
               {1.5e-7, "1.5e-7"},
               {100, "100"},
               {123456.75, "123456.75"},
               {1e15, "1000000000000000"},
               {(double)INFINITY, "inf"},
               {-(double)INFINITY, "-inf"},
               {5e-324, "4.94065645841247e-324"}};
  char text[64];
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
    *dzo_put_f64(text, reals[i].x) = '\0';
    assert_string_equal(text, reals[i].text);
  }
  *dzo_put_i64(text, INT64_MIN) = '\0';
  assert_string_equal(text, "-9223372036854775808");
  *dzo_put_u64(text, UINT64_MAX) = '\0';
  assert_string_equal(text, "18446744073709551615");
  random_source random = {2};
  for (int i = 0; i < 20000; i++) {
    uint64_t x = random_bits(&random) >> random_below(&random, 64);
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%llu", (unsigned long long)x);
    *dzo_put_u64(text, x) = '\0';
    assert_string_equal(text, expected);
  }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static const uint32_t small_u[] = {0, 2, 1, 3}, small_v[] = {1, 1, 1, 4};
static const double small_weights[] = {0.5, -2, 3, 1e20};

static dzo_edges small_edges(void) {
  return (dzo_edges){.vertices = 6,
                     .count = 4,
                     .u = small_u,
                     .v = small_v,
                     .weight_type = DZO_WEIGHT_F64,
                     .weights = small_weights};
}

static void a_failed_output_leaves_the_old_file(void **state) {
  (void)state;
  dzo_context *context = files_context(2);
  const char *path = files_path("target");
  files_put(path, "old", 3);
  int before = files_count();
  dzo_output *output;
  must(context, dzo_output_open(context, path, &output));
  must(context, dzo_output_print(output, "new %d", 1));
  assert_int_equal(files_count(), before + 1);
  assert_int_equal(dzo_output_close(output, DZO_E_FORMAT), DZO_E_FORMAT);
  assert_true(files_equal(path, "old", 3));
  assert_int_equal(files_count(), before);
  must(context, dzo_output_open(context, path, &output));
  must(context, dzo_output_print(output, "new %d", 2));
  assert_true(files_equal(path, "old", 3));
  must(context, dzo_output_close(output, DZO_OK));
  assert_true(files_equal(path, "new 2", 5));
  assert_int_equal(files_count(), before);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void modes_and_links_stay(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  const char *path = files_path("with-mode"), *link = files_path("link");
  files_put(path, "old", 3);
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(symlink(path, link), 0);
  dzo_edges edges = small_edges();
  must(context, dzo_edges_write(context, &edges, DZO_FORMAT_CSV, link));
  struct stat about;
  assert_int_equal(lstat(link, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0640);
  assert_true(about.st_size > 3);
  dzo_context_destroy(context);
}

static void places_that_cannot_be_written_are_named(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  dzo_edges edges = small_edges();
  const char *missing = files_path("no-such-folder/x");
  must_fail(context, dzo_edges_write(context, &edges, DZO_FORMAT_MTX, missing), DZO_E_IO,
            "no-such-folder");
  must_fail(context, dzo_edges_write(context, &edges, DZO_FORMAT_MTX, files_path("")), DZO_E_IO,
            "directory");
  const char *loop = files_path("loop");
  assert_int_equal(symlink(loop, loop), 0);
  must_fail(context, dzo_edges_write(context, &edges, DZO_FORMAT_MTX, loop), DZO_E_IO, "loop");
  assert_int_equal(unlink(loop), 0);
  if (access("/dev/full", W_OK) == 0)
    for (int format = DZO_FORMAT_MTX; format <= DZO_FORMAT_DZO; format++)
      if (format == DZO_FORMAT_MTX || format == DZO_FORMAT_GRAPHHPC || format == DZO_FORMAT_DZO)
        must_fail(context, dzo_edges_write(context, &edges, (dzo_format)format, "/dev/full"),
                  DZO_E_IO, "/dev/full: writing failed");
  must_fail(context, dzo_edges_write(context, &edges, DZO_FORMAT_AUTO, "x"), DZO_E_ARGUMENT,
            "no writer");
  must_fail(context, dzo_edges_write(context, &edges, DZO_FORMAT_MTX, NULL), DZO_E_ARGUMENT,
            "no path");
  must_fail(context, dzo_graph_write(context, NULL, DZO_FORMAT_MTX, "x"), DZO_E_ARGUMENT,
            "no graph");
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void standard_output_is_written_and_may_be_closed(void **state) {
  (void)state;
  dzo_context *context = files_context(1);
  dzo_edges edges = small_edges();
  edges.count = 1;
  (void)fflush(stdout);
  int saved = dup(STDOUT_FILENO), ends[2];
  assert_true(saved >= 0);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
  dzo_status status = dzo_edges_write(context, &edges, DZO_FORMAT_CSV, "-");
  char got[200] = {0};
  ssize_t size = read(ends[0], got, sizeof got - 1);
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  (void)close(ends[0]);
  dzo_status broken = dzo_edges_write(context, &edges, DZO_FORMAT_CSV, "-");
  (void)signal(SIGPIPE, before);
  assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
  (void)close(saved);
  (void)close(ends[1]);
  must(context, status);
  assert_true(size > 0);
  assert_string_equal(got, "source,target,weight\n0,1,0.5\n");
  must_fail(context, broken, DZO_E_IO, "<stdout>: writing failed");
  dzo_context_destroy(context);
}

static int stop_when_written(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)done;
  (void)total;
  return strcmp(phase, user) == 0;
}

static void a_cancelled_write_leaves_nothing(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  options.progress = stop_when_written;
  options.progress_user = "write";
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_edges edges = small_edges();
  int before = files_count();
  for (int format = DZO_FORMAT_MTX; format <= DZO_FORMAT_DZO; format++) {
    dzo_edges e = edges;
    e.weight_type = DZO_WEIGHT_NONE;
    e.weights = NULL;
    e.count = 2;
    dzo_context_resume(context);
    must_fail(context, dzo_edges_write(context, &e, (dzo_format)format, files_path("cancelled")),
              DZO_E_CANCELLED, "cancelled");
    assert_int_equal(files_count(), before);
    assert_int_equal(dzo_context_memory_used(context), 0);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doubles_are_as_short_as_printf_makes_them),
      cmocka_unit_test(numbers_look_as_people_write_them),
      cmocka_unit_test(a_failed_output_leaves_the_old_file),
      cmocka_unit_test(modes_and_links_stay),
      cmocka_unit_test(places_that_cannot_be_written_are_named),
      cmocka_unit_test(standard_output_is_written_and_may_be_closed),
      cmocka_unit_test(a_cancelled_write_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
