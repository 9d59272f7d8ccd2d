/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_family.h"

#include "source/ledger_account.h"
#include "source/ledger_scan.h"
#include "sys/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNNING_MAX 4

struct child {
    struct ledger_account *account; /* NULL: none */
    struct scan_place place;
    bool over; /* it has ended and is to be freed */
};

struct ledger_family {
    const struct ledger_run *run;
    struct ledger_providers *providers;
    bool derived[EXTENDED_KEY_CHAINS];
    struct extended_key chains[EXTENDED_KEY_CHAINS];
    struct ledger_scan scan;
    struct child children[RUNNING_MAX];
    struct timer turn; /* a child that ends is in the midst of something */
    bool stopping;
    struct ledger_family_view view;
    struct ledger_stream_view sums[LEDGER_STREAMS_MAX]; /* of those that are over */
    void (*ended)(void *arg);
    void *arg;
};

static void take_turn_soon(struct ledger_family *family)
{
    struct runtime *runtime = family->run->env->runtime;
    runtime->ops->timer_arm(runtime, &family->turn, 0);
}

/* ---- sums ---- */

/* What one address's stream brought, added to the wallet's of the same name. */
static void add_stream(struct ledger_stream_view *sum, const struct ledger_stream_view *one)
{
    if (one->provider[0] != '\0')
        sum->provider = one->provider;
    sum->batches += one->batches;
    sum->rows += one->rows;
    sum->known += one->known;
    sum->stored += one->stored;
    sum->requests += one->requests;
    sum->orphaned += one->orphaned;
    sum->refused += one->refused;
    sum->older += one->older;
    sum->owed += one->owed;
    sum->switches += one->switches;
}

static void add_child(const struct child *child, const char *stream, struct ledger_stream_view *sum)
{
    struct ledger_account_view account;
    struct ledger_stream_view one;
    ledger_account_look(child->account, &account);
    for (size_t i = 0; i < account.stream_count; i++) {
        ledger_account_look_stream(child->account, i, &one);
        if (strcmp(one.name, stream) == 0)
            add_stream(sum, &one);
    }
}

void ledger_family_look_stream(const struct ledger_family *family, size_t number,
                               struct ledger_stream_view *view)
{
    assert(number < family->view.stream_count);
    *view = family->sums[number];
    view->outcome = family->view.outcome;
    view->state = family->view.outcome == LEDGER_UNDECIDED ? LEDGER_ASKING : LEDGER_ENDED;
    for (size_t i = 0; i < RUNNING_MAX; i++)
        if (family->children[i].account != NULL)
            add_child(&family->children[i], view->name, view);
}

/* ---- children ---- */

static void on_child_ended(void *arg, struct ledger_account *account)
{
    struct ledger_family *family = arg;
    for (size_t i = 0; i < RUNNING_MAX; i++)
        if (family->children[i].account == account)
            family->children[i].over = true;
    take_turn_soon(family);
}

static void note_trouble(struct ledger_family *family, enum ledger_outcome outcome,
                         const char *name, const char *trouble)
{
    if (outcome <= family->view.outcome)
        return;
    family->view.outcome = outcome; /* the worst one counts */
    snprintf(family->view.trouble, sizeof family->view.trouble, "%s%s%s", name,
             trouble[0] != '\0' ? ": " : "", trouble);
}

/* What was read of the address stays in the sums; whether it was used decides how far to go. */
static void absorb(struct ledger_family *family, struct child *child)
{
    struct ledger_account_view account;
    uint64_t before = 0, after = 0;
    ledger_account_look(child->account, &account);
    for (size_t i = 0; i < family->view.stream_count; i++) {
        struct ledger_stream_view *sum = &family->sums[i];
        before += sum->rows + sum->known + sum->stored + sum->older;
        add_child(child, sum->name, sum);
        after += sum->rows + sum->known + sum->stored + sum->older;
    }
    if (account.outcome != LEDGER_COMPLETE) {
        note_trouble(family, account.outcome, account.name, account.trouble);
    } else {
        family->view.read++;
        if (after > before) {
            family->view.used++;
            ledger_scan_used(&family->scan, child->place);
        }
    }
    ledger_account_free(child->account);
    *child = (struct child){.account = NULL};
}

