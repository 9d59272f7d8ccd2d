/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "sim/dictionary.h"
#include "sim/event_json.h"
#include "sim/post.h"
#include "sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

static struct text render(const struct world *world)
{
    struct text out = {0};
    for (uint32_t k = 0; k < world_count(world); k++) {
        event_json_v1(world, k, 0, &out);
        text_append_char(&out, '\n');
    }
    return out;
}

static struct text render_seed(uint64_t seed, uint32_t first, uint32_t then)
{
    struct world_options options = world_options_default();
    options.seed = seed;
    struct world *world = world_new(&options);
    world_grow(world, first);
    world_grow(world, then);
    struct text out = render(world);
    world_free(world);
    return out;
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    struct text whole = render_seed(3, 2000, 0), steps = render_seed(3, 700, 1300);
    struct text prefix = render_seed(3, 700, 0), other = render_seed(4, 2000, 0);
    assert_true(bytes_equal(text_bytes(&whole), text_bytes(&steps)));
    assert_false(bytes_equal(text_bytes(&whole), text_bytes(&other)));
    /* What happens later does not change what was said before. */
    assert_true(prefix.len < whole.len && memcmp(prefix.data, whole.data, prefix.len) == 0);
    text_free(&whole);
    text_free(&steps);
    text_free(&prefix);
    text_free(&other);
}

static void check_event(struct json event, const struct world_event *truth, char last_rev[TID_SIZE])
{
    struct bytes rev = json_string_or_absent(json_pointer(event, "/commit/rev"));
    int64_t time_us;
    assert_true(json_i64(json_get(event, "time_us"), &time_us));
    assert_true(time_us == truth->time_us);
    if (rev.data == NULL)
        return;
    assert_int_equal(rev.len, TID_SIZE - 1);
    /* Byte order of revisions is their order in time, within one repository. */
    assert_true(memcmp(rev.data, last_rev, TID_SIZE - 1) > 0);
    memcpy(last_rev, rev.data, TID_SIZE - 1);
}

static void times_never_fall_and_revisions_rise_even_among_ties(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    options.ties_permille = 600;
    options.accounts = 5;
    struct world *world = world_new(&options);
    char last_revs[5][TID_SIZE] = {""};
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    int64_t last_us = 0;
    world_grow(world, 3000);
    for (uint32_t k = 0; k < 3000; k++) {
        struct text line = {0};
        struct json event;
        const struct world_event *truth = world_event(world, k);
        event_json_v1(world, k, 0, &line);
        assert_int_equal(json_parse_copy(doc, text_bytes(&line), &event, NULL), RC_OK);
        check_event(event, truth, last_revs[truth->account]);
        assert_true(truth->time_us >= last_us);
        last_us = truth->time_us;
        text_free(&line);
    }
    json_doc_free(doc);
    world_free(world);
}

static void strings_are_escaped_for_html(void **state)
{
    (void)state;
    struct text out = {0};
    event_json_string(&out, bytes_of("a&b<c>\"\\\n\t\x01\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x94"));
    assert_string_equal(text_string(&out), "\"a\\u0026b\\u003cc\\u003e\\\"\\\\\\n\\t\\u0001"
                                           "\\u2028\\u2029\xe2\x80\x94\"");
    text_free(&out);
}

static void a_facet_covers_the_link_that_is_shown(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    struct world *world = world_new(&options);
    unsigned facets = 0;
    world_grow(world, 5000);
    for (uint32_t k = 0; k < 5000; k++) {
        const struct world_event *event = world_event(world, k);
        struct post post;
        if (event->collection != COLLECTION_POST || event->kind > EVENT_UPDATE)
            continue;
        post_compose(world, k, &post);
        for (unsigned i = 0; i < post.link_count; i++) {
            const struct post_link *link = &post.links[i];
            size_t shown = link->end - link->begin;
            if (shown == 0)
                continue;
            assert_true(link->end <= post.text_len && shown > 3);
            /* In full, or without the scheme and with three dots for the rest. */
            bool full = shown == strlen(link->url);
            assert_memory_equal(post.text + link->begin,
                                full ? link->url : strstr(link->url, "//") + 2, shown - 3);
            facets++;
        }
    }
    assert_true(facets > 100);
    world_free(world);
}

