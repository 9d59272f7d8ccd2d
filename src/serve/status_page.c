/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/status_page.h"

#include "base/timestamp.h"
#include "serve/page_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX   200
#define MIB         1048576.0
#define STREAMS_MAX 20 /* of a source that are listed */

/* ---- pieces ---- */

static int64_t number_in(struct json object, const char *key)
{
    int64_t number = 0;
    (void)json_i64(json_get(object, key), &number);
    return number;
}

static struct bytes words_in(struct json object, const char *key)
{
    return json_string_or_absent(json_get(object, key));
}

static void begin_section(struct markup *page, const char *id, const char *title)
{
    markup_begin_class(page, "section", "panel");
    markup_attr_string(page, "id", id);
    markup_leaf(page, "h2", title);
}

/* A head that begins with # is of numbers. */
static void begin_table(struct markup *page, const char *caption, const char *const *heads,
                        size_t count)
{
    markup_begin_class(page, "div", "wide");
    markup_attr_string(page, "tabindex", "0");
    markup_attr_string(page, "role", "region");
    markup_attr_string(page, "aria-label", caption);
    markup_begin(page, "table");
    markup_begin(page, "thead");
    markup_begin(page, "tr");
    for (size_t i = 0; i < count; i++) {
        bool number = heads[i][0] == '#';
        markup_begin_class(page, "th", number ? "number" : "label");
        markup_attr_string(page, "scope", "col");
        markup_string(page, heads[i] + number);
        markup_end(page, "th");
    }
    markup_end(page, "tr");
    markup_end(page, "thead");
    markup_begin(page, "tbody");
}

static void end_table(struct markup *page)
{
    markup_end(page, "tbody");
    markup_end(page, "table");
    markup_end(page, "div");
}

static void put_words(struct markup *page, struct bytes words)
{
    markup_begin(page, "td");
    if (words.len > 0)
        markup_stranger(page, words, WORDS_MAX);
    else
        markup_string(page, "\xe2\x80\x93");
    markup_end(page, "td");
}

static void put_number(struct markup *page, int64_t number, bool bad)
{
    markup_begin_class(page, "td", bad && number > 0 ? "number bad" : "number");
    markup_textf(page, "%" PRId64, number);
    markup_end(page, "td");
}

