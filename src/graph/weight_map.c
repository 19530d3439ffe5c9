/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/weight_map.h"

const char *dzo_weight_type_name(dzo_weight_type type) {
  static const char *const names[] = {"none", "u32", "i64", "u64", "f32", "f64"};
  return (unsigned)type <= DZO_WEIGHT_F64 ? names[type] : "unknown";
}
