/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark quarantine [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "       tidemark quarantine retry|drop ID [-c FILE] [--set PATH=VALUE]...\n"
    "Lists input that could not be used, with the reason, newest first; its bytes with --json.\n"
    "`retry` has the running daemon take a message of the firehose once more, as if it came now;\n"
    "`drop` has it forget an input.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

static enum rc ask_daemon(struct target *target, const char *action, int64_t id, struct err *err)
{
    struct text body = {0}, reply = {0};
    text_appendf(&body, "{\"id\":%lld,\"action\":\"%s\"}", (long long)id, action);
    enum rc rc = target_ask(target, "POST", "/api/admin/quarantine", text_string(&body),
                            TARGET_SECONDS, NULL, &reply, err);
    text_free(&body);
    text_free(&reply);
    return rc;
}

/* `argv[0]` is the action. */
static int act(int argc, char **argv)
{
    const struct settings_flag flags[] = {{0}};
    const struct target_words words = {
        .usage = usage, .flags = flags, .words_min = 1, .words_max = 1};
    const char *action = argv[0];
    struct target target;
    struct err err;
    int64_t id;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc =
        bytes_to_i64(bytes_of(argv[first]), &id)
            ? target_find(&target, &err)
            : err_set(&err, RC_REJECT, "%s takes the ID that `tidemark quarantine` shows", action);
    if (rc == RC_AGAIN)
        rc = err_set(&err, RC_REJECT, "no daemon runs that could do it: start one first");
    if (rc == RC_OK)
        rc = ask_daemon(&target, action, id, &err);
    if (rc == RC_OK)
        fprintf(stderr, "%s %s\n", argv[first],
                strcmp(action, "retry") == 0 ? "was taken and is out of quarantine" : "is dropped");
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    target_free(&target);
    return code;
}

int cmd_quarantine(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "retry") == 0 || strcmp(argv[1], "drop") == 0))
        return act(argc - 1, argv + 1);
    static const struct table_column columns[] = {
        {"ID", "id", TABLE_NUMBER, 0},
        {"SOURCE", "source", TABLE_TEXT, 24},
        {"PROVIDER", "provider", TABLE_TEXT, 32},
        {"AT", "at", TABLE_TIME, 0},
        {"TIMES", "times", TABLE_NUMBER, 0},
        {"BYTES", "size", TABLE_NUMBER, 0},
        {"REASON", "reason", TABLE_TEXT, 60},
    };
    return listing_command(argc, argv, usage, "quarantine", columns,
                           sizeof columns / sizeof columns[0]);
}
