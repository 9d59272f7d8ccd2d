/* SPDX-License-Identifier: Apache-2.0
 *
 * Account histories as the stores keep them: what is new, what is known, what became of a row. */
#include "query/collections.h"
#include "query/covered.h"
#include "query/row_fetch.h"
#include "store_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNT "ethereum:0xabc"

static void set(struct bench *bench, struct record *row, unsigned field, const char *value)
{
    assert_true(batch_set_text(&bench->batch, row, field, bytes_of(value)));
}

static void add_account(struct bench *bench, const char *name, const char *parent)
{
    struct record *row = batch_add(&bench->batch, RECORD_LEDGER_ACCOUNT);
    set(bench, row, LEDGER_ACCOUNT_NAME, name);
    set(bench, row, LEDGER_ACCOUNT_TYPE, "blockchain");
    set(bench, row, LEDGER_ACCOUNT_PLATFORM, "ethereum");
    set(bench, row, LEDGER_ACCOUNT_IDENTIFIER, "0xabc");
    if (parent != NULL)
        set(bench, row, LEDGER_ACCOUNT_PARENT, parent);
    batch_set_int(row, LEDGER_ACCOUNT_AT_US, 7);
}

static struct record *add_session(struct bench *bench, const char *status, const char *stream)
{
    struct record *row = batch_add(&bench->batch, RECORD_SESSION);
    set(bench, row, SESSION_ACCOUNT, ACCOUNT);
    batch_set_int(row, SESSION_STARTED_US, 100);
    set(bench, row, SESSION_STATUS, status);
    if (stream != NULL)
        set(bench, row, SESSION_STREAM, stream);
    batch_set_int(row, SESSION_AT_US, 900);
    return row;
}

/* `block` < 0: in none. */
static struct record *add_event(struct bench *bench, char id, int64_t block, const char *status)
{
    char event_id[17];
    memset(event_id, id, 16);
    event_id[16] = '\0';
    struct record *row = batch_add(&bench->batch, RECORD_TRANSACTION);
    set(bench, row, TRANSACTION_ACCOUNT, ACCOUNT);
    set(bench, row, TRANSACTION_EVENT_ID, event_id);
    set(bench, row, TRANSACTION_STREAM, "normal");
    set(bench, row, TRANSACTION_PROVIDER, "etherscan");
    batch_set_int(row, TRANSACTION_SESSION_US, 100);
    set(bench, row, TRANSACTION_HASH, "0x1");
    if (block >= 0)
        batch_set_int(row, TRANSACTION_BLOCK, block);
    batch_set_int(row, TRANSACTION_AT_US, 1000000 * (block + 2));
    set(bench, row, TRANSACTION_STATUS, status);
    set(bench, row, TRANSACTION_PROVIDER_DATA, "{\"a\":1}");
    set(bench, row, TRANSACTION_NORMALIZED_DATA, "{\"b\":2}");
    return row;
}

static void begin(struct bench *bench)
{
    add_account(bench, ACCOUNT, NULL);
    add_session(bench, "started", NULL);
}

/* R003-25 R003-26 R003-61 R003-62 */
static void an_event_is_stored_once_and_the_session_counts_what_was_new(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    add_event(bench, 'a', 1, "confirmed");
    add_event(bench, 'b', 1, "confirmed");
    add_session(bench, "started", "normal");
    assert_ok(write_batch(bench));
    int64_t seq = number(bench, "SELECT max(seq) FROM raw_transactions");
    add_event(bench, 'b', 1, "confirmed");
    add_event(bench, 'c', 2, "confirmed");
    struct record *row = add_session(bench, "completed", "normal");
    batch_set_int(row, SESSION_SKIPPED, 5);
    batch_set_int(row, SESSION_COMPLETE, 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions"), 3);
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions WHERE seq > 0 AND seq = "
                                   "(SELECT min(seq) FROM raw_transactions)"),
                     2); /* what comes again unchanged is not touched */
    assert_true(number(bench, "SELECT max(seq) FROM raw_transactions") > seq);
    assert_int_equal(number(bench, "SELECT imported FROM import_sessions"), 3);
    assert_int_equal(number(bench, "SELECT skipped FROM import_sessions"), 6);
    assert_int_equal(number(bench, "SELECT completed_us FROM import_sessions"), 900);
    assert_int_equal(number(bench, "SELECT imported * 100 + skipped * 10 + complete "
                                   "FROM session_streams WHERE stream = 'normal'"),
                     361);
}

