/* SPDX-License-Identifier: Apache-2.0
 *
 * One process's imports: the account's providers are made as at a start, and one session follows
 * the other after a pause. */
#include "sim_world.h"

#include "config_load.h"
#include "source/ledger_providers.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND_US    INT64_C(1000000)
#define POOL_BATCHES 3 /* two of each stream's are enough for nobody to wait */
#define ARENA_KB_MIN 200
#define ARENA_KB_MAX 320

/* clang-format off */
static const char head[] =
    "version: 1\n"
    "provider: %s\n"
    "platforms: {chain: {native: COIN}}\n"
    "identifier: text\n"
    "base_url: https://%s.example\n"
    "rate: {per_second: 5, concurrency: %d}\n"
    "timeout_seconds: 10\n"
    "priority: %d\n"
    "replay: {blocks: 2}\n"
    "responses:\n"
    "- {when: {at: /error, contains: token}, do: restart}\n"
    "streams:\n";
static const char rise[] =
    "  %s:\n"
    "    request: {path: /rise/%s, query: {account: $account, from: $from, page: $page}}\n"
    "    order: asc\n"
    "    page: {by: keyset, size: 10, first: 1, stop: [short_page], window_max: 30}\n"
    "    resume: {kind: blockNumber, cast: dec}\n";
static const char fall[] =
    "  %s:\n"
    "    request: {path: /fall/%s, query: {account: $account, token: $token}}\n"
    "    order: desc\n"
    "    page: {by: token, size: 10, next: {from: body, at: /next}, stop: [token_absent]}\n"
    "    resume: {kind: none}\n";
static const char span[] =
    "  %s:\n"
    "    request: {path: /span/%s, query: {account: $account, from: $from, to: $to}}\n"
    "    order: asc\n"
    "    page: {by: range, size: 10}\n"
    "    resume: {kind: blockNumber, cast: dec}\n"
    "    head: {request: {path: /head/moves}, at: /head}\n";
static const char counted[] = "    count: {at: /total}\n";
static const char tail[] =
    "    records: {at: /rows}\n"
    "    map:\n"
    "      hash: /hash\n"
    "      block: /block\n"
    "      time: {at: /time, cast: unix_s}\n"
    "      amount: /amount\n"
    "    identity: {of: [platform, hash, kind, amount], equals: none}\n";
/* clang-format on */

static const struct config *no_settings(void)
{
    static struct config config;
    static bool made;
    if (!made)
        config_init(&config);
    made = true;
    return &config;
}

static void put_stream(struct text *yaml, enum sim_walk walk, const char *name)
{
    if (walk == WALK_RISE)
        text_appendf(yaml, rise, name, name);
    else if (walk == WALK_SPAN)
        text_appendf(yaml, span, name, name);
    else
        text_appendf(yaml, fall, name, name);
    if (walk == WALK_COUNTED)
        text_append_string(yaml, counted);
    text_append_string(yaml, tail);
}

static void add_provider(struct sim_ledger_life *ledger, int number)
{
    static const char *const names[SIM_LEDGER_PROVIDERS] = {"alpha", "beta"};
    static const char *const streams[SIM_LEDGER_STREAMS] = {"moves", "fees"};
    struct sim_world *world = ledger->life->world;
    struct runtime *runtime = &ledger->life->runtime;
    struct text yaml = {0};
    struct err err;
    text_appendf(&yaml, head, names[number], names[number], number + 1, number * 10);
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++)
        put_stream(&yaml, world->ledger->streams[i].walk[number], streams[i]);
    if (ledger_providers_add(ledger->providers, text_bytes(&yaml), names[number], no_settings(),
                             runtime->ops->mono_us(runtime), &err) != RC_OK)
        sim_fail(world, "no provider: %s", err.text);
    text_free(&yaml);
}

/* ---- sessions ---- */

