/* SPDX-License-Identifier: Apache-2.0 */
#include "query/trending.h"

#include "query/trending_people.h"
#include "query/trending_words.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOUR_US   INT64_C(3600000000)
#define CHUNK_MIN 64
#define CHUNK_MAX 256
#define AGE_SQL   "(?2 - s.last_us) / ?3"
#define WALK_SQL                                                                                   \
    "SELECT l.id, l.share_count_total, l.%s, l.normalized_url, l.title, l.description "            \
    "FROM %s l.%s %s AND l.last_shared_us >= ?3 AND l.share_count_total >= ?4 "                    \
    "AND l.flags & 56 = 0%s ORDER BY l.%s DESC, l.id DESC LIMIT %zu"
_Static_assert(LINK_IS_NO_NEWS == 56, "the question above says this number");

/* One answer in the making. */
struct walk {
    struct store *store;
    const struct config *config;
    struct trending *out;
    struct people people;
    char from[128]; /* SQL: the links that are looked at, up to a condition */
    int64_t since_us, step_us;
    int64_t key, id; /* the last link that was looked at, and what it is walked by */
    size_t size;     /* rows of a chunk */
    size_t seen;     /* rows of the last chunk, muted ones too */
    struct trending_link chunk[CHUNK_MAX];
    size_t chunk_count;
};

struct trending_request trending_request_default(int64_t now_us)
{
    return (struct trending_request){.now_us = now_us,
                                     .hours = 24,
                                     .limit = 50,
                                     .min_shares = 1,
                                     .degree = 1,
                                     .walk_max = TRENDING_WALK_MAX,
                                     .sharers = TRENDING_SHARERS_MAX};
}

static struct bytes text_or_absent(const struct field *field)
{
    return field->null ? BYTES_ABSENT : field->b;
}

static bool take_link(void *arg, const struct field *columns, size_t count)
{
    struct walk *walk = arg;
    const struct trending_request *request = &walk->out->request;
    assert(count == 6 && walk->chunk_count < CHUNK_MAX);
    walk->seen++;
    walk->id = columns[0].i;
    walk->key = columns[2].i;
    struct link_words words = {text_or_absent(&columns[3]), text_or_absent(&columns[4]),
                               text_or_absent(&columns[5])};
    if (words_match(&words, bytes_of(request->q)) && !words_are_muted(&words, walk->config))
        walk->chunk[walk->chunk_count++] =
            (struct trending_link){.id = columns[0].i, .total = columns[1].i};
    return walk->seen < walk->size;
}

static const char *key_of(const struct walk *walk)
{
    return walk->out->request.sort == TRENDING_RECENT ? "last_shared_us" : "share_count_total";
}

/* Goes on with links of which `rest` holds, until the chunk is full. */
static enum rc read_more(struct walk *walk, const char *rest, struct err *err)
{
    const struct trending_request *request = &walk->out->request;
    const char *key = key_of(walk);
    const struct field params[] = {field_int(walk->key), field_int(walk->id),
                                   field_int(walk->since_us), field_int(request->min_shares),
                                   field_text(bytes_of(request->domain))};
    bool one_site = request->domain[0] != '\0';
    const char *site = one_site ? " AND l.domain = ?5" : "";
    char sql[640];
    snprintf(sql, sizeof sql, WALK_SQL, key, walk->from, key, rest, site, key, walk->size);
    return store_query(walk->store, sql, params, one_site ? 5 : 4, take_link, walk, err);
}

/* First the equals of the last link, then what comes after them: asked for both at once, a database
 * goes through all equals each time. */
static enum rc read_chunk(struct walk *walk, struct err *err)
{
    walk->chunk_count = walk->seen = 0;
    enum rc rc = read_more(walk, "= ?1 AND l.id < ?2", err);
    if (rc == RC_OK && walk->seen < walk->size)
        rc = read_more(walk, "< ?1", err);
    return rc;
}

