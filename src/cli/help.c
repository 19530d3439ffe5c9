/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* --help, from the tables. */
#include <string.h>

#include "cli/cli.h"

enum { WIDTH = 80, INDENT = 6, TEXT_SIZE = 1024 };

const cli_exit_text cli_exit_texts[] = {
    {"0", "done"},
    {"1", "failed while running, or an answer that was checked is wrong"},
    {"2", "wrong usage"},
    {"3", "bad input; the message names file, line and reason"},
    {"4", "the requested device is missing"},
    {"5", "a limit was reached; the best answer so far was printed"},
    {"128+N", "stopped by signal N (130 after Ctrl-C); no half-written file is left"},
    {NULL, NULL}};

/* Words of `text` in lines of at most WIDTH columns, each after `indent` blanks. */
static void print_wrapped(FILE *out, const char *text, int indent) {
  int column = 0;
  while (*text != '\0') {
    int length = (int)strcspn(text, " ");
    if (column > 0 && column + 1 + length > WIDTH) {
      (void)fputc('\n', out);
      column = 0;
    }
    if (column == 0)
      column = fprintf(out, "%*s%.*s", indent, "", length, text);
    else
      column += fprintf(out, " %.*s", length, text);
    text += length;
    text += strspn(text, " ");
  }
  if (column > 0)
    (void)fputc('\n', out);
}

static size_t join(const char *const *words, const char *separator, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (const char *const *word = words; *word != NULL && used < size; word++)
    used +=
        (size_t)snprintf(text + used, size - used, "%s%s", word == words ? "" : separator, *word);
  return used;
}

void cli_option_usage(const cli_option *option, char *text, size_t size) {
  char argument[TEXT_SIZE] = "";
  if (option->argument != NULL)
    (void)snprintf(argument, sizeof argument, "%s", option->argument);
  else if (option->kind == CLI_CHOICE)
    (void)join(option->choices, "|", argument, sizeof argument);
  char letter[5] = "";
  if (option->letter != 0)
    (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
  (void)snprintf(text, size, "%s--%s%s%s", letter, option->name, argument[0] != '\0' ? " " : "",
                 argument);
}

void cli_option_details(const cli_option *option, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "%s", option->help);
  char range[96] = "";
  if (option->kind == CLI_COUNT && option->maximum < UINT64_MAX)
    (void)snprintf(range, sizeof range, "%llu to %llu", (unsigned long long)option->minimum,
                   (unsigned long long)option->maximum);
  else if (option->kind == CLI_REAL)
    (void)snprintf(range, sizeof range, "%g to %g", option->least, option->most);
  bool initial = option->initial != NULL;
  if (used >= size || (range[0] == '\0' && !initial))
    return;
  (void)snprintf(text + used, size - used, " (%s%s%s%s)", range,
                 range[0] != '\0' && initial ? "; " : "", initial ? "default " : "",
                 initial ? option->initial : "");
}

void cli_command_usage(const cli_command *command, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "dzo %s [OPTIONS]", command->name);
  for (const cli_operand *operand = command->operands; operand->name != NULL && used < size;
       operand++) {
    char word[TEXT_SIZE];
    if (operand->choices != NULL)
      (void)join(operand->choices, "|", word, sizeof word);
    else
      (void)snprintf(word, sizeof word, "%s", operand->name);
    used += (size_t)snprintf(text + used, size - used, operand->optional ? " [%s]" : " %s", word);
  }
}

static void print_options(FILE *out, const cli_option *options) {
  char text[TEXT_SIZE];
  for (; options != NULL && options->name != NULL; options++) {
    cli_option_usage(options, text, sizeof text);
    (void)fprintf(out, "  %s\n", text);
    cli_option_details(options, text, sizeof text);
    print_wrapped(out, text, INDENT);
  }
}

static void print_exits(FILE *out) {
  (void)fputs("\nExit status:\n", out);
  for (const cli_exit_text *row = cli_exit_texts; row->status != NULL; row++)
    (void)fprintf(out, "  %-6s %s\n", row->status, row->text);
}

void cli_print_command_help(FILE *out, const cli_command *command) {
  char text[TEXT_SIZE];
  cli_command_usage(command, text, sizeof text);
  (void)fprintf(out, "Usage: %s\n\n", text);
  (void)snprintf(text, sizeof text, "%s.", command->summary);
  print_wrapped(out, text, 0);
  if (command->operands[0].name != NULL)
    (void)fputs("\nOperands:\n", out);
  for (const cli_operand *operand = command->operands; operand->name != NULL; operand++) {
    (void)fprintf(out, "  %s\n", operand->name);
    print_wrapped(out, operand->help, INDENT);
  }
  if (command->options != NULL) {
    (void)fputs("\nOptions:\n", out);
    print_options(out, command->options);
  }
  (void)fputs("\nCommon options:\n", out);
  print_options(out, cli_common_options);
  print_exits(out);
  (void)fputs("\nExamples:\n", out);
  for (const char *const *example = command->examples; *example != NULL; example++)
    (void)fprintf(out, "  %s\n", *example);
}

void cli_print_program_help(FILE *out) {
  (void)fputs("Usage: dzo COMMAND [OPTIONS] FILE...\n\n"
              "Spanning forests of huge weighted graphs, hash tables of integers, and knapsacks\n"
              "solved exactly, on all the processors of a machine.\n"
              "Results go to standard output, everything else to standard error.\n\n"
              "Commands:\n",
              out);
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    (void)fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
  (void)fputs("\n  dzo COMMAND --help   the options of a command\n"
              "  dzo --version        the version\n",
              out);
  print_exits(out);
  (void)fputs("\nExamples:\n"
              "  dzo msf roads.gr.gz\n"
              "  dzo generate rmat --scale 20 -o rmat.mtx && dzo msf rmat.mtx --verify --json\n"
              "  dzo table count words.csv --column id --top 10\n"
              "  dzo knapsack items.csv --capacity 20.5\n",
              out);
}
