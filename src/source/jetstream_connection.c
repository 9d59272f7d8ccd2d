/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jetstream_event.h"
#include "source/jetstream_parts.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <string.h>

#define AGAIN_US  INT64_C(100000)
#define STEADY_US INT64_C(60000000) /* a connection that stood so long was a good one */

void jetstream_connection_close(struct jetstream *js, const char *why)
{
    if (js->ws != NULL)
        js->env.runtime->ops->ws_close(js->ws, 1000, why);
}

void jetstream_connection_ask_again(struct jetstream *js, const char *why)
{
    js->asking_again = true;
    if (js->state != SOURCE_LIVE)
        return;
    js->state = SOURCE_WAITING;
    log_event(LOG_INFO, JETSTREAM_NAME, "asking_again",
              (struct log_field[]){log_string("host", jetstream_host_name(js)),
                                   log_string("reason", why), LOG_END});
    jetstream_connection_close(js, why);
}

/* From now on what those do who are wanted comes. */
static void note_told(struct jetstream *js)
{
    if (js->untold)
        js->told_us = jetstream_mono(js);
    js->untold = false;
}

void jetstream_connection_tell_filter(void *arg)
{
    struct jetstream *js = arg;
    if (js->state != SOURCE_LIVE)
        return; /* told when it is opened */
    if (js->place.asked.wire != JETSTREAM_WIRE_V1 || !jetstream_filter_is_ready(&js->filter)) {
        note_told(js);
        return;
    }
    struct text message = {0};
    jetstream_filter_message(&js->filter, (const char *const *)js->collections,
                             js->collection_count, &message);
    enum rc rc = js->env.runtime->ops->ws_send_text(js->ws, text_bytes(&message));
    text_free(&message);
    if (rc == RC_OK)
        note_told(js);
    if (rc == RC_AGAIN)
        js->env.runtime->ops->timer_arm(js->env.runtime, &js->tell, AGAIN_US);
}

void jetstream_connection_dial_later(struct jetstream *js, int64_t delay_us)
{
    js->state = SOURCE_WAITING;
    js->env.runtime->ops->timer_arm(js->env.runtime, &js->again, delay_us < 0 ? 0 : delay_us);
}

static void on_opened(void *arg)
{
    struct jetstream *js = arg;
    js->state = SOURCE_LIVE;
    js->trouble.text[0] = '\0';
    jetstream_host_agreed(jetstream_host_now(js), js->place.asked.wire);
    log_event(LOG_INFO, JETSTREAM_NAME, "connected",
              (struct log_field[]){
                  log_string("host", jetstream_host_name(js)),
                  log_string("wire", js->place.asked.wire == JETSTREAM_WIRE_V2 ? "v2" : "v1"),
                  log_bool("compressed", js->packing.current != NULL),
                  log_int("cursor", js->place.asked.number),
                  log_int("cursor_us", js->place.asked.from_us), LOG_END});
    js->untold = true;
    if (jetstream_filter_needs_hello(&js->filter))
        jetstream_connection_tell_filter(js);
    else
        note_told(js);
    jetstream_cutover_begin(js);
    crashpoint(CRASH_STREAM_OPENED);
}

static void after_taking(struct jetstream *js, enum rc rc)
{
    if (rc != RC_OK) {
        /* Nothing after a refused frame may be taken, or the cursor would pass it: what follows is
         * asked for again once there is room. */
        js->state = SOURCE_WAITING;
        log_event(LOG_WARN, JETSTREAM_NAME, "ring_full", NULL);
        jetstream_connection_close(js, "the store is not keeping up");
    }
    intake_pump(&js->intake);
}

static void on_message(void *arg, bool binary, struct bytes payload)
{
    struct jetstream *js = arg;
    if (js->state == SOURCE_LIVE)
        after_taking(js, intake_take(&js->intake, payload, binary));
}

static void on_too_large(void *arg, uint64_t bytes)
{
    struct jetstream *js = arg;
    if (js->state == SOURCE_LIVE)
        after_taking(js, intake_take_skipped(&js->intake, bytes));
}

