/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_stream.h"

#include "source/ledger_stream_steps.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAKE_US_MAX  INT64_C(3600000000)
#define FAILURES_MIN 6 /* in a row, before nobody is expected to do better */
#define OPENINGS_MIN 2 /* of a circuit, while this stream has waited */
#define OPEN_US_LONG (8 * PROVIDER_OPEN_US_MIN)
#define NEVER        INT64_MAX

/* ---- its end ---- */

void ledger_stream_end(struct ledger_stream *stream, enum ledger_outcome outcome,
                       const char *trouble)
{
    assert(stream->call == NULL && stream->view.state != LEDGER_ENDED);
    stream->view.until_us = 0;
    if (trouble != stream->view.trouble)
        snprintf(stream->view.trouble, sizeof stream->view.trouble, "%s", trouble);
    stream->ending = outcome;
    if (ledger_stream_cut_group(stream)) { /* what was read is stored first */
        ledger_stream_store(stream);
        return;
    }
    if (stream->storing) {
        stream->view.state = LEDGER_STORING;
        return;
    }
    delivery_drop(ledger_stream_filling(stream));
    stream->view.state = LEDGER_ENDED;
    stream->view.outcome = outcome;
    log_event(outcome == LEDGER_COMPLETE || outcome == LEDGER_STOPPED ? LOG_INFO : LOG_WARN,
              LEDGER_COMPONENT, outcome == LEDGER_COMPLETE ? "stream_complete" : "stream_ended",
              (struct log_field[]){log_string("account", stream->run->account),
                                   log_string("stream", stream->name),
                                   log_int("new", (int64_t)stream->view.rows),
                                   log_int("known", (int64_t)stream->view.known),
                                   log_int("requests", (int64_t)stream->view.requests),
                                   log_string("reason", trouble), LOG_END});
    stream->ended(stream->arg);
}

/* ---- whom to ask, and when ---- */

void ledger_stream_wait(struct ledger_stream *stream, int64_t at_us, bool limited)
{
    struct runtime *runtime = stream->run->env->runtime;
    int64_t wait_us = at_us - ledger_stream_mono(stream);
    stream->view.state = LEDGER_WAITING;
    stream->view.until_us = at_us;
    stream->view.limited = limited;
    runtime->ops->timer_arm(runtime, &stream->wake,
                            wait_us < 0             ? 0
                            : wait_us > WAKE_US_MAX ? WAKE_US_MAX
                                                    : wait_us);
}

/* Not before this is over does the stream go back to a better provider. */
static void hold(struct ledger_stream *stream, int64_t us)
{
    int64_t until_ms = (ledger_stream_wall(stream) + us) / 1000;
    if (stream->hold_ms < until_ms)
        stream->hold_ms = until_ms;
}

/* A clock that was set back must not hold it for longer than anything does. */
static bool is_held(const struct ledger_stream *stream)
{
    int64_t left_ms = stream->hold_ms - ledger_stream_wall(stream) / 1000;
    return left_ms > 0 && left_ms <= stream->failover.group->settings.recheck_us / 1000;
}

/* What the stored cursor offers: a resumed stream begins with the provider that wrote it, or with a
 * better one. */
static struct failover_offer offer_of(const struct ledger_stream *stream)
{
    const struct cursor_state *state = &stream->stored.cursor;
    struct failover_offer offer = {.owner = PROVIDER_NONE};
    if (state->primary.kind == CURSOR_NONE)
        return offer;
    offer.owner = failover_find(&stream->run->platform->group, state->provider_name);
    offer.portable = cursor_bit(CURSOR_BLOCK_NUMBER);
    offer.avoided = ledger_stream_avoided(stream);
    offer.wanted = is_held(stream) ? 0 : UINT32_MAX;
    return offer;
}

static void tell_switch(struct ledger_stream *stream, int before)
{
    const struct failover *group = stream->failover.group;
    int now = stream->failover.current;
    if (before == now || before == PROVIDER_NONE || now == PROVIDER_NONE)
        return;
    const struct failover_switch *move = failover_history(group, 0);
    const char *reason = move != NULL ? move->reason : "";
    stream->view.switches++;
    hold(stream, group->settings.dwell_us);
    snprintf(stream->view.moved, sizeof stream->view.moved, "switched to %s (%s)",
             group->providers[now].name, reason);
    log_event(LOG_INFO, LEDGER_COMPONENT, "failover",
              (struct log_field[]){log_string("account", stream->run->account),
                                   log_string("stream", stream->name),
                                   log_string("from", group->providers[before].name),
                                   log_string("to", group->providers[now].name),
                                   log_string("reason", reason), LOG_END});
}