static void arm(struct sim_ledger_life *ledger, int64_t delay_us)
{
    struct runtime *runtime = &ledger->life->runtime;
    runtime->ops->timer_arm(runtime, &ledger->turn, delay_us);
}

static void on_ended(void *arg, struct ledger_account *account)
{
    struct sim_ledger_life *ledger = arg;
    struct ledger_account_view view;
    ledger_account_look(account, &view);
    sim_trace(ledger->life->world, "import ended: %s %s", view.status, view.trouble);
    ledger->over = true;
    if (!ledger->life->ended)
        arm(ledger, 0);
}

static void begin(struct sim_ledger_life *ledger)
{
    const struct ledger_account_options options = {.since_us = -1};
    struct err err;
    ledger->over = false;
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++) {
        ledger->asked[i] = -1;
        ledger->begun[i] = ledger->sent[i] = ledger->life->world->ledger->streams[i].place;
    }
    if (ledger_account_new(&ledger->env, ledger->providers, bytes_of(SIM_LEDGER_ACCOUNT), &options,
                           on_ended, ledger, &ledger->account, &err) != RC_OK)
        sim_fail(ledger->life->world, "no import: %s", err.text);
    ledger_account_start(ledger->account);
}

static void take_turn(void *arg)
{
    struct sim_ledger_life *ledger = arg;
    struct sim_world *world = ledger->life->world;
    bool idle = ledger->account == NULL;
    if (ledger->over) {
        ledger_account_free(ledger->account);
        ledger->account = NULL;
        ledger->over = false;
    }
    if (ledger->life->stopping || ledger->life->writer.dead)
        return;
    if (idle)
        begin(ledger);
    else if (ledger->account == NULL)
        arm(ledger, sim_between(&world->swarm, 1, world->plan.days > 0 ? 7200 : 120) * SECOND_US);
}

void sim_ledger_life_sent(struct sim_ledger_life *ledger, const struct batch *batch)
{
    for (const struct record *row = batch->first[RECORD_CURSOR]; row != NULL; row = row->next)
        if (bytes_equal_string(row->fields[CURSOR_ROW_SOURCE].b, SIM_LEDGER_ACCOUNT)) {
            unsigned stream = sim_ledger_stream(row->fields[CURSOR_ROW_STREAM].b);
            sim_ledger_read_place(row->fields[CURSOR_ROW_STATE].b, &ledger->sent[stream]);
        }
}

/* ---- life ---- */

struct sim_ledger_life *sim_ledger_life_new(struct sim_life *life)
{
    struct sim_ledger_life *ledger = memory_new_zeroed(1, sizeof *ledger);
    struct sim_swarm *swarm = &life->world->swarm;
    size_t arena = (size_t)sim_between(swarm, ARENA_KB_MIN, ARENA_KB_MAX) << 10;
    ledger->life = life;
    ledger->pool = batch_pool_new((unsigned)sim_between(swarm, 2, 2 + POOL_BATCHES), arena);
    ledger->env = life->env;
    ledger->env.pool = ledger->pool;
    ledger->turn = (struct timer){.fn = take_turn, .arg = ledger};
    ledger->providers = ledger_providers_new();
    for (int i = 0; i < SIM_LEDGER_PROVIDERS; i++)
        add_provider(ledger, i);
    arm(ledger, sim_between(swarm, 0, 5 * SECOND_US));
    return ledger;
}

void sim_ledger_life_free(struct sim_ledger_life *ledger)
{
    timer_heap_disarm(&ledger->life->timers, &ledger->turn);
    if (ledger->account != NULL)
        ledger_account_free(ledger->account);
    ledger_providers_free(ledger->providers);
    batch_pool_free(ledger->pool);
    free(ledger);
}

void sim_ledger_life_stop(struct sim_ledger_life *ledger)
{
    if (ledger->account != NULL)
        ledger_account_stop(ledger->account);
}

bool sim_ledger_life_stopped(const struct sim_ledger_life *ledger)
{
    return ledger->account == NULL;
}
