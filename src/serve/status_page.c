/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/status_page.h"

#include "base/timestamp.h"
#include "serve/page_frame.h"
#include "serve/status_piece.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB         1048576.0
#define STREAMS_MAX 20 /* of a source that are listed */

/* ---- the daemon ---- */

static int64_t sum_of(struct json sources, const char *key)
{
    int64_t sum = 0;
    for (size_t i = 0; i < json_count(sources); i++)
        sum += piece_number_in(json_at(sources, i), key);
    return sum;
}

static int64_t count_troubled(struct json sources)
{
    int64_t count = 0;
    for (size_t i = 0; i < json_count(sources); i++)
        count += piece_words_in(json_at(sources, i), "trouble").len > 0;
    return count;
}

static void put_note(struct text *out, int64_t count, const char *one, const char *many)
{
    if (count == 0)
        return;
    text_appendf(out, "%s%" PRId64 " %s", out->len > 0 ? ", " : "", count,
                 page_plural(count, one, many));
}

/* What a part of the page asks to be looked at is said here too: headline and parts agree. */
static void put_standing(struct markup *page, const struct status_page *status)
{
    struct json sources = json_get(status->status, "sources");
    bool good = health_is_good(status->health);
    struct text notes = {0};
    put_note(&notes, count_troubled(sources), "source has trouble", "sources have trouble");
    put_note(&notes, sum_of(sources, "gaps"), "gap is being filled", "gaps are being filled");
    put_note(&notes, sum_of(sources, "quarantine"), "input is in quarantine",
             "inputs are in quarantine");
    markup_begin_class(page, "p",
                       !good           ? "standing bad"
                       : notes.len > 0 ? "standing noted"
                                       : "standing good");
    markup_attr_string(page, "role", "status");
    if (!good)
        markup_string(page, "Not everything is well:");
    else if (notes.len > 0)
        markup_textf(page, "All parts work; %s.", text_string(&notes));
    else
        markup_string(page, "Everything is well.");
    markup_end(page, "p");
    text_free(&notes);
}

static void put_reasons(struct markup *page, const struct health_view *health)
{
    if (health_is_good(health))
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
    struct bytes kind = piece_words_in(store, "kind");
    char span[48];
    piece_append_span(span, sizeof span, piece_number_in(daemon, "uptime_seconds"));
    piece_begin_section(page, "daemon", "Daemon");
    markup_begin_class(page, "dl", "facts");
    piece_fact(page, "Up for", "%s", span);
    piece_fact(page, "Process", "%" PRId64, piece_number_in(daemon, "pid"));
    piece_fact(page, "Store", "%.*s, schema %" PRId64, (int)kind.len, kind.data,
               piece_number_in(store, "schema"));
    piece_fact(page, "Commits", "%" PRId64, piece_number_in(status->status, "commit_seq"));
    piece_fact(page, "Epoch", "%" PRId64, piece_number_in(store, "epoch"));
    piece_fact(page, "Batches waiting", "%" PRId64, piece_number_in(daemon, "queued"));
    piece_fact(page, "Accounts followed", "%" PRId64, status->health->follows_count);
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
    markup_begin_class(page, "p", "bar");
    markup_leaf(page, "span", name);
    markup_begin(page, "span");
    markup_textf(page, "%" PRId64 " of %" PRId64, done, all);
    markup_end(page, "span");
    markup_begin(page, "progress");
    markup_attr_string(page, "aria-label", name);
    text_append_i64(&number, all);
    markup_attr_string(page, "max", text_string(&number));
    text_clear(&number);
    text_append_i64(&number, done);
    markup_attr_string(page, "value", text_string(&number));
    markup_end(page, "progress");
    markup_end(page, "p");
    text_free(&number);
}

/* Only what came as it happened was timed: what a replay brings nobody waited for. */
static void put_latency(struct markup *page, struct json latency)
{
    static const char *const shares[] = {"p50", "p95", "p99"};
    char waits[3][TIMESTAMP_TEXT_MAX];
    double seconds;
    for (size_t i = 0; i < 3; i++) {
        if (!json_real(json_get(latency, shares[i]), &seconds)) {
            piece_fact(page, "From arrival to stored", "nothing came live yet");
            return;
        }
        timestamp_format_wait(seconds, waits[i]);
    }
    piece_fact(page, "From arrival to stored", "typically %s, 95 %% within %s, 99 %% within %s",
               waits[0], waits[1], waits[2]);
}

