/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The way of chunks to the GPU: slots of staging memory are copied to the device by one queue while
 * another filters what has arrived. Marks and counts come a group of chunks at a time. When the
 * batch is full it is merged; chunks go on arriving meanwhile, as far as there is room for them. */
#ifndef DZO_MSF_GPU_RING_H
#define DZO_MSF_GPU_RING_H

#include "msf/gpu_filter.h"
#include "msf/gpu_pack.h"

enum { MSF_GROUPS = 8, MSF_SLOTS_MAX = 112, MSF_FLIGHTS = 256 };

/* Of its queues, that of filters and merges, and the first of copies; and one that it leaves alone.
 * Of its marks, that behind the last merge; those that follow it are left alone, too. */
enum { MSF_RING_FILTERS = 0, MSF_RING_COPIES = 1, MSF_RING_LOOKS = 3, MSF_RING_MERGED = 26 };

typedef struct msf_ring_group {
  uint64_t end;             /* the chunk after its last */
  uint64_t edges;           /* filtered in it */
  unsigned turn, back_turn; /* the filter's, behind it */
} msf_ring_group;

/* A chunk that was sent. */
typedef struct msf_flight {
  msf_packed packed; /* as it lies on the device, */
  uint64_t at;       /* so many bytes from the beginning */
} msf_flight;

/* Told of each chunk whose filtering is done and which of its edges were kept, before its slot is
 * free again. */
typedef dzo_status (*msf_retain_fn)(void *argument, uint64_t chunk, const uint32_t *masks);

typedef struct msf_ring {
  dzo_unit *unit;
  msf_filter filter;
  uint64_t slot_bytes;
  unsigned key_bytes;
  uint32_t slots;        /* of staging memory: chunk c is in slot c % slots */
  uint32_t group_chunks; /* of a group, at most */
  uint32_t copy_chunks;  /* of a group of copies */
  uint32_t lanes;        /* queues for copies */
  bool is_short;         /* few whole chunks fill it, so that they wait for merges */
  char *staging;
  char *device; /* chunks in the order they came, over and over */
  uint64_t device_bytes;
  uint64_t next_at;                /* where the next one is placed, if it fits */
  msf_flight flights[MSF_FLIGHTS]; /* chunk c is in c % MSF_FLIGHTS */
  msf_filter_tally *tallies;       /* staging, [MSF_GROUPS] edges in the columns after each group */
  msf_ring_group groups[MSF_GROUPS];
  uint64_t closed;                /* groups so far */
  uint64_t counted;               /* of them, those whose count is known */
  uint64_t copy_ends[MSF_GROUPS]; /* the same for groups of copies: the chunk after the last */
  uint64_t copies, copied;        /* so far; of them, those known to have left their slots */
  uint64_t counted_end;           /* the chunk after the last group counted */
  uint64_t copied_end;            /* the same of groups of copies */
  uint64_t submitted;             /* chunks */
  uint64_t filtered;              /* of them, those that the GPU was told to filter */
  uint64_t known;                 /* edges in the columns at most, after the last group counted */
  uint64_t known_back;            /* of them, at the back */
  uint64_t open_edges;            /* filtered in the group that is not closed */
  uint64_t enough;                /* edges in the columns that are worth a merge */
  bool due;                       /* a merge is, as soon as it is known of how many edges */
  uint64_t merged;                /* chunks filtered before the last one */
  uint64_t merges;
  msf_retain_fn retain; /* or NULL; then merges are the caller's */
  void *retain_argument;
  uint64_t retained; /* chunks that it was told of */
  uint32_t *masks;   /* staging, [slots][mask_words] */
  uint64_t mask_words;
  msf_filter_control *control; /* staging: the filter's, when MSF_RING_MERGED is reached */
  /* Called before each merge, or NULL. */
  dzo_status (*before_merge)(void *argument);
  void *merge_argument;
  void *extra; /* staging, the caller's */
} msf_ring;

