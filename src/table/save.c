/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tables as bytes: a header, the pairs, a checksum; in pieces, so that memory stays bounded. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "table/table.h"

enum { HEADER = 64, CHECKSUM = 8, VERSION = 1, FLAG_FIXED = 1, PIECE = 1 << 18, GRAIN = 1 << 14 };
/* Memory is taken for what has arrived, not for what a header promises. */
enum { FIRST_ROOM = 1 << 16 };

static const char magic[8] = {'D', 'Z', 'O', 'T', 'A', 'B', 'L', 'E'};

/* Positions in the header. */
enum {
  AT_VERSION = 8, /* u32, as all to AT_COUNT */
  AT_FLAGS = 12,
  AT_KEY_BITS = 16,
  AT_VALUE_BITS = 20,
  AT_COUNT = 24, /* u64, as all that follow; of the pairs */
  AT_CAPACITY = 32,
  AT_MAX_LOAD = 40, /* a double's bits */
  AT_SEED = 48,
  AT_CHECKSUM = 56 /* of the header before it */
};

/* A sum over the items, each mixed with its place, so that a team may take them in any order. */
static inline uint64_t mix_item(uint64_t place, uint64_t item) {
  uint64_t x = item + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static uint64_t header_checksum(const char *header) {
  uint64_t sum = 0;
  for (unsigned at = 0; at < AT_CHECKSUM; at += 8)
    sum += mix_item(at, dzo_get64(header + at));
  return sum;
}

/* ---- Pieces of pairs ------------------------------------------------------------------------- */

/* Pairs as they stand in the file (key, value, key, value, ...) and as words. */
typedef struct pairs_job {
  const dzo_table_options *options;
  size_t key_bytes, value_bytes, word_bytes;
  uint64_t first; /* number of the first pair */
  uint64_t count;
  char *bytes;
  void *keys, *values;
  uint64_t checksum; /* accessed atomically */
} pairs_job;

static pairs_job job_of(const dzo_table_options *o) {
  return (pairs_job){.options = o,
                     .key_bytes = (size_t)o->key_bits / 8,
                     .value_bytes = (size_t)o->value_bits / 8,
                     .word_bytes = table_word_bytes(o)};
}

static char *put_item(char *to, size_t bytes, uint64_t item) {
  return bytes == sizeof item ? dzo_put64(to, item) : dzo_put32(to, (uint32_t)item);
}

static uint64_t get_item(const char *from, size_t bytes) {
  return bytes == sizeof(uint64_t) ? dzo_get64(from) : dzo_get32(from);
}

static void put_word(void *words, size_t bytes, uint64_t i, uint64_t word) {
  if (bytes == sizeof word)
    ((uint64_t *)words)[i] = word;
  else
    ((uint32_t *)words)[i] = (uint32_t)word;
}

static void encode_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  pairs_job *job = argument;
  uint64_t sum = 0;
  char *to = job->bytes + begin * (job->key_bytes + job->value_bytes);
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = table_word_at(job->keys, job->word_bytes, i);
    uint64_t value = table_value_of(job->options, table_word_at(job->values, job->word_bytes, i));
    sum += mix_item(2 * (job->first + i), key) + mix_item(2 * (job->first + i) + 1, value);
    to = put_item(to, job->key_bytes, key);
    to = put_item(to, job->value_bytes, value);
  }
  (void)dzo_fetch_add_u64(&job->checksum, sum);
}

static void decode_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  pairs_job *job = argument;
  uint64_t sum = 0;
  const char *from = job->bytes + begin * (job->key_bytes + job->value_bytes);
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = get_item(from, job->key_bytes);
    uint64_t value = get_item(from + job->key_bytes, job->value_bytes);
    from += job->key_bytes + job->value_bytes;
    sum += mix_item(2 * (job->first + i), key) + mix_item(2 * (job->first + i) + 1, value);
    put_word(job->keys, job->word_bytes, i, key);
    put_word(job->values, job->word_bytes, i, table_word_of(job->options, value));
  }
  (void)dzo_fetch_add_u64(&job->checksum, sum);
}

