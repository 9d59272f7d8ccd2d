/* SPDX-License-Identifier: Apache-2.0 */
#include "query/walk.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void walk_init(struct walk *walk)
{
    *walk = (struct walk){.count = 1, .at = -1, .number = -1};
}

void walk_clear(struct walk *walk)
{
    for (int i = 0; i < walk->count; i++)
        row_key_clear(&walk->places[i].key);
    *walk = (struct walk){0};
}

static bool is_at_last(const struct walk *walk)
{
    return walk->at + 1 == walk->count - 1;
}

static bool is_at_beginning(const struct walk *walk)
{
    return walk->at == 0 && walk->places[0].key.count == 0;
}

bool walk_has_more(const struct walk *walk)
{
    return walk->beyond < 0 || (walk->beyond == 0 && !(is_at_last(walk) && walk->ended));
}

bool walk_has_previous(const struct walk *walk)
{
    return walk->beyond > 0 || (walk->beyond == 0 && !is_at_beginning(walk));
}

/* ---- steps ---- */

static enum rc refuse(const struct walk *walk, enum walk_direction direction,
                      struct refusal *refusal)
{
    if (walk->at < 0)
        return refusal_set(refusal, REFUSAL_CONFLICT,
                           "no page was delivered yet: ask for page 0 with query-next");
    return refusal_set(refusal, REFUSAL_CONFLICT,
                       "page %" PRId64 " was delivered last: ask for it again or for page %" PRId64,
                       walk->number, direction == WALK_NEXT ? walk->number + 1 : walk->number - 1);
}

/* Without a number: from where the reader was shown to be, also beyond an end. */
static int64_t default_page(const struct walk *walk, enum walk_direction direction)
{
    if (direction == WALK_NEXT)
        return walk->beyond < 0 ? walk->number : walk->number + 1;
    return walk->beyond > 0 ? walk->number : walk->number - 1;
}

static void plan_next(const struct walk *walk, struct walk_step *step)
{
    step->to = walk->at + 1;
    step->onward = true;
    if (step->to + 1 < walk->count)
        step->kind = WALK_KNOWN;
    else
        step->kind = walk->ended ? WALK_NOWHERE : WALK_FORWARD;
}

static void plan_previous(const struct walk *walk, struct walk_step *step)
{
    step->to = walk->at > 0 ? walk->at - 1 : 0;
    if (walk->at > 0)
        step->kind = WALK_KNOWN;
    else
        step->kind = is_at_beginning(walk) ? WALK_NOWHERE : WALK_BACK;
}

enum rc walk_plan(const struct walk *walk, enum walk_direction direction, const int64_t *page,
                  struct walk_step *step, struct refusal *refusal)
{
    assert(walk->count > 0 && walk->at < walk->count);
    bool next = direction == WALK_NEXT;
    int64_t number = page == NULL ? default_page(walk, direction) : *page;
    *step = (struct walk_step){.number = number};
    if (walk->at < 0 && !next)
        return refuse(walk, direction, refusal);
    if (walk->at >= 0 && number == walk->number) {
        step->kind = WALK_KNOWN;
        step->to = walk->at;
        return RC_OK;
    }
    if (next)
        plan_next(walk, step);
    else
        plan_previous(walk, step);
    bool neighbour = number == (next ? walk->number + 1 : walk->number - 1);
    bool further = next ? number > walk->number : number < walk->number;
    if (neighbour || (further && step->kind == WALK_NOWHERE))
        return RC_OK;
    return refuse(walk, direction, refusal);
}

/* ---- places ---- */

static void copy_key(struct row_key *to, const struct row_key *from)
{
    if (from->count == 0)
        return;
    bool copied = row_key_set(to, from->parts, from->count);
    assert(copied);
    (void)copied;
}

static void append_place(struct walk *walk, struct row_key *end, unsigned size)
{
    if (walk->count == WALK_PLACES_MAX) {
        row_key_clear(&walk->places[0].key);
        memmove(&walk->places[0], &walk->places[1], (WALK_PLACES_MAX - 1) * sizeof walk->places[0]);
        walk->count--;
        walk->at--;
    }
    struct walk_place *place = &walk->places[walk->count++];
    *place = (struct walk_place){.size = (uint16_t)size, .empty = end->count == 0};
    if (place->empty)
        copy_key(&place->key, &place[-1].key);
    else
        row_key_move(&place->key, end);
}

static void prepend_place(struct walk *walk, struct row_key *start, unsigned size)
{
    if (walk->count == WALK_PLACES_MAX) {
        row_key_clear(&walk->places[--walk->count].key);
        walk->ended = false;
    }
    memmove(&walk->places[1], &walk->places[0], (size_t)walk->count * sizeof walk->places[0]);
    walk->count++;
    walk->places[0] = (struct walk_place){0};
    row_key_move(&walk->places[0].key, start);
    walk->places[1].size = (uint16_t)size;
    walk->places[1].empty = false;
}

void walk_take(struct walk *walk, const struct walk_step *step, struct row_key *end, bool has_more,
               unsigned size)
{
    if (step->kind == WALK_NOWHERE) {
        walk->beyond = step->onward ? 1 : -1;
        return;
    }
    if (step->kind == WALK_FORWARD) {
        append_place(walk, end, size);
        walk->ended = !has_more;
        walk->at = walk->count - 2;
    } else if (step->kind == WALK_BACK) {
        prepend_place(walk, end, size);
        walk->at = 0;
    } else {
        walk->at = step->to;
    }
    walk->number = step->number;
    walk->beyond = 0;
    assert(walk->at >= 0 && walk->at + 1 < walk->count);
}

void walk_begin_between(struct walk *walk, struct row_key *start, struct row_key *end,
                        bool has_more, unsigned size)
{
    walk_clear(walk);
    walk_init(walk);
    row_key_move(&walk->places[0].key, start);
    append_place(walk, end, size);
    walk->ended = !has_more;
}
