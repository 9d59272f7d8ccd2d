/* SPDX-License-Identifier: Apache-2.0
 *
 * world.h - the seeded world: who is there and what happened, in order.
 *
 * The log of events is a pure function of the options: event k is drawn from (seed, k) and from
 * the state the events before it left, so any prefix can be made again and a longer log begins
 * with the shorter one. Always holds:
 *   - time_us never decreases; it increases strictly unless ties were asked for
 *   - the revision of a repository increases with each of its commits
 *   - an account that is not active commits nothing; one that was deleted never comes back
 *   - an update or delete acts on a record that lives at that moment
 * Events are kept as a few numbers each; texts are made from them whenever someone asks.
 *
 * Owner and thread: one. Nothing here does I/O or reads a clock. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/atproto_id.h"

#define WORLD_NONE UINT32_MAX

enum world_collection {
    COLLECTION_POST,
    COLLECTION_REPOST,
    COLLECTION_LIKE,
    COLLECTION_FOLLOW,
    COLLECTION_PROFILE,
    COLLECTION_COUNT,
};

enum world_kind { EVENT_CREATE, EVENT_UPDATE, EVENT_DELETE, EVENT_IDENTITY, EVENT_ACCOUNT };

enum account_status {
    ACCOUNT_ACTIVE,
    ACCOUNT_DEACTIVATED,
    ACCOUNT_SUSPENDED,
    ACCOUNT_TAKENDOWN,
    ACCOUNT_DELETED,
};

struct world_options {
    uint64_t seed;
    uint32_t accounts, follows, links;
    int64_t start_us, gap_us; /* gap: mean time between two events */
    uint32_t noise_percent;   /* likes, follows and profiles among all events */
    uint32_t ties_permille;   /* events that carry the time_us of the one before */
};

struct world_account {
    char did[DID_SIZE];
    uint8_t status;
    bool followed;    /* by account 0, the person the world is about */
    uint32_t renamed; /* how often the handle changed */
    uint32_t last;    /* its newest event, WORLD_NONE without one */
};

struct world_event {
    int64_t time_us;
    uint32_t account;
    /* update, delete: the event that created the record. create: the event whose record it points
     * at (repost, like, reply, quote) or the account followed. identity: which handle. account:
     * the status. */
    uint32_t subject;
    uint32_t latest; /* create: the last event that wrote the record */
    uint8_t kind, collection, tie;
    bool gone; /* create: the record was deleted */
};

struct world;

/* Sensible values: 200 accounts, 40 of them followed, 60% noise. */
struct world_options world_options_default(void);
struct world *world_new(const struct world_options *options);
void world_free(struct world *world);
/* Lets `count` more events happen. */
void world_grow(struct world *world, uint32_t count);
uint32_t world_count(const struct world *world);
const struct world_options *world_settings(const struct world *world);
const struct world_event *world_event(const struct world *world, uint32_t k);
const struct world_account *world_account(const struct world *world, uint32_t account);
/* The event before k of the same account, or WORLD_NONE. */
uint32_t world_previous(const struct world *world, uint32_t k);
/* The account with this DID, or WORLD_NONE. */
uint32_t world_find_did(const struct world *world, struct bytes did);
/* The account that has this handle now, or WORLD_NONE. */
uint32_t world_find_handle(const struct world *world, struct bytes handle);
/* Account 0 begins or ceases to follow; no event is made of it. */
void world_set_followed(struct world *world, uint32_t account, bool followed);
/* The first event with time_us >= us; the count when there is none. */
uint32_t world_find_time(const struct world *world, int64_t us);
/* time_us of event k, whether it has happened or not; ties left out. */
int64_t world_time_of(const struct world *world, uint32_t k);

/* "app.bsky.feed.post" and so on. */
const char *world_collection_name(unsigned collection);
/* "active", "deactivated" and so on. */
const char *world_status_name(unsigned status);
void world_handle(const struct world *world, uint32_t account, uint32_t renamed,
                  char out[NAME_SIZE]);
void world_display_name(const struct world *world, uint32_t account, char out[NAME_SIZE]);
/* Revision of the commit that event k is. */
void world_rev(const struct world *world, uint32_t k, char out[TID_SIZE]);
/* Record key and CID of the record that event k wrote or, for the key, deleted. */
void world_rkey(const struct world *world, uint32_t k, char out[TID_SIZE]);
void world_cid(const struct world *world, uint32_t k, char out[CID_SIZE]);

#endif
