/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Exact 0-1 knapsack: of `count` items, each of a value and a weight, take those of the greatest
 * total value whose total weight is at most the capacity.
 *
 * Values, weights and capacity are any 64-bit integers, negative ones too; sums are exact in 128
 * bits, nothing wraps. Items may come in several copies (the bounded problem).
 *
 * One answer. The optimal value is the same for every algorithm, device and number of threads. Of
 * several optimal sets, an instance of at most DZO_KNAPSACK_SMALL cells (items times capacity + 1)
 * whose values add up to less than 2^62 and that is solved by DZO_KNAPSACK_AUTO, alone or in a
 * batch, has the same set on every device. If it has no negative numbers and no copies, that is the
 * one that leaves out the last item if any optimal set does, then the one before, and so on.
 * Otherwise the set is one of the optimal ones.
 *
 * Limits. A time limit, too little memory, or a cancel end a call early, with the best set found
 * and a proved bound on what the best of all could be worth. Memory is the context's `memory`, or
 * half of the machine's where that was not given. */
#ifndef DZO_KNAPSACK_H
#define DZO_KNAPSACK_H

#include "dzo/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* high * 2^64 + low, in two's complement. */
typedef struct dzo_int128 {
  int64_t high;
  uint64_t low;
} dzo_int128;

/* What to choose from. The arrays are borrowed for the call. */
typedef struct dzo_knapsack_instance {
  size_t size;            /* sizeof(dzo_knapsack_instance) */
  uint64_t count;         /* items, at most DZO_KNAPSACK_ITEMS */
  const int64_t *values;  /* [count] */
  const int64_t *weights; /* [count] */
  const int64_t *copies;  /* [count] how many there are of each, at least 0; NULL: one of each */
  int64_t capacity;
} dzo_knapsack_instance;
DZO_API void dzo_knapsack_instance_init(dzo_knapsack_instance *instance);

#define DZO_KNAPSACK_ITEMS (UINT64_C(1) << 30)
#define DZO_KNAPSACK_SMALL (UINT64_C(1) << 20)

/* The methods; docs/knapsack.md tells what each is good for. */
typedef enum dzo_knapsack_algorithm {
  DZO_KNAPSACK_AUTO = 0,
  DZO_KNAPSACK_BRUTE_FORCE = 1,    /* all subsets; up to 48 items */
  DZO_KNAPSACK_HOROWITZ_SAHNI = 2, /* depth-first branch and bound; CPU */
  DZO_KNAPSACK_HYBRID = 3,         /* the first items enumerated, Horowitz-Sahni below */
  DZO_KNAPSACK_CORE = 4,           /* dynamic programming outward from the break item; CPU */
  DZO_KNAPSACK_DENSE = 5,          /* a table over all capacities */
  DZO_KNAPSACK_TWO_LIST = 6        /* two halves, all sums of each, pruned and merged */
} dzo_knapsack_algorithm;
/* "core", or NULL for a value that is none. */
DZO_API const char *dzo_knapsack_algorithm_name(dzo_knapsack_algorithm algorithm);

/* What is known so far. */
typedef struct dzo_knapsack_progress {
  size_t size; /* sizeof(dzo_knapsack_progress) */
  dzo_knapsack_algorithm algorithm;
  dzo_int128 value; /* of the best set found */
  dzo_int128 bound; /* no set is worth more */
  double seconds;
} dzo_knapsack_progress;
/* Called now and then from the calling thread; returns 0 to go on, anything else to stop with what
 * there is. Must return, as dzo_progress_fn must. In a batch it tells of the instance that is being
 * solved, where one takes longer than the others. */
typedef int (*dzo_knapsack_progress_fn)(void *user, const dzo_knapsack_progress *progress);

typedef struct dzo_knapsack_options {
  size_t size;                      /* sizeof(dzo_knapsack_options) */
  dzo_knapsack_algorithm algorithm; /* default DZO_KNAPSACK_AUTO */
  int fixed;         /* items that HYBRID enumerates, 1..40; 0 (default): as suits the device */
  double time_limit; /* seconds; 0 (default): none */
  dzo_knapsack_progress_fn progress; /* NULL (default): none */
  void *progress_user;
} dzo_knapsack_options;
DZO_API void dzo_knapsack_options_init(dzo_knapsack_options *options);

