/* SPDX-License-Identifier: Apache-2.0
 *
 * content_work.h - what the content source has under way.
 *
 * A unit is a block; a need is a document that some unit names; a waiter is one unit's wish for it;
 * a job is a fetch, of a need or of something owed, and keeps its result until a batch holds it.
 * Needs and waiters come from fixed pools (I6) and are known by their index.
 *
 * Owner: the content source. */
#ifndef SOURCE_CONTENT_WORK_H
#define SOURCE_CONTENT_WORK_H

#include "decode/ipfs_uri.h"
#include "ingest/owed.h"
#include "ingest/watermark.h"
#include "source/content.h"
#include "source/content_fetch.h"

#define CONTENT_NONE     UINT32_MAX
#define CONTENT_HEADS    4096 /* of the table of needs, a power of two */
#define CONTENT_URI_SIZE (sizeof IPFS_URI_SCHEME + IPFS_URI_SPELLED_SIZE)

enum need_place {
    NEED_FREE,
    NEED_CHECKING, /* whether the store has it */
    NEED_WAITING,  /* for a job */
    NEED_FETCHING,
    NEED_ASIDE,    /* another spelling of it is under way */
    NEED_ECHO,     /* another spelling has it, or is owed: its row waits for a batch */
    NEED_HOPELESS, /* no address of anything: its row waits for a batch */
    NEED_WRITTEN,  /* its row lies in the batch under way, or is being filled */
};

struct need {
    enum need_place place;
    uint32_t next;         /* in the list of its place, or of free ones */
    uint32_t next_of_hash; /* in the table */
    uint32_t waiters;      /* the first */
    uint64_t block;        /* that named it first */
    bool is_address;
    struct cid cid;
    char uri[CONTENT_URI_SIZE];
    char canonical[CONTENT_URI_SIZE]; /* the one spelling of it; no address: the same */
    char space[CONTENT_SPACE_SIZE];
};

struct waiter {
    struct watermark_ticket ticket;
    uint32_t next;
};

struct need_list {
    uint32_t first, last;
    size_t count;
};

enum job_place { JOB_FREE, JOB_RUNNING, JOB_HELD };

struct job {
    enum job_place place;
    struct content *content;
    uint32_t need;              /* CONTENT_NONE: it is a retry */
    struct owed_ticket retry;   /* of a retry */
    char uri[CONTENT_URI_SIZE]; /* the need's, or the owed item's */
    char canonical[CONTENT_URI_SIZE];
    uint64_t block;
    struct content_fetch fetch;
    bool large;        /* it has one of the places for large documents */
    int64_t began_us;  /* the fetch; monotonic */
    struct timer late; /* whoever waits for it, the fetch has had its time */
    /* The result, while held. */
    enum rc rc;
    struct text document;
    struct gateway_failure failures[GATEWAYS_MAX];
    size_t failure_count;
    int64_t rest_us; /* see struct gateway_outcome */
    struct err err;
};

/* What a person wants tried again. */
struct again {
    char item[OWED_ITEM_MAX + 1], unit[OWED_UNIT_MAX + 1];
    void (*done)(void *arg, enum rc rc); /* NULL: nothing is wanted */
    void *arg;
    bool sent; /* its row is in a batch */
};

/* Input that is no block, until it is in a batch. */
struct unusable {
    bool waits;
    struct text raw;
    uint64_t size;
    char reason[ERR_TEXT_MAX];
};

/* A block under way. */
struct unit {
    uint64_t number;
    struct text cursor;
    char hash[CONTENT_HASH_MAX + 1], parent[CONTENT_HASH_MAX + 1];
    struct text refs; /* "uri\0space\0" of each reference, until they are in a batch */
    uint32_t ref_count, refs_written;
    size_t refs_at;
};

/* The last unit, while it names more than there is room for: its wishes are made one by one. */
struct naming {
    struct watermark_ticket ticket;
    uint32_t left; /* references; 0: there is no such unit */
    size_t at;     /* in its references */
};

#endif
