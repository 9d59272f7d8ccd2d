/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_stream.h - one stream of a provider: its walk, its answers, its rows.
 *
 * Everything is a table that the loader made and nobody changes; the walk itself (which page is
 * asked for, what is stored, when it is over) belongs to whoever reads these tables.
 *
 * Owner: the connector. */
#ifndef DECODE_CONNECTOR_STREAM_H
#define DECODE_CONNECTOR_STREAM_H

#include "decode/connector_parts.h"

enum connector_order { ORDER_ASC, ORDER_DESC, ORDER_NONE };
enum connector_paging {
    PAGE_NONE,
    PAGE_NUMBER,
    PAGE_OFFSET,
    PAGE_TOKEN,
    PAGE_LINK,
    PAGE_KEYSET,
    PAGE_RANGE, /* `size` positions at a time, from $from to $to, up to the head */
};
enum connector_next { NEXT_NONE, NEXT_BODY, NEXT_HEADER, NEXT_LAST_RECORD };
enum connector_resume {
    RESUME_NONE, /* a walk begins at the source's own beginning */
    RESUME_BLOCK_NUMBER,
    RESUME_SLOT,
    RESUME_TIMESTAMP, /* $from is microseconds, written as the cast says */
};
enum connector_shape { SHAPE_ARRAY, SHAPE_VALUES, SHAPE_ENTRIES };
enum connector_absent { ABSENT_ERROR, ABSENT_EMPTY };
enum connector_missing { MISSING_ERROR, MISSING_OWED };
enum connector_equals { EQUALS_NONE, EQUALS_BLOCK, EQUALS_FILE };
enum { STOP_SHORT_PAGE = 1, STOP_EMPTY = 2, STOP_TOKEN_ABSENT = 4, STOP_FLAG = 8 };

enum connector_verdict {
    VERDICT_OK,
    VERDICT_EMPTY, /* the source says that there is nothing */
    VERDICT_RETRY,
    VERDICT_RATE_LIMITED,
    VERDICT_AUTH,
    VERDICT_RESTART, /* the token is no longer known: walk again from the position */
    VERDICT_NEXT_PROVIDER,
    VERDICT_FATAL,
};

enum ledger_field {
    FIELD_HASH,
    FIELD_BLOCK,
    FIELD_TIME,
    FIELD_FROM,
    FIELD_TO,
    FIELD_ASSET,
    FIELD_TOKEN_ID,
    FIELD_AMOUNT,
    FIELD_FEE,
    FIELD_ID,
    FIELD_STATUS,
    FIELD_MAPPED_COUNT,
    FIELD_PLATFORM = FIELD_MAPPED_COUNT, /* these three only take part in identities */
    FIELD_KIND,
    FIELD_ROW, /* the record as it came */
    FIELD_COUNT,
};

struct connector_response {
    struct connector_condition when;
    enum connector_verdict verdict;
    int64_t wait_ms; /* how long to leave the source alone; 0: as the caller thinks */
};

/* A number that the source tells beside its records. */
struct connector_figure {
    bool given;
    const struct connector_request *request; /* NULL: it stands in the page itself */
    const char *pointer;
    enum connector_cast cast;
};

/* One more request per record; its answer goes under the record's key `detail`. */
struct connector_detail {
    bool given;
    const struct connector_request *request;
    const char *pointer, *for_each; /* in its answer; in the record: what $key is */
    enum connector_missing absent;  /* no answer: fail, or keep the record and owe the rest */
};

struct connector_partition {
    const struct connector_value *constants; /* a map of texts */
};

struct connector_stream {
    const char *name, *kind;
    const char *const *platforms;            /* those that have it */
    size_t platform_count;                   /* 0: all */
    const struct connector_request *request; /* NULL: rows come from a file */
    enum connector_order order;
    struct {
        enum connector_paging by;
        int64_t size, first, window_max, token_ms; /* 0: no such limit */
        enum connector_next next;
        const char *next_at;           /* a pointer, or a header's name */
        enum connector_cast next_cast; /* CAST_JSON: the token is JSON and sent as such */
        int64_t next_add;              /* to the number that is read there */
        unsigned stop;
        struct connector_condition flag;
    } page;
    struct {
        enum connector_resume kind;
        enum connector_cast cast;
        bool exclusive; /* the source leaves the position itself out: one less is asked for */
    } resume;
    const struct connector_partition *partitions; /* the same walk with other constants */
    size_t partition_count;                       /* 0: one walk */
    struct connector_figure head, count;
    struct connector_figure since; /* the block that was the newest at $since_s */
    struct connector_detail detail;
    struct
    { /* partitions that the source lists itself: each value is $part in the walk's request */
        const struct connector_request *request;
        const char *records, *value, *next;
    } listed;
    struct {
        const char *at, *each, *key_as;
        enum connector_shape shape;
        enum connector_absent absent; /* no list there: a strange answer, or no records */
    } records;
    struct connector_where where;
    struct connector_field map[FIELD_MAPPED_COUNT];
    uint32_t identity; /* bit per ledger_field */
    enum connector_equals equals;
    const struct connector_response *responses; /* the stream's own, then the connector's */
    size_t response_count;
    struct {
        const char *header; /* the file's first line; NULL: no file */
        bool skip;          /* known, and nothing of a ledger */
    } csv;
};

#endif
