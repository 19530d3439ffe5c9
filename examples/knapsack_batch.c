/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Many small knapsacks in one call: which coins of each wallet to pay with, so that what is paid is
 * as close as possible to the price from below? (Value and weight of a coin are the same.)
 *
 *   cc knapsack_batch.c $(pkg-config --cflags --libs dzo) -o knapsack_batch && ./knapsack_batch
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <dzo/dzo.h>

enum { WALLETS = 100000, COINS = 12 };

typedef struct wallets {
  uint64_t offsets[WALLETS + 1];
  int64_t coins[WALLETS * COINS], prices[WALLETS], paid_with[WALLETS * COINS];
  dzo_int128 paid[WALLETS];
} wallets;

static void fill(wallets *w) {
  uint64_t random = 1;
  for (uint64_t i = 0; i < WALLETS; i++) {
    w->offsets[i + 1] = (i + 1) * COINS;
    w->prices[i] = 2000;
    for (uint64_t k = i * COINS; k < w->offsets[i + 1]; k++) {
      random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
      w->coins[k] = (int64_t)(random >> 33) % 500 + 1;
    }
  }
}

static dzo_status pay(dzo_context *context, wallets *w) {
  dzo_knapsack_batch batch;
  dzo_knapsack_batch_init(&batch);
  batch.count = WALLETS;
  batch.offsets = w->offsets;
  batch.values = batch.weights = w->coins;
  batch.capacities = w->prices;
  batch.value_sums = w->paid;
  batch.taken = w->paid_with;
  dzo_status status = dzo_knapsack_run_batch(context, &batch, NULL);
  if (status == DZO_OK)
    printf("%" PRIu64 " of %d wallets are solved\n", batch.optimal, WALLETS);
  return status;
}

int main(void) {
  wallets *w = calloc(1, sizeof *w);
  dzo_context *context = NULL;
  dzo_status status = w != NULL ? dzo_context_create(NULL, &context) : DZO_E_MEMORY;
  if (status == DZO_OK) {
    fill(w);
    status = pay(context, w);
  }
  if (status == DZO_OK) {
    uint64_t exact = 0;
    for (uint64_t i = 0; i < WALLETS; i++)
      exact += w->paid[i].low == 2000;
    printf("%" PRIu64 " pay the price exactly; the first pays %" PRIu64 " with", exact,
           w->paid[0].low);
    for (uint64_t k = 0; k < COINS; k++)
      if (w->paid_with[k])
        printf(" %" PRId64, w->coins[k]);
    printf("\n");
  } else {
    fprintf(stderr, "%s: %s\n", dzo_status_text(status),
            context != NULL ? dzo_context_message(context) : "");
  }
  dzo_context_destroy(context);
  free(w);
  return status == DZO_OK ? 0 : 1;
}
