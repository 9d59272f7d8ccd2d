/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_place.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SECOND_US       INT64_C(1000000)
#define CROSS_REPLAY_US (10 * SECOND_US)
#define LONG_AWAY_US    (600 * SECOND_US) /* then a wide rewind costs next to nothing */
#define LONG_REPLAY_US  (60 * SECOND_US)
#define DISORDER_US     (2 * SECOND_US)
#define DISORDER_SEQ    1000
#define SEQ_END         INT64_C(1000000000000000) /* a cursor from here on is a time */
#define TAIL_US         (2 * SECOND_US)
#define SOURCE_NAME     "jetstream"
#define STREAM_NAME     "live"

void jetstream_place_init(struct jetstream_place *place, int64_t window_us)
{
    assert(window_us > 0);
    *place = (struct jetstream_place){.window_us = window_us};
}

void jetstream_place_begin(struct jetstream_place *place, int64_t time_us)
{
    assert(time_us >= 0);
    place->stand = (struct jetstream_stand){.time_us = time_us};
}

enum rc jetstream_place_resume(struct jetstream_place *place, struct json_doc *doc,
                               struct bytes state, struct err *err)
{
    enum rc rc = cursor_state_from_json(&place->state, doc, state, err);
    if (rc != RC_OK)
        return rc;
    const struct cursor *primary = &place->state.primary;
    struct jetstream_stand *stand = &place->stand;
    *stand = (struct jetstream_stand){0};
    snprintf(stand->host, sizeof stand->host, "%s", place->state.provider_name);
    if (primary->kind == CURSOR_TIME_US)
        stand->time_us = primary->number;
    if (primary->kind == CURSOR_SEQ && strcmp(primary->provider, stand->host) == 0)
        stand->seq = primary->number;
    for (unsigned i = 0; i < place->state.alternative_count; i++) {
        const struct cursor *other = &place->state.alternatives[i];
        if (other->kind == CURSOR_TIME_US && stand->time_us == 0)
            stand->time_us = other->number;
    }
    if (stand->time_us == 0 && stand->seq > 0)
        return err_set(err, RC_REJECT, "it has a number of %s, but no time", stand->host);
    return RC_OK;
}

/* ---- asking ---- */

/* The stand as a cursor state: what is understood where it was made first. */
static void put_stand(const struct jetstream_stand *stand, struct cursor_state *state)
{
    unsigned count = 0;
    assert(stand->time_us > 0);
    memset(state->alternatives, 0, sizeof state->alternatives);
    if (stand->seq > 0)
        state->alternatives[count++] = cursor_make_number(CURSOR_SEQ, stand->seq, stand->host);
    state->alternatives[count++] = cursor_make_number(CURSOR_TIME_US, stand->time_us, NULL);
    for (unsigned i = 0; i < count; i++)
        state->alternatives[i].inclusive = true;
    state->alternative_count = count;
    state->primary = state->alternatives[0];
    memcpy(state->provider_name, stand->host, sizeof state->provider_name);
}

static void open_crossing(struct jetstream_place *place, const struct cursor_choice *choice,
                          int64_t now_us)
{
    place->crossing =
        (struct jetstream_crossing){.open = now_us - place->stand.time_us < LONG_AWAY_US,
                                    .from = place->stand,
                                    .rewound_us = choice->rewound_by,
                                    .lag_us_min = INT64_MAX};
}

void jetstream_place_ask(struct jetstream_place *place, const struct jetstream_host *host,
                         const struct provider_proof *proof, int64_t behind_us, int64_t now_us)
{
    struct cursor_choice choice;
    struct err err;
    bool v2 = jetstream_host_wire(host) == JETSTREAM_WIRE_V2;
    if (place->crossing.open)
        place->stand = place->crossing.from; /* nothing was proved: once more from there */
    place->crossing.open = false;
    place->asked = (struct jetstream_asked){.wire = jetstream_host_wire(host)};
    if (place->stand.time_us == 0)
        return;
    bool away = now_us - place->stand.time_us >= LONG_AWAY_US;
    struct cursor_ask ask = {.provider_name = host->name,
                             .supported = cursor_bit(CURSOR_TIME_US) |
                                          (v2 && !place->untimely ? cursor_bit(CURSOR_SEQ) : 0),
                             .preferred = CURSOR_TIME_US,
                             .now_ms = now_us / 1000,
                             .replay_us = (away ? LONG_REPLAY_US : CROSS_REPLAY_US) + behind_us,
                             .proved_block = -1,
                             .proved_us = proof->time_us};
    struct cursor_state state = place->state;
    put_stand(&place->stand, &state);
    enum rc rc = cursor_resolve(&state, &ask, &choice, &err);
    assert(rc == RC_OK); /* every host understands the time */
    struct jetstream_asked *asked = &place->asked;
    asked->by_seq = choice.cursor.kind == CURSOR_SEQ;
    asked->number = choice.cursor.number;
    asked->from_us = place->stand.time_us;
    if (asked->by_seq) {
        asked->number -= place->exact ? 0 : DISORDER_SEQ;
        asked->number = asked->number < 1 ? 1 : asked->number;
        return;
    }
    if (place->stand.host[0] == '\0')
        asked->number = place->stand.time_us; /* an operator's word is taken as it is */
    else if (choice.rewound_by == 0)
        asked->number -= DISORDER_US + (place->looked_behind ? behind_us : 0);
    else
        open_crossing(place, &choice, now_us);
    int64_t least = v2 ? SEQ_END : 1;
    asked->number = asked->number < least ? least : asked->number;
    asked->from_us = asked->number;
}

