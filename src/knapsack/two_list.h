/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Two lists: the items are dealt to two halves, each half's subsets are listed by rising weight and
 * value, and the best pair of subsets is found by one walk over both lists (E. Horowitz, S. Sahni,
 * "Computing partitions with applications to the knapsack problem", J. ACM 21, 1974). A list grows
 * item by item, by merging it with itself shifted, and keeps no subset for which another is as
 * light and worth as much (G. L. Nemhauser, Z. Ullmann, "Discrete dynamic programming and capital
 * allocation", Management Science 15, 1969), nor one that no choice of all other items, cut where
 * need be, makes better than a set that is known.
 *
 * A subset is its weight and value alone. Which items it has is found at the end by solving the
 * list's items for that weight, by the same method. */
#ifndef DZO_KNAPSACK_TWO_LIST_H
#define DZO_KNAPSACK_TWO_LIST_H

#include "knapsack/method.h"

#ifdef __cplusplus
extern "C" {
#endif

__extension__ typedef unsigned __int128 two_list_product;

/* When to do what; tests set other ones. */
typedef struct two_list_tuning {
  uint64_t gpu_from[2]; /* subsets in a list from which the GPU goes on; where bounds prune */
  uint64_t chunk;       /* subsets that a thread merges at a time */
  uint64_t memory;      /* bytes of lists, at most; 0: as the job says */
  uint64_t gpu_memory;  /* bytes of lists on the GPU, at most; 0: what there is */
  double hits;          /* pairs expected to weigh a wanted sum, at which lists are long enough */
  unsigned gpu_choices; /* scans that the GPU is given at a time, at most TWO_LIST_CHOICES */
} two_list_tuning;
enum { TWO_LIST_CHOICES = 64, TWO_LIST_CHUNKS = 1024 };
extern const two_list_tuning two_list_usual;

/* Where an item is. */
enum { TWO_LIST_OUT = 0, TWO_LIST_IN = 1, TWO_LIST_FIRST = 2, TWO_LIST_SECOND = 3 };

/* A list's subsets, by strictly rising weight and value; what one is, the kind says. */
typedef struct two_list_list {
  void *states;
  uint64_t count, room;
  uint32_t items; /* that have joined it */
} two_list_list;

/* The best set that is known and not yet written down: items are in or out, or it is a subset of a
 * list's items that is known by its weight. */
typedef struct two_list_claim {
  bool open;
  uint8_t *place; /* [items] */
  int64_t weight[2];
} two_list_claim;

typedef struct two_list_run {
  knapsack_job *job;
  const two_list_tuning *tuning;
  const struct two_list_kind *kind;
  bool top; /* the whole problem, not a list's part of one: it may report, and use the GPU */
  const knapsack_problem *problem;
  uint32_t *order;    /* [items] by falling worth */
  uint32_t *queue;    /* [items] the order in which they join the lists */
  uint32_t joined;    /* how many have */
  uint8_t *place;     /* [items] the list that an item is in; OUT for the rest, IN by a choice */
  knapsack_wide best; /* the value of the best set that is known */
  knapsack_wide goal; /* no set is worth more */
  int64_t step;       /* by which values differ, at least */
  two_list_claim claim;
  two_list_list list[2], spare;
  /* All items but those of the list in hand, by falling worth, and the sums of the first k. */
  uint32_t others;
  uint32_t *other;                           /* [items] */
  knapsack_wide *other_weight, *other_value; /* [items + 1] */
  uint64_t states;                           /* that were looked at */
  uint64_t memory;                           /* bytes that lists may take */
  double until;                              /* not 0: the job has ended, but so long is left */
  double reported;
  bool stopped;
  bool looked;
  bool unpruned;        /* bounds are not expected to prune */
  bool gpu_off, on_gpu; /* it has no room; it was used */
} two_list_run;

/* What subsets are stored as. */
typedef struct two_list_kind {
  bool sums;    /* every value is the same multiple of its weight, so that a weight is enough */
  size_t state; /* bytes of a subset */
  /* Merge a list with itself shifted by an item into run->spare, which has room for it, and swap
   * the two. The item counts as one of the list's. */
  void (*add)(two_list_run *run, int which, uint32_t item);
  /* The best pair of at most this weight, with `value` added. Improves run->best and claims. */
  void (*scan)(two_list_run *run, int64_t capacity, knapsack_wide value);
  /* Copy subsets apart into arrays; value may be NULL. NULL where 64 bits are too few. */
  void (*part)(const two_list_list *list, int64_t *weight, int64_t *value);
} two_list_kind;
extern const two_list_kind two_list_sums, two_list_narrow, two_list_wide;

/* How many threads share so many chunks of work. */
enum { TWO_LIST_THREADS = 256 };
static inline int two_list_threads(const two_list_run *run, uint64_t chunks) {
  int threads = run->job->threads < TWO_LIST_THREADS ? run->job->threads : TWO_LIST_THREADS;
  return chunks < (uint64_t)threads ? (int)chunks : threads;
}

/* What the ways to add an item share: cut `all` steps of a merge into chunks, of *chunk or longer
 * ones; how many. And put what was kept of each chunk, of states of so many bytes, together, as the
 * list that now has one item more. */
uint64_t two_list_cut(uint64_t all, uint64_t *chunk);
void two_list_grown(two_list_run *run, int which, size_t bytes, const uint64_t *kept,
                    uint64_t chunk, uint64_t chunks);

/* two_list_search.c: lists grow and are searched until run->best is optimal. DZO_E_MEMORY,
 * DZO_E_DEVICE; DZO_OK with run->stopped where the job ended it. */
dzo_status two_list_search(two_list_run *run);
bool two_list_must_stop(two_list_run *run); /* any thread */
bool two_list_report(two_list_run *run);    /* the same, for the calling thread */
/* Note as the best a subset of one list, with the first `others` of the other items; and a pair of
 * subsets, with the items that are IN. */
void two_list_claim_one(two_list_run *run, int which, int64_t weight, uint32_t others,
                        knapsack_wide value);
void two_list_claim_pair(two_list_run *run, const uint8_t *place, const int64_t weight[2],
                         knapsack_wide value);
/* How many pairs of subsets weigh one given sum, about? */
double two_list_density(const two_list_run *run, double first, double second);

/* The choices about the items that are in no list, one after another. */
typedef struct two_list_choices {
  two_list_run *run;
  uint32_t count, depth;
  uint32_t *item;   /* [count] */
  uint8_t *tried;   /* [count] branches begun */
  int64_t left;     /* capacity behind the items that are in */
  int64_t middle;   /* what the lists best weigh together (sums) */
  knapsack_wide in; /* value of the items that are in */
} two_list_choices;
dzo_status two_list_choices_begin(two_list_run *run, two_list_choices *choices);
/* The next one that may be better than the best known; false when there is none. */
bool two_list_choices_next(two_list_choices *choices);
void two_list_choices_end(two_list_choices *choices);

/* two_list_device.c: end the search on the GPU, from lists that have grown large. *done is false
 * where it has no room. */
bool two_list_gpu_suits(const two_list_run *run, uint64_t subsets);
dzo_status two_list_on_gpu(two_list_run *run, double hits, bool *done);

/* The method, with another tuning. */
dzo_status two_list_solve(knapsack_job *job, const knapsack_problem *problem,
                          const two_list_tuning *tuning, knapsack_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
