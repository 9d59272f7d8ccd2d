/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/timestamp.h"
#include "cli/import_ask.h"
#include "cli/import_engine.h"
#include "cli/import_result.h"
#include "cli/import_view.h"
#include "cli/target.h"
#include "sys/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_KEY = 3, EXIT_RESUMABLE = 4, EXIT_INTERRUPTED = 130 };

static const char usage[] =
    "usage: tidemark import [-c FILE] [--set PATH=VALUE]... [--provider NAME] [--since TIME]\n"
    "                       [--json] ACCOUNT...\n"
    "Reads the whole history of accounts (ethereum:0x..., bitcoin:bc1..., kraken) or exported "
    "files\n"
    "(csv:PATH) into the store and goes on where it was left when it is run again. "
    "bitcoin:zpub...\n"
    "(ypub, xpub) reads every address of that wallet, until ledger.gap_limit in a row are unused.\n"
    "--provider asks this one only, --since leaves out what is older and not stored yet,\n"
    "--json prints one object per account. Ctrl-C stores what is under way and stops.\n"
    "Exit code: 0 complete, 1 failed, 2 wrong usage, 3 a key is missing or refused, 4 incomplete\n"
    "but can be continued, 130 interrupted.\n";

struct wanted {
    struct ledger_account_options options;
    const char *since;
    bool json;
};

static void take_provider(void *arg, const char *value)
{
    ((struct wanted *)arg)->options.only = value;
}

static void take_since(void *arg, const char *value)
{
    ((struct wanted *)arg)->since = value;
}

static void take_json(void *arg, const char *value)
{
    (void)value;
    ((struct wanted *)arg)->json = true;
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

/* ---- results ---- */

static void take_results(const struct import_engine *engine, struct import_result *results)
{
    for (size_t i = 0; i < import_engine_count(engine); i++) {
        struct ledger_account_view view;
        ledger_account_look(import_engine_account(engine, i), &view);
        results[i] = (struct import_result){.account = memory_copy_string(view.name),
                                            .started_us = view.started_us,
                                            .outcome = view.outcome,
                                            .trouble = memory_copy_string(view.trouble)};
        for (size_t k = 0; k < view.stream_count; k++) {
            struct ledger_stream_view stream;
            ledger_account_look_stream(import_engine_account(engine, i), k, &stream);
            results[i].orphaned += stream.orphaned;
            results[i].refused += stream.refused;
        }
    }
}

static int code_of(enum ledger_outcome outcome)
{
    static const int codes[] = {
        [LEDGER_UNDECIDED] = EXIT_RESUMABLE,  [LEDGER_COMPLETE] = EXIT_DONE,
        [LEDGER_INCOMPLETE] = EXIT_RESUMABLE, [LEDGER_UNAUTHORIZED] = EXIT_KEY,
        [LEDGER_FAILED] = EXIT_FAILED,        [LEDGER_STOPPED] = EXIT_RESUMABLE};
    return codes[outcome];
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

/* The worst of them; the first reason of each is said. */
static int judge(struct import_result *results, size_t count, bool interrupted)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        int its = code_of(results[i].outcome);
        if (results[i].trouble != NULL && results[i].trouble[0] != '\0')
            fprintf(stderr, "tidemark: %s: %s\n", results[i].account, results[i].trouble);
        if (its == EXIT_FAILED || code == EXIT_DONE || (its == EXIT_KEY && code == EXIT_RESUMABLE))
            code = its != EXIT_DONE ? its : code;
        free(results[i].account);
        free(results[i].trouble);
    }
    if (interrupted)
        code = EXIT_INTERRUPTED;
    if (code == EXIT_RESUMABLE || code == EXIT_INTERRUPTED)
        fputs("tidemark: what came is stored; run the same command again to go on from there\n",
              stderr);
    return code;
}

/* ---- without a daemon ---- */

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
        return rc == RC_FATAL ? EXIT_KEY : EXIT_USAGE;
    }
    struct import_view *view = import_view_new(isatty(STDERR_FILENO), wanted->json);
    const struct import_watch watch = {import_view_look, view};
    rc = import_engine_run(engine, &watch, &err);
    size_t done = import_engine_count(engine);
    bool interrupted = import_engine_interrupted(engine);
    take_results(engine, results);
    import_engine_close(engine);
    import_view_free(view);
    if (rc != RC_OK)
        target_fail(&err);
    else if (print_results(config, wanted, results, done, &err) != RC_OK)
        target_fail(&err);
    int code = judge(results, done, interrupted);
    return rc != RC_OK ? EXIT_FAILED : code;
}

/* ---- with one ---- */

static int run_with_daemon(struct target *target, const struct wanted *wanted, char **accounts,
                           int count)
{
    int code = EXIT_DONE;
    for (int i = 0; i < count; i++) {
        const struct import_wish wish = {accounts[i], wanted->options.only, wanted->since,
                                         wanted->json};
        char status[16] = "";
        struct err err;
        enum rc rc = strncmp(accounts[i], "csv:", 4) == 0
                         ? err_set(&err, RC_REJECT,
                                   "%s: a daemon runs; files are read when none does", accounts[i])
                         : import_ask(target, &wish, status, &err);
        if (rc != RC_OK)
            code = target_fail(&err);
        else if (strcmp(status, "completed") != 0 && code == EXIT_DONE)
            code = EXIT_RESUMABLE;
    }
    return code;
}

int cmd_import(int argc, char **argv)
{
    struct wanted wanted = {.json = false};
    const struct settings_flag flags[] = {{"provider", true, take_provider},
                                          {"since", true, take_since},
                                          {"json", false, take_json},
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
