/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions that the source lists: wallets, token accounts. What is complete is so for those that
 * had shown rows when that was stored, so their marks are stored with it; one that is listed later
 * may be older than that, and is read to its end. */
#include "base/hash.h"
#include "source/ledger_aside.h"
#include "source/ledger_stream_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK_LEN  8
#define MARKS_MAX (LEDGER_ASIDE_PARTS_MAX / MARK_LEN)

void ledger_stream_take_list(struct ledger_stream *stream)
{
    struct json root = stream->side.root, value;
    struct json_walk walk = json_walk(json_pointer(root, stream->shape->listed.records));
    const char *next = stream->shape->listed.next;
    struct bytes key, name;
    while (json_walk_next(&walk, &key, &value)) {
        if (!json_string(json_pointer(value, stream->shape->listed.value), &name) || name.len == 0)
            continue;
        if (stream->part_count == LEDGER_LEGS_MAX) {
            ledger_stream_failed(stream, RETRY_PERMANENT, -1, "lists too many parts");
            return;
        }
        text_append(&stream->parts, name.data, name.len);
        text_append_char(&stream->parts, '\0');
        stream->part_count++;
    }
    name = next == NULL ? BYTES_ABSENT : json_string_or_absent(json_pointer(root, next));
    bool again = name.len == stream->list_token.len && name.len > 0 &&
                 memcmp(name.data, stream->list_token.data, name.len) == 0;
    text_clear(&stream->list_token);
    text_append(&stream->list_token, name.data, name.len);
    if (name.len == 0 || again)
        ledger_stream_start_walk(stream, (int)stream->part_count);
    if (stream->purpose == ASK_PAGE && ledger_walk_over(&stream->walk))
        ledger_stream_settle(stream); /* there is no part */
    else
        ledger_stream_choose(stream);
}

/* ---- which of them are known ---- */

static void mark_part(struct bytes part, char out[MARK_LEN + 1])
{
    snprintf(out, MARK_LEN + 1, "%08" PRIx32, (uint32_t)hash_bytes(part, 0));
}

static bool has_mark(struct bytes marks, const char *mark)
{
    for (size_t at = 0; at + MARK_LEN <= marks.len; at += MARK_LEN)
        if (memcmp(marks.data + at, mark, MARK_LEN) == 0)
            return true;
    return false;
}

/* Each name has a NUL after it. */
static struct bytes next_part(const char **at)
{
    struct bytes part = bytes_of(*at);
    *at += part.len + 1;
    return part;
}

void ledger_stream_tell_new_parts(struct ledger_stream *stream)
{
    char mark[MARK_LEN + 1];
    const char *at = text_string(&stream->parts);
    struct bytes marks = ledger_aside_read(stream->cursor_doc, stream->stored.cursor.custom).parts;
    for (unsigned i = 0; i < stream->part_count; i++) {
        mark_part(next_part(&at), mark);
        ledger_walk_tell_part(&stream->walk, i, has_mark(marks, mark));
    }
    text_clear(&stream->marks);
    text_append(&stream->marks, marks.data, marks.len);
}

/* All that have shown rows; nothing, if they are too many to be remembered. */
static void mark_seen(struct ledger_stream *stream)
{
    char mark[MARK_LEN + 1];
    const char *at = text_string(&stream->parts);
    text_clear(&stream->marks);
    for (unsigned i = 0; i < stream->part_count && stream->part_count <= MARKS_MAX; i++) {
        const struct ledger_leg *leg = &stream->walk.legs[i];
        mark_part(next_part(&at), mark);
        if (leg->last >= 0 || leg->seen)
            text_append_string(&stream->marks, mark);
    }
}

void ledger_stream_note_place(struct ledger_stream *stream, bool sweeping, bool complete)
{
    const struct connector_figure *count = &stream->shape->count;
    struct ledger_aside aside = ledger_aside_none();
    if (complete && !stream->skips)
        mark_seen(stream);
    aside.parts = text_bytes(&stream->marks);
    aside.hold_ms = stream->hold_ms;
    /* Before the walk is over nobody knows whether what waited still does. */
    if (stream->run->file == NULL)
        aside.waits = stream->waits_from;
    if ((!complete || stream->skips) && stream->waited_from >= 0 &&
        (aside.waits < 0 || stream->waited_from < aside.waits))
        aside.waits = stream->waited_from;
    if (sweeping && stream->walk.top >= 0 &&
        !ledger_reread_has_passed(&stream->reread, &stream->walk)) {
        aside.top = stream->walk.top;
    } else if (complete && count->request == NULL) {
        aside.total = ledger_stream_total(stream);
    }
    ledger_aside_write(&aside, stream->stored.cursor.custom);
}
