/* SPDX-License-Identifier: Apache-2.0 */
#include "query/covered.h"

#include "base/timestamp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define PARTS_MAX "100000"
#define COLUMNS   "SELECT source, stream, lo, hi FROM coverage "
#define IN_ORDER  "ORDER BY source, stream, lo LIMIT " PARTS_MAX
/* No chain is that high, and no history begins before 1973. */
#define TIME_MIN INT64_C(100000000000000)

static const char all_sql[] = COLUMNS IN_ORDER;
static const char account_sql[] =
    COLUMNS "WHERE source IN (SELECT a.name FROM account a LEFT JOIN account p "
            "ON p.id = a.parent_id WHERE a.name = ?1 OR p.name = ?1) " IN_ORDER;

/* Names lie one after another in one text, parts in one array: both move while they grow. */
struct place {
    size_t source_at, source_len, name_at, name_len;
    size_t first, count;
};

struct covered {
    struct text names;
    struct place *streams;
    size_t stream_count, stream_room;
    struct covered_part *parts;
    size_t part_count, part_room;
};

static void *make_room(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = *room == 0 ? 16 : *room * 2;
    return memory_resize(items, *room * size);
}

static void begin_stream(struct covered *covered, struct bytes source, struct bytes name)
{
    covered->streams = make_room(covered->streams, covered->stream_count, &covered->stream_room,
                                 sizeof *covered->streams);
    struct place *place = &covered->streams[covered->stream_count++];
    *place = (struct place){.source_at = covered->names.len,
                            .source_len = source.len,
                            .name_at = covered->names.len + source.len,
                            .name_len = name.len,
                            .first = covered->part_count};
    text_append(&covered->names, source.data, source.len);
    text_append(&covered->names, name.data, name.len);
}

static bool take_part(void *arg, const struct field *columns, size_t count)
{
    struct covered *covered = arg;
    assert(count == 4);
    size_t last = covered->stream_count;
    struct covered_stream before = {0};
    if (last > 0)
        before = covered_at(covered, last - 1);
    if (last == 0 || !bytes_equal(before.source, columns[0].b) ||
        !bytes_equal(before.name, columns[1].b))
        begin_stream(covered, columns[0].b, columns[1].b);
    covered->parts =
        make_room(covered->parts, covered->part_count, &covered->part_room, sizeof *covered->parts);
    covered->parts[covered->part_count++] = (struct covered_part){columns[2].i, columns[3].i};
    covered->streams[covered->stream_count - 1].count++;
    return true;
}

enum rc covered_read(struct store *store, const char *account, struct covered **out,
                     struct err *err)
{
    struct covered *covered = memory_new_zeroed(1, sizeof *covered);
    const struct field name = field_text(bytes_of(account));
    enum rc rc = store_query(store, account == NULL ? all_sql : account_sql, &name, account != NULL,
                             take_part, covered, err);
    *out = covered;
    return rc;
}

void covered_free(struct covered *covered)
{
    if (covered == NULL)
        return;
    text_free(&covered->names);
    free(covered->streams);
    free(covered->parts);
    free(covered);
}

size_t covered_count(const struct covered *covered)
{
    return covered->stream_count;
}

struct covered_stream covered_at(const struct covered *covered, size_t number)
{
    assert(number < covered->stream_count);
    const struct place *place = &covered->streams[number];
    const char *names = text_string(&covered->names);
    return (struct covered_stream){.source =
                                       bytes_make(names + place->source_at, place->source_len),
                                   .name = bytes_make(names + place->name_at, place->name_len),
                                   .parts = place->count > 0 ? covered->parts + place->first : NULL,
                                   .count = place->count};
}

/* As the store orders them. */
static int compare(const struct covered_stream *at, struct bytes source, struct bytes name)
{
    int order = bytes_compare(at->source, source);
    return order != 0 ? order : bytes_compare(at->name, name);
}

struct covered_stream covered_find(const struct covered *covered, struct bytes source,
                                   struct bytes stream)
{
    size_t low = 0, high = covered->stream_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct covered_stream at = covered_at(covered, middle);
        int order = compare(&at, source, stream);
        if (order == 0)
            return at;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct covered_stream){.source = source, .name = stream};
}

bool covered_hole(const struct covered_stream *stream, size_t number, struct covered_part *hole)
{
    assert(number < stream->count);
    hole->from = number == 0 ? 0 : stream->parts[number - 1].to;
    hole->to = stream->parts[number].from;
    return hole->to > hole->from;
}

/* ---- for programs ---- */

static void put_end(struct json_writer *json, const char *key, int64_t position)
{
    char time[TIMESTAMP_TEXT_MAX];
    json_key(json, key);
    if (position == 0)
        json_put_null(json);
    else if (position >= TIME_MIN && timestamp_format(position, time))
        json_put_cstring(json, time);
    else
        json_put_i64(json, position);
}

void covered_put_ends(struct json_writer *json, const struct covered_part *part)
{
    put_end(json, "from", part->from);
    put_end(json, "to", part->to);
}

static void put_part(struct json_writer *json, const struct covered_part *part)
{
    json_begin_object(json);
    covered_put_ends(json, part);
    json_end_object(json);
}

void covered_put(struct json_writer *json, const struct covered_stream *stream)
{
    struct covered_part hole;
    json_key(json, "covered");
    json_begin_array(json);
    for (size_t i = 0; i < stream->count; i++)
        put_part(json, &stream->parts[i]);
    json_end_array(json);
    json_key(json, "missing");
    json_begin_array(json);
    for (size_t i = 0; i < stream->count; i++)
        if (covered_hole(stream, i, &hole))
            put_part(json, &hole);
    json_end_array(json);
}

/* ---- for people ---- */

static void say_end(struct text *out, int64_t position)
{
    char time[TIMESTAMP_TEXT_MAX];
    if (position >= TIME_MIN && timestamp_format(position, time))
        text_appendf(out, "%.10s %.5s", time, time + 11);
    else
        text_appendf(out, "%" PRId64, position);
}

void covered_say(struct text *out, const struct covered_part *part)
{
    if (part->from == 0) {
        text_append_string(out, "up to ");
    } else {
        say_end(out, part->from);
        text_append_string(out, " to ");
    }
    say_end(out, part->to);
}
