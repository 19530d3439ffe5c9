/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _XOPEN_SOURCE 700
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/parallel.h"

enum {
  BUFFER = 1 << 18,       /* bytes collected before a write */
  SLICE = 1 << 19,        /* bytes that one member of a team makes at a time */
  WRITE_AT_ONCE = 1 << 23 /* so that a cancel is seen between writes */
};

struct dzo_output {
  dzo_context *context;
  const char *name; /* for messages */
  char *target;     /* the file that will be replaced; NULL: written directly */
  char *temporary;
  char *buffer; /* [BUFFER] */
  uint64_t buffered;
  int file;
  bool standard; /* standard output, which stays open */
};

static dzo_status fail(const dzo_output *output, const char *what, int error) {
  return dzo_fail(output->context, DZO_E_IO, "%s: %s: %s", output->name, what, strerror(error));
}

static void destroy(dzo_output *output) {
  dzo_free(output->target);
  dzo_free(output->temporary);
  dzo_free(output->buffer);
  dzo_free(output);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static char *copy_text(dzo_context *context, const char *text, size_t room) {
  size_t length = strlen(text);
  char *copy = dzo_alloc(context, length + room + 1, 1);
  if (copy != NULL)
    memcpy(copy, text, length + 1);
  return copy;
}

/* A link stays a link: the file it leads to is the one to replace. */
static char *resolve(dzo_context *context, const char *path) {
  char *real = realpath(path, NULL);
  char *copy = copy_text(context, real != NULL ? real : path, 0);
  free(real);
  return copy;
}

static dzo_status open_direct(dzo_output *output, const char *path) {
  output->file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return output->file >= 0 ? DZO_OK : fail(output, "cannot be written", errno);
}

static dzo_status open_temporary(dzo_output *output, const char *path, const struct stat *old) {
  enum { SUFFIX = 40, TRIES = 1000 };
  output->target = resolve(output->context, path);
  if (output->target == NULL)
    return DZO_E_MEMORY;
  output->temporary = copy_text(output->context, output->target, SUFFIX);
  if (output->temporary == NULL)
    return DZO_E_MEMORY;
  char *suffix = output->temporary + strlen(output->temporary);
  for (int i = 0; i < TRIES && output->file < 0; i++) {
    (void)snprintf(suffix, SUFFIX, ".%ld-%d.tmp", (long)getpid(), i);
    output->file = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->file < 0 && errno != EEXIST)
      break;
  }
  if (output->file < 0)
    return fail(output, "cannot be created", errno);
  if (old != NULL)
    (void)fchmod(output->file, old->st_mode & 0777);
  return DZO_OK;
}

static dzo_status open_path(dzo_output *output, const char *path) {
  output->buffer = dzo_alloc(output->context, BUFFER, 1);
  if (output->buffer == NULL)
    return DZO_E_MEMORY;
  if (strcmp(path, "-") == 0) {
    output->name = "<stdout>";
    output->file = STDOUT_FILENO;
    output->standard = true;
    return DZO_OK;
  }
  struct stat old;
  if (stat(path, &old) != 0)
    return errno == ENOENT ? open_temporary(output, path, NULL)
                           : fail(output, "cannot be written", errno);
  if (S_ISDIR(old.st_mode))
    return fail(output, "cannot be written", EISDIR);
  if (!S_ISREG(old.st_mode))
    return open_direct(output, path);
  if (access(path, W_OK) != 0)
    return fail(output, "cannot be written", errno);
  return open_temporary(output, path, &old);
}

