/* SPDX-License-Identifier: Apache-2.0 */
#include "source/subjects.h"

#include "base/timestamp.h"
#include "decode/at_uri.h"
#include "decode/post_record.h"

#include <assert.h>
#include <stdlib.h>

#define ITEMS_MAX   100
#define ROUND_MAX   25 /* what getPosts takes */
#define ROUNDS      2  /* under way */
#define CID_MAX     128
#define SECOND_US   INT64_C(1000000)
#define HOUR_US     (3600 * SECOND_US)
#define LAG_US_MAX  (6 * HOUR_US)      /* an AppView is not further behind the stream */
#define AWAY_US_MAX (7 * 24 * HOUR_US) /* nobody can say whether it is there for longer */

/* Each an interval of one index. */
#define DUE(interval)                                                                              \
    "SELECT * FROM (SELECT item, attempts, since_us, item AS address, 0 AS flags FROM owed "       \
    "WHERE source = ?1 AND stream = ?2 AND state = 'owed' AND next_us " interval                   \
    " ORDER BY next_us, item LIMIT ?4) AS d"

static const char due_sql[] = DUE("<= ?3") " UNION ALL " DUE("> ?5");

static const struct retry_schedule schedule = {
    .delays_us = {0, 5 * SECOND_US, 30 * SECOND_US, 120 * SECOND_US, 600 * SECOND_US, HOUR_US},
    .delay_count = 6,
    .jitter_percent = RETRY_JITTER_PERCENT,
    .retry_after_us_max = RETRY_AFTER_US_MAX,
};

/* One question and the posts it is about. */
struct round {
    struct subjects *subjects;
    struct appview_call *call; /* NULL: idle */
    struct due_item *items[ROUND_MAX];
    size_t count;
};

struct subjects {
    struct due due;
    struct appview *appview;
    struct round rounds[ROUNDS];
};

/* ---- answers ---- */

static struct json find_post(struct json posts, struct bytes uri)
{
    struct json_walk walk = json_walk(posts);
    struct bytes key;
    struct json post;
    while (json_walk_next(&walk, &key, &post))
        if (bytes_equal(json_string_or_absent(json_get(post, "uri")), uri))
            return post;
    return (struct json){0};
}

static enum rc add_post(struct subjects *subjects, const struct due_item *item, struct json post,
                        int64_t now_us)
{
    struct at_uri uri;
    struct post_output out;
    int64_t shared_us = now_us;
    bool parsed = at_uri_parse(text_bytes(&item->item), &uri);
    struct bytes cid = json_string_or_absent(json_get(post, "cid"));
    struct bytes indexed = json_string_or_absent(json_get(post, "indexedAt"));
    assert(parsed); /* or it would not have been asked for */
    if (indexed.data != NULL && !timestamp_parse(indexed, &shared_us))
        shared_us = now_us;
    struct post_input input = {
        .did = uri.did,
        .collection = uri.collection,
        .rkey = uri.rkey,
        .cid = cid.len > CID_MAX ? BYTES_ABSENT : cid,
        .op = POST_OP_PUT,
        .kind = POST_KIND_SUBJECT,
        .shared_us = shared_us,
        .now_us = now_us,
        .body = json_get(post, "record"),
    };
    return post_record_add(&input, subjects->due.filling, &out);
}

static enum rc settle_absent(struct subjects *subjects, struct due_item *item, int64_t now_us)
{
    bool young = now_us - item->since_us < LAG_US_MAX, dead;
    return due_failed(&subjects->due, item, young ? RETRY_TRANSIENT : RETRY_PERMANENT,
                      "the AppView does not have it", -1, &dead);
}

/* The post and that it is no longer owed, or what became of it without one. */
static enum rc settle(struct subjects *subjects, struct due_item *item, struct json post,
                      int64_t now_us)
{
    struct batch *batch = due_batch(&subjects->due);
    if (batch == NULL)
        return RC_AGAIN;
    struct batch_mark mark = batch_mark(batch);
    bool empty = batch->record_count == 0, dead;
    if (json_type(json_get(post, "record")) != JSON_OBJECT)
        return settle_absent(subjects, item, now_us);
    enum rc rc = add_post(subjects, item, post, now_us);
    if (rc == RC_AGAIN && empty)
        return due_failed(&subjects->due, item, RETRY_PERMANENT, "does not fit into a batch", -1,
                          &dead);
    if (rc == RC_OK)
        rc = due_done(&subjects->due, item);
    if (rc != RC_OK)
        batch_undo(batch, mark);
    return rc;
}

