/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_result.h"

#include "base/timestamp.h"
#include "cli/settings.h"
#include "query/column_member.h"
#include "query/covered.h"

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
    const char *account;
    struct covered *covered;
    unsigned gaps;
};

static const char session_sql[] = "SELECT s.id, s.status, s.imported, s.skipped, s.started_us, "
                                  "s.completed_us, s.error " OF_SESSION;
static const char streams_sql[] =
    "SELECT x.stream, x.provider, x.imported, x.skipped, x.complete "
    "FROM account a JOIN import_sessions s ON s.account_id = a.id "
    "JOIN session_streams x ON x.session_id = s.id WHERE a.name = ?1 AND s.started_us = ?2 "
    "ORDER BY x.stream";
static const char gaps_sql[] =
    "SELECT source, stream, from_us, to_us, reason FROM gaps WHERE closed_us IS NULL AND source IN "
    "(SELECT a.name FROM account a LEFT JOIN account p ON p.id = a.parent_id "
    "WHERE a.name = ?1 OR p.name = ?1) ORDER BY source, stream, from_us";

static const char addresses_sql[] =
    "SELECT count(*), count(CASE WHEN EXISTS (SELECT 1 FROM raw_transactions t "
    "WHERE t.account_id = k.id) THEN 1 END) "
    "FROM account a JOIN account k ON k.parent_id = a.id WHERE a.name = ?1";

static bool print_status(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    column_member_text(&printing->json, "status", &columns[1]);
    return true;
}

static bool print_session(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    char id[DECIMAL_MAX];
    (void)count;
    json_begin_object(&printing->json);
    json_member_string(&printing->json, "id", decimal_of(columns[0].i, id));
    column_member_text(&printing->json, "status", &columns[1]);
    column_member_number(&printing->json, "imported", &columns[2]);
    column_member_number(&printing->json, "skipped", &columns[3]);
    column_member_time(&printing->json, "startedAt", &columns[4]);
    column_member_time(&printing->json, "completedAt", &columns[5]);
    column_member_text(&printing->json, "error", &columns[6]);
    json_end_object(&printing->json);
    return true;
}

static bool print_stream(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    json_begin_object(&printing->json);
    column_member_text(&printing->json, "stream", &columns[0]);
    column_member_text(&printing->json, "provider", &columns[1]);
    column_member_number(&printing->json, "imported", &columns[2]);
    column_member_number(&printing->json, "skipped", &columns[3]);
    json_member_bool(&printing->json, "complete", columns[4].i != 0);
    struct covered_stream covered =
        covered_find(printing->covered, bytes_of(printing->account), columns[0].b);
    covered_put(&printing->json, &covered);
    json_end_object(&printing->json);
    return true;
}

static bool print_gap(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    (void)count;
    json_begin_object(&printing->json);
    column_member_text(&printing->json, "account", &columns[0]);
    column_member_text(&printing->json, "stream", &columns[1]);
    column_member_time(&printing->json, "from", &columns[2]);
    column_member_time(&printing->json, "to", &columns[3]);
    column_member_text(&printing->json, "reason", &columns[4]);
    json_end_object(&printing->json);
    return true;
}

typedef void hole_fn(struct printing *printing, const struct covered_stream *stream,
                     const struct covered_part *hole);

/* What was left out and never read is missing, too. */
static void for_each_hole(struct printing *printing, hole_fn *fn)
{
    struct covered_part hole;
    for (size_t i = 0; i < covered_count(printing->covered); i++) {
        struct covered_stream stream = covered_at(printing->covered, i);
        for (size_t k = 0; k < stream.count; k++)
            if (covered_hole(&stream, k, &hole))
                fn(printing, &stream, &hole);
    }
}

static void print_hole(struct printing *printing, const struct covered_stream *stream,
                       const struct covered_part *hole)
{
    json_begin_object(&printing->json);
    json_member_string(&printing->json, "account", stream->source);
    json_member_string(&printing->json, "stream", stream->name);
    covered_put_ends(&printing->json, hole);
    json_member_cstring(&printing->json, "reason", "not read");
    json_end_object(&printing->json);
}

