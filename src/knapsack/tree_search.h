/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The search on one thread for one width of sums; horowitz_sahni.c includes this for each. */

/* A node above the one at hand: what it is, where its children begin, and which is being tried. */
typedef struct TREE_LEVEL {
  TREE_NODE node;
  uint32_t from, child;
} TREE_LEVEL;

static void TREE(fill_rows)(const knapsack_problem *p, const uint32_t *order, TREE_ROW *rows) {
  rows[0] = (TREE_ROW){0};
  for (uint32_t i = 0; i < p->items; i++) {
    rows[i + 1].weight = rows[i].weight + p->weight[order[i]];
    rows[i + 1].value = rows[i].value + p->value[order[i]];
  }
  rows[p->items].least = 0;
  rows[p->items].pair = TREE_MOST;
  rows[p->items + 1] = (TREE_ROW){TREE_MOST, rows[p->items].value, p->weight_max, TREE_MOST};
  for (uint32_t i = p->items; i-- > 0;) {
    TREE_SUM value = p->value[order[i]], least = rows[i + 1].least, pair = rows[i + 1].pair;
    bool is_last = i + 1 == p->items;
    rows[i].least = is_last || value < least ? value : least;
    rows[i].pair = !is_last && value + least < pair ? value + least : pair;
  }
}

/* A node that is worth more than any before. `child` is skipped beside those on the way to it. */
static void TREE(record)(tree_search *s, TREE_SUM value, uint32_t stop, bool has_child,
                         uint32_t child) {
  const TREE_LEVEL *levels = s->levels;
  s->best = s->value = value;
  s->stop = stop;
  s->skips = 0;
  s->skipped_mask = s->mask;
  for (uint32_t i = 0; i < s->depth; i++)
    s->skipped[s->skips++] = levels[i].child;
  if (has_child)
    s->skipped[s->skips++] = child;
}

static void TREE(begin)(tree_search *s, const tree_work *work) {
  const TREE_ROW *rows = s->tree->rows;
  TREE_NODE *node = s->node;
  TREE_LEVEL *levels = s->levels;
  *node = (TREE_NODE){(TREE_SUM)s->tree->problem->capacity, 0, 0};
  s->depth = 0;
  s->from = s->base;
  for (uint32_t i = 0; work != NULL && i < s->tree->items && i < TREE_MASK_ITEMS; i++) {
    if (!(work->mask >> i & 1))
      continue;
    if (i >= s->base) {
      node->stop = s->from;
      TREE(find)(rows, node);
      levels[s->depth++] = (TREE_LEVEL){*node, s->from, i};
      s->from = i + 1;
    }
    TREE(skip)(rows, node, i);
  }
  if (rows[s->from].weight > node->room) {
    s->is_open = false;
    return;
  }
  node->stop = s->from;
  TREE(find)(rows, node);
  s->is_open = true;
  s->at = node->stop + 1;
  if (work != NULL && work->at != TREE_ROOT) {
    s->at = work->at;
    return;
  }
  s->nodes++;
  TREE_SUM value = TREE(value)(rows, node);
  if (value > s->best)
    TREE(record)(s, value, node->stop, false, 0);
  s->is_open = TREE(promises)(rows, node, (TREE_SUM)s->best);
}

/* A child is only gone down to where one of its own children needs a look. */
static void TREE(run)(tree_search *s, uint64_t nodes) {
  const TREE_ROW *rows = s->tree->rows;
  const uint32_t items = s->tree->items;
  TREE_LEVEL *levels = s->levels;
  TREE_NODE node = *(TREE_NODE *)s->node;
  uint32_t from = s->from, at = s->at, next;
  TREE_SUM best = (TREE_SUM)s->best;
  uint64_t done = 0;
  bool is_skimmed = false; /* the child at - 1 needs a look */
  while (is_skimmed || done < nodes) {
    if (!is_skimmed) {
      next = TREE(skim)(rows, items, &node, from, at, best);
      done += at - next;
      at = next;
    }
    is_skimmed = false;
    if (at == from) {
      if (s->depth == 0) {
        s->is_open = false;
        break;
      }
      const TREE_LEVEL *above = &levels[--s->depth];
      node = above->node;
      from = above->from;
      at = above->child;
      continue;
    }
    at--;
    done++;
    TREE_NODE child = node;
    TREE(skip)(rows, &child, at);
    TREE(find)(rows, &child);
    TREE_SUM value = TREE(value)(rows, &child);
    if (value > best) {
      TREE(record)(s, value, child.stop, true, at);
      best = value;
    }
    if (!TREE(promises)(rows, &child, best))
      continue;
    next = TREE(skim)(rows, items, &child, at + 1, child.stop + 1, best);
    done += child.stop + 1 - next;
    if (next == at + 1)
      continue;
    levels[s->depth++] = (TREE_LEVEL){node, from, at};
    node = child;
    from = at + 1;
    at = next;
    is_skimmed = true;
  }
  s->nodes += done;
  *(TREE_NODE *)s->node = node;
  s->from = from;
  s->at = at;
}
