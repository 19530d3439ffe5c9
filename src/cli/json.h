/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Writes one JSON value to a stream, indented, members in the order of the calls. Integers of any
 * size are written exactly. JSON has no infinity or NaN; they are the strings "inf", "-inf" and
 * "nan". */
#ifndef DZO_CLI_JSON_H
#define DZO_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dzo/msf.h"

typedef struct cli_json {
  FILE *out;
  int depth;
  bool compact; /* all on one line */
  bool filled;  /* the innermost object or array has a member */
} cli_json;

void cli_json_init(cli_json *json, FILE *out, bool compact);
/* `key` is the name of the member, NULL in an array and for the outermost value. */
void cli_json_open_object(cli_json *json, const char *key);
void cli_json_close_object(cli_json *json); /* the outermost one also ends the line */
void cli_json_open_array(cli_json *json, const char *key);
void cli_json_close_array(cli_json *json);
void cli_json_text(cli_json *json, const char *key, const char *text); /* NULL: null */
void cli_json_count(cli_json *json, const char *key, uint64_t count);
void cli_json_integer(cli_json *json, const char *key, int64_t integer);
void cli_json_real(cli_json *json, const char *key, double real);
/* A time: microseconds are enough. */
void cli_json_seconds(cli_json *json, const char *key, double seconds);
void cli_json_flag(cli_json *json, const char *key, bool flag);
/* A number that is text already. */
void cli_json_number(cli_json *json, const char *key, const char *text);
void cli_json_null(cli_json *json, const char *key);
void cli_json_sum(cli_json *json, const char *key, dzo_weight_sum sum);

#endif
