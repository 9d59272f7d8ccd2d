/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/pages.h"
#include "cli/row_printer.h"
#include "cli/screen.h"

#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AWAY_PAUSE_MS 200

static const char usage[] =
    "usage: tidemark query COLLECTION [--where JSON] [--order FIELD[:desc],...] [--page-size N]\n"
    "                      [--limit N] [--allow-scan] [--tail] [--json|--csv|--table] [-c FILE]\n"
    "                      [--set PATH=VALUE]...\n"
    "Prints the rows of a collection, in its own order or in the one that is given.\n"
    "  --where JSON      only rows that match the filter: '{\"kind\": \"post\"}'\n"
    "  --order LIST      fields, each with :asc or :desc\n"
    "  --page-size N     rows that are read at a time; no other effect\n"
    "  --limit N         at most so many rows\n"
    "  --allow-scan      sets allowScan: an order that no index has is read all the same, slowly\n"
    "  --tail            goes on with what changes, until Ctrl-C; needs a running daemon, and\n"
    "                    waits for it to come back when it restarts.\n"
    "                    With --json every line is then {\"op\", \"seq\", \"item\"}\n"
    "  --json            one JSON object a line\n"
    "  --csv             comma-separated, names first\n"
    "  --table           for people; the default\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

struct wanted {
    const char *where, *order, *page_size, *limit;
    bool scan, tail, json, csv, table;
};

static void see_where(void *arg, const char *value)
{
    ((struct wanted *)arg)->where = value;
}

static void see_order(void *arg, const char *value)
{
    ((struct wanted *)arg)->order = value;
}

static void see_page_size(void *arg, const char *value)
{
    ((struct wanted *)arg)->page_size = value;
}

static void see_limit(void *arg, const char *value)
{
    ((struct wanted *)arg)->limit = value;
}

/* ---- the question ---- */

struct query {
    struct target target;
    struct pages pages;
    struct pages_question question;
    struct text filter, order_by;
    uint64_t limit;
    bool tail, away;
    struct row_printer printer;
};

static bool take_number(const char *flag, const char *value, uint64_t low, uint64_t high,
                        uint64_t *number)
{
    if (value == NULL ||
        (bytes_to_u64(bytes_of(value), number) && *number >= low && *number <= high))
        return true;
    fprintf(stderr, "tidemark: %s takes a whole number from %" PRIu64 " to %" PRIu64 "\n", flag,
            low, high);
    return false;
}

/* What stands there becomes part of a question: it has to be one object, and no more. */
static bool take_where(struct query *query, const char *where)
{
    struct json root;
    struct err err;
    if (where == NULL)
        return true;
    if (json_parse_copy(query->target.doc, bytes_of(where), &root, &err) != RC_OK)
        fprintf(stderr, "tidemark: --where is not JSON: %s\n", err.text);
    else if (json_type(root) != JSON_OBJECT)
        fputs("tidemark: --where takes a JSON object\n", stderr);
    else
        json_print(root, &query->filter);
    return query->filter.len > 0;
}

static bool take_order(struct query *query, const char *order)
{
    struct json_writer writer;
    if (order == NULL)
        return true;
    json_writer_init(&writer, &query->order_by);
    json_begin_array(&writer);
    for (const char *at = order;; at++) {
        size_t len = strcspn(at, ","), name = strcspn(at, ":,");
        struct bytes direction =
            name < len ? bytes_make(at + name + 1, len - name - 1) : bytes_of("asc");
        json_begin_object(&writer);
        json_key(&writer, "field");
        json_put_string(&writer, bytes_make(at, name));
        json_key(&writer, "direction");
        json_put_string(&writer, direction);
        json_end_object(&writer);
        at += len;
        if (*at == '\0')
            break;
    }
    json_end_array(&writer);
    return true;
}

