/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the parts of the emulated runtime share. */
#ifndef SIMT_RUNTIME_H
#define SIMT_RUNTIME_H

#include "cuda_runtime.h"

/* All state of the runtime is behind one lock, which a thread may take again. */
void simt_lock();
void simt_unlock();
/* Each call that does something comes through here first: SIMT_FAIL_AT=k makes the k-th and all
 * later ones fail. */
cudaError_t simt_operation();
cudaError_t simt_note(cudaError_t error);
/* Do all that the streams still have to do. */
void simt_finish_all();
/* Of which kind is this memory, and does it reach on for `bytes`? */
cudaMemoryType simt_memory_type(const void *pointer);
void simt_check_copy(const void *pointer, size_t bytes);

#endif