static void note_failure(struct jetstream *js, int status, bool opened)
{
    int64_t stood_us = jetstream_mono(js) - js->dialled_us;
    struct retry_failure failure = {.cause = status >= 300 && status < 600 ? RETRY_BY_STATUS
                                                                           : RETRY_NO_ANSWER,
                                    .status = status};
    struct provider_failure said = {.class = retry_classify(&failure, NULL, 0),
                                    .retry_after_us = js->wait_us,
                                    .reason = js->trouble.text};
    if (said.class == RETRY_PERMANENT)
        said.class = RETRY_TRANSIENT; /* there is nothing to go past: the stream is one request */
    if (opened && !js->heard && stood_us >= STEADY_US) {
        /* Nobody had anything to say: that is no fault of the host. */
        js->failures = 0;
        failover_succeeded(&js->stream, &js->pick, stood_us, jetstream_mono(js));
    }
    js->failures++;
    js->reconnects++;
    failover_failed(&js->stream, &js->pick, &said, jetstream_mono(js),
                    js->env.runtime->ops->random(js->env.runtime));
}

/* The name of the error in the body of an XRPC refusal; false when it is none. */
static bool read_refusal(struct jetstream *js, struct bytes body, char word[JETSTREAM_WORD_MAX])
{
    struct json root;
    struct bytes name = BYTES_ABSENT;
    if (body.len > 0 && json_parse_copy(js->doc, body, &root, NULL) == RC_OK)
        name = json_string_or_absent(json_get(root, "error"));
    if (name.len == 0 || name.len >= JETSTREAM_WORD_MAX)
        return false;
    memcpy(word, name.data, name.len);
    word[name.len] = '\0';
    return true;
}

/* True when the answer to an upgrade says what to ask for instead, at once. */
static bool learn(struct jetstream *js, int status, struct bytes body)
{
    char word[JETSTREAM_WORD_MAX] = "";
    bool named = read_refusal(js, body, word);
    if (status == 400 && strcmp(word, "CursorTooOld") == 0)
        return jetstream_place_too_old(&js->place);
    if (status == 400 && strcmp(word, "UnknownZstdDictionary") == 0 &&
        js->packing.current != NULL) {
        jetstream_packing_unknown(&js->packing, jetstream_host_now(js));
        return true;
    }
    return jetstream_host_refused(jetstream_host_now(js), status, named);
}

static void on_refused(void *arg, int64_t retry_after_ms)
{
    struct jetstream *js = arg;
    js->wait_us = retry_after_ms * 1000;
}

static void on_closed(void *arg, int status, struct bytes body, const struct err *why)
{
    struct jetstream *js = arg;
    bool by_us = js->state == SOURCE_WAITING, refused = js->state == SOURCE_DIALLING;
    js->ws = NULL;
    if (js->state == SOURCE_STOPPED)
        return;
    js->trouble = *why;
    log_event(LOG_WARN, JETSTREAM_NAME, "disconnected",
              (struct log_field[]){log_string("host", jetstream_host_name(js)),
                                   log_int("status", status), log_text("answer", body),
                                   log_string("reason", why->text), LOG_END});
    if (by_us || (refused && learn(js, status, body))) {
        failover_abandoned(&js->stream, &js->pick);
    } else {
        jetstream_cutover_forget(js);
        note_failure(js, status, !refused);
    }
    jetstream_connection_dial_later(js, 0);
}

static const struct ws_events ws_events = {
    .opened = on_opened,
    .message = on_message,
    .closed = on_closed,
    .refused = on_refused,
    .too_large = on_too_large,
};

static void say_astray(struct jetstream *js)
{
    log_event(LOG_ERROR, JETSTREAM_NAME, "cursor_ahead",
              (struct log_field[]){
                  log_int("cursor_us", js->place.asked.stand_us),
                  log_int("now_us", jetstream_wall(js)),
                  log_int("asked_us", js->place.asked.from_us),
                  log_string("next", "set the clock; if it is right: tidemark reset jetstream"),
                  LOG_END});
}

/* The host's own event at the stand comes again as long as its author is asked for. */
static bool may_lack_stand(const struct jetstream *js, const struct jetstream_host *host)
{
    const struct jetstream_stand *stand = &js->place.stand;
    return strcmp(stand->host, host->name) != 0 || stand->author[0] == '\0' ||
           !jetstream_filter_wants(&js->filter, bytes_of(stand->author));
}

