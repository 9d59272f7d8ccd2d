/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "base/picture_type.h"
#include "query/kept_picture.h"
#include "serve/routes.h"

#include <stdio.h>
#include <stdlib.h>

#define WAIT_US  INT64_C(2000000)   /* for one that is being fetched */
#define AGAIN_US INT64_C(900000000) /* one that could not be had is not asked for within it */
#define A_WHILE  "max-age=60"
/* A stranger's picture runs nothing and loads nothing, whatever a browser takes it for. */
#define POLICY "default-src 'none'; sandbox; frame-ancestors 'none'"

/* A picture on its way to one client. */
struct picture_call {
    struct picture_name name;
    int64_t again_us;
    bool wanted; /* it was said once that somebody wants it */
    struct kept_picture picture;
    const char *type;
    char etag[40];
};

static void free_call(void *data)
{
    struct picture_call *call = data;
    kept_picture_deinit(&call->picture);
    free(call);
}

bool pictures_shown(const struct service *service)
{
    const struct server_pictures *pictures = &service->options->pictures;
    return pictures->enabled != NULL && pictures->enabled(pictures->arg);
}

void picture_begin(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    struct picture_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free_call;
    call->again_us = runtime->ops->wall_us(runtime) - AGAIN_US;
    request->behind_until_us = runtime->ops->mono_us(runtime) + WAIT_US;
    if (!pictures_shown(request->service))
        request_refuse(request, REFUSAL_NOT_FOUND, "pictures are turned off (page.images)");
    else if (!picture_name_parse(bytes_of(request->path_part), &call->name))
        request_refuse(request, REFUSAL_NOT_FOUND, "this is the name of no picture");
}

/* ---- with a store ---- */

static void know(struct picture_call *call)
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    call->type = picture_type_of(text_bytes(&call->picture.data));
    digest_sha256(text_bytes(&call->picture.data), digest);
    digest_hex(digest, hex);
    snprintf(call->etag, sizeof call->etag, "\"%.32s\"", hex);
}

enum rc picture_work(struct request *request, struct store *store, struct err *err)
{
    struct picture_call *call = request->data;
    const struct server_pictures *pictures = &request->service->options->pictures;
    enum rc rc = kept_picture_find(store, &call->name, call->again_us, &call->picture, err);
    if (rc == RC_OK && call->picture.state == PICTURE_KEPT)
        know(call);
    if (rc != RC_OK || call->picture.state != PICTURE_MISSING)
        return rc;
    if (!call->wanted)
        call->wanted = pictures->want(pictures->arg, bytes_of(call->name.words), call->name.link,
                                      text_bytes(&call->picture.url));
    /* Who waits for a commit is tried again with each, for a while. */
    return !call->wanted ? RC_OK
                         : refusal_set(&request->refusal, REFUSAL_BEHIND, "it is being fetched");
}

/* ---- the answer ---- */

static void send_kept(struct request *request, struct picture_call *call)
{
    request->policy = POLICY;
    request->same_origin = true;
    request->caching = KEPT_FOR_EVER;
    request_send_known(request, call->type, call->etag, text_bytes(&call->picture.data));
}

static void refuse(struct request *request, const struct picture_call *call)
{
    const struct kept_picture *picture = &call->picture;
    if (picture->state == PICTURE_FAILED)
        request->caching = A_WHILE;
    if (picture->state == PICTURE_FAILED || picture->state == PICTURE_KEPT)
        request_refuse(request, REFUSAL_NOT_FOUND, "it cannot be had: %s",
                       picture->state == PICTURE_FAILED ? picture->reason : "no picture is kept");
    else if (picture->state == PICTURE_MISSING)
        request_refuse(request, REFUSAL_NOT_FOUND,
                       call->wanted ? "it is being fetched: ask again in a moment"
                                    : "too many pictures are being fetched: ask again later");
    else
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing has this picture");
}

void picture_finish(struct request *request)
{
    struct picture_call *call = request->data;
    bool late = request->job.rc == RC_REJECT && request->refusal.code == REFUSAL_BEHIND;
    if (request->job.rc != RC_OK && !late)
        request_fail(request);
    else if (!late && call->picture.state == PICTURE_KEPT && call->type != NULL)
        send_kept(request, call);
    else
        refuse(request, call);
}