static void put_documents(struct markup *page, struct json documents)
{
    int64_t head = piece_number_in(documents, "head"), block = piece_number_in(documents, "block");
    bool begun = json_type(json_get(documents, "block")) != JSON_NULL;
    char read[48] = "no block";
    if (begun)
        snprintf(read, sizeof read, "block %" PRId64, block);
    if (json_type(json_get(documents, "head")) == JSON_NULL)
        piece_fact(page, "Chain", "%s, the head is not known", read);
    else
        piece_fact(page, "Chain", "%s of %" PRId64, read, head);
    piece_fact(page, "Documents",
               "%" PRId64 " waiting, %" PRId64 " being fetched, %" PRId64 " stored, %" PRId64
               " owed",
               piece_number_in(documents, "waiting"), piece_number_in(documents, "fetching"),
               piece_number_in(documents, "stored"), piece_number_in(documents, "owed"));
}

static void put_work(struct markup *page, struct json work)
{
    struct json backfill = json_get(work, "backfill"), imports = json_get(work, "imports"),
                documents = json_get(work, "documents");
    put_latency(page, json_get(work, "commit_seconds"));
    piece_fact(page, "Open queries", "%" PRId64, piece_number_in(work, "handles_open"));
    piece_fact(page, "Histories",
               "%" PRId64 " to read, %" PRId64 " being read, %" PRId64 " read, %" PRId64
               " to be tried again",
               piece_number_in(backfill, "queued"), piece_number_in(backfill, "running"),
               piece_number_in(backfill, "completed"), piece_number_in(backfill, "failed"));
    piece_fact(page, "Imports",
               "%" PRId64 " accounts, %" PRId64 " complete, %" PRId64 " running, %" PRId64
               " failing",
               piece_number_in(imports, "accounts"), piece_number_in(imports, "complete"),
               piece_number_in(imports, "running"), piece_number_in(imports, "failing"));
    if (json_type(documents) == JSON_OBJECT)
        put_documents(page, documents);
}

static void put_progress(struct markup *page, const struct status_page *status)
{
    struct json work = json_get(status->status, "progress"), backfill = json_get(work, "backfill"),
                imports = json_get(work, "imports"), documents = json_get(work, "documents");
    int64_t read = piece_number_in(backfill, "completed"),
            queued = piece_number_in(backfill, "queued");
    piece_begin_section(page, "progress", "Under way");
    markup_begin_class(page, "dl", "facts");
    piece_fact(page, "Database", "%.1f MiB",
               (double)piece_number_in(json_get(status->status, "store"), "bytes") / MIB);
    if (json_type(work) == JSON_OBJECT)
        put_work(page, work);
    markup_end(page, "dl");
    if (queued > 0)
        put_bar(page, "Histories that were read", read, read + queued);
    put_bar(page, "Accounts whose history is complete", piece_number_in(imports, "complete"),
            piece_number_in(imports, "accounts"));
    put_bar(page, "Blocks whose documents all have a row", piece_number_in(documents, "block"),
            piece_number_in(documents, "head"));
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
    const struct rate_line *line = rates_of(status, piece_words_in(source, "source"));
    double rate;
    markup_begin_class(page, "td", "rate");
    if (json_real(json_get(source, "rate"), &rate))
        markup_textf(page, "%.1f/s ", rate);
    if (line != NULL && line->count > 1)
        status_chart_rates(page, line);
    markup_end(page, "td");
}

static void put_lag(struct markup *page, struct json source)
{
    double seconds;
    char span[48] = "";
    if (json_real(json_get(source, "lag_seconds"), &seconds))
        piece_append_span(span, sizeof span, (int64_t)seconds);
    piece_words(page, bytes_of(span));
}

