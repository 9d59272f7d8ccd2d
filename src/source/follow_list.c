/* SPDX-License-Identifier: Apache-2.0 */
#include "source/follow_list.h"

#include "sys/crashpoint.h"

#include <assert.h>
#include <string.h>

#define LOST_ALL_MIN  10 /* so many that are all gone are too many to be believed at once ... */
#define LOST_HALF_MIN 20 /* ... and so many of whom more than half are */
#define DOUBTS_MAX    8  /* then nobody else can be asked: more than half an hour */

static const char edges_sql[] =
    "SELECT e.did, f.handle, f.display_name, a.active, a.status FROM follow_edge e "
    "LEFT JOIN follows f ON f.did = e.did LEFT JOIN actors a ON a.did = e.did "
    "WHERE e.owner = ?1 ORDER BY e.did";
enum { EDGE_DID, EDGE_HANDLE, EDGE_NAME, EDGE_ACTIVE, EDGE_STATUS, EDGE_COLUMNS };

static void go_on(void *arg);

static int64_t wall(const struct follow_list *list)
{
    return list->env->runtime->ops->wall_us(list->env->runtime);
}

static void end(struct follow_list *list, enum rc rc, const struct err *err)
{
    list->stage = FOLLOW_IDLE;
    delivery_drop(&list->delivery);
    id_set_clear(&list->seen);
    follow_absent_clear(&list->absent);
    if (!list->stopping)
        list->ended(list->arg, rc, err);
}

static void fail(struct follow_list *list, const char *reason)
{
    struct err err;
    end(list, err_set(&err, RC_RETRY, "%s", reason), &err);
}

/* ---- pages ---- */

static bool add_line(struct follow_list *list, const struct actor_view *actor, struct batch *batch)
{
    struct record *record = batch_add(batch, RECORD_FOLLOW);
    if (record == NULL)
        return false;
    batch_set_int(record, FOLLOW_LISTING, list->order.id);
    bool whole = batch_set_text(batch, record, FOLLOW_OWNER, bytes_of(list->owner)) &&
                 batch_set_text(batch, record, FOLLOW_DID, actor->did) &&
                 actor_view_put(actor, batch, record, FOLLOW_HANDLE);
    if (!whole)
        batch_drop_last(batch, record);
    return whole;
}

/* NULL, or what is wrong with the page. */
static const char *take_page(struct follow_list *list, struct json root)
{
    struct json follows = json_get(root, "follows");
    struct json_walk walk = json_walk(follows);
    struct bytes key, cursor = json_string_or_absent(json_get(root, "cursor"));
    struct json item;
    struct actor_view actor;
    size_t before = id_set_count(&list->seen);
    if (json_type(follows) != JSON_ARRAY)
        return "a page of the list has no follows";
    while (json_walk_next(&walk, &key, &item)) {
        if (!actor_view_read(item, &actor))
            return "a page of the list names an account without a DID";
        if (!id_set_add(&list->seen, actor.did))
            continue; /* the list moved while it was read */
        if (id_set_count(&list->seen) > FOLLOW_LIST_MAX)
            return "the list has more accounts than can be followed";
        if (!add_line(list, &actor, list->delivery.batch))
            return "a page of the list is larger than it may be";
    }
    list->last_page = cursor.len == 0;
    list->idle_pages = id_set_count(&list->seen) > before ? 0 : list->idle_pages + 1;
    if (!list->last_page &&
        (bytes_equal(cursor, text_bytes(&list->cursor)) || list->idle_pages >= FOLLOW_IDLE_MAX))
        return "the list does not come to its end";
    text_clear(&list->cursor);
    text_append(&list->cursor, cursor.data, cursor.len);
    return NULL;
}

