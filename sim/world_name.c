/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A host hears of a commit a little after it was made; the lag is fixed per account, so the order
 * of a repository's revisions is the order of its events. */
#define LAG_US_MAX       400000
#define RKEY_BEFORE_REV  700
#define CLOCK_ID_TIE_BIT 5
#define COUNT_OF(array)  ((uint32_t)(sizeof(array) / sizeof(array)[0]))

static const char *const first_names[] = {"amber", "birch", "coral", "delta", "ember", "fjord",
                                          "grove", "heron", "iris",  "juno",  "kelp",  "lark",
                                          "maple", "north", "otter", "pearl"};
static const char *const last_names[] = {"Ashdown", "Bell", "Çelik", "Dahl",  "Åberg",  "Fox & Co",
                                         "Greene",  "Hé",   "Ito",   "<Jay>", "Kahn 🌊", "Lund"};
static const char *const plain_last_names[] = {"Ashdown", "Bell",   "Çelik",  "Dahl",    "Åberg",
                                               "Foxley",  "Greene", "Hadley", "Ito",     "Jayaram",
                                               "Kahn",    "Lund",   "Moreau", "Nakamura"};

const char *world_collection_name(unsigned collection)
{
    static const char *const names[COLLECTION_COUNT] = {
        [COLLECTION_POST] = "app.bsky.feed.post",
        [COLLECTION_REPOST] = "app.bsky.feed.repost",
        [COLLECTION_LIKE] = "app.bsky.feed.like",
        [COLLECTION_FOLLOW] = "app.bsky.graph.follow",
        [COLLECTION_PROFILE] = "app.bsky.actor.profile"};
    assert(collection < COLLECTION_COUNT);
    return names[collection];
}

const char *world_status_name(unsigned status)
{
    static const char *const names[] = {"active", "deactivated", "suspended", "takendown",
                                        "deleted"};
    assert(status < sizeof names / sizeof names[0]);
    return names[status];
}

void world_handle(const struct world *world, uint32_t account, uint32_t renamed,
                  char out[NAME_SIZE])
{
    struct draw draw = draw_make(world_settings(world)->seed, account, SALT_HANDLE);
    const char *name = first_names[draw_below(&draw, COUNT_OF(first_names))];
    if (renamed == 0)
        snprintf(out, NAME_SIZE, "%s%u.sky.example", name, account);
    else
        snprintf(out, NAME_SIZE, "%s%u-%u.sky.example", name, account, renamed);
}

uint32_t world_find_handle(const struct world *world, struct bytes handle)
{
    char current[NAME_SIZE];
    uint64_t account = 0;
    size_t i = 0;
    /* The number in a handle is that of the account. */
    while (i < handle.len && (handle.data[i] < '0' || handle.data[i] > '9'))
        i++;
    for (; i < handle.len && handle.data[i] >= '0' && handle.data[i] <= '9'; i++)
        account = account > UINT32_MAX ? account : account * 10 + (uint64_t)(handle.data[i] - '0');
    if (account >= world_settings(world)->accounts)
        return WORLD_NONE;
    world_handle(world, (uint32_t)account, world_account(world, (uint32_t)account)->renamed,
                 current);
    return bytes_equal_string(handle, current) ? (uint32_t)account : WORLD_NONE;
}

void world_display_name(const struct world *world, uint32_t account, uint32_t profiled,
                        char out[NAME_SIZE])
{
    struct draw draw = draw_make(world_settings(world)->seed, account, SALT_NAME);
    const char *first = first_names[draw_below(&draw, COUNT_OF(first_names))];
    bool plain = world_settings(world)->press;
    const char *const *last_ones = plain ? plain_last_names : last_names;
    const char *last =
        last_ones[draw_below(&draw, plain ? COUNT_OF(plain_last_names) : COUNT_OF(last_names))];
    int len = snprintf(out, NAME_SIZE, "%c%s %s", first[0] - 'a' + 'A', first + 1, last);
    if (profiled > 0 && !plain)
        snprintf(out + len, NAME_SIZE - (size_t)len, " (%u)", profiled);
}

void world_avatar(const struct world *world, uint32_t account, uint32_t profiled,
                  char out[AVATAR_SIZE])
{
    snprintf(out, AVATAR_SIZE, "https://cdn.bsky.app/img/avatar/plain/%s/p%u@jpeg",
             world_account(world, account)->did, profiled);
}

static void write_tid(const struct world_event *event, int64_t before_us, char out[TID_SIZE])
{
    int64_t lag_us = (int64_t)event->account * 7919 % LAG_US_MAX;
    unsigned clock_id = (unsigned)event->tie << CLOCK_ID_TIE_BIT | (event->account & 31);
    tid_write(event->time_us - lag_us - before_us, clock_id, out);
}

void world_rev(const struct world *world, uint32_t k, char out[TID_SIZE])
{
    write_tid(world_event(world, k), 0, out);
}

void world_rkey(const struct world *world, uint32_t k, char out[TID_SIZE])
{
    const struct world_event *event = world_event(world, k);
    if (event->collection == COLLECTION_PROFILE) {
        memcpy(out, "self", 5);
        return;
    }
    if (event->kind != EVENT_CREATE)
        event = world_event(world, event->subject);
    write_tid(event, RKEY_BEFORE_REV, out);
}

void world_cid(const struct world *world, uint32_t k, char out[CID_SIZE])
{
    struct draw draw = draw_make(world_settings(world)->seed, k, SALT_CID);
    cid_write(&draw, out);
}

uint32_t world_find_uri(const struct world *world, struct bytes uri)
{
    const size_t did_at = strlen("at://"), name_at = did_at + DID_SIZE;
    if (!bytes_starts_with(uri, "at://") || uri.len < name_at + TID_SIZE)
        return WORLD_NONE;
    uint32_t account = world_find_did(world, bytes_make(uri.data + did_at, DID_SIZE - 1));
    size_t rkey_at = uri.len - (TID_SIZE - 1);
    struct bytes name = bytes_make(uri.data + name_at, rkey_at - 1 - name_at);
    if (account == WORLD_NONE || uri.data[name_at - 1] != '/' || uri.data[rkey_at - 1] != '/')
        return WORLD_NONE;
    for (uint32_t k = world_account(world, account)->last; k != WORLD_NONE;
         k = world_previous(world, k)) {
        const struct world_event *event = world_event(world, k);
        char rkey[TID_SIZE];
        if (event->kind != EVENT_CREATE ||
            !bytes_equal_string(name, world_collection_name(event->collection)))
            continue;
        world_rkey(world, k, rkey);
        if (memcmp(rkey, uri.data + rkey_at, TID_SIZE - 1) == 0)
            return k;
    }
    return WORLD_NONE;
}
