/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cards.h"

#include "decode/card.h"
#include "source/cards_page.h"
#include "source/turns.h"
#include "sys/crashpoint.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS_MAX    256
#define FETCHES_MAX  128
#define PAGE_MS_MAX  10000
#define HOP_MS_MIN   1000
#define ATTEMPTS_MAX 8
#define SECOND_US    INT64_C(1000000)

/* Each an interval of one index. */
#define DUE(interval)                                                                              \
    "SELECT * FROM (SELECT o.item, o.attempts, o.since_us, "                                       \
    "coalesce(l.reader_url, l.original_url) AS address, l.flags "                                  \
    "FROM owed o LEFT JOIN links l ON l.normalized_url = o.item WHERE o.source = ?1 "              \
    "AND o.stream = ?2 AND o.state = 'owed' AND o.next_us " interval                               \
    " ORDER BY o.next_us, o.item LIMIT ?4) AS d"

static const char due_sql[] = DUE("<= ?3") " UNION ALL " DUE("> ?5");

static const struct retry_schedule schedule = {
    .delays_us = {0, 30 * SECOND_US, 120 * SECOND_US, 600 * SECOND_US, 1800 * SECOND_US,
                  3600 * SECOND_US},
    .delay_count = 6,
    .attempts_max = ATTEMPTS_MAX,
    .jitter_percent = RETRY_JITTER_PERCENT,
    .retry_after_us_max = RETRY_AFTER_US_MAX,
};

/* A page that is not there, or not for us, will not be there for the next asking either. */
static const struct retry_rule rules[] = {
    {402, 407, NULL, RETRY_PERMANENT},
    {411, 424, NULL, RETRY_PERMANENT},
    {426, 428, NULL, RETRY_PERMANENT},
    {430, 499, NULL, RETRY_PERMANENT},
};

struct fetch {
    struct cards *cards;
    struct due_item *item; /* NULL: it is free */
    struct cards_way way;
    struct turn turn;
    int64_t asked_us, spent_us;
};

struct cards {
    struct due due;
    struct runtime *runtime;
    struct turns turns;
    struct fetch fetches[FETCHES_MAX];
};

static int64_t mono(const struct cards *cards)
{
    return cards->runtime->ops->mono_us(cards->runtime);
}

static int64_t wall(const struct cards *cards)
{
    return cards->runtime->ops->wall_us(cards->runtime);
}

/* ---- the end of a fetch ---- */

static void release(struct fetch *fetch)
{
    fetch->item = NULL;
}

/* What became of the item could not be written down: it is fetched again. */
static void put_back(struct fetch *fetch)
{
    due_put_back(&fetch->cards->due, fetch->item);
    release(fetch);
}

/* `response` is the page; NULL: only the way is known. */
static void finish(struct fetch *fetch, const struct http_response *response)
{
    struct cards *cards = fetch->cards;
    struct due *due = &cards->due;
    struct batch *batch = due_batch(due);
    if (batch == NULL) {
        put_back(fetch);
        return;
    }
    struct batch_mark mark = batch_mark(batch);
    enum rc rc =
        cards_page_add(batch, text_bytes(&fetch->item->item), &fetch->way, response, wall(cards));
    if (rc == RC_OK)
        rc = due_done(due, fetch->item);
    crashpoint(CRASH_CARD_READ);
    if (rc == RC_OK) {
        release(fetch);
        return;
    }
    batch_undo(batch, mark);
    put_back(fetch);
}

