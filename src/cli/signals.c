/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A signal handler can reach nothing but static objects: these are the program's only ones. */
#define _POSIX_C_SOURCE 200809L
#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum { GRACE_SECONDS = 2 };

static dzo_context *watched;          /* accessed atomically */
static volatile sig_atomic_t caught;  /* the signal that asked to stop */
static volatile sig_atomic_t no_pipe; /* SIGPIPE came */

static void on_stop(int number) {
  dzo_context *context = __atomic_load_n(&watched, __ATOMIC_ACQUIRE);
  if (caught != 0 || context == NULL)
    _exit(128 + number);
  caught = number;
  dzo_context_cancel(context);
  /* A call that waits for its input, a pipe say, does not look: it has this long. */
  (void)alarm(GRACE_SECONDS);
}

static void on_alarm(int number) {
  (void)number;
  _exit(128 + caught);
}

static void on_pipe(int number) {
  (void)number;
  no_pipe = 1;
}

static void install(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(number, &action, NULL);
}

/* nohup has it ignored. */
static bool is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void cli_signals_install(void) {
  install(SIGINT, on_stop, 0);
  install(SIGTERM, on_stop, 0);
  if (!is_ignored(SIGHUP))
    install(SIGHUP, on_stop, 0);
  install(SIGALRM, on_alarm, 0);
  install(SIGPIPE, on_pipe, SA_RESTART);
}

void cli_signals_watch(dzo_context *context) {
  __atomic_store_n(&watched, context, __ATOMIC_RELEASE);
}

int cli_signal_caught(void) { return (int)caught; }

bool cli_pipe_closed(void) { return no_pipe != 0; }
