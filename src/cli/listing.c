/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/listing.h"

#include "cli/target.h"
#include "query/query_page.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE_SIZE 500

struct listing {
    struct target target;
    const struct collection *collection;
    struct text handle; /* the daemon's name for the open query */
    int64_t page;
    struct order order;
    struct opening opening;
    struct row_key last;
    listing_read_fn *read; /* NULL: the collection's pages */
    void *read_arg;
    bool json, begun;
    struct table table;
};

static void see_json(void *arg, const char *value)
{
    (void)value;
    *(bool *)arg = true;
}

static const struct settings_flag flags[] = {{"json", false, see_json}, {0}};

/* ---- pages ---- */

static enum rc open_at_daemon(struct listing *listing, struct err *err)
{
    struct text body = {0}, reply = {0};
    struct json root;
    struct bytes name;
    text_appendf(&body, "{\"collection\":\"%s\",\"pageSize\":%d,\"count\":\"none\"}",
                 listing->collection->name, PAGE_SIZE);
    enum rc rc = target_ask(&listing->target, "POST", "/api/data/query-open", text_string(&body),
                            TARGET_SECONDS, NULL, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(&listing->target, &reply, &root, err);
    if (rc == RC_OK && json_string(json_get(root, "queryHandle"), &name))
        text_append(&listing->handle, name.data, name.len);
    else if (rc == RC_OK)
        rc = err_set(err, RC_RETRY, "the daemon gave no handle");
    text_free(&body);
    text_free(&reply);
    return rc;
}

static enum rc open_pages(struct listing *listing, struct err *err)
{
    struct target *target = &listing->target;
    enum rc rc = target_open(target, err);
    if (rc != RC_OK || listing->read != NULL)
        return rc;
    if (target->store == NULL)
        return open_at_daemon(listing, err);
    order_default(listing->collection, &listing->order);
    listing->opening.kind = COUNT_NONE;
    return opening_read(target->store, listing->collection, (struct where){0}, false,
                        &listing->opening, err);
}

static void close_pages(struct listing *listing)
{
    struct text body = {0}, reply = {0};
    struct err err;
    row_key_clear(&listing->last);
    if (listing->handle.len > 0) {
        int status;
        text_appendf(&body, "{\"queryHandle\":\"%s\"}", text_string(&listing->handle));
        /* One that cannot be closed is forgotten by the daemon in its own time. */
        enum rc rc = target_ask(&listing->target, "POST", "/api/data/query-close",
                                text_string(&body), TARGET_SECONDS, &status, &reply, &err);
        (void)rc;
    }
    text_free(&listing->handle);
    text_free(&body);
    text_free(&reply);
}

static enum rc read_from_daemon(struct listing *listing, struct text *page, struct json *items,
                                bool *more, struct err *err)
{
    struct text body = {0};
    struct json root;
    text_appendf(&body, "{\"queryHandle\":\"%s\",\"page\":%lld}", text_string(&listing->handle),
                 (long long)listing->page++);
    enum rc rc = target_ask(&listing->target, "POST", "/api/data/query-next", text_string(&body),
                            TARGET_SECONDS, NULL, page, err);
    if (rc == RC_OK)
        rc = target_parse(&listing->target, page, &root, err);
    if (rc == RC_OK) {
        *items = json_get(root, "items");
        if (!json_bool(json_get(root, "hasMore"), more))
            rc = err_set(err, RC_RETRY, "the daemon's page does not say whether more follow");
    }
    text_free(&body);
    return rc;
}

static enum rc read_from_store(struct listing *listing, struct text *page, struct json *items,
                               bool *more, struct err *err)
{
    struct page fetched = {0};
    struct refusal refusal = {0};
    struct page_request request = {.collection = listing->collection,
                                   .order = &listing->order,
                                   .fence_n = listing->opening.fence_n,
                                   .after = &listing->last,
                                   .page_size = PAGE_SIZE};
    enum rc rc = page_fetch(listing->target.store, &request, &fetched, &refusal, err);
    if (rc == RC_REJECT)
        *err = refusal.err;
    if (rc == RC_OK) {
        *more = fetched.has_more;
        row_key_move(&listing->last, &fetched.last);
        text_append(page, fetched.items.data, fetched.items.len);
        rc = target_parse(&listing->target, page, items, err);
    }
    page_free(&fetched);
    return rc;
}

static enum rc read_page(struct listing *listing, struct text *page, struct json *items, bool *more,
                         struct err *err)
{
    struct target *target = &listing->target;
    if (listing->read != NULL)
        return listing->read(listing->read_arg, target, page, items, more, err);
    return target->store == NULL ? read_from_daemon(listing, page, items, more, err)
                                 : read_from_store(listing, page, items, more, err);
}

/* ---- output ---- */

static void print_items(struct listing *listing, struct json items, struct text *out)
{
    struct json_walk walk = json_walk(items);
    struct bytes key;
    struct json item;
    while (json_walk_next(&walk, &key, &item)) {
        if (!listing->json) {
            table_add_item(&listing->table, item);
            continue;
        }
        text_append_string(out, listing->begun ? ",\n" : "");
        json_print(item, out);
        listing->begun = true;
    }
    if (!listing->json && listing->table.cell_count > 0) {
        table_print(&listing->table, !listing->begun, isatty(STDOUT_FILENO) == 1, out);
        listing->begun = true;
    }
}

static int end_output(struct listing *listing, struct text *out)
{
    if (listing->json)
        text_append_string(out, "]\n");
    else if (!listing->begun)
        fputs("none\n", stderr);
    return target_put(out);
}

static int print_pages(struct listing *listing, struct err *err)
{
    struct text page = {0}, out = {0};
    bool more = true;
    int code = EXIT_DONE;
    if (listing->json)
        text_append_char(&out, '[');
    enum rc rc = open_pages(listing, err);
    while (rc == RC_OK && more && code == EXIT_DONE) {
        struct json items = {0};
        text_clear(&page);
        rc = read_page(listing, &page, &items, &more, err);
        if (rc != RC_OK)
            break;
        print_items(listing, items, &out);
        code = more ? target_put(&out) : end_output(listing, &out);
        text_clear(&out);
    }
    close_pages(listing);
    text_free(&page);
    text_free(&out);
    return rc == RC_OK ? code : target_fail(err);
}

static int run_command(struct listing *listing, int argc, char **argv, const char *usage,
                       const struct table_column *columns, size_t column_count)
{
    struct err err;
    bool json = false;
    struct target_words words = {.usage = usage, .flags = flags, .arg = &json};
    int first, code;
    if (!target_begin(&listing->target, &words, argc, argv, &first, &code))
        return code;
    listing->json = json;
    table_init(&listing->table, columns, column_count);
    code = print_pages(listing, &err);
    table_deinit(&listing->table);
    target_free(&listing->target);
    return code;
}

int listing_command(int argc, char **argv, const char *usage, const char *collection,
                    const struct table_column *columns, size_t column_count)
{
    struct listing listing = {.collection = collection_find(bytes_of(collection))};
    assert(listing.collection != NULL);
    return run_command(&listing, argc, argv, usage, columns, column_count);
}

int listing_read_command(int argc, char **argv, const char *usage, listing_read_fn *read, void *arg,
                         const struct table_column *columns, size_t column_count)
{
    struct listing listing = {.read = read, .read_arg = arg};
    return run_command(&listing, argc, argv, usage, columns, column_count);
}

static enum rc read_member(struct listing *listing, const char *path, struct text *page,
                           struct err *err)
{
    struct target *target = &listing->target;
    enum rc rc = target_open(target, err);
    if (rc != RC_OK)
        return rc;
    if (target->store != NULL)
        return target_status(target, page, err);
    return target_ask(target, "GET", path, NULL, TARGET_SECONDS, NULL, page, err);
}

int listing_member_command(int argc, char **argv, const char *usage, const char *path,
                           const char *member, const struct table_column *columns,
                           size_t column_count)
{
    struct listing listing = {0};
    bool json = false;
    struct target_words words = {.usage = usage, .flags = flags, .arg = &json};
    struct text page = {0}, out = {0};
    struct json root;
    struct err err;
    int first, code;
    if (!target_begin(&listing.target, &words, argc, argv, &first, &code))
        return code;
    listing.json = json;
    table_init(&listing.table, columns, column_count);
    enum rc rc = read_member(&listing, path, &page, &err);
    if (rc == RC_OK)
        rc = target_parse(&listing.target, &page, &root, &err);
    if (rc == RC_OK) {
        text_append_string(&out, json ? "[" : "");
        print_items(&listing, json_get(root, member), &out);
        code = end_output(&listing, &out);
    } else {
        code = target_fail(&err);
    }
    text_free(&page);
    text_free(&out);
    table_deinit(&listing.table);
    target_free(&listing.target);
    return code;
}
