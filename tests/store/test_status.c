/* SPDX-License-Identifier: Apache-2.0
 *
 * Where everything stands, as people and programs are told, on both stores: what the store holds is
 * counted right, what runs is beside it, and the object has the same shape without a daemon. */
#include "base/json.h"
#include "query/status.h"
#include "query/status_gaps.h"
#include "query/status_refused.h"
#include "store_bench.h"

#include <stdio.h>
#include <string.h>

struct told {
    struct text words;
    struct json_doc *doc;
    struct json root;
};

static struct told tell(struct bench *bench, const struct status_live *live)
{
    struct told told = {.doc = json_doc_new(1 << 20, JSON_DEPTH_MAX)};
    assert_ok(status_print(bench->store, live, &told.words, &bench->err));
    assert_int_equal(told.words.data[told.words.len - 1], '\n');
    assert_ok(json_parse_copy(told.doc, text_bytes(&told.words), &told.root, &bench->err));
    return told;
}

static void forget(struct told *told)
{
    text_free(&told->words);
    json_doc_free(told->doc);
}

/* The value at a pointer is what the JSON says. */
static void expect(const struct told *told, const char *pointer, const char *json)
{
    struct text found = {0};
    json_print(json_pointer(told->root, pointer), &found);
    if (strcmp(text_string(&found), json) != 0)
        fail_msg("%s is %s, not %s\n%s", pointer, text_string(&found), json,
                 text_string(&told->words));
    text_free(&found);
}

#define GAP                                                                                        \
    "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, closed_us, seq) "  \
    "VALUES "
#define OWE "INSERT INTO owed (id, source, stream, item, state, since_us, seq) VALUES "
#define REFUSE                                                                                     \
    "INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, times, seq) " \
    "VALUES "

static const char *bytes_sql(const char *hex)
{
    static char words[8][1024];
    static unsigned next;
    char *out = words[next++ % 8];
    snprintf(out, sizeof words[0],
             both_stores_kind == FIXTURE_SQLITE ? "X'%s'" : "decode('%s', 'hex')", hex);
    return out;
}

static void fill(struct bench *bench)
{
    char sql[1024];
    add_cursor(bench, "jetstream", "v1", "{\"primary\":{\"kind\":\"timeUs\"}}", 1700000000000000);
    add_cursor(bench, "ledger", "ethereum:normal", "no JSON", 5);
    add_cursor(bench, "ledger", "ethereum:token", "{}", 6);
    assert_ok(write_batch(bench));
    run_script(bench, GAP "(1, 'jetstream', 'v1', 10, 20, 'downtime', 30, NULL, 1), "
                          "(2, 'jetstream', 'v1', 40, 50, 'clamped', 60, 70, 1), "
                          "(3, 'silent', 'x', 1, 2, 'lost', 3, NULL, 1)");
    run_script(bench, OWE "(1, 'ledger', 't', 'a', 'owed', 1, 1), (2, 'ledger', 't', 'b', 'owed', "
                          "1, 1), (3, 'ledger', 't', 'c', 'dead', 1, 1)");
    snprintf(sql, sizeof sql, REFUSE "(1, 'jetstream', 'host', %s, %s, 3, 'no JSON', 9, 4, 1)",
             bytes_sql("01"), bytes_sql("41ff0a"));
    run_script(bench, sql);
    run_script(bench, "INSERT INTO providers (source, name, state, reason, chosen, updated_us) "
                      "VALUES ('ledger', 'etherscan', 'open', '429', NULL, 1), "
                      "('jetstream', 'old-host', 'closed', NULL, 'first', 1)");
}

