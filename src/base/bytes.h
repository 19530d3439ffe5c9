/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Little-endian numbers at any address, on any machine. */
#ifndef DZO_BASE_BYTES_H
#define DZO_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/item.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define DZO_LITTLE32(x) __builtin_bswap32(x)
#define DZO_LITTLE64(x) __builtin_bswap64(x)
#else
#define DZO_LITTLE32(x) (x)
#define DZO_LITTLE64(x) (x)
#endif

DZO_ITEM uint32_t dzo_get32(const void *from) {
  uint32_t x;
  memcpy(&x, from, sizeof x);
  return DZO_LITTLE32(x);
}

DZO_ITEM uint64_t dzo_get64(const void *from) {
  uint64_t x;
  memcpy(&x, from, sizeof x);
  return DZO_LITTLE64(x);
}

/* Both return the end of what they put. */
DZO_ITEM char *dzo_put32(char *to, uint32_t x) {
  x = DZO_LITTLE32(x);
  memcpy(to, &x, sizeof x);
  return to + sizeof x;
}

DZO_ITEM char *dzo_put64(char *to, uint64_t x) {
  x = DZO_LITTLE64(x);
  memcpy(to, &x, sizeof x);
  return to + sizeof x;
}

DZO_ITEM char *dzo_put_double(char *to, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return dzo_put64(to, bits);
}

#endif
