/* SPDX-License-Identifier: Apache-2.0
 *
 * A post and its links become records together, or not at all. */
#include "decode/at_uri.h"
#include "decode/post_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_US  INT64_C(1800000000000000)
#define SEEN_US INT64_C(1725911162329308)

struct desk {
    struct json_doc *doc;
    struct batch batch;
    struct post_output out;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    arena_init(&desk->batch.arena, 1 << 18);
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

static enum rc add(struct desk *desk, const char *body, int kind)
{
    struct post_input post = {
        .did = bytes_of("did:plc:a"),
        .collection = bytes_of(kind == POST_KIND_REPOST ? AT_REPOST : AT_POST),
        .rkey = bytes_of("3kk"),
        .rev = kind == POST_KIND_SUBJECT ? BYTES_ABSENT : bytes_of("3l3"),
        .cid = bytes_of("bafyreia"),
        .kind = kind,
        .shared_us = SEEN_US,
        .now_us = NOW_US,
        .asof_seq = 7,
    };
    assert_int_equal(json_parse_copy(desk->doc, bytes_of(body), &post.body, NULL), RC_OK);
    return post_record_add(&post, &desk->batch, &desk->out);
}

static void expect(const struct record *record, unsigned field, const char *string)
{
    assert_non_null(record);
    const struct field *value = &record->fields[field];
    if (string == NULL)
        assert_true(value->null);
    else if (value->null || !bytes_equal_string(value->b, string))
        fail_msg("field %u is %.*s, not %s", field, (int)value->b.len, value->b.data, string);
}

/* Two links: one with a card, one in the text, and a quoted post. */
#define RICH                                                                                       \
    "{\"text\":\"see https://b.example/b?utm_source=x\",\"createdAt\":\"2024-09-09T19:46:02.102Z"  \
    "\",\"embed\":{\"$type\":\"app.bsky.embed.recordWithMedia\",\"media\":{\"$type\":"             \
    "\"app.bsky.embed.external\",\"external\":{\"uri\":\"https://www.a.example/a\",\"title\":"     \
    "\"A\",\"description\":\"\",\"thumb\":{\"$type\":\"blob\",\"ref\":{\"$link\":\"bafkreia\"}}}"  \
    "},\"record\":{\"record\":{\"uri\":\"at://did:plc:q/app.bsky.feed.post/9\"}}}}"

static void a_post_brings_its_quote_and_its_links(void **state)
{
    struct desk *desk = *state;
    /* R001-18, R001-19: text and card give links, the card with its words and its picture */
    assert_int_equal(add(desk, RICH, POST_KIND_POST), RC_OK);
    assert_int_equal(desk->out.records, 3);
    assert_int_equal(desk->batch.record_count, 3);
    const struct record *post = desk->batch.first[RECORD_POST];
    expect(post, POST_DID, "did:plc:a");
    expect(post, POST_REV, "3l3");
    expect(post, POST_CID, "bafyreia");
    expect(post, POST_TEXT, "see https://b.example/b?utm_source=x");
    expect(post, POST_SUBJECT, "at://did:plc:q/app.bsky.feed.post/9");
    expect(post, POST_SUBJECT_DID, "did:plc:q");
    expect(post, POST_SUBJECT_COLLECTION, "app.bsky.feed.post");
    expect(post, POST_SUBJECT_RKEY, "9");
    assert_true(post->fields[POST_ASOF_SEQ].null);
    assert_true(post->fields[POST_SHARED_US].i == SEEN_US);
    const struct record *link = desk->batch.first[RECORD_LINK];
    expect(link, LINK_DID, "did:plc:a");
    expect(link, LINK_COLLECTION, "app.bsky.feed.post");
    expect(link, LINK_RKEY, "3kk");
    expect(link, LINK_REV, "3l3");
    expect(link, LINK_URL, "https://a.example/a");
    expect(link, LINK_READER_URL, "https://www.a.example/a");
    expect(link, LINK_DOMAIN, "a.example");
    expect(link, LINK_TITLE, "A");
    expect(link, LINK_DESCRIPTION, NULL);
    expect(link, LINK_IMAGE_URL,
           "https://cdn.bsky.app/img/feed_thumbnail/plain/did:plc:a/bafkreia@jpeg");
    expect(link->next, LINK_URL, "https://b.example/b");
    expect(link->next, LINK_TITLE, NULL);
    expect(link->next, LINK_IMAGE_URL, NULL);
    assert_int_equal(link->next->fields[LINK_FLAGS].i, 0);
}

static void the_same_post_from_a_feed_differs_only_in_what_a_feed_does_not_tell(void **state)
{
    struct desk *desk = *state;
    /* R001-34 */
    assert_int_equal(add(desk, RICH, POST_KIND_POST), RC_OK);
    assert_int_equal(add(desk, RICH, POST_KIND_SUBJECT), RC_OK);
    const struct record *live = desk->batch.first[RECORD_POST], *feed = live->next;
    expect(feed, POST_REV, NULL);
    assert_int_equal(feed->fields[POST_ASOF_SEQ].i, 7);
    for (unsigned i = 0; i < POST_FIELDS; i++)
        if (i != POST_REV && i != POST_ASOF_SEQ && i != POST_KIND) {
            assert_int_equal(live->fields[i].null, feed->fields[i].null);
            if (live->fields[i].type == FIELD_TEXT)
                assert_true(bytes_equal(live->fields[i].b, feed->fields[i].b));
            else
                assert_true(live->fields[i].i == feed->fields[i].i);
        }
    const struct record *first = desk->batch.first[RECORD_LINK], *again = first->next->next;
    expect(again, LINK_REV, NULL);
    expect(again, LINK_URL, "https://a.example/a");
    expect(again->next, LINK_URL, "https://b.example/b");
}

static void a_repost_names_its_subject_and_carries_no_link(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(add(desk,
                         "{\"subject\":{\"uri\":\"at://did:plc:s/app.bsky.feed.post/8\",\"cid\":"
                         "\"b\"},\"text\":\"https://a.example/a\"}",
                         POST_KIND_REPOST),
                     RC_OK);
    assert_int_equal(desk->batch.record_count, 1);
    expect(desk->batch.first[RECORD_POST], POST_SUBJECT_DID, "did:plc:s");
    expect(desk->batch.first[RECORD_POST], POST_SUBJECT_RKEY, "8");
    expect(desk->batch.first[RECORD_POST], POST_TEXT, NULL);
}

static void what_is_no_post_has_no_parts(void **state)
{
    struct desk *desk = *state;
    static const char *const odd[] = {
        "{\"subject\":{\"uri\":\"at://did:plc:s/app.bsky.feed.generator/8\"}}",
        "{\"subject\":{\"uri\":\"at://alice.example/app.bsky.feed.post/8\"}}",
        "{\"subject\":{\"uri\":\"at://did:plc:s/app.bsky.feed.post/\"}}",
        "{\"subject\":{\"uri\":\"at://did:plc:s/app.bsky.feed.post/8/9\"}}",
        "{\"subject\":{\"uri\":\"at://did:plc:s/app.bsky.feed.post/8?a\"}}",
        "{\"subject\":{\"uri\":\"https://did:plc:s/app.bsky.feed.post/8\"}}",
        "{\"subject\":{\"uri\":7}}",
        "{}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_int_equal(add(desk, odd[i], POST_KIND_REPOST), RC_OK);
        expect(desk->batch.last[RECORD_POST], POST_SUBJECT_DID, NULL);
        expect(desk->batch.last[RECORD_POST], POST_SUBJECT_RKEY, NULL);
    }
}

static void a_batch_without_room_stays_as_it_was(void **state)
{
    struct desk *desk = *state;
    assert_int_equal(add(desk, RICH, POST_KIND_POST), RC_OK);
    size_t used = desk->batch.arena.used, size = desk->batch.arena.size;
    assert_int_equal(add(desk, RICH, POST_KIND_POST), RC_OK);
    size_t both = desk->batch.arena.used;
    batch_undo(&desk->batch, (struct batch_mark){used});
    assert_int_equal(desk->batch.record_count, 3);
    const struct record *post = desk->batch.last[RECORD_POST];
    const struct record *link = desk->batch.last[RECORD_LINK];
    for (size_t left = 0; left < both - used; left++) {
        desk->batch.arena.size = used + left;
        assert_int_equal(add(desk, RICH, POST_KIND_POST), RC_AGAIN);
        assert_int_equal(desk->batch.record_count, 3);
        assert_int_equal(desk->batch.arena.used, used);
        assert_ptr_equal(desk->batch.last[RECORD_POST], post);
        assert_ptr_equal(desk->batch.last[RECORD_LINK], link);
        assert_null(post->next);
        assert_null(link->next);
        assert_int_equal(desk->out.records, 0);
    }
    desk->batch.arena.size = size;
    while (desk->batch.record_count < BATCH_RECORDS_MAX - 2)
        assert_non_null(batch_add(&desk->batch, RECORD_PRUNE));
    assert_int_equal(add(desk, RICH, POST_KIND_POST), RC_AGAIN);
    assert_int_equal(desk->batch.record_count, BATCH_RECORDS_MAX - 2);
}

/* R001-156: live or from a feed, what is kept is the same; a repost says nothing of the kind. */
static void languages_hashtags_and_rich_text_travel_with_the_post(void **state)
{
    struct desk *desk = *state;
    static const int kinds[] = {POST_KIND_POST, POST_KIND_SUBJECT, POST_KIND_REPOST};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bool says = kinds[i] != POST_KIND_REPOST;
        assert_int_equal(add(desk,
                             "{\"text\":\"a\",\"langs\":[\"en\"],\"tags\":[\"b\"],\"facets\":"
                             "[{\"index\":{\"byteStart\":0,\"byteEnd\":1},\"features\":[]}]}",
                             kinds[i]),
                         RC_OK);
        const struct record *post = desk->batch.last[RECORD_POST];
        expect(post, POST_LANGS, says ? "en" : NULL);
        expect(post, POST_TAGS, says ? "b" : NULL);
        expect(post, POST_FACETS,
               says ? "[{\"index\":{\"byteStart\":0,\"byteEnd\":1},\"features\":[]}]" : NULL);
    }
}

static void addresses_that_become_no_link_are_counted(void **state)
{
    struct desk *desk = *state;
    struct text body = {0};
    text_append_string(&body, "{\"text\":\"");
    for (int i = 0; i < 40; i++)
        text_appendf(&body, "https://a.example/%d ", i);
    text_append_string(&body, "\"}");
    assert_int_equal(add(desk, text_string(&body), POST_KIND_POST), RC_OK);
    assert_int_equal(desk->out.records, 33);
    assert_int_equal(desk->out.left_out, 8);
    text_free(&body);
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(a_post_brings_its_quote_and_its_links),
        AT_DESK(the_same_post_from_a_feed_differs_only_in_what_a_feed_does_not_tell),
        AT_DESK(a_repost_names_its_subject_and_carries_no_link),
        AT_DESK(what_is_no_post_has_no_parts),
        AT_DESK(a_batch_without_room_stays_as_it_was),
        AT_DESK(languages_hashtags_and_rich_text_travel_with_the_post),
        AT_DESK(addresses_that_become_no_link_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
