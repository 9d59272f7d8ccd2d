/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jetstream_event.h"
#include "decode/jetstream_peek.h"
#include "source/jetstream_parts.h"
#include "sys/log.h"

#include <string.h>

#define FRESH_US INT64_C(10000000) /* what happened so lately comes as it happens */

static void note_gap(struct jetstream *js, int64_t from_us, int64_t to_us, const char *reason)
{
    gap_note(&js->gaps, from_us, to_us, reason);
    log_event(LOG_WARN, JETSTREAM_NAME, "gap",
              (struct log_field[]){log_string("host", jetstream_host_name(js)),
                                   log_int("from_us", from_us), log_int("to_us", to_us),
                                   log_string("reason", reason), LOG_END});
}

static void note_ahead(struct jetstream *js, int64_t time_us, int64_t received_us)
{
    if (!js->ahead_told)
        log_event(LOG_WARN, JETSTREAM_NAME, "time_ahead",
                  (struct log_field[]){log_string("host", jetstream_host_name(js)),
                                       log_int("time_us", time_us),
                                       log_int("received_us", received_us),
                                       log_string("next", "stored; the cursor stays"), LOG_END});
    js->ahead_told = true;
    js->ahead++;
}

static void note_success(struct jetstream *js)
{
    js->heard = true;
    js->failures = 0;
    jetstream_host_now(js)->asked_dictionary = false;
    failover_succeeded(&js->stream, &js->pick, jetstream_mono(js) - js->dialled_us,
                       jetstream_mono(js));
}

/* Of what a replay brings nobody waited for: its way into the store is not measured. */
static void note_fresh(struct jetstream *js, int64_t late_us)
{
    js->caught_up |= late_us <= FRESH_US;
    js->intake.replaying = !js->caught_up;
}

/* An event was understood: the place moves on, unless it shows that something else must be asked
 * for. The event itself is kept either way, which does no harm. */
static void move_on(struct jetstream *js, struct bytes did, int64_t time_us, int64_t seq,
                    int64_t received_us, int64_t *position)
{
    int64_t behind_us = 0, stand_us = js->place.stand.time_us;
    enum jetstream_verdict verdict = jetstream_place_event(&js->place, jetstream_host_name(js),
                                                           time_us, seq, received_us, &behind_us);
    if (js->place.stand.time_us != stand_us)
        jetstream_place_author(&js->place, js->place.stand.time_us == time_us ? did : BYTES_ABSENT);
    if (verdict == JETSTREAM_PLACE_BEHIND) {
        js->behind_us[js->pick.provider] = behind_us;
        jetstream_connection_ask_again(js, "its clock is behind");
        return;
    }
    if (verdict == JETSTREAM_PLACE_RENUMBERED) {
        jetstream_connection_ask_again(js, "its numbers are others now");
        return;
    }
    *position = js->place.stand.time_us;
    if (verdict == JETSTREAM_PLACE_AHEAD)
        note_ahead(js, time_us, received_us);
    else if (!js->caught_up)
        note_fresh(js, received_us - time_us);
    if (js->forgotten_to_us == 0 && verdict != JETSTREAM_PLACE_AHEAD)
        js->forgotten_to_us = js->place.asked.first_us;
    if (verdict == JETSTREAM_PLACE_GAP)
        note_gap(js, js->place.asked.from_us, js->place.asked.first_us,
                 "older than the host's replay window");
    int64_t from_us, to_us;
    if (verdict != JETSTREAM_PLACE_AHEAD && jetstream_place_hole(&js->place, &from_us, &to_us))
        note_gap(js, from_us, to_us, "a message was too large to be taken");
    if (!js->heard)
        note_success(js);
}

static void hear(struct jetstream *js, const struct jetstream_event *event)
{
    if (event->message == JETSTREAM_INFO && strcmp(event->word, "OutdatedCursor") == 0)
        js->place.asked.outdated = true;
    if (event->message != JETSTREAM_OTHER)
        log_event(event->message == JETSTREAM_ERROR ? LOG_WARN : LOG_INFO, JETSTREAM_NAME,
                  "host_says",
                  (struct log_field[]){log_string("host", jetstream_host_name(js)),
                                       log_string("word", event->word), LOG_END});
}