/* Of one account the links are looked at that it shared: few, however many there are. */
static enum rc choose_links(struct walk *walk, struct err *err)
{
    const char *author = walk->out->request.author;
    int64_t actor = 0;
    snprintf(walk->from, sizeof walk->from, "links l WHERE");
    if (*author == '\0')
        return RC_OK;
    enum rc rc = people_find(walk->store, bytes_of(author), &actor, err);
    if (rc == RC_OK && actor == 0)
        rc = err_set(err, RC_REJECT, "nobody is known here by the name %.128s", author);
    snprintf(walk->from, sizeof walk->from,
             "share x CROSS JOIN links l WHERE x.actor = %" PRId64 " AND x.last_us >= ?3 "
             "AND l.id = x.link_id AND",
             actor);
    return rc;
}

static struct trending_link *find_link(struct walk *walk, int64_t id)
{
    size_t i = 0;
    while (i < walk->chunk_count && walk->chunk[i].id != id)
        i++;
    assert(i < walk->chunk_count);
    return &walk->chunk[i];
}

/* What one person's share is worth after so many steps. */
static double worth(const struct walk *walk, int64_t steps)
{
    if (walk->out->request.sort != TRENDING_VELOCITY)
        return 1;
    return exp2(-((double)steps + 0.5) / TRENDING_STEPS);
}

/* link, steps, people, of them who share one site only, latest */
static bool take_people(void *arg, const struct field *columns, size_t count)
{
    struct walk *walk = arg;
    struct trending_link *link = find_link(walk, columns[0].i);
    double less = 1 - (double)walk->config->news.single_domain_percent / 100;
    assert(count == 5);
    link->shares += columns[2].i;
    link->damped += columns[3].i;
    link->score += ((double)columns[2].i - less * (double)columns[3].i) * worth(walk, columns[1].i);
    if (columns[4].i > link->last_us)
        link->last_us = columns[4].i;
    return true;
}

/* link, steps, actor, when */
static bool take_person(void *arg, const struct field *columns, size_t count)
{
    struct walk *walk = arg;
    struct trending_link *link = find_link(walk, columns[0].i);
    assert(count == 4);
    link->shares++;
    link->weighted++;
    link->score += people_weight(&walk->people, columns[2].i) * worth(walk, columns[1].i);
    if (columns[3].i > link->last_us)
        link->last_us = columns[3].i;
    return true;
}

static void append_ids(const struct walk *walk, struct text *sql)
{
    for (size_t i = 0; i < walk->chunk_count; i++)
        text_appendf(sql, "%s%" PRId64, i > 0 ? ", " : "", walk->chunk[i].id);
}

static enum rc count_people(struct walk *walk, struct err *err)
{
    const struct field params[] = {field_int(walk->since_us), field_int(walk->out->request.now_us),
                                   field_int(walk->step_us)};
    struct text sql = {0};
    /* Ages are told apart only where they count: links alone come in the order of an index. */
    bool ages = walk->out->request.sort == TRENDING_VELOCITY;
    text_appendf(&sql, "SELECT s.link_id, %s, count(*), CAST(sum(CASE ",
                 ages ? AGE_SQL : "CAST(0 AS BIGINT)");
    text_append_string(&sql, "WHEN s.actor IN (SELECT id FROM actors WHERE pusher = 1) THEN 1 "
                             "ELSE 0 END) AS BIGINT), max(s.last_us) FROM share s "
                             "WHERE s.link_id IN (");
    append_ids(walk, &sql);
    text_appendf(&sql, ") AND s.last_us >= ?1 AND %s GROUP BY s.link_id%s",
                 text_string(&walk->people.plain), ages ? ", 2" : "");
    enum rc rc =
        store_query(walk->store, text_string(&sql), params, ages ? 3 : 1, take_people, walk, err);
    if (rc == RC_OK && walk->people.person_count > 0) {
        text_clear(&sql);
        text_append_string(&sql, "SELECT s.link_id, " AGE_SQL ", s.actor, s.last_us "
                                 "FROM share s WHERE s.link_id IN (");
        append_ids(walk, &sql);
        text_appendf(&sql, ") AND s.last_us >= ?1 AND %s", text_string(&walk->people.weighted));
        rc = store_query(walk->store, text_string(&sql), params, 3, take_person, walk, err);
    }
    text_free(&sql);
    return rc;
}

