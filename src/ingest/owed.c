/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/owed.h"

#include "ingest/owed_table.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* With a jitter of a fifth these stay between 5 and 600 s. */
#define FIRST_DELAY_US INT64_C(6250000)
#define LAST_DELAY_US  INT64_C(500000000)

_Static_assert(offsetof(struct owed_item, due) == 0, "an armed timer is its item");

static bool sane(const struct owed *owed)
{
    return owed->items != NULL && owed->running_max > 0 && owed->running <= owed->count &&
           (!owed->spilled || owed->more);
}

static struct retry_schedule make_schedule(void)
{
    struct retry_schedule schedule = {.jitter_percent = RETRY_JITTER_PERCENT,
                                      .retry_after_us_max = OWED_DELAY_US_MAX,
                                      .stubborn = true};
    int64_t delay_us = FIRST_DELAY_US;
    schedule.delays_us[schedule.delay_count++] = 0; /* before the attempt that failed */
    while (delay_us < LAST_DELAY_US) {
        schedule.delays_us[schedule.delay_count++] = delay_us;
        delay_us *= 2;
    }
    schedule.delays_us[schedule.delay_count++] = LAST_DELAY_US;
    assert(schedule.delay_count <= RETRY_STEPS_MAX);
    assert(LAST_DELAY_US + LAST_DELAY_US * RETRY_JITTER_PERCENT / 100 <= OWED_DELAY_US_MAX);
    return schedule;
}

void owed_init(struct owed *owed, const struct owed_settings *settings)
{
    assert(settings->source != NULL && settings->stream != NULL);
    assert(settings->concurrency > 0 && settings->share_percent <= 100);
    *owed = (struct owed){.settings = *settings, .schedule = make_schedule(), .more = true};
    if (owed->settings.items_max == 0)
        owed->settings.items_max = OWED_ITEMS_MAX;
    owed_table_init(owed);
    owed_tune(owed, settings->concurrency);
}

void owed_tune(struct owed *owed, uint32_t concurrency)
{
    uint32_t percent = owed->settings.share_percent;
    uint32_t share = percent == 0 ? OWED_SHARE_PERCENT : percent;
    assert(concurrency > 0 && share <= 100);
    owed->settings.concurrency = concurrency;
    owed->running_max = (uint32_t)((uint64_t)concurrency * share / 100);
    if (owed->running_max == 0)
        owed->running_max = 1;
    assert(sane(owed));
}

void owed_deinit(struct owed *owed)
{
    assert(sane(owed));
    owed_table_deinit(owed);
    *owed = (struct owed){0};
    assert(owed->items == NULL);
}

/* ---- words ---- */

/* Reasons come from strangers and are cut: only what cannot be cut wrongly is kept. */
static void put_words(char *out, size_t size, const char *words)
{
    size_t len = strlen(out);
    assert(len < size);
    assert(words != NULL);
    for (; *words != '\0' && len + 1 < size; words++)
        out[len++] = *words >= ' ' && *words <= '~' ? *words : '?';
    out[len] = '\0';
}

static void copy_bytes(char *out, size_t size, struct bytes from)
{
    size_t len = from.len < size ? from.len : size - 1;
    assert(size > 0);
    assert(from.data != NULL || len == 0);
    if (len > 0)
        memcpy(out, from.data, len);
    out[len] = '\0';
}

bool owed_refused_by(const struct owed_item *item, const char *provider)
{
    assert(provider != NULL);
    assert(item->refusal_count <= OWED_REFUSALS_DEAD);
    for (unsigned i = 0; i < item->refusal_count; i++)
        if (strcmp(item->refused_by[i], provider) == 0)
            return true;
    return false;
}

/* What one provider said; true when it was the word that ends hope. */
static bool note_failure(struct owed_item *item, const struct owed_failure *failure)
{
    assert(failure->provider != NULL && failure->provider[0] != '\0');
    assert(failure->reason != NULL && item->refusal_count < OWED_REFUSALS_DEAD);
    char name[OWED_PROVIDER_MAX + 1] = "";
    put_words(name, sizeof name, failure->provider);
    item->reason[0] = '\0';
    put_words(item->reason, sizeof item->reason, name);
    put_words(item->reason, sizeof item->reason, ": ");
    put_words(item->reason, sizeof item->reason, failure->reason);
    if (failure->class != RETRY_PERMANENT || owed_refused_by(item, name))
        return false;
    memcpy(item->refused_by[item->refusal_count++], name, sizeof name);
    if (item->refusal_count < OWED_REFUSALS_DEAD)
        return false;
    char last[OWED_REASON_MAX + 1];
    memcpy(last, item->reason, sizeof last);
    item->reason[0] = '\0';
    put_words(item->reason, sizeof item->reason, "permanent at ");
    put_words(item->reason, sizeof item->reason, item->refused_by[0]);
    put_words(item->reason, sizeof item->reason, " and at ");
    put_words(item->reason, sizeof item->reason, last);
    return true;
}

