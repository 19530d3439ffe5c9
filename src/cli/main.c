/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/signals.h"

const cli_command *const cli_commands[] = {
    &cli_info_command,     &cli_msf_command,      &cli_table_command,
    &cli_knapsack_command, &cli_generate_command, &cli_convert_command,
    &cli_verify_command,   &cli_bench_command,    NULL};

enum { SETTINGS_SIZE = 1024, SIGNAL_EXIT = 128, SIGPIPE_EXIT = 141 };

static const cli_command *find_command(const char *name) {
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    if (strcmp((*command)->name, name) == 0)
      return *command;
  return NULL;
}

static int unknown_command(const char *name) {
  cli_error("there is no command '%s'; see dzo --help", name);
  return CLI_USAGE;
}

static int show_version(void) {
  (void)printf("dzo %s\n", dzo_version());
  return CLI_DONE;
}

static int show_help(const char *name) {
  const cli_command *command = name != NULL ? find_command(name) : NULL;
  if (name != NULL && command == NULL)
    return unknown_command(name);
  if (command != NULL)
    cli_print_command_help(stdout, command);
  else
    cli_print_program_help(stdout);
  return CLI_DONE;
}

/* For the build: dzo __man PROSE [COMMAND], dzo __completion. */
static int show_generated(int argc, char **argv) {
  if (strcmp(argv[1], "__completion") == 0) {
    cli_print_completion(stdout);
    return CLI_DONE;
  }
  const cli_command *command = argc > 3 ? find_command(argv[3]) : NULL;
  if (argc < 3 || (argc > 3 && command == NULL))
    return CLI_USAGE;
  return (int)cli_print_manual(stdout, command, argv[2]);
}

static int run_command(cli_call *call, int argc, char **argv) {
  if (call->command->settings_size > SETTINGS_SIZE) {
    cli_error("%s: its settings do not fit", call->command->name);
    return CLI_FAILED;
  }
  cli_exit result = cli_parse(call, argc, argv);
  if (result != CLI_DONE)
    return (int)result;
  if (call->common->help || call->common->version)
    return call->common->help ? show_help(call->command->name) : show_version();
  result = cli_open_context(call);
  if (result != CLI_DONE)
    return (int)result;
  cli_signals_watch(call->context);
  result = call->command->run(call);
  cli_progress_clear(&call->progress);
  cli_signals_watch(NULL);
  dzo_context_destroy(call->context);
  call->context = NULL;
  return (int)result;
}

static int dispatch(cli_call *call, int argc, char **argv) {
  const char *word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
    return show_help(NULL);
  if (strcmp(word, "help") == 0)
    return show_help(argc > 2 ? argv[2] : NULL);
  if (strcmp(word, "--version") == 0)
    return show_version();
  if (strcmp(word, "__man") == 0 || strcmp(word, "__completion") == 0)
    return show_generated(argc, argv);
  call->command = find_command(word);
  if (call->command == NULL && word[0] == '-') {
    cli_error("the command comes first: dzo COMMAND %s; see dzo --help", word);
    return CLI_USAGE;
  }
  if (call->command == NULL)
    return unknown_command(word);
  return run_command(call, argc - 1, argv + 1);
}

/* A file that is opened while a standard stream is closed would take its place, and a report would
 * land in it. What fills the place instead can be neither read nor written, as the user wished. */
static void hold_standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) == -1)
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
  hold_standard_streams();
  /* Large enough for the settings of any command, and aligned for them. */
  union {
    cli_common common;
    char bytes[SETTINGS_SIZE];
  } settings;
  memset(&settings, 0, sizeof settings);
  cli_call call = {.settings = &settings, .common = &settings.common};
  if (argc < 2) {
    cli_print_program_help(stderr);
    return CLI_USAGE;
  }
  cli_signals_install();
  int result = dispatch(&call, argc, argv);
  cli_exit flushed = cli_flush(&call);
  if (cli_signal_caught() != 0)
    return SIGNAL_EXIT + cli_signal_caught();
  if (cli_pipe_closed())
    return SIGPIPE_EXIT;
  return result != CLI_DONE ? result : (int)flushed;
}
