/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/feed_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_US  INT64_C(1900000000000000)
#define ALICE   "did:plc:k6ugvwsroxtjcrusyegcdcsq"
#define EVE     "did:plc:tydv4ce4xvc7mhu35udbndqt"
#define CID     "bafyreigsv5rtnslkgujo6idfeultekaqu7jprrt2f2sda2c2eg5whsapba"
#define SEEN_US INT64_C(1794710266404000)

struct desk {
    struct json_doc *doc;
    struct batch batch;
    struct feed_page page;
    struct feed_item item;
    struct err err;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    arena_init(&desk->batch.arena, 32768);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    json_doc_free(desk->doc);
    arena_deinit(&desk->batch.arena);
    free(desk);
    return 0;
}

static enum rc read_page(struct desk *desk, const char *text)
{
    struct json root;
    assert_int_equal(json_parse_copy(desk->doc, bytes_of(text), &root, &desk->err), RC_OK);
    return feed_page_read(root, &desk->page, &desk->err);
}

static enum rc read_item(struct desk *desk, const char *text)
{
    struct json item;
    assert_int_equal(json_parse_copy(desk->doc, bytes_of(text), &item, &desk->err), RC_OK);
    return feed_item_read(item, bytes_of(ALICE), &desk->item, &desk->err);
}

static unsigned add(struct desk *desk)
{
    unsigned links;
    struct feed_reading reading = {NOW_US, 17};
    assert_int_equal(feed_item_add(&desk->item, &reading, &desk->batch, &links), RC_OK);
    return links;
}

static struct bytes text_of(const struct record *record, unsigned field)
{
    assert_non_null(record);
    return record->fields[field].b;
}

#define POST_OF(did, created, more)                                                                \
    "{\"uri\":\"at://" did "/app.bsky.feed.post/3n2cy7yjeq22u\",\"cid\":\"" CID "\",\"author\":{"  \
    "\"did\":\"" did "\",\"handle\":\"x.test\"},\"record\":{\"text\":\"see https://a.example/1\"," \
    "\"$type\":\"app.bsky.feed.post\",\"createdAt\":\"" created                                    \
    "\"},\"indexedAt\":\"2026-11-15T02:37:46.404Z\",\"labels\":[]" more "}"
#define POST(did) POST_OF(did, "2026-11-15T02:37:46.404Z", "")
#define REPOST_BY(did, uri)                                                                        \
    "\"reason\":{\"by\":{\"did\":\"" did "\"}," uri "\"cid\":\"bafyreict6\",\"indexedAt\":"        \
    "\"2026-11-15T02:37:46.668Z\",\"$type\":\"app.bsky.feed.defs#reasonRepost\"}"
#define REPOST_URI "\"uri\":\"at://" ALICE "/app.bsky.feed.repost/3n2cy7yr3sc2u\","

/* R000-05: the token is handed back byte for byte; its absence ends the feed. */
static void a_page_names_the_next_one_or_is_the_last(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(read_page(desk, "{\"feed\":[],\"cursor\":\"1794710266079__bafy \\u0026\"}"),
                     RC_OK);
    assert_true(bytes_equal_string(desk->page.token, "1794710266079__bafy &"));
    assert_int_equal(read_page(desk, "{\"feed\":[]}"), RC_OK);
    assert_null(desk->page.token.data);
    assert_int_equal(read_page(desk, "{\"feed\":[],\"cursor\":\"\"}"), RC_OK);
    assert_null(desk->page.token.data);
    assert_int_equal(read_page(desk, "{\"feed\":[],\"cursor\":null}"), RC_OK);
    assert_null(desk->page.token.data);
}

static void what_is_no_page_is_refused(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(read_page(desk, "{}"), RC_REJECT);
    assert_int_equal(read_page(desk, "[]"), RC_REJECT);
    assert_int_equal(read_page(desk, "{\"feed\":{}}"), RC_REJECT);
    assert_int_equal(read_page(desk, "{\"feed\":[],\"cursor\":7}"), RC_REJECT);
}

