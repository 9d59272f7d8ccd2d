/* SPDX-License-Identifier: Apache-2.0
 *
 * The suite that both stores pass. */
#include "store_bench.h"

#include <stdio.h>
#include <string.h>

static void rows_and_cursor_commit_together(void **state)
{
    struct bench *bench = *state;
    int64_t before = bench->position.commit_seq;
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "hello");
    add_post(bench, "did:plc:b", "1", "r1", 0, 101, "world");
    add_cursor(bench, "jetstream", "live", "{}", 101);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM actors"), 2);
    assert_int_equal(number(bench, "SELECT position FROM cursors"), 101);
    assert_int_equal(number(bench, "SELECT commit_seq FROM engine"), before + 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM posts WHERE seq = "
                                   "(SELECT commit_seq FROM engine)"),
                     2);
    /* R001-43 */
    assert_int_equal(number(bench, "SELECT cursor_time_us FROM jetstream_state"), 101);
    assert_string_equal(word(bench, "SELECT uri FROM posts WHERE text = 'hello'"),
                        "at://did:plc:a/app.bsky.feed.post/1");
}

static void the_same_event_again_changes_nothing(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 3; i++) {
        add_post(bench, "did:plc:a", "1", "r1", 0, 100, "hello");
        assert_ok(write_batch(bench));
    }
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 1);
    assert_int_equal(number(bench, "SELECT seq FROM posts"), 1);
}

static void equal_keys_in_one_commit_are_folded_by_revision(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:plc:a", "1", "r2", 0, 102, "second");
    add_post(bench, "did:plc:a", "1", "r3", 0, 103, "third");
    add_post(bench, "did:plc:a", "1", "r1", 0, 101, "first");
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT text FROM posts"), "third");
    assert_int_equal(number(bench, "SELECT shared_us FROM posts"), 101);
}

/* What others share of it does not undo that its author posted it. */
static void a_post_seen_as_somebodys_subject_stays_a_post(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 2; i++) {
        const char *did = i == 0 ? "did:plc:a" : "did:plc:b";
        for (int k = 0; k < 2; k++) {
            struct record *post = add_post(bench, did, "1", NULL, 0, 100, "said");
            batch_set_int(post, POST_ASOF_SEQ, 0);
            if (k == i)
                batch_set_int(post, POST_KIND, POST_KIND_SUBJECT);
        }
    }
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 2);
}

static void an_edit_wins_by_revision_in_any_order(void **state)
{
    struct bench *bench = *state;
    const char *revs[] = {"r2", "r1", "r3"};
    for (int i = 0; i < 3; i++) {
        add_post(bench, "did:plc:a", "1", revs[i], 0, 100, revs[i]);
        assert_ok(write_batch(bench));
    }
    assert_string_equal(word(bench, "SELECT text FROM posts"), "r3");
}

static void a_deleted_post_stays_deleted_when_its_creation_is_replayed(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_ok(write_batch(bench));
    add_post(bench, "did:plc:a", "1", "r2", 1, 110, NULL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 0);
    assert_int_equal(
        number(bench, "SELECT count(*) FROM tombstones WHERE collection = 'posts' AND n > 0"), 1);
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 0);
    add_post(bench, "did:plc:a", "1", "r3", 0, 120, "reborn");
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT text FROM posts"), "reborn");
}

static void a_delete_that_comes_first_is_remembered(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:plc:a", "1", "r2", 1, 110, NULL);
    assert_ok(write_batch(bench));
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 0);
}

static void streams_keep_their_own_cursors(void **state) /* R003-13 */
{
    struct bench *bench = *state;
    char text[64];
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "{\"at\":%d}", i);
        add_cursor(bench, "ethereum:0x1", i % 2 ? "normal" : "token", text, i);
        assert_ok(write_batch(bench));
    }
    assert_string_equal(word(bench, "SELECT state FROM cursors WHERE stream = 'token'"),
                        "{\"at\":198}");
    assert_string_equal(word(bench, "SELECT state FROM cursors WHERE stream = 'normal'"),
                        "{\"at\":199}");
}

