/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/web_fault.h"

#include <stdio.h>
#include <string.h>

#define HTML "text/html; charset=utf-8"

/* Tags that never end, bytes that are no characters, and a card nobody should believe in. */
static const char garbage[] = "\xff\xfe<\0<<meta property=\"og:title\" content=\"\xc3\x28 "
                              "<title\x00><!--[if \xed\xa0\x80\x80<html <meta charset=utf-7 "
                              "&#xd800;&#1114112;&\xf8\x88\x80\x80 content='";

static void reply_status(struct http_exchange *exchange, const struct fault *fault)
{
    char headers[48] = "";
    if (fault->retry_after > 0)
        snprintf(headers, sizeof headers, "Retry-After: %u\r\n", fault->retry_after);
    if (fault->status == 0)
        http_drop(exchange);
    else
        http_reply(exchange, (int)fault->status, HTML, headers,
                   bytes_of("<!doctype html><title>planned</title>"));
}

static void reply_huge(struct http_exchange *exchange, const struct fault *fault)
{
    struct text page = {0};
    memset(text_reserve(&page, fault->bytes), ' ', fault->bytes);
    page.len += fault->bytes;
    http_reply(exchange, 200, HTML, NULL, text_bytes(&page));
    text_free(&page);
}

bool web_fault_answers(struct http_exchange *exchange, struct sim *sim, const char *kind)
{
    struct fault_plan *plan = &sim->faults;
    struct peer *peer = http_exchange_peer(exchange);
    const struct fault *fault = fault_plan_fire(plan, FAULT_WEB, kind);
    if (fault != NULL) {
        reply_status(exchange, fault);
        return true;
    }
    if (fault_plan_fire(plan, FAULT_WEB_GARBAGE, kind) != NULL) {
        http_reply(exchange, 200, HTML, NULL, bytes_make(garbage, sizeof garbage - 1));
        return true;
    }
    if ((fault = fault_plan_fire(plan, FAULT_WEB_HUGE, kind)) != NULL) {
        reply_huge(exchange, fault);
        return true;
    }
    if ((fault = fault_plan_fire(plan, FAULT_WEB_STALL, kind)) != NULL)
        peer_stall(peer, fault->ms);
    if ((fault = fault_plan_fire(plan, FAULT_WEB_SLOW, kind)) != NULL)
        peer_slow(peer, fault->bytes, fault->ms);
    return false;
}