static void on_page(void *arg, const struct appview_answer *answer)
{
    struct follow_list *list = arg;
    list->call = NULL;
    if (answer->rc != RC_OK) {
        end(list, answer->rc, &answer->err);
        return;
    }
    provider_words_copy(list->provider, sizeof list->provider, answer->provider);
    const char *wrong = take_page(list, answer->root);
    if (wrong != NULL)
        fail(list, wrong);
    else if (list->delivery.batch->record_count > 0)
        delivery_send(&list->delivery);
    else
        go_on(list);
    crashpoint(CRASH_FOLLOWS_PAGE);
}

static void ask_page(struct follow_list *list)
{
    struct appview_param params[] = {{"actor", bytes_of(list->owner)},
                                     {"limit", bytes_of("100")},
                                     {"cursor", text_bytes(&list->cursor)}};
    const struct follow_doubt *doubt = list->order.doubt;
    bool again = doubt != NULL && doubt->times > 0;
    struct appview_request request = {.method = "app.bsky.graph.getFollows",
                                      .params = params,
                                      .other_than = again ? doubt->provider : NULL,
                                      .param_count = list->cursor.len > 0 ? 3 : 2,
                                      .priority = list->order.priority};
    const char *only = list->cursor.len > 0 ? list->provider : NULL; /* who gave it */
    list->call = appview_ask_only(list->appview, &request, only, on_page, list);
    if (list->call == NULL)
        fail(list, "too many questions wait for the AppViews already");
}

/* ---- who is missing ---- */

static enum absent_fate known_fate(const struct field *row)
{
    if (row[EDGE_ACTIVE].null || row[EDGE_ACTIVE].i != 0)
        return ABSENT_UNKNOWN;
    bool gone = !row[EDGE_STATUS].null && bytes_equal_string(row[EDGE_STATUS].b, "deleted");
    return gone ? ABSENT_GONE : ABSENT_AWAY;
}

static void take_edge(struct follow_list *list, const struct field *row)
{
    struct actor_view actor = {.did = row[EDGE_DID].b};
    actor.handle = row[EDGE_HANDLE].null ? bytes_of(ACTOR_HANDLE_INVALID) : row[EDGE_HANDLE].b;
    actor.display_name = row[EDGE_NAME].null ? BYTES_ABSENT : row[EDGE_NAME].b;
    enum absent_fate fate = known_fate(row);
    if (!id_set_contains(&list->seen, actor.did))
        follow_absent_add(&list->absent, &actor, fate);
    else if (fate != ABSENT_UNKNOWN)
        follow_absent_add(&list->absent, &actor, ABSENT_RETURNED);
}

/* Of those who are there and were on the list: how many, and how many are not on it any more. */
static size_t count_lost(const struct follow_list *list, const struct lookup_answer *answer,
                         size_t *had)
{
    size_t lost = 0;
    *had = 0;
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *row = &answer->fields[i * EDGE_COLUMNS];
        bool there = known_fate(row) == ABSENT_UNKNOWN;
        *had += there;
        lost += there && !id_set_contains(&list->seen, row[EDGE_DID].b);
    }
    return lost;
}

/* False: it would change too much for what one AppView said once. */
static bool is_believed(struct follow_list *list, size_t had, size_t lost)
{
    struct follow_doubt *doubt = list->order.doubt;
    bool odd = (had >= LOST_ALL_MIN && lost == had) || (had >= LOST_HALF_MIN && lost > had / 2);
    if (doubt == NULL)
        return true;
    bool other = doubt->times > 0 && (strcmp(doubt->provider, list->provider) != 0 ||
                                      appview_count(list->appview) == 1);
    if (!odd || other || doubt->times >= DOUBTS_MAX) {
        doubt->times = 0;
        return true;
    }
    if (doubt->times++ == 0)
        memcpy(doubt->provider, list->provider, sizeof doubt->provider);
    doubt->last = true;
    return false;
}