/* ---- Saving ---------------------------------------------------------------------------------- */

typedef struct save_run {
  dzo_table *table;
  dzo_table_write_fn write;
  void *user;
  char *bytes; /* [PIECE] pairs */
  pairs_job job;
} save_run;

static dzo_status write_bytes(const save_run *run, const void *data, size_t bytes) {
  if (bytes == 0)
    return DZO_OK;
  dzo_status status = run->write(run->user, data, bytes);
  dzo_context *context = run->table->context;
  if (status != DZO_OK && context->message[0] == '\0')
    return dzo_fail(context, status, "the table could not be written: %s", dzo_status_text(status));
  return status;
}

static dzo_status write_header(const save_run *run, uint64_t count) {
  const dzo_table_options *o = &run->table->options;
  char header[HEADER];
  uint64_t load;
  memcpy(&load, &o->max_load, sizeof load);
  memcpy(header, magic, sizeof magic);
  (void)dzo_put32(header + AT_VERSION, VERSION);
  (void)dzo_put32(header + AT_FLAGS, o->fixed != 0 ? FLAG_FIXED : 0);
  (void)dzo_put32(header + AT_KEY_BITS, (uint32_t)o->key_bits);
  (void)dzo_put32(header + AT_VALUE_BITS, (uint32_t)o->value_bits);
  (void)dzo_put64(header + AT_COUNT, count);
  (void)dzo_put64(header + AT_CAPACITY, o->capacity);
  (void)dzo_put64(header + AT_MAX_LOAD, load);
  (void)dzo_put64(header + AT_SEED, o->seed);
  (void)dzo_put64(header + AT_CHECKSUM, header_checksum(header));
  return write_bytes(run, header, sizeof header);
}

static dzo_status write_piece(save_run *run, const table_walk *walk) {
  pairs_job *job = &run->job;
  size_t pair = job->key_bytes + job->value_bytes;
  for (uint64_t at = 0; at < walk->count; at += PIECE) {
    uint64_t count = walk->count - at < PIECE ? walk->count - at : PIECE;
    job->first = walk->done + at;
    job->keys = (char *)walk->keys + at * job->word_bytes;
    job->values = (char *)walk->values + at * job->word_bytes;
    job->bytes = run->bytes;
    dzo_parallel_for(run->table->context->threads, count, GRAIN, encode_range, job);
    DZO_TRY(write_bytes(run, run->bytes, count * pair));
  }
  return DZO_OK;
}

static dzo_status write_pairs(save_run *run, table_walk *walk, uint64_t size) {
  dzo_context *context = run->table->context;
  for (;;) {
    DZO_TRY(table_walk_next(walk));
    if (walk->count == 0)
      break;
    DZO_TRY(write_piece(run, walk));
    DZO_TRY(dzo_progress(context, "save", walk->done + walk->count, size));
  }
  if (walk->done != size)
    return dzo_fail(context, DZO_E_INTERNAL, "the table has %" PRIu64 " pairs and gave %" PRIu64,
                    size, walk->done);
  char trailer[CHECKSUM];
  (void)dzo_put64(trailer, run->job.checksum);
  return write_bytes(run, trailer, sizeof trailer);
}

