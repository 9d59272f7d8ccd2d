/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/timestamp.h"
#include "cli/import_ask.h"
#include "cli/import_engine.h"
#include "cli/import_result.h"
#include "cli/live_lines.h"
#include "cli/target.h"
#include "sys/log.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark import [-c FILE] [--set PATH=VALUE]... [--provider NAME] [--since TIME]\n"
    "                       [--json] [--quiet] ACCOUNT...\n"
    "Reads the whole history of accounts (ethereum:0x..., bitcoin:bc1..., kraken) or exported "
    "files\n"
    "(csv:PATH) into the store and goes on where it was left when it is run again. "
    "bitcoin:zpub...\n"
    "(ypub, xpub) reads every address of that wallet, until ledger.gap_limit in a row are unused.\n"
    "--provider asks this one only, --since leaves out what is older and not stored yet,\n"
    "--json prints one object per account, --quiet leaves out how far it is. Ctrl-C stores what "
    "is\n"
    "under way and stops.\n"
    "Exit code: 0 complete, 1 failed, 2 wrong usage, 3 a key is missing or refused, 4 incomplete\n"
    "but can be continued, 130 interrupted.\n";

struct wanted {
    struct ledger_account_options options;
    const char *since;
    bool json, quiet;
};

static void take_provider(void *arg, const char *value)
{
    ((struct wanted *)arg)->options.only = value;
}

static void take_since(void *arg, const char *value)
{
    ((struct wanted *)arg)->since = value;
}

/* A date, or a date and a time. */
static bool read_since(struct wanted *wanted)
{
    char whole[TIMESTAMP_TEXT_MAX];
    wanted->options.since_us = -1;
    if (wanted->since == NULL)
        return true;
    snprintf(whole, sizeof whole, "%s%s", wanted->since,
             strlen(wanted->since) == 10 ? "T00:00:00Z" : "");
    return timestamp_parse(bytes_of(whole), &wanted->options.since_us);
}

/* ---- without a daemon ---- */

static void look(void *arg, struct import_engine *engine)
{
    struct import_view *view = arg;
    struct import_progress progress = {0};
    int64_t now_us = import_engine_mono(engine);
    import_view_begin(view);
    for (size_t i = 0; i < import_engine_count(engine); i++) {
        import_progress_take(&progress, import_engine_account(engine, i), now_us);
        import_view_show(view, i, &progress, now_us);
    }
    import_view_end(view);
}

static enum rc print_results(const struct config *config, const struct wanted *wanted,
                             const struct import_result *results, size_t count, struct err *err)
{
    struct store *store = NULL;
    struct text out = {0};
    enum rc rc = store_open(config->store.url, STORE_READ, &store, err);
    for (size_t i = 0; i < count && rc == RC_OK; i++)
        if (results[i].started_us > 0)
            rc = wanted->json ? import_result_json(store, &results[i], &out, err)
                              : import_result_words(store, &results[i], &out, err);
    store_close(store);
    if (rc == RC_OK && target_put(&out) != EXIT_DONE)
        rc = err_set(err, RC_RETRY, "the result could not be printed");
    text_free(&out);
    return rc;
}

static enum rc run_engine(struct import_engine *engine, const struct wanted *wanted,
                          struct import_result *results, struct err *err)
{
    struct import_view *view =
        import_view_new(live_lines_possible(), wanted->json || wanted->quiet);
    const struct import_watch watch = {look, view};
    struct import_progress progress = {0};
    enum rc rc = import_engine_run(engine, &watch, err);
    for (size_t i = 0; i < import_engine_count(engine); i++) {
        import_progress_take(&progress, import_engine_account(engine, i), 0);
        results[i] = import_result_take(&progress);
    }
    import_view_free(view);
    return rc;
}

static int run_alone(const struct config *config, const struct wanted *wanted, char **accounts,
                     int count)
{
    struct import_result results[IMPORT_ACCOUNTS_MAX] = {0};
    struct import_engine *engine;
    struct ledger_account_options options = wanted->options;
    struct err err;
    options.gap_limit = (uint32_t)config->ledger.gap_limit;
    enum rc rc = import_engine_open(config, &engine, &err);
    if (rc != RC_OK)
        return target_fail(&err);
    for (int i = 0; i < count && rc == RC_OK; i++)
        rc = import_engine_add(engine, accounts[i], &options, &err);
    if (rc != RC_OK) {
        import_engine_close(engine);
        target_fail(&err);
        return rc == RC_FATAL ? IMPORT_NO_KEY : EXIT_USAGE;
    }
    rc = import_engine_start(engine, config, &err);
    if (rc != RC_OK) {
        import_engine_close(engine);
        return target_fail(&err);
    }
    rc = run_engine(engine, wanted, results, &err);
    size_t done = import_engine_count(engine);
    bool interrupted = import_engine_interrupted(engine);
    import_engine_close(engine);
    if (rc == RC_OK)
        rc = print_results(config, wanted, results, done, &err);
    if (rc != RC_OK)
        target_fail(&err);
    int code = import_results_judge(results, done);
    import_results_free(results, done);
    if (interrupted)
        code = IMPORT_INTERRUPTED;
    if (code == IMPORT_RESUMABLE || code == IMPORT_INTERRUPTED)
        fputs("tidemark: what came is stored; run the same command again to go on from there\n",
              stderr);
    return rc != RC_OK ? EXIT_FAILED : code;
}

/* ---- with one ---- */

static int run_with_daemon(struct target *target, const struct wanted *wanted, char **accounts,
                           int count)
{
    struct import_result results[IMPORT_ACCOUNTS_MAX] = {0};
    const struct import_wish wish = {wanted->options.only, wanted->options.since_us, wanted->json,
                                     wanted->json || wanted->quiet};
    bool interrupted;
    import_ask(target, &wish, accounts, count, results, &interrupted);
    int code = import_results_judge(results, (size_t)count);
    import_results_free(results, (size_t)count);
    if (interrupted)
        fputs("tidemark: the daemon goes on with it; the same command follows it again\n", stderr);
    else if (code == IMPORT_RESUMABLE)
        fputs("tidemark: what came is stored; run the same command again to go on from there\n",
              stderr);
    return interrupted ? IMPORT_INTERRUPTED : code;
}

int cmd_import(int argc, char **argv)
{
    struct wanted wanted = {.json = false};
    const struct settings_flag flags[] = {{.name = "provider", .seen = take_provider},
                                          {.name = "since", .seen = take_since},
                                          {.name = "json", .at = offsetof(struct wanted, json)},
                                          {.name = "quiet", .at = offsetof(struct wanted, quiet)},
                                          {0}};
    const struct target_words words = {.usage = usage,
                                       .flags = flags,
                                       .arg = &wanted,
                                       .words_min = 1,
                                       .words_max = IMPORT_ACCOUNTS_MAX};
    const struct log_options quiet = {.level = LOG_ERROR};
    struct target target;
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    if (!read_since(&wanted)) {
        fprintf(stderr, "tidemark: --since takes a date or an ISO 8601 time\n");
        target_free(&target);
        return EXIT_USAGE;
    }
    enum rc rc = target_find(&target, &err);
    if (rc == RC_OK) {
        code = run_with_daemon(&target, &wanted, argv + first, argc - first);
    } else if (rc == RC_AGAIN) {
        rc = log_open(&quiet, &err);
        code = rc == RC_OK ? run_alone(&target.settings.config, &wanted, argv + first, argc - first)
                           : target_fail(&err);
        log_close();
    } else {
        code = target_fail(&err);
    }
    target_free(&target);
    return code;
}
