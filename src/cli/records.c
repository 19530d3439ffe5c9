/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _POSIX_C_SOURCE 200809L
#include "cli/records.h"

#include <string.h>
#include <unistd.h>

const char *const cli_records_formats[] = {"csv", "npy", "raw", NULL};

bool cli_records_type_of_suffix(const char *path, dzo_integer *out) {
  const char *dot = strrchr(path, '.');
  for (unsigned i = DZO_INTEGER_U32; dot != NULL && i <= DZO_INTEGER_I64; i++)
    if (strcmp(dot + 1, dzo_integer_name((dzo_integer)i)) == 0) {
      *out = (dzo_integer)i;
      return true;
    }
  return false;
}

static dzo_records_format format_of_suffix(const char *path) {
  static const struct {
    const char *suffix;
    dzo_records_format format;
  } rows[] = {{".npy", DZO_RECORDS_NPY}, {".raw", DZO_RECORDS_RAW}, {".bin", DZO_RECORDS_RAW}};
  dzo_integer type;
  if (cli_records_type_of_suffix(path, &type))
    return DZO_RECORDS_RAW;
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot != NULL && i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(dot, rows[i].suffix) == 0)
      return rows[i].format;
  return DZO_RECORDS_CSV;
}

cli_exit cli_records_format(const cli_call *call, const char *option, const char *name,
                            const char *path, dzo_records_format *out) {
  *out = format_of_suffix(path);
  if (strcmp(name, "auto") != 0) {
    unsigned i = 0;
    while (cli_records_formats[i] != NULL && strcmp(cli_records_formats[i], name) != 0)
      i++;
    if (cli_records_formats[i] == NULL) {
      cli_error("%s: --%s: %s is a format of graphs; csv, npy and raw hold columns",
                call->command->name, option, name);
      return CLI_USAGE;
    }
    *out = (dzo_records_format)i;
  }
  if (*out == DZO_RECORDS_CSV || strcmp(path, "-") != 0 || isatty(STDOUT_FILENO) == 0)
    return CLI_DONE;
  cli_error("%s: %s is a binary format, which is not for a terminal; give a file name",
            call->command->name, cli_records_formats[*out]);
  return CLI_USAGE;
}
