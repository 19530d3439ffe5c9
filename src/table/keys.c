/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Zipf's distribution without a logarithm. Ranks are cut into blocks as floating-point numbers are:
 * those below 2^(MANTISSA + 1) stand alone, and each octave above has 2^MANTISSA blocks of equal
 * length. A block whose first rank is a has the weight length * a^-s; one is drawn by Walker's
 * alias method, a rank r in it evenly, and kept with the probability (a / r)^s, which is nearly 1.
 * The powers come from (k + 1)^-s = k^-s * (1 + 1/k)^-s, where a short series does. */
#include "table/keys.h"

#include <string.h>

#include "base/item.h"
#include "base/memory.h"
#include "base/random.h"

__extension__ typedef unsigned __int128 u128;

enum { MANTISSA = 11, BLOCKS = 1 << MANTISSA };

/* A column of the alias table: below `threshold` (of 2^64) it stands for itself. */
typedef struct column {
  uint64_t threshold, alias;
} column;

struct dzo_keys {
  dzo_keys_options options;
  /* The shuffle of 0 .. most: a bijection of numbers of so many bits, repeated while the result is
   * too large. */
  uint64_t mask;
  unsigned shift;
  uint64_t offsets[3];
  /* ZIPF */
  column *columns; /* [column_count] */
  uint64_t column_count;
  uint64_t sure; /* of 2^64: a fraction below this keeps any rank of any block */
};

/* ---- Shuffle --------------------------------------------------------------------------------- */

/* Additions and multiplications by odd numbers modulo a power of two, and xor-shifts, are
 * bijections. The constants are those of dzo_random_word(). */
DZO_ITEM uint64_t shuffle_once(const dzo_keys *keys, uint64_t x) {
  uint64_t mask = keys->mask;
  unsigned shift = keys->shift;
  x = (x + keys->offsets[0]) & mask;
  x ^= x >> shift;
  x = (x * UINT64_C(0xbf58476d1ce4e5b9) + keys->offsets[1]) & mask;
  x ^= x >> shift;
  x = (x * UINT64_C(0x94d049bb133111eb) + keys->offsets[2]) & mask;
  x ^= x >> shift;
  x = (x * UINT64_C(0x9e3779b97f4a7c15)) & mask;
  return x ^ x >> shift;
}

DZO_ITEM uint64_t shuffle(const dzo_keys *keys, uint64_t x) {
  do
    x = shuffle_once(keys, x);
  while (x > keys->options.most);
  return x;
}

static void init_shuffle(dzo_keys *keys) {
  unsigned bits = 1;
  while (bits < 64 && keys->options.most >> bits != 0)
    bits++;
  keys->mask = UINT64_MAX >> (64 - bits);
  keys->shift = (bits + 1) / 2;
  for (unsigned i = 0; i < 3; i++)
    keys->offsets[i] = dzo_random_word(~keys->options.seed, i);
}

/* ---- Draws ----------------------------------------------------------------------------------- */

/* One of 0 .. most, evenly: the upper half of a product, but for the few words that would make some
 * results likelier (D. Lemire, "Fast random integer generation in an interval", 2019). */
DZO_ITEM uint64_t draw_below(uint64_t word, uint64_t most) {
  uint64_t count = most + 1;
  if (count == 0)
    return word;
  u128 product = (u128)word * count;
  if (DZO_UNLIKELY((uint64_t)product < count)) {
    uint64_t excess = (0 - count) % count;
    while ((uint64_t)product < excess) {
      word = dzo_random_word(word, 0);
      product = (u128)word * count;
    }
  }
  return (uint64_t)(product >> 64);
}

/* (1 + y)^-s for 0 <= y <= 2^-MANTISSA: the series of the logarithm, and that of the power. */
static double power_near_one(double y, double s) {
  double log = y * (1 - y * (1.0 / 2 - y * (1.0 / 3 - y * (1.0 / 4 - y * (1.0 / 5)))));
  double z = -s * log, sum = 1, term = 1;
  for (int i = 1; i <= 8; i++) {
    term = term * z / i;
    sum += term;
  }
  return sum;
}

