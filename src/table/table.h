/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the entries of a table have in common: how each begins and ends, and the words that engines
 * keep.
 *
 * An engine has words of 4 bytes where keys and values have 32 bits, else of 8. In a table of
 * 64-bit keys and 32-bit values the word of a value is the value in the upper half and zeros below,
 * so that sums wrap, and the lesser and the greater are told apart, as in 32 bits. */
#ifndef DZO_TABLE_TABLE_H
#define DZO_TABLE_TABLE_H

#include "table/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every entry but the plain questions begins with it: clears the message, and fails where the table
 * is NULL, lost, or in use by handles or kernels. `name` is the entry's. */
dzo_status table_enter(dzo_table *table, const char *name);
/* And ends with it: a GPU that failed takes the table with it. */
dzo_status table_leave(dzo_table *table, dzo_status status);

/* An empty table of checked options. Where the choice of the device is left to it, it is made for
 * `expected` pairs. */
dzo_status table_make(dzo_context *context, const dzo_table_options *options, uint64_t expected,
                      dzo_table **out);
/* The options that are given, over the defaults; DZO_E_ARGUMENT. */
dzo_status table_read_options(dzo_context *context, const dzo_table_options *given,
                              dzo_table_options *out);
/* More pairs than any memory holds: DZO_E_MEMORY. */
dzo_status table_check_capacity(dzo_context *context, uint64_t capacity);

/* ---- Words ----------------------------------------------------------------------------------- */

static inline bool table_is_wide(const dzo_table_options *options) {
  return options->key_bits == 64 || options->value_bits == 64;
}

/* Are keys and values of different widths, so that the caller's arrays are not the engine's? */
static inline bool table_is_mixed(const dzo_table_options *options) {
  return options->key_bits != options->value_bits;
}

static inline size_t table_word_bytes(const dzo_table_options *options) {
  return table_is_wide(options) ? sizeof(uint64_t) : sizeof(uint32_t);
}

static inline int table_value_shift(const dzo_table_options *options) {
  return options->key_bits == 64 && options->value_bits == 32 ? 32 : 0;
}

/* The word of a value, and the value of a word. */
static inline uint64_t table_word_of(const dzo_table_options *options, uint64_t value) {
  return value << table_value_shift(options);
}

static inline uint64_t table_value_of(const dzo_table_options *options, uint64_t word) {
  return word >> table_value_shift(options);
}

/* Item i of an array of words. */
static inline uint64_t table_word_at(const void *words, size_t word_bytes, uint64_t i) {
  return word_bytes == sizeof(uint64_t) ? ((const uint64_t *)words)[i]
                                        : ((const uint32_t *)words)[i];
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

typedef enum table_memory { TABLE_MEMORY_NONE, TABLE_MEMORY_HOST, TABLE_MEMORY_GPU } table_memory;

/* Where the arrays lie, NULLs aside: all in one kind of memory, or DZO_E_ARGUMENT. */
dzo_status table_memory_of(const dzo_table *table, const void *const *arrays, int count,
                           const char *name, table_memory *memory);

/* May the engine be given such arrays as they are? */
bool table_takes(const dzo_table *table, table_memory memory);

/* Run a checked batch whose arrays the engine does not take, in pieces through words in host
 * memory. */
dzo_status table_run_pieces(dzo_table *table, dzo_table_batch *batch, table_memory memory);

/* Check that all operations of the batch are there are such. */
dzo_status table_check_operations(const dzo_table *table, const dzo_table_batch *batch,
                                  table_memory memory, const char *name);

/* The queries of the batch from `first` on are not done: their answers, if they are wanted, and the
 * count of those refused. Arrays in host memory. */
void table_refuse_rest(dzo_table_batch *batch, uint64_t first);

/* `bytes` bytes to or from such memory. */
dzo_status table_fetch(const dzo_table *table, table_memory memory, void *to, const void *from,
                       uint64_t bytes);
dzo_status table_send(const dzo_table *table, table_memory memory, void *to, const void *from,
                      uint64_t bytes);

/* ---- All pairs, in pieces -------------------------------------------------------------------- */

typedef struct table_walk {
  const dzo_table *table;
  uint64_t cursor;
  uint64_t done;  /* pairs in the pieces before */
  uint64_t count; /* pairs in this piece; 0: there are no more */
  void *keys;     /* words */
  void *values;
  void *memory;
} table_walk;

/* Begin, take piece after piece until it is empty, end. `context` is charged for the memory. */
dzo_status table_walk_begin(table_walk *walk, dzo_context *context, const dzo_table *table);
dzo_status table_walk_next(table_walk *walk);
void table_walk_end(table_walk *walk);

/* Insert what the walk's piece holds. */
dzo_status table_insert_words(dzo_table *table, uint64_t count, const void *keys,
                              const void *values);

/* dzo_table_load() without its checksums, to fuzz the checks behind them. */
dzo_status table_load_unsummed(dzo_context *context, dzo_table_read_fn read, void *user,
                               dzo_table **out);

#ifdef __cplusplus
}
#endif
#endif
