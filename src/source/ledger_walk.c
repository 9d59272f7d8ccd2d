/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_walk.h"

#include "base/hash.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ledger_walk_init(struct ledger_walk *walk, const struct connector_stream *shape, int listed)
{
    *walk =
        (struct ledger_walk){.shape = shape, .complete = -1, .top = -1, .span = shape->page.size};
    walk->leg_count = shape->partition_count > 0 ? (unsigned)shape->partition_count : 1;
    if (listed >= 0)
        walk->leg_count = (unsigned)listed;
    assert(walk->leg_count <= LEDGER_LEGS_MAX);
    walk->legs = memory_new_zeroed(walk->leg_count + 1, sizeof *walk->legs);
    for (unsigned i = 0; i < walk->leg_count; i++)
        ledger_equals_init(&walk->legs[i].equals, shape->equals == EQUALS_FILE
                                                      ? LEDGER_EQUALS_FILE_MAX
                                                      : LEDGER_EQUALS_MAX);
}

void ledger_walk_deinit(struct ledger_walk *walk)
{
    for (unsigned i = 0; i < walk->leg_count; i++)
        ledger_equals_deinit(&walk->legs[i].equals);
    free(walk->legs);
    walk->legs = NULL;
    walk->leg_count = 0;
}

int64_t ledger_walk_position(const struct connector_stream *shape, const struct ledger_row *row)
{
    if (shape->resume.kind == RESUME_TIMESTAMP || !shape->map[FIELD_BLOCK].mapped)
        return row->time_us;
    return row->block;
}

static bool is_ascending(const struct ledger_walk *walk)
{
    return walk->shape->order == ORDER_ASC;
}

static void key_leg(const struct ledger_walk *walk, struct ledger_leg *leg, int64_t from)
{
    leg->from = from;
    leg->page = walk->shape->page.first;
    leg->offset = walk->shape->page.by == PAGE_OFFSET ? walk->shape->page.first : 0;
    leg->token[0] = '\0';
    leg->traces_before = leg->empty = 0;
    leg->started = leg->over = leg->below = leg->shortened = false;
    ledger_equals_clear(&leg->equals); /* its first block is read from the beginning */
}

/* Every leg from what is complete (oldest first) or from the newest row. */
static void key_all(struct ledger_walk *walk)
{
    bool from = is_ascending(walk) && walk->shape->resume.kind != RESUME_NONE;
    bool ranged = walk->shape->page.by == PAGE_RANGE;
    for (unsigned i = 0; i < walk->leg_count; i++) {
        struct ledger_leg *leg = &walk->legs[i];
        int64_t known = leg->whole ? -1 : walk->complete;
        key_leg(walk, leg, from ? known : -1);
        leg->last = leg->opened = from ? known : -1;
        leg->floor = known;
        leg->claim = -1;
        leg->reopened = false;
        leg->over = ranged && walk->complete > walk->head;
    }
}

void ledger_walk_tell_part(struct ledger_walk *walk, unsigned leg, bool seen)
{
    assert(leg < walk->leg_count);
    walk->legs[leg].seen = seen;
    walk->legs[leg].whole = !seen;
}

void ledger_walk_begin(struct ledger_walk *walk, const struct ledger_place *place)
{
    walk->complete = walk->top = place->complete;
    walk->head = place->head;
    walk->settle = place->settle;
    walk->rows = 0;
    walk->abrupt = false;
    key_all(walk);
    walk->continued = place->token.len > 0 && walk->leg_count == 1 &&
                      place->token.len <= LEDGER_TOKEN_MAX && !is_ascending(walk);
    if (!walk->continued)
        return;
    walk->top = place->top > walk->top ? place->top : walk->top;
    memcpy(walk->legs[0].token, place->token.data, place->token.len);
    walk->legs[0].token[place->token.len] = '\0';
}

void ledger_walk_restart(struct ledger_walk *walk)
{
    for (unsigned i = 0; i < walk->leg_count; i++)
        walk->legs[i].shown = walk->legs[i].shown || walk->legs[i].last >= 0;
    walk->continued = false;
    key_all(walk);
}

bool ledger_walk_is_new(const struct ledger_walk *walk)
{
    const struct ledger_leg *leg = &walk->legs[walk->leg];
    return walk->leg_count > 0 && !leg->started && !leg->shown && leg->token[0] == '\0' &&
           leg->page == walk->shape->page.first && leg->last == leg->opened;
}

