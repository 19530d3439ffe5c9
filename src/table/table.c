/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The entries for the table as a whole, and the choice of its engine. */
#include "table/table.h"
#include "table/handle.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "device/device.h"
#include "table/handle.h"

#define MOST_CAPACITY (UINT64_C(1) << 48)

void dzo_table_options_init(dzo_table_options *options) {
  *options = (dzo_table_options){
      .size = sizeof *options, .key_bits = 64, .value_bits = 64, .max_load = 0.9};
}

/* ---- How entries begin and end --------------------------------------------------------------- */

static dzo_status say_lost(dzo_table *table) {
  const dzo_unit *unit = table->context->gpu;
  table->lost = true;
  return dzo_fail(table->context, DZO_E_DEVICE_FAILED,
                  "the GPU failed, and the contents of the table are lost: %s",
                  unit != NULL && unit->reason[0] != '\0' ? unit->reason : "no reason is known");
}

/* What else the context does may have lost the GPU, too. */
static bool is_lost(const dzo_table *table) {
  const dzo_unit *unit = table->context->gpu;
  return table->lost || (table->engine->device != DZO_DEVICE_CPU && (unit == NULL || unit->lost));
}

dzo_status table_enter(dzo_table *table, const char *name) {
  if (table == NULL)
    return DZO_E_ARGUMENT;
  dzo_begin(table->context);
  if (is_lost(table))
    return say_lost(table);
  if (__atomic_load_n(&table->handles, __ATOMIC_ACQUIRE) > 0)
    return dzo_fail(table->context, DZO_E_ARGUMENT, "%s: only the table's handles may use it now",
                    name);
  if (table->viewed)
    return dzo_fail(table->context, DZO_E_ARGUMENT,
                    "%s: only kernels may use the table until dzo_table_view_end()", name);
  return DZO_OK;
}

dzo_status table_leave(dzo_table *table, dzo_status status) {
  if (status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED || is_lost(table))
    return say_lost(table);
  return status;
}

/* ---- Engines --------------------------------------------------------------------------------- */

static const table_engine *engine_of(dzo_device device) {
  switch (device) {
  case DZO_DEVICE_CUDA:
    return &table_engine_cuda;
  case DZO_DEVICE_HYBRID:
    return &table_engine_hybrid;
  case DZO_DEVICE_AUTO:
  case DZO_DEVICE_CPU:
    break;
  }
  return &table_engine_cpu;
}

/* From where on the GPU is faster, from the host's memory. It must first be found and opened, which
 * takes 0.2 to 0.3 s, and a thread of the CPU stores 20 million pairs a second while a table grows.
 */
enum { WORTH_OPENED = 1 << 16, WORTH_OPENING_A_THREAD = 1 << 22 };

/* Has the GPU room for so many pairs, and for the table beside it when it has grown once? */
static bool fits_gpu(dzo_context *context, const dzo_table_options *o, uint64_t expected) {
  double slots = (double)expected / o->max_load;
  double bytes = slots * 2 * (double)table_word_bytes(o);
  return 2 * bytes < (double)dzo_unit_available(dzo_context_gpu(context));
}

static dzo_device choose_device(dzo_context *context, const dzo_table_options *o,
                                uint64_t expected) {
  dzo_device device = context->device;
  uint64_t worth = (uint64_t)context->threads * WORTH_OPENING_A_THREAD;
  if (context->gpu != NULL)
    worth = WORTH_OPENED;
  if (device == DZO_DEVICE_CPU || (device == DZO_DEVICE_AUTO && expected < worth) ||
      dzo_context_gpu(context) == NULL)
    return DZO_DEVICE_CPU;
  if (device != DZO_DEVICE_AUTO)
    return device;
  return fits_gpu(context, o, expected) ? DZO_DEVICE_CUDA : DZO_DEVICE_CPU;
}

/* May the CPU keep the table instead? A GPU that was asked for by name and has no room is an error.
 */
static bool gives_way(const dzo_context *context, dzo_status status) {
  return status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED ||
         (context->device == DZO_DEVICE_AUTO &&
          (status == DZO_E_MEMORY || status == DZO_E_UNSUPPORTED));
}

static void take_over(dzo_context *context) {
  char reason[sizeof context->message];
  memcpy(reason, context->message, sizeof reason);
  context->message[0] = '\0';
  dzo_notice(context, "%s; the table is on the CPU",
             reason[0] != '\0' ? reason : "the GPU could not do it");
}

static dzo_status make_state(dzo_table *table, uint64_t expected) {
  const dzo_table_options *o = &table->options;
  table_plan plan = {.context = table->context,
                     .wide = table_is_wide(o),
                     .fixed = o->fixed != 0,
                     .capacity = o->capacity,
                     .max_load = o->max_load,
                     .seed = o->seed};
  table->engine = engine_of(choose_device(table->context, o, expected));
  dzo_status status = table->engine->create(&plan, &table->state);
  if (table->engine == &table_engine_cpu || !gives_way(table->context, status))
    return status;
  take_over(table->context);
  table->engine = &table_engine_cpu;
  return table->engine->create(&plan, &table->state);
}

