/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_place.h"

#include "base/json_member.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SECOND_US    INT64_C(1000000)
#define SKEW_US_MAX  (3600 * SECOND_US) /* what is further off is no clock: replay, or our own */
#define DISORDER_US  (2 * SECOND_US)
#define DISORDER_SEQ 1000
#define CLOCK_US_MAX (24 * SKEW_US_MAX) /* how wrong our clock may be */
#define TIME_US_MAX  (INT64_MAX - CLOCK_US_MAX)
#define LEAD_US      DISORDER_US /* so much ahead of our clock is forgiven by the rewind */
#define SEQ_END      INT64_C(1000000000000000) /* a cursor from here on is a time */
#define QUIET_SHARE  24                        /* of the window: an hour of a day */
#define TAIL_US      (2 * SECOND_US)
#define REACH_US     (120 * SECOND_US) /* so much less than its window a host reaches for sure */
#define NOBODY       "(nobody)"        /* whose a position is that no host gave */

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

void jetstream_place_author(struct jetstream_place *place, struct bytes did)
{
    char *author = place->stand.author;
    bool fits = did.len <= JETSTREAM_AUTHOR_MAX && did.len > 0;
    if (fits)
        memcpy(author, did.data, did.len);
    author[fits ? did.len : 0] = '\0';
}

static void resume_author(struct jetstream_place *place, struct json_doc *doc)
{
    struct json custom;
    struct err ignored;
    if (place->state.custom[0] != '\0' &&
        json_parse_copy(doc, bytes_of(place->state.custom), &custom, &ignored) == RC_OK)
        jetstream_place_author(place, json_string_or_absent(json_get(custom, "author")));
}

static void write_author(struct jetstream_place *place)
{
    struct text json = {0};
    struct json_writer writer;
    place->state.custom[0] = '\0';
    if (place->stand.author[0] == '\0')
        return;
    json_writer_init(&writer, &json);
    json_begin_object(&writer);
    json_member_cstring(&writer, "author", place->stand.author);
    json_end_object(&writer);
    if (json.len < sizeof place->state.custom)
        memcpy(place->state.custom, json.data, json.len + 1);
    text_free(&json);
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
    if (strcmp(place->state.provider_name, NOBODY) != 0)
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
    resume_author(place, doc);
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
    snprintf(state->provider_name, sizeof state->provider_name, "%s",
             stand->host[0] == '\0' ? NOBODY : stand->host);
}

static struct cursor_choice choose(const struct jetstream_place *place,
                                   const struct jetstream_host *host,
                                   const struct provider_proof *proof, int64_t behind_us,
                                   int64_t now_us)
{
    struct cursor_choice choice;
    struct err err;
    bool by_seq = place->asked.wire == JETSTREAM_WIRE_V2 && !place->by_time && !place->elsewhere;
    struct cursor_ask ask = {
        .provider_name = host->name,
        .supported = cursor_bit(CURSOR_TIME_US) | (by_seq ? cursor_bit(CURSOR_SEQ) : 0),
        .preferred = CURSOR_TIME_US,
        .now_ms = now_us / 1000,
        .replay_us = JETSTREAM_CROSS_REPLAY_US + behind_us + place->stand.ahead_us,
        .proved_block = -1,
        .proved_us = proof->time_us};
    struct cursor_state state = place->state;
    struct jetstream_stand stand = place->stand;
    if (place->elsewhere) {
        stand.host[0] = '\0';
        stand.seq = 0;
    }
    put_stand(&stand, &state);
    enum rc rc = cursor_resolve(&state, &ask, &choice, &err);
    assert(rc == RC_OK); /* every host understands the time */
    return choice;
}

/* Where to begin instead of at a stand that lies in the future; 0: it does not, or events have
 * reached it, and it is our clock that is wrong. */