bool ledger_walk_shrink(struct ledger_walk *walk)
{
    if (walk->shape->page.by != PAGE_RANGE || walk->span == 1)
        return false;
    walk->span /= 2;
    return true;
}

bool ledger_walk_over(const struct ledger_walk *walk)
{
    for (unsigned i = 0; i < walk->leg_count; i++)
        if (!walk->legs[i].over)
            return false;
    return true;
}

/* The one furthest behind: the lowest position on the way up, the highest on the way down. */
static unsigned find_hindmost(const struct ledger_walk *walk)
{
    unsigned hindmost = walk->leg_count;
    for (unsigned i = 0; i < walk->leg_count; i++) {
        const struct ledger_leg *leg = &walk->legs[i];
        if (leg->over)
            continue;
        if (leg->last < 0)
            return i;
        if (hindmost == walk->leg_count ||
            (is_ascending(walk) ? leg->last < walk->legs[hindmost].last
                                : leg->last > walk->legs[hindmost].last))
            hindmost = i;
    }
    return hindmost;
}

/* The last block of the range that is asked for. */
static int64_t range_end(const struct ledger_walk *walk, const struct ledger_leg *leg)
{
    int64_t end = (leg->from < 0 ? 0 : leg->from) + walk->span - 1;
    return end < walk->head ? end : walk->head;
}

bool ledger_walk_next(struct ledger_walk *walk, struct connector_vars *vars)
{
    enum connector_paging by = walk->shape->page.by;
    if (ledger_walk_over(walk))
        return false;
    walk->leg = find_hindmost(walk);
    struct ledger_leg *leg = &walk->legs[walk->leg];
    leg->rows = 0;
    leg->traces = 0;
    vars->partition = walk->leg;
    vars->from = leg->from;
    if (by == PAGE_RANGE) {
        vars->from = leg->from < 0 ? 0 : leg->from;
        vars->to = range_end(walk, leg);
    }
    vars->page = by == PAGE_NUMBER || by == PAGE_KEYSET ? leg->page : -1;
    vars->offset = by == PAGE_OFFSET ? leg->offset : -1;
    vars->size = walk->shape->page.size > 0 ? walk->shape->page.size : -1;
    vars->token = leg->token[0] != '\0' ? bytes_of(leg->token) : BYTES_ABSENT;
    return true;
}

/* What all partitions have passed. */
static void raise_complete(struct ledger_walk *walk)
{
    int64_t passed = walk->leg_count > 0 ? INT64_MAX : -1;
    for (unsigned i = 0; i < walk->leg_count; i++) {
        const struct ledger_leg *leg = &walk->legs[i];
        int64_t its = is_ascending(walk) ? leg->last : -1;
        if (leg->over)
            its = leg->claim;
        passed = its < passed ? its : passed;
    }
    if (passed > walk->complete)
        walk->complete = passed;
}

bool ledger_walk_below(const struct ledger_walk *walk, int64_t position)
{
    return walk->shape->order == ORDER_DESC && position >= 0 &&
           position < walk->legs[walk->leg].floor;
}

enum rc ledger_walk_row(struct ledger_walk *walk, const struct ledger_row *row, uint32_t *ordinal,
                        struct err *err)
{
    struct ledger_leg *leg = &walk->legs[walk->leg];
    int64_t at = ledger_walk_position(walk->shape, row);
    *ordinal = 0;
    leg->traces = hash_bytes(bytes_make(row->key, sizeof row->key), leg->traces + (uint64_t)at);
    leg->rows++;
    walk->rows++;
    bool whole_file = walk->shape->equals == EQUALS_FILE;
    if (walk->shape->equals != EQUALS_NONE &&
        ledger_equals_count(&leg->equals, whole_file ? 0 : at, row->key, ordinal) != RC_OK)
        return whole_file
                   ? err_set(err, RC_REJECT, "the file has more than %zu different rows",
                             leg->equals.max)
                   : err_set(err, RC_REJECT, "block %" PRId64 " has more than %zu different rows",
                             at, leg->equals.max);
    if (at < 0)
        return RC_OK; /* in no block yet */
    leg->last = !is_ascending(walk) || at > leg->last ? at : leg->last;
    leg->below = leg->below || ledger_walk_below(walk, at);
    walk->top = at > walk->top ? at : walk->top;
    if (is_ascending(walk))
        raise_complete(walk);
    return RC_OK;
}

bool ledger_walk_at_top(const struct ledger_walk *walk)
{
    const struct ledger_leg *leg = &walk->legs[walk->leg];
    return walk->shape->order == ORDER_DESC && !leg->started && leg->token[0] == '\0';
}

