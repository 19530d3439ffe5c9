/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Knapsack instances of integers, written as text. */
#include "base/context.h"
#include "io/knapsack.h"
#include "io/numeral.h"
#include "io/output.h"

typedef struct writing {
  const dzo_knapsack_instance *instance;
  dzo_knapsack_format format;
} writing;

enum { WIDEST = 4 * (DZO_NUMERAL_MAX + 1) };

static char *put_item(const writing *w, uint64_t i, char *to) {
  const dzo_knapsack_instance *k = w->instance;
  bool commas = w->format == DZO_KNAPSACK_FILE_PISINGER || w->format == DZO_KNAPSACK_FILE_CSV;
  bool numbers = w->format != DZO_KNAPSACK_FILE_PLAIN;
  char separator = commas ? ',' : ' ';
  if (numbers) {
    to = dzo_put_u64(to, w->format == DZO_KNAPSACK_FILE_PISINGER ? i + 1 : i);
    *to++ = separator;
  }
  to = dzo_put_i64(to, k->values[i]);
  *to++ = separator;
  to = dzo_put_i64(to, k->weights[i]);
  if (w->format == DZO_KNAPSACK_FILE_PISINGER) { /* not solved */
    *to++ = ',';
    *to++ = '0';
  }
  *to++ = '\n';
  return to;
}

static char *put_items(const void *argument, uint64_t begin, uint64_t end, char *to) {
  for (uint64_t i = begin; i < end; i++)
    to = put_item(argument, i, to);
  return to;
}

static dzo_status write_head(dzo_output *output, const writing *w, const char *name) {
  unsigned long long count = w->instance->count;
  long long capacity = w->instance->capacity;
  switch (w->format) {
  case DZO_KNAPSACK_FILE_PISINGER:
    return dzo_output_print(output, "%.200s\nn %llu\nc %lld\nz 0\ntime 0.00\n",
                            name != NULL ? name : "knapsack", count, capacity);
  case DZO_KNAPSACK_FILE_JOOKEN:
    return dzo_output_print(output, "%llu\n", count);
  case DZO_KNAPSACK_FILE_CSV:
    return dzo_output_print(output, "# capacity %lld\nname,value,weight\n", capacity);
  case DZO_KNAPSACK_FILE_PLAIN:
  case DZO_KNAPSACK_FILE_AUTO:
  case DZO_KNAPSACK_FILE_FSU:
    break;
  }
  return dzo_output_print(output, "%llu %lld\n", count, capacity);
}

static dzo_status write_all(dzo_output *output, const writing *w, const char *name) {
  DZO_TRY(write_head(output, w, name));
  DZO_TRY(dzo_output_items(output, w->instance->count, WIDEST, put_items, w));
  if (w->format == DZO_KNAPSACK_FILE_PISINGER)
    return dzo_output_print(output, "-----\n\n");
  if (w->format == DZO_KNAPSACK_FILE_JOOKEN)
    return dzo_output_print(output, "%lld\n", (long long)w->instance->capacity);
  return DZO_OK;
}

dzo_status dzo_knapsack_write(dzo_context *context, const char *path, dzo_knapsack_format format,
                              const char *name, const dzo_knapsack_instance *instance) {
  dzo_begin(context);
  if (format == DZO_KNAPSACK_FILE_FSU)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "sets of four files are not written");
  writing w = {instance, format == DZO_KNAPSACK_FILE_AUTO ? DZO_KNAPSACK_FILE_PLAIN : format};
  dzo_output *output;
  DZO_TRY(dzo_output_open(context, path, &output));
  return dzo_output_close(output, write_all(output, &w, name));
}
