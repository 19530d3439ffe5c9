/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define KEY uint64_t
#define KEY_BITS 64
#define SOLVE msf_solve_keys64
#include "msf/cpu_keyed.h"
