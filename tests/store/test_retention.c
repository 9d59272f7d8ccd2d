/* SPDX-License-Identifier: Apache-2.0
 *
 * What is forgotten and when, by really ageing it, on both stores. */
#include "chance.h"
#include "config_load.h"
#include "ingest/retention.h"
#include "news_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR_US   INT64_C(3600000000)
#define MINUTE_US INT64_C(60000000)
#define START_US  (INT64_C(1000) * 24 * HOUR_US)
#define URL       "https://e.example/1"
#define PEOPLE    5 /* the threshold */

static struct retention retention;

static int set_up(void **state)
{
    struct config config;
    config_init(&config);
    retention = retention_of(&config);
    config_deinit(&config);
    assert_int_equal(retention.threshold, PEOPLE);
    assert_int_equal(retention.window_hours, 24);
    assert_int_equal(retention.max_days, 30);
    return store_bench_set_up(state);
}

static bool take_answer(void *arg, const struct field *columns, size_t count)
{
    *(int64_t *)arg = columns[0].i;
    return count != 1;
}

/* Prunes as the daemon does, until nothing is left; returns the number of slices. */
static unsigned clean_up(struct bench *bench, int64_t now_us)
{
    struct field params[RETENTION_PARAMS];
    int64_t left = 1;
    unsigned slices = 0;
    retention_left_params(&retention, now_us, params);
    while (left > 0) {
        assert_ok(store_query(bench->store, retention_left_sql, params, RETENTION_PARAMS,
                              take_answer, &left, &bench->err));
        if (left == 0)
            break;
        assert_ok(retention_prune(&retention, &bench->batch, now_us));
        assert_ok(write_batch(bench));
        assert_true(slices++ < 1000);
    }
    return slices;
}

static struct news_post share(struct bench *bench, int who, int op, int64_t at_us)
{
    static char did[24], rkey[24];
    snprintf(did, sizeof did, "did:plc:%d", who);
    snprintf(rkey, sizeof rkey, "k%d", who);
    struct news_post post = {.did = did,
                             .rkey = rkey,
                             .rev = op == POST_OP_PUT ? "r1" : "r2",
                             .op = op,
                             .shared_us = at_us};
    news_add_post(bench, post);
    if (op == POST_OP_PUT)
        news_add_link(bench, post, URL, "title");
    return post;
}

static void share_enough(struct bench *bench)
{
    for (int i = 0; i < PEOPLE; i++)
        share(bench, i, POST_OP_PUT, START_US);
    assert_ok(write_batch(bench));
}

#define POSTS_LEFT    "SELECT count(*) FROM posts"
#define LINKS_LEFT    "SELECT count(*) FROM links"
#define TOTAL         "SELECT share_count_total FROM links"
#define GONE_AND_OWED "SELECT count(*) FROM owed WHERE item LIKE 'gone%'"

/* R001-71 R001-73 R001-100 R001-102 */
static void posts_leave_the_window_and_shares_stay(void **state)
{
    struct bench *bench = *state;
    share_enough(bench);
    assert_int_equal(clean_up(bench, START_US + 24 * HOUR_US - MINUTE_US), 0);
    assert_int_equal(number(bench, POSTS_LEFT), PEOPLE);
    clean_up(bench, START_US + 24 * HOUR_US + MINUTE_US);
    assert_int_equal(number(bench, POSTS_LEFT), 0);
    assert_int_equal(number(bench, TOTAL), PEOPLE);
    assert_int_equal(number(bench, "SELECT CAST(sum(n_posts) AS BIGINT) FROM shares"), PEOPLE);
    assert_int_equal(number(bench, "SELECT min(last_us) FROM shares"), START_US);
    /* Sharing again is not a second person, and taking that back leaves the first time. */
    struct news_post again = share(bench, 0, POST_OP_PUT, START_US + 30 * HOUR_US);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), PEOPLE);
    assert_int_equal(number(bench, "SELECT max(n_posts) FROM shares"), 2);
    again.op = POST_OP_DELETE;
    again.rev = "r2";
    news_add_post(bench, again);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), PEOPLE);
    assert_int_equal(number(bench, "SELECT max(last_us) FROM shares"), START_US);
}