/* What to ask of a unit. */
typedef struct msf_ring_shape {
  msf_filter_shape filter; /* capacity is chosen by msf_ring_plan() */
  uint64_t edges;          /* that will come, at most; UINT64_MAX: not known */
  uint64_t piece;          /* that come at a time; 0: not known */
  uint64_t most;           /* in the columns, if vertices allow it; 0: as many as are worth it */
  bool whole; /* chunks are whole rows, or lie in pinned memory already: none is in a slot */
  unsigned key_bytes;
  bool lists;  /* chunks may be lists */
  bool retain; /* edges kept are told of */
  int threads;
  uint64_t extra;                             /* bytes of staging memory for the caller */
  uint64_t units;                             /* of a chunk; chosen by msf_ring_plan() */
  uint32_t slots, device_slots, group_chunks; /* likewise */
} msf_ring_shape;

/* Fit the shape into `bytes` of device memory; false if not even a small batch fits. */
bool msf_ring_plan(msf_ring_shape *shape, uint64_t bytes);
/* Into what the unit has to give; DZO_E_MEMORY. */
dzo_status msf_ring_fit(msf_ring_shape *shape, dzo_unit *unit);
uint64_t msf_ring_bytes(const msf_ring_shape *shape);
/* Take the memory. Vertices are then set by msf_filter_vertices(). */
dzo_status msf_ring_open(msf_ring *ring, dzo_unit *unit, const msf_ring_shape *shape);

/* Where a solve ends early: wait until nothing is read from the host or written to the device any
 * more. */
void msf_ring_abandon(msf_ring *ring);
/* The rate of the bus, before anything is on its way. */
dzo_status msf_ring_measure(msf_ring *ring, double *bytes_a_second);

char *msf_ring_slot(const msf_ring *ring, uint64_t chunk);
/* Will a chunk of this many edges fit without merging before? */
dzo_status msf_ring_has_room(msf_ring *ring, uint64_t edges, bool *fits);
/* Send the next chunk, packed in its slot. It is filtered when there is room for what may be kept;
 * until then this waits for the GPU only where chunks have no more room, either. */
dzo_status msf_ring_submit(msf_ring *ring, const msf_packed *packed);
/* Chunks whose staging slots are known to be free again: all before this one. */
uint64_t msf_ring_released(const msf_ring *ring);
/* Wait until that is more, as long as any are on their way. */
dzo_status msf_ring_reclaim(msf_ring *ring);
/* Would that not wait, as far as is known? */
bool msf_ring_left(const msf_ring *ring);
/* Do what can be done without waiting. */
dzo_status msf_ring_go_on(msf_ring *ring);
/* Make what has come the forest of itself; no chunk from the back may follow. */
dzo_status msf_ring_merge(msf_ring *ring);
/* The same, but of what was filtered by now, and without waiting; if that is anything new. */
void msf_ring_merge_soon(msf_ring *ring);
/* Forget all edges. */
dzo_status msf_ring_restart(msf_ring *ring);
/* Wait for all; the exact number of edges in the columns. */
dzo_status msf_ring_settle(msf_ring *ring, uint64_t *count);

/* After a merge, waiting for it: what it tells of the forest. */
dzo_status msf_ring_forest(msf_ring *ring, const msf_filter_control **control);

/* Part of what comes back from the GPU: items first .. of columns of words. */
typedef struct msf_piece {
  uint64_t first;
  const uint32_t *columns[MSF_COLUMNS];
  uint64_t *answers; /* an answer to each item, if they are asked for */
} msf_piece;

/* Handles the items begin .. end - 1 of a piece. Any thread. */
typedef void (*msf_take_fn)(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                            int thread);
/* Run `take` over device columns of `count` words, brought piece by piece through the staging
 * slots, when nothing is on its way to the GPU. Its answers, unless `answers` is NULL, go back
 * there. */
dzo_status msf_ring_fetch(msf_ring *ring, uint32_t *const *columns, int number, uint64_t count,
                          msf_take_fn take, void *argument, uint64_t *answers);
/* Bring device words to the host, by this queue. */
dzo_status msf_ring_fetch_words(msf_ring *ring, int queue, uint32_t *words, uint64_t count,
                                uint32_t *to);

#endif
