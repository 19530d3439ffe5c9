/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* From the option tables to a parsed command line. */
#include <getopt.h>
#include <string.h>

#include "cli/cli.h"

#define COMMON(member) .offset = offsetof(cli_common, member)

const cli_option cli_common_options[] = {
    {.name = "device",
     .kind = CLI_DEVICE,
     .argument = "auto|cpu|cuda[:N]|hybrid",
     .initial = "auto",
     COMMON(device),
     .help =
         "Where to run: on the CPU, on the GPU (the first, or the one numbered N from 0), or on "
         "both at once. auto takes what is fastest. The answer is the same. A device asked for "
         "by name that is missing is an error (exit status 4)."},
    {.name = "threads",
     .kind = CLI_COUNT,
     .argument = "N",
     .minimum = 1,
     .maximum = 1024,
     COMMON(threads),
     .help = "CPU threads; without it, one for each processor. The answer does not depend on it."},
    {.name = "memory",
     .kind = CLI_BYTES,
     .argument = "BYTES",
     COMMON(memory),
     .help = "Plan for no more than this much memory. K, M, G and T mean powers of 1024; without "
             "it, what the machine has."},
    {.name = "gpu-memory",
     .kind = CLI_BYTES,
     .argument = "BYTES",
     COMMON(gpu_memory),
     .help =
         "Take no more than this much memory of the GPU; without it, what is free. A graph that "
         "needs more passes through it in pieces."},
    {.name = "seed",
     .kind = CLI_COUNT,
     .argument = "N",
     .initial = "2387",
     .minimum = 0,
     .maximum = UINT64_MAX,
     COMMON(seed),
     .help = "Where random numbers begin; only commands that generate something draw any."},
    {.name = "verify",
     .kind = CLI_FLAG,
     COMMON(verify),
     .help = "Check the result by other means before it is reported."},
    {.name = "json", .kind = CLI_FLAG, COMMON(json), .help = "Report as one JSON object."},
    {.name = "quiet",
     .letter = 'q',
     .kind = CLI_FLAG,
     COMMON(quiet),
     .help = "Nothing on standard error but errors."},
    {.name = "no-progress", .kind = CLI_FLAG, COMMON(no_progress), .help = "No progress bar."},
    {.name = "help", .letter = 'h', .kind = CLI_FLAG, COMMON(help), .help = "Show help and stop."},
    {.name = "version", .kind = CLI_FLAG, COMMON(version), .help = "Show the version and stop."},
    {.name = NULL}};

enum { WHY = 256, LONG_BASE = 256 };

/* The tables as getopt_long wants them; val = LONG_BASE + index in `options`. */
typedef struct parser {
  const cli_option *options[CLI_MAX_OPTIONS];
  int own; /* the first ones are the command's own */
  int count;
  struct option longs[CLI_MAX_OPTIONS + 1];
  char shorts[3 * CLI_MAX_OPTIONS + 2];
} parser;

static void add_table(parser *p, const cli_option *table) {
  for (; table != NULL && table->name != NULL && p->count < CLI_MAX_OPTIONS; table++) {
    int has_argument = table->kind == CLI_FLAG ? no_argument : required_argument;
    p->longs[p->count] = (struct option){table->name, has_argument, NULL, LONG_BASE + p->count};
    if (table->letter != 0) {
      size_t end = strlen(p->shorts);
      p->shorts[end] = table->letter;
      p->shorts[end + 1] = has_argument == required_argument ? ':' : '\0';
    }
    p->options[p->count++] = table;
  }
}

static void build_parser(parser *p, const cli_command *command) {
  *p = (parser){.shorts = ":"};
  add_table(p, command->options);
  p->own = p->count;
  add_table(p, cli_common_options);
}

static cli_exit usage_error(const cli_call *call, const char *problem, const char *subject) {
  cli_error("%s: %s%s; see dzo %s --help", call->command->name, problem, subject,
            call->command->name);
  return CLI_USAGE;
}

