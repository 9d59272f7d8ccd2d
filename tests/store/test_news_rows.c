/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store makes of posts, links and accounts, on both stores. */
#include "news_cast.h"
#include "store/verification.h"

#include <stdio.h>
#include <string.h>

static const struct news_post reposted_by_b = {.did = B,
                                               .rkey = "9",
                                               .rev = "r2",
                                               .kind = POST_KIND_REPOST,
                                               .shared_us = 200,
                                               .subject_did = A,
                                               .subject_rkey = "1"};

#define VIA(n_)                                                                                    \
    "SELECT via FROM post_links l JOIN posts p ON p.id = l.post_id WHERE p.rkey = '" n_ "'"
#define SHARERS  "SELECT count(*) FROM shares"
#define OWED(s_) "SELECT count(*) FROM owed WHERE source = '" s_ "'"

static void a_post_shares_its_links_and_a_repost_inherits_them(void **state)
{
    struct bench *bench = *state;
    news_add_post_with_link(bench, by_a, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 1);
    news_add_post(bench, reposted_by_b);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 2);
    assert_string_equal(word(bench, VIA("9")), "repost");
    assert_int_equal(number(bench, "SELECT first_shared_us FROM links"), 100);
    assert_int_equal(number(bench, "SELECT last_shared_us FROM links"), 200);
    assert_int_equal(number(bench, OWED("appview")), 0);
}

static void a_repost_that_comes_first_is_told_later(void **state)
{
    struct bench *bench = *state;
    news_add_post(bench, reposted_by_b);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT item FROM owed WHERE source = 'appview' "
                                    "AND stream = 'posts' AND state = 'owed'"),
                        "at://" A "/" POSTS "/1");
    struct news_post subject = by_a;
    subject.kind = POST_KIND_SUBJECT;
    subject.rev = NULL;
    news_add_post_with_link(bench, subject, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, OWED("appview")), 0);
    assert_int_equal(number(bench, TOTAL), 1);
    assert_string_equal(word(bench, "SELECT actor_did FROM shares"), B);
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 1);
    news_add_post_with_link(bench, by_a,
                            URL); /* its author is followed now: it becomes an act of sharing */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 2);
}

static void a_subject_that_was_given_up_is_asked_for_when_it_is_shared_anew(void **state)
{
    static const char dead[] = "UPDATE owed SET state = 'dead', attempts = 9, next_us = NULL";
    static const char alive[] = "SELECT count(*) FROM owed WHERE source = 'appview' "
                                "AND state = 'owed' AND attempts = 0";
    struct bench *bench = *state;
    struct news_post again = reposted_by_b, earlier = reposted_by_b, quote = by_a;
    news_add_post(bench, reposted_by_b);
    assert_ok(write_batch(bench));
    run_script(bench, dead);
    news_add_post(bench, reposted_by_b); /* the same once more is nothing new */
    earlier.rkey = "8";
    earlier.shared_us = reposted_by_b.shared_us - 1;
    news_add_post(bench, earlier);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, alive), 0);
    again.rkey = "10";
    again.shared_us = 300;
    quote.rkey = "2"; /* by two at once */
    quote.shared_us = 310;
    quote.subject_did = A;
    quote.subject_rkey = "1";
    news_add_post(bench, again);
    news_add_post(bench, quote);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, alive), 1);
    assert_int_equal(number(bench, "SELECT next_us FROM owed"), 310);
    assert_int_equal(number(bench, "SELECT since_us FROM owed"), 310);
}

static void edits_and_deletes_of_the_subject_reach_those_who_shared_it(void **state)
{
    struct bench *bench = *state;
    struct news_post edited = by_a, deleted = by_a;
    edited.rev = "r3";
    deleted.rev = "r4";
    deleted.op = POST_OP_DELETE;
    news_add_post_with_link(bench, by_a, URL);
    news_add_post(bench, reposted_by_b);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 2);
    news_add_post_with_link(bench, edited, TWO);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 0);
    assert_int_equal(
        number(bench, "SELECT share_count_total FROM links WHERE normalized_url = '" TWO "'"), 2);
    news_add_post(bench, deleted);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, SHARERS), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links"), 0);
    assert_int_equal(number(bench, "SELECT max(share_count_total) FROM links"), 0);
    news_add_post(bench, reposted_by_b); /* a subject that is gone is not asked for */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, OWED("appview")), 0);
}

