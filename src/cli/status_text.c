/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_text.h"

#include "base/timestamp.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "query/covered.h"
#include "sys/clock.h"

#include <inttypes.h>

/* ---- words ---- */

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
        progress_append_span(out, number_of(json_get(daemon, "uptime_seconds")));
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

static void append_size(struct text *out, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes / 1024;
    size_t unit = 0;
    for (; size >= 1024 && unit < 3; unit++)
        size /= 1024;
    text_appendf(out, "%.1f %s", size, units[unit]);
}

static void append_store(struct json root, struct text *out)
{
    struct bytes kind = string_of(json_pointer(root, "/store/kind"), "?");
    text_appendf(out, "store   %.*s, ", (int)kind.len, kind.data);
    append_size(out, number_of(json_pointer(root, "/store/bytes")));
    text_appendf(out, ", schema %" PRId64 ", commit %" PRId64 ", epoch %" PRId64 "\n",
                 number_of(json_pointer(root, "/store/schema")),
                 number_of(json_get(root, "commit_seq")),
                 number_of(json_pointer(root, "/store/epoch")));
}

/* ---- what is under way ---- */

static void append_writer(struct json root, struct text *out)
{
    struct json latency = json_pointer(root, "/progress/commit_seconds");
    char usual[TIMESTAMP_TEXT_MAX], late[TIMESTAMP_TEXT_MAX];
    double p50 = 0, p95 = 0;
    bool writing = true;
    (void)json_bool(json_pointer(root, "/daemon/writing"), &writing);
    text_appendf(out, "writer  %s, %" PRId64 " batches wait", writing ? "writing" : "CANNOT WRITE",
                 number_of(json_pointer(root, "/daemon/queued")));
    if (json_real(json_get(latency, "p50"), &p50) && json_real(json_get(latency, "p95"), &p95)) {
        timestamp_format_wait(p50, usual);
        timestamp_format_wait(p95, late);
        text_appendf(out, "; from arrival to stored: typically %s, 95 %% within %s", usual, late);
    }
    text_append_char(out, '\n');
}

static void append_documents(struct json documents, struct text *out)
{
    struct json block = json_get(documents, "block"), head = json_get(documents, "head");
    text_append_string(out, "content ");
    if (json_type(block) == JSON_NULL)
        text_append_string(out, "no block");
    else
        text_appendf(out, "block %" PRId64, number_of(block));
    if (json_type(head) == JSON_NULL)
        text_append_string(out, ", the head is not known");
    else
        text_appendf(out, " of %" PRId64, number_of(head));
    text_appendf(
        out, "; %" PRId64 " wait, %" PRId64 " fetched now, %" PRId64 " stored, %" PRId64 " owed\n",
        number_of(json_get(documents, "waiting")), number_of(json_get(documents, "fetching")),
        number_of(json_get(documents, "stored")), number_of(json_get(documents, "owed")));
}

static void append_imports(struct json imports, struct text *out)
{
    char date[TIMESTAMP_TEXT_MAX];
    int64_t oldest_us;
    text_appendf(out,
                 "imports %" PRId64 " accounts, %" PRId64 " complete, %" PRId64 " running, %" PRId64
                 " failing",
                 number_of(json_get(imports, "accounts")), number_of(json_get(imports, "complete")),
                 number_of(json_get(imports, "running")), number_of(json_get(imports, "failing")));
    if (json_i64(json_get(imports, "oldest_success_us"), &oldest_us) &&
        timestamp_format(oldest_us, date))
        text_appendf(out, "; the oldest success is of %.16sZ", date);
    text_append_char(out, '\n');
}

static void append_backfill(struct json backfill, int64_t queued, int64_t done, struct text *out)
{
    int64_t per_minute = number_of(json_get(backfill, "per_minute"));
    text_appendf(out, "history %" PRId64 " to read, %" PRId64 " being read, %" PRId64 " read",
                 queued, number_of(json_get(backfill, "running")), done);
    if (queued > 0 && per_minute > 0) {
        text_appendf(out, "; %" PRId64 " a minute, ", per_minute);
        progress_append_span(out, queued * 60 / per_minute);
        text_append_string(out, " left");
    }
    text_append_char(out, '\n');
}

