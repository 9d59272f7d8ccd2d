/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#define STREAM_PIECE   4096
#define DOCUMENT_PIECE 32768

static void put(struct MHD_Response *response, const char *name, const char *value)
{
    if (value != NULL)
        MHD_add_response_header(response, name, value);
}

void answer_count(struct request *request)
{
    unsent_note(&request->service->unsent, &request->reply_counted, request->reply.cap);
}

/* ---- made smaller ---- */

/* A 304 has no body, and says how long the one of a 200 would be: the library would say 0. */
static bool is_known(const struct request *request)
{
    return request->status == 304;
}

static bool may_be_packed(const struct request *request)
{
    return (request->status == 200 || is_known(request)) &&
           request->reply.len >= CODING_BYTES_MIN && coding_helps(request->content_type);
}

static void pack(struct worker_job *job, unsigned thread)
{
    struct request *request = (struct request *)((char *)job - offsetof(struct request, packing));
    struct text packed = {0};
    (void)thread;
    if (!coding_apply(request->coding, text_bytes(&request->reply), &packed)) {
        request->coding = CODING_NONE;
        text_free(&packed);
        return;
    }
    text_free(&request->reply);
    request->reply = packed;
}

bool answer_pack(struct request *request, worker_done_fn *done)
{
    struct worker_pool *packers = request->service->packers;
    if (packers == NULL || request->packing.run != NULL || !may_be_packed(request))
        return false;
    request->packing = (struct worker_job){.run = pack, .done = done};
    request->varies = true;
    request->coding = coding_choose(request_header(request, "Accept-Encoding"));
    if (request->coding != CODING_NONE && worker_submit(packers, &request->packing) == RC_OK)
        return true;
    request->coding = CODING_NONE;
    return false;
}

/* ---- headers ---- */

/* A coded answer is not the same bytes, only the same thing. */
static void put_tag(struct MHD_Response *response, const struct request *request)
{
    char weak[sizeof request->path_part + 8];
    if (request->etag == NULL)
        return;
    snprintf(weak, sizeof weak, "W/%s", request->etag);
    put(response, "ETag", request->coding == CODING_NONE ? request->etag : weak);
}

static void put_keeping(struct MHD_Response *response, const struct request *request)
{
    const char *usual = request->etag == NULL ? "no-store" : "no-cache";
    put(response, "Cache-Control", request->caching == NULL ? usual : request->caching);
    put_tag(response, request);
    if (request->ranges)
        put(response, "Accept-Ranges", "bytes");
    if (request->content_range[0] != '\0')
        put(response, "Content-Range", request->content_range);
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

/* RFC 6455, 4.4: a websocket of another version can be asked for again, in ours. */
static void put_upgrade(struct MHD_Response *response, const struct request *request)
{
    if (request->status != 426)
        return;
    put(response, "Upgrade", "websocket");
    put(response, "Connection", "Upgrade");
    put(response, "Sec-WebSocket-Version", "13");
}

static void put_cors(struct MHD_Response *response, const struct request *request)
{
    if (request->cors)
        put(response, "Vary", "Origin");
    if (request->cors_origin == NULL)
        return;
    put(response, "Access-Control-Allow-Origin", request->cors_origin);
    put(response, "Access-Control-Expose-Headers", "Retry-After");
    if (!request->preflight)
        return;
    put(response, "Access-Control-Allow-Methods", "GET, HEAD, POST");
    put(response, "Access-Control-Allow-Headers", "Authorization, Content-Type, Tidemark-Session");
    put(response, "Access-Control-Max-Age", "600");
}

/* ---- the end of HTTP ---- */

static void hand_over(void *arg, struct MHD_Connection *connection, void *state, const char *early,
                      size_t early_len, MHD_socket fd, struct MHD_UpgradeResponseHandle *upgraded)
{
    struct request *request = arg;
    (void)connection, (void)state;
    request->upgrade(request, fd, upgraded, bytes_make(early, early_len));
}

static enum MHD_Result send_upgrade(struct request *request)
{
    struct MHD_Response *response = MHD_create_response_for_upgrade(hand_over, request);
    if (response == NULL)
        return MHD_NO;
    put(response, "Upgrade", "websocket");
    put(response, "Sec-WebSocket-Accept", request->accept);
    if (request->protocol != NULL)
        put(response, "Sec-WebSocket-Protocol", request->protocol);
    enum MHD_Result result = MHD_queue_response(request->connection, 101, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- the body ---- */

static ssize_t give_more(void *arg, uint64_t at, char *to, size_t size)
{
    struct request *request = arg;
    (void)at;
    ssize_t given = request->give(request, to, size);
    if (given < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (given == 0) {
        request->dry = true;
        MHD_suspend_connection(request->connection);
    }
    return given;
}

/* Of what has no end nobody can say the length, and in pieces the library would send the last one
 * even where there is no body: so the connection ends instead. */
static struct MHD_Response *make_stream_head(struct request *request)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, give_more, request, NULL);
    if (response != NULL && MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                                     MHD_RO_END) == MHD_YES)
        return response;
    if (response != NULL)
        MHD_destroy_response(response);
    return NULL;
}

static struct MHD_Response *make_response(struct request *request)
{
    struct text *reply = &request->reply;
    bool has_end = request->give_bytes > 0;
    if (request->give != NULL && !has_end && request->head_only)
        return make_stream_head(request);
    if (request->give != NULL)
        return MHD_create_response_from_callback(
            has_end ? (uint64_t)request->give_bytes : MHD_SIZE_UNKNOWN,
            has_end ? DOCUMENT_PIECE : STREAM_PIECE, give_more, request, NULL);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->len, reply->data, MHD_RESPMEM_MUST_FREE);
    if (response != NULL)
        *reply = (struct text){0};
    return response;
}

/* ---- all of it ---- */

enum MHD_Result answer_send(struct request *request)
{
    assert(request->answered && request->status != 0);
    if (request->upgrade != NULL)
        return send_upgrade(request);
    struct MHD_Response *response = make_response(request);
    if (response == NULL)
        return MHD_NO;
    if (!is_known(request))
        put(response, "Content-Type", request->content_type);
    put_keeping(response, request);
    if (request->varies)
        put(response, "Vary", "Accept-Encoding");
    if (request->coding != CODING_NONE && !is_known(request))
        put(response, "Content-Encoding", coding_name(request->coding));
    put(response, "X-Content-Type-Options", "nosniff");
    if (request->same_origin)
        put(response, "Cross-Origin-Resource-Policy", "same-origin");
    put(response, "Allow", request->allow);
    put(response, "Location", request->location);
    put(response, "Content-Security-Policy", request->policy);
    put(response, "WWW-Authenticate", request->challenge);
    put_retry(response, request);
    put_cors(response, request);
    put_upgrade(response, request);
    if (request->close || request->service->draining)
        put(response, "Connection", "close");
    enum MHD_Result result =
        MHD_queue_response(request->connection, (unsigned)request->status, response);
    MHD_destroy_response(response);
    return result;
}