dzo_status dzo_table_save(dzo_table *table, dzo_table_write_fn write, void *user) {
  DZO_TRY(table_enter(table, "dzo_table_save"));
  dzo_context *context = table->context;
  if (write == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_table_save: nothing to write with");
  save_run run = {.table = table, .write = write, .user = user, .job = job_of(&table->options)};
  uint64_t size = table->engine->size(table->state);
  run.bytes =
      dzo_alloc(context, size < PIECE ? size : PIECE, run.job.key_bytes + run.job.value_bytes);
  if (run.bytes == NULL)
    return DZO_E_MEMORY;
  table_walk walk;
  dzo_status status = table_walk_begin(&walk, context, table);
  if (status == DZO_OK) {
    status = write_header(&run, size);
    if (status == DZO_OK)
      status = write_pairs(&run, &walk, size);
    table_walk_end(&walk);
  }
  dzo_free(run.bytes);
  return table_leave(table, status);
}

/* ---- Loading --------------------------------------------------------------------------------- */

typedef struct load_run {
  dzo_context *context;
  dzo_table_read_fn read;
  void *user;
  bool summed; /* look at checksums */
  uint64_t at; /* bytes read */
  uint64_t count;
  dzo_table_options options;
  char *bytes;         /* [PIECE] pairs */
  void *keys, *values; /* [PIECE] words */
} load_run;

static dzo_status malformed(const load_run *run, const char *reason) {
  return dzo_fail(run->context, DZO_E_FORMAT, "byte %" PRIu64 ": %s", run->at, reason);
}

static dzo_status read_bytes(load_run *run, void *data, size_t bytes) {
  for (size_t have = 0; have < bytes;) {
    size_t got = 0;
    dzo_status status = run->read(run->user, (char *)data + have, bytes - have, &got);
    if (status != DZO_OK && run->context->message[0] == '\0')
      return dzo_fail(run->context, status, "the table could not be read: %s",
                      dzo_status_text(status));
    DZO_TRY(status);
    if (got > bytes - have)
      return dzo_fail(run->context, DZO_E_ARGUMENT,
                      "dzo_table_load: the reader gave more than it was asked for");
    run->at += got;
    have += got;
    if (got == 0)
      return malformed(run, "the table ends too early");
  }
  return DZO_OK;
}

static dzo_status read_header(load_run *run) {
  char header[HEADER];
  DZO_TRY(read_bytes(run, header, sizeof header));
  run->at = 0;
  if (memcmp(header, magic, sizeof magic) != 0)
    return malformed(run, "not a saved table");
  if (run->summed && dzo_get64(header + AT_CHECKSUM) != header_checksum(header))
    return malformed(run, "the header is damaged");
  if (dzo_get32(header + AT_VERSION) != VERSION)
    return dzo_fail(run->context, DZO_E_UNSUPPORTED,
                    "a saved table of version %" PRIu32 "; this dzo knows version %d",
                    dzo_get32(header + AT_VERSION), VERSION);
  uint32_t flags = dzo_get32(header + AT_FLAGS), key_bits = dzo_get32(header + AT_KEY_BITS),
           value_bits = dzo_get32(header + AT_VALUE_BITS);
  if (flags > FLAG_FIXED || (key_bits != 32 && key_bits != 64) ||
      (value_bits != 32 && value_bits != 64))
    return malformed(run, "the header is damaged");
  dzo_table_options_init(&run->options);
  uint64_t load = dzo_get64(header + AT_MAX_LOAD);
  memcpy(&run->options.max_load, &load, sizeof load);
  run->options.key_bits = (int)key_bits;
  run->options.value_bits = (int)value_bits;
  run->options.fixed = (flags & FLAG_FIXED) != 0;
  run->options.capacity = dzo_get64(header + AT_CAPACITY);
  run->options.seed = dzo_get64(header + AT_SEED);
  run->count = dzo_get64(header + AT_COUNT);
  dzo_table_options checked;
  if (table_read_options(run->context, &run->options, &checked) != DZO_OK ||
      table_check_capacity(run->context, run->count) != DZO_OK)
    return malformed(run, "the header is damaged");
  run->at = HEADER;
  return DZO_OK;
}

/* Room for what comes next: four times what is there, so that a false count costs little and a
 * true one few growths. */
static dzo_status make_room(const load_run *run, dzo_table *table, uint64_t loaded, uint64_t next) {
  uint64_t capacity = table->engine->capacity(table->state);
  if (capacity >= loaded + next)
    return DZO_OK;
  uint64_t room = 4 * (loaded + next);
  return table->engine->reserve(table->state, room < run->count ? room : run->count);
}

static dzo_status read_pairs(load_run *run, dzo_table *table) {
  pairs_job job = job_of(&run->options);
  job.bytes = run->bytes;
  job.keys = run->keys;
  job.values = run->values;
  size_t pair = job.key_bytes + job.value_bytes;
  for (uint64_t loaded = 0; loaded < run->count; loaded += job.count) {
    job.first = loaded;
    job.count = run->count - loaded < PIECE ? run->count - loaded : PIECE;
    uint64_t before = run->at;
    DZO_TRY(read_bytes(run, run->bytes, job.count * pair));
    dzo_parallel_for(run->context->threads, job.count, GRAIN, decode_range, &job);
    DZO_TRY(make_room(run, table, loaded, job.count));
    uint64_t after = run->at;
    run->at = before;
    dzo_status status = table_insert_words(table, job.count, job.keys, job.values);
    if (status == DZO_E_FORMAT)
      return malformed(run, "a key stands twice in the table");
    DZO_TRY(status);
    run->at = after;
    DZO_TRY(dzo_progress(run->context, "load", loaded + job.count, run->count));
  }
  char trailer[CHECKSUM];
  DZO_TRY(read_bytes(run, trailer, sizeof trailer));
  if (run->summed && dzo_get64(trailer) != job.checksum)
    return malformed(run, "the pairs are damaged");
  return DZO_OK;
}

/* A fixed table takes the room that it was made for, though not more than the context plans for. */
static dzo_status restore_capacity(const load_run *run, dzo_table *table) {
  const dzo_table_options *o = &run->options;
  table->options.capacity = o->capacity;
  if (o->fixed == 0 || table->engine->capacity(table->state) >= o->capacity)
    return DZO_OK;
  uint64_t most = run->context->memory / (2 * table_word_bytes(o));
  if (o->capacity > most && table->engine->device == DZO_DEVICE_CPU)
    return dzo_fail(run->context, DZO_E_MEMORY,
                    "the saved table is one for %" PRIu64 " pairs, for which there is no memory",
                    o->capacity);
  return table->engine->reserve(table->state, o->capacity);
}

static dzo_status load_pairs(load_run *run, dzo_table **out) {
  dzo_table_options options = run->options;
  uint64_t expected = run->count;
  if (options.fixed != 0 && options.capacity > expected)
    expected = options.capacity;
  options.capacity = run->count < FIRST_ROOM ? run->count : FIRST_ROOM;
  DZO_TRY(table_make(run->context, &options, expected, out));
  dzo_status status = read_pairs(run, *out);
  if (status == DZO_OK)
    status = restore_capacity(run, *out);
  return table_leave(*out, status);
}

static dzo_status load(load_run *run, dzo_table **out) {
  DZO_TRY(read_header(run));
  uint64_t room = run->count < PIECE ? run->count : PIECE;
  size_t word = table_word_bytes(&run->options);
  run->bytes =
      dzo_alloc(run->context, room, (size_t)(run->options.key_bits + run->options.value_bits) / 8);
  run->keys = dzo_alloc(run->context, room, word);
  run->values = dzo_alloc(run->context, room, word);
  dzo_status status = DZO_E_MEMORY;
  if (run->bytes != NULL && run->keys != NULL && run->values != NULL)
    status = load_pairs(run, out);
  dzo_free(run->bytes);
  dzo_free(run->keys);
  dzo_free(run->values);
  if (status != DZO_OK) {
    dzo_table_destroy(*out);
    *out = NULL;
  }
  return status;
}

static dzo_status load_checked(dzo_context *context, dzo_table_read_fn read, void *user,
                               bool summed, dzo_table **out) {
  if (out != NULL)
    *out = NULL;
  if (context == NULL)
    return DZO_E_ARGUMENT;
  dzo_begin(context);
  if (read == NULL || out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "dzo_table_load: nothing to read with, or nowhere to put the table");
  load_run run = {.context = context, .read = read, .user = user, .summed = summed};
  return load(&run, out);
}

dzo_status dzo_table_load(dzo_context *context, dzo_table_read_fn read, void *user,
                          dzo_table **out) {
  return load_checked(context, read, user, true, out);
}

dzo_status table_load_unsummed(dzo_context *context, dzo_table_read_fn read, void *user,
                               dzo_table **out) {
  return load_checked(context, read, user, false, out);
}