static void on_edges(void *arg, const struct lookup_answer *answer)
{
    struct follow_list *list = arg;
    list->asking_store = false;
    if (list->stopping || answer->rc != RC_OK) {
        fail(list, answer->err.text);
        return;
    }
    assert(answer->rows == 0 || answer->columns == EDGE_COLUMNS);
    size_t had, lost = count_lost(list, answer, &had);
    if (!is_believed(list, had, lost)) {
        struct err err;
        end(list,
            err_set(&err, RC_RETRY,
                    "%s lists %zu of %zu accounts no more: not believed unless %s says so, too",
                    list->provider, lost, had,
                    appview_count(list->appview) > 1 ? "another AppView" : "the next reading"),
            &err);
        return;
    }
    for (size_t i = 0; i < answer->rows; i++)
        take_edge(list, &answer->fields[i * EDGE_COLUMNS]);
    follow_absent_start(&list->absent, list->order.priority);
}

static void on_fates(void *arg, enum rc rc, const struct err *err)
{
    struct follow_list *list = arg;
    if (rc != RC_OK) {
        end(list, rc, err);
        return;
    }
    list->stage = FOLLOW_END;
    go_on(list);
}

static void ask_edges(struct follow_list *list)
{
    struct field owner = field_text(bytes_of(list->owner));
    list->asking_store =
        list->env->ask(list->env->ask_arg, edges_sql, &owner, 1, on_edges, list) == RC_OK;
    if (!list->asking_store)
        fail(list, "too many questions wait for the store already");
}

/* ---- the end ---- */

static bool add_standing(struct batch *batch, struct bytes did, bool active, const char *status,
                         int64_t at_us)
{
    struct record *record = batch_add(batch, RECORD_ACCOUNT);
    if (record == NULL)
        return false;
    batch_set_int(record, ACCOUNT_AT_US, at_us);
    batch_set_int(record, ACCOUNT_ACTIVE, active);
    bool whole = batch_set_text(batch, record, ACCOUNT_DID, did) &&
                 batch_set_text(batch, record, ACCOUNT_STATUS, bytes_of(status));
    if (!whole)
        batch_drop_last(batch, record);
    return whole;
}

/* One who is away stays on the list; one who is gone leaves it, and what was shared with it. */
static bool add_absent(struct follow_list *list, const struct absent_account *account,
                       struct batch *batch)
{
    static const char *const status[] = {[ABSENT_GONE] = "deleted",
                                         [ABSENT_DEACTIVATED] = "deactivated",
                                         [ABSENT_TAKEN_DOWN] = "takendown",
                                         [ABSENT_RETURNED] = NULL};
    struct batch_mark mark = batch_mark(batch);
    if (account->fate == ABSENT_GONE || account->fate == ABSENT_RETURNED)
        return add_standing(batch, account->actor.did, account->fate == ABSENT_RETURNED,
                            status[account->fate], list->began_us);
    bool whole = add_line(list, &account->actor, batch);
    if (whole && account->fate != ABSENT_AWAY)
        whole =
            add_standing(batch, account->actor.did, false, status[account->fate], list->began_us);
    if (whole)
        (void)id_set_add(&list->seen, account->actor.did);
    else
        batch_undo(batch, mark);
    return whole;
}

static bool add_listing(struct follow_list *list, struct batch *batch)
{
    const struct follow_order *order = &list->order;
    struct record *record = batch_add(batch, RECORD_LISTING);
    if (record == NULL)
        return false;
    batch_set_int(record, LISTING_ID, list->order.id);
    batch_set_int(record, LISTING_AT_US, wall(list));
    batch_set_int(record, LISTING_DEGREE, order->actor != NULL ? 1 : 2);
    batch_set_int(record, LISTING_ENTRIES, (int64_t)id_set_count(&list->seen));
    batch_set_int(record, LISTING_ACTORS, order->actors);
    batch_set_int(record, LISTING_PRIORITY, order->backfill_priority);
    if (order->backfill)
        batch_set_int(record, LISTING_SINCE_US, list->began_us - order->lookback_us);
    if (order->sources_min >= 0) {
        batch_set_int(record, LISTING_SOURCES_MIN, order->sources_min);
        batch_set_int(record, LISTING_SECOND_MAX, order->second_max);
    }
    bool whole = batch_set_text(batch, record, LISTING_OWNER, bytes_of(list->owner)) &&
                 batch_set_text(batch, record, LISTING_ACTOR, bytes_of(order->actor));
    if (!whole)
        batch_drop_last(batch, record);
    return whole;
}

