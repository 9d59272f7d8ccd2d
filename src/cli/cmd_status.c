/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/timestamp.h"
#include "cli/table.h"
#include "cli/target.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCH_MS 1000

static const char usage[] =
    "usage: tidemark status [--watch] [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Shows the daemon, the store, and each source: state, provider, cursor, how far it is behind,\n"
    "events per second, open gaps, owed and dead work, quarantined input.\n"
    "  --watch           draws it again every second, on a terminal, until Ctrl-C\n"
    "  --json            one JSON object; what only a running daemon knows is null without one\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

struct wanted {
    bool watch, json;
};

static void see_watch(void *arg, const char *value)
{
    (void)value;
    ((struct wanted *)arg)->watch = true;
}

static void see_json(void *arg, const char *value)
{
    (void)value;
    ((struct wanted *)arg)->json = true;
}

/* ---- words ---- */

static void append_span(struct text *out, int64_t seconds)
{
    if (seconds < 0)
        seconds = 0;
    if (seconds < 120)
        text_appendf(out, "%" PRId64 " s", seconds);
    else if (seconds < 7200)
        text_appendf(out, "%" PRId64 " min", seconds / 60);
    else if (seconds < 172800)
        text_appendf(out, "%" PRId64 " h %" PRId64 " min", seconds / 3600, seconds / 60 % 60);
    else
        text_appendf(out, "%" PRId64 " d %" PRId64 " h", seconds / 86400, seconds / 3600 % 24);
}

static void paint(struct text *out, bool color, const char *code, struct bytes words)
{
    text_appendf(out, "%s%.*s%s", color ? code : "", (int)words.len, words.data,
                 color ? "\033[0m" : "");
}

static struct bytes string_of(struct json value, const char *otherwise)
{
    struct bytes words;
    return json_string(value, &words) ? words : bytes_of(otherwise);
}

static int64_t number_of(struct json value)
{
    int64_t number;
    return json_i64(value, &number) ? number : 0;
}

/* ---- the daemon ---- */

static void append_daemon(struct json root, struct json health, bool color, struct text *out)
{
    struct json daemon = json_get(root, "daemon");
    struct bytes state = string_of(json_get(health, "status"), "not running");
    bool good = bytes_equal_string(state, "healthy");
    struct json_walk walk = json_walk(json_get(health, "reasons"));
    struct bytes key, reason;
    struct json value;
    text_appendf(out, "daemon  ");
    paint(out, color, good ? "\033[32m" : "\033[33m", state);
    if (json_type(daemon) == JSON_OBJECT) {
        text_append_string(out, ", up ");
        append_span(out, number_of(json_get(daemon, "uptime_seconds")));
        text_appendf(out, ", pid %" PRId64 "\n", number_of(json_get(daemon, "pid")));
    } else {
        struct bytes last = string_of(json_pointer(root, "/store/last_writer"), "nobody");
        text_append_string(out, " (last writer: ");
        table_tame(out, last, 0);
        text_append_string(out, ")\n");
    }
    while (json_walk_next(&walk, &key, &value)) {
        if (!json_string(value, &reason))
            continue;
        text_append_string(out, "        ! ");
        table_tame(out, reason, 0);
        text_append_char(out, '\n');
    }
}

static void append_store(struct json root, struct text *out)
{
    struct bytes kind = string_of(json_pointer(root, "/store/kind"), "?");
    text_appendf(out, "store   %.*s, schema %" PRId64 ", commit %" PRId64 ", epoch %" PRId64 "\n\n",
                 (int)kind.len, kind.data, number_of(json_pointer(root, "/store/schema")),
                 number_of(json_get(root, "commit_seq")),
                 number_of(json_pointer(root, "/store/epoch")));
}

/* ---- the sources ---- */

static const struct table_column columns[] = {
    {"SOURCE", NULL, TABLE_TEXT, 24},      {"STATE", NULL, TABLE_TEXT, 0},
    {"PROVIDER", NULL, TABLE_TEXT, 40},    {"STREAM", NULL, TABLE_TEXT, 24},
    {"CURSOR", NULL, TABLE_TEXT, 40},      {"LAG", NULL, TABLE_TEXT, 0},
    {"RATE", NULL, TABLE_NUMBER, 0},       {"GAPS", NULL, TABLE_NUMBER, 0},
    {"OWED", NULL, TABLE_NUMBER, 0},       {"DEAD", NULL, TABLE_NUMBER, 0},
    {"QUARANTINE", NULL, TABLE_NUMBER, 0},
};

static void add_text(struct table *table, struct text *cell)
{
    table_add(table, text_bytes(cell));
    text_clear(cell);
}

/* A position in time is shown as one, with its age; any other as it stands. */
static void add_cursor(struct table *table, struct json stream, int64_t now_us)
{
    struct text cell = {0};
    struct json primary = json_pointer(stream, "/cursor/primary");
    struct bytes type = string_of(json_get(primary, "type"), "");
    struct json value = json_get(primary, "value");
    char time[TIMESTAMP_TEXT_MAX];
    int64_t at_us;
    bool in_us = bytes_equal_string(type, "timeUs"), in_ms = bytes_equal_string(type, "timestamp");
    if ((in_us || in_ms) && json_i64(value, &at_us) && at_us < INT64_MAX / 1000 &&
        timestamp_format(in_us ? at_us : at_us * 1000, time)) {
        at_us = in_us ? at_us : at_us * 1000;
        text_appendf(&cell, "%.10s %.8s", time, time + 11);
        add_text(table, &cell);
        append_span(&cell, (now_us - at_us) / 1000000);
        add_text(table, &cell);
    } else {
        if (type.len > 0)
            text_appendf(&cell, "%.*s ", (int)type.len, type.data);
        if (json_type(value) == JSON_ABSENT)
            text_append_char(&cell, '-');
        else
            json_print(value, &cell);
        add_text(table, &cell);
        table_add(table, bytes_of("-"));
    }
    text_free(&cell);
}

