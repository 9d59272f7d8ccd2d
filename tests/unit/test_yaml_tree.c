/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"
#include "base/yaml_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refused(const char *yaml, unsigned line, unsigned column, const char *why)
{
    struct yaml_tree tree;
    struct err err;
    assert_int_equal(yaml_tree_parse(&tree, bytes_of(yaml), &err), RC_REJECT);
    assert_null(tree.root);
    assert_non_null(strstr(err.text, why));
    assert_int_equal(tree.line, line);
    assert_int_equal(tree.column, column);
    yaml_tree_free(&tree);
}

static void nodes_remember_where_they_stood(void **state)
{
    (void)state;
    struct yaml_tree tree;
    struct err err;
    const char *yaml = "# words\na:\n  b: [1, \"x\"]\n  c: ~\n";
    assert_int_equal(yaml_tree_parse(&tree, bytes_of(yaml), &err), RC_OK);
    const struct yaml_node *a = tree.root->first, *b = a->first, *c = b->next;
    assert_int_equal(tree.root->kind, YAML_MAP);
    assert_string_equal(a->key->text.data, "a");
    assert_int_equal(b->kind, YAML_LIST);
    assert_int_equal(b->count, 2);
    assert_true(b->first->plain);
    assert_false(b->first->next->plain);
    assert_int_equal(b->first->next->line, 3);
    assert_int_equal(b->first->next->column, 10);
    assert_true(yaml_node_null(c));
    assert_false(yaml_node_null(b->first->next));
    yaml_tree_free(&tree);
}

static void an_empty_document_has_no_root(void **state)
{
    (void)state;
    struct yaml_tree tree;
    assert_int_equal(yaml_tree_parse(&tree, bytes_of("# nothing\n"), NULL), RC_OK);
    assert_null(tree.root);
    yaml_tree_free(&tree);
    assert_int_equal(yaml_tree_parse(&tree, BYTES_ABSENT, NULL), RC_OK);
    yaml_tree_free(&tree);
}

static void a_key_given_twice_is_marked_with_its_first_line(void **state)
{
    (void)state;
    struct yaml_tree tree;
    assert_int_equal(yaml_tree_parse(&tree, bytes_of("a: 1\nb: 2\na: 3\n"), NULL), RC_OK);
    assert_int_equal(tree.root->first->repeats, 0);
    assert_int_equal(tree.root->first->next->next->repeats, 1);
    yaml_tree_free(&tree);
}

static void an_alias_is_a_copy_of_what_it_names(void **state)
{
    (void)state;
    struct yaml_tree tree;
    const char *yaml = "a: &x {k: [1, 2]}\nb: *x\nc: *x\n";
    assert_int_equal(yaml_tree_parse(&tree, bytes_of(yaml), NULL), RC_OK);
    const struct yaml_node *b = tree.root->first->next, *c = b->next;
    assert_string_equal(b->key->text.data, "b");
    assert_string_equal(c->key->text.data, "c");
    assert_ptr_not_equal(b->first, c->first);
    assert_string_equal(c->first->key->text.data, "k");
    assert_int_equal(c->first->count, 2);
    assert_int_equal(b->line, 2);
    yaml_tree_free(&tree);
}

static void aliases_that_multiply_are_refused(void **state)
{
    (void)state;
    struct text yaml = {0};
    text_append_string(&yaml, "a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (int c = 'b'; c < 'i'; c++) {
        text_appendf(&yaml, "%c: &%c [", c, c);
        for (int i = 0; i < 10; i++)
            text_appendf(&yaml, "*%c, ", c - 1);
        text_append_string(&yaml, "]\n");
    }
    struct yaml_tree tree;
    struct err err;
    assert_int_equal(yaml_tree_parse(&tree, text_bytes(&yaml), &err), RC_REJECT);
    assert_string_equal(err.text, "aliases make the document too large");
    yaml_tree_free(&tree);
    text_free(&yaml);
    refused("a: &x [1, *x]\n", 1, 11, "contains itself");
    refused("a: *x\n", 1, 4, "without its anchor");
}

static void depth_anchors_tags_and_documents_are_bounded(void **state)
{
    (void)state;
    refused("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", 1, 17, "too deep");
    refused("a: !!int 5\n", 1, 4, "tags");
    refused("a: 1\n---\nb: 2\n", 2, 1, "second document");
    refused("? [a]\n: 1\n", 1, 3, "a key must be text");
    refused("a: [1\nb: 2\n", 2, 2, "did not find expected");
    refused("a: \xff\n", 1, 4, "");
    struct text yaml = {0};
    for (int i = 0; i <= YAML_TREE_ANCHORS_MAX; i++)
        text_appendf(&yaml, "k%d: &a%d 1\n", i, i);
    refused(yaml.data, YAML_TREE_ANCHORS_MAX + 1, 6, "too many anchors");
    text_free(&yaml);
}

static void too_many_nodes_are_refused(void **state)
{
    (void)state;
    struct text yaml = {0};
    for (int i = 0; i <= YAML_TREE_NODES_MAX; i++)
        text_append_string(&yaml, "- 1\n");
    refused(yaml.data, YAML_TREE_NODES_MAX, 3, "too large");
    text_free(&yaml);
}

static void a_secret_is_a_private_copy_that_can_be_cleared(void **state)
{
    (void)state;
    struct secret secret = {0};
    char value[] = "hunter2";
    assert_false(secret_given(&secret));
    assert_null(secret_reveal(&secret).data);
    secret_set(&secret, bytes_of(value));
    value[0] = 'X';
    assert_true(bytes_equal_string(secret_reveal(&secret), "hunter2"));
    secret_set(&secret, secret_reveal(&secret));
    assert_true(bytes_equal_string(secret_reveal(&secret), "hunter2"));
    secret_set(&secret, BYTES_ABSENT);
    assert_false(secret_given(&secret));
    secret_clear(&secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_remember_where_they_stood),
        cmocka_unit_test(an_empty_document_has_no_root),
        cmocka_unit_test(a_key_given_twice_is_marked_with_its_first_line),
        cmocka_unit_test(an_alias_is_a_copy_of_what_it_names),
        cmocka_unit_test(aliases_that_multiply_are_refused),
        cmocka_unit_test(depth_anchors_tags_and_documents_are_bounded),
        cmocka_unit_test(too_many_nodes_are_refused),
        cmocka_unit_test(a_secret_is_a_private_copy_that_can_be_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