static void two_batches_of_one_commit_both_count(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    for (int i = 0; i < 2; i++) {
        struct record *row = add_session(bench, "started", i == 0 ? "normal" : "token");
        batch_set_int(row, SESSION_SKIPPED, 2);
    }
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM import_sessions"), 1);
    assert_int_equal(number(bench, "SELECT skipped FROM import_sessions"), 4);
    assert_int_equal(number(bench, "SELECT CAST(sum(batches) AS BIGINT) FROM session_streams"), 2);
}

/* What was reserved is never taken back, and a row that reserves nothing changes nothing. */
static void the_highest_nonce_stays(void **state)
{
    struct bench *bench = *state;
    static const int64_t nonces[] = {500, 700, 300, 0};
    begin(bench);
    for (int i = 0; i < 4; i++) {
        struct record *row = add_session(bench, "started", NULL);
        if (nonces[i] > 0)
            batch_set_int(row, SESSION_NONCE, nonces[i]);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, "SELECT max(nonce) FROM import_sessions WHERE nonce IS NOT "
                                       "NULL"),
                         i == 0 ? 500 : 700);
    }
}

static void expect_closed_by(struct bench *bench, int64_t next_us)
{
    begin(bench);
    assert_ok(write_batch(bench));
    batch_set_int(add_session(bench, "started", NULL), SESSION_STARTED_US, next_us);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT started_us FROM import_sessions WHERE status = 'failed' "
                                   "AND completed_us = 900 AND error IS NOT NULL"),
                     100);
    assert_int_equal(number(bench, "SELECT started_us FROM import_sessions WHERE status = "
                                   "'started' AND completed_us IS NULL"),
                     next_us);
}

/* R003-27 */
static void a_session_that_was_cut_off_is_closed_by_the_next(void **state)
{
    expect_closed_by(*state, 200);
}

/* The next one begins at an earlier time. */
static void a_session_is_closed_also_when_the_clock_was_set_back(void **state)
{
    expect_closed_by(*state, 50);
}

/* One that ends closes nobody, also in the commit in which the next begins. */
static void a_session_that_ends_leaves_the_next_one_open(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    assert_ok(write_batch(bench));
    batch_set_int(add_session(bench, "started", NULL), SESSION_STARTED_US, 200);
    add_session(bench, "completed", NULL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT started_us FROM import_sessions "
                                   "WHERE status = 'completed'"),
                     100);
    assert_int_equal(number(bench, "SELECT started_us FROM import_sessions "
                                   "WHERE status = 'started'"),
                     200);
}

/* The clock is set back while an import runs. */
static void no_session_ends_before_it_began(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    batch_set_int(add_session(bench, "started", NULL), SESSION_STARTED_US, 5000);
    assert_ok(write_batch(bench));
    batch_set_int(add_session(bench, "completed", NULL), SESSION_STARTED_US, 5000);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT completed_us FROM import_sessions "
                                   "WHERE started_us = 5000 AND status = 'completed'"),
                     5000);
}