static void own_links_beat_inherited_ones(void **state)
{
    struct bench *bench = *state;
    struct news_post quote = {.did = B,
                              .rkey = "9",
                              .rev = "r2",
                              .shared_us = 200,
                              .subject_did = A,
                              .subject_rkey = "1"};
    news_add_post_with_link(bench, by_a, URL);
    news_add_post_with_link(bench, quote, URL);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, VIA("9")), "post");
    quote.rev = "r3";
    news_add_post_with_link(bench, quote, TWO);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links WHERE via = 'quote'"), 1);
}

static void sharing_twice_counts_once_until_both_are_gone(void **state)
{
    struct bench *bench = *state;
    struct news_post again = by_a;
    again.rkey = "2";
    again.shared_us = 300;
    news_add_post_with_link(bench, by_a, URL);
    news_add_post_with_link(bench, again, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 1);
    assert_int_equal(number(bench, "SELECT n_posts FROM shares"), 2);
    assert_int_equal(number(bench, "SELECT last_us FROM shares"), 300);
    again.op = POST_OP_DELETE;
    news_add_post(bench, again);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 1);
    assert_int_equal(number(bench, "SELECT last_us FROM shares"), 100);
}

/* The firehose may bring an edit before what it edits; the time of the sharing is the first. */
static void an_older_version_that_comes_late_still_tells_when_it_was_shared(void **state)
{
    struct bench *bench = *state;
    struct news_post edit = by_a;
    edit.rev = "r2";
    edit.shared_us = 300;
    news_add_post_with_link(bench, edit, URL);
    assert_ok(write_batch(bench));
    news_add_post_with_link(bench, by_a, TWO);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT rev FROM post"), "r2");
    assert_int_equal(number(bench, "SELECT shared_us FROM post"), 100);
    assert_int_equal(number(bench, "SELECT last_us FROM shares"), 100);
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links"), 1);
    /* Whoever follows the changes hears of the new time. */
    assert_int_equal(number(bench, "SELECT p.seq - e.commit_seq FROM post p, engine e"), 0);
    /* A replay brings both in one commit. */
    struct news_post other = by_a, other_edit = edit;
    other.rkey = other_edit.rkey = "5";
    news_add_post_with_link(bench, other_edit, URL);
    assert_ok(write_batch(bench));
    news_add_post(bench, other);
    news_add_post_with_link(bench, other_edit, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT shared_us FROM post WHERE rkey = '5'"), 100);
    other_edit.op = POST_OP_DELETE;
    other_edit.rev = "r3";
    news_add_post(bench, other_edit);
    /* What was deleted in between is another post. */
    edit.op = POST_OP_DELETE;
    edit.rev = "r3";
    news_add_post(bench, edit);
    assert_ok(write_batch(bench));
    edit.op = POST_OP_PUT;
    edit.rev = "r4";
    edit.shared_us = 500;
    news_add_post_with_link(bench, edit, URL);
    assert_ok(write_batch(bench));
    news_add_post_with_link(bench, by_a, URL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT shared_us FROM post"), 500);
}

static int64_t time_after(struct bench *bench, const struct news_post *post)
{
    news_add_post_with_link(bench, *post, URL);
    assert_ok(write_batch(bench));
    return number(bench, "SELECT p.shared_us FROM post p ORDER BY p.rkey DESC LIMIT 1");
}

/* A feed sorts a post by the time its author claims. When the firehose tells that it was created
 * just now, that is when it was shared, whichever of the two comes first; of an edit it tells
 * nothing. */
static void a_post_dated_back_counts_from_when_it_was_created(void **state)
{
    struct bench *bench = *state;
    struct news_post feed = {.did = A, .rkey = "1", .shared_us = 100, .cid = "c1"};
    struct news_post live = feed, edit = feed;
    live.rev = "r1", live.shared_us = 500, live.fresh = true;
    edit.rev = "r2", edit.shared_us = 600, edit.cid = "c2";
    assert_int_equal(time_after(bench, &feed), 100);
    assert_int_equal(time_after(bench, &live), 500);
    assert_int_equal(number(bench, "SELECT last_us FROM shares"), 500);
    assert_int_equal(time_after(bench, &feed), 500);
    assert_int_equal(time_after(bench, &edit), 500);
    /* In one commit: the feed's with what follows it, and two that follow it later. */
    feed.rkey = live.rkey = "2";
    news_add_post(bench, feed);
    assert_int_equal(time_after(bench, &live), 500);
    feed.rkey = live.rkey = edit.rkey = "3";
    assert_int_equal(time_after(bench, &feed), 100);
    news_add_post(bench, live);
    assert_int_equal(time_after(bench, &edit), 500);
    /* Of an edit alone the feed knows better. */
    feed.rkey = edit.rkey = "4";
    assert_int_equal(time_after(bench, &feed), 100);
    assert_int_equal(time_after(bench, &edit), 100);
}

/* The author is back before the slice that would have taken the link from those who repeat it. */
static void an_author_who_comes_back_at_once_lends_to_all(void **state)
{
    struct bench *bench = *state;
    news_add_post_with_link(bench, by_a, URL);
    assert_ok(write_batch(bench));
    /* As if more posts than a slice takes were before this one. */
    run_script(bench, "UPDATE actors SET active = 0");
    news_add_post(bench, reposted_by_b);
    assert_ok(write_batch(bench));
    run_script(bench, "UPDATE actors SET active = 1");
    news_add_post(bench, (struct news_post){.did = C, .rkey = "3", .rev = "r1", .shared_us = 60});
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links WHERE via = 'repost'"), 1);
}

static void links_join_only_the_version_that_carries_them(void **state)
{
    struct bench *bench = *state;
    struct news_post newer = by_a;
    newer.rev = "r2";
    news_add_post_with_link(bench, newer, TWO);
    assert_ok(write_batch(bench));
    news_add_post_with_link(bench, by_a, URL); /* replayed: older than what is stored */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 1);
    newer.rev = "r3";
    news_add_post_with_link(bench, by_a, URL); /* both versions in one commit */
    news_add_post_with_link(bench, newer, TWO);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 1);
    assert_int_equal(number(bench, "SELECT share_count_total FROM links"), 1);
}