/* How often in a row everybody together may fail. */
static unsigned failures_max(const struct ledger_stream *stream)
{
    unsigned able = 0;
    for (uint32_t left = ledger_stream_able(stream); left != 0; left &= left - 1)
        able++;
    return able * 3 > FAILURES_MIN ? able * 3 : FAILURES_MIN;
}

/* Nobody would do better for being waited for. */
static bool all_refuse(const struct ledger_stream *stream)
{
    return (ledger_stream_able(stream) & ~stream->refused) == 0;
}

/* Streams ask the same providers, and one probe at a time tells how a sick one fares: what it told
 * the others counts, or every stream would need failures of its own. */
static bool all_stay_ill(const struct ledger_stream *stream)
{
    for (int i = 0; i < stream->failover.group->count; i++) {
        const struct provider *provider = &stream->failover.group->providers[i];
        bool ill = provider->open && provider->open_us >= OPEN_US_LONG &&
                   provider->epoch - stream->openings_before[i] >= OPENINGS_MIN;
        if ((ledger_stream_able(stream) >> i & 1) != 0 && (stream->refused >> i & 1) == 0 && !ill)
            return false;
    }
    return true;
}

/* What each of them said, and what can be done about it. */
static void tell_refusals(const struct ledger_stream *stream, struct err *err)
{
    struct text words = {0}, keys = {0};
    for (int i = 0; i < stream->failover.group->count; i++) {
        const char *name = stream->failover.group->providers[i].name;
        if ((stream->refused >> i & 1) != 0)
            text_appendf(&words, "%s%s: %s", words.len > 0 ? "; " : "", name,
                         stream->failover.seats[i].reason);
        if ((stream->locked >> i & 1) != 0)
            text_appendf(&keys, "%sproviders.%s.api_key%s", keys.len > 0 ? " or " : "", name,
                         ledger_provider_more_keys(stream->run->platform->members[i]));
    }
    err_set(err, RC_REJECT, "every provider refuses%s%s%s: %s",
            keys.len > 0 ? " (set a good key as " : "", keys.len > 0 ? text_string(&keys) : "",
            keys.len > 0 ? ", then import again)" : "", text_string(&words));
    text_free(&words);
    text_free(&keys);
}

/* The same where somebody may do better later, which this import does not wait for. */
static void tell_failures(const struct ledger_stream *stream, struct err *err)
{
    struct text words = {0};
    for (int i = 0; i < stream->failover.group->count; i++) {
        const struct provider *provider = &stream->failover.group->providers[i];
        if ((ledger_stream_able(stream) >> i & 1) != 0 && *provider->last_error != '\0')
            text_appendf(&words, "%s%s: %s", words.len > 0 ? "; " : "", provider->name,
                         provider->last_error);
    }
    if (words.len > 0)
        err_set(err, RC_RETRY, "all providers failed: %s", text_string(&words));
    text_free(&words);
}

static void give_up(struct ledger_stream *stream, enum rc rc, struct err *err)
{
    bool refused = all_refuse(stream) && stream->refused != 0;
    enum ledger_outcome outcome = LEDGER_INCOMPLETE;
    if (refused)
        tell_refusals(stream, err);
    else if (rc != RC_REJECT)
        tell_failures(stream, err);
    if (refused && stream->locked != 0)
        outcome = LEDGER_UNAUTHORIZED;
    else if (refused && (stream->refused & ~stream->hopeless) == 0)
        outcome = LEDGER_FAILED;
    ledger_stream_end(stream, outcome, err->text);
}

/* For whoever is ready first it is waited because it was asked too often, by whichever stream. */
static bool waits_for_limit(const struct ledger_stream *stream, int64_t now_us)
{
    const struct failover *group = stream->failover.group;
    for (int i = 0; i < group->count; i++)
        if (!stream->unseated[i] &&
            bucket_closed_until(&group->providers[i].bucket, now_us) == stream->pick.at_us)
            return true;
    return false;
}

