/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/block_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct json_doc *doc;

static int set_up(void **state)
{
    (void)state;
    doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_doc_free(doc);
    return 0;
}

static enum rc read_text(const char *text, struct block_line *line, struct err *err)
{
    struct json root;
    enum rc rc = json_parse_copy(doc, bytes_of(text), &root, err);
    return rc == RC_OK ? block_line_read(root, line, err) : rc;
}

static void a_block_says_its_cursor_its_place_and_its_names(void **state)
{
    struct block_line line;
    struct bytes name, space;
    (void)state;
    assert_int_equal(read_text("{\"cursor\":\"\\u00fc=opaque \\\"x\\\"\",\"number\":7,\"hash\":"
                               "\"0xAb\",\"parent\":\"0x01\",\"more\":[1],\"uris\":[\"ipfs://Qm1\","
                               "{\"uri\":\"ipfs://b2\",\"space\":\"s\"},{\"uri\":\"ipfs://b3\"}]}",
                               &line, NULL),
                     RC_OK);
    assert_true(bytes_equal_string(line.cursor, "\xc3\xbc=opaque \"x\""));
    assert_int_equal(line.number, 7);
    assert_true(bytes_equal_string(line.hash, "0xAb") && bytes_equal_string(line.parent, "0x01"));
    assert_false(line.undo);
    struct json_walk walk = json_walk(line.uris);
    assert_true(block_line_next(&walk, &name, &space) && bytes_equal_string(name, "Qm1"));
    assert_int_equal(space.len, 0);
    assert_true(block_line_next(&walk, &name, &space) && bytes_equal_string(name, "b2"));
    assert_true(bytes_equal_string(space, "s"));
    assert_true(block_line_next(&walk, &name, &space) && bytes_equal_string(name, "b3"));
    assert_false(block_line_next(&walk, &name, &space));
}

static void an_undo_and_an_empty_block_need_little(void **state)
{
    struct block_line line;
    (void)state;
    assert_int_equal(read_text("{\"cursor\":\"c\",\"number\":0,\"undo\":true}", &line, NULL),
                     RC_OK);
    assert_true(line.undo && line.hash.len == 0);
    assert_int_equal(
        read_text("{\"cursor\":\"c\",\"number\":3,\"undo\":false,\"parent\":null}", &line, NULL),
        RC_OK);
    assert_false(line.undo);
    /* An indexer whose language writes an empty list as null has no bad lines. */
    assert_int_equal(
        read_text("{\"cursor\":\"c\",\"number\":4,\"undo\":null,\"uris\":null}", &line, NULL),
        RC_OK);
    assert_true(!line.undo && json_count(line.uris) == 0);
}

/* Each is refused, and the field that is wrong is named. */
static void what_is_no_such_line_is_refused_by_name(void **state)
{
    static const char *const cases[][2] = {
        {"[]", "object"},
        {"{\"number\":1}", "`cursor`"},
        {"{\"cursor\":\"\",\"number\":1}", "`cursor`"},
        {"{\"cursor\":7,\"number\":1}", "`cursor`"},
        {"{\"cursor\":\"c\"}", "`number`"},
        {"{\"cursor\":\"c\",\"number\":-1}", "`number`"},
        {"{\"cursor\":\"c\",\"number\":\"1\"}", "`number`"},
        {"{\"cursor\":\"c\",\"number\":18446744073709551615}", "`number`"},
        {"{\"cursor\":\"c\",\"number\":1,\"hash\":\"a\\\"b\"}", "`hash`"},
        {"{\"cursor\":\"c\",\"number\":1,\"hash\":\"\"}", "`hash`"},
        {"{\"cursor\":\"c\",\"number\":1,\"parent\":1}", "`parent`"},
        {"{\"cursor\":\"c\",\"number\":1,\"undo\":1}", "`undo`"},
        {"{\"cursor\":\"c\",\"number\":1,\"undo\":true,\"uris\":[\"ipfs://a\"]}", "undo"},
        {"{\"cursor\":\"c\",\"number\":1,\"uris\":{}}", "`uris`"},
        {"{\"cursor\":\"c\",\"number\":1,\"undo\":true,\"uris\":[\"https://b\"]}", "undo"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct block_line line;
        struct err err = {0};
        if (read_text(cases[i][0], &line, &err) != RC_REJECT)
            fail_msg("%s was taken", cases[i][0]);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], err.text);
    }
}

/* One that is none costs the block nothing of what else it names; it is counted, so that whoever
 * reads the line can keep it. */
static void a_uri_that_is_none_leaves_the_others_alone(void **state)
{
    static const struct {
        const char *uris;
        size_t unusable, at; /* how many, and the first */
    } cases[] = {
        {"\"ipfs://a\",\"https://x\",\"ipfs://b\"", 1, 1},
        {"\"ipfs://\",\"ipfs://a\",{\"uri\":\"ipfs://b\"},\"ipfs:/c\"", 2, 0},
        {"\"ipfs://a\",{\"uri\":\"ipfs://c\",\"space\":1},{\"space\":\"s\"},\"ipfs://b\"", 2, 1},
        {"\"ipfs://a\",\"ipfs://b\",null,7,[\"ipfs://c\"],{}", 4, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct block_line line;
        struct bytes name, space;
        char text[256];
        snprintf(text, sizeof text, "{\"cursor\":\"c\",\"number\":1,\"uris\":[%s]}", cases[i].uris);
        assert_int_equal(read_text(text, &line, NULL), RC_OK);
        assert_int_equal(line.unusable, cases[i].unusable);
        assert_int_equal(line.first_unusable, cases[i].at);
        struct json_walk walk = json_walk(line.uris);
        assert_true(block_line_next(&walk, &name, &space) && bytes_equal_string(name, "a"));
        assert_true(block_line_next(&walk, &name, &space) && bytes_equal_string(name, "b"));
        assert_false(block_line_next(&walk, &name, &space));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_says_its_cursor_its_place_and_its_names),
        cmocka_unit_test(an_undo_and_an_empty_block_need_little),
        cmocka_unit_test(what_is_no_such_line_is_refused_by_name),
        cmocka_unit_test(a_uri_that_is_none_leaves_the_others_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
