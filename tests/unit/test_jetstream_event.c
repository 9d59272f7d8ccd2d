/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jetstream_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_US INT64_C(1800000000000000)

struct desk {
    struct json_doc *doc;
    struct batch batch;
    struct jetstream_event event;
    struct err err;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    arena_init(&desk->batch.arena, 8192);
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

static enum rc decode(struct desk *desk, const char *frame)
{
    char padded[16384] = {0};
    size_t len = strlen(frame);
    memcpy(padded, frame, len);
    return jetstream_event_decode(desk->doc, bytes_make(padded, len), NOW_US, &desk->batch,
                                  &desk->event, &desk->err);
}

#define POST(operation, rest)                                                                      \
    "{\"did\":\"did:plc:a\",\"time_us\":1725911162329308,\"kind\":\"commit\",\"commit\":{"         \
    "\"rev\":\"3l3\",\"operation\":\"" operation "\",\"collection\":\"app.bsky.feed.post\","       \
    "\"rkey\":\"3kk\"" rest "}}"

static void a_post_becomes_a_record_with_its_witness_time(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, POST("create", ",\"record\":{\"text\":\"a \\u0026 b\","
                                                 "\"createdAt\":\"2024-09-09T19:46:02.102Z\"}")),
                     RC_OK);
    struct record *record = desk->batch.first[RECORD_POST];
    assert_non_null(record);
    assert_true(bytes_equal_string(record->fields[POST_TEXT].b, "a & b"));
    assert_true(record->fields[POST_SHARED_US].i == INT64_C(1725911162329308));
    assert_true(record->fields[POST_CREATED_US].i == INT64_C(1725911162102000));
    assert_int_equal(record->fields[POST_OP].i, POST_OP_PUT);
    assert_int_equal(desk->event.records, 1);
}

/* What is edited came into being at another time. */
static void only_a_create_tells_when_it_came_into_being(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, POST("create", ",\"record\":{\"text\":\"a\"}")), RC_OK);
    assert_int_equal(decode(desk, POST("update", ",\"record\":{\"text\":\"a\"}")), RC_OK);
    const struct record *record = desk->batch.first[RECORD_POST];
    assert_true(!record->fields[POST_FRESH].null && record->fields[POST_FRESH].i == 1);
    assert_true(record->next->fields[POST_FRESH].null);
}

static void a_delete_needs_no_record(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, POST("delete", "")), RC_OK);
    assert_int_equal(desk->batch.first[RECORD_POST]->fields[POST_OP].i, POST_OP_DELETE);
}

static void a_time_in_the_future_is_stored_as_now(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":1900000000000000,"
                                  "\"kind\":\"commit\",\"commit\":{\"rev\":\"1\",\"operation\":"
                                  "\"delete\",\"collection\":\"app.bsky.feed.post\",\"rkey\":"
                                  "\"1\"}}"),
                     RC_OK);
    assert_true(desk->batch.first[RECORD_POST]->fields[POST_SHARED_US].i == NOW_US);
    assert_true(desk->event.time_us == INT64_C(1900000000000000));
}

static void an_account_of_the_future_does_not_pin_its_standing_or_its_handle(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":1900000000000000,"
                                  "\"kind\":\"account\",\"account\":{\"active\":false}}"),
                     RC_OK);
    assert_true(desk->batch.first[RECORD_ACCOUNT]->fields[ACCOUNT_AT_US].i == NOW_US);
    struct jetstream_terms terms = {.now_us = NOW_US, .until_us = NOW_US, .instead_us = 77};
    char padded[512] = "{\"did\":\"did:plc:a\",\"time_us\":1900000000000000,"
                       "\"kind\":\"identity\",\"identity\":{\"handle\":\"a.example\"}}";
    assert_int_equal(jetstream_event_decode_on(desk->doc, bytes_of(padded), &terms, &desk->batch,
                                               &desk->event, &desk->err),
                     RC_OK);
    assert_true(desk->batch.first[RECORD_IDENTITY]->fields[IDENTITY_AT_US].i == 77);
}

