/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The ways to keep a table, one table of functions for each device. table.c checks arguments,
 * chooses the engine and fills in what all have in common. */
#ifndef DZO_TABLE_ENGINE_H
#define DZO_TABLE_ENGINE_H

#include <stdbool.h>

#include "base/context.h"
#include "dzo/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an engine is made for. Words are 4 bytes where both keys and values have 32 bits, else 8:
 * an engine knows only these two, and table.c widens the arrays of mixed tables. */
typedef struct table_plan {
  dzo_context *context;
  bool wide; /* 64-bit keys and values */
  bool fixed;
  uint64_t capacity;
  double max_load;
  uint64_t seed;
} table_plan;

typedef struct table_engine {
  const char *name;
  dzo_device device;
  dzo_status (*create)(const table_plan *plan, void **out);
  void (*destroy)(void *state); /* NULL is fine */
  /* A checked batch of at least one query; arrays of words, in host memory unless `owns` says
   * otherwise. Arrays that its operation does not use are NULL. Operations in host memory are
   * checked, those in the engine's own are not. Sets found, inserted and refused, and returns as
   * dzo_table_run() does, but DZO_E_DEVICE where the GPU fails. */
  dzo_status (*run)(void *state, dzo_table_batch *batch);
  uint64_t (*size)(const void *state);
  uint64_t (*capacity)(const void *state);
  uint64_t (*bytes)(const void *state);
  dzo_status (*clear)(void *state);
  dzo_status (*reserve)(void *state, uint64_t capacity);
  dzo_status (*shrink)(void *state);
  /* [size] words each; either may be NULL. */
  dzo_status (*export_into)(void *state, void *keys, void *values);
  /* All but `size` and `pairs`, `slots`, `load`, `mean_depth`, `max_depth` included. */
  dzo_status (*stats)(void *state, dzo_table_stats *stats);
  /* Is this memory of the engine's GPU? NULL: it has none. */
  bool (*owns)(const void *state, const void *pointer);
  /* NULL where the device has none. */
  dzo_status (*view_begin)(void *state, dzo_table_view *view);
  dzo_status (*view_end)(void *state);
  /* Some of the pairs, to host memory: `room`, at least TABLE_EXPORT_ROOM, words each; *cursor is 0
   * at first, and UINT64_MAX behind the last. Between the calls nothing changes the table, unless
   * it erases pairs that were exported. NULL: only all at once. */
  dzo_status (*export_some)(void *state, uint64_t *cursor, uint64_t room, void *keys, void *values,
                            uint64_t *count);
} table_engine;

enum { TABLE_EXPORT_ROOM = 1 << 18 };

extern const table_engine table_engine_cpu;
extern const table_engine table_engine_cuda;
extern const table_engine table_engine_hybrid;

struct dzo_table {
  dzo_context *context;
  const table_engine *engine;
  void *state;
  dzo_table_options options; /* as created, or reserved since */
  uint64_t handles;          /* that exist now; accessed atomically */
  struct table_share *share; /* what they have in common, from the first on; accessed atomically */
  bool viewed;               /* between view_begin and view_end */
  bool lost;                 /* the GPU failed, and the contents with it */
};

#ifdef __cplusplus
}
#endif
#endif
