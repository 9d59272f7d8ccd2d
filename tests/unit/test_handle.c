/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

struct bench {
    struct handles *handles;
    struct handle *handle;
    struct refusal refusal;
    uint64_t random;
    char name[UUID_TEXT_SIZE];
};

static const uint8_t mine[16] = {1}, yours[16] = {2};

static struct handle *open_one(struct bench *bench, int64_t now_us)
{
    struct handle_spec spec = {.collection = collection_find(bytes_of("posts")), .page_size = 10};
    uint64_t random[2] = {bench->random * UINT64_C(0x9e3779b97f4a7c15), bench->random};
    struct handle *handle;
    bench->random++;
    order_default(spec.collection, &spec.order);
    memcpy(spec.session, mine, sizeof mine);
    spec.opening.fence_n = 100;
    assert_int_equal(
        handle_open(bench->handles, &spec, (uint8_t *)random, now_us, &handle, &bench->refusal),
        RC_OK);
    handle_name(handle, bench->name);
    return handle;
}

static int set_up(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->handles = handles_new(8, 0);
    bench->random = 1;
    bench->handle = open_one(bench, 0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    handles_free(bench->handles);
    free(bench);
    return 0;
}

static enum rc find(struct bench *bench, const uint8_t session[16], int64_t now_us)
{
    struct handle *found;
    return handle_find(bench->handles, bytes_of(bench->name), session, now_us, &found,
                       &bench->refusal);
}

static enum rc begin(struct bench *bench, int64_t page, enum handle_step *step, int64_t *number,
                     struct page_request *request)
{
    return handle_begin(bench->handle, page, step, number, request, &bench->refusal);
}

/* Delivers a page that ends at (last, n). */
static bool deliver(struct bench *bench, enum handle_step step, int64_t last, bool has_more)
{
    struct page page = {.has_more = has_more};
    const struct field parts[] = {field_int(last), field_int(last)};
    bool more;
    assert_true(row_key_set(&page.last, parts, 2));
    assert_int_equal(
        handle_deliver(bench->handles, bench->handle, step, &page, 0, &more, &bench->refusal),
        RC_OK);
    page_free(&page);
    return more;
}

static void expect_conflict(struct bench *bench, int64_t page)
{
    enum handle_step step;
    int64_t number;
    struct page_request request;
    assert_int_equal(begin(bench, page, &step, &number, &request), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
}

static void a_fresh_handle_begins_with_page_0_at_the_first_row(void **state) /* R004-23 */
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    expect_conflict(bench, 1);
    assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
    assert_int_equal(step, STEP_NEXT);
    assert_int_equal(number, 0);
    assert_int_equal(request.after->count, 0);
    assert_null(request.last);
    assert_int_equal(request.fence_n, 100);
    assert_int_equal(request.page_size, 10);
    handle_abandon(bench->handles, bench->handle, 0);
}

static void the_last_page_can_be_asked_for_again_and_no_other(void **state) /* R004-16 */
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    for (int64_t page = 0; page < 4; page++) {
        assert_int_equal(begin(bench, page % 2 ? -1 : page, &step, &number, &request), RC_OK);
        assert_int_equal(step, STEP_NEXT);
        assert_int_equal(number, page);
        assert_true(deliver(bench, step, 100 - page, true));
        for (int i = 0; i < 2; i++) {
            assert_int_equal(begin(bench, page, &step, &number, &request), RC_OK);
            assert_int_equal(step, STEP_AGAIN);
            assert_int_equal(number, page);
            assert_int_equal(request.after->count, page == 0 ? 0 : 2);
            if (page > 0)
                assert_int_equal(request.after->parts[0].i, 101 - page);
            assert_int_equal(request.last->parts[0].i, 100 - page);
            assert_true(deliver(bench, step, 55, false)); /* an old page decides nothing */
        }
        expect_conflict(bench, page + 2);
        if (page > 0)
            expect_conflict(bench, page - 1);
    }
}

static void overlapping_nexts_are_refused_and_skip_nothing(void **state) /* R004-16 */
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
    expect_conflict(bench, -1);
    expect_conflict(bench, 0);
    expect_conflict(bench, 1);
    deliver(bench, step, 90, true);
    assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
    assert_int_equal(number, 1);
    assert_int_equal(request.after->parts[0].i, 90);
    handle_abandon(bench->handles, bench->handle, 0);
}

static void a_page_that_failed_is_still_the_next_one(void **state)
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
        assert_int_equal(number, 0);
        handle_abandon(bench->handles, bench->handle, 0);
    }
}

static void after_the_end_every_page_is_empty(void **state) /* R004-17 */
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
    assert_false(deliver(bench, step, 90, false));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
        assert_int_equal(step, STEP_END);
        assert_int_equal(number, 1);
    }
    assert_int_equal(begin(bench, 7, &step, &number, &request), RC_OK);
    assert_int_equal(step, STEP_END);
    assert_int_equal(number, 7);
    assert_int_equal(begin(bench, 0, &step, &number, &request), RC_OK);
    assert_int_equal(step, STEP_AGAIN);
    assert_false(deliver(bench, step, 90, true));
}

