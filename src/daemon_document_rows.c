/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_document_rows.h"

#include "query/collections.h"
#include "query/document.h"
#include "sys/log.h"

#include <stdlib.h>

#define WHERE "document" /* what its fields are called by in a refusal */

struct document_rows {
    struct collections *collections;
    const char *name;
    struct json_doc *doc;
};

struct document_rows *document_rows_new(struct collections *collections, const char *name)
{
    struct document_rows *rows = memory_new_zeroed(1, sizeof *rows);
    rows->collections = collections;
    rows->name = name;
    rows->doc = json_doc_new(DOCUMENT_ROW_BYTES_MAX, JSON_DEPTH_MAX);
    return rows;
}

void document_rows_free(struct document_rows *rows)
{
    if (rows == NULL)
        return;
    json_doc_free(rows->doc);
    free(rows);
}

static void tell_refusal(const struct document_rows *rows, const char *uri, const char *why)
{
    log_event(LOG_WARN, "content", "no_row",
              (struct log_field[]){log_string("collection", rows->name), log_string("uri", uri),
                                   log_string("reason", why), LOG_END});
}

/* RC_AGAIN: the batch is full. RC_REJECT: `refusal` says what does not fit. */
static enum rc add_row(const struct collection *collection, struct batch *batch, struct bytes id,
                       struct json data, int64_t now_us, struct refusal *refusal)
{
    struct record *row = document_add(collection, batch, RECORD_OP_PUT, now_us);
    if (row == NULL || !batch_set_text(batch, row, ROW_ID, id))
        return RC_AGAIN;
    if (document_read(collection, data, WHERE, batch, row, refusal) == RC_OK)
        return RC_OK;
    return refusal->code == REFUSAL_TOO_LARGE ? RC_AGAIN : RC_REJECT;
}

bool document_rows_add(void *arg, struct batch *batch, const char *uri, struct bytes document,
                       int64_t now_us)
{
    struct document_rows *rows = arg;
    const struct collection *collection = collections_find(rows->collections, bytes_of(rows->name));
    struct refusal refusal = {.code = REFUSAL_NONE};
    struct json data;
    struct err err;
    if (collection == NULL || document.len > DOCUMENT_ROW_BYTES_MAX ||
        json_parse_copy(rows->doc, document, &data, &err) != RC_OK ||
        json_type(data) != JSON_OBJECT)
        return true;
    struct bytes id = bytes_of(uri);
    if (id.len > DOCUMENT_ID_BYTES_MAX) {
        tell_refusal(rows, uri, "its address is too long for an id");
        return true;
    }
    struct batch_mark mark = batch_mark(batch);
    enum rc rc = add_row(collection, batch, id, data, now_us, &refusal);
    if (rc != RC_OK)
        batch_undo(batch, mark);
    if (rc == RC_REJECT)
        tell_refusal(rows, uri, refusal.err.text);
    return rc != RC_AGAIN;
}