/* false: this number has no address. */
static bool name_child(const struct ledger_family *family, struct scan_place place,
                       struct text *name)
{
    text_clear(name);
    text_appendf(name, "%s:", family->run->platform->name);
    return family->derived[place.chain] &&
           extended_key_address(&family->chains[place.chain], place.number, name);
}

static void start_child(struct ledger_family *family, struct child *child, struct scan_place place)
{
    const struct ledger_account_options options = {.only = family->run->only,
                                                   .since_us = family->run->since_us,
                                                   .parent = family->run->account};
    struct text name = {0};
    struct err err;
    if (name_child(family, place, &name)) {
        child->place = place;
        if (ledger_account_new(family->run->env, family->providers, text_bytes(&name), &options,
                               on_child_ended, family, &child->account, &err) == RC_OK) {
            ledger_account_start(child->account);
        } else {
            child->account = NULL;
            note_trouble(family, LEDGER_FAILED, text_string(&name), err.text);
        }
    }
    text_free(&name);
}

static void finish(struct ledger_family *family)
{
    if (family->view.outcome == LEDGER_UNDECIDED)
        family->view.outcome = family->stopping ? LEDGER_STOPPED : LEDGER_COMPLETE;
    log_event(family->view.outcome == LEDGER_COMPLETE ? LOG_INFO : LOG_WARN, "ledger",
              "addresses_read",
              (struct log_field[]){log_string("account", family->run->account),
                                   log_int("read", (int64_t)family->view.read),
                                   log_int("used", (int64_t)family->view.used), LOG_END});
    family->ended(family->arg);
}

static void take_turn(void *arg)
{
    struct ledger_family *family = arg;
    struct scan_place place;
    size_t running = 0;
    for (size_t i = 0; i < RUNNING_MAX; i++)
        if (family->children[i].over)
            absorb(family, &family->children[i]);
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        struct child *child = &family->children[i];
        while (child->account == NULL && !family->stopping &&
               family->view.outcome == LEDGER_UNDECIDED && ledger_scan_next(&family->scan, &place))
            start_child(family, child, place);
        running += child->account != NULL;
    }
    if (running == 0)
        finish(family);
}

/* ---- life ---- */

struct ledger_family *ledger_family_new(const struct ledger_run *run,
                                        struct ledger_providers *providers,
                                        const struct extended_key *key, uint32_t gap,
                                        void (*ended)(void *arg), void *arg)
{
    struct ledger_family *family = memory_new_zeroed(1, sizeof *family);
    const struct ledger_platform *platform = run->platform;
    family->run = run;
    family->providers = providers;
    family->ended = ended;
    family->arg = arg;
    family->turn = (struct timer){.fn = take_turn, .arg = family};
    for (uint32_t i = 0; i < EXTENDED_KEY_CHAINS; i++)
        family->derived[i] = extended_key_child(key, i, &family->chains[i]);
    ledger_scan_init(&family->scan, gap);
    for (size_t i = 0; i < platform->stream_count; i++)
        if (ledger_platform_serves(platform, run->only, platform->streams[i]))
            family->sums[family->view.stream_count++] = (struct ledger_stream_view){
                .name = platform->streams[i], .provider = "", .position = -1, .total = -1};
    return family;
}

void ledger_family_start(struct ledger_family *family)
{
    take_turn_soon(family);
}

void ledger_family_stop(struct ledger_family *family)
{
    family->stopping = true;
    for (size_t i = 0; i < RUNNING_MAX; i++)
        if (family->children[i].account != NULL)
            ledger_account_stop(family->children[i].account);
}

void ledger_family_look(const struct ledger_family *family, struct ledger_family_view *view)
{
    *view = family->view;
}

void ledger_family_free(struct ledger_family *family)
{
    struct runtime *runtime = family->run->env->runtime;
    runtime->ops->timer_disarm(runtime, &family->turn);
    for (size_t i = 0; i < RUNNING_MAX; i++)
        if (family->children[i].account != NULL)
            ledger_account_free(family->children[i].account);
    free(family);
}
