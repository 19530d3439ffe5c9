/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/options.h"

#include <string.h>

/* No options are larger, so that a size never set does not lead far astray. */
enum { MOST_BYTES = 4096 };

bool dzo_options_read(void *full, size_t full_size, const void *given) {
  if (given == NULL)
    return true;
  size_t size;
  memcpy(&size, given, sizeof size);
  if (size <= sizeof size || size > MOST_BYTES)
    return false;
  const unsigned char *bytes = given;
  for (size_t i = full_size; i < size; i++)
    if (bytes[i] != 0)
      return false;
  memcpy(full, given, size < full_size ? size : full_size);
  memcpy(full, &full_size, sizeof full_size);
  return true;
}
