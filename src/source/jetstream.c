/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream.h"

#include "decode/jetstream_event.h"
#include "ingest/cursor.h"
#include "ingest/gap.h"
#include "ingest/intake.h"
#include "source/jetstream_host.h"
#include "source/source_view.h"
#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES      ((size_t)16 << 20)
#define WINDOW_US       INT64_C(86400000000)
#define QUIET_SHARE     24 /* of the window: an hour of a day */
#define DISORDER_US     INT64_C(2000000)
#define FRAME_BYTES_MAX ((size_t)2 << 20)
#define SOURCE_NAME     "jetstream"
#define STREAM_NAME     "live"
#define NOBODY          "(nobody)" /* whose a position is that no host gave */
#define GAP_REASON_TEXT "older than the host's replay window"

/* What its frames must be judged by. Frames wait in the ring while the next connection is made
 * already, so it goes through the ring before them. */
struct opening {
    uint32_t connection; /* counts them */
    int provider;
    int64_t rewound_us; /* so far below our position it asked; -1: for what is live */
    bool outdated;      /* by our clock, the host will not have all that was asked for */
};

struct jetstream {
    struct source source;
    struct source_env env;
    enum source_state state;
    char *endpoints[JETSTREAM_ENDPOINTS_MAX];
    struct text query; /* the fixed part of the address's query */
    uint32_t ping_ms, pong_ms_max, attempts_max;
    int64_t window_us;
    struct intake intake;
    struct json_doc *doc;
    struct failover hosts;
    struct failover_stream stream;
    struct failover_pick pick;
    struct cursor_state cursor;
    int owner; /* whose clock the position is of; PROVIDER_NONE: nobody's */
    struct gap_set gaps;
    struct ws *ws;
    struct timer again;
    int64_t dialled_us;               /* monotonic */
    int64_t asked_us;                 /* the position it asked for; 0: live */
    struct opening opening, decoding; /* of the connection; of the frames that come out now */
    bool first_seen;                  /* an event of `decoding` came out */
    struct err trouble;
    uint32_t failures;
    uint64_t reconnects;
};

static void dial(void *arg);

static struct jetstream *of(struct source *source)
{
    return (struct jetstream *)source;
}

static int64_t wall(const struct jetstream *js)
{
    return js->env.runtime->ops->wall_us(js->env.runtime);
}

static int64_t mono(const struct jetstream *js)
{
    return js->env.runtime->ops->mono_us(js->env.runtime);
}

static const char *host_name(const struct jetstream *js)
{
    return js->pick.provider == PROVIDER_NONE ? "" : js->hosts.providers[js->pick.provider].name;
}

/* ---- frames to records ---- */

/* The first event of a connection shows whether the host had what was asked for: its own event at
 * our position comes again, unless it is gone there. At another host's position there need not be
 * one: there a later first event means something only when the position is old by our clock, or
 * when the silence is longer than a quiet stream's. */
static void look_for_gap(struct jetstream *js, int64_t time_us)
{
    const struct opening *opening = &js->decoding;
    int64_t from_us = js->intake.received - opening->rewound_us;
    int64_t sure_us = js->intake.received; /* what begins later than this lacks something */
    if (js->owner != opening->provider)
        sure_us = opening->outdated ? from_us : sure_us + js->window_us / QUIET_SHARE;
    if (opening->rewound_us < 0 || time_us <= sure_us)
        return;
    gap_note(&js->gaps, from_us, time_us);
    log_event(LOG_WARN, SOURCE_NAME, "gap",
              (struct log_field[]){log_string("host", js->intake.provider),
                                   log_int("from_us", from_us), log_int("to_us", time_us),
                                   LOG_END});
}

static void note_success(struct jetstream *js)
{
    if (js->decoding.connection != js->opening.connection)
        return; /* of a connection that has ended since */
    js->failures = 0;
    failover_succeeded(&js->stream, &js->pick, mono(js) - js->dialled_us, mono(js));
}

