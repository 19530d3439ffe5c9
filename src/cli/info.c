/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo info: what this program is and what it could run on. */
#include "cli/cli.h"
#include "cli/json.h"
#include "device/device.h"

enum { MOST_DEVICES = 64 };

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

typedef struct info_settings {
  cli_common common;
} info_settings;

/* Versions of CUDA, "13.0"; "" for none. The runtime is in this program, the driver in the system.
 */
typedef struct cuda_versions {
  char runtime[16];
  char driver[16];
} cuda_versions;

static void version_text(int version, char text[16]) {
  text[0] = '\0';
  if (version > 0)
    (void)snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

static cuda_versions find_versions(void) {
  int runtime = 0, driver = 0;
  if (dzo_backend_cuda.versions != NULL)
    dzo_backend_cuda.versions(&runtime, &driver);
  cuda_versions versions;
  version_text(runtime, versions.runtime);
  version_text(driver, versions.driver);
  return versions;
}

static const char *or_null(const char *text) { return text[0] != '\0' ? text : NULL; }

static const char *kind_name(dzo_device kind) { return kind == DZO_DEVICE_CUDA ? "cuda" : "cpu"; }

static void print_json(const dzo_device_info *devices, int count, const char *reason) {
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_text(&json, "version", dzo_version());
  cli_json_open_object(&json, "build");
  cli_json_text(&json, "compiler", COMPILER);
  cli_json_text(&json, "threads", "pthreads");
  cli_json_close_object(&json);
  cli_json_open_object(&json, "cuda");
  cuda_versions versions = find_versions();
  cli_json_flag(&json, "built", versions.runtime[0] != '\0');
  cli_json_text(&json, "runtime", or_null(versions.runtime));
  cli_json_text(&json, "driver", or_null(versions.driver));
  cli_json_text(&json, "reason", or_null(reason));
  cli_json_close_object(&json);
  cli_json_open_array(&json, "devices");
  for (int i = 0; i < count; i++) {
    cli_json_open_object(&json, NULL);
    cli_json_text(&json, "name", devices[i].name);
    cli_json_text(&json, "kind", kind_name(devices[i].kind));
    cli_json_integer(&json, "index", devices[i].index);
    cli_json_integer(&json, "processors", devices[i].processors);
    cli_json_count(&json, "memory", devices[i].memory);
    cli_json_close_object(&json);
  }
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

static void print_text(const dzo_device_info *devices, int count, const char *reason) {
  char memory[32];
  cuda_versions versions = find_versions();
  (void)printf("version   %s\ncompiler  %s\nthreads   %s\n", dzo_version(), COMPILER, "pthreads");
  if (versions.runtime[0] == '\0')
    (void)printf("cuda      not built in\n");
  else
    (void)printf("cuda      %s built in, %s%s\n", versions.runtime,
                 versions.driver[0] != '\0' ? "driver for " : "no driver", versions.driver);
  for (int i = 0; i < count; i++) {
    cli_bytes_text(devices[i].memory, memory);
    (void)printf("device    %s:%d  %s, %d %s, %s\n", kind_name(devices[i].kind), devices[i].index,
                 devices[i].name, devices[i].processors,
                 devices[i].kind == DZO_DEVICE_CUDA ? "multiprocessors" : "processors", memory);
  }
  if (reason[0] != '\0')
    (void)printf("no gpu    %s\n", reason);
}

static cli_exit run(cli_call *call) {
  dzo_device_info devices[MOST_DEVICES];
  int count;
  const char *reason;
  dzo_devices(devices, MOST_DEVICES, &count, &reason);
  if (count > MOST_DEVICES)
    count = MOST_DEVICES;
  if (call->common->json)
    print_json(devices, count, reason);
  else
    print_text(devices, count, reason);
  return CLI_DONE;
}

static const char *const examples[] = {"dzo info", "dzo info --json", NULL};

const cli_command cli_info_command = {
    .name = "info",
    .summary = "Show the version, how it was built, and the devices it can use",
    .settings_size = sizeof(info_settings),
    .examples = examples,
    .run = run};
