/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "cli/json.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"

void cli_json_init(cli_json *json, FILE *out, bool compact) {
  *json = (cli_json){.out = out, .compact = compact};
}

/* Length of the UTF-8 sequence at `c`, 0 if it is none (RFC 3629). */
static int sequence_length(const unsigned char *c) {
  static const struct {
    unsigned char low, high, second_low, second_high;
    int length;
  } rows[] = {
      {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
      {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
      {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (c[0] < rows[i].low || c[0] > rows[i].high)
      continue;
    if (rows[i].length > 1 && (c[1] < rows[i].second_low || c[1] > rows[i].second_high))
      return 0;
    for (int k = 2; k < rows[i].length; k++)
      if (c[k] < 0x80 || c[k] > 0xbf)
        return 0;
    return rows[i].length;
  }
  return 0;
}

static void print_ascii(FILE *out, unsigned char c) {
  if (c == '"' || c == '\\')
    (void)fprintf(out, "\\%c", c);
  else if (c == '\n')
    (void)fputs("\\n", out);
  else if (c == '\t')
    (void)fputs("\\t", out);
  else if (c < 0x20 || c == 0x7f)
    (void)fprintf(out, "\\u%04x", c);
  else
    (void)fputc(c, out);
}

/* File names are bytes; JSON is UTF-8. Bytes that are none become U+FFFD. */
static void print_text(FILE *out, const char *text) {
  (void)fputc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
    int length = sequence_length(c);
    if (length == 0)
      (void)fputs("\\ufffd", out);
    else if (length == 1)
      print_ascii(out, *c);
    else
      (void)fwrite(c, 1, (size_t)length, out);
    c += length > 0 ? length : 1;
  }
  (void)fputc('"', out);
}

static void new_line(cli_json *json) {
  if (json->compact)
    return;
  (void)fprintf(json->out, "\n%*s", 2 * json->depth, "");
}

static void begin_member(cli_json *json, const char *key) {
  if (json->filled)
    (void)fputs(json->compact ? ", " : ",", json->out);
  if (json->depth > 0)
    new_line(json);
  json->filled = true;
  if (key == NULL)
    return;
  print_text(json->out, key);
  (void)fputs(": ", json->out);
}

static void open_level(cli_json *json, const char *key, char bracket) {
  begin_member(json, key);
  (void)fputc(bracket, json->out);
  json->depth++;
  json->filled = false;
}

static void close_level(cli_json *json, char bracket) {
  json->depth--;
  if (json->filled)
    new_line(json);
  (void)fputc(bracket, json->out);
  json->filled = true;
  if (json->depth == 0)
    (void)fputc('\n', json->out);
}

void cli_json_open_object(cli_json *json, const char *key) { open_level(json, key, '{'); }
void cli_json_close_object(cli_json *json) { close_level(json, '}'); }
void cli_json_open_array(cli_json *json, const char *key) { open_level(json, key, '['); }
void cli_json_close_array(cli_json *json) { close_level(json, ']'); }

void cli_json_text(cli_json *json, const char *key, const char *text) {
  if (text == NULL) {
    cli_json_null(json, key);
    return;
  }
  begin_member(json, key);
  print_text(json->out, text);
}

void cli_json_count(cli_json *json, const char *key, uint64_t count) {
  begin_member(json, key);
  (void)fprintf(json->out, "%llu", (unsigned long long)count);
}

void cli_json_integer(cli_json *json, const char *key, int64_t integer) {
  begin_member(json, key);
  (void)fprintf(json->out, "%lld", (long long)integer);
}

void cli_json_real(cli_json *json, const char *key, double real) {
  char text[CLI_SUM_TEXT];
  cli_real_text(real, text);
  begin_member(json, key);
  (void)fprintf(json->out, isfinite(real) ? "%s" : "\"%s\"", text);
}

void cli_json_seconds(cli_json *json, const char *key, double seconds) {
  begin_member(json, key);
  (void)fprintf(json->out, "%.6f", seconds);
}

void cli_json_flag(cli_json *json, const char *key, bool flag) {
  begin_member(json, key);
  (void)fputs(flag ? "true" : "false", json->out);
}

void cli_json_null(cli_json *json, const char *key) {
  begin_member(json, key);
  (void)fputs("null", json->out);
}

void cli_json_number(cli_json *json, const char *key, const char *text) {
  begin_member(json, key);
  (void)fputs(text, json->out);
}

void cli_json_sum(cli_json *json, const char *key, dzo_weight_sum sum) {
  if (sum.type == DZO_WEIGHT_F32 || sum.type == DZO_WEIGHT_F64) {
    cli_json_real(json, key, sum.real);
    return;
  }
  char text[CLI_SUM_TEXT];
  cli_sum_text(sum, text);
  begin_member(json, key);
  (void)fputs(text, json->out);
}
