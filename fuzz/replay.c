/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Without libFuzzer: run a fuzz target on files, and on damaged copies of them that are the same
 * every time. Usage: PROGRAM FILE|FOLDER... */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAMAGED_COPIES = 20, MOST_DAMAGED = 1 << 14, MOST_BYTES = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long runs;

static void run(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1); /* so that a sanitizer sees its end */
  if (copy == NULL)
    abort();
  memcpy(copy, data, size);
  (void)LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  runs++;
}

/* Cut the file, change some of its bytes, or repeat a part of it. */
static void run_damaged(uint8_t *data, size_t size, uint64_t seed) {
  static uint8_t copy[2 * MOST_DAMAGED];
  memcpy(copy, data, size);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < 3; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    size_t at = (size_t)(state >> 33) % (size + 1);
    switch (state >> 60 & 3) {
    case 0:
      size = at > 0 ? at : size;
      break;
    case 1:
      if (at < size && 2 * size - at <= sizeof copy) {
        memmove(copy + size, copy + at, size - at);
        size = 2 * size - at;
      }
      break;
    default:
      copy[at < size ? at : size - 1] = (uint8_t) "0123456789 \n-.%e\xff\0a#"[state >> 40 & 15];
    }
  }
  run(copy, size);
}

static void run_file(const char *path) {
  static uint8_t data[MOST_BYTES];
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  size_t size = fread(data, 1, sizeof data, file);
  (void)fclose(file);
  run(data, size);
  for (uint64_t i = 0; size > 0 && size <= MOST_DAMAGED && i < DAMAGED_COPIES; i++)
    run_damaged(data, size, i + size);
}

static void run_path(const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) {
    run_file(path);
    return;
  }
  for (struct dirent *item; (item = readdir(folder)) != NULL;) {
    char inner[4096];
    if (item->d_name[0] == '.')
      continue;
    (void)snprintf(inner, sizeof inner, "%s/%s", path, item->d_name);
    run_path(inner);
  }
  (void)closedir(folder);
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++)
    run_path(arguments[i]);
  printf("%lu inputs\n", runs);
  return runs > 0 ? 0 : 1;
}