static enum rc print_gaps(struct store *store, struct printing *printing, const struct field *name,
                          struct err *err)
{
    json_key(&printing->json, "gaps");
    json_begin_array(&printing->json);
    enum rc rc = store_query(store, gaps_sql, name, 1, print_gap, printing, err);
    for_each_hole(printing, print_hole);
    json_end_array(&printing->json);
    return rc;
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
    struct printing printing = {.words = out, .account = result->account};
    json_writer_init(&printing.json, out);
    json_begin_object(&printing.json);
    json_member_cstring(&printing.json, "account", result->account);
    enum rc rc = covered_read(store, result->account, &printing.covered, err);
    if (rc == RC_OK)
        rc = store_query(store, session_sql, params, 2, print_status, &printing, err);
    if (rc == RC_OK)
        rc = print_list(store, &printing, "sessions", session_sql, params, 2, print_session, err);
    if (rc == RC_OK)
        rc = print_list(store, &printing, "streams", streams_sql, params, 2, print_stream, err);
    if (rc == RC_OK)
        rc = print_gaps(store, &printing, params, err);
    json_member_i64(&printing.json, "orphaned", (int64_t)result->orphaned);
    json_member_i64(&printing.json, "older", (int64_t)result->older);
    json_member_i64(&printing.json, "quarantined", (int64_t)result->refused);
    json_member_i64(&printing.json, "owed", (int64_t)result->owed);
    json_end_object(&printing.json);
    text_append_char(out, '\n');
    covered_free(printing.covered);
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
    text_appendf(printing->words, "  %-10.*s %8" PRId64 " new %8" PRId64 " known  %s  %.*s",
                 (int)columns[0].b.len, columns[0].b.data, columns[2].i, columns[3].i,
                 columns[4].i != 0 ? "complete  " : "incomplete",
                 columns[1].null ? 0 : (int)columns[1].b.len,
                 columns[1].null ? "" : columns[1].b.data);
    struct covered_stream covered =
        covered_find(printing->covered, bytes_of(printing->account), columns[0].b);
    for (size_t i = 0; i < covered.count; i++) {
        text_append_string(printing->words, i == 0 ? "  " : ", ");
        covered_say(printing->words, &covered.parts[i]);
    }
    text_append_char(printing->words, '\n');
    return true;
}

static bool count_gap(void *arg, const struct field *columns, size_t count)
{
    (void)columns;
    (void)count;
    ((struct printing *)arg)->gaps++;
    return true;
}

static void count_hole(struct printing *printing, const struct covered_stream *stream,
                       const struct covered_part *hole)
{
    (void)stream;
    (void)hole;
    printing->gaps++;
}

static void say_hole(struct printing *printing, const struct covered_stream *stream,
                     const struct covered_part *hole)
{
    text_append_string(printing->words, "  not read: ");
    if (!bytes_equal_string(stream->source, printing->account))
        text_appendf(printing->words, "%.*s ", (int)stream->source.len, stream->source.data);
    text_appendf(printing->words, "%.*s ", (int)stream->name.len, stream->name.data);
    covered_say(printing->words, hole);
    text_append_char(printing->words, '\n');
}

static enum rc count_gaps(struct store *store, struct printing *printing, const struct field *name,
                          struct err *err)
{
    enum rc rc = covered_read(store, printing->account, &printing->covered, err);
    if (rc == RC_OK)
        rc = store_query(store, gaps_sql, name, 1, count_gap, printing, err);
    for_each_hole(printing, count_hole);
    return rc;
}

enum rc import_result_words(struct store *store, const struct import_result *result,
                            struct text *out, struct err *err)
{
    const struct field params[] = {field_text(bytes_of(result->account)),
                                   field_int(result->started_us)};
    struct printing printing = {.words = out, .account = result->account};
    text_appendf(out, "%s:", result->account);
    enum rc rc = store_query(store, session_sql, params, 2, say_session, &printing, err);
    if (rc == RC_OK)
        rc = count_gaps(store, &printing, params, err);
    text_appendf(out, ", %" PRIu64 " orphaned, %u gaps", result->orphaned, printing.gaps);
    if (result->older > 0)
        text_appendf(out, ", %" PRIu64 " older left out", result->older);
    if (result->refused > 0)
        text_appendf(out, ", %" PRIu64 " in quarantine", result->refused);
    if (result->owed > 0)
        text_appendf(out, ", %" PRIu64 " without details yet", result->owed);
    if (rc == RC_OK)
        rc = store_query(store, addresses_sql, params, 1, say_addresses, &printing, err);
    text_append_char(out, '\n');
    if (rc == RC_OK)
        rc = store_query(store, streams_sql, params, 2, say_stream, &printing, err);
    if (rc == RC_OK)
        for_each_hole(&printing, say_hole);
    covered_free(printing.covered);
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
        result.owed += progress->streams[i].view.owed;
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