static bool take_flags(struct query *query, const struct wanted *wanted)
{
    uint64_t page_size = 0;
    query->limit = UINT64_MAX;
    query->tail = wanted->tail;
    if (wanted->json + wanted->csv + wanted->table > 1) {
        fputs("tidemark: --json, --csv and --table exclude each other\n", stderr);
        return false;
    }
    if (!take_number("--page-size", wanted->page_size, 1, COLLECTION_PAGE_SIZE_MAX, &page_size) ||
        !take_number("--limit", wanted->limit, 0, INT64_MAX, &query->limit) ||
        !take_where(query, wanted->where) || !take_order(query, wanted->order))
        return false;
    query->question.page_size = (unsigned)page_size;
    query->question.allow_scan = wanted->scan;
    query->question.filter = text_bytes(&query->filter);
    query->question.order_by = text_bytes(&query->order_by);
    return true;
}

/* ---- rows ---- */

/* The one form of a line that follows a result: history enters, too. */
static void print_change(struct bytes op, int64_t seq, struct json item, struct text *out)
{
    struct text words = {0};
    struct json_writer writer;
    json_print(item, &words);
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, "op");
    json_put_string(&writer, op);
    json_key(&writer, "seq");
    json_put_i64(&writer, seq);
    json_key(&writer, "item");
    json_put_raw(&writer, text_bytes(&words));
    json_end_object(&writer);
    text_append_char(out, '\n');
    text_free(&words);
}

static void print_rows(struct query *query, struct json items, size_t count, struct text *out)
{
    struct json_walk ahead = json_walk(items), walk = ahead;
    struct bytes key;
    struct json item;
    bool changes = query->tail && query->printer.format == ROWS_JSON;
    while (json_walk_next(&ahead, &key, &item))
        row_printer_learn(&query->printer, item);
    while (count-- > 0 && json_walk_next(&walk, &key, &item)) {
        if (changes)
            print_change(bytes_of("enter"), query->pages.seq, item, out);
        else
            row_printer_put(&query->printer, item, out);
    }
    row_printer_flush(&query->printer, out);
}

/* A program that reads CSV finds the names, also of a result without a row; a person is told. */
static int print_nothing(struct query *query)
{
    const char *names[ROW_PRINTER_COLUMNS_MAX];
    struct text out = {0};
    if (query->printer.format == ROWS_TABLE && !query->printer.begun && query->limit > 0)
        fputs("none\n", stderr);
    if (query->printer.format != ROWS_CSV || query->printer.begun)
        return EXIT_DONE;
    size_t count = pages_names(&query->pages, names, ROW_PRINTER_COLUMNS_MAX);
    row_printer_put_names(&query->printer, names, count, &out);
    int code = out.len > 0 ? target_put(&out) : EXIT_DONE;
    text_free(&out);
    return code;
}

static enum rc print_pages(struct query *query, int *code, struct err *err)
{
    struct text page = {0}, out = {0};
    bool more = true;
    uint64_t left = query->limit;
    enum rc rc = RC_OK;
    while (rc == RC_OK && more && left > 0 && *code == EXIT_DONE) {
        struct json items = {0};
        rc = pages_next(&query->pages, &page, &items, &more, err);
        if (rc != RC_OK)
            break;
        size_t count = json_count(items);
        count = count > left ? (size_t)left : count;
        left -= count;
        print_rows(query, items, count, &out);
        *code = target_put(&out);
        text_clear(&out);
    }
    if (rc == RC_OK && !query->tail && *code == EXIT_DONE)
        *code = print_nothing(query);
    text_free(&page);
    text_free(&out);
    return rc;
}

/* ---- changes ---- */

static void print_left(struct bytes id)
{
    struct text words = {0};
    table_tame(&words, id, 0);
    fprintf(stderr, "left: %s\n", text_string(&words));
    text_free(&words);
}

