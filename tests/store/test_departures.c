/* SPDX-License-Identifier: Apache-2.0
 *
 * What leaves the built-in collections is told to those who follow them, on both stores. */
#include "config_load.h"
#include "ingest/retention.h"
#include "news_bench.h"
#include "query/changes.h"

#define HOUR_US  INT64_C(3600000000)
#define START_US (INT64_C(1000) * 24 * HOUR_US)

static void clean_up(struct bench *bench, int64_t now_us)
{
    struct config config;
    config_init(&config);
    struct retention retention = retention_of(&config);
    config_deinit(&config);
    assert_ok(retention_prune(&retention, &bench->batch, now_us));
    assert_ok(write_batch(bench));
}

static size_t count_ids(const struct changes *changes, bool gone)
{
    size_t count = 0;
    for (size_t i = 0; i < changes->count; i++)
        count += changes->items[i].gone == gone;
    return count;
}

static void read_changes(struct bench *bench, const char *collection, int64_t since,
                         struct changes *changes)
{
    struct refusal refusal;
    assert_ok(changes_read(bench->store, collection_find(bytes_of(collection)), since, changes,
                           &refusal, &bench->err));
}

static struct news_post share(struct bench *bench, int64_t at_us)
{
    const struct news_post post = {
        .did = "did:plc:a", .rkey = "k1", .rev = "r1", .op = POST_OP_PUT, .shared_us = at_us};
    news_add_post(bench, post);
    news_add_link(bench, post, "https://e.example/1", "title");
    assert_ok(write_batch(bench));
    return post;
}

static void a_deleted_post_leaves(void **state)
{
    struct bench *bench = *state;
    struct changes changes = {0};
    struct news_post post = share(bench, START_US);
    int64_t shared = number(bench, "SELECT commit_seq FROM engine");
    struct text id = {0};
    text_append_string(&id, word(bench, "SELECT CAST(n AS TEXT) FROM post"));
    post.op = POST_OP_DELETE;
    post.rev = "r2";
    news_add_post(bench, post);
    assert_ok(write_batch(bench));
    read_changes(bench, "posts", shared, &changes);
    assert_int_equal(changes.count, 1);
    assert_true(changes.items[0].gone);
    assert_true(bytes_equal(changes.items[0].id, text_bytes(&id)));
    text_free(&id);
    changes_free(&changes);
}

static void what_retention_removes_leaves_too(void **state)
{
    struct bench *bench = *state;
    struct changes changes = {0};
    share(bench, START_US);
    int64_t shared = number(bench, "SELECT commit_seq FROM engine");
    clean_up(bench, START_US + 23 * HOUR_US); /* marks the link */
    clean_up(bench, START_US + 48 * HOUR_US);
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 0);
    read_changes(bench, "posts", shared, &changes);
    assert_int_equal(count_ids(&changes, true), 1);
    read_changes(bench, "links", shared, &changes);
    assert_int_equal(count_ids(&changes, true), 1);
    changes_free(&changes);
}

static void a_link_that_became_another_leaves(void **state)
{
    struct bench *bench = *state;
    struct changes changes = {0};
    share(bench, START_US);
    int64_t shared = number(bench, "SELECT commit_seq FROM engine");
    news_add_card(bench, "https://e.example/1", START_US, "title", "https://e.example/2");
    assert_ok(write_batch(bench));
    read_changes(bench, "links", shared, &changes);
    assert_int_equal(count_ids(&changes, true), 1);
    assert_int_equal(count_ids(&changes, false), 1);
    changes_free(&changes);
}

/* The first leave is forgotten, the second is not. */
static void what_is_forgotten_is_a_gap_and_nothing_else_is(void **state)
{
    struct bench *bench = *state;
    struct changes changes = {0};
    struct refusal refusal;
    const struct collection *posts = collection_find(bytes_of("posts"));
    share(bench, START_US);
    int64_t shared = number(bench, "SELECT commit_seq FROM engine");
    clean_up(bench, START_US + 48 * HOUR_US);
    int64_t gone = number(bench, "SELECT commit_seq FROM engine");
    read_changes(bench, "posts", shared, &changes);
    clean_up(bench, START_US + 97 * HOUR_US);
    assert_int_equal(changes_read(bench->store, posts, shared, &changes, &refusal, &bench->err),
                     RC_REJECT);
    assert_int_equal(refusal.code, REFUSAL_GAP);
    read_changes(bench, "posts", gone, &changes);
    assert_int_equal(changes.count, 0);
    assert_int_equal(
        changes_read(bench->store, posts, changes.seq + 1, &changes, &refusal, &bench->err),
        RC_REJECT);
    assert_int_equal(refusal.code, REFUSAL_GAP);
    changes_free(&changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_deleted_post_leaves),
        ON_STORE(what_retention_removes_leaves_too),
        ON_STORE(a_link_that_became_another_leaves),
        ON_STORE(what_is_forgotten_is_a_gap_and_nothing_else_is),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