static void a_post_is_an_act_at_the_time_the_server_saw_it(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(read_item(desk, "{\"post\":" POST(ALICE) "}"), RC_OK);
    assert_int_equal(desk->item.kind, FEED_POST);
    assert_true(desk->item.seen_us == SEEN_US && desk->item.sort_us == SEEN_US);
    assert_int_equal(add(desk), 1);
    struct record *post = desk->batch.first[RECORD_POST];
    assert_true(bytes_equal_string(text_of(post, POST_DID), ALICE));
    assert_true(bytes_equal_string(text_of(post, POST_RKEY), "3n2cy7yjeq22u"));
    assert_true(bytes_equal_string(text_of(post, POST_CID), CID));
    assert_true(post->fields[POST_REV].null);
    assert_int_equal(post->fields[POST_ASOF_SEQ].i, 17);
    assert_int_equal(post->fields[POST_KIND].i, POST_KIND_POST);
    assert_true(post->fields[POST_SHARED_US].i == SEEN_US);
    assert_true(bytes_equal_string(text_of(desk->batch.first[RECORD_LINK], LINK_URL),
                                   "https://a.example/1"));
}

/* R000-07: a date that its author made up moves the place in the feed, not the time of sharing. */
static void a_backdated_post_stands_where_its_date_puts_it(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(
        read_item(desk, "{\"post\":" POST_OF(ALICE, "2023-01-01T00:00:00.000Z", "") "}"), RC_OK);
    assert_true(desk->item.seen_us == SEEN_US);
    assert_true(desk->item.sort_us == INT64_C(1672531200000000));
    assert_int_equal(
        read_item(desk, "{\"post\":" POST_OF(ALICE, "2099-01-01T00:00:00.000Z", "") "}"), RC_OK);
    assert_true(desk->item.sort_us == SEEN_US);
    assert_int_equal(read_item(desk, "{\"post\":" POST_OF(ALICE, "yesterday", "") "}"), RC_OK);
    assert_true(desk->item.sort_us == SEEN_US);
}

/* The sharer is whose repost it is; what is reposted comes along, so nobody has to ask for it. */
static void a_repost_is_its_own_act_and_brings_its_subject(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(read_item(desk, "{\"post\":" POST(EVE) "," REPOST_BY(ALICE, REPOST_URI) "}"),
                     RC_OK);
    assert_int_equal(desk->item.kind, FEED_REPOST);
    assert_true(desk->item.seen_us == INT64_C(1794710266668000));
    add(desk);
    struct record *repost = desk->batch.first[RECORD_POST];
    assert_true(bytes_equal_string(text_of(repost, POST_DID), ALICE));
    assert_true(bytes_equal_string(text_of(repost, POST_COLLECTION), AT_REPOST));
    assert_true(bytes_equal_string(text_of(repost, POST_RKEY), "3n2cy7yr3sc2u"));
    assert_true(bytes_equal_string(text_of(repost, POST_SUBJECT_DID), EVE));
    assert_int_equal(repost->fields[POST_KIND].i, POST_KIND_REPOST);
    struct record *subject = repost->next;
    assert_true(bytes_equal_string(text_of(subject, POST_DID), EVE));
    assert_int_equal(subject->fields[POST_KIND].i, POST_KIND_SUBJECT);
    assert_true(bytes_equal_string(text_of(desk->batch.first[RECORD_LINK], LINK_DID), EVE));
}

static void a_repost_nobody_can_name_is_refused(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(read_item(desk, "{\"post\":" POST(EVE) "," REPOST_BY(ALICE, "") "}"),
                     RC_REJECT);
    assert_int_equal(read_item(desk, "{\"post\":" POST(EVE) "," REPOST_BY(EVE, REPOST_URI) "}"),
                     RC_REJECT);
    assert_string_equal(desk->err.text, "the repost is not in the repository of whom it is by");
}

