/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Inputs of every kind: files, pipes, memory, gzip, zstd; whole and as streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "failing_memory.h"
#include "io/input.h"
#include "io_files.h"
#include "io_texts.h"

enum { PLAIN = 1500000 };

static unsigned char plain[PLAIN];
static unsigned char packed[2 * PLAIN + 4096];

static void fill_plain(void) {
  uint64_t state = 1;
  for (size_t i = 0; i < PLAIN; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    plain[i] = (unsigned char)("0123456789 \n"[(state >> 33) % 12]);
  }
}

static size_t pack_gzip(const void *from, size_t size, unsigned char *to) {
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)from,
                .avail_in = (unsigned)size,
                .next_out = to,
                .avail_out = PLAIN + 2048};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t made = z.total_out;
  assert_int_equal(deflateEnd(&z), Z_OK);
  return made;
}

static size_t pack_zstd(const void *from, size_t size, unsigned char *to) {
  size_t made = ZSTD_compress(to, PLAIN + 2048, from, size, 3);
  assert_false(ZSTD_isError(made));
  return made;
}

typedef size_t (*pack_fn)(const void *, size_t, unsigned char *);
static const pack_fn PACKERS[] = {pack_gzip, pack_zstd};

/* The content of an input must be plain[0 .. size - 1]. */
static void check_content(dzo_context *context, dzo_input *input, size_t size) {
  static unsigned char got_all[PLAIN + 1];
  size_t all = 0, got, head_size;
  const unsigned char *head = dzo_input_head(input, &head_size);
  assert_true(head_size <= size && (head_size == size || head_size >= 1 << 18));
  assert_memory_equal(head, plain, head_size);
  do {
    must(context,
         dzo_input_read(context, input, got_all + all,
                        all % 2 == 0 || PLAIN + 1 - all < 70001 ? PLAIN + 1 - all : 70001, &got));
    all += got;
  } while (got > 0 && all <= PLAIN);
  assert_int_equal(all, size);
  assert_memory_equal(got_all, plain, size);
  if (dzo_input_data(input) != NULL) {
    assert_int_equal(dzo_input_size(input), size);
    assert_memory_equal(dzo_input_data(input), plain, size);
    assert_int_equal((uintptr_t)dzo_input_data(input) % 8, 0);
  }
  if (dzo_input_is_random(input) && size > 100) {
    must(context, dzo_input_read_at(context, input, size - 100, got_all, 100));
    assert_memory_equal(got_all, plain + size - 100, 100);
    must_fail(context, dzo_input_read_at(context, input, size - 100, got_all, 101), DZO_E_FORMAT,
              ": ends at byte ");
    must_fail(context, dzo_input_read_at(context, input, UINT64_MAX, got_all, 2), DZO_E_FORMAT,
              ": ends at byte ");
  }
}

static void check_packed(dzo_context *context, const unsigned char *data, size_t size,
                         size_t plain_size) {
  const char *path = files_path("input");
  files_put(path, data, size);
  for (int mode = DZO_INPUT_WHOLE; mode <= DZO_INPUT_STREAM; mode++) {
    dzo_input *input;
    must(context, dzo_input_open(context, path, (dzo_input_mode)mode, &input));
    check_content(context, input, plain_size);
    dzo_input_close(input);
    must(context,
         dzo_input_open_memory(context, "memory", data, size, (dzo_input_mode)mode, &input));
    check_content(context, input, plain_size);
    dzo_input_close(input);
    must(context, dzo_input_open(context, path, DZO_INPUT_STREAM, &input));
    must(context, dzo_input_load(context, input));
    check_content(context, input, plain_size);
    dzo_input_close(input);
  }
  assert_int_equal(dzo_context_memory_used(context), 0);
}

static void content_comes_out_as_it_went_in(void **state) {
  (void)state;
  static const size_t SIZES[] = {1, 1000, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, PLAIN};
  dzo_context *context = texts_context(1, 0);
  fill_plain();
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    check_packed(context, plain, SIZES[i], SIZES[i]);
    for (size_t k = 0; k < 2; k++)
      check_packed(context, packed, PACKERS[k](plain, SIZES[i], packed), SIZES[i]);
  }
  dzo_context_destroy(context);
}

