/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Completion for bash, from the tables. */
#include "cli/cli.h"

static void print_words(FILE *out, const char *const *words) {
  for (; words != NULL && *words != NULL; words++)
    (void)fprintf(out, "%s%s", *words, words[1] != NULL ? " " : "");
}

static void print_option_names(FILE *out, const cli_option *options) {
  for (; options != NULL && options->name != NULL; options++) {
    if (options->letter != 0)
      (void)fprintf(out, "-%c ", options->letter);
    (void)fprintf(out, "--%s ", options->name);
  }
}

/* What may follow each option that takes a value. */
static void print_values(FILE *out, const char *command, const cli_option *options) {
  for (; options != NULL && options->name != NULL; options++) {
    if (options->kind == CLI_FLAG)
      continue;
    (void)fprintf(out, "    %s:--%s", command, options->name);
    if (options->letter != 0)
      (void)fprintf(out, "|%s:-%c", command, options->letter);
    (void)fputs(") ", out);
    if (options->kind == CLI_FILE) {
      (void)fputs("_dzo_files; return ;;\n", out);
      continue;
    }
    (void)fputs("words=\"", out);
    if (options->kind == CLI_CHOICE)
      print_words(out, options->choices);
    if (options->kind == CLI_DEVICE)
      (void)fputs("auto cpu cuda hybrid", out);
    (void)fputs("\" ;;\n", out);
  }
}

static void print_command(FILE *out, const cli_command *command) {
  (void)fprintf(out, "    %s)\n      options=\"", command->name);
  print_option_names(out, command->options);
  print_option_names(out, cli_common_options);
  (void)fputs("\"\n      operands=\"", out);
  print_words(out, command->operands[0].name != NULL ? command->operands[0].choices : NULL);
  (void)fputs("\" ;;\n", out);
}

void cli_print_completion(FILE *out) {
  (void)fputs("# bash completion for dzo, written by `dzo __completion` from its option tables\n"
              "_dzo_files() {\n"
              "  compopt -o filenames 2>/dev/null\n"
              "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
              "}\n"
              "\n"
              "_dzo() {\n"
              "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
              "  local command=${COMP_WORDS[1]} words= options= operands=\n"
              "  COMPREPLY=()\n"
              "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "    mapfile -t COMPREPLY < <(compgen -W \"",
              out);
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    (void)fprintf(out, "%s ", (*command)->name);
  (void)fputs("help --help --version\" -- \"$current\")\n"
              "    return\n"
              "  fi\n"
              "  case $command:$previous in\n",
              out);
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    print_values(out, (*command)->name, (*command)->options);
  print_values(out, "*", cli_common_options);
  (void)fputs("    *) words=- ;;\n"
              "  esac\n"
              "  case $command in\n",
              out);
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    print_command(out, *command);
  (void)fputs("  esac\n"
              "  if [ \"$words\" != - ]; then\n"
              "    :\n"
              "  elif [[ $current == -* ]]; then\n"
              "    words=$options\n"
              "  elif [ \"$COMP_CWORD\" -eq 2 ] && [ -n \"$operands\" ]; then\n"
              "    words=$operands\n"
              "  else\n"
              "    _dzo_files\n"
              "    return\n"
              "  fi\n"
              "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
              "}\n"
              "complete -F _dzo dzo\n",
              out);
}
