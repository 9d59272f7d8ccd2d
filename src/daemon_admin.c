/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_admin.h"

#include "base/json.h"
#include "base/json_member.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "daemon_backfill_route.h"
#include "daemon_call.h"
#include "daemon_import_route.h"
#include "daemon_reconcile_route.h"
#include "ingest/cursor.h"
#include "ingest/owed.h"
#include "ingest/provider.h"
#include "serve/request.h"
#include "source/backfill_request.h"
#include "source/content.h"
#include "store/verification.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ERRAND_WAIT_US INT64_C(30000000)
#define CURSOR_BYTES   65536

struct admin_call {
    struct daemon_call base;
    char source[RESET_NAME_MAX + 1], stream[RESET_NAME_MAX + 1];
    char path[PATH_MAX];
    char actor[AT_DID_MAX + 1], did[AT_DID_MAX + 1];
    char account[LEDGER_NAME_MAX], provider[PROVIDER_NAME_MAX];
    int64_t since_us, started_us;
    int64_t hours;
    int64_t cursors, lists;
    int64_t owed_id;
    char owed_source[LEDGER_NAME_MAX];
    bool owed_by_account;
    char item[OWED_ITEM_MAX + 1], unit[OWED_UNIT_MAX + 1];
    struct verification verification;
};

/* ---- what all have in common ---- */

/* NULL: the request is answered. */
static struct admin_call *begin_call(struct request *request, struct json *root)
{
    struct admin_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free;
    return daemon_call_begin(request, root) ? call : NULL;
}

static bool take_name(struct json value, char *out, size_t size)
{
    struct bytes name;
    if (!json_string(value, &name) || name.len == 0 || name.len >= size ||
        memchr(name.data, '\0', name.len) != NULL)
        return false;
    memcpy(out, name.data, name.len);
    out[name.len] = '\0';
    return true;
}

/* Of what takes no parameters. */
static void begin_plain(struct request *request)
{
    struct json root;
    if (begin_call(request, &root) != NULL)
        daemon_call_take_turn(request);
}

/* ---- reset ---- */

static void begin_reset(struct request *request)
{
    struct json root;
    struct admin_call *call = begin_call(request, &root);
    if (call == NULL)
        return;
    enum json_type stream = json_type(json_get(root, "stream"));
    bool whole = stream == JSON_ABSENT || stream == JSON_NULL;
    if (!take_name(json_get(root, "source"), call->source, sizeof call->source) ||
        (!whole && !take_name(json_get(root, "stream"), call->stream, sizeof call->stream)))
        request_refuse(request, REFUSAL_BAD_REQUEST, "reset takes a source and perhaps a stream");
    else
        daemon_call_take_turn(request);
}

static enum rc work_reset(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    const char *stream = call->stream[0] == '\0' ? NULL : call->stream;
    enum rc rc = reset_record_count(store, call->source, stream, &call->cursors, err);
    if (rc == RC_REJECT) {
        call->base.outcome = rc;
        call->base.why = *err;
        return RC_OK;
    }
    if (rc == RC_OK)
        call->base.outcome = reset_ask(call->base.admin->reset, call->source, stream,
                                       ERRAND_WAIT_US, &call->base.why);
    return rc;
}

static void finish_reset(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_i64(&writer, "cursors", call->cursors);
    request_send_json(request, &writer);
}

/* ---- backfill ---- */

static void begin_backfill(struct request *request)
{
    struct json root;
    struct admin_call *call = begin_call(request, &root);
    if (call == NULL)
        return;
    call->hours = BACKFILL_HOURS;
    bool has = json_type(json_get(root, "hours")) != JSON_ABSENT;
    if (!take_name(json_get(root, "actor"), call->actor, sizeof call->actor) ||
        (has && !json_i64(json_get(root, "hours"), &call->hours)) || call->hours < 1 ||
        call->hours > BACKFILL_HOURS_MAX)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "backfill takes an actor, and perhaps hours, 1 to %d", BACKFILL_HOURS_MAX);
    else
        daemon_call_take_turn(request);
}