static void put_fact(struct markup *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_fact(struct markup *page, const char *name, const char *format, ...)
{
    struct text words = {0};
    va_list args;
    va_start(args, format);
    text_vappendf(&words, format, args);
    va_end(args);
    markup_begin(page, "div");
    markup_leaf(page, "dt", name);
    markup_begin(page, "dd");
    markup_text(page, text_bytes(&words));
    markup_end(page, "dd");
    markup_end(page, "div");
    text_free(&words);
}

static void append_span(char *out, size_t size, int64_t seconds)
{
    if (seconds < 120)
        snprintf(out, size, "%" PRId64 " s", seconds);
    else if (seconds < 7200)
        snprintf(out, size, "%" PRId64 " min", seconds / 60);
    else
        snprintf(out, size, "%" PRId64 " h %" PRId64 " min", seconds / 3600, seconds / 60 % 60);
}

/* ---- the daemon ---- */

static void put_health(struct markup *page, const struct health_view *health)
{
    bool good = health_is_good(health);
    markup_begin_class(page, "p", good ? "standing good" : "standing");
    markup_attr_string(page, "role", "status");
    markup_string(page, good ? "Everything is well." : "Not everything is well:");
    markup_end(page, "p");
    if (good)
        return;
    markup_begin_class(page, "ul", "reasons");
    for (size_t i = 0; i < health->reason_count; i++) {
        markup_begin(page, "li");
        markup_stranger(page, bytes_of(health->reasons[i]), HEALTH_REASON_TEXT_MAX);
        markup_end(page, "li");
    }
    markup_end(page, "ul");
}

static void put_daemon(struct markup *page, const struct status_page *status)
{
    struct json daemon = json_get(status->status, "daemon"),
                store = json_get(status->status, "store");
    struct bytes kind = words_in(store, "kind");
    char span[48];
    append_span(span, sizeof span, number_in(daemon, "uptime_seconds"));
    begin_section(page, "daemon", "Daemon");
    markup_begin_class(page, "dl", "facts");
    put_fact(page, "Up for", "%s", span);
    put_fact(page, "Process", "%" PRId64, number_in(daemon, "pid"));
    put_fact(page, "Store", "%.*s, schema %" PRId64, (int)kind.len, kind.data,
             number_in(store, "schema"));
    put_fact(page, "Commits", "%" PRId64, number_in(status->status, "commit_seq"));
    put_fact(page, "Epoch", "%" PRId64, number_in(store, "epoch"));
    put_fact(page, "Batches waiting", "%" PRId64, number_in(daemon, "queued"));
    put_fact(page, "Accounts followed", "%" PRId64, status->health->follows_count);
    markup_end(page, "dl");
    markup_end(page, "section");
}

/* ---- what is under way ---- */

/* A bar says how much of all is done; of nothing there is no bar. */
static void put_bar(struct markup *page, const char *name, int64_t done, int64_t all)
{
    struct text number = {0};
    if (done < 0 || all <= 0)
        return;
    markup_begin(page, "progress");
    markup_attr_string(page, "aria-label", name);
    text_append_i64(&number, all);
    markup_attr_string(page, "max", text_string(&number));
    text_clear(&number);
    text_append_i64(&number, done);
    markup_attr_string(page, "value", text_string(&number));
    markup_end(page, "progress");
    text_free(&number);
}

static double real_in(struct json object, const char *key)
{
    double number = 0;
    (void)json_real(json_get(object, key), &number);
    return number;
}

static void put_documents(struct markup *page, struct json documents)
{
    int64_t head = number_in(documents, "head"), block = number_in(documents, "block");
    put_fact(page, "Chain", "block %" PRId64 " of %" PRId64, block, head);
    put_fact(page, "Documents",
             "%" PRId64 " waiting, %" PRId64 " being fetched, %" PRId64 " stored, %" PRId64 " owed",
             number_in(documents, "waiting"), number_in(documents, "fetching"),
             number_in(documents, "stored"), number_in(documents, "owed"));
}

static void put_work(struct markup *page, struct json work)
{
    struct json latency = json_get(work, "commit_seconds"), backfill = json_get(work, "backfill"),
                imports = json_get(work, "imports"), documents = json_get(work, "documents");
    put_fact(page, "Stored after", "%.1f ms half, %.1f ms 95 %%, %.1f ms 99 %% of events",
             real_in(latency, "p50") * 1000, real_in(latency, "p95") * 1000,
             real_in(latency, "p99") * 1000);
    put_fact(page, "Open queries", "%" PRId64, number_in(work, "handles_open"));
    put_fact(page, "Histories",
             "%" PRId64 " to read, %" PRId64 " being read, %" PRId64 " read, %" PRId64
             " to be tried again",
             number_in(backfill, "queued"), number_in(backfill, "running"),
             number_in(backfill, "completed"), number_in(backfill, "failed"));
    put_fact(page, "Imports",
             "%" PRId64 " accounts, %" PRId64 " running, %" PRId64 " complete, %" PRId64 " failed",
             number_in(imports, "accounts"), number_in(imports, "running"),
             number_in(imports, "completed"), number_in(imports, "failed"));
    if (json_type(documents) == JSON_OBJECT)
        put_documents(page, documents);
}

static void put_progress(struct markup *page, const struct status_page *status)
{
    struct json work = json_get(status->status, "progress"), backfill = json_get(work, "backfill"),
                documents = json_get(work, "documents");
    int64_t read = number_in(backfill, "completed"), queued = number_in(backfill, "queued");
    begin_section(page, "progress", "Under way");
    markup_begin_class(page, "dl", "facts");
    put_fact(page, "Database", "%.1f MiB",
             (double)number_in(json_get(status->status, "store"), "bytes") / MIB);
    if (json_type(work) == JSON_OBJECT)
        put_work(page, work);
    markup_end(page, "dl");
    if (queued > 0)
        put_bar(page, "Histories that were read", read, read + queued);
    put_bar(page, "Blocks whose documents all have a row", number_in(documents, "block"),
            number_in(documents, "head"));
    markup_end(page, "section");
}

/* ---- sources ---- */

static const struct rate_line *rates_of(const struct status_page *status, struct bytes source)
{
    for (size_t i = 0; i < status->rate_count; i++)
        if (bytes_equal_string(source, status->rates[i].source))
            return &status->rates[i];
    return NULL;
}

static void put_rate(struct markup *page, const struct status_page *status, struct json source)
{
    const struct rate_line *line = rates_of(status, words_in(source, "source"));
    double rate;
    markup_begin_class(page, "td", "rate");
    if (json_real(json_get(source, "rate"), &rate))
        markup_textf(page, "%.1f/s ", rate);
    if (line != NULL && line->count > 1)
        status_chart_rates(page, line);
    markup_end(page, "td");
}

static void put_source(struct markup *page, const struct status_page *status, struct json source)
{
    struct bytes trouble = words_in(source, "trouble");
    markup_begin(page, "tr");
    markup_begin(page, "th");
    markup_attr_string(page, "scope", "row");
    markup_stranger(page, words_in(source, "source"), WORDS_MAX);
    if (trouble.len > 0) {
        markup_begin_class(page, "p", "trouble");
        markup_stranger(page, trouble, WORDS_MAX);
        markup_end(page, "p");
    }
    markup_end(page, "th");
    put_words(page, words_in(source, "state"));
    put_words(page, words_in(source, "provider"));
    put_rate(page, status, source);
    markup_begin(page, "td");
    page_put_age(page, words_in(source, "last_event_at"), status->now_us);
    markup_end(page, "td");
    put_number(page, number_in(source, "gaps"), true);
    put_number(page, number_in(source, "owed"), false);
    put_number(page, number_in(source, "dead"), true);
    put_number(page, number_in(source, "quarantine"), true);
    markup_end(page, "tr");
}

static void put_sources(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "State",      "Provider",
                                        "Events", "Last event", "#Open gaps",
                                        "#Owed",  "#Dead",      "#Quarantine"};
    struct json_walk walk = json_walk(json_get(status->status, "sources"));
    struct bytes key;
    struct json source;
    begin_section(page, "sources", "Sources");
    begin_table(page, "Sources", heads, sizeof heads / sizeof heads[0]);
    while (json_walk_next(&walk, &key, &source))
        put_source(page, status, source);
    end_table(page);
    markup_end(page, "section");
}