static void noted(void *arg, struct bytes note)
{
    struct jetstream *js = arg;
    assert(note.len == sizeof js->decoding);
    memcpy(&js->decoding, note.data, sizeof js->decoding);
    js->first_seen = false;
    js->intake.provider = js->hosts.providers[js->decoding.provider].name;
}

static enum rc decode(void *arg, const struct frame *frame, struct batch *batch, int64_t *position,
                      struct err *err)
{
    struct jetstream *js = arg;
    struct jetstream_event event;
    enum rc rc =
        jetstream_event_decode(js->doc, frame->payload, frame->received_us, batch, &event, err);
    if (rc == RC_OK) {
        *position = event.time_us;
        if (!js->first_seen) {
            note_success(js);
            look_for_gap(js, event.time_us);
        }
        js->first_seen = true;
        if (event.time_us > js->intake.received)
            js->owner = js->decoding.provider;
    } else if (rc == RC_REJECT) {
        log_event_limited(LOG_ERROR, SOURCE_NAME, "event_rejected",
                          (struct log_field[]){log_string("host", js->intake.provider),
                                               log_string("reason", err->text), LOG_END});
    }
    return rc;
}

static const char *owner_name(const struct jetstream *js)
{
    return js->owner == PROVIDER_NONE ? NOBODY : js->hosts.providers[js->owner].name;
}

static enum rc add_cursor(void *arg, int64_t position, struct batch *batch)
{
    struct jetstream *js = arg;
    struct err err;
    struct text json = {0};
    struct cursor at = cursor_make_number(CURSOR_TIME_US, position, NULL);
    at.inclusive = true;
    struct cursor_page page = {.provider_name = owner_name(js),
                               .extracted = &at,
                               .extracted_count = 1,
                               .records = batch->record_count,
                               .now_ms = wall(js) / 1000};
    enum rc rc = gap_open_noted(&js->gaps, batch, GAP_REASON_TEXT, wall(js));
    if (rc != RC_OK)
        return rc;
    rc = cursor_state_advance(&js->cursor, &page, &err);
    if (rc == RC_OK)
        rc = cursor_state_to_json(&js->cursor, js->doc, &json, &err);
    assert(rc == RC_OK); /* we made every part of it */
    struct record *row = batch_add(batch, RECORD_CURSOR);
    bool fits = row != NULL &&
                batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of(SOURCE_NAME)) &&
                batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of(STREAM_NAME)) &&
                batch_set_text(batch, row, CURSOR_ROW_STATE, text_bytes(&json));
    text_free(&json);
    if (!fits)
        return RC_AGAIN;
    batch_set_int(row, CURSOR_ROW_POSITION, position);
    batch_set_int(row, CURSOR_ROW_AT_US, wall(js));
    return RC_OK;
}

static enum rc submit(void *arg, struct batch *batch)
{
    struct jetstream *js = arg;
    return js->env.submit(js->env.submit_arg, batch);
}

/* ---- the connection ---- */

static void close_connection(struct jetstream *js, const char *why)
{
    if (js->ws != NULL)
        js->env.runtime->ops->ws_close(js->ws, 1000, why);
}

static void dial_later(struct jetstream *js, int64_t delay_us)
{
    js->state = SOURCE_WAITING;
    js->env.runtime->ops->timer_arm(js->env.runtime, &js->again, delay_us < 0 ? 0 : delay_us);
}

static void relieved(void *arg)
{
    struct jetstream *js = arg;
    if (js->ws == NULL && js->state == SOURCE_WAITING)
        dial_later(js, 0);
}

static void writer_failed(void *arg)
{
    struct jetstream *js = arg;
    js->state = SOURCE_STOPPED;
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->again);
    close_connection(js, "stopping");
}

