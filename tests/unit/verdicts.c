/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "verdicts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

dzo_context *context_of(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

bool is_valid(dzo_context *context, const dzo_edges *edges, const dzo_msf_claim *claim) {
  int valid = -1;
  assert_int_equal(dzo_msf_verify(context, edges, claim, &valid), DZO_OK);
  assert_in_range(valid, 0, 1);
  assert_int_equal(dzo_context_memory_used(context), 0);
  assert_int_equal(valid == 0, dzo_context_message(context)[0] != '\0');
  return valid == 1;
}
