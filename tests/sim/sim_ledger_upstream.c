/* SPDX-License-Identifier: Apache-2.0
 *
 * The account's true history and the two providers that show it. */
#include "sim_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK  100
#define ROWS_MAX     70
#define ROWS_PER_DAY 20
#define SECOND_US    INT64_C(1000000)
#define LAG_BLOCKS   12
#define OVERLAP_ROWS 3
#define OK           200

static const char *const walk_names[SIM_WALKS] = {"rise", "fall", "fall", "span"};

/* ---- the truth ---- */

static void make_rows(struct sim_world *world, struct sim_ledger_stream *stream)
{
    struct sim_swarm *swarm = &world->swarm;
    const struct sim_plan *plan = &world->plan;
    stream->count = plan->days > 0 ? (size_t)plan->days * ROWS_PER_DAY
                                   : (size_t)sim_between(swarm, 1, ROWS_MAX);
    if (plan->events_max > 0 && plan->events_max < stream->count)
        stream->count = plan->events_max;
    stream->blocks = memory_new(stream->count * sizeof *stream->blocks);
    stream->stored = memory_new_zeroed(stream->count, sizeof *stream->stored);
    int64_t block = FIRST_BLOCK;
    for (size_t i = 0; i < stream->count; i++) {
        block += sim_between(swarm, 0, 3);
        stream->blocks[i] = block;
    }
    for (int i = 0; i < SIM_LEDGER_PROVIDERS; i++)
        stream->walk[i] = (enum sim_walk)sim_between(swarm, 0, SIM_WALKS - 1);
    stream->place = (struct sim_place){.high_water = -1, .total = -1, .provider = -1};
}

void sim_ledger_init(struct sim_world *world)
{
    struct sim_ledger *ledger = memory_new_zeroed(1, sizeof *ledger);
    struct sim_swarm *swarm = &world->swarm;
    int64_t last = FIRST_BLOCK;
    world->ledger = ledger;
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++) {
        struct sim_ledger_stream *stream = &ledger->streams[i];
        make_rows(world, stream);
        int64_t newest = stream->blocks[stream->count - 1];
        last = newest > last ? newest : last;
    }
    ledger->end_us = world->history.events[world->history.count - 1].at_us;
    ledger->first_block = sim_between(swarm, FIRST_BLOCK, last);
    ledger->block_us = (ledger->end_us - SIM_BEGIN_US) / (last - ledger->first_block + 1);
    ledger->block_us = ledger->block_us > 0 ? ledger->block_us : 1;
    ledger->liar = (int)sim_between(swarm, 0, SIM_LEDGER_PROVIDERS - 1);
    if (sim_has(swarm, FAULT_PROVIDER_LAGS)) {
        ledger->lag_blocks = sim_between(swarm, 1, LAG_BLOCKS);
        sim_fault_count(FAULT_PROVIDER_LAGS);
    }
}

void sim_ledger_deinit(struct sim_world *world)
{
    struct sim_ledger *ledger = world->ledger;
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++) {
        struct sim_ledger_stream *stream = &ledger->streams[i];
        free(stream->blocks);
        free(stream->stored);
        text_free(&stream->cursor);
        for (int p = 0; p < SIM_LEDGER_PROVIDERS; p++)
            text_free(&stream->page[p]);
    }
    free(ledger->rows);
    free(ledger->sessions);
    free(ledger);
    world->ledger = NULL;
}

static int64_t head_at(const struct sim_ledger *ledger, int64_t at_us)
{
    int64_t until_us = at_us < ledger->end_us ? at_us : ledger->end_us;
    int64_t last = ledger->first_block;
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS && at_us >= ledger->end_us; i++) {
        int64_t newest = ledger->streams[i].blocks[ledger->streams[i].count - 1];
        last = newest > last ? newest : last;
    }
    int64_t grown = ledger->first_block + (until_us - SIM_BEGIN_US) / ledger->block_us;
    return grown > last ? grown : last;
}

