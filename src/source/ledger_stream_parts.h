/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_stream_parts.h - a stream of a ledger from inside: for the files it is made of.
 *
 * Owner: the stream.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_STREAM_PARTS_H
#define SOURCE_LEDGER_STREAM_PARTS_H

#include "base/json.h"
#include "decode/connector_page.h"
#include "ingest/quarantine.h"
#include "ingest/stream.h"
#include "source/delivery.h"
#include "source/ledger_detail.h"
#include "source/ledger_known.h"
#include "source/ledger_purpose.h"
#include "source/ledger_reread.h"
#include "source/ledger_stream.h"
#include "source/ledger_walk.h"

#define LEDGER_COMPONENT "ledger"

/* Rows of one batch; a few more records come with them. */
#define LEDGER_CHUNK_ROWS (BATCH_RECORDS_MAX - 128)
#define LEDGER_ANSWER_MAX ((size_t)32 << 20)
#define LEDGER_RAW_MAX    65536 /* of a record that is kept as it came */
#define LEDGER_ROW_ROOM   ((size_t)3 * LEDGER_RAW_MAX)

struct ledger_stream {
    const struct ledger_run *run;
    char name[FAILOVER_STREAM_MAX];
    void (*ended)(void *arg);
    void *arg;
    struct ledger_stream_view view;
    bool stopping;

    struct stream stored; /* cursor and windows */
    struct ledger_known known;
    struct quarantine quarantine;

    struct failover_stream failover;
    struct failover_pick pick;
    bool picked;
    unsigned failures; /* in a row, whoever failed */
    uint32_t refused;  /* a bit for each provider that would refuse again what is asked for ... */
    uint32_t locked;   /* ... because of its key */
    uint32_t hopeless; /* ... whenever it is asked */
    unsigned restarts; /* of the walk, in a row */
    int64_t hold_ms;   /* until then it does not go back to a better provider; -1: it may */
    int64_t asked_us;
    const struct ledger_provider *provider; /* whose walk it is; NULL: none yet */
    const struct connector_stream *shape;
    struct ledger_walk walk;
    struct ledger_reread reread;
    int64_t head;         /* the newest block of its provider, of a walk by ranges */
    int64_t bound;        /* ... when a page led far up; -1: not asked, or not told */
    int64_t waits_from;   /* the first position of a row that waits to be settled; -1: none does */
    int64_t waited_from;  /* ... that waited when the walk began */
    int64_t covered_from; /* the walk covers from there to what is complete */
    uint32_t denied;      /* a bit for each provider whose end was doubted */
    bool believed;        /* what was doubted is so */
    int64_t doubted_from; /* first position of what did not come; -1: all came */
    bool skips;           /* rows above what is complete are left out: they are too old */
    int64_t since_at;     /* the position of the time that was asked for; -1: not known */
    bool resweeping;      /* everything is read again: less is stored than counted */
    bool unseated[FAILOVER_PROVIDERS_MAX]; /* does not have this stream, or may not be asked */
    uint64_t openings_before[FAILOVER_PROVIDERS_MAX]; /* of their circuits, when this began */

    struct http_call *call;
    struct timer wake;
    struct connector_vars vars;
    struct connector_http http;
    struct connector_answer answer;
    enum ledger_purpose purpose;
    struct connector_answer side; /* of a request that is not for a page */
    struct connector_page page;
    struct json_doc *doc, *side_doc, *list_doc, *cursor_doc;
    struct text token, words, headers, side_headers, cleaned;
    struct text digits, side_digits; /* what the answers point at, beside their bodies */
    /* Rows go into one batch while the other is under way. */
    struct delivery deliveries[2];
    unsigned filling;
    bool storing;               /* the other one is under way ... */
    int64_t announced;          /* ... with this reservation of nonces; 0: none */
    bool due;                   /* this one follows as soon as that is stored */
    enum ledger_outcome ending; /* how it ends when all is stored; undecided: it goes on */

    /* partitions that the source lists: names, each with a NUL after it */
    struct text parts, list_token;
    unsigned part_count;
    struct text marks; /* of those for which the stored position is true */
    /* records whose details are fetched, a group at a time */
    struct ledger_detail *details;
    size_t detail_count, detail_at, detail_capacity;
    struct text group; /* of records, with the details of those that lacked them ... */
    size_t group_records;
    struct window named; /* rows of the page */
    struct text owed;    /* positions and keys of those that are not to be had, each with a NUL */
    struct ledger_debt debts[LEDGER_DEBTS_MAX];
    size_t debt_count;
    /* how many rows there should be, and how many there are */
    bool was_complete, counted;
    bool shares;                /* a file may have its rows, which it counts as its own */
    bool foretelling, foretold; /* the total is asked for before the first page, or was */
    int64_t total_before;       /* that was told when it was complete; -1: none */
    int64_t total_first;        /* that the first page of this walk told; -1: none */
    int64_t total_top;          /* ... and the one with the newest row of this sweep */
    int64_t waiting;            /* rows of this walk that are in no block yet */
    struct window unreadable;   /* records of this walk that are in quarantine */
    bool shrank;                /* a later page told of fewer: what it numbers has moved */
    /* how far the provider looks: its newest block, and the newest row it has shown; -1: unknown */
    bool reached;
    int64_t reach, shown;
    bool counted_out;     /* what does not come is not counted either */
    int64_t stored_count; /* without those */

    /* of the page that is being stored */
    bool last_page; /* by its stop rules */
    size_t page_records;
    bool has_token;
    bool reading; /* it has rows that are in no batch yet */
    struct ledger_row row;
    uint8_t row_id[EVENT_ID_SIZE];
    struct cursor last[3]; /* positions of the last row that came */
    unsigned last_count;
    struct window_id ids[BATCH_RECORDS_MAX];
    bool fresh[BATCH_RECORDS_MAX];
    size_t id_count;
    struct window here; /* those of them that came with pages before this one */
    size_t here_count;
    struct window strayed; /* the last row of an earlier run, if this stream has it no longer */
    uint64_t known_here;   /* rows of this batch that were known */
    uint64_t pending_here; /* ... that are new and wait for a block */
    bool marking;          /* rows are being marked as orphaned ... */
    size_t marked;         /* ... as far as this one */
};

#endif
