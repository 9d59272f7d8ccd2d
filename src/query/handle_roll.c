/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle_roll.h"

#include "base/json_member.h"
#include "base/uuid.h"

#include <assert.h>
#include <stdio.h>

static void take_line(void *arg, const struct shelf_line *line)
{
    struct handle_roll *page = arg;
    assert(page->count < HANDLE_ROLL_MAX);
    page->lines[page->count++] =
        (struct handle_roll_line){.line = *line, .collection_at = page->words.len};
    text_append(&page->words, line->collection.data, line->collection.len);
}

enum rc handle_roll_read(struct store *store, int64_t before, struct handle_roll *page,
                         struct err *err)
{
    struct store *beside;
    page->count = 0;
    text_clear(&page->words);
    enum rc rc = store_beside(store, &beside, err);
    if (rc == RC_OK)
        rc = shelf_list(beside, before, HANDLE_ROLL_MAX, take_line, page, err);
    return rc;
}

void handle_roll_free(struct handle_roll *page)
{
    text_free(&page->words);
}

/* Enough of a session's id to tell it from others, and too little to pass for it. */
static void put_session(struct json_writer *writer, const uint8_t session[HANDLE_SESSION_SIZE])
{
    char words[9];
    bool named = false;
    for (size_t i = 0; i < HANDLE_SESSION_SIZE; i++)
        named |= session[i] != 0;
    snprintf(words, sizeof words, "%02x%02x%02x%02x", session[0], session[1], session[2],
             session[3]);
    json_put_cstring(writer, named ? words : NULL);
}

static void put_line(const struct shelf_line *line, struct bytes collection, const char *state,
                     int64_t now_us, struct json_writer *writer)
{
    char name[UUID_TEXT_SIZE];
    uuid_format(line->name, name);
    json_begin_object(writer);
    json_member_cstring(writer, "handle", name);
    json_member_string(writer, "collection", collection);
    json_member_cstring(writer, "state", state);
    json_key(writer, "page"); /* the one delivered last */
    if (line->opened_us == line->used_us && line->page < 0)
        json_put_null(writer);
    else
        json_put_i64(writer, line->page);
    json_member_i64(writer, "pageSize", line->page_size);
    json_key(writer, "session");
    put_session(writer, line->session);
    json_member_i64(writer, "ageSeconds", (now_us - line->opened_us) / 1000000);
    json_member_i64(writer, "idleSeconds", (now_us - line->used_us) / 1000000);
    json_member_i64(writer, "seq", line->seq);
    json_end_object(writer);
}

void handle_roll_print(const struct handle_roll *page, int64_t now_us, handle_standing_fn *standing,
                       const void *arg, struct json_writer *writer)
{
    json_key(writer, "handles");
    json_begin_array(writer);
    for (size_t i = 0; i < page->count; i++) {
        const struct handle_roll_line *at = &page->lines[i];
        struct bytes collection =
            bytes_make(page->words.data + at->collection_at, at->line.collection.len);
        put_line(&at->line, collection, standing(arg, at->line.name), now_us, writer);
    }
    json_end_array(writer);
    json_key(writer, "before");
    if (page->count == HANDLE_ROLL_MAX)
        json_put_i64(writer, page->lines[page->count - 1].line.id);
    else
        json_put_null(writer);
}
