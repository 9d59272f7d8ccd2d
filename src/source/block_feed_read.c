/* SPDX-License-Identifier: Apache-2.0 */
#include "source/block_feed_parts.h"

#include "source/url_query.h"
#include "sys/log.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CHUNK          ((size_t)1 << 16)
#define KEPT_OF_LONG   ((size_t)1 << 12) /* of a line that is too long */
#define LOOK_US        INT64_C(200000)   /* between two looks at a file or a pipe */
#define ASK_US         INT64_C(1000000)  /* between two questions to a server with nothing to say */
#define ASK_US_MAX     INT64_C(60000000)
#define ANSWER_MAX     ((size_t)16 << 20)
#define CONNECT_MS_MAX 5000
#define TOTAL_MS_MAX   90000 /* a server may wait until it has something to say */

static void arm(struct block_feed *feed, int64_t delay_us)
{
    feed->env.runtime->ops->timer_arm(feed->env.runtime, &feed->again, delay_us);
}

/* ---- lines ---- */

static void forget_done(struct block_feed *feed)
{
    size_t left = feed->bytes.len - feed->at;
    if (feed->at == 0)
        return;
    memmove(feed->bytes.data, feed->bytes.data + feed->at, left);
    feed->bytes.len = left;
    feed->at = 0;
}

bool block_feed_next_line(struct block_feed *feed)
{
    const char *from = text_string(&feed->bytes) + feed->at;
    size_t left = feed->bytes.len - feed->at;
    const char *end = memchr(from, '\n', left);
    if (end != NULL) {
        feed->raw = bytes_make(from, (size_t)(end - from));
        feed->at += feed->raw.len + 1;
        feed->line_number++;
        return true;
    }
    forget_done(feed);
    if (left > BLOCK_FEED_LINE_MAX) { /* nobody wants it whole, and it must not fill the memory */
        feed->cut += left - KEPT_OF_LONG;
        feed->bytes.len = KEPT_OF_LONG;
    }
    return false;
}

/* ---- a file or a pipe ---- */

/* The last line of what was there has no end; it is read as it is, before anything else. */
static void hear_anew(struct block_feed *feed, const char *why)
{
    log_event(LOG_INFO, CONTENT_SOURCE, "feed_begins_anew",
              (struct log_field[]){
                  log_string("reason", why),
                  log_string("next", "it is read from its beginning, after the last cursor"),
                  LOG_END});
    if (feed->bytes.len > feed->at)
        text_append_char(&feed->bytes, '\n');
    feed->anew = true;
    arm(feed, 0);
}

static void seek_anew(struct block_feed *feed)
{
    feed->anew = false;
    feed->line_number = 0;
    feed->seeking = feed->first = feed->last.known;
}

static void read_stream(struct block_feed *feed)
{
    struct err err;
    if (feed->anew)
        seek_anew(feed);
    enum rc rc = byte_stream_read(feed->settings.stream, CHUNK, &feed->bytes, &err);
    if (rc == RC_OK)
        arm(feed, 0); /* others have their turn in between */
    else if (rc == RC_RETRY)
        hear_anew(feed, err.text);
    else if (rc == RC_AGAIN) {
        if (err.text[0] != '\0')
            err_set(&feed->trouble, RC_RETRY, "content.feed: %s", err.text);
        arm(feed, LOOK_US);
    } else {
        feed->over = true;
        err_set(&feed->trouble, RC_REJECT, "content.feed: %s", err.text);
    }
}

/* ---- a server ---- */

static void fail(struct block_feed *feed, const char *why)
{
    int64_t wait_us = ASK_US << (feed->failures < 6 ? feed->failures : 6);
    feed->failures++;
    err_set(&feed->trouble, RC_RETRY, "content.feed: %s", why);
    arm(feed, wait_us < ASK_US_MAX ? wait_us : ASK_US_MAX);
}

static void take_answer(void *arg, const struct http_response *response)
{
    struct block_feed *feed = arg;
    char words[64];
    feed->exchange = NULL;
    if (response->rc != RC_OK) {
        fail(feed, response->err.text);
        return;
    }
    if (response->status != 200 && response->status != 204) {
        snprintf(words, sizeof words, "the server answers %d", response->status);
        fail(feed, words);
        return;
    }
    feed->failures = 0;
    feed->trouble.text[0] = '\0';
    if (response->body.len == 0) {
        arm(feed, ASK_US);
        return;
    }
    text_append(&feed->bytes, response->body.data, response->body.len);
    if (feed->bytes.data[feed->bytes.len - 1] != '\n')
        text_append_char(&feed->bytes, '\n');
    feed->line_number = 0;
    feed->idle = true;
    feed->seeking = feed->first = feed->last.known;
    arm(feed, 0);
}

static void ask_server(struct block_feed *feed)
{
    static const struct http_header headers[] = {{"Accept", "application/x-ndjson"}};
    struct text url = {0};
    assert(feed->exchange == NULL && feed->at == feed->bytes.len);
    if (feed->seeking && !feed->first) {
        fail(feed, "what the server sends does not hold the cursor that is stored");
        feed->first = true;
        return;
    }
    if (feed->idle) {
        feed->idle = false;
        arm(feed, ASK_US);
        return;
    }
    text_clear(&feed->bytes);
    feed->at = 0;
    text_append_string(&url, feed->settings.url);
    if (feed->last.cursor[0] != '\0') {
        text_append_string(&url, strchr(feed->settings.url, '?') == NULL ? "?cursor=" : "&cursor=");
        url_query_append(&url, bytes_of(feed->last.cursor));
    }
    struct http_request request = {.url = text_string(&url),
                                   .headers = headers,
                                   .header_count = sizeof headers / sizeof headers[0],
                                   .connect_ms_max = CONNECT_MS_MAX,
                                   .total_ms_max = TOTAL_MS_MAX,
                                   .body_bytes_max = ANSWER_MAX};
    feed->exchange =
        feed->env.runtime->ops->http_send(feed->env.runtime, &request, take_answer, feed);
    text_free(&url);
}

void block_feed_ask_more(struct block_feed *feed)
{
    if (feed->over)
        return;
    if (feed->settings.url == NULL)
        read_stream(feed);
    else if (feed->exchange == NULL)
        ask_server(feed);
}
