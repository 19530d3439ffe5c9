/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* For machines without cmocka: the part of its interface that our tests use, in a header
 * (-DDZO_TESTS_WITHOUT_CMOCKA=ON). A failing test stops where it fails; the next ones run. */
#ifndef MINI_CMOCKA_H
#define MINI_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
  const char *name;
  void (*test_func)(void **state);
  CMFixtureFunction setup_func;
  CMFixtureFunction teardown_func;
  void *initial_state;
};

#define MINI_CMOCKA __attribute__((unused)) static

enum { MINI_PASSED, MINI_FAILED, MINI_SKIPPED };

static jmp_buf mini_cmocka_end;

/* clang-format off */
#define cmocka_unit_test(f) {#f, f, NULL, NULL, NULL}
#define cmocka_unit_test_setup(f, setup) {#f, f, setup, NULL, NULL}
#define cmocka_unit_test_teardown(f, teardown) {#f, f, NULL, teardown, NULL}
#define cmocka_unit_test_setup_teardown(f, setup, teardown) {#f, f, setup, teardown, NULL}
#define cmocka_unit_test_prestate(f, state) {#f, f, NULL, NULL, state}
/* clang-format on */

MINI_CMOCKA __attribute__((noreturn)) void mini_cmocka_fail(const char *file, int line) {
  (void)fprintf(stderr, "%s:%d: error: failure\n", file, line);
  longjmp(mini_cmocka_end, MINI_FAILED);
}

#define MINI_CMOCKA_CHECK(condition, ...)                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      (void)fprintf(stderr, __VA_ARGS__);                                                          \
      mini_cmocka_fail(__FILE__, __LINE__);                                                        \
    }                                                                                              \
  } while (0)

#define fail_msg(...)                                                                              \
  do {                                                                                             \
    (void)fprintf(stderr, "ERROR: " __VA_ARGS__);                                                  \
    (void)fputc('\n', stderr);                                                                     \
    mini_cmocka_fail(__FILE__, __LINE__);                                                          \
  } while (0)
#define fail() mini_cmocka_fail(__FILE__, __LINE__)
#define skip() longjmp(mini_cmocka_end, MINI_SKIPPED)
#define print_message(...) ((void)printf(__VA_ARGS__))
#define print_error(...) ((void)fprintf(stderr, __VA_ARGS__))

MINI_CMOCKA void mini_cmocka_integers(uintmax_t a, uintmax_t b, int want_equal, const char *file,
                                      int line) {
  if ((a == b) == want_equal)
    return;
  (void)fprintf(stderr, "%#jx %s %#jx\n", a, want_equal ? "!=" : "==", b);
  mini_cmocka_fail(file, line);
}
#define assert_int_equal(a, b)                                                                     \
  mini_cmocka_integers((uintmax_t)(a), (uintmax_t)(b), 1, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                 \
  mini_cmocka_integers((uintmax_t)(a), (uintmax_t)(b), 0, __FILE__, __LINE__)
#define assert_ptr_equal(a, b) assert_int_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_ptr_not_equal(a, b) assert_int_not_equal((uintptr_t)(a), (uintptr_t)(b))

MINI_CMOCKA void mini_cmocka_range(uintmax_t x, uintmax_t low, uintmax_t high, const char *file,
                                   int line) {
  if (x >= low && x <= high)
    return;
  (void)fprintf(stderr, "%ju is not within the range %ju-%ju\n", x, low, high);
  mini_cmocka_fail(file, line);
}
#define assert_in_range(x, low, high)                                                              \
  mini_cmocka_range((uintmax_t)(x), (uintmax_t)(low), (uintmax_t)(high), __FILE__, __LINE__)

#define assert_true(c) MINI_CMOCKA_CHECK((c), "%s\n", #c)
#define assert_false(c) MINI_CMOCKA_CHECK(!(c), "!(%s)\n", #c)
#define assert_null(p) MINI_CMOCKA_CHECK((p) == NULL, "%s is not NULL\n", #p)
#define assert_non_null(p) MINI_CMOCKA_CHECK((p) != NULL, "%s is NULL\n", #p)

MINI_CMOCKA void mini_cmocka_strings(const char *a, const char *b, int want_equal, const char *file,
                                     int line) {
  if ((strcmp(a, b) == 0) == want_equal)
    return;
  (void)fprintf(stderr, "\"%s\" %s \"%s\"\n", a, want_equal ? "!=" : "==", b);
  mini_cmocka_fail(file, line);
}
#define assert_string_equal(a, b) mini_cmocka_strings(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) mini_cmocka_strings(a, b, 0, __FILE__, __LINE__)

MINI_CMOCKA void mini_cmocka_bytes(const void *a, const void *b, size_t size, const char *file,
                                   int line) {
  const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
  for (size_t i = 0; i < size; i++) {
    if (x[i] == y[i])
      continue;
    (void)fprintf(stderr, "byte %zu of %zu: 0x%02x != 0x%02x\n", i, size, x[i], y[i]);
    mini_cmocka_fail(file, line);
  }
}
#define assert_memory_equal(a, b, size) mini_cmocka_bytes(a, b, size, __FILE__, __LINE__)

MINI_CMOCKA int mini_cmocka_run_one(const struct CMUnitTest *test, void *group_state) {
  void *state = test->initial_state != NULL ? test->initial_state : group_state;
  volatile int outcome = MINI_FAILED;
  (void)printf("[ RUN      ] %s\n", test->name);
  (void)fflush(stdout);
  if (test->setup_func == NULL || test->setup_func(&state) == 0) {
    switch (setjmp(mini_cmocka_end)) {
    case 0:
      test->test_func(&state);
      outcome = MINI_PASSED;
      break;
    case MINI_SKIPPED:
      outcome = MINI_SKIPPED;
      break;
    default:
      break;
    }
    if (test->teardown_func != NULL && test->teardown_func(&state) != 0)
      outcome = MINI_FAILED;
  }
  static const char *const words[] = {"      OK", " FAILED ", " SKIPPED"};
  (void)printf("[ %s ] %s\n", words[outcome], test->name);
  return outcome;
}

MINI_CMOCKA int mini_cmocka_run_group(const struct CMUnitTest *tests, size_t count,
                                      CMFixtureFunction setup, CMFixtureFunction teardown) {
  void *state = NULL;
  int outcomes[3] = {0, 0, 0};
  if (setup != NULL && setup(&state) != 0)
    return 1;
  for (size_t i = 0; i < count; i++)
    outcomes[mini_cmocka_run_one(&tests[i], state)]++;
  if (teardown != NULL && teardown(&state) != 0)
    outcomes[MINI_FAILED]++;
  (void)printf("%d passed, %d failed, %d skipped\n", outcomes[MINI_PASSED], outcomes[MINI_FAILED],
               outcomes[MINI_SKIPPED]);
  return outcomes[MINI_FAILED];
}
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
  cmocka_run_group_tests(tests, setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
  mini_cmocka_run_group(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
