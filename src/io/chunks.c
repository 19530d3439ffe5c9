/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE /* memrchr */
#include "io/chunks.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

enum { BUFFERS = 2, STEP = 1 << 20, WAIT_NANOSECONDS = 100000000 };

/* A buffer goes from its filler to its user and back. */
typedef struct buffer {
  char *data; /* [capacity] */
  uint64_t size;
  bool full; /* under the lock */
} buffer;

struct dzo_chunks {
  dzo_context *context;
  dzo_input *input;
  dzo_chunks_plan plan;
  const char *mapped; /* the whole content, or NULL */
  uint64_t position;  /* in it */
  /* Read ahead: the filler's */
  dzo_context *aside; /* what fails is told here, since the context is its user's meanwhile */
  uint64_t capacity;
  buffer buffers[BUFFERS];
  char *rest; /* [rest_capacity] the begin of a line whose end was not in the buffer */
  uint64_t rest_size, rest_capacity;
  uint64_t left; /* of the limit */
  bool ended;
  /* Both threads': */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t filler;
  bool running; /* the filler was started */
  bool quit, finished;
  dzo_status status;
  uint64_t done, total;
  /* The user's: */
  unsigned next;
  bool in_use; /* the buffer before `next` */
};

/* ---- Filling, on a thread of its own --------------------------------------------------------- */

static bool should_quit(dzo_chunks *c) {
  pthread_mutex_lock(&c->lock);
  bool quit = c->quit;
  pthread_mutex_unlock(&c->lock);
  return quit || dzo_is_cancelled(c->context);
}

static dzo_status fill_bytes(dzo_chunks *c, buffer *b, uint64_t begin) {
  b->size = begin;
  while (b->size < c->capacity && c->left > 0 && !c->ended) {
    uint64_t want = c->capacity - b->size;
    want = want < STEP ? want : STEP;
    want = want < c->left ? want : c->left;
    size_t got;
    if (should_quit(c))
      return dzo_fail(c->aside, DZO_E_CANCELLED, "cancelled during read");
    DZO_TRY(dzo_input_read(c->aside, c->input, b->data + b->size, (size_t)want, &got));
    b->size += got;
    c->left -= got;
    c->ended = got < want || c->left == 0;
    uint64_t done, total;
    dzo_input_progress(c->input, &done, &total);
    pthread_mutex_lock(&c->lock);
    c->done = done;
    c->total = total;
    pthread_mutex_unlock(&c->lock);
  }
  return DZO_OK;
}

static dzo_status keep_rest(dzo_chunks *c, buffer *b) {
  const char *stop = memrchr(b->data, '\n', (size_t)b->size);
  if (stop == NULL)
    return dzo_fail(c->aside, DZO_E_UNSUPPORTED, "%s: a line of more than %llu bytes in a stream",
                    dzo_input_name(c->input), (unsigned long long)b->size);
  uint64_t whole = (uint64_t)(stop + 1 - b->data);
  c->rest_size = b->size - whole;
  if (c->rest_size > c->rest_capacity) {
    dzo_free(c->rest);
    c->rest = dzo_alloc(c->aside, 2 * c->rest_size, 1);
    c->rest_capacity = c->rest != NULL ? 2 * c->rest_size : 0;
    if (c->rest == NULL)
      return DZO_E_MEMORY;
  }
  memcpy(c->rest, stop + 1, (size_t)c->rest_size);
  b->size = whole;
  return DZO_OK;
}

static dzo_status fill(dzo_chunks *c, buffer *b) {
  uint64_t begin = c->rest_size;
  if (begin > 0)
    memcpy(b->data, c->rest, (size_t)begin);
  c->rest_size = 0;
  DZO_TRY(fill_bytes(c, b, begin));
  return c->plan.unit > 0 || c->ended ? DZO_OK : keep_rest(c, b);
}

static bool wait_for_room(dzo_chunks *c, const buffer *b) {
  pthread_mutex_lock(&c->lock);
  while (b->full && !c->quit)
    pthread_cond_wait(&c->changed, &c->lock);
  bool goes_on = !c->quit;
  pthread_mutex_unlock(&c->lock);
  return goes_on;
}

static void *fill_all(void *argument) {
  dzo_chunks *c = argument;
  for (unsigned i = 0;; i = (i + 1) % BUFFERS) {
    buffer *b = &c->buffers[i];
    if (!wait_for_room(c, b))
      return NULL;
    dzo_status status = fill(c, b);
    pthread_mutex_lock(&c->lock);
    c->status = status;
    b->full = status == DZO_OK && b->size > 0;
    c->finished = status != DZO_OK || c->ended;
    bool finished = c->finished;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (finished)
      return NULL;
  }
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static dzo_status skip(dzo_chunks *c) {
  uint64_t left = c->plan.offset;
  while (left > 0) {
    size_t got, want = left < c->capacity ? (size_t)left : (size_t)c->capacity;
    DZO_TRY(dzo_input_read(c->context, c->input, c->buffers[0].data, want, &got));
    if (got == 0)
      return DZO_OK; /* there is nothing behind */
    left -= got;
  }
  return DZO_OK;
}

/* Signals are for the threads of the program. */
static bool start_filler(dzo_chunks *c) {
  sigset_t all, old;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &old);
  c->running = pthread_create(&c->filler, NULL, fill_all, c) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  return c->running;
}

