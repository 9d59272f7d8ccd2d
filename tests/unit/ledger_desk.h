/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_desk.h - a machine on which a test is the providers of a chain and the store.
 *
 * Two providers, alpha and beta, give the same made-up API from one chain: oldest first by page
 * number from a block on (`rise`), or newest first by token (`fall`). A test says how each of them
 * misbehaves, looks at what it was asked, and at what is stored. */
#ifndef TESTS_UNIT_LEDGER_DESK_H
#define TESTS_UNIT_LEDGER_DESK_H

#include "base/digest.h"
#include "http_desk.h"
#include "source/ledger_account.h"

#define LEDGER_DESK_ROWS 1400
#define LEDGER_DESK_SIZE 10 /* of a page */

struct desk_event {
    int64_t block;   /* -1: in none yet */
    unsigned number; /* its hash and amount */
    bool other;      /* it is not of this stream */
    bool wide;       /* its amount is a number of 30 digits */
    bool waits;      /* it has a place and is not settled yet */
};

struct desk_row {
    uint8_t id[EVENT_ID_SIZE];
    int64_t block;
    char status[12], hash[24], provider[16];
    unsigned times;   /* written */
    bool whole, part; /* with its detail, or one that was cut */
};

enum desk_fault {
    FAULT_NONE,
    FAULT_DEAD,    /* 503 */
    FAULT_EMPTY,   /* says that there is nothing */
    FAULT_LIMITED, /* a rate limit inside a 200 */
    FAULT_KEY,     /* refuses the key */
    FAULT_GONE,    /* 410 */
    FAULT_TOKEN,   /* does not know the token any more, once */
    FAULT_GARBLED,
    FAULT_SHAPE, /* JSON, but not what the connector says */
    FAULT_AGAIN, /* gives the page before once more */
    FAULT_LAST,  /* says that the page is the last one */
};

/* Desks made from now on store a batch when nothing else is left to happen. */
extern bool ledger_desk_slow;

struct ledger_desk {
    struct http_desk http; /* first: the machine */
    struct source_env env;
    struct ledger_providers *providers;
    struct ledger_account *account;
    bool over;
    /* the chain, oldest first */
    struct desk_event chain[LEDGER_DESK_ROWS];
    size_t count;
    /* what becomes of requests from `fault_at` on, for each provider, up to `fault_end`; 0: all */
    enum desk_fault faults[2];
    unsigned fault_at[2], fault_end[2], asked[2];
    size_t page_rows;         /* newest first */
    size_t answered;          /* of http.sent */
    long long unknown_detail; /* the row of which nobody has a detail; -1: none, -2: any, -3: cut */
    size_t claimed;           /* rows that are counted and not shown */
    unsigned rows_max;        /* of a range; 0: any */
    int64_t stray;            /* the block of a row that every range has beside its own; 0: none */
    size_t hidden[2];         /* the row that a provider does not show; 0: all are */
    int64_t head;             /* the newest block, where that is told; -1: it is not */
    int64_t behind[2];        /* blocks, of each provider by ranges */
    bool timed;               /* positions are times */
    int64_t since_us;         /* what the next import is asked for; -1: everything */
    /* the store */
    struct desk_row rows[LEDGER_DESK_ROWS];
    size_t row_count;
    char *cursor; /* NULL: none */
    char session[16], error[512];
    int64_t skipped; /* of all sessions */
    int64_t covered; /* so far up, by any batch */
    unsigned quarantined;
    char reason[128]; /* of the last one */
    int64_t nonce;    /* the highest that is reserved; 0: none */
    char owed[32], owed_unit[24], owed_state[8];
    int64_t owed_attempts;
    struct batch *handed[8];
    size_t handed_count;
    struct {
        lookup_fn *fn;
        void *arg;
        bool cursor, count, owed, nonce;
        int64_t from;
    } questions[8];
    size_t question_count;
    bool store_last;      /* a batch is stored when nothing else is left to happen ... */
    unsigned stored_max;  /* ... and after so many nothing is, for now; 0: it is */
    bool throttled;       /* a stream has said that it waits for a rate limit */
    uint32_t forms[2][3]; /* fields that were set in a provider's rows, cursors and sessions */
    unsigned stop_after;  /* an import is stopped after so many answers; 0: never */
    size_t overlaps;      /* answers that came while a batch was under way */
    unsigned batches_max; /* the program dies after so many; 0: never */
    unsigned batches;
};

/* `order` is "rise" or "fall"; like the latter "half" (records need one more request each),
 * "counted" (pages say how many rows there are), "summed" (that has to be asked for), "numbered"
 * (requests have a nonce), "settled" (the last blocks are read again) or "timed" (positions are
 * times); like the former "dated" (it can be asked for the block of a time), "span" (ranges of
 * blocks up to the head) or "headed" (it can be asked for the newest block, and the last ones are
 * read again); "mixed" is one of each, "partly" "fall" and "half"; `providers` 1 or 2 of them; the
 * chain has `rows`, three in a block from block 100 on. */
struct ledger_desk *ledger_desk_new(const char *order, unsigned providers, unsigned rows);
void ledger_desk_free(struct ledger_desk *desk);
/* Another process, with the same store and providers. */
void ledger_desk_restart(struct ledger_desk *desk, const char *order, unsigned providers);
static inline int64_t ledger_desk_time_us(int64_t block)
{
    return (1700000000 + (block < INT64_C(10000000000) ? block : 0)) * INT64_C(1000000);
}
/* The connector of the provider with this number. */
void ledger_desk_connector(const char *order, unsigned number, struct text *yaml);
void ledger_desk_mine(struct ledger_desk *desk, int64_t block, unsigned rows);
/* What becomes of a provider's requests from number `at` on, up to `end`; 0: for ever. */
void ledger_desk_fault(struct ledger_desk *desk, unsigned provider, enum desk_fault fault,
                       unsigned at, unsigned end);
/* One thing that happens; false: nothing is left to happen but the passing of time. */
bool ledger_desk_step(struct ledger_desk *desk);
/* Runs an import to its end, or until the program dies; returns its outcome. */
enum ledger_outcome ledger_desk_run(struct ledger_desk *desk);
/* The same in two parts. */
void ledger_desk_begin(struct ledger_desk *desk);
enum ledger_outcome ledger_desk_finish(struct ledger_desk *desk);
/* The same, which must come to this; how many requests it took. */
size_t ledger_desk_requests(struct ledger_desk *desk, enum ledger_outcome expected);
/* Everything on the chain is stored, once, as it is. */
void ledger_desk_expect_truth(const struct ledger_desk *desk);
/* An import runs to its end, and then it is so. */
void ledger_desk_expect_complete(struct ledger_desk *desk);
/* No row was written twice. */
void ledger_desk_expect_once(const struct ledger_desk *desk);
size_t ledger_desk_orphans(const struct ledger_desk *desk);
/* How many stored rows are older than `block`. */
size_t ledger_desk_older(const struct ledger_desk *desk, int64_t block);
/* The URL of the request `back` from the last one. */
const char *ledger_desk_url(const struct ledger_desk *desk, size_t back);

/* Runs the tests twice: what holds, holds whether the store is quick or slow. */
int ledger_desk_run_tests(const struct CMUnitTest *tests, size_t count);

#endif
