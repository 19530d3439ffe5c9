/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Chunks of work for several workers of different speed, each of which takes more when it is done.
 * How much it is handed at a time follows its measured rate, so that all finish together; what a
 * worker that fails still held goes back. Knows nothing of what a chunk is. Any thread may call. */
#ifndef DZO_SPLIT_SPLIT_H
#define DZO_SPLIT_SPLIT_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dzo_split dzo_split;

enum { DZO_SPLIT_WORKERS = 16 };

/* Chunks 0 .. chunks - 1 for workers 0 .. workers - 1; none has a rate yet. */
dzo_status dzo_split_create(dzo_context *context, uint64_t chunks, int workers, dzo_split **out);
void dzo_split_destroy(dzo_split *split); /* NULL is fine */

/* Hand worker `worker` the chunks *first .. *first + n - 1, and say n: at most `most`; 0 if none is
 * left, or the worker has failed. What went back is handed out first, then ascending. */
uint64_t dzo_split_take(dzo_split *split, int worker, uint64_t most, uint64_t *first);
/* The worker has done what it took at `first`, in so many seconds. */
void dzo_split_done(dzo_split *split, int worker, uint64_t first, double seconds);
/* The worker has failed: what it holds goes back, and it gets no more. */
void dzo_split_fail(dzo_split *split, int worker);

/* Are all chunks done? */
bool dzo_split_finished(dzo_split *split);
/* Chunks a second of a worker, lately; 0 if it has done none. */
double dzo_split_rate(dzo_split *split, int worker);
/* Chunks that a worker has done. */
uint64_t dzo_split_count(dzo_split *split, int worker);

#ifdef __cplusplus
}
#endif
#endif
