/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/timestamp.h"
#include "query/column_member.h"
#include "query/story.h"
#include "query/trending.h"
#include "query/trending_people.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HOUR_US    INT64_C(3600000000)
#define TITLES_MAX (1 << 18) /* bytes of all that are compared */
#define GAPS_MAX   100
#define OPEN_GAPS                                                                                  \
    "gaps WHERE closed_us IS NULL AND to_us > ?1 "                                                 \
    "AND source IN ('jetstream', 'appview', 'polling')"

static const char link_sql[] = "SELECT coalesce(reader_url, original_url), title, description, "
                               "image_url, domain, first_shared_us FROM links WHERE id = ?1";

/* What is needed of the ranked links to see which are of one story. */
struct titles {
    const struct trending *trending;
    struct story_article articles[TRENDING_LIMIT_MAX];
    size_t first[TRENDING_LIMIT_MAX];
    struct arena bytes;
};

struct printing {
    struct json_writer json;
    const struct trending *trending;
    const struct trending_link *link;
    const struct config *config;
    const struct titles *titles;
    int64_t complete_us;
    bool found;
};

static void put_id(struct json_writer *json, int64_t id)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, id);
    json_member_cstring(json, "id", text);
}

/* url, title, description, image, domain */
static void put_words(struct json_writer *json, const struct field *columns)
{
    static const char *const keys[] = {"url", "title", "description", "image", "domain"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        column_member_text(json, keys[i], &columns[i]);
}

/* what put_words() takes, first */
static bool print_link(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    struct json_writer *json = &printing->json;
    const struct trending_link *link = printing->link;
    struct field last = field_int(link->last_us);
    char why[TRENDING_WHY_MAX];
    assert(count == 6);
    printing->found = true;
    json_begin_object(json);
    put_id(json, link->id);
    put_words(json, columns);
    json_member_i64(json, "shares", link->shares);
    column_member_time(json, "first_shared_at", &columns[5]);
    column_member_time(json, "last_shared_at", &last);
    json_key(json, "score");
    json_put_real(json, link->score);
    json_key(json, "why");
    trending_explain(printing->trending, link, printing->config, why);
    json_put_cstring(json, why);
    json_key(json, "sharers");
    json_begin_array(json);
    return false;
}

/* did, handle, display name, avatar */
static void put_person(struct json_writer *json, const struct field *columns)
{
    static const char *const keys[] = {"did", "handle", "displayName", "avatar"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        column_member_text(json, keys[i], &columns[i]);
}

static bool print_sharer(void *arg, const struct field *columns, size_t count)
{
    struct json_writer *json = &((struct printing *)arg)->json;
    assert(count == 4);
    json_begin_object(json);
    put_person(json, columns);
    json_end_object(json);
    return true;
}

static bool print_post(void *arg, const struct field *columns, size_t count)
{
    struct json_writer *json = &((struct printing *)arg)->json;
    assert(count == 9);
    json_begin_object(json);
    column_member_text(json, "uri", &columns[0]);
    put_person(json, columns + 1);
    column_member_text(json, "text", &columns[5]);
    json_member_cstring(json, "kind", columns[6].i == POST_KIND_REPOST ? "repost" : "post");
    column_member_time(json, "shared_at", &columns[7]);
    column_member_text(json, "via", &columns[8]);
    json_end_object(json);
    return true;
}

/* Only people who shared it as late as so many others are looked at: whoever has a stored post of
 * that time leaves no room for earlier ones. Many may have shared it at that very time: of those
 * no more is read than their order takes. SQLite takes tables in the order of a CROSS JOIN. */
static enum rc print_posts(struct printing *printing, struct store *store, int64_t link,
                           int64_t max, struct err *err)
{
    const struct field params[] = {field_int(link), field_int(INT64_MIN)};
    char sql[2048];
    snprintf(sql, sizeof sql,
             "SELECT 'at://' || a.did || '/' || p.collection || '/' || p.rkey, a.did, a.handle, "
             "a.display_name, a.avatar, p.body, p.kind, p.shared_us, l.via FROM ("
             "SELECT y.n AS n, s.actor AS actor FROM share s CROSS JOIN post_links x "
             "CROSS JOIN post y WHERE s.link_id = ?1 AND s.last_us >= coalesce((SELECT t.last_us "
             "FROM share t CROSS JOIN actors b WHERE t.link_id = ?1 AND b.id = t.actor "
             "AND b.active = 1 AND t.n_posts > t.old_posts "
             "AND (t.old_us IS NULL OR t.old_us < t.last_us) "
             "ORDER BY t.last_us DESC LIMIT 1 OFFSET %" PRId64 "), ?2) AND " PEOPLE_ARE_THERE
             " AND x.link_id = ?1 AND x.actor = s.actor AND y.n = x.post_id "
             "ORDER BY y.shared_us DESC, y.n DESC LIMIT %" PRId64 ") z "
             "CROSS JOIN post p CROSS JOIN actors a CROSS JOIN post_links l WHERE p.n = z.n "
             "AND a.id = z.actor AND l.post_id = z.n AND l.link_id = ?1 "
             "ORDER BY p.shared_us DESC, p.n DESC",
             max - 1, max);
    json_key(&printing->json, "posts");
    json_begin_array(&printing->json);
    enum rc rc = store_query(store, sql, params, 2, print_post, printing, err);
    json_end_array(&printing->json);
    return rc;
}

/* url, title, domain */
static bool print_other(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    struct json_writer *json = &printing->json;
    assert(count == 3);
    json_begin_object(json);
    put_id(json, printing->link->id);
    column_member_text(json, "url", &columns[0]);
    column_member_text(json, "title", &columns[1]);
    column_member_text(json, "domain", &columns[2]);
    json_member_i64(json, "shares", printing->link->shares);
    json_end_object(json);
    return false;
}

/* The other articles of the story that the link begins. */
static enum rc print_others(struct printing *printing, struct store *store, struct err *err)
{
    const struct trending *trending = printing->trending;
    const struct trending_link *begin = printing->link;
    size_t at = (size_t)(begin - trending->links);
    enum rc rc = RC_OK;
    json_key(&printing->json, "also");
    json_begin_array(&printing->json);
    for (size_t i = at + 1; i < trending->count && rc == RC_OK; i++) {
        if (printing->titles->first[i] != at)
            continue;
        printing->link = &trending->links[i];
        struct field id = field_int(printing->link->id);
        rc = store_query(store,
                         "SELECT coalesce(reader_url, original_url), title, domain FROM links "
                         "WHERE id = ?1",
                         &id, 1, print_other, printing, err);
    }
    printing->link = begin;
    json_end_array(&printing->json);
    return rc;
}

/* A link that was merged or removed since it was ranked is passed over. */
static enum rc print_one(struct printing *printing, struct store *store,
                         const struct people *people, struct err *err)
{
    const struct trending_request *request = &printing->trending->request;
    const struct field params[] = {field_int(printing->link->id),
                                   field_int(request->now_us - request->hours * HOUR_US)};
    struct text sql = {0};
    printing->found = false;
    enum rc rc = store_query(store, link_sql, params, 1, print_link, printing, err);
    if (rc != RC_OK || !printing->found)
        return rc;
    text_appendf(&sql,
                 "SELECT a.did, a.handle, a.display_name, a.avatar FROM (SELECT s.last_us AS us, "
                 "s.actor AS actor FROM share s WHERE s.link_id = ?1 AND s.last_us >= ?2 AND %s "
                 "ORDER BY s.last_us DESC, s.actor LIMIT %" PRId64 ") z "
                 "CROSS JOIN actors a WHERE a.id = z.actor ORDER BY z.us DESC, z.actor",
                 text_string(&people->counts), request->sharers);
    rc = store_query(store, text_string(&sql), params, 2, print_sharer, printing, err);
    text_free(&sql);
    json_end_array(&printing->json);
    if (rc == RC_OK && request->stories != 0)
        rc = print_others(printing, store, err);
    if (rc == RC_OK && request->posts > 0)
        rc = print_posts(printing, store, printing->link->id, request->posts, err);
    json_end_object(&printing->json);
    return rc;
}

static bool print_gap(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    assert(count == 5);
    json_begin_object(&printing->json);
    column_member_text(&printing->json, "source", &columns[0]);
    column_member_text(&printing->json, "stream", &columns[1]);
    column_member_time(&printing->json, "from", &columns[2]);
    column_member_time(&printing->json, "to", &columns[3]);
    column_member_text(&printing->json, "reason", &columns[4]);
    json_end_object(&printing->json);
    return true;
}

static bool take_latest(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    assert(count == 1);
    if (!columns[0].null && columns[0].i > printing->complete_us)
        printing->complete_us = columns[0].i;
    return false;
}

/* How far back the histories of those who are followed are read at first. */
static int64_t lookback_us(const struct config *config)
{
    return HOUR_US * (config->bluesky.mode == CONFIG_MODE_POLLING
                          ? config->polling.initial_lookback_hours
                          : config->did_manager.backfill_lookback_hours);
}

/* From when on nothing is known to be missing: the end of the last open gap, when the last of the
 * accounts whose history is still unread was asked for, or where all reading began; and what is
 * kept no longer is not complete. */
static enum rc find_complete(struct printing *printing, int64_t since_us, struct store *store,
                             struct err *err)
{
    const struct config *config = printing->config;
    int64_t now_us = printing->trending->request.now_us;
    int64_t kept_us = now_us - config->retention.window_hours * HOUR_US;
    const struct field values[] = {field_int(since_us), field_int(lookback_us(config))};
    printing->complete_us = config->retention.enabled && kept_us > since_us ? kept_us : since_us;
    enum rc rc = store_query(store,
                             "SELECT max(x.us) FROM (SELECT max(to_us) AS us FROM " OPEN_GAPS
                             " UNION ALL SELECT max(queued_us) FROM backfill_queue UNION ALL "
                             "SELECT min(applied_us) - ?2 FROM schema_migrations) x",
                             values, 2, take_latest, printing, err);
    if (printing->complete_us > now_us)
        printing->complete_us = now_us;
    return rc;
}

static enum rc print_missing(struct printing *printing, struct store *store, struct err *err)
{
    const struct trending_request *request = &printing->trending->request;
    struct field since = field_int(request->now_us - request->hours * HOUR_US);
    char sql[256];
    enum rc rc = find_complete(printing, since.i, store, err);
    struct field complete = field_int(printing->complete_us);
    column_member_time(&printing->json, "complete_since", &complete);
    snprintf(sql, sizeof sql,
             "SELECT source, stream, from_us, to_us, reason FROM " OPEN_GAPS
             " ORDER BY from_us, id LIMIT %d",
             GAPS_MAX);
    if (printing->trending->truncated) {
        json_key(&printing->json, "truncated");
        json_put_bool(&printing->json, true);
    }
    json_key(&printing->json, "gaps");
    json_begin_array(&printing->json);
    if (rc == RC_OK)
        rc = store_query(store, sql, &since, 1, print_gap, printing, err);
    json_end_array(&printing->json);
    return rc;
}

/* id, title, domain */
static bool take_title(void *arg, const struct field *columns, size_t count)
{
    struct titles *titles = arg;
    assert(count == 3);
    for (size_t i = 0; i < titles->trending->count; i++)
        if (titles->trending->links[i].id == columns[0].i)
            titles->articles[i] = (struct story_article){
                arena_copy(&titles->bytes, columns[1].null ? BYTES_ABSENT : columns[1].b),
                arena_copy(&titles->bytes, columns[2].null ? BYTES_ABSENT : columns[2].b)};
    return true;
}

/* Without stories every link is one of its own. A title that finds no room tells none. */
static enum rc find_stories(struct titles *titles, const struct trending *trending,
                            struct store *store, struct err *err)
{
    struct text sql = {0};
    enum rc rc = RC_OK;
    titles->trending = trending;
    for (size_t i = 0; i < trending->count; i++)
        titles->first[i] = i;
    if (trending->request.stories == 0 || trending->count == 0)
        return RC_OK;
    arena_init(&titles->bytes, TITLES_MAX);
    text_append_string(&sql, "SELECT id, title, domain FROM links WHERE id IN (");
    for (size_t i = 0; i < trending->count; i++)
        text_appendf(&sql, "%s%" PRId64, i > 0 ? ", " : "", trending->links[i].id);
    text_append_char(&sql, ')');
    rc = store_query(store, text_string(&sql), NULL, 0, take_title, titles, err);
    if (rc == RC_OK)
        story_group(titles->articles, trending->count, titles->first);
    arena_deinit(&titles->bytes);
    text_free(&sql);
    return rc;
}

enum rc trending_print(struct store *store, const struct config *config,
                       const struct trending_request *request, struct text *out, struct err *err)
{
    struct trending *trending = memory_new_zeroed(1, sizeof *trending);
    struct titles *titles = memory_new_zeroed(1, sizeof *titles);
    struct printing printing = {.trending = trending, .config = config, .titles = titles};
    struct people people;
    enum rc rc = trending_rank(store, config, request, trending, err);
    enum rc known = people_init(&people, store, config, request->degree, err);
    rc = rc == RC_OK ? known : rc;
    if (rc == RC_OK)
        rc = find_stories(titles, trending, store, err);
    text_clear(out);
    json_writer_init(&printing.json, out);
    json_begin_object(&printing.json);
    json_key(&printing.json, "links");
    json_begin_array(&printing.json);
    for (size_t i = 0; i < trending->count && rc == RC_OK; i++) {
        printing.link = &trending->links[i];
        if (titles->first[i] == i)
            rc = print_one(&printing, store, &people, err);
    }
    json_end_array(&printing.json);
    if (rc == RC_OK)
        rc = print_missing(&printing, store, err);
    json_end_object(&printing.json);
    text_append_char(out, '\n');
    people_deinit(&people);
    free(titles);
    free(trending);
    return rc;
}

/* ---- the posts behind a link ---- */

/* what put_words() takes, first */
static bool print_subject(void *arg, const struct field *columns, size_t count)
{
    struct printing *printing = arg;
    struct json_writer *json = &printing->json;
    assert(count == 6);
    printing->found = true;
    put_words(json, columns);
    column_member_time(json, "first_shared_at", &columns[5]);
    return false;
}

enum rc trending_print_posts(struct store *store, int64_t link, struct text *out, struct err *err)
{
    struct printing printing = {0};
    struct field id = field_int(link);
    text_clear(out);
    json_writer_init(&printing.json, out);
    json_begin_object(&printing.json);
    json_key(&printing.json, "link");
    json_begin_object(&printing.json);
    put_id(&printing.json, link);
    enum rc rc = store_query(store, link_sql, &id, 1, print_subject, &printing, err);
    json_end_object(&printing.json);
    if (rc == RC_OK && !printing.found)
        rc = err_set(err, RC_REJECT, "there is no link %" PRId64, link);
    if (rc == RC_OK)
        rc = print_posts(&printing, store, link, TRENDING_ALL_POSTS_MAX, err);
    json_end_object(&printing.json);
    text_append_char(out, '\n');
    return rc;
}
