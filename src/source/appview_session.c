/* SPDX-License-Identifier: Apache-2.0 */
#include "source/appview_session.h"

#include "base/json_write.h"
#include "source/appview_verdict.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US     INT64_C(1000000)
#define EARLY_US      (60 * SECOND_US) /* a token is renewed so long before its end */
#define ANSWER_MAX    ((size_t)64 << 10)
#define ANSWER_MS_MAX 10000
#define CLAIMS_MAX    4096
#define SECONDS_MAX   (INT64_MAX / SECOND_US)

static void wipe(struct text *text)
{
    if (text->data != NULL)
        explicit_bzero(text->data, text->cap);
    text_free(text);
}

/* ---- when a token ends ---- */

static int letter_value(char c)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *at = c == '\0' ? NULL : strchr(letters, c);
    return at == NULL ? -1 : (int)(at - letters);
}

/* Base64 for addresses, without padding; false when it is none. */
static bool decode(struct bytes text, struct text *out)
{
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = letter_value(text.data[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            text_append_char(out, (char)(bits >> held & 0xff));
        }
    }
    return true;
}

int64_t appview_session_expiry(struct json_doc *doc, struct bytes jwt)
{
    const char *first = memchr(jwt.data, '.', jwt.len);
    struct text claims = {0};
    struct json root;
    int64_t seconds, until_us = INT64_MAX;
    if (first == NULL)
        return until_us;
    struct bytes rest = bytes_make(first + 1, jwt.len - (size_t)(first + 1 - jwt.data));
    const char *second = memchr(rest.data, '.', rest.len);
    if (second != NULL)
        rest.len = (size_t)(second - rest.data);
    if (rest.len <= CLAIMS_MAX && decode(rest, &claims) &&
        json_parse_copy(doc, text_bytes(&claims), &root, NULL) == RC_OK &&
        json_i64(json_get(root, "exp"), &seconds) && seconds >= 0 && seconds <= SECONDS_MAX)
        until_us = seconds * SECOND_US;
    text_free(&claims);
    return until_us;
}

/* ---- one exchange ---- */

static void forget(struct appview_session *session)
{
    secret_clear(&session->access);
    secret_clear(&session->refresh);
}

/* One that is at its end when it comes tells of a clock that is wrong, or of a server that gives
 * them for a moment. The next would be no better: it is good until it is refused. */
static int64_t good_until(struct appview_session *session)
{
    int64_t until_us = appview_session_expiry(session->doc, secret_reveal(&session->access));
    int64_t now_us = session->runtime->ops->wall_us(session->runtime);
    return until_us - EARLY_US > now_us ? until_us : INT64_MAX;
}

static enum rc take_tokens(struct appview_session *session, struct json root, struct err *err)
{
    struct bytes access = json_string_or_absent(json_get(root, "accessJwt"));
    struct bytes refresh = json_string_or_absent(json_get(root, "refreshJwt"));
    if (access.len == 0 || refresh.len == 0)
        return err_set(err, RC_RETRY, "the login was answered without a token");
    secret_set(&session->access, access);
    secret_set(&session->refresh, refresh);
    session->access_until_us = good_until(session);
    session->number++;
    return RC_OK;
}

static void on_answer(void *arg, const struct http_response *response)
{
    struct appview_session *session = arg;
    struct appview_answer answer = {0};
    session->call = NULL;
    enum retry_class class = appview_verdict(session->doc, response, &answer);
    bool refused = answer.rc == RC_REJECT || (answer.rc == RC_RETRY && class == RETRY_AUTH);
    enum rc rc = answer.rc;
    if (rc == RC_OK)
        rc = take_tokens(session, answer.root, &answer.err);
    else if (refused && session->renewing) {
        forget(session);
        appview_session_begin(session); /* with the password */
        return;
    } else if (refused)
        rc = RC_REJECT;
    session->ended(session->arg, rc, &answer.err);
}

static void send(struct appview_session *session, const char *method, const char *bearer,
                 struct bytes body)
{
    struct http_header headers[] = {{"Content-Type", "application/json"},
                                    {"Authorization", bearer}};
    struct text url = {0};
    text_appendf(&url, "%s/xrpc/com.atproto.server.%s", session->root, method);
    struct http_request request = {.method = "POST",
                                   .url = text_string(&url),
                                   .headers = bearer == NULL ? headers : headers + 1,
                                   .header_count = 1,
                                   .body = body,
                                   .total_ms_max = ANSWER_MS_MAX,
                                   .body_bytes_max = ANSWER_MAX};
    session->call =
        session->runtime->ops->http_send(session->runtime, &request, on_answer, session);
    text_free(&url);
}

static void append_bearer(const struct secret *token, struct text *out)
{
    struct bytes value = secret_reveal(token);
    text_append_string(out, "Bearer ");
    text_append(out, value.data, value.len);
}

void appview_session_begin(struct appview_session *session)
{
    struct text words = {0};
    struct json_writer writer;
    assert(session->call == NULL);
    session->renewing = secret_given(&session->refresh);
    if (session->renewing) {
        append_bearer(&session->refresh, &words);
        send(session, "refreshSession", text_string(&words), BYTES_ABSENT);
    } else {
        json_writer_init(&writer, &words);
        json_begin_object(&writer);
        json_key(&writer, "identifier");
        json_put_cstring(&writer, session->identifier);
        json_key(&writer, "password");
        json_put_string(&writer, secret_reveal(&session->password));
        json_end_object(&writer);
        send(session, "createSession", NULL, text_bytes(&words));
    }
    wipe(&words);
}

/* ---- the token ---- */

bool appview_session_ready(const struct appview_session *session)
{
    int64_t now_us = session->runtime->ops->wall_us(session->runtime);
    return session->call == NULL && secret_given(&session->access) &&
           (session->access_until_us == INT64_MAX || now_us < session->access_until_us - EARLY_US);
}

bool appview_session_busy(const struct appview_session *session)
{
    return session->call != NULL;
}

void appview_session_bearer(const struct appview_session *session, struct text *out)
{
    append_bearer(&session->access, out);
}

void appview_session_refused(struct appview_session *session, uint64_t number, bool renewed)
{
    if (number != session->number || session->call != NULL)
        return; /* another one is in use, or about to be */
    secret_clear(&session->access);
    if (renewed)
        secret_clear(&session->refresh);
}

void appview_session_init(struct appview_session *session, struct runtime *runtime,
                          const char *root, const char *identifier, struct bytes password,
                          session_fn *ended, void *arg)
{
    *session = (struct appview_session){.runtime = runtime,
                                        .root = memory_copy_string(root),
                                        .identifier = memory_copy_string(identifier),
                                        .doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX),
                                        .ended = ended,
                                        .arg = arg};
    secret_set(&session->password, password);
}

void appview_session_deinit(struct appview_session *session)
{
    if (session->call != NULL)
        session->runtime->ops->http_cancel(session->runtime, session->call);
    forget(session);
    secret_clear(&session->password);
    json_doc_free(session->doc);
    free(session->root);
    free(session->identifier);
}