void ledger_walk_end_leg(struct ledger_walk *walk)
{
    walk->legs[walk->leg].below = true;
}

/* Counts on, or begins to count anew at the block the leg has come to. */
static enum rc turn_page(struct ledger_walk *walk, struct ledger_leg *leg, size_t records,
                         struct err *err)
{
    const struct connector_stream *shape = walk->shape;
    bool keyed = is_ascending(walk) && shape->resume.kind != RESUME_NONE;
    int64_t size = shape->page.size;
    int64_t window = shape->page.window_max;
    /* A row that an index adds late, further down, moves all that follow to other numbers: from one
     * page to the next they count only as long as they are of one block. */
    if (shape->page.by == PAGE_KEYSET && leg->last > leg->from)
        window = size;
    int64_t read = shape->page.by == PAGE_OFFSET
                       ? leg->offset - shape->page.first + (int64_t)records
                       : (leg->page - shape->page.first + 1) * size;
    if (window == 0 || read + size <= window) {
        leg->page++;
        leg->offset += (int64_t)records;
        return RC_OK;
    }
    if (keyed && leg->last > leg->from) {
        key_leg(walk, leg, leg->last);
        return RC_OK;
    }
    return err_set(err, RC_REJECT,
                   "position %" PRId64 " has more than the %" PRId64
                   " rows that the provider counts to",
                   leg->last, window);
}

/* All of the range was shown, whether it had rows or not. */
static void pass_range(struct ledger_walk *walk, struct ledger_leg *leg)
{
    int64_t end = range_end(walk, leg);
    key_leg(walk, leg, end + 1);
    leg->last = end + 1;
    leg->over = end >= walk->head;
    walk->top = leg->last > walk->top ? leg->last : walk->top;
    walk->span = walk->span * 2 < walk->shape->page.size ? walk->span * 2 : walk->shape->page.size;
}

static enum rc take_token(struct ledger_walk *walk, struct ledger_leg *leg, struct bytes token,
                          struct err *err)
{
    if (token.len > LEDGER_TOKEN_MAX)
        return err_set(err, RC_REJECT, "the page's token has %zu bytes, at most %d are kept",
                       token.len, LEDGER_TOKEN_MAX);
    if (token.len == 0 && is_ascending(walk) && walk->shape->resume.kind != RESUME_NONE &&
        leg->last > leg->from) {
        key_leg(walk, leg, leg->last);
        return RC_OK;
    }
    if (token.len == 0)
        return err_set(err, RC_REJECT, "the page is not the last and leads to no other");
    memcpy(leg->token, token.data, token.len);
    leg->token[token.len] = '\0';
    return RC_OK;
}

/* What was there when it was asked, it has: on the way up at its last page, else at its first. Of
 * several partitions, one that ends with nothing has for now what it has shown: it is asked again
 * when all have ended, and as long as that brings more. */
static void claim(struct ledger_walk *walk, struct ledger_leg *leg, size_t records)
{
    bool again = records == 0 && walk->leg_count > 1 && is_ascending(walk) &&
                 walk->shape->resume.kind != RESUME_NONE &&
                 (!leg->reopened || leg->last > leg->opened);
    if (is_ascending(walk) ? leg->over : !leg->started)
        leg->claim = again ? leg->last : walk->top;
    leg->reopened = leg->reopened && !again;
    leg->started = true;
}

/* Those that ended before others met newer rows. */
static void reopen(struct ledger_walk *walk)
{
    if (is_ascending(walk) && walk->shape->resume.kind == RESUME_NONE)
        return; /* it would be everything again */
    for (unsigned i = 0; i < walk->leg_count; i++) {
        struct ledger_leg *leg = &walk->legs[i];
        if (leg->claim >= walk->top || leg->reopened)
            continue;
        key_leg(walk, leg, is_ascending(walk) ? leg->last : -1);
        leg->floor = leg->claim;
        leg->opened = leg->last;
        leg->reopened = true;
    }
}

/* The interrupted sweep is done; what came since it began is above its top, or in the place of what
 * lay just below. */
static void sweep_again(struct ledger_walk *walk)
{
    int64_t before = walk->complete;
    if (!walk->abrupt)
        walk->complete = walk->top > walk->complete ? walk->top : walk->complete;
    walk->continued = walk->abrupt = false;
    key_all(walk);
    struct ledger_leg *leg = &walk->legs[0];
    if (leg->floor > before)
        leg->floor = leg->floor - walk->settle > before ? leg->floor - walk->settle : before;
}

