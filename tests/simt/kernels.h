/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef SIMT_KERNELS_H
#define SIMT_KERNELS_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kernels_mistake {
  DIVERGENT_BALLOT,
  DIFFERENT_COLLECTIVES,
  EARLY_END,
  LONELY_BLOCK,
  MISSING_BARRIER,
  UNWRITTEN_SHARED
} kernels_mistake;

dzo_status kernels_sums(dzo_unit *unit, const uint32_t *in, uint64_t count, uint64_t *out,
                        unsigned blocks, unsigned threads);
dzo_status kernels_gather(dzo_unit *unit, const uint32_t *in, uint32_t count, uint32_t *out,
                          uint32_t *found);
dzo_status kernels_collectives(dzo_unit *unit, uint64_t *out, unsigned blocks, unsigned threads);
dzo_status kernels_atomics(dzo_unit *unit, uint32_t *small, uint64_t *large, unsigned blocks);
dzo_status kernels_rounds(dzo_unit *unit, uint64_t *sums, unsigned rounds, unsigned blocks);
unsigned kernels_resident(dzo_unit *unit);
dzo_status kernels_turns(dzo_unit *unit, uint32_t *turn, uint32_t *out);
dzo_status kernels_turn_around(dzo_unit *unit, const uint32_t *in, uint32_t *out, unsigned blocks,
                               unsigned threads);
dzo_status kernels_busy(dzo_unit *unit, uint32_t *out, unsigned blocks);
dzo_status kernels_wrong(dzo_unit *unit, kernels_mistake mistake, uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