/* ---- cursors and providers ---- */

/* A place in time is shown as one; before the first of anything there is none. */
static void append_cursor(struct json primary, struct text *out)
{
    struct bytes type = words_in(primary, "type");
    int64_t value = number_in(primary, "value");
    bool in_us = bytes_equal_string(type, "timeUs"), in_ms = bytes_equal_string(type, "timestamp");
    char time[TIMESTAMP_TEXT_MAX];
    if ((in_us || in_ms) && value == 0)
        text_append_string(out, "nothing yet");
    else if ((in_us && timestamp_format(value, time)) ||
             (in_ms && value < INT64_MAX / 1000 && timestamp_format(value * 1000, time)))
        text_append_string(out, time);
    else {
        text_appendf(out, "%.*s ", (int)type.len, type.data);
        json_print(json_get(primary, "value"), out);
    }
}

static void put_stream(struct markup *page, struct json source, struct json stream, int64_t now_us)
{
    struct text cursor = {0};
    append_cursor(json_pointer(stream, "/cursor/primary"), &cursor);
    markup_begin(page, "tr");
    put_words(page, words_in(source, "source"));
    put_words(page, words_in(stream, "stream"));
    put_words(page, text_bytes(&cursor));
    markup_begin(page, "td");
    page_put_age(page, words_in(stream, "updated_at"), now_us);
    markup_end(page, "td");
    markup_end(page, "tr");
    text_free(&cursor);
}

static void put_cursors(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "Stream", "Cursor", "Moved"};
    struct json sources = json_get(status->status, "sources");
    size_t left_out = 0;
    begin_section(page, "cursors", "Cursors");
    begin_table(page, "Cursors", heads, 4);
    for (size_t i = 0; i < json_count(sources); i++) {
        struct json source = json_at(sources, i), streams = json_get(source, "streams");
        size_t count = json_count(streams);
        for (size_t k = 0; k < count && k < STREAMS_MAX; k++)
            put_stream(page, source, json_at(streams, k), status->now_us);
        left_out += count > STREAMS_MAX ? count - STREAMS_MAX : 0;
    }
    end_table(page);
    if (left_out > 0) {
        markup_begin_class(page, "p", "about");
        markup_textf(page, "%zu more: tidemark status shows all.", left_out);
        markup_end(page, "p");
    }
    markup_end(page, "section");
}

/* A circuit that is closed lets requests through. */
static struct bytes state_of(struct json provider)
{
    struct bytes state = words_in(provider, "state");
    return bytes_equal_string(state, "closed") ? bytes_of("works") : state;
}

