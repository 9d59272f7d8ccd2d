/* SPDX-License-Identifier: Apache-2.0
 *
 * What is built in can be followed: what left is told to those it may concern, on both stores. */
#include "query/tail.h"
#include "store_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watch {
    struct bench *bench;
    struct tail tail;
    struct changes changes;
};

static struct watch follow_some(struct bench *bench, const char *collection, const char *words)
{
    struct watch watch = {.bench = bench};
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    struct filter *filter;
    struct refusal refusal;
    struct json root;
    struct opening opening = {.kind = COUNT_NONE};
    static const struct tail_marks none;
    const struct collection *found = collection_find(bytes_of(collection));
    assert_non_null(found);
    assert_ok(json_parse_copy(doc, bytes_of(words), &root, &bench->err));
    assert_int_equal(filter_parse(found, root, &filter, &refusal), RC_OK);
    json_doc_free(doc);
    assert_ok(opening_read(bench->store, found, (struct where){0}, false, &opening, &bench->err));
    tail_init(&watch.tail, found, filter, &opening, opening.seq, &none);
    return watch;
}

static struct watch follow(struct bench *bench, const char *collection)
{
    return follow_some(bench, collection, "{}");
}

/* What was told since the last time, as "op id op id"; it has to be this. */
static void expect(struct watch *watch, const char *wanted)
{
    struct bench *bench = watch->bench;
    struct refusal refusal;
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    struct text text = {0}, told = {0};
    struct json_writer writer;
    struct json root, change;
    struct bytes key;
    assert_ok(changes_read(bench->store, watch->tail.collection, watch->tail.seq, &watch->changes,
                           &refusal, &bench->err));
    json_writer_init(&writer, &text);
    json_begin_array(&writer);
    tail_print(&watch->tail, &watch->changes, &writer);
    json_end_array(&writer);
    tail_move(&watch->tail, &watch->changes);
    assert_ok(json_parse_copy(doc, text_bytes(&text), &root, &bench->err));
    struct json_walk walk = json_walk(root);
    while (json_walk_next(&walk, &key, &change)) {
        struct bytes op = json_string_or_absent(json_get(change, "op"));
        struct bytes who = json_string_or_absent(
            json_pointer(change, bytes_equal_string(op, "leave") ? "/item/id" : "/item/source"));
        text_appendf(&told, "%.*s %.*s;", (int)op.len, op.data, (int)who.len,
                     who.len == 0 ? "" : who.data);
    }
    assert_string_equal(text_string(&told), wanted);
    text_free(&text);
    text_free(&told);
    json_doc_free(doc);
}

static void unfollow(struct watch *watch)
{
    changes_free(&watch->changes);
    tail_deinit(&watch->tail);
}

static void owe(struct bench *bench, const char *item, const char *state)
{
    struct batch *batch = &bench->batch;
    struct record *row = batch_add(batch, RECORD_OWED);
    assert_true(batch_set_text(batch, row, OWED_SOURCE, bytes_of("s")) &&
                batch_set_text(batch, row, OWED_STREAM, bytes_of("t")) &&
                batch_set_text(batch, row, OWED_ITEM, bytes_of(item)) &&
                batch_set_text(batch, row, OWED_STATE, bytes_of(state)));
    batch_set_int(row, OWED_ATTEMPTS, 0);
    batch_set_int(row, OWED_AT_US, 1);
    assert_ok(write_batch(bench));
}

static void debts_come_change_and_are_paid(void **state)
{
    struct bench *bench = *state;
    struct watch watch = follow(bench, "owed");
    char leave[64];
    owe(bench, "a", "new");
    expect(&watch, "enter s;");
    snprintf(leave, sizeof leave, "leave %" PRId64 ";", number(bench, "SELECT id FROM owed"));
    owe(bench, "a", "dead");
    expect(&watch, "update s;");
    owe(bench, "a", "done");
    expect(&watch, leave);
    expect(&watch, "");
    unfollow(&watch);
}

static void put_gap(struct bench *bench, int64_t closed_us)
{
    struct batch *batch = &bench->batch;
    struct record *row = batch_add(batch, RECORD_GAP);
    assert_true(batch_set_text(batch, row, GAP_SOURCE, bytes_of("s")) &&
                batch_set_text(batch, row, GAP_STREAM, bytes_of("t")) &&
                batch_set_text(batch, row, GAP_REASON, bytes_of("r")));
    batch_set_int(row, GAP_FROM_US, 1);
    batch_set_int(row, GAP_TO_US, 2);
    batch_set_int(row, GAP_DETECTED_US, 3);
    if (closed_us > 0)
        batch_set_int(row, GAP_CLOSED_US, closed_us);
    assert_ok(write_batch(bench));
}

static void prune(struct bench *bench, int64_t gaps_us)
{
    struct record *row = batch_add(&bench->batch, RECORD_PRUNE);
    for (unsigned i = 0; i < record_kinds[RECORD_PRUNE].field_count; i++)
        batch_set_int(row, i, 0);
    batch_set_int(row, PRUNE_GAPS_US, gaps_us);
    assert_ok(write_batch(bench));
}

