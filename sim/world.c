/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIE_MAX      15
#define TRIES_MAX    24
#define RECENT_COUNT 2000

struct world {
    struct world_options options;
    struct world_account *accounts;
    uint32_t *by_did; /* open addressing: account + 1 */
    size_t slots;
    uint32_t *inactive; /* those that may come back */
    uint32_t inactive_count, deleted_count;
    struct world_event *events;
    uint32_t *previous; /* of the same account, by event */
    uint32_t count, cap;
    int64_t skew_us;
};

struct world_options world_options_default(void)
{
    return (struct world_options){
        .seed = 1,
        .accounts = 200,
        .follows = 40,
        .links = 400,
        .start_us = 1767225600000000,
        .gap_us = 2100,
        .noise_percent = 60,
        .web_base = "http://127.0.0.1:0",
    };
}

static size_t hash_did(struct bytes did)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < did.len; i++)
        hash = (hash ^ (unsigned char)did.data[i]) * 1099511628211u;
    return (size_t)(hash ^ (hash >> 29));
}

static void index_did(struct world *world, uint32_t account)
{
    size_t slot = hash_did(bytes_of(world->accounts[account].did)) & (world->slots - 1);
    while (world->by_did[slot] != 0)
        slot = (slot + 1) & (world->slots - 1);
    world->by_did[slot] = account + 1;
}

uint32_t world_find_did(const struct world *world, struct bytes did)
{
    size_t slot = hash_did(did) & (world->slots - 1);
    for (; world->by_did[slot] != 0; slot = (slot + 1) & (world->slots - 1))
        if (bytes_equal_string(did, world->accounts[world->by_did[slot] - 1].did))
            return world->by_did[slot] - 1;
    return WORLD_NONE;
}

/* Chooses whom account 0 follows: the first cards of a shuffled deck. */
static void choose_follows(struct world *world)
{
    uint32_t others = world->options.accounts - 1;
    uint32_t *deck = memory_new(sizeof *deck * world->options.accounts);
    struct draw draw = draw_make(world->options.seed, 0, SALT_FOLLOWS);
    for (uint32_t i = 0; i < others; i++)
        deck[i] = i + 1;
    for (uint32_t i = 0; i < world->options.follows; i++) {
        uint32_t other = i + draw_below(&draw, others - i);
        uint32_t card = deck[other];
        deck[other] = deck[i];
        deck[i] = card;
        world->accounts[card].followed = true;
    }
    free(deck);
}

struct world *world_new(const struct world_options *options)
{
    struct world *world = memory_new_zeroed(1, sizeof *world);
    assert(options->accounts >= 2 && options->links > 0 && options->gap_us > 0);
    world->options = *options;
    if (world->options.follows > options->accounts - 1)
        world->options.follows = options->accounts - 1;
    world->accounts = memory_new_zeroed(options->accounts, sizeof *world->accounts);
    world->inactive = memory_new_zeroed(options->accounts, sizeof *world->inactive);
    for (world->slots = 16; world->slots < 3 * (size_t)options->accounts;)
        world->slots *= 2;
    world->by_did = memory_new_zeroed(world->slots, sizeof *world->by_did);
    for (uint32_t i = 0; i < options->accounts; i++) {
        struct draw draw = draw_make(options->seed, i, SALT_DID);
        did_write(&draw, world->accounts[i].did);
        world->accounts[i].last = WORLD_NONE;
        world->accounts[i].pinned = world->accounts[i].status_event = WORLD_NONE;
        index_did(world, i);
    }
    choose_follows(world);
    return world;
}

void world_free(struct world *world)
{
    if (world == NULL)
        return;
    free(world->previous);
    free(world->events);
    free(world->by_did);
    free(world->inactive);
    free(world->accounts);
    free(world);
}

int64_t world_time_of(const struct world *world, uint32_t k)
{
    struct draw draw = draw_make(world->options.seed, k, SALT_TIME);
    int64_t gap = world->options.gap_us;
    uint32_t spread = gap > 1000000000 ? 1000000000 : (uint32_t)gap;
    return world->options.start_us + (int64_t)k * gap + (int64_t)draw_below(&draw, spread);
}

