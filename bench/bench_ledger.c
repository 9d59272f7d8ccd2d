/* SPDX-License-Identifier: Apache-2.0
 *
 * `tidemark import` of one account from a provider on loopback that costs next to nothing, SQLite.
 *
 * ledger_rows: rows a second, from exec to exit, against a bare loop that writes the same rows in
 * the same transactions. ledger_node: against a script for Node (fetch, better-sqlite3) that lets
 * every row commit for itself; it gets a part of the rows, or it would take too long.
 * ledger_node_pages: against the same with a transaction for each page. Of all three the median of
 * a few rounds, in turns. ledger_requests: of a first import, against one for each page and two;
 * ledger_idle_requests: of another one right after it, against one. ledger_rss: the most memory
 * that a long history takes, against a short one (R003-30).
 *
 *   bench_ledger TIDEMARK NODE_RUNNER
 *
 * TIDEMARK_BENCH_ROWS is how many rows are imported, TIDEMARK_BENCH_LONG how many the long history
 * has: ten million take 16 GB below TMPDIR while they are there, and longer than the limit that a
 * build gives it. */
#include "child.h"
#include "fixture.h"
#include "floor_ledger.h"
#include "history_server.h"
#include "stopwatch.h"
#include "store/store.h"
#include "times.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS        100000
#define LONG_ROWS   1000000
#define SHORT_ROWS  10000
#define SINGLE_PART 20 /* of the rows, where each commits for itself */
#define PAGE        1000
#define ROUNDS      3
#define SETTING_MAX 640
#define FLOOR_GOAL  0.5
#define NODE_GOAL   10.0
#define PAGES_GOAL  2.0
#define RSS_GOAL    1.2

static const char connector[] =
    "version: 1\n"
    "provider: bench\n"
    "platforms:\n"
    "  ethereum: {native: ETH}\n"
    "identifier: evm_address\n"
    "base_url: http://127.0.0.1:%u\n"
    "rate: {per_second: 1000, burst: 1000, concurrency: 2}\n"
    "settle_blocks: 12\n"
    "streams:\n"
    "  normal:\n"
    "    request:\n"
    "      path: /api\n"
    "      query: {action: txlist, address: $account, startblock: $from, page: $page, "
    "offset: $size}\n"
    "    order: asc\n"
    "    page: {by: number, size: %d, first: 1, stop: [short_page]}\n"
    "    resume: {kind: blockNumber, cast: dec}\n"
    "    records: {at: /result}\n"
    "    map:\n"
    "      hash: {at: /hash, cast: lower}\n"
    "      block: /blockNumber\n"
    "      time: {at: /timeStamp, cast: unix_s}\n"
    "      from: {at: /from, cast: lower}\n"
    "      to: {at: /to, cast: lower}\n"
    "      asset: {var: native}\n"
    "      amount: /value\n"
    "      fee: {times: [/gasUsed, /gasPrice]}\n"
    "      status: {at: /isError, when: {\"0\": confirmed, \"1\": failed}}\n"
    "    identity: {of: [platform, hash, kind, from, to, asset, token_id, amount], equals: "
    "block}\n";

struct bench {
    const char *tidemark, *node;
    struct history_server *server;
    uint64_t rows;
};

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_ledger: %s: %s\n", rc_name(rc), err->text);
    abort();
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *value = getenv(variable);
    return value == NULL ? otherwise : strtoull(value, NULL, 10);
}

/* ---- the product ---- */

/* A migrated store, and the connector beside it. */
static void open_fresh(const struct bench *bench, struct fixture *fixture)
{
    struct store *store;
    struct err err;
    unsigned applied;
    char path[SETTING_MAX];
    fixture_open(fixture, FIXTURE_SQLITE);
    check(store_open(fixture->url, STORE_WRITE, &store, &err), &err);
    check(store_migrate(store, &applied, &err), &err);
    store_close(store);
    snprintf(path, sizeof path, "%s/bench.yaml", fixture->folder);
    FILE *file = fopen(path, "w");
    assert(file != NULL);
    fprintf(file, connector, history_server_port(bench->server), PAGE);
    fclose(file);
}

static double import(const struct bench *bench, const struct fixture *fixture, uint64_t rows,
                     double *peak_mib)
{
    char store[SETTING_MAX], data[SETTING_MAX], connectors[SETTING_MAX];
    struct store *reader;
    struct err err;
    int64_t stored;
    snprintf(store, sizeof store, "store.url=%s", fixture->url);
    snprintf(data, sizeof data, "store.data_dir=%s", fixture->folder);
    snprintf(connectors, sizeof connectors, "ledger.connectors=%s", fixture->folder);
    const char *command[] = {bench->tidemark,
                             "import",
                             "-c",
                             "/dev/null",
                             "--set",
                             store,
                             "--set",
                             data,
                             "--set",
                             connectors,
                             "--json",
                             "ethereum:" HISTORY_ACCOUNT,
                             NULL};
    history_server_set(bench->server, rows);
    double start = seconds_now();
    int code = child_run(command, peak_mib);
    double took = seconds_now() - start;
    check(store_open(fixture->url, STORE_READ, &reader, &err), &err);
    check(store_query_int(reader, "SELECT count(*) FROM raw_transactions", 0, &stored, &err), &err);
    store_close(reader);
    if (code != 0 || (uint64_t)stored != rows) {
        fprintf(stderr, "bench_ledger: the import ended with %d and %lld rows\n", code,
                (long long)stored);
        abort();
    }
    return took;
}

