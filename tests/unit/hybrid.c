/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Who solves, as a function of rates, with no GPU in sight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "msf/hybrid.h"

static dzo_device fastest(const msf_rates *rates, uint64_t vertices, uint64_t arcs) {
  msf_estimate e = msf_estimate_times(rates, vertices, arcs, 4, false);
  return msf_fastest(&e);
}

static void small_graphs_stay_on_the_cpu(void **state) {
  (void)state;
  for (int opened = 0; opened < 2; opened++) {
    for (int threads = 1; threads <= 64; threads *= 4) {
      msf_rates rates = msf_expected_rates(threads, opened);
      assert_int_equal(fastest(&rates, 0, 0), DZO_DEVICE_CPU);
      assert_int_equal(fastest(&rates, 100, 400), DZO_DEVICE_CPU);
    }
  }
  /* A GPU that would have to be opened first has more to make good. */
  msf_rates opened = msf_expected_rates(16, true), closed = msf_expected_rates(16, false);
  assert_int_equal(fastest(&opened, 1 << 16, 32 << 16), DZO_DEVICE_CUDA);
  assert_int_equal(fastest(&opened, 1 << 20, 32 << 20), DZO_DEVICE_CUDA);
  assert_int_equal(fastest(&closed, 1 << 20, 32 << 20), DZO_DEVICE_CPU);
}

static void large_graphs_go_to_the_gpu(void **state) {
  (void)state;
  for (int threads = 1; threads <= 32; threads *= 2) {
    msf_rates rates = msf_expected_rates(threads, true);
    assert_int_equal(fastest(&rates, 1 << 24, UINT64_C(32) << 24), DZO_DEVICE_CUDA);
  }
}

/* Rows that the bus can fetch as they are: threads that would be idle pack some of them. */
static void pinned_rows_are_shared(void **state) {
  (void)state;
  for (int threads = 1; threads <= 32; threads *= 2) {
    msf_rates rates = msf_expected_rates(threads, true);
    msf_estimate e = msf_estimate_times(&rates, 1 << 24, UINT64_C(32) << 24, 4, true);
    assert_true(e.mixed <= e.cuda && e.hybrid <= e.mixed);
  }
  msf_rates rates = msf_expected_rates(16, true);
  msf_estimate e = msf_estimate_times(&rates, 1 << 24, UINT64_C(32) << 24, 4, true);
  assert_int_equal(msf_fastest(&e), DZO_DEVICE_HYBRID);
  rates.bus_bytes = 1e12; /* then nothing is gained by that */
  e = msf_estimate_times(&rates, 1 << 24, UINT64_C(32) << 24, 4, true);
  assert_int_equal(msf_fastest(&e), DZO_DEVICE_CUDA);
}

static void a_slow_bus_calls_for_both(void **state) {
  (void)state;
  msf_rates rates = msf_expected_rates(16, true);
  rates.bus_bytes = 6e9;
  assert_int_equal(fastest(&rates, 1 << 24, UINT64_C(32) << 24), DZO_DEVICE_HYBRID);
  rates.bus_bytes = 0.1e9; /* then the CPU had better do it alone */
  assert_int_equal(fastest(&rates, 1 << 24, UINT64_C(32) << 24), DZO_DEVICE_CPU);
}

static void the_simpler_way_wins_what_is_nearly_a_tie(void **state) {
  (void)state;
  const struct {
    msf_estimate e;
    dzo_device device;
  } cases[] = {
      {{.cpu = 1, .cuda = 1, .hybrid = 1}, DZO_DEVICE_CPU},
      {{.cpu = 1, .cuda = 0.99, .hybrid = 2}, DZO_DEVICE_CPU},
      {{.cpu = 1, .cuda = 0.9, .hybrid = 0.89}, DZO_DEVICE_CUDA},
      {{.cpu = 1, .cuda = 0.9, .hybrid = 0.8}, DZO_DEVICE_HYBRID},
      {{.cpu = 1, .cuda = 2, .hybrid = 0.5}, DZO_DEVICE_HYBRID},
      {{.cpu = 1, .cuda = 2, .hybrid = 1.5}, DZO_DEVICE_CPU},
      {{.cpu = 1, .cuda = 0.5, .hybrid = 1.5}, DZO_DEVICE_CUDA},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(msf_fastest(&cases[i].e), cases[i].device);
}

/* More of anything takes longer, and faster parts take less. */
static void times_are_monotone(void **state) {
  (void)state;
  msf_rates rates = msf_expected_rates(4, true), faster = msf_expected_rates(8, true);
  for (uint64_t n = 1000; n < 100000000; n *= 10) {
    msf_estimate e = msf_estimate_times(&rates, n, 16 * n, 4, false);
    msf_estimate more = msf_estimate_times(&rates, n, 32 * n, 4, false);
    msf_estimate wide = msf_estimate_times(&rates, n, 16 * n, 8, false);
    msf_estimate quick = msf_estimate_times(&faster, n, 16 * n, 4, false);
    assert_true(more.cpu > e.cpu && more.cuda > e.cuda && more.hybrid >= e.hybrid);
    assert_true(wide.cuda >= e.cuda && wide.hybrid >= e.hybrid);
    assert_true(quick.cpu < e.cpu && quick.cuda <= e.cuda && quick.hybrid <= e.hybrid);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_graphs_stay_on_the_cpu),
      cmocka_unit_test(large_graphs_go_to_the_gpu),
      cmocka_unit_test(pinned_rows_are_shared),
      cmocka_unit_test(a_slow_bus_calls_for_both),
      cmocka_unit_test(the_simpler_way_wins_what_is_nearly_a_tie),
      cmocka_unit_test(times_are_monotone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
