/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Manual pages: the tables of a command, and prose from a plain text file. In the prose a line that
 * begins with "# " is a heading, one that begins with four blanks is shown as it is, "*word*" is
 * emphasis, and a blank line ends a paragraph. The headings OPTIONS, EXIT STATUS and EXAMPLES are
 * filled from the tables; what stands under them comes after that. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cli/cli.h"

enum { TEXT_SIZE = 1024 };

/* Text that roff must not interpret; hyphens stay hyphens, so that they can be copied. `literal`
 * text has no emphasis. */
static void print_escaped(FILE *out, const char *text, bool literal) {
  bool emphasis = false;
  if (*text == '.' || *text == '\'')
    (void)fputs("\\&", out);
  for (; *text != '\0'; text++) {
    if (*text == '*' && !literal) {
      emphasis = !emphasis;
      (void)fputs(emphasis ? "\\fI" : "\\fR", out);
    } else if (*text == '\\') {
      (void)fputs("\\e", out);
    } else if (*text == '-') {
      (void)fputs("\\-", out);
    } else if (*text == '^' || *text == '~' || *text == '`') {
      (void)fprintf(out, "\\(%s", *text == '^' ? "ha" : *text == '~' ? "ti" : "ga");
    } else {
      (void)fputc(*text, out);
    }
  }
}

static void print_options(FILE *out, const cli_option *options) {
  char text[TEXT_SIZE];
  for (; options != NULL && options->name != NULL; options++) {
    cli_option_usage(options, text, sizeof text);
    (void)fputs(".TP\n\\fB", out);
    size_t name =
        strlen(text) -
        (strrchr(text, ' ') != NULL && options->kind != CLI_FLAG ? strlen(strrchr(text, ' ')) : 0);
    char argument[TEXT_SIZE];
    (void)snprintf(argument, sizeof argument, "%s", text + name);
    text[name] = '\0';
    print_escaped(out, text, true);
    (void)fputs("\\fR", out);
    print_escaped(out, argument, true);
    (void)fputc('\n', out);
    cli_option_details(options, text, sizeof text);
    print_escaped(out, text, true);
    (void)fputc('\n', out);
  }
}

static void print_operands(FILE *out, const cli_operand *operand) {
  for (; operand->name != NULL; operand++) {
    (void)fputs(".TP\n\\fI", out);
    print_escaped(out, operand->name, true);
    (void)fputs("\\fR\n", out);
    print_escaped(out, operand->help, true);
    (void)fputc('\n', out);
  }
}

static void print_exits(FILE *out) {
  for (const cli_exit_text *row = cli_exit_texts; row->status != NULL; row++) {
    (void)fprintf(out, ".TP\n\\fB%s\\fR\n", row->status);
    print_escaped(out, row->text, true);
    (void)fputs(".\n", out);
  }
}

static void print_examples(FILE *out, const char *const *examples) {
  (void)fputs(".nf\n", out);
  for (; *examples != NULL; examples++) {
    print_escaped(out, *examples, true);
    (void)fputc('\n', out);
  }
  (void)fputs(".fi\n", out);
}

static void print_commands(FILE *out) {
  for (const cli_command *const *command = cli_commands; *command != NULL; command++) {
    (void)fprintf(out, ".TP\n\\fBdzo %s\\fR\n", (*command)->name);
    print_escaped(out, (*command)->summary, true);
    (void)fprintf(out, "; see \\fBdzo\\-%s\\fR(1).\n", (*command)->name);
  }
}

/* What the tables know about the section that begins. */
static void print_section(FILE *out, const cli_command *command, const char *heading) {
  if (strcmp(heading, "COMMANDS") == 0)
    print_commands(out);
  else if (strcmp(heading, "EXIT STATUS") == 0)
    print_exits(out);
  else if (strcmp(heading, "COMMON OPTIONS") == 0)
    print_options(out, cli_common_options);
  else if (command != NULL && strcmp(heading, "OPTIONS") == 0)
    print_options(out, command->options);
  else if (command != NULL && strcmp(heading, "OPERANDS") == 0)
    print_operands(out, command->operands);
  else if (command != NULL && strcmp(heading, "EXAMPLES") == 0)
    print_examples(out, command->examples);
}

static void print_head(FILE *out, const cli_command *command) {
  char text[TEXT_SIZE] = "dzo COMMAND [OPTIONS] FILE...";
  if (command != NULL)
    cli_command_usage(command, text, sizeof text);
  char title[64] = "DZO";
  if (command != NULL)
    (void)snprintf(title, sizeof title, "DZO-%s", command->name);
  for (char *c = title; *c != '\0'; c++)
    *c = (char)toupper((unsigned char)*c);
  /* What is typed must not be hyphenated or spaced out. */
  (void)fprintf(
      out, ".TH %s 1 \"\" \"dzo %s\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\ndzo%s%s \\- ", title,
      dzo_version(), command != NULL ? "\\-" : "", command != NULL ? command->name : "");
  print_escaped(out,
                command != NULL ? command->summary : "spanning forests, hash tables and knapsacks",
                true);
  (void)fputs("\n.SH SYNOPSIS\n", out);
  print_escaped(out, text, true);
  (void)fputc('\n', out);
}

static void print_prose(FILE *out, const cli_command *command, FILE *prose) {
  char line[TEXT_SIZE];
  bool literal = false, heading = false;
  while (fgets(line, sizeof line, prose) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    bool indented = strncmp(line, "    ", 4) == 0;
    if (indented != literal && line[0] != '\0') {
      (void)fputs(indented ? ".PP\n.nf\n.RS 4\n" : ".RE\n.fi\n", out);
      literal = indented;
    }
    if (strncmp(line, "# ", 2) == 0) {
      (void)fprintf(out, ".SH %s\n", line + 2);
      print_section(out, command, line + 2);
    } else if (line[0] == '\0' && !literal) {
      if (!heading)
        (void)fputs(".PP\n", out);
    } else {
      print_escaped(out, literal && line[0] != '\0' ? line + 4 : line, literal);
      (void)fputc('\n', out);
    }
    heading = line[0] == '#' || line[0] == '\0';
  }
  if (literal)
    (void)fputs(".RE\n.fi\n", out);
}

cli_exit cli_print_manual(FILE *out, const cli_command *command, const char *path) {
  FILE *prose = fopen(path, "r");
  if (prose == NULL) {
    cli_error("%s: %s", path, strerror(errno));
    return CLI_BAD_INPUT;
  }
  print_head(out, command);
  print_prose(out, command, prose);
  (void)fclose(prose);
  return CLI_DONE;
}
