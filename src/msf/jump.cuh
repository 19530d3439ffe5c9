/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_MSF_JUMP_CUH
#define DZO_MSF_JUMP_CUH

#include "device/cuda.h"

enum { JUMP_HOPS = 8, JUMP_PASSES = 64 };

/* Pointer jumping: on return hook[c] is the root of c, the one that hooks to itself. Every pass
 * follows each link JUMP_HOPS times over what the pass has shortened already, so a path of n links
 * takes at most log2(n) passes. changed[0] of changed[3] is zero at the start. */
static __global__ void msf_jump(uint32_t *hook, uint32_t count, uint32_t *changed) {
  uint32_t stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned pass = 0; pass < JUMP_PASSES; pass++) {
    bool more = false;
    for (uint32_t c = first; c < count; c += stride) {
      uint32_t up = dzo_load_shared(hook + c), next = dzo_load_shared(hook + up);
      if (up == next)
        continue;
      for (int hop = 0; hop < JUMP_HOPS && up != next; hop++) {
        up = next;
        next = dzo_load_shared(hook + up);
      }
      dzo_store_shared(hook + c, up);
      more |= up != next;
    }
    if (more)
      dzo_store_shared(changed + pass % 3, 1u);
    if (first == 0)
      dzo_store_shared(changed + (pass + 1) % 3, 0u);
    dzo_grid_sync();
    if (dzo_load_shared(changed + pass % 3) == 0)
      break;
  }
}

#endif
