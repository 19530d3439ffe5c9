/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The side of a join that is kept: FILE2. */
#ifndef DZO_CLI_TABLE_JOIN_H
#define DZO_CLI_TABLE_JOIN_H

#include "cli/table.h"

typedef struct table_build {
  dzo_table *table; /* of each key, the number of its first row; lookup with values: that value */
  bool wide;        /* keys of 64 bits */
  bool wide_values; /* of the table */
  uint64_t rows;
  uint64_t *values; /* [rows] what join writes, or NULL: row numbers */
  uint64_t values_capacity;
  /* Where some key comes more than once: rows[offsets[f] .. offsets[f + 1] - 1] are the rows whose
   * first is f, ascending. Otherwise both are NULL. */
  uint32_t *offsets; /* [rows + 1] */
  uint32_t *order;   /* [rows] */
} table_build;

/* Read all of FILE2; its columns were opened, and are closed by the caller. */
dzo_status cli_table_build(table_job *job, dzo_columns *columns, bool *bad_input,
                           table_build *build);
void cli_table_build_release(table_build *build);

#endif
