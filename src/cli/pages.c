/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pages.h"

#include "base/json_write.h"
#include "query/collections.h"
#include "store/row_schema.h"

#include <assert.h>
#include <inttypes.h>

#define TAIL_WAIT_MS 30000

/* ---- the daemon ---- */

static void put_member(struct json_writer *writer, const char *key, struct bytes json)
{
    if (json.len == 0)
        return;
    json_key(writer, key);
    json_put_raw(writer, json);
}

static void write_question(const struct pages_question *question, struct bytes around,
                           struct text *body)
{
    struct json_writer writer;
    json_writer_init(&writer, body);
    json_begin_object(&writer);
    json_key(&writer, "collection");
    json_put_cstring(&writer, question->collection);
    put_member(&writer, "filter", question->filter);
    put_member(&writer, "orderBy", question->order_by);
    if (question->page_size > 0) {
        json_key(&writer, "pageSize");
        json_put_i64(&writer, question->page_size);
    }
    if (question->allow_scan) {
        json_key(&writer, "allowScan");
        json_put_bool(&writer, true);
    }
    if (around.len > 0) {
        json_key(&writer, "around");
        json_put_string(&writer, around);
    }
    json_key(&writer, "count");
    json_put_cstring(&writer, "none");
    json_end_object(&writer);
}

static enum rc refuse_order(const char *collection, struct err *err)
{
    return err_set(err, RC_REJECT,
                   "no index of %s has this order: choose another, or add --allow-scan",
                   collection);
}

/* What the daemon says is for who asks it; here other words do the same. */
static enum rc take_opened(struct pages *pages, int status, struct json root, struct err *err)
{
    struct bytes name, words = json_string_or_absent(json_get(root, "error"));
    if (bytes_equal_string(json_string_or_absent(json_get(root, "code")), "NO_INDEX"))
        return refuse_order(pages->question.collection, err);
    if (status != 200 && words.len > 0)
        return err_set(err, RC_REJECT, "%.*s", (int)words.len, words.data);
    if (status != 200)
        return err_set(err, RC_REJECT, "the daemon answered with status %d", status);
    if (!json_string(json_get(root, "queryHandle"), &name) ||
        !json_i64(json_get(root, "seq"), &pages->seq))
        return err_set(err, RC_RETRY, "the daemon gave no handle");
    text_append(&pages->handle, name.data, name.len);
    return RC_OK;
}

