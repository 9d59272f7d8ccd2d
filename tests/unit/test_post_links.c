/* SPDX-License-Identifier: Apache-2.0
 *
 * Links of posts, wherever they stand. */
#include "decode/post_links.h"
#include "decode/post_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct desk {
    struct json_doc *doc;
    struct arena arena;
    struct post_links links;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->doc = json_doc_new((size_t)16 << 20, JSON_DEPTH_MAX);
    arena_init(&desk->arena, 65536);
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

static enum rc read_record(struct desk *desk, struct bytes record)
{
    struct json root;
    struct err err = {""};
    if (json_parse_copy(desk->doc, record, &root, &err) != RC_OK)
        fail_msg("%s", err.text);
    return post_links_read(root, &desk->arena, &desk->links);
}

static void read_json(struct desk *desk, const char *record)
{
    assert_int_equal(read_record(desk, bytes_of(record)), RC_OK);
}

static void expect(struct bytes bytes, const char *string)
{
    if (!bytes_equal_string(bytes, string))
        fail_msg("%.*s is not %s", (int)bytes.len, bytes.data, string);
}

static void the_same_link_in_text_and_card_is_one(void **state)
{
    struct desk *desk = *state;
    /* R001-18, R001-19: the seed's sample */
    read_json(desk, "{\"$type\":\"app.bsky.feed.post\",\"text\":\"Check this out "
                    "https://example.com\",\"createdAt\":\"2024-09-09T19:46:02.102Z\",\"embed\":{"
                    "\"$type\":\"app.bsky.embed.external\",\"external\":{\"uri\":"
                    "\"https://example.com\",\"title\":\"Example Title\",\"description\":"
                    "\"Example description\",\"thumb\":\"...\"}}}");
    assert_int_equal(desk->links.count, 1);
    const struct post_link *link = &desk->links.links[0];
    expect(link->normalized, "https://example.com/");
    expect(link->reader, "https://example.com/");
    expect(link->title, "Example Title");
    expect(link->description, "Example description");
    assert_null(link->thumb.data);
    assert_int_equal(link->via, POST_LINK_CARD | POST_LINK_TEXT);
    assert_null(desk->links.quote.data);
}

static void a_card_has_its_picture(void **state)
{
    struct desk *desk = *state;
    read_json(desk, "{\"embed\":{\"external\":{\"uri\":\"https://example.com/a\",\"title\":\"A "
                    "&amp; B\\n\\u202e C\",\"thumb\":{\"$type\":\"blob\",\"ref\":{\"$link\":"
                    "\"bafkreia\"},\"mimeType\":\"image/jpeg\",\"size\":1}}}}");
    expect(desk->links.links[0].title, "A &amp; B C");
    expect(desk->links.links[0].thumb, "bafkreia");
    assert_null(desk->links.links[0].description.data);
    read_json(desk,
              "{\"embed\":{\"external\":{\"uri\":\"https://example.com/a\",\"thumb\":{\"cid\":"
              "\"bafkreib\",\"mimeType\":\"image/jpeg\"}}}}");
    expect(desk->links.links[0].thumb, "bafkreib");
    read_json(desk,
              "{\"embed\":{\"external\":{\"uri\":\"https://example.com/a\",\"thumb\":{\"cid\":"
              "\"../b\"}}}}");
    assert_null(desk->links.links[0].thumb.data);
}

static void quotes_name_their_post(void **state)
{
    struct desk *desk = *state;
    read_json(desk, "{\"embed\":{\"$type\":\"app.bsky.embed.record\",\"record\":{\"uri\":"
                    "\"at://did:plc:a/app.bsky.feed.post/1\",\"cid\":\"b\"}}}");
    expect(desk->links.quote, "at://did:plc:a/app.bsky.feed.post/1");
    read_json(desk, "{\"embed\":{\"$type\":\"app.bsky.embed.recordWithMedia\",\"media\":{\"$type\":"
                    "\"app.bsky.embed.external\",\"external\":{\"uri\":\"https://example.com/a\","
                    "\"title\":\"A\"}},\"record\":{\"record\":{\"uri\":"
                    "\"at://did:plc:a/app.bsky.feed.post/2\"}}}}");
    expect(desk->links.quote, "at://did:plc:a/app.bsky.feed.post/2");
    assert_int_equal(desk->links.count, 1);
    expect(desk->links.links[0].title, "A");
    read_json(desk, "{\"embed\":{\"record\":{\"uri\":\"at://did:plc:a/app.bsky.graph.list/1\"}}}");
    assert_null(desk->links.quote.data);
    read_json(desk, "{\"embed\":{\"record\":{\"uri\":\"at:///app.bsky.feed.post/1\"}}}");
    assert_null(desk->links.quote.data);
}

static void put_facet(struct text *out, const char *start, const char *end, const char *uri)
{
    text_appendf(out,
                 "%s{\"index\":{\"byteStart\":%s,\"byteEnd\":%s},\"features\":[{\"$type\":"
                 "\"app.bsky.richtext.facet#link\",\"uri\":\"%s\"}]}",
                 out->data[out->len - 1] == '[' ? "" : ",", start, end, uri);
}