static void without_a_daemon_it_is_told_what_the_store_holds(void **state)
{
    struct bench *bench = *state;
    fill(bench);
    struct told told = tell(bench, NULL);
    expect(&told, "/success", "true");
    expect(&told, "/daemon", "null");
    expect(&told, "/progress", "null");
    expect(&told, "/store/kind",
           both_stores_kind == FIXTURE_SQLITE ? "\"sqlite\"" : "\"postgres\"");
    expect(&told, "/store/last_writer", "\"test\"");
    expect(&told, "/store/epoch", "1");
    expect(&told, "/commit_seq", "1");
    assert_int_equal(json_count(json_get(told.root, "sources")), 3);
    expect(&told, "/sources/0/source", "\"jetstream\"");
    expect(&told, "/sources/0/state", "null");
    expect(&told, "/sources/0/rate", "null");
    expect(&told, "/sources/0/gaps", "1"); /* what is closed does not count */
    expect(&told, "/sources/0/quarantine", "1");
    expect(&told, "/sources/0/streams/0/stream", "\"v1\"");
    expect(&told, "/sources/0/streams/0/position", "1700000000000000");
    expect(&told, "/sources/0/streams/0/updated_at", "\"2023-11-14T22:13:20.000Z\"");
    expect(&told, "/sources/0/streams/0/cursor/primary/kind", "\"timeUs\"");
    expect(&told, "/sources/1/source", "\"ledger\"");
    expect(&told, "/sources/1/owed", "2");
    expect(&told, "/sources/1/dead", "1");
    assert_int_equal(json_count(json_pointer(told.root, "/sources/1/streams")), 2);
    /* What is no JSON must not break the object. */
    expect(&told, "/sources/1/streams/0/cursor", "\"no JSON\"");
    expect(&told, "/sources/1/streams/1/cursor", "{}");
    /* A source that has nothing but a gap is there, without streams. */
    expect(&told, "/sources/2/source", "\"silent\"");
    expect(&told, "/sources/2/streams", "[]");
    assert_int_equal(json_count(json_get(told.root, "providers")), 2);
    expect(&told, "/providers/1/name", "\"etherscan\"");
    expect(&told, "/providers/1/state", "\"open\"");
    expect(&told, "/providers/1/reason", "\"429\"");
    expect(&told, "/providers/1/successes", "null");
    forget(&told);
}

/* One of each account that is read sorts before the firehose. */
static void many_streams_of_one_source_hide_no_other(void **state)
{
    struct bench *bench = *state;
    fill(bench);
    run_script(bench, "INSERT INTO cursors (source, stream, state, position, updated_us, seq) "
                      "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE "
                      "i < 10050) SELECT 'feed', 'did:plc:' || (100000 + i), '{}', i, i, 1 FROM k");
    struct told told = tell(bench, NULL);
    assert_int_equal(json_count(json_get(told.root, "sources")), 4);
    expect(&told, "/sources/0/source", "\"feed\"");
    assert_int_equal(json_count(json_pointer(told.root, "/sources/0/streams")), 100);
    expect(&told, "/sources/0/streams/0/stream", "\"did:plc:109951\"");
    expect(&told, "/sources/0/streams/99/position", "10050");
    expect(&told, "/sources/0/more_streams", "9950");
    expect(&told, "/sources/1/source", "\"jetstream\"");
    expect(&told, "/sources/1/gaps", "1");
    expect(&told, "/sources/1/quarantine", "1");
    expect(&told, "/sources/1/streams/0/position", "1700000000000000");
    expect(&told, "/sources/1/more_streams", "0");
    expect(&told, "/sources/2/owed", "2");
    expect(&told, "/sources/3/source", "\"silent\"");
    expect(&told, "/sources/3/more_streams", "0");
    forget(&told);
}