/* With the last failure the link is noted as one that has no card. */
static enum rc write_failure(struct cards *cards, struct due_item *item, enum retry_class class,
                             const char *reason, int64_t retry_after_us)
{
    bool dead = false;
    struct batch *batch = due_batch(&cards->due);
    if (batch == NULL)
        return RC_AGAIN;
    struct batch_mark mark = batch_mark(batch);
    struct record *card = batch_add(batch, RECORD_CARD);
    if (card == NULL || !batch_set_text(batch, card, CARD_URL, text_bytes(&item->item))) {
        batch_undo(batch, mark);
        return RC_AGAIN;
    }
    batch_set_int(card, CARD_AT_US, wall(cards));
    enum rc rc = due_failed(&cards->due, item, class, reason, retry_after_us, &dead);
    if (rc != RC_OK)
        batch_undo(batch, mark);
    else if (!dead)
        batch_drop_last(batch, card);
    return rc;
}

static void fail(struct fetch *fetch, enum retry_class class, const char *reason,
                 int64_t retry_after_us)
{
    if (class == RETRY_PERMANENT && cards_way_tells(&fetch->way, text_bytes(&fetch->item->item)))
        finish(fetch, NULL);
    else if (write_failure(fetch->cards, fetch->item, class, reason, retry_after_us) == RC_OK)
        release(fetch);
    else
        put_back(fetch);
}

/* ---- answers ---- */

static void wait_for_turn(struct fetch *fetch);
static void work(void *arg);

static void slow_down(struct fetch *fetch, int64_t retry_after_us)
{
    if (retry_after_us <= RETRY_AFTER_US_MAX)
        turns_pause(&fetch->cards->turns, text_bytes(&fetch->way.address), retry_after_us);
}

static void take_refusal(struct fetch *fetch, const struct http_response *response)
{
    char reason[64];
    struct retry_failure failure = {.cause = RETRY_BY_STATUS, .status = response->status};
    int64_t retry_after_us = response->retry_after_ms < 0 ? -1 : response->retry_after_ms * 1000;
    enum retry_class class = retry_classify(&failure, rules, sizeof rules / sizeof rules[0]);
    if (class == RETRY_AUTH)
        class = RETRY_PERMANENT;
    snprintf(reason, sizeof reason, "the page answers %d", response->status);
    slow_down(fetch, retry_after_us);
    fail(fetch, class, reason, retry_after_us);
}