static uint32_t pick_active(const struct world *world, struct draw *draw)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        uint32_t account = draw_skewed(draw, world->options.accounts);
        if (world->accounts[account].status == ACCOUNT_ACTIVE)
            return account;
    }
    return 0;
}

/* An earlier event that created a record in one of the collections of the mask; half of the time a
 * recent one. When `alive`, the record must live and its author be active. */
static uint32_t pick_record(const struct world *world, struct draw *draw, unsigned mask, bool alive)
{
    uint32_t recent = world->count < RECENT_COUNT ? world->count : RECENT_COUNT;
    if (world->count == 0)
        return WORLD_NONE;
    for (int i = 0; i < TRIES_MAX; i++) {
        uint32_t back = draw_below(draw, (i & 1) != 0 ? world->count : recent);
        uint32_t k = world->count - 1 - back;
        const struct world_event *event = &world->events[k];
        if (event->kind != EVENT_CREATE || (mask >> event->collection & 1) == 0)
            continue;
        if (!alive || (!event->gone && world->accounts[event->account].status == ACCOUNT_ACTIVE))
            return k;
    }
    return WORLD_NONE;
}

static void create_record(const struct world *world, struct draw *draw, struct world_event *event,
                          unsigned collection)
{
    event->kind = EVENT_CREATE;
    event->collection = (uint8_t)collection;
    event->account = pick_active(world, draw);
    /* Whom account 0 follows is somebody else's decision. */
    if (collection == COLLECTION_FOLLOW && event->account == 0)
        event->collection = (uint8_t)(collection = COLLECTION_LIKE);
    if (collection == COLLECTION_FOLLOW)
        event->subject = draw_skewed(draw, world->options.accounts);
    else
        event->subject = pick_record(world, draw, 1u << COLLECTION_POST, false);
    /* Before the first post there is nothing to point at. */
    if (event->subject == WORLD_NONE)
        event->collection = COLLECTION_POST;
}

/* Both need a living record; without one a post is made instead. */
static void change_record(const struct world *world, struct draw *draw, struct world_event *event,
                          enum world_kind kind)
{
    unsigned mask = 1u << COLLECTION_POST;
    if (kind == EVENT_DELETE)
        mask = draw_below(draw, 4) == 0 ? 1u << COLLECTION_LIKE | 1u << COLLECTION_FOLLOW
                                        : mask | 1u << COLLECTION_REPOST;
    uint32_t target = pick_record(world, draw, mask, true);
    if (target == WORLD_NONE) {
        create_record(world, draw, event, COLLECTION_POST);
        return;
    }
    event->kind = (uint8_t)kind;
    event->collection = world->events[target].collection;
    event->account = world->events[target].account;
    event->subject = target;
}

static enum account_status draw_status(struct draw *draw)
{
    uint32_t dice = draw_below(draw, 10);
    return dice < 5   ? ACCOUNT_DEACTIVATED
           : dice < 7 ? ACCOUNT_TAKENDOWN
           : dice < 9 ? ACCOUNT_SUSPENDED
                      : ACCOUNT_DELETED;
}

/* Half of these bring someone back; the world never loses more than an eighth of its people. */
static void change_account(const struct world *world, struct draw *draw, struct world_event *event)
{
    event->kind = EVENT_ACCOUNT;
    if (world->inactive_count > 0 && draw_below(draw, 2) == 0) {
        event->account = world->inactive[draw_below(draw, world->inactive_count)];
        event->subject = ACCOUNT_ACTIVE;
        return;
    }
    event->account = pick_active(world, draw);
    bool may = event->account != 0 &&
               world->inactive_count + world->deleted_count < world->options.accounts / 8;
    event->subject = may ? draw_status(draw) : ACCOUNT_ACTIVE;
}