/* It was in the midst of a sweep. */
static bool is_cut_off(const struct ledger_walk *walk, const struct ledger_leg *leg)
{
    return !is_ascending(walk) && walk->shape->page.by != PAGE_NONE &&
           (leg->last >= 0 || leg->shown || walk->continued);
}

/* A page that is short by a slip looks like the last one, where nothing else tells that: newest
 * first there would be no later run to find what is missing. */
static bool looks_further(const struct ledger_walk *walk, const struct ledger_leg *leg,
                          size_t records, struct bytes token)
{
    const struct connector_stream *shape = walk->shape;
    enum connector_paging by = shape->page.by;
    bool leads_on = by == PAGE_OFFSET || by == PAGE_NUMBER || (by == PAGE_TOKEN && token.len > 0);
    return shape->order == ORDER_DESC && shape->page.stop == STOP_SHORT_PAGE &&
           !shape->count.given && records > 0 && !leg->below && leads_on;
}

/* Of records that are all another stream's there are no traces to tell a page by. */
static bool leads_to_itself(const struct ledger_leg *leg, size_t records, struct bytes token)
{
    return records > 0 && leg->rows == 0 && token.len > 0 && bytes_equal_string(token, leg->token);
}

/* One empty page may be a slip. */
static bool asks_again(const struct ledger_walk *walk, struct ledger_leg *leg, size_t records)
{
    bool again =
        leg->over && records == 0 && !leg->asked_twice && !leg->shortened && is_cut_off(walk, leg);
    leg->asked_twice = again;
    leg->over = leg->over && !again;
    return again;
}

enum rc ledger_walk_page(struct ledger_walk *walk, size_t records, bool last, struct bytes token,
                         struct err *err)
{
    struct ledger_leg *leg = &walk->legs[walk->leg];
    enum connector_paging by = walk->shape->page.by;
    enum rc rc = RC_OK;
    assert(!leg->over);
    if (by == PAGE_RANGE) {
        pass_range(walk, leg);
        claim(walk, leg, 1); /* the range was shown, with or without rows */
        raise_complete(walk);
        return RC_OK;
    }
    if (records == 0 && leg->seen && !leg->started && !is_ascending(walk))
        return err_set(err, RC_REJECT, "shows nothing of a part of which it has shown rows");
    if (leg->shortened && records > 0 && by == PAGE_NUMBER) /* what it lacked is on no other page */
        return err_set(err, RC_REJECT, "the page before was short and not the last");
    leg->over = last || leg->below || by == PAGE_NONE;
    bool further = leg->over && looks_further(walk, leg, records, token);
    leg->over = leg->over && !further;
    if (!leg->over && leg->rows > 0 && leg->traces == leg->traces_before)
        return err_set(err, RC_REJECT, "the provider gave the same page twice");
    leg->traces_before = leg->traces;
    if (!leg->over && leads_to_itself(leg, records, token))
        return err_set(err, RC_REJECT, "the page leads to itself");
    leg->empty = records == 0 ? leg->empty + 1 : 0;
    if (!leg->over && leg->empty >= LEDGER_EMPTY_MAX)
        return err_set(err, RC_REJECT, "%d pages in a row had no rows and led to another",
                       LEDGER_EMPTY_MAX);
    if (!leg->over)
        rc = by == PAGE_TOKEN || by == PAGE_LINK ? take_token(walk, leg, token, err)
                                                 : turn_page(walk, leg, records, err);
    if (rc != RC_OK)
        return rc;
    if (asks_again(walk, leg, records))
        return RC_OK;
    claim(walk, leg, records);
    if (leg->over && records == 0 && !leg->shortened && is_cut_off(walk, leg))
        walk->abrupt = true;
    leg->shortened = further;
    if (ledger_walk_over(walk) && walk->continued)
        sweep_again(walk);
    else if (ledger_walk_over(walk))
        reopen(walk);
    raise_complete(walk);
    return RC_OK;
}

struct bytes ledger_walk_token(const struct ledger_walk *walk)
{
    const struct ledger_leg *leg = &walk->legs[0];
    bool can = walk->leg_count == 1 && !is_ascending(walk) && walk->shape->equals == EQUALS_NONE &&
               !leg->over;
    return can && leg->token[0] != '\0' ? bytes_of(leg->token) : BYTES_ABSENT;
}
