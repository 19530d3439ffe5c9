/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "split/route.h"

static double busiest_after(const dzo_route *route, const dzo_route_cost *cost) {
  double most = 0;
  for (int r = 0; r < DZO_ROUTE_RESOURCES; r++) {
    double busy = route->busy[r] + cost->seconds[r];
    most = busy > most ? busy : most;
  }
  return most;
}

/* Time passes until the least busy resource is free. */
static void let_time_pass(dzo_route *route) {
  double least = route->busy[0];
  for (int r = 1; r < DZO_ROUTE_RESOURCES; r++)
    least = route->busy[r] < least ? route->busy[r] : least;
  for (int r = 0; r < DZO_ROUTE_RESOURCES; r++)
    route->busy[r] -= least;
}

int dzo_route_choose(dzo_route *route, int ways, const dzo_route_cost *costs) {
  int best = 0;
  for (int w = 1; w < ways; w++)
    if (busiest_after(route, &costs[w]) < busiest_after(route, &costs[best]))
      best = w;
  for (int r = 0; r < DZO_ROUTE_RESOURCES; r++)
    route->busy[r] += costs[best].seconds[r];
  let_time_pass(route);
  return best;
}
