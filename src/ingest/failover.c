/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/failover.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)
#define ENTRY_MAX 256

/* One provider as one stream sees it now. */
struct view {
    bool able;     /* enabled and compatible: time alone can make it ready */
    bool closed;   /* its circuit */
    bool ready;    /* may be asked now */
    bool patient;  /* a stream that is there stays: no failure here, at most a short pause */
    int64_t at_us; /* when it will be ready, if able */
    uint32_t usable;
};

void failover_settings_default(struct failover_settings *settings)
{
    assert(settings != NULL);
    *settings = (struct failover_settings){
        .schedule = retry_schedule_poll(1000, 0),
        .dwell_us = 300 * SECOND_US,
        .patience_us = 5 * SECOND_US,
        .recheck_us = 86400 * SECOND_US,
    };
    for (uint32_t i = 0; i < settings->schedule.delay_count; i++)
        if (settings->schedule.delays_us[i] > PROVIDER_OPEN_US_MAX)
            settings->schedule.delays_us[i] = PROVIDER_OPEN_US_MAX;
    assert(settings->schedule.delay_count > 1);
}

void failover_init(struct failover *group, const struct failover_settings *settings)
{
    assert(settings->schedule.delay_count > 0);
    assert(settings->dwell_us >= 0 && settings->patience_us >= 0 && settings->recheck_us > 0);
    *group = (struct failover){.settings = *settings};
}

enum rc failover_add(struct failover *group, const struct provider_spec *spec, int64_t now_us,
                     int *number, struct err *err)
{
    assert(group->count >= 0 && group->count <= FAILOVER_PROVIDERS_MAX);
    assert(spec->name != NULL);
    if (group->count == FAILOVER_PROVIDERS_MAX)
        return err_set(err, RC_REJECT, "provider %s: no more than %d providers in a group",
                       spec->name, FAILOVER_PROVIDERS_MAX);
    if (spec->name[0] == '\0' || strlen(spec->name) >= PROVIDER_NAME_MAX)
        return err_set(err, RC_REJECT, "provider %s: a name has 1 to %d bytes", spec->name,
                       PROVIDER_NAME_MAX - 1);
    if (failover_find(group, spec->name) != PROVIDER_NONE)
        return err_set(err, RC_REJECT, "provider %s: named twice", spec->name);
    uint32_t preferred = spec->kind_preferred;
    bool one = preferred != 0 && (preferred & (preferred - 1)) == 0;
    if (spec->kinds != 0 && (!one || (preferred & ~spec->kinds) != 0))
        return err_set(err, RC_REJECT,
                       "provider %s: the preferred kind must be one of the supported kinds",
                       spec->name);
    provider_init(&group->providers[group->count], spec, now_us);
    *number = group->count++;
    return RC_OK;
}

int failover_find(const struct failover *group, const char *name)
{
    assert(group->count >= 0 && group->count <= FAILOVER_PROVIDERS_MAX);
    assert(name != NULL);
    for (int i = 0; i < group->count; i++)
        if (strcmp(group->providers[i].name, name) == 0)
            return i;
    return PROVIDER_NONE;
}

void failover_stream_init(struct failover_stream *stream, struct failover *group, const char *name)
{
    assert(group != NULL);
    assert(name != NULL);
    *stream = (struct failover_stream){.group = group, .current = PROVIDER_NONE};
    (void)provider_words_copy(stream->name, sizeof stream->name, name);
    for (int i = 0; i < FAILOVER_PROVIDERS_MAX; i++)
        stream->seats[i].proof = PROVIDER_UNPROVED;
}

static bool has_cursor(const struct failover_offer *offer)
{
    assert(offer != NULL);
    assert((offer->portable & offer->scoped) == 0);
    return (offer->portable | offer->scoped) != 0;
}

static struct view look(const struct failover_stream *stream, const struct failover_offer *offer,
                        int number, int64_t now_us)
{
    assert(number >= 0 && number < stream->group->count);
    const struct provider *provider = &stream->group->providers[number];
    const struct failover_seat *seat = &stream->seats[number];
    struct view view = {.closed = provider_circuit(provider, now_us) == CIRCUIT_CLOSED};
    uint32_t offered = offer->portable | (offer->owner == number ? offer->scoped : 0);
    view.usable = offered & provider->kinds;
    view.able = !provider->disabled && (view.usable != 0 || !has_cursor(offer));
    int64_t pause_us = bucket_closed_until(&provider->bucket, now_us);
    view.at_us = provider_ready_us(provider, now_us);
    if (view.at_us < seat->again_us)
        view.at_us = seat->again_us;
    view.patient = view.able && view.closed && seat->failures == 0 && view.at_us <= now_us &&
                   pause_us - now_us <= stream->group->settings.patience_us;
    if (view.at_us < pause_us)
        view.at_us = pause_us;
    assert(view.at_us >= now_us);
    view.ready = view.able && view.at_us <= now_us;
    return view;
}