static void other_collections_and_kinds_pass_without_a_record(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":5,\"kind\":\"commit\","
                                  "\"commit\":{\"rev\":\"1\",\"operation\":\"create\","
                                  "\"collection\":\"app.bsky.feed.like\",\"rkey\":\"1\","
                                  "\"record\":{}}}"),
                     RC_OK);
    assert_int_equal(desk->event.records, 0);
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":6,\"kind\":\"sync\"}"),
                     RC_OK);
    assert_int_equal(desk->batch.record_count, 0);
}

static void malformed_events_are_rejected_and_leave_the_batch_as_it_was(void **state)
{
    struct desk *desk = *state;
    const char *bad[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"did\":\"did:plc:a\",\"kind\":\"commit\"}",
        "{\"did\":7,\"time_us\":5,\"kind\":\"commit\"}",
        "{\"did\":\"plc:a\",\"time_us\":5,\"kind\":\"commit\"}",
        "{\"did\":\"did:plc:a\",\"time_us\":-5,\"kind\":\"commit\"}",
        "{\"did\":\"did:plc:a\",\"time_us\":\"5\",\"kind\":\"commit\"}",
        "{\"did\":\"did:plc:a\",\"time_us\":5,\"kind\":\"commit\"}",
        "{\"did\":\"did:plc:a\",\"time_us\":5,\"kind\":\"account\",\"account\":{}}",
        POST("create", ""),
        POST("explode", ",\"record\":{}"),
        POST("create", ",\"record\":[]"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        desk->err.text[0] = '\0';
        assert_int_equal(decode(desk, bad[i]), RC_REJECT);
        assert_true(desk->err.text[0] != '\0');
        assert_int_equal(desk->batch.record_count, 0);
    }
}

static void a_full_batch_asks_for_another_one(void **state)
{
    struct desk *desk = *state;
    char frame[8192] = POST("create", ",\"record\":{\"text\":\"");
    frame[strlen(frame) - 2] = '\0'; /* cut the closing braces that POST adds */
    size_t len = strlen(frame);
    memset(frame + len, 'x', 3000);
    memcpy(frame + len + 3000, "\"}}}", 5);
    enum rc rc = RC_OK;
    unsigned added = 0;
    while ((rc = decode(desk, frame)) == RC_OK)
        added++;
    assert_int_equal(rc, RC_AGAIN);
    assert_int_equal(added, 2);
    assert_int_equal(desk->batch.record_count, 2);
}

static void accounts_and_identities_become_records(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":5,\"kind\":\"account\","
                                  "\"account\":{\"active\":false,\"status\":\"takendown\"}}"),
                     RC_OK);
    assert_true(bytes_equal_string(desk->batch.first[RECORD_ACCOUNT]->fields[ACCOUNT_STATUS].b,
                                   "takendown"));
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":6,\"kind\":\"identity\","
                                  "\"identity\":{\"handle\":\"a.example\"}}"),
                     RC_OK);
    assert_true(bytes_equal_string(desk->batch.first[RECORD_IDENTITY]->fields[IDENTITY_HANDLE].b,
                                   "a.example"));
}

/* What a frame says, as text; the desk is empty again afterwards. */
static void say(struct desk *desk, const char *frame, struct text *out)
{
    assert_int_equal(decode(desk, frame), RC_OK);
    for (unsigned id = 0; id < RECORD_ID_COUNT; id++)
        for (const struct record *record = desk->batch.first[id]; record != NULL;
             record = record->next)
            record_print(record, out);
    batch_undo(&desk->batch, (struct batch_mark){0});
}