static void a_feed_row_corrects_only_what_is_older_than_its_reading(void **state)
{
    struct bench *bench = *state;
    struct news_post live = by_a, feed = by_a, replayed = by_a;
    live.cid = "c1";
    feed.rev = NULL;
    feed.cid = "c2";
    news_add_post_with_link(bench, live, URL);
    assert_ok(write_batch(bench));
    feed.asof = number(bench, "SELECT seq FROM post") - 1;
    news_add_post_with_link(bench, feed, TWO);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 1); /* the live version came in while it was read */
    feed.asof = number(bench, "SELECT seq FROM post");
    news_add_post_with_link(bench, feed, TWO);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 0);
    news_add_post_with_link(bench, replayed, URL); /* the version it replaced does not come back */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 0);
    live.op = POST_OP_DELETE;
    live.rev = "r5";
    news_add_post(bench, live);
    assert_ok(write_batch(bench));
    news_add_post_with_link(bench, feed, TWO); /* nor does a feed bring back what was deleted */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
}

static void an_account_that_goes_takes_its_shares_along_and_brings_them_back(void **state)
{
    struct bench *bench = *state;
    news_add_post_with_link(bench, by_a, URL);
    news_add_post(bench, reposted_by_b);
    assert_ok(write_batch(bench));
    news_add_account(bench, A, 500, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 0); /* its own, and what was inherited from it */
    assert_int_equal(number(bench, "SELECT count(*) FROM standing"), 0);
    news_add_account(bench, A, 400, 1); /* old news */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 0);
    news_add_account(bench, A, 600, 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, TOTAL), 2);
}

static void many_shares_of_one_account_leave_in_slices(void **state)
{
    struct bench *bench = *state;
    char rkey[16], url[64];
    for (int i = 0; i < 1200; i++) {
        struct news_post post = by_a;
        snprintf(rkey, sizeof rkey, "%d", i);
        snprintf(url, sizeof url, "https://e.example/%d", i);
        post.rkey = rkey;
        news_add_post_with_link(bench, post, url);
        if (i % 100 == 99)
            assert_ok(write_batch(bench));
    }
    const char *counted = "SELECT CAST(sum(share_count_total) AS BIGINT) FROM links";
    assert_int_equal(number(bench, counted), 1200);
    news_add_account(bench, A, 500, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, counted), 700);
    for (int left = 200; left >= 0; left -= 200) {
        if (left > 0)
            news_add_account(bench, C, 500 - left, 1);
        else
            assert_non_null(batch_add(&bench->batch, RECORD_PRUNE)); /* nothing, but a commit */
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, counted), left);
        assert_int_equal(number(bench, "SELECT count(*) FROM standing"), left > 0);
    }
}

