/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The integers that columns of data are made of. In arrays of words, narrower or signed ones are
 * extended by their sign. */
#ifndef DZO_IO_INTEGER_H
#define DZO_IO_INTEGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/item.h"

typedef enum dzo_integer {
  DZO_INTEGER_U32,
  DZO_INTEGER_I32,
  DZO_INTEGER_U64,
  DZO_INTEGER_I64
} dzo_integer;

DZO_ITEM bool dzo_integer_is_wide(dzo_integer type) { return type >= DZO_INTEGER_U64; }
DZO_ITEM bool dzo_integer_is_signed(dzo_integer type) {
  return type == DZO_INTEGER_I32 || type == DZO_INTEGER_I64;
}
DZO_ITEM size_t dzo_integer_bytes(dzo_integer type) { return dzo_integer_is_wide(type) ? 8 : 4; }
/* "u32" */
DZO_ITEM const char *dzo_integer_name(dzo_integer type) {
  static const char *const names[] = {"u32", "i32", "u64", "i64"};
  return names[type];
}
/* The word that an element of an array of this type stands for. */
DZO_ITEM uint64_t dzo_integer_word(dzo_integer type, const void *array, uint64_t i) {
  if (dzo_integer_is_wide(type))
    return ((const uint64_t *)array)[i];
  uint32_t x = ((const uint32_t *)array)[i];
  return type == DZO_INTEGER_I32 ? (uint64_t)(int64_t)(int32_t)x : x;
}

#endif
