/* SPDX-License-Identifier: Apache-2.0
 *
 * pending_tree.h - the yardstick: an ordered set of pending ordinals as a red-black tree.
 *
 * Nodes come from an array, so it does not pay for allocation; the smallest ordinal is at hand.
 * At most `capacity` ordinals at a time, and no two of them with the same slot. */
#ifndef BENCH_PENDING_TREE_H
#define BENCH_PENDING_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct pending_node {
    uint64_t ord;
    uint32_t left, right, parent;
    bool red;
};

struct pending_tree {
    struct pending_node *nodes; /* 0 is the leaf of all */
    uint32_t root, first;
    uint64_t capacity;
};

void pending_tree_init(struct pending_tree *tree, uint64_t capacity);
void pending_tree_deinit(struct pending_tree *tree);
void pending_tree_add(struct pending_tree *tree, uint64_t ord);
bool pending_tree_remove(struct pending_tree *tree, uint64_t ord);
/* The smallest, or `otherwise` when it is empty. */
uint64_t pending_tree_first(const struct pending_tree *tree, uint64_t otherwise);

#endif
