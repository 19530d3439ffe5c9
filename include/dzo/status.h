/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_STATUS_H
#define DZO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define DZO_API __attribute__((visibility("default")))
#else
#define DZO_API
#endif

/* One row an error: name, value, text. A value, once released, keeps its meaning. */
#define DZO_STATUS_MAP(X)                                                                          \
  X(OK, 0, "success")                                                                              \
  X(E_ARGUMENT, -1, "invalid argument")                                                            \
  X(E_MEMORY, -2, "out of memory")                                                                 \
  X(E_DEVICE, -3, "the requested device is missing")                                               \
  X(E_DEVICE_FAILED, -4, "a device failed")                                                        \
  X(E_IO, -5, "input or output failed")                                                            \
  X(E_FORMAT, -6, "malformed input")                                                               \
  X(E_UNSUPPORTED, -7, "not supported")                                                            \
  X(E_LIMIT, -8, "a limit was reached")                                                            \
  X(E_CANCELLED, -9, "cancelled")                                                                  \
  X(E_INTERNAL, -10, "internal error")

/* What every fallible function returns: 0 is good, negative is bad. */
typedef enum dzo_status {
#define DZO_STATUS_ENUM(name, value, text) DZO_##name = (value),
  DZO_STATUS_MAP(DZO_STATUS_ENUM)
#undef DZO_STATUS_ENUM
} dzo_status;

/* "DZO_E_FORMAT", or "DZO_E_UNKNOWN" for a value outside the table. Never NULL. */
DZO_API const char *dzo_status_name(dzo_status status);

/* The table's short text. The full story of the last failure, with file, line and value, is
 * dzo_context_message(). Never NULL. */
DZO_API const char *dzo_status_text(dzo_status status);

#ifdef __cplusplus
}
#endif
#endif