static void a_cursor_finds_the_first_event_at_or_after_it(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    options.ties_permille = 300;
    struct world *world = world_new(&options);
    world_grow(world, 1000);
    for (uint32_t k = 0; k < 1000; k++) {
        uint32_t found = world_find_time(world, world_event(world, k)->time_us);
        assert_true(found <= k &&
                    world_event(world, found)->time_us == world_event(world, k)->time_us);
        assert_true(found == 0 ||
                    world_event(world, found - 1)->time_us < world_event(world, k)->time_us);
    }
    assert_int_equal(world_find_time(world, 0), 0);
    assert_int_equal(world_find_time(world, INT64_MAX), 1000);
    world_free(world);
}

static void every_did_is_found_and_valid(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    options.accounts = 5000;
    struct world *world = world_new(&options);
    for (uint32_t i = 0; i < 5000; i++) {
        struct bytes did = bytes_of(world_account(world, i)->did);
        assert_true(did_is_valid(did));
        assert_int_equal(world_find_did(world, did), i);
    }
    assert_true(world_find_did(world, bytes_of("did:plc:nobody")) == WORLD_NONE);
    world_free(world);
}

static void identifiers_are_checked_like_the_real_server_does(void **state)
{
    (void)state;
    assert_true(did_is_valid(bytes_of("did:web:example.com")));
    assert_false(did_is_valid(bytes_of("did:plc:")));
    assert_false(did_is_valid(bytes_of("did:PLC:abc")));
    assert_false(did_is_valid(bytes_of("did:plc:a b")));
    assert_false(did_is_valid(bytes_make("did:web:a\0b", 11)));
    assert_true(nsid_is_valid(bytes_of("app.bsky.feed.post")));
    assert_false(nsid_is_valid(bytes_of("app.bsky")));
    assert_false(nsid_is_valid(bytes_of("app..post")));
    assert_false(nsid_is_valid(bytes_of("app.bsky.fo*")));
}

static void a_date_is_written_as_the_calendar_says(void **state)
{
    (void)state;
    char iso[ISO_SIZE];
    iso_write(1709164800123456, 6, iso);
    assert_string_equal(iso, "2024-02-29T00:00:00.123456Z");
    iso_write(1779719009132431, 3, iso);
    assert_string_equal(iso, "2026-05-25T14:23:29.132Z");
    iso_write(0, 3, iso);
    assert_string_equal(iso, "1970-01-01T00:00:00.000Z");
}

static void compressed_events_read_back_with_the_dictionary_only(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    struct world *world = world_new(&options);
    struct dictionary *dictionary = dictionary_train(&options, WIRE_V1, 4711);
    struct bytes bytes = dictionary_bytes(dictionary);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    char room[65536];
    bool sizeless = false;
    world_grow(world, 500);
    for (uint32_t k = 0; k < 500; k++) {
        struct text line = {0}, frame = {0};
        event_json_v1(world, k, 0, &line);
        dictionary_compress(dictionary, text_bytes(&line), &frame);
        assert_int_equal(ZSTD_getDictID_fromFrame(frame.data, frame.len), 4711);
        bool unknown = ZSTD_getFrameContentSize(frame.data, frame.len) == ZSTD_CONTENTSIZE_UNKNOWN;
        assert_int_equal(unknown, line.len < 256);
        sizeless = sizeless || unknown;
        size_t len = ZSTD_decompress_usingDict(context, room, sizeof room, frame.data, frame.len,
                                               bytes.data, bytes.len);
        assert_true(len == line.len && memcmp(room, line.data, len) == 0);
        assert_true(
            ZSTD_isError(ZSTD_decompressDCtx(context, room, sizeof room, frame.data, frame.len)));
        text_free(&line);
        text_free(&frame);
    }
    assert_true(sizeless);
    ZSTD_freeDCtx(context);
    dictionary_free(dictionary);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(times_never_fall_and_revisions_rise_even_among_ties),
        cmocka_unit_test(strings_are_escaped_for_html),
        cmocka_unit_test(a_facet_covers_the_link_that_is_shown),
        cmocka_unit_test(a_cursor_finds_the_first_event_at_or_after_it),
        cmocka_unit_test(every_did_is_found_and_valid),
        cmocka_unit_test(identifiers_are_checked_like_the_real_server_does),
        cmocka_unit_test(a_date_is_written_as_the_calendar_says),
        cmocka_unit_test(compressed_events_read_back_with_the_dictionary_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
