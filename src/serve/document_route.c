/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "query/kept_document.h"
#include "serve/byte_range.h"
#include "serve/document_type.h"
#include "serve/routes.h"

#include <microhttpd.h>

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MAX   INT64_C(1048576) /* of a document, in memory for each who fetches one */
#define NOT_YET_S   1                /* a block that is being worked on is looked at again */
#define RETRY_S_MAX 600
/* A stranger's document runs nothing and loads nothing, whatever a browser takes it for. */
#define POLICY "default-src 'none'; sandbox; frame-ancestors 'none'"

/* A document on its way to one client: found, then a piece at a time. */
struct document_call {
    struct text canonical;
    char etag[sizeof((struct request *)0)->path_part + 2];
    bool known;    /* to the client, by its tag */
    bool awaited;  /* a block names it, and it had no row when it was asked for */
    int64_t block; /* of the event that the client means; -1: it does not say */
    struct byte_range range;
    struct kept_document document;
    bool found; /* it was looked for */
    int64_t at, end;
    struct text piece; /* from `piece_at` on not taken yet */
    size_t piece_at;
    bool broken;
};

static void free_call(void *data)
{
    struct document_call *call = data;
    text_free(&call->canonical);
    text_free(&call->piece);
    free(call);
}

/* A range that was made from another version of the document counts for nothing. */
static struct byte_range range_asked_for(const struct request *request, const char *etag)
{
    const char *unless = request_header(request, "If-Range");
    if (unless != NULL && strcmp(unless, etag) != 0)
        return (struct byte_range){.kind = BYTE_RANGE_ALL};
    return byte_range_parse(bytes_of(request_header(request, "Range")));
}

/* The number of the block whose event names it, as the client says; false: that is no number. */
static bool read_block(struct request *request, int64_t *out)
{
    const char *value =
        MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "block");
    uint64_t block;
    *out = -1;
    if (value == NULL)
        return true;
    if (!bytes_to_u64(bytes_of(value), &block) || block > INT64_MAX)
        return false;
    *out = (int64_t)block;
    return true;
}

/* Who has no row when the store is read may have been seen on its way before: one without either
 * was named by nobody. So it is looked for there first. */
void document_begin(struct request *request)
{
    const struct server_options *options = request->service->options;
    struct document_call *call = memory_new_zeroed(1, sizeof *call);
    struct bytes name = bytes_of(request->path_part);
    request->data = call;
    request->free_data = free_call;
    if (options->spell_address == NULL || !options->spell_address(name, &call->canonical))
        utf8_append(&call->canonical, name);
    snprintf(call->etag, sizeof call->etag, "\"%s\"", text_string(&call->canonical));
    call->known = request_has_tag(request, call->etag);
    call->range = range_asked_for(request, call->etag);
    call->awaited = options->awaits_document != NULL &&
                    options->awaits_document(options->awaits_arg, text_bytes(&call->canonical));
    if (!read_block(request, &call->block))
        request_refuse(request, REFUSAL_BAD_REQUEST, "block is the number of a block");
}

/* ---- with a store ---- */

static enum rc read_piece(struct document_call *call, struct store *store, struct err *err)
{
    int64_t len = call->end - call->at < PIECE_MAX ? call->end - call->at : PIECE_MAX;
    call->piece_at = 0;
    return kept_document_read(store, &call->document, call->at, len, &call->piece, err);
}

enum rc document_work(struct request *request, struct store *store, struct err *err)
{
    struct document_call *call = request->data;
    int64_t len;
    if (call->found)
        return read_piece(call, store, err);
    enum rc rc = kept_document_find(store, text_string(&call->canonical), &call->document, err);
    if (rc != RC_OK || call->document.state != KEPT_WHOLE || call->known ||
        !byte_range_resolve(&call->range, call->document.size, &call->at, &len))
        return rc;
    call->end = call->at + len;
    return len == 0 ? rc : read_piece(call, store, err);
}

/* ---- the answer ---- */

/* The next piece is read while the connection sleeps; a reader that has no time for it ends the
 * answer, and the client goes on with a range. */
