/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_content.h - a chain that changes its mind, the documents it names, and what the store has.
 *
 * Blocks are mined on the simulated clock; now and then the last ones are replaced, never more than
 * the depth that the reader is told. Every block that ever was is kept, known by its number in the
 * order of mining, which its hash spells: that is the truth. Two nodes show the chain; one of them
 * may lag behind, or hold logs back. Two gateways have the documents; some late, some never.
 *
 * The store keeps what its tables promise: a reference is known by its block and its ordinal there,
 * a document by its spelling, and all spellings of one share its bytes.
 *
 * Thread: one. */
#ifndef TESTS_SIM_CONTENT_H
#define TESTS_SIM_CONTENT_H

#include "base/timer_heap.h"
#include "record_batch.h"
#include "source/evm_chain.h"
#include "store/lookup.h"

#define SIM_REFS_MAX  6 /* of a block */
#define SIM_SPELLINGS 2
#define SIM_NODES     2
#define SIM_GATEWAYS  2
#define SIM_START     40 /* the first block that is read */
#define SIM_NO_BLOCK  SIZE_MAX
#define SIM_CONTRACT  "0x00000000000000000000000000000000000000aa"
#define SIM_URI_SIZE  96

struct sim_world;
struct sim_life;

/* A document in one of its spellings. */
struct sim_ref {
    uint16_t document, spelling;
};

struct sim_block {
    uint64_t number;
    size_t parent; /* the block before; SIM_NO_BLOCK: nobody asks */
    struct sim_ref refs[SIM_REFS_MAX];
    unsigned ref_count;
    bool bloom; /* its header says that there may be something */
};

enum sim_owed { NOTHING_OWED, OWED, DEAD };

struct sim_document {
    char uris[SIM_SPELLINGS][SIM_URI_SIZE];    /* the first one is the canonical */
    char hex[SIM_SPELLINGS][2 * SIM_URI_SIZE]; /* the same as a log has it */
    struct text bytes;
    bool no_address, hopeless;
    int64_t there_us[SIM_GATEWAYS]; /* since when each has it */
    struct sim_stored {
        bool known, whole;
        int64_t seq, seen;
        enum sim_owed owed;
        int64_t attempts, next_us, since_us;
        struct text unit, refused_by;
    } stored[SIM_SPELLINGS];
};

/* Of one number, as the store has it. */
struct sim_stored_block {
    bool known;
    size_t hash; /* the block it says to be; SIM_NO_BLOCK: it does not say */
    int64_t documents;
    struct sim_ref refs[SIM_REFS_MAX];
    bool there[SIM_REFS_MAX]; /* which of them are stored */
};

struct sim_content {
    struct sim_block *blocks; /* all that ever were */
    size_t block_count;
    size_t *chain;       /* by number, up to the head: what it is now */
    uint64_t head, last; /* the highest now, and at the end */
    struct sim_document *documents;
    size_t document_count;
    int64_t block_us;
    struct timer mine;
    uint32_t reorg_depth;
    uint64_t confirmations;
    int liar;
    uint64_t lag, range_max;
    bool holds_back; /* the liar does, sometimes */

    struct sim_stored_block *stored; /* by number */
    struct text cursor;              /* as stored; empty: none */
    uint64_t position;
    size_t position_block; /* SIM_NO_BLOCK: it does not say */
    bool undone;           /* by the commit under way */
};

struct sim_content_life {
    struct sim_life *life;
    struct source_env env;
    struct batch_pool *pool;
    struct gateways *gateways;
    struct rpc *rpc;
    struct evm_chain *chain;
    struct content *content;
    bool stopping;
};

/* ---- upstream ---- */
void sim_content_init(struct sim_world *world);
void sim_content_deinit(struct sim_world *world);
void sim_block_hash(size_t block, char out[EVM_HASH_TEXT_SIZE]);
/* The block with that hash; SIM_NO_BLOCK: there never was one. */
size_t sim_block_find(const struct sim_content *content, struct bytes hash);
void sim_documents_init(struct sim_world *world);
void sim_documents_deinit(struct sim_content *content);
struct sim_ref sim_document_choose(struct sim_world *world);
/* False: nobody named it. */
bool sim_document_find(const struct sim_content *content, struct bytes uri, struct sim_ref *ref);
/* What a node or a gateway answers; the status. */
int sim_node_say(struct sim_world *world, int node, const char *question, struct text *body);
int sim_gateway_say(struct sim_world *world, int gateway, const char *path, struct text *body);

/* ---- the store ---- */
/* False: not of this pipeline. */
bool sim_content_apply(struct sim_world *world, const struct record *record, int64_t seq);
bool sim_content_look_up(struct sim_world *world, const char *sql, const struct field *params,
                         struct lookup_answer *answer);

/* ---- a life ---- */
struct sim_content_life *sim_content_life_new(struct sim_life *life);
void sim_content_life_start(struct sim_content_life *content);
void sim_content_life_stop(struct sim_content_life *content);
bool sim_content_life_stopped(const struct sim_content_life *content);
/* It was stopped, and all it asked for was answered. */
void sim_content_life_free(struct sim_content_life *content);

/* ---- the verdict ---- */
void sim_content_verdict_commit(struct sim_world *world);
bool sim_content_verdict_drained(const struct sim_world *world);
void sim_content_verdict_end(struct sim_world *world);

#endif
