/* SPDX-License-Identifier: Apache-2.0
 *
 * What a post says about its own text, taken over within bounds; of a stranger's nonsense nothing.
 * R001-156: languages, hashtags and rich text are kept, so that filters by them stay possible. */
#include "decode/post_facets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_LINK                                                                                  \
    "{\"index\":{\"byteStart\":4,\"byteEnd\":9},\"features\":[{\"$type\":"                         \
    "\"app.bsky.richtext.facet#link\",\"uri\":\"https://a.example/\"}]}"
#define MENTION                                                                                    \
    "{\"index\":{\"byteStart\":0,\"byteEnd\":3},\"features\":[{\"$type\":"                         \
    "\"app.bsky.richtext.facet#mention\",\"did\":\"did:plc:b\"}]}"
#define TAG(tag)                                                                                   \
    "{\"index\":{\"byteStart\":0,\"byteEnd\":3},\"features\":[{\"$type\":"                         \
    "\"app.bsky.richtext.facet#tag\",\"tag\":\"" tag "\"}]}"

struct desk {
    struct json_doc *doc;
    struct arena arena;
    struct post_facets out;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    arena_init(&desk->arena, 1 << 16);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    json_doc_free(desk->doc);
    arena_deinit(&desk->arena);
    free(desk);
    return 0;
}

static void read_record(struct desk *desk, const char *record)
{
    struct json root;
    arena_reset(&desk->arena);
    assert_int_equal(json_parse_copy(desk->doc, bytes_of(record), &root, NULL), RC_OK);
    assert_true(post_facets_read(root, &desk->arena, &desk->out));
}

static void expect(struct bytes found, const char *expected)
{
    if (expected == NULL ? found.data != NULL : !bytes_equal_string(found, expected))
        fail_msg("%.*s, not %s", (int)found.len, found.data,
                 expected == NULL ? "absent" : expected);
}

static void languages_hashtags_and_rich_text_are_taken_over(void **state)
{
    struct desk *desk = *state;
    read_record(desk, "{\"text\":\"see there\",\"langs\":[\"en\",\"pt-BR\"],\"tags\":[\"news\"],"
                      "\"facets\": [" TEXT_LINK ", " MENTION "," TAG("sea tide") "]}");
    expect(desk->out.langs, "en,pt-BR");
    expect(desk->out.tags, "news,sea tide");
    expect(desk->out.facets, "[" TEXT_LINK "," MENTION "," TAG("sea tide") "]");
}

static void what_is_not_said_is_absent(void **state)
{
    struct desk *desk = *state;
    static const char *const records[] = {
        "{}",
        "{\"text\":\"see there\",\"langs\":[],\"tags\":[],\"facets\":[]}",
        "{\"text\":1,\"langs\":\"en\",\"tags\":{\"a\":\"b\"},\"facets\":{\"features\":[]}}",
        "{\"text\":\"x\",\"langs\":null,\"tags\":[null,1,[\"a\"]],\"facets\":[1,null,[],{}]}",
        "[]",
    };
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        read_record(desk, records[i]);
        expect(desk->out.langs, NULL);
        expect(desk->out.tags, NULL);
        expect(desk->out.facets, NULL);
    }
}

static void a_language_is_a_bcp_47_tag(void **state)
{
    struct desk *desk = *state;
    read_record(desk, "{\"langs\":[\"en\",\"\",\"e\",\"english language\",\"zh-Hant-TW\",\"en-\","
                      "\"-en\",\"e--n\",\"1e\",\"en,de\",\"abcdefghi\",\"sl-rozaj-biske-1994\","
                      "\"EN\",\"en\",\"d\\u00e9\"]}");
    expect(desk->out.langs, "en,zh-Hant-TW,sl-rozaj-biske-1994,EN");
}

static void a_hashtag_has_no_comma_and_comes_once(void **state)
{
    struct desk *desk = *state;
    read_record(desk, "{\"text\":\"#caf\xc3\xa9\",\"tags\":[\"a\",\"a,b\",\"\",\"a\\nb\",\"a\"],"
                      "\"facets\":[" TAG("a") "," TAG("caf\xc3\xa9") "," TAG("c,d") "]}");
    expect(desk->out.tags, "a,caf\xc3\xa9");
}