/* Who failed this stream less comes first, so that an error always leads to the next provider; then
 * the better one. */
static int compare_seats(const struct failover_stream *stream, int a, int b)
{
    assert(a >= 0 && a < stream->group->count);
    assert(b >= 0 && b < stream->group->count);
    uint32_t a_failures = stream->seats[a].failures, b_failures = stream->seats[b].failures;
    if (a_failures != b_failures)
        return a_failures < b_failures ? -1 : 1;
    return provider_compare(&stream->group->providers[a], &stream->group->providers[b]);
}

/* The best of those that are ready with a circuit in the wanted state; equal ones by number. */
static int find_best(const struct failover_stream *stream, const struct view *views, bool closed)
{
    int count = stream->group->count, best = PROVIDER_NONE;
    assert(count <= FAILOVER_PROVIDERS_MAX);
    for (int i = 0; i < count; i++) {
        if (!views[i].ready || views[i].closed != closed)
            continue;
        if (best == PROVIDER_NONE || compare_seats(stream, i, best) < 0)
            best = i;
    }
    assert(best < count);
    return best;
}

/* A provider of better priority than the current one. One that failed has worked since, as only a
 * success ends its row of failures, or is `wanted` all the same. */
static int find_preferred(const struct failover_stream *stream, const struct failover_offer *offer,
                          const struct view *views, bool wanted)
{
    const struct failover *group = stream->group;
    assert(stream->current >= 0 && stream->current < group->count);
    int best = PROVIDER_NONE;
    for (int i = 0; i < group->count; i++) {
        const struct provider *provider = &group->providers[i];
        bool proved = views[i].closed && provider->failures_in_row == 0;
        if (!views[i].ready || (offer->avoided >> i & 1) != 0 ||
            (wanted ? (offer->wanted >> i & 1) == 0 : !proved))
            continue;
        if (provider->priority >= group->providers[stream->current].priority)
            continue;
        if (best == PROVIDER_NONE || provider_compare(provider, &group->providers[best]) < 0)
            best = i;
    }
    assert(best != stream->current || best == PROVIDER_NONE);
    return best;
}

static void record_switch(struct failover_stream *stream, int to, const char *reason,
                          int64_t now_us)
{
    struct failover *group = stream->group;
    assert(to >= 0 && to < group->count);
    assert(stream->current != to && stream->current != PROVIDER_NONE);
    struct failover_switch *entry = &group->history[group->switches % FAILOVER_HISTORY_MAX];
    *entry = (struct failover_switch){.at_us = now_us, .from = stream->current, .to = to};
    (void)provider_words_copy(entry->stream, sizeof entry->stream, stream->name);
    (void)provider_words_copy(entry->reason, sizeof entry->reason, reason);
    group->switches++;
}

/* Where the stream goes next, or PROVIDER_NONE; `reason` says why it leaves where it is. */
static int decide(const struct failover_stream *stream, const struct failover_offer *offer,
                  const struct view *views, int64_t now_us, char reason[ENTRY_MAX])
{
    const struct failover *group = stream->group;
    int current = stream->current;
    assert(current == PROVIDER_NONE || (current >= 0 && current < group->count));
    reason[0] = '\0';
    if (current != PROVIDER_NONE && views[current].patient) {
        bool stayed = now_us - stream->since_us >= group->settings.dwell_us;
        int preferred = stayed ? find_preferred(stream, offer, views, false) : PROVIDER_NONE;
        bool proved = preferred != PROVIDER_NONE;
        if (!proved)
            preferred = find_preferred(stream, offer, views, true);
        if (preferred == PROVIDER_NONE)
            return current;
        snprintf(reason, ENTRY_MAX, "%s is preferred and %s", group->providers[preferred].name,
                 proved ? "works again" : "is tried again");
        return preferred;
    }
    int best = find_best(stream, views, true);
    if (best == PROVIDER_NONE)
        best = find_best(stream, views, false);
    if (best != PROVIDER_NONE && current != PROVIDER_NONE && best != current)
        failover_reason(stream, offer, current, now_us, reason, ENTRY_MAX);
    assert(best < group->count);
    return best;
}

static int64_t seconds_up(int64_t us)
{
    assert(us >= 0);
    assert(us <= INT64_MAX - SECOND_US);
    return (us + SECOND_US - 1) / SECOND_US;
}