static enum rc open_at_daemon(struct pages *pages, struct bytes around, struct err *err)
{
    struct text body = {0}, reply = {0};
    struct json root;
    int status = 0;
    write_question(&pages->question, around, &body);
    enum rc rc = target_ask(pages->target, "POST", "/api/data/query-open", text_string(&body),
                            TARGET_SECONDS, &status, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(pages->target, &reply, &root, err);
    if (rc == RC_OK)
        rc = take_opened(pages, status, root, err);
    text_free(&body);
    text_free(&reply);
    return rc;
}

/* Only what will not pass is RC_REJECT. */
static enum rc judge_refusal(struct pages *pages, int status, struct json root, struct err *err)
{
    struct bytes code = json_string_or_absent(json_get(root, "code"));
    struct bytes words = json_string_or_absent(json_get(root, "error"));
    err_set(err, RC_REJECT, "%.*s", (int)words.len, words.len == 0 ? "" : words.data);
    if (bytes_equal_string(code, "HANDLE_NOT_FOUND"))
        text_clear(&pages->handle);
    else if (status != 503)
        return RC_REJECT;
    return RC_AGAIN;
}

/* RC_AGAIN: the daemon has forgotten the query. */
static enum rc ask_page(struct pages *pages, struct text *page, struct json *root, struct err *err)
{
    struct text body = {0};
    int status = 0;
    text_appendf(&body, "{\"queryHandle\":\"%s\",\"page\":%" PRId64 "}",
                 text_string(&pages->handle), pages->number);
    text_clear(page);
    enum rc rc = target_ask(pages->target, "POST", "/api/data/query-next", text_string(&body),
                            TARGET_SECONDS, &status, page, err);
    text_free(&body);
    if (rc == RC_OK)
        rc = target_parse(pages->target, page, root, err);
    if (rc == RC_OK && status != 200)
        rc = judge_refusal(pages, status, *root, err);
    if (rc == RC_AGAIN && pages->handle.len > 0)
        rc = RC_RETRY;
    pages->number += rc == RC_OK;
    return rc;
}

/* Leaves of the page what stands behind the row told last; RC_REJECT: it is not what it was. */
static enum rc cut_page(struct pages *pages, struct json *items, struct text *page, struct err *err)
{
    struct json_walk walk = json_walk(*items);
    struct text rest = {0}, row = {0};
    struct bytes key;
    struct json item;
    bool met = false;
    text_append_char(&rest, '[');
    while (json_walk_next(&walk, &key, &item)) {
        text_clear(&row);
        json_print(item, &row);
        if (met && rest.len > 1)
            text_append_char(&rest, ',');
        if (met)
            text_append(&rest, row.data, row.len);
        met |= bytes_equal(text_bytes(&row), text_bytes(&pages->last_row));
    }
    text_append_char(&rest, ']');
    text_clear(page);
    text_append(page, rest.data, rest.len);
    text_free(&rest);
    text_free(&row);
    return met ? target_parse(pages->target, page, items, err)
               : err_set(err, RC_REJECT, "the row has changed");
}

static enum rc take_page(struct json root, struct json *items, bool *more, struct err *err)
{
    *items = json_get(root, "items");
    return json_bool(json_get(root, "hasMore"), more)
               ? RC_OK
               : err_set(err, RC_RETRY, "the daemon's page does not say whether more follow");
}

/* The place among the commits stays that of the first opening: what changed since is told there. */
static enum rc go_on_anew(struct pages *pages, struct text *page, struct json *items, bool *more,
                          struct err *err)
{
    int64_t seq = pages->seq;
    struct json root;
    bool begun = pages->last_row.len > 0;
    enum rc rc = open_at_daemon(pages, text_bytes(&pages->last_id), err);
    pages->seq = seq;
    pages->number = 0;
    if (rc == RC_OK)
        rc = ask_page(pages, page, &root, err);
    if (rc == RC_OK)
        rc = take_page(root, items, more, err);
    if (rc == RC_OK && begun)
        rc = cut_page(pages, items, page, err);
    if (rc == RC_OK || !begun)
        return rc;
    struct err why = *err;
    return err_set(err, RC_REJECT,
                   "the daemon has closed this query, which nobody read for a while, and it cannot "
                   "go on behind the row told last: %s",
                   why.text);
}

static void remember_last(struct pages *pages, struct json items)
{
    struct json_walk walk = json_walk(items);
    struct json item, last = {0};
    struct bytes key, id;
    while (json_walk_next(&walk, &key, &item))
        last = item;
    if (!json_string(json_get(last, "id"), &id))
        return;
    text_clear(&pages->last_id);
    text_clear(&pages->last_row);
    text_append(&pages->last_id, id.data, id.len);
    json_print(last, &pages->last_row);
}

static enum rc read_from_daemon(struct pages *pages, struct text *page, struct json *items,
                                bool *more, struct err *err)
{
    struct json root;
    enum rc rc = ask_page(pages, page, &root, err);
    if (rc == RC_OK)
        rc = take_page(root, items, more, err);
    else if (rc == RC_AGAIN)
        rc = go_on_anew(pages, page, items, more, err);
    if (rc == RC_OK)
        remember_last(pages, *items);
    return rc;
}

/* ---- what changes ---- */

/* The daemon has forgotten the handle; the place among the commits means the same to any other. */
static enum rc open_again(struct pages *pages, struct err *err)
{
    int64_t seq = pages->seq;
    text_clear(&pages->handle);
    enum rc rc = open_at_daemon(pages, BYTES_ABSENT, err);
    pages->seq = seq;
    /* Declared collections come a moment after their daemon. */
    return rc == RC_OK ? RC_OK : RC_AGAIN;
}

static enum rc ask_tail(struct pages *pages, struct text *page, struct json *root, struct err *err)
{
    struct text body = {0};
    int status = 0;
    text_appendf(&body, "{\"queryHandle\":\"%s\",\"since\":%" PRId64 ",\"wait\":%d}",
                 text_string(&pages->handle), pages->seq, TAIL_WAIT_MS);
    enum rc rc = target_ask(pages->target, "POST", "/api/data/query-tail", text_string(&body),
                            TARGET_SECONDS, &status, page, err);
    text_free(&body);
    if (rc == RC_OK)
        rc = target_parse(pages->target, page, root, err);
    if (rc == RC_RETRY)
        rc = RC_AGAIN;
    return rc == RC_OK && status != 200 ? judge_refusal(pages, status, *root, err) : rc;
}

enum rc pages_tail(struct pages *pages, struct text *page, struct json *changes, struct err *err)
{
    struct json root;
    enum rc rc = RC_OK;
    if (pages->target->store != NULL)
        return err_set(err, RC_REJECT,
                       "no daemon runs, so nothing can change: start it to follow the changes");
    if (pages->handle.len == 0)
        rc = open_again(pages, err);
    if (rc == RC_OK)
        rc = ask_tail(pages, page, &root, err);
    if (rc != RC_OK)
        return rc;
    *changes = json_get(root, "changes");
    return json_i64(json_get(root, "seq"), &pages->seq)
               ? RC_OK
               : err_set(err, RC_REJECT, "the daemon's changes have no seq");
}

static void close_at_daemon(struct pages *pages)
{
    struct text body = {0}, reply = {0};
    struct err err;
    int status;
    text_appendf(&body, "{\"queryHandle\":\"%s\"}", text_string(&pages->handle));
    /* One that cannot be closed is forgotten by the daemon in its own time. */
    enum rc rc = target_ask(pages->target, "POST", "/api/data/query-close", text_string(&body),
                            TARGET_SECONDS, &status, &reply, &err);
    (void)rc;
    text_free(&body);
    text_free(&reply);
}

/* ---- the store ---- */

static enum rc parse_part(struct target *target, struct bytes words, struct json *value,
                          struct err *err)
{
    *value = (struct json){0};
    return words.len == 0 ? RC_OK : json_parse_copy(target->doc, words, value, err);
}

static enum rc understand(struct pages *pages, const struct pages_question *question,
                          struct err *err)
{
    const struct collection *collection = pages->request.collection;
    struct refusal refusal = {0};
    struct json value;
    enum rc rc = parse_part(pages->target, question->filter, &value, err);
    if (rc == RC_OK)
        rc = filter_parse(collection, value, &pages->filter, &refusal);
    if (rc == RC_OK)
        rc = parse_part(pages->target, question->order_by, &value, err);
    if (rc == RC_OK)
        rc = order_parse(collection, value, &pages->order, &refusal);
    if (rc == RC_OK && !question->allow_scan &&
        order_index(collection, &pages->order, filter_fixed(pages->filter)) == NULL)
        rc = refuse_order(collection->name, err);
    if (refusal.code != REFUSAL_NONE)
        *err = refusal.err;
    return rc;
}

/* As a daemon would find them in this store; of a daemon's own the indexes are not known. */
static enum rc learn_declared(struct pages *pages, struct err *err)
{
    const struct config *config = &pages->target->settings.config;
    struct collections_draft *draft;
    struct text ready = {0};
    enum rc rc = RC_OK;
    pages->collections = collections_new();
    if (config->collection_count > 0 && pages->target->store != NULL)
        rc = row_schema_ready(pages->target->store, &ready, err);
    if (rc == RC_OK)
        rc = collections_draft_new(pages->collections, config->collections,
                                   config->collection_count, &draft, err);
    if (rc == RC_OK)
        collections_install(pages->collections, draft, text_bytes(&ready));
    text_free(&ready);
    return rc;
}

static enum rc open_in_store(struct pages *pages, const struct pages_question *question,
                             struct err *err)
{
    struct bytes name = bytes_of(question->collection);
    struct refusal refusal = {0};
    enum rc rc = learn_declared(pages, err);
    if (rc != RC_OK)
        return rc;
    const struct collection *collection = collections_find(pages->collections, name);
    if (collection == NULL) {
        rc = collections_refuse(pages->collections, name, &refusal);
        *err = refusal.err;
        return rc;
    }
    pages->request.collection = collection;
    rc = understand(pages, question, err);
    pages->opening.kind = COUNT_NONE;
    if (rc == RC_OK)
        rc = opening_read(pages->target->store, collection, filter_where(pages->filter), false,
                          &pages->opening, err);
    pages->seq = pages->opening.seq;
    pages->request.order = &pages->order;
    pages->request.filter = pages->filter;
    pages->request.fence_n = pages->opening.fence_n;
    pages->request.after = &pages->last;
    pages->request.page_size =
        question->page_size > 0 ? question->page_size : collection->page_size;
    return rc;
}

static enum rc read_from_store(struct pages *pages, struct text *page, struct json *items,
                               bool *more, struct err *err)
{
    struct page fetched = {0};
    struct refusal refusal = {0};
    enum rc rc = page_fetch(pages->target->store, &pages->request, &fetched, &refusal, err);
    if (rc == RC_REJECT)
        *err = refusal.err;
    if (rc == RC_OK) {
        *more = fetched.has_more;
        row_key_move(&pages->last, &fetched.last);
        text_append(page, fetched.items.data, fetched.items.len);
        rc = target_parse(pages->target, page, items, err);
    }
    page_free(&fetched);
    return rc;
}

/* ---- either ---- */

enum rc pages_open(struct pages *pages, struct target *target,
                   const struct pages_question *question, struct err *err)
{
    *pages = (struct pages){.target = target, .question = *question};
    return target->store == NULL ? open_at_daemon(pages, BYTES_ABSENT, err)
                                 : open_in_store(pages, question, err);
}

enum rc pages_next(struct pages *pages, struct text *page, struct json *items, bool *more,
                   struct err *err)
{
    text_clear(page);
    return pages->target->store == NULL ? read_from_daemon(pages, page, items, more, err)
                                        : read_from_store(pages, page, items, more, err);
}

size_t pages_names(struct pages *pages, const char **names, size_t max)
{
    struct err err;
    if (pages->collections == NULL && learn_declared(pages, &err) != RC_OK)
        return 0;
    const struct collection *collection =
        collections_find(pages->collections, bytes_of(pages->question.collection));
    size_t count = collection == NULL ? 0 : collection->column_count;
    count = count < max ? count : max;
    for (size_t i = 0; i < count; i++)
        names[i] = collection->columns[i].name;
    return count;
}

void pages_close(struct pages *pages)
{
    if (pages->handle.len > 0)
        close_at_daemon(pages);
    text_free(&pages->handle);
    text_free(&pages->last_id);
    text_free(&pages->last_row);
    filter_free(pages->filter);
    row_key_clear(&pages->last);
    collections_free(pages->collections);
}
