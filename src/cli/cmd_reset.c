/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/connector_folder.h"
#include "cli/target.h"
#include "store/reset_record.h"
#include "sys/clock.h"
#include "sys/small_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CURSOR_FILE_MAX 64

static const char usage[] =
    "usage: tidemark reset [-c FILE] [--set PATH=VALUE]... SOURCE [STREAM]\n"
    "Forgets where a source stands, or one stream of it; what is stored stays, and what comes "
    "again\n"
    "is recognised. The source then begins as with a new store. A running daemon stops following\n"
    "it, commits what it has in hand, forgets the position, and follows it anew.\n"
    "Exit code: 0 done, 1 failed (also when no such position is stored), 2 wrong usage.\n";

struct wanted {
    const char *source, *stream; /* stream NULL: all */
};

/* An account is stored under one name, in whichever of its ways it is written here. */
static void name_source(const struct config *config, const char *source, struct text *out)
{
    size_t len = strcspn(source, ":");
    struct ledger_providers *providers = ledger_providers_new();
    struct ledger_platform *platform;
    struct text identifier = {0};
    int64_t now_us = clock_mono_us();
    if (source[len] == ':' && connector_folder_read(config, providers, now_us, NULL) == RC_OK &&
        ledger_providers_platform(providers, bytes_make(source, len), now_us, &platform, NULL) ==
            RC_OK &&
        ledger_platform_identifier(platform, bytes_of(source + len + 1), &identifier, NULL) ==
            RC_OK)
        text_appendf(out, "%.*s:%s", (int)len, source, text_string(&identifier));
    else
        text_append_string(out, source);
    text_free(&identifier);
    ledger_providers_free(providers);
}

static enum rc ask_daemon(struct target *target, const struct wanted *wanted, int64_t *cursors,
                          struct err *err)
{
    struct text body = {0};
    struct json root;
    struct json_writer writer;
    json_writer_init(&writer, &body);
    json_begin_object(&writer);
    json_key(&writer, "source");
    json_put_cstring(&writer, wanted->source);
    json_key(&writer, "stream");
    json_put_cstring(&writer, wanted->stream);
    json_end_object(&writer);
    enum rc rc = target_post(target, "/api/admin/reset", text_string(&body), TARGET_SECONDS, NULL,
                             &root, err);
    if (rc == RC_OK && !json_i64(json_get(root, "cursors"), cursors))
        rc = err_set(err, RC_RETRY, "the daemon does not say what it forgot");
    text_free(&body);
    return rc;
}

static bool fill(void *arg, struct batch *batch)
{
    const struct wanted *wanted = arg;
    return reset_record_add(batch, wanted->source, wanted->stream);
}

/* The firehose's cursor file is read when the store knows no position: what the last run left there
 * goes too. What an operator put there is where to begin, and stays. */
static enum rc forget_file(const struct config *config, int64_t position, struct err *err)
{
    const char *path = config->jetstream.cursor_file;
    struct text content = {0};
    int64_t number = 0;
    enum rc rc = RC_OK;
    if (position > 0 && *path != '\0' &&
        small_file_read(path, CURSOR_FILE_MAX, &content, NULL) == RC_OK) {
        const char *words = text_string(&content);
        if (bytes_to_i64(bytes_make(words, strcspn(words, "\r\n ")), &number) && number == position)
            rc = small_file_remove(path, err);
    }
    text_free(&content);
    return rc;
}

static enum rc reset_store(struct target *target, struct wanted *wanted, int64_t *cursors,
                           struct err *err)
{
    int64_t position = 0;
    bool firehose = strcmp(wanted->source, "jetstream") == 0;
    enum rc rc = reset_record_count(target->store, wanted->source, wanted->stream, cursors, err);
    if (rc == RC_OK && firehose)
        rc = store_query_int(target->store, "SELECT min(cursor_time_us) FROM jetstream_state", 0,
                             &position, err);
    if (rc == RC_OK)
        rc = target_write(target, fill, wanted, err);
    if (rc == RC_OK && firehose)
        rc = forget_file(&target->settings.config, position, err);
    return rc;
}

int cmd_reset(int argc, char **argv)
{
    const struct target_words words = {.usage = usage, .words_min = 1, .words_max = 2};
    struct target target;
    struct err err;
    int64_t cursors = 0;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    struct text source = {0};
    name_source(&target.settings.config, argv[first], &source);
    struct wanted wanted = {text_string(&source), first + 1 < argc ? argv[first + 1] : NULL};
    size_t longest = strlen(wanted.stream == NULL ? "" : wanted.stream);
    longest = strlen(wanted.source) > longest ? strlen(wanted.source) : longest;
    enum rc rc = RC_OK;
    if (*wanted.source == '\0' || (wanted.stream != NULL && *wanted.stream == '\0') ||
        longest > RESET_NAME_MAX)
        rc = err_set(&err, RC_REJECT, "a name has 1 to %d bytes", RESET_NAME_MAX);
    if (rc == RC_OK)
        rc = target_open(&target, &err);
    if (rc == RC_OK && target.store == NULL) {
        rc = ask_daemon(&target, &wanted, &cursors, &err);
    } else if (rc == RC_OK) {
        rc = reset_store(&target, &wanted, &cursors, &err);
    }
    if (rc == RC_OK)
        fprintf(stderr, "%" PRId64 " position%s of %s forgotten\n", cursors,
                cursors == 1 ? "" : "s", wanted.source);
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    text_free(&source);
    target_free(&target);
    return code;
}