static void an_account_shows_its_cursors_as_one_map(void **state) /* R003-12 R003-60 */
{
    struct bench *bench = *state;
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO account (id, name, type, platform, identifier, created_us) VALUES "
        "(1, 'ethereum:0x1', 'blockchain', 'ethereum', '0x1', 0)",
        &bench->err));
    assert_string_equal(word(bench, "SELECT last_cursor FROM accounts"), "NULL");
    add_cursor(bench, "ethereum:0x1", "normal", "{\"totalFetched\":3}", 1);
    add_cursor(bench, "ethereum:0x1", "token", "{\"totalFetched\":4}", 1);
    assert_ok(write_batch(bench));
    const char *map = word(bench, "SELECT last_cursor FROM accounts");
    assert_non_null(strstr(map, "\"normal\""));
    assert_non_null(strstr(map, "\"totalFetched\":4"));
}

static void coverage_is_merged_in_the_commit(void **state)
{
    struct bench *bench = *state;
    const int64_t parts[][2] = {{10, 20}, {30, 40}, {20, 30}, {5, 7}, {6, 12}, {50, 60}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct record *record = batch_add(&bench->batch, RECORD_COVERAGE);
        assert_true(batch_set_text(&bench->batch, record, COVERAGE_SOURCE, bytes_of("s")));
        assert_true(batch_set_text(&bench->batch, record, COVERAGE_STREAM, bytes_of("t")));
        batch_set_int(record, COVERAGE_LO, parts[i][0]);
        batch_set_int(record, COVERAGE_HI, parts[i][1]);
    }
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM coverage"), 2);
    assert_int_equal(number(bench, "SELECT hi FROM coverage WHERE lo = 5"), 40);
    assert_int_equal(number(bench, "SELECT hi FROM coverage WHERE lo = 50"), 60);
}

static void owed_work_is_replaced_and_then_done(void **state)
{
    struct bench *bench = *state;
    const char *states[] = {"owed", "dead", "done"};
    const int left[] = {1, 1, 0};
    for (int i = 0; i < 3; i++) {
        struct record *record = batch_add(&bench->batch, RECORD_OWED);
        assert_true(batch_set_text(&bench->batch, record, OWED_SOURCE, bytes_of("content")));
        assert_true(batch_set_text(&bench->batch, record, OWED_STREAM, bytes_of("blocks")));
        assert_true(batch_set_text(&bench->batch, record, OWED_ITEM, bytes_of("ipfs://x")));
        assert_true(batch_set_text(&bench->batch, record, OWED_STATE, bytes_of(states[i])));
        batch_set_int(record, OWED_ATTEMPTS, i);
        batch_set_int(record, OWED_AT_US, 7);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, "SELECT count(*) FROM owed"), left[i]);
    }
}

static void a_refused_row_is_quarantined_and_the_rest_goes_on(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 100; i++) {
        char rkey[16];
        snprintf(rkey, sizeof rkey, "%d", i);
        struct record *record = add_post(bench, "did:plc:a", rkey, "r1", 0, 100, "x");
        if (i == 13 || i == 77)
            batch_set_int(record, POST_KIND, 9);
    }
    add_cursor(bench, "jetstream", "live", "{}", 100);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 98);
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine WHERE source = 'store'"), 2);
    assert_int_equal(number(bench, "SELECT position FROM cursors"), 100);
    assert_int_equal(number(bench, "SELECT commit_seq FROM engine"), 1);
}

static void a_refused_cursor_fails_the_commit_whole(void **state) /* R003-14, R003-22 */
{
    struct bench *bench = *state;
    add_cursor(bench, "jetstream", "live", "{\"old\":1}", 1);
    assert_ok(write_batch(bench));
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    add_cursor(bench, "jetstream", "live", "{\"new\":1}", 2);
    bench->batch.last[RECORD_CURSOR]->fields[CURSOR_ROW_STATE] = field_null(FIELD_TEXT);
    assert_int_equal(write_batch(bench), RC_REJECT);
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 0);
    assert_string_equal(word(bench, "SELECT state FROM cursors"), "{\"old\":1}");
}