typedef enum dzo_knapsack_outcome {
  DZO_KNAPSACK_OPTIMAL = 0,   /* no set is worth more: value == bound */
  DZO_KNAPSACK_FEASIBLE = 1,  /* the best set found; none is worth more than bound */
  DZO_KNAPSACK_INFEASIBLE = 2 /* even the lightest set is heavier than the capacity; value, weight
                               * and bound are 0 */
} dzo_knapsack_outcome;

/* An answer. */
typedef struct dzo_knapsack dzo_knapsack;

/* Solve one instance, by the device of the context and within its memory. DZO_OK: *out is OPTIMAL
 * or INFEASIBLE. DZO_E_LIMIT (time or memory; the message says which) and DZO_E_CANCELLED: *out is
 * FEASIBLE, or NULL where not even the items could be held. Else *out is NULL: DZO_E_ARGUMENT;
 * DZO_E_MEMORY; DZO_E_UNSUPPORTED: the algorithm asked for does not do such instances, or not on
 * this device, or sums need more than 128 bits, as the message says. A GPU that fails is no error:
 * the CPU takes over, and dzo_context_notice() says so. DZO_KNAPSACK_AUTO may choose a method of
 * the CPU on every device, if none of the GPU's is faster. */
DZO_API dzo_status dzo_knapsack_run(dzo_context *context, const dzo_knapsack_instance *instance,
                                    const dzo_knapsack_options *options, dzo_knapsack **out);
DZO_API void dzo_knapsack_destroy(dzo_knapsack *knapsack); /* NULL is fine */

DZO_API dzo_knapsack_outcome dzo_knapsack_outcome_of(const dzo_knapsack *knapsack);
DZO_API dzo_int128 dzo_knapsack_value(const dzo_knapsack *knapsack);
DZO_API dzo_int128 dzo_knapsack_weight(const dzo_knapsack *knapsack);
/* No set is worth more. */
DZO_API dzo_int128 dzo_knapsack_bound(const dzo_knapsack *knapsack);
/* Items taken: [dzo_knapsack_count] numbers, ascending, and how many copies of each. */
DZO_API uint64_t dzo_knapsack_count(const dzo_knapsack *knapsack);
DZO_API const uint64_t *dzo_knapsack_items(const dzo_knapsack *knapsack);
DZO_API const int64_t *dzo_knapsack_copies(const dzo_knapsack *knapsack);
/* Who solved it: the method that finished, and DZO_DEVICE_CPU, _CUDA or _HYBRID. */
DZO_API dzo_knapsack_algorithm dzo_knapsack_algorithm_of(const dzo_knapsack *knapsack);
DZO_API dzo_device dzo_knapsack_device(const dzo_knapsack *knapsack);
/* What it took: nodes of a tree or states of lists, and cells of tables; 0 where there are none. */
DZO_API uint64_t dzo_knapsack_nodes(const dzo_knapsack *knapsack);
DZO_API uint64_t dzo_knapsack_cells(const dzo_knapsack *knapsack);
/* The plan that was followed, for people: a short text, never NULL. */
DZO_API const char *dzo_knapsack_plan(const dzo_knapsack *knapsack);

/* ---- Many instances -------------------------------------------------------------------------- */

/* Instances that stand one behind another: the items of instance i are offsets[i] ..
 * offsets[i + 1] - 1 of the arrays. All arrays lie in host memory. */
