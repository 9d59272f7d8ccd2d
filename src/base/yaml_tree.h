/* SPDX-License-Identifier: Apache-2.0
 *
 * yaml_tree.h - a YAML document as a tree that remembers where each thing stood.
 *
 * Always holds: no more nodes, no more anchors and no more depth than the limits below, also when
 * aliases multiply; every key of a map is a scalar. An alias becomes a copy of what it names, so a
 * node has one parent. Explicit tags and a second document are refused. What a scalar means is the
 * reader's business: the tree keeps its text and whether it was written plain.
 *
 * Owner: the caller.  Thread: one.  Never touches a file. */
#ifndef BASE_YAML_TREE_H
#define BASE_YAML_TREE_H

#include "base/arena.h"
#include "base/err.h"

#define YAML_TREE_BYTES_MAX   (1024 * 1024)
#define YAML_TREE_NODES_MAX   20000
#define YAML_TREE_DEPTH_MAX   16
#define YAML_TREE_ANCHORS_MAX 64

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    unsigned line, column;   /* from 1, where it begins */
    struct bytes text;       /* of a scalar; followed by a NUL */
    bool plain;              /* a scalar without quotes */
    struct yaml_node *key;   /* in a map: the key this is the value of */
    unsigned repeats;        /* in a map: line of an earlier key of the same name, or 0 */
    struct yaml_node *first; /* children in order */
    struct yaml_node *next;  /* sibling */
    size_t count;            /* children */
};

struct yaml_tree {
    struct arena arena;
    struct yaml_node *root; /* NULL: the document is empty */
    unsigned line, column;  /* where a refused document went wrong */
};

/* Reads one document. RC_REJECT: `err` says what is wrong, `line` and `column` where. The tree must
 * be released in either case. */
must_check enum rc yaml_tree_parse(struct yaml_tree *tree, struct bytes input, struct err *err);
/* Wipes what was read (it may have held secrets) and gives the memory back. */
void yaml_tree_free(struct yaml_tree *tree);
/* An empty plain scalar, `~` or `null`: nothing was written. */
bool yaml_node_null(const struct yaml_node *node);
/* "text", "a list" or "a map", for sentences. */
const char *yaml_node_kind(const struct yaml_node *node);

#endif