static int option_of_letter(const parser *p, int letter) {
  for (int i = 0; i < p->count; i++)
    if (p->options[i]->letter == letter)
      return i;
  return -1;
}

static cli_exit store(cli_call *call, const cli_option *option, const char *text) {
  char why[WHY];
  if (cli_parse_value(option, text, call->settings, why, sizeof why))
    return CLI_DONE;
  cli_error("%s: --%s: %s; see dzo %s --help", call->command->name, option->name, why,
            call->command->name);
  return CLI_USAGE;
}

static cli_exit set_defaults(cli_call *call, const parser *p) {
  for (int i = 0; i < p->count; i++) {
    const char *initial = p->options[i]->initial;
    cli_exit result = initial != NULL ? store(call, p->options[i], initial) : CLI_DONE;
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

static cli_exit parse_options(cli_call *call, const parser *p, int argc, char **argv) {
  opterr = 0;
  optind = 1;
  for (;;) {
    int found = getopt_long(argc, argv, p->shorts, p->longs, NULL);
    if (found == -1)
      return CLI_DONE;
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_long = optopt == 0 || optopt >= LONG_BASE;
    if (found == '?' && optopt >= LONG_BASE)
      return usage_error(call, "no value is wanted: ", argv[optind - 1]);
    if (found == '?')
      return usage_error(call, "there is no option ", is_long ? argv[optind - 1] : letter);
    if (found == ':')
      return usage_error(call, "a value is missing after ", is_long ? argv[optind - 1] : letter);
    int index = found >= LONG_BASE ? found - LONG_BASE : option_of_letter(p, found);
    cli_exit result = store(call, p->options[index], optarg);
    if (result != CLI_DONE)
      return result;
    if (index < p->own)
      call->given |= UINT64_C(1) << index;
  }
}

static bool contains(const char *const *words, const char *word) {
  for (; words != NULL && *words != NULL; words++)
    if (strcmp(*words, word) == 0)
      return true;
  return false;
}

static cli_exit wrong_word(const cli_call *call, const cli_operand *operand, const char *word) {
  char known[WHY];
  size_t used = 0;
  known[0] = '\0';
  for (const char *const *choice = operand->choices; *choice != NULL && used < sizeof known;
       choice++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                             choice == operand->choices ? "" : ", ", *choice);
  cli_error("%s: %s '%s' is none of %s; see dzo %s --help", call->command->name, operand->name,
            word, known, call->command->name);
  return CLI_USAGE;
}

static cli_exit parse_operands(cli_call *call, int argc, char **argv) {
  const cli_operand *operand = call->command->operands;
  call->words = argv + optind;
  for (int i = optind; i < argc; i++) {
    if (operand->name == NULL)
      return usage_error(call, "too many operands: ", argv[i]);
    if (operand->choices != NULL && !contains(operand->choices, argv[i]))
      return wrong_word(call, operand, argv[i]);
    if (argv[i][0] == '\0')
      return usage_error(call, "an empty name for ", operand->name);
    if (call->operand_count < CLI_MAX_OPERANDS)
      call->operands[call->operand_count] = argv[i];
    call->operand_count++;
    operand += operand->repeated ? 0 : 1;
  }
  bool given = operand->repeated && call->operand_count > operand - call->command->operands;
  if (operand->name != NULL && !operand->optional && !given)
    return usage_error(call, "missing ", operand->name);
  return CLI_DONE;
}

cli_exit cli_parse(cli_call *call, int argc, char **argv) {
  parser p;
  build_parser(&p, call->command);
  cli_exit result = set_defaults(call, &p);
  if (result == CLI_DONE)
    result = parse_options(call, &p, argc, argv);
  if (result != CLI_DONE || call->common->help || call->common->version)
    return result;
  return parse_operands(call, argc, argv);
}

bool cli_given(const cli_call *call, const char *name) {
  const cli_option *options = call->command->options;
  for (int i = 0; options != NULL && options[i].name != NULL; i++)
    if (strcmp(options[i].name, name) == 0)
      return (call->given >> i & 1) != 0;
  return false;
}
