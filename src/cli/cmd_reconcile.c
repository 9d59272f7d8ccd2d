/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/target.h"

#include <inttypes.h>
#include <stddef.h>

static const char usage[] =
    "usage: tidemark reconcile [--dry-run] [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Compares the documents that blocks name with those that are stored, and has the running\n"
    "daemon fetch at once whatever lacks: what is missing, owed or given up. With\n"
    "content.collection, stored documents that have no row there get one.\n"
    "  --dry-run         only counts\n"
    "  --json            one JSON object\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

struct choices {
    bool dry, json;
};

static int64_t number_in(struct json root, const char *key)
{
    int64_t number = 0;
    return json_i64(json_get(root, key), &number) ? number : 0;
}

static void print_words(struct json root, bool dry, struct text *out)
{
    bool more = false;
    text_appendf(out,
                 "%" PRId64 " references, %" PRId64 " of them lead to nothing; %" PRId64
                 " documents are owed, %" PRId64 " given up\n",
                 number_in(root, "references"), number_in(root, "missing"), number_in(root, "owed"),
                 number_in(root, "dead"));
    if (dry)
        text_appendf(out, "%" PRId64 " rows are missing; nothing was changed\n",
                     number_in(root, "rows"));
    else
        text_appendf(out, "%" PRId64 " are fetched again now, %" PRId64 " rows were added\n",
                     number_in(root, "queued"), number_in(root, "rows"));
    if (json_bool(json_get(root, "more"), &more) && more)
        text_appendf(out, "more than that are not tried at a time: run it again later\n");
}

int cmd_reconcile(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {.name = "dry-run", .at = offsetof(struct choices, dry)},
        {.name = "json", .at = offsetof(struct choices, json)},
        {0}};
    struct choices choices = {false, false};
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &choices};
    struct target target;
    struct text reply = {0}, out = {0};
    struct json root = {0};
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = target_demand(&target, &err);
    if (rc == RC_OK)
        rc = target_post(&target, "/api/admin/reconcile", choices.dry ? "{\"dryRun\":true}" : "{}",
                         TARGET_SECONDS_LONG, &reply, &root, &err);
    if (rc == RC_OK && !choices.json)
        print_words(root, choices.dry, &out);
    code = rc == RC_OK ? target_put(choices.json ? &reply : &out) : target_fail(&err);
    text_free(&reply);
    text_free(&out);
    target_free(&target);
    return code;
}
