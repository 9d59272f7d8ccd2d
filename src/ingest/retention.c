/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/retention.h"

#include <assert.h>

#define HOUR_US INT64_C(3600000000)

/* In the order of the question's parameters, which has no use for the last. */
enum { POSTS_US, BELOW_US, LINKS_US, TOMBSTONES_US, GAPS_US, PAGES_US, POLLS, THRESHOLD, BOUNDS };
_Static_assert(THRESHOLD == RETENTION_PARAMS, "every other one is a parameter");

const char retention_newest_sql[] = "SELECT max(shared_us) FROM post";

const char retention_left_sql[] =
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM post WHERE shared_us < ?1) "
    "OR EXISTS (SELECT 1 FROM links WHERE below_us IS NULL) "
    "OR EXISTS (SELECT 1 FROM links WHERE below_us < ?2) "
    "OR EXISTS (SELECT 1 FROM links l WHERE l.last_shared_us < ?3 "
    "AND NOT EXISTS (SELECT 1 FROM post_links x WHERE x.link_id = l.id)) "
    "OR EXISTS (SELECT 1 FROM tombstones WHERE at_us < ?4) "
    "OR EXISTS (SELECT 1 FROM past_rows WHERE at_us < ?4) "
    "OR EXISTS (SELECT 1 FROM request_keys WHERE at_us < ?4) "
    "OR EXISTS (SELECT 1 FROM gaps WHERE closed_us < ?5) "
    "OR EXISTS (SELECT 1 FROM follow_page WHERE listing < ?6) "
    "OR EXISTS (SELECT 1 FROM standing) "
    "OR (?7 = 1 AND EXISTS (SELECT 1 FROM poll_state)) THEN 1 ELSE 0 END";

void retention_hear(struct retention_clock *clock, int64_t told_us, int64_t mono_us)
{
    assert(told_us >= 0 && mono_us >= clock->mono_us);
    if (told_us > 0 &&
        (clock->told_us == 0 || told_us > clock->told_us + (mono_us - clock->mono_us)))
        *clock = (struct retention_clock){told_us, mono_us};
}

int64_t retention_now(const struct retention_clock *clock, int64_t wall_us, int64_t mono_us)
{
    assert(clock->told_us >= 0 && mono_us >= clock->mono_us);
    int64_t latest_us = clock->told_us + (mono_us - clock->mono_us) + RETENTION_AHEAD_US;
    return clock->told_us == 0 || wall_us < latest_us ? wall_us : latest_us;
}

struct retention retention_of(const struct config *config)
{
    return (struct retention){.window_hours = config->retention.window_hours,
                              .threshold = config->retention.keep_trending_threshold,
                              .max_days = config->retention.keep_trending_max_days,
                              .polling = config->bluesky.mode != CONFIG_MODE_FIREHOSE};
}

static void find_bounds(const struct retention *retention, int64_t now_us, int64_t bounds[BOUNDS])
{
    assert(retention->threshold >= 0 && now_us >= 0);
    bounds[POSTS_US] = now_us - retention->window_hours * HOUR_US;
    bounds[BELOW_US] = now_us - RETENTION_BELOW_US;
    bounds[THRESHOLD] = retention->threshold;
    bounds[LINKS_US] = now_us - retention->max_days * 24 * HOUR_US;
    if (bounds[LINKS_US] > bounds[POSTS_US])
        bounds[LINKS_US] = bounds[POSTS_US]; /* what was shared since then has posts */
    bounds[TOMBSTONES_US] = now_us - RETENTION_TOMBSTONE_US;
    bounds[GAPS_US] = now_us - RETENTION_GAP_US;
    bounds[PAGES_US] = now_us - RETENTION_PAGES_US;
    bounds[POLLS] = !retention->polling;
}

enum rc retention_prune(const struct retention *retention, struct batch *batch, int64_t now_us)
{
    static const unsigned fields[BOUNDS] = {
        [POSTS_US] = PRUNE_POSTS_US,           [BELOW_US] = PRUNE_BELOW_US,
        [THRESHOLD] = PRUNE_THRESHOLD,         [LINKS_US] = PRUNE_LINKS_US,
        [TOMBSTONES_US] = PRUNE_TOMBSTONES_US, [GAPS_US] = PRUNE_GAPS_US,
        [PAGES_US] = PRUNE_PAGES_US,           [POLLS] = PRUNE_POLLS};
    int64_t bounds[BOUNDS];
    assert(batch != NULL);
    find_bounds(retention, now_us, bounds);
    struct record *row = batch_add(batch, RECORD_PRUNE);
    if (row == NULL)
        return RC_AGAIN;
    batch_set_int(row, PRUNE_AT_US, now_us);
    for (unsigned i = 0; i < BOUNDS; i++)
        batch_set_int(row, fields[i], bounds[i]);
    return RC_OK;
}

void retention_left_params(const struct retention *retention, int64_t now_us,
                           struct field params[RETENTION_PARAMS])
{
    int64_t bounds[BOUNDS];
    find_bounds(retention, now_us, bounds);
    for (unsigned i = 0; i < RETENTION_PARAMS; i++)
        params[i] = field_int(bounds[i]);
}
