/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/backfill_wait.h"
#include "source/backfill_request.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_INTERRUPTED 130

static const char usage[] =
    "usage: tidemark backfill [-c FILE] [--set PATH=VALUE]... [--hours N] [--wait | --no-wait]\n"
    "                         [--quiet] HANDLE|DID\n"
    "Has the posts of an account read again, N hours back (default 24), whether it is followed or\n"
    "not. A running daemon reads them when nothing more urgent is to be read; without one the "
    "request\n"
    "waits for the next, and the account must be a DID or one that is stored.\n"
    "  --wait            until the daemon has read it, and shows how far it is; on a terminal it "
    "does\n"
    "                    so by itself. Ctrl-C ends the waiting, not the reading\n"
    "  --no-wait         ends when the request is stored\n"
    "  --quiet           nothing but what went wrong\n"
    "Exit code: 0 asked for or read, 1 failed (also when nobody is called that, or the account is\n"
    "gone), 2 wrong usage, 130 the waiting was interrupted.\n";

struct wanted {
    const char *actor;
    int64_t hours;
    bool wait, no_wait, quiet;
    bool unknown; /* nothing is stored of the account: it may be nobody's */
    struct text did;
};

static void take_hours(void *arg, const char *value)
{
    struct wanted *wanted = arg;
    if (!bytes_to_i64(bytes_of(value), &wanted->hours) || wanted->hours > BACKFILL_HOURS_MAX)
        wanted->hours = 0;
}

static enum rc ask_daemon(struct target *target, struct wanted *wanted, struct err *err)
{
    struct text body = {0};
    struct json root;
    struct bytes did;
    struct json_writer writer;
    json_writer_init(&writer, &body);
    json_begin_object(&writer);
    json_key(&writer, "actor");
    json_put_cstring(&writer, wanted->actor);
    json_key(&writer, "hours");
    json_put_i64(&writer, wanted->hours);
    json_end_object(&writer);
    enum rc rc = target_post(target, "/api/admin/backfill", text_string(&body), TARGET_SECONDS,
                             NULL, &root, err);
    if (rc == RC_OK && !json_string(json_get(root, "did"), &did))
        rc = err_set(err, RC_RETRY, "the daemon does not say whom it reads");
    if (rc == RC_OK)
        text_append(&wanted->did, did.data, did.len);
    text_free(&body);
    return rc;
}

static bool fill(void *arg, struct batch *batch)
{
    const struct wanted *wanted = arg;
    return backfill_request_add(batch, text_bytes(&wanted->did), wanted->hours, clock_wall_us()) ==
           RC_OK;
}

static enum rc write_request(struct target *target, struct wanted *wanted, struct err *err)
{
    enum rc rc = backfill_request_find(target->store, wanted->actor, &wanted->did, err);
    if (rc == RC_REJECT && strncmp(wanted->actor, "did:", 4) == 0) {
        text_append_string(&wanted->did, wanted->actor);
        wanted->unknown = true;
        rc = RC_OK;
    }
    return rc == RC_OK ? target_write(target, fill, wanted, err) : rc;
}

static void tell_hours(const struct wanted *wanted, const char *when)
{
    fprintf(stderr, "%s %s read %" PRId64 " %s back\n", text_string(&wanted->did), when,
            wanted->hours, wanted->hours == 1 ? "hour" : "hours");
}

static enum rc wait_for_it(struct target *target, struct wanted *wanted, int *code, struct err *err)
{
    struct text standing = {0};
    enum backfill_end end;
    const char *did = text_string(&wanted->did);
    enum rc rc = backfill_wait(target, did, wanted->quiet, &end, &standing, err);
    if (rc != RC_OK) {
        err_wrap(err, rc, "%s is still to be read, but nobody tells how far that is", did);
    } else if (end == BACKFILL_GONE) {
        rc = err_set(err, RC_REJECT, "%s cannot be read: the account is %s", did,
                     standing.len > 0 ? text_string(&standing) : "gone");
    } else if (end == BACKFILL_LEFT) {
        *code = EXIT_INTERRUPTED;
        fputs("tidemark: the daemon goes on with it; `tidemark status` tells how much is to be "
              "read\n",
              stderr);
    } else if (!wanted->quiet) {
        tell_hours(wanted, "was");
    }
    text_free(&standing);
    return rc;
}

static enum rc run(struct target *target, struct wanted *wanted, int *code, struct err *err)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (*wanted->actor == '\0' || strlen(wanted->actor) > AT_DID_MAX)
        return err_set(err, RC_REJECT, "an account is a handle or a DID");
    enum rc rc = target_open(target, err);
    if (rc != RC_OK)
        return rc;
    bool asked = target->store == NULL;
    rc = asked ? ask_daemon(target, wanted, err) : write_request(target, wanted, err);
    if (rc != RC_OK)
        return rc;
    if (!wanted->quiet && wanted->unknown)
        fprintf(stderr, "%s is not known here: the next daemon asks the AppView for it\n",
                text_string(&wanted->did));
    if (!wanted->quiet)
        tell_hours(wanted, wanted->unknown ? "is, if there is such an account," : "will be");
    if (wanted->wait && !asked)
        return err_set(err, RC_REJECT,
                       "no daemon runs that could be waited for: the next one "
                       "reads it");
    if (asked && (wanted->wait || (terminal && !wanted->no_wait && !wanted->quiet)))
        return wait_for_it(target, wanted, code, err);
    return RC_OK;
}

int cmd_backfill(int argc, char **argv)
{
    struct wanted wanted = {.hours = BACKFILL_HOURS};
    const struct settings_flag flags[] = {
        {.name = "hours", .seen = take_hours},
        {.name = "wait", .at = offsetof(struct wanted, wait)},
        {.name = "no-wait", .at = offsetof(struct wanted, no_wait)},
        {.name = "quiet", .at = offsetof(struct wanted, quiet)},
        {0}};
    const struct target_words words = {
        .usage = usage, .flags = flags, .arg = &wanted, .words_min = 1, .words_max = 1};
    struct target target;
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    wanted.actor = argv[first] + (argv[first][0] == '@'); /* as people write names */
    if (wanted.hours < 1 || (wanted.wait && wanted.no_wait)) {
        if (wanted.hours < 1)
            fprintf(stderr, "tidemark: --hours takes 1 to %d\n", BACKFILL_HOURS_MAX);
        else
            fputs("tidemark: --wait and --no-wait are opposites\n", stderr);
        target_free(&target);
        return EXIT_USAGE;
    }
    code = EXIT_DONE;
    if (run(&target, &wanted, &code, &err) != RC_OK)
        code = target_fail(&err);
    text_free(&wanted.did);
    target_free(&target);
    return code;
}