/* What does not fit goes with the next batch; the record that ends the list is in the last one. */
static void write_end(struct follow_list *list, struct batch *batch)
{
    const struct follow_absent *absent = &list->absent;
    for (; list->kept < absent->count; list->kept++) {
        const struct absent_account *account = &absent->accounts[list->kept];
        if (account->fate >= ABSENT_GONE && !add_absent(list, account, batch))
            break;
    }
    if (list->kept == absent->count && add_listing(list, batch))
        list->stage = FOLLOW_IDLE;
    delivery_send(&list->delivery);
    crashpoint(CRASH_FOLLOWS_END_SENT);
}

static void on_stored(void *arg, enum rc rc)
{
    struct follow_list *list = arg;
    crashpoint(CRASH_FOLLOWS_STORED);
    if (list->stopping || rc != RC_OK)
        fail(list, "the store takes nothing any more");
    else if (list->stage == FOLLOW_IDLE)
        end(list, RC_OK, NULL);
    else
        go_on(list);
}

/* ---- life ---- */

static void go_on(void *arg)
{
    struct follow_list *list = arg;
    assert(list->stage != FOLLOW_IDLE && list->call == NULL && !list->delivery.under_way);
    if (list->stage == FOLLOW_PAGES && list->last_page) {
        list->stage = list->order.actor != NULL ? FOLLOW_MISSING : FOLLOW_END;
        if (list->stage == FOLLOW_MISSING) {
            delivery_drop(&list->delivery);
            ask_edges(list);
            return;
        }
    }
    struct batch *batch = delivery_take(&list->delivery);
    if (batch == NULL)
        return; /* comes back here */
    if (list->stage == FOLLOW_PAGES)
        ask_page(list);
    else
        write_end(list, batch);
}

void follow_list_init(struct follow_list *list, const struct source_env *env,
                      struct appview *appview, follow_list_fn *ended, void *arg)
{
    uint64_t seed = env->runtime->ops->random(env->runtime);
    *list = (struct follow_list){.env = env, .appview = appview, .ended = ended, .arg = arg};
    id_set_init(&list->seen, seed);
    follow_absent_init(&list->absent, appview, on_fates, list);
    delivery_init(&list->delivery, env, go_on, on_stored, list);
}

void follow_list_deinit(struct follow_list *list)
{
    delivery_drop(&list->delivery);
    id_set_deinit(&list->seen);
    follow_absent_deinit(&list->absent);
    text_free(&list->cursor);
}

void follow_list_start(struct follow_list *list, const struct follow_order *order)
{
    assert(follow_list_idle(list) && strlen(order->owner) <= ACTOR_DID_MAX);
    list->order = *order;
    memcpy(list->owner, order->owner, strlen(order->owner) + 1);
    list->stage = FOLLOW_PAGES;
    if (order->doubt != NULL)
        order->doubt->last = false;
    list->began_us = wall(list);
    list->last_page = false;
    list->kept = 0;
    list->idle_pages = 0;
    text_clear(&list->cursor);
    go_on(list);
}

void follow_list_stop(struct follow_list *list)
{
    list->stopping = true;
    if (list->call != NULL)
        appview_cancel(list->appview, list->call);
    list->call = NULL;
    follow_absent_stop(&list->absent);
    delivery_drop(&list->delivery);
}

bool follow_list_idle(const struct follow_list *list)
{
    return list->call == NULL && list->absent.call == NULL && !list->asking_store &&
           list->delivery.batch == NULL && (list->stage == FOLLOW_IDLE || list->stopping);
}
