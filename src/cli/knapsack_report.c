/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo knapsack: what was found, for people and for programs. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/knapsack.h"

static uint64_t taken_kinds(const knapsack_job *job, uint64_t k) {
  uint64_t kinds = 0;
  for (uint64_t i = job->set.offsets[k]; i < job->set.offsets[k + 1]; i++)
    kinds += job->taken[i] != 0;
  return kinds;
}

static const char *name_of(const dzo_knapsack_set *set, uint64_t k) {
  uint64_t place = set->origins[k].name;
  return place != UINT64_MAX ? set->text + place : NULL;
}

static const char *item_name(const dzo_knapsack_set *set, uint64_t i) {
  bool named = set->names != NULL && set->names[i] != UINT64_MAX;
  return named ? set->text + set->names[i] : NULL;
}

static bool has_names(const dzo_knapsack_set *set, uint64_t k) {
  for (uint64_t i = set->offsets[k]; set->names != NULL && i < set->offsets[k + 1]; i++)
    if (set->names[i] != UINT64_MAX)
      return true;
  return false;
}

static bool has_copies(const dzo_knapsack_set *set, uint64_t k) {
  for (uint64_t i = set->offsets[k]; set->copies != NULL && i < set->offsets[k + 1]; i++)
    if (set->copies[i] != 1)
      return true;
  return false;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

enum { JSON_NUMBERS, JSON_COPIES, JSON_NAMES };

/* On one line: there may be many. */
static void json_items(cli_json *json, const knapsack_job *job, uint64_t k, const char *key,
                       int what) {
  uint64_t first = job->set.offsets[k], end = job->set.offsets[k + 1];
  bool compact = json->compact;
  cli_json_open_array(json, key);
  json->compact = true;
  for (uint64_t i = first; i < end; i++) {
    if (job->taken[i] == 0)
      continue;
    if (what == JSON_NUMBERS)
      cli_json_count(json, NULL, i - first);
    else if (what == JSON_COPIES)
      cli_json_integer(json, NULL, job->taken[i]);
    else
      cli_json_text(json, NULL, item_name(&job->set, i));
  }
  cli_json_close_array(json);
  json->compact = compact;
}

static void json_sums(cli_json *json, const knapsack_job *job, uint64_t k) {
  const dzo_knapsack_origin *origin = &job->set.origins[k];
  char text[DZO_DECIMAL_TEXT];
  if (job->outcomes[k] == DZO_KNAPSACK_INFEASIBLE) {
    cli_json_null(json, "value");
    cli_json_null(json, "weight");
    cli_json_null(json, "bound");
    cli_json_null(json, "gap");
    return;
  }
  double gap = cli_knapsack_gap(job->value_sums[k], job->bounds[k]);
  cli_knapsack_value_text(origin, job->value_sums[k], text);
  cli_json_number(json, "value", text);
  cli_knapsack_weight_text(origin, job->weight_sums[k], text);
  cli_json_number(json, "weight", text);
  cli_knapsack_value_text(origin, job->bounds[k], text);
  cli_json_number(json, "bound", text);
  if (isfinite(gap))
    cli_json_real(json, "gap", gap);
  else
    cli_json_null(json, "gap");
}

static void json_instance(cli_json *json, const knapsack_job *job, uint64_t k) {
  const dzo_knapsack_set *set = &job->set;
  const dzo_knapsack_origin *origin = &set->origins[k];
  char text[DZO_DECIMAL_TEXT];
  cli_json_text(json, "file", cli_knapsack_file(job, k));
  cli_json_text(json, "format", dzo_knapsack_format_name(origin->format));
  cli_json_text(json, "name", name_of(set, k));
  cli_json_count(json, "count", set->offsets[k + 1] - set->offsets[k]);
  cli_knapsack_weight_text(origin, cli_knapsack_wide(set->capacities[k]), text);
  cli_json_number(json, "capacity", text);
  cli_json_text(json, "status", cli_knapsack_outcome(job->outcomes[k]));
  json_sums(json, job, k);
  json_items(json, job, k, "items", JSON_NUMBERS);
  if (has_copies(set, k))
    json_items(json, job, k, "copies", JSON_COPIES);
  if (has_names(set, k))
    json_items(json, job, k, "names", JSON_NAMES);
}

static void json_run(cli_json *json, const knapsack_job *job) {
  cli_json_text(json, "reason", job->reason[0] != '\0' ? job->reason : NULL);
  cli_json_integer(json, "threads", dzo_context_threads(job->call->context));
  cli_json_open_object(json, "seconds");
  cli_json_seconds(json, "read", job->read);
  cli_json_seconds(json, "solve", job->solve);
  cli_json_seconds(json, "verify", job->verify);
  cli_json_seconds(json, "write", job->write);
  cli_json_seconds(json, "total", job->total);
  cli_json_close_object(json);
  if (job->verified)
    cli_json_flag(json, "verified", true);
  else
    cli_json_null(json, "verified");
}

static void json_batch(cli_json *json, const knapsack_job *job) {
  static const char *const names[] = {"optimal", "feasible", "infeasible"};
  uint64_t outcomes[3] = {0, 0, 0};
  for (uint64_t k = 0; k < job->set.count; k++)
    outcomes[job->outcomes[k] < 3 ? job->outcomes[k] : 1]++;
  cli_json_count(json, "count", job->set.count);
  for (int i = 0; i < 3; i++)
    cli_json_count(json, names[i], outcomes[i]);
  cli_json_text(json, "algorithm", job->settings->algorithm);
  cli_json_text(json, "device", cli_device_name(job->device));
  json_run(json, job);
  cli_json_open_array(json, "instances");
  for (uint64_t k = 0; k < job->set.count; k++) {
    cli_json_open_object(json, NULL);
    json_instance(json, job, k);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void report_json(const knapsack_job *job) {
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  if (job->set.count == 1) {
    json_instance(&json, job, 0);
    cli_json_text(&json, "algorithm", dzo_knapsack_algorithm_name(job->algorithm));
    cli_json_text(&json, "plan", job->plan);
    cli_json_text(&json, "device", cli_device_name(job->device));
    cli_json_count(&json, "nodes", job->nodes);
    cli_json_count(&json, "cells", job->cells);
    json_run(&json, job);
  } else {
    json_batch(&json, job);
  }
  cli_json_close_object(&json);
}

/* ---- Text ------------------------------------------------------------------------------------ */

enum { LABEL = 14, WIDTH = 80, SHOWN_ON_TERMINAL = 100 };

/* Text of a file, for a terminal. */
static void print_name(FILE *out, const char *name) {
  for (; *name != '\0'; name++)
    (void)fputc((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name, out);
}

/* Numbers of items, several a line. */
static void print_numbers(FILE *out, const knapsack_job *job, uint64_t most) {
  int column = 0;
  for (uint64_t i = 0, shown = 0; i < job->set.items && shown < most; i++) {
    char text[64];
    int length;
    if (job->taken[i] == 0)
      continue;
    length = job->taken[i] == 1 ? snprintf(text, sizeof text, "%llu", (unsigned long long)i)
                                : snprintf(text, sizeof text, "%llux%lld", (unsigned long long)i,
                                           (long long)job->taken[i]);
    if (column > 0 && column + 1 + length > WIDTH) {
      (void)fputc('\n', out);
      column = 0;
    }
    column += column == 0 ? fprintf(out, "%*s%s", LABEL, "", text) : fprintf(out, " %s", text);
    shown++;
  }
  (void)fputs(column > 0 ? "\n" : "", out);
}

/* Items that have names, one a line. */
static void print_named(FILE *out, const knapsack_job *job, uint64_t most) {
  for (uint64_t i = 0, shown = 0; i < job->set.items && shown < most; i++) {
    const char *name = item_name(&job->set, i);
    if (job->taken[i] == 0)
      continue;
    (void)fprintf(out, "%*s%llu  ", LABEL, "", (unsigned long long)i);
    if (job->taken[i] != 1)
      (void)fprintf(out, "x%lld  ", (long long)job->taken[i]);
    print_name(out, name != NULL ? name : "");
    (void)fputc('\n', out);
    shown++;
  }
}

static void print_taken(FILE *out, const knapsack_job *job) {
  uint64_t kinds = taken_kinds(job, 0);
  bool some = isatty(fileno(out)) != 0 && kinds > SHOWN_ON_TERMINAL;
  uint64_t most = some ? SHOWN_ON_TERMINAL : kinds;
  (void)fprintf(out, "taken         %llu of %llu items\n", (unsigned long long)kinds,
                (unsigned long long)job->set.items);
  if (has_names(&job->set, 0))
    print_named(out, job, most);
  else
    print_numbers(out, job, most);
  if (some)
    (void)fprintf(out, "%*s... (all with -o FILE, or --json)\n", LABEL, "");
}

static void print_sums(FILE *out, const knapsack_job *job) {
  const dzo_knapsack_origin *origin = &job->set.origins[0];
  char value[DZO_DECIMAL_TEXT], weight[DZO_DECIMAL_TEXT], capacity[DZO_DECIMAL_TEXT];
  char bound[DZO_DECIMAL_TEXT], above[32] = "";
  double gap = cli_knapsack_gap(job->value_sums[0], job->bounds[0]);
  if (isfinite(gap))
    (void)snprintf(above, sizeof above, " (%.2g %% above)", 100 * gap);
  cli_knapsack_weight_text(origin, cli_knapsack_wide(job->set.capacities[0]), capacity);
  if (job->outcomes[0] == DZO_KNAPSACK_INFEASIBLE) {
    (void)fprintf(out, "infeasible    even the lightest choice is over the capacity %s\n",
                  capacity);
    return;
  }
  cli_knapsack_value_text(origin, job->value_sums[0], value);
  cli_knapsack_weight_text(origin, job->weight_sums[0], weight);
  cli_knapsack_value_text(origin, job->bounds[0], bound);
  (void)fprintf(out, "value         %s\nweight        %s of %s\n", value, weight, capacity);
  if (job->outcomes[0] == DZO_KNAPSACK_OPTIMAL)
    (void)fputs("proof         optimal: no choice is worth more\n", out);
  else
    (void)fprintf(out, "proof         no choice is worth more than %s%s\n", bound, above);
}

static void print_times(FILE *out, const knapsack_job *job) {
  char total[32];
  (void)fputs("time          ", out);
  cli_print_phase(out, "read", job->read);
  cli_print_phase(out, "solve", job->solve);
  cli_print_phase(out, "verify", job->verify);
  cli_print_phase(out, "write", job->write);
  cli_seconds_text(job->total, total);
  (void)fprintf(out, "total %s\n", total);
  if (job->verified)
    (void)fputs("verified      the items add up, and fit\n", out);
}

static void report_one(const knapsack_job *job, FILE *out) {
  const char *name = name_of(&job->set, 0);
  (void)fputs("instance      ", out);
  if (name != NULL) {
    print_name(out, name);
    (void)fputs(" of ", out);
  }
  (void)fprintf(out, "%s (%s)\n", cli_knapsack_file(job, 0),
                dzo_knapsack_format_name(job->set.origins[0].format));
  print_sums(out, job);
  if (job->outcomes[0] != DZO_KNAPSACK_INFEASIBLE)
    print_taken(out, job);
  (void)fprintf(out, "method        %s\n", job->plan);
  print_times(out, job);
}

/* An instance a line. */
static void report_batch(const knapsack_job *job, FILE *out) {
  const dzo_knapsack_set *set = &job->set;
  (void)fprintf(out, "%8s  %-10s  %14s  %14s  %14s  %7s  %7s  %s\n", "instance", "status", "value",
                "weight", "capacity", "taken", "items", "name");
  for (uint64_t k = 0; k < set->count; k++) {
    const dzo_knapsack_origin *origin = &set->origins[k];
    const char *name = name_of(set, k);
    char value[DZO_DECIMAL_TEXT] = "-", weight[DZO_DECIMAL_TEXT] = "-", capacity[DZO_DECIMAL_TEXT];
    if (job->outcomes[k] != DZO_KNAPSACK_INFEASIBLE) {
      cli_knapsack_value_text(origin, job->value_sums[k], value);
      cli_knapsack_weight_text(origin, job->weight_sums[k], weight);
    }
    cli_knapsack_weight_text(origin, cli_knapsack_wide(set->capacities[k]), capacity);
    (void)fprintf(out, "%8llu  %-10s  %14s  %14s  %14s  %7llu  %7llu  ", (unsigned long long)k,
                  cli_knapsack_outcome(job->outcomes[k]), value, weight, capacity,
                  (unsigned long long)taken_kinds(job, k),
                  (unsigned long long)(set->offsets[k + 1] - set->offsets[k]));
    print_name(out, name != NULL ? name : cli_knapsack_file(job, k));
    (void)fputc('\n', out);
  }
  print_times(out, job);
}

void cli_knapsack_report(const knapsack_job *job) {
  FILE *out = cli_report_stream(job->settings->output);
  if (job->call->common->json) {
    report_json(job);
    return;
  }
  if (out == stderr && job->call->common->quiet)
    return;
  if (job->set.count == 1)
    report_one(job, out);
  else
    report_batch(job, out);
}