static struct status_live some_live(void)
{
    struct status_live live = {.pid = 7,
                               .uptime_us = 90500000,
                               .queued = 3,
                               .writing = true,
                               .source_count = 2,
                               .ledger_count = 1};
    live.progress.commit_p50 = 0.25;
    live.progress.backfill.queued = 4;
    live.progress.backfill.failed = -1;
    live.progress.imports.accounts = 2;
    live.progress.documents.followed = true;
    live.progress.documents.head = 99;
    live.progress.documents.block = -1;
    live.progress.handles_open = 5;
    live.sources[0] = (struct status_source){.name = "jetstream",
                                             .state = "streaming",
                                             .provider = "new-host",
                                             .trouble = "none \"really\"",
                                             .rate = 480.5,
                                             .last_event_us = 1700000000000000,
                                             .events = 12,
                                             .provider_count = 1};
    live.sources[0].providers[0] = (struct status_provider){.name = "new-host",
                                                            .state = "closed",
                                                            .current = true,
                                                            .successes = 3,
                                                            .failures = 1,
                                                            .latency_us = 2500};
    live.sources[1] = (struct status_source){.name = "fresh", .state = "starting", .rate = -1};
    live.ledger[0] = (struct status_ledger){.platform = "ledger"};
    live.ledger[0].provider = (struct status_provider){
        .name = "etherscan", .state = "half-open", .latency_us = -1, .chosen = "the other failed"};
    return live;
}

static void what_runs_is_told_beside_it_and_knows_better(void **state)
{
    struct bench *bench = *state;
    const struct status_live live = some_live();
    fill(bench);
    struct told told = tell(bench, &live);
    expect(&told, "/daemon/pid", "7");
    expect(&told, "/daemon/uptime_seconds", "90");
    expect(&told, "/daemon/writing", "true");
    expect(&told, "/progress/commit_seconds/p50", "0.25");
    expect(&told, "/progress/commit_seconds/p99", "null");
    expect(&told, "/progress/backfill/queued", "4");
    expect(&told, "/progress/backfill/failed", "null");
    expect(&told, "/progress/imports/oldest_success_us", "null");
    expect(&told, "/progress/documents/head", "99");
    expect(&told, "/progress/documents/block", "null");
    expect(&told, "/progress/handles_open", "5");
    expect(&told, "/sources/0/state", "\"streaming\"");
    expect(&told, "/sources/0/provider", "\"new-host\"");
    expect(&told, "/sources/0/trouble", "\"none \\\"really\\\"\"");
    expect(&told, "/sources/0/rate", "480.5");
    expect(&told, "/sources/0/last_event_at", "\"2023-11-14T22:13:20.000Z\"");
    /* One that has written nothing yet is told, too, and once. */
    assert_int_equal(json_count(json_get(told.root, "sources")), 4);
    expect(&told, "/sources/3/source", "\"fresh\"");
    expect(&told, "/sources/3/rate", "null");
    expect(&told, "/sources/3/gaps", "0");
    /* Of hosts of what runs only what runs is told; of an account's provider its own row. */
    assert_int_equal(json_count(json_get(told.root, "providers")), 2);
    expect(&told, "/providers/0/name", "\"new-host\"");
    expect(&told, "/providers/0/latency_ms", "2");
    expect(&told, "/providers/0/error_percent", "25.0");
    expect(&told, "/providers/0/reason", "null");
    expect(&told, "/providers/1/name", "\"etherscan\"");
    expect(&told, "/providers/1/state", "\"half-open\"");
    expect(&told, "/providers/1/latency_ms", "null");
    expect(&told, "/providers/1/error_percent", "null");
    expect(&told, "/providers/1/chosen", "\"the other failed\"");
    forget(&told);
}

static void a_store_without_its_row_is_told_and_nothing_is_shown(void **state)
{
    struct bench *bench = *state;
    struct text words = {0};
    text_append_string(&words, "before");
    run_script(bench, "DELETE FROM engine");
    assert_int_equal(status_print(bench->store, NULL, &words, &bench->err), RC_FATAL);
    assert_string_equal(text_string(&words), "before");
    assert_non_null(strstr(bench->err.text, "engine"));
    text_free(&words);
}

