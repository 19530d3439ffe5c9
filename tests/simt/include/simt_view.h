/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What dzo/table_device.cuh spells with inline assembly: accesses to shared data of 16 bytes. Those
 * that a GPU does at once are done here with a lock, one of a few, by the address. */
#ifndef SIMT_VIEW_H
#define SIMT_VIEW_H

#include "simt_intrinsics.h"

#define DZO_VIEW_MEMORY 1

inline bool *simt_view_lock(const void *p) {
  static bool locks[64];
  bool *lock = &locks[(uintptr_t)p / 16 % 64];
  while (__atomic_exchange_n(lock, true, __ATOMIC_ACQUIRE)) {
  }
  return lock;
}
static inline void simt_view_unlock(bool *lock) { __atomic_store_n(lock, false, __ATOMIC_RELEASE); }

static inline ulonglong2 dzo_view_load_two(const void *p) {
  const unsigned long long *words = (const unsigned long long *)p;
  unsigned long long x = simt_load(words);
  return make_ulonglong2(x, simt_load(words + 1));
}
static inline unsigned long long dzo_view_load_word(const void *p) {
  return simt_load((const unsigned long long *)p);
}
static inline ulonglong2 dzo_view_load_slot(const void *p) {
  const unsigned long long *words = (const unsigned long long *)p;
  simt_touch();
  bool *lock = simt_view_lock(p);
  unsigned long long x = __atomic_load_n(words, __ATOMIC_RELAXED);
  unsigned long long y = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
  simt_view_unlock(lock);
  return make_ulonglong2(x, y);
}
static inline void dzo_view_store_slot(void *p, ulonglong2 x) {
  unsigned long long *words = (unsigned long long *)p;
  simt_touch();
  bool *lock = simt_view_lock(p);
  __atomic_store_n(words, x.x, __ATOMIC_RELAXED);
  __atomic_store_n(words + 1, x.y, __ATOMIC_RELAXED);
  simt_view_unlock(lock);
}

#endif