typedef struct dzo_knapsack_batch {
  size_t size; /* sizeof(dzo_knapsack_batch) */
  uint64_t count;
  const uint64_t *offsets;   /* [count + 1], from 0, ascending */
  const int64_t *values;     /* [offsets[count]] */
  const int64_t *weights;    /* [offsets[count]] */
  const int64_t *copies;     /* [offsets[count]], or NULL: one of each */
  const int64_t *capacities; /* [count] */
  /* The answers, arrays of the caller; each may be NULL. */
  uint8_t *outcomes;       /* [count] dzo_knapsack_outcome */
  dzo_int128 *value_sums;  /* [count] */
  dzo_int128 *weight_sums; /* [count] */
  dzo_int128 *bounds;      /* [count] */
  int64_t *taken;          /* [offsets[count]] copies taken of each item */
  /* Set by the call. */
  uint64_t optimal, feasible, infeasible; /* how many had each outcome */
  dzo_device device;                      /* who worked: CPU, CUDA, or HYBRID for both */
} dzo_knapsack_batch;
DZO_API void dzo_knapsack_batch_init(dzo_knapsack_batch *batch);

/* Solve them all, with all processors of the context; each has the answer that dzo_knapsack_run()
 * gives. The time limit is that of the whole batch. DZO_E_LIMIT, DZO_E_CANCELLED: some are
 * FEASIBLE, those not begun with the empty set or what else is known to fit; everything is filled
 * in. DZO_E_ARGUMENT names the instance, and nothing is done. */
DZO_API dzo_status dzo_knapsack_run_batch(dzo_context *context, dzo_knapsack_batch *batch,
                                          const dzo_knapsack_options *options);

/* ---- Verification ---------------------------------------------------------------------------- */

/* Check a claimed set by recomputing its sums: `taken` [count] copies of each item. *valid is 0 if
 * more copies are taken than there are, or they weigh more than the capacity; the message says
 * which. *value and *weight, where not NULL, are the sums. That the set is optimal is not checked.
 * DZO_E_ARGUMENT. */
DZO_API dzo_status dzo_knapsack_verify(dzo_context *context, const dzo_knapsack_instance *instance,
                                       const int64_t *taken, int *valid, dzo_int128 *value,
                                       dzo_int128 *weight);

/* ---- Instances for experiments --------------------------------------------------------------- */

/* The classes of D. Pisinger, "Where are the hard knapsack problems?", Computers & Operations
 * Research 32, 2005; and Finkelstein's: all values and weights 2, an odd capacity. */
typedef enum dzo_knapsack_class {
  DZO_KNAPSACK_UNCORRELATED = 0,
  DZO_KNAPSACK_WEAKLY_CORRELATED,
  DZO_KNAPSACK_STRONGLY_CORRELATED,
  DZO_KNAPSACK_INVERSE_STRONGLY_CORRELATED,
  DZO_KNAPSACK_ALMOST_STRONGLY_CORRELATED,
  DZO_KNAPSACK_SUBSET_SUM,
  DZO_KNAPSACK_EVEN_ODD_SUBSET_SUM,
  DZO_KNAPSACK_EVEN_ODD,
  DZO_KNAPSACK_SIMILAR_WEIGHTS,
  DZO_KNAPSACK_SPANNER_UNCORRELATED,
  DZO_KNAPSACK_SPANNER_WEAKLY,
  DZO_KNAPSACK_SPANNER_STRONGLY,
  DZO_KNAPSACK_MULTIPLE_STRONGLY,
  DZO_KNAPSACK_PROFIT_CEILING,
  DZO_KNAPSACK_CIRCLE,
  DZO_KNAPSACK_FINKELSTEIN,
  DZO_KNAPSACK_CLASSES
} dzo_knapsack_class;
/* "uncorrelated", "strongly-correlated", ..., or NULL. */
DZO_API const char *dzo_knapsack_class_name(dzo_knapsack_class kind);

/* Fill values and weights [count] and *capacity with an instance, which `seed` determines, the same
 * on every machine. `range` is R, the greatest coefficient before a class adds to it, 10 to 1e17.
 * The capacity is floor(fraction * weight sum) with the fraction `part` / `parts`. DZO_E_ARGUMENT;
 * DZO_E_UNSUPPORTED where a coefficient would not fit 64 bits. */
DZO_API dzo_status dzo_knapsack_generate(dzo_context *context, dzo_knapsack_class kind,
                                         uint64_t count, int64_t range, uint64_t seed,
                                         uint64_t part, uint64_t parts, int64_t *values,
                                         int64_t *weights, int64_t *capacity);

#ifdef __cplusplus
}
#endif
#endif
