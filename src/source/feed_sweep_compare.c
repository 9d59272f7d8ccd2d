/* SPDX-License-Identifier: Apache-2.0 */
#include "source/feed_sweep_parts.h"

#include "decode/post_record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SETTLE_US    INT64_C(120000000) /* what is younger may not have reached the AppView */
#define POSTS_METHOD "app.bsky.feed.getPosts"
#define PLACE_MS                                                                                   \
    "(CASE WHEN p.created_us < p.shared_us THEN p.created_us ELSE p.shared_us END / 1000)"

enum { COLUMN_COLLECTION, COLUMN_RKEY, COLUMN_REV, COLUMN_SUBJECT, COLUMN_SHARED_US, COLUMNS };

static const char stored_sql[] = "SELECT p.collection, p.rkey, p.rev, p.subject, p.shared_us "
                                 "FROM actors a JOIN post p ON p.actor = a.id WHERE a.did = ?1 AND "
                                 "p.kind < 2 AND p.shared_us < ?2 AND " PLACE_MS " > ?3 "
                                 "AND " PLACE_MS " <= ?4 AND p.collection || '/' || p.rkey > ?5 "
                                 "ORDER BY p.collection || '/' || p.rkey LIMIT 25";

static void look_further(struct feed_sweep *sweep);
static void ask_store(struct feed_sweep *sweep);

/* ---- what is gone ---- */

static bool add_delete(struct feed_sweep *sweep, const struct sweep_missing *missing)
{
    struct post_output added;
    struct runtime *runtime = sweep->env->source->runtime;
    int64_t now_us = runtime->ops->wall_us(runtime);
    return post_record_add(
               &(struct post_input){.did = sweep->order.did,
                                    .collection = bytes_of(missing->repost ? AT_REPOST : AT_POST),
                                    .rkey = bytes_of(missing->rkey),
                                    .rev = bytes_of(missing->rev),
                                    .op = POST_OP_DELETE,
                                    .unseen = true,
                                    .asof_seq = sweep->order.asof_seq,
                                    .kind = missing->repost ? POST_KIND_REPOST : POST_KIND_POST,
                                    .shared_us = now_us,
                                    .now_us = now_us},
               sweep->batch, &added) == RC_OK;
}

static void store_deletes(struct feed_sweep *sweep)
{
    while (sweep->missing_count > 0) {
        const struct sweep_missing *missing = &sweep->missing[sweep->missing_count - 1];
        bool absent = missing->repost == missing->known, gone = absent && !missing->doubtful;
        sweep->report.doubted |= absent && missing->doubtful;
        if (gone && !sweep_take_batch(sweep, store_deletes))
            return;
        if (gone && !add_delete(sweep, missing)) {
            if (!sweep_submit(sweep, store_deletes))
                return;
            continue;
        }
        sweep->missing_count--;
    }
    look_further(sweep);
}

/* ---- asking for it by name ---- */

static void mark_known(struct feed_sweep *sweep, struct bytes uri)
{
    for (size_t i = 0; i < sweep->missing_count; i++)
        if (bytes_equal_string(uri, sweep->missing[i].asked))
            sweep->missing[i].known = true;
}

static void take_posts(void *arg, const struct appview_answer *answer)
{
    struct feed_sweep *sweep = arg;
    struct bytes key, uri;
    struct json value;
    sweep->call = NULL;
    if (answer->rc != RC_OK || json_type(json_get(answer->root, "posts")) != JSON_ARRAY) {
        sweep_fail(sweep, "the AppView does not say whether posts that are missing were deleted");
        return;
    }
    struct json_walk walk = json_walk(json_get(answer->root, "posts"));
    while (json_walk_next(&walk, &key, &value))
        if (json_string(json_get(value, "uri"), &uri))
            mark_known(sweep, uri);
    store_deletes(sweep);
}

static void ask_posts(struct feed_sweep *sweep)
{
    struct appview_param params[SWEEP_COMPARE_MAX];
    for (size_t i = 0; i < sweep->missing_count; i++)
        params[i] = (struct appview_param){"uris", bytes_of(sweep->missing[i].asked)};
    const struct appview_request request = {POSTS_METHOD, params, sweep->missing_count,
                                            sweep->order.priority, NULL};
    sweep->call = appview_ask(sweep->env->appview, &request, take_posts, sweep);
    if (sweep->call == NULL)
        sweep_wait(sweep, ask_posts, SWEEP_FULL_US);
}

