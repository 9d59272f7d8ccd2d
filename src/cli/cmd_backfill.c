/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/target.h"
#include "source/backfill_request.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tidemark backfill [-c FILE] [--set PATH=VALUE]... [--hours N] HANDLE|DID\n"
    "Has the posts of an account read again, N hours back (default 24), whether it is followed or\n"
    "not. A running daemon reads them when nothing more urgent is to be read; without one the "
    "request\n"
    "waits for the next, and the account must be a DID or one that is stored.\n"
    "Exit code: 0 asked for, 1 failed (also when nobody is called that), 2 wrong usage.\n";

struct wanted {
    const char *actor;
    int64_t hours;
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
    struct text body = {0}, reply = {0};
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
    enum rc rc = target_ask(target, "POST", "/api/admin/backfill", text_string(&body),
                            TARGET_SECONDS, NULL, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(target, &reply, &root, err);
    if (rc == RC_OK && !json_string(json_get(root, "did"), &did))
        rc = err_set(err, RC_RETRY, "the daemon does not say whom it reads");
    if (rc == RC_OK)
        text_append(&wanted->did, did.data, did.len);
    text_free(&body);
    text_free(&reply);
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
        rc = RC_OK;
    }
    return rc == RC_OK ? target_write(target, fill, wanted, err) : rc;
}

int cmd_backfill(int argc, char **argv)
{
    struct wanted wanted = {.hours = BACKFILL_HOURS};
    const struct settings_flag flags[] = {{"hours", true, take_hours}, {0}};
    const struct target_words words = {
        .usage = usage, .flags = flags, .arg = &wanted, .words_min = 1, .words_max = 1};
    struct target target;
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    wanted.actor = argv[first];
    if (wanted.hours < 1) {
        fprintf(stderr, "tidemark: --hours takes 1 to %d\n", BACKFILL_HOURS_MAX);
        target_free(&target);
        return EXIT_USAGE;
    }
    enum rc rc = *wanted.actor == '\0' || strlen(wanted.actor) > AT_DID_MAX
                     ? err_set(&err, RC_REJECT, "an account is a handle or a DID")
                     : target_open(&target, &err);
    if (rc == RC_OK)
        rc = target.store == NULL ? ask_daemon(&target, &wanted, &err)
                                  : write_request(&target, &wanted, &err);
    if (rc == RC_OK)
        fprintf(stderr, "%s will be read %" PRId64 " hours back\n", text_string(&wanted.did),
                wanted.hours);
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    text_free(&wanted.did);
    target_free(&target);
    return code;
}
