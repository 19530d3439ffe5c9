/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a method of solving sees: a problem in normal form, and a job with limits. The plan
 * (knapsack.c) makes both, chooses a method, and turns its answer into the caller's. */
#ifndef DZO_KNAPSACK_METHOD_H
#define DZO_KNAPSACK_METHOD_H

#include "base/context.h"
#include "device/device.h"
#include "dzo/knapsack.h"

#ifdef __cplusplus
extern "C" {
#endif

__extension__ typedef __int128 knapsack_wide;

/* The normal form, which normalize.c makes of any instance: no negative numbers, no copies, nothing
 * that is decided beforehand. Items keep their order. */
typedef struct knapsack_problem {
  uint32_t items;
  const int64_t *value;  /* [items] at least 1 */
  const int64_t *weight; /* [items] 1 .. capacity */
  int64_t capacity;      /* less than the sum of the weights, so some item stays behind */
  knapsack_wide value_sum, weight_sum;
  int64_t value_max, weight_max;
} knapsack_problem;

/* Below this, sums and differences of sums fit 64 bits. */
#define KNAPSACK_NARROW ((knapsack_wide)1 << 62)
static inline bool knapsack_is_narrow(const knapsack_problem *p) {
  return p->value_sum < KNAPSACK_NARROW && p->weight_sum < KNAPSACK_NARROW;
}

/* One call's means and limits. */
typedef struct knapsack_job {
  dzo_context *context;
  dzo_unit *gpu;   /* NULL: the CPU alone */
  bool cpu;        /* may the CPU's threads share in the work? Always true without a GPU */
  int threads;     /* of the CPU */
  unsigned fixed;  /* items that the hybrid enumerates; 0: it chooses */
  double deadline; /* by dzo_clock(); INFINITY: none */
  double begun;
  uint64_t memory; /* bytes of host memory that the method may take */
  const dzo_knapsack_options *options;
  int stopped; /* knapsack_stop; accessed atomically */
  bool quiet;  /* tells nobody anything: it is not on the calling thread, or one of many */
  const dzo_context *watched; /* whose cancel counts; NULL: that of `context` */
  /* What the caller is told of a sum of values is value_base + value_scale * sum. */
  knapsack_wide value_base, value_scale;
} knapsack_job;

typedef enum knapsack_stop {
  KNAPSACK_GOES_ON = 0,
  KNAPSACK_OUT_OF_TIME,
  KNAPSACK_CANCELLED,
  KNAPSACK_OUT_OF_MEMORY
} knapsack_stop;

/* Must the method come to its end now? Any thread; reads the clock, so not in each step: about
 * every 100 microseconds to 10 ms. Once true, it stays true. */
bool knapsack_must_stop(knapsack_job *job);
/* The same, telling the caller's progress functions what is known. Calling thread only. */
bool knapsack_report(knapsack_job *job, dzo_knapsack_algorithm algorithm, knapsack_wide value,
                     knapsack_wide bound);

/* Bytes of host memory that the job may still take. */
uint64_t knapsack_memory_left(const knapsack_job *job);

dzo_int128 knapsack_public(knapsack_wide sum);

/* What a method found. It comes in as the empty set with value 0 and a bound that holds (value_sum,
 * if nobody knows better), and must be right whenever the method returns, whatever it returns. */
typedef struct knapsack_answer {
  uint8_t *taken;      /* [items] 0 or 1 */
  knapsack_wide value; /* of what is taken */
  knapsack_wide bound; /* no set is worth more; == value where the set is proved optimal */
  uint64_t nodes, cells;
  dzo_device device; /* who worked: CPU (as it comes in), CUDA or HYBRID */
} knapsack_answer;

/* What a method expects to take. Rough is fine: it is for comparing methods. Where to know better
 * takes long, a method does not try to while the job has only KNAPSACK_EARLY seconds behind it; it
 * is asked again later. */
#define KNAPSACK_EARLY 0.012
typedef struct knapsack_estimate {
  double seconds;      /* likely; INFINITY: hopeless */
  double worst;        /* at worst, where the method knows, else INFINITY */
  uint64_t memory;     /* bytes of host memory */
  uint64_t gpu_bytes;  /* and of GPU memory */
  knapsack_wide bound; /* no set is worth more, as the method found on the way; 0: it did not */
} knapsack_estimate;

typedef struct knapsack_method {
  dzo_knapsack_algorithm algorithm;
  /* Why it does not take this problem with this job (its devices, its memory), or NULL if it does.
   * `why` is room for a text with numbers in it. */
  const char *(*refusal)(const knapsack_problem *problem, const knapsack_job *job, char *why,
                         size_t why_size);
  /* Never called where it refuses. */
  knapsack_estimate (*estimate)(const knapsack_problem *problem, const knapsack_job *job);
  /* DZO_OK: proved optimal, or stopped because knapsack_must_stop() said so. DZO_E_MEMORY: it ran
   * out of (its share of) memory; another method may go on. DZO_E_DEVICE: the GPU is lost. In every
   * case the answer holds. */
  dzo_status (*solve)(knapsack_job *job, const knapsack_problem *problem, knapsack_answer *answer);
} knapsack_method;

/* methods.c: by algorithm; NULL for AUTO, and for what is not there. */
const knapsack_method *knapsack_method_of(dzo_knapsack_algorithm algorithm);

extern const knapsack_method knapsack_brute_force;
extern const knapsack_method knapsack_horowitz_sahni;
extern const knapsack_method knapsack_hybrid;
extern const knapsack_method knapsack_core;
extern const knapsack_method knapsack_dense;
extern const knapsack_method knapsack_two_list;

/* ---- bounds.c: what several methods need ----------------------------------------------------- */

/* The items by falling value / weight, exactly (products in 128 bits), ties by rising number.
 * order [items]. */
dzo_status knapsack_sort(dzo_context *context, const knapsack_problem *problem, uint32_t *order);
/* The greedy set along an order: items that fit, one after another. Sets taken and value. */
void knapsack_greedy(const knapsack_problem *problem, const uint32_t *order,
                     knapsack_answer *answer);
/* Dantzig's bound: floor of the optimum when items may be cut. Order as above. */
knapsack_wide knapsack_dantzig(const knapsack_problem *problem, const uint32_t *order);
/* Dantzig's bound and a set that begins as the greedy one, in O(items). `order` is room. Sets
 * taken, value and bound. */
void knapsack_quick(const knapsack_problem *problem, uint32_t *order, knapsack_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
