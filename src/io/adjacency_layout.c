/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/bytes.h"
#include "io/adjacency.h"

const char dzo_layout_size_differs[] = "the size of the file differs";

bool dzo_layout_take(uint64_t *at, uint64_t count, uint64_t bytes, uint64_t size) {
  uint64_t length;
  return !__builtin_mul_overflow(count, bytes, &length) &&
         !__builtin_add_overflow(*at, length, at) && *at <= size;
}

static bool offsets_ascend(const dzo_sample *sample, const dzo_adjacency *a) {
  uint64_t last = 0;
  uint64_t count = a->offsets_are_ends ? a->vertices : a->vertices + 1;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at = a->offsets_at + i * a->offset_bytes;
    if (at + a->offset_bytes > sample->head_size)
      return i > 0;
    const unsigned char *from = sample->head + at;
    uint64_t offset = a->offset_bytes == 8 ? dzo_get64(from) : dzo_get32(from);
    if (offset < last || offset > a->entries || (i == 0 && offset != 0 && !a->offsets_are_ends))
      return false;
    last = offset;
  }
  return true;
}

bool dzo_adjacency_detect(const dzo_sample *sample, dzo_layout_fn layout) {
  dzo_adjacency a;
  return layout(sample->head, sample->head_size, sample->size, &a) == NULL &&
         a.vertices <= UINT32_MAX && offsets_ascend(sample, &a);
}
