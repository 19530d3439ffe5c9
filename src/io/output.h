/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A file that appears under its name only when it is complete: bytes go to a temporary file beside
 * it, which takes the name at the end. On any failure, and when the operation is cancelled, the
 * temporary file is gone and an older file of that name is untouched. "-" is standard output;
 * devices and pipes are written directly. A closed pipe is DZO_E_IO only where the program ignores
 * SIGPIPE, which is the program's business. */
#ifndef DZO_IO_OUTPUT_H
#define DZO_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/context.h"

typedef struct dzo_output dzo_output;

/* DZO_E_IO names the path and the reason. */
dzo_status dzo_output_open(dzo_context *context, const char *path, dzo_output **out);
/* Append bytes. */
dzo_status dzo_output_write(dzo_output *output, const void *data, uint64_t bytes);
/* Can what was written be written over? Not that of pipes, devices and standard output. */
bool dzo_output_is_random(const dzo_output *output);
/* Write over bytes that were appended before. */
dzo_status dzo_output_rewrite(dzo_output *output, uint64_t offset, const void *data,
                              uint64_t bytes);
/* Append the text of a format, which must be shorter than 1000 bytes. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 2, 3)))
#endif
dzo_status
dzo_output_print(dzo_output *output, const char *format, ...);

/* Put the items begin .. end - 1 as bytes to `to` and return where they end. */
typedef char *(*dzo_put_fn)(const void *argument, uint64_t begin, uint64_t end, char *to);
/* Append `count` items, none longer than `widest` bytes, made by a team and written in order. */
dzo_status dzo_output_items(dzo_output *output, uint64_t count, uint32_t widest, dzo_put_fn put,
                            const void *argument);
/* Complete the file, or undo all if `status` is bad or completing fails; frees the output. Returns
 * `status`, or what went wrong here. */
dzo_status dzo_output_close(dzo_output *output, dzo_status status);

#endif
