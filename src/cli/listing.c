/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/listing.h"

#include "cli/pages.h"
#include "cli/screen.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE_SIZE 500

struct listing {
    struct target target;
    const char *collection;
    struct pages pages;
    listing_read_fn *read; /* NULL: the collection's pages */
    void *read_arg;
    bool json, begun;
    struct table table;
};

static const struct settings_flag flags[] = {{.name = "json"}, {0}};

/* ---- pages ---- */

static enum rc open_pages(struct listing *listing, struct err *err)
{
    const struct pages_question question = {.collection = listing->collection,
                                            .page_size = PAGE_SIZE};
    enum rc rc = target_open(&listing->target, err);
    if (rc != RC_OK || listing->read != NULL)
        return rc;
    return pages_open(&listing->pages, &listing->target, &question, err);
}

static enum rc read_page(struct listing *listing, struct text *page, struct json *items, bool *more,
                         struct err *err)
{
    if (listing->read == NULL)
        return pages_next(&listing->pages, page, items, more, err);
    text_clear(page);
    return listing->read(listing->read_arg, &listing->target, page, items, more, err);
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
        table_print(&listing->table, !listing->begun, screen_obeys(STDOUT_FILENO), out);
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
        rc = read_page(listing, &page, &items, &more, err);
        if (rc != RC_OK)
            break;
        print_items(listing, items, &out);
        code = more ? target_put(&out) : end_output(listing, &out);
        text_clear(&out);
    }
    pages_close(&listing->pages);
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
    struct listing listing = {.collection = collection};
    assert(collection_find(bytes_of(collection)) != NULL);
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
