/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Numbers in text against the C library's strtod. */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/edge_list.h"
#include "io/number.h"
#include "io_files.h"
#include "io_texts.h"

static uint64_t random_state = 88172645463325252u;
static uint64_t random_bits(void) { /* xorshift64, Marsaglia 2003 */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static void random_decimal(unsigned kind, char *text, size_t size) {
  uint64_t bits = random_bits();
  double x;
  switch (kind % 6) {
  case 0: /* any double */
    memcpy(&x, &bits, sizeof x);
    (void)snprintf(text, size, "%.17g", x);
    break;
  case 1:
    (void)snprintf(text, size, "%.17g", (double)bits / 1.8446744073709552e19);
    break;
  case 2: /* any mantissa, any small power */
    (void)snprintf(text, size, "%" PRIu64 "e%d", bits >> (bits % 64),
                   (int)(random_bits() % 62) - 31);
    break;
  case 3:
    (void)snprintf(text, size, "-%" PRIu64 ".%09" PRIu64, bits % 100000,
                   random_bits() % 1000000000);
    break;
  case 4: /* half way between two doubles */
    (void)snprintf(text, size, "%" PRIu64 "%s", (UINT64_C(1) << 53 | bits >> 11) * 2 + 1,
                   bits % 2 != 0 ? "e0" : ".0");
    break;
  default: /* more digits than a word holds */
    (void)snprintf(text, size, "%" PRIu64 "%" PRIu64 ".%" PRIu64 "E-%u", bits, random_bits(),
                   random_bits(), (unsigned)(random_bits() % 80));
  }
}

static void decimals_are_correctly_rounded(void **state) {
  (void)state;
  for (unsigned i = 0; i < 200000; i++) {
    char text[128];
    double fast;
    bool integer;
    random_decimal(i, text, sizeof text);
    double expected = strtod(text, NULL);
    if (isnan(expected) || isinf(expected))
      continue;
    size_t length = strlen(text);
    const char *end = dzo_parse_double(text, text + length, &fast, &integer);
    dzo_number slow = dzo_parse_number(text, length);
    if ((end != NULL && (end != text + length || memcmp(&fast, &expected, sizeof fast) != 0)) ||
        memcmp(&slow.f64, &expected, sizeof expected) != 0)
      fail_msg("%s: fast %a, slow %a, strtod %a", text, fast, slow.f64, expected);
  }
}

static void numbers_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *text;
    dzo_number_kind kind;
  } CASES[] = {
      {"0", DZO_NUMBER_INTEGER},
      {"-0", DZO_NUMBER_INTEGER},
      {"+12", DZO_NUMBER_INTEGER},
      {"-9223372036854775808", DZO_NUMBER_INTEGER},
      {"-9223372036854775809", DZO_NUMBER_HUGE},
      {"9223372036854775808", DZO_NUMBER_UNSIGNED},
      {"18446744073709551615", DZO_NUMBER_UNSIGNED},
      {"18446744073709551616", DZO_NUMBER_HUGE},
      {"1.", DZO_NUMBER_REAL},
      {".5", DZO_NUMBER_REAL},
      {"1e5", DZO_NUMBER_REAL},
      {"1e-400", DZO_NUMBER_REAL},
      {"-INF", DZO_NUMBER_REAL},
      {"1e400", DZO_NUMBER_RANGE},
      {"NaN", DZO_NUMBER_NAN},
      {"-nan", DZO_NUMBER_NAN},
      {"", DZO_NUMBER_BAD},
      {".", DZO_NUMBER_BAD},
      {"-", DZO_NUMBER_BAD},
      {"e5", DZO_NUMBER_BAD},
      {"1e", DZO_NUMBER_BAD},
      {"1e+", DZO_NUMBER_BAD},
      {"0x10", DZO_NUMBER_BAD},
      {"1,5", DZO_NUMBER_BAD},
      {"--1", DZO_NUMBER_BAD},
      {"1_000", DZO_NUMBER_BAD},
      {"infinit", DZO_NUMBER_BAD},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
    if (dzo_parse_number(CASES[i].text, strlen(CASES[i].text)).kind != CASES[i].kind)
      fail_msg("'%s' is of another kind", CASES[i].text);
}

static void the_locale_does_not_matter(void **state) {
  (void)state;
  static const char *const NAMES[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  static const char TEXT[] = "1 2 0.5\n2 3 0.1234567890123456789012345\n";
  bool found = false;
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && !found; i++)
    found = setlocale(LC_ALL, NAMES[i]) != NULL && localeconv()->decimal_point[0] == ',';
  if (!found) {
    (void)setlocale(LC_ALL, "C");
    print_message("skipped: no locale with a decimal comma\n");
    skip();
  }
  dzo_context *context = texts_context(1, 0);
  dzo_edge_list *list;
  dzo_status status = texts_read(context, TEXT, strlen(TEXT), DZO_FORMAT_AUTO, &list);
  (void)setlocale(LC_ALL, "C");
  must(context, status);
  assert_true(((double *)list->weights)[0] == 0.5);
  assert_true(((double *)list->weights)[1] == 0.1234567890123456789012345);
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decimals_are_correctly_rounded),
      cmocka_unit_test(numbers_are_told_apart),
      cmocka_unit_test(the_locale_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