static void a_facet_lies_within_the_text(void **state)
{
    struct desk *desk = *state;
    static const char *const ranges[] = {
        "{\"byteStart\":4,\"byteEnd\":10}",
        "{\"byteStart\":4,\"byteEnd\":4}",
        "{\"byteStart\":5,\"byteEnd\":4}",
        "{\"byteStart\":-1,\"byteEnd\":4}",
        "{\"byteStart\":0.5,\"byteEnd\":4}",
        "{\"byteEnd\":4}",
        "{\"byteStart\":0}",
        "4",
    };
    char record[512];
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        snprintf(record, sizeof record,
                 "{\"text\":\"see there\",\"facets\":[{\"index\":%s,\"features\":[]}]}", ranges[i]);
        read_record(desk, record);
        expect(desk->out.facets, NULL);
    }
    read_record(desk, "{\"text\":\"see there\",\"facets\":[{\"index\":{\"byteStart\":0,"
                      "\"byteEnd\":9}}," TEXT_LINK "]}"); /* without features */
    expect(desk->out.facets, "[" TEXT_LINK "]");
}

/* Whatever comes next is taken over too, and is JSON again. */
static void features_nobody_knows_are_taken_over_as_they_are(void **state)
{
    struct desk *desk = *state;
    const char *facet = "{\"index\":{\"byteStart\":0,\"byteEnd\":3,\"unit\":\"b\\\"y\\\\te\"},"
                        "\"features\":[{\"$type\":\"x#y\",\"deep\":{\"a\":[true,false,null,-7,"
                        "\"\\u0001\xe2\x82\xac\"]}},[]]}";
    char record[512];
    struct json root;
    snprintf(record, sizeof record, "{\"text\":\"see\",\"facets\":[%s]}", facet);
    read_record(desk, record);
    assert_int_equal(desk->out.facets.len, strlen(facet) + 2);
    assert_memory_equal(desk->out.facets.data + 1, facet, strlen(facet));
    assert_int_equal(json_parse_copy(desk->doc, desk->out.facets, &root, NULL), RC_OK);
}

static void what_goes_beyond_a_bound_is_left_out_whole(void **state)
{
    struct desk *desk = *state;
    struct text record = {0};
    struct json root;
    text_append_string(&record, "{\"text\":\"see there\",\"langs\":[");
    for (int i = 0; i < 200; i++)
        text_appendf(&record, "\"aa-%03d\",", i);
    text_append_string(&record, "\"en\"],\"tags\":[");
    for (int i = 0; i < 300; i++)
        text_appendf(&record, "\"tag number %d\",", i);
    text_append_string(&record, "\"b\"],\"facets\":[");
    for (int i = 0; i < 200; i++)
        text_append_string(&record, TEXT_LINK ",");
    text_append_string(&record, "{\"index\":{\"byteStart\":0,\"byteEnd\":1},\"features\":[]}]}");
    read_record(desk, text_string(&record));
    text_free(&record);
    assert_in_range(desk->out.langs.len, POST_LANGS_MAX - 7, POST_LANGS_MAX);
    assert_in_range(desk->out.tags.len, POST_TAGS_MAX - 15, POST_TAGS_MAX);
    assert_in_range(desk->out.facets.len, POST_FACETS_MAX - strlen(TEXT_LINK) - 1, POST_FACETS_MAX);
    assert_int_equal(json_parse_copy(desk->doc, desk->out.facets, &root, NULL), RC_OK);
    assert_in_range(json_count(root), 2, 200);
}

static void an_arena_without_room_is_said_so(void **state)
{
    struct desk *desk = *state;
    struct arena small;
    struct json root;
    const char *record = "{\"text\":\"see there\",\"langs\":[\"en\"],\"facets\":[" TEXT_LINK "]}";
    assert_int_equal(json_parse_copy(desk->doc, bytes_of(record), &root, NULL), RC_OK);
    arena_init(&small, 64);
    assert_false(post_facets_read(root, &small, &desk->out));
    arena_deinit(&small);
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(languages_hashtags_and_rich_text_are_taken_over),
        AT_DESK(what_is_not_said_is_absent),
        AT_DESK(a_language_is_a_bcp_47_tag),
        AT_DESK(a_hashtag_has_no_comma_and_comes_once),
        AT_DESK(a_facet_lies_within_the_text),
        AT_DESK(features_nobody_knows_are_taken_over_as_they_are),
        AT_DESK(what_goes_beyond_a_bound_is_left_out_whole),
        AT_DESK(an_arena_without_room_is_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
