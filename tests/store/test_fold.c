/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one identity in one commit leave what they leave in separate commits, on both stores.
 *
 * Every round sends one sequence twice: to accounts whose records come one by one, and to accounts
 * whose records come together. What the two have in the end is compared. */
#include "store_bench.h"
#include "tests/unit/test_seed.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 60, RECORDS = 24, KEYS = 3 };

struct act {
    enum record_id kind;
    unsigned key, version;
    bool deletes;
    int64_t at_us;
};

static struct act choose_act(struct seeded *random, unsigned version)
{
    static const enum record_id kinds[] = {RECORD_POST,    RECORD_POST,    RECORD_POST,
                                           RECORD_POST,    RECORD_ACCOUNT, RECORD_IDENTITY,
                                           RECORD_DOCUMENT};
    return (struct act){.kind = kinds[seeded_below(random, 7)],
                        .key = (unsigned)seeded_below(random, KEYS),
                        .version = version,
                        .deletes = seeded_below(random, 3) == 0,
                        .at_us = 1000 + (int64_t)seeded_below(random, 1000)};
}

/* Versions rise, as a source gives them; now and then a stretch comes again. */
static void choose_acts(struct seeded *random, struct act acts[RECORDS])
{
    size_t replay = 0;
    unsigned version = 0;
    for (size_t i = 0; i < RECORDS; i++) {
        if (replay == 0 && i > 0 && seeded_below(random, 8) == 0)
            replay = 1 + seeded_below(random, i);
        bool again = replay > 0;
        acts[i] = again ? acts[i - replay] : choose_act(random, version++);
        if (again && acts[i].version + 1 == version)
            replay = 0;
    }
}

static void add_post_of(struct bench *bench, const struct act *act, const char *did,
                        const char *words)
{
    char rkey[16], rev[16];
    snprintf(rkey, sizeof rkey, "k%u", act->key);
    snprintf(rev, sizeof rev, "r%02u", act->version);
    add_post(bench, did, rkey, rev, act->deletes ? POST_OP_DELETE : POST_OP_PUT, act->at_us, words);
}

static void add_record(struct bench *bench, const struct act *act, const char *did,
                       const char *words)
{
    struct batch *batch = &bench->batch;
    char uri[64];
    if (act->kind == RECORD_POST) {
        add_post_of(bench, act, did, words);
        return;
    }
    struct record *record = batch_add(batch, act->kind);
    assert_non_null(record);
    if (act->kind == RECORD_ACCOUNT) {
        assert_true(batch_set_text(batch, record, ACCOUNT_DID, bytes_of(did)));
        assert_true(batch_set_text(batch, record, ACCOUNT_STATUS, bytes_of(words)));
        batch_set_int(record, ACCOUNT_ACTIVE, act->deletes);
        batch_set_int(record, ACCOUNT_AT_US, act->version);
    } else if (act->kind == RECORD_IDENTITY) {
        assert_true(batch_set_text(batch, record, IDENTITY_DID, bytes_of(did)));
        assert_true(batch_set_text(batch, record, IDENTITY_HANDLE, bytes_of(words)));
        batch_set_int(record, IDENTITY_AT_US, act->version);
    } else {
        snprintf(uri, sizeof uri, "%s/%u", did, act->key);
        assert_true(batch_set_text(batch, record, DOCUMENT_URI, bytes_of(uri)));
        assert_true(batch_set_text(batch, record, DOCUMENT_DATA, bytes_of(words)));
        batch_set_int(record, DOCUMENT_WHOLE, act->deletes);
    }
}

static bool append_row(void *arg, const struct field *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].null)
            text_append_string(arg, "- ");
        else if (columns[i].type == FIELD_INT)
            text_appendf(arg, "%lld ", (long long)columns[i].i);
        else
            text_appendf(arg, "%.*s ", (int)columns[i].b.len, columns[i].b.data);
    text_append_char(arg, '\n');
    return true;
}

