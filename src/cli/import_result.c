/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_result.h"

#include "base/json_write.h"
#include "base/timestamp.h"
#include "cli/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_SESSION                                                                                 \
    "FROM account a JOIN import_sessions s ON s.account_id = a.id "                                \
    "WHERE a.name = ?1 AND s.started_us = ?2"

struct printing {
    struct json_writer json;
    struct text *words;
};

static const char session_sql[] = "SELECT s.id, s.status, s.imported, s.skipped, s.started_us, "
                                  "s.completed_us, s.error " OF_SESSION;
static const char streams_sql[] =
    "SELECT x.stream, x.provider, x.imported, x.skipped, x.complete "
    "FROM account a JOIN import_sessions s ON s.account_id = a.id "
    "JOIN session_streams x ON x.session_id = s.id WHERE a.name = ?1 AND s.started_us = ?2 "
    "ORDER BY x.stream";
static const char gaps_sql[] =
    "SELECT stream, from_us, to_us, reason FROM gaps WHERE closed_us IS NULL AND source IN "
    "(SELECT a.name FROM account a LEFT JOIN account p ON p.id = a.parent_id "
    "WHERE a.name = ?1 OR p.name = ?1) ORDER BY stream, from_us";

static const char addresses_sql[] =
    "SELECT count(*), count(CASE WHEN EXISTS (SELECT 1 FROM raw_transactions t "
    "WHERE t.account_id = k.id) THEN 1 END) "
    "FROM account a JOIN account k ON k.parent_id = a.id WHERE a.name = ?1";

static void put_text(struct json_writer *json, const char *key, const struct field *field)
{
    json_key(json, key);
    json_put_string(json, field->null ? BYTES_ABSENT : field->b);
}

static void put_number(struct json_writer *json, const char *key, const struct field *field)
{
    json_key(json, key);
    if (field->null)
        json_put_null(json);
    else
        json_put_i64(json, field->i);
}

static void put_time(struct json_writer *json, const char *key, const struct field *field)
{
    char date[TIMESTAMP_TEXT_MAX];
    json_key(json, key);
    if (field->null || !timestamp_format(field->i, date))
        json_put_null(json);
    else
        json_put_cstring(json, date);
}

static bool print_status(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    put_text(&printing->json, "status", &columns[1]);
    return true;
}

static bool print_session(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    char id[DECIMAL_MAX];
    (void)count;
    json_begin_object(&printing->json);
    json_key(&printing->json, "id");
    json_put_string(&printing->json, decimal_of(columns[0].i, id));
    put_text(&printing->json, "status", &columns[1]);
    put_number(&printing->json, "imported", &columns[2]);
    put_number(&printing->json, "skipped", &columns[3]);
    put_time(&printing->json, "startedAt", &columns[4]);
    put_time(&printing->json, "completedAt", &columns[5]);
    put_text(&printing->json, "error", &columns[6]);
    json_end_object(&printing->json);
    return true;
}

static bool print_stream(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    json_begin_object(&printing->json);
    put_text(&printing->json, "stream", &columns[0]);
    put_text(&printing->json, "provider", &columns[1]);
    put_number(&printing->json, "imported", &columns[2]);
    put_number(&printing->json, "skipped", &columns[3]);
    json_key(&printing->json, "complete");
    json_put_bool(&printing->json, columns[4].i != 0);
    json_end_object(&printing->json);
    return true;
}

static bool print_gap(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    json_begin_object(&printing->json);
    put_text(&printing->json, "stream", &columns[0]);
    put_time(&printing->json, "from", &columns[1]);
    put_time(&printing->json, "to", &columns[2]);
    put_text(&printing->json, "reason", &columns[3]);
    json_end_object(&printing->json);
    return true;
}

static enum rc print_list(struct store *store, struct printing *printing, const char *key,
                          const char *sql, const struct field *params, size_t param_count,
                          row_fn *fn, struct err *err)
{
    json_key(&printing->json, key);
    json_begin_array(&printing->json);
    enum rc rc = store_query(store, sql, params, param_count, fn, printing, err);
    json_end_array(&printing->json);
    return rc;
}

enum rc import_result_json(struct store *store, const struct import_result *result,
                           struct text *out, struct err *err)
{
    const struct field params[] = {field_text(bytes_of(result->account)),
                                   field_int(result->started_us)};
    struct printing printing = {.words = out};
    json_writer_init(&printing.json, out);
    json_begin_object(&printing.json);
    json_key(&printing.json, "account");
    json_put_cstring(&printing.json, result->account);
    enum rc rc = store_query(store, session_sql, params, 2, print_status, &printing, err);
    if (rc == RC_OK)
        rc = print_list(store, &printing, "sessions", session_sql, params, 2, print_session, err);
    if (rc == RC_OK)
        rc = print_list(store, &printing, "streams", streams_sql, params, 2, print_stream, err);
    if (rc == RC_OK)
        rc = print_list(store, &printing, "gaps", gaps_sql, params, 1, print_gap, err);
    json_end_object(&printing.json);
    text_append_char(out, '\n');
    return rc;
}

