/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include "cli/socket_client.h"
#include "sys/small_file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUERY_US_MAX (INT64_C(1000000) * DOCTOR_SECONDS)
#define WAL_WARN     (INT64_C(256) << 20) /* some times what is moved at once */
#define MIB          1048576.0
#define HEALTH_PATH  "/health" /* where trouble has a status of its own */
#define SQLITE       "sqlite:"

static const char writable_postgres[] =
    "SELECT CASE WHEN pg_is_in_recovery() THEN 0 "
    "WHEN has_table_privilege('engine', 'UPDATE') THEN 1 ELSE 2 END";

/* NULL: no file. */
static const char *file_of(const struct config *config)
{
    const char *url = config->store.url;
    if (strncmp(url, SQLITE, strlen(SQLITE)) != 0)
        return NULL;
    url += strlen(SQLITE);
    return strncmp(url, "//", 2) == 0 ? url + 2 : url;
}

/* ---- what status tells ---- */

static void note_time(struct json place, struct doctor_clues *clues)
{
    int64_t at_us;
    if (bytes_equal_string(json_string_or_absent(json_get(place, "type")), "timeUs") &&
        json_i64(json_get(place, "value"), &at_us) && at_us > clues->newest_event_us)
        clues->newest_event_us = at_us;
}

/* The newer wire goes by numbers, and has the time beside them. */
static void note_newest(struct json root, struct doctor_clues *clues)
{
    struct json sources = json_get(root, "sources");
    for (size_t i = 0; i < json_count(sources); i++) {
        struct json streams = json_get(json_at(sources, i), "streams");
        for (size_t k = 0; k < json_count(streams); k++) {
            struct json cursor = json_get(json_at(streams, k), "cursor");
            struct json others = json_get(cursor, "alternatives");
            note_time(json_get(cursor, "primary"), clues);
            for (size_t n = 0; n < json_count(others); n++)
                note_time(json_at(others, n), clues);
        }
    }
}

static void say_store(struct json root, const char *from, struct doctor_report *report)
{
    struct bytes kind = json_string_or_absent(json_pointer(root, "/store/kind"));
    int64_t schema = 0, commits = 0;
    (void)json_i64(json_pointer(root, "/store/schema"), &schema);
    (void)json_i64(json_get(root, "commit_seq"), &commits);
    doctor_say(report, DOCTOR_OK, "store", NULL,
               "%.*s, schema %" PRId64 ", %" PRId64 " commits; %s", (int)kind.len, kind.data,
               schema, commits, from);
}

/* ---- a running daemon ---- */

static enum rc ask_daemon(struct target *target, const char *path, struct json *root,
                          struct err *err)
{
    const struct socket_question question = {"GET", path, NULL, DOCTOR_SECONDS};
    struct socket_answer answer = {0};
    enum rc rc = socket_ask(text_string(&target->socket), &question, &answer, err);
    if (rc == RC_OK && answer.status != 200 && strcmp(path, HEALTH_PATH) != 0)
        rc = err_set(err, RC_RETRY, "the daemon answers %s with status %d", path, answer.status);
    if (rc == RC_OK)
        rc = target_parse(target, &answer.body, root, err);
    text_free(&answer.body);
    return rc;
}

static void say_health(struct json health, struct doctor_report *report)
{
    struct json reasons = json_get(health, "reasons");
    if (bytes_equal_string(json_string_or_absent(json_get(health, "status")), "healthy"))
        doctor_say(report, DOCTOR_OK, "daemon", NULL, "runs and is healthy");
    for (size_t i = 0; i < json_count(reasons); i++) {
        struct bytes reason = json_string_or_absent(json_at(reasons, i));
        doctor_say(report, DOCTOR_WARN, "daemon", NULL, "%.*s", (int)reason.len, reason.data);
    }
}

static void check_running(struct target *target, struct doctor_clues *clues,
                          struct doctor_report *report)
{
    struct json root;
    struct err err;
    if (ask_daemon(target, HEALTH_PATH, &root, &err) != RC_OK) {
        doctor_say(report, DOCTOR_FAIL, "daemon", "See its log; a restart recovers", "%s",
                   err.text);
        return;
    }
    say_health(root, report);
    if (ask_daemon(target, "/api/status", &root, &err) != RC_OK) {
        doctor_say(report, DOCTOR_FAIL, "store", "See the daemon's log", "%s", err.text);
        return;
    }
    say_store(root, "the daemon has it open", report);
    note_newest(root, clues);
}

/* ---- a store nobody has open ---- */