static enum rc work_backfill(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    struct text did = {0};
    enum rc rc = backfill_request_find(store, call->actor, &did, err);
    if (rc == RC_OK || rc == RC_REJECT)
        call->base.outcome = backfill_ask_run(
            call->base.admin->backfill, did.len > 0 ? text_string(&did) : call->actor, call->hours,
            ERRAND_WAIT_US, call->did, &call->base.why);
    text_free(&did);
    return rc == RC_REJECT ? RC_OK : rc;
}

static void finish_backfill(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_cstring(&writer, "did", call->did);
    request_send_json(request, &writer);
}

/* ---- follows ---- */

static enum rc work_follows(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    (void)store;
    (void)err;
    call->base.outcome =
        follows_ask_run(call->base.admin->follows, ERRAND_WAIT_US, &call->lists, &call->base.why);
    return RC_OK;
}

static void finish_follows(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_i64(&writer, "lists", call->lists);
    request_send_json(request, &writer);
}

/* ---- import ---- */

static void begin_import(struct request *request)
{
    struct json root;
    struct bytes since;
    struct admin_call *call = begin_call(request, &root);
    if (call == NULL)
        return;
    call->since_us = -1;
    bool good = take_name(json_get(root, "account"), call->account, sizeof call->account);
    if (good && json_type(json_get(root, "provider")) != JSON_ABSENT)
        good = take_name(json_get(root, "provider"), call->provider, sizeof call->provider);
    if (good && json_type(json_get(root, "since")) != JSON_ABSENT)
        good =
            json_string(json_get(root, "since"), &since) && timestamp_parse(since, &call->since_us);
    if (good)
        daemon_call_take_turn(request);
    else
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "import takes an account, and perhaps a provider and since, a time");
}

static void begin_import_progress(struct request *request)
{
    const struct admin *admin = request->service->options->routes_arg;
    import_progress_begin(request, ledger_part_board(admin->ledger));
}

static enum rc work_import(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    (void)store;
    (void)err;
    const char *provider = call->provider[0] == '\0' ? NULL : call->provider;
    call->base.outcome =
        ledger_part_import(call->base.admin->ledger, call->account, provider, call->since_us,
                           ERRAND_WAIT_US, &call->started_us, &call->base.why);
    call->base.keyless = call->base.outcome == RC_FATAL;
    return RC_OK;
}

static void finish_import(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    char started[TIMESTAMP_TEXT_MAX];
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_cstring(&writer, "account", call->account);
    json_member_cstring(&writer, "startedAt",
                        timestamp_format(call->started_us, started) ? started : NULL);
    request_send_json(request, &writer);
}

/* ---- what is owed ---- */

static void begin_retry(struct request *request)
{
    struct json root;
    struct admin_call *call = begin_call(request, &root);
    if (call == NULL)
        return;
    if (json_i64(json_get(root, "id"), &call->owed_id))
        daemon_call_take_turn(request);
    else
        request_refuse(request, REFUSAL_BAD_REQUEST, "owed-retry takes an id, a number");
}

static bool take_owed(void *arg, const struct field *columns, size_t count)
{
    struct admin_call *call = arg;
    assert(count == 4);
    utf8_copy(columns[0].b, call->owed_source, sizeof call->owed_source);
    utf8_copy(columns[1].b, call->item, sizeof call->item);
    utf8_copy(columns[2].null ? BYTES_ABSENT : columns[2].b, call->unit, sizeof call->unit);
    call->owed_by_account = columns[3].i > 0;
    return false;
}

/* What a history lacks its import tries again. */
static void retry_account(struct admin_call *call)
{
    call->base.outcome = ledger_part_retry(call->base.admin->ledger, call->owed_source, call->item,
                                           ERRAND_WAIT_US, &call->base.why);
    call->base.keyless = call->base.outcome == RC_FATAL;
}

