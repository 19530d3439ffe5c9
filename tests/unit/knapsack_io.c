/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Knapsack instances and solutions in text: what is read is shown again by printf, and errors are
 * told with file, line and reason. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "io/decimal.h"
#include "io/knapsack.h"

enum { SHOWN = 4096 };

static dzo_context *make_context(void) {
  dzo_context_options options;
  dzo_context *context;
  dzo_context_options_init(&options);
  options.threads = 2;
  options.device = DZO_DEVICE_CPU;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

/* ---- Decimals -------------------------------------------------------------------------------- */

static void test_decimals(void **state) {
  static const struct {
    const char *text;
    dzo_decimal_kind kind;
    const char *shown; /* sign, magnitude, places */
  } rows[] = {
      {"0", DZO_DECIMAL_GOOD, "+0 0"},
      {"-0.000", DZO_DECIMAL_GOOD, "+0 0"},
      {"0e99999999999", DZO_DECIMAL_GOOD, "+0 0"},
      {"20.625", DZO_DECIMAL_GOOD, "+20625 3"},
      {"+18.00", DZO_DECIMAL_GOOD, "+18 0"},
      {"1200", DZO_DECIMAL_GOOD, "+12 -2"},
      {".5", DZO_DECIMAL_GOOD, "+5 1"},
      {"5.", DZO_DECIMAL_GOOD, "+5 0"},
      {"-1.5e3", DZO_DECIMAL_GOOD, "-15 -2"},
      {"15E-4", DZO_DECIMAL_GOOD, "+15 4"},
      {"18446744073709551615", DZO_DECIMAL_GOOD, "+18446744073709551615 0"},
      {"18446744073709551616", DZO_DECIMAL_HUGE, ""},
      {"0.00000000000000000000000000000000000000000000000000000000001", DZO_DECIMAL_GOOD, "+1 59"},
      {"1e-61", DZO_DECIMAL_HUGE, ""},
      {"1e61", DZO_DECIMAL_HUGE, ""},
      {"1e99999999999", DZO_DECIMAL_HUGE, ""},
      {"", DZO_DECIMAL_BAD, ""},
      {"-", DZO_DECIMAL_BAD, ""},
      {".", DZO_DECIMAL_BAD, ""},
      {"1.2.3", DZO_DECIMAL_BAD, ""},
      {"1,5", DZO_DECIMAL_BAD, ""},
      {"1e", DZO_DECIMAL_BAD, ""},
      {"1e+", DZO_DECIMAL_BAD, ""},
      {"nan", DZO_DECIMAL_BAD, ""},
      {"0x10", DZO_DECIMAL_BAD, ""},
      {"1 2", DZO_DECIMAL_BAD, ""}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    dzo_decimal decimal;
    char shown[64];
    assert_int_equal(dzo_parse_decimal(rows[i].text, strlen(rows[i].text), &decimal), rows[i].kind);
    if (rows[i].kind != DZO_DECIMAL_GOOD)
      continue;
    (void)snprintf(shown, sizeof shown, "%c%" PRIu64 " %d", decimal.negative ? '-' : '+',
                   decimal.magnitude, decimal.places);
    assert_string_equal(shown, rows[i].shown);
  }
}

static void test_scaling(void **state) {
  static const struct {
    const char *text;
    int places;
    const char *scaled; /* "" if it does not fit */
  } rows[] = {{"20.625", 3, "20625"},
              {"20.625", 5, "2062500"},
              {"20.625", 2, ""},
              {"9223372036854775807", 0, "9223372036854775807"},
              {"9223372036854775808", 0, ""},
              {"-9223372036854775808", 0, "-9223372036854775808"},
              {"-9223372036854775809", 0, ""},
              {"92233720368547758.07", 2, "9223372036854775807"},
              {"92233720368547758.08", 2, ""},
              {"9e18", 0, "9000000000000000000"},
              {"1e19", 0, ""},
              {"1", 19, ""},
              {"1", 60, ""},
              {"0", 60, "0"},
              {"1e-60", 60, "1"}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    dzo_decimal decimal;
    int64_t scaled;
    char shown[64] = "";
    assert_int_equal(dzo_parse_decimal(rows[i].text, strlen(rows[i].text), &decimal),
                     DZO_DECIMAL_GOOD);
    if (dzo_decimal_scale(decimal, rows[i].places, &scaled))
      (void)snprintf(shown, sizeof shown, "%" PRId64, scaled);
    assert_string_equal(shown, rows[i].scaled);
  }
}

static void test_printing(void **state) {
  static const struct {
    dzo_int128 x;
    int places;
    const char *text;
  } rows[] = {
      {{0, 0}, 0, "0"},
      {{0, 0}, 3, "0"},
      {{0, 7725}, 2, "77.25"},
      {{0, 20000}, 3, "20"},
      {{0, 5}, 3, "0.005"},
      {{-1, UINT64_C(0) - 1250}, 3, "-1.25"},
      {{INT64_MAX, UINT64_MAX}, 0, "170141183460469231731687303715884105727"},
      {{INT64_MIN, 0}, 0, "-170141183460469231731687303715884105728"},
      {{INT64_MIN, 0}, 60, "-0.000000000000000000000170141183460469231731687303715884105728"}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[DZO_DECIMAL_TEXT];
    *dzo_put_decimal(text, rows[i].x, rows[i].places) = '\0';
    assert_string_equal(text, rows[i].text);
  }
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* The text is copied to the end of a block, so that a sanitizer sees who reads beyond. */
static dzo_status read_text(dzo_context *context, const char *text,
                            const dzo_knapsack_read_options *options, dzo_knapsack_set *set) {
  size_t size = strlen(text);
  char *copy = malloc(size > 0 ? size : 1);
  dzo_input *input;
  assert_non_null(copy);
  memcpy(copy, text, size);
  dzo_begin(context);
  assert_int_equal(dzo_input_open_memory(context, "file", copy, size, DZO_INPUT_WHOLE, &input),
                   DZO_OK);
  dzo_status status = dzo_knapsack_read_input(context, input, options, set);
  dzo_input_close(input);
  free(copy);
  return status;
}

/* "csv 20.625: item=23/2.875 x2; ..." of each instance, `=optimum` behind the capacity. */
static void show(const dzo_knapsack_set *set, char *out) {
  char number[2][DZO_DECIMAL_TEXT];
  *out = '\0';
  for (uint64_t k = 0; k < set->count; k++) {
    const dzo_knapsack_origin *o = &set->origins[k];
    int64_t c = set->capacities[k];
    *dzo_put_decimal(number[0], (dzo_int128){c < 0 ? -1 : 0, (uint64_t)c}, o->weight_places) = '\0';
    out += sprintf(out, "%s%s%s%s %s", k > 0 ? " | " : "", dzo_knapsack_format_name(o->format),
                   o->name != UINT64_MAX ? " " : "",
                   o->name != UINT64_MAX ? set->text + o->name : "", number[0]);
    if (o->has_optimum)
      out += sprintf(out, "=%" PRId64, o->optimum);
    out += sprintf(out, ":");
    for (uint64_t i = set->offsets[k]; i < set->offsets[k + 1]; i++) {
      int64_t v = set->values[i], w = set->weights[i];
      *dzo_put_decimal(number[0], (dzo_int128){v < 0 ? -1 : 0, (uint64_t)v}, o->value_places) = 0;
      *dzo_put_decimal(number[1], (dzo_int128){w < 0 ? -1 : 0, (uint64_t)w}, o->weight_places) = 0;
      out += sprintf(out, " ");
      if (set->names != NULL && set->names[i] != UINT64_MAX)
        out += sprintf(out, "%s=", set->text + set->names[i]);
      out += sprintf(out, "%s/%s", number[0], number[1]);
      if (set->copies != NULL && set->copies[i] != 1)
        out += sprintf(out, "x%" PRId64, set->copies[i]);
    }
  }
}

static void expect(const char *text, const dzo_knapsack_read_options *options, const char *wanted) {
  dzo_context *context = make_context();
  dzo_knapsack_set set = {0};
  char shown[SHOWN];
  dzo_status status = read_text(context, text, options, &set);
  if (status == DZO_OK)
    show(&set, shown);
  else
    (void)snprintf(shown, sizeof shown, "%s", dzo_context_message(context));
  if (status == DZO_OK || strchr(wanted, '*') == NULL) {
    assert_string_equal(shown, wanted);
  } else { /* "begin*" */
    assert_memory_equal(shown, wanted, strlen(wanted) - 1);
  }
  assert_true(status == DZO_OK || set.count == 0);
  dzo_knapsack_set_release(&set);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

typedef struct text_row {
  const char *text, *wanted;
} text_row;

#define EXPECT_ROWS(rows, options)                                                                 \
  for (size_t row = 0; row < sizeof(rows) / sizeof(rows)[0]; row++)                                \
  expect((rows)[row].text, options, (rows)[row].wanted)

static void test_formats(void **state) {
  static const text_row rows[] = {
      {"3 10\n5 4\n6 7\n1 2\n", "plain 10: 5/4 6/7 1/2"},
      {"\xef\xbb\xbf# made by hand\r\n3 10\r\n\r\n5 4\r\n6 7\r\n# more\r\n1 2",
       "plain 10: 5/4 6/7 1/2"},
      {"0 10\n", "plain 10:"},
      {"1 -5\n-3 -9\n", "plain -5: -3/-9"},
      {"2 7\n1.5 2.25\n3 4\n", "plain 7: 1.5/2.25 3/4"},
      {"2 7\n1 2\n3 4\n\n1 5\n2 2\n0 9\n", "plain 7: 1/2 3/4 | plain 5: 2/2 | plain 9:"},
      {"3 10\n5 6 1\n4 7 2\n", "plain 10: 5/4 6/7 1/2"},
      {"1 10\n5\n4\n", "plain 10: 5/4"},
      {"2 10\n5 6\n4 7\n", "plain 10: 5/6 4/7"},
      {"2\n0 5 4\n1 6 7\n10\n", "jooken 10: 5/4 6/7"},
      {"2\n1 5 4\n2 6 7\n10\n1\n0 1 1\n3", "jooken 10: 5/4 6/7 | jooken 3: 1/1"},
      {"knap_1\nn 2\nc 10\nz 11\ntime 0.00\n1,5,4,1\n2,6,7,0\n-----\n\n",
       "pisinger knap_1 10=11: 5/4 6/7"},
      {"a b\nn 1\nc 10\nz 0\ntime 12.5\n1,5,4,0\n-----\n\nsecond\nn 1\nc 3\nz 7\ntime 0\n1,7,3,1\n",
       "pisinger a b 10: 5/4 | pisinger second 3=7: 7/3"}};
  static const dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_AUTO};
  (void)state;
  EXPECT_ROWS(rows, &options);
}

static void test_csv(void **state) {
  static const text_row rows[] = {
      {"name,value,weight\n\"item, no. 1\",23.00,2.875\n\"the \"\"2nd\"\"\",14.25,3.875\n",
       "csv 20.625: item, no. 1=23/2.875 the \"2nd\"=14.25/3.875"},
      {"Weight (kg);Value [EUR];Count\n4;5;2\n7;6;0\n1;1;1\n", "csv 20.625: 5/4x2 6/7x0 1/1"},
      {"profit\tsize\n5\t4\n", "csv 20.625: 5/4"},
      {"price,cost\n1e2,1e1\n", "csv 20.625: 100/10"},
      {"value,weight\n", "csv 20.625:"},
      {"# comment\nname,value,weight\n#1,5,4\n\n#2,6,7\n", "csv 20.625: #1=5/4 #2=6/7"},
      {"name,value,weight\n# no comment\n", "file:2: the value of item 0 is missing"},
      {"name,weight\na,1\n",
       "file:1: no column of the values: none is called value, profit or price"},
      {"value,name\n1,a\n",
       "file:1: no column of the weights: none is called weight, size or cost"},
      {"1,2\n3,4\n", "file:1: the first line names no columns*"},
      {"value,weight\n1\n", "file:2: the weight of item 0 is missing"},
      {"value,weight\n1,2\n,3\n", "file:3: the value of item 1 is missing"},
      {"value,weight\n1,2\n3,four\n", "file:3: expected the weight of item 1, found 'four'"},
      {"value,weight\nnan,2\n", "file:2: expected the value of item 0, found 'nan'"},
      {"value,weight\n1,2\n99999999999999999999,1\n",
       "file:3: the value of item 1, 99999999999999999999, does not fit 64 bits"},
      {"value,weight\n9223372036854775808,1\n",
       "file:2: the value of item 0, 9223372036854775808, does not fit 64 bits"},
      {"value,weight\n1,2\n0.001,3\n9223372036854775807,1\n",
       "file:4: the value of item 2, 9223372036854775807, does not fit 64 bits with the 3 decimal "
       "places that line 3 has"},
      {"value,weight\n1,2305843009213693952\n",
       "file:2: the weight of item 0, 2305843009213693952, does not fit 64 bits with the 3 decimal "
       "places that the capacity has"},
      {"value,weight,count\n1,2,inf\n", "file:2: item 0: 'inf' copies (the unbounded problem)*"},
      {"value,weight,count\n1,2,-1\n", "file:2: expected the number of copies of item 0*"},
      {"value,weight,count\n1,2,1.5\n", "file:2: expected the number of copies of item 0*"},
      {"value,weight,class\n1,2,1\n", "file:1: column 'class': one item of each group*"}};
  static const dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_AUTO,
                                                    .capacity = "20.625"};
  (void)state;
  EXPECT_ROWS(rows, &options);
}

static void test_columns_asked(void **state) {
  dzo_knapsack_read_options options = {.capacity = "10",
                                       .value_column = "worth it",
                                       .weight_column = "3",
                                       .count_column = "n",
                                       .name_column = "value"};
  (void)state;
  expect("value,worth it,weigh,n\nfirst,5,4,3\n", &options, "csv 10: first=5/4x3");
  options.value_column = "Worth it";
  expect("value,worth it,weigh,n\nfirst,5,4,3\n", &options,
         "file:1: there is no column 'Worth it'");
  options =
      (dzo_knapsack_read_options){.capacity = "10", .value_column = "2", .weight_column = "1"};
  expect("4,5\n7,6\n", &options, "csv 10: 5/4 6/7");
  options.weight_column = "2";
  expect("4,5\n7,6\n", &options, "file: values and weights are to come from the same column");
  options.weight_column = "3";
  expect("4,5\n7,6\n", &options, "file:1: there is no column '3'");
}

static void test_capacities(void **state) {
  dzo_knapsack_read_options options = {.capacity = "2.5"};
  (void)state;
  expect("2 7\n1 2\n3 4\n1 8\n1 1\n", &options, "plain 2.5: 1/2 3/4 | plain 2.5: 1/1");
  options.capacity = "many";
  expect("1 7\n1 2\n", &options, "the capacity 'many' is no number");
  options.capacity = "10000000000000000000";
  expect("1 7\n1 2\n", &options, "the capacity 10000000000000000000 does not fit 64 bits*");
  options.capacity = NULL;
  expect("value,weight\n1,2\n", &options,
         "file: this format holds no capacity; give one (--capacity)");
}

static void test_malformed(void **state) {
  static const text_row rows[] = {
      {"", "file: there is nothing in it"},
      {"\n# a comment\n", "file: there is nothing in it"},
      {"no knapsack at all\n", "file: no knapsack instance of a known format; it begins with*"},
      {"1 2 3 4 5\n", "file: no knapsack instance*"},
      {"3 10\n1 2\n", "file:2: the file ends after 1 of 3 items"},
      {"3 10\n1 2\n3\n4 5\n", "file:3: the weight of item 1 is missing"},
      {"3 10\n1 2\n3 4 5\n4 5\n", "file:3: unexpected '5' behind the item"},
      {"2 10\n1 2\n3 4\n5 6\n", "file:4: the file ends after 0 of 5 items"},
      {"2 10\n1 2\n3 x\n", "file:3: expected the weight of item 1, found 'x'"},
      {"-2 10\n1 2\n", "file:1: expected a number of items, found '-2'"},
      {"99999999999 10\n1 2\n", "file:1: 99999999999 items are over the limit of 1073741824"},
      {"1000000 10\n1 2\n", "file:2: the file ends after 1 of 1000000 items"},
      {"2\n0 1 2\n2 3 4\n10\n", "file:3: expected item number 1, found '2'"},
      {"2\n0 1 2\n1 3 4\n", "file:3: the file ends where the capacity is to come"},
      {"2\n0 1 2\n1 3 4\n1 2 3\n", "file:4: unexpected '2' behind the capacity"},
      {"k\nn 2\nc 10\nz 5\ntime 0\n1,1,2,0\n", "file:6: the file ends after 1 of 2 items"},
      {"k\nn 2\nc 10\nz 5\ntime 0\n1,1,2,0\n3,1,2,0\n",
       "file:7: expected item number 2, found '3'"},
      {"k\nn 2\nc 10\ntime 0\n1,1,2,0\n2,1,2,0\n",
       "file:4: expected 'z' and a number, found 'time'"},
      {"k\nn 1\nc 10\nz 5\ntime 0\n1,1\n", "file:6: the weight of item 0 is missing"},
      {"k\nn 1\nc 1e30\nz 5\ntime 0\n1,1,1,1\n",
       "file:3: the capacity, 1e30, does not fit 64 bits"},
      {"1\n2\n3\n", "file: no knapsack instance of a known format; it begins with '1'; of a set*"}};
  static const dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_AUTO};
  (void)state;
  EXPECT_ROWS(rows, &options);
}

