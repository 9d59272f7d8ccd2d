/* SPDX-License-Identifier: Apache-2.0
 *
 * chain_process.h - a process that follows a chain of blocks and fetches what they name.
 *
 * The world around it is a chain with a fork in it and gateways that answer, wait or never had it.
 * The process holds what the product's watermark and owed work hold, and commits to a real store;
 * it can crash at any moment and start again on the same store. */
#ifndef TESTS_CHAIN_PROCESS_H
#define TESTS_CHAIN_PROCESS_H

#include "both_stores.h"
#include "ingest/owed.h"
#include "ingest/watermark.h"
#include "store/commit.h"
#include "store/store.h"

enum { FIRST = 100, BLOCKS = 8, URIS = 24, CHILDREN = 3, FETCHES = 64, FORK_AT = 103 };
enum fate { FINE, SLOW, GONE_AT_A, GONE }; /* SLOW: no answer before the gateways are repaired */

struct block {
    int count, uris[CHILDREN];
};

/* Everything outside of the process. */
struct world {
    struct block chain[2][BLOCKS];
    enum fate fate[URIS];
    int fork; /* blocks from FORK_AT on are chain[fork]'s */
    bool repaired;
    int64_t now;
    unsigned asked[URIS], ignored, rewound;
};

struct fetch {
    struct watermark_ticket ticket;
    int number, uri;
};

/* One process on one store. */
struct process {
    struct fixture fixture;
    struct world world;
    struct store *store;
    struct store_position position;
    struct commit *commit;
    struct batch batch;
    struct watermark wm;
    struct owed owed;
    int first, next; /* the blocks of ordinal 0, and to be read next */
    int fork;        /* the chain it follows */
    struct fetch fetches[FETCHES];
    int fetch_count;
    uint64_t random;
    struct err err;
};

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s", rc_name(got_), p->err.text);                                        \
    } while (0)

/* What the store says. */
struct seen {
    bool stored[URIS], owed[URIS], dead[URIS];
    int cursor, fork; /* cursor: FIRST - 1 when there is none */
};

/* A number by chance, the same in every run. */
uint64_t process_chance(struct process *p);
const struct block *world_block_at(const struct world *world, int number, int fork);
struct bytes process_uri_name(int uri);
/* What lies in the store. */
void process_look(struct process *p, struct seen *seen);
/* What the position has passed is stored, owed or dead. */
void process_check_promise(struct process *p);
/* Takes the store up where it stands. */
void process_start(struct process *p);
/* Forgets everything in memory and starts again. */
void process_crash(struct process *p);
/* Commits the batch, which must succeed. */
void process_write_batch(struct process *p);
/* Commits what is finished. */
void process_commit(struct process *p);
/* Takes the next block in, or undoes what a reorganisation took away. */
void process_read_block(struct process *p);
/* The answer to a fetch under way. */
void process_end_fetch(struct process *p, int which);
/* Tries what is owed and due. */
void process_retry(struct process *p);

#endif
