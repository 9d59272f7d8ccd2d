/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_page.h - an answer of a provider: what it means, and its records as rows.
 *
 * A page is judged first; only one that is judged good is read. Every record becomes a row, or is
 * not of this stream (counted in `passed`), or is refused with the reason, and then the page goes
 * on with the next: nothing is dropped in silence (I7).
 *
 * Owner: the caller, who keeps the page from answer to answer and with it its buffers.  Pure. */
#ifndef DECODE_CONNECTOR_PAGE_H
#define DECODE_CONNECTOR_PAGE_H

#include "base/json.h"
#include "decode/connector_request.h"
#include "decode/ledger_row.h"

struct connector_answer {
    int status;
    struct bytes headers; /* "name: value\r\n" lines, names in lower case */
    struct json root;     /* absent: the body is no JSON */
};

/* Parses a body so that no digit of a number is lost: one with more digits than a reader keeps
 * comes out as a string. `body` is followed by ARENA_PAD readable bytes, as an HTTP answer is;
 * `scratch` is written over, and what comes out may lie in it. */
must_check enum rc connector_parse(struct json_doc *doc, struct bytes body, struct text *scratch,
                                   struct json *root, struct err *err);

struct connector_judgement {
    enum connector_verdict verdict;
    int64_t wait_ms; /* how long the connector says to wait; 0: it does not say */
};

/* `why` gets a sentence for every verdict but VERDICT_OK. */
struct connector_judgement connector_judge(const struct connector *connector,
                                           const struct connector_stream *stream,
                                           const struct connector_vars *vars,
                                           const struct connector_answer *answer, struct err *why);
const char *connector_verdict_name(enum connector_verdict verdict);

struct connector_page {
    const struct connector *connector;
    const struct connector_stream *stream;
    const struct connector_platform *platform;
    const struct connector_vars *vars;
    struct json_walk records, parts;
    struct json record;  /* the one whose row comes next, or whose parts do */
    struct bytes key;    /* of an entry */
    struct json last;    /* the last record walked over */
    bool within;         /* in the parts of `record` */
    size_t record_count; /* records of the answer so far, before they are fanned out */
    size_t row_count, refused, passed;
    struct text raw, identity;
    struct arena scratch;
};

void connector_page_init(struct connector_page *page);
void connector_page_deinit(struct connector_page *page);
/* Begins a page; all arguments live until the last row was read. RC_REJECT: there is no list of
 * records where the connector says. */
must_check enum rc connector_page_open(struct connector_page *page,
                                       const struct connector *connector,
                                       const struct connector_stream *stream,
                                       const struct connector_vars *vars, struct json root,
                                       struct err *err);
/* The same for records that were put together by the caller (with details, or from a file): `root`
 * is the list itself. */
must_check enum rc connector_page_open_list(struct connector_page *page,
                                            const struct connector *connector,
                                            const struct connector_stream *stream,
                                            const struct connector_vars *vars, struct json root,
                                            struct err *err);
/* RC_OK: a row, valid until the next call. RC_AGAIN: that was all. RC_REJECT: this record is bad,
 * `err` says why and row->raw is what came. */
must_check enum rc connector_page_next(struct connector_page *page, struct ledger_row *row,
                                       struct err *err);
/* What leads to the next page, written over what `token` holds; false when nothing does. Only after
 * the page was read to its end. */
bool connector_page_token(struct connector_page *page, const struct connector_answer *answer,
                          struct text *token);
/* The stop rules say that nothing comes after this page, or nothing leads to another one. Only
 * after it was read to its end. */
bool connector_page_last(struct connector_page *page, const struct connector_answer *answer);

/* A number at a place of an answer (head, count). False: it is not there, or none. */
bool connector_figure_read(const struct connector_figure *figure, struct json root, int64_t *out);
/* What $key is for the detail of a record; absent: the record has none. Borrowed. */
struct bytes connector_detail_key(const struct connector_stream *stream, struct json record);
/* Appends `record` with what `root` holds at the detail's place under the key `detail`; false, and
 * nothing appended, when there is nothing at that place. */
bool connector_detail_merge(const struct connector_stream *stream, struct json record,
                            struct json root, struct text *out);

#endif