static dzo_status make_aside(dzo_chunks *c) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 1;
  options.memory = c->context->memory;
  options.allocator = dzo_memory_inside(c->context);
  return dzo_context_make(&options, &c->aside);
}

static dzo_status open_ahead(dzo_chunks *c) {
  uint64_t size = dzo_input_size(c->input);
  uint64_t bytes = size < c->plan.bytes ? size + 1 : c->plan.bytes;
  c->capacity = c->plan.unit > 0 ? (bytes + c->plan.unit - 1) / c->plan.unit * c->plan.unit : bytes;
  for (int i = 0; i < BUFFERS; i++) {
    c->buffers[i].data = dzo_alloc(c->context, c->capacity, 1);
    if (c->buffers[i].data == NULL)
      return DZO_E_MEMORY;
  }
  c->left = c->plan.limit;
  c->ended = c->left == 0;
  DZO_TRY(make_aside(c));
  DZO_TRY(skip(c));
  return start_filler(c) ? DZO_OK
                         : dzo_fail(c->context, DZO_E_MEMORY, "no thread could be started");
}

dzo_status dzo_chunks_open(dzo_context *context, dzo_input *input, const dzo_chunks_plan *plan,
                           dzo_chunks **out) {
  *out = NULL;
  dzo_chunks *c = dzo_calloc(context, 1, sizeof *c);
  if (c == NULL)
    return DZO_E_MEMORY;
  c->context = context;
  c->input = input;
  c->plan = *plan;
  c->position = plan->offset;
  (void)pthread_mutex_init(&c->lock, NULL);
  (void)pthread_cond_init(&c->changed, NULL);
  dzo_status status = dzo_input_is_random(input) ? dzo_input_load(context, input) : DZO_OK;
  c->mapped = (const char *)dzo_input_data(input);
  if (status == DZO_OK && c->mapped == NULL)
    status = open_ahead(c);
  if (status != DZO_OK) {
    dzo_chunks_close(c);
    return status;
  }
  *out = c;
  return DZO_OK;
}

void dzo_chunks_close(dzo_chunks *c) {
  if (c == NULL)
    return;
  if (c->running) {
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    (void)pthread_join(c->filler, NULL);
  }
  (void)pthread_cond_destroy(&c->changed);
  (void)pthread_mutex_destroy(&c->lock);
  for (int i = 0; i < BUFFERS; i++)
    dzo_free(c->buffers[i].data);
  dzo_free(c->rest);
  if (c->aside != NULL)
    dzo_context_free(c->aside);
  dzo_free(c);
}

/* ---- Using ----------------------------------------------------------------------------------- */

static dzo_status next_mapped(dzo_chunks *c, const char **data, uint64_t *size) {
  uint64_t whole = dzo_input_size(c->input), begin = c->position;
  uint64_t end = c->plan.limit < whole - c->plan.offset ? c->plan.offset + c->plan.limit : whole;
  uint64_t bytes = c->plan.bytes, left = begin < end ? end - begin : 0;
  if (c->plan.unit > 0)
    bytes = (bytes + c->plan.unit - 1) / c->plan.unit * c->plan.unit;
  *data = c->mapped + begin;
  *size = left;
  if (left > bytes) {
    const char *stop =
        c->plan.unit > 0 ? NULL : memchr(*data + bytes, '\n', (size_t)(left - bytes));
    *size = c->plan.unit > 0 ? bytes : stop != NULL ? (uint64_t)(stop + 1 - *data) : left;
  }
  c->position = begin + *size;
  dzo_input_will_need(c->input, c->position, bytes);
  return dzo_progress(c->context, "read", begin, whole);
}

/* Wait for a full buffer, looking up now and then. */
static dzo_status wait_for_chunk(dzo_chunks *c, const buffer *b) {
  pthread_mutex_lock(&c->lock);
  uint64_t done = c->done, total = c->total;
  pthread_mutex_unlock(&c->lock);
  dzo_status status = dzo_progress(c->context, "read", done, total);
  pthread_mutex_lock(&c->lock);
  while (!b->full && !c->finished && status == DZO_OK) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&c->changed, &c->lock, &until);
    done = c->done;
    total = c->total;
    pthread_mutex_unlock(&c->lock);
    status = dzo_progress(c->context, "read", done, total);
    pthread_mutex_lock(&c->lock);
  }
  if (status == DZO_OK && !b->full && c->status != DZO_OK)
    status = dzo_fail(c->context, c->status, "%s", c->aside->message);
  pthread_mutex_unlock(&c->lock);
  return status;
}

static dzo_status next_ahead(dzo_chunks *c, const char **data, uint64_t *size) {
  *size = 0;
  if (c->in_use) {
    pthread_mutex_lock(&c->lock);
    c->buffers[(c->next + BUFFERS - 1) % BUFFERS].full = false;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    c->in_use = false;
  }
  buffer *b = &c->buffers[c->next];
  DZO_TRY(wait_for_chunk(c, b));
  *data = b->data;
  if (!b->full)
    return DZO_OK;
  *size = b->size;
  c->in_use = true;
  c->next = (c->next + 1) % BUFFERS;
  return DZO_OK;
}

dzo_status dzo_chunks_next(dzo_chunks *c, const char **data, uint64_t *size) {
  return c->mapped != NULL ? next_mapped(c, data, size) : next_ahead(c, data, size);
}