static void a_writer_that_was_replaced_is_fenced(void **state)
{
    struct bench *bench = *state;
    assert_ok(bench->store->ops->script(bench->store, "UPDATE engine SET epoch = epoch + 1",
                                        &bench->err));
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_int_equal(write_batch(bench), RC_FATAL);
    assert_non_null(strstr(bench->err.text, "taken this store over"));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 0);
}

static void a_second_writer_is_refused_while_the_first_lives(void **state)
{
    struct bench *bench = *state;
    struct store *second = NULL;
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &second, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "another tidemark"));
    store_close(bench->store);
    assert_ok(store_open(bench->fixture.url, STORE_WRITE, &bench->store, &bench->err));
}

static void a_reader_sees_only_what_is_committed(void **state)
{
    struct bench *bench = *state;
    struct store *reader = NULL;
    int64_t count;
    assert_ok(store_open(bench->fixture.url, STORE_READ, &reader, &bench->err));
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_ok(store_query_int(reader, "SELECT count(*) FROM posts", -1, &count, &bench->err));
    assert_int_equal(count, 0);
    assert_ok(write_batch(bench));
    assert_ok(store_query_int(reader, "SELECT count(*) FROM posts", -1, &count, &bench->err));
    assert_int_equal(count, 1);
    assert_int_not_equal(
        store_query_int(reader, "DELETE FROM post RETURNING n", -1, &count, &bench->err), RC_OK);
    store_close(reader);
}

static void a_reader_s_query_ends_when_its_time_is_up(void **state)
{
    struct bench *bench = *state;
    struct store *reader = NULL;
    int64_t count;
    const char *endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
                          "SELECT count(*) FROM r";
    assert_ok(store_open(bench->fixture.url, STORE_READ, &reader, &bench->err));
    store_limit_queries(reader, 50000);
    assert_int_equal(store_query_int(reader, endless, -1, &count, &bench->err), RC_AGAIN);
    assert_non_null(strstr(bench->err.text, "longer than 50 ms"));
    store_limit_queries(reader, 60000000); /* a busy machine is slower than one thinks */
    assert_ok(store_query_int(reader, "SELECT count(*) FROM post", -1, &count, &bench->err));
    assert_int_equal(count, 0);
    store_close(reader);
}

static bool is_to_stop(void *arg)
{
    ++*(unsigned *)arg;
    return true;
}

static void a_long_read_ends_when_the_program_stops(void **state)
{
    struct bench *bench = *state;
    struct store *reader = NULL;
    int64_t count;
    unsigned asked = 0;
    const char *endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
                          "SELECT count(*) FROM r";
    assert_ok(store_open(bench->fixture.url, STORE_READ, &reader, &bench->err));
    reader->patient = true;
    reader->stop = is_to_stop;
    reader->stop_arg = &asked;
    assert_int_equal(store_query_int(reader, endless, -1, &count, &bench->err), RC_AGAIN);
    assert_non_null(strstr(bench->err.text, "stopping"));
    assert_true(asked > 0);
    store_close(reader);
}

static void migrating_again_does_nothing(void **state)
{
    struct bench *bench = *state;
    unsigned applied;
    assert_ok(store_migrate(bench->store, &applied, &bench->err));
    assert_int_equal(applied, 0);
    assert_ok(store_check_schema(bench->store, &bench->err));
}

static void a_schema_newer_than_the_program_is_refused(void **state)
{
    struct bench *bench = *state;
    unsigned applied;
    assert_ok(bench->store->ops->script(
        bench->store, "INSERT INTO schema_migrations VALUES (999, 'future', 'x', 0)", &bench->err));
    assert_int_equal(store_migrate(bench->store, &applied, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "newer tidemark"));
}

static void a_changed_migration_is_refused(void **state)
{
    struct bench *bench = *state;
    unsigned applied;
    assert_ok(bench->store->ops->script(
        bench->store, "UPDATE schema_migrations SET checksum = 'x' WHERE version = 2",
        &bench->err));
    assert_int_equal(store_migrate(bench->store, &applied, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "step 2"));
}