/* Try to draw a rank from 0 with two words. */
DZO_ITEM bool try_rank(const dzo_keys *keys, uint64_t choice, uint64_t place, uint64_t *rank) {
  u128 product = (u128)choice * keys->column_count;
  uint64_t block = (uint64_t)(product >> 64);
  if ((uint64_t)product >= keys->columns[block].threshold)
    block = keys->columns[block].alias;
  if (block < 2 * BLOCKS) {
    *rank = block - 1;
    return block <= keys->options.distinct;
  }
  unsigned octave = (unsigned)(block >> MANTISSA) - 1;
  uint64_t first = (BLOCKS + (block & (BLOCKS - 1))) << octave;
  uint64_t behind = place >> (64 - octave), fraction = place << octave;
  *rank = first + behind - 1;
  if (DZO_UNLIKELY(*rank >= keys->options.distinct))
    return false;
  return DZO_LIKELY(fraction < keys->sure) ||
         (double)(fraction >> 11) * 0x1p-53 <
             power_near_one((double)behind / (double)first, keys->options.exponent);
}

DZO_ITEM uint64_t draw_rank(const dzo_keys *keys, uint64_t i) {
  uint64_t rank, choice = dzo_random_word(keys->options.seed, 2 * i),
                 place = dzo_random_word(keys->options.seed, 2 * i + 1);
  while (DZO_UNLIKELY(!try_rank(keys, choice, place, &rank))) {
    choice = dzo_random_word(choice, 1);
    place = dzo_random_word(place, 2);
  }
  return rank;
}

DZO_ITEM uint64_t key_at(const dzo_keys *keys, dzo_keys_distribution distribution, uint64_t i) {
  const dzo_keys_options *o = &keys->options;
  if (distribution == DZO_KEYS_UNIQUE)
    return shuffle(keys, i);
  if (distribution == DZO_KEYS_ZIPF)
    return shuffle(keys, draw_rank(keys, i));
  uint64_t word = dzo_random_word(o->seed, i);
  return o->distinct != 0 ? shuffle(keys, draw_below(word, o->distinct - 1))
                          : draw_below(word, o->most);
}

/* One loop for each distribution, so that none is chosen inside. */
#define FILL(type)                                                                                 \
  switch (keys->options.distribution) {                                                            \
  case DZO_KEYS_UNIQUE:                                                                            \
    for (uint64_t i = begin; i < end; i++)                                                         \
      to[i - begin] = (type)key_at(keys, DZO_KEYS_UNIQUE, i);                                      \
    return;                                                                                        \
  case DZO_KEYS_UNIFORM:                                                                           \
    for (uint64_t i = begin; i < end; i++)                                                         \
      to[i - begin] = (type)key_at(keys, DZO_KEYS_UNIFORM, i);                                     \
    return;                                                                                        \
  case DZO_KEYS_ZIPF:                                                                              \
    for (uint64_t i = begin; i < end; i++)                                                         \
      to[i - begin] = (type)key_at(keys, DZO_KEYS_ZIPF, i);                                        \
  }

void dzo_keys_fill_u32(const dzo_keys *keys, uint64_t begin, uint64_t end, uint32_t *to) {
  FILL(uint32_t)
}

void dzo_keys_fill_u64(const dzo_keys *keys, uint64_t begin, uint64_t end, uint64_t *to) {
  FILL(uint64_t)
}

/* ---- The alias table ------------------------------------------------------------------------- */

/* weights[block], up to a common factor. */
static void weigh_blocks(const dzo_keys *keys, double *weights) {
  double s = keys->options.exponent, power[BLOCKS + 1];
  power[0] = 1; /* (2^MANTISSA)^-s */
  for (int k = 0; k < BLOCKS; k++)
    power[k + 1] = power[k] * power_near_one(1.0 / (BLOCKS + k), s);
  double halved = power[BLOCKS]; /* 2^-s */
  weights[0] = 0;
  double scale = 1;
  for (uint64_t block = BLOCKS; block < keys->column_count; block += BLOCKS) {
    for (uint64_t i = 0; i < BLOCKS; i++)
      weights[block + i] = scale * power[i];
    scale *= 2 * halved;
  }
  scale = 1;
  for (unsigned octave = 1; octave <= MANTISSA; octave++) {
    scale /= halved;
    for (int rank = BLOCKS >> octave; rank < BLOCKS >> (octave - 1); rank++)
      weights[rank] = scale * power[(rank << octave) - BLOCKS];
  }
  for (uint64_t rank = keys->options.distinct + 1; rank < 2 * BLOCKS; rank++)
    weights[rank] = 0;
}

