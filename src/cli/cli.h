/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the commands of the program share: the option tables, the call, messages and exits. */
#ifndef DZO_CLI_CLI_H
#define DZO_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/progress.h"
#include "dzo/dzo.h"

/* What the program returns. A signal gives 128 + its number. */
typedef enum cli_exit {
  CLI_DONE = 0,
  CLI_FAILED = 1,
  CLI_USAGE = 2,
  CLI_BAD_INPUT = 3,
  CLI_NO_DEVICE = 4,
  CLI_LIMIT = 5
} cli_exit;

/* ---- Options: one table a command drives parsing, --help, the man page and completion ----------
 */

/* How the text of an option becomes a value, and the type of the member it is stored in. */
typedef enum cli_kind {
  CLI_FLAG,   /* no argument; bool */
  CLI_TEXT,   /* const char * */
  CLI_FILE,   /* a file name or "-"; const char * */
  CLI_CHOICE, /* one of `choices`; const char * into the table */
  CLI_COUNT,  /* minimum..maximum; uint64_t */
  CLI_REAL,   /* least..most; double */
  CLI_BYTES,  /* a count with K, M, G or T (powers of 1024); uint64_t */
  CLI_DEVICE  /* auto, cpu, cuda, cuda:N, hybrid; cli_device */
} cli_kind;

typedef struct cli_option {
  const char *name; /* without the dashes; NULL ends a table */
  char letter;      /* or 0 */
  cli_kind kind;
  const char *argument;       /* its name in the help; NULL for flags and choices */
  const char *initial;        /* the default, as a user would type it; NULL: zero */
  const char *const *choices; /* CLI_CHOICE: NULL-terminated */
  uint64_t minimum, maximum;  /* CLI_COUNT */
  double least, most;         /* CLI_REAL */
  size_t offset;              /* of the member in the settings */
  const char *help;           /* sentences, no newline */
} cli_option;

typedef struct cli_device {
  dzo_device kind;
  int index;
} cli_device;

/* The options every command takes; the settings of each command begin with these. */
typedef struct cli_common {
  cli_device device;
  uint64_t threads; /* 0: one for each processor */
  uint64_t memory;  /* 0: what the machine has */
  uint64_t gpu_memory;
  uint64_t seed;
  bool json, quiet, no_progress, verify;
  bool help, version;
} cli_common;
extern const cli_option cli_common_options[];

/* A word of the command line that is no option. */
typedef struct cli_operand {
  const char *name;           /* NULL ends a table */
  const char *const *choices; /* NULL: a file name */
  const char *help;
  bool optional; /* as are all behind it */
  bool repeated; /* the last: once or more often; all words are in cli_call.words */
} cli_operand;

enum { CLI_MAX_OPTIONS = 48, CLI_MAX_OPERANDS = 4 };

typedef struct cli_call cli_call;

typedef struct cli_command {
  const char *name;
  const char *summary; /* one line without a full stop */
  cli_operand operands[CLI_MAX_OPERANDS + 1];
  const cli_option *options;   /* its own, besides the common ones; or NULL */
  size_t settings_size;        /* of a struct that begins with cli_common */
  const char *const *examples; /* NULL-terminated command lines */
  cli_exit (*run)(cli_call *call);
} cli_command;

/* NULL-terminated. */
extern const cli_command *const cli_commands[];
extern const cli_command cli_info_command;
extern const cli_command cli_msf_command;
extern const cli_command cli_table_command;
extern const cli_command cli_generate_command;
extern const cli_command cli_convert_command;
extern const cli_command cli_verify_command;
extern const cli_command cli_bench_command;
extern const cli_command cli_knapsack_command;

/* One run of a command, its context made. */
struct cli_call {
  const cli_command *command;
  void *settings;           /* of command->settings_size */
  const cli_common *common; /* the same */
  int operand_count;
  const char *operands[CLI_MAX_OPERANDS]; /* the first ones */
  char *const *words;                     /* all, operand_count */
  uint64_t given; /* bit i: the i-th of the command's own options was on the command line */
  dzo_context *context;
  cli_progress progress;
};

/* Parse argv[1..] by the tables into call->settings, which is zeroed and filled with the defaults.
 * CLI_DONE, or CLI_USAGE after a message. With --help or --version nothing more is checked. */
cli_exit cli_parse(cli_call *call, int argc, char **argv);
/* Was this option of the command on the command line? */
bool cli_given(const cli_call *call, const char *name);
/* Parse one value; on failure `why` (a buffer) says what is wrong with it. */
bool cli_parse_value(const cli_option *option, const char *text, void *settings, char *why,
                     size_t why_size);

