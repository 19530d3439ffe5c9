/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What stands in for this folder's .cu files where the library is built without CUDA. No GPU can be
 * opened then, so none of it is ever called. */
#include "knapsack/method.h"