static int64_t find_footing(const struct jetstream_place *place, int64_t behind_us, int64_t now_us)
{
    int64_t stand_us = place->stand.time_us, written_us = place->state.updated_ms * 1000;
    int64_t footing_us = now_us - (place->window_us - REACH_US);
    if (stand_us - SKEW_US_MAX <= now_us)
        return 0;
    if (place->heard_us > 0 && place->heard_us + SKEW_US_MAX >= stand_us)
        return 0;
    if (place->heard_us > 0)
        footing_us =
            place->heard_us - JETSTREAM_V1_REPLAY_US - JETSTREAM_CROSS_REPLAY_US - behind_us;
    else if (written_us > 0 && written_us <= now_us)
        footing_us = written_us - SKEW_US_MAX;
    return footing_us < 1 ? 1 : footing_us;
}

void jetstream_place_ask(struct jetstream_place *place, const struct jetstream_host *host,
                         const struct provider_proof *proof, int64_t behind_us, bool filtered,
                         int64_t now_us)
{
    const struct jetstream_stand *stand = &place->stand;
    struct jetstream_asked *asked = &place->asked;
    bool nobody = stand->host[0] == '\0';
    if (asked->last_us > 0)
        place->heard_us = asked->last_us;
    *asked = (struct jetstream_asked){.wire = jetstream_host_wire(host),
                                      .filtered = filtered,
                                      .foreign =
                                          place->elsewhere || strcmp(stand->host, host->name) != 0};
    place->crossing = (struct jetstream_crossing){.looked = place->crossing.looked};
    if (stand->time_us == 0)
        return;
    struct cursor_choice choice = choose(place, host, proof, behind_us, now_us);
    asked->by_seq = choice.cursor.kind == CURSOR_SEQ;
    asked->number = choice.cursor.number;
    asked->stand_us = stand->time_us;
    if (asked->by_seq) {
        asked->number -= place->exact ? 0 : DISORDER_SEQ;
        asked->number = asked->number < 1 ? 1 : asked->number;
        asked->from_us = stand->time_us;
        return;
    }
    int64_t footing_us = find_footing(place, behind_us, now_us);
    asked->astray = footing_us > 0;
    if (asked->astray)
        asked->number = footing_us;
    else if (!asked->foreign)
        asked->number -= (asked->wire == JETSTREAM_WIRE_V1 ? JETSTREAM_V1_REPLAY_US : DISORDER_US) +
                         (place->crossing.looked ? behind_us : 0);
    int64_t least = asked->wire == JETSTREAM_WIRE_V2 ? SEQ_END : 1;
    asked->number = asked->number < least ? least : asked->number;
    asked->from_us = asked->number;
    asked->late = now_us - asked->from_us > place->window_us;
    place->crossing.open = asked->foreign && !nobody;
    place->crossing.rewound_us = stand->time_us - asked->from_us;
    place->crossing.lag_us_min = INT64_MAX;
}

bool jetstream_place_too_old(struct jetstream_place *place)
{
    if (!place->asked.by_seq)
        return false;
    /* By time the host begins at the oldest it has, and says so. */
    if (place->exact)
        place->by_time = true;
    place->exact = true;
    return true;
}

/* ---- taking ---- */

/* The host's own event at the stand comes again, unless it is gone there. Another host need not
 * have one there: a later first event means something only when what was asked for is old by our
 * clock, or when the silence is longer than a quiet stream's. A filter may be silent as long as it
 * likes. */
static bool misses_something(const struct jetstream_place *place, int64_t time_us)
{
    const struct jetstream_asked *asked = &place->asked;
    if (asked->from_us == 0 || asked->by_seq || time_us <= asked->from_us)
        return false;
    if (asked->wire == JETSTREAM_WIRE_V2)
        return asked->outdated;
    if (asked->late && (asked->foreign || asked->filtered))
        return true;
    int64_t quiet_us = asked->foreign ? place->window_us / QUIET_SHARE : 0;
    return !asked->filtered && time_us > asked->stand_us + quiet_us;
}

/* The earliest of the run but its oldest, which the next event replaces; 0: it is too short. */
static int64_t earliest_of_run(const struct jetstream_asked *asked)
{
    int64_t at_us = INT64_MAX;
    if (asked->ahead_run + 1 < JETSTREAM_AHEAD_RUN)
        return 0;
    for (unsigned i = 0; i < JETSTREAM_AHEAD_RUN; i++)
        if (i != asked->ahead_run % JETSTREAM_AHEAD_RUN && asked->ahead_us[i] < at_us)
            at_us = asked->ahead_us[i];
    return at_us;
}