static size_t find_block(const struct sim_ledger_stream *stream, int64_t block)
{
    size_t lo = 0, hi = stream->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (stream->blocks[middle] < block)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

size_t sim_ledger_visible(const struct sim_world *world, unsigned stream, int64_t at_us,
                          int64_t lag_blocks)
{
    const struct sim_ledger *ledger = world->ledger;
    return find_block(&ledger->streams[stream], head_at(ledger, at_us) - lag_blocks + 1);
}

/* ---- what they say ---- */

struct question {
    unsigned stream;
    int provider;
    enum sim_walk walk;
    bool head;
    int64_t from, to, page, token; /* -1: not said */
};

static int64_t param_of(const char *path, const char *name)
{
    const char *at = strstr(path, name);
    return at == NULL ? -1 : strtoll(at + strlen(name), NULL, 10);
}

static struct question read_question(const struct sim_world *world, int provider, const char *path)
{
    const char *slash = strchr(path, '/'), *end = strpbrk(path, "?");
    struct question question = {.provider = provider, .head = strncmp(path, "head/", 5) == 0};
    if (slash == NULL)
        sim_fail(world, "nobody answers %s", path);
    size_t len = end == NULL ? strlen(slash + 1) : (size_t)(end - slash - 1);
    question.stream = sim_ledger_stream(bytes_make(slash + 1, len));
    if (question.stream == SIM_LEDGER_STREAMS)
        sim_fail(world, "there is no such stream: %s", path);
    question.walk = world->ledger->streams[question.stream].walk[provider];
    size_t words = strlen(walk_names[question.walk]);
    if (!question.head && strncmp(path, walk_names[question.walk], words) != 0)
        sim_fail(world, "it is not shown that way: %s", path);
    question.from = param_of(path, "from=");
    question.to = param_of(path, "to=");
    question.page = param_of(path, "page=");
    question.token = param_of(path, "token=");
    return question;
}

static void put_row(const struct sim_world *world, unsigned stream, size_t number, struct text *out)
{
    const struct sim_ledger *ledger = world->ledger;
    int64_t block = ledger->streams[stream].blocks[number];
    if (out->data[out->len - 1] == '}')
        text_append_char(out, ',');
    text_appendf(out,
                 "{\"hash\":\"%c%zu\",\"kind\":\"move\",\"amount\":\"%zu\",\"block\":%" PRId64
                 ",\"time\":%" PRId64 "}",
                 'a' + (int)stream, number, number, block, 1600000000 + block * 12);
}

/* Rows [lo, hi) oldest first. */
static void put_rising(const struct sim_world *world, unsigned stream, size_t lo, size_t hi,
                       struct text *out)
{
    for (size_t i = lo; i < hi; i++)
        put_row(world, stream, i, out);
}

static size_t overlap(struct sim_world *world, size_t most)
{
    if (!sim_strikes(&world->swarm, FAULT_PAGE_OVERLAP))
        return 0;
    return most < OVERLAP_ROWS ? most : OVERLAP_ROWS;
}

static void put_rise(struct sim_world *world, const struct question *ask, size_t visible,
                     struct text *out)
{
    const struct sim_ledger_stream *stream = &world->ledger->streams[ask->stream];
    size_t lo = ask->from < 0 ? 0 : find_block(stream, ask->from);
    lo += (size_t)(ask->page > 1 ? ask->page - 1 : 0) * SIM_LEDGER_PAGE;
    lo = lo < visible ? lo : visible;
    size_t hi = lo + SIM_LEDGER_PAGE < visible ? lo + SIM_LEDGER_PAGE : visible;
    if (lo == hi)
        sim_saw(SIGHT_EMPTY_PAGE);
    /* A short page that repeats rows would look full, and what comes next would be passed over. */
    size_t repeated = hi - lo == SIM_LEDGER_PAGE ? overlap(world, lo) : 0;
    put_rising(world, ask->stream, lo - repeated, hi, out);
    text_append_string(out, "]}");
}

static void put_fall(struct sim_world *world, const struct question *ask, size_t visible,
                     struct text *out)
{
    size_t hi = ask->token >= 0 && (size_t)ask->token < visible ? (size_t)ask->token : visible;
    size_t lo = hi > SIM_LEDGER_PAGE ? hi - SIM_LEDGER_PAGE : 0;
    for (size_t i = hi + overlap(world, visible - hi); i > lo; i--)
        put_row(world, ask->stream, i - 1, out);
    text_append_char(out, ']');
    if (lo > 0)
        text_appendf(out, ",\"next\":\"%zu\"", lo);
    if (ask->walk == WALK_COUNTED)
        text_appendf(out, ",\"total\":%zu",
                     visible + sim_strikes(&world->swarm, FAULT_COUNT_AHEAD));
    text_append_char(out, '}');
}

static void put_span(struct sim_world *world, const struct question *ask, size_t visible,
                     int64_t head, struct text *out)
{
    const struct sim_ledger_stream *stream = &world->ledger->streams[ask->stream];
    if (ask->from < 0 || ask->to < ask->from)
        sim_fail(world, "there is no range from %" PRId64 " to %" PRId64, ask->from, ask->to);
    size_t lo = find_block(stream, ask->from), hi = find_block(stream, ask->to + 1);
    if (ask->to > head && !sim_has(&world->swarm, FAULT_PROVIDER_LAGS))
        sim_fail(world, "a range beyond the head, to %" PRId64, ask->to);
    hi = hi < visible ? hi : visible;
    if (lo >= hi)
        sim_saw(SIGHT_EMPTY_PAGE);
    put_rising(world, ask->stream, lo, hi, out);
    text_append_string(out, "]}");
}

/* A page that is not the one that was asked for; true: that is the answer. */
static bool lie(struct sim_world *world, const struct question *ask, struct text *out)
{
    struct sim_swarm *swarm = &world->swarm;
    struct sim_ledger_stream *stream = &world->ledger->streams[ask->stream];
    const struct text *last = &stream->page[ask->provider];
    bool later = ask->page > 1 || ask->token >= 0;
    /* Nobody can tell an empty range from one whose rows are kept back. */
    bool empty = ask->provider == world->ledger->liar && ask->walk != WALK_SPAN &&
                 sim_strikes(swarm, FAULT_PAGE_EMPTY);
    if (empty) {
        stream->lied_us = world->now_us;
        text_append_string(out, "{\"rows\":[]}");
    } else if (ask->token >= 0 && sim_strikes(swarm, FAULT_TOKEN_LOST)) {
        text_append_string(out, "{\"error\":\"token unknown\"}");
    } else if (later && last->len > 0 && sim_strikes(swarm, FAULT_PAGE_AGAIN)) {
        text_append(out, last->data, last->len);
    }
    return out->len > 0;
}

int sim_ledger_say(struct sim_world *world, int provider, const char *path, struct text *body)
{
    struct sim_ledger *ledger = world->ledger;
    struct question ask = read_question(world, provider, path);
    int64_t lag = provider == ledger->liar && !world->swarm.healed ? ledger->lag_blocks : 0;
    int64_t head = head_at(ledger, world->now_us) - lag;
    size_t visible = sim_ledger_visible(world, ask.stream, world->now_us, lag);
    if (ask.head) {
        text_appendf(body, "{\"head\":%" PRId64 "}", head);
        return OK;
    }
    if (lie(world, &ask, body))
        return OK;
    text_append_string(body, "{\"rows\":[");
    if (ask.walk == WALK_RISE)
        put_rise(world, &ask, visible, body);
    else if (ask.walk == WALK_SPAN)
        put_span(world, &ask, visible, head, body);
    else
        put_fall(world, &ask, visible, body);
    struct text *last = &ledger->streams[ask.stream].page[provider];
    text_clear(last);
    text_append(last, body->data, body->len);
    return OK;
}

/* ---- what is asked ---- */

static void check_rate(struct sim_life *life, int provider)
{
    struct sim_ledger_life *ledger = life->ledger;
    int64_t now_us = life->world->now_us;
    int64_t *slot = &ledger->requests_us[provider][ledger->requests[provider] % SIM_LEDGER_RATE];
    if (ledger->requests[provider] >= SIM_LEDGER_RATE && now_us - *slot < SECOND_US)
        sim_fail(life->world, "provider %d is asked %d times within %" PRId64 " us", provider,
                 SIM_LEDGER_RATE + 1, now_us - *slot);
    *slot = now_us;
    ledger->requests[provider]++;
}

/* The first question to another provider than the one whose position it is. */
static void check_switch(struct sim_life *life, const struct question *ask)
{
    struct sim_world *world = life->world;
    const struct sim_place *sent = &life->ledger->sent[ask->stream];
    bool rises = ask->walk == WALK_RISE || ask->walk == WALK_SPAN;
    if (sent->provider < 0 || sent->provider == ask->provider)
        return;
    sim_saw(SIGHT_SWITCHED);
    if (ask->token >= 0)
        sim_fail(world, "a token of provider %d goes to provider %d", sent->provider,
                 ask->provider);
    if (!rises || sent->high_water < 0)
        return;
    int64_t wanted = sent->high_water - SIM_LEDGER_REPLAY;
    /* What it has given since an import was complete is read again; without rows none has ended
     * anywhere. */
    const struct sim_place *begun = &life->ledger->begun[ask->stream];
    bool proved = begun->complete && begun->provider == sent->provider && begun->high_water >= 0;
    if (proved && begun->high_water < wanted)
        wanted = begun->high_water;
    wanted = wanted > 0 ? wanted : 0;
    /* Where an end was doubted, more than that is read again. */
    bool exact = !sim_has(&world->swarm, FAULT_PAGE_EMPTY) &&
                 !sim_has(&world->swarm, FAULT_PROVIDER_LAGS) &&
                 !sim_has(&world->swarm, FAULT_PAGE_AGAIN);
    for (int i = 0; i < SIM_LEDGER_PROVIDERS; i++)
        exact = exact && world->ledger->streams[ask->stream].walk[i] != WALK_COUNTED;
    int64_t from = ask->from < 0 ? 0 : ask->from;
    if (from > wanted || (exact && from != wanted))
        sim_fail(world,
                 "provider %d goes on from %" PRId64 " where %d had come to %" PRId64
                 ": it should be %" PRId64,
                 ask->provider, from, sent->provider, sent->high_water, wanted);
}

void sim_ledger_hear(struct sim_life *life, int provider, const char *path)
{
    struct question ask = read_question(life->world, provider, path);
    check_rate(life, provider);
    if (ask.head)
        return;
    if (life->ledger->asked[ask.stream] < 0 && ask.token >= 0)
        sim_saw(SIGHT_SWEEP_TAKEN_UP);
    if (life->ledger->asked[ask.stream] != provider)
        check_switch(life, &ask);
    life->ledger->asked[ask.stream] = provider;
}
