/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One value of an option: text in, checked value out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Digits only, no sign, no overflow. */
static bool parse_digits(const char **text, uint64_t *out) {
  const char *p = *text;
  uint64_t value = 0;
  if (*p < '0' || *p > '9')
    return false;
  for (; *p >= '0' && *p <= '9'; p++) {
    if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
        __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
      return false;
  }
  *text = p;
  *out = value;
  return true;
}

static bool parse_count(const cli_option *option, const char *text, uint64_t *out, char *why,
                        size_t why_size) {
  const char *p = text;
  if (parse_digits(&p, out) && *p == '\0' && *out >= option->minimum && *out <= option->maximum)
    return true;
  (void)snprintf(why, why_size, "'%s' is not a whole number from %llu to %llu", text,
                 (unsigned long long)option->minimum, (unsigned long long)option->maximum);
  return false;
}

static bool parse_real(const cli_option *option, const char *text, double *out, char *why,
                       size_t why_size) {
  char *end;
  errno = 0;
  double value = strtod(text, &end);
  if (end != text && *end == '\0' && errno == 0 && value >= option->least &&
      value <= option->most) {
    *out = value;
    return true;
  }
  (void)snprintf(why, why_size, "'%s' is not a number from %g to %g", text, option->least,
                 option->most);
  return false;
}

/* The power of two that a suffix stands for; -1 if it is none. */
static int suffix_shift(const char *suffix) {
  static const char letters[] = "KMGT";
  if (*suffix == '\0')
    return 0;
  char letter = *suffix >= 'a' && *suffix <= 'z' ? (char)(*suffix - 'a' + 'A') : *suffix;
  const char *found = strchr(letters, letter);
  const char *rest = suffix + 1;
  if (found == NULL)
    return -1;
  if (*rest != '\0' && strcmp(rest, "B") != 0 && strcmp(rest, "iB") != 0)
    return -1;
  return 10 * (int)(found - letters + 1);
}

static bool parse_bytes(const char *text, uint64_t *out, char *why, size_t why_size) {
  const char *p = text;
  uint64_t value;
  if (parse_digits(&p, &value)) {
    int shift = suffix_shift(p);
    if (shift >= 0 && value > 0 && value <= UINT64_MAX >> shift) {
      *out = value << shift;
      return true;
    }
  }
  (void)snprintf(why, why_size, "'%s' is not a number of bytes such as 800M or 16G", text);
  return false;
}

static bool parse_device(const char *text, cli_device *out, char *why, size_t why_size) {
  static const struct {
    const char *name;
    dzo_device kind;
  } names[] = {{"auto", DZO_DEVICE_AUTO},
               {"cpu", DZO_DEVICE_CPU},
               {"cuda", DZO_DEVICE_CUDA},
               {"hybrid", DZO_DEVICE_HYBRID}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(text, names[i].name) == 0) {
      *out = (cli_device){names[i].kind, 0};
      return true;
    }
  }
  uint64_t index;
  const char *p = text + 5;
  if (strncmp(text, "cuda:", 5) == 0 && parse_digits(&p, &index) && *p == '\0' && index < 1024) {
    *out = (cli_device){DZO_DEVICE_CUDA, (int)index};
    return true;
  }
  (void)snprintf(why, why_size, "'%s' is none of auto, cpu, cuda, cuda:N, hybrid", text);
  return false;
}

static bool parse_choice(const cli_option *option, const char *text, const char **out, char *why,
                         size_t why_size) {
  size_t used = 0;
  for (const char *const *choice = option->choices; *choice != NULL; choice++) {
    if (strcmp(text, *choice) == 0) {
      *out = *choice;
      return true;
    }
  }
  used = (size_t)snprintf(why, why_size, "'%s' is none of", text);
  for (const char *const *choice = option->choices; *choice != NULL && used < why_size; choice++)
    used += (size_t)snprintf(why + used, why_size - used, "%s %s",
                             choice == option->choices ? "" : ",", *choice);
  return false;
}

bool cli_parse_value(const cli_option *option, const char *text, void *settings, char *why,
                     size_t why_size) {
  void *member = (char *)settings + option->offset;
  switch (option->kind) {
  case CLI_FLAG:
    *(bool *)member = true;
    return true;
  case CLI_TEXT:
  case CLI_FILE:
    *(const char **)member = text;
    if (*text != '\0')
      return true;
    (void)snprintf(why, why_size, "is empty");
    return false;
  case CLI_CHOICE:
    return parse_choice(option, text, member, why, why_size);
  case CLI_COUNT:
    return parse_count(option, text, member, why, why_size);
  case CLI_REAL:
    return parse_real(option, text, member, why, why_size);
  case CLI_BYTES:
    return parse_bytes(text, member, why, why_size);
  case CLI_DEVICE:
    return parse_device(text, member, why, why_size);
  }
  return false;
}