static void connect_to_host(void *arg)
{
    static const struct http_header protocol = {"Sec-WebSocket-Protocol", "xrpc.v1.json"};
    struct jetstream *js = arg;
    struct jetstream_host *host = jetstream_host_now(js);
    struct text url = {0};
    bool v2 = jetstream_host_wire(host) == JETSTREAM_WIRE_V2;
    struct jetstream_ask ask = {.collections = (const char *const *)js->collections,
                                .collection_count = js->collection_count,
                                .hello = jetstream_filter_needs_hello(&js->filter)};
    assert(js->ws == NULL && js->state == SOURCE_DIALLING);
    if (js->place.stand.time_us == 0 && js->blind_us > 0) {
        jetstream_place_begin(&js->place, js->blind_us); /* no history shows what came after it */
        intake_begin_at(&js->intake, js->blind_us);
    }
    jetstream_place_ask(&js->place, host, &js->pick.proof, js->behind_us[js->pick.provider],
                        !v2 && ask.hello && may_lack_stand(js, host), jetstream_wall(js));
    if (js->place.asked.astray)
        say_astray(js);
    jetstream_packing_choose(&js->packing, host, &ask);
    ask.cursor = js->place.asked.number;
    jetstream_host_stream(host, &ask, &url);
    js->asking_again = js->heard = js->ahead_told = false;
    js->caught_up = ask.cursor == 0;
    js->intake.replaying = !js->caught_up;
    js->dialled_us = jetstream_mono(js);
    js->wait_us = -1;
    js->intake.provider = jetstream_host_name(js);
    struct ws_request request = {.url = text_string(&url),
                                 .headers = &protocol,
                                 .header_count = v2 ? 1 : 0,
                                 .message_bytes_max = js->frame_bytes_max,
                                 .ping_ms = js->ping_ms,
                                 .pong_ms_max = js->pong_ms_max};
    js->ws = js->env.runtime->ops->ws_open(js->env.runtime, &request, &ws_events, js);
    text_free(&url);
}

static bool tried_enough(struct jetstream *js)
{
    if (js->attempts_max == 0 || js->failures < js->attempts_max)
        return false;
    js->state = SOURCE_STOPPED;
    log_event(LOG_ERROR, JETSTREAM_NAME, "gave_up",
              (struct log_field[]){log_int("failures", js->failures), LOG_END});
    return true;
}

/* What waits to be decoded came before: only when it is, the place to go on from is known, and all
 * that is decoded from then on is the new connection's. */
static bool is_ready(struct jetstream *js)
{
    if (!intake_has_room(&js->intake))
        return false; /* it says when there is */
    if (frame_ring_used(js->intake.ring) > 0)
        intake_pump(&js->intake);
    if (frame_ring_used(js->intake.ring) > 0 && js->state != SOURCE_STOPPED)
        jetstream_connection_dial_later(js, AGAIN_US);
    return frame_ring_used(js->intake.ring) == 0;
}

void jetstream_connection_dial(void *arg)
{
    struct jetstream *js = arg;
    struct failover_offer offer = {.owner = PROVIDER_NONE};
    struct err err;
    assert(js->ws == NULL && js->state != SOURCE_STOPPED);
    if (tried_enough(js) || !is_ready(js))
        return;
    if (js->place.stand.time_us > 0) {
        offer.portable = cursor_bit(CURSOR_TIME_US);
        offer.owner = failover_find(&js->hosts, js->place.stand.host);
    }
    struct failover_pick pick;
    enum rc rc = failover_choose(&js->stream, &offer, jetstream_mono(js), &pick, &err);
    if (rc == RC_OK && pick.at_us <= jetstream_mono(js)) {
        js->pick = pick;
        js->state = SOURCE_DIALLING;
        if (!jetstream_packing_fetch(&js->packing, jetstream_host_now(js), connect_to_host, js))
            connect_to_host(js);
        return;
    }
    assert(rc != RC_REJECT);
    if (rc == RC_OK)
        failover_abandoned(&js->stream, &pick);
    else
        js->trouble = err;
    jetstream_connection_dial_later(js, pick.at_us - jetstream_mono(js));
}