/* R001-72 R001-75: a link that nobody shares any more goes with its last post, unless enough
 * people ever did. */
static void a_little_shared_link_goes_with_its_posts(void **state)
{
    struct bench *bench = *state;
    share(bench, 1, POST_OP_PUT, START_US);
    assert_ok(write_batch(bench));
    clean_up(bench, START_US + 24 * HOUR_US - MINUTE_US);
    assert_int_equal(number(bench, LINKS_LEFT), 1);
    clean_up(bench, START_US + 24 * HOUR_US + MINUTE_US);
    assert_int_equal(number(bench, LINKS_LEFT), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM shares"), 0);
}

static void its_last_day_begins(struct bench *bench, int64_t fell_us)
{
    clean_up(bench, fell_us);
    clean_up(bench, fell_us + 24 * HOUR_US - MINUTE_US);
    assert_int_equal(number(bench, POSTS_LEFT), 0);
    assert_int_equal(number(bench, LINKS_LEFT), 1);
    clean_up(bench, fell_us + 24 * HOUR_US + MINUTE_US);
    assert_int_equal(number(bench, LINKS_LEFT), 0);
}

/* R001-74 */
static void a_link_stays_for_a_day_after_it_fell_below_the_threshold(void **state)
{
    struct bench *bench = *state;
    int64_t fell_us = START_US + 10 * HOUR_US;
    share_enough(bench);
    clean_up(bench, fell_us - HOUR_US);
    share(bench, 0, POST_OP_DELETE, fell_us);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), PEOPLE - 1);
    its_last_day_begins(bench, fell_us);
}

static void a_link_stays_for_a_day_after_an_account_left(void **state)
{
    struct bench *bench = *state;
    int64_t left_us = START_US + 10 * HOUR_US;
    share_enough(bench);
    news_add_account(bench, "did:plc:0", left_us, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), PEOPLE - 1);
    its_last_day_begins(bench, left_us);
}

static void who_shares_it_again_begins_its_last_day_anew(void **state)
{
    struct bench *bench = *state;
    int64_t fell_us = START_US + 20 * HOUR_US;
    share_enough(bench);
    share(bench, 0, POST_OP_DELETE, START_US + HOUR_US);
    assert_ok(write_batch(bench));
    clean_up(bench, START_US + HOUR_US);
    share(bench, PEOPLE, POST_OP_PUT, START_US + 2 * HOUR_US);
    assert_ok(write_batch(bench));
    clean_up(bench, START_US + 2 * HOUR_US);
    share(bench, PEOPLE, POST_OP_DELETE, fell_us);
    assert_ok(write_batch(bench));
    its_last_day_begins(bench, fell_us);
}

/* Shared for the second time within a window of a week, it goes when the second post does. */
static void a_link_goes_with_its_last_post_of_a_longer_window(void **state)
{
    struct bench *bench = *state;
    int64_t again_us = START_US + 72 * HOUR_US;
    int64_t end_us = again_us + 168 * HOUR_US;
    retention.window_hours = 168;
    share(bench, 1, POST_OP_PUT, START_US);
    assert_ok(write_batch(bench));
    for (int64_t now_us = START_US; now_us < end_us; now_us += HOUR_US) {
        if (now_us == again_us) {
            share(bench, 2, POST_OP_PUT, again_us);
            assert_ok(write_batch(bench));
        }
        clean_up(bench, now_us);
        assert_int_equal(number(bench, LINKS_LEFT), 1);
    }
    assert_int_equal(number(bench, POSTS_LEFT), 1);
    clean_up(bench, end_us + MINUTE_US);
    assert_int_equal(number(bench, POSTS_LEFT), 0);
    assert_int_equal(number(bench, LINKS_LEFT), 0);
}

static void a_popular_link_is_kept_for_its_days_and_no_longer(void **state)
{
    struct bench *bench = *state;
    int64_t kept_us = retention.max_days * 24 * HOUR_US;
    share_enough(bench);
    clean_up(bench, START_US + kept_us - MINUTE_US);
    assert_int_equal(number(bench, LINKS_LEFT), 1);
    clean_up(bench, START_US + kept_us + MINUTE_US);
    assert_int_equal(number(bench, LINKS_LEFT), 0);
}