static void print_changes(struct query *query, struct json changes, struct text *out)
{
    struct json_walk walk = json_walk(changes);
    struct bytes key;
    struct json change;
    while (json_walk_next(&walk, &key, &change)) {
        struct json item = json_get(change, "item");
        struct bytes op = json_string_or_absent(json_get(change, "op"));
        if (query->printer.format == ROWS_JSON) {
            row_printer_put(&query->printer, change, out);
        } else if (bytes_equal_string(op, "leave")) {
            print_left(json_string_or_absent(json_get(item, "id")));
        } else {
            row_printer_put(&query->printer, item, out);
        }
    }
    row_printer_flush(&query->printer, out);
}

/* Says once that the daemon is away, and once that it is back. */
static void say_whether_away(struct query *query, bool away, const struct err *err)
{
    if (away && !query->away)
        fprintf(stderr, "tidemark: %s: waiting for it\n", err->text);
    else if (!away && query->away)
        fprintf(stderr, "tidemark: going on after seq %" PRId64 "\n", query->pages.seq);
    query->away = away;
}

static enum rc follow(struct query *query, int *code, struct err *err)
{
    struct text page = {0}, out = {0};
    enum rc rc = RC_OK;
    while (*code == EXIT_DONE) {
        struct json changes = {0};
        text_clear(&page);
        rc = pages_tail(&query->pages, &page, &changes, err);
        if (rc == RC_AGAIN) {
            say_whether_away(query, true, err);
            poll(NULL, 0, AWAY_PAUSE_MS);
            continue;
        }
        if (rc != RC_OK)
            break;
        say_whether_away(query, false, NULL);
        print_changes(query, changes, &out);
        *code = target_put(&out);
        text_clear(&out);
    }
    text_free(&page);
    text_free(&out);
    return rc;
}

/* ---- the command ---- */

static int run(struct query *query)
{
    struct err err;
    int code = EXIT_DONE;
    enum rc rc = target_open(&query->target, &err);
    if (rc == RC_OK)
        rc = pages_open(&query->pages, &query->target, &query->question, &err);
    if (rc == RC_OK)
        rc = print_pages(query, &code, &err);
    if (rc == RC_OK && query->tail && code == EXIT_DONE)
        rc = follow(query, &code, &err);
    pages_close(&query->pages);
    if (query->printer.fields_left_out > 0)
        fprintf(stderr,
                "tidemark: %" PRIu64 " values have no column here, since the first rows do not "
                "have their fields or are too wide: --json shows all\n",
                query->printer.fields_left_out);
    return rc == RC_OK ? code : target_fail(&err);
}

int cmd_query(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {.name = "where", .seen = see_where},
        {.name = "order", .seen = see_order},
        {.name = "page-size", .seen = see_page_size},
        {.name = "limit", .seen = see_limit},
        {.name = "allow-scan", .at = offsetof(struct wanted, scan)},
        {.name = "tail", .at = offsetof(struct wanted, tail)},
        {.name = "json", .at = offsetof(struct wanted, json)},
        {.name = "csv", .at = offsetof(struct wanted, csv)},
        {.name = "table", .at = offsetof(struct wanted, table)},
        {0},
    };
    struct wanted wanted = {0};
    const struct target_words words = {
        .usage = usage, .flags = flags, .arg = &wanted, .words_min = 1, .words_max = 1};
    struct query *query = memory_new_zeroed(1, sizeof *query);
    int first, code;
    if (!target_begin(&query->target, &words, argc, argv, &first, &code)) {
        free(query);
        return code;
    }
    query->question.collection = argv[first];
    row_printer_init(&query->printer,
                     wanted.json  ? ROWS_JSON
                     : wanted.csv ? ROWS_CSV
                                  : ROWS_TABLE,
                     screen_obeys(STDOUT_FILENO));
    code = take_flags(query, &wanted) ? run(query) : EXIT_USAGE;
    row_printer_deinit(&query->printer);
    text_free(&query->filter);
    text_free(&query->order_by);
    target_free(&query->target);
    free(query);
    return code;
}
