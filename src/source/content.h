/* SPDX-License-Identifier: Apache-2.0
 *
 * content.h - blocks in, the documents they name stored, and a position that is safe to go on from.
 *
 * A block is one unit, an empty one too: it is admitted in order with all the documents it names
 * before any of them is fetched, documents are fetched side by side across blocks, and the position
 * moves to the highest block below which every document has a row: stored, owed or dead. It moves
 * in the transaction with, or after, those rows (I2), and back by an explicit undo only (I4).
 *
 *   name -check-> stored or owed already: settled
 *          `----> WAITING -job-> FETCHING -> in a batch -> settled
 *
 * One document is fetched once however many blocks name it at a time; what the store has is not
 * fetched again. What no gateway gives is owed and tried later, new work first. An undo takes
 * references away, never documents. Everything is bounded (I6): a block that does not fit is
 * refused for now, and its reader waits.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_CONTENT_H
#define SOURCE_CONTENT_H

#include "source/gateways.h"
#include "source/source.h"
#include "sys/name_board.h"

#define CONTENT_SOURCE          "content"
#define CONTENT_CONCURRENCY_MAX 256
#define CONTENT_NEEDS_MAX       8192 /* documents of blocks under way */
#define CONTENT_DOCUMENT_MAX    ((size_t)25 << 20)
#define CONTENT_BATCH_BYTES     ((size_t)32 << 20) /* of each batch of its pool */
#define CONTENT_NAMES_AT_ONCE   256 /* a block that names more has them looked for bit by bit */
#define CONTENT_SPACE_SIZE      37
#define CONTENT_HASH_MAX        80
#define CONTENT_CURSOR_MAX      1024
#define CONTENT_SEARCH_MAX      127
#define CONTENT_FEED            "feed" /* whose cursors those are that we do not understand */

/* What else is stored of a document, in the same batch; false: the batch is full. */
typedef bool content_row_fn(void *arg, struct batch *batch, const char *uri, struct bytes document,
                            int64_t now_us);

struct content_settings {
    const char *stream;   /* must outlive it */
    uint32_t concurrency; /* documents fetched at a time */
    uint32_t span;        /* blocks under way, a power of two: the most a restart repeats */
    uint32_t keep;        /* empty blocks stay in the store so far below the position; 0: all do */
    uint32_t needs_max;   /* documents of blocks under way; 0: CONTENT_NEEDS_MAX */
    uint32_t owed_max;    /* of what is owed, so many are in memory; 0: OWED_ITEMS_MAX */
    content_row_fn *add_row; /* NULL: nothing */
    void *row_arg;
    /* Where others see what is wanted and has no row yet, by what stands behind ipfs:// in its one
     * spelling; CONTENT_NEEDS_MAX places. NULL: nobody looks. */
    struct name_board *board;
};

struct content_ref {
    struct bytes name;  /* what stands behind ipfs:// */
    struct bytes space; /* who named it; absent: not said */
};

/* Everything is borrowed. */
struct content_block {
    uint64_t number;
    struct bytes hash, parent; /* absent: not known, so deep that nobody asks */
    struct bytes cursor;       /* what its reader goes on from; absent: the number says it */
    const struct content_ref *refs;
    size_t ref_count;
};

/* What blocks are searched for. */
struct content_search {
    char words[CONTENT_SEARCH_MAX + 1]; /* without quotes and backslashes; "": not said */
    uint64_t from;                      /* the first block */
};

struct content_place {
    bool known; /* false: nothing is stored yet */
    uint64_t number;
    struct content_search search;        /* at the start: what led there */
    char hash[CONTENT_HASH_MAX + 1];     /* "": not known */
    char cursor[CONTENT_CURSOR_MAX + 1]; /* as it was given; "": none was */
};

struct content_events {
    /* It is known where the store stands: blocks after it are wanted. */
    void (*started)(void *arg, const struct content_place *place);
    /* There is room again after a block was refused. */
    void (*room)(void *arg);
    /* An undo is durable: blocks after it are wanted. */
    void (*undone)(void *arg);
};

struct content_view {
    struct content_place committed;
    uint64_t received; /* the last block taken; meaningful with `units` > 0 or a known place */
    uint64_t units;    /* blocks taken and not durable: the lag */
    size_t waiting, fetching;
    uint64_t stored, failed, owed; /* documents, since the start; owed: in memory now */
};

struct content;

struct content *content_new(const struct source_env *env, struct gateways *gateways,
                            const struct content_settings *settings,
                            const struct content_events *events, void *arg);
/* It has stopped, or was never started. */
void content_free(struct content *content);
/* Before it is started, by whoever reads blocks for this: it stays with the position, and `started`
 * tells what it was. */
void content_search_for(struct content *content, const struct content_search *search);
void content_start(struct content *content);
/* So many documents at a time from now on; fetches under way beyond it are waited for. */
void content_tune(struct content *content, uint32_t concurrency);

/* Takes the block that follows the last one. RC_AGAIN: no room, or an undo is under way; `room` or
 * `undone` is called. */
must_check enum rc content_take(struct content *content, const struct content_block *block);
/* The chain has left what it said after block `after`, whose hash and cursor are given. */
void content_undo(struct content *content, uint64_t after, struct bytes hash, struct bytes cursor);
/* Keeps input that is no block, with the reason, before the position passes it (I7). RC_AGAIN: one
 * waits already; `room` is called. */
must_check enum rc content_quarantine(struct content *content, struct bytes raw, uint64_t size,
                                      const char *reason);

/* Has something that is owed or dead tried again at once, with a clean record; one at a time.
 * `done` hears when that is durable. RC_RETRY: it stops, ask the next one. */
void content_retry(struct content *content, const char *item, const char *unit,
                   void (*done)(void *arg, enum rc rc), void *arg);

struct content_reconciled {
    uint64_t references; /* that were looked at: all that blocks in the store name */
    uint64_t missing;    /* of those, that lead to neither bytes nor a debt */
    uint64_t owed, dead; /* debts, and debts that were given up */
    uint64_t queued;     /* of those, to be fetched at once */
    bool more; /* as many are under way as memory holds: the rest waits for another time */
};
typedef void content_reconcile_fn(void *arg, enum rc rc, const struct content_reconciled *what);

/* Compares what blocks name with what there is and has all that lacks fetched at once, with a clean
 * record; `dry`: only counts. A slice at a time, in batches with everything else; one at a time.
 * `done` hears when all of it is durable. RC_RETRY: it stops, or the store cannot be read. */
void content_reconcile(struct content *content, bool dry, content_reconcile_fn *done, void *arg);

/* Takes nothing more, lets fetches go; a batch under way is still answered. */
void content_stop(struct content *content);
bool content_stopped(const struct content *content);
void content_look(const struct content *content, struct content_view *view);

#endif