/* Only what somebody asked for has a line. */
static void append_progress(struct json root, struct text *out)
{
    struct json backfill = json_pointer(root, "/progress/backfill"),
                imports = json_pointer(root, "/progress/imports"),
                documents = json_pointer(root, "/progress/documents");
    int64_t queued = number_of(json_get(backfill, "queued")),
            done = number_of(json_get(backfill, "completed")),
            accounts = number_of(json_get(imports, "accounts")),
            running = number_of(json_get(imports, "running"));
    append_writer(root, out);
    if (queued > 0 || done > 0)
        append_backfill(backfill, queued, done, out);
    if (accounts > 0 || running > 0)
        append_imports(imports, out);
    if (json_type(documents) == JSON_OBJECT)
        append_documents(documents, out);
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

/* Of people who are read one by one the place is what each said last: nobody is behind who says
 * nothing. */
static bool is_of_people(struct json source)
{
    return bytes_equal_string(string_of(json_get(source, "source"), ""), "feed");
}

/* How far a stream is behind: of what comes live the daemon knows it, else a place in time has an
 * age; below 0: it is none. */
static void add_lag(struct table *table, struct json source, int64_t age_us)
{
    struct text cell = {0};
    double seconds;
    if (json_real(json_get(source, "lag_seconds"), &seconds))
        progress_append_span(&cell, (int64_t)seconds);
    else if (age_us >= 0)
        progress_append_span(&cell, age_us / 1000000);
    else
        text_append_char(&cell, '-');
    add_text(table, &cell);
    text_free(&cell);
}

/* A position in time is shown as one, with how far it is behind; any other as it stands. */
static void add_cursor(struct table *table, struct json source, struct json stream, int64_t now_us)
{
    struct text cell = {0};
    struct json primary = json_pointer(stream, "/cursor/primary");
    struct bytes type = string_of(json_get(primary, "type"), "");
    struct json value = json_get(primary, "value");
    char time[TIMESTAMP_TEXT_MAX];
    int64_t at_us;
    bool in_us = bytes_equal_string(type, "timeUs"), in_ms = bytes_equal_string(type, "timestamp");
    bool in_time = (in_us || in_ms) && json_i64(value, &at_us);
    if (in_time && at_us == 0) { /* before the first of anything */
        table_add(table, bytes_of("nothing yet"));
        table_add(table, bytes_of("-"));
    } else if (in_time && at_us < INT64_MAX / 1000 &&
               timestamp_format(in_us ? at_us : at_us * 1000, time)) {
        at_us = in_us ? at_us : at_us * 1000;
        text_appendf(&cell, "%.10s %.8s", time, time + 11);
        add_text(table, &cell);
        int64_t age_us = now_us < at_us ? 0 : now_us - at_us;
        add_lag(table, source, is_of_people(source) ? -1 : age_us);
    } else {
        if (type.len > 0)
            text_appendf(&cell, "%.*s ", (int)type.len, type.data);
        if (json_type(value) == JSON_ABSENT)
            text_append_char(&cell, '-');
        else
            json_print(value, &cell);
        add_text(table, &cell);
        add_lag(table, source, -1);
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

static void add_empty(struct table *table, int cells)
{
    for (int i = 0; i < cells; i++)
        table_add(table, bytes_of(""));
}

static void begin_source(struct table *table, struct json source)
{
    table_add(table, string_of(json_get(source, "source"), "?"));
    table_add(table, string_of(json_get(source, "state"), "-"));
    table_add(table, string_of(json_get(source, "provider"), "-"));
}

/* Instead of so many streams. */
static void add_number(struct table *table, int64_t number, const char *what)
{
    struct text cell = {0};
    text_appendf(&cell, "%" PRId64 " %s", number, what);
    add_text(table, &cell);
    text_free(&cell);
}

static void add_people(struct table *table, struct json source, int64_t count)
{
    begin_source(table, source);
    add_number(table, count, "accounts");
    table_add(table, bytes_of("-"));
    add_lag(table, source, -1);
    add_counts(table, source);
}

static void add_source(struct table *table, struct json source, int64_t now_us)
{
    struct json streams = json_get(source, "streams");
    size_t count = json_count(streams);
    int64_t more = number_of(json_get(source, "more_streams"));
    if (is_of_people(source) && count > 1) {
        add_people(table, source, (int64_t)count + more);
        return;
    }
    for (size_t i = 0; i == 0 || i < count; i++) {
        struct json stream = json_at(streams, i);
        if (i == 0)
            begin_source(table, source);
        else
            add_empty(table, 3);
        table_add(table, string_of(json_get(stream, "stream"), "-"));
        add_cursor(table, source, stream, now_us);
        if (i == 0)
            add_counts(table, source);
        else
            add_empty(table, 5);
    }
    if (more > 0) {
        add_empty(table, 3);
        add_number(table, more, "more");
        add_empty(table, 7);
    }
}

static void append_sources(struct json root, bool color, struct text *out)
{
    struct table table;
    struct json sources = json_get(root, "sources");
    struct bytes trouble;
    struct text words = {0};
    size_t count = json_count(sources);
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    /* A frame may be cut: what runs comes first. */
    for (size_t i = 0; i < 2 * count; i++) {
        struct json source = json_at(sources, i < count ? i : i - count);
        if ((json_type(json_get(source, "state")) == JSON_STRING) != (i < count))
            continue;
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

/* ---- how much of the histories is stored ---- */

#define PARTS_SHOWN 4

static const struct table_column covered_columns[] = {{"HISTORY", NULL, TABLE_TEXT, 40},
                                                      {"STREAM", NULL, TABLE_TEXT, 24},
                                                      {"COVERED", NULL, TABLE_TEXT, 0},
                                                      {"NOT READ", NULL, TABLE_TEXT, 0}};

static int64_t position_of(struct json value)
{
    struct bytes time;
    int64_t position = 0;
    if (!json_i64(value, &position) && json_string(value, &time) &&
        !timestamp_parse(time, &position))
        position = 0;
    return position;
}

static void add_parts(struct table *table, struct json parts)
{
    struct text cell = {0};
    size_t count = json_count(parts);
    for (size_t i = 0; i < count && i < PARTS_SHOWN; i++) {
        const struct covered_part part = {position_of(json_get(json_at(parts, i), "from")),
                                          position_of(json_get(json_at(parts, i), "to"))};
        text_append_string(&cell, i > 0 ? ", " : "");
        covered_say(&cell, &part);
    }
    if (count > PARTS_SHOWN)
        text_appendf(&cell, " and %zu more", count - PARTS_SHOWN);
    if (count == 0)
        text_append_char(&cell, '-');
    add_text(table, &cell);
    text_free(&cell);
}

/* Only what is read to be complete has any. */
static void append_covered(struct json root, bool color, struct text *out)
{
    struct table table;
    struct json_walk sources = json_walk(json_get(root, "sources")), streams;
    struct bytes key;
    struct json source, stream;
    table_init(&table, covered_columns, sizeof covered_columns / sizeof covered_columns[0]);
    while (json_walk_next(&sources, &key, &source)) {
        streams = json_walk(json_get(source, "streams"));
        while (json_walk_next(&streams, &key, &stream)) {
            if (json_count(json_get(stream, "covered")) == 0)
                continue;
            table_add(&table, string_of(json_get(source, "source"), "?"));
            table_add(&table, string_of(json_get(stream, "stream"), "-"));
            add_parts(&table, json_get(stream, "covered"));
            add_parts(&table, json_get(stream, "missing"));
        }
    }
    if (table.cell_count > 0) {
        text_append_char(out, '\n');
        table_print(&table, true, color, out);
    }
    table_deinit(&table);
}

void status_text(struct json status, struct json health, bool color, struct text *out)
{
    append_daemon(status, health, color, out);
    append_store(status, out);
    if (json_type(json_get(status, "progress")) == JSON_OBJECT)
        append_progress(status, out);
    text_append_char(out, '\n');
    append_sources(status, color, out);
    append_covered(status, color, out);
}
