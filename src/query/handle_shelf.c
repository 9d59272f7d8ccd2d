/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle_shelf.h"

#include "sys/crashpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)
#define SLICE     "500"

_Static_assert(SHELF_SLICE_MAX == 500, "as the statements say");

/* The index is by the minute, so that most uses of a handle leave it alone. */
static int64_t minute_of(int64_t us)
{
    return us / MINUTE_US;
}

static struct field name_field(const uint8_t name[16])
{
    return field_blob(bytes_make(name, 16));
}

static bool count_row(void *arg, const struct field *columns, size_t count)
{
    (void)columns, (void)count;
    ++*(size_t *)arg;
    return true;
}

/* ---- one handle ---- */

enum rc shelf_add(struct store *beside, const struct handle_state *state, struct err *err)
{
    struct text order = {0}, walk = {0};
    struct bytes filter = filter_json(state->filter);
    const struct opening *opening = &state->opening;
    size_t added = 0;
    assert(state->known && state->version == 0);
    handle_state_print_order(state, &order);
    walk_encode(&state->walk, &walk);
    const struct field params[] = {
        name_field(state->name),
        name_field(state->session),
        field_int(state->used_us),
        field_int(minute_of(state->used_us)),
        field_text(bytes_of(state->collection->name)),
        field_text(text_bytes(&order)),
        field_text(filter.data == NULL ? bytes_of("") : filter),
        field_int(state->page_size),
        field_int(opening->fence_n),
        field_int(opening->seq),
        field_int(opening->total),
        field_int(opening->kind),
        field_int(state->walk.number),
        field_blob(text_bytes(&walk)),
    };
    enum rc rc = store_query(
        beside,
        "INSERT INTO query_handles (name, session, version, opened_us, used_us, used_minute, "
        "collection, order_by, filter, page_size, fence_n, seq, total, count_kind, page, walk) "
        "VALUES (?1, ?2, 0, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) "
        /* Its own row, when the answer to the first try was lost: where the store stands now is
         * what its client is told. */
        "ON CONFLICT (name) DO UPDATE SET used_us = excluded.used_us, fence_n = excluded.fence_n, "
        "seq = excluded.seq, total = excluded.total, count_kind = excluded.count_kind, "
        "page = excluded.page, walk = excluded.walk "
        "WHERE query_handles.version = 0 AND query_handles.session = excluded.session RETURNING id",
        params, sizeof params / sizeof params[0], count_row, &added, err);
    text_free(&order);
    text_free(&walk);
    crashpoint(CRASH_HANDLE_KEPT);
    if (rc == RC_OK && added != 1)
        return err_set(err, RC_FATAL, "a handle's name was given twice");
    return rc;
}

struct loading {
    struct handle_state *state;
    const struct handle_finder *finder;
    struct refusal *refusal;
    enum rc rc;
};

static bool take_state(void *arg, const struct field *columns, size_t count)
{
    struct loading *loading = arg;
    struct handle_state *state = loading->state;
    const struct handle_words words = {columns[0].b, columns[1].b, columns[2].b, columns[3].b};
    assert(count == 13);
    loading->rc = handle_state_read(state, &words, loading->finder, loading->refusal);
    if (loading->rc != RC_OK)
        return false;
    assert(columns[4].b.len == sizeof state->session);
    memcpy(state->session, columns[4].b.data, sizeof state->session);
    state->version = columns[5].i;
    state->opened_us = columns[6].i;
    state->used_us = state->kept_us = columns[7].i;
    state->page_size = (unsigned)columns[8].i;
    state->opening = (struct opening){.fence_n = columns[9].i,
                                      .seq = columns[10].i,
                                      .total = columns[11].i,
                                      .kind = (enum count_kind)columns[12].i};
    return false;
}

static enum rc refuse_unknown(struct refusal *refusal)
{
    return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                       "no such query is open: it was closed, or not used for too long; open it "
                       "again");
}

enum rc shelf_load(struct store *beside, struct handle_state *state,
                   const struct handle_finder *finder, struct refusal *refusal, struct err *err)
{
    struct loading loading = {.state = state, .finder = finder, .refusal = refusal, .rc = RC_AGAIN};
    const struct field params[] = {name_field(state->name)};
    assert(!state->known);
    enum rc rc = store_query(
        beside,
        "SELECT collection, order_by, filter, walk, session, version, opened_us, used_us, "
        "page_size, fence_n, seq, total, count_kind FROM query_handles WHERE name = ?1",
        params, 1, take_state, &loading, err);
    if (rc != RC_OK)
        return rc;
    return loading.rc == RC_AGAIN ? refuse_unknown(refusal) : loading.rc;
}

static enum rc tell_gone_from_moved(struct store *beside, const struct field *name,
                                    struct refusal *refusal, struct err *err)
{
    size_t there = 0;
    enum rc rc = store_query(beside, "SELECT id FROM query_handles WHERE name = ?1", name, 1,
                             count_row, &there, err);
    if (rc != RC_OK)
        return rc;
    if (there == 0)
        return refuse_unknown(refusal);
    return refusal_set(refusal, REFUSAL_CONFLICT,
                       "another page of this query was read meanwhile: ask again");
}

#define SAVE(more)                                                                                 \
    "UPDATE query_handles SET version = version + 1, used_us = ?3, page_size = ?4, page = ?5, "    \
    "walk = ?6" more " WHERE name = ?1 AND version = ?2 RETURNING id"