/* Reposted a day later, an old post is no act of sharing any more, but the repost still has its
 * links, and so has the next one. */
static void an_old_post_stays_for_those_who_pass_it_on(void **state)
{
    struct bench *bench = *state;
    struct news_post repost = {.did = "did:plc:9",
                               .rkey = "r9",
                               .rev = "r1",
                               .kind = POST_KIND_REPOST,
                               .shared_us = START_US + 20 * HOUR_US,
                               .subject_did = "did:plc:1",
                               .subject_rkey = "k1"};
    share(bench, 1, POST_OP_PUT, START_US);
    news_add_post(bench, repost);
    assert_ok(write_batch(bench));
    clean_up(bench, START_US + 25 * HOUR_US);
    assert_int_equal(number(bench, POSTS_LEFT), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM post WHERE kind = 2"), 1);
    assert_int_equal(number(bench, TOTAL), 2);
    repost.did = "did:plc:10";
    repost.shared_us = START_US + 26 * HOUR_US;
    news_add_post(bench, repost);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 3);
    assert_int_equal(number(bench, "SELECT count(*) FROM owed"), 0);
    clean_up(bench, START_US + 51 * HOUR_US);
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
}

static void a_long_absence_is_cleaned_up_in_slices(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 1200; i++) {
        share(bench, i, POST_OP_PUT, START_US);
        if (i % 300 == 299)
            assert_ok(write_batch(bench));
    }
    assert_ok(retention_prune(&retention, &bench->batch, START_US + 25 * HOUR_US));
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, POSTS_LEFT), 700);
    assert_true(clean_up(bench, START_US + 25 * HOUR_US) >= 2);
    assert_int_equal(number(bench, POSTS_LEFT), 0);
    assert_int_equal(number(bench, TOTAL), 1200);
}

/* What is owed for links and posts that are gone is looked for once, when they all are: looking
 * goes through everything owed. */
static void what_is_owed_for_the_gone_goes_after_them(void **state)
{
    struct bench *bench = *state;
    const int64_t now_us = START_US + 25 * HOUR_US;
    for (int i = 0; i < 900; i++) {
        share(bench, i, POST_OP_PUT, START_US);
        if (i % 300 == 299)
            assert_ok(write_batch(bench));
    }
    run_script(bench,
               "INSERT INTO owed (id, source, stream, item, state, since_us, seq) "
               "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 1399) "
               "SELECT 100000 + n, CASE n % 2 WHEN 0 THEN 'cards' ELSE 'appview' END, "
               "CASE n % 2 WHEN 0 THEN 'page' ELSE 'posts' END, 'gone' || n, 'dead', 1, 1 FROM i");
    assert_ok(retention_prune(&retention, &bench->batch, now_us));
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, POSTS_LEFT), 400);
    assert_int_equal(number(bench, GONE_AND_OWED), 1400);
    assert_ok(retention_prune(&retention, &bench->batch, now_us));
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, POSTS_LEFT), 0);
    assert_int_equal(number(bench, GONE_AND_OWED), 0);
}