static void on_opened(void *arg)
{
    struct jetstream *js = arg;
    js->state = SOURCE_LIVE;
    js->trouble.text[0] = '\0';
    intake_note(&js->intake, bytes_make(&js->opening, sizeof js->opening));
    log_event(LOG_INFO, SOURCE_NAME, "connected",
              (struct log_field[]){log_string("host", host_name(js)),
                                   log_int("cursor_us", js->asked_us), LOG_END});
}

static void on_message(void *arg, bool binary, struct bytes payload)
{
    struct jetstream *js = arg;
    if (js->state != SOURCE_LIVE)
        return;
    if (intake_take(&js->intake, payload, binary) != RC_OK) {
        /* Nothing after a refused frame may be taken, or the cursor would pass it: what follows is
         * asked for again once there is room. */
        js->state = SOURCE_WAITING;
        log_event(LOG_WARN, SOURCE_NAME, "ring_full", NULL);
        close_connection(js, "the store is not keeping up");
    }
    intake_pump(&js->intake);
}

static void note_failure(struct jetstream *js, int status)
{
    struct retry_failure failure = {.cause = status >= 300 && status < 600 ? RETRY_BY_STATUS
                                                                           : RETRY_NO_ANSWER,
                                    .status = status};
    struct provider_failure said = {.class = retry_classify(&failure, NULL, 0),
                                    .retry_after_us = -1,
                                    .reason = js->trouble.text};
    if (said.class == RETRY_PERMANENT)
        said.class = RETRY_TRANSIENT; /* there is nothing to go past: the stream is one request */
    js->failures++;
    js->reconnects++;
    failover_failed(&js->stream, &js->pick, &said, mono(js),
                    js->env.runtime->ops->random(js->env.runtime));
}

static void on_closed(void *arg, int status, struct bytes body, const struct err *why)
{
    struct jetstream *js = arg;
    bool by_us = js->state == SOURCE_WAITING;
    js->ws = NULL;
    if (js->state == SOURCE_STOPPED)
        return;
    js->trouble = *why;
    log_event(LOG_WARN, SOURCE_NAME, "disconnected",
              (struct log_field[]){log_string("host", host_name(js)), log_int("status", status),
                                   log_text("answer", body), log_string("reason", why->text),
                                   LOG_END});
    if (!by_us)
        note_failure(js, status);
    dial_later(js, 0);
}

static const struct ws_events ws_events = {
    .opened = on_opened, .message = on_message, .closed = on_closed};

/* Where to begin at the chosen host: at the last event decoded, rewound once if another host gave
 * it, and by the disorder a host may send in if it is its own. */
static int64_t position_to_ask(struct jetstream *js)
{
    struct cursor_choice choice;
    struct err err;
    if (js->intake.received == 0)
        return 0;
    struct cursor_ask ask = {.provider_name = host_name(js),
                             .supported = cursor_bit(CURSOR_TIME_US),
                             .preferred = CURSOR_TIME_US,
                             .now_ms = wall(js) / 1000,
                             .replay_us = JETSTREAM_CROSS_REPLAY_US,
                             .proved_block = -1,
                             .proved_us = js->pick.proof.time_us};
    js->cursor.primary = cursor_make_number(CURSOR_TIME_US, js->intake.received, NULL);
    js->cursor.primary.inclusive = true;
    provider_words_copy(js->cursor.provider_name, sizeof js->cursor.provider_name, owner_name(js));
    enum rc rc = cursor_resolve(&js->cursor, &ask, &choice, &err);
    assert(rc == RC_OK && choice.cursor.kind == CURSOR_TIME_US);
    int64_t from = choice.cursor.number;
    if (choice.rewound_by == 0)
        from -= DISORDER_US;
    return from > 0 ? from : 1;
}

