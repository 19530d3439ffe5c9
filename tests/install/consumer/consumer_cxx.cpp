/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <cstdio>

#include <dzo/dzo.h>

int main() {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 1;
  dzo_context *context = nullptr;
  if (dzo_context_create(&options, &context) != DZO_OK)
    return 1;
  dzo_context_destroy(context);
  std::printf("dzo %s\n", dzo_version());
  return 0;
}
