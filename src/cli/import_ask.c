/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_ask.h"

#include "base/json_write.h"
#include "base/timestamp.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 500

/* Appends the session that began last: {} when there is none. */
static enum rc ask_session(struct target *target, const char *account, struct text *out,
                           struct err *err)
{
    struct text body = {0}, reply = {0};
    struct json root;
    struct json_writer json;
    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_key(&json, "collection");
    json_put_cstring(&json, "import_sessions");
    json_key(&json, "filter");
    json_begin_object(&json);
    json_key(&json, "account");
    json_put_cstring(&json, account);
    json_end_object(&json);
    json_key(&json, "limit");
    json_put_i64(&json, 1);
    json_end_object(&json);
    enum rc rc = target_ask(target, "POST", "/api/data/list", text_string(&body), TARGET_SECONDS,
                            NULL, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(target, &reply, &root, err);
    text_clear(out);
    if (rc == RC_OK)
        json_print(json_at(json_get(root, "items"), 0), out);
    if (rc == RC_OK && out->len == 0)
        text_append_string(out, "{}");
    text_free(&body);
    text_free(&reply);
    return rc;
}

/* The name under which the daemon keeps the account. */
static enum rc begin(struct target *target, const struct import_wish *wish, struct text *name,
                     int64_t *started_us, struct err *err)
{
    struct text body = {0}, reply = {0};
    struct json root;
    struct json_writer json;
    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_key(&json, "account");
    json_put_cstring(&json, wish->account);
    if (wish->provider != NULL) {
        json_key(&json, "provider");
        json_put_cstring(&json, wish->provider);
    }
    if (wish->since != NULL) {
        json_key(&json, "since");
        json_put_cstring(&json, wish->since);
    }
    json_end_object(&json);
    enum rc rc = target_ask(target, "POST", "/api/admin/import", text_string(&body), TARGET_SECONDS,
                            NULL, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(target, &reply, &root, err);
    if (rc == RC_OK) {
        struct bytes stored = json_string_or_absent(json_get(root, "account"));
        text_append(name, stored.data, stored.len);
        if (!timestamp_parse(json_string_or_absent(json_get(root, "startedAt")), started_us))
            rc = err_set(err, RC_RETRY, "the daemon does not say which session it is");
    }
    text_free(&body);
    text_free(&reply);
    return rc;
}

static void print_session(const struct import_wish *wish, struct json session, struct text *out)
{
    struct bytes account = json_string_or_absent(json_get(session, "account"));
    struct bytes status = json_string_or_absent(json_get(session, "status"));
    int64_t imported = 0, skipped = 0;
    json_i64(json_get(session, "imported"), &imported);
    json_i64(json_get(session, "skipped"), &skipped);
    if (!wish->json) {
        text_appendf(out, "%.*s: %.*s, %" PRId64 " new, %" PRId64 " known\n", (int)account.len,
                     account.data, (int)status.len, status.data, imported, skipped);
        return;
    }
    struct json_writer json;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, "account");
    json_put_string(&json, account);
    json_key(&json, "status");
    json_put_string(&json, status);
    json_key(&json, "sessions");
    json_begin_array(&json);
    struct text words = {0};
    json_print(session, &words);
    json_put_raw(&json, text_bytes(&words));
    json_end_array(&json);
    text_clear(&words);
    json_print(json_get(session, "streams"), &words);
    json_key(&json, "streams");
    json_put_raw(&json, words.len > 0 ? text_bytes(&words) : bytes_of("[]"));
    json_key(&json, "gaps");
    json_begin_array(&json);
    json_end_array(&json);
    json_end_object(&json);
    text_append_char(out, '\n');
    text_free(&words);
}

enum rc import_ask(struct target *target, const struct import_wish *wish, char status[16],
                   struct err *err)
{
    struct text name = {0}, session = {0}, out = {0};
    struct json root;
    int64_t told = -1, rows, started_us = 0, its_us;
    enum rc rc = begin(target, wish, &name, &started_us, err);
    status[0] = '\0';
    while (rc == RC_OK) {
        rc = ask_session(target, text_string(&name), &session, err);
        if (rc == RC_OK)
            rc = target_parse(target, &session, &root, err);
        if (rc != RC_OK)
            break;
        struct bytes word = json_string_or_absent(json_get(root, "status"));
        snprintf(status, 16, "%.*s", (int)word.len, word.len > 0 ? word.data : "");
        struct bytes began = json_string_or_absent(json_get(root, "startedAt"));
        bool ours = began.len > 0 && timestamp_parse(began, &its_us) && its_us >= started_us;
        if (ours && strcmp(status, "started") != 0)
            break;
        if (!wish->json && json_i64(json_get(root, "imported"), &rows) && rows != told) {
            fprintf(stderr, "%s: %" PRId64 " new rows\n", text_string(&name), rows);
            told = rows;
        }
        poll(NULL, 0, LOOK_MS);
    }
    if (rc == RC_OK) {
        print_session(wish, root, &out);
        struct bytes why = json_string_or_absent(json_get(root, "error"));
        if (why.len > 0)
            fprintf(stderr, "tidemark: %s: %.*s\n", text_string(&name), (int)why.len, why.data);
        if (target_put(&out) != EXIT_DONE)
            rc = err_set(err, RC_RETRY, "the result could not be printed");
    }
    text_free(&name);
    text_free(&session);
    text_free(&out);
    return rc;
}
