/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of follows, from their pages to the one commit that puts them in force, on both stores. */
#include "store_bench.h"

#include <stdio.h>
#include <string.h>

#define ME           "did:plc:me"
#define ALSO         "did:plc:also"
#define ANN          "did:plc:ann"
#define BOB          "did:plc:bob"
#define CYD          "did:plc:cyd"
#define SINCE        INT64_C(77)
#define COUNT(table) number(bench, "SELECT count(*) FROM " table)

static void add_follow(struct bench *bench, const char *owner, int64_t listing, const char *did,
                       const char *handle)
{
    struct batch *batch = &bench->batch;
    struct record *record = batch_add(batch, RECORD_FOLLOW);
    assert_true(batch_set_text(batch, record, FOLLOW_OWNER, bytes_of(owner)));
    batch_set_int(record, FOLLOW_LISTING, listing);
    assert_true(batch_set_text(batch, record, FOLLOW_DID, bytes_of(did)));
    assert_true(batch_set_text(batch, record, FOLLOW_HANDLE, bytes_of(handle)));
    assert_true(batch_set_text(batch, record, FOLLOW_DISPLAY_NAME, bytes_of("Zo\xc3\xab")));
}

static struct record *add_listing(struct bench *bench, const char *owner, int64_t id, int degree,
                                  int entries, int actors)
{
    struct batch *batch = &bench->batch;
    struct record *record = batch_add(batch, RECORD_LISTING);
    assert_true(batch_set_text(batch, record, LISTING_OWNER, bytes_of(owner)));
    if (degree == 1)
        assert_true(batch_set_text(batch, record, LISTING_ACTOR, bytes_of("me.example")));
    batch_set_int(record, LISTING_ID, id);
    batch_set_int(record, LISTING_AT_US, id + 1);
    batch_set_int(record, LISTING_DEGREE, degree);
    batch_set_int(record, LISTING_ENTRIES, entries);
    batch_set_int(record, LISTING_ACTORS, actors);
    batch_set_int(record, LISTING_SINCE_US, SINCE);
    batch_set_int(record, LISTING_PRIORITY, BACKFILL_FOR_FOLLOW);
    return record;
}

/* One whole list, in a commit of its own. */
static void list(struct bench *bench, const char *owner, int64_t id, const char *const *dids)
{
    int entries = 0;
    for (; dids[entries] != NULL; entries++)
        add_follow(bench, owner, id, dids[entries], dids[entries] + strlen("did:plc:"));
    add_listing(bench, owner, id, 1, entries, 1);
    assert_ok(write_batch(bench));
}

#define LIST(owner, id, ...) list(bench, owner, id, (const char *const[]){__VA_ARGS__, NULL})

static bool is_in(struct bench *bench, const char *table, const char *did)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE did = '%s'", table, did);
    return number(bench, sql) == 1;
}

/* R001-48 R001-49 R001-52 */
static void a_whole_list_takes_the_place_of_the_one_before(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 10, ANN, BOB);
    assert_int_equal(COUNT("follows"), 2);
    assert_int_equal(COUNT("circle WHERE degree = 1 AND sources = 1"), 2);
    assert_int_equal(COUNT("follow_page"), 0);
    assert_int_equal(COUNT("backfill_queue WHERE priority = 1 AND since_us = 77"), 2);
    assert_string_equal(word(bench, "SELECT display_name FROM follows WHERE did = '" ANN "'"),
                        "Zo\xc3\xab");
    assert_string_equal(word(bench, "SELECT handle FROM actors WHERE did = '" ANN "'"), "ann");
    assert_int_equal(COUNT("follows WHERE added_at IS NOT NULL AND NOT backfill_completed"), 2);
    run_script(bench, "UPDATE follows SET backfill_completed = TRUE; DELETE FROM backfill_queue");
    LIST(ME, 20, BOB, CYD);
    assert_false(is_in(bench, "follows", ANN));
    assert_false(is_in(bench, "circle", ANN));
    assert_int_equal(COUNT("follows"), 2);
    assert_int_equal(COUNT("backfill_queue"), 1);
    assert_string_equal(word(bench, "SELECT actor_did FROM backfill_queue"), CYD);
    assert_int_equal(COUNT("follows WHERE backfill_completed"), 1); /* the one that stayed */
    assert_int_equal(COUNT("follow_edge"), 2);
}

static void list_ann(struct bench *bench, const char *owner, int64_t id, const char *name,
                     const char *avatar)
{
    struct batch *batch = &bench->batch;
    struct record *record = batch_add(batch, RECORD_FOLLOW);
    assert_true(batch_set_text(batch, record, FOLLOW_OWNER, bytes_of(owner)));
    batch_set_int(record, FOLLOW_LISTING, id);
    assert_true(batch_set_text(batch, record, FOLLOW_DID, bytes_of(ANN)));
    assert_true(batch_set_text(batch, record, FOLLOW_HANDLE, bytes_of("ann")));
    assert_true(batch_set_text(batch, record, FOLLOW_DISPLAY_NAME, bytes_of(name)));
    assert_true(batch_set_text(batch, record, FOLLOW_AVATAR, bytes_of(avatar)));
    add_listing(bench, owner, id, 1, 1, 1);
    assert_ok(write_batch(bench));
}

