/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "dzo/status.h"

const char *dzo_status_name(dzo_status status) {
  switch (status) {
#define DZO_STATUS_NAME(name, value, text)                                                         \
  case DZO_##name:                                                                                 \
    return "DZO_" #name;
    DZO_STATUS_MAP(DZO_STATUS_NAME)
#undef DZO_STATUS_NAME
  }
  return "DZO_E_UNKNOWN";
}

const char *dzo_status_text(dzo_status status) {
  switch (status) {
#define DZO_STATUS_TEXT(name, value, text)                                                         \
  case DZO_##name:                                                                                 \
    return text;
    DZO_STATUS_MAP(DZO_STATUS_TEXT)
#undef DZO_STATUS_TEXT
  }
  return "unknown error";
}