/* R001-53 */
static void a_follow_is_seen_when_it_shares_and_a_replay_does_not_move_that_back(void **state)
{
    struct bench *bench = *state;
    struct news_post later = by_a;
    run_script(bench, "INSERT INTO follows (did, handle) VALUES ('" A "', 'a.example'), "
                      "('" B "', 'b.example')");
    later.rkey = "later";
    later.shared_us = INT64_C(1794700000000000);
    news_add_post(bench, later);
    assert_ok(write_batch(bench));
    const char *seen = "SELECT CAST(max(last_seen_at) AS TEXT) FROM follows WHERE did = '" A "'";
    assert_int_equal(strncmp(word(bench, seen), "2026-11-14", 10), 0);
    news_add_post(bench, by_a);
    assert_ok(write_batch(bench));
    assert_int_equal(strncmp(word(bench, seen), "2026-11-14", 10), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM follows WHERE last_seen_at IS NULL"), 1);
}

static void names_follow_the_account(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO follows (did, handle) VALUES ('" A "', 'old.example')");
    struct record *record = batch_add(&bench->batch, RECORD_PROFILE);
    assert_true(batch_set_text(&bench->batch, record, PROFILE_DID, bytes_of(A)));
    assert_true(batch_set_text(&bench->batch, record, PROFILE_HANDLE, bytes_of("new.example")));
    assert_true(batch_set_text(&bench->batch, record, PROFILE_DISPLAY_NAME, bytes_of("Ann")));
    batch_set_int(record, PROFILE_AT_US, 10);
    news_add_post(bench, by_a);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT handle || ' ' || display_name FROM follows"),
                        "new.example Ann");
    assert_string_equal(word(bench, "SELECT handle || ' ' || display_name FROM actors"),
                        "new.example Ann");
    assert_int_equal(number(bench, "SELECT count(*) FROM follows WHERE last_seen_at IS NOT NULL"),
                     1);
    record = batch_add(&bench->batch, RECORD_IDENTITY);
    assert_true(batch_set_text(&bench->batch, record, IDENTITY_DID, bytes_of(A)));
    assert_true(batch_set_text(&bench->batch, record, IDENTITY_HANDLE, bytes_of("3.example")));
    batch_set_int(record, IDENTITY_AT_US, 20);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT handle FROM follows"), "3.example");
}

static void add_profile(struct bench *bench, int64_t at_us, const char *handle, const char *name,
                        const char *avatar)
{
    struct record *record = batch_add(&bench->batch, RECORD_PROFILE);
    assert_true(batch_set_text(&bench->batch, record, PROFILE_DID, bytes_of(A)));
    assert_true(batch_set_text(&bench->batch, record, PROFILE_HANDLE, bytes_of(handle)));
    assert_true(batch_set_text(&bench->batch, record, PROFILE_DISPLAY_NAME, bytes_of(name)));
    assert_true(batch_set_text(&bench->batch, record, PROFILE_AVATAR, bytes_of(avatar)));
    batch_set_int(record, PROFILE_AT_US, at_us);
    assert_ok(write_batch(bench));
}

#define SHOWN                                                                                      \
    "SELECT a.handle || ' ' || coalesce(a.display_name, '-') || ' ' || coalesce(a.avatar, '-') "   \
    "|| ' ' || coalesce(f.display_name, '-') FROM actors a JOIN follows f ON f.did = a.did"

/* A profile that is shown without a name has none; one that nobody shows takes nothing away. */
static void what_a_profile_leaves_out_is_gone(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO follows (did, handle) VALUES ('" A "', 'old.example')");
    add_profile(bench, 10, "a.example", "Ann", "https://p/a");
    assert_string_equal(word(bench, SHOWN), "a.example Ann https://p/a Ann");
    add_profile(bench, 20, NULL, NULL, NULL);
    assert_string_equal(word(bench, SHOWN), "a.example Ann https://p/a Ann");
    add_profile(bench, 30, "a.example", "Ann", NULL);
    assert_string_equal(word(bench, SHOWN), "a.example Ann - Ann");
    add_profile(bench, 40, "a.example", NULL, "https://p/b");
    assert_string_equal(word(bench, SHOWN), "a.example - https://p/b -");
    add_profile(bench, 35, "a.example", "Old", NULL); /* comes late */
    assert_string_equal(word(bench, SHOWN), "a.example - https://p/b -");
}

static enum rc accept(void *arg, struct bytes cursor, struct err *err)
{
    (void)arg, (void)cursor, (void)err;
    return RC_OK;
}