static void put_source(struct markup *page, const struct status_page *status, struct json source)
{
    struct bytes trouble = piece_words_in(source, "trouble");
    markup_begin(page, "tr");
    markup_begin(page, "th");
    markup_attr_string(page, "scope", "row");
    markup_stranger(page, piece_words_in(source, "source"), PIECE_WORDS_MAX);
    if (trouble.len > 0) {
        markup_begin_class(page, "p", "trouble");
        markup_stranger(page, trouble, PIECE_WORDS_MAX);
        markup_end(page, "p");
    }
    markup_end(page, "th");
    piece_words(page, piece_words_in(source, "state"));
    piece_words(page, piece_words_in(source, "provider"));
    put_rate(page, status, source);
    put_lag(page, source);
    markup_begin(page, "td");
    page_put_age(page, piece_words_in(source, "last_event_at"), status->now_us);
    markup_end(page, "td");
    piece_number(page, piece_number_in(source, "gaps"), true);
    piece_number(page, piece_number_in(source, "owed"), false);
    piece_number(page, piece_number_in(source, "dead"), false); /* pages die: no alarm */
    piece_number(page, piece_number_in(source, "quarantine"), true);
    markup_end(page, "tr");
}

/* What runs comes first, as in the terminal: the i-th of twice as many, absent for those that stand
 * elsewhere. */
static struct json ranked_at(struct json sources, size_t i)
{
    size_t count = json_count(sources);
    struct json source = json_at(sources, i < count ? i : i - count);
    bool runs = json_type(json_get(source, "state")) == JSON_STRING;
    return runs == (i < count) ? source : (struct json){0};
}

static void put_sources(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "State",      "Provider",   "Events",
                                        "Lag",    "Last event", "#Open gaps", "#Owed",
                                        "#Dead",  "#Quarantine"};
    struct json sources = json_get(status->status, "sources");
    piece_begin_section(page, "sources", "Sources");
    if (json_count(sources) == 0) {
        markup_leaf(page, "p", "No source has been followed yet.");
        markup_end(page, "section");
        return;
    }
    piece_begin_table(page, "Sources", heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0; i < 2 * json_count(sources); i++) {
        struct json source = ranked_at(sources, i);
        if (json_type(source) != JSON_ABSENT)
            put_source(page, status, source);
    }
    piece_end_table(page);
    markup_end(page, "section");
}

/* ---- cursors and providers ---- */

/* A place in time is shown as one; before the first of anything there is none. */
static void append_cursor(struct json primary, struct text *out)
{
    struct bytes type = piece_words_in(primary, "type");
    int64_t value = piece_number_in(primary, "value");
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
    piece_words(page, piece_words_in(source, "source"));
    piece_words(page, piece_words_in(stream, "stream"));
    piece_words(page, text_bytes(&cursor));
    markup_begin(page, "td");
    page_put_age(page, piece_words_in(stream, "updated_at"), now_us);
    markup_end(page, "td");
    markup_end(page, "tr");
    text_free(&cursor);
}

static void put_cursors(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "Stream", "Cursor", "Moved"};
    struct json sources = json_get(status->status, "sources");
    size_t left_out = 0, shown = 0;
    for (size_t i = 0; i < json_count(sources); i++)
        shown += json_count(json_get(json_at(sources, i), "streams"));
    if (shown == 0)
        return;
    piece_begin_section(page, "cursors", "Cursors");
    piece_begin_table(page, "Cursors", heads, 4);
    for (size_t i = 0; i < 2 * json_count(sources); i++) {
        struct json source = ranked_at(sources, i), streams = json_get(source, "streams");
        size_t count = json_count(streams);
        for (size_t k = 0; k < count && k < STREAMS_MAX; k++)
            put_stream(page, source, json_at(streams, k), status->now_us);
        left_out += count > STREAMS_MAX ? count - STREAMS_MAX : 0;
        left_out += (size_t)piece_number_in(source, "more_streams");
    }
    piece_end_table(page);
    if (left_out > 0) {
        markup_begin_class(page, "p", "about");
        markup_textf(page, "%zu more, in the table cursors.", left_out);
        markup_end(page, "p");
    }
    markup_end(page, "section");
}

