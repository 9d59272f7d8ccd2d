/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"
#include "cli/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark follows [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "       tidemark follows refresh [-c FILE] [--set PATH=VALUE]...\n"
    "Lists whose posts are stored, by handle. With `refresh` a running daemon reads the lists of\n"
    "bluesky.actors anew, as it does every did_manager.refresh_interval_minutes; what changed is "
    "in\n"
    "its log and, once a list was read to its end, here.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed (refresh: also without a daemon), 2 wrong usage.\n";

static enum rc ask_daemon(struct target *target, int64_t *lists, struct err *err)
{
    struct json root;
    enum rc rc = target_post(target, "/api/admin/follows", "{}", TARGET_SECONDS, NULL, &root, err);
    if (rc == RC_OK && !json_i64(json_get(root, "lists"), lists))
        rc = err_set(err, RC_RETRY, "the daemon does not say what it reads");
    return rc;
}

/* argv[0] is the word itself. */
static int refresh(int argc, char **argv)
{
    const struct target_words words = {.usage = usage};
    struct target target;
    struct err err;
    int64_t lists = 0;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = target_open(&target, &err);
    if (rc == RC_OK && target.store != NULL)
        rc = err_set(&err, RC_REJECT, "no daemon runs that could read them: the next one does");
    if (rc == RC_OK)
        rc = ask_daemon(&target, &lists, &err);
    if (rc == RC_OK)
        fprintf(stderr, "the follows of %" PRId64 " account%s are being read\n", lists,
                lists == 1 ? "" : "s");
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    target_free(&target);
    return code;
}

int cmd_follows(int argc, char **argv)
{
    static const struct table_column columns[] = {
        {"HANDLE", "handle", TABLE_TEXT, 40},         {"NAME", "displayName", TABLE_TEXT, 30},
        {"DEGREE", "degree", TABLE_NUMBER, 0},        {"ACTIVE", "active", TABLE_TEXT, 0},
        {"READ", "backfillCompleted", TABLE_TEXT, 0}, {"DID", "did", TABLE_TEXT, 40},
    };
    if (argc > 1 && strcmp(argv[1], "refresh") == 0)
        return refresh(argc - 1, argv + 1);
    return listing_command(argc, argv, usage, "follows", columns,
                           sizeof columns / sizeof columns[0]);
}
