/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Names of graph formats. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char *const cli_formats[] = {"auto",     "mtx", "dimacs", "snap",   "csv", "konect", "metis",
                                   "graphhpc", "egr", "gap",    "galois", "dzo", NULL};

dzo_format cli_format(const char *name) {
  dzo_format format = DZO_FORMAT_AUTO;
  if (strcmp(name, "auto") != 0)
    (void)dzo_format_from_name(name, &format);
  return format;
}

/* Of two formats with one suffix, the text one: .gr is DIMACS here. */
dzo_format cli_format_of_suffix(const char *path) {
  static const struct {
    const char *suffix;
    dzo_format format;
  } rows[] = {{".mtx", DZO_FORMAT_MTX},       {".gr", DZO_FORMAT_DIMACS},
              {".txt", DZO_FORMAT_SNAP},      {".el", DZO_FORMAT_SNAP},
              {".wel", DZO_FORMAT_SNAP},      {".csv", DZO_FORMAT_CSV},
              {".konect", DZO_FORMAT_KONECT}, {".graph", DZO_FORMAT_METIS},
              {".metis", DZO_FORMAT_METIS},   {".graphhpc", DZO_FORMAT_GRAPHHPC},
              {".egr", DZO_FORMAT_EGR},       {".sg", DZO_FORMAT_GAP},
              {".wsg", DZO_FORMAT_GAP},       {".dzo", DZO_FORMAT_DZO}};
  const char *dot = strrchr(path, '.');
  if (dot == NULL || strchr(dot, '/') != NULL)
    return DZO_FORMAT_AUTO;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(dot, rows[i].suffix) == 0)
      return rows[i].format;
  return DZO_FORMAT_AUTO;
}

static bool is_binary(dzo_format format) { return format >= DZO_FORMAT_GRAPHHPC; }

cli_exit cli_output_format(const cli_call *call, const char *option, const char *name,
                           const char *path, dzo_format *out) {
  bool standard = strcmp(path, "-") == 0;
  dzo_format format = cli_format(name);
  if (format == DZO_FORMAT_AUTO)
    format = standard ? DZO_FORMAT_MTX : cli_format_of_suffix(path);
  *out = format;
  if (format == DZO_FORMAT_AUTO) {
    cli_error("%s: the name of '%s' does not say its format; give --%s", call->command->name, path,
              option);
    return CLI_USAGE;
  }
  if (standard && is_binary(format) && isatty(STDOUT_FILENO) != 0) {
    cli_error("%s: %s is a binary format, which is not for a terminal; give a file name",
              call->command->name, dzo_format_name(format));
    return CLI_USAGE;
  }
  return CLI_DONE;
}