void ledger_stream_choose(struct ledger_stream *stream)
{
    struct failover_offer offer = offer_of(stream);
    int before = stream->failover.current;
    int64_t now_us = ledger_stream_mono(stream);
    struct err err;
    if (before == PROVIDER_NONE && offer.owner != PROVIDER_NONE && !stream->unseated[offer.owner])
        before = offer.owner;
    if (stream->stopping || stream->ending != LEDGER_UNDECIDED) {
        bool decided = stream->ending != LEDGER_UNDECIDED;
        ledger_stream_end(stream, decided ? stream->ending : LEDGER_STOPPED,
                          decided ? stream->view.trouble : "");
        return;
    }
    assert(!stream->picked);
    if (stream->run->file != NULL) {
        ledger_stream_read_file(stream);
        return;
    }
    enum rc rc = failover_choose(&stream->failover, &offer, now_us, &stream->pick, &err);
    if (rc != RC_OK && (rc == RC_REJECT || stream->pick.at_us == NEVER || all_refuse(stream) ||
                        stream->failures >= failures_max(stream) || all_stay_ill(stream))) {
        give_up(stream, rc, &err);
        return;
    }
    if (rc != RC_OK) {
        ledger_stream_wait(stream, stream->pick.at_us, waits_for_limit(stream, now_us));
        return;
    }
    tell_switch(stream, before);
    bool moves = stream->provider != stream->run->platform->members[stream->pick.provider];
    if (moves && (stream->due || ledger_stream_cut_group(stream))) {
        /* Its walk goes on from what this one has read. */
        failover_abandoned(&stream->failover, &stream->pick);
        stream->view.state = LEDGER_STORING;
        if (stream->reading)
            ledger_stream_store(stream);
        return;
    }
    stream->picked = true;
    if (moves)
        ledger_stream_begin_walk(stream);
    ledger_stream_ask(stream);
}

void ledger_stream_failed(struct ledger_stream *stream, enum retry_class class, int64_t wait_us,
                          const char *reason)
{
    struct runtime *runtime = stream->run->env->runtime;
    struct ledger_provider *provider = stream->run->platform->members[stream->pick.provider];
    int64_t now_us = ledger_stream_mono(stream);
    bool refused = class == RETRY_PERMANENT || class == RETRY_AUTH;
    /* A key may be good for one stream and not for another: this stream goes elsewhere. */
    const struct provider_failure failure = {
        .class = refused ? RETRY_PERMANENT : class, .retry_after_us = wait_us, .reason = reason};
    if (class == RETRY_RATE_LIMITED && wait_us > 0)
        ledger_pace_pause(&provider->pace, now_us + wait_us, now_us);
    failover_failed(&stream->failover, &stream->pick, &failure, now_us,
                    runtime->ops->random(runtime));
    if (refused)
        hold(stream, stream->failover.group->settings.recheck_us);
    stream->failures += class != RETRY_RATE_LIMITED;
    stream->refused |= (uint32_t)refused << stream->pick.provider;
    stream->locked |= (uint32_t)(class == RETRY_AUTH) << stream->pick.provider;
    log_event(LOG_WARN, LEDGER_COMPONENT, "request_failed",
              (struct log_field[]){log_string("account", stream->run->account),
                                   log_string("stream", stream->name),
                                   log_string("provider", provider->connector->provider),
                                   log_string("class", retry_class_name(class)),
                                   log_string("reason", reason), LOG_END});
    ledger_stream_choose(stream);
}

/* ---- what is stored ---- */

static void go_on(struct ledger_stream *stream)
{
    bool over = !stream->reading && ledger_walk_over(&stream->walk);
    bool leaving = stream->stopping || stream->ending != LEDGER_UNDECIDED;
    if (stream->storing && (leaving || !stream->reading))
        return; /* comes back when it is stored */
    if (stream->reading)
        ledger_stream_store(stream);
    else if (stream->ending != LEDGER_UNDECIDED)
        ledger_stream_end(stream, stream->ending, stream->view.trouble);
    else if (over && stream_is_complete(&stream->stored))
        ledger_stream_end(stream, LEDGER_COMPLETE, "");
    else if (stream->stopping)
        ledger_stream_end(stream, LEDGER_STOPPED, "");
    else if (stream->detail_at < stream->detail_count)
        ledger_stream_next_detail(stream);
    else if (stream->marking)
        ledger_stream_mark(stream);
    else if (over)
        ledger_stream_settle(stream);
    else
        ledger_stream_choose(stream);
}

static void on_stored(void *arg, enum rc rc)
{
    struct ledger_stream *stream = arg;
    crashpoint(CRASH_LEDGER_PAGE_STORED);
    stream_answered(&stream->stored, rc);
    stream->storing = false;
    if (rc != RC_OK) {
        ledger_stream_break_off(stream);
        ledger_stream_drop_details(stream); /* they lie beyond what was not stored (I2) */
        ledger_stream_end(stream, LEDGER_INCOMPLETE, "the store took no more");
        return;
    }
    ledger_nonces_reserve(stream->run->nonces, stream->announced);
    stream->view.batches++;
    if (stream->due)
        ledger_stream_send(stream);
    if (stream->view.state == LEDGER_STORING)
        go_on(stream); /* else an answer or a timer does */
}

static void on_batch(void *arg)
{
    struct ledger_stream *stream = arg;
    if (stream->marking)
        ledger_stream_mark(stream);
    else
        ledger_stream_store(stream);
}

static void on_wake(void *arg)
{
    struct ledger_stream *stream = arg;
    stream->view.until_us = 0;
    ledger_stream_choose(stream);
}