static bool wants(const void *arg, struct bytes did)
{
    return jetstream_filter_wants(arg, did);
}

static struct jetstream_terms terms_of(struct jetstream *js, int64_t received_us)
{
    struct jetstream_terms terms = {.wants = wants,
                                    .arg = &js->filter,
                                    .no_posts = js->no_posts,
                                    .no_reposts = js->no_reposts,
                                    .now_us = received_us};
    jetstream_place_trust(&js->place, received_us, &terms.until_us, &terms.instead_us);
    return terms;
}

static enum rc decode_json(struct jetstream *js, struct bytes json, int64_t received_us,
                           struct batch *batch, int64_t *position, struct err *err)
{
    struct jetstream_peek peek;
    struct jetstream_event event;
    if (!js->filter.everybody && jetstream_peek(json, &peek) &&
        !jetstream_filter_wants(&js->filter, peek.did)) {
        js->filtered++;
        move_on(js, peek.did, peek.time_us, peek.seq, received_us, position);
        return RC_OK;
    }
    struct jetstream_terms terms = terms_of(js, received_us);
    enum rc rc = jetstream_event_decode_on(js->doc, json, &terms, batch, &event, err);
    if (rc != RC_OK)
        return rc;
    if (event.message != JETSTREAM_EVENT) {
        hear(js, &event);
        return RC_OK;
    }
    js->filtered += event.unwanted;
    js->left_out += event.left_out;
    move_on(js, event.did, event.time_us, event.seq, received_us, position);
    return RC_OK;
}

static enum rc skip(struct jetstream *js, const struct frame *frame, struct err *err)
{
    int64_t after_us = jetstream_place_skip(&js->place, frame->received_us);
    return err_set(err, RC_REJECT, "a message of %llu bytes after %lld is over the %zu allowed",
                   (unsigned long long)frame->skipped, (long long)after_us, js->frame_bytes_max);
}

enum rc jetstream_frames_decode(void *arg, const struct frame *frame, struct batch *batch,
                                int64_t *position, struct err *err)
{
    struct jetstream *js = arg;
    struct bytes json = frame->payload;
    enum rc rc = RC_OK;
    if (js->asking_again)
        return RC_RETRY;
    if (frame->skipped > 0)
        rc = skip(js, frame, err);
    else if (frame->binary)
        rc = jetstream_packing_decode(&js->packing, frame->payload, &json, err);
    if (rc == RC_RETRY) {
        jetstream_packing_give_up(&js->packing, jetstream_host_now(js), err->text);
        jetstream_connection_ask_again(js, "another dictionary");
        return RC_RETRY;
    }
    if (rc == RC_OK)
        rc = decode_json(js, json, frame->received_us, batch, position, err);
    if (rc == RC_REJECT)
        log_event_limited(LOG_ERROR, JETSTREAM_NAME, "event_rejected",
                          (struct log_field[]){log_string("host", jetstream_host_name(js)),
                                               log_string("reason", err->text), LOG_END});
    return rc;
}

enum rc jetstream_hand_in(struct source *source, struct bytes message, struct batch *batch,
                          struct err *err)
{
    struct jetstream *js = (struct jetstream *)source;
    struct jetstream_event event;
    struct bytes json = message;
    struct jetstream_terms terms = terms_of(js, jetstream_wall(js));
    bool plain = message.len > 0 && message.data[0] == '{';
    if (!plain && js->packing.current == NULL)
        return err_set(err, RC_REJECT, "it is no JSON, and no dictionary is in use to open it");
    enum rc rc = plain ? RC_OK : jetstream_packing_decode(&js->packing, message, &json, err);
    if (rc == RC_RETRY)
        rc = err_set(err, RC_REJECT, "the dictionary in use does not open it");
    if (rc == RC_OK)
        rc = jetstream_event_decode_on(js->doc, json, &terms, batch, &event, err);
    return rc;
}
