/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include <assert.h>
#include <stdio.h>

static void put(struct MHD_Response *response, const char *name, const char *value)
{
    if (value != NULL)
        MHD_add_response_header(response, name, value);
}

static void put_retry(struct MHD_Response *response, const struct request *request)
{
    char seconds[16];
    unsigned wait_s = request->retry_after_s == 0 ? 1 : request->retry_after_s;
    if (request->status != 503 && request->status != 429)
        return;
    snprintf(seconds, sizeof seconds, "%u", wait_s);
    put(response, "Retry-After", seconds);
}

static void put_cors(struct MHD_Response *response, const struct request *request)
{
    if (request->cors)
        put(response, "Vary", "Origin");
    if (request->cors_origin == NULL)
        return;
    put(response, "Access-Control-Allow-Origin", request->cors_origin);
    put(response, "Access-Control-Expose-Headers", "Retry-After");
}

enum MHD_Result answer_send(struct request *request)
{
    struct text *reply = &request->reply;
    assert(request->answered && request->status != 0);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->len, reply->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        return MHD_NO;
    *reply = (struct text){0};
    put(response, "Content-Type", request->content_type);
    put(response, "Cache-Control", "no-store");
    put(response, "X-Content-Type-Options", "nosniff");
    put(response, "Allow", request->allow);
    put(response, "Content-Security-Policy", request->policy);
    put(response, "WWW-Authenticate", request->challenge);
    put_retry(response, request);
    put_cors(response, request);
    if (request->close || request->service->draining)
        put(response, "Connection", "close");
    enum MHD_Result result =
        MHD_queue_response(request->connection, (unsigned)request->status, response);
    MHD_destroy_response(response);
    return result;
}