/* Puts the link where it belongs; whoever came earlier stays before its equals. */
static void place(struct trending *out, const struct trending_link *link)
{
    size_t at = out->count;
    while (at > 0 && out->links[at - 1].score < link->score)
        at--;
    if (at == (size_t)out->request.limit)
        return;
    if (out->count < (size_t)out->request.limit)
        out->count++;
    memmove(&out->links[at + 1], &out->links[at], (out->count - 1 - at) * sizeof *link);
    out->links[at] = *link;
}

/* Nobody after what was looked at can come in. */
static bool is_settled(const struct walk *walk)
{
    const struct trending *out = walk->out;
    if (out->count < (size_t)out->request.limit)
        return false;
    double bound = (double)walk->key;
    if (out->request.sort != TRENDING_RECENT)
        bound *= walk->people.weight_max;
    return bound <= out->links[out->count - 1].score;
}

static enum rc take_chunk(struct walk *walk, struct err *err)
{
    enum rc rc = walk->chunk_count > 0 ? count_people(walk, err) : RC_OK;
    for (size_t i = 0; i < walk->chunk_count && rc == RC_OK; i++) {
        struct trending_link *link = &walk->chunk[i];
        if (link->shares < walk->out->request.min_shares)
            continue;
        if (walk->out->request.sort == TRENDING_RECENT)
            link->score = (double)link->last_us;
        if (link->score > 0)
            place(walk->out, link);
    }
    return rc;
}

enum rc trending_rank(struct store *store, const struct config *config,
                      const struct trending_request *request, struct trending *out, struct err *err)
{
    assert(request->limit >= 1 && request->limit <= TRENDING_LIMIT_MAX);
    assert(request->min_shares >= 1 && request->hours >= 1);
    *out = (struct trending){.request = *request};
    for (char *c = out->request.domain; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    struct walk walk = {.store = store,
                        .config = config,
                        .out = out,
                        .since_us = request->now_us - request->hours * HOUR_US,
                        .step_us = config->news.half_life_hours * HOUR_US / TRENDING_STEPS,
                        .key = INT64_MAX,
                        .id = INT64_MAX,
                        .size = CHUNK_MIN};
    if (request->sort != TRENDING_VELOCITY)
        walk.step_us = INT64_MAX;
    enum rc rc = people_init(&walk.people, store, config, request->degree, err);
    if (rc == RC_OK)
        rc = choose_links(&walk, err);
    bool settled;
    do {
        if (rc == RC_OK)
            rc = read_chunk(&walk, err);
        if (rc == RC_OK)
            rc = take_chunk(&walk, err);
        out->walked += walk.seen;
        settled = walk.seen < walk.size || is_settled(&walk);
        walk.size = CHUNK_MAX;
    } while (rc == RC_OK && !settled && out->walked < request->walk_max);
    out->truncated = !settled;
    people_deinit(&walk.people);
    return rc;
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

void trending_explain(const struct trending *trending, const struct trending_link *link,
                      const struct config *config, char out[TRENDING_WHY_MAX])
{
    const struct trending_request *request = &trending->request;
    struct text why = {0};
    text_appendf(&why, "%" PRId64 " %s shared it in the last %" PRId64 " hour%s", link->shares,
                 link->shares == 1 ? "person" : "people", request->hours, plural(request->hours));
    if (request->sort == TRENDING_VELOCITY)
        text_appendf(
            &why, ", who weigh %.2f by now: a share counts half after every %" PRId64 " hour%s",
            link->score, config->news.half_life_hours, plural(config->news.half_life_hours));
    else if (request->sort == TRENDING_SHARES && (link->damped > 0 || link->weighted > 0))
        text_appendf(&why, ", who weigh %.2f", link->score);
    if (request->sort != TRENDING_RECENT && link->damped > 0)
        text_appendf(&why,
                     "; %" PRId64 " of them only ever share%s this site and count%s %" PRId64
                     " %% each",
                     link->damped, link->damped == 1 ? "s" : "", link->damped == 1 ? "s" : "",
                     config->news.single_domain_percent);
    if (request->sort != TRENDING_RECENT && link->weighted > 0)
        text_appendf(&why, "; %" PRId64 " by a weight of their own", link->weighted);
    snprintf(out, TRENDING_WHY_MAX, "%s.", text_string(&why));
    text_free(&why);
}
