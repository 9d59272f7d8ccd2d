/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store makes of cards, on both stores: which links are owed one, and what it tells. */
#include "news_cast.h"

#define OWED_CARDS "SELECT count(*) FROM owed WHERE source = 'cards'"

/* What is shared a lot has no time since which it is too little. */
static void a_card_is_owed_also_for_what_is_shared_a_lot(void **state)
{
    struct bench *bench = *state;
    news_add_post(bench, by_a);
    news_add_link(bench, by_a, URL, NULL);
    assert_ok(write_batch(bench));
    run_script(bench, "UPDATE links SET below_us = NULL; DELETE FROM owed");
    struct news_post again = by_a;
    again.rkey = "again";
    news_add_post(bench, again);
    news_add_link(bench, again, URL, NULL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine"), 0);
    assert_int_equal(number(bench, OWED_CARDS), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links"), 2);
}

static void a_link_without_a_title_is_owed_a_card(void **state)
{
    struct bench *bench = *state;
    news_add_post(bench, by_a);
    news_add_link(bench, by_a, URL, NULL);
    batch_set_int(news_add_link(bench, by_a, "https://e.example/x.gif", NULL), LINK_FLAGS, 8);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT item FROM owed WHERE source = 'cards' AND "
                                    "stream = 'page'"),
                        URL);
    assert_int_equal(number(bench, OWED_CARDS), 1);
    news_add_card(bench, URL, 900, "From the page", NULL);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT title FROM links WHERE card_us = 900"),
                        "From the page");
}

static void pages_that_turn_out_to_be_one_become_one_link(void **state)
{
    struct bench *bench = *state;
    struct news_post by_b = {.did = B, .rkey = "2", .rev = "r1", .shared_us = 50};
    news_add_post_with_link(bench, by_a, "https://s.example/x");
    news_add_post_with_link(bench, by_b, URL);
    assert_ok(write_batch(bench));
    /* A chain in one commit, and one that leads back. */
    news_add_card(bench, "https://s.example/x", 900, NULL, TWO);
    news_add_card(bench, TWO, 900, "Two", URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 1);
    assert_int_equal(number(bench, TOTAL), 2);
    assert_int_equal(number(bench, "SELECT first_shared_us FROM links"), 50);
    news_add_card(bench, URL, 950, NULL, TWO);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 1);
    struct news_post by_c = {.did = C, .rkey = "3", .rev = "r1", .shared_us = 60};
    news_add_post_with_link(bench, by_c, "https://s.example/x");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 3);
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_card_is_owed_also_for_what_is_shared_a_lot),
        ON_STORE(a_link_without_a_title_is_owed_a_card),
        ON_STORE(pages_that_turn_out_to_be_one_become_one_link),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