static void keys_are_read_in_any_order_among_others(void **state)
{
    struct desk *desk = *state;
    struct text plain = {0}, turned = {0};
    /* R001-17 */
    say(desk,
        "{\"did\":\"did:plc:a\",\"time_us\":1725911162329308,\"kind\":\"commit\",\"commit\":{"
        "\"rev\":\"3l3\",\"operation\":\"create\",\"collection\":\"app.bsky.feed.post\","
        "\"rkey\":\"3kk\",\"record\":{\"$type\":\"app.bsky.feed.post\",\"text\":\"Look\","
        "\"createdAt\":\"2024-09-09T19:46:02.102Z\",\"langs\":[\"en\"],\"embed\":{\"$type\":"
        "\"app.bsky.embed.external\",\"external\":{\"uri\":\"https://example.com/a\",\"title\":"
        "\"T\",\"description\":\"D\",\"thumb\":{\"ref\":{\"$link\":\"bafkreia\"}}}}},"
        "\"cid\":\"bafyreia\"}}",
        &plain);
    say(desk,
        "{\"later\":{\"did\":\"did:plc:z\"},\"commit\":{\"cid\":\"bafyreia\",\"record\":{"
        "\"embed\":{\"external\":{\"thumb\":{\"mimeType\":\"image/png\",\"ref\":{\"$link\":"
        "\"bafkreia\"}},\"mood\":[{}],\"description\":\"D\",\"title\":\"T\",\"uri\":"
        "\"https://example.com/a\"},\"$type\":\"app.bsky.embed.external\"},\"langs\":[\"en\"],"
        "\"createdAt\":\"2024-09-09T19:46:02.102Z\",\"text\":\"Look\",\"$type\":"
        "\"app.bsky.feed.post\"},\"rkey\":\"3kk\",\"x\":null,\"collection\":"
        "\"app.bsky.feed.post\",\"operation\":\"create\",\"rev\":\"3l3\"},\"kind\":\"commit\","
        "\"cursor\":7,\"time_us\":1725911162329308,\"did\":\"did:plc:a\"}",
        &turned);
    assert_string_equal(text_string(&plain), text_string(&turned));
    assert_non_null(strstr(text_string(&plain), "feed_thumbnail/plain/did:plc:a/bafkreia@jpeg"));
    text_free(&plain);
    text_free(&turned);
}

static void every_part_of_an_event_is_checked_before_any_is_used(void **state)
{
    struct desk *desk = *state;
    /* R001-33: each required part missing, and of every wrong type */
    static const char *const wrong[] = {NULL, "null", "true", "[]", "{}", "\"\"", "-1", "1.5"};
    static const char *const names[] = {"did",       "time_us",    "kind", "rev",
                                        "operation", "collection", "rkey", "record"};
    static const char *const right[] = {"\"did:plc:a\"", "5",          "\"commit\"",
                                        "\"1\"",         "\"create\"", "\"app.bsky.feed.post\"",
                                        "\"k\"",         "{}"};
    for (size_t part = 0; part < 8; part++)
        for (size_t type = 0; type < sizeof wrong / sizeof wrong[0]; type++) {
            struct text frame = {0};
            if (part == 7 && type == 4)
                continue; /* an empty record is a record */
            text_append_char(&frame, '{');
            for (size_t i = 0; i < 8; i++) {
                const char *value = i == part ? wrong[type] : right[i];
                if (i == 3)
                    text_append_string(&frame, "\"commit\":{");
                if (value != NULL)
                    text_appendf(&frame, "\"%s\":%s,", names[i], value);
            }
            text_append_string(&frame, "\"x\":0},\"y\":0}");
            desk->err.text[0] = '\0';
            if (decode(desk, text_string(&frame)) != RC_REJECT)
                fail_msg("accepted: %s", text_string(&frame));
            assert_true(desk->err.text[0] != '\0');
            assert_int_equal(desk->batch.record_count, 0);
            text_free(&frame);
        }
}

