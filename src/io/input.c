/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _DEFAULT_SOURCE
#define _FILE_OFFSET_BITS 64
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/unpack.h"

enum { HEAD_BYTES = 1 << 18, NAME_BYTES = 256, LOAD_STEP = 1 << 20 };

struct dzo_input {
  dzo_context *context;
  dzo_context *told; /* of what fails: the context, or that of the reader */
  char name[NAME_BYTES];
  /* The stored bytes: a descriptor or the caller's memory. */
  int descriptor; /* -1: none */
  bool owns_descriptor;
  bool seekable;               /* a regular file from its first byte on */
  const unsigned char *memory; /* stored bytes in memory, or NULL */
  uint64_t stored_size;        /* 0: unknown */
  uint64_t stored_read;        /* bytes taken so far, sequentially */
  dzo_unpacker *unpacker;      /* or NULL: not packed */
  bool ended;                  /* sequential reading has met the end */
  /* The content. */
  const unsigned char *data; /* whole content, or NULL */
  uint64_t size;             /* UINT64_MAX: unknown */
  void *mapping;             /* to unmap, or NULL */
  size_t mapping_size;
  unsigned char *owned; /* to free, or NULL */
  unsigned char *head;  /* of a stream */
  size_t head_size;
  uint64_t position; /* of dzo_input_read() */
};

static dzo_status fail_io(const dzo_input *input, const char *verb) {
  return dzo_fail(input->told, DZO_E_IO, "%s: cannot %s: %s", input->name, verb, strerror(errno));
}

/* ---- Stored bytes, in order ------------------------------------------------------------------ */

/* Wait for the bytes of a pipe; whoever reads may be a thread that no signal wakes. */
static void wait_for_bytes(const dzo_input *input) {
  enum { MILLISECONDS = 100 };
  struct pollfd ready = {.fd = input->descriptor, .events = POLLIN};
  while (!dzo_is_cancelled(input->context) && poll(&ready, 1, MILLISECONDS) == 0) {
  }
}

