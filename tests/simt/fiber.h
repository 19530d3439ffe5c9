/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Fibers: stacks of their own in one real thread, which hand the processor to each other. */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include <stddef.h>
#include <ucontext.h>

#include "simt.h"

struct simt_fiber {
  void *resume[5]; /* of __builtin_setjmp */
  bool started;
  ucontext_t begin;
  void (*body)(simt_fiber *self);
  void *user;
  const void *stack; /* lowest address */
  size_t stack_bytes;
  void *fake_stack; /* AddressSanitizer's */
  void *shadow;     /* ThreadSanitizer's */
  simt_fiber *next; /* for lists */
  uint64_t used;    /* the last block it worked for */
};

/* The real thread's own stack as a fiber, so that fibers can hand the processor back to it. */
void simt_fiber_of_thread(simt_fiber *fiber);
/* What ThreadSanitizer takes for a thread; NULL without it. */
void *simt_shadow_create();
/* A fiber that will run body(fiber), which must not return. It lives as long as the program.
 * Several may share a shadow: what they do is then no race. */
simt_fiber *simt_fiber_create(void (*body)(simt_fiber *self), void *user, void *shadow);
/* Run `to` until somebody switches to `from`. To ThreadSanitizer this orders nothing. */
void simt_fiber_switch(simt_fiber *from, simt_fiber *to);
/* For ThreadSanitizer: what came before a release of an address comes before what follows an
 * acquire of it. */
void simt_release(void *address);
void simt_acquire(void *address);
/* A release in the name of a shadow, by the fiber that runs. */
void simt_release_as(void *shadow, const simt_fiber *running, void *address);

#endif