/* Reading appends; what fails leaves the set as it was. */
static void test_appending(void **state) {
  static const dzo_knapsack_read_options options = {.capacity = "9"};
  dzo_context *context = make_context();
  dzo_knapsack_set set = {0};
  char shown[SHOWN];
  (void)state;
  assert_int_equal(read_text(context, "1 5\n1 2\n", &options, &set), DZO_OK);
  assert_int_equal(read_text(context, "1 5\n1 2\n2 5\n3 0.5\n", &options, &set), DZO_E_FORMAT);
  assert_int_equal(
      read_text(context, "name,value,weight,count\na,1,1,2\nb,2,0.5,3\n", &options, &set), DZO_OK);
  assert_int_equal(read_text(context, "name,value,weight,count\na,1,1,x\n", &options, &set),
                   DZO_E_FORMAT);
  assert_int_equal(read_text(context, "1 5\n7 8\n", &options, &set), DZO_OK);
  show(&set, shown);
  assert_string_equal(shown, "plain 9: 1/2 | csv 9: a=1/1x2 b=2/0.5x3 | plain 9: 7/8");
  dzo_knapsack_set_release(&set);
  dzo_context_destroy(context);
}

/* ---- Four files ------------------------------------------------------------------------------ */

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *wanted) {
  static const dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_AUTO};
  dzo_context *context = make_context();
  dzo_knapsack_set set = {0};
  char shown[SHOWN];
  if (dzo_knapsack_read(context, path, &options, &set) == DZO_OK)
    show(&set, shown);
  else
    (void)snprintf(shown, sizeof shown, "%s", dzo_context_message(context));
  assert_string_equal(shown, wanted);
  dzo_knapsack_set_release(&set);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void test_four_files(void **state) {
  static const char *const names[] = {"knapsack_io_four_c.txt", "knapsack_io_four_w.txt",
                                      "knapsack_io_four_p.txt", "knapsack_io_four_s.txt",
                                      "knapsack_io_four"};
  (void)state;
  write_file(names[0], "  10\n");
  write_file(names[1], "  4\n  7\n");
  write_file(names[2], "  5\n  6\n");
  write_file(names[3], "  1\n  0\n");
  for (int i = 0; i < 5; i++)
    expect_file(names[i], "fsu knapsack_io_four 10=5: 5/4 6/7");
  write_file(names[3], "1\n2\n");
  expect_file(names[0], "knapsack_io_four_s.txt:2: expected 0 or 1 for item 1, found '2'");
  assert_int_equal(remove(names[3]), 0);
  expect_file(names[1], "fsu knapsack_io_four 10: 5/4 6/7");
  write_file(names[1], "4\n");
  expect_file(names[2],
              "knapsack_io_four_w.txt: ends after 1 items, and knapsack_io_four_p.txt has more");
  write_file(names[1], "4 5\n7\n");
  expect_file(names[2],
              "knapsack_io_four_w.txt:1: expected one number a line, found '5' behind it");
  assert_int_equal(remove(names[1]), 0);
  expect_file(names[0], "knapsack_io_four_w.txt: cannot open: No such file or directory");
  assert_int_equal(remove(names[0]), 0);
  assert_int_equal(remove(names[2]), 0);
  expect_file("knapsack_io_four", "knapsack_io_four: cannot open: No such file or directory");
}

