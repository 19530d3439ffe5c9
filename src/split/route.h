/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Chunks that must keep their order, and several ways to handle each, which load shared resources
 * (processors, a bus) differently: the way of each chunk is chosen so that no resource is busy for
 * long while another idles. One thread at a time. */
#ifndef DZO_SPLIT_ROUTE_H
#define DZO_SPLIT_ROUTE_H

enum { DZO_ROUTE_RESOURCES = 2 };

typedef struct dzo_route {
  double busy[DZO_ROUTE_RESOURCES]; /* seconds of work that each has, beyond the least busy one */
} dzo_route;

/* What a way takes of each resource: seconds. */
typedef struct dzo_route_cost {
  double seconds[DZO_ROUTE_RESOURCES];
} dzo_route_cost;

/* The way 0 .. ways - 1 for the next chunk, after which the busiest resource is free soonest; of
 * equal ones the first. */
int dzo_route_choose(dzo_route *route, int ways, const dzo_route_cost *costs);

#endif
