/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* How the commands name the formats of records. */
#ifndef DZO_CLI_RECORDS_H
#define DZO_CLI_RECORDS_H

#include "cli/cli.h"
#include "io/integer.h"
#include "io/records.h"

/* By dzo_records_format: "csv", "npy", "raw". */
extern const char *const cli_records_formats[];

/* The format to write `path` in: the one named, or for "auto" by the suffix; csv for "-" and for
 * suffixes that say nothing. CLI_USAGE after a message if the word names a format of graphs, or if
 * binary data would go to a terminal. */
cli_exit cli_records_format(const cli_call *call, const char *option, const char *name,
                            const char *path, dzo_records_format *out);

/* The type of raw numbers that a suffix such as .u32 stands for; false if it is none of these. */
bool cli_records_type_of_suffix(const char *path, dzo_integer *out);

#endif