/* Walker's table by Vose's method, in integers. */
static void pair_columns(dzo_keys *keys, u128 *share, uint64_t *list, u128 whole) {
  uint64_t count = keys->column_count, low = 0, high = count;
  for (uint64_t i = 0; i < count; i++)
    list[share[i] < whole ? low++ : --high] = i;
  while (low > 0 && high < count) {
    uint64_t small = list[--low], large = list[high];
    keys->columns[small] = (column){(uint64_t)((share[small] << 64) / whole), large};
    share[large] -= whole - share[small];
    if (share[large] >= whole)
      continue;
    high++;
    list[low++] = large;
  }
  /* The rest is whole, but for what was rounded. */
  for (; low > 0; low--)
    keys->columns[list[low - 1]] = (column){UINT64_MAX, list[low - 1]};
  for (; high < count; high++)
    keys->columns[list[high]] = (column){UINT64_MAX, list[high]};
}

static void fill_columns(dzo_keys *keys, const double *weights, u128 *share, uint64_t *list) {
  double sum = 0;
  uint64_t whole = 0;
  for (uint64_t i = 0; i < keys->column_count; i++)
    sum += weights[i];
  for (uint64_t i = 0; i < keys->column_count; i++) {
    uint64_t part = (uint64_t)(weights[i] / sum * 0x1p60);
    whole += part;
    share[i] = (u128)part * keys->column_count;
  }
  pair_columns(keys, share, list, whole);
}

static dzo_status init_zipf(dzo_context *context, dzo_keys *keys) {
  unsigned octaves = 1;
  while (keys->options.distinct >> (MANTISSA + octaves) != 0)
    octaves++;
  keys->column_count = (uint64_t)(octaves + 1) << MANTISSA;
  double sure = 1 - keys->options.exponent / BLOCKS;
  keys->sure = sure < 1 ? (uint64_t)(sure * 0x1p63) * 2 : UINT64_MAX;
  keys->columns = dzo_alloc(context, keys->column_count, sizeof *keys->columns);
  double *weights = dzo_alloc(context, keys->column_count, sizeof *weights);
  u128 *share = dzo_alloc(context, keys->column_count, sizeof *share);
  uint64_t *list = dzo_alloc(context, keys->column_count, sizeof *list);
  bool there = keys->columns != NULL && weights != NULL && share != NULL && list != NULL;
  if (there) {
    weigh_blocks(keys, weights);
    fill_columns(keys, weights, share, list);
  }
  dzo_free(weights);
  dzo_free(share);
  dzo_free(list);
  return there ? DZO_OK : DZO_E_MEMORY;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static bool is_sound(const dzo_keys_options *o) {
  if (o->distinct != 0 && o->distinct - 1 > o->most)
    return false;
  if (o->distribution != DZO_KEYS_ZIPF)
    return o->distinct == 0 || o->distribution == DZO_KEYS_UNIFORM;
  return o->distinct > 0 && o->distinct <= DZO_KEYS_MOST_RANKS && o->exponent >= 0 &&
         o->exponent <= DZO_KEYS_MOST_EXPONENT;
}

dzo_status dzo_keys_create(dzo_context *context, const dzo_keys_options *options, dzo_keys **out) {
  *out = NULL;
  if (!is_sound(options))
    return dzo_fail(context, DZO_E_ARGUMENT, "there is no such sequence of keys");
  dzo_keys *keys = dzo_calloc(context, 1, sizeof *keys);
  if (keys == NULL)
    return DZO_E_MEMORY;
  keys->options = *options;
  init_shuffle(keys);
  dzo_status status = options->distribution == DZO_KEYS_ZIPF ? init_zipf(context, keys) : DZO_OK;
  if (status != DZO_OK) {
    dzo_keys_destroy(keys);
    return status;
  }
  *out = keys;
  return DZO_OK;
}

void dzo_keys_destroy(dzo_keys *keys) {
  if (keys == NULL)
    return;
  dzo_free(keys->columns);
  dzo_free(keys);
}