static void fail(struct subjects *subjects, struct due_item *item, enum retry_class class,
                 const char *reason)
{
    struct runtime *runtime = subjects->due.env.runtime;
    bool dead;
    if (runtime->ops->wall_us(runtime) - item->since_us >= AWAY_US_MAX)
        class = RETRY_PERMANENT;
    if (due_batch(&subjects->due) == NULL ||
        due_failed(&subjects->due, item, class, reason, -1, &dead) != RC_OK)
        due_put_back(&subjects->due, item);
}

static void take_posts(struct round *round, const struct appview_answer *answer)
{
    struct subjects *subjects = round->subjects;
    struct json posts = json_get(answer->root, "posts");
    for (size_t i = 0; i < round->count; i++) {
        struct due_item *item = round->items[i];
        if (settle(subjects, item, find_post(posts, text_bytes(&item->item)),
                   answer->answered_us) != RC_OK)
            due_put_back(&subjects->due, item);
    }
}

static void work(void *arg);

static void take_answer(void *arg, const struct appview_answer *answer)
{
    struct round *round = arg;
    struct subjects *subjects = round->subjects;
    bool garbled = answer->rc == RC_OK && json_type(json_get(answer->root, "posts")) != JSON_ARRAY;
    bool spoilt = answer->rc == RC_REJECT && round->count > 1;
    round->call = NULL;
    if (answer->rc == RC_OK && !garbled) {
        take_posts(round, answer);
    } else {
        for (size_t i = 0; i < round->count; i++) {
            round->items[i]->alone = true;
            if (spoilt)
                due_put_back(&subjects->due, round->items[i]);
            else
                fail(subjects, round->items[i],
                     answer->rc == RC_REJECT ? RETRY_PERMANENT : RETRY_TRANSIENT,
                     garbled ? "the answer has no posts" : answer->err.text);
        }
    }
    due_send(&subjects->due);
    work(subjects);
}

/* ---- questions ---- */

/* The items of the next question. */
static void fill_round(struct subjects *subjects, struct round *round)
{
    struct due_item *item;
    struct at_uri uri;
    round->count = 0;
    while (round->count < ROUND_MAX && (item = due_next(&subjects->due)) != NULL) {
        if (!at_uri_parse(text_bytes(&item->item), &uri)) {
            fail(subjects, item, RETRY_PERMANENT, "no address of a post");
            return; /* put back, perhaps: not again in this turn */
        }
        if (item->alone && round->count > 0) {
            due_put_back(&subjects->due, item);
            return;
        }
        round->items[round->count++] = item;
        if (item->alone)
            return;
    }
}

static bool send_round(struct subjects *subjects, struct round *round)
{
    struct appview_param params[ROUND_MAX];
    for (size_t i = 0; i < round->count; i++)
        params[i] = (struct appview_param){"uris", text_bytes(&round->items[i]->item)};
    struct appview_request request = {.method = "app.bsky.feed.getPosts",
                                      .params = params,
                                      .param_count = round->count,
                                      .priority = APPVIEW_NEWS};
    round->call = appview_ask(subjects->appview, &request, take_answer, round);
    for (size_t i = 0; i < round->count && round->call == NULL; i++)
        due_put_back(&subjects->due, round->items[i]);
    return round->call != NULL;
}

static void work(void *arg)
{
    struct subjects *subjects = arg;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct round *round = &subjects->rounds[i];
        if (round->call != NULL)
            continue;
        fill_round(subjects, round);
        if (round->count == 0 || !send_round(subjects, round))
            break;
    }
    due_send(&subjects->due);
}

struct subjects *subjects_new(const struct source_env *env, struct appview *appview)
{
    struct subjects *subjects = memory_new_zeroed(1, sizeof *subjects);
    struct due_options options = {.source = "appview",
                                  .stream = "posts",
                                  .sql = due_sql,
                                  .items_max = ITEMS_MAX,
                                  .schedule = schedule,
                                  .work = work,
                                  .arg = subjects};
    subjects->appview = appview;
    due_init(&subjects->due, env, &options);
    for (size_t i = 0; i < ROUNDS; i++)
        subjects->rounds[i].subjects = subjects;
    return subjects;
}

void subjects_free(struct subjects *subjects)
{
    due_deinit(&subjects->due);
    free(subjects);
}

void subjects_start(struct subjects *subjects)
{
    due_start(&subjects->due);
}

void subjects_stop(struct subjects *subjects)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        if (subjects->rounds[i].call != NULL)
            appview_cancel(subjects->appview, subjects->rounds[i].call);
        subjects->rounds[i].call = NULL;
    }
    due_stop(&subjects->due);
}

bool subjects_stopped(const struct subjects *subjects)
{
    return due_stopped(&subjects->due);
}

struct due_counts subjects_counts(const struct subjects *subjects)
{
    return subjects->due.counts;
}