static void text_is_ordered_by_bytes(void **state)
{
    struct bench *bench = *state;
    const char *rkeys[] = {"b", "B", "a", "\xc3\xa4", "A"};
    for (int i = 0; i < 5; i++)
        add_post(bench, "did:plc:a", rkeys[i], "r1", 0, 100, "x");
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT rkey FROM post ORDER BY rkey LIMIT 1"), "A");
    assert_string_equal(word(bench, "SELECT rkey FROM post ORDER BY rkey DESC LIMIT 1"),
                        "\xc3\xa4");
}

static void a_reset_forgets_one_stream_only(void **state)
{
    struct bench *bench = *state;
    add_cursor(bench, "s", "a", "{}", 1);
    add_cursor(bench, "s", "b", "{}", 1);
    assert_ok(write_batch(bench));
    struct record *record = batch_add(&bench->batch, RECORD_RESET);
    assert_true(batch_set_text(&bench->batch, record, RESET_SOURCE, bytes_of("s")));
    assert_true(batch_set_text(&bench->batch, record, RESET_STREAM, bytes_of("a")));
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT stream FROM cursors"), "b");
}

static void ingest_numbers_are_never_given_twice(void **state)
{
    struct bench *bench = *state;
    int64_t highest = 0;
    for (int i = 0; i < 5; i++) {
        add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
        assert_ok(write_batch(bench));
        int64_t n = number(bench, "SELECT max(n) FROM post");
        assert_true(i == 0 || n > highest);
        highest = n;
        assert_ok(bench->store->ops->script(bench->store, "DELETE FROM post", &bench->err));
    }
}

/* The writer knows whom it has stored and does not ask each time. */
static void an_author_whose_row_was_taken_away_is_there_again_with_the_next_post(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:plc:a", "1", "r1", POST_OP_PUT, 100, "x");
    add_post(bench, "did:plc:b", "1", "r1", POST_OP_PUT, 100, "x");
    assert_ok(write_batch(bench));
    run_script(bench, "DELETE FROM post; DELETE FROM actors WHERE did = 'did:plc:a'");
    add_post(bench, "did:plc:a", "2", "r2", POST_OP_PUT, 200, "y");
    add_post(bench, "did:plc:b", "2", "r2", POST_OP_PUT, 200, "y");
    add_cursor(bench, "jetstream", "live", "{}", 200);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM posts WHERE rkey = '2'"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM actors"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(rows_and_cursor_commit_together),
        ON_STORE(the_same_event_again_changes_nothing),
        ON_STORE(equal_keys_in_one_commit_are_folded_by_revision),
        ON_STORE(a_post_seen_as_somebodys_subject_stays_a_post),
        ON_STORE(an_edit_wins_by_revision_in_any_order),
        ON_STORE(a_deleted_post_stays_deleted_when_its_creation_is_replayed),
        ON_STORE(a_delete_that_comes_first_is_remembered),
        ON_STORE(streams_keep_their_own_cursors),
        ON_STORE(an_account_shows_its_cursors_as_one_map),
        ON_STORE(coverage_is_merged_in_the_commit),
        ON_STORE(owed_work_is_replaced_and_then_done),
        ON_STORE(a_refused_row_is_quarantined_and_the_rest_goes_on),
        ON_STORE(a_refused_cursor_fails_the_commit_whole),
        ON_STORE(a_writer_that_was_replaced_is_fenced),
        ON_STORE(a_second_writer_is_refused_while_the_first_lives),
        ON_STORE(a_reader_sees_only_what_is_committed),
        ON_STORE(a_reader_s_query_ends_when_its_time_is_up),
        ON_STORE(a_long_read_ends_when_the_program_stops),
        ON_STORE(migrating_again_does_nothing),
        ON_STORE(a_schema_newer_than_the_program_is_refused),
        ON_STORE(a_changed_migration_is_refused),
        ON_STORE(text_is_ordered_by_bytes),
        ON_STORE(a_reset_forgets_one_stream_only),
        ON_STORE(ingest_numbers_are_never_given_twice),
        ON_STORE(an_author_whose_row_was_taken_away_is_there_again_with_the_next_post),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
