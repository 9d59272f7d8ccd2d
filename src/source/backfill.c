/* SPDX-License-Identifier: Apache-2.0 */
#include "source/backfill.h"

#include "source/backfill_progress.h"
#include "source/feed_rows.h"
#include "sys/crashpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ASK_US       INT64_C(1000000)
#define PLAN_US      INT64_C(600000000)
#define DAY_US       INT64_C(86400000000)
#define DOUBTED_US   INT64_C(120000000)
#define FAILED_US    INT64_C(30000000) /* before the second try; doubled for each further one */
#define FAILED_SHIFT 7
/* Nothing is put off for longer, failed or left to polls that go round twice meanwhile: a row that
 * seems to be is from before the clock was set back. */
#define FAILED_US_MAX (FAILED_US << (FAILED_SHIFT - 1))
#define POLLS_US_MAX  (2 * DAY_US)
#define PAGE_BYTES    ((size_t)16 << 20)
#define PLAN_MAX      500

struct slot {
    struct backfill *backfill;
    struct feed_sweep *sweep;
    int64_t since_us, priority, attempts;
    struct feed_record record;
    bool polled; /* people look at its position in the table of polls */
    enum sweep_step step;
    bool running;
};

struct backfill {
    const struct source_env *env;
    struct backfill_settings settings;
    struct sweep_env sweep_env;
    struct quarantine quarantine;
    struct slot slots[BACKFILL_RUNNING_MAX];
    struct backfill_view view;
    struct backfill_progress progress;
    bool released, stopping;
    bool wanted, picking, planning, plan_wanted;
    uint64_t ended, asked_at_end; /* readings ended; how many when the queue was last asked */
    int64_t asked_us, planned_us; /* monotonic */
    unsigned under_way;           /* batches of its own at the writer */
};

static void pick(struct backfill *backfill);

static int64_t wall_of(const struct backfill *backfill)
{
    return backfill->env->runtime->ops->wall_us(backfill->env->runtime);
}

/* ---- what a reading leaves behind ---- */

static enum rc stage_move(struct slot *slot, const struct sweep_report *report, struct batch *batch)
{
    bool failed = report->step == SWEEP_FAILED || report->step == SWEEP_GONE;
    int64_t attempts = failed ? slot->attempts + 1 : 0;
    int64_t shift = attempts < FAILED_SHIFT ? attempts : FAILED_SHIFT;
    int64_t wait_us = failed ? FAILED_US << (shift - 1) : 0;
    return feed_rows_move(batch, feed_sweep_order(slot->sweep)->did, report->place, attempts,
                          report->now_us + wait_us, failed ? report->why : NULL, report->now_us);
}

/* The mark rises when the reading began above it and came down to it. */
static bool raise_mark(struct feed_record *record, int64_t since_us, const struct feed_place *place)
{
    struct feed_mark before = record->mark;
    bool first = !record->initialised;
    if (before.us != 0 && since_us > before.us && place->reached_us > before.us)
        return false;
    if (place->newest.us > 0)
        feed_mark_raise(&record->mark, place->newest.us, bytes_of(place->newest.uri));
    record->initialised = true;
    return first || record->mark.us != before.us;
}

/* It is read once more before anything is done about it. */
static enum rc stage_doubt(struct slot *slot, const struct sweep_report *report,
                           struct batch *batch)
{
    struct bytes did = feed_sweep_order(slot->sweep)->did;
    struct feed_record record = slot->record;
    record.doubt_us = report->place->began_us;
    enum rc rc = feed_rows_move(batch, did, report->place, 0, report->now_us + DOUBTED_US,
                                "the feed shows less than it did", report->now_us);
    if (rc == RC_OK)
        rc = feed_record_add(&record, slot->backfill->sweep_env.doc, did, report->provider,
                             report->now_us, batch);
    return rc;
}

static enum rc stage_done(struct slot *slot, const struct sweep_report *report, struct batch *batch)
{
    const struct sweep_order *order = feed_sweep_order(slot->sweep);
    struct feed_record record = slot->record;
    record.total += report->fresh;
    record.doubt_us = 0;
    enum rc rc = feed_rows_done(batch, order->did, slot->priority, slot->since_us,
                                report->place->began_us, report->now_us);
    bool raised = raise_mark(&record, slot->since_us, report->place);
    if (rc == RC_OK && (raised || slot->record.doubt_us != 0))
        rc = feed_record_add(&record, slot->backfill->sweep_env.doc, order->did, report->provider,
                             report->now_us, batch);
    if (rc == RC_OK && slot->polled)
        rc = feed_rows_poll(batch, order->handle, BYTES_ABSENT, record.mark.us, report->fresh,
                            report->now_us);
    return rc;
}