/* ---- Solutions ------------------------------------------------------------------------------- */

static void expect_solution(const char *instances, const char *text, const char *wanted) {
  static const dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_AUTO};
  dzo_context *context = make_context();
  dzo_knapsack_set set = {0};
  dzo_knapsack_solution solution;
  dzo_input *input;
  char shown[SHOWN], *out = shown;
  assert_int_equal(read_text(context, instances, &options, &set), DZO_OK);
  assert_int_equal(
      dzo_input_open_memory(context, "file", text, strlen(text), DZO_INPUT_WHOLE, &input), DZO_OK);
  if (dzo_knapsack_solution_read_input(context, input, &set, &solution) == DZO_OK) {
    for (uint64_t k = 0; k < set.count; k++) {
      out += sprintf(out, "%s%d", k > 0 ? " | " : "", solution.told[k]);
      if ((solution.claims[k] & 1) != 0)
        out += sprintf(out, " v%" PRIu64, solution.value_sums[k].low);
      if ((solution.claims[k] & 2) != 0)
        out += sprintf(out, " w%" PRIu64, solution.weight_sums[k].low);
      for (uint64_t i = set.offsets[k]; i < set.offsets[k + 1]; i++)
        out += sprintf(out, " %" PRId64, solution.taken[i]);
    }
    dzo_knapsack_solution_release(&solution);
  } else {
    (void)snprintf(shown, sizeof shown, "%s", dzo_context_message(context));
  }
  assert_string_equal(shown, wanted);
  dzo_input_close(input);
  dzo_knapsack_set_release(&set);
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void test_solutions(void **state) {
  static const char one[] = "3 10\n1.25 2\n3 4\n5 6\n", two[] = "1 5\n1 2\n2 9\n1 2\n3 4\n";
  (void)state;
  expect_solution(one, "# a comment\n# value 6.250\n# weight 8\n0\n2\n", "1 v625 w8 1 0 1");
  expect_solution(one, "2 3\n2\n", "1 0 0 4");
  expect_solution(one, "", "1 0 0 0");
  expect_solution(one, "1\n0\n1\n", "1 1 0 1");
  expect_solution(one, "# items\n1\n0\n1\n", "1 1 2 0");
  expect_solution(two, "instance 0\n0\ninstance 1\n# value 3\n1\n", "1 1 | 1 v3 0 1");
  expect_solution(two, "instance 1\n", "0 0 | 1 0 0");
  expect_solution(one, "3\n", "file:1: there is no item 3 among 3, which are numbered from 0");
  expect_solution(one, "-1\n", "file:1: expected the number of an item, found '-1'");
  expect_solution(one, "1 x\n", "file:1: expected how many copies of item 1, found 'x'");
  expect_solution(one, "1 9223372036854775807\n1\n",
                  "file:2: more copies of item 1 than 64 bits count");
  expect_solution(one, "1 2 3\n", "file:1: unexpected '3'");
  expect_solution(one, "# value 1.255\n", "file:1: expected a sum of values, found '1.255'");
  expect_solution(two, "instance 2\n",
                  "file:1: there is no instance '2' among 2, which are numbered from 0");
}

