/* SPDX-License-Identifier: Apache-2.0 */
#include "query/trending.h"
#include "serve/routes.h"

#include <microhttpd.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct news_call {
    struct trending_request request;
    int64_t link;
    struct refusal refusal; /* of the first parameter that is none */
};

struct number {
    const char *name;
    size_t offset;
    int64_t min, max;
};

static const struct number numbers[] = {
    {"hours", offsetof(struct trending_request, hours), 1, TRENDING_HOURS_MAX},
    {"limit", offsetof(struct trending_request, limit), 1, TRENDING_LIMIT_MAX},
    {"min_shares", offsetof(struct trending_request, min_shares), 1, 1000000},
    {"degree", offsetof(struct trending_request, degree), 1, 2},
};

static void refuse(struct news_call *call, enum refusal_code code, const char *name,
                   const char *must)
{
    if (call->refusal.code == REFUSAL_NONE)
        refusal_set(&call->refusal, code, "%.32s %s", name, must);
}

static void take_number(struct news_call *call, const struct number *number, const char *value)
{
    int64_t *out = (int64_t *)((char *)&call->request + number->offset);
    char must[64];
    snprintf(must, sizeof must, "is a number from %" PRId64 " to %" PRId64, number->min,
             number->max);
    if (value == NULL || !bytes_to_i64(bytes_of(value), out))
        refuse(call, REFUSAL_BAD_REQUEST, number->name, must);
    else if (*out < number->min || *out > number->max)
        refuse(call, REFUSAL_LIMIT_RANGE, number->name, must);
}

static void take_sort(struct news_call *call, const char *value)
{
    static const char *const words[] = {"shares", "velocity", "recent"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (value != NULL && strcmp(value, words[i]) == 0) {
            call->request.sort = (enum trending_sort)i;
            return;
        }
    refuse(call, REFUSAL_BAD_REQUEST, "sort", "is shares, velocity or recent");
}

static void take_q(struct news_call *call, const char *value)
{
    if (value != NULL && strlen(value) >= sizeof call->request.q)
        refuse(call, REFUSAL_LIMIT_RANGE, "q", "is too long");
    else
        snprintf(call->request.q, sizeof call->request.q, "%s", value == NULL ? "" : value);
}

static enum MHD_Result take_parameter(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct news_call *call = arg;
    (void)kind;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            take_number(call, &numbers[i], value);
            return MHD_YES;
        }
    if (strcmp(name, "sort") == 0)
        take_sort(call, value);
    else if (strcmp(name, "q") == 0)
        take_q(call, value);
    else
        refuse(call, REFUSAL_BAD_REQUEST, name, "is no parameter of this address");
    return MHD_YES;
}

static struct news_call *begin(struct request *request)
{
    struct news_call *call = memory_new_zeroed(1, sizeof *call);
    struct runtime *runtime = request->service->runtime;
    call->request = trending_request_default(runtime->ops->wall_us(runtime));
    request->data = call;
    request->free_data = free;
    return call;
}

void trending_begin(struct request *request)
{
    struct news_call *call = begin(request);
    if (request->service->options->config == NULL) {
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing is ranked here");
        return;
    }
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_parameter, call);
    if (call->refusal.code != REFUSAL_NONE)
        request_refuse_with(request, &call->refusal);
}

enum rc trending_work(struct request *request, struct store *store, struct err *err)
{
    struct news_call *call = request->data;
    return trending_print(store, request->service->options->config, &call->request, &request->reply,
                          err);
}

void trending_finish(struct request *request)
{
    if (request->job.rc == RC_OK)
        request_send(request, 200, "application/json");
    else if (request->job.rc == RC_REJECT)
        request_refuse(request, REFUSAL_NOT_FOUND, "%s", request->job.err.text);
    else
        request_fail(request);
}

void link_posts_begin(struct request *request)
{
    struct news_call *call = begin(request);
    if (!bytes_to_i64(bytes_of(request->path_part), &call->link))
        request_refuse(request, REFUSAL_NOT_FOUND, "a link's id is a number");
}

enum rc link_posts_work(struct request *request, struct store *store, struct err *err)
{
    struct news_call *call = request->data;
    return trending_print_posts(store, call->link, &request->reply, err);
}