/* All that is stored of an account but its numbers. */
static void look(struct bench *bench, const char *did, struct text *out)
{
    static const char *const sql[] = {
        "SELECT p.rkey, p.rev, p.shared_us, p.body FROM post p, actors a WHERE p.actor = a.id AND "
        "a.did = '%s' ORDER BY p.rkey",
        "SELECT substr(key, length('%s') + 1), rev, at_us FROM tombstones WHERE key LIKE '%s/%%' "
        "ORDER BY key",
        "SELECT active, status, status_us, handle, handle_us FROM actors WHERE did = '%s'",
        "SELECT substr(uri, length('%s') + 1), CASE WHEN is_errored THEN 1 ELSE 0 END, data "
        "FROM ipfs_cache WHERE uri LIKE '%s/%%' ORDER BY uri",
    };
    text_clear(out);
    for (size_t i = 0; i < sizeof sql / sizeof sql[0]; i++) {
        struct text query = {0};
        for (const char *at = sql[i]; *at != '\0'; at++)
            if (at[0] == '%' && at[1] == 's') {
                text_append_string(&query, did);
                at++;
            } else if (at[0] != '%' || at[1] != '%') {
                text_append_char(&query, *at);
            }
        assert_ok(
            store_query(bench->store, text_string(&query), NULL, 0, append_row, out, &bench->err));
        text_free(&query);
    }
}

/* The first acts are one by one for both: what stands already has a say. */
static void play(struct bench *bench, struct seeded *random, unsigned round)
{
    char together[32], apart[32], words[32];
    struct act acts[RECORDS];
    struct text one = {0}, other = {0};
    size_t before = seeded_below(random, RECORDS / 2);
    snprintf(together, sizeof together, "did:web:t%u", round);
    snprintf(apart, sizeof apart, "did:web:a%u", round);
    choose_acts(random, acts);
    for (size_t i = 0; i < RECORDS; i++) {
        snprintf(words, sizeof words, "w%u", acts[i].version);
        add_record(bench, &acts[i], apart, words);
        if (i < before)
            add_record(bench, &acts[i], together, words);
        assert_ok(write_batch(bench));
    }
    for (size_t i = before; i < RECORDS; i++) {
        snprintf(words, sizeof words, "w%u", acts[i].version);
        add_record(bench, &acts[i], together, words);
    }
    assert_ok(write_batch(bench));
    look(bench, together, &one);
    look(bench, apart, &other);
    if (!bytes_equal(text_bytes(&one), text_bytes(&other)))
        fail_msg("round %u, from record %zu on:\n%s--- in separate commits:\n%s", round, before,
                 text_string(&one), text_string(&other));
    text_free(&one);
    text_free(&other);
}

static void one_commit_leaves_what_separate_commits_leave(void **state)
{
    struct bench *bench = *state;
    struct seeded random = seeded_start("fold");
    for (unsigned round = 0; round < ROUNDS; round++)
        play(bench, &random, round);
}

static void what_was_deleted_and_made_anew_is_new(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:web:a", "k", "r1", POST_OP_PUT, 100, "old");
    assert_ok(write_batch(bench));
    int64_t old = number(bench, "SELECT n FROM post");
    add_post(bench, "did:web:a", "k", "r2", POST_OP_DELETE, 200, NULL);
    add_post(bench, "did:web:a", "k", "r3", POST_OP_PUT, 300, "new");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT shared_us FROM post"), 300);
    assert_true(number(bench, "SELECT n FROM post") > old);
    assert_int_equal(number(bench, "SELECT n FROM tombstones"), old);
    assert_string_equal(word(bench, "SELECT rev FROM tombstones"), "r2");
}

static void a_delete_older_than_what_stands_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:web:a", "k", "r5", POST_OP_PUT, 100, "new");
    assert_ok(write_batch(bench));
    add_post(bench, "did:web:a", "k", "r4", POST_OP_DELETE, 200, NULL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM tombstones"), 0);
}

static void what_came_and_went_at_once_leaves_its_revision_only(void **state)
{
    struct bench *bench = *state;
    add_post(bench, "did:web:a", "k", "r1", POST_OP_PUT, 100, "short");
    add_post(bench, "did:web:a", "k", "r2", POST_OP_DELETE, 200, NULL);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM tombstones WHERE n IS NULL"), 1);
    add_post(bench, "did:web:a", "k", "r1", POST_OP_PUT, 100, "again");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(one_commit_leaves_what_separate_commits_leave),
        ON_STORE(what_was_deleted_and_made_anew_is_new),
        ON_STORE(a_delete_older_than_what_stands_leaves_nothing),
        ON_STORE(what_came_and_went_at_once_leaves_its_revision_only),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