static void put_providers(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "Provider", "State", "In use",
                                        "#Good",  "#Failed",  "Why"};
    struct json_walk walk = json_walk(json_get(status->status, "providers"));
    struct bytes key;
    struct json provider;
    begin_section(page, "providers", "Providers");
    begin_table(page, "Providers", heads, sizeof heads / sizeof heads[0]);
    while (json_walk_next(&walk, &key, &provider)) {
        struct bytes reason = words_in(provider, "reason");
        bool current = false;
        (void)json_bool(json_get(provider, "current"), &current);
        markup_begin(page, "tr");
        put_words(page, words_in(provider, "source"));
        put_words(page, words_in(provider, "name"));
        put_words(page, state_of(provider));
        put_words(page, bytes_of(current ? "yes" : ""));
        put_number(page, number_in(provider, "successes"), false);
        put_number(page, number_in(provider, "failures"), false);
        put_words(page, reason.len > 0 ? reason : words_in(provider, "chosen"));
        markup_end(page, "tr");
    }
    end_table(page);
    markup_end(page, "section");
}

/* ---- gaps ---- */

static void put_gap(struct markup *page, const struct status_gap *gap)
{
    char from[TIMESTAMP_TEXT_MAX], to[TIMESTAMP_TEXT_MAX];
    bool known = timestamp_format(gap->from_us, from) && timestamp_format(gap->to_us, to);
    markup_begin(page, "tr");
    put_words(page, bytes_of(gap->source));
    put_words(page, bytes_of(gap->stream));
    put_words(page, known ? bytes_of(from) : BYTES_ABSENT);
    put_words(page, known ? bytes_of(to) : BYTES_ABSENT);
    put_words(page, bytes_of(gap->closed_us == 0 ? "open" : "filled"));
    put_words(page, bytes_of(gap->reason));
    markup_end(page, "tr");
}

static void put_gaps(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "Stream", "From", "To", "State", "Reason"};
    begin_section(page, "gaps", "Gaps of the last 24 hours");
    status_chart_gaps(page, status->gaps, status->now_us);
    if (status->gaps->count == 0) {
        markup_leaf(page, "p", "None.");
    } else {
        begin_table(page, "Gaps", heads, sizeof heads / sizeof heads[0]);
        for (size_t i = 0; i < status->gaps->count; i++)
            put_gap(page, &status->gaps->gaps[i]);
        end_table(page);
    }
    markup_end(page, "section");
}

/* ---- quarantine ---- */

static void put_refused(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"#Id",    "Source", "Provider", "When",
                                        "#Bytes", "#Times", "Reason"};
    begin_section(page, "quarantine", "Quarantine");
    if (status->refused->count == 0) {
        markup_leaf(page, "p", "Nothing that came was refused.");
        markup_end(page, "section");
        return;
    }
    begin_table(page, "Quarantine", heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0; i < status->refused->count; i++) {
        const struct status_refused *input = &status->refused->inputs[i];
        char at[TIMESTAMP_TEXT_MAX];
        markup_begin(page, "tr");
        put_number(page, input->id, false);
        put_words(page, bytes_of(input->source));
        put_words(page, bytes_of(input->provider));
        put_words(page, timestamp_format(input->at_us, at) ? bytes_of(at) : BYTES_ABSENT);
        put_number(page, input->size, false);
        put_number(page, input->times, false);
        put_words(page, bytes_of(input->reason));
        markup_end(page, "tr");
    }
    end_table(page);
    markup_begin_class(page, "p", "about");
    markup_string(page, "Handed in again with ");
    markup_leaf(page, "code", "tidemark quarantine retry ID");
    markup_string(page, ", dropped with ");
    markup_leaf(page, "code", "tidemark quarantine drop ID");
    markup_string(page, ".");
    markup_end(page, "p");
    markup_end(page, "section");
}

void status_page_print(const struct status_page *status, struct text *out)
{
    const struct page_head head = {.title = "Tidemark: status",
                                   .script = "/assets/status.js",
                                   .class_name = "status",
                                   .place = PAGE_STATUS};
    struct markup page;
    page_begin(&page, out, &head);
    markup_begin_class(&page, "div", "headline");
    markup_leaf(&page, "h1", "Status");
    markup_end(&page, "div");
    put_health(&page, status->health);
    put_sources(&page, status);
    put_progress(&page, status);
    put_gaps(&page, status);
    put_providers(&page, status);
    put_refused(&page, status);
    put_cursors(&page, status);
    put_daemon(&page, status);
    page_end(&page);
}