static void a_pending_event_becomes_confirmed_under_its_number(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    add_event(bench, 'a', -1, "pending");
    assert_ok(write_batch(bench));
    int64_t n = number(bench, "SELECT n FROM raw_transactions WHERE block IS NULL");
    int64_t seq = number(bench, "SELECT seq FROM raw_transactions");
    add_event(bench, 'a', 12, "confirmed");
    add_event(bench, 'a', -1, "pending"); /* a provider that lags behind, in the same commit ... */
    assert_ok(write_batch(bench));
    add_event(bench, 'a', -1, "pending"); /* ... and later */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT n FROM raw_transactions WHERE block = 12"), n);
    assert_int_equal(number(bench, "SELECT seq FROM raw_transactions"), seq + 1);
    assert_string_equal(word(bench, "SELECT status FROM raw_transactions"), "confirmed");
    assert_int_equal(number(bench, "SELECT imported FROM import_sessions"), 1);
}

/* What was stored without its details is replaced by what has them, and only by that. */
static void an_event_that_was_stored_in_part_is_replaced(void **state)
{
    static const char whole[] = "SELECT count(*) FROM raw_transactions "
                                "WHERE normalized_data = '{\"b\":3}' AND provider_name = 'helius'";
    struct bench *bench = *state;
    begin(bench);
    add_event(bench, 'a', 1, "confirmed");
    add_event(bench, 'b', 1, "confirmed");
    assert_ok(write_batch(bench));
    for (int i = 0; i < 2; i++) {
        struct record *row = add_event(bench, 'a', 1, "confirmed");
        set(bench, row, TRANSACTION_NORMALIZED_DATA, "{\"b\":3}");
        set(bench, row, TRANSACTION_PROVIDER, "helius");
        if (i == 1)
            batch_set_int(row, TRANSACTION_REPLACES, 1);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, whole), i);
    }
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions"), 2);
    assert_int_equal(number(bench, "SELECT imported FROM import_sessions"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions t CROSS JOIN "
                                   "raw_transactions o WHERE t.seq > o.seq"),
                     1); /* who follows sees it */
}

/* A file had it, and now the list that counts its rows shows it: it is one of those. */
static void an_event_belongs_to_the_list_that_counts_it(void **state)
{
    static const char normal[] = "SELECT count(*) FROM raw_transactions WHERE stream = 'normal'";
    struct bench *bench = *state;
    begin(bench);
    for (const char *id = "abc"; *id != '\0'; id++)
        set(bench, add_event(bench, *id, 1, "confirmed"), TRANSACTION_STREAM, "file");
    assert_ok(write_batch(bench));
    add_event(bench, 'a', 1, "confirmed");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, normal), 0);
    int64_t seq = number(bench, "SELECT max(seq) FROM raw_transactions");
    for (int i = 0; i < 3; i++) {
        batch_set_int(add_event(bench, 'b', 1, "confirmed"), TRANSACTION_CLAIMED, 1);
        batch_set_int(add_event(bench, 'd', 1, "confirmed"), TRANSACTION_CLAIMED, 1);
        if (i == 1) /* the file is read again */
            set(bench, add_event(bench, 'b', 1, "confirmed"), TRANSACTION_STREAM, "file");
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, normal), 2);
        if (i == 0)
            seq = number(bench, "SELECT max(seq) FROM raw_transactions");
        assert_int_equal(number(bench, "SELECT max(seq) FROM raw_transactions"), seq);
    }
    assert_int_equal(number(bench, "SELECT count(DISTINCT seq) FROM raw_transactions"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions"), 4);
    assert_int_equal(number(bench, "SELECT imported FROM import_sessions"), 4);
}

/* Somebody who does not tell what failed shows it: in the same block nothing has changed, in
 * another one everything may have. */
static void a_failed_event_is_not_made_good_by_who_does_not_tell(void **state)
{
    static const char failed[] = "SELECT count(*) FROM raw_transactions WHERE status = 'failed' "
                                 "AND provider_name = 'etherscan'";
    struct bench *bench = *state;
    begin(bench);
    add_event(bench, 'a', 1, "failed");
    add_event(bench, 'b', 1, "failed");
    assert_ok(write_batch(bench));
    for (int i = 0; i < 2; i++) {
        struct record *row = add_event(bench, 'a', 1 + i, "confirmed");
        set(bench, row, TRANSACTION_PROVIDER, "alchemy");
        batch_set_int(row, TRANSACTION_UNTOLD, 1);
        row = add_event(bench, (char)('c' + i), 1, "confirmed"); /* of which nobody has said it */
        batch_set_int(row, TRANSACTION_UNTOLD, 1);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, failed), 2 - i);
    }
    add_event(bench, 'b', 1, "confirmed"); /* this one tells */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, failed), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions"), 4);
}

