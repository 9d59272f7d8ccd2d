/* SPDX-License-Identifier: Apache-2.0
 *
 * tail_hub.h - who follows which collection, and the readings that are made for them.
 *
 * A follower is in one of these states:
 *   away      the hub does not know it
 *   due       it has not been told all there is: it waits for a reading of its own
 *   reading   which is under way
 *   live      it was told all that its group was; one reading after a commit serves them all
 * A group are the followers of one collection. After any number of commits it is read once, and
 * never twice at a time. The number of readings under way is fixed (I6); who is due waits in line.
 *
 * When a collection is declared anew, what was read as it was declared before is told to nobody: it
 * is read again, for followers that ask the same of the new one.
 *
 * Nothing is kept for a follower that cannot take more: it goes away and comes back later, and what
 * it missed is read from the store then, every row once and as it is by then.
 *
 * Owner: the server.  Thread: the serving loop, but for the readings. */
#ifndef SERVE_TAIL_HUB_H
#define SERVE_TAIL_HUB_H

#include "query/tail.h"
#include "serve/request.h"
#include "serve/tail_link.h"

#define TAIL_HUB_READINGS_MAX 4

struct tail_hub;
struct follower;

struct follower_ops {
    /* What came after follower->tail.seq; it is moved afterwards, unless the follower left. Called
     * at least once after tail_hub_follow(), also when nothing came, unless it was live at once. */
    void (*told)(struct follower *follower, const struct changes *changes);
    /* It cannot go on from where it is, and is away. */
    void (*refused)(struct follower *follower, const struct refusal *refusal);
};

enum follower_state { FOLLOWER_AWAY, FOLLOWER_DUE, FOLLOWER_READING, FOLLOWER_LIVE };

/* By what right it follows, for as long as it does. */
struct tail_watch {
    struct tail_link link; /* among all that are watched, away or not */
    uint8_t handle[HANDLE_NAME_SIZE], session[HANDLE_SESSION_SIZE];
    struct visitor_id visitor;
    int64_t renewed_us; /* when the handle was used last */
};

/* Embedded in whatever follows, which owns the tail. All zero but for the first two: away. */
struct follower {
    const struct follower_ops *ops;
    struct tail tail;
    enum follower_state state;
    struct tail_link link; /* in the line of those that are due, or in its group */
    struct tail_group *group;
    struct tail_watch watch;
};

/* `collections` may be NULL: the built-in ones. */
struct tail_hub *tail_hub_new(struct runtime *runtime, struct reader_pool *readers,
                              struct collections *collections);
/* Nobody follows, and no reading is under way. */
void tail_hub_free(struct tail_hub *hub);
/* Refuses all that follow, with SHUTTING_DOWN, and begins no reading any more; those under way come
 * back. Nobody may follow afterwards. */
void tail_hub_stop(struct tail_hub *hub);
const struct tail_marks *tail_hub_marks(const struct tail_hub *hub);

struct tail_counts {
    uint64_t live, behind; /* followers */
    uint64_t readings;     /* since the start */
};

struct tail_counts tail_hub_counts(const struct tail_hub *hub);
/* From its tail's seq on. `read_first`: it is told at least once what the store holds now. */
void tail_hub_follow(struct tail_hub *hub, struct follower *follower, bool read_first);
/* It may be away already. */
void tail_hub_leave(struct tail_hub *hub, struct follower *follower);
/* The store was committed to. */
void tail_hub_note_commit(struct tail_hub *hub);
/* Whether a job that came back is a reading; it is dealt with then. */
bool tail_hub_takes(struct tail_hub *hub, struct reader_job *job);

#endif
