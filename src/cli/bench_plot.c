/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Files for gnuplot, and gnuplot itself where it is installed. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/bench.h"

extern char **environ;

cli_exit bench_plot_folder(const char *folder) {
  if (mkdir(folder, 0777) == 0 || errno == EEXIST)
    return CLI_DONE;
  cli_error("bench: %s: %s", folder, strerror(errno));
  return CLI_FAILED;
}

FILE *bench_plot_open(const char *folder, const char *name, char path[BENCH_PATH]) {
  int size = snprintf(path, BENCH_PATH, "%s/%s", folder, name);
  FILE *file = size < BENCH_PATH ? fopen(path, "w") : NULL;
  if (file == NULL)
    cli_error("bench: %s/%s: %s", folder, name,
              size < BENCH_PATH ? strerror(errno) : strerror(ENAMETOOLONG));
  return file;
}

cli_exit bench_plot_close(FILE *file, const char *path) {
  bool failed = ferror(file) != 0;
  if (fclose(file) == 0 && !failed)
    return CLI_DONE;
  cli_error("bench: %s: cannot be written", path);
  return CLI_FAILED;
}

/* In single quotes, those inside doubled. */
void bench_plot_quote(FILE *file, const char *folder, const char *name) {
  (void)fputc('\'', file);
  for (const char *c = folder; *c != '\0'; c++)
    (void)fprintf(file, *c == '\'' ? "''" : "%c", *c);
  (void)fprintf(file, "/%s'", name);
}

void bench_plot_draw(cli_call *call, char *script, const char *pictures) {
  char gnuplot[] = "gnuplot";
  char *arguments[] = {gnuplot, script, NULL};
  pid_t child;
  int status = 0;
  if (posix_spawnp(&child, gnuplot, NULL, NULL, arguments, environ) != 0) {
    cli_note(call, "gnuplot is not installed; %s draws the plot", script);
    return;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  int folder = (int)(strrchr(script, '/') - script);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    cli_note(call, "gnuplot could not draw %.*s/%s", folder, script, pictures);
  else
    cli_note(call, "drew %.*s/%s", folder, script, pictures);
}
