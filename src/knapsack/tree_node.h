/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One node of the tree of E. Horowitz and S. Sahni, "Computing partitions with applications to the
 * knapsack problem", Journal of the ACM 21, 1974, for one width of sums; horowitz_sahni.h includes
 * this for each. The items stand by falling worth.
 *
 * A node is a set of items that are skipped; behind the last of them, items are taken as long as
 * they fit. Whatever is taken, the capacity and the weights of the skipped items, less the weights
 * of all items up to there, is what is free: so the first item that does not fit is found among the
 * sums of the first items alone, and skipping one more changes two numbers. Its children skip one
 * item more, behind the last: the one that does not fit, or one of those taken before it. */

/* Sums over the first items: row i is that of items 0 .. i - 1. Behind row `items` stands one whose
 * weight is more than any room, and whose value is that of row `items`. */
typedef struct TREE_ROW {
  TREE_SUM weight, value;
  TREE_SUM least; /* value of one of the items i and behind; in the last row the greatest weight */
  TREE_SUM pair;  /* values of two of them together; the most there is where there are none */
} TREE_ROW;

typedef struct TREE_NODE {
  TREE_SUM room; /* the capacity and the weights of the skipped items */
  TREE_SUM lost; /* the values of the skipped items */
  uint32_t stop; /* the first item that does not fit, or the number of items */
} TREE_NODE;

/* From any stop to the right one. */
DZO_ITEM void TREE(find)(const TREE_ROW *rows, TREE_NODE *node) {
  while (rows[node->stop].weight > node->room)
    node->stop--;
  while (rows[node->stop + 1].weight <= node->room)
    node->stop++;
}

/* What is taken is worth that much. */
DZO_ITEM TREE_SUM TREE(value)(const TREE_ROW *rows, const TREE_NODE *node) {
  return rows[node->stop].value - node->lost;
}

/* Could a set of the subtree be worth more than `best`, which is at least the node's value? That is
 * Dantzig's bound, without a division: the item that does not fit is cut. */
DZO_ITEM bool TREE(promises)(const TREE_ROW *rows, const TREE_NODE *node, TREE_SUM best) {
  TREE_ROW here = rows[node->stop], after = rows[node->stop + 1];
  TREE_SUM gap = best + 1 - (here.value - node->lost), value = after.value - here.value;
  return gap <= value &&
         TREE(at_least)(node->room - here.weight, value, gap, after.weight - here.weight);
}

/* Skip one more item, or take it back (then the stop has to be found). */
DZO_ITEM void TREE(skip)(const TREE_ROW *rows, TREE_NODE *node, uint32_t item) {
  node->room += rows[item + 1].weight - rows[item].weight;
  node->lost += rows[item + 1].value - rows[item].value;
}
DZO_ITEM void TREE(take_back)(const TREE_ROW *rows, TREE_NODE *node, uint32_t item) {
  node->room -= rows[item + 1].weight - rows[item].weight;
  node->lost -= rows[item + 1].value - rows[item].value;
}

/* Pass over the children that skip the items at - 1, at - 2, .. from, as long as they need no
 * closer look: where all the other items fit, the value is known, and else at least one more is
 * skipped. All are passed at once where none is enough and any two are worth too much. Returns `at`
 * for the child to be looked at, or `from`. */
DZO_ITEM uint32_t TREE(skim)(const TREE_ROW *rows, uint32_t items, const TREE_NODE *node,
                             uint32_t from, uint32_t at, TREE_SUM best) {
  TREE_SUM enough = rows[items].weight - node->room;
  TREE_SUM better = rows[items].value - node->lost - best;
  if (rows[from].pair >= better && rows[items + 1].least < enough)
    return from;
  for (; at > from; at--) {
    TREE_SUM weight = rows[at].weight - rows[at - 1].weight;
    TREE_SUM value = rows[at].value - rows[at - 1].value;
    if (value + (weight >= enough ? 0 : rows[at].least) < better)
      break;
  }
  return at;
}