/* ---- life ---- */

/* Those that do not have this stream, or were not asked for, are never chosen. */
static void seat(struct ledger_stream *stream)
{
    const struct ledger_platform *platform = stream->run->platform;
    failover_stream_init(&stream->failover, &stream->run->platform->group, stream->name);
    for (int i = 0; i < platform->group.count; i++) {
        stream->openings_before[i] = platform->group.providers[i].epoch;
        const struct connector *connector = platform->members[i]->connector;
        const struct connector_stream *shape = connector_stream(connector, bytes_of(stream->name));
        const char *only = stream->run->only;
        bool wanted = only == NULL || strcmp(only, connector->provider) == 0;
        if (wanted && shape != NULL && shape->request != NULL &&
            connector_stream_serves(shape, bytes_of(platform->name)))
            continue;
        stream->unseated[i] = true;
        stream->failover.seats[i].again_us = NEVER;
        snprintf(stream->failover.seats[i].reason, sizeof stream->failover.seats[i].reason, "%s",
                 wanted ? "has no such stream" : "was not asked for");
    }
}

struct ledger_stream *ledger_stream_new(const struct ledger_run *run, const char *name,
                                        void (*ended)(void *arg), void *arg)
{
    struct ledger_stream *stream = memory_new_zeroed(1, sizeof *stream);
    stream->run = run;
    stream->ended = ended;
    stream->arg = arg;
    stream->doubted_from = stream->waited_from = -1;
    stream->since_at = stream->bound = stream->hold_ms = -1;
    snprintf(stream->name, sizeof stream->name, "%s", name);
    stream->view = (struct ledger_stream_view){
        .name = stream->name, .provider = "", .position = -1, .total = -1};
    stream_init(&stream->stored, run->account, stream->name);
    ledger_reread_init(&stream->reread, &stream->known);
    quarantine_init(&stream->quarantine, run->account);
    stream->doc = json_doc_new(LEDGER_ANSWER_MAX, JSON_DEPTH_MAX);
    stream->side_doc = json_doc_new(LEDGER_ANSWER_MAX, JSON_DEPTH_MAX);
    stream->list_doc = json_doc_new(LEDGER_ANSWER_MAX, JSON_DEPTH_MAX);
    stream->cursor_doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    connector_page_init(&stream->page);
    window_init(&stream->here, BATCH_RECORDS_MAX);
    window_init(&stream->strayed, 1);
    window_init(&stream->unreadable, WINDOW_STREAM_SIZE);
    window_init(&stream->named, WINDOW_STREAM_SIZE);
    for (int i = 0; i < 2; i++)
        delivery_init(&stream->deliveries[i], run->env, on_batch, on_stored, stream);
    stream->wake = (struct timer){.fn = on_wake, .arg = stream};
    seat(stream);
    return stream;
}

void ledger_stream_start(struct ledger_stream *stream)
{
    ledger_stream_load(stream);
}

void ledger_stream_stop(struct ledger_stream *stream)
{
    bool asks = stream->view.state == LEDGER_WAITING || stream->view.state == LEDGER_ASKING;
    stream->stopping = true;
    if (!asks)
        return; /* comes to its end by itself */
    ledger_stream_break_off(stream);
    ledger_stream_end(stream, LEDGER_STOPPED, "");
}

void ledger_stream_look(const struct ledger_stream *stream, struct ledger_stream_view *view)
{
    *view = stream->view;
    view->stored = (uint64_t)stream->stored.cursor.total_fetched;
}

void ledger_stream_free(struct ledger_stream *stream)
{
    ledger_stream_break_off(stream);
    for (int i = 0; i < 2; i++)
        delivery_drop(&stream->deliveries[i]);
    window_deinit(&stream->here);
    window_deinit(&stream->strayed);
    window_deinit(&stream->unreadable);
    window_deinit(&stream->named);
    ledger_walk_deinit(&stream->walk);
    ledger_known_free(&stream->known);
    stream_deinit(&stream->stored);
    connector_page_deinit(&stream->page);
    connector_http_free(&stream->http);
    json_doc_free(stream->doc);
    json_doc_free(stream->side_doc);
    json_doc_free(stream->list_doc);
    json_doc_free(stream->cursor_doc);
    free(stream->details);
    text_free(&stream->group);
    text_free(&stream->owed);
    text_free(&stream->parts);
    text_free(&stream->marks);
    text_free(&stream->list_token);
    text_free(&stream->side_headers);
    text_free(&stream->cleaned);
    text_free(&stream->digits);
    text_free(&stream->side_digits);
    text_free(&stream->token);
    text_free(&stream->words);
    text_free(&stream->headers);
    free(stream);
}
