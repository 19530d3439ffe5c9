/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define KEY uint32_t
#define KEY_BITS 32
#define SOLVE msf_solve_keys32
#include "msf/cpu_keyed.h"
