/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _DEFAULT_SOURCE
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

enum { LEAST_WIDTH = 20, USUAL_WIDTH = 80, MOST_WIDTH = 200 };

static const double patience = 1.0; /* seconds before the first bar */
static const double period = 0.1;   /* seconds from bar to bar */

void cli_progress_init(cli_progress *progress, bool wanted) {
  double now = cli_now();
  *progress = (cli_progress){
      .enabled = wanted && isatty(STDERR_FILENO) != 0, .begun = now, .phase_begun = now};
}

static int terminal_width(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < LEAST_WIDTH)
    return USUAL_WIDTH;
  return size.ws_col < MOST_WIDTH ? size.ws_col : MOST_WIDTH;
}

/* Only reading counts bytes: of a file of known size, or of nobody knows how many. */
static bool counts_bytes(const cli_progress *progress, const char *phase, uint64_t total) {
  return strcmp(phase, "read") == 0 && (total == 0 || total == progress->file_bytes);
}

static void left_text(double seconds, char *text, size_t size) {
  if (seconds < 3600)
    (void)snprintf(text, size, "%d:%02d left", (int)(seconds / 60), (int)seconds % 60);
  else
    (void)snprintf(text, size, "%.1f h left", seconds / 3600);
}

void cli_progress_text(const char *phase, bool bytes, uint64_t done, uint64_t total, double seconds,
                       int width, char *text, int size) {
  char rate[32] = "", left[32] = "", bar[MOST_WIDTH + 1];
  if (seconds > 0 && done > 0)
    (void)snprintf(rate, sizeof rate, bytes ? "%.0f MB/s" : "%.1f M/s",
                   (double)done / seconds / 1e6);
  if (total == 0 || done > total) {
    double amount = (double)done / 1e6;
    (void)snprintf(text, (size_t)size, "%-8.8s %.1f M%s  %s", phase, amount, bytes ? "B" : "",
                   rate);
    text[width < size ? width : size - 1] = '\0';
    return;
  }
  double part = (double)done / (double)total;
  if (part > 0 && seconds > 0.5)
    left_text(seconds * (1 - part) / part, left, sizeof left);
  int room = width - 46 > 10 ? width - 46 : 10;
  int full = (int)(part * room);
  memset(bar, '#', (size_t)full);
  memset(bar + full, '.', (size_t)(room - full));
  bar[room] = '\0';
  (void)snprintf(text, (size_t)size, "%-8.8s [%s] %3d %%  %s  %s", phase, bar, (int)(100 * part),
                 rate, left);
  text[width < size ? width : size - 1] = '\0';
}

int cli_progress_report(void *user, const char *phase, uint64_t done, uint64_t total) {
  cli_progress *progress = user;
  if (!progress->enabled)
    return 0;
  double now = cli_now();
  if (strncmp(progress->phase, phase, sizeof progress->phase - 1) != 0) {
    (void)snprintf(progress->phase, sizeof progress->phase, "%s", phase);
    progress->phase_begun = now;
  }
  if (now - progress->begun < patience || now - progress->drawn < period)
    return 0;
  char text[MOST_WIDTH + 1];
  cli_progress_text(phase, counts_bytes(progress, phase, total), done, total,
                    now - progress->phase_begun, terminal_width() - 1, text, (int)sizeof text);
  (void)fprintf(stderr, "\r\033[K%s", text);
  (void)fflush(stderr);
  progress->shown = true;
  progress->drawn = now;
  return 0;
}

bool cli_progress_due(const cli_progress *progress) {
  double now = cli_now();
  return progress->enabled && now - progress->begun >= patience && now - progress->drawn >= period;
}

void cli_progress_show(cli_progress *progress, const char *text) {
  (void)fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, text);
  (void)fflush(stderr);
  progress->shown = true;
  progress->drawn = cli_now();
}

void cli_progress_clear(cli_progress *progress) {
  if (!progress->shown)
    return;
  (void)fputs("\r\033[K", stderr);
  (void)fflush(stderr);
  progress->shown = false;
}