static void check_writable(struct target *target, struct doctor_report *report)
{
    static const char *const why[] = {"the server is a standby", NULL,
                                      "this user may not change the tables"};
    const char *file = file_of(&target->settings.config);
    int64_t state = 1;
    struct err err;
    if (file != NULL && access(file, W_OK) != 0) {
        doctor_say(report, DOCTOR_FAIL, "store", "Give it to the user that tidemark runs as",
                   "%s cannot be written by user %u", file, (unsigned)geteuid());
    } else if (file == NULL &&
               store_query_int(target->store, writable_postgres, 1, &state, &err) != RC_OK) {
        doctor_say(report, DOCTOR_FAIL, "store", NULL, "%s", err.text);
    } else if (state != 1) {
        doctor_say(report, DOCTOR_FAIL, "store", "Correct store.url, or the grants of its user",
                   "it cannot be written: %s", why[state]);
    }
}

static void check_stored(struct target *target, struct doctor_clues *clues,
                         struct doctor_report *report)
{
    struct text status = {0};
    struct json root;
    struct err err;
    store_limit_queries(target->store, QUERY_US_MAX);
    enum rc rc = target_status(target, &status, &err);
    if (rc == RC_OK)
        rc = target_parse(target, &status, &root, &err);
    if (rc == RC_OK) {
        say_store(root, "no daemon has it open", report);
        note_newest(root, clues);
        check_writable(target, report);
    } else {
        doctor_say(report, DOCTOR_FAIL, "store", NULL, "%s", err.text);
    }
    text_free(&status);
}

static void check_log(const char *file, struct doctor_report *report)
{
    struct text path = {0};
    struct stat about;
    text_appendf(&path, "%s-wal", file);
    if (stat(text_string(&path), &about) != 0)
        about.st_size = 0;
    bool large = about.st_size > WAL_WARN;
    doctor_say(report, large ? DOCTOR_WARN : DOCTOR_OK, "write-ahead log",
               large ? "See who reads the file for long; a restart of the daemon empties the log"
                     : NULL,
               "%.1f MiB", (double)about.st_size / MIB);
    text_free(&path);
}

/* A server that does not answer is not waited for longer than any other. */
static void be_brief(struct config *config, struct text *url)
{
    if (file_of(config) != NULL)
        return;
    text_appendf(url, "%s%cconnect_timeout=%d", config->store.url,
                 strchr(config->store.url, '?') == NULL ? '?' : '&', DOCTOR_SECONDS);
    config->store.url = text_string(url);
}

/* Whether a server answers and nobody has made tables there yet. */
static bool is_bare(const struct config *config)
{
    struct store *store = NULL;
    struct err err;
    int64_t bare = 0;
    if (file_of(config) != NULL || store_open(config->store.url, STORE_READ, &store, &err) != RC_OK)
        return false;
    store_limit_queries(store, QUERY_US_MAX);
    enum rc rc = store_query_int(
        store, "SELECT CASE WHEN to_regclass('schema_migrations') IS NULL THEN 1 ELSE 0 END", 0,
        &bare, &err);
    store_close(store);
    return rc == RC_OK && bare == 1;
}

void doctor_check_store(struct target *target, struct doctor_clues *clues,
                        struct doctor_report *report)
{
    static const char unanswered[] = "Correct store.url, or see why the server does not answer";
    struct config *config = &target->settings.config;
    const char *file = file_of(config), *given = config->store.url;
    struct text brief = {0};
    struct err err;
    enum rc rc = target_find(target, &err);
    be_brief(config, &brief);
    if (rc == RC_OK) {
        check_running(target, clues, report);
    } else if (rc != RC_AGAIN) {
        doctor_say(report, DOCTOR_FAIL, "daemon",
                   target->foreign ? NULL : "Run this as the daemon's user", "%s", err.text);
    } else if (file != NULL && !small_file_exists(file)) {
        doctor_say(report, DOCTOR_WARN, "store", "`tidemark run` or `tidemark migrate` makes it",
                   "there is none at %s", file);
    } else if (is_bare(config)) {
        doctor_say(report, DOCTOR_WARN, "store", "`tidemark run` or `tidemark migrate` makes them",
                   "the database has no tables yet");
    } else if ((rc = target_open(target, &err)) != RC_OK) {
        doctor_say(report, DOCTOR_FAIL, "store", rc == RC_RETRY ? unanswered : NULL, "%s",
                   err.text);
    } else if (target->store == NULL) { /* it started just now */
        check_running(target, clues, report);
    } else {
        check_stored(target, clues, report);
    }
    if (file != NULL && small_file_exists(file))
        check_log(file, report);
    store_close(target->store);
    target->store = NULL;
    config->store.url = given;
    text_free(&brief);
}