static void old_notes_of_the_engine_are_pruned(void **state)
{
    struct bench *bench = *state;
    const int64_t now = 3 * RETENTION_GAP_US;
    char sql[1024];
    snprintf(
        sql, sizeof sql,
        "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) VALUES "
        "('posts', 'old', 'r', NULL, 3, %lld), ('posts', 'young', 'r', NULL, 1, %lld);"
        "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, closed_us, "
        "seq) VALUES (1, 's', 't', 1, 2, 'x', 1, 5, 1), (2, 's', 't', 2, 3, 'x', 1, NULL, 1), "
        "(3, 's', 't', 3, 4, 'x', 1, %lld, 1);"
        "INSERT INTO follow_page (owner, listing, did, handle, n) VALUES ('o', 5, 'd', 'h', 1), "
        "('o', %lld, 'd', 'h', 1);"
        "INSERT INTO past_rows (collection, seq, key, at_us, item) VALUES "
        "('chat', 7, 'old', 5, '{}'), ('chat', 8, 'young', %lld, '{}')",
        (long long)(now - RETENTION_TOMBSTONE_US - 1), (long long)(now - RETENTION_TOMBSTONE_US),
        (long long)now, (long long)now, (long long)now);
    run_script(bench, sql);
    clean_up(bench, now);
    assert_int_equal(number(bench, "SELECT seq FROM past_rows"), 8);
    assert_int_equal(number(bench, "SELECT seq FROM tail_floors WHERE collection = 'chat'"), 7);
    assert_int_equal(number(bench, "SELECT seq FROM tail_floors WHERE collection = 'posts'"), 3);
    assert_int_equal(number(bench, "SELECT count(*) FROM tombstones WHERE collection = 'posts'"),
                     1);
    assert_int_equal(number(bench, "SELECT count(*) FROM tombstones WHERE key = 'young'"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE id IN (2, 3)"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps"), 2);
    snprintf(sql, sizeof sql, "SELECT n FROM tombstones WHERE collection = 'gaps' AND at_us = %lld",
             (long long)now);
    assert_int_equal(number(bench, sql), 1); /* what is cleared up leaves a trace, too */
    assert_int_equal(number(bench, "SELECT count(*) FROM follow_page"), 1);
}