dzo_status dzo_output_open(dzo_context *context, const char *path, dzo_output **out) {
  *out = NULL;
  dzo_output *output = dzo_calloc(context, 1, sizeof *output);
  if (output == NULL)
    return DZO_E_MEMORY;
  output->context = context;
  output->name = path;
  output->file = -1;
  dzo_status status = open_path(output, path);
  if (status != DZO_OK)
    return dzo_output_close(output, status);
  *out = output;
  return DZO_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static dzo_status write_through(dzo_output *output, const char *data, uint64_t bytes) {
  while (bytes > 0) {
    if (dzo_is_cancelled(output->context))
      return dzo_fail(output->context, DZO_E_CANCELLED, "cancelled during write");
    ssize_t written =
        write(output->file, data, bytes < WRITE_AT_ONCE ? (size_t)bytes : WRITE_AT_ONCE);
    if (written < 0 && errno != EINTR)
      return fail(output, "writing failed", errno);
    if (written > 0) {
      data += written;
      bytes -= (uint64_t)written;
    }
  }
  return DZO_OK;
}

static dzo_status flush(dzo_output *output) {
  DZO_TRY(write_through(output, output->buffer, output->buffered));
  output->buffered = 0;
  return DZO_OK;
}

dzo_status dzo_output_write(dzo_output *output, const void *data, uint64_t bytes) {
  if (bytes > BUFFER - output->buffered)
    DZO_TRY(flush(output));
  if (bytes > BUFFER)
    return write_through(output, data, bytes);
  if (bytes > 0)
    memcpy(output->buffer + output->buffered, data, (size_t)bytes);
  output->buffered += bytes;
  return DZO_OK;
}

bool dzo_output_is_random(const dzo_output *output) { return output->target != NULL; }

dzo_status dzo_output_rewrite(dzo_output *output, uint64_t offset, const void *data,
                              uint64_t bytes) {
  DZO_TRY(flush(output));
  for (uint64_t done = 0; done < bytes;) {
    ssize_t written = pwrite(output->file, (const char *)data + done, (size_t)(bytes - done),
                             (off_t)(offset + done));
    if (written < 0 && errno != EINTR)
      return fail(output, "writing failed", errno);
    done += written > 0 ? (uint64_t)written : 0;
  }
  return DZO_OK;
}

dzo_status dzo_output_print(dzo_output *output, const char *format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text)
    return dzo_fail(output->context, DZO_E_INTERNAL, "%s: a line is too long", output->name);
  return dzo_output_write(output, text, (uint64_t)length);
}

/* ---- Items in parallel ----------------------------------------------------------------------- */

typedef struct slice {
  char *data;
  uint64_t bytes;
} slice;

typedef struct items_job {
  dzo_put_fn put;
  const void *argument;
  uint64_t first; /* item of this round */
  uint64_t grain;
  slice *slices;
} items_job;

static void put_slice(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  items_job *job = argument;
  slice *s = &job->slices[begin / job->grain];
  char *stop = job->put(job->argument, job->first + begin, job->first + end, s->data);
  s->bytes = (uint64_t)(stop - s->data);
}

static dzo_status put_rounds(dzo_output *output, uint64_t count, unsigned slices, items_job *job) {
  uint64_t round = job->grain * slices;
  for (job->first = 0; job->first < count; job->first += round) {
    uint64_t left = count - job->first, now = left < round ? left : round;
    dzo_parallel_for(output->context->threads, now, job->grain, put_slice, job);
    for (uint64_t i = 0; i < (now - 1) / job->grain + 1; i++)
      DZO_TRY(dzo_output_write(output, job->slices[i].data, job->slices[i].bytes));
    DZO_TRY(dzo_progress(output->context, "write", job->first + now, count));
  }
  return DZO_OK;
}

dzo_status dzo_output_items(dzo_output *output, uint64_t count, uint32_t widest, dzo_put_fn put,
                            const void *argument) {
  if (count == 0)
    return DZO_OK;
  uint64_t grain = widest < SLICE ? SLICE / widest : 1;
  unsigned slices = (unsigned)output->context->threads;
  if ((count - 1) / grain + 1 < slices)
    slices = (unsigned)((count - 1) / grain + 1);
  slice *list = dzo_calloc(output->context, slices, sizeof *list);
  if (list == NULL)
    return DZO_E_MEMORY;
  uint64_t room = (count < grain ? count : grain) * widest;
  char *data = dzo_alloc(output->context, slices, room);
  if (data == NULL) {
    dzo_free(list);
    return DZO_E_MEMORY;
  }
  for (unsigned i = 0; i < slices; i++)
    list[i].data = data + i * room;
  items_job job = {put, argument, 0, grain, list};
  dzo_status status = put_rounds(output, count, slices, &job);
  dzo_free(data);
  dzo_free(list);
  return status;
}

/* ---- Closing --------------------------------------------------------------------------------- */

static dzo_status complete(dzo_output *output) {
  DZO_TRY(flush(output));
  if (output->standard)
    return DZO_OK;
  int file = output->file;
  output->file = -1;
  if (close(file) != 0)
    return fail(output, "writing failed", errno);
  if (output->target != NULL && rename(output->temporary, output->target) != 0)
    return fail(output, "cannot be put in place", errno);
  return DZO_OK;
}

dzo_status dzo_output_close(dzo_output *output, dzo_status status) {
  bool created = output->temporary != NULL && output->file >= 0;
  if (status == DZO_OK)
    status = complete(output);
  if (output->file >= 0 && !output->standard)
    (void)close(output->file);
  if (status != DZO_OK && created)
    (void)unlink(output->temporary);
  destroy(output);
  return status;
}