static enum rc work_retry(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    struct field id = field_int(call->owed_id);
    enum rc rc = store_query(store,
                             "SELECT o.source, o.item, o.unit, (SELECT count(*) FROM account a "
                             "WHERE a.name = o.source) FROM owed o WHERE o.id = ?1",
                             &id, 1, take_owed, call, err);
    if (rc != RC_OK)
        return rc;
    if (call->item[0] == '\0')
        call->base.outcome = err_set(&call->base.why, RC_REJECT, "nothing is owed under this id");
    else if (call->owed_by_account)
        retry_account(call);
    else if (strcmp(call->owed_source, CONTENT_SOURCE) != 0 || call->base.admin->content == NULL)
        call->base.outcome =
            err_set(&call->base.why, RC_REJECT,
                    "only documents of a chain that is followed, and transactions of "
                    "accounts, are tried on demand");
    else
        call->base.outcome = content_part_retry(call->base.admin->content, call->item, call->unit,
                                                ERRAND_WAIT_US, &call->base.why);
    return RC_OK;
}

static void finish_retry(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_cstring(&writer, "item", call->item);
    request_send_json(request, &writer);
}

/* ---- backup ---- */

static void begin_backup(struct request *request)
{
    struct json root;
    struct admin_call *call = begin_call(request, &root);
    if (call == NULL)
        return;
    if (!take_name(json_get(root, "path"), call->path, sizeof call->path) || call->path[0] != '/')
        request_refuse(request, REFUSAL_BAD_REQUEST, "backup takes a path that begins with /");
    else
        daemon_call_take_turn(request);
}

static enum rc work_backup(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    (void)err;
    call->base.outcome = store->ops->backup(store, call->path, &call->base.why);
    return RC_OK;
}

static void finish_backup(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_cstring(&writer, "path", call->path);
    request_send_json(request, &writer);
}

/* ---- verify ---- */

static enum rc work_verify(struct request *request, struct store *store, struct err *err)
{
    struct admin_call *call = request->data;
    struct json_doc *doc = json_doc_new(CURSOR_BYTES, JSON_DEPTH_MAX);
    store_limit_queries(store, 0); /* it reads the whole store on purpose */
    enum rc rc = verification_run(store, cursor_state_check, doc, &call->verification, err);
    json_doc_free(doc);
    return rc;
}

static void finish_verify(struct request *request)
{
    struct admin_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    verification_print(&call->verification, &writer);
    request_send_json(request, &writer);
}

/* Addresses of errands: who may ask, and the steps of the answer. */
#define ERRAND(address, where, who, first, second, third)                                          \
    {                                                                                              \
        .method = "POST", .path = (address), .listeners = (where), .scope = (who),                 \
        .begin = (first), .work = (second), .finish = (third)                                      \
    }
#define ADMINS(address, first, second, third)                                                      \
    ERRAND("/api/admin/" address, ON_MAIN, SCOPE_ADMIN, first, second, third)
#define PAGE_USERS(address, first, second, third)                                                  \
    ERRAND("/status/" address, ON_MAIN, SCOPE_WRITE | SCOPE_ADMIN, first, second, third)

static const struct route routes[] = {
    ADMINS("backfill", begin_backfill, work_backfill, finish_backfill),
    ADMINS("backfill-progress", backfill_progress_begin, backfill_progress_work,
           backfill_progress_finish),
    ADMINS("follows", begin_plain, work_follows, finish_follows),
    ADMINS("import", begin_import, work_import, finish_import),
    ADMINS("import-progress", begin_import_progress, import_progress_work, import_progress_finish),
    ADMINS("owed-retry", begin_retry, work_retry, finish_retry),
    ADMINS("quarantine", quarantine_api_begin, quarantine_route_work, quarantine_api_finish),
    ADMINS("reconcile", reconcile_begin, reconcile_work, reconcile_finish),
    PAGE_USERS("quarantine/retry/{}", quarantine_retry_begin, quarantine_route_work,
               quarantine_form_finish),
    PAGE_USERS("quarantine/drop/{}", quarantine_drop_begin, quarantine_route_work,
               quarantine_form_finish),
    ADMINS("reset", begin_reset, work_reset, finish_reset),
    /* It writes where it is told. */
    ERRAND("/api/admin/backup", ON_SOCKET, SCOPE_ADMIN, begin_backup, work_backup, finish_backup),
    ADMINS("verify", begin_plain, work_verify, finish_verify),
};

void admin_add_routes(struct admin *admin, struct server_options *options)
{
    options->routes = routes;
    options->route_count = sizeof routes / sizeof routes[0];
    options->routes_arg = admin;
}