static void add_counts(struct table *table, struct json source)
{
    static const char *const keys[] = {"gaps", "owed", "dead", "quarantine"};
    struct text cell = {0};
    double rate;
    if (json_real(json_get(source, "rate"), &rate))
        text_appendf(&cell, "%.1f/s", rate);
    else
        text_append_char(&cell, '-');
    add_text(table, &cell);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        text_appendf(&cell, "%" PRId64, number_of(json_get(source, keys[i])));
        add_text(table, &cell);
    }
    text_free(&cell);
}

static void add_source(struct table *table, struct json source, int64_t now_us)
{
    struct json streams = json_get(source, "streams");
    size_t count = json_count(streams);
    for (size_t i = 0; i == 0 || i < count; i++) {
        struct json stream = json_at(streams, i);
        bool first = i == 0;
        table_add(table, first ? string_of(json_get(source, "source"), "?") : bytes_of(""));
        table_add(table, first ? string_of(json_get(source, "state"), "-") : bytes_of(""));
        table_add(table, first ? string_of(json_get(source, "provider"), "-") : bytes_of(""));
        table_add(table, string_of(json_get(stream, "stream"), "-"));
        add_cursor(table, stream, now_us);
        if (first)
            add_counts(table, source);
        for (int k = 0; !first && k < 5; k++)
            table_add(table, bytes_of(""));
    }
}

static void append_sources(struct json root, bool color, struct text *out)
{
    struct table table;
    struct json_walk walk = json_walk(json_get(root, "sources"));
    struct bytes key, trouble;
    struct json source;
    struct text words = {0};
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    while (json_walk_next(&walk, &key, &source)) {
        add_source(&table, source, clock_wall_us());
        if (!json_string(json_get(source, "trouble"), &trouble))
            continue;
        table_tame(&words, string_of(json_get(source, "source"), "?"), 0);
        text_append_string(&words, ": ");
        table_tame(&words, trouble, 0);
        text_append_char(&words, '\n');
    }
    if (table.cell_count > 0)
        table_print(&table, true, color, out);
    else
        text_append_string(out, "no source has been followed yet\n");
    if (words.len > 0)
        text_appendf(out, "\n%s", text_string(&words));
    text_free(&words);
    table_deinit(&table);
}

/* ---- the command ---- */

static enum rc ask_health(struct target *target, struct json_doc *doc, struct json *health,
                          struct err *err)
{
    struct text reply = {0};
    int status;
    *health = (struct json){0};
    if (target->store != NULL)
        return RC_OK;
    enum rc rc = target_ask(target, "GET", "/health", NULL, TARGET_SECONDS, &status, &reply, err);
    if (rc == RC_OK)
        rc = json_parse_copy(doc, text_bytes(&reply), health, err);
    if (rc == RC_REJECT)
        err_wrap(err, rc, "the daemon's health is not JSON");
    text_free(&reply);
    return rc;
}

static enum rc draw(struct target *target, const struct wanted *wanted, bool color,
                    struct text *out, struct err *err)
{
    struct text status = {0};
    struct json root, health;
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    enum rc rc = target_open(target, err);
    if (rc == RC_OK)
        rc = target_status(target, &status, err);
    if (rc == RC_OK && !wanted->json)
        rc = ask_health(target, doc, &health, err);
    if (rc == RC_OK)
        rc = target_parse(target, &status, &root, err);
    if (rc == RC_OK && wanted->json) {
        text_append(out, status.data, status.len);
    } else if (rc == RC_OK) {
        append_daemon(root, health, color, out);
        append_store(root, out);
        append_sources(root, color, out);
    }
    text_free(&status);
    json_doc_free(doc);
    return rc;
}

static int watch(struct target *target, const struct wanted *wanted, bool color)
{
    struct text out = {0};
    struct err err;
    int code = EXIT_DONE;
    while (code == EXIT_DONE) {
        text_clear(&out);
        text_append_string(&out, "\033[H\033[2J");
        if (draw(target, wanted, color, &out, &err) != RC_OK)
            text_appendf(&out, "tidemark: %s\n", err.text);
        code = target_put(&out);
        poll(NULL, 0, WATCH_MS);
    }
    text_free(&out);
    return code;
}

int cmd_status(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {"watch", false, see_watch}, {"json", false, see_json}, {0}};
    struct wanted wanted = {0};
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &wanted};
    struct target target;
    struct text out = {0};
    struct err err;
    int first, code;
    bool terminal = isatty(STDOUT_FILENO) == 1;
    bool color = terminal && getenv("NO_COLOR") == NULL;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    if (wanted.watch && (wanted.json || !terminal)) {
        fputs("tidemark: --watch draws on a terminal; use --json for programs\n", stderr);
        code = EXIT_USAGE;
    } else if (wanted.watch) {
        code = watch(&target, &wanted, color);
    } else {
        enum rc rc = draw(&target, &wanted, color, &out, &err);
        code = rc == RC_OK ? target_put(&out) : target_fail(&err);
    }
    text_free(&out);
    target_free(&target);
    return code;
}