static ssize_t give(struct request *request, char *to, size_t size)
{
    struct document_call *call = request->data;
    size_t left = call->piece.len - call->piece_at;
    if (left == 0 && call->at < call->end && !call->broken) {
        request_read(request);
        return call->broken ? -1 : 0;
    }
    if (left == 0)
        return -1;
    if (size > left)
        size = left;
    memcpy(to, call->piece.data + call->piece_at, size);
    call->piece_at += size;
    call->at += (int64_t)size;
    return (ssize_t)size;
}

static void send_whole(struct request *request, struct document_call *call)
{
    const struct kept_document *document = &call->document;
    struct bytes head = bytes_make(document->head, document->head_len);
    int64_t len = call->end - call->at;
    request->give = len > 0 ? give : NULL;
    request->give_bytes = len;
    if (call->range.kind == BYTE_RANGE_ALL) {
        request_send(request, 200,
                     document_type_of(head, document->size > (int64_t)document->head_len));
        return;
    }
    snprintf(request->content_range, sizeof request->content_range,
             "bytes %" PRId64 "-%" PRId64 "/%" PRId64, call->at, call->end - 1, document->size);
    request_send(request, 206,
                 document_type_of(head, document->size > (int64_t)document->head_len));
}

/* As long as it would be; none of it is read. */
static void send_known(struct request *request, const struct document_call *call)
{
    request->give = call->document.size > 0 ? give : NULL;
    request->give_bytes = call->document.size;
    request_send(request, 304, NULL);
}

static void send_kept(struct request *request, struct document_call *call)
{
    int64_t at, len;
    request->ranges = true;
    request->policy = POLICY;
    if (!call->known && !byte_range_resolve(&call->range, call->document.size, &at, &len)) {
        snprintf(request->content_range, sizeof request->content_range, "bytes */%" PRId64,
                 call->document.size);
        request_refuse(request, REFUSAL_BAD_RANGE, "it has %" PRId64 " bytes, none of them there",
                       call->document.size);
        return;
    }
    request->etag = call->etag;
    request->caching = KEPT_FOR_EVER;
    if (call->known)
        send_known(request, call);
    else
        send_whole(request, call);
}

static void refuse_owed(struct request *request, const struct kept_document *document)
{
    struct runtime *runtime = request->service->runtime;
    int64_t wait_s = (document->next_us - runtime->ops->wall_us(runtime)) / 1000000 + 1;
    request->retry_after_s = (unsigned)(wait_s < 1             ? 1
                                        : wait_s > RETRY_S_MAX ? RETRY_S_MAX
                                                               : wait_s);
    request_refuse(request, REFUSAL_OWED, "no gateway had it yet: %s", document->reason);
}

/* Nobody who is not there yet is said not to be there. */
static void refuse_unknown(struct request *request, const struct document_call *call)
{
    int64_t up_to = call->document.read_up_to;
    if (call->awaited || call->block > up_to) {
        request->retry_after_s = NOT_YET_S;
        if (call->awaited)
            request_refuse(request, REFUSAL_NOT_YET, "a block after %" PRId64 " names it", up_to);
        else
            request_refuse(request, REFUSAL_NOT_YET,
                           "block %" PRId64 " is not done yet, %" PRId64 " is", call->block, up_to);
    } else if (up_to < 0) {
        request_refuse(request, REFUSAL_NOT_KNOWN, "no block was read yet");
    } else {
        request_refuse(request, REFUSAL_NOT_KNOWN, "no block up to %" PRId64 " names it", up_to);
    }
}

void document_finish(struct request *request)
{
    struct document_call *call = request->data;
    const struct kept_document *document = &call->document;
    if (call->found) { /* the next piece, or none */
        call->broken = request->job.rc != RC_OK || call->piece.len == 0;
        return;
    }
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    call->found = true;
    if (document->state == KEPT_WHOLE)
        send_kept(request, call);
    else if (document->state == KEPT_OWED)
        refuse_owed(request, document);
    else if (document->state == KEPT_DEAD)
        request_refuse(request, REFUSAL_DEAD, "it was given up: %s", document->reason);
    else
        refuse_unknown(request, call);
}