/* ---- what it is compared with ---- */

static double run_node(const struct bench *bench, const char *commits, uint64_t rows)
{
    struct fixture fixture;
    char url[SETTING_MAX], file[SETTING_MAX], expected[32];
    fixture_open(&fixture, FIXTURE_SQLITE);
    snprintf(url, sizeof url,
             "http://127.0.0.1:%u/api?action=txlist&address=" HISTORY_ACCOUNT "&offset=%d",
             history_server_port(bench->server), PAGE);
    snprintf(file, sizeof file, "%s/node.db", fixture.folder);
    snprintf(expected, sizeof expected, "%llu", (unsigned long long)rows);
    const char *command[] = {bench->node, "bench_node", url, file, expected, commits, NULL};
    history_server_set(bench->server, rows);
    double start = seconds_now();
    int code = child_run(command, NULL);
    double took = seconds_now() - start;
    fixture_close(&fixture);
    if (code == 0)
        return took;
    fprintf(stderr, "bench_ledger: the script for Node ended with %d\n", code);
    exit(EXIT_FAILURE);
}

static double run_floor(const struct bench *bench, const struct fixture *imported)
{
    struct fixture fixture;
    struct floor_ledger *floor = floor_ledger_load(imported->url + strlen("sqlite:"));
    open_fresh(bench, &fixture);
    double took = floor_ledger_write(floor, fixture.url + strlen("sqlite:"));
    floor_ledger_free(floor);
    fixture_close(&fixture);
    return took;
}

/* ---- results ---- */

static bool report(const char *name, const char *unit, double value, double against, double ratio,
                   double goal, bool ok)
{
    printf("{\"name\":\"%s\",\"value\":%.0f,\"unit\":\"%s\",\"against\":%.0f,\"ratio\":%.3f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           name, value, unit, against, ratio, goal, ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

static bool report_rate(const char *name, double *ours, double *theirs, double goal)
{
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = ours[i] / theirs[i];
    double ratio = times_median(ratios, ROUNDS);
    return report(name, "rows/s", times_median(ours, ROUNDS), times_median(theirs, ROUNDS), ratio,
                  goal, ratio >= goal);
}

/* Before anything else: what the benchmark itself has in memory would count. */
static bool compare_memory(const struct bench *bench)
{
    const uint64_t rows[2] = {SHORT_ROWS, number_of("TIDEMARK_BENCH_LONG", LONG_ROWS)};
    double mib[2];
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;
        open_fresh(bench, &fixture);
        import(bench, &fixture, rows[i], &mib[i]);
        fixture_close(&fixture);
    }
    double ratio = mib[1] / mib[0];
    return report("ledger_rss", "MiB", mib[1], mib[0], ratio, RSS_GOAL, ratio <= RSS_GOAL);
}

static bool compare_requests(const struct bench *bench, const struct fixture *imported,
                             uint64_t first)
{
    uint64_t pages = (bench->rows + PAGE - 1) / PAGE;
    double most = (double)(pages + 2);
    import(bench, imported, bench->rows, NULL);
    double idle = (double)history_server_requests(bench->server);
    bool ok = report("ledger_requests", "requests", (double)first, most, (double)first / most, 1.0,
                     (double)first <= most);
    return report("ledger_idle_requests", "requests", idle, 1, idle, 1.0, idle <= 1) && ok;
}

static bool compare_rates(const struct bench *bench)
{
    double ours[ROUNDS], bare[ROUNDS], single[ROUNDS], pages[ROUNDS], rows = (double)bench->rows;
    uint64_t part = bench->rows / SINGLE_PART;
    bool ok = true;
    for (int i = 0; i < ROUNDS; i++) {
        struct fixture fixture;
        open_fresh(bench, &fixture);
        history_server_requests(bench->server);
        ours[i] = rows / import(bench, &fixture, bench->rows, NULL);
        uint64_t first = history_server_requests(bench->server);
        bare[i] = rows / run_floor(bench, &fixture);
        if (i == 0)
            ok = compare_requests(bench, &fixture, first);
        fixture_close(&fixture);
        single[i] = (double)part / run_node(bench, "row", part);
        pages[i] = rows / run_node(bench, "page", bench->rows);
    }
    ok = report_rate("ledger_rows", ours, bare, FLOOR_GOAL) && ok;
    ok = report_rate("ledger_node", ours, single, NODE_GOAL) && ok;
    return report_rate("ledger_node_pages", ours, pages, PAGES_GOAL) && ok;
}

int main(int argc, char **argv)
{
    struct bench bench = {.rows = number_of("TIDEMARK_BENCH_ROWS", ROWS)};
    assert(argc == 3 && bench.rows >= SINGLE_PART);
    bench.tidemark = argv[1];
    bench.node = argv[2];
    if (child_run((const char *[]){bench.node, "bench_node", NULL}, NULL) != 0) {
        fprintf(stderr, "bench_ledger: better-sqlite3 cannot be had\n");
        return EXIT_FAILURE;
    }
    bench.server = history_server_start();
    bool ok = compare_memory(&bench);
    ok = compare_rates(&bench) && ok;
    history_server_stop(bench.server);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
