/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Checking a claim needs nothing of what found it: sums, and two comparisons. */
#include "base/context.h"
#include "base/options.h"
#include "dzo/knapsack.h"

__extension__ typedef __int128 wide;

/* high * 2^64 + low of the sum so far; a sum of up to 2^30 products of 126 bits has its carries in
 * a third word. */
typedef struct total {
  unsigned long long low, high;
  long long top;
} total;

static void add(total *t, int64_t copies, int64_t number) {
  wide product = (wide)copies * number;
  unsigned long long low = (unsigned long long)product, high = (unsigned long long)(product >> 64);
  t->low += low;
  unsigned long long carry = t->low < low;
  t->high += carry;
  carry = t->high < carry;
  t->high += high;
  carry += t->high < high;
  t->top += (long long)carry + (product < 0 ? -1 : 0);
}

static int fits(const total *t) { return t->top == ((t->high >> 63) != 0 ? -1 : 0); }

static dzo_int128 as_public(const total *t) { return (dzo_int128){(int64_t)t->high, t->low}; }

static int is_heavier(const total *t, int64_t capacity) {
  if (!fits(t))
    return t->top >= 0;
  return ((wide)(int64_t)t->high * ((wide)1 << 64) + t->low) > capacity;
}

static int look(dzo_context *context, const dzo_knapsack_instance *k, const int64_t *taken,
                total *value, total *weight) {
  for (uint64_t i = 0; i < k->count; i++) {
    int64_t most = k->copies != NULL ? k->copies[i] : 1;
    if (taken[i] < 0 || taken[i] > most) {
      (void)dzo_fail(context, DZO_OK, "item %llu is taken %lld times, of %lld",
                     (unsigned long long)i, (long long)taken[i], (long long)most);
      return 0;
    }
    add(value, taken[i], k->values[i]);
    add(weight, taken[i], k->weights[i]);
  }
  if (!is_heavier(weight, k->capacity))
    return 1;
  (void)dzo_fail(context, DZO_OK, "the items weigh more than the capacity of %lld",
                 (long long)k->capacity);
  return 0;
}

dzo_status dzo_knapsack_verify(dzo_context *context, const dzo_knapsack_instance *instance,
                               const int64_t *taken, int *valid, dzo_int128 *value,
                               dzo_int128 *weight) {
  dzo_begin(context);
  dzo_knapsack_instance k = {.size = sizeof k};
  if (valid == NULL || instance == NULL || !dzo_options_read(&k, sizeof k, instance))
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "dzo_knapsack_verify: no instance, or nowhere to say whether the set is valid");
  *valid = 0;
  if (k.count > 0 && (k.values == NULL || k.weights == NULL || taken == NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_knapsack_verify: an array is missing");
  total values = {0, 0, 0}, weights = {0, 0, 0};
  *valid = look(context, &k, taken, &values, &weights);
  if (*valid != 0 && (!fits(&values) || !fits(&weights)))
    return dzo_fail(context, DZO_E_UNSUPPORTED, "the sums need more than 128 bits");
  if (value != NULL)
    *value = as_public(&values);
  if (weight != NULL)
    *weight = as_public(&weights);
  return DZO_OK;
}
