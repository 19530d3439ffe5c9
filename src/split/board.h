/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Work that one thread posts bit by bit, and that threads do which have nothing else to do: each
 * job has parts, handed out in order. */
#ifndef DZO_SPLIT_BOARD_H
#define DZO_SPLIT_BOARD_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dzo_board dzo_board;

/* Room for so many jobs that are not done. */
dzo_status dzo_board_create(dzo_context *context, uint32_t room, dzo_board **out);
void dzo_board_destroy(dzo_board *board); /* NULL is fine */

/* Post the next job: 0, 1, .. ; the one `room` before it must be done. */
void dzo_board_post(dzo_board *board, uint64_t parts);
/* A part to do. `wait`: until there is one; false: there are no more. */
bool dzo_board_take(dzo_board *board, bool wait, uint64_t *job, uint64_t *part);
/* A part that was taken is done. */
void dzo_board_finish(dzo_board *board, uint64_t job);
/* Are all parts of a job done? `wait`: until all that were taken are, which all must have been. */
bool dzo_board_is_done(dzo_board *board, bool wait, uint64_t job);
/* From now on nobody waits for parts. */
void dzo_board_stop(dzo_board *board);

#ifdef __cplusplus
}
#endif
#endif