/* ---- Without memory -------------------------------------------------------------------------- */

typedef struct failing {
  uint64_t calls, fail_at;
  int64_t live;
} failing;

static void *fail_or_allocate(void *user, size_t bytes) {
  failing *f = user;
  void *block = ++f->calls == f->fail_at ? NULL : malloc(bytes);
  f->live += block != NULL;
  return block;
}

static void release(void *user, void *block) {
  failing *f = user;
  f->live -= block != NULL;
  free(block);
}

static dzo_status read_and_write(dzo_context *context, const char *path, const char *solution) {
  const dzo_knapsack_read_options options = {.capacity = "20.5"};
  dzo_knapsack_set set = {0};
  dzo_knapsack_solution claim;
  dzo_status status = dzo_knapsack_read(context, path, &options, &set);
  if (status == DZO_OK)
    status = dzo_knapsack_solution_read(context, solution, &set, &claim);
  if (status == DZO_OK) {
    dzo_knapsack_instance instance;
    dzo_knapsack_instance_init(&instance);
    instance.count = set.items;
    instance.values = set.values;
    instance.weights = set.weights;
    status = dzo_knapsack_write(context, "knapsack_io_copy", DZO_KNAPSACK_FILE_PISINGER, NULL,
                                &instance);
    dzo_knapsack_solution_release(&claim);
  }
  dzo_knapsack_set_release(&set);
  return status;
}

