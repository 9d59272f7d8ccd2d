/* SPDX-License-Identifier: Apache-2.0 */
#include "floor_writer.h"
#include "stopwatch.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 9
#define OID_INT8    20
#define OID_TEXT    25

enum { BEGIN, ACTORS, POSTS, CURSOR, SHOWN, ENGINE, COMMIT, STATEMENTS };

static const char *const names[STATEMENTS] = {"b", "a", "p", "c", "s", "e", "z"};
static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN",
    [ACTORS] = "INSERT INTO actors (id, did) SELECT * FROM unnest($1::int8[], $2::text[])",
    [POSTS] = "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us, "
              "created_us, body) SELECT n, $1::int8, actor, '" STOCK_COLLECTION "', rkey, 0, rev, "
              "shared_us, created_us, body FROM unnest($2::int8[], $3::int8[], $4::text[], "
              "$5::text[], $6::int8[], $7::int8[], $8::text[]) "
              "AS r(n, actor, rkey, rev, shared_us, created_us, body)",
    [CURSOR] = "INSERT INTO cursors (source, stream, state, position, updated_us, seq) "
               "VALUES ('" STOCK_SOURCE "', '" STOCK_STREAM "', $1::text, $2::int8, $2::int8, "
               "$3::int8) ON CONFLICT (source, stream) DO UPDATE SET state = excluded.state, "
               "position = excluded.position, updated_us = excluded.updated_us, "
               "seq = excluded.seq",
    [SHOWN] = "INSERT INTO jetstream_state (id, cursor_time_us) VALUES (1, $1::int8) "
              "ON CONFLICT (id) DO UPDATE SET cursor_time_us = excluded.cursor_time_us, "
              "last_updated = CURRENT_TIMESTAMP",
    [ENGINE] = "UPDATE engine SET commit_seq = $1::int8, next_n = $2::int8 WHERE id = 1",
    [COMMIT] = "COMMIT",
};

static PGconn *connection;
static struct text columns[COLUMNS_MAX];
static size_t sent;

static void check(PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC) {
        fprintf(stderr, "floor: %s\n", PQerrorMessage(connection));
        abort();
    }
    PQclear(result);
}

static void put_u32(struct text *out, uint32_t value)
{
    value = htobe32(value);
    text_append(out, &value, 4);
}

static void put_number(struct text *out, int64_t value)
{
    uint64_t big = htobe64((uint64_t)value);
    text_append(out, &big, 8);
}

static void put_int(struct text *out, int64_t value)
{
    put_u32(out, 8);
    put_number(out, value);
}

static void put_text(struct text *out, const char *data, size_t len)
{
    put_u32(out, (uint32_t)len);
    text_append(out, data, len);
}

static struct text *begin_array(int column, uint32_t type, size_t count)
{
    struct text *out = &columns[column];
    text_clear(out);
    put_u32(out, 1);
    put_u32(out, 0);
    put_u32(out, type);
    put_u32(out, (uint32_t)count);
    put_u32(out, 1);
    return out;
}

static void put_value(int column, int64_t value)
{
    text_clear(&columns[column]);
    put_number(&columns[column], value);
}

static void send(int which, int count)
{
    const char *values[COLUMNS_MAX];
    int lengths[COLUMNS_MAX], formats[COLUMNS_MAX];
    for (int i = 0; i < count; i++) {
        values[i] = columns[i].data;
        lengths[i] = (int)columns[i].len;
        formats[i] = 1;
    }
    if (!PQsendQueryPrepared(connection, names[which], count, values, lengths, formats, 1))
        abort();
    sent++;
}

static void send_actors(const struct post_stock *stock, const struct stock_post *posts)
{
    size_t count = 0;
    for (size_t i = 0; i < STOCK_COMMIT_POSTS; i++)
        count += posts[i].actor_is_new;
    if (count == 0)
        return;
    struct text *ids = begin_array(0, OID_INT8, count), *dids = begin_array(1, OID_TEXT, count);
    for (size_t i = 0; i < STOCK_COMMIT_POSTS; i++) {
        if (!posts[i].actor_is_new)
            continue;
        put_int(ids, posts[i].n);
        put_text(dids, stock->dids[posts[i].actor], strlen(stock->dids[posts[i].actor]));
    }
    send(ACTORS, 2);
}

static void send_posts(const struct post_stock *stock, const struct stock_post *posts, int64_t seq)
{
    static const uint32_t types[] = {OID_INT8, OID_INT8, OID_TEXT, OID_TEXT,
                                     OID_INT8, OID_INT8, OID_TEXT};
    put_value(0, seq);
    for (int i = 1; i <= 7; i++)
        begin_array(i, types[i - 1], STOCK_COMMIT_POSTS);
    for (size_t i = 0; i < STOCK_COMMIT_POSTS; i++) {
        struct bytes text = post_stock_text(stock, &posts[i]);
        put_int(&columns[1], posts[i].n);
        put_int(&columns[2], posts[i].actor_id);
        put_text(&columns[3], posts[i].rkey, 13);
        put_text(&columns[4], posts[i].rev, 13);
        put_int(&columns[5], posts[i].shared_us);
        put_int(&columns[6], posts[i].created_us);
        put_text(&columns[7], text.data, text.len);
    }
    send(POSTS, 8);
}

static void collect(void)
{
    for (; sent > 0; sent--) {
        check(PQgetResult(connection));
        PQclear(PQgetResult(connection));
    }
    check(PQgetResult(connection));
}

static void write_commit(const struct post_stock *stock, size_t which)
{
    const struct stock_post *posts = &stock->posts[which * STOCK_COMMIT_POSTS];
    const struct stock_post *last = &posts[STOCK_COMMIT_POSTS - 1];
    int64_t seq = (int64_t)which + 1;
    char out[STOCK_STATE_MAX];
    struct bytes state = post_stock_state(stock, (which + 1) * STOCK_COMMIT_POSTS, out);
    send(BEGIN, 0);
    send_actors(stock, posts);
    send_posts(stock, posts, seq);
    text_clear(&columns[0]);
    text_append(&columns[0], state.data, state.len);
    put_value(1, last->shared_us);
    put_value(2, seq);
    send(CURSOR, 3);
    put_value(0, last->shared_us);
    send(SHOWN, 1);
    put_value(0, seq);
    put_value(1, last->n + 2);
    send(ENGINE, 2);
    send(COMMIT, 0);
    if (!PQpipelineSync(connection))
        abort();
    collect();
}

/* What tells a row that is there already from a failure. */
static void prepare(bool plain)
{
    struct text sql = {0};
    for (int i = 0; i < STATEMENTS; i++) {
        text_clear(&sql);
        text_append_string(&sql, texts[i]);
        if (!plain && (i == ACTORS || i == POSTS))
            text_append_string(&sql, " ON CONFLICT DO NOTHING");
        check(PQprepare(connection, names[i], text_string(&sql), 0, NULL));
    }
    text_free(&sql);
}

double floor_postgres(const char *url, const struct post_stock *stock, bool plain, double *took)
{
    connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK)
        abort();
    double start = seconds_now(), cpu = server_cpu(PQbackendPID(connection));
    prepare(plain);
    if (!PQenterPipelineMode(connection))
        abort();
    for (size_t i = 0; i < stock->commits; i++) {
        write_commit(stock, i);
        double now = seconds_now();
        took[i] = now - start;
        start = now;
    }
    cpu = server_cpu(PQbackendPID(connection)) - cpu;
    PQfinish(connection);
    for (int i = 0; i < COLUMNS_MAX; i++)
        text_free(&columns[i]);
    return cpu;
}