static void rich_text_says_what_its_words_stand_for(void **state)
{
    struct desk *desk = *state;
    struct text record = {0};
    text_append_string(&record, "{\"text\":\"see example.org/wrong and https://b.example/b\","
                                "\"facets\":[{\"index\":{\"byteStart\":0,\"byteEnd\":3},"
                                "\"features\":[{\"$type\":\"app.bsky.richtext.facet#mention\","
                                "\"did\":\"did:plc:a\"}]}");
    put_facet(&record, "4", "21", "https://example.com/a?b=1\\u0026c=2");
    text_append_string(&record, "]}");
    read_json(desk, text_string(&record));
    assert_int_equal(desk->links.count, 2);
    expect(desk->links.links[0].normalized, "https://example.com/a?b=1&c=2");
    assert_int_equal(desk->links.links[0].via, POST_LINK_FACET);
    expect(desk->links.links[1].normalized, "https://b.example/b");
    assert_int_equal(desk->links.links[1].via, POST_LINK_TEXT);
    text_free(&record);
}

static void places_that_are_no_places_cover_nothing(void **state)
{
    struct desk *desk = *state;
    struct text record = {0};
    text_append_string(&record, "{\"text\":\"x https://c.example/\",\"facets\":[");
    put_facet(&record, "9", "4", "https://a.example/");
    put_facet(&record, "-1", "900", "https://b.example/");
    put_facet(&record, "1.5", "\"2\"", "javascript:alert(1)");
    text_append_string(&record, ",7,{\"features\":{}}]}");
    read_json(desk, text_string(&record));
    assert_int_equal(desk->links.count, 3);
    assert_int_equal(desk->links.refused, 1);
    text_free(&record);
}

static void one_article_is_one_link_and_the_reader_gets_the_gift(void **state)
{
    struct desk *desk = *state;
    read_json(desk, "{\"text\":\"https://archive.ph/newest/https://www.nytimes.com/a.html "
                    "http://nytimes.com/a.html?smid=x "
                    "https://www.nytimes.com/a.html?unlocked_article_code=1.A&smid=y "
                    "https://nytimes.com/a.html\"}");
    assert_int_equal(desk->links.count, 1);
    expect(desk->links.links[0].normalized, "https://nytimes.com/a.html");
    expect(desk->links.links[0].reader, "https://www.nytimes.com/a.html?unlocked_article_code=1.A");
    assert_int_equal(desk->links.links[0].flags, URL_GIFT);
    expect(desk->links.links[0].host, "nytimes.com");
    expect(desk->links.links[0].domain, "nytimes.com");
}

struct sentence {
    const char *text, *found; /* what is found, with a space between */
};

static const struct sentence sentences[] = {
    /* R001-18: punctuation */
    {"see https://a.example/b.", "https://a.example/b"},
    {"(https://a.example/b)", "https://a.example/b"},
    {"(see https://a.example/b_(c)).", "https://a.example/b_(c)"},
    {"https://a.example/b_(c)_d", "https://a.example/b_(c)_d"},
    {"[x](https://a.example/b)", "https://a.example/b"},
    {"https://a.example/b?!...", "https://a.example/b"},
    {"\"https://a.example/b\", 'https://a.example/c'", "https://a.example/b https://a.example/c"},
    {"<https://a.example/b>", "https://a.example/b"},
    {"**https://a.example/b**", "https://a.example/b"},
    {"https://a.example/b,https://a.example/c", "https://a.example/b,https://a.example/c"},
    {"https://a.example/b;", "https://a.example/b"},
    {"HTTPS://A.example/b", "HTTPS://A.example/b"},
    {"text:https://a.example/b", "https://a.example/b"},
    {"xhttps://a.example/b", ""},
    {"https://", ""},
    {"https://)", "https://"},
    {"https://a.example/b\nhttps://a.example/c", "https://a.example/b https://a.example/c"},
    {"https://a.example/b\xc2\xa0x", "https://a.example/b"},
    {"https://archive.ph/https://a.example/b", "https://archive.ph/https://a.example/b"},
    /* neighbours without a space */
    {"\xe8\xa6\x8b\xe3\x81\xa6https://a.example/b\xe3\x81\xa7\xe3\x81\x99", "https://a.example/b"},
    {"https://a.example/b\xe3\x80\x82\xe6\xac\xa1", "https://a.example/b"},
    {"https://a.example\xe6\x97\xa5\xe6\x9c\xac", "https://a.example"},
    {"https://\xe4\xbe\x8b\xe3\x81\x88.jp/a", "https://\xe4\xbe\x8b\xe3\x81\x88.jp/a"},
    {"\xe3\x80\x8chttps://a.example/b\xe3\x80\x8d", "https://a.example/b"},
    {"https://a.example/b\xf0\x9f\x91\x80", "https://a.example/b"},
    {"\xe2\x80\x9chttps://a.example/b\xe2\x80\x9d", "https://a.example/b"},
    {"https://a.example/caf\xc3\xa9 x", "https://a.example/caf\xc3\xa9"},
    /* shortened for the eye */
    {"https://a.example/b\xe2\x80\xa6", ""},
    {"nytimes.com/2024/01/01/us/...", ""},
    /* without a scheme */
    {"nytimes.com/2024/a", "nytimes.com/2024/a"},
    {"(www.bbc.co.uk)", "www.bbc.co.uk"},
    {"www.bbc.co.uk, then", "www.bbc.co.uk"},
    {"Example.COM/a", "Example.COM/a"},
    {"\xe8\xa9\xb3\xe7\xb4\xb0nytimes.com/a", "nytimes.com/a"},
    {"nytimes.com", ""},
    {"readme.md either.or e.g. 3.14 a.b.c node.js/x v1.2/x", ""},
    {"me@nytimes.com/a nytimes.com/a@b @nytimes.com/a", ""},
    {"and/nytimes.com/a", ""},
    {"\xc3\xa9nytimes.com/a", ""},
    {"alice.bsky.social", ""},
    {"nytimes.com/", ""},
    {"", ""},
};

