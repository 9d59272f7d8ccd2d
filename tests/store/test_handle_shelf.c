/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of a handle, and who may go on with it: on both stores. */
#include "page_bench.h"
#include "query/handle_shelf.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND  INT64_C(1000000)
#define IDLE    (300 * SECOND)
#define BY_A    "[{\"field\":\"a\",\"direction\":\"asc\"}]"
#define READERS 4

static struct store *beside(struct bench *bench)
{
    struct store *store;
    assert_ok(store_beside(bench->store, &store, &bench->err));
    return store;
}

static int64_t kept(struct bench *bench)
{
    int64_t count;
    assert_ok(shelf_count(beside(bench), &count, &bench->err));
    return count;
}

static void make_things(struct bench *bench, unsigned first, unsigned last)
{
    struct text sql = {0};
    text_appendf(&sql,
                 "INSERT INTO thing (n, a) WITH RECURSIVE s(i) AS (SELECT %u UNION ALL "
                 "SELECT i + 1 FROM s WHERE i < %u) SELECT i, i %% 50 FROM s;"
                 "UPDATE engine SET next_n = %u",
                 first, last, last + 1);
    page_bench_run(bench, text_string(&sql));
    text_free(&sql);
}

static enum rc ask_at(struct bench *bench, int64_t now_us)
{
    bench->question.now_us = now_us;
    bench->question.idle_us_max = IDLE;
    bench->question.named = false;
    return page_bench_try(bench);
}

/* R004-16 R004-24 */
static void a_lost_reply_is_the_same_page_after_inserts_and_a_restart(void **state)
{
    struct bench *bench = *state;
    int64_t lost[10], again[10], next[10], one = 1, two = 2;
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    page_bench_ask_on(bench, NULL, lost);
    assert_int_equal(page_bench_ask_on(bench, NULL, lost), 10);
    make_things(bench, 101, 300); /* between all the old ones */
    page_bench_forget(bench);
    assert_int_equal(page_bench_ask_on(bench, &one, again), 10);
    assert_memory_equal(lost, again, sizeof lost);
    page_bench_forget(bench);
    assert_int_equal(page_bench_ask_on(bench, &two, next), 10);
    assert_int_equal(bench->answer.number, 2);
    assert_true(next[0] > again[9] || next[0] % 50 > again[9] % 50);
}

static const struct collection *find_retyped(void *arg, struct bytes name)
{
    /* Of the same names, and what was a number is text now. */
    static const struct column columns[] = {
        {"id", COLUMN_ID, "t.n", "t.n", false},
        {"a", COLUMN_TEXT, "t.b", "t.b", true},
    };
    static const struct collection_order by_a[] = {{1, true}};
    static struct collection changed;
    (void)arg, (void)name;
    changed = things;
    changed.columns = columns;
    changed.column_count = 2;
    changed.order = by_a;
    return &changed;
}