/* ---- rows ---- */

static bool fill_row(const struct owed *owed, struct batch *batch, struct record *row,
                     const struct owed_item *item, const char *state)
{
    assert(row->kind == RECORD_OWED);
    assert(item->item[0] != '\0');
    char names[OWED_REFUSALS_DEAD * (OWED_PROVIDER_MAX + 1) + 1] = "";
    for (unsigned i = 0; i < item->refusal_count; i++) {
        size_t len = strlen(names);
        snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? "\n" : "", item->refused_by[i]);
    }
    struct bytes unit = item->unit[0] == '\0' ? BYTES_ABSENT : bytes_of(item->unit);
    struct bytes refused_by = names[0] == '\0' ? BYTES_ABSENT : bytes_of(names);
    return batch_set_text(batch, row, OWED_SOURCE, bytes_of(owed->settings.source)) &&
           batch_set_text(batch, row, OWED_STREAM, bytes_of(owed->settings.stream)) &&
           batch_set_text(batch, row, OWED_ITEM, bytes_of(item->item)) &&
           batch_set_text(batch, row, OWED_UNIT, unit) &&
           batch_set_text(batch, row, OWED_STATE, bytes_of(state)) &&
           batch_set_text(batch, row, OWED_REASON, bytes_of(item->reason)) &&
           batch_set_text(batch, row, OWED_REFUSED_BY, refused_by);
}

/* `state` is what the store makes of it: "new" never replaces a row, "owed" and "dead" do, "done"
 * deletes it. */
static enum rc add_row(const struct owed *owed, struct batch *batch, const struct owed_item *item,
                       const char *state)
{
    assert(sane(owed));
    assert(batch != NULL);
    struct record *row = batch_add(batch, RECORD_OWED);
    if (row == NULL)
        return RC_AGAIN;
    if (!fill_row(owed, batch, row, item, state)) {
        batch_drop_last(batch, row);
        return RC_AGAIN;
    }
    batch_set_int(row, OWED_ATTEMPTS, item->attempts);
    if (strcmp(state, "dead") != 0 && strcmp(state, "done") != 0)
        batch_set_int(row, OWED_NEXT_US, item->next_us);
    batch_set_int(row, OWED_AT_US, item->since_us);
    return RC_OK;
}

/* The place an item's row is staged from, once the row is in the batch. */
static enum rc stage_row(struct owed *owed, struct batch *batch, const struct owed_item *draft,
                         const char *state, enum owed_place place)
{
    struct bytes name = bytes_of(draft->item);
    struct owed_item *item = owed_table_find(owed, name);
    assert(place == OWED_PUTTING || place == OWED_ENDING);
    bool fresh = item == NULL;
    if (fresh)
        item = owed_table_add(owed, name);
    if (item == NULL)
        return RC_AGAIN;
    enum rc rc = add_row(owed, batch, draft, state);
    if (rc != RC_OK && fresh) {
        item->place = place; /* it has none yet, and only what has one can be removed */
        owed_table_remove(owed, item);
    }
    if (rc != RC_OK)
        return rc;
    item->attempts = draft->attempts;
    item->next_us = draft->next_us;
    item->since_us = draft->since_us;
    item->refusal_count = draft->refusal_count;
    memcpy(item->refused_by, draft->refused_by, sizeof item->refused_by);
    memcpy(item->reason, draft->reason, sizeof item->reason);
    memcpy(item->unit, draft->unit, sizeof item->unit);
    if (fresh || item->place == OWED_GONE)
        item->durable = false;
    owed_table_stage(owed, item, batch, place);
    assert(owed_table_find(owed, name) == item);
    return RC_OK;
}

static struct owed_item make_draft(struct bytes item, struct bytes unit, int64_t now_us)
{
    struct owed_item draft = {.since_us = now_us, .next_us = now_us};
    assert(owed_table_accepts(item));
    copy_bytes(draft.item, sizeof draft.item, item);
    copy_bytes(draft.unit, sizeof draft.unit, unit);
    assert(draft.item[0] != '\0');
    return draft;
}

static int64_t next_attempt(const struct owed *owed, const struct owed_item *item,
                            int64_t retry_after_us, int64_t now_us, uint64_t random)
{
    assert(item->attempts > 0);
    int64_t wait_us = retry_delay(&owed->schedule, item->attempts, retry_after_us, random);
    assert(wait_us >= OWED_DELAY_US_MIN);
    assert(wait_us <= OWED_DELAY_US_MAX);
    return now_us + wait_us;
}

