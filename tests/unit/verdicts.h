/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the tests of the verifier share. */
#ifndef DZO_TESTS_VERDICTS_H
#define DZO_TESTS_VERDICTS_H

#include <stdbool.h>

#include "dzo/msf.h"

dzo_context *context_of(int threads);

/* Is the claim valid? Fails the test on an error, on memory left, and on a message that is missing
 * or too much. */
bool is_valid(dzo_context *context, const dzo_edges *edges, const dzo_msf_claim *claim);

#endif
