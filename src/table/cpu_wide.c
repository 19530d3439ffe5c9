/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define WIDE 1
#define WORD uint64_t
#include "table/cpu_cut.h"

const table_cpu_width table_cpu_wide = {
    .slots = SLOTS,
    .reserved = RESERVED,
    .put = put,
    .work = work,
    .search = search,
    .pack = pack,
    .count = count_parts,
    .scatter = scatter,
    .move = split_or_move,
    .list = list_pairs,
    .tombs = count_tombs,
};