static void addresses_in_sentences_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++) {
        struct post_text walk = post_text_walk(bytes_of(sentences[i].text));
        struct post_text_url found;
        struct text all = {0};
        while (post_text_next(&walk, &found)) {
            assert_true(found.url.data == sentences[i].text + found.start);
            if (all.len > 0)
                text_append_char(&all, ' ');
            text_append(&all, found.url.data, found.url.len);
        }
        assert_string_equal(text_string(&all), sentences[i].found);
        text_free(&all);
    }
}

static void what_is_too_much_is_counted(void **state)
{
    struct desk *desk = *state;
    struct text record = {0};
    text_append_string(&record, "{\"text\":\"");
    for (int i = 0; i < 40; i++)
        text_appendf(&record, "https://a.example/%d https://a.example/%d ", i, i);
    text_append_string(&record, "\"}");
    assert_int_equal(read_record(desk, text_bytes(&record)), RC_OK);
    assert_int_equal(desk->links.count, POST_LINKS_MAX);
    assert_int_equal(desk->links.left_out, 16);
    text_clear(&record);
    text_append_string(&record, "{\"facets\":[");
    for (int i = 0; i < 1000; i++)
        put_facet(&record, "0", "1", "https://a.example/");
    text_append_string(&record, "]}");
    assert_int_equal(read_record(desk, text_bytes(&record)), RC_OK);
    assert_int_equal(desk->links.count, 1);
    assert_int_equal(desk->links.left_out, 1000 - POST_LINKS_LOOKED_AT);
    text_free(&record);
}

static void a_text_of_ten_megabytes_does_no_harm(void **state)
{
    static const char *const pieces[] = {"https://a.example/)", "(a.com", "www.a.com.", "https://"};
    struct desk *desk = *state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct text record = {0};
        text_append_string(&record, "{\"text\":\"");
        while (record.len < 10000000)
            text_append_string(&record, pieces[i]);
        text_append_string(&record, "\"}");
        assert_int_equal(read_record(desk, text_bytes(&record)), RC_OK);
        assert_true(desk->links.left_out > 0);
        text_free(&record);
    }
}

static void a_full_arena_is_left_as_it_was(void **state)
{
    struct desk *desk = *state;
    struct arena small;
    struct json root;
    static const char record[] = "{\"text\":\"https://a.example/1 https://a.example/2\"}";
    for (size_t size = 16; size < 512; size += 16) {
        arena_init(&small, size);
        assert_non_null(arena_take(&small, 16));
        assert_int_equal(json_parse_copy(desk->doc, bytes_of(record), &root, NULL), RC_OK);
        enum rc rc = post_links_read(root, &small, &desk->links);
        assert_true(rc == RC_OK || (rc == RC_AGAIN && small.used == 16 && desk->links.count == 0));
        assert_true(rc == RC_OK || size < 256);
        arena_deinit(&small);
    }
}

static void what_is_no_post_has_no_links(void **state)
{
    static const char *const records[] = {"{}",
                                          "[]",
                                          "null",
                                          "{\"text\":7}",
                                          "{\"embed\":[]}",
                                          "{\"facets\":{\"features\":1}}",
                                          "{\"embed\":{\"external\":{\"uri\":7}}}",
                                          "{\"embed\":{\"record\":{\"record\":[]}}}"};
    struct desk *desk = *state;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        read_json(desk, records[i]);
        assert_int_equal(desk->links.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_link_in_text_and_card_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_card_has_its_picture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(quotes_name_their_post, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rich_text_says_what_its_words_stand_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_that_are_no_places_cover_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_article_is_one_link_and_the_reader_gets_the_gift,
                                        set_up, tear_down),
        cmocka_unit_test(addresses_in_sentences_are_found),
        cmocka_unit_test_setup_teardown(what_is_too_much_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_text_of_ten_megabytes_does_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_arena_is_left_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_post_has_no_links, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
