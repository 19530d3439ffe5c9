/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* gzip (RFC 1952) and zstd (RFC 8878) as streams: several members or frames one after another are
 * one content, as gzip -d and zstd -d have it. */
#ifndef DZO_IO_UNPACK_H
#define DZO_IO_UNPACK_H

#include <stddef.h>

#include "base/context.h"

typedef enum dzo_packing { DZO_PACKING_NONE, DZO_PACKING_GZIP, DZO_PACKING_ZSTD } dzo_packing;

/* What the first bytes say. */
dzo_packing dzo_packing_of(const unsigned char *head, size_t size);

/* Where packed bytes come from: *got < capacity only at the end. */
typedef dzo_status (*dzo_packed_read)(void *user, void *buffer, size_t capacity, size_t *got);

typedef struct dzo_unpacker dzo_unpacker;

/* `head` are packed bytes that were read already; they are copied. `name` is borrowed. */
dzo_status dzo_unpacker_create(dzo_context *context, dzo_packing packing, const char *name,
                               const unsigned char *head, size_t head_size, dzo_packed_read read,
                               void *user, dzo_unpacker **out);
/* *got < capacity only at the end. DZO_E_FORMAT for broken or truncated content; `context` is told
 * why. */
dzo_status dzo_unpacker_read(dzo_context *context, dzo_unpacker *unpacker, void *buffer,
                             size_t capacity, size_t *got);
/* NULL is fine. */
void dzo_unpacker_destroy(dzo_unpacker *unpacker);

#endif
