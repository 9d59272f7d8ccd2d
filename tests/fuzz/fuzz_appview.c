/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the answer of an XRPC server, with any status, and as a token of its: the answer is
 * an object to read, a refusal with its name and a sentence, or worth another try; a token's end is
 * the one that its claims name, and never before 1970. The first byte chooses the status. */
#include "base/arena.h"
#include "base/sign.h"
#include "source/appview_session.h"
#include "source/appview_verdict.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX  ((size_t)1 << 16)
#define CLAIMS_MAX 300
#define SECOND_US  INT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct json_doc *doc, *own;

static void check_verdict(int status, struct bytes body)
{
    struct http_response response = {.rc = RC_OK, .status = status, .body = body};
    struct appview_answer answer = {0};
    struct json root;
    enum retry_class class = appview_verdict(doc, &response, &answer);
    bool object =
        json_parse_copy(own, body, &root, NULL) == RC_OK && json_type(root) == JSON_OBJECT;
    assert(answer.status == status && (answer.rc == RC_OK) == (object && status == 200));
    if (answer.rc == RC_OK) {
        assert(json_count(answer.root) == json_count(root) && answer.err.text[0] == '\0');
        return;
    }
    assert(answer.rc == RC_REJECT || answer.rc == RC_RETRY);
    assert(answer.err.text[0] != '\0' && (answer.rc == RC_REJECT) == (class == RETRY_PERMANENT));
    /* A refusal's name is the server's own word. */
    struct bytes name = object ? json_string_or_absent(json_get(root, "error")) : BYTES_ABSENT;
    assert(answer.error[0] == '\0' || bytes_equal_string(name, answer.error));
    /* What is only busy, or broken, is never taken for a refusal. */
    assert(status < 500 || answer.rc == RC_RETRY);
    assert(status != 429 || class == RETRY_RATE_LIMITED);
}

static int64_t seconds_named(struct bytes claims)
{
    struct json root;
    int64_t seconds;
    if (json_parse_copy(own, claims, &root, NULL) != RC_OK ||
        !json_i64(json_get(root, "exp"), &seconds) || seconds < 0)
        return -1;
    return seconds;
}

/* The claims put into a token, as a server does. */
static void check_token(struct bytes claims)
{
    struct text token = {0};
    if (claims.len > CLAIMS_MAX)
        return;
    text_append_string(&token, "e30.");
    sign_base64_url(claims, &token);
    text_append_string(&token, ".c2ln");
    int64_t until_us = appview_session_expiry(doc, text_bytes(&token));
    int64_t seconds = seconds_named(claims);
    assert(until_us >= 0 && (until_us == INT64_MAX || until_us == seconds * SECOND_US));
    assert(seconds < 0 || seconds > INT32_MAX || until_us != INT64_MAX);
    text_free(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 400, 401, 403, 404, 429, 500, 503};
    static char padded[BYTES_MAX + ARENA_PAD];
    if (size < 2 || size - 1 > BYTES_MAX)
        return -1;
    if (doc == NULL) {
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
        own = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    }
    memcpy(padded, data + 1, size - 1);
    memset(padded + size - 1, 0, ARENA_PAD);
    struct bytes input = bytes_make(padded, size - 1);
    check_verdict(statuses[data[0] % 8], input);
    check_token(input);
    int64_t until_us = appview_session_expiry(doc, input);
    assert(until_us >= 0 && (until_us == INT64_MAX || until_us % SECOND_US == 0));
    return 0;
}