/* Our own clock may be the wrong one, and a time that is not believed only orders what comes on one
 * connection: so it is believed further than the stand follows it. */
void jetstream_place_trust(const struct jetstream_place *place, int64_t received_us,
                           int64_t *until_us, int64_t *instead_us)
{
    const struct jetstream_asked *asked = &place->asked;
    int64_t run_us = earliest_of_run(asked);
    *until_us = (run_us > received_us ? run_us : received_us) + CLOCK_US_MAX;
    *instead_us = asked->time_max > 0   ? asked->time_max
                  : asked->stand_us > 0 ? asked->stand_us
                                        : received_us;
}

/* Up to where an event of this time moves the stand; 0: nowhere. */
static int64_t believe(struct jetstream_place *place, int64_t time_us, int64_t received_us)
{
    struct jetstream_asked *asked = &place->asked;
    int64_t until_us, instead_us, run_us = earliest_of_run(asked);
    jetstream_place_trust(place, received_us, &until_us, &instead_us);
    if (time_us > asked->time_max && time_us <= until_us)
        asked->time_max = time_us;
    if (time_us <= received_us + LEAD_US) {
        asked->ahead_run = 0;
        return time_us;
    }
    asked->ahead_us[asked->ahead_run++ % JETSTREAM_AHEAD_RUN] =
        time_us < TIME_US_MAX ? time_us : TIME_US_MAX;
    if (time_us <= place->stand.time_us)
        return time_us;
    int64_t at_us = time_us < run_us ? time_us : run_us;
    return at_us <= received_us + SKEW_US_MAX ? at_us : 0;
}

/* Asked for by its number, the event at the stand comes again, or one before it: no server leaves
 * out authors on that wire. Otherwise the numbers are another instance's. */
static bool counts_otherwise(const struct jetstream_asked *asked, int64_t time_us, int64_t seq,
                             bool believed)
{
    return asked->by_seq && seq > 0 &&
           (seq < asked->number || (believed && time_us > asked->stand_us));
}

static enum jetstream_verdict judge_first(struct jetstream_place *place, int64_t time_us,
                                          int64_t seq, bool believed, int64_t *behind_us)
{
    struct jetstream_asked *asked = &place->asked;
    if (counts_otherwise(asked, time_us, seq, believed)) {
        place->elsewhere = true;
        return JETSTREAM_PLACE_RENUMBERED;
    }
    int64_t behind = asked->from_us - time_us;
    if (!asked->by_seq && behind > 0 && behind < SKEW_US_MAX && !place->crossing.looked) {
        place->crossing.looked = true;
        *behind_us = behind + JETSTREAM_CROSS_REPLAY_US;
        return JETSTREAM_PLACE_BEHIND;
    }
    asked->first_seen = true;
    place->exact = place->by_time = place->elsewhere = false;
    place->crossing.looked &= place->crossing.open;
    return misses_something(place, time_us) ? JETSTREAM_PLACE_GAP : JETSTREAM_PLACE_FINE;
}

/* Compares the host's clock with how far back it was asked; false: not far enough. */
static bool settle(struct jetstream_crossing *crossing, int64_t time_us, int64_t received_us,
                   int64_t *behind_us)
{
    int64_t lag_us = received_us - time_us, wall_us = received_us - crossing->mark_wall_us;
    if (lag_us < crossing->lag_us_min)
        crossing->lag_us_min = lag_us;
    if (crossing->lag_us_min <= crossing->rewound_us) {
        crossing->open = crossing->looked = false;
        return true;
    }
    if (crossing->mark_wall_us > 0 && wall_us < TAIL_US)
        return true;
    bool replaying = crossing->mark_wall_us == 0 || time_us - crossing->mark_time_us > 2 * wall_us;
    crossing->mark_wall_us = received_us;
    crossing->mark_time_us = time_us;
    if (replaying)
        return true;
    crossing->open = false;
    if (crossing->looked || crossing->lag_us_min > SKEW_US_MAX)
        return true;
    crossing->looked = true;
    *behind_us = crossing->lag_us_min;
    return false;
}

