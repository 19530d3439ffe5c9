/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* DZO_CLONES before a function compiles it several times, for wider vector units too, and picks the
 * fastest that the machine has when the program is loaded. Results are the same everywhere, since
 * nothing is contracted or reassociated. Sanitizers are not ready when the loader picks, and only
 * glibc can pick. */
#ifndef DZO_BASE_CLONES_H
#define DZO_BASE_CLONES_H

#include <stdint.h> /* defines __GLIBC__ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DZO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define DZO_SANITIZED 1
#endif
#endif

#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(DZO_SANITIZED)
#define DZO_CLONES
#elif defined(__clang__)
#define DZO_CLONES __attribute__((target_clones("avx512dq", "avx2", "default")))
#elif defined(__GNUC__)
#define DZO_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define DZO_CLONES
#endif

#endif
