/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark owed [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "       tidemark owed retry ID [-c FILE] [--set PATH=VALUE]...\n"
    "Lists what a cursor has passed and what is still to be fetched, newest first; what is given\n"
    "up is dead. `retry` has the running daemon try one again at once, owed or dead: a document of "
    "a\n"
    "chain, or a transaction of an account, which is imported for that.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

static enum rc ask_daemon(struct target *target, int64_t id, struct err *err)
{
    struct text body = {0}, reply = {0};
    text_appendf(&body, "{\"id\":%lld}", (long long)id);
    enum rc rc = target_ask(target, "POST", "/api/admin/owed-retry", text_string(&body),
                            TARGET_SECONDS, NULL, &reply, err);
    text_free(&body);
    text_free(&reply);
    return rc;
}

static int retry(int argc, char **argv)
{
    const struct settings_flag flags[] = {{0}};
    const struct target_words words = {
        .usage = usage, .flags = flags, .words_min = 1, .words_max = 1};
    struct target target;
    struct err err;
    int64_t id;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = bytes_to_i64(bytes_of(argv[first]), &id)
                     ? target_find(&target, &err)
                     : err_set(&err, RC_REJECT, "retry takes the ID that `tidemark owed` shows");
    if (rc == RC_AGAIN)
        rc = err_set(&err, RC_REJECT, "no daemon runs that could try it: start one first");
    if (rc == RC_OK)
        rc = ask_daemon(&target, id, &err);
    if (rc == RC_OK)
        fprintf(stderr, "%s is tried again now\n", argv[first]);
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    target_free(&target);
    return code;
}

int cmd_owed(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "retry") == 0)
        return retry(argc - 1, argv + 1);
    static const struct table_column columns[] = {
        {"ID", "id", TABLE_NUMBER, 0},        {"SOURCE", "source", TABLE_TEXT, 24},
        {"STREAM", "stream", TABLE_TEXT, 24}, {"ITEM", "item", TABLE_TEXT, 40},
        {"STATE", "state", TABLE_TEXT, 0},    {"TRIES", "attempts", TABLE_NUMBER, 0},
        {"NEXT", "nextAt", TABLE_TIME, 0},    {"REASON", "reason", TABLE_TEXT, 60},
    };
    return listing_command(argc, argv, usage, "owed", columns, sizeof columns / sizeof columns[0]);
}