/* One of the account's newest posts, or WORLD_NONE. */
static uint32_t pick_own_post(const struct world *world, uint32_t account)
{
    uint32_t k = world->accounts[account].last;
    for (int i = 0; i < TRIES_MAX && k != WORLD_NONE; i++, k = world->previous[k]) {
        const struct world_event *event = &world->events[k];
        if (event->kind == EVENT_CREATE && event->collection == COLLECTION_POST && !event->gone)
            return k;
    }
    return WORLD_NONE;
}

static void draw_noise(const struct world *world, struct draw *draw, struct world_event *event)
{
    uint32_t dice = draw_below(draw, 100);
    if (dice < 90) {
        create_record(world, draw, event, COLLECTION_LIKE);
    } else if (dice < 97) {
        create_record(world, draw, event, COLLECTION_FOLLOW);
    } else {
        event->kind = EVENT_UPDATE;
        event->collection = COLLECTION_PROFILE;
        event->account = pick_active(world, draw);
        event->subject = dice == 97 ? WORLD_NONE : pick_own_post(world, event->account);
    }
}

static void draw_event(const struct world *world, struct world_event *event)
{
    struct draw draw = draw_make(world->options.seed, world->count, SALT_EVENT);
    if (draw_below(&draw, 100) < world->options.noise_percent) {
        draw_noise(world, &draw, event);
        return;
    }
    uint32_t dice = draw_below(&draw, 100);
    if (dice < 50) {
        create_record(world, &draw, event, COLLECTION_POST);
    } else if (dice < 78) {
        create_record(world, &draw, event, COLLECTION_REPOST);
    } else if (dice < 88) {
        change_record(world, &draw, event, EVENT_DELETE);
    } else if (dice < 94) {
        change_record(world, &draw, event, EVENT_UPDATE);
    } else if (dice < 97) {
        event->kind = EVENT_IDENTITY;
        event->account = pick_active(world, &draw);
        /* Some say only "look again": the handle stays. */
        event->subject =
            world->accounts[event->account].renamed + (draw_below(&draw, 3) != 0 ? 1 : 0);
    } else {
        change_account(world, &draw, event);
    }
}

static void set_status(struct world *world, uint32_t account, unsigned status)
{
    unsigned before = world->accounts[account].status;
    bool waited = before != ACCOUNT_ACTIVE && before != ACCOUNT_DELETED;
    for (uint32_t i = 0; waited && i < world->inactive_count; i++)
        if (world->inactive[i] == account)
            world->inactive[i--] = world->inactive[--world->inactive_count];
    if (status == ACCOUNT_DELETED)
        world->deleted_count += before != ACCOUNT_DELETED;
    else if (status != ACCOUNT_ACTIVE)
        world->inactive[world->inactive_count++] = account;
    world->accounts[account].status = (uint8_t)status;
    if (status != before)
        world->accounts[account].status_event = world->count;
}

/* What the event, which becomes the next one, changes in the world. */
static void apply(struct world *world, struct world_event *event)
{
    struct world_account *account = &world->accounts[event->account];
    if (event->kind == EVENT_CREATE) {
        event->latest = world->count;
    } else if (event->kind == EVENT_IDENTITY) {
        account->renamed = event->subject;
    } else if (event->kind == EVENT_ACCOUNT) {
        set_status(world, event->account, event->subject);
    } else if (event->collection == COLLECTION_PROFILE) {
        account->pinned = event->subject;
        event->latest = ++account->profiled;
    } else {
        world->events[event->subject].gone = event->kind == EVENT_DELETE;
        world->events[event->subject].latest = world->count;
    }
}

static void append(struct world *world, struct world_event event)
{
    if (world->count == world->cap) {
        world->cap = world->cap == 0 ? 1024 : world->cap * 2;
        world->events = memory_resize(world->events, sizeof *world->events * world->cap);
        world->previous = memory_resize(world->previous, sizeof *world->previous * world->cap);
    }
    apply(world, &event);
    world->events[world->count] = event;
    world->previous[world->count] = world->accounts[event.account].last;
    world->accounts[event.account].last = world->count;
    world->count++;
}