dzo_status table_make(dzo_context *context, const dzo_table_options *options, uint64_t expected,
                      dzo_table **out) {
  *out = NULL;
  dzo_table *table = dzo_calloc(context, 1, sizeof *table);
  if (table == NULL)
    return DZO_E_MEMORY;
  table->context = context;
  table->options = *options;
  dzo_status status = make_state(table, expected);
  if (status != DZO_OK) {
    dzo_free(table);
    return status;
  }
  *out = table;
  return DZO_OK;
}

/* ---- Creating -------------------------------------------------------------------------------- */

static bool is_width(int bits) { return bits == 32 || bits == 64; }

dzo_status table_check_capacity(dzo_context *context, uint64_t capacity) {
  if (capacity <= MOST_CAPACITY)
    return DZO_OK;
  return dzo_fail(context, DZO_E_MEMORY, "no memory has room for a table of %" PRIu64 " pairs",
                  capacity);
}

dzo_status table_read_options(dzo_context *context, const dzo_table_options *given,
                              dzo_table_options *out) {
  dzo_table_options_init(out);
  if (!dzo_options_read(out, sizeof *out, given))
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_table_create: options of another size");
  if (!is_width(out->key_bits) || !is_width(out->value_bits))
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "dzo_table_create: keys of %d and values of %d bits; both have 32 or 64",
                    out->key_bits, out->value_bits);
  if (out->fixed != 0 && out->fixed != 1)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_table_create: fixed is %d, not 0 or 1",
                    out->fixed);
  if (!(out->max_load >= 0.25 && out->max_load <= 0.95))
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "dzo_table_create: a max_load of %g; it is 0.25 to 0.95", out->max_load);
  return table_check_capacity(context, out->capacity);
}

dzo_status dzo_table_create(dzo_context *context, const dzo_table_options *options,
                            dzo_table **out) {
  if (out != NULL)
    *out = NULL;
  if (context == NULL)
    return DZO_E_ARGUMENT;
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_table_create: nowhere to put the table");
  dzo_table_options o;
  DZO_TRY(table_read_options(context, options, &o));
  return table_make(context, &o, o.capacity, out);
}

void dzo_table_destroy(dzo_table *table) {
  if (table == NULL)
    return;
  table_share_free(table->share);
  table->engine->destroy(table->state);
  dzo_free(table);
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* These may also be asked while handles are at work. */
uint64_t dzo_table_size(const dzo_table *table) {
  table_share_figures f;
  return table_share_ask(table, &f) ? f.pairs : table->engine->size(table->state);
}
uint64_t dzo_table_capacity(const dzo_table *table) {
  table_share_figures f;
  return table_share_ask(table, &f) ? f.capacity : table->engine->capacity(table->state);
}
uint64_t dzo_table_bytes(const dzo_table *table) {
  table_share_figures f;
  return table_share_ask(table, &f) ? f.bytes : table->engine->bytes(table->state);
}
int dzo_table_key_bits(const dzo_table *table) { return table->options.key_bits; }
int dzo_table_value_bits(const dzo_table *table) { return table->options.value_bits; }
dzo_device dzo_table_device(const dzo_table *table) { return table->engine->device; }

dzo_status dzo_table_stats_into(dzo_table *table, dzo_table_stats *stats) {
  DZO_TRY(table_enter(table, "dzo_table_stats_into"));
  if (stats == NULL || stats->size <= sizeof stats->size)
    return dzo_fail(table->context, DZO_E_ARGUMENT,
                    "dzo_table_stats_into: no struct, or one without its size");
  size_t size = stats->size < sizeof *stats ? stats->size : sizeof *stats;
  dzo_table_stats all = {.size = sizeof all};
  DZO_TRY(table_leave(table, table->engine->stats(table->state, &all)));
  all.size = stats->size;
  memcpy(stats, &all, size);
  return DZO_OK;
}

/* ---- Room ------------------------------------------------------------------------------------ */

dzo_status dzo_table_clear(dzo_table *table) {
  DZO_TRY(table_enter(table, "dzo_table_clear"));
  return table_leave(table, table->engine->clear(table->state));
}

dzo_status dzo_table_reserve(dzo_table *table, uint64_t capacity) {
  DZO_TRY(table_enter(table, "dzo_table_reserve"));
  DZO_TRY(table_check_capacity(table->context, capacity));
  DZO_TRY(table_leave(table, table->engine->reserve(table->state, capacity)));
  if (capacity > table->options.capacity)
    table->options.capacity = capacity;
  return DZO_OK;
}

dzo_status dzo_table_shrink(dzo_table *table) {
  DZO_TRY(table_enter(table, "dzo_table_shrink"));
  DZO_TRY(table_leave(table, table->engine->shrink(table->state)));
  table->options.capacity = table->engine->size(table->state);
  return DZO_OK;
}
