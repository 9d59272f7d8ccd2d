/* SPDX-License-Identifier: Apache-2.0 */
#include "source/poller.h"

#include "base/timestamp.h"
#include "source/feed_lines.h"
#include "source/feed_rows.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US        INT64_C(86400000000)
#define MARGIN_US     INT64_C(60000000) /* the clocks of those who tell the times differ */
#define SLOW_US       INT64_C(30000000)
#define REGULAR_PAGES 10
#define INITIAL_MANY  3 /* so many new accounts beside known ones: positions were lost */
#define PAGE_BYTES    ((size_t)16 << 20)

struct visit {
    struct poller *poller;
    struct feed_sweep *sweep;
    struct feed_record record;
    char former[FEED_HANDLE_MAX + 1]; /* the handle it had; "": the same */
    bool initial, running;
    bool rest;                  /* it goes on with what an earlier cycle left */
    struct sweep_report report; /* of the last step; its words last until the next visit */
};

struct poller {
    const struct source_env *env;
    struct poller_settings settings;
    struct sweep_env sweep_env;
    struct quarantine quarantine;
    struct visit visits[POLLER_RUNNING_MAX];
    unsigned running;
    bool allowed, stopping, asking;
    bool in_cycle, listed; /* a cycle runs; its last account was taken from the list */
    int64_t covered_us;
    int64_t due_us, begun_us;   /* monotonic: of the next cycle, of this one */
    char after[AT_DID_MAX + 1]; /* the list was taken up to this account */
    struct poller_cycle cycle;
    struct poller_view view;
};

static void take_more(struct poller *poller);

static int64_t wall_of(const struct poller *poller)
{
    return poller->env->runtime->ops->wall_us(poller->env->runtime);
}

/* ---- what a visit leaves behind ---- */

/* The rest of the run's pages waits in the queue. Who works that off leaves it alone until the next
 * cycle had its chance. */
static enum rc stage_rest(struct visit *visit, const struct sweep_report *report,
                          struct batch *batch)
{
    const struct sweep_order *order = feed_sweep_order(visit->sweep);
    struct poller *poller = visit->poller;
    int64_t next_us = poller->cycle.began_us + 2 * poller->settings.interval_us;
    int64_t since_us = order->to_mark ? order->mark.us : order->since_us;
    enum rc rc = feed_rows_ask(batch, order->did, BACKFILL_FOR_START, since_us, next_us,
                               "more than one poll reads", report->now_us);
    if (rc == RC_OK)
        rc = feed_rows_move(batch, order->did, report->place, 0, next_us, NULL, report->now_us);
    if (rc == RC_OK && report->step == SWEEP_PAUSED)
        rc = feed_rows_poll(batch, order->handle, bytes_of(visit->former), 0, report->fresh,
                            report->now_us);
    return rc;
}

static bool is_other(const struct feed_record *a, const struct feed_record *b)
{
    return a->mark.us != b->mark.us || strcmp(a->mark.uri, b->mark.uri) != 0 ||
           strcmp(a->handle, b->handle) != 0 || a->doubt_us != b->doubt_us;
}

static enum rc stage_whole(struct visit *visit, const struct sweep_report *report,
                           struct batch *batch)
{
    const struct sweep_order *order = feed_sweep_order(visit->sweep);
    struct feed_record record = visit->record;
    record.initialised = true;
    record.total += report->fresh;
    record.doubt_us = report->doubted ? report->place->began_us : 0;
    record.mark = order->mark;
    if (report->place->newest.us > 0)
        feed_mark_raise(&record.mark, report->place->newest.us,
                        bytes_of(report->place->newest.uri));
    memcpy(record.handle, order->handle.data, order->handle.len + 1);
    bool moved = !visit->record.initialised || is_other(&record, &visit->record);
    enum rc rc = RC_OK;
    if (moved)
        rc = feed_record_add(&record, visit->poller->sweep_env.doc, order->did, report->provider,
                             report->now_us, batch);
    if (rc == RC_OK)
        rc = feed_rows_poll(batch, order->handle, bytes_of(visit->former), record.mark.us,
                            report->fresh, report->now_us);
    if (rc == RC_OK && (visit->initial || visit->rest || report->pages > 1))
        rc = feed_rows_done(batch, order->did,
                            visit->initial ? BACKFILL_FOR_START : BACKFILL_FOR_PERSON,
                            order->to_mark ? order->mark.us : order->since_us,
                            report->place->began_us, report->now_us);
    if (rc == RC_OK)
        visit->record = record;
    return rc;
}

