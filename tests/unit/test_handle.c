/* SPDX-License-Identifier: Apache-2.0
 *
 * Which handles are in memory, who holds them, and what becomes of a session's. */
#include "query/handle.h"
#include "sys/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

struct bench {
    struct handles *handles;
    struct handle *handle; /* held last */
    struct refusal refusal;
    uint64_t random;
    char name[UUID_TEXT_SIZE]; /* of the one opened last */
};

static const uint8_t mine[16] = {1}, yours[16] = {2}, nobodys[16] = {0};

static void start(struct bench *bench, struct handle_limits limits)
{
    if (bench->handles != NULL)
        handles_free(bench->handles);
    bench->handles = handles_new(&limits, 4711);
}

static int set_up(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    start(bench, (struct handle_limits){.open_max = 8});
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

static enum rc add(struct bench *bench, const uint8_t session[16], int64_t now_us)
{
    struct handle_state state = {0};
    const uint64_t random[2] = {++bench->random * UINT64_C(0x9e3779b97f4a7c15), bench->random};
    memcpy(state.session, session, sizeof state.session);
    enum rc rc = handle_add(bench->handles, &state, (const uint8_t *)random, now_us, &bench->handle,
                            &bench->refusal);
    if (rc == RC_OK)
        uuid_format(handle_state(bench->handle)->name, bench->name);
    return rc;
}

/* What the shelf does to it. */
static enum rc release(struct bench *bench, bool known)
{
    handle_state(bench->handle)->known = known;
    return handle_release(bench->handles, bench->handle, &bench->refusal);
}

static void open_one(struct bench *bench, const uint8_t session[16], int64_t now_us)
{
    assert_int_equal(add(bench, session, now_us), RC_OK);
    assert_int_equal(release(bench, true), RC_OK);
}

static enum rc hold(struct bench *bench, const char *name, const uint8_t session[16])
{
    return handle_hold(bench->handles, bytes_of(name), session, &bench->handle, &bench->refusal);
}

static const char *standing(struct bench *bench, const char *name)
{
    uint8_t raw[16] = {0};
    assert_true(uuid_parse(bytes_of(name), raw));
    return handle_standing(bench->handles, raw);
}

static size_t open_count(struct bench *bench)
{
    return handles_counts(bench->handles).open;
}

static int compare_names(const void *a, const void *b)
{
    return memcmp(a, b, HANDLE_NAME_SIZE);
}

static void ten_thousand_names_are_all_different(void **state) /* R004-06 */
{
    struct bench *bench = *state;
    struct loop *loop = loop_new();
    struct runtime *runtime = loop_runtime(loop);
    uint8_t(*names)[HANDLE_NAME_SIZE] = memory_new_zeroed(10000, sizeof *names);
    size_t bits[HANDLE_NAME_SIZE * 8] = {0};
    for (size_t i = 0; i < 10000; i++) {
        struct handle_state one = {0};
        const uint64_t random[2] = {runtime->ops->random(runtime), runtime->ops->random(runtime)};
        assert_int_equal(handle_add(bench->handles, &one, (const uint8_t *)random, 0,
                                    &bench->handle, &bench->refusal),
                         RC_OK);
        memcpy(names[i], handle_state(bench->handle)->name, sizeof *names);
        assert_int_equal(release(bench, false), RC_OK);
        for (size_t bit = 0; bit < HANDLE_NAME_SIZE * 8; bit++)
            bits[bit] += names[i][bit / 8] >> bit % 8 & 1;
    }
    qsort(names, 10000, sizeof *names, compare_names);
    for (size_t i = 1; i < 10000; i++)
        assert_memory_not_equal(names[i - 1], names[i], sizeof *names);
    /* All bits but the six of version and variant are a toss each: 122 of them are unknown. */
    size_t even = 0;
    for (size_t bit = 0; bit < HANDLE_NAME_SIZE * 8; bit++)
        even += bits[bit] > 4500 && bits[bit] < 5500;
    assert_int_equal(even, 122);
    free(names);
    loop_free(loop);
}

static void of_many_requests_at_once_one_wins(void **state) /* R004-16 */
{
    struct bench *bench = *state;
    open_one(bench, mine, 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(hold(bench, bench->name, mine), RC_OK);
        struct handle *winner = bench->handle;
        for (int i = 0; i < 7; i++) {
            assert_int_equal(hold(bench, bench->name, mine), RC_REJECT);
            assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
        }
        bench->handle = winner;
        /* Forgotten for now, the next round finds one that is to be read from the shelf first. */
        assert_int_equal(release(bench, false), RC_OK);
    }
}

static void another_sessions_handle_is_forbidden(void **state) /* R004-28 */
{
    struct bench *bench = *state;
    uint8_t wanted[16];
    open_one(bench, mine, 0);
    assert_int_equal(hold(bench, bench->name, yours), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_FORBIDDEN);
    assert_int_equal(
        handle_close(bench->handles, bytes_of(bench->name), nobodys, wanted, &bench->refusal),
        RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_FORBIDDEN);
    assert_int_equal(hold(bench, bench->name, mine), RC_OK);
    assert_int_equal(release(bench, true), RC_OK);
}

static void who_guesses_a_parked_name_holds_nobody_up(void **state)
{
    static const char name[] = "00010203-0405-4607-8809-0a0b0c0d0e0f";
    struct bench *bench = *state;
    assert_int_equal(hold(bench, name, yours), RC_OK);
    struct handle *strangers = bench->handle;
    assert_int_equal(hold(bench, name, mine), RC_OK);
    assert_int_equal(release(bench, true), RC_OK);
    bench->handle = strangers;
    assert_int_equal(release(bench, false), RC_OK);
    assert_string_equal(standing(bench, name), "open");
    assert_int_equal(hold(bench, name, yours), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_FORBIDDEN);
}

static void what_is_no_name_is_not_found(void **state) /* R004-33 */
{
    static const char *const names[] = {"", "x", "'; DROP TABLE post; --",
                                        "00000000-0000-4000-8000-00000000000"};
    struct bench *bench = *state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(hold(bench, names[i], mine), RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    }
}

static void over_the_quota_of_all_the_least_recently_used_is_parked(void **state)
{
    struct bench *bench = *state;
    char names[8][UUID_TEXT_SIZE];
    for (int i = 0; i < 8; i++) {
        const uint8_t session[16] = {(uint8_t)(10 + i)};
        open_one(bench, i == 0 ? mine : session, i);
        memcpy(names[i], bench->name, sizeof bench->name);
    }
    assert_int_equal(hold(bench, names[0], mine), RC_OK); /* used again: the second is the oldest */
    assert_int_equal(release(bench, true), RC_OK);
    open_one(bench, yours, 9);
    assert_int_equal(open_count(bench), 8);
    assert_string_equal(standing(bench, names[0]), "open");
    assert_string_equal(standing(bench, names[1]), "parked");
    assert_int_equal(handles_counts(bench->handles).kept, 9);
    assert_int_equal(handles_counts(bench->handles).parked, 1);
}

static void over_its_own_quota_a_session_parks_its_own(void **state)
{
    struct bench *bench = *state;
    char first[UUID_TEXT_SIZE], others[UUID_TEXT_SIZE];
    start(bench, (struct handle_limits){.open_max = 100, .of_session_max = 3});
    open_one(bench, yours, 0);
    memcpy(others, bench->name, sizeof others);
    for (int i = 0; i < 10; i++) {
        open_one(bench, mine, i);
        if (i == 0)
            memcpy(first, bench->name, sizeof first);
    }
    assert_int_equal(open_count(bench), 4);
    assert_string_equal(standing(bench, first), "parked");
    assert_string_equal(standing(bench, others), "open");
    /* One that is being used is not parked. */
    assert_int_equal(hold(bench, bench->name, mine), RC_OK);
    struct handle *held = bench->handle;
    for (int i = 0; i < 10; i++)
        open_one(bench, mine, i);
    bench->handle = held;
    assert_int_equal(release(bench, true), RC_OK);
    assert_int_equal(open_count(bench), 4);
}

static void what_the_shelf_may_hold_is_a_limit(void **state)
{
    struct bench *bench = *state;
    start(bench, (struct handle_limits){.kept_max = 3});
    handles_set_kept(bench->handles, 1);
    open_one(bench, mine, 0);
    assert_int_equal(add(bench, mine, 0), RC_OK);
    struct handle *opening = bench->handle;
    assert_int_equal(add(bench, mine, 0), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_QUOTA_EXCEEDED);
    bench->handle = opening;
    assert_int_equal(release(bench, false), RC_OK); /* it was not opened after all */
    open_one(bench, mine, 0);
    handles_note_expired(bench->handles, 2);
    open_one(bench, mine, 0);
    assert_int_equal(handles_counts(bench->handles).kept, 2);
    assert_int_equal(handles_counts(bench->handles).opened, 3);
    assert_int_equal(handles_counts(bench->handles).expired, 2);
}

static void closing_a_busy_handle_takes_its_page_away(void **state) /* R004-29 */
{
    struct bench *bench = *state;
    uint8_t wanted[16];
    open_one(bench, mine, 0);
    assert_int_equal(hold(bench, bench->name, mine), RC_OK);
    assert_int_equal(
        handle_close(bench->handles, bytes_of(bench->name), mine, wanted, &bench->refusal), RC_OK);
    assert_int_equal(release(bench, true), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    assert_int_equal(open_count(bench), 0);
    assert_int_equal(/* twice succeeds */
                     handle_close(bench->handles, bytes_of(bench->name), mine, wanted,
                                  &bench->refusal),
                     RC_OK);
}

static void copies_that_nobody_uses_are_forgotten(void **state)
{
    struct bench *bench = *state;
    open_one(bench, mine, 0);
    char busy[UUID_TEXT_SIZE];
    memcpy(busy, bench->name, sizeof busy);
    open_one(bench, mine, 0);
    open_one(bench, mine, 10 * SECOND);
    assert_int_equal(hold(bench, busy, mine), RC_OK);
    handles_drop_idle(bench->handles, 299 * SECOND);
    assert_int_equal(open_count(bench), 3);
    handles_drop_idle(bench->handles, 301 * SECOND);
    assert_int_equal(open_count(bench), 2);
    assert_int_equal(release(bench, true), RC_OK);
}

static void a_session_that_does_not_come_back_ends_with_its_handles(void **state) /* R004-27 */
{
    struct bench *bench = *state;
    uint8_t ended[16];
    char others[UUID_TEXT_SIZE];
    open_one(bench, yours, 0);
    memcpy(others, bench->name, sizeof others);
    session_joined(bench->handles, mine);
    session_joined(bench->handles, mine);
    for (int i = 0; i < 3; i++)
        open_one(bench, mine, 0);
    assert_int_equal(hold(bench, bench->name, mine), RC_OK);
    session_gone(bench->handles, mine, 0);
    assert_false(session_take_ended(bench->handles, 1000 * SECOND, ended)); /* one is left */
    session_gone(bench->handles, mine, 1000 * SECOND);
    assert_false(session_take_ended(bench->handles, 1059 * SECOND, ended));
    assert_int_equal(open_count(bench), 4);
    assert_true(session_take_ended(bench->handles, 1060 * SECOND, ended));
    assert_memory_equal(ended, mine, sizeof mine);
    assert_false(session_take_ended(bench->handles, 1060 * SECOND, ended));
    assert_int_equal(open_count(bench), 2); /* one of them is being read, and ends after it */
    assert_int_equal(release(bench, true), RC_REJECT);
    assert_int_equal(open_count(bench), 1);
    assert_string_equal(standing(bench, others), "open");
}

static void a_session_that_is_seen_in_time_stays(void **state)
{
    struct bench *bench = *state;
    uint8_t ended[16];
    session_joined(bench->handles, mine);
    open_one(bench, mine, 0);
    session_gone(bench->handles, mine, 0);
    session_seen(bench->handles, mine); /* by a plain request */
    assert_false(session_take_ended(bench->handles, 1000 * SECOND, ended));
    session_joined(bench->handles, mine);
    session_gone(bench->handles, mine, 0);
    session_joined(bench->handles, mine); /* by a new connection */
    assert_false(session_take_ended(bench->handles, 1000 * SECOND, ended));
    session_gone(bench->handles, mine, 0);
    assert_true(session_take_ended(bench->handles, 60 * SECOND, ended));
    assert_int_equal(open_count(bench), 0);
    /* Without a name it is the machine itself. */
    session_joined(bench->handles, nobodys);
    session_gone(bench->handles, nobodys, 0);
    assert_false(session_take_ended(bench->handles, 1000 * SECOND, ended));
}

static void the_counter_equals_opens_minus_closes_and_expiries(void **state) /* R004-22 */
{
    struct bench *bench = *state;
    char names[512][UUID_TEXT_SIZE] = {{0}};
    size_t opened = 0, closed = 0;
    uint64_t chance = 4711;
    uint8_t wanted[16];
    start(bench, (struct handle_limits){.of_session_max = 1000});
    for (int64_t step = 0; step < 20000; step++) {
        chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t at = (size_t)(chance >> 33) % 512;
        if (names[at][0] == '\0') {
            open_one(bench, mine, step * SECOND / 100);
            memcpy(names[at], bench->name, sizeof bench->name);
            opened++;
        } else {
            assert_int_equal(
                handle_close(bench->handles, bytes_of(names[at]), mine, wanted, &bench->refusal),
                RC_OK);
            handles_note_closed(bench->handles, 1);
            names[at][0] = '\0';
            closed++;
        }
        assert_int_equal(open_count(bench), opened - closed);
        assert_int_equal(handles_counts(bench->handles).kept, opened - closed);
    }
    handles_drop_idle(bench->handles, INT64_MAX / 2);
    assert_int_equal(open_count(bench), 0);
}

int main(void)
{
#define HANDLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        HANDLE(ten_thousand_names_are_all_different),
        HANDLE(of_many_requests_at_once_one_wins),
        HANDLE(another_sessions_handle_is_forbidden),
        HANDLE(who_guesses_a_parked_name_holds_nobody_up),
        HANDLE(what_is_no_name_is_not_found),
        HANDLE(over_the_quota_of_all_the_least_recently_used_is_parked),
        HANDLE(over_its_own_quota_a_session_parks_its_own),
        HANDLE(what_the_shelf_may_hold_is_a_limit),
        HANDLE(closing_a_busy_handle_takes_its_page_away),
        HANDLE(copies_that_nobody_uses_are_forgotten),
        HANDLE(a_session_that_does_not_come_back_ends_with_its_handles),
        HANDLE(a_session_that_is_seen_in_time_stays),
        HANDLE(the_counter_equals_opens_minus_closes_and_expiries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