static enum rc stage(void *arg, struct feed_sweep *sweep, const struct sweep_report *report,
                     struct batch *batch)
{
    struct slot *slot = arg;
    assert(slot->sweep == sweep);
    slot->step = report->step;
    if (report->step == SWEEP_COMPLETE && report->doubted) {
        slot->step = SWEEP_PAUSED;
        return stage_doubt(slot, report, batch);
    }
    if (report->step == SWEEP_COMPLETE)
        return stage_done(slot, report, batch);
    if (report->step == SWEEP_GONE && report->standing[0] != '\0')
        return feed_rows_drop(batch, feed_sweep_order(sweep)->did, report->now_us);
    if (report->step == SWEEP_GONE)
        slot->step = SWEEP_FAILED; /* refused, yet its profile is there: not for good */
    return stage_move(slot, report, batch);
}

static void ended(void *arg, struct feed_sweep *sweep, enum rc rc)
{
    struct slot *slot = arg;
    struct backfill *backfill = slot->backfill;
    (void)sweep;
    crashpoint(CRASH_BACKFILL_ENDED);
    slot->running = false;
    backfill->view.running--;
    backfill->ended++;
    backfill->wanted = true;
    if (rc != RC_OK)
        return;
    backfill->view.completed += slot->step == SWEEP_COMPLETE;
    backfill->view.dropped += slot->step == SWEEP_GONE;
    backfill->view.failed += slot->step == SWEEP_FAILED;
    pick(backfill);
}

static const struct feed_sweep_ops sweep_ops = {.stage = stage, .ended = ended};

/* ---- taking rows from the queue ---- */

enum {
    PICK_DID,
    PICK_PRIORITY,
    PICK_SINCE,
    PICK_SWEEP,
    PICK_ATTEMPTS,
    PICK_STATE,
    PICK_COMMITS,
    PICK_COMPARE,
    PICK_ACTIVE,
    PICK_HANDLE,
    PICK_POLLED,
    PICK_COUNTS,
    PICK_COLUMNS
};

static const char pick_sql[] =
    "SELECT q.actor_did, q.priority, q.since_us, q.sweep, q.attempts, c.state, "
    "(SELECT commit_seq FROM engine), CASE WHEN EXISTS (SELECT 1 FROM post t "
    "WHERE t.actor = a.id) THEN 1 ELSE 0 END, coalesce(a.active, 1), " FEED_NAME_SQL ", "
    "p.user_handle, CASE WHEN f.did IS NOT NULL OR EXISTS (SELECT 1 FROM circle m "
    "WHERE m.did = q.actor_did) THEN 1 ELSE 0 END FROM backfill_queue q "
    "LEFT JOIN cursors c ON c.source = 'feed' AND c.stream = q.actor_did "
    "LEFT JOIN actors a ON a.did = q.actor_did LEFT JOIN follows f ON f.did = q.actor_did "
    "LEFT JOIN poll_state p ON p.user_handle = " FEED_NAME_SQL " WHERE (q.next_us <= ?1 "
    "OR q.next_us > CASE WHEN q.attempts > 0 THEN ?4 ELSE ?5 END) "
    "AND (?3 = 0 OR q.priority = 3 OR (q.sweep IS NULL AND c.stream IS NOT NULL) "
    "OR (q.sweep IS NOT NULL AND q.priority < 2)) "
    "ORDER BY q.priority, q.queued_us, q.actor_did LIMIT ?2";

static bool is_running(const struct backfill *backfill, struct bytes did)
{
    for (size_t i = 0; i < BACKFILL_RUNNING_MAX; i++)
        if (backfill->slots[i].running &&
            bytes_equal(feed_sweep_order(backfill->slots[i].sweep)->did, did))
            return true;
    return false;
}

static struct slot *free_slot(struct backfill *backfill)
{
    for (size_t i = 0; i < backfill->settings.running_max; i++) {
        struct slot *slot = &backfill->slots[i];
        if (slot->running)
            continue;
        slot->backfill = backfill;
        if (slot->sweep == NULL)
            slot->sweep = feed_sweep_new(&backfill->sweep_env, &sweep_ops, slot);
        if (feed_sweep_idle(slot->sweep))
            return slot;
    }
    return NULL;
}

static struct bytes text_or_absent(const struct field *field)
{
    return field->null ? BYTES_ABSENT : field->b;
}

static void read_place(struct backfill *backfill, struct bytes sweep, struct feed_place *place)
{
    struct json root;
    struct err ignored;
    *place = (struct feed_place){0};
    if (sweep.len > 0 && json_parse_copy(backfill->sweep_env.doc, sweep, &root, &ignored) == RC_OK)
        (void)feed_place_read(root, place); /* else it begins anew */
}

