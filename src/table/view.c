/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tables for kernels of the caller's. */
#include "table/table.h"

dzo_status dzo_table_view_begin(dzo_table *table, dzo_table_view *view) {
  DZO_TRY(table_enter(table, "dzo_table_view_begin"));
  dzo_context *context = table->context;
  if (view == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_table_view_begin: view is NULL");
  if (table->engine->view_begin == NULL)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "dzo_table_view_begin: the table is not on a GPU alone");
  if (table_is_mixed(&table->options))
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "dzo_table_view_begin: keys and values must have the same width");
  dzo_status status = table_leave(table, table->engine->view_begin(table->state, view));
  table->viewed = status == DZO_OK;
  return status;
}

dzo_status dzo_table_view_end(dzo_table *table) {
  if (table == NULL)
    return DZO_E_ARGUMENT;
  dzo_begin(table->context);
  if (!table->viewed)
    return dzo_fail(table->context, DZO_E_ARGUMENT,
                    "dzo_table_view_end: dzo_table_view_begin() comes first");
  dzo_status status = table_leave(table, table->engine->view_end(table->state));
  table->viewed = status == DZO_E_MEMORY;
  return status;
}
