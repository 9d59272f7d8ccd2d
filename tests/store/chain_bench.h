/* SPDX-License-Identifier: Apache-2.0
 *
 * chain_bench.h - a chain and its nodes as tests want them: one truth, and nodes that hold it
 * back, lag behind it, refuse or break.
 *
 * A block is known by its number and the fork it belongs to; it names documents by letters, as the
 * bench of the content source does. */
#ifndef TESTS_CHAIN_BENCH_H
#define TESTS_CHAIN_BENCH_H

#include "content_bench.h"
#include "source/evm_chain.h"

#define CHAIN_NODES    3
#define CHAIN_BLOCKS   4096
#define CHAIN_DEPTH    8
#define CHAIN_LETTERS  4
#define CHAIN_KEY      "a1b2c3d4e5f6" /* is in the address of the first node */
#define CHAIN_CONTRACT "0xb01683b2f0d38d43fcd4d9aab980166988924132"

/* What is wrong with a node. */
struct chain_node {
    uint64_t head;         /* it has no more blocks; 0: it has all */
    uint64_t claims;       /* what it says its head is; 0: the truth */
    bool hides;            /* it answers no logs */
    bool reverses;         /* the logs of later blocks come first */
    uint64_t range_max;    /* it refuses more blocks than this; 0: none */
    uint64_t chokes_above; /* it does not answer for more blocks than this; 0: it does */
    int chokes_with;       /* an HTTP status, or less the result of the exchange */
    uint64_t heavy;       /* its answer with the logs of this block is over what is read; 0: none */
    unsigned hides_next;  /* so many answers are without logs */
    int64_t hides_until;  /* so are all before this time: its index comes after its blocks */
    bool nulls;           /* every question for logs is answered by null */
    unsigned breaks_next; /* so many questions for logs are answered by 503 */
    bool dead;            /* every question is */
    bool strays;          /* it follows another chain, whose blocks name nothing */
    bool refuses;         /* every question is answered by an error, in words */
    bool echoes;          /* those words have the key in them */
    bool refuses_logs;    /* every question for logs is */
    unsigned refuses_next; /* so many questions for logs are */
    bool has_nothing;      /* every question is answered by null */
    unsigned log_questions, questions;
};

struct chain_model {
    char fork[CHAIN_BLOCKS];
    char letters[CHAIN_BLOCKS][CHAIN_LETTERS + 1];
    uint64_t head, start, confirmations;
    const char *event, *contract;
    uint64_t by_number; /* the highest block whose logs were asked for by number */
    uint64_t range_max; /* a node refuses more blocks than this; 0: none */
    uint64_t changes;   /* when its logs are asked for, this block has become another; 0: none */
    bool blank_blooms;  /* headers say of no log that it is there */
    bool full_blooms;   /* headers say of every log that it may be there */
    uint64_t block_s;   /* between the times of two blocks; 0: all are of the same */
    size_t node_count;
    struct chain_node nodes[CHAIN_NODES];
    struct rpc *rpc;
};

extern struct chain_model model;
extern const struct bench_reader chain_reader;

int chain_bench_set_up(void **state);
/* Another chain, of which nothing was read and nothing is stored. */
void chain_bench_forget(struct content_bench *b);
/* A process of its own reads the chain to its head. */
void chain_bench_read(struct content_bench *b);
void chain_bench_name(uint64_t number, const char *letters);
void chain_bench_hash(uint64_t number, char *out, size_t size);
/* Whatever is asked now is answered; true when it was more than where the head is. */
bool chain_bench_answer(struct content_bench *b);
/* Until the chain is read to its head and all is stored. */
void chain_bench_run(struct content_bench *b);
/* For so many seconds, in which every question is answered. */
void chain_bench_run_for(struct content_bench *b, int seconds);
int64_t chain_bench_now(const struct content_bench *b);
int64_t chain_bench_references(struct content_bench *b);
unsigned chain_bench_log_questions(void);

#endif