static void members_and_frames_are_joined(void **state) {
  (void)state;
  dzo_context *context = texts_context(1, 0);
  fill_plain();
  for (size_t k = 0; k < 2; k++) {
    size_t size = PACKERS[k](plain, 500000, packed);
    size += PACKERS[k](plain + 500000, 0, packed + size);
    size += PACKERS[k](plain + 500000, 123456, packed + size);
    check_packed(context, packed, size, 623456);
  }
  /* Behind a gzip member, anything but another member is ignored, as gzip does. */
  size_t size = pack_gzip(plain, 1000, packed);
  memset(packed + size, 0, 512);
  check_packed(context, packed, size + 512, 1000);
  dzo_context_destroy(context);
}

static dzo_status try(dzo_context *context, size_t size, dzo_input_mode mode) {
  dzo_input *input;
  unsigned char block[4096];
  size_t got = 0;
  dzo_status status = dzo_input_open_memory(context, "in", packed, size, mode, &input);
  if (status != DZO_OK) {
    assert_null(input);
    return status;
  }
  do
    status = dzo_input_read(context, input, block, sizeof block, &got);
  while (status == DZO_OK && got > 0);
  dzo_input_close(input);
  return status;
}

static void broken_packing_is_named(void **state) {
  (void)state;
  dzo_context *context = texts_context(1, 0);
  fill_plain();
  for (size_t k = 0; k < 2; k++)
    for (int mode = DZO_INPUT_WHOLE; mode <= DZO_INPUT_STREAM; mode++) {
      const char *name =
          k == 0 ? "in: broken gzip at packed byte" : "in: broken zstd at packed byte";
      size_t size = PACKERS[k](plain, 3000, packed);
      for (size_t cut = k == 0 ? 3 : 4; cut < size; cut++)
        must_fail(context, try(context, cut, (dzo_input_mode)mode), DZO_E_FORMAT, name);
      must(context, try(context, size, (dzo_input_mode)mode));
      if (k == 0) { /* the checksum */
        packed[size - 5] ^= 1;
        must_fail(context, try(context, size, (dzo_input_mode)mode), DZO_E_FORMAT, name);
      }
      size = PACKERS[k](plain, PLAIN, packed);
      must_fail(context, try(context, size / 2, (dzo_input_mode)mode), DZO_E_FORMAT, name);
      packed[size / 3] ^= 0xff;
      packed[size / 3 + 1] ^= 0xff;
      packed[size / 3 + 2] ^= 0xff;
      dzo_status status = try(context, size, (dzo_input_mode)mode);
      assert_true(status == DZO_E_FORMAT || (k == 1 && status == DZO_OK));
    }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

static void packed_graphs_are_read(void **state) {
  (void)state;
  static const char TEXT[] = "p sp 3 2\na 1 2 5\na 2 3 6\n";
  dzo_context *context = texts_context(2, 0);
  for (size_t k = 0; k < 2; k++) {
    dzo_edge_list *list, *streamed;
    size_t size = PACKERS[k](TEXT, strlen(TEXT), packed);
    must(context, texts_read(context, packed, size, DZO_FORMAT_AUTO, &list));
    assert_string_equal(texts_show(list), "dimacs 3 i64 1-2:5 2-3:6");
    must(context, texts_stream(context, packed, size, DZO_FORMAT_AUTO, &streamed));
    assert_true(texts_same(list, streamed));
    dzo_edge_list_destroy(list);
    dzo_edge_list_destroy(streamed);
  }
  dzo_context_destroy(context);
}

static void failed_allocations_are_survived(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 1);
  fill_plain();
  for (size_t k = 0; k < 2; k++) {
    size_t size = PACKERS[k](plain, 400000, packed);
    dzo_status status = DZO_E_MEMORY;
    for (int64_t left = 0; status == DZO_E_MEMORY; left++) {
      memory.left = left;
      status = try(context, size, DZO_INPUT_WHOLE);
      assert_int_equal(dzo_context_memory_used(context), 0);
    }
    must(context, status);
  }
  memory.left = -1;
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(content_comes_out_as_it_went_in),
      cmocka_unit_test(members_and_frames_are_joined),
      cmocka_unit_test(broken_packing_is_named),
      cmocka_unit_test(packed_graphs_are_read),
      cmocka_unit_test(failed_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, files_begin, files_end);
}
