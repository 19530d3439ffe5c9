/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The progress bar: one line on standard error, only on a terminal and only for what takes more
 * than a second. */
#ifndef DZO_CLI_PROGRESS_H
#define DZO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
  bool enabled; /* standard error is a terminal and the user wants a bar */
  bool shown;   /* the line on the terminal is ours */
  double begun; /* when the job began */
  double phase_begun;
  double drawn;        /* when the bar was drawn last */
  uint64_t file_bytes; /* of the file that is read: a total of this many is one of bytes */
  char phase[24];
} cli_progress;

void cli_progress_init(cli_progress *progress, bool wanted);
/* A dzo_progress_fn; `user` is the cli_progress. */
int cli_progress_report(void *user, const char *phase, uint64_t done, uint64_t total);
/* A text in the place of the bar, when it is due: not in the first second, nor ten times in one. */
bool cli_progress_due(const cli_progress *progress);
void cli_progress_show(cli_progress *progress, const char *text);
/* Wipe the line, before anything else is written to the terminal. */
void cli_progress_clear(cli_progress *progress);
/* The text of the bar, for `width` columns (out of the terminal's hands, so that it can be tested).
 */
void cli_progress_text(const char *phase, bool bytes, uint64_t done, uint64_t total, double seconds,
                       int width, char *text, int size);

#endif