static dzo_status read_stored(void *user, void *buffer, size_t capacity, size_t *got) {
  dzo_input *input = user;
  *got = 0;
  if (input->memory != NULL) {
    uint64_t left = input->stored_size - input->stored_read;
    *got = left < capacity ? (size_t)left : capacity;
    memcpy(buffer, input->memory + input->stored_read, *got);
    input->stored_read += *got;
    return DZO_OK;
  }
  while (*got < capacity) {
    char *to = (char *)buffer + *got;
    if (!input->seekable)
      wait_for_bytes(input);
    if (dzo_is_cancelled(input->context))
      return dzo_fail(input->told, DZO_E_CANCELLED, "cancelled during read");
    ssize_t n = input->seekable
                    ? pread(input->descriptor, to, capacity - *got, (off_t)input->stored_read)
                    : read(input->descriptor, to, capacity - *got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_io(input, "read");
    if (n == 0)
      break;
    *got += (size_t)n;
    input->stored_read += (uint64_t)n;
  }
  return DZO_OK;
}

/* The next bytes of the content, in order; *got < capacity only at the end. */
static dzo_status read_content(dzo_input *input, void *buffer, size_t capacity, size_t *got) {
  *got = 0;
  if (input->ended)
    return DZO_OK;
  dzo_status status = input->unpacker != NULL
                          ? dzo_unpacker_read(input->told, input->unpacker, buffer, capacity, got)
                          : read_stored(input, buffer, capacity, got);
  if (status == DZO_OK && *got < capacity)
    input->ended = true;
  return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static dzo_status open_descriptor(dzo_input *input, const char *path) {
  if (strcmp(path, "-") == 0) {
    input->descriptor = STDIN_FILENO;
  } else {
    input->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (input->descriptor < 0)
      return fail_io(input, "open");
    input->owns_descriptor = true;
  }
  struct stat about;
  if (fstat(input->descriptor, &about) != 0)
    return fail_io(input, "open");
  if (S_ISDIR(about.st_mode))
    return dzo_fail(input->context, DZO_E_IO, "%s: is a directory", input->name);
  /* Files of size 0 may be made up on reading, as those under /proc are. */
  if (S_ISREG(about.st_mode) && about.st_size > 0 && lseek(input->descriptor, 0, SEEK_CUR) == 0) {
    input->seekable = true;
    input->stored_size = (uint64_t)about.st_size;
  }
  return DZO_OK;
}

/* Take the first bytes into the head, unpacking from there on if they are packed. */
static dzo_status fill_head(dzo_input *input) {
  bool small = input->memory != NULL || input->seekable;
  small = small && input->stored_size < HEAD_BYTES;
  size_t capacity = small ? (size_t)input->stored_size + 1 : HEAD_BYTES;
  input->head = dzo_alloc(input->context, capacity, 1);
  if (input->head == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(read_content(input, input->head, capacity, &input->head_size));
  dzo_packing packing = dzo_packing_of(input->head, input->head_size);
  if (packing == DZO_PACKING_NONE) {
    if (input->ended)
      input->size = input->head_size;
    else if (input->stored_size > 0)
      input->size = input->stored_size;
    return DZO_OK;
  }
  DZO_TRY(dzo_unpacker_create(input->context, packing, input->name, input->head, input->head_size,
                              read_stored, input, &input->unpacker));
  input->ended = false;
  dzo_free(input->head);
  input->head = dzo_alloc(input->context, HEAD_BYTES, 1);
  if (input->head == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(read_content(input, input->head, HEAD_BYTES, &input->head_size));
  if (input->ended)
    input->size = input->head_size;
  return DZO_OK;
}

static dzo_status map_file(dzo_input *input) {
  if (input->stored_size > SIZE_MAX / 2)
    return dzo_fail(input->context, DZO_E_UNSUPPORTED, "%s: too large to map", input->name);
  void *at = mmap(NULL, (size_t)input->stored_size, PROT_READ, MAP_PRIVATE, input->descriptor, 0);
  if (at == MAP_FAILED)
    return DZO_E_IO; /* a file system that cannot map: it is read instead */
  (void)madvise(at, (size_t)input->stored_size, MADV_SEQUENTIAL);
  input->mapping = at;
  input->mapping_size = (size_t)input->stored_size;
  input->data = at;
  input->size = input->stored_size;
  return DZO_OK;
}

static dzo_status start(dzo_input *input, dzo_input_mode mode) {
  DZO_TRY(fill_head(input));
  if (mode == DZO_INPUT_STREAM)
    return DZO_OK;
  return dzo_input_load(input->context, input);
}

static dzo_status create(dzo_context *context, const char *name, dzo_input **out) {
  *out = NULL;
  dzo_input *input = dzo_calloc(context, 1, sizeof *input);
  if (input == NULL)
    return DZO_E_MEMORY;
  input->context = input->told = context;
  input->descriptor = -1;
  input->size = UINT64_MAX;
  (void)snprintf(input->name, sizeof input->name, "%s", name);
  *out = input;
  return DZO_OK;
}

dzo_status dzo_input_open(dzo_context *context, const char *path, dzo_input_mode mode,
                          dzo_input **out) {
  dzo_input *input;
  *out = NULL;
  DZO_TRY(create(context, strcmp(path, "-") == 0 ? "<stdin>" : path, &input));
  dzo_status status = open_descriptor(input, path);
  if (status == DZO_OK)
    status = start(input, mode);
  if (status != DZO_OK) {
    dzo_input_close(input);
    return status;
  }
  *out = input;
  return DZO_OK;
}

dzo_status dzo_input_open_memory(dzo_context *context, const char *name, const void *data,
                                 size_t size, dzo_input_mode mode, dzo_input **out) {
  dzo_input *input;
  *out = NULL;
  DZO_TRY(create(context, name, &input));
  input->memory = size > 0 ? data : (const unsigned char *)"";
  input->stored_size = size;
  dzo_status status = start(input, mode);
  if (status != DZO_OK) {
    dzo_input_close(input);
    return status;
  }
  *out = input;
  return DZO_OK;
}

void dzo_input_close(dzo_input *input) {
  if (input == NULL)
    return;
  dzo_unpacker_destroy(input->unpacker);
  if (input->mapping != NULL)
    (void)munmap(input->mapping, input->mapping_size);
  dzo_free(input->owned);
  dzo_free(input->head);
  if (input->owns_descriptor)
    (void)close(input->descriptor);
  dzo_free(input);
}

/* Read what is left behind the head into one growing block. */
static dzo_status load_rest(dzo_input *input) {
  uint64_t size = input->head_size, capacity = input->head_size;
  while (!input->ended) {
    if (capacity - size < LOAD_STEP) {
      uint64_t larger = capacity + capacity / 2 + 2 * LOAD_STEP;
      unsigned char *moved = dzo_realloc(input->context, input->head, larger, 1);
      if (moved == NULL)
        return DZO_E_MEMORY;
      input->head = moved;
      capacity = larger;
    }
    size_t got;
    DZO_TRY(read_content(input, input->head + size, LOAD_STEP, &got));
    size += got;
    uint64_t done, total;
    dzo_input_progress(input, &done, &total);
    DZO_TRY(dzo_progress(input->context, "read", done, total));
  }
  input->owned = input->head;
  input->head = NULL;
  input->data = input->owned;
  input->size = size;
  return DZO_OK;
}

dzo_status dzo_input_load(dzo_context *context, dzo_input *input) {
  (void)context;
  if (input->data != NULL)
    return DZO_OK;
  if (input->unpacker == NULL && input->seekable && map_file(input) == DZO_OK)
    return DZO_OK;
  if (input->unpacker == NULL && input->memory != NULL && (uintptr_t)input->memory % 8 == 0) {
    input->data = input->memory;
    input->size = input->stored_size;
    return DZO_OK;
  }
  if (input->position > 0)
    return dzo_fail(input->context, DZO_E_INTERNAL, "%s: loaded after reading", input->name);
  return load_rest(input);
}

/* ---- Looking and reading --------------------------------------------------------------------- */

const char *dzo_input_name(const dzo_input *input) { return input->name; }

const unsigned char *dzo_input_data(const dzo_input *input) { return input->data; }

uint64_t dzo_input_size(const dzo_input *input) { return input->size; }

const unsigned char *dzo_input_head(const dzo_input *input, size_t *size) {
  if (input->data == NULL) {
    *size = input->head_size;
    return input->head;
  }
  *size = input->size < HEAD_BYTES ? (size_t)input->size : HEAD_BYTES;
  return input->data;
}

bool dzo_input_is_random(const dzo_input *input) {
  return input->data != NULL ||
         (input->unpacker == NULL && (input->seekable || input->memory != NULL));
}

void dzo_input_will_need(const dzo_input *input, uint64_t offset, uint64_t bytes) {
  enum { PAGE = 1 << 16 };
  if (input->mapping == NULL || offset >= input->mapping_size)
    return;
  uint64_t begin = offset / PAGE * PAGE, left = input->mapping_size - begin;
  uint64_t length = bytes < left - (offset - begin) ? bytes + (offset - begin) : left;
  (void)madvise((char *)input->mapping + begin, (size_t)length, MADV_WILLNEED);
}

dzo_status dzo_input_read_at(dzo_context *context, dzo_input *input, uint64_t offset, void *buffer,
                             uint64_t bytes) {
  uint64_t size = input->size;
  if (offset > size || bytes > size - offset)
    return dzo_fail(context, DZO_E_FORMAT, "%s: ends at byte %llu, %llu more are promised",
                    input->name, (unsigned long long)size,
                    (unsigned long long)(bytes - (offset > size ? 0 : size - offset)));
  const unsigned char *from = input->data != NULL ? input->data : input->memory;
  if (from != NULL) {
    memcpy(buffer, from + offset, (size_t)bytes);
    return DZO_OK;
  }
  for (uint64_t done = 0; done < bytes;) {
    ssize_t n = pread(input->descriptor, (char *)buffer + done, (size_t)(bytes - done),
                      (off_t)(offset + done));
    if (n < 0 && errno != EINTR)
      return dzo_fail(context, DZO_E_IO, "%s: cannot read: %s", input->name, strerror(errno));
    if (n == 0)
      return dzo_fail(context, DZO_E_IO, "%s: was cut short while being read", input->name);
    if (n > 0)
      done += (uint64_t)n;
  }
  return DZO_OK;
}

dzo_status dzo_input_read(dzo_context *context, dzo_input *input, void *buffer, size_t capacity,
                          size_t *got) {
  const unsigned char *have = input->data != NULL ? input->data : input->head;
  uint64_t have_size = input->data != NULL ? input->size : input->head_size;
  *got = 0;
  if (input->position < have_size) {
    uint64_t left = have_size - input->position;
    *got = left < capacity ? (size_t)left : capacity;
    memcpy(buffer, have + input->position, *got);
    input->position += *got;
  }
  if (input->data != NULL || *got == capacity)
    return DZO_OK;
  size_t more;
  input->told = context;
  dzo_status status = read_content(input, (char *)buffer + *got, capacity - *got, &more);
  input->told = input->context;
  DZO_TRY(status);
  *got += more;
  input->position += more;
  return DZO_OK;
}

void dzo_input_progress(const dzo_input *input, uint64_t *done, uint64_t *total) {
  *total = input->stored_size;
  *done = input->stored_read;
}