static void move_stand(struct jetstream_place *place, const char *host, int64_t time_us,
                       int64_t received_us)
{
    struct jetstream_stand *stand = &place->stand;
    int64_t ahead_us = received_us > 0 ? time_us - received_us : 0;
    if (strcmp(stand->host, host) != 0)
        snprintf(stand->host, sizeof stand->host, "%s", host);
    stand->time_us = time_us;
    stand->seq = place->asked.seq_max;
    stand->ahead_us = ahead_us > 0 && ahead_us < SKEW_US_MAX ? ahead_us : 0;
}

enum jetstream_verdict jetstream_place_event(struct jetstream_place *place, const char *host,
                                             int64_t time_us, int64_t seq, int64_t received_us,
                                             int64_t *behind_us)
{
    assert(time_us > 0 && seq >= 0);
    enum jetstream_verdict verdict = JETSTREAM_PLACE_FINE;
    struct jetstream_asked *asked = &place->asked;
    int64_t at_us = believe(place, time_us, received_us);
    if (!asked->first_seen && (asked->first_us == 0 || time_us < asked->first_us))
        asked->first_us = time_us;
    if (at_us == 0 && !asked->first_seen && !asked->by_seq)
        return JETSTREAM_PLACE_AHEAD; /* whether something is missing is not known yet */
    if (!asked->first_seen) {
        verdict = judge_first(place, asked->first_us, seq, at_us > 0, behind_us);
        if (!asked->first_seen)
            return verdict;
    }
    if (place->crossing.open && at_us > 0 &&
        !settle(&place->crossing, at_us, received_us, behind_us))
        return JETSTREAM_PLACE_BEHIND;
    if (seq > asked->seq_max)
        asked->seq_max = seq;
    if (at_us > 0)
        asked->last_us = at_us;
    if (at_us > place->stand.time_us)
        move_stand(place, host, at_us, received_us);
    else if (strcmp(place->stand.host, host) == 0 && asked->seq_max > place->stand.seq)
        place->stand.seq = asked->seq_max;
    return at_us == 0 ? JETSTREAM_PLACE_AHEAD : verdict;
}

int64_t jetstream_place_skip(struct jetstream_place *place, int64_t received_us)
{
    struct jetstream_asked *asked = &place->asked;
    if (asked->hole_us == 0)
        asked->hole_us = asked->last_us > 0   ? asked->last_us
                         : asked->from_us > 0 ? asked->from_us
                                              : received_us;
    return asked->hole_us;
}

bool jetstream_place_hole(struct jetstream_place *place, int64_t *from_us, int64_t *to_us)
{
    struct jetstream_asked *asked = &place->asked;
    if (asked->hole_us == 0)
        return false;
    *from_us = asked->hole_us;
    *to_us = asked->last_us > asked->hole_us ? asked->last_us : asked->hole_us + 1;
    asked->hole_us = 0;
    return true;
}

/* ---- writing ---- */

enum rc jetstream_place_write(struct jetstream_place *place, struct json_doc *doc, int64_t now_us,
                              struct batch *batch)
{
    struct err err;
    struct text json = {0};
    if (place->stand.time_us == 0)
        return RC_OK; /* no event was understood yet: there is no place to write down */
    put_stand(&place->stand, &place->state);
    write_author(place);
    place->state.total_fetched += batch->record_count;
    place->state.updated_ms = now_us > 0 ? now_us / 1000 : 0;
    enum rc rc = cursor_state_to_json(&place->state, doc, &json, &err);
    assert(rc == RC_OK); /* we made every part of it */
    struct record *row = batch_add(batch, RECORD_CURSOR);
    bool fits = row != NULL &&
                batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of("jetstream")) &&
                batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of("live")) &&
                batch_set_text(batch, row, CURSOR_ROW_STATE, text_bytes(&json));
    text_free(&json);
    if (!fits)
        return RC_AGAIN;
    batch_set_int(row, CURSOR_ROW_POSITION, place->stand.time_us);
    batch_set_int(row, CURSOR_ROW_AT_US, now_us);
    return RC_OK;
}
