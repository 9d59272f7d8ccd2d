/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/digest_text.h"
#include "cli/target.h"
#include "query/trending.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark digest [--hours N] [--limit N] [--min-shares N] [--format FORMAT] [--json]\n"
    "                       [-c FILE] [--set PATH=VALUE]...\n"
    "Writes what was shared, most shared first, as something to send.\n"
    "  --hours N         of the last N hours (24)\n"
    "  --limit N         at most N articles (20); those of one story are told together\n"
    "  --min-shares N    shared by N people or more (1)\n"
    "  --format FORMAT   text (without it), markdown or html\n"
    "  --json            the answer that it is made of\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

struct wanted {
    struct trending_request request;
    enum digest_format format;
    bool json;
    bool wrong; /* a value was none, and that was said */
};

static void take_number(struct wanted *wanted, const char *flag, const char *value, int64_t max,
                        int64_t *out)
{
    if (bytes_to_i64(bytes_of(value), out) && *out >= 1 && *out <= max)
        return;
    fprintf(stderr, "tidemark: %s takes 1 to %" PRId64 "\n", flag, max);
    wanted->wrong = true;
}

static void see_hours(void *arg, const char *value)
{
    struct wanted *wanted = arg;
    take_number(wanted, "--hours", value, TRENDING_HOURS_MAX, &wanted->request.hours);
}

static void see_limit(void *arg, const char *value)
{
    struct wanted *wanted = arg;
    take_number(wanted, "--limit", value, TRENDING_LIMIT_MAX, &wanted->request.limit);
}

static void see_min_shares(void *arg, const char *value)
{
    struct wanted *wanted = arg;
    take_number(wanted, "--min-shares", value, 1000000, &wanted->request.min_shares);
}

static void see_format(void *arg, const char *value)
{
    struct wanted *wanted = arg;
    for (int i = 0; i < DIGEST_FORMATS; i++)
        if (strcmp(value, digest_format_names[i]) == 0) {
            wanted->format = (enum digest_format)i;
            return;
        }
    fputs("tidemark: --format takes text, markdown or html\n", stderr);
    wanted->wrong = true;
}

/* The same answer from the daemon and from the store. */
static enum rc ask(struct target *target, const struct trending_request *request, struct text *out,
                   struct err *err)
{
    char path[160];
    enum rc rc = target_open(target, err);
    if (rc != RC_OK)
        return rc;
    if (target->store != NULL)
        return trending_print(target->store, &target->settings.config, request, out, err);
    snprintf(path, sizeof path,
             "/api/trending?hours=%" PRId64 "&limit=%" PRId64 "&min_shares=%" PRId64 "&stories=1",
             request->hours, request->limit, request->min_shares);
    return target_ask(target, "GET", path, NULL, TARGET_SECONDS, NULL, out, err);
}

int cmd_digest(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {.name = "hours", .seen = see_hours},
        {.name = "limit", .seen = see_limit},
        {.name = "min-shares", .seen = see_min_shares},
        {.name = "format", .seen = see_format},
        {.name = "json", .at = offsetof(struct wanted, json)},
        {0}};
    struct wanted wanted = {.request = trending_request_default(clock_wall_us())};
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &wanted};
    struct target target;
    struct text answer = {0}, out = {0};
    struct digest digest = {0};
    struct err err;
    int first, code;
    wanted.request.limit = 20;
    wanted.request.stories = 1;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    if (wanted.wrong) {
        target_free(&target);
        return EXIT_USAGE;
    }
    enum rc rc = ask(&target, &wanted.request, &answer, &err);
    if (rc == RC_OK)
        rc = target_parse(&target, &answer, &digest.answer, &err);
    digest.hours = wanted.request.hours;
    digest.now_us = clock_wall_us();
    if (rc == RC_OK && !wanted.json)
        digest_print(&digest, wanted.format, &out);
    code = rc == RC_OK ? target_put(wanted.json ? &answer : &out) : target_fail(&err);
    text_free(&answer);
    text_free(&out);
    target_free(&target);
    return code;
}