static enum rc stage(void *arg, struct feed_sweep *sweep, const struct sweep_report *report,
                     struct batch *batch)
{
    struct visit *visit = arg;
    enum rc rc = RC_OK;
    if (report->step == SWEEP_PAGE || report->step == SWEEP_PAUSED)
        rc = stage_rest(visit, report, batch);
    else if (report->step == SWEEP_COMPLETE)
        rc = stage_whole(visit, report, batch);
    else if (report->step == SWEEP_GONE)
        rc = feed_rows_poll(batch, feed_sweep_order(sweep)->handle, bytes_of(visit->former), 0, 0,
                            report->now_us);
    if (rc == RC_OK)
        visit->report = *report;
    return rc;
}

static void say(struct visit *visit)
{
    struct bytes handle = feed_sweep_order(visit->sweep)->handle;
    const struct sweep_report *report = &visit->report;
    struct poller_cycle *cycle = &visit->poller->cycle;
    if (report->step == SWEEP_GONE) {
        cycle->skipped++;
        feed_line_skip(handle, report);
    } else if (report->step == SWEEP_FAILED) {
        cycle->failed++;
        feed_line_error(handle, report);
    } else {
        bool initial = visit->initial && !visit->rest;
        cycle->initial += initial;
        cycle->fresh += report->fresh > 0;
        cycle->placed += report->fresh > 0 || visit->record.mark.us > 0;
        if (initial || report->fresh > 0)
            feed_line_read(initial ? "INITIAL" : "POLL", handle, report);
    }
}

/* What an earlier cycle began is read; now for what came since. */
static void visit_again(struct visit *visit)
{
    struct sweep_order order = *feed_sweep_order(visit->sweep);
    char did[AT_DID_MAX + 1], handle[FEED_HANDLE_MAX + 1];
    memcpy(did, order.did.data, order.did.len + 1);
    memcpy(handle, order.handle.data, order.handle.len + 1);
    order.did = bytes_of(did);
    order.handle = bytes_of(handle);
    order.mark = visit->record.mark;
    order.to_mark = true;
    order.place = (struct feed_place){0};
    visit->rest = visit->initial = false;
    visit->former[0] = '\0';
    visit->running = true;
    visit->poller->running++;
    feed_sweep_start(visit->sweep, &order);
}

static void ended(void *arg, struct feed_sweep *sweep, enum rc rc)
{
    struct visit *visit = arg;
    (void)sweep;
    visit->running = false;
    visit->poller->running--;
    if (rc != RC_OK)
        return;
    say(visit);
    if (visit->rest && visit->report.step == SWEEP_COMPLETE)
        visit_again(visit);
    else
        take_more(visit->poller);
}

static void many(void *arg, struct feed_sweep *sweep)
{
    struct visit *visit = arg;
    if (!visit->initial)
        feed_line_many(feed_sweep_order(sweep)->handle);
}

static const struct feed_sweep_ops sweep_ops = {.stage = stage, .ended = ended, .many = many};

/* ---- whom to visit ---- */

enum {
    LIST_DID,
    LIST_HANDLE,
    LIST_ROW, /* of poll_state: not null when there is one */
    LIST_CURSOR,
    LIST_STATE,
    LIST_COMMITS,
    LIST_ACTIVE,
    LIST_STATUS_US,
    LIST_SWEEP,   /* of a rest, or of what the queue is about ... */
    LIST_SINCE,   /* ... and how far back that goes */
    LIST_FOREIGN, /* the row of poll_state is of another account, which had the name before */
    LIST_COLUMNS
};

/* Not those of whom the queue is in the midst of something more urgent: that shows what is new. */
static const char list_sql[] =
    "SELECT f.did, " FEED_NAME_SQL ", p.user_handle, p.last_cursor, c.state, "
    "(SELECT commit_seq FROM engine), coalesce(a.active, 1), coalesce(a.status_us, 0), q.sweep, "
    "q.since_us, CASE WHEN p.last_cursor IS NULL OR c.state LIKE '%\"custom\":{\"handle\":%' "
    "THEN 0 WHEN EXISTS (SELECT 1 FROM cursors o WHERE o.source = 'feed' AND o.stream <> f.did "
    "AND o.state LIKE '%\"custom\":{\"handle\":\"' || p.user_handle || '\"}%') THEN 1 ELSE 0 END "
    "FROM follows f LEFT JOIN poll_state p ON p.user_handle = " FEED_NAME_SQL " "
    "LEFT JOIN cursors c ON c.source = 'feed' AND c.stream = f.did "
    "LEFT JOIN actors a ON a.did = f.did LEFT JOIN backfill_queue q ON q.actor_did = f.did "
    "AND q.priority = 2 WHERE f.did > ?1 AND NOT EXISTS (SELECT 1 FROM backfill_queue o "
    "WHERE o.actor_did = f.did AND o.priority < 2 AND o.sweep IS NOT NULL) "
    "ORDER BY f.did LIMIT ?2";