bool jetstream_place_too_old(struct jetstream_place *place)
{
    if (!place->asked.by_seq)
        return false;
    /* By time the host begins at the oldest it has, and says so. */
    if (place->exact)
        place->untimely = true;
    place->exact = true;
    return true;
}

/* ---- taking ---- */

static bool misses_something(const struct jetstream_place *place, int64_t time_us,
                             int64_t received_us)
{
    const struct jetstream_asked *asked = &place->asked;
    if (asked->from_us == 0 || asked->by_seq || time_us <= asked->from_us)
        return false;
    return asked->outdated ||
           (asked->wire == JETSTREAM_WIRE_V1 && received_us - asked->from_us > place->window_us);
}

static enum jetstream_verdict judge_first(struct jetstream_place *place, int64_t time_us,
                                          int64_t seq, int64_t received_us, int64_t *behind_us)
{
    struct jetstream_asked *asked = &place->asked;
    if (asked->by_seq && seq > 0 && seq < asked->number) {
        place->untimely = true;
        return JETSTREAM_PLACE_RENUMBERED;
    }
    if (!asked->by_seq && time_us < asked->from_us && !place->looked_behind) {
        place->looked_behind = true;
        *behind_us = asked->from_us - time_us + CROSS_REPLAY_US;
        return JETSTREAM_PLACE_BEHIND;
    }
    asked->first_seen = true;
    place->exact = place->untimely = false;
    place->looked_behind &= place->crossing.open;
    if (!misses_something(place, time_us, received_us))
        return JETSTREAM_PLACE_FINE;
    place->gap_from_us = asked->from_us;
    place->gap_to_us = time_us;
    return JETSTREAM_PLACE_GAP;
}

/* Compares the new host's clock with how far back it was asked. */
static bool settle(struct jetstream_place *place, int64_t time_us, int64_t received_us,
                   int64_t *behind_us)
{
    struct jetstream_crossing *crossing = &place->crossing;
    int64_t lag_us = received_us - time_us;
    if (lag_us < crossing->lag_us_min)
        crossing->lag_us_min = lag_us;
    if (crossing->lag_us_min <= crossing->rewound_us) {
        crossing->open = false;
        place->looked_behind = false;
        return true;
    }
    if (crossing->mark_wall_us == 0 || received_us - crossing->mark_wall_us >= TAIL_US) {
        int64_t wall = received_us - crossing->mark_wall_us;
        bool replaying = crossing->mark_wall_us == 0 || time_us - crossing->mark_time_us > 2 * wall;
        crossing->mark_wall_us = received_us;
        crossing->mark_time_us = time_us;
        if (!replaying && !place->looked_behind) {
            place->looked_behind = true;
            *behind_us = crossing->lag_us_min;
            return false;
        }
        crossing->open = replaying;
    }
    return true;
}

enum jetstream_verdict jetstream_place_event(struct jetstream_place *place, const char *host,
                                             int64_t time_us, int64_t seq, int64_t received_us,
                                             int64_t *behind_us)
{
    assert(time_us > 0 && seq >= 0);
    enum jetstream_verdict verdict = JETSTREAM_PLACE_FINE;
    struct jetstream_stand *stand = &place->stand;
    if (!place->asked.first_seen) {
        verdict = judge_first(place, time_us, seq, received_us, behind_us);
        if (!place->asked.first_seen)
            return verdict;
        if (strcmp(stand->host, host) != 0) {
            *stand = (struct jetstream_stand){0};
            snprintf(stand->host, sizeof stand->host, "%s", host);
        }
        if (!place->asked.by_seq)
            stand->seq = seq; /* the host may have begun to count anew */
    }
    if (place->crossing.open && !settle(place, time_us, received_us, behind_us))
        return JETSTREAM_PLACE_BEHIND;
    int64_t believed = received_us > 0 && received_us < time_us ? received_us : time_us;
    if (believed > stand->time_us)
        stand->time_us = believed;
    if (seq > stand->seq)
        stand->seq = seq;
    return verdict;
}

/* ---- writing ---- */

static bool add_gap(struct jetstream_place *place, int64_t now_us, struct batch *batch)
{
    struct record *row = batch_add(batch, RECORD_GAP);
    if (row == NULL)
        return false;
    if (!batch_set_text(batch, row, GAP_SOURCE, bytes_of(SOURCE_NAME)) ||
        !batch_set_text(batch, row, GAP_STREAM, bytes_of(STREAM_NAME)) ||
        !batch_set_text(batch, row, GAP_REASON, bytes_of("older than the host's replay window"))) {
        batch_drop_last(batch, row);
        return false;
    }
    batch_set_int(row, GAP_FROM_US, place->gap_from_us);
    batch_set_int(row, GAP_TO_US, place->gap_to_us);
    batch_set_int(row, GAP_DETECTED_US, now_us);
    place->gap_from_us = place->gap_to_us = 0;
    return true;
}

enum rc jetstream_place_write(struct jetstream_place *place, struct json_doc *doc, int64_t position,
                              int64_t now_us, struct batch *batch)
{
    struct err err;
    struct text json = {0};
    if (place->gap_from_us != 0 && !add_gap(place, now_us, batch))
        return RC_AGAIN;
    if (place->stand.time_us == 0)
        return RC_OK; /* no event was understood yet: there is no place to write down */
    put_stand(place->crossing.open ? &place->crossing.from : &place->stand, &place->state);
    place->state.total_fetched += batch->record_count;
    place->state.updated_ms = place->state.provider_name[0] == '\0' ? 0 : now_us / 1000;
    enum rc rc = cursor_state_to_json(&place->state, doc, &json, &err);
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
    batch_set_int(row, CURSOR_ROW_AT_US, now_us);
    return RC_OK;
}