static void an_orphaned_event_is_marked_and_may_come_back_in_another_block(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    add_event(bench, 'a', 12, "confirmed");
    add_event(bench, 'b', 12, "confirmed");
    assert_ok(write_batch(bench));
    add_event(bench, 'a', -1, "orphaned");
    add_event(bench, 'x', -1, "orphaned"); /* nobody has ever seen it */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions WHERE block = 12 AND "
                                   "status = 'orphaned' AND seq = (SELECT commit_seq FROM engine)"),
                     1);
    add_event(bench, 'a', 13, "confirmed");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM raw_transactions WHERE block = 13 AND "
                                   "status = 'confirmed'"),
                     1);
    assert_int_equal(number(bench, "SELECT imported FROM import_sessions"), 2);
}

static void an_account_that_was_there_before_its_wallet_joins_it(void **state)
{
    struct bench *bench = *state;
    add_account(bench, "child", NULL);
    assert_ok(write_batch(bench));
    add_account(bench, ACCOUNT, NULL);
    add_account(bench, "other", NULL);
    add_account(bench, "child", ACCOUNT);
    assert_ok(write_batch(bench));
    /* ... and stays with the first one that claims it. */
    add_account(bench, "child", "other");
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT p.name FROM account c JOIN account p "
                                    "ON p.id = c.parent_id WHERE c.name = 'child'"),
                        ACCOUNT);
}

static void add_child_session(struct bench *bench, const char *name, int64_t started_us,
                              int64_t known)
{
    struct record *row = add_session(bench, "completed", "normal");
    set(bench, row, SESSION_ACCOUNT, name);
    batch_set_int(row, SESSION_STARTED_US, started_us);
    batch_set_int(row, SESSION_SKIPPED, known);
    batch_set_int(row, SESSION_COMPLETE, 1);
}

/* However often it is said: sums are set, not added. */
static void the_session_of_a_wallet_is_the_sum_of_its_addresses(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    add_account(bench, "a", ACCOUNT);
    add_account(bench, "b", ACCOUNT);
    add_account(bench, "stranger", NULL);
    add_child_session(bench, "a", 50, 1000); /* before the wallet's */
    assert_ok(write_batch(bench));
    add_child_session(bench, "a", 100, 3);
    add_child_session(bench, "b", 101, 4);
    add_child_session(bench, "stranger", 102, 1000);
    set(bench, add_event(bench, 'a', 1, "confirmed"), TRANSACTION_ACCOUNT, "a");
    assert_ok(write_batch(bench));
    for (unsigned i = 0; i < 2; i++) {
        batch_set_int(add_session(bench, i == 0 ? "failed" : "completed", NULL), SESSION_FAMILY, 1);
        assert_ok(write_batch(bench));
        assert_int_equal(number(bench, "SELECT imported * 100 + skipped FROM import_sessions s "
                                       "JOIN account a ON a.id = s.account_id "
                                       "WHERE a.name = '" ACCOUNT "'"),
                         107);
        /* A stream of a wallet is complete when all of it is. */
        assert_int_equal(number(bench, "SELECT x.imported * 100 + x.skipped * 10 + x.complete "
                                       "FROM session_streams x "
                                       "JOIN import_sessions s ON s.id = x.session_id "
                                       "JOIN account a ON a.id = s.account_id "
                                       "WHERE a.name = '" ACCOUNT "'"),
                         170 + i);
    }
}

