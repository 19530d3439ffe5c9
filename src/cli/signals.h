/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_CLI_SIGNALS_H
#define DZO_CLI_SIGNALS_H

#include <stdbool.h>

#include "dzo/context.h"

/* SIGINT, SIGTERM and SIGHUP cancel the running call of `context` (set later, NULL for none);
 * SIGPIPE only makes the write fail. */
void cli_signals_install(void);
void cli_signals_watch(dzo_context *context);
/* The first signal that asked to stop, 0 if none did. */
int cli_signal_caught(void);
bool cli_pipe_closed(void);

#endif