static void a_quote_brings_what_it_quotes(void **state)
{
    struct desk *desk = *state;
    const char *embeds[] = {
        ",\"embed\":{\"$type\":\"app.bsky.embed.record#view\",\"record\":{\"uri\":\"at://" EVE
        "/app.bsky.feed.post/3q\",\"cid\":\"" CID "\",\"indexedAt\":\"2026-11-15T02:00:00.000Z\","
        "\"value\":{\"text\":\"https://q.example/\",\"createdAt\":\"2026-11-15T02:00:00.000Z\"}}}",
        ",\"embed\":{\"$type\":\"app.bsky.embed.recordWithMedia#view\",\"media\":{},\"record\":{"
        "\"record\":{\"uri\":\"at://" EVE "/app.bsky.feed.post/3q\",\"cid\":\"" CID "\","
        "\"indexedAt\":\"2026-11-15T02:00:00.000Z\",\"value\":{\"text\":\"https://q.example/\"}}}}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct text item = {0};
        struct bytes plain = bytes_of("{\"post\":" POST(ALICE) "}");
        text_append(&item, plain.data, plain.len - 2);
        text_appendf(&item, "%s}}", embeds[i]);
        desk->batch.record_count = 0;
        memset(desk->batch.first, 0, sizeof desk->batch.first);
        memset(desk->batch.last, 0, sizeof desk->batch.last);
        arena_reset(&desk->batch.arena);
        assert_int_equal(read_item(desk, text_string(&item)), RC_OK);
        add(desk);
        struct record *subject = desk->batch.last[RECORD_POST];
        assert_int_equal(subject->fields[POST_KIND].i, POST_KIND_SUBJECT);
        assert_true(bytes_equal_string(text_of(subject, POST_RKEY), "3q"));
        assert_true(bytes_equal_string(text_of(desk->batch.last[RECORD_LINK], LINK_URL),
                                       "https://q.example/"));
        text_free(&item);
    }
}

static void a_pin_gives_no_record(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(read_item(desk, "{\"post\":" POST(ALICE) ",\"reason\":{\"$type\":"
                                                              "\"app.bsky.feed.defs#reasonPin\"}}"),
                     RC_OK);
    assert_int_equal(desk->item.kind, FEED_PIN);
    add(desk);
    assert_int_equal(desk->batch.record_count, 0);
}

static void malformed_items_are_refused_with_a_reason(void **state)
{
    struct desk *desk = *state;
    const char *items[] = {
        "{}",
        "7",
        "{\"post\":{}}",
        "{\"post\":{\"uri\":\"at://" ALICE "/app.bsky.feed.post/1\",\"cid\":\"c\","
        "\"indexedAt\":\"2026-11-15T02:00:00Z\"}}",
        "{\"post\":{\"uri\":\"at://" ALICE "/app.bsky.feed.post/1\",\"cid\":\"c\",\"record\":{}}}",
        "{\"post\":{\"uri\":\"at://" ALICE "/app.bsky.feed.post/1\",\"cid\":\"c\",\"record\":{},"
        "\"indexedAt\":\"1969-12-31T23:59:59Z\"}}",
        "{\"post\":{\"uri\":\"at://" ALICE "/app.bsky.feed.like/1\",\"cid\":\"c\",\"record\":{},"
        "\"indexedAt\":\"2026-11-15T02:00:00Z\"}}",
        "{\"post\":" POST(EVE) "}",
        "{\"post\":" POST(ALICE) ",\"reason\":{\"$type\":\"app.bsky.feed.defs#reasonNew\"}}",
    };
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        desk->err.text[0] = '\0';
        assert_int_equal(read_item(desk, items[i]), RC_REJECT);
        assert_true(desk->err.text[0] != '\0');
    }
}

static void a_full_batch_is_left_as_it_was(void **state)
{
    struct desk *desk = *state;
    struct feed_reading reading = {NOW_US, 17};
    unsigned links;
    assert_int_equal(read_item(desk, "{\"post\":" POST(EVE) "," REPOST_BY(ALICE, REPOST_URI) "}"),
                     RC_OK);
    size_t rounds = 0;
    uint32_t before = 0;
    enum rc rc = RC_OK;
    for (; rc == RC_OK && rounds < 1000; rounds++) {
        before = desk->batch.record_count;
        rc = feed_item_add(&desk->item, &reading, &desk->batch, &links);
    }
    assert_int_equal(rc, RC_AGAIN);
    assert_int_equal(desk->batch.record_count, before);
    assert_int_equal(before % 3, 0); /* the repost, its subject, the link of that: all or none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_names_the_next_one_or_is_the_last, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_page_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_post_is_an_act_at_the_time_the_server_saw_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_backdated_post_stands_where_its_date_puts_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_repost_is_its_own_act_and_brings_its_subject, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_repost_nobody_can_name_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_quote_brings_what_it_quotes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pin_gives_no_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(malformed_items_are_refused_with_a_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_batch_is_left_as_it_was, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
