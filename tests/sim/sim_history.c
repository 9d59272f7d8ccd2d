/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_history.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GARBAGE_SHAPES 10
#define NOISE_SHAPES   4
#define EVENTS_PER_DAY 1000
#define DAY_US         INT64_C(86400000000)

/* ---- frames ---- */

/* So many bytes, which are words of no language. */
static void put_filler(size_t count, char first, char last, struct text *out)
{
    char *end = text_reserve(out, count + 1);
    char letter = first;
    for (size_t i = 0; i < count; i++) {
        end[i] = letter;
        letter = letter == last ? first : (char)(letter + 1);
    }
    end[count] = '\0';
    out->len += count;
}

void sim_history_body(const struct sim_history *history, size_t at, struct text *out)
{
    const struct sim_event *event = &history->events[at];
    text_clear(out);
    if (event->repost)
        text_appendf(out, "at://did:plc:sim0001/app.bsky.feed.post/s%zu", at);
    else
        text_appendf(out, "t%zu%s ", at, event->poison ? " " SIM_POISON : "");
    put_filler(event->filler, 'a', 'z', out);
}

static void put_head(const struct sim_history *history, size_t at, int host, const char *kind,
                     struct text *out)
{
    text_appendf(out, "{\"did\":\"did:plc:sim%04u\",\"time_us\":%" PRId64 ",\"kind\":\"%s\",",
                 history->events[at].did,
                 sim_history_time(history, at, host) + history->events[at].lead_us, kind);
}

static void put_commit(const struct sim_history *history, size_t at, int host, struct text *out)
{
    const struct sim_event *event = &history->events[at];
    struct text body = {0};
    const char *operation = event->kind == EVENT_DELETE ? "delete"
                            : event->shape != 0         ? "update"
                                                        : "create";
    put_head(history, at, host, "commit", out);
    text_appendf(out,
                 "\"commit\":{\"rev\":\"3sim%09zu\",\"operation\":\"%s\",\"collection\":"
                 "\"app.bsky.feed.%s\",\"rkey\":\"k%05u\"",
                 at, operation, event->repost ? "repost" : "post", event->rkey);
    if (event->kind == EVENT_PUT) {
        sim_history_body(history, at, &body);
        text_appendf(out,
                     event->repost ? ",\"record\":{\"subject\":{\"uri\":\"%s\"}"
                                   : ",\"record\":{\"text\":\"%s\"",
                     text_string(&body));
        text_appendf(out, ",\"createdAt\":\"2025-06-15T15:%02zu:%02zuZ\"},\"cid\":\"bafy%zu\"",
                     at / 60 % 60, at % 60, at);
    }
    text_append_string(out, "}}");
    text_free(&body);
}

static void put_noise(const struct sim_history *history, size_t at, int host, struct text *out)
{
    static const char *const rest[NOISE_SHAPES] = {
        "\"commit\":{\"rev\":\"3noise\",\"operation\":\"create\",\"collection\":"
        "\"app.bsky.feed.like\",\"rkey\":\"l1\",\"record\":{}}}",
        "\"commit\":{\"rev\":\"3noise\",\"operation\":\"delete\",\"collection\":"
        "\"app.bsky.graph.follow\",\"rkey\":\"f1\"}}",
        "\"identity\":{\"seq\":1}}",
        "\"sync\":{}}",
    };
    static const char *const kinds[NOISE_SHAPES] = {"commit", "commit", "identity", "sync"};
    put_head(history, at, host, kinds[history->events[at].shape], out);
    text_append_string(out, rest[history->events[at].shape]);
}