enum rc shelf_save(struct store *beside, struct handle_state *state, struct refusal *refusal,
                   struct err *err)
{
    struct text walk = {0};
    size_t saved = 0;
    assert(state->known);
    walk_encode(&state->walk, &walk);
    const struct field params[] = {
        name_field(state->name),
        field_int(state->version),
        field_int(state->used_us),
        field_int(state->page_size),
        field_int(state->walk.number),
        field_blob(text_bytes(&walk)),
        field_int(minute_of(state->used_us)),
    };
    /* A column that is named is written into its index again, also with the value it has. */
    bool same_minute = minute_of(state->used_us) == minute_of(state->kept_us);
    enum rc rc = store_query(beside, same_minute ? SAVE("") : SAVE(", used_minute = ?7"), params,
                             same_minute ? 6 : 7, count_row, &saved, err);
    text_free(&walk);
    crashpoint(CRASH_HANDLE_MOVED);
    if (rc == RC_OK && saved == 0)
        return tell_gone_from_moved(beside, &params[0], refusal, err);
    if (rc == RC_OK) {
        state->version++;
        state->kept_us = state->used_us;
    }
    return rc;
}

enum rc shelf_touch(struct store *beside, const uint8_t name[HANDLE_NAME_SIZE], int64_t used_us,
                    struct err *err)
{
    const struct field params[] = {name_field(name), field_int(used_us),
                                   field_int(minute_of(used_us))};
    size_t touched = 0;
    return store_query(beside,
                       "UPDATE query_handles SET used_us = ?2, used_minute = ?3 "
                       "WHERE name = ?1 AND used_us < ?2 RETURNING id",
                       params, 3, count_row, &touched, err);
}

struct owner {
    const uint8_t *session;
    bool found, same;
};

static bool take_owner(void *arg, const struct field *columns, size_t count)
{
    struct owner *owner = arg;
    assert(count == 1);
    owner->found = true;
    owner->same = bytes_equal(columns[0].b, bytes_make(owner->session, HANDLE_SESSION_SIZE));
    return false;
}

enum rc shelf_remove(struct store *beside, const uint8_t name[HANDLE_NAME_SIZE],
                     const uint8_t session[HANDLE_SESSION_SIZE], bool *removed,
                     struct refusal *refusal, struct err *err)
{
    const struct field params[] = {name_field(name), name_field(session)};
    struct owner owner = {.session = session};
    size_t gone = 0;
    enum rc rc = store_query(
        beside, "DELETE FROM query_handles WHERE name = ?1 AND session = ?2 RETURNING id", params,
        2, count_row, &gone, err);
    *removed = gone > 0;
    crashpoint(CRASH_HANDLE_REMOVED);
    if (rc != RC_OK || gone > 0)
        return rc;
    rc = store_query(beside, "SELECT session FROM query_handles WHERE name = ?1", params, 1,
                     take_owner, &owner, err);
    if (rc == RC_OK && owner.found && !owner.same)
        return refusal_set(refusal, REFUSAL_FORBIDDEN, "this query belongs to another session");
    return rc;
}

/* ---- many ---- */

enum rc shelf_expire(struct store *beside, int64_t since_us, size_t *removed, struct err *err)
{
    const struct field params[] = {field_int(minute_of(since_us)), field_int(since_us)};
    *removed = 0;
    return store_query(beside,
                       "DELETE FROM query_handles WHERE id IN (SELECT id FROM query_handles "
                       "WHERE used_minute <= ?1 AND used_us <= ?2 ORDER BY used_minute "
                       "LIMIT " SLICE ") AND used_us <= ?2 RETURNING id",
                       params, 2, count_row, removed, err);
}

enum rc shelf_end_session(struct store *beside, const uint8_t session[HANDLE_SESSION_SIZE],
                          size_t *removed, struct err *err)
{
    const struct field params[] = {name_field(session)};
    *removed = 0;
    return store_query(beside,
                       "DELETE FROM query_handles WHERE id IN (SELECT id FROM query_handles "
                       "WHERE session = ?1 LIMIT " SLICE ") RETURNING id",
                       params, 1, count_row, removed, err);
}

enum rc shelf_count(struct store *beside, int64_t *count, struct err *err)
{
    return store_query_int(beside, "SELECT count(*) FROM query_handles", 0, count, err);
}

struct listing {
    shelf_line_fn *fn;
    void *arg;
};

static bool take_line(void *arg, const struct field *columns, size_t count)
{
    struct listing *listing = arg;
    struct shelf_line line = {
        .id = columns[0].i,
        .collection = columns[3].b,
        .filter = columns[4].b,
        .page = columns[5].i,
        .page_size = columns[6].i,
        .seq = columns[7].i,
        .opened_us = columns[8].i,
        .used_us = columns[9].i,
    };
    assert(count == 10);
    assert(columns[1].b.len == sizeof line.name && columns[2].b.len == sizeof line.session);
    memcpy(line.name, columns[1].b.data, sizeof line.name);
    memcpy(line.session, columns[2].b.data, sizeof line.session);
    listing->fn(listing->arg, &line);
    return true;
}

enum rc shelf_list(struct store *beside, int64_t before, unsigned lines_max, shelf_line_fn *fn,
                   void *arg, struct err *err)
{
    struct listing listing = {fn, arg};
    const struct field params[] = {field_int(before == 0 ? INT64_MAX : before),
                                   field_int(lines_max)};
    return store_query(beside,
                       "SELECT id, name, session, collection, filter, page, page_size, seq, "
                       "opened_us, used_us FROM query_handles WHERE id < ?1 ORDER BY id DESC "
                       "LIMIT ?2",
                       params, 2, take_line, &listing, err);
}