static void a_derived_account_knows_its_parent_of_the_same_commit(void **state)
{
    struct bench *bench = *state;
    add_account(bench, "child", ACCOUNT);
    add_account(bench, ACCOUNT, NULL);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT p.name FROM account c JOIN account p "
                                    "ON p.id = c.parent_id WHERE c.name = 'child'"),
                        ACCOUNT);
}

static void add_covered(struct bench *bench, const char *source, const char *stream, int64_t lo,
                        int64_t hi)
{
    struct record *row = batch_add(&bench->batch, RECORD_COVERAGE);
    set(bench, row, COVERAGE_SOURCE, source);
    set(bench, row, COVERAGE_STREAM, stream);
    batch_set_int(row, COVERAGE_LO, lo);
    batch_set_int(row, COVERAGE_HI, hi);
}

static void expect_covered(const struct covered *covered, const char *source, const char *stream,
                           const char *expected)
{
    struct covered_stream found = covered_find(covered, bytes_of(source), bytes_of(stream));
    struct text out = {0};
    struct json_writer json;
    json_writer_init(&json, &out);
    json_begin_object(&json);
    covered_put(&json, &found);
    json_end_object(&json);
    for (size_t i = 0; i < found.count; i++) {
        text_append_char(&out, ' ');
        covered_say(&out, &found.parts[i]);
    }
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

static void what_is_stored_whole_and_what_was_never_read_is_told(void **state)
{
    struct bench *bench = *state;
    struct covered *covered;
    begin(bench);
    add_account(bench, "child", ACCOUNT);
    add_account(bench, "stranger", NULL);
    add_covered(bench, ACCOUNT, "normal", 1200, 1300);
    add_covered(bench, ACCOUNT, "normal", 500, 900);
    add_covered(bench, ACCOUNT, "token", 0, 7);
    add_covered(bench, "child", "ledger", 0, 1700000000000000);
    add_covered(bench, "stranger", "normal", 1, 2);
    assert_ok(write_batch(bench));
    assert_ok(covered_read(bench->store, ACCOUNT, &covered, &bench->err));
    assert_int_equal(covered_count(covered), 3);
    expect_covered(covered, ACCOUNT, "normal",
                   "{\"covered\":[{\"from\":500,\"to\":900},{\"from\":1200,\"to\":1300}],"
                   "\"missing\":[{\"from\":null,\"to\":500},{\"from\":900,\"to\":1200}]}"
                   " 500 to 900 1200 to 1300");
    expect_covered(covered, ACCOUNT, "token",
                   "{\"covered\":[{\"from\":null,\"to\":7}],\"missing\":[]} up to 7");
    expect_covered(covered, "child", "ledger",
                   "{\"covered\":[{\"from\":null,\"to\":\"2023-11-14T22:13:20.000Z\"}],"
                   "\"missing\":[]} up to 2023-11-14 22:13");
    expect_covered(covered, "stranger", "normal", "{\"covered\":[],\"missing\":[]}");
    covered_free(covered);
    assert_ok(covered_read(bench->store, NULL, &covered, &bench->err));
    assert_int_equal(covered_count(covered), 4);
    covered_free(covered);
}

/* Rows, totals and cursor carry one transaction's number: PostgreSQL's own, not ours. R003-21 */
static void rows_totals_cursor_and_coverage_are_one_transaction(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    assert_ok(write_batch(bench));
    add_event(bench, 'a', 1, "confirmed");
    add_session(bench, "started", "normal");
    add_cursor(bench, ACCOUNT, "normal", "{}", 1);
    add_covered(bench, ACCOUNT, "normal", 0, 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM coverage"), 1);
    if (both_stores_kind == FIXTURE_SQLITE)
        assert_int_equal(number(bench, "SELECT count(DISTINCT seq) FROM (SELECT seq FROM cursors "
                                       "UNION ALL SELECT seq FROM raw_transactions UNION ALL "
                                       "SELECT seq FROM import_sessions) x"),
                         1);
    else
        assert_int_equal(number(bench, "SELECT count(DISTINCT x) FROM (SELECT xmin::text AS x FROM "
                                       "cursors UNION ALL SELECT xmin::text FROM raw_transactions "
                                       "UNION ALL SELECT xmin::text FROM import_sessions UNION ALL "
                                       "SELECT xmin::text FROM session_streams UNION ALL "
                                       "SELECT xmin::text FROM coverage) y"),
                         1);
}

static void expect_item(struct bench *bench, const char *collection, const char *id_sql,
                        const char *part)
{
    struct text item = {0};
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)number(bench, id_sql));
    const struct collection *found = collection_find(bytes_of(collection));
    assert_non_null(found);
    assert_ok(row_fetch(bench->store, found, bytes_of(id), &item, &bench->err));
    if (strstr(text_string(&item), part) == NULL)
        fail_msg("%s is not in %s", part, text_string(&item));
    text_free(&item);
}