/* Each allocation fails in turn; nothing is kept, and the call says what it was. */
static void expect_survival(const char *path, const char *solution) {
  failing f = {0};
  dzo_context_options options;
  dzo_context *context;
  dzo_context_options_init(&options);
  options.threads = 1;
  options.device = DZO_DEVICE_CPU;
  options.allocator = (dzo_allocator){&f, fail_or_allocate, release};
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  int64_t live = f.live;
  dzo_status status = DZO_E_MEMORY;
  for (f.fail_at = 1; status != DZO_OK; f.fail_at++) {
    f.calls = 0;
    status = read_and_write(context, path, solution);
    assert_true(status == DZO_OK || status == DZO_E_MEMORY);
    assert_int_equal(dzo_context_memory_used(context), 0);
    assert_true(f.fail_at < 200);
  }
  assert_true(f.fail_at > 5);
  dzo_context_destroy(context);
  assert_int_equal(f.live, live > 0 ? 0 : live);
}

static void test_without_memory(void **state) {
  char csv[8192] = "name,value,weight,count\n", *to = csv + strlen(csv);
  (void)state;
  for (int i = 0; i < 200; i++)
    to += sprintf(to, "item number %d,%d.5,%d.25,%d\n", i, i, i, i % 3 + 1);
  write_file("knapsack_io_items.csv", csv);
  write_file("knapsack_io_claim", "# value 3\n0\n1\n");
  expect_survival("knapsack_io_items.csv", "knapsack_io_claim");
  write_file("knapsack_io_four_c.txt", "10\n");
  write_file("knapsack_io_four_w.txt", "4\n7\n");
  write_file("knapsack_io_four_p.txt", "5\n6\n");
  expect_survival("knapsack_io_four_p.txt", "knapsack_io_claim");
  expect_survival("knapsack_io_four", "knapsack_io_claim");
  static const char *const names[] = {"knapsack_io_items.csv",  "knapsack_io_claim",
                                      "knapsack_io_four_c.txt", "knapsack_io_four_w.txt",
                                      "knapsack_io_four_p.txt", "knapsack_io_copy"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_int_equal(remove(names[i]), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decimals),   cmocka_unit_test(test_scaling),
      cmocka_unit_test(test_printing),   cmocka_unit_test(test_formats),
      cmocka_unit_test(test_csv),        cmocka_unit_test(test_columns_asked),
      cmocka_unit_test(test_capacities), cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_appending),  cmocka_unit_test(test_four_files),
      cmocka_unit_test(test_solutions),  cmocka_unit_test(test_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