/* R001-78: kept as long as somebody may have to poll. */
static void what_is_known_of_polling_goes_when_nobody_polls(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO poll_state (user_handle) VALUES ('a.example')");
    assert_true(retention.polling);
    assert_int_equal(clean_up(bench, START_US), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM poll_state"), 1);
    retention.polling = false;
    assert_int_equal(clean_up(bench, START_US), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM poll_state"), 0);
}

/* One day of a small network: links of every kind of luck, deletes among them. */
static void live_a_day(struct bench *bench, int64_t day)
{
    char did[24], rkey[24], url[64];
    for (int i = 0; i < 600; i++) {
        int64_t serial = day * 600 + i;
        snprintf(did, sizeof did, "did:plc:%d", i % 50);
        snprintf(rkey, sizeof rkey, "%" PRId64, serial);
        snprintf(url, sizeof url, "https://e.example/%" PRId64, i % 3 == 0 ? day : day * 1000 + i);
        struct news_post post = {.did = did,
                                 .rkey = rkey,
                                 .rev = "r1",
                                 .shared_us = START_US + (day * 24 + i / 25) * HOUR_US};
        news_add_post(bench, post);
        news_add_link(bench, post, url, i % 2 ? "A title of some length" : NULL);
        if (i % 10 == 0) {
            post.op = POST_OP_DELETE;
            post.rev = "r2";
            news_add_post(bench, post);
        }
        if (i % 100 == 99) {
            assert_ok(write_batch(bench));
            clean_up(bench, post.shared_us);
        }
    }
}

/* R001-150 */
static void the_store_does_not_grow_over_a_month(void **state)
{
    struct bench *bench = *state;
    const char *size = both_stores_kind == FIXTURE_SQLITE
                           ? "PRAGMA page_count"
                           : "SELECT (SELECT count(*) FROM post) + (SELECT count(*) FROM links) + "
                             "(SELECT count(*) FROM shares) + (SELECT count(*) FROM owed) + "
                             "(SELECT count(*) FROM tombstones)";
    int64_t early = 0;
    retention.max_days = 3;
    for (int64_t day = 0; day < 30; day++) {
        live_a_day(bench, day);
        if (day == 8)
            early = number(bench, size);
    }
    printf("size after 9 days %" PRId64 ", after 30 %" PRId64 "\n", early, number(bench, size));
    /* How full the pages are settles within the month; what is never forgotten would double it. */
    assert_true(number(bench, size) <= early + early / 10);
    assert_true(number(bench, LINKS_LEFT) < 3000);
}

/* ---- any history ---- */

#define RANDOM_HOURS 96
#define RANDOM_ACTS  60 /* an hour */
#define RANDOM_KEYS  12 /* record keys of each of these people */
#define RANDOM_DIDS  15
#define RANDOM_URLS  40

/* A post or repost is made, made again, passed on or deleted; a page turns out to be another; an
 * account leaves or comes back. */
static void act_at_random(struct bench *bench, struct chance *chance, int serial, int64_t at_us)
{
    char did[24], rkey[24], rev[24], url[48], other[48], subject_did[24], subject_rkey[24];
    uint32_t dice = chance_below(chance, 100);
    snprintf(did, sizeof did, "did:plc:%u", chance_below(chance, RANDOM_DIDS));
    snprintf(rkey, sizeof rkey, "k%u", chance_below(chance, RANDOM_KEYS));
    snprintf(rev, sizeof rev, "r%08d", serial);
    snprintf(url, sizeof url, "https://e.example/%u", chance_below(chance, RANDOM_URLS));
    snprintf(other, sizeof other, "https://e.example/%u", chance_below(chance, RANDOM_URLS));
    snprintf(subject_did, sizeof subject_did, "did:plc:%u", chance_below(chance, RANDOM_DIDS));
    snprintf(subject_rkey, sizeof subject_rkey, "k%u", chance_below(chance, RANDOM_KEYS));
    struct news_post post = {.did = did, .rkey = rkey, .rev = rev, .shared_us = at_us};
    if (dice < 3) {
        news_add_account(bench, did, at_us, chance_below(chance, 2) == 0);
        return;
    }
    if (dice < 6) {
        news_add_card(bench, url, at_us, "page",
                      dice < 4 && strcmp(url, other) != 0 ? other : NULL);
        return;
    }
    post.op = dice < 20 ? POST_OP_DELETE : POST_OP_PUT;
    post.kind = dice % 3 == 0 ? POST_KIND_REPOST : dice % 7 == 0 ? POST_KIND_SUBJECT : 0;
    if (post.op == POST_OP_PUT && dice % 2 == 1 && post.kind != POST_KIND_SUBJECT) {
        post.subject_did = subject_did;
        post.subject_rkey = subject_rkey;
    }
    news_add_post(bench, post);
    if (post.op == POST_OP_PUT && post.kind != POST_KIND_REPOST)
        news_add_link(bench, post, url, dice % 5 ? "title" : NULL);
}

/* Each finds what refers to nothing, or is referred to by nobody and was to go. */
static void look_for_orphans(struct bench *bench, int64_t now_us)
{
    static const char *const orphans[] = {
        "SELECT count(*) FROM post_links x LEFT JOIN post p ON p.n = x.post_id WHERE p.n IS NULL",
        "SELECT count(*) FROM post_links x LEFT JOIN links l ON l.id = x.link_id "
        "WHERE l.id IS NULL",
        "SELECT count(*) FROM shares x LEFT JOIN links l ON l.id = x.link_id WHERE l.id IS NULL",
        "SELECT count(*) FROM shares x LEFT JOIN actors a ON a.id = x.actor WHERE a.id IS NULL",
        "SELECT count(*) FROM post x LEFT JOIN actors a ON a.id = x.actor WHERE a.id IS NULL",
        "SELECT count(*) FROM link_aliases x LEFT JOIN links l ON l.id = x.link_id "
        "WHERE l.id IS NULL",
    };
    char sql[512];
    for (size_t i = 0; i < sizeof orphans / sizeof orphans[0]; i++)
        if (number(bench, orphans[i]) != 0)
            fail_msg("%" PRId64 " rows: %s", number(bench, orphans[i]), orphans[i]);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM post WHERE shared_us < %" PRId64,
             now_us - 24 * HOUR_US);
    assert_int_equal(number(bench, sql), 0);
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM links l LEFT JOIN post_links x ON x.link_id = l.id "
             "WHERE x.link_id IS NULL AND l.share_count_total < %d AND "
             "(l.below_us IS NULL OR l.below_us < %" PRId64 ")",
             PEOPLE, now_us - 24 * HOUR_US);
    assert_int_equal(number(bench, sql), 0);
}

