/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of posts that a feed did not show and nobody said were deleted, on both stores. */
#include "news_cast.h"

static void miss(struct bench *bench, struct news_post post)
{
    post.op = POST_OP_DELETE;
    post.rev = post.rev == NULL ? "" : post.rev;
    batch_set_int(news_add_post(bench, post), POST_ASOF_SEQ, 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
}

/* Nobody said that it was deleted: an AppView that is behind, or empty-handed, looks like that. */
static void what_a_feed_did_not_show_comes_back_when_one_shows_it(void **state)
{
    struct bench *bench = *state;
    struct news_post feed = by_a;
    feed.rev = NULL;
    for (int live = 0; live < 2; live++) {
        news_add_post_with_link(bench, live ? by_a : feed, URL);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, TOTAL), 1);
        miss(bench, live ? by_a : feed);
        feed.asof = number(bench, "SELECT commit_seq FROM engine") - 1;
        news_add_post_with_link(bench, feed, URL); /* this reading began before */
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
        feed.asof = number(bench, "SELECT commit_seq FROM engine");
        news_add_post_with_link(bench, feed, URL);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, TOTAL), 1);
        miss(bench, feed); /* again, which no older reading undoes either */
        feed.asof = number(bench, "SELECT commit_seq FROM engine") - 1;
        news_add_post_with_link(bench, feed, URL);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
    }
}

static void what_a_feed_did_not_show_comes_back_with_its_own_event(void **state)
{
    struct bench *bench = *state;
    struct news_post first = by_a, second = by_a, deleted = by_a, feed = by_a;
    first.rev = "r1";
    second.rev = "r2";
    deleted.rev = "r3";
    deleted.op = POST_OP_DELETE;
    feed.rev = NULL;
    news_add_post_with_link(bench, second, URL);
    assert_ok(write_batch(bench));
    miss(bench, second);
    news_add_post_with_link(bench, first, URL); /* a version from before */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
    news_add_post_with_link(bench, second, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 1);
    miss(bench, second);
    news_add_post(bench, deleted); /* now its author has said so */
    assert_ok(write_batch(bench));
    feed.asof = number(bench, "SELECT commit_seq FROM engine");
    news_add_post_with_link(bench, feed, URL);
    news_add_post_with_link(bench, second, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(what_a_feed_did_not_show_comes_back_when_one_shows_it),
        ON_STORE(what_a_feed_did_not_show_comes_back_with_its_own_event),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