/* ---- what is stored ---- */

static bool copy_text(char *out, size_t size, const struct field *field)
{
    size_t len = field->null ? 0 : field->b.len;
    if (len >= size)
        return false;
    if (len > 0)
        memcpy(out, field->b.data, len);
    out[len] = '\0';
    return true;
}

/* Whether the feed may only not have come so far as to show it, or shows nothing at all today. */
static bool is_doubtful(const struct feed_sweep *sweep, int64_t shared_us)
{
    int64_t shown_us = sweep->next.newest.us;
    return !sweep->order.doubted && shared_us > shown_us &&
           (shown_us == 0 || shared_us > sweep->order.mark.us);
}

/* A repost whose subject is not known cannot be judged: it stays. */
static void note_missing(struct feed_sweep *sweep, const struct field *row)
{
    struct sweep_missing *missing = &sweep->missing[sweep->missing_count];
    *missing =
        (struct sweep_missing){.repost = bytes_equal_string(row[COLUMN_COLLECTION].b, AT_REPOST),
                               .doubtful = is_doubtful(sweep, row[COLUMN_SHARED_US].i)};
    bool whole = copy_text(missing->rkey, sizeof missing->rkey, &row[COLUMN_RKEY]) &&
                 copy_text(missing->rev, sizeof missing->rev, &row[COLUMN_REV]) &&
                 copy_text(missing->asked, sizeof missing->asked, &row[COLUMN_SUBJECT]);
    if (whole && !missing->repost) {
        int len = snprintf(missing->asked, sizeof missing->asked, "at://%s/" AT_POST "/%.*s",
                           sweep->did, (int)row[COLUMN_RKEY].b.len, row[COLUMN_RKEY].b.data);
        whole = len > 0 && (size_t)len < sizeof missing->asked;
    }
    if (whole && missing->asked[0] != '\0')
        sweep->missing_count++;
}

static void take_stored(void *arg, const struct lookup_answer *answer)
{
    struct feed_sweep *sweep = arg;
    sweep->looking = false;
    if (sweep->stopping)
        return;
    if (answer->rc != RC_OK) { /* it is busy, or away: the page waits for it as a batch would */
        sweep_wait(sweep, ask_store, SWEEP_STORE_US);
        return;
    }
    assert(answer->rows <= SWEEP_COMPARE_MAX);
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *row = answer->fields + i * COLUMNS;
        int len = snprintf(sweep->after_key, sizeof sweep->after_key, "%.*s/%.*s",
                           (int)row[COLUMN_COLLECTION].b.len, row[COLUMN_COLLECTION].b.data,
                           (int)row[COLUMN_RKEY].b.len, row[COLUMN_RKEY].b.data);
        assert(len > 0 && (size_t)len < sizeof sweep->after_key);
        struct bytes key = bytes_of(sweep->after_key);
        if (!id_set_contains(&sweep->keys[0], key) && !id_set_contains(&sweep->keys[1], key))
            note_missing(sweep, row);
    }
    sweep->compared = answer->rows < SWEEP_COMPARE_MAX;
    if (sweep->missing_count > 0)
        ask_posts(sweep);
    else
        look_further(sweep);
}

static void ask_store(struct feed_sweep *sweep)
{
    const struct source_env *source = sweep->env->source;
    int64_t above = sweep->place.reached_us, below = sweep->next.reached_us;
    const struct field params[] = {
        field_text(sweep->order.did), field_int(sweep->place.began_us - SETTLE_US),
        field_int(below == INT64_MIN ? INT64_MIN : below / 1000),
        field_int(above == 0 ? INT64_MAX : above / 1000), field_text(bytes_of(sweep->after_key))};
    sweep->looking = source->ask(source->ask_arg, stored_sql, params,
                                 sizeof params / sizeof params[0], take_stored, sweep) == RC_OK;
    if (!sweep->looking)
        sweep_wait(sweep, ask_store, SWEEP_FULL_US);
}

static void look_further(struct feed_sweep *sweep)
{
    if (sweep->compared)
        sweep_store_page(sweep);
    else
        ask_store(sweep);
}

void sweep_compare(struct feed_sweep *sweep)
{
    sweep->after_key[0] = '\0';
    sweep->missing_count = 0;
    sweep->compared = false;
    ask_store(sweep);
}