static void take_redirect(struct fetch *fetch, int status, struct bytes location)
{
    struct err err;
    if (cards_way_follow(&fetch->way, status, location, &err) != RC_OK)
        fail(fetch, RETRY_PERMANENT, err.text, -1);
    else
        wait_for_turn(fetch);
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void take_answer(void *arg, const struct http_response *response)
{
    struct fetch *fetch = arg;
    struct cards *cards = fetch->cards;
    struct bytes location =
        response->rc == RC_OK ? http_header_value(response, "location") : BYTES_ABSENT;
    assert(fetch->item != NULL);
    turn_answered(&fetch->turn);
    turns_give_place(&cards->turns);
    fetch->spent_us += mono(cards) - fetch->asked_us;
    if (response->rc != RC_OK)
        fail(fetch, response->rc == RC_REJECT ? RETRY_PERMANENT : RETRY_TRANSIENT,
             response->err.text, -1);
    else if (is_redirect(response->status) && location.len > 0)
        take_redirect(fetch, response->status, location);
    else if (response->status >= 200 && response->status < 300)
        finish(fetch, response);
    else
        take_refusal(fetch, response);
    due_send(&cards->due);
    work(cards);
}

/* ---- questions ---- */

static void ask(void *arg)
{
    static const struct http_header headers[] = {
        {"Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"}};
    struct fetch *fetch = arg;
    int64_t left_ms = PAGE_MS_MAX - fetch->spent_us / 1000;
    struct http_request request = {
        .url = text_string(&fetch->way.address),
        .headers = headers,
        .header_count = sizeof headers / sizeof headers[0],
        .total_ms_max = (uint32_t)(left_ms < HOP_MS_MIN ? HOP_MS_MIN : left_ms),
        .body_bytes_max = CARD_PAGE_MAX,
        .body_cut = true,
        .stranger = true,
    };
    fetch->asked_us = mono(fetch->cards);
    turn_send(&fetch->turn, &request, take_answer);
}

static void postpone(struct fetch *fetch, int64_t wait_us)
{
    struct cards *cards = fetch->cards;
    if (due_batch(&cards->due) != NULL &&
        due_postpone(&cards->due, fetch->item, wall(cards) + wait_us) == RC_OK)
        release(fetch);
    else
        put_back(fetch);
}

static void wait_for_turn(struct fetch *fetch)
{
    int64_t ahead_us = fetch->way.hops == 0 ? CARDS_PACE_AHEAD_US : CARDS_PACE_FAR_US, wait_us;
    struct err err;
    enum rc rc = turn_wait(&fetch->turn, text_bytes(&fetch->way.address), ahead_us, &wait_us, &err);
    if (rc == RC_REJECT)
        fail(fetch, RETRY_PERMANENT, err.text, -1);
    else if (rc != RC_OK)
        postpone(fetch, wait_us);
}

static struct fetch *find_free(struct cards *cards)
{
    for (size_t i = 0; i < FETCHES_MAX; i++)
        if (cards->fetches[i].item == NULL)
            return &cards->fetches[i];
    return NULL;
}

static void begin(struct fetch *fetch, struct due_item *item)
{
    fetch->item = item;
    fetch->spent_us = 0;
    if (item->address.len == 0) { /* nobody shares the link any more */
        if (due_batch(&fetch->cards->due) != NULL && due_done(&fetch->cards->due, item) == RC_OK)
            release(fetch);
        else
            put_back(fetch);
        return;
    }
    cards_way_begin(&fetch->way, text_bytes(&item->address));
    wait_for_turn(fetch);
}

static void work(void *arg)
{
    struct cards *cards = arg;
    struct fetch *fetch;
    turns_go_on(&cards->turns);
    for (size_t ready = cards->due.counts.ready; ready > 0; ready--) {
        fetch = find_free(cards);
        struct due_item *item = fetch == NULL ? NULL : due_next(&cards->due);
        if (item == NULL)
            break;
        begin(fetch, item);
    }
    due_send(&cards->due);
}

/* ---- its life ---- */

void cards_tune(struct cards *cards, const struct cards_settings *settings)
{
    assert(settings->in_flight > 0 && settings->in_flight <= CARDS_IN_FLIGHT_MAX);
    cards->turns.places = settings->in_flight;
    cards->turns.pace.per_host_us = (int64_t)settings->per_host_ms * 1000;
}

struct cards *cards_new(const struct source_env *env, const struct cards_settings *settings)
{
    struct cards *cards = memory_new_zeroed(1, sizeof *cards);
    struct due_options options = {.source = "cards",
                                  .stream = "page",
                                  .sql = due_sql,
                                  .items_max = ITEMS_MAX,
                                  .schedule = schedule,
                                  .work = work,
                                  .arg = cards};
    cards->runtime = env->runtime;
    turns_init(&cards->turns, env->runtime, ask, settings->in_flight, 0);
    cards_tune(cards, settings);
    due_init(&cards->due, env, &options);
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        cards->fetches[i].cards = cards;
        turn_init(&cards->fetches[i].turn, &cards->turns, &cards->fetches[i]);
    }
    return cards;
}

void cards_free(struct cards *cards)
{
    for (size_t i = 0; i < FETCHES_MAX; i++)
        cards_way_deinit(&cards->fetches[i].way);
    due_deinit(&cards->due);
    free(cards);
}

void cards_start(struct cards *cards)
{
    due_start(&cards->due);
}

void cards_stop(struct cards *cards)
{
    for (size_t i = 0; i < FETCHES_MAX; i++) {
        turn_stop(&cards->fetches[i].turn);
        cards->fetches[i].item = NULL;
    }
    due_stop(&cards->due);
}

bool cards_stopped(const struct cards *cards)
{
    return due_stopped(&cards->due);
}

struct due_counts cards_counts(const struct cards *cards)
{
    return cards->due.counts;
}