static void open_connection(struct jetstream *js)
{
    struct text url = {0};
    const char *endpoint = js->endpoints[js->pick.provider];
    js->asked_us = position_to_ask(js);
    js->opening =
        (struct opening){.connection = js->opening.connection + 1,
                         .provider = js->pick.provider,
                         .rewound_us = js->asked_us == 0 ? -1 : js->intake.received - js->asked_us,
                         .outdated = wall(js) - js->asked_us > js->window_us};
    text_appendf(&url, "%s%c%s", endpoint, strchr(endpoint, '?') == NULL ? '?' : '&',
                 text_string(&js->query));
    if (js->asked_us > 0)
        text_appendf(&url, "&cursor=%" PRId64, js->asked_us);
    js->state = SOURCE_DIALLING;
    js->dialled_us = mono(js);
    struct ws_request request = {.url = text_string(&url),
                                 .message_bytes_max = FRAME_BYTES_MAX,
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
    log_event(LOG_ERROR, SOURCE_NAME, "gave_up",
              (struct log_field[]){log_int("failures", js->failures), LOG_END});
    return true;
}

static void dial(void *arg)
{
    struct jetstream *js = arg;
    struct failover_offer offer = {.owner = PROVIDER_NONE};
    struct err err;
    assert(js->ws == NULL && js->state != SOURCE_STOPPED);
    if (tried_enough(js))
        return;
    if (!intake_has_room(&js->intake))
        return; /* it says when there is */
    if (js->intake.received > 0) {
        offer.portable = cursor_bit(CURSOR_TIME_US);
        offer.owner = js->owner;
    }
    struct failover_pick pick;
    enum rc rc = failover_choose(&js->stream, &offer, mono(js), &pick, &err);
    if (rc == RC_OK && pick.at_us <= mono(js)) {
        js->pick = pick;
        open_connection(js);
        return;
    }
    assert(rc != RC_REJECT);
    if (rc == RC_OK)
        failover_abandoned(&js->stream, &pick);
    else
        js->trouble = err;
    dial_later(js, pick.at_us - mono(js));
}

/* ---- the source ---- */

static void start(struct source *source)
{
    struct jetstream *js = of(source);
    assert(js->state == SOURCE_IDLE);
    dial_later(js, 0);
}

static void tune(struct source *source, const struct source_tuning *tuning)
{
    struct jetstream *js = of(source);
    assert(tuning->reconnect_delay_seconds > 0);
    js->attempts_max = tuning->max_reconnect_attempts;
    js->hosts.settings.schedule = retry_schedule_reconnect(tuning->reconnect_delay_seconds, 0);
}

static void stop(struct source *source)
{
    struct jetstream *js = of(source);
    js->state = SOURCE_STOPPED;
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->again);
    close_connection(js, "stopping");
    intake_stop(&js->intake);
}

static bool stopped(const struct source *source)
{
    const struct jetstream *js = (const struct jetstream *)source;
    return js->state == SOURCE_STOPPED && js->ws == NULL && intake_idle(&js->intake);
}

static void view(const struct source *source, struct source_view *out)
{
    const struct jetstream *js = (const struct jetstream *)source;
    *out = (struct source_view){.state = js->state,
                                .failures = js->failures,
                                .alerting = js->failures >= RETRY_ALERT_FAILURES,
                                .received_us = js->intake.received,
                                .staged_us = js->intake.staged,
                                .committed_us = js->intake.committed,
                                .last_event_us = js->intake.last_event_us,
                                .events = js->intake.events,
                                .records = js->intake.records,
                                .rejected = js->intake.rejected,
                                .reconnects = js->reconnects,
                                .bytes = js->intake.bytes};
    provider_words_copy(out->provider, sizeof out->provider, host_name(js));
    source_show_providers(&js->hosts, js->pick.provider, mono(js), out);
    out->trouble[0] = '\0';
    if (js->state != SOURCE_LIVE)
        provider_words_copy(out->trouble, sizeof out->trouble, js->trouble.text);
}