void failover_reason(const struct failover_stream *stream, const struct failover_offer *offer,
                     int number, int64_t now_us, char *out, size_t size)
{
    struct view view = look(stream, offer, number, now_us);
    const struct provider *provider = &stream->group->providers[number];
    const struct failover_seat *seat = &stream->seats[number];
    assert(out != NULL && size > 0);
    assert(view.at_us >= now_us);
    long long wait_s = (long long)seconds_up(view.at_us - now_us);
    if (provider->disabled)
        snprintf(out, size, "disabled");
    else if (!view.able && (provider->kinds & offer->scoped) != 0)
        snprintf(out, size, "takes only the token, which belongs to %s",
                 offer->owner == PROVIDER_NONE ? "a provider that is gone"
                                               : stream->group->providers[offer->owner].name);
    else if (!view.able)
        snprintf(out, size, "takes none of the kinds the cursor offers");
    else if (view.ready)
        snprintf(out, size, "%s%s%s", view.closed ? "ready" : "ready for a probe",
                 seat->failures > 0 ? " after: " : "", seat->failures > 0 ? seat->reason : "");
    else if (provider_circuit(provider, now_us) == CIRCUIT_HALF_OPEN &&
             provider_ready_us(provider, now_us) > now_us)
        snprintf(out, size, "being probed after: %s", provider->last_error);
    else if (provider_circuit(provider, now_us) == CIRCUIT_OPEN)
        snprintf(out, size, "circuit open for %lld s after: %s", wait_s, provider->last_error);
    else if (seat->again_us == INT64_MAX)
        snprintf(out, size, "%s", seat->reason);
    else if (seat->again_us > now_us)
        snprintf(out, size, "failed, again in %lld s: %s", wait_s, seat->reason);
    else
        snprintf(out, size, "pauses for %lld s%s%s", wait_s, provider->limited > 0 ? ": " : "",
                 provider->limited > 0 ? provider->last_error : "");
}

/* Every provider gets an equal share of the room that is left, so that each one is named. */
static void write_reasons(const struct failover_stream *stream, const struct failover_offer *offer,
                          int64_t now_us, struct err *err)
{
    const struct failover *group = stream->group;
    size_t used = strlen(err->text);
    assert(used > 0 && used < ERR_TEXT_MAX);
    for (int i = 0; i < group->count; i++) {
        char reason[ENTRY_MAX], entry[ENTRY_MAX * 2];
        failover_reason(stream, offer, i, now_us, reason, sizeof reason);
        snprintf(entry, sizeof entry, "%s%s: %s", i == 0 ? ": " : "; ", group->providers[i].name,
                 reason);
        size_t share = (ERR_TEXT_MAX - 1 - used) / (size_t)(group->count - i);
        used += provider_words_copy(err->text + used, share + 1, entry);
    }
    assert(used < ERR_TEXT_MAX);
}

static enum rc explain(const struct failover_stream *stream, const struct failover_offer *offer,
                       int64_t at_us, int64_t now_us, struct err *err)
{
    assert(at_us > now_us);
    assert(stream->group->count >= 0);
    struct err words;
    enum rc rc;
    if (at_us == INT64_MAX)
        rc = err_set(&words, RC_REJECT, "%s: no provider can go on from this cursor", stream->name);
    else
        rc = err_set(&words, RC_RETRY, "%s: all providers failed, next try in %lld s", stream->name,
                     (long long)seconds_up(at_us - now_us));
    write_reasons(stream, offer, now_us, &words);
    if (err != NULL)
        *err = words;
    return rc;
}

static void fill_pick(struct failover_stream *stream, const struct failover_offer *offer,
                      const struct view *view, int number, int64_t now_us,
                      struct failover_pick *pick)
{
    struct provider *provider = &stream->group->providers[number];
    assert(view->ready || view->patient);
    assert(view->usable != 0 || !has_cursor(offer));
    pick->provider = number;
    pick->at_us = view->at_us;
    pick->usable = view->usable;
    pick->preferred = view->usable & provider->kind_preferred;
    pick->crossed = has_cursor(offer) && offer->owner != number;
    if (pick->crossed && offer->owner != PROVIDER_NONE)
        pick->proof = stream->seats[offer->owner].proof;
    pick->ticket =
        view->closed ? provider_ticket(provider) : provider_probe_begin(provider, now_us);
}

