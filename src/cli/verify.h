/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_CLI_VERIFY_H
#define DZO_CLI_VERIFY_H

#include "cli/knapsack.h"

/* Begins as those of dzo knapsack do, whose options to read instances it shares. */
typedef struct verify_settings {
  knapsack_settings knapsack;
  bool maximum;
} verify_settings;

/* dzo verify knapsack. */
cli_exit verify_knapsack(cli_call *call);

#endif