static void free_jetstream(struct source *source)
{
    struct jetstream *js = of(source);
    js->env.runtime->ops->timer_disarm(js->env.runtime, &js->again);
    intake_deinit(&js->intake);
    gap_set_deinit(&js->gaps);
    json_doc_free(js->doc);
    text_free(&js->query);
    for (size_t i = 0; i < JETSTREAM_ENDPOINTS_MAX; i++)
        free(js->endpoints[i]);
    free(js);
}

static const struct source_ops jetstream_ops = {.name = SOURCE_NAME,
                                                .start = start,
                                                .tune = tune,
                                                .stop = stop,
                                                .stopped = stopped,
                                                .view = view,
                                                .free = free_jetstream};

static const struct intake_ops intake_ops = {.decode = decode,
                                             .noted = noted,
                                             .cursor = add_cursor,
                                             .submit = submit,
                                             .relieved = relieved,
                                             .failed = writer_failed};

static enum rc set_up(struct jetstream *js, const struct jetstream_options *options,
                      struct err *err)
{
    struct failover_settings settings;
    failover_settings_default(&settings);
    settings.schedule = retry_schedule_reconnect(options->reconnect_delay_seconds, 0);
    failover_init(&js->hosts, &settings);
    for (size_t i = 0; i < JETSTREAM_ENDPOINTS_MAX && options->endpoints[i] != NULL; i++) {
        int number;
        enum rc rc = jetstream_host_add(&js->hosts, options->endpoints[i], (int32_t)i, mono(js),
                                        &number, err);
        if (rc != RC_OK)
            return rc;
        js->endpoints[number] = jetstream_host_address(options->endpoints[i]);
    }
    if (js->hosts.count == 0)
        return err_set(err, RC_REJECT, "no jetstream endpoint is configured");
    failover_stream_init(&js->stream, &js->hosts, STREAM_NAME);
    for (size_t i = 0; i < options->collection_count; i++)
        text_appendf(&js->query, "%swantedCollections=%s", i > 0 ? "&" : "",
                     options->collections[i]);
    if (options->cursor_state.data == NULL) {
        intake_resume(&js->intake, options->start_us);
        return RC_OK;
    }
    enum rc rc = cursor_state_from_json(&js->cursor, js->doc, options->cursor_state, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "the stored cursor of jetstream is unusable");
    js->owner = failover_find(&js->hosts, js->cursor.provider_name);
    if (js->cursor.primary.kind == CURSOR_TIME_US)
        intake_resume(&js->intake, js->cursor.primary.number);
    return RC_OK;
}

enum rc jetstream_new(const struct source_env *env, const struct jetstream_options *options,
                      struct source **source, struct err *err)
{
    assert(env != NULL && options != NULL && source != NULL);
    struct jetstream *js = memory_new_zeroed(1, sizeof *js);
    js->source.ops = &jetstream_ops;
    js->env = *env;
    js->ping_ms = options->ping_ms;
    js->pong_ms_max = options->pong_ms_max;
    js->attempts_max = options->max_reconnect_attempts;
    js->window_us = options->window_us == 0 ? WINDOW_US : options->window_us;
    js->pick.provider = js->owner = PROVIDER_NONE;
    js->again = (struct timer){.fn = dial, .arg = js};
    gap_set_init(&js->gaps, SOURCE_NAME, STREAM_NAME, 0);
    if (options->gaps != NULL)
        gap_set_copy(&js->gaps, options->gaps);
    js->doc = json_doc_new(FRAME_BYTES_MAX, JSON_DEPTH_MAX);
    intake_init(&js->intake, &intake_ops, js, env->runtime, env->pool, SOURCE_NAME,
                options->ring_bytes == 0 ? RING_BYTES : options->ring_bytes);
    enum rc rc = set_up(js, options, err);
    if (rc != RC_OK) {
        free_jetstream(&js->source);
        return rc;
    }
    *source = &js->source;
    return RC_OK;
}