enum rc failover_choose(struct failover_stream *stream, const struct failover_offer *offer,
                        int64_t now_us, struct failover_pick *pick, struct err *err)
{
    struct failover *group = stream->group;
    assert(offer->owner >= PROVIDER_NONE && offer->owner < group->count);
    assert(pick != NULL);
    struct view views[FAILOVER_PROVIDERS_MAX];
    char reason[ENTRY_MAX];
    *pick = (struct failover_pick){
        .provider = PROVIDER_NONE, .at_us = INT64_MAX, .proof = PROVIDER_UNPROVED};
    if (stream->current == PROVIDER_NONE && offer->owner != PROVIDER_NONE) {
        stream->current = offer->owner;
        stream->since_us = now_us;
    }
    for (int i = 0; i < group->count; i++) {
        views[i] = look(stream, offer, i, now_us);
        if (views[i].able && views[i].at_us < pick->at_us)
            pick->at_us = views[i].at_us;
    }
    int next = decide(stream, offer, views, now_us, reason);
    if (next == PROVIDER_NONE)
        return explain(stream, offer, pick->at_us, now_us, err);
    if (next != stream->current) {
        if (stream->current != PROVIDER_NONE) {
            record_switch(stream, next, reason, now_us);
            if (views[stream->current].patient)
                stream->seats[next].failures = 0; /* a return: what was is settled by the proof */
        }
        stream->current = next;
        stream->since_us = now_us;
    }
    fill_pick(stream, offer, &views[next], next, now_us, pick);
    return RC_OK;
}

void failover_succeeded(struct failover_stream *stream, const struct failover_pick *pick,
                        int64_t latency_us, int64_t now_us)
{
    assert(pick->provider >= 0 && pick->provider < stream->group->count);
    assert(latency_us >= 0);
    struct failover_seat *seat = &stream->seats[pick->provider];
    provider_succeeded(&stream->group->providers[pick->provider], pick->ticket, latency_us, now_us);
    seat->failures = 0;
    seat->again_us = 0;
}

void failover_failed(struct failover_stream *stream, const struct failover_pick *pick,
                     const struct provider_failure *failure, int64_t now_us, uint64_t random)
{
    const struct failover_settings *settings = &stream->group->settings;
    assert(pick->provider >= 0 && pick->provider < stream->group->count);
    assert(failure->reason != NULL);
    struct failover_seat *seat = &stream->seats[pick->provider];
    provider_failed(&stream->group->providers[pick->provider], pick->ticket, failure, now_us);
    (void)provider_words_copy(seat->reason, sizeof seat->reason, failure->reason);
    /* The provider's pause, which holds for all streams, is the wait. */
    if (failure->class == RETRY_RATE_LIMITED)
        return;
    /* Requests that were under way together fail together: one failure of this stream. */
    if (now_us >= seat->again_us && seat->failures < UINT32_MAX)
        seat->failures++;
    int64_t wait_us = settings->recheck_us;
    if (failure->class != RETRY_PERMANENT)
        wait_us = retry_delay(&settings->schedule, seat->failures, failure->retry_after_us, random);
    assert(wait_us >= 0);
    if (seat->again_us < now_us + wait_us)
        seat->again_us = now_us + wait_us;
}

void failover_abandoned(struct failover_stream *stream, const struct failover_pick *pick)
{
    assert(pick->provider >= 0);
    assert(pick->provider < stream->group->count);
    provider_abandoned(&stream->group->providers[pick->provider], pick->ticket);
}

void failover_proved(struct failover_stream *stream, int number, const struct provider_proof *proof)
{
    assert(number >= 0 && number < stream->group->count);
    assert(proof->at_us >= 0);
    stream->seats[number].proof = *proof;
    provider_proved(&stream->group->providers[number], proof);
}

int failover_probe_next(struct failover *group, int64_t now_us, struct provider_ticket *ticket)
{
    assert(group->count <= FAILOVER_PROVIDERS_MAX);
    assert(ticket != NULL);
    for (int i = 0; i < group->count; i++) {
        struct provider *provider = &group->providers[i];
        if (!provider_probe_wanted(provider, now_us))
            continue;
        if (bucket_closed_until(&provider->bucket, now_us) > now_us)
            continue;
        *ticket = provider_probe_begin(provider, now_us);
        return i;
    }
    return PROVIDER_NONE;
}

const struct failover_switch *failover_history(const struct failover *group, uint32_t back)
{
    assert(group != NULL);
    uint64_t kept = group->switches < FAILOVER_HISTORY_MAX ? group->switches : FAILOVER_HISTORY_MAX;
    assert(kept <= group->switches);
    if (back >= kept)
        return NULL;
    return &group->history[(group->switches - 1 - back) % FAILOVER_HISTORY_MAX];
}