/* How often the named rule is broken; every other one must hold. */
static int64_t failures_of(struct bench *bench, const char *rule)
{
    struct verification verification;
    int64_t failures = -1;
    assert_ok(verification_run(bench->store, accept, NULL, &verification, &bench->err));
    for (size_t i = 0; i < verification.count; i++) {
        if (strcmp(verification.checks[i].name, rule) == 0)
            failures = verification.checks[i].failures;
        else
            assert_int_equal(verification.checks[i].failures, 0);
    }
    return failures;
}

#define SAYS                                                                                       \
    "SELECT coalesce(langs, '-') || ' ' || coalesce(tags, '-') || ' ' || coalesce(facets, '-') "   \
    "FROM posts"

static void say(struct bench *bench, struct news_post post, const char *langs, const char *tags,
                const char *facets)
{
    struct record *record = news_add_post(bench, post);
    assert_true(batch_set_text(&bench->batch, record, POST_LANGS, bytes_of(langs)));
    assert_true(batch_set_text(&bench->batch, record, POST_TAGS, bytes_of(tags)));
    assert_true(batch_set_text(&bench->batch, record, POST_FACETS, bytes_of(facets)));
    assert_ok(write_batch(bench));
}

/* R001-156: kept with the version that says it; another version takes all of it away, an older one
 * that comes late changes nothing. */
static void what_a_post_says_of_its_text_is_that_of_its_last_version(void **state)
{
    struct bench *bench = *state;
    struct news_post version = by_a;
    version.rev = "r2";
    say(bench, version, "en,de", "tide", "[1]");
    assert_string_equal(word(bench, SAYS), "en,de tide [1]");
    version.rev = "r1";
    version.shared_us -= 50;
    say(bench, version, "ja", NULL, NULL);
    assert_string_equal(word(bench, SAYS), "en,de tide [1]");
    version.rev = "r3";
    say(bench, version, NULL, "mark", NULL);
    assert_string_equal(word(bench, SAYS), "- mark -");
}

static void verification_counts_shares_anew(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *rule, *harm, *mend;
    } cases[] = {
        {"share_counts", "UPDATE share SET n_posts = n_posts + 1",
         "UPDATE share SET n_posts = n_posts - 1"},
        {"share_totals", "UPDATE links SET share_count_total = 7",
         "UPDATE links SET share_count_total = 2"},
        {"standing", "UPDATE actors SET active = 0", "UPDATE actors SET active = 1"},
        {"inherited", "UPDATE post SET subject = 'at://" A "/" POSTS "/1' WHERE rkey = '2'",
         "UPDATE post SET subject = NULL WHERE rkey = '2'"},
        {"inherited", "UPDATE post SET lent = 0", "UPDATE post SET lent = 1"},
    };
    struct news_post other = by_a;
    other.rkey = "2";
    news_add_post_with_link(bench, by_a, URL);
    news_add_post(bench, reposted_by_b);
    news_add_post(bench, other);
    assert_ok(write_batch(bench));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(failures_of(bench, cases[i].rule), 0);
        run_script(bench, cases[i].harm);
        assert_true(failures_of(bench, cases[i].rule) > 0);
        run_script(bench, cases[i].mend);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_post_shares_its_links_and_a_repost_inherits_them),
        ON_STORE(a_repost_that_comes_first_is_told_later),
        ON_STORE(a_subject_that_was_given_up_is_asked_for_when_it_is_shared_anew),
        ON_STORE(edits_and_deletes_of_the_subject_reach_those_who_shared_it),
        ON_STORE(own_links_beat_inherited_ones),
        ON_STORE(sharing_twice_counts_once_until_both_are_gone),
        ON_STORE(an_older_version_that_comes_late_still_tells_when_it_was_shared),
        ON_STORE(an_author_who_comes_back_at_once_lends_to_all),
        ON_STORE(links_join_only_the_version_that_carries_them),
        ON_STORE(a_feed_row_corrects_only_what_is_older_than_its_reading),
        ON_STORE(a_post_dated_back_counts_from_when_it_was_created),
        ON_STORE(an_account_that_goes_takes_its_shares_along_and_brings_them_back),
        ON_STORE(many_shares_of_one_account_leave_in_slices),
        ON_STORE(names_follow_the_account),
        ON_STORE(what_a_profile_leaves_out_is_gone),
        ON_STORE(a_follow_is_seen_when_it_shares_and_a_replay_does_not_move_that_back),
        ON_STORE(what_a_post_says_of_its_text_is_that_of_its_last_version),
        ON_STORE(verification_counts_shares_anew),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