/* Each shape is wrong in its own way; each payload is the only one of its kind. */
static void put_garbage(const struct sim_history *history, size_t at, struct text *out)
{
    static const char *const formats[GARBAGE_SHAPES] = {
        "\x01\x02 no json at all %zu \x03",
        "{\"did\":\"did:plc:sim0001\",\"time_us\":1750000000000001,\"kind\":\"commit\",\"com%zu",
        "{\"did\":\"did:plc:sim0001\",\"time_us\":\"%zu\",\"kind\":\"commit\",\"commit\":{}}",
        "{\"time_us\":1750000000000001,\"kind\":\"commit\",\"commit\":{\"rev\":\"%zu\"}}",
        "{\"did\":\"did:plc:sim0001\",\"time_us\":1750000000000001,\"kind\":%zu}",
        "[1,2,%zu]",
        "{\"did\":\"did:plc:sim0001\",\"time_us\":1750000000000001,\"kind\":\"commit\",\"commit\":"
        "{\"rev\":\"3x%zu\",\"operation\":\"create\",\"collection\":\"app.bsky.feed.post\","
        "\"rkey\":\"k00001\"}}",
        "{\"did\":\"did:plc:sim0001\",\"time_us\":1750000000000001,\"kind\":\"commit\",\"commit\":"
        "{\"rev\":\"3x%zu\",\"operation\":\"upsert\",\"collection\":\"app.bsky.feed.post\","
        "\"rkey\":\"k00001\",\"record\":{}}}",
        ("{\"did\":\"did:plc:sim0001\",\"time_us\":1750000000000001,\"kind\":\"account\","
         "\"account\":{\"active\":\"%zu\"}}"),
        "{\"did\":\"sim%zu\",\"time_us\":1750000000000001,\"kind\":\"commit\",\"commit\":{}}",
    };
    const struct sim_event *event = &history->events[at];
    char words[512];
    const char *format = formats[event->shape % GARBAGE_SHAPES];
    const char *place = strstr(format, "%zu");
    assert(place != NULL);
    snprintf(words, sizeof words, "%.*s%zu%s", (int)(place - format), format, at, place + 3);
    text_append_string(out, words);
    put_filler(event->filler, '#', '#', out);
}

void sim_history_frame(const struct sim_history *history, size_t at, int host, struct text *out)
{
    const struct sim_event *event = &history->events[at];
    assert(at < history->count && host >= 0 && host < SIM_HOSTS);
    text_clear(out);
    switch (event->kind) {
    case EVENT_PUT:
    case EVENT_DELETE:
        put_commit(history, at, host, out);
        break;
    case EVENT_ACCOUNT:
        put_head(history, at, host, "account", out);
        text_appendf(out,
                     "\"account\":{\"active\":%s,\"did\":\"did:plc:sim%04u\",\"seq\":%zu,"
                     "\"status\":\"s%zu\",\"time\":\"2025-06-15T%02zu:%02zu:%02zu.%03zuZ\"}}",
                     event->shape != 0 ? "true" : "false", event->did, at, at, at / 3600000 % 24,
                     at / 60000 % 60, at / 1000 % 60, at % 1000);
        break;
    case EVENT_IDENTITY:
        put_head(history, at, host, "identity", out);
        text_appendf(out,
                     "\"identity\":{\"did\":\"did:plc:sim%04u\",\"handle\":\"h%zu\",\"seq\":%zu,"
                     "\"time\":\"2025-06-15T%02zu:%02zu:%02zu.%03zuZ\"}}",
                     event->did, at, at, at / 3600000 % 24, at / 60000 % 60, at / 1000 % 60,
                     at % 1000);
        break;
    case EVENT_NOISE:
        put_noise(history, at, host, out);
        break;
    case EVENT_GARBAGE:
        put_garbage(history, at, out);
        break;
    }
    memset(text_reserve(out, ARENA_PAD), 0, ARENA_PAD);
}

/* ---- names and times ---- */

int64_t sim_history_time(const struct sim_history *history, size_t at, int host)
{
    assert(at < history->count);
    return history->events[at].at_us + history->skew_us[host];
}