/* What was shared after the reading and before it is heard would be in neither. */
static bool is_too_early(const struct backfill *backfill, const struct field *row)
{
    const struct backfill_settings *settings = &backfill->settings;
    return row[PICK_COUNTS].i != 0 && settings->hears != NULL &&
           !settings->hears(settings->hears_arg, row[PICK_DID].b);
}

static void begin(struct backfill *backfill, const struct field *row)
{
    struct slot *slot = free_slot(backfill);
    if (is_too_early(backfill, row))
        return; /* asked again soon */
    if (slot == NULL || row[PICK_DID].b.len > AT_DID_MAX || is_running(backfill, row[PICK_DID].b))
        return;
    slot->priority = row[PICK_PRIORITY].i;
    slot->since_us = row[PICK_SINCE].i;
    slot->attempts = row[PICK_ATTEMPTS].i;
    slot->polled = slot->backfill->settings.polls && !row[PICK_POLLED].null;
    feed_record_read(backfill->sweep_env.doc, text_or_absent(&row[PICK_STATE]), &slot->record);
    bool gap = slot->priority == BACKFILL_FOR_GAP, person = slot->priority == BACKFILL_FOR_PERSON;
    struct sweep_order order = {.did = row[PICK_DID].b,
                                .handle = text_or_absent(&row[PICK_HANDLE]),
                                .mark = slot->record.mark,
                                .since_us = slot->since_us,
                                .page_size = backfill->settings.page_size,
                                .priority = gap      ? APPVIEW_GAP
                                            : person ? APPVIEW_NAMES
                                                     : APPVIEW_NEWS,
                                .asof_seq = row[PICK_COMMITS].i,
                                .compare = row[PICK_COMPARE].i != 0,
                                .doubted = slot->record.doubt_us != 0,
                                .was_gone = row[PICK_ACTIVE].i == 0};
    read_place(backfill, text_or_absent(&row[PICK_SWEEP]), &order.place);
    slot->running = true;
    backfill->view.running++;
    feed_sweep_start(slot->sweep, &order);
}

static void take_rows(void *arg, const struct lookup_answer *answer)
{
    struct backfill *backfill = arg;
    backfill->picking = false;
    if (backfill->stopping)
        return;
    if (answer->rc != RC_OK || backfill->ended != backfill->asked_at_end) {
        backfill->wanted = true; /* what ended meanwhile may be among the rows still */
        return;
    }
    for (size_t i = 0; i < answer->rows; i++)
        if (backfill->view.running < backfill->settings.running_max)
            begin(backfill, answer->fields + i * PICK_COLUMNS);
}

static void pick(struct backfill *backfill)
{
    if (backfill->picking || !backfill->released || backfill->stopping ||
        backfill->view.running >= backfill->settings.running_max)
        return;
    int64_t now_us = wall_of(backfill);
    const struct field params[] = {
        field_int(now_us),
        field_int(backfill->settings.running_max + (int64_t)backfill->view.running),
        field_int(backfill->settings.only_asked), field_int(now_us + FAILED_US_MAX),
        field_int(now_us + POLLS_US_MAX)};
    backfill->asked_at_end = backfill->ended;
    backfill->picking = backfill->env->ask(backfill->env->ask_arg, pick_sql, params, 5, take_rows,
                                           backfill) == RC_OK;
    backfill->wanted = !backfill->picking;
}

/* ---- those who are followed and were never read ---- */

static void plan_answered(void *arg, struct batch *batch, enum rc rc)
{
    struct backfill *backfill = arg;
    batch_give_back(batch);
    backfill->under_way--;
    backfill->wanted = true;
    if (rc == RC_OK && !backfill->stopping)
        pick(backfill);
}

static void take_unread(void *arg, const struct lookup_answer *answer)
{
    struct backfill *backfill = arg;
    backfill->planning = false;
    if (backfill->stopping || (answer->rc == RC_OK && answer->rows == 0))
        return;
    struct batch *batch = answer->rc == RC_OK ? batch_take(backfill->env->pool) : NULL;
    backfill->plan_wanted = batch == NULL || answer->rows == PLAN_MAX;
    if (batch == NULL)
        return;
    int64_t now_us = wall_of(backfill), since_us = now_us - backfill->settings.lookback_us;
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *row = answer->fields + i * 2;
        struct batch_mark mark = batch_mark(batch);
        bool first = row[1].i == 0;
        if (feed_rows_ask(batch, row[0].b, first ? BACKFILL_FOR_START : BACKFILL_FOR_FOLLOW,
                          since_us, now_us, first ? "start" : "new follow", now_us) != RC_OK) {
            batch_undo(batch, mark);
            backfill->plan_wanted = true;
            break;
        }
    }
    batch->answered = plan_answered;
    batch->owner = backfill;
    if (backfill->env->submit(backfill->env->submit_arg, batch) == RC_OK) {
        crashpoint(CRASH_BACKFILL_PLANNED);
        backfill->under_way++;
        return;
    }
    batch_give_back(batch);
    backfill->plan_wanted = true;
}

