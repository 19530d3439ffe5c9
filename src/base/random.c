/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/random.h"

static dzo_lcg48_jump compose(dzo_lcg48_jump first, dzo_lcg48_jump then) {
  return (dzo_lcg48_jump){(first.multiplier * then.multiplier) & DZO_LCG48_MASK,
                          dzo_lcg48_apply(then, first.increment)};
}

dzo_lcg48_jump dzo_lcg48_jump_of(uint64_t count) {
  dzo_lcg48_jump jump = {1, 0}, power = {UINT64_C(0x5deece66d), 0xb};
  for (; count != 0; count >>= 1) {
    if (count & 1)
      jump = compose(jump, power);
    power = compose(power, power);
  }
  return jump;
}