/* ---- Help, manual pages, completion ------------------------------------------------------------
 */

void cli_print_program_help(FILE *out);
void cli_print_command_help(FILE *out, const cli_command *command);
/* "--threads N", "-o, --output FILE": how an option is shown. */
void cli_option_usage(const cli_option *option, char *text, size_t size);
/* The help of an option with its bounds and default. */
void cli_option_details(const cli_option *option, char *text, size_t size);
/* "dzo msf [OPTIONS] GRAPH" */
void cli_command_usage(const cli_command *command, char *text, size_t size);
/* Exit statuses, one a row, ended by text NULL. */
typedef struct cli_exit_text {
  const char *status, *text;
} cli_exit_text;
extern const cli_exit_text cli_exit_texts[];

/* A manual page from the tables and the prose in the file `prose`; `command` NULL: of dzo itself.
 */
cli_exit cli_print_manual(FILE *out, const cli_command *command, const char *prose);
void cli_print_completion(FILE *out);

/* ---- Messages and exits ------------------------------------------------------------------------
 */

#if defined(__GNUC__) || defined(__clang__)
#define CLI_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define CLI_PRINTF(a, b)
#endif

/* "dzo: ..." on standard error, one line. */
void cli_error(const char *format, ...) CLI_PRINTF(1, 2);
/* The same for what is no error; silent with --quiet. */
void cli_note(cli_call *call, const char *format, ...) CLI_PRINTF(2, 3);
/* A library call gave `status`: say why and return the exit status, `otherwise` for what the status
 * alone does not decide (CLI_BAD_INPUT while reading, CLI_FAILED later). */
cli_exit cli_fail(cli_call *call, dzo_status status, cli_exit otherwise);
/* Flush standard output: CLI_DONE, or CLI_FAILED after a message (silent for a closed pipe). */
cli_exit cli_flush(cli_call *call);
/* Create the context of a call by its common options. */
cli_exit cli_open_context(cli_call *call);
/* Say why the GPU that was asked for cannot be used; CLI_NO_DEVICE. */
cli_exit cli_no_gpu(const cli_call *call);

/* ---- Small helpers -----------------------------------------------------------------------------
 */

/* Seconds of a monotonic clock. */
double cli_now(void);
/* "auto" gives DZO_FORMAT_AUTO; the word comes from a table of choices. */
dzo_format cli_format(const char *name);
/* The format that a file name's suffix stands for, AUTO if none. */
dzo_format cli_format_of_suffix(const char *path);
/* Words for --format, "auto" the first. */
extern const char *const cli_formats[];
/* The format to write `path` in: the one named, or by the suffix; Matrix Market for "-". CLI_USAGE
 * after a message if the suffix says nothing, or if binary data would go to a terminal. */
cli_exit cli_output_format(const cli_call *call, const char *option, const char *name,
                           const char *path, dzo_format *out);
/* Does the file hold the same edges, in any order? A vertex counts as the same by its name or by
 * its place; with `weights_only` not at all. Says what differs. For --verify of commands that write
 * graphs. */
cli_exit cli_check_written(cli_call *call, const dzo_edges *edges, dzo_format format,
                           const char *path, bool weights_only);
/* Bytes of a regular file, 0 for anything else. */
uint64_t cli_file_size(const char *path);
/* Is it standard input or a pipe, such as bash's <(...), which gives its bytes only once? */
bool cli_reads_once(const char *path);
/* Do two paths, NULL or "-" among them, lead to one regular file, or are they to create one? */
bool cli_same_file(const char *a, const char *b);
/* "cpu", "cuda" or "hybrid": who did the work. */
const char *cli_device_name(dzo_device device);
/* Tell what the last call did otherwise than asked, if anything. */
void cli_tell_notice(cli_call *call);
/* An exact sum as decimal text, the shortest that reads back as the same number. */
enum { CLI_SUM_TEXT = 48 };
void cli_sum_text(dzo_weight_sum sum, char text[CLI_SUM_TEXT]);
void cli_real_text(double x, char text[CLI_SUM_TEXT]);

/* Where a report goes: standard output, or standard error when `path` ("-") takes standard output.
 */
FILE *cli_report_stream(const char *path);
/* "12 ms", "3.4 s" and "1.5 GiB" for people. */
void cli_seconds_text(double seconds, char text[32]);
void cli_bytes_text(uint64_t bytes, char text[32]);
/* "read 12 ms, ", or nothing for a phase that took no time. */
void cli_print_phase(FILE *out, const char *name, double seconds);

#endif