/* An AppView's list says all of an account; what was moved from poll_state says little. */
static void what_a_list_leaves_out_of_an_account_is_gone(void **state)
{
    static const char shown[] =
        "SELECT coalesce(a.display_name, '-') || ' ' || coalesce(a.avatar, '-') || ' ' || "
        "coalesce(f.display_name, '-') FROM actors a JOIN follows f ON f.did = a.did";
    struct bench *bench = *state;
    list_ann(bench, ME, 10, "Ann", "https://p/a");
    assert_string_equal(word(bench, shown), "Ann https://p/a Ann");
    list_ann(bench, "poll_state", 20, NULL, NULL);
    assert_string_equal(word(bench, shown), "Ann https://p/a Ann");
    list_ann(bench, ME, 30, "Ann", NULL);
    assert_string_equal(word(bench, shown), "Ann - Ann");
    list_ann(bench, ME, 40, NULL, "https://p/b");
    assert_string_equal(word(bench, shown), "- https://p/b -");
}

/* Between the pages and the end of a list anybody may open a query: who is new has a number of the
 * commit that puts the list in force, not of the one that stored the page. */
static void who_is_new_has_a_number_of_the_commit_that_says_so(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 10, ANN, BOB);
    add_follow(bench, ME, 20, ANN, "ann");
    add_follow(bench, ME, 20, CYD, "cyd");
    assert_ok(write_batch(bench));
    int64_t fence = number(bench, "SELECT next_n FROM engine");
    assert_true(number(bench, "SELECT max(n) FROM follows") < fence);
    int64_t ann = number(bench, "SELECT n FROM follows WHERE did = '" ANN "'");
    add_listing(bench, ME, 20, 1, 2, 1);
    assert_ok(write_batch(bench));
    assert_true(number(bench, "SELECT n FROM follows WHERE did = '" CYD "'") >= fence);
    assert_int_equal(number(bench, "SELECT n FROM follows WHERE did = '" ANN "'"), ann);
    assert_int_equal(COUNT("follows f JOIN engine e ON f.n >= e.next_n"), 0);
}

static void numbers_that_somebody_took_by_hand_are_not_given_again(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO follows (n, did, handle) SELECT next_n + 5, '" ANN "', 'ann' "
                      "FROM engine");
    LIST(ME, 10, ANN, BOB, CYD);
    assert_int_equal(COUNT("follows"), 3);
    assert_int_equal(COUNT("quarantine"), 0);
}

/* R001-52 */
static void a_list_that_is_not_whole_changes_nothing(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 10, ANN, BOB);
    add_follow(bench, ME, 20, CYD, "cyd");
    assert_ok(write_batch(bench)); /* a page, and then the end of the program */
    assert_int_equal(COUNT("follows"), 2);
    assert_false(is_in(bench, "circle", CYD));
    add_listing(bench, ME, 20, 1, 2, 1); /* two lines were read, one is there */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT listing FROM listings"), 10);
    assert_true(is_in(bench, "follows", ANN));
    assert_false(is_in(bench, "follows", CYD));
    LIST(ME, 30, BOB);
    assert_int_equal(COUNT("follows"), 1);
    assert_int_equal(COUNT("follow_page"), 0);
}

static void a_list_older_than_the_one_in_force_changes_nothing(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 20, ANN);
    LIST(ME, 10, BOB);
    assert_true(is_in(bench, "follows", ANN));
    assert_false(is_in(bench, "follows", BOB));
}

static void each_of_ours_keeps_its_own_list(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 10, ANN, BOB);
    add_follow(bench, ALSO, 11, BOB, "bob");
    add_follow(bench, ALSO, 11, CYD, "cyd");
    add_listing(bench, ALSO, 11, 1, 2, 2);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("follows"), 3);
    assert_int_equal(number(bench, "SELECT sources FROM circle WHERE did = '" BOB "'"), 2);
    LIST(ME, 20, ANN); /* Bob is still followed by the other */
    assert_true(is_in(bench, "follows", BOB));
    assert_int_equal(number(bench, "SELECT sources FROM circle WHERE did = '" BOB "'"), 1);
    add_listing(bench, ALSO, 30, 0, 0, 1); /* the other is no longer ours */
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("follows"), 1);
    assert_int_equal(COUNT("circle"), 1);
    assert_int_equal(COUNT("follow_edge"), 1);
    assert_int_equal(COUNT("listings"), 1);
}

/* R001-50 */
static void a_new_handle_is_no_new_follow(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 10, ANN);
    run_script(bench, "DELETE FROM backfill_queue");
    add_follow(bench, ME, 20, ANN, "anna.example");
    add_listing(bench, ME, 20, 1, 1, 1);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT handle FROM follows"), "anna.example");
    assert_string_equal(word(bench, "SELECT handle FROM actors"), "anna.example");
    assert_int_equal(COUNT("backfill_queue"), 0);
    /* What the stream told later than the list was begun stands. */
    run_script(bench, "UPDATE actors SET handle = 'newest.example', handle_us = 40");
    add_follow(bench, ME, 30, ANN, "anna.example");
    add_listing(bench, ME, 30, 1, 1, 1);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT handle FROM follows"), "newest.example");
}

