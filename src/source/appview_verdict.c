/* SPDX-License-Identifier: Apache-2.0 */
#include "source/appview_verdict.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_MAX 200

/* An expired token is told with 400 as often as with 401. */
static const struct retry_rule rules[] = {
    {400, 400, "ExpiredToken", RETRY_AUTH},
    {400, 400, "InvalidToken", RETRY_AUTH},
    {400, 400, "AuthMissing", RETRY_AUTH},
    {400, 400, "RateLimitExceeded", RETRY_RATE_LIMITED},
};

/* Takes the error's name and its words out of the body; false when it has no name. */
static bool read_refusal(struct json root, struct appview_answer *answer)
{
    struct bytes name = json_string_or_absent(json_get(root, "error"));
    struct bytes message = json_string_or_absent(json_get(root, "message"));
    if (name.len == 0 || name.len >= sizeof answer->error)
        return false;
    memcpy(answer->error, name.data, name.len);
    answer->error[name.len] = '\0';
    int shown = message.len < MESSAGE_MAX ? (int)message.len : MESSAGE_MAX;
    (void)err_set(&answer->err, RC_REJECT, "%d %s: %.*s", answer->status, answer->error, shown,
                  shown == 0 ? "" : message.data);
    return true;
}

static enum retry_class no_answer(const struct http_response *response,
                                  struct appview_answer *answer)
{
    /* An answer that our own client refused (too large, say) is one nobody could read. */
    struct retry_failure failure = {.cause =
                                        response->rc == RC_RETRY ? RETRY_NO_ANSWER : RETRY_GARBLED};
    answer->err = response->err;
    return retry_classify(&failure, NULL, 0);
}

enum retry_class appview_verdict(struct json_doc *doc, const struct http_response *response,
                                 struct appview_answer *answer)
{
    struct err err;
    answer->rc = RC_RETRY;
    answer->error[0] = '\0';
    answer->status = response->rc == RC_OK ? response->status : 0;
    answer->root = (struct json){0};
    answer->body = BYTES_ABSENT;
    if (response->rc != RC_OK)
        return no_answer(response, answer);
    bool parsed = json_parse(doc, response->body, &answer->root, &err) == RC_OK &&
                  json_type(answer->root) == JSON_OBJECT;
    if (parsed && response->status == 200) {
        answer->rc = RC_OK;
        answer->err.text[0] = '\0';
        answer->body = response->body;
        return RETRY_TRANSIENT;
    }
    struct retry_failure failure = {.cause = RETRY_BY_STATUS, .status = response->status};
    if (parsed && response->status != 200 && read_refusal(answer->root, answer)) {
        failure.error = answer->error;
        answer->body = response->body;
    } else {
        answer->root = (struct json){0};
        (void)err_set(&answer->err, RC_RETRY, "%d with an answer that is no JSON object%s%s",
                      response->status, parsed ? "" : ": ", parsed ? "" : err.text);
        if (response->status == 200)
            failure.cause = RETRY_GARBLED;
    }
    enum retry_class class = retry_classify(&failure, rules, sizeof rules / sizeof *rules);
    if (class != RETRY_PERMANENT)
        return class;
    /* A page, or a 400 that no XRPC server wrote, comes from something in between, which may go
     * away. */
    bool page = !parsed && response->body.len > 0;
    if (failure.error == NULL && (page || response->status == 400))
        return RETRY_TRANSIENT;
    answer->rc = RC_REJECT;
    return class;
}