/* ---- new work ---- */

/* The item's first row lies in a batch that may fail, and now this batch relies on it too. */
static enum rc bring_along(struct owed *owed, struct batch *batch, const struct owed_item *item)
{
    struct owed_item draft = *item;
    assert(item->place == OWED_PUTTING);
    assert(!item->durable);
    return stage_row(owed, batch, &draft, "new", OWED_PUTTING);
}

enum rc owed_put(struct owed *owed, struct batch *batch, struct bytes item, struct bytes unit,
                 const struct owed_failure *failures, size_t count, int64_t now_us, uint64_t random)
{
    assert(sane(owed) && batch != NULL);
    assert(failures != NULL && count > 0);
    if (!owed_table_accepts(item) || unit.len > OWED_UNIT_MAX)
        return RC_REJECT;
    const struct owed_item *known = owed_table_find(owed, item);
    if (known != NULL && known->place == OWED_ENDING)
        return RC_AGAIN; /* whether it needs a row is not known before that batch is answered */
    if (known != NULL && known->place != OWED_GONE)
        return known->durable ? RC_OK : bring_along(owed, batch, known);
    struct owed_item draft = make_draft(item, unit, now_us);
    bool dead = false;
    int64_t retry_after_us = failures[0].retry_after_us;
    draft.attempts = 1;
    for (size_t i = 0; i < count && !dead; i++) {
        dead = note_failure(&draft, &failures[i]);
        if (failures[i].retry_after_us < retry_after_us)
            retry_after_us = failures[i].retry_after_us;
    }
    if (!dead)
        draft.next_us = next_attempt(owed, &draft, retry_after_us, now_us, random);
    enum rc rc =
        stage_row(owed, batch, &draft, dead ? "dead" : "new", dead ? OWED_ENDING : OWED_PUTTING);
    if (rc == RC_OK && dead)
        owed->deaths++;
    return rc;
}

enum rc owed_done(struct owed *owed, struct batch *batch, struct bytes item)
{
    assert(sane(owed) && batch != NULL);
    if (!owed_table_accepts(item))
        return RC_OK; /* such a thing cannot be owed */
    const struct owed_item *known = owed_table_find(owed, item);
    assert(known == NULL || known->place != OWED_FREE);
    /* Also for an item nobody knows to be owed: a dead row may be there, or one that only the table
     * knows, and until this batch is answered nobody may put it or bring it back. */
    struct owed_item draft =
        known != NULL && known->place != OWED_GONE ? *known : make_draft(item, BYTES_ABSENT, 0);
    enum rc rc = stage_row(owed, batch, &draft, "done", OWED_ENDING);
    if (rc == RC_OK)
        owed->settled++;
    return rc;
}

enum rc owed_dead(struct owed *owed, struct batch *batch, struct bytes item, struct bytes unit,
                  const char *reason, int64_t now_us)
{
    assert(sane(owed) && batch != NULL);
    assert(reason != NULL);
    if (!owed_table_accepts(item) || unit.len > OWED_UNIT_MAX)
        return RC_REJECT;
    const struct owed_item *known = owed_table_find(owed, item);
    if (known != NULL && known->place == OWED_ENDING)
        return RC_AGAIN;
    struct owed_item draft =
        known != NULL && known->place != OWED_GONE ? *known : make_draft(item, unit, now_us);
    draft.reason[0] = '\0';
    put_words(draft.reason, sizeof draft.reason, reason);
    enum rc rc = stage_row(owed, batch, &draft, "dead", OWED_ENDING);
    if (rc == RC_OK)
        owed->deaths++;
    return rc;
}

enum rc owed_retry(struct owed *owed, struct batch *batch, struct bytes item, struct bytes unit,
                   int64_t now_us)
{
    assert(sane(owed) && batch != NULL);
    if (!owed_table_accepts(item) || unit.len > OWED_UNIT_MAX)
        return RC_REJECT;
    const struct owed_item *known = owed_table_find(owed, item);
    if (known != NULL && known->place == OWED_RUNNING)
        return RC_OK;
    if (known != NULL && known->place == OWED_ENDING)
        return RC_AGAIN;
    struct owed_item draft = make_draft(item, unit, now_us);
    if (known != NULL && known->place != OWED_GONE)
        copy_bytes(draft.unit, sizeof draft.unit, bytes_of(known->unit));
    put_words(draft.reason, sizeof draft.reason, "asked for again");
    assert(draft.attempts == 0 && draft.refusal_count == 0);
    return stage_row(owed, batch, &draft, "owed", OWED_PUTTING);
}