size_t sim_history_find(const struct sim_history *history, int64_t time_us, int host)
{
    size_t lo = 0, hi = history->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (sim_history_time(history, middle, host) < time_us)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

bool sim_number_after(struct bytes text, const char *prefix, size_t *number)
{
    size_t len = strlen(prefix);
    uint64_t value;
    if (text.data == NULL || !bytes_starts_with(text, prefix) ||
        !bytes_to_u64(bytes_make(text.data + len, text.len - len), &value))
        return false;
    *number = (size_t)value;
    return true;
}

size_t sim_key(struct bytes did, struct bytes collection, struct bytes rkey)
{
    size_t who, which;
    bool repost = bytes_equal_string(collection, "app.bsky.feed.repost");
    if (!repost && !bytes_equal_string(collection, "app.bsky.feed.post"))
        return SIM_KEYS;
    if (!sim_number_after(did, "did:plc:sim", &who) || who >= SIM_DIDS)
        return SIM_KEYS;
    if (!sim_number_after(rkey, "k", &which) || which >= SIM_RKEYS)
        return SIM_KEYS;
    return (who * 2 + repost) * SIM_RKEYS + which;
}

size_t sim_event_key(const struct sim_event *event)
{
    assert(event->kind == EVENT_PUT || event->kind == EVENT_DELETE);
    return (event->did * 2 + event->repost) * SIM_RKEYS + event->rkey;
}

/* ---- making it ---- */

static unsigned below(struct sim_swarm *swarm, unsigned bound)
{
    return (unsigned)seeded_below(&swarm->random, bound);
}

/* Mostly a steady trickle, now and then a burst or a silence. */
static int64_t next_gap(struct sim_swarm *swarm, int64_t usual_us)
{
    unsigned dice = below(swarm, 200);
    if (dice == 0)
        return sim_between(swarm, 5000000, 60000000);
    if (dice < 20)
        return sim_between(swarm, 1, 2000);
    return sim_between(swarm, 1, usual_us * 2);
}

static void make_commit(struct sim_event *event, struct sim_swarm *swarm, bool *alive)
{
    event->repost = below(swarm, 4) == 0;
    event->rkey = below(swarm, SIM_RKEYS);
    event->kind = EVENT_PUT;
    bool *known = &alive[sim_event_key(event)];
    event->shape = *known;
    if (*known ? below(swarm, 2) == 0 : below(swarm, 20) == 0)
        event->kind = EVENT_DELETE;
    *known = event->kind == EVENT_PUT;
    event->poison = event->kind == EVENT_PUT && !event->repost && sim_strikes(swarm, FAULT_POISON);
    if (event->kind == EVENT_PUT && !event->repost && sim_strikes(swarm, FAULT_HUGE_FRAME))
        event->filler = (size_t)(below(swarm, 8) == 0 ? sim_between(swarm, 110000, 200000)
                                                      : sim_between(swarm, 5000, 70000));
}

/* Months to years: beyond what a replay or a wrong clock of ours could make the present. */
static int64_t choose_lead(struct sim_swarm *swarm)
{
    return sim_between(swarm, 60, 4000) * INT64_C(86400000000);
}

static void make_event(struct sim_event *event, struct sim_swarm *swarm, bool *alive)
{
    unsigned dice = below(swarm, 100);
    event->did = below(swarm, SIM_DIDS);
    if (sim_strikes(swarm, FAULT_TIME_AHEAD))
        event->lead_us = choose_lead(swarm);
    if (sim_strikes(swarm, FAULT_GARBAGE_IN_LOG)) {
        event->kind = EVENT_GARBAGE;
        event->shape = below(swarm, GARBAGE_SHAPES);
        if (sim_strikes(swarm, FAULT_HUGE_FRAME))
            event->filler = (size_t)sim_between(swarm, 1000, 90000);
    } else if (dice < 60) {
        make_commit(event, swarm, alive);
    } else if (dice < 68) {
        event->kind = EVENT_ACCOUNT;
        event->shape = below(swarm, 2);
    } else if (dice < 76) {
        event->kind = EVENT_IDENTITY;
    } else {
        event->kind = EVENT_NOISE;
        event->shape = below(swarm, NOISE_SHAPES);
    }
}

static void note_digests(struct sim_history *history, size_t at)
{
    struct text frame = {0};
    for (int host = 0; host < SIM_HOSTS; host++) {
        sim_history_frame(history, at, host, &frame);
        digest_sha256(text_bytes(&frame), history->events[at].digests[host]);
    }
    text_free(&frame);
}

void sim_history_init(struct sim_history *history, struct sim_swarm *swarm, size_t events_max,
                      unsigned days)
{
    bool alive[SIM_KEYS] = {false};
    int64_t at_us = SIM_BEGIN_US, usual_us = sim_between(swarm, 20000, 900000);
    *history = (struct sim_history){.count = (size_t)sim_between(swarm, 150, 700)};
    if (days > 0) {
        history->count = (size_t)days * EVENTS_PER_DAY;
        usual_us = DAY_US / EVENTS_PER_DAY;
    }
    if (events_max > 0 && events_max < history->count)
        history->count = events_max;
    history->events = memory_new_zeroed(history->count, sizeof *history->events);
    for (int host = 1; host < SIM_HOSTS; host++)
        if (sim_has(swarm, FAULT_HOST_SKEW)) {
            history->skew_us[host] = sim_between(swarm, -SIM_SKEW_US_MAX, SIM_SKEW_US_MAX);
            sim_fault_count(FAULT_HOST_SKEW);
        }
    for (size_t i = 0; i < history->count; i++) {
        struct sim_event *event = &history->events[i];
        at_us += next_gap(swarm, usual_us);
        event->at_us = at_us;
        if (i + 1 < history->count)
            make_event(event, swarm, alive);
        else
            *event = (struct sim_event){.at_us = at_us, .kind = EVENT_PUT, .rkey = 1, .shape = 1};
        if (event->kind == EVENT_GARBAGE || event->filler > 0)
            note_digests(history, i);
    }
}

void sim_history_deinit(struct sim_history *history)
{
    free(history->events);
}