/* ---- for people ---- */

static bool say_session(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    text_appendf(printing->words, " %.*s, %" PRId64 " new, %" PRId64 " known",
                 (int)columns[1].b.len, columns[1].b.data, columns[2].i, columns[3].i);
    return true;
}

/* Only a wallet has any. */
static bool say_addresses(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    if (columns[0].i > 0)
        text_appendf(printing->words, ", %" PRId64 " of %" PRId64 " addresses used", columns[1].i,
                     columns[0].i);
    return true;
}

static bool say_stream(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    text_appendf(printing->words, "  %-10.*s %8" PRId64 " new %8" PRId64 " known  %s  %.*s\n",
                 (int)columns[0].b.len, columns[0].b.data, columns[2].i, columns[3].i,
                 columns[4].i != 0 ? "complete  " : "incomplete",
                 columns[1].null ? 0 : (int)columns[1].b.len,
                 columns[1].null ? "" : columns[1].b.data);
    return true;
}

static bool count_gap(void *arg, const struct field *columns, size_t count)
{
    (void)columns;
    (void)count;
    ++*(unsigned *)arg;
    return true;
}

enum rc import_result_words(struct store *store, const struct import_result *result,
                            struct text *out, struct err *err)
{
    const struct field params[] = {field_text(bytes_of(result->account)),
                                   field_int(result->started_us)};
    struct printing printing = {.words = out};
    unsigned gaps = 0;
    text_appendf(out, "%s:", result->account);
    enum rc rc = store_query(store, session_sql, params, 2, say_session, &printing, err);
    if (rc == RC_OK)
        rc = store_query(store, gaps_sql, params, 1, count_gap, &gaps, err);
    text_appendf(out, ", %" PRIu64 " orphaned, %u gaps", result->orphaned, gaps);
    if (result->older > 0)
        text_appendf(out, ", %" PRIu64 " older left out", result->older);
    if (result->refused > 0)
        text_appendf(out, ", %" PRIu64 " in quarantine", result->refused);
    if (rc == RC_OK)
        rc = store_query(store, addresses_sql, params, 1, say_addresses, &printing, err);
    text_append_char(out, '\n');
    if (rc == RC_OK)
        rc = store_query(store, streams_sql, params, 2, say_stream, &printing, err);
    return rc;
}

/* ---- what became of it ---- */

struct import_result import_result_take(const struct import_progress *progress)
{
    struct import_result result = {.account = memory_copy_string(progress->account),
                                   .started_us = progress->started_us,
                                   .outcome = progress->outcome,
                                   .trouble = memory_copy_string(progress->trouble)};
    for (size_t i = 0; i < progress->stream_count; i++) {
        result.orphaned += progress->streams[i].view.orphaned;
        result.refused += progress->streams[i].view.refused;
        result.older += progress->streams[i].view.older;
    }
    return result;
}

void import_results_free(struct import_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(results[i].account);
        free(results[i].trouble);
    }
}

static int code_of(const struct import_result *result)
{
    static const int codes[] = {
        [LEDGER_UNDECIDED] = IMPORT_RESUMABLE,  [LEDGER_COMPLETE] = EXIT_DONE,
        [LEDGER_INCOMPLETE] = IMPORT_RESUMABLE, [LEDGER_UNAUTHORIZED] = IMPORT_NO_KEY,
        [LEDGER_FAILED] = EXIT_FAILED,          [LEDGER_STOPPED] = IMPORT_RESUMABLE};
    return result->refusal != 0 ? result->refusal : codes[result->outcome];
}

/* Whatever needs a person comes before what the next run mends. */
static int weight_of(int code)
{
    static const int order[] = {EXIT_DONE, IMPORT_RESUMABLE, EXIT_USAGE, IMPORT_NO_KEY};
    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++)
        if (order[i] == code)
            return i;
    return (int)(sizeof order / sizeof order[0]);
}

int import_results_judge(const struct import_result *results, size_t count)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        int its = code_of(&results[i]);
        if (results[i].trouble != NULL && results[i].trouble[0] != '\0')
            fprintf(stderr, "tidemark: %s%s%s\n", results[i].refusal != 0 ? "" : results[i].account,
                    results[i].refusal != 0 ? "" : ": ", results[i].trouble);
        if (weight_of(its) > weight_of(code))
            code = its;
    }
    return code;
}