/* R003-12 R003-60 */
static void the_collections_show_what_is_stored(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    add_event(bench, 'a', 1, "confirmed");
    add_cursor(bench, ACCOUNT, "normal", "{\"primary\":1}", 1);
    assert_ok(write_batch(bench));
    expect_item(bench, "transactions", "SELECT n FROM raw_transactions",
                "\"account\":\"" ACCOUNT "\",\"provider\":\"etherscan\",\"stream\":\"normal\","
                "\"hash\":\"0x1\",\"block\":1,\"timestamp\":\"1970-01-01T00:00:03.000Z\","
                "\"status\":\"confirmed\",\"normalized\":{\"b\":2},\"raw\":{\"a\":1}");
    expect_item(bench, "accounts", "SELECT id FROM account", "\"lastCursor\":{");
    expect_item(bench, "import_sessions", "SELECT id FROM import_sessions",
                "\"status\":\"started\",\"imported\":1,\"skipped\":0");
}

static void a_session_that_has_no_streams_yet_says_so(void **state)
{
    struct bench *bench = *state;
    begin(bench);
    assert_ok(write_batch(bench));
    expect_item(bench, "import_sessions", "SELECT id FROM import_sessions", "\"streams\":[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(an_event_is_stored_once_and_the_session_counts_what_was_new),
        ON_STORE(two_batches_of_one_commit_both_count),
        ON_STORE(the_highest_nonce_stays),
        ON_STORE(a_session_that_was_cut_off_is_closed_by_the_next),
        ON_STORE(a_session_is_closed_also_when_the_clock_was_set_back),
        ON_STORE(a_session_that_ends_leaves_the_next_one_open),
        ON_STORE(no_session_ends_before_it_began),
        ON_STORE(a_pending_event_becomes_confirmed_under_its_number),
        ON_STORE(an_event_that_was_stored_in_part_is_replaced),
        ON_STORE(an_event_belongs_to_the_list_that_counts_it),
        ON_STORE(a_failed_event_is_not_made_good_by_who_does_not_tell),
        ON_STORE(an_orphaned_event_is_marked_and_may_come_back_in_another_block),
        ON_STORE(a_derived_account_knows_its_parent_of_the_same_commit),
        ON_STORE(an_account_that_was_there_before_its_wallet_joins_it),
        ON_STORE(the_session_of_a_wallet_is_the_sum_of_its_addresses),
        ON_STORE(what_is_stored_whole_and_what_was_never_read_is_told),
        ON_STORE(rows_totals_cursor_and_coverage_are_one_transaction),
        ON_STORE(the_collections_show_what_is_stored),
        ON_STORE(a_session_that_has_no_streams_yet_says_so),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
