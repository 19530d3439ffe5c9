/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The bytes of an input: a regular file, standard input, or memory; gzip and zstd, which are known
 * by their magic numbers, are unpacked on the way. */
#ifndef DZO_IO_INPUT_H
#define DZO_IO_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

typedef struct dzo_input dzo_input;

typedef enum dzo_input_mode {
  DZO_INPUT_WHOLE, /* all content is addressable: mapped, or unpacked into memory */
  DZO_INPUT_STREAM /* only the head is in memory; the rest is read block by block */
} dzo_input_mode;

/* Open `path` ("-": standard input). DZO_E_IO, DZO_E_FORMAT (broken gzip or zstd), DZO_E_MEMORY. */
dzo_status dzo_input_open(dzo_context *context, const char *path, dzo_input_mode mode,
                          dzo_input **out);
/* The same of bytes that the caller keeps; unpacked like a file. */
dzo_status dzo_input_open_memory(dzo_context *context, const char *name, const void *data,
                                 size_t size, dzo_input_mode mode, dzo_input **out);
/* NULL is fine. */
void dzo_input_close(dzo_input *input);

/* For messages: the path as given, or "<stdin>". */
const char *dzo_input_name(const dzo_input *input);

/* The whole content, aligned to 8 bytes; NULL for a stream. An empty input has size 0 and a pointer
 * that may not be read. */
const unsigned char *dzo_input_data(const dzo_input *input);
/* Bytes of the unpacked content; UINT64_MAX while a stream has not told. */
uint64_t dzo_input_size(const dzo_input *input);

/* The first bytes of the content, up to 256 KiB, whatever the mode. */
const unsigned char *dzo_input_head(const dzo_input *input, size_t *size);

/* Can dzo_input_read_at() be used? Regular files that are not packed, and whole inputs. */
bool dzo_input_is_random(const dzo_input *input);
/* Begin to fetch a part of a mapped file; others ignore it. */
void dzo_input_will_need(const dzo_input *input, uint64_t offset, uint64_t bytes);
/* Copy exactly `bytes` bytes from `offset` on, without leaving pages of a file resident in this
 * process; DZO_E_FORMAT "NAME: ends at byte N, ..." if the input is too short, DZO_E_IO. Any
 * thread. */
dzo_status dzo_input_read_at(dzo_context *context, dzo_input *input, uint64_t offset, void *buffer,
                             uint64_t bytes);
/* Copy up to `capacity` bytes from the read position on, which starts at 0; *got is less only at
 * the end. Works in both modes. */
dzo_status dzo_input_read(dzo_context *context, dzo_input *input, void *buffer, size_t capacity,
                          size_t *got);
/* How far reading is, in bytes of the file as it is stored (packed or not), and its size (0:
 * unknown): for progress reports. */
void dzo_input_progress(const dzo_input *input, uint64_t *done, uint64_t *total);
/* Make a stream whole: read all the content into memory, from byte 0. */
dzo_status dzo_input_load(dzo_context *context, dzo_input *input);

#endif