static struct bytes text_of(const struct field *field)
{
    return field->null ? BYTES_ABSENT : field->b;
}

/* The position that people see is the one that counts: they may have changed it. One ahead of the
 * clock is none: nobody knows what it was when that was right. */
static void read_mark(struct visit *visit, const struct field *row, struct feed_mark *mark)
{
    bool foreign = row[LIST_FOREIGN].i != 0;
    struct bytes cursor = foreign ? BYTES_ABSENT : text_of(&row[LIST_CURSOR]);
    const struct feed_record *record = &visit->record;
    bool renamed =
        record->handle[0] != '\0' && !bytes_equal_string(row[LIST_HANDLE].b, record->handle);
    int64_t us = 0;
    *mark = (struct feed_mark){0};
    visit->former[0] = '\0';
    if (renamed)
        memcpy(visit->former, record->handle, sizeof visit->former);
    bool empty = record->initialised && record->mark.us == 0;
    if (renamed)
        *mark = record->mark;
    else if (cursor.len > 0 && timestamp_parse(cursor, &us) && us > 0)
        mark->us = us;
    if (mark->us > 0 && mark->us == record->mark.us)
        *mark = record->mark;
    if (mark->us > wall_of(visit->poller) + MARGIN_US)
        *mark = (struct feed_mark){0};
    visit->initial = mark->us == 0 && !(empty && (renamed || !row[LIST_ROW].null));
    /* What came another way needs no second reading. */
    if (visit->poller->covered_us > mark->us) {
        *mark = (struct feed_mark){.us = visit->poller->covered_us - MARGIN_US};
        visit->initial = false;
    }
}

static bool read_place(struct poller *poller, struct bytes sweep, struct feed_place *place)
{
    struct json root;
    struct err ignored;
    return json_parse_copy(poller->sweep_env.doc, sweep, &root, &ignored) == RC_OK &&
           feed_place_read(root, place);
}

static struct visit *free_visit(struct poller *poller)
{
    for (size_t i = 0; i < poller->settings.running_max; i++) {
        struct visit *visit = &poller->visits[i];
        if (visit->running)
            continue;
        visit->poller = poller;
        if (visit->sweep == NULL)
            visit->sweep = feed_sweep_new(&poller->sweep_env, &sweep_ops, visit);
        if (feed_sweep_idle(visit->sweep))
            return visit;
    }
    return NULL;
}

static bool begin(struct poller *poller, const struct field *row)
{
    int64_t now_us = wall_of(poller);
    bool gone = row[LIST_ACTIVE].i == 0;
    bool others = !row[LIST_SWEEP].null && !poller->settings.alone; /* the queue is at it */
    if (others || (gone && row[LIST_STATUS_US].i > now_us - DAY_US)) {
        poller->cycle.accounts++;
        return true;
    }
    struct visit *visit = free_visit(poller);
    if (visit == NULL)
        return false;
    uint32_t pages_max = poller->settings.pages_max;
    struct sweep_order order = {.did = row[LIST_DID].b,
                                .handle = row[LIST_HANDLE].b,
                                .to_mark = true,
                                .since_us = now_us - poller->settings.lookback_us,
                                .page_size = poller->settings.page_size,
                                .priority = APPVIEW_NEWS,
                                .asof_seq = row[LIST_COMMITS].i,
                                .was_gone = gone};
    feed_record_read(poller->sweep_env.doc, text_of(&row[LIST_STATE]), &visit->record);
    read_mark(visit, row, &order.mark);
    order.compare = true; /* somebody new may have been heard before */
    order.doubted = visit->record.doubt_us != 0;
    if (!row[LIST_SWEEP].null)
        order.since_us = row[LIST_SINCE].i;
    visit->rest = !row[LIST_SWEEP].null && read_place(poller, row[LIST_SWEEP].b, &order.place);
    order.pages_max = visit->initial || pages_max < REGULAR_PAGES ? pages_max : REGULAR_PAGES;
    poller->cycle.accounts++;
    poller->running++;
    visit->running = true;
    feed_sweep_start(visit->sweep, &order);
    return true;
}

/* ---- the cycle ---- */

static void end_cycle(struct poller *poller)
{
    struct poller_cycle *cycle = &poller->cycle;
    crashpoint(CRASH_POLL_CYCLE_ENDED);
    cycle->took_us = wall_of(poller) - cycle->began_us;
    poller->in_cycle = false;
    poller->view.cycles++;
    poller->view.last = *cycle;
    const struct log_field fields[] = {log_int("accounts", cycle->accounts),
                                       log_int("fresh", cycle->fresh),
                                       log_int("initial", cycle->initial),
                                       log_int("skipped", cycle->skipped),
                                       log_int("failed", cycle->failed),
                                       log_int("ms", cycle->took_us / 1000),
                                       LOG_END};
    log_event(LOG_INFO, "poller", "cycle", fields);
    if (cycle->took_us > SLOW_US)
        log_event(LOG_WARN, "poller", "slow_cycle", fields);
    if (cycle->initial >= INITIAL_MANY && cycle->initial < cycle->accounts)
        log_event(LOG_WARN, "poller", "positions_lost", fields);
}