struct world_event world_event_make(enum world_kind kind, enum world_collection collection,
                                    uint32_t account)
{
    return (struct world_event){.kind = (uint8_t)kind,
                                .collection = (uint8_t)collection,
                                .account = account,
                                .subject = WORLD_NONE,
                                .link = WORLD_NONE,
                                .shape = SHAPE_DRAWN};
}

void world_grow(struct world *world, uint32_t count)
{
    assert(count < WORLD_NONE - world->count);
    for (; count > 0; count--) {
        uint32_t k = world->count;
        const struct world_event *before = k == 0 ? NULL : &world->events[k - 1];
        struct draw draw = draw_make(world->options.seed, k, SALT_TIME);
        struct world_event event = world_event_make(EVENT_CREATE, COLLECTION_POST, 0);
        event.time_us = world_time_of(world, k);
        draw_next(&draw);
        if (k > 0 && before->tie < TIE_MAX &&
            draw_below(&draw, 1000) < world->options.ties_permille) {
            event.tie = (uint8_t)(before->tie + 1);
            event.time_us = before->time_us;
        } else if (k > 0 && event.time_us <= before->time_us) {
            event.time_us = before->time_us + 1;
        }
        draw_event(world, &event);
        append(world, event);
    }
}

uint32_t world_append(struct world *world, const struct world_event *event, int64_t at_us)
{
    struct world_event made = *event;
    int64_t last_us = world->count == 0 ? 0 : world->events[world->count - 1].time_us;
    made.time_us = at_us != 0 ? at_us : world_time_of(world, world->count);
    if (made.time_us <= last_us)
        made.time_us = last_us + 1;
    append(world, made);
    return world->count - 1;
}

uint32_t world_first_follow(const struct world *world, uint32_t account, uint32_t i)
{
    struct draw draw =
        draw_make(world->options.seed, (uint64_t)account << 32 | i, SALT_FIRST_FOLLOWS);
    return draw_skewed(&draw, world->options.accounts);
}

bool *world_follows(const struct world *world, uint32_t account)
{
    bool *follows = memory_new_zeroed(world->options.accounts, sizeof *follows);
    for (uint32_t i = 1; account == 0 && i < world->options.accounts; i++)
        follows[i] = world->accounts[i].followed;
    if (account == 0)
        return follows;
    for (uint32_t i = 0; i < world->options.follows_each; i++)
        follows[world_first_follow(world, account, i)] = true;
    for (uint32_t k = world->accounts[account].last; k != WORLD_NONE; k = world->previous[k]) {
        const struct world_event *event = &world->events[k];
        if (event->kind == EVENT_CREATE && event->collection == COLLECTION_FOLLOW && !event->gone)
            follows[event->subject] = true;
    }
    follows[account] = false;
    return follows;
}

uint32_t world_count(const struct world *world)
{
    return world->count;
}

const struct world_options *world_settings(const struct world *world)
{
    return &world->options;
}

const struct world_event *world_event(const struct world *world, uint32_t k)
{
    assert(k < world->count);
    return &world->events[k];
}

const struct world_account *world_account(const struct world *world, uint32_t account)
{
    assert(account < world->options.accounts);
    return &world->accounts[account];
}

uint32_t world_find_time(const struct world *world, int64_t us)
{
    uint32_t low = 0, high = world->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (world->events[middle].time_us < us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void world_set_skew(struct world *world, int64_t skew_us)
{
    world->skew_us = skew_us;
}

int64_t world_shown_us(const struct world *world, uint32_t k)
{
    return world_event(world, k)->time_us + world->skew_us;
}

uint32_t world_find_shown(const struct world *world, int64_t us)
{
    return world_find_time(world, us - world->skew_us);
}

uint32_t world_previous(const struct world *world, uint32_t k)
{
    assert(k < world->count);
    return world->previous[k];
}

void world_set_followed(struct world *world, uint32_t account, bool followed)
{
    assert(account < world->options.accounts);
    world->accounts[account].followed = followed;
}
