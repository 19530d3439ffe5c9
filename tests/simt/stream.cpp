/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Streams and events. Work waits in its stream until somebody waits for it, or chance runs it
 * before: a caller who does not wait for what it needs is found out. */
#include <string.h>
#include <time.h>

#include <deque>
#include <functional>
#include <set>

#include "runtime.h"

struct simt_stream {
  std::deque<std::function<void()>> pending;
  uint64_t put, done; /* pieces of work ever put in, and done */
};
struct simt_event {
  simt_stream *stream; /* NULL: never recorded */
  uint64_t after;      /* pieces of work of the stream before it, and itself */
  double time;
};

static std::set<simt_stream *> *streams = new std::set<simt_stream *>();
static simt_stream *default_stream;
static uint64_t chance;

static double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void run_until(simt_stream *stream, uint64_t count) {
  while (stream->done < count) {
    std::function<void()> work = stream->pending.front();
    stream->pending.pop_front();
    work();
    stream->done++;
  }
}

void simt_finish_all() {
  for (simt_stream *stream : *streams)
    run_until(stream, stream->put);
}

/* The default stream orders itself with all others. */
static simt_stream *stream_of(cudaStream_t stream) {
  if (stream != NULL)
    return stream;
  simt_finish_all();
  if (default_stream == NULL)
    cudaStreamCreate(&default_stream);
  return default_stream;
}

static void put(simt_stream *stream, std::function<void()> work) {
  stream->pending.push_back(work);
  stream->put++;
  if (chance == 0)
    chance = simt_random_seed(77);
  uint64_t choice = simt_random(&chance);
  if (stream == default_stream || choice % 3 == 0)
    run_until(stream, stream->put);
  else if (choice % 3 == 1)
    for (simt_stream *other : *streams)
      if (simt_random(&chance) & 1)
        run_until(other, other->done + simt_random(&chance) % (other->put - other->done + 1));
}

cudaError_t cudaStreamCreate(cudaStream_t *out) {
  simt_lock();
  *out = new simt_stream();
  streams->insert(*out);
  simt_unlock();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) { return cudaStreamCreate(out); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned, int) {
  return cudaStreamCreate(out);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  simt_lock();
  run_until(stream, stream->put);
  streams->erase(stream);
  delete stream;
  simt_unlock();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  simt_lock();
  cudaError_t error = simt_operation();
  simt_stream *s = stream_of(stream);
  run_until(s, s->put);
  simt_unlock();
  return error;
}

cudaError_t cudaDeviceSynchronize() {
  simt_lock();
  cudaError_t error = simt_operation();
  simt_finish_all();
  simt_unlock();
  return error;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  simt_lock();
  simt_stream *s = stream_of(stream);
  bool busy = s->done < s->put;
  if (busy) /* who polls makes progress */
    run_until(s, s->done + 1);
  simt_unlock();
  return busy ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
  *out = new simt_event();
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) { return cudaEventCreate(out); }

static void reach(cudaEvent_t event) {
  if (event->stream != NULL && streams->count(event->stream) != 0)
    run_until(event->stream, event->after);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  simt_lock();
  reach(event);
  delete event;
  simt_unlock();
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  simt_lock();
  cudaError_t error = simt_operation();
  if (error == cudaSuccess) {
    simt_stream *s = stream_of(stream);
    reach(event); /* a time still to be written */
    event->stream = s;
    event->after = s->put + 1;
    put(s, [event] { event->time = now(); });
  }
  simt_unlock();
  return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  simt_lock();
  cudaError_t error = simt_operation();
  simt_stream *from = event->stream;
  uint64_t after = event->after;
  if (error == cudaSuccess && from != NULL)
    put(stream_of(stream), [from, after] {
      if (streams->count(from) != 0)
        run_until(from, after);
    });
  simt_unlock();
  return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  simt_lock();
  cudaError_t error = simt_operation();
  reach(event);
  simt_unlock();
  return error;
}

