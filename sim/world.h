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

#define WORLD_NONE  UINT32_MAX
#define AVATAR_SIZE 96

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
    uint32_t follows_each;    /* whom every other account follows from the start */
    int64_t start_us, gap_us; /* gap: mean time between two events */
    uint32_t noise_percent;   /* likes, follows and profiles among all events */
    uint32_t ties_permille;   /* events that carry the time_us of the one before */
    uint32_t web_percent;     /* pages that lie on the simulator's own server */
    uint32_t named_percent;   /* pages that bear the names of real sites */
    bool press;               /* that server's sites have names, and people say sensible things */
    char web_base[64];        /* scheme, host and port of that server */
};

struct world_account {
    char did[DID_SIZE];
    uint8_t status;
    bool followed;         /* by account 0, the person the world is about */
    uint32_t renamed;      /* how often the handle changed */
    uint32_t profiled;     /* how often the profile changed */
    uint32_t pinned;       /* the event whose post it has pinned, or WORLD_NONE */
    uint32_t last;         /* its newest event, WORLD_NONE without one */
    uint32_t status_event; /* the last that changed its status, or WORLD_NONE */
};

struct world_event {
    int64_t time_us;
    uint32_t account;
    /* update, delete: the event that created the record. create: the event whose record it points
     * at (repost, like, reply, quote) or the account followed. identity: which handle. account:
     * the status. A profile: the post it pins, or WORLD_NONE. */
    uint32_t subject;
    uint32_t latest; /* create: the last event that wrote the record. A profile: which version. */
    uint32_t link;   /* page that a post was told to share; WORLD_NONE: as drawn */
    uint8_t kind, collection, tie;
    uint8_t shape, spelling; /* of a post, when told; SHAPE_DRAWN: as drawn */
    bool gone;               /* create: the record was deleted */
};

#define SHAPE_DRAWN UINT8_MAX

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
/* The event that created the record of this at:// address, or WORLD_NONE. */
uint32_t world_find_uri(const struct world *world, struct bytes uri);
/* Appends an event that somebody thought out, at `at_us` or, when that is 0, at its place in the
 * world's time; returns its number. What the header says always holds is the caller's duty. */
uint32_t world_append(struct world *world, const struct world_event *event, int64_t at_us);
/* An event of this kind that tells nothing else. */
struct world_event world_event_make(enum world_kind kind, enum world_collection collection,
                                    uint32_t account);
/* One flag per account: whom `account` follows. The caller frees it. */
bool *world_follows(const struct world *world, uint32_t account);
/* The `i`th whom an account other than 0 has followed from the start. */
uint32_t world_first_follow(const struct world *world, uint32_t account, uint32_t i);
/* Account 0 begins or ceases to follow; no event is made of it. */
void world_set_followed(struct world *world, uint32_t account, bool followed);
/* The first event with time_us >= us; the count when there is none. */
uint32_t world_find_time(const struct world *world, int64_t us);
/* A host's clock may be off: what it shows as the time of event k, and the first event that it
 * shows with a time >= us. */
void world_set_skew(struct world *world, int64_t skew_us);
int64_t world_shown_us(const struct world *world, uint32_t k);
uint32_t world_find_shown(const struct world *world, int64_t us);
/* time_us of event k, whether it has happened or not; ties left out. */
int64_t world_time_of(const struct world *world, uint32_t k);

/* "app.bsky.feed.post" and so on. */
const char *world_collection_name(unsigned collection);
/* "active", "deactivated" and so on. */
const char *world_status_name(unsigned status);
void world_handle(const struct world *world, uint32_t account, uint32_t renamed,
                  char out[NAME_SIZE]);
/* Name and picture of an account after its profile changed `profiled` times. */
void world_display_name(const struct world *world, uint32_t account, uint32_t profiled,
                        char out[NAME_SIZE]);
void world_avatar(const struct world *world, uint32_t account, uint32_t profiled,
                  char out[AVATAR_SIZE]);
/* Revision of the commit that event k is. */
void world_rev(const struct world *world, uint32_t k, char out[TID_SIZE]);
/* Record key and CID of the record that event k wrote or, for the key, deleted. */
void world_rkey(const struct world *world, uint32_t k, char out[TID_SIZE]);
void world_cid(const struct world *world, uint32_t k, char out[CID_SIZE]);

#endif