/* Its places mean nothing in the order that there is now. */
static void a_field_of_another_type_ends_the_queries_ordered_by_it(void **state)
{
    struct bench *bench = *state;
    int64_t ids[10];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    assert_int_equal(page_bench_ask_on(bench, NULL, ids), 10);
    page_bench_forget(bench);
    const struct handle_finder finder = bench->question.finder;
    bench->question.finder.find = find_retyped;
    bench->question.named = false;
    assert_int_equal(page_bench_try(bench), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    assert_non_null(strstr(bench->refusal.err.text, "open it again"));
    bench->question.finder = finder;
    assert_int_equal(page_bench_ask_on(bench, NULL, ids), 10);
}

/* Two who have read the same state, as two daemons may. */
static void of_two_who_go_on_from_the_same_state_the_second_is_refused(void **state)
{
    struct bench *bench = *state;
    struct handle_state other = {0};
    int64_t ids[10];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    memcpy(other.name, bench->state.name, sizeof other.name);
    assert_ok(
        shelf_load(beside(bench), &other, &bench->question.finder, &bench->refusal, &bench->err));
    assert_int_equal(page_bench_ask_on(bench, NULL, ids), 10);
    struct handle_state first = bench->state;
    bench->state = other;
    bench->question.named = false;
    assert_int_equal(page_bench_try(bench), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
    /* Asked again it goes on from what the first one has kept. */
    page_bench_ask_on(bench, NULL, ids);
    assert_int_equal(bench->answer.number, 1);
    handle_state_forget(&first);
}

struct racer {
    struct bench *bench;
    struct handle_answer answer;
    unsigned won[100];
    unsigned conflicts;
    bool failed;
};

static void *race(void *arg)
{
    struct racer *racer = arg;
    struct handle_state state = {0};
    struct store *store;
    struct err err;
    memcpy(state.name, racer->bench->state.name, sizeof state.name);
    racer->failed = store_open(racer->bench->fixture.url, STORE_READ, &store, &err) != RC_OK;
    for (bool more = true; more && !racer->failed;) {
        struct handle_question question = racer->bench->question;
        struct refusal refusal = {0};
        enum rc rc = handle_ask(store, &state, &question, &racer->answer, &refusal, &err);
        racer->conflicts += rc == RC_REJECT && refusal.code == REFUSAL_CONFLICT;
        racer->failed = rc != RC_OK && refusal.code != REFUSAL_CONFLICT;
        more = rc != RC_OK || racer->answer.has_more;
        if (rc == RC_OK && racer->answer.page.rows > 0 && racer->answer.number < 100)
            racer->won[racer->answer.number]++;
        handle_state_forget(&state); /* what another one keeps is not known here */
    }
    page_free(&racer->answer.page);
    store_close(store);
    return NULL;
}

static void many_at_once_get_every_page_once(void **state) /* R004-16 */
{
    struct bench *bench = *state;
    struct racer racers[READERS] = {{0}};
    pthread_t threads[READERS];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 2);
    bench->question.named = false;
    for (int i = 0; i < READERS; i++) {
        racers[i].bench = bench;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    for (int page = 0; page < 50; page++) {
        unsigned times = 0;
        for (int i = 0; i < READERS; i++)
            times += racers[i].won[page];
        assert_int_equal(times, 1);
    }
    for (int i = 0; i < READERS; i++)
        assert_false(racers[i].failed);
}

static void another_sessions_handle_is_forbidden_also_when_parked(void **state) /* R004-28 */
{
    struct bench *bench = *state;
    bool removed;
    int64_t ids[10];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    page_bench_ask_on(bench, NULL, ids);
    for (int parked = 0; parked < 2; parked++) {
        bench->question.session[3] = 7;
        assert_int_equal(ask_at(bench, 0), RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_FORBIDDEN);
        assert_int_equal(shelf_remove(beside(bench), bench->state.name, bench->question.session,
                                      &removed, &bench->refusal, &bench->err),
                         RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_FORBIDDEN);
        bench->question.session[3] = 0;
        assert_int_equal(page_bench_ask_on(bench, NULL, ids), 10);
        assert_int_equal(bench->answer.number, parked + 1);
        page_bench_forget(bench);
    }
}

static void five_minutes_without_use_end_a_handle(void **state) /* R004-26 */
{
    struct bench *bench = *state;
    make_things(bench, 1, 100);
    for (int parked = 0; parked < 2; parked++) {
        page_bench_open(bench, &things, BY_A, 10);
        int64_t now_us = 299 * SECOND;
        assert_ok(ask_at(bench, now_us));
        if (parked)
            page_bench_forget(bench);
        now_us += 299 * SECOND;
        assert_ok(ask_at(bench, now_us));
        assert_int_equal(bench->answer.number, 1);
        if (parked)
            page_bench_forget(bench);
        assert_int_equal(ask_at(bench, now_us + 301 * SECOND), RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
        size_t removed;
        assert_ok(shelf_expire(beside(bench), now_us - 1, &removed, &bench->err));
        assert_int_equal(removed, 0);
        assert_ok(shelf_expire(beside(bench), now_us + 1 * SECOND, &removed, &bench->err));
        assert_int_equal(removed, 1);
        assert_int_equal(kept(bench), 0);
    }
}

/* However short their time is; and not each of many uses is written down. */
static void who_follows_a_query_uses_it(void **state)
{
    struct bench *bench = *state;
    static const int64_t idles_us[] = {SECOND, 3 * SECOND, IDLE};
    make_things(bench, 1, 10);
    for (size_t i = 0; i < sizeof idles_us / sizeof idles_us[0]; i++) {
        page_bench_open(bench, &things, BY_A, 10);
        bench->question.idle_us_max = idles_us[i];
        for (int turn = 1; turn <= 9; turn++) {
            bench->question.now_us = turn * idles_us[i] / 3;
            assert_ok(handle_look_up(bench->store, &bench->state, &bench->question, &bench->refusal,
                                     &bench->err));
        }
        bench->question.now_us += idles_us[i] / 100;
        assert_ok(handle_look_up(bench->store, &bench->state, &bench->question, &bench->refusal,
                                 &bench->err));
        assert_int_equal(bench->state.used_us, 3 * idles_us[i]);
        bench->question.now_us += idles_us[i];
        assert_int_equal(handle_look_up(bench->store, &bench->state, &bench->question,
                                        &bench->refusal, &bench->err),
                         RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
    }
}

static void what_nobody_opened_is_not_found(void **state) /* R004-33 */
{
    struct bench *bench = *state;
    make_things(bench, 1, 10);
    page_bench_open(bench, &things, BY_A, 10);
    page_bench_forget(bench);
    bench->state.name[5] ^= 1;
    assert_int_equal(ask_at(bench, 0), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
}

static void a_closed_handle_leaves_nothing(void **state) /* R004-18 R004-25 */
{
    struct bench *bench = *state;
    bool removed;
    int64_t ids[10];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    page_bench_ask_on(bench, NULL, ids);
    for (int i = 0; i < 2; i++) {
        assert_ok(shelf_remove(beside(bench), bench->state.name, bench->state.session, &removed,
                               &bench->refusal, &bench->err));
        assert_int_equal(removed, i == 0);
        assert_int_equal(kept(bench), 0);
    }
    /* Whoever was in the midst of a page is told. */
    assert_int_equal(ask_at(bench, 0), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
}

static void many_are_taken_away_in_slices_and_no_others(void **state) /* R004-27 */
{
    struct bench *bench = *state;
    size_t removed, total = 0;
    make_things(bench, 1, 10);
    for (int i = 0; i < 1200; i++) {
        page_bench_open(bench, &things, BY_A, 10);
        struct handle_state *one = &bench->state;
        one->session[0] = i % 3 == 0 ? 9 : 8;
        one->name[15] = 1; /* a second one, of that session */
        one->used_us = i * SECOND;
        assert_ok(shelf_add(beside(bench), one, &bench->err));
    }
    assert_int_equal(kept(bench), 2400);
    const uint8_t nine[16] = {9};
    assert_ok(shelf_end_session(beside(bench), nine, &removed, &bench->err));
    assert_int_equal(removed, 400);
    assert_ok(shelf_end_session(beside(bench), nine, &removed, &bench->err));
    assert_int_equal(removed, 0);
    do {
        assert_ok(shelf_expire(beside(bench), 599 * SECOND, &removed, &bench->err));
        assert_true(removed <= SHELF_SLICE_MAX);
        total += removed;
    } while (removed == SHELF_SLICE_MAX);
    assert_int_equal(total, 1200 + 400); /* the first ones, and of session 8 until then */
    assert_int_equal(kept(bench), 400);
}

/* The first try was stored, its answer was lost with the connection, and rows came since. */
static void an_open_that_is_tried_again_is_kept_as_it_is_answered(void **state)
{
    struct bench *bench = *state;
    const struct handle_opening question = {.exact = true};
    int64_t ids[10];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    make_things(bench, 101, 120);
    bench->state.used_us += 60 * SECOND;
    assert_ok(handle_open(bench->store, &bench->state, &question, &bench->refusal, &bench->err));
    const struct opening told = bench->state.opening;
    assert_int_equal(told.total, 120);
    assert_int_equal(kept(bench), 1);
    page_bench_forget(bench);
    assert_int_equal(page_bench_ask_on(bench, NULL, ids), 10);
    assert_int_equal(bench->answer.opening.total, told.total);
    assert_int_equal(bench->answer.opening.fence_n, told.fence_n);
    assert_int_equal(bench->answer.opening.seq, told.seq);
}

static const struct collection *find_changed(void *arg, struct bytes name)
{
    static struct collection changed;
    static const struct collection_order other_order[] = {{0, false}};
    (void)arg, (void)name;
    changed = things;
    changed.order = other_order;
    changed.page_size = 77;
    return &changed;
}

static const struct collection *find_none(void *arg, struct bytes name)
{
    (void)arg, (void)name;
    return NULL;
}

static void defaults_that_change_later_change_no_open_query(void **state) /* R004-21 */
{
    struct bench *bench = *state;
    int64_t ids[100];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, "[]", 10); /* the default: by a, descending */
    page_bench_ask_on(bench, NULL, ids);
    assert_int_equal(ids[0], 99);
    page_bench_forget(bench);
    bench->question.finder.find = find_changed;
    assert_int_equal(page_bench_ask_on(bench, NULL, ids), 10);
    assert_int_equal(ids[0], 94);
    page_bench_forget(bench);
    bench->question.finder.find = find_none;
    assert_int_equal(ask_at(bench, 0), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_HANDLE_NOT_FOUND);
}

static void filter_and_nulls_are_kept(void **state)
{
    static const char order[] = "[{\"field\":\"b\",\"direction\":\"desc\",\"nulls\":\"first\"},"
                                "{\"field\":\"id\",\"direction\":\"asc\"}]";
    struct bench *bench = *state;
    struct json root;
    int64_t ids[10];
    make_things(bench, 1, 30);
    page_bench_run(bench, "UPDATE thing SET b = 'x' WHERE n % 2 = 0");
    page_bench_open(bench, &things, order, 4);
    struct handle_state *one = &bench->state;
    one->name[14] = 1;
    one->version = 0;
    assert_ok(json_parse_copy(bench->doc, bytes_of("{\"id\":{\"$in\":[\"3\",\"4\",\"5\",\"6\"]}}"),
                              &root, &bench->err));
    assert_ok(filter_parse(&things, root, &one->filter, &bench->refusal));
    assert_ok(
        handle_open(bench->store, one, &(struct handle_opening){0}, &bench->refusal, &bench->err));
    page_bench_forget(bench);
    assert_int_equal(page_bench_ask_on(bench, NULL, ids), 4);
    const int64_t wanted[] = {3, 5, 4, 6};
    assert_memory_equal(ids, wanted, sizeof wanted);
}

static void a_page_that_cannot_be_kept_is_not_delivered(void **state)
{
    struct bench *bench = *state;
    int64_t before[10], after[10];
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    page_bench_ask_on(bench, NULL, before);
    struct store *shelf = beside(bench);
    assert_ok(shelf->ops->script(shelf, "ALTER TABLE query_handles RENAME TO hidden", &bench->err));
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(ask_at(bench, 0), RC_OK);
    shelf = beside(bench);
    assert_ok(shelf->ops->script(shelf, "ALTER TABLE hidden RENAME TO query_handles", &bench->err));
    assert_int_equal(page_bench_ask_on(bench, NULL, after), 10);
    assert_int_equal(bench->answer.number, 1);
}

static void around_a_row_that_is_not_there_is_refused(void **state)
{
    static const char *const ids[] = {"0", "101", "-1", "x", "", "99999999999999999999"};
    struct bench *bench = *state;
    make_things(bench, 1, 100);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_int_equal(page_bench_open_around(bench, &things, BY_A, 10, ids[i]), RC_REJECT);
        assert_int_equal(bench->refusal.code, REFUSAL_NOT_FOUND);
    }
    assert_int_equal(kept(bench), 0);
}

/* The file beside SQLite's, which nobody waits for the disk for; the server of PostgreSQL empties
 * its table by itself. */
static void a_damaged_shelf_is_made_anew(void **state)
{
    struct bench *bench = *state;
    char path[600];
    bool anew = true;
    make_things(bench, 1, 100);
    page_bench_open(bench, &things, BY_A, 10);
    store_close_beside(bench->store);
    assert_ok(store_mend_beside(bench->fixture.url, &anew, &bench->err));
    assert_false(anew);
    assert_int_equal(kept(bench), 1);
    if (both_stores_kind != FIXTURE_SQLITE)
        return;
    snprintf(path, sizeof path, "%s.handles", bench->fixture.url + strlen("sqlite:"));
    static const long places[] = {0, 100, 4096 + 3};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        store_close_beside(bench->store);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, places[i], SEEK_SET);
        for (int byte = 0; byte < 600; byte++)
            fputc(0xa5, file);
        fclose(file);
        assert_ok(store_mend_beside(bench->fixture.url, &anew, &bench->err));
        assert_true(anew);
        assert_int_equal(kept(bench), 0);
        page_bench_open(bench, &things, BY_A, 10);
        assert_int_equal(kept(bench), 1);
    }
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, page_bench_set_up, page_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_lost_reply_is_the_same_page_after_inserts_and_a_restart),
        ON_STORE(a_field_of_another_type_ends_the_queries_ordered_by_it),
        ON_STORE(of_two_who_go_on_from_the_same_state_the_second_is_refused),
        ON_STORE(many_at_once_get_every_page_once),
        ON_STORE(another_sessions_handle_is_forbidden_also_when_parked),
        ON_STORE(five_minutes_without_use_end_a_handle),
        ON_STORE(who_follows_a_query_uses_it),
        ON_STORE(what_nobody_opened_is_not_found),
        ON_STORE(a_closed_handle_leaves_nothing),
        ON_STORE(many_are_taken_away_in_slices_and_no_others),
        ON_STORE(an_open_that_is_tried_again_is_kept_as_it_is_answered),
        ON_STORE(defaults_that_change_later_change_no_open_query),
        ON_STORE(filter_and_nulls_are_kept),
        ON_STORE(a_page_that_cannot_be_kept_is_not_delivered),
        ON_STORE(around_a_row_that_is_not_there_is_refused),
        ON_STORE(a_damaged_shelf_is_made_anew),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
