/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept_document.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SCHEME "ipfs://"

/* A row with bytes first, then one that will have them. */
static const char find_sql[] =
    "SELECT c.n, CASE WHEN c.is_errored THEN NULL ELSE coalesce(length(c.data), 0) END, "
    "substr(c.data, 1, 512), o.state, o.reason, o.next_us FROM ipfs_cache c "
    "LEFT JOIN owed o ON o.source = 'content' AND o.stream = 'content' AND o.item = c.uri "
    "WHERE c.uri = ?1 OR c.canonical = ?1 "
    "ORDER BY c.is_errored, CASE o.state WHEN 'owed' THEN 0 WHEN 'dead' THEN 1 ELSE 2 END LIMIT 1";
static const char piece_sql[] = "SELECT substr(data, %lld, %lld) FROM ipfs_cache WHERE n = ?1";
static const char place_sql[] = "SELECT block_number FROM meta WHERE id = 'content'";

static void take_bytes(struct kept_document *out, const struct field *columns)
{
    out->state = KEPT_WHOLE;
    out->size = columns[1].i;
    if (columns[2].null)
        return;
    assert(columns[2].b.len <= sizeof out->head);
    out->head_len = columns[2].b.len;
    if (out->head_len > 0)
        memcpy(out->head, columns[2].b.data, out->head_len);
}

static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct kept_document *out = arg;
    assert(count == 6);
    out->n = columns[0].i;
    if (!columns[1].null) {
        take_bytes(out, columns);
        return false;
    }
    bool owed = !columns[3].null && bytes_equal_string(columns[3].b, "owed");
    out->state = owed ? KEPT_OWED : KEPT_DEAD;
    utf8_copy(columns[4].null ? bytes_of("nobody tries any more") : columns[4].b, out->reason,
              sizeof out->reason);
    out->next_us = columns[5].null ? 0 : columns[5].i;
    return false;
}

enum rc kept_document_find(struct store *store, const char *name, struct kept_document *out,
                           struct err *err)
{
    struct text uri = {0};
    text_appendf(&uri, SCHEME "%s", name);
    struct field param = field_text(text_bytes(&uri));
    *out = (struct kept_document){.state = KEPT_UNKNOWN};
    enum rc rc = store_query(store, find_sql, &param, 1, take_row, out, err);
    if (rc == RC_OK && out->state == KEPT_UNKNOWN)
        rc = store_query_int(store, place_sql, -1, &out->read_up_to, err);
    text_free(&uri);
    return rc;
}

static bool take_piece(void *arg, const struct field *columns, size_t count)
{
    struct text *out = arg;
    assert(count == 1);
    if (!columns[0].null && columns[0].b.len > 0)
        text_append(out, columns[0].b.data, columns[0].b.len);
    return false;
}

enum rc kept_document_read(struct store *store, const struct kept_document *document, int64_t at,
                           int64_t len, struct text *out, struct err *err)
{
    struct field n = field_int(document->n);
    char sql[sizeof piece_sql + 48];
    assert(document->state == KEPT_WHOLE && at >= 0 && len > 0 && at + len <= document->size);
    snprintf(sql, sizeof sql, piece_sql, (long long)at + 1, (long long)len);
    text_clear(out);
    return store_query(store, sql, &n, 1, take_piece, out, err);
}
