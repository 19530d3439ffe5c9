/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/unpack.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"

enum { PACKED_BYTES = 1 << 18 };

struct dzo_unpacker {
  dzo_context *context;
  dzo_context *told; /* of what fails in the call that runs */
  dzo_packing packing;
  const char *name;
  dzo_packed_read read;
  void *user;
  unsigned char *packed; /* [PACKED_BYTES] */
  size_t begin, end;     /* of the bytes in it that are not used yet */
  bool source_ended;
  uint64_t used;     /* packed bytes used before `begin` */
  bool inside;       /* in the middle of a member or frame */
  bool any;          /* a member or frame is complete */
  bool finished;     /* nothing more will come */
  z_stream zlib;     /* GZIP */
  bool zlib_started; /* zlib must be ended */
  ZSTD_DCtx *zstd;   /* ZSTD */
};

dzo_packing dzo_packing_of(const unsigned char *head, size_t size) {
  if (size >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
    return DZO_PACKING_GZIP;
  if (size >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
    return DZO_PACKING_ZSTD;
  if (size >= 4 && (head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0)
    return DZO_PACKING_ZSTD; /* a skippable frame first */
  return DZO_PACKING_NONE;
}

static void *zlib_allocate(void *context, unsigned count, unsigned size) {
  return dzo_alloc(context, count, size);
}

static void zlib_release(void *context, void *pointer) {
  (void)context;
  dzo_free(pointer);
}

static dzo_status start_decoder(dzo_unpacker *u) {
  if (u->packing == DZO_PACKING_GZIP) {
    u->zlib.zalloc = zlib_allocate;
    u->zlib.zfree = zlib_release;
    u->zlib.opaque = u->context;
    if (inflateInit2(&u->zlib, 15 + 16) != Z_OK)
      return dzo_fail(u->context, DZO_E_MEMORY, "%s: no memory to unpack", u->name);
    u->zlib_started = true;
    return DZO_OK;
  }
  u->zstd = ZSTD_createDCtx();
  if (u->zstd == NULL)
    return dzo_fail(u->context, DZO_E_MEMORY, "%s: no memory to unpack", u->name);
  return DZO_OK;
}

dzo_status dzo_unpacker_create(dzo_context *context, dzo_packing packing, const char *name,
                               const unsigned char *head, size_t head_size, dzo_packed_read read,
                               void *user, dzo_unpacker **out) {
  *out = NULL;
  dzo_unpacker *u = dzo_calloc(context, 1, sizeof *u);
  if (u == NULL)
    return DZO_E_MEMORY;
  u->context = u->told = context;
  u->packing = packing;
  u->name = name;
  u->read = read;
  u->user = user;
  u->packed = dzo_alloc(context, head_size > PACKED_BYTES ? head_size : PACKED_BYTES, 1);
  dzo_status status = u->packed == NULL ? DZO_E_MEMORY : start_decoder(u);
  if (status != DZO_OK) {
    dzo_unpacker_destroy(u);
    return status;
  }
  memcpy(u->packed, head, head_size);
  u->end = head_size;
  *out = u;
  return DZO_OK;
}

static dzo_status refill(dzo_unpacker *u) {
  if (u->begin < u->end || u->source_ended)
    return DZO_OK;
  u->used += u->end;
  u->begin = u->end = 0;
  DZO_TRY(u->read(u->user, u->packed, PACKED_BYTES, &u->end));
  u->source_ended = u->end < PACKED_BYTES;
  return DZO_OK;
}

static dzo_status fail_packed(const dzo_unpacker *u, const char *why) {
  return dzo_fail(u->told, DZO_E_FORMAT, "%s: %s at packed byte %llu: %s", u->name,
                  u->packing == DZO_PACKING_GZIP ? "broken gzip" : "broken zstd",
                  (unsigned long long)(u->used + u->begin), why);
}

/* One step of zlib; *ended tells that a member is complete. */
static dzo_status step_gzip(dzo_unpacker *u, unsigned char *to, size_t room, size_t *made,
                            bool *ended) {
  size_t have = u->end - u->begin;
  u->zlib.next_in = u->packed + u->begin;
  u->zlib.avail_in = (unsigned)have;
  u->zlib.next_out = to;
  u->zlib.avail_out = room > 1u << 30 ? 1u << 30 : (unsigned)room;
  unsigned offered = u->zlib.avail_out;
  int code = inflate(&u->zlib, Z_NO_FLUSH);
  u->begin += have - u->zlib.avail_in;
  *made = offered - u->zlib.avail_out;
  *ended = code == Z_STREAM_END;
  if (code == Z_MEM_ERROR)
    return dzo_fail(u->told, DZO_E_MEMORY, "%s: no memory to unpack", u->name);
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    return fail_packed(u, u->zlib.msg != NULL ? u->zlib.msg : "not a deflate stream");
  if (*ended && inflateReset(&u->zlib) != Z_OK)
    return fail_packed(u, "cannot go on");
  return DZO_OK;
}

static dzo_status step_zstd(dzo_unpacker *u, unsigned char *to, size_t room, size_t *made,
                            bool *ended) {
  ZSTD_inBuffer in = {u->packed + u->begin, u->end - u->begin, 0};
  ZSTD_outBuffer out = {to, room, 0};
  size_t code = ZSTD_decompressStream(u->zstd, &out, &in);
  u->begin += in.pos;
  *made = out.pos;
  *ended = code == 0;
  return ZSTD_isError(code) ? fail_packed(u, ZSTD_getErrorName(code)) : DZO_OK;
}

/* After a member, may another one begin here? Zeros and other padding are ignored, as gzip does. */
static bool next_member(dzo_unpacker *u) {
  const unsigned char *at = u->packed + u->begin;
  size_t have = u->end - u->begin;
  if (u->packing == DZO_PACKING_GZIP)
    return have >= 1 && at[0] == 0x1f;
  return have >= 1;
}

dzo_status dzo_unpacker_read(dzo_context *context, dzo_unpacker *u, void *buffer, size_t capacity,
                             size_t *got) {
  *got = 0;
  u->told = context;
  while (*got < capacity && !u->finished) {
    DZO_TRY(refill(u));
    bool dry = u->begin == u->end;
    if (!u->inside && u->any && (dry || !next_member(u))) {
      u->finished = true;
      break;
    }
    size_t made;
    bool ended;
    size_t before = u->begin;
    dzo_status (*step)(dzo_unpacker *, unsigned char *, size_t, size_t *, bool *) =
        u->packing == DZO_PACKING_GZIP ? step_gzip : step_zstd;
    DZO_TRY(step(u, (unsigned char *)buffer + *got, capacity - *got, &made, &ended));
    *got += made;
    u->inside = !ended;
    u->any = u->any || ended;
    if (dry && !ended && made == 0 && u->begin == before)
      return fail_packed(u, "the end is missing");
  }
  return DZO_OK;
}

void dzo_unpacker_destroy(dzo_unpacker *u) {
  if (u == NULL)
    return;
  if (u->zlib_started)
    (void)inflateEnd(&u->zlib);
  (void)ZSTD_freeDCtx(u->zstd);
  dzo_free(u->packed);
  dzo_free(u);
}