static void take_list(void *arg, const struct lookup_answer *answer)
{
    struct poller *poller = arg;
    poller->asking = false;
    if (poller->stopping || answer->rc != RC_OK)
        return; /* asked again with the next look */
    poller->listed = answer->rows == 0;
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *row = answer->fields + i * LIST_COLUMNS;
        struct bytes did = row[LIST_DID].b;
        bool usable = did.len <= AT_DID_MAX && row[LIST_HANDLE].b.len <= FEED_HANDLE_MAX;
        if (usable && !begin(poller, row))
            return;
        size_t len = did.len <= AT_DID_MAX ? did.len : AT_DID_MAX;
        memcpy(poller->after, did.data, len);
        poller->after[len] = '\0';
    }
    take_more(poller);
}

static void take_more(struct poller *poller)
{
    if (!poller->in_cycle || poller->asking || poller->stopping)
        return;
    if (poller->listed) {
        if (poller->running == 0)
            end_cycle(poller);
        return;
    }
    if (poller->running >= poller->settings.running_max)
        return;
    const struct field params[] = {field_text(bytes_of(poller->after)),
                                   field_int(poller->settings.running_max - poller->running)};
    poller->asking =
        poller->env->ask(poller->env->ask_arg, list_sql, params, 2, take_list, poller) == RC_OK;
}

static void begin_cycle(struct poller *poller, int64_t now_us)
{
    poller->in_cycle = true;
    poller->listed = false;
    poller->after[0] = '\0';
    poller->begun_us = now_us;
    poller->due_us = now_us + poller->settings.interval_us;
    poller->cycle = (struct poller_cycle){.began_us = wall_of(poller)};
}

void poller_look(struct poller *poller, int64_t now_us)
{
    if (poller->stopping)
        return;
    if (!poller->in_cycle && poller->allowed && now_us >= poller->due_us)
        begin_cycle(poller, now_us);
    take_more(poller);
}

/* ---- its life ---- */

struct poller *poller_new(const struct source_env *env, struct appview *appview,
                          const struct poller_settings *settings)
{
    struct poller *poller = memory_new_zeroed(1, sizeof *poller);
    poller->env = env;
    quarantine_init(&poller->quarantine, "feed");
    poller->sweep_env = (struct sweep_env){.source = env,
                                           .appview = appview,
                                           .doc = json_doc_new(PAGE_BYTES, JSON_DEPTH_MAX),
                                           .quarantine = &poller->quarantine,
                                           .pages = &poller->view.pages};
    poller_tune(poller, settings);
    return poller;
}

void poller_free(struct poller *poller)
{
    for (size_t i = 0; i < POLLER_RUNNING_MAX; i++)
        if (poller->visits[i].sweep != NULL)
            feed_sweep_free(poller->visits[i].sweep);
    json_doc_free(poller->sweep_env.doc);
    free(poller);
}

void poller_tune(struct poller *poller, const struct poller_settings *settings)
{
    assert(settings->running_max > 0 && settings->running_max <= POLLER_RUNNING_MAX);
    poller->settings = *settings;
    poller->sweep_env.kept_us = settings->kept_us;
    if (poller->view.cycles > 0 || poller->in_cycle)
        poller->due_us = poller->begun_us + settings->interval_us;
}

void poller_allow(struct poller *poller, bool allowed, int64_t covered_us)
{
    poller->allowed = poller->view.polling = allowed;
    poller->covered_us = covered_us;
}

void poller_heed(struct poller *poller)
{
    if (poller->view.last.accounts == 0)
        poller->due_us = 0;
}

void poller_stop(struct poller *poller)
{
    poller->stopping = true;
    for (size_t i = 0; i < POLLER_RUNNING_MAX; i++)
        if (poller->visits[i].running)
            feed_sweep_stop(poller->visits[i].sweep);
}

bool poller_stopped(const struct poller *poller)
{
    bool idle = !poller->asking;
    for (size_t i = 0; i < POLLER_RUNNING_MAX; i++)
        idle =
            idle && (poller->visits[i].sweep == NULL || feed_sweep_idle(poller->visits[i].sweep));
    return idle;
}

void poller_show(const struct poller *poller, struct poller_view *view)
{
    *view = poller->view;
}