/* ---- retries ---- */

static struct owed_item *of_ticket(const struct owed *owed, struct owed_ticket ticket)
{
    assert(ticket.index < owed->settings.items_max);
    struct owed_item *item = &owed->items[ticket.index];
    bool current = item->place == OWED_RUNNING && item->generation == ticket.generation;
    assert(!current || item->batch == NULL);
    return current ? item : NULL;
}

/* Now and then, and whenever the clock went back or the table was read: what would wait for longer
 * than any wait is long is due. */
static void heed_clock(struct owed *owed, int64_t now_us)
{
    int64_t latest_us = now_us + retry_longest(&owed->schedule);
    assert(sane(owed));
    assert(latest_us > now_us);
    if (now_us >= owed->swept_us && now_us - owed->swept_us < OWED_DELAY_US_MAX)
        return;
    owed->swept_us = now_us;
    for (uint32_t i = 0; i < owed->settings.items_max && owed->waiting.count > 0; i++) {
        struct owed_item *item = &owed->items[i];
        if (item->place == OWED_WAITING && item->due.due_us > latest_us)
            owed_table_wait(owed, item, now_us);
    }
}

const struct owed_item *owed_take(struct owed *owed, uint32_t idle, uint32_t waiting,
                                  int64_t now_us, struct owed_ticket *ticket)
{
    assert(sane(owed));
    assert(ticket != NULL);
    if (idle == 0 || owed->running >= owed->running_max)
        return NULL;
    if (waiting >= idle && owed->running > 0)
        return NULL; /* new work first; a single retry may always run */
    int64_t due_us;
    heed_clock(owed, now_us);
    if (!timer_heap_next(&owed->waiting, &due_us) || due_us > now_us)
        return NULL;
    struct owed_item *item = (struct owed_item *)owed->waiting.items[0];
    owed_table_run(owed, item);
    *ticket = (struct owed_ticket){owed_table_index(owed, item), item->generation};
    return item;
}

void owed_release(struct owed *owed, struct owed_ticket ticket, int64_t now_us)
{
    assert(sane(owed));
    struct owed_item *item = of_ticket(owed, ticket);
    if (item != NULL)
        owed_table_wait(owed, item, now_us);
    assert(of_ticket(owed, ticket) == NULL);
}

enum rc owed_failed(struct owed *owed, struct batch *batch, struct owed_ticket ticket,
                    const struct owed_failure *failure, int64_t now_us, uint64_t random)
{
    assert(sane(owed) && batch != NULL);
    assert(failure != NULL);
    const struct owed_item *item = of_ticket(owed, ticket);
    if (item == NULL)
        return RC_OK;
    struct owed_item draft = *item;
    if (draft.attempts < UINT32_MAX)
        draft.attempts++;
    bool dead = note_failure(&draft, failure);
    if (!dead)
        draft.next_us = next_attempt(owed, &draft, failure->retry_after_us, now_us, random);
    enum rc rc =
        stage_row(owed, batch, &draft, dead ? "dead" : "owed", dead ? OWED_ENDING : OWED_PUTTING);
    if (rc == RC_OK && dead)
        owed->deaths++;
    return rc;
}

bool owed_next_us(const struct owed *owed, int64_t *at_us)
{
    assert(sane(owed));
    assert(at_us != NULL);
    return timer_heap_next(&owed->waiting, at_us);
}

const struct owed_item *owed_find(const struct owed *owed, struct bytes item)
{
    assert(sane(owed));
    const struct owed_item *found = owed_table_accepts(item) ? owed_table_find(owed, item) : NULL;
    assert(found == NULL || found->place != OWED_FREE);
    return found == NULL || found->place == OWED_GONE ? NULL : found;
}

/* ---- answers ---- */

static void settle(struct owed *owed, struct owed_item *item, bool committed)
{
    assert(item->batch != NULL);
    assert(item->place == OWED_PUTTING || item->place == OWED_ENDING);
    if (!committed) {
        owed_table_leave(owed, item); /* what the table says of it now, only the table knows */
        return;
    }
    if (item->place == OWED_ENDING) {
        owed_table_remove(owed, item);
        return;
    }
    item->durable = true;
    if (owed->more && item->attempts > 1)
        owed_table_leave(owed, item); /* others, which only the table knows, have waited longer */
    else
        owed_table_wait(owed, item, item->next_us);
}

void owed_answered(struct owed *owed, const struct batch *batch, enum rc rc)
{
    assert(sane(owed));
    assert(batch != NULL);
    for (struct owed_item *item = owed->staged, *next; item != NULL; item = next) {
        next = item->next_staged;
        if (item->batch == batch)
            settle(owed, item, rc == RC_OK);
    }
}
