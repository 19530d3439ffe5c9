/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What to take along: the set of things of the greatest total value that the bag can carry.
 *
 *   cc knapsack.c $(pkg-config --cflags --libs dzo) -o knapsack && ./knapsack
 */
#include <inttypes.h>
#include <stdio.h>

#include <dzo/dzo.h>

enum { THINGS = 6 };
static const char *const names[THINGS] = {"tent", "stove", "book", "rope", "camera", "chocolate"};
static const int64_t values[THINGS] = {90, 60, 25, 40, 55, 12};
static const int64_t grams[THINGS] = {2600, 900, 450, 1200, 800, 100};
static const int64_t pieces[THINGS] = {1, 1, 2, 1, 1, 5}; /* how many there are of each */

static void print(const dzo_knapsack *knapsack) {
  for (uint64_t i = 0; i < dzo_knapsack_count(knapsack); i++)
    printf("%" PRId64 " x %s\n", dzo_knapsack_copies(knapsack)[i],
           names[dzo_knapsack_items(knapsack)[i]]);
  /* Sums have 128 bits; these fit the lower half. */
  printf("value %" PRIu64 ", %" PRIu64 " g%s\n", dzo_knapsack_value(knapsack).low,
         dzo_knapsack_weight(knapsack).low,
         dzo_knapsack_outcome_of(knapsack) == DZO_KNAPSACK_OPTIMAL
             ? ", and no set is worth more"
             : ", the best that was found in time");
}

int main(void) {
  dzo_knapsack_instance instance;
  dzo_knapsack_instance_init(&instance);
  instance.count = THINGS;
  instance.values = values;
  instance.weights = grams;
  instance.copies = pieces;
  instance.capacity = 5000;
  dzo_knapsack_options options;
  dzo_knapsack_options_init(&options);
  options.time_limit = 10; /* seconds, after which there is still an answer, and a bound */
  dzo_context *context = NULL;
  dzo_knapsack *knapsack = NULL;
  dzo_status status = dzo_context_create(NULL, &context);
  if (status == DZO_OK)
    status = dzo_knapsack_run(context, &instance, &options, &knapsack);
  if (status != DZO_OK)
    fprintf(stderr, "%s: %s\n", dzo_status_text(status),
            context != NULL ? dzo_context_message(context) : "");
  if (knapsack != NULL)
    print(knapsack);
  dzo_knapsack_destroy(knapsack);
  dzo_context_destroy(context);
  return status == DZO_OK ? 0 : 1;
}
