/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a reading stands: when it has seen enough, when the mark rises, what is kept of it. */
#include "source/feed_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BOUND INT64_C(1000000)

struct page {
    struct feed_tally tally;
    struct feed_mark mark;
};

static void begin(struct page *page, int64_t mark_us, const char *mark_uri)
{
    *page = (struct page){.mark = {.us = mark_us}};
    snprintf(page->mark.uri, sizeof page->mark.uri, "%s", mark_uri);
    feed_tally_begin(&page->tally, &(struct feed_place){0});
}

static void see(struct page *page, int64_t us, const char *uri)
{
    struct feed_item item = {.kind = FEED_POST, .uri = bytes_of(uri), .seen_us = us, .sort_us = us};
    feed_tally_add(&page->tally, &item, &page->mark, BOUND);
}

/* R000-07 */
static void one_old_item_proves_nothing_two_at_the_end_do(void **state)
{
    (void)state;
    struct page page;
    begin(&page, 0, "");
    see(&page, BOUND + 9, "a");
    see(&page, BOUND - 9, "made up");
    see(&page, BOUND + 7, "c");
    assert_false(feed_tally_is_enough(&page.tally, false));
    see(&page, BOUND - 1, "d");
    assert_false(feed_tally_is_enough(&page.tally, false));
    see(&page, BOUND - 2, "e");
    assert_true(feed_tally_is_enough(&page.tally, false));
    see(&page, BOUND + 1, "f");
    assert_false(feed_tally_is_enough(&page.tally, false));
    assert_false(page.tally.orderly);
}

static void a_page_of_one_item_must_do_with_it(void **state)
{
    (void)state;
    struct page page;
    begin(&page, 0, "");
    assert_false(feed_tally_is_enough(&page.tally, false));
    see(&page, BOUND - 1, "a");
    assert_true(feed_tally_is_enough(&page.tally, false));
}

/* R000-12 R000-18 */
static void the_mark_ends_a_poll_wherever_it_stands(void **state)
{
    (void)state;
    struct page page;
    begin(&page, BOUND + 5, "mark");
    see(&page, BOUND + 9, "new");
    see(&page, BOUND + 5, "mark");
    see(&page, BOUND + 3, "known");
    assert_true(feed_tally_is_enough(&page.tally, true));
    assert_false(
        feed_tally_is_enough(&page.tally, false)); /* who reads further back does not end */
    assert_int_equal(page.tally.fresh, 1);
    assert_true(page.tally.orderly);
}

static void of_equal_times_the_later_address_is_the_newer(void **state)
{
    (void)state;
    struct feed_mark mark = {0};
    feed_mark_raise(&mark, 10, bytes_of("b"));
    feed_mark_raise(&mark, 10, bytes_of("a"));
    assert_string_equal(mark.uri, "b");
    feed_mark_raise(&mark, 9, bytes_of("z"));
    assert_string_equal(mark.uri, "b");
    feed_mark_raise(&mark, 10, bytes_of("c"));
    assert_string_equal(mark.uri, "c");
    assert_true(feed_mark_is_below(&mark, 11, bytes_of("a")));
    assert_false(feed_mark_is_below(&mark, 10, bytes_of("c")));
    mark.uri[0] = '\0'; /* set by hand: nothing of the same time is new */
    assert_false(feed_mark_is_below(&mark, 10, bytes_of("z")));
}

static void a_place_comes_back_as_it_was_written(void **state)
{
    (void)state;
    struct feed_place place = {.token = "1794__bafy \"\\\xc3\xa9",
                               .provider = "a:1",
                               .newest = {.us = 7, .uri = "at://x"},
                               .began_us = 8,
                               .reached_us = -9},
                      read;
    struct json_doc *doc = json_doc_new(65536, JSON_DEPTH_MAX);
    struct text json = {0};
    struct json root;
    struct err err;
    feed_place_write(&place, &json);
    assert_int_equal(json_parse_copy(doc, text_bytes(&json), &root, &err), RC_OK);
    assert_true(feed_place_read(root, &read));
    assert_string_equal(read.token, place.token);
    assert_string_equal(read.provider, place.provider);
    assert_string_equal(read.newest.uri, place.newest.uri);
    assert_true(read.newest.us == 7 && read.began_us == 8 && read.reached_us == -9);
    assert_int_equal(json_parse_copy(doc, bytes_of("{\"token\":7}"), &root, &err), RC_OK);
    assert_false(feed_place_read(root, &read));
    assert_string_equal(read.token, "");
    text_free(&json);
    json_doc_free(doc);
}

static void check_record(struct feed_record record)
{
    struct json_doc *doc = json_doc_new(65536, JSON_DEPTH_MAX);
    struct batch batch = {0};
    struct feed_record read;
    arena_init(&batch.arena, 8192);
    assert_int_equal(feed_record_add(&record, doc, bytes_of("did:plc:a"), "a:1", 1000000, &batch),
                     RC_OK);
    const struct record *row = batch.first[RECORD_CURSOR];
    assert_true(bytes_equal_string(row->fields[CURSOR_ROW_SOURCE].b, "feed"));
    feed_record_read(doc, row->fields[CURSOR_ROW_STATE].b, &read);
    assert_int_equal(read.initialised, record.initialised);
    assert_true(read.mark.us == record.mark.us && read.total == record.total);
    assert_string_equal(read.mark.uri, record.mark.us == 0 ? "" : record.mark.uri);
    assert_string_equal(read.handle, record.handle);
    arena_deinit(&batch.arena);
    json_doc_free(doc);
}

/* R000-23: an empty account that was read is not a new one. */
static void what_is_stored_of_a_feed_comes_back(void **state)
{
    (void)state;
    check_record((struct feed_record){.initialised = true});
    check_record((struct feed_record){.initialised = true,
                                      .total = 7,
                                      .handle = "a.example",
                                      .mark = {.us = 1794710266668001, .uri = "at://x/y/z"}});
    struct feed_record read;
    feed_record_read(NULL, BYTES_ABSENT, &read);
    assert_false(read.initialised);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_old_item_proves_nothing_two_at_the_end_do),
        cmocka_unit_test(a_page_of_one_item_must_do_with_it),
        cmocka_unit_test(the_mark_ends_a_poll_wherever_it_stands),
        cmocka_unit_test(of_equal_times_the_later_address_is_the_newer),
        cmocka_unit_test(a_place_comes_back_as_it_was_written),
        cmocka_unit_test(what_is_stored_of_a_feed_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