static void an_empty_result_is_page_0_and_stays_empty(void **state)
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    struct page page = {0};
    bool more = true;
    assert_int_equal(begin(bench, 0, &step, &number, &request), RC_OK);
    assert_int_equal(
        handle_deliver(bench->handles, bench->handle, step, &page, 0, &more, &bench->refusal),
        RC_OK);
    assert_false(more);
    assert_int_equal(begin(bench, 0, &step, &number, &request), RC_OK);
    assert_int_equal(step, STEP_END);
    assert_int_equal(number, 0);
}

static void five_minutes_without_use_end_a_handle(void **state) /* R004-26 */
{
    struct bench *bench = *state;
    assert_int_equal(find(bench, mine, 299 * SECOND), RC_OK);
    assert_int_equal(find(bench, mine, (299 + 299) * SECOND), RC_OK);
    assert_int_equal(handles_count(bench->handles), 1);
    assert_int_equal(find(bench, mine, (299 + 299 + 301) * SECOND), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    assert_int_equal(handles_count(bench->handles), 0);
}

static void a_handle_in_use_does_not_expire(void **state)
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
    assert_int_equal(handles_expire(bench->handles, 1000 * SECOND), 0);
    handle_abandon(bench->handles, bench->handle, 1000 * SECOND);
    assert_int_equal(handles_expire(bench->handles, 1299 * SECOND), 0);
    assert_int_equal(handles_expire(bench->handles, 1300 * SECOND), 1);
}

static void another_sessions_handle_is_forbidden(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(find(bench, yours, 0), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_FORBIDDEN);
    assert_int_equal(find(bench, mine, 0), RC_OK);
}

static void what_is_no_name_is_not_found(void **state)
{
    static const char *const names[] = {"", "x", "'; DROP TABLE post; --",
                                        "00000000-0000-4000-8000-000000000000"};
    struct bench *bench = *state;
    struct handle *found;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            handle_find(bench->handles, bytes_of(names[i]), mine, 0, &found, &bench->refusal),
            RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    }
}

static void the_table_is_bounded_and_closing_makes_room(void **state)
{
    struct bench *bench = *state;
    struct handle_spec spec = *handle_spec(bench->handle);
    const uint8_t random[16] = {9};
    struct handle *handle;
    for (int i = 0; i < 7; i++)
        open_one(bench, 0);
    assert_int_equal(handle_open(bench->handles, &spec, random, 0, &handle, &bench->refusal),
                     RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_QUOTA_EXCEEDED);
    handle_close(bench->handles, bench->handle);
    open_one(bench, 0);
    /* Those whose time is over make room, too. */
    assert_int_equal(
        handle_open(bench->handles, &spec, random, 400 * SECOND, &handle, &bench->refusal), RC_OK);
    assert_int_equal(handles_count(bench->handles), 1);
}

static void closing_a_busy_handle_takes_its_page_away(void **state) /* R004-29 */
{
    struct bench *bench = *state;
    enum handle_step step;
    int64_t number;
    struct page_request request;
    struct page page = {.has_more = true};
    bool more;
    assert_int_equal(begin(bench, -1, &step, &number, &request), RC_OK);
    handle_close(bench->handles, bench->handle);
    assert_int_equal(find(bench, mine, 0), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    assert_int_equal(handles_count(bench->handles), 1);
    assert_int_equal(
        handle_deliver(bench->handles, bench->handle, step, &page, 0, &more, &bench->refusal),
        RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    assert_int_equal(handles_count(bench->handles), 0);
}

static void the_counter_equals_opens_minus_closes_and_expiries(void **state) /* R004-22 */
{
    struct bench *bench = *state;
    struct handles *handles = handles_new(0, 0);
    struct handle *live[512] = {0};
    size_t count = 0, gone = 0, opened = 0, closed = 0;
    uint64_t chance = 4711;
    bench->handles = (handles_free(bench->handles), handles);
    for (int64_t step = 0; step < 20000; step++) {
        chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t at = (size_t)(chance >> 33) % 512;
        if (live[at] == NULL) {
            live[at] = open_one(bench, step * SECOND / 100);
            opened++;
        } else {
            handle_close(handles, live[at]);
            live[at] = NULL;
            closed++;
        }
        count = opened - closed;
        assert_int_equal(handles_count(handles), count);
    }
    gone = handles_expire(handles, INT64_MAX / 2);
    assert_int_equal(gone, count);
    assert_int_equal(handles_count(handles), 0);
}

int main(void)
{
#define HANDLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        HANDLE(a_fresh_handle_begins_with_page_0_at_the_first_row),
        HANDLE(the_last_page_can_be_asked_for_again_and_no_other),
        HANDLE(overlapping_nexts_are_refused_and_skip_nothing),
        HANDLE(a_page_that_failed_is_still_the_next_one),
        HANDLE(after_the_end_every_page_is_empty),
        HANDLE(an_empty_result_is_page_0_and_stays_empty),
        HANDLE(five_minutes_without_use_end_a_handle),
        HANDLE(a_handle_in_use_does_not_expire),
        HANDLE(another_sessions_handle_is_forbidden),
        HANDLE(what_is_no_name_is_not_found),
        HANDLE(the_table_is_bounded_and_closing_makes_room),
        HANDLE(closing_a_busy_handle_takes_its_page_away),
        HANDLE(the_counter_equals_opens_minus_closes_and_expiries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