static void of_gaps_the_open_ones_are_shown_and_the_late_ones(void **state)
{
    struct bench *bench = *state;
    static struct status_gaps gaps;
    fill(bench);
    assert_ok(status_read_gaps(bench->store, 100, &gaps, &bench->err));
    assert_int_equal(gaps.count, 2);
    assert_string_equal(gaps.gaps[0].reason, "downtime");
    assert_true(gaps.gaps[0].from_us == 10 && gaps.gaps[0].to_us == 20);
    assert_int_equal(gaps.gaps[0].closed_us, 0);
    assert_string_equal(gaps.gaps[1].source, "silent");
    assert_ok(status_read_gaps(bench->store, 49, &gaps, &bench->err));
    assert_int_equal(gaps.count, 3);
    assert_string_equal(gaps.gaps[0].reason, "clamped");
    assert_int_equal(gaps.gaps[0].closed_us, 70);
}

/* What was refused is shown so that a terminal and a page can take it. */
static void what_was_refused_is_shown_as_text_whatever_it_is(void **state)
{
    struct bench *bench = *state;
    static struct status_refusals refusals;
    char sql[2048], hex[601] = "", reason[301];
    fill(bench);
    for (int i = 0; i < 300; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", i < 255 ? 'a' : 0xc3);
    snprintf(sql, sizeof sql, REFUSE "(2, 's', NULL, %s, %s, 300, 'long', 10, 1, 1)",
             bytes_sql("02"), bytes_sql(hex));
    run_script(bench, sql);
    memset(reason, 'r', sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    snprintf(sql, sizeof sql, REFUSE "(3, 's', NULL, %s, NULL, 5000000, '%s', 11, 1, 1)",
             bytes_sql("03"), reason);
    run_script(bench, sql);
    assert_ok(status_read_refused(bench->store, &refusals, &bench->err));
    assert_int_equal(refusals.count, 3);
    /* The latest first; one whose bytes were not kept. */
    assert_true(refusals.inputs[0].id == 3 && !refusals.inputs[0].whole);
    assert_string_equal(refusals.inputs[0].excerpt, "");
    assert_true(strlen(refusals.inputs[0].reason) < sizeof refusals.inputs[0].reason);
    /* Its beginning only, and half a character at the cut is a byte. */
    assert_true(refusals.inputs[1].whole && refusals.inputs[1].size == 300);
    assert_int_equal(strlen(refusals.inputs[1].excerpt), 255 + 4);
    assert_string_equal(refusals.inputs[1].excerpt + 255, "\\xc3");
    assert_string_equal(refusals.inputs[1].provider, "");
    assert_string_equal(refusals.inputs[2].excerpt, "A\\xff\\x0a");
    assert_string_equal(refusals.inputs[2].provider, "host");
    assert_true(refusals.inputs[2].times == 4 && refusals.inputs[2].at_us == 9);
    for (int i = 4; i < 4 + STATUS_REFUSED_MAX; i++) {
        char digest[8];
        snprintf(digest, sizeof digest, "%04x", (unsigned)i + 0x100);
        snprintf(sql, sizeof sql, REFUSE "(%d, 's', NULL, %s, NULL, 1, 'many', 12, 1, 1)", i,
                 bytes_sql(digest));
        run_script(bench, sql);
    }
    assert_ok(status_read_refused(bench->store, &refusals, &bench->err));
    assert_int_equal(refusals.count, STATUS_REFUSED_MAX);
    assert_int_equal(refusals.inputs[0].id, 3 + STATUS_REFUSED_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(without_a_daemon_it_is_told_what_the_store_holds),
        ON_STORE(many_streams_of_one_source_hide_no_other),
        ON_STORE(what_runs_is_told_beside_it_and_knows_better),
        ON_STORE(a_store_without_its_row_is_told_and_nothing_is_shown),
        ON_STORE(of_gaps_the_open_ones_are_shown_and_the_late_ones),
        ON_STORE(what_was_refused_is_shown_as_text_whatever_it_is),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
