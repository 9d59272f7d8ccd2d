/* SPDX-License-Identifier: Apache-2.0 */
#include "pending_tree.h"

#include "base/bytes.h"

#include <stdlib.h>

#define NODE(i) (tree->nodes[i])

void pending_tree_init(struct pending_tree *tree, uint64_t capacity)
{
    *tree = (struct pending_tree){.capacity = capacity};
    tree->nodes = memory_new_zeroed(capacity + 1, sizeof *tree->nodes);
}

void pending_tree_deinit(struct pending_tree *tree)
{
    free(tree->nodes);
    *tree = (struct pending_tree){0};
}

static void replace_child(struct pending_tree *tree, uint32_t old, uint32_t new)
{
    uint32_t parent = NODE(old).parent;
    if (parent == 0)
        tree->root = new;
    else if (NODE(parent).left == old)
        NODE(parent).left = new;
    else
        NODE(parent).right = new;
    NODE(new).parent = parent;
}

static void rotate(struct pending_tree *tree, uint32_t x, bool left)
{
    uint32_t y = left ? NODE(x).right : NODE(x).left;
    uint32_t inner = left ? NODE(y).left : NODE(y).right;
    replace_child(tree, x, y);
    if (left) {
        NODE(x).right = inner;
        NODE(y).left = x;
    } else {
        NODE(x).left = inner;
        NODE(y).right = x;
    }
    if (inner != 0)
        NODE(inner).parent = x;
    NODE(x).parent = y;
}

static uint32_t leftmost(const struct pending_tree *tree, uint32_t at)
{
    while (at != 0 && NODE(at).left != 0)
        at = NODE(at).left;
    return at;
}

void pending_tree_add(struct pending_tree *tree, uint64_t ord)
{
    uint32_t z = (uint32_t)(ord % tree->capacity) + 1, parent = 0;
    for (uint32_t at = tree->root; at != 0;
         at = ord < NODE(at).ord ? NODE(at).left : NODE(at).right)
        parent = at;
    NODE(z) = (struct pending_node){.ord = ord, .parent = parent, .red = true};
    if (parent == 0)
        tree->root = z;
    else if (ord < NODE(parent).ord)
        NODE(parent).left = z;
    else
        NODE(parent).right = z;
    if (tree->first == 0 || ord < NODE(tree->first).ord)
        tree->first = z;
    while (NODE(NODE(z).parent).red) {
        uint32_t p = NODE(z).parent, g = NODE(p).parent;
        bool left = p == NODE(g).left;
        uint32_t uncle = left ? NODE(g).right : NODE(g).left;
        if (NODE(uncle).red) {
            NODE(p).red = NODE(uncle).red = false;
            NODE(g).red = true;
            z = g;
            continue;
        }
        if (z == (left ? NODE(p).right : NODE(p).left)) {
            z = p;
            rotate(tree, z, left);
            p = NODE(z).parent;
        }
        NODE(p).red = false;
        NODE(g).red = true;
        rotate(tree, g, !left);
    }
    NODE(tree->root).red = false;
}

/* x stands where a black node went; its parent is set, also when it is the leaf. */
static void repair(struct pending_tree *tree, uint32_t x)
{
    while (x != tree->root && !NODE(x).red) {
        uint32_t p = NODE(x).parent;
        bool left = x == NODE(p).left;
        uint32_t w = left ? NODE(p).right : NODE(p).left;
        if (NODE(w).red) {
            NODE(w).red = false;
            NODE(p).red = true;
            rotate(tree, p, left);
            w = left ? NODE(p).right : NODE(p).left;
        }
        uint32_t near = left ? NODE(w).left : NODE(w).right;
        uint32_t far = left ? NODE(w).right : NODE(w).left;
        if (!NODE(near).red && !NODE(far).red) {
            NODE(w).red = true;
            x = p;
            continue;
        }
        if (!NODE(far).red) {
            NODE(near).red = false;
            NODE(w).red = true;
            rotate(tree, w, !left);
            w = left ? NODE(p).right : NODE(p).left;
            far = left ? NODE(w).right : NODE(w).left;
        }
        NODE(w).red = NODE(p).red;
        NODE(p).red = NODE(far).red = false;
        rotate(tree, p, left);
        x = tree->root;
    }
    NODE(x).red = false;
}

static void unlink_node(struct pending_tree *tree, uint32_t z)
{
    uint32_t x;
    bool black = !NODE(z).red;
    if (NODE(z).left == 0 || NODE(z).right == 0) {
        x = NODE(z).left != 0 ? NODE(z).left : NODE(z).right;
        replace_child(tree, z, x);
    } else {
        uint32_t y = leftmost(tree, NODE(z).right);
        black = !NODE(y).red;
        x = NODE(y).right;
        if (NODE(y).parent == z) {
            NODE(x).parent = y;
        } else {
            replace_child(tree, y, x);
            NODE(y).right = NODE(z).right;
            NODE(NODE(y).right).parent = y;
        }
        replace_child(tree, z, y);
        NODE(y).left = NODE(z).left;
        NODE(NODE(y).left).parent = y;
        NODE(y).red = NODE(z).red;
    }
    if (black)
        repair(tree, x);
    NODE(0) = (struct pending_node){0};
}

bool pending_tree_remove(struct pending_tree *tree, uint64_t ord)
{
    uint32_t at = tree->root;
    while (at != 0 && NODE(at).ord != ord)
        at = ord < NODE(at).ord ? NODE(at).left : NODE(at).right;
    if (at == 0)
        return false;
    bool was_first = at == tree->first;
    unlink_node(tree, at);
    if (was_first)
        tree->first = leftmost(tree, tree->root);
    return true;
}

uint64_t pending_tree_first(const struct pending_tree *tree, uint64_t otherwise)
{
    return tree->first == 0 ? otherwise : NODE(tree->first).ord;
}