static void a_text_nothing_can_be_read_from_harms_only_itself(void **state)
{
    struct desk *desk = *state;
    /* R001-31: broken UTF-8, places outside of the text, and then a good one */
    assert_int_equal(decode(desk, POST("create", ",\"record\":{\"text\":\"\xff\xfe\"}")),
                     RC_REJECT);
    assert_int_equal(
        decode(desk, POST("create", ",\"record\":{\"text\":\"a\",\"facets\":[{\"index\":{"
                                    "\"byteStart\":-5,\"byteEnd\":99999999999},\"features\":[{"
                                    "\"$type\":\"app.bsky.richtext.facet#link\",\"uri\":"
                                    "\"https://[bad\"}]},7,{}]}")),
        RC_OK);
    assert_int_equal(desk->event.records, 1);
    assert_int_equal(desk->event.left_out, 1);
    assert_int_equal(decode(desk, POST("create", ",\"record\":{\"text\":\"https://a.example/x\"}")),
                     RC_OK);
    assert_int_equal(desk->event.records, 2);
}

static void acts_that_do_not_count_are_left_out(void **state)
{
    struct desk *desk = *state;
    /* R001-04 */
    static const struct {
        const char *collection;
        bool no_posts, no_reposts, unwanted;
    } cases[] = {{"app.bsky.feed.post", false, true, false},
                 {"app.bsky.feed.repost", false, true, true},
                 {"app.bsky.feed.post", true, false, true},
                 {"app.bsky.feed.repost", true, false, false},
                 {"app.bsky.feed.like", false, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char frame[512] = "";
        struct jetstream_terms terms = {.no_posts = cases[i].no_posts,
                                        .no_reposts = cases[i].no_reposts};
        snprintf(frame, sizeof frame - ARENA_PAD,
                 "{\"did\":\"did:plc:a\",\"time_us\":5,\"kind\":\"commit\",\"commit\":{\"rev\":"
                 "\"1\",\"operation\":\"create\",\"collection\":\"%s\",\"rkey\":\"1\","
                 "\"record\":{}}}",
                 cases[i].collection);
        assert_int_equal(jetstream_event_decode_on(desk->doc, bytes_of(frame), &terms, &desk->batch,
                                                   &desk->event, &desk->err),
                         RC_OK);
        assert_int_equal(desk->event.unwanted, cases[i].unwanted);
        assert_int_equal(desk->event.records, cases[i].unwanted ? 0 : 1);
    }
    assert_int_equal(decode(desk, "{\"did\":\"did:plc:a\",\"time_us\":5,\"kind\":\"account\","
                                  "\"account\":{\"active\":true}}"),
                     RC_OK);
    assert_int_equal(desk->event.records, 1);
}

#define V2(kind, rest)                                                                             \
    "{\"$type\":\"message\",\"payload\":{\"$type\":\"network.bsky.jetstream.subscribeEvents#" kind \
    "\"," rest "}}"
#define V2_END "\"seq\":17,\"time\":\"2026-08-10T01:02:03.000004Z\""

static void the_second_wire_gives_the_same_records_and_a_number(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(
        decode(desk, V2("commit", "\"cid\":\"b\",\"collection\":\"app.bsky.feed.post\","
                                  "\"did\":\"did:plc:a\",\"operation\":\"create\","
                                  "\"record\":{\"text\":\"a \\u003c b\"},\"rev\":\"3l3\","
                                  "\"rkey\":\"3kk\"," V2_END)),
        RC_OK);
    struct record *record = desk->batch.first[RECORD_POST];
    assert_non_null(record);
    assert_true(bytes_equal_string(record->fields[POST_TEXT].b, "a < b"));
    assert_true(bytes_equal_string(record->fields[POST_RKEY].b, "3kk"));
    assert_true(record->fields[POST_SHARED_US].i == INT64_C(1786323723000004));
    assert_true(desk->event.seq == 17 && desk->event.time_us == INT64_C(1786323723000004));
    assert_int_equal(desk->event.message, JETSTREAM_EVENT);
    assert_int_equal(decode(desk, V2("account", "\"account\":{\"active\":true,\"seq\":1},"
                                                "\"did\":\"did:plc:a\"," V2_END)),
                     RC_OK);
    assert_int_equal(desk->batch.first[RECORD_ACCOUNT]->fields[ACCOUNT_ACTIVE].i, 1);
    assert_int_equal(decode(desk, V2("identity", "\"did\":\"did:plc:a\",\"identity\":{\"handle\":"
                                                 "\"b.example\"}," V2_END)),
                     RC_OK);
    assert_non_null(desk->batch.first[RECORD_IDENTITY]);
    assert_int_equal(decode(desk, V2("sync", "\"did\":\"did:plc:a\",\"sync\":{}," V2_END)), RC_OK);
    assert_true(desk->event.seq == 17);
    assert_int_equal(desk->batch.record_count, 3);
}

static void words_of_the_server_have_no_position(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(decode(desk, V2("info", "\"name\":\"OutdatedCursor\"")), RC_OK);
    assert_int_equal(desk->event.message, JETSTREAM_INFO);
    assert_string_equal(desk->event.word, "OutdatedCursor");
    assert_int_equal(decode(desk, "{\"$type\":\"error\",\"error\":\"ConsumerTooSlow\"}"), RC_OK);
    assert_int_equal(desk->event.message, JETSTREAM_ERROR);
    assert_string_equal(desk->event.word, "ConsumerTooSlow");
    assert_int_equal(decode(desk, V2("mood", "\"did\":\"did:plc:a\"")), RC_OK);
    assert_int_equal(desk->event.message, JETSTREAM_OTHER);
    assert_int_equal(decode(desk, "{\"$type\":\"telegram\"}"), RC_OK);
    assert_int_equal(desk->event.message, JETSTREAM_OTHER);
    assert_true(desk->event.seq == 0 && desk->event.time_us == 0);
    assert_int_equal(desk->batch.record_count, 0);
}

static void malformed_messages_of_the_second_wire_are_rejected(void **state)
{
    struct desk *desk = *state;
    static const char *const bad[] = {
        "{\"$type\":\"message\"}",
        "{\"$type\":\"message\",\"payload\":{}}",
        V2("commit", "\"did\":\"did:plc:a\""),
        V2("commit", "\"did\":\"did:plc:a\",\"seq\":0,\"time\":\"2026-08-10T01:02:03.000004Z\""),
        V2("commit", "\"did\":\"did:plc:a\",\"seq\":1,\"time\":\"yesterday\""),
        V2("commit", "\"did\":\"plc:a\"," V2_END),
        V2("commit", "\"did\":\"did:plc:a\"," V2_END),
        V2("account", "\"did\":\"did:plc:a\"," V2_END),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(decode(desk, bad[i]), RC_REJECT);
        assert_int_equal(desk->batch.record_count, 0);
    }
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(a_post_becomes_a_record_with_its_witness_time),
        AT_DESK(only_a_create_tells_when_it_came_into_being),
        AT_DESK(a_delete_needs_no_record),
        AT_DESK(a_time_in_the_future_is_stored_as_now),
        AT_DESK(an_account_of_the_future_does_not_pin_its_standing_or_its_handle),
        AT_DESK(other_collections_and_kinds_pass_without_a_record),
        AT_DESK(malformed_events_are_rejected_and_leave_the_batch_as_it_was),
        AT_DESK(a_full_batch_asks_for_another_one),
        AT_DESK(accounts_and_identities_become_records),
        AT_DESK(keys_are_read_in_any_order_among_others),
        AT_DESK(every_part_of_an_event_is_checked_before_any_is_used),
        AT_DESK(a_text_nothing_can_be_read_from_harms_only_itself),
        AT_DESK(acts_that_do_not_count_are_left_out),
        AT_DESK(the_second_wire_gives_the_same_records_and_a_number),
        AT_DESK(words_of_the_server_have_no_position),
        AT_DESK(malformed_messages_of_the_second_wire_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