/* R001-76 */
static void whatever_happened_clean_up_leaves_no_orphans(void **state)
{
    struct bench *bench = *state;
    struct chance chance = chance_init("retention");
    int64_t now_us = START_US, most = 0;
    int serial = 0;
    for (int hour = 0; hour < RANDOM_HOURS; hour++) {
        for (int i = 0; i < RANDOM_ACTS; i++) {
            act_at_random(bench, &chance, serial++, now_us += HOUR_US / RANDOM_ACTS);
            if (chance_below(&chance, 20) == 0)
                assert_ok(write_batch(bench));
        }
        assert_ok(write_batch(bench));
        clean_up(bench, now_us);
        look_for_orphans(bench, now_us);
        int64_t posts = number(bench, "SELECT count(*) FROM post");
        most = posts > most ? posts : most;
    }
    assert_true(most > RANDOM_DIDS * RANDOM_KEYS / 2);
    assert_true(number(bench, LINKS_LEFT) > 0);
    clean_up(bench, now_us += 25 * HOUR_US);
    clean_up(bench, now_us += retention.max_days * 24 * HOUR_US);
    look_for_orphans(bench, now_us);
    static const char *const tables[] = {"post",   "links",        "post_links",
                                         "shares", "link_aliases", "owed"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i]);
        if (number(bench, sql) != 0)
            fail_msg("%" PRId64 " rows are left in %s", number(bench, sql), tables[i]);
    }
}

/* A wall clock that is wrongly ahead does not make old what the sources call young. */
static void what_is_old_is_judged_by_the_time_of_the_sources(void **state)
{
    struct retention_clock clock = {0};
    int64_t year_us = 365 * 24 * HOUR_US;
    (void)state;
    assert_int_equal(retention_now(&clock, START_US, 0), START_US); /* nobody told anything */
    retention_hear(&clock, 0, 0);
    assert_int_equal(retention_now(&clock, START_US, 0), START_US);
    retention_hear(&clock, START_US, MINUTE_US);
    retention_hear(&clock, START_US - HOUR_US, 2 * MINUTE_US); /* who is behind tells nothing */
    assert_int_equal(retention_now(&clock, START_US + year_us, MINUTE_US),
                     START_US + RETENTION_AHEAD_US);
    assert_int_equal(retention_now(&clock, START_US + year_us, MINUTE_US + HOUR_US),
                     START_US + HOUR_US + RETENTION_AHEAD_US); /* time goes on in silence */
    assert_int_equal(retention_now(&clock, START_US + MINUTE_US, MINUTE_US), START_US + MINUTE_US);
    assert_int_equal(retention_now(&clock, START_US - year_us, MINUTE_US), START_US - year_us);
    retention_hear(&clock, START_US + year_us, 3 * MINUTE_US);
    assert_int_equal(retention_now(&clock, START_US + year_us, 3 * MINUTE_US), START_US + year_us);
}

int main(void)
{
#define AGED(test) cmocka_unit_test_setup_teardown(test, set_up, store_bench_tear_down)
    const struct CMUnitTest tests[] = {
        AGED(what_is_old_is_judged_by_the_time_of_the_sources),
        AGED(posts_leave_the_window_and_shares_stay),
        AGED(a_little_shared_link_goes_with_its_posts),
        AGED(a_link_stays_for_a_day_after_it_fell_below_the_threshold),
        AGED(a_link_stays_for_a_day_after_an_account_left),
        AGED(who_shares_it_again_begins_its_last_day_anew),
        AGED(a_link_goes_with_its_last_post_of_a_longer_window),
        AGED(a_popular_link_is_kept_for_its_days_and_no_longer),
        AGED(an_old_post_stays_for_those_who_pass_it_on),
        AGED(a_long_absence_is_cleaned_up_in_slices),
        AGED(what_is_owed_for_the_gone_goes_after_them),
        AGED(old_notes_of_the_engine_are_pruned),
        AGED(what_is_known_of_polling_goes_when_nobody_polls),
        AGED(the_store_does_not_grow_over_a_month),
        AGED(whatever_happened_clean_up_leaves_no_orphans),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