static void plan(struct backfill *backfill, int64_t now_us)
{
    static const char sql[] =
        "SELECT f.did, (SELECT count(*) FROM follows WHERE backfill_completed) FROM follows f "
        "LEFT JOIN actors a ON a.did = f.did WHERE NOT f.backfill_completed "
        "AND NOT EXISTS (SELECT 1 FROM backfill_queue q WHERE q.actor_did = f.did) "
        "AND (a.active IS NULL OR a.active <> 0 OR a.status_us < ?1) ORDER BY f.did LIMIT 500";
    const struct field before = field_int(wall_of(backfill) - DAY_US);
    if (backfill->planning || backfill->under_way > 0 || !backfill->settings.follows ||
        backfill->settings.only_asked)
        return;
    backfill->planning =
        backfill->env->ask(backfill->env->ask_arg, sql, &before, 1, take_unread, backfill) == RC_OK;
    if (backfill->planning)
        backfill->plan_wanted = false;
    backfill->planned_us = now_us;
}

/* ---- its life ---- */

struct backfill *backfill_new(const struct source_env *env, struct appview *appview,
                              const struct backfill_settings *settings)
{
    struct backfill *backfill = memory_new_zeroed(1, sizeof *backfill);
    backfill->env = env;
    quarantine_init(&backfill->quarantine, "feed");
    backfill_progress_init(&backfill->progress, env);
    backfill->sweep_env = (struct sweep_env){.source = env,
                                             .appview = appview,
                                             .doc = json_doc_new(PAGE_BYTES, JSON_DEPTH_MAX),
                                             .quarantine = &backfill->quarantine,
                                             .pages = &backfill->view.pages};
    backfill->wanted = backfill->plan_wanted = true;
    backfill_tune(backfill, settings);
    return backfill;
}

void backfill_free(struct backfill *backfill)
{
    for (size_t i = 0; i < BACKFILL_RUNNING_MAX; i++)
        if (backfill->slots[i].sweep != NULL)
            feed_sweep_free(backfill->slots[i].sweep);
    json_doc_free(backfill->sweep_env.doc);
    free(backfill);
}

void backfill_tune(struct backfill *backfill, const struct backfill_settings *settings)
{
    assert(settings->running_max > 0 && settings->running_max <= BACKFILL_RUNNING_MAX);
    backfill->settings = *settings;
    backfill->sweep_env.kept_us = settings->kept_us;
}

void backfill_release(struct backfill *backfill)
{
    backfill->released = true;
}

void backfill_heed(struct backfill *backfill)
{
    backfill->wanted = backfill->plan_wanted = true;
}

void backfill_look(struct backfill *backfill, int64_t now_us)
{
    if (backfill->stopping)
        return;
    if (backfill->released && (backfill->plan_wanted || now_us - backfill->planned_us >= PLAN_US))
        plan(backfill, now_us);
    if (now_us - backfill->asked_us >= ASK_US) {
        backfill->asked_us = now_us;
        backfill->wanted = true;
    }
    if (backfill->wanted)
        pick(backfill);
    backfill_progress_look(&backfill->progress, backfill->view.completed + backfill->view.dropped,
                           backfill->view.running, now_us);
}

void backfill_stop(struct backfill *backfill)
{
    backfill->stopping = true;
    for (size_t i = 0; i < BACKFILL_RUNNING_MAX; i++)
        if (backfill->slots[i].running)
            feed_sweep_stop(backfill->slots[i].sweep);
}

bool backfill_stopped(const struct backfill *backfill)
{
    bool idle = backfill->under_way == 0 && !backfill->picking && !backfill->planning &&
                !backfill->progress.asking;
    for (size_t i = 0; i < BACKFILL_RUNNING_MAX; i++)
        idle =
            idle && (backfill->slots[i].sweep == NULL || feed_sweep_idle(backfill->slots[i].sweep));
    return idle;
}

void backfill_show(const struct backfill *backfill, struct backfill_view *view)
{
    *view = backfill->view;
    view->per_minute = backfill_progress_per_minute(&backfill->progress);
}