/* R001-67 R001-98 */
static void without_backfill_nothing_is_queued(void **state)
{
    struct bench *bench = *state;
    add_follow(bench, ME, 10, ANN, "ann");
    struct record *record = add_listing(bench, ME, 10, 1, 1, 1);
    record->fields[LISTING_SINCE_US] = field_null(FIELD_INT);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("follows"), 1);
    assert_int_equal(COUNT("backfill_queue"), 0);
}

static void follows_from_elsewhere_stay_until_all_of_ours_were_listed(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO follows (did, handle) VALUES ('" CYD "', 'cyd'), "
                      "('did:plc:old', 'old')");
    add_follow(bench, ME, 10, ANN, "ann");
    add_listing(bench, ME, 10, 1, 1, 2);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("follows"), 3);
    add_follow(bench, ALSO, 11, CYD, "cyd");
    add_listing(bench, ALSO, 11, 1, 1, 2);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("follows"), 2);
    assert_false(is_in(bench, "follows", "did:plc:old"));
    assert_int_equal(COUNT("backfill_queue"), 1); /* the other was followed already */
}

static void the_second_degree_needs_enough_of_ours(void **state)
{
    struct bench *bench = *state;
    LIST(ME, 10, ANN, BOB);
    add_follow(bench, ANN, 11, "did:plc:x", "x");
    add_follow(bench, ANN, 11, "did:plc:y", "y");
    add_follow(bench, ANN, 11, BOB, "bob");
    add_listing(bench, ANN, 11, 2, 3, 1);
    add_follow(bench, BOB, 12, "did:plc:x", "x");
    struct record *record = add_listing(bench, BOB, 12, 2, 1, 1);
    batch_set_int(record, LISTING_SOURCES_MIN, 2);
    batch_set_int(record, LISTING_SECOND_MAX, 10);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("circle WHERE degree = 2"), 1);
    assert_int_equal(number(bench, "SELECT sources FROM circle WHERE did = 'did:plc:x'"), 2);
    assert_int_equal(number(bench, "SELECT degree FROM circle WHERE did = '" BOB "'"), 1);
    assert_int_equal(COUNT("follows"), 2); /* nobody of the second degree is followed */
    record = add_listing(bench, ANN, 13, 2, 0, 1);
    batch_set_int(record, LISTING_SOURCES_MIN, 1);
    batch_set_int(record, LISTING_SECOND_MAX, 1);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("circle WHERE degree = 2"), 1); /* no more than the bound */
    LIST(ME, 20, ANN);                                     /* Bob goes, and his list with him */
    assert_int_equal(COUNT("listings WHERE owner = '" BOB "'"), 0);
    record = add_listing(bench, ME, 30, 1, 0, 1);
    batch_set_int(record, LISTING_SOURCES_MIN, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("circle"), 0);
    assert_int_equal(COUNT("listings WHERE degree = 2"), 0);
    assert_int_equal(COUNT("follow_edge"), 0);
}

/* As many as a batch holds, each of which takes a dozen statements of its own. */
static void all_of_ours_may_go_in_one_commit(void **state)
{
    struct bench *bench = *state;
    struct text sql = {0};
    char owner[32];
    text_append_string(&sql, "INSERT INTO listings (owner, listing, degree, at_us) VALUES ");
    for (int i = 0; i < BATCH_RECORDS_MAX; i++) {
        snprintf(owner, sizeof owner, "did:plc:was%d", i);
        text_appendf(&sql, "%s('%s', 1, 1, 1)", i > 0 ? ", " : "", owner);
        add_listing(bench, owner, 10, 0, 0, 1);
    }
    run_script(bench, text_string(&sql));
    text_free(&sql);
    assert_ok(write_batch(bench));
    assert_int_equal(COUNT("listings"), 0);
    LIST(ME, 20, ANN);
    assert_int_equal(COUNT("follows"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_whole_list_takes_the_place_of_the_one_before),
        ON_STORE(what_a_list_leaves_out_of_an_account_is_gone),
        ON_STORE(who_is_new_has_a_number_of_the_commit_that_says_so),
        ON_STORE(numbers_that_somebody_took_by_hand_are_not_given_again),
        ON_STORE(a_list_that_is_not_whole_changes_nothing),
        ON_STORE(a_list_older_than_the_one_in_force_changes_nothing),
        ON_STORE(each_of_ours_keeps_its_own_list),
        ON_STORE(a_new_handle_is_no_new_follow),
        ON_STORE(without_backfill_nothing_is_queued),
        ON_STORE(follows_from_elsewhere_stay_until_all_of_ours_were_listed),
        ON_STORE(the_second_degree_needs_enough_of_ours),
        ON_STORE(all_of_ours_may_go_in_one_commit),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