static void gaps_come_close_and_are_forgotten(void **state)
{
    struct bench *bench = *state;
    struct watch watch = follow(bench, "gaps");
    char leave[64];
    put_gap(bench, 0);
    expect(&watch, "enter s;");
    put_gap(bench, 7);
    expect(&watch, "update s;");
    snprintf(leave, sizeof leave, "leave %" PRId64 ";", number(bench, "SELECT id FROM gaps"));
    prune(bench, 100);
    expect(&watch, leave);
    unfollow(&watch);
}

static void what_is_put_aside_is_told_and_counted(void **state)
{
    struct bench *bench = *state;
    struct watch watch = follow(bench, "quarantine");
    for (int i = 0; i < 2; i++) {
        struct batch *batch = &bench->batch;
        struct record *row = batch_add(batch, RECORD_QUARANTINE);
        assert_true(batch_set_text(batch, row, QUARANTINE_SOURCE, bytes_of("s")) &&
                    batch_set_text(batch, row, QUARANTINE_DIGEST, bytes_of("d")) &&
                    batch_set_text(batch, row, QUARANTINE_REASON, bytes_of("r")));
        batch_set_int(row, QUARANTINE_SIZE, 1);
        batch_set_int(row, QUARANTINE_AT_US, 1);
        assert_ok(write_batch(bench));
        expect(&watch, i == 0 ? "enter s;" : "update s;");
    }
    run_script(bench, "DELETE FROM quarantine");
    assert_int_equal(number(bench, "SELECT count(*) FROM tombstones WHERE collection = "
                                   "'quarantine'"),
                     1);
    unfollow(&watch);
}

/* Its rows have no ingest number of the engine's, so one that changes may be told as new. */
static void a_follow_is_told_when_it_comes_changes_and_goes(void **state)
{
    struct bench *bench = *state;
    struct watch watch = follow(bench, "follows");
    run_script(bench, "INSERT INTO follows (did, handle) VALUES ('d', 'h');"
                      "UPDATE engine SET commit_seq = commit_seq + 1");
    expect(&watch, "enter ;");
    run_script(bench, "UPDATE follows SET handle = 'g';"
                      "UPDATE engine SET commit_seq = commit_seq + 1");
    expect(&watch, "enter ;");
    run_script(bench, "UPDATE follows SET last_seen_at = CURRENT_TIMESTAMP, handle = 'g';"
                      "UPDATE engine SET commit_seq = commit_seq + 1");
    expect(&watch, "");
    run_script(bench, "DELETE FROM follows; UPDATE engine SET commit_seq = commit_seq + 1");
    expect(&watch, "leave 1;");
    unfollow(&watch);
}

/* Of a post that is gone only what names it is known. */
static void a_post_leaves_only_the_results_it_may_have_been_in(void **state)
{
    struct bench *bench = *state;
    char leave[64];
    add_post(bench, "did:plc:a", "1", "r1", POST_OP_PUT, 5, "x");
    add_post(bench, "did:plc:b", "2", "r1", POST_OP_PUT, 5, "y\"");
    assert_ok(write_batch(bench));
    int64_t n = number(bench, "SELECT n FROM post WHERE rkey = '2'");
    snprintf(leave, sizeof leave, "leave %" PRId64 ";", n);
    struct watch all = follow(bench, "posts");
    struct watch hers = follow_some(bench, "posts", "{\"actorDid\":\"did:plc:a\"}");
    struct watch his = follow_some(
        bench, "posts", "{\"$or\":[{\"rkey\":\"1\"},{\"actorDid\":{\"$ne\":\"did:plc:a\"}}]}");
    struct watch said = follow_some(bench, "posts", "{\"text\":\"x\"}");
    add_post(bench, "did:plc:b", "2", "r2", POST_OP_DELETE, 6, NULL);
    assert_ok(write_batch(bench));
    expect(&all, leave);
    expect(&hers, "");
    expect(&his, leave);
    expect(&said, leave); /* nobody knows what it said */
    unfollow(&all);
    unfollow(&hers);
    unfollow(&his);
    unfollow(&said);
}

static void a_forgotten_link_leaves_only_the_results_it_may_have_been_in(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO links (id, normalized_url, original_url, domain, below_us, seq) "
                      "VALUES (1, 'https://a.example/', 'o', 'a.example', 1, 0), "
                      "(2, 'https://none/', 'o', NULL, 1, 0)");
    struct watch all = follow(bench, "links");
    struct watch others = follow_some(bench, "links", "{\"domain\":\"b.example\"}");
    struct watch none = follow_some(bench, "links", "{\"domain\":null}");
    struct record *row = batch_add(&bench->batch, RECORD_PRUNE);
    for (unsigned i = 0; i < record_kinds[RECORD_PRUNE].field_count; i++)
        batch_set_int(row, i, 0);
    batch_set_int(row, PRUNE_BELOW_US, 100);
    batch_set_int(row, PRUNE_THRESHOLD, 5);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 0);
    expect(&all, "leave 1;leave 2;");
    expect(&others, "");
    expect(&none, "leave 2;");
    unfollow(&all);
    unfollow(&others);
    unfollow(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_post_leaves_only_the_results_it_may_have_been_in),
        ON_STORE(a_forgotten_link_leaves_only_the_results_it_may_have_been_in),
        ON_STORE(debts_come_change_and_are_paid),
        ON_STORE(gaps_come_close_and_are_forgotten),
        ON_STORE(what_is_put_aside_is_told_and_counted),
        ON_STORE(a_follow_is_told_when_it_comes_changes_and_goes),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