static bool is_reached(cudaEvent_t event) {
  return event->stream == NULL || streams->count(event->stream) == 0 ||
         event->stream->done >= event->after;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  simt_lock();
  bool reached = is_reached(event);
  if (!reached)
    run_until(event->stream, event->stream->done + 1);
  simt_unlock();
  return reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  simt_lock();
  cudaError_t error = from->stream == NULL || to->stream == NULL ? cudaErrorInvalidResourceHandle
                      : is_reached(from) && is_reached(to)       ? cudaSuccess
                                                                 : cudaErrorNotReady;
  *milliseconds = error == cudaSuccess ? (float)(to->time - from->time) : 0;
  simt_note(error);
  simt_unlock();
  return error;
}

/* Where the host side is not pinned the copy is done on return, as the real one does. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  simt_lock();
  cudaError_t error = simt_operation();
  cudaMemoryType target = simt_memory_type(to), source = simt_memory_type(from);
  bool wrong = (kind == cudaMemcpyHostToDevice && target != cudaMemoryTypeDevice) ||
               (kind == cudaMemcpyDeviceToHost && source != cudaMemoryTypeDevice) ||
               (kind == cudaMemcpyDeviceToDevice &&
                (source != cudaMemoryTypeDevice || target != cudaMemoryTypeDevice));
  if (error == cudaSuccess && wrong && bytes > 0)
    error = simt_note(cudaErrorInvalidValue);
  if (error == cudaSuccess && bytes > 0) {
    simt_check_copy(to, bytes);
    simt_check_copy(from, bytes);
    simt_stream *s = stream_of(stream);
    put(s, [to, from, bytes] { memmove(to, from, bytes); });
    if (target == cudaMemoryTypeUnregistered || source == cudaMemoryTypeUnregistered)
      run_until(s, s->put);
  }
  simt_unlock();
  return error;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}

cudaError_t cudaMemsetAsync(void *pointer, int byte, size_t bytes, cudaStream_t stream) {
  simt_lock();
  cudaError_t error = simt_operation();
  if (error == cudaSuccess && bytes > 0) {
    if (simt_memory_type(pointer) == cudaMemoryTypeUnregistered)
      simt_die("a fill of memory a GPU does not reach");
    simt_check_copy(pointer, bytes);
    put(stream_of(stream), [pointer, byte, bytes] { memset(pointer, byte, bytes); });
  }
  simt_unlock();
  return error;
}

cudaError_t cudaMemset(void *pointer, int byte, size_t bytes) {
  return cudaMemsetAsync(pointer, byte, bytes, NULL);
}

cudaError_t simt_launch_in(cudaStream_t stream, const simt_launch *launch,
                           void (*destroy)(const void *)) {
  simt_lock();
  cudaError_t error = simt_operation();
  if (error == cudaSuccess &&
      (launch->blocks == 0 || launch->blocks > 0x7fffffffu || launch->threads == 0 ||
       launch->threads > 1024 || launch->block_memory > SIMT_BLOCK_MEMORY))
    error = cudaErrorInvalidConfiguration;
  if (error == cudaSuccess && launch->together && launch->blocks > simt_resident_blocks())
    error = cudaErrorCooperativeLaunchTooLarge;
  if (error == cudaSuccess) {
    simt_launch copy = *launch;
    put(stream_of(stream), [copy, destroy] {
      simt_run(&copy);
      destroy(copy.arguments);
    });
  } else {
    destroy(launch->arguments);
  }
  simt_note(error);
  simt_unlock();
  return error;
}

cudaError_t simt_call_in(cudaStream_t stream, void (*run)(void *), void *arguments) {
  simt_lock();
  cudaError_t error = simt_operation();
  if (error == cudaSuccess)
    put(stream_of(stream), [run, arguments] { run(arguments); });
  simt_unlock();
  return error;
}
