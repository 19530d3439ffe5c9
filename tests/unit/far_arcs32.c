/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The solver of 32-bit keys as it is for graphs of 2^32 arcs and more. Takes the library's place.
 */
#define DZO_MSF_DIRECT_ARCS 0
#include "msf/cpu_keys32.c"