/* A circuit that is closed lets requests through. */
static struct bytes state_of(struct json provider)
{
    struct bytes state = piece_words_in(provider, "state");
    return bytes_equal_string(state, "closed") ? bytes_of("works") : state;
}

/* What nobody counts is not none. */
static void put_count(struct markup *page, struct json provider, const char *key, const char *unit)
{
    int64_t number;
    markup_begin_class(page, "td", "number");
    if (json_i64(json_get(provider, key), &number))
        markup_textf(page, "%" PRId64 "%s", number, unit);
    else
        markup_string(page, "\xe2\x80\x93");
    markup_end(page, "td");
}

static void put_providers(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "Provider", "State",       "In use",
                                        "#Good",  "#Failed",  "#Answers in", "Why"};
    struct json providers = json_get(status->status, "providers");
    struct json_walk walk = json_walk(providers);
    struct bytes key;
    struct json provider;
    if (json_count(providers) == 0)
        return;
    piece_begin_section(page, "providers", "Providers");
    piece_begin_table(page, "Providers", heads, sizeof heads / sizeof heads[0]);
    while (json_walk_next(&walk, &key, &provider)) {
        struct bytes reason = piece_words_in(provider, "reason");
        bool current = false;
        (void)json_bool(json_get(provider, "current"), &current);
        markup_begin(page, "tr");
        piece_words(page, piece_words_in(provider, "source"));
        piece_words(page, piece_words_in(provider, "name"));
        piece_words(page, state_of(provider));
        piece_words(page, bytes_of(current ? "yes" : ""));
        put_count(page, provider, "successes", "");
        put_count(page, provider, "failures", "");
        put_count(page, provider, "latency_ms", " ms"); /* of its last answers */
        piece_words(page, reason.len > 0 ? reason : piece_words_in(provider, "chosen"));
        markup_end(page, "tr");
    }
    piece_end_table(page);
    markup_end(page, "section");
}

/* ---- gaps ---- */

/* By the clock of the line above. */
static void put_moment(struct markup *page, int64_t us)
{
    char at[TIMESTAMP_TEXT_MAX];
    markup_begin_class(page, "td", "moment");
    if (timestamp_format(us, at))
        markup_textf(page, "%.10s %.8s UTC", at, at + 11);
    markup_end(page, "td");
}

static void put_gap(struct markup *page, const struct status_gap *gap)
{
    markup_begin(page, "tr");
    piece_words(page, bytes_of(gap->source));
    piece_words(page, bytes_of(gap->stream));
    put_moment(page, gap->from_us);
    put_moment(page, gap->to_us);
    piece_words(page, bytes_of(gap->closed_us == 0 ? "open" : "filled"));
    piece_words(page, bytes_of(gap->reason));
    markup_end(page, "tr");
}

static void put_gaps(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"Source", "Stream", "From", "To", "State", "Reason"};
    piece_begin_section(page, "gaps", "Gaps of the last 24 hours");
    status_chart_gaps(page, status->gaps, status->now_us);
    if (status->gaps->count == 0) {
        markup_leaf(page, "p", "None.");
    } else {
        piece_begin_table(page, "Gaps", heads, sizeof heads / sizeof heads[0]);
        for (size_t i = 0; i < status->gaps->count; i++)
            put_gap(page, &status->gaps->gaps[i]);
        piece_end_table(page);
    }
    markup_end(page, "section");
}

void status_page_print(const struct status_page *status, struct text *out)
{
    const struct page_head head = {.title = "Tidemark: status",
                                   .script = "status.js",
                                   .class_name = "status",
                                   .place = PAGE_STATUS};
    struct markup page;
    page_begin(&page, out, &head);
    markup_begin_class(&page, "div", "headline");
    markup_leaf(&page, "h1", "Status");
    markup_end(&page, "div");
    put_standing(&page, status);
    put_reasons(&page, status->health);
    put_sources(&page, status);
    put_progress(&page, status);
    put_gaps(&page, status);
    put_providers(&page, status);
    status_page_put_refused(&page, status);
    put_cursors(&page, status);
    put_daemon(&page, status);
    page_end(&page);
}
