/* SPDX-License-Identifier: Apache-2.0 */
#include "source/feed_sweep_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define IDLE_PAGES_MAX 1000

/* ---- looking a page over ---- */

static void remember_key(struct id_set *keys, const struct at_uri *name)
{
    char key[AT_COLLECTION_MAX + AT_RKEY_MAX + 2];
    int len = snprintf(key, sizeof key, "%.*s/%.*s", (int)name->collection.len,
                       name->collection.data, (int)name->rkey.len, name->rkey.data);
    assert(len > 0 && (size_t)len < sizeof key);
    id_set_add(keys, bytes_make(key, (size_t)len));
}

static void turn_keys(struct feed_sweep *sweep)
{
    struct id_set old = sweep->keys[1];
    sweep->keys[1] = sweep->keys[0];
    sweep->keys[0] = old;
    id_set_clear(&sweep->keys[0]);
}

/* Counts the items; what they are worth is known before the first is stored. One that was seen
 * later than now tells nothing of where the reading stands: as the mark it would hide all that
 * follows until its time comes. */
static void look_over(struct feed_sweep *sweep, const struct feed_page *page)
{
    struct runtime *runtime = sweep->env->source->runtime;
    int64_t now_us = runtime->ops->wall_us(runtime);
    struct feed_item item;
    struct err ignored;
    struct bytes key;
    struct json value;
    struct json_walk walk = json_walk(page->items);
    feed_tally_begin(&sweep->tally, &sweep->place);
    turn_keys(sweep);
    while (json_walk_next(&walk, &key, &value)) {
        if (feed_item_read(value, sweep->order.did, &item, &ignored) != RC_OK ||
            item.kind == FEED_PIN)
            continue;
        remember_key(&sweep->keys[0], &item.name);
        if (item.seen_us > now_us)
            continue;
        feed_tally_add(&sweep->tally, &item, &sweep->order.mark, sweep->bound_us);
        feed_mark_raise(&sweep->next.newest, item.seen_us, item.uri);
    }
}

/* Whether pages only lead to each other: they come no lower for longer than any feed does. */
static bool goes_in_circles(struct feed_sweep *sweep, const struct feed_page *page)
{
    bool lower = sweep->tally.items > 0 && sweep->tally.last_sort_us < sweep->lowest_us;
    sweep->idle_pages = lower ? 0 : sweep->idle_pages + 1;
    if (lower)
        sweep->lowest_us = sweep->tally.last_sort_us;
    return page->token.data != NULL && sweep->idle_pages >= IDLE_PAGES_MAX;
}

static void plan_next(struct feed_sweep *sweep, const struct feed_page *page)
{
    struct feed_place *next = &sweep->next;
    bool enough = feed_tally_is_enough(&sweep->tally, sweep->order.to_mark);
    bool last = page->token.data == NULL || enough;
    next->token[0] = '\0';
    if (!last) {
        memcpy(next->token, page->token.data, page->token.len);
        next->token[page->token.len] = '\0';
    }
    memcpy(next->provider, sweep->provider, sizeof next->provider);
    if (sweep->tally.items > 0)
        next->reached_us = sweep->tally.last_sort_us;
    if (page->token.data == NULL)
        next->reached_us = INT64_MIN; /* there is nothing below */
    bool tired = sweep->order.pages_max > 0 && sweep->report.pages >= sweep->order.pages_max;
    sweep->report.step = last ? SWEEP_COMPLETE : tired ? SWEEP_PAUSED : SWEEP_PAGE;
    sweep->report.place = next;
}

void sweep_take_page(struct feed_sweep *sweep)
{
    struct json root;
    struct feed_page page;
    enum rc rc = json_parse_copy(sweep->env->doc, text_bytes(&sweep->body), &root, &sweep->why);
    if (rc == RC_OK)
        rc = feed_page_read(root, &page, &sweep->why);
    if (rc == RC_OK && page.token.data != NULL &&
        bytes_equal_string(page.token, sweep->place.token))
        rc = err_set(&sweep->why, RC_REJECT, "the AppView names the same page again");
    if (rc != RC_OK) {
        struct err why = sweep->why;
        sweep_fail(sweep, why.text);
        return;
    }
    sweep->next = sweep->place;
    sweep->report.pages++;
    ++*sweep->env->pages;
    look_over(sweep, &page);
    if (goes_in_circles(sweep, &page)) {
        sweep->place = (struct feed_place){.began_us = sweep->place.began_us};
        sweep_fail(sweep, "the feed does not come to its end");
        return;
    }
    plan_next(sweep, &page);
    sweep->report.fresh += sweep->tally.fresh;
    sweep->item = 0;
    if (sweep->order.compare && sweep->tally.orderly)
        sweep_compare(sweep);
    else
        sweep_store_page(sweep);
}

/* ---- storing it ---- */

static enum rc quarantine_item(struct feed_sweep *sweep, struct json value, const struct err *why,
                               int64_t now_us)
{
    struct text raw = {0};
    json_print(value, &raw);
    enum rc rc = quarantine_add(sweep->env->quarantine, sweep->batch, sweep->provider,
                                text_bytes(&raw), raw.len, why->text, now_us);
    text_free(&raw);
    return rc;
}

static enum rc store_item(struct feed_sweep *sweep, struct json value,
                          const struct feed_reading *reading)
{
    struct feed_item item;
    struct err err;
    unsigned links = 0;
    if (feed_item_read(value, sweep->order.did, &item, &err) != RC_OK)
        return quarantine_item(sweep, value, &err, reading->now_us);
    if (sweep->env->kept_us > 0 && item.seen_us < reading->now_us - sweep->env->kept_us)
        return RC_OK;
    enum rc rc = feed_item_add(&item, reading, sweep->batch, &links);
    if (rc == RC_OK && item.kind != FEED_PIN && item.seen_us <= reading->now_us &&
        feed_mark_is_below(&sweep->order.mark, item.seen_us, item.uri))
        sweep->report.urls += links;
    return rc;
}

/* One that no batch can hold, however empty, is set aside with its reason (I7). */
static enum rc store_or_set_aside(struct feed_sweep *sweep, struct json value,
                                  const struct feed_reading *reading)
{
    enum rc rc = store_item(sweep, value, reading);
    struct err why = {"more than one batch can hold"};
    if (rc == RC_AGAIN && sweep->batch->record_count == 0)
        rc = quarantine_item(sweep, value, &why, reading->now_us);
    return rc;
}

void sweep_store_page(struct feed_sweep *sweep)
{
    struct json root, value;
    struct feed_page page = {0};
    struct err err;
    struct bytes key;
    struct runtime *runtime = sweep->env->source->runtime;
    struct feed_reading reading = {runtime->ops->wall_us(runtime), sweep->order.asof_seq};
    enum rc rc = json_parse_copy(sweep->env->doc, text_bytes(&sweep->body), &root, &err);
    if (rc == RC_OK)
        rc = feed_page_read(root, &page, &err);
    assert(rc == RC_OK); /* it was read before */
    struct json_walk walk = json_walk(page.items);
    for (size_t i = 0; json_walk_next(&walk, &key, &value); i++) {
        if (i < sweep->item)
            continue;
        if (!sweep_take_batch(sweep, sweep_store_page))
            return;
        while (store_or_set_aside(sweep, value, &reading) == RC_AGAIN)
            if (!sweep_submit(sweep, sweep_store_page) ||
                !sweep_take_batch(sweep, sweep_store_page))
                return;
        sweep->item = i + 1;
    }
    sweep_stage(sweep);
}
