/* SPDX-License-Identifier: Apache-2.0
 *
 * content_bench.h - the content source on a real store, with time, gateways and commits in the
 * test's hand.
 *
 * Documents are called by letters: the text "document A" is what A stands for. A batch waits until
 * the test commits it; questions to the store are answered in the next turn. A crash forgets all
 * but the store. */
#ifndef TESTS_CONTENT_BENCH_H
#define TESTS_CONTENT_BENCH_H

#include "both_stores.h"
#include "http_desk.h"
#include "sim/ipfs_blocks.h"
#include "source/content.h"
#include "store/commit.h"

#define BENCH_QUESTIONS_MAX 8

struct bench_question {
    const char *sql;
    char words[LOOKUP_PARAMS_MAX][256];
    struct field params[LOOKUP_PARAMS_MAX];
    size_t param_count;
    lookup_fn *fn;
    void *arg;
};

struct content_bench {
    struct http_desk desk; /* first: the runtime is the desk */
    struct fixture fixture;
    struct store *store;
    struct store_position position;
    struct commit *commit;
    struct batch_pool *pool;
    struct source_env env;
    struct gateways *gateways;
    struct content *content;
    struct ipfs_blocks blocks;
    struct batch *batch; /* submitted, not committed */
    bool full;           /* none can be submitted */
    struct bench_question questions[BENCH_QUESTIONS_MAX];
    size_t question_count;
    const char *fails; /* the next question that begins like this is not answered; NULL: all are */
    struct content_place place; /* as told at the start */
    unsigned rooms, undos;
    uint32_t concurrency, span, keep, needs_max;
    /* Who reads blocks and feeds them, if not the test itself; it takes the events then. */
    const struct bench_reader {
        const struct content_events *events;
        void *(*open)(struct content_bench *b); /* answers their argument */
        void (*feed)(struct content_bench *b);
        void (*stop)(struct content_bench *b);
        void (*close)(struct content_bench *b);
    } * reader;
    void *reader_arg;
    struct err err;
};

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s", rc_name(got_), b->err.text);                                        \
    } while (0)

int content_bench_set_up(void **state);
int content_bench_tear_down(void **state);
/* Empties the store; the process begins anew. */
void content_bench_wipe(struct content_bench *b);
void content_bench_crash(struct content_bench *b);
/* The same process with another reader. */
void content_bench_read_by(struct content_bench *b, const struct bench_reader *reader);
/* Answers questions and lets the present pass, until nothing moves but by gateways or commits. */
void content_bench_settle(struct content_bench *b);
void content_bench_pass(struct content_bench *b, int64_t us);
/* Commits what waits; false: nothing did. */
bool content_bench_commit(struct content_bench *b);
/* Commits until nothing waits, letting a second pass for the position. */
void content_bench_flush(struct content_bench *b);
/* A block that names these letters; its hash is "h<number><fork>". */
enum rc content_bench_block(struct content_bench *b, uint64_t number, const char *letters,
                            char fork);
/* The address of the document of that letter, in its canonical spelling. */
const char *content_bench_cid(struct content_bench *b, char letter);
void content_bench_undo(struct content_bench *b, uint64_t after, char fork);
/* How many gateways are asked for the document now. */
unsigned content_bench_asking(struct content_bench *b, char letter);
/* One of them has it. */
void content_bench_give(struct content_bench *b, char letter);
/* All that are or will be asked for it answer so. */
void content_bench_refuse(struct content_bench *b, char letter, int status);
int64_t content_bench_number(struct content_bench *b, const char *sql);
/* `meta.block_number`, or -1. */
int64_t content_bench_position(struct content_bench *b);
/* What verification says of the references below the position: how many lead nowhere. */
int64_t content_bench_holes(struct content_bench *b);
/* Whether the row holds the document; its row in the cache must be there. */
bool content_bench_stored(struct content_bench *b, char letter);

#endif
