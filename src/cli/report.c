/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Messages, exits, and numbers as text. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/signals.h"
#include "device/device.h"
#include "io/numeral.h"

__extension__ typedef unsigned __int128 u128;

void cli_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)fputs("dzo: ", stderr);
  (void)vfprintf(stderr, format, arguments);
  (void)fputc('\n', stderr);
  va_end(arguments);
}

void cli_note(cli_call *call, const char *format, ...) {
  if (call->common->quiet)
    return;
  cli_progress_clear(&call->progress);
  va_list arguments;
  va_start(arguments, format);
  (void)fputs("dzo: ", stderr);
  (void)vfprintf(stderr, format, arguments);
  (void)fputc('\n', stderr);
  va_end(arguments);
}

void cli_tell_notice(cli_call *call) {
  const char *notice = dzo_context_notice(call->context);
  if (notice[0] != '\0')
    cli_note(call, "%s", notice);
}

static cli_exit exit_of(dzo_status status, cli_exit otherwise) {
  switch (status) {
  case DZO_OK:
    return CLI_DONE;
  case DZO_E_DEVICE:
    return CLI_NO_DEVICE;
  case DZO_E_MEMORY:
  case DZO_E_DEVICE_FAILED:
  case DZO_E_CANCELLED:
  case DZO_E_INTERNAL:
    return CLI_FAILED;
  case DZO_E_ARGUMENT:
  case DZO_E_IO:
  case DZO_E_FORMAT:
  case DZO_E_UNSUPPORTED:
  case DZO_E_LIMIT:
    return otherwise;
  }
  return CLI_FAILED;
}

cli_exit cli_fail(cli_call *call, dzo_status status, cli_exit otherwise) {
  cli_progress_clear(&call->progress);
  if (cli_pipe_closed())
    return CLI_FAILED; /* whoever read our output has gone: nothing to tell */
  if (status == DZO_E_CANCELLED && cli_signal_caught() != 0) {
    if (!call->common->quiet)
      cli_error("stopped");
    return CLI_FAILED;
  }
  const char *message = call->context != NULL ? dzo_context_message(call->context) : "";
  const char *text = message[0] != '\0' ? message : dzo_status_text(status);
  if (status == DZO_E_MEMORY)
    cli_error("out of memory: %s", text);
  else
    cli_error("%s", text);
  return exit_of(status, otherwise);
}

cli_exit cli_flush(cli_call *call) {
  errno = 0;
  bool bad = fflush(stdout) != 0 || ferror(stdout) != 0;
  if (!bad)
    return CLI_DONE;
  cli_progress_clear(&call->progress);
  if (!cli_pipe_closed())
    cli_error("<stdout>: writing failed: %s", strerror(errno != 0 ? errno : EIO));
  return CLI_FAILED;
}

cli_exit cli_no_gpu(const cli_call *call) {
  int count;
  const char *reason;
  dzo_devices(NULL, 0, &count, &reason);
  if (reason[0] != '\0') {
    cli_error("there is no GPU to use: %s", reason);
    return CLI_NO_DEVICE;
  }
  /* There is one. What is wrong with it is noted by a context that only would like to have it. */
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device_index = call->common->device.index;
  dzo_context *context = NULL;
  if (dzo_context_create(&options, &context) == DZO_OK)
    (void)dzo_context_gpu(context);
  cli_error("%s", context != NULL && dzo_context_notice(context)[0] != '\0'
                      ? dzo_context_notice(context)
                      : "the GPU cannot be used");
  dzo_context_destroy(context);
  return CLI_NO_DEVICE;
}

cli_exit cli_open_context(cli_call *call) {
  const cli_common *common = call->common;
  cli_progress_init(&call->progress, !common->quiet && !common->no_progress);
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = common->device.kind;
  options.device_index = common->device.index;
  options.threads = (int)common->threads;
  options.memory = common->memory;
  options.gpu_memory = common->gpu_memory;
  options.progress = cli_progress_report;
  options.progress_user = &call->progress;
  dzo_status status = dzo_context_create(&options, &call->context);
  if (status == DZO_E_DEVICE)
    return cli_no_gpu(call);
  return status == DZO_OK ? CLI_DONE : cli_fail(call, status, CLI_FAILED);
}

double cli_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t cli_file_size(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0)
    return 0;
  return (uint64_t)status.st_size;
}

bool cli_reads_once(const char *path) {
  struct stat status;
  if (strcmp(path, "-") == 0)
    return true;
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode) &&
         !S_ISDIR(status.st_mode);
}

bool cli_same_file(const char *a, const char *b) {
  struct stat of_a, of_b;
  if (a == NULL || b == NULL || strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
    return false;
  bool a_is_there = stat(a, &of_a) == 0, b_is_there = stat(b, &of_b) == 0;
  if (!a_is_there || !b_is_there)
    return !a_is_there && !b_is_there && strcmp(a, b) == 0;
  return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

const char *cli_device_name(dzo_device device) {
  switch (device) {
  case DZO_DEVICE_CUDA:
    return "cuda";
  case DZO_DEVICE_HYBRID:
    return "hybrid";
  case DZO_DEVICE_AUTO:
  case DZO_DEVICE_CPU:
    break;
  }
  return "cpu";
}

FILE *cli_report_stream(const char *path) {
  return path != NULL && strcmp(path, "-") == 0 ? stderr : stdout;
}

void cli_real_text(double x, char text[CLI_SUM_TEXT]) { *dzo_put_f64(text, x) = '\0'; }

static char *put_u128(char *to, u128 x) {
  char digits[40];
  int count = 0;
  do {
    digits[count++] = (char)('0' + (int)(x % 10));
    x /= 10;
  } while (x != 0);
  while (count > 0)
    *to++ = digits[--count];
  return to;
}

void cli_sum_text(dzo_weight_sum sum, char text[CLI_SUM_TEXT]) {
  if (sum.type == DZO_WEIGHT_F32 || sum.type == DZO_WEIGHT_F64) {
    cli_real_text(sum.real, text);
    return;
  }
  u128 value = (u128)(uint64_t)sum.high << 64 | sum.low;
  if (sum.high < 0)
    *text++ = '-';
  *put_u128(text, sum.high < 0 ? (u128)0 - value : value) = '\0';
}

void cli_seconds_text(double seconds, char text[32]) {
  if (seconds < 1)
    (void)snprintf(text, 32, "%.3g ms", 1e3 * seconds);
  else
    (void)snprintf(text, 32, "%.3g s", seconds);
}

void cli_print_phase(FILE *out, const char *name, double seconds) {
  char text[32];
  if (seconds <= 0)
    return;
  cli_seconds_text(seconds, text);
  (void)fprintf(out, "%s %s, ", name, text);
}

void cli_bytes_text(uint64_t bytes, char text[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = (double)bytes;
  size_t unit = 0;
  while (amount >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
    amount /= 1024;
    unit++;
  }
  (void)snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", amount, units[unit]);
}
