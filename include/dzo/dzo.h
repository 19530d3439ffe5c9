/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo: irregular problems on the CPU and the GPU together. This header includes all the others. */
#ifndef DZO_DZO_H
#define DZO_DZO_H

#include "dzo/context.h"
#include "dzo/graph.h"
#include "dzo/knapsack.h"
#include "dzo/msf.h"
#include "dzo/status.h"
#include "dzo/table.h"

#endif
