/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle_ask.h"

#include "query/handle_shelf.h"
#include "query/row_fetch.h"

#include <assert.h>
#include <string.h>

#define TOUCH_US INT64_C(15000000) /* uses that are closer than this are one, */
#define TOUCHES  20                /* and so are those within this part of a handle's time */

/* ---- backwards ---- */

static struct order reversed(const struct order *order)
{
    struct order back = *order;
    for (size_t i = 0; i < back.count; i++)
        back.terms[i].desc = !back.terms[i].desc;
    return back;
}

/* The place that has `rows` rows between itself and `from`, neither counted; no key when there are
 * fewer: the beginning. A scan that is cut short ends where it came to. */
static enum rc find_place_before(struct store *store, const struct handle_state *state,
                                 const struct row_key *from, size_t rows, struct row_key *place,
                                 struct refusal *refusal, struct err *err)
{
    const struct order back = reversed(&state->order);
    struct page_request request = handle_state_request(state);
    struct page page = {0};
    request.order = &back;
    request.after = from;
    request.page_size = rows + 1;
    row_key_clear(place);
    enum rc rc = page_fetch(store, &request, &page, refusal, err);
    if (rc == RC_OK && (page.rows == rows + 1 || page.has_more))
        row_key_move(place, &page.last);
    page_free(&page);
    return rc;
}

/* ---- opening ---- */

struct sought {
    const struct handle_state *state;
    struct row_key *key; /* without parts: the row is not in the result */
    bool too_long;
};

/* The order's terms, which end with the ingest number, and the columns. */
static bool take_sought(void *arg, const struct field *columns, size_t count)
{
    struct sought *sought = arg;
    const struct handle_state *state = sought->state;
    size_t terms = state->order.count;
    assert(count == terms + state->collection->column_count);
    if (columns[terms - 1].i < state->opening.fence_n &&
        filter_matches(state->filter, columns + terms))
        sought->too_long = !row_key_set(sought->key, columns, terms);
    return false;
}

static enum rc find_row(struct store *store, const struct handle_state *state, struct bytes id,
                        struct row_key *key, struct refusal *refusal, struct err *err)
{
    const struct collection *collection = state->collection;
    struct sought sought = {.state = state, .key = key};
    struct text sql = {0};
    struct field wanted;
    enum rc rc = RC_OK;
    text_append_string(&sql, "SELECT ");
    for (size_t i = 0; i < state->order.count; i++)
        text_appendf(&sql, "%s, ", state->order.terms[i].sql);
    for (size_t i = 0; i < collection->column_count; i++)
        text_appendf(&sql, "%s%s", i > 0 ? ", " : "", collection->columns[i].sql);
    row_append_scope(collection, &sql);
    if (row_id(collection, id, &wanted))
        rc = store_query(store, text_string(&sql), &wanted, 1, take_sought, &sought, err);
    text_free(&sql);
    if (rc == RC_OK && sought.too_long)
        return refusal_set(refusal, REFUSAL_BAD_ORDER,
                           "around: a value of this row is too long to page by");
    if (rc == RC_OK && key->count == 0)
        return refusal_set(refusal, REFUSAL_NOT_FOUND,
                           "around: no row of this result has the id \"%.*s\"",
                           (int)(id.len > 128 ? 128 : id.len), id.data);
    return rc;
}

/* A page with `before` rows before the place. */
static enum rc begin_around(struct store *store, struct handle_state *state,
                            const struct row_key *row, size_t before, bool *holds,
                            struct refusal *refusal, struct err *err)
{
    struct row_key start = {0};
    struct page page = {0};
    struct page_request request = handle_state_request(state);
    enum rc rc = find_place_before(store, state, row, before, &start, refusal, err);
    request.after = &start;
    if (rc == RC_OK)
        rc = page_fetch(store, &request, &page, refusal, err);
    *holds = rc == RC_OK && page.last.count > 0 &&
             row_key_compare(&state->order, page.last.parts, row->parts) >= 0;
    if (rc == RC_OK)
        walk_begin_between(&state->walk, &start, &page.last, page.has_more, state->page_size);
    row_key_clear(&start);
    page_free(&page);
    return rc;
}

static enum rc find_beginning(struct store *store, struct handle_state *state, struct bytes id,
                              struct refusal *refusal, struct err *err)
{
    struct row_key row = {0};
    bool holds = true;
    walk_clear(&state->walk);
    walk_init(&state->walk);
    if (id.data == NULL)
        return RC_OK;
    enum rc rc = find_row(store, state, id, &row, refusal, err);
    if (rc == RC_OK)
        rc = begin_around(store, state, &row, state->page_size / 2, &holds, refusal, err);
    /* Rows before it that fill the page, or hold it up, stay before the page. */
    if (rc == RC_OK && !holds)
        rc = begin_around(store, state, &row, 0, &holds, refusal, err);
    row_key_clear(&row);
    return rc;
}

enum rc handle_open(struct store *store, struct handle_state *state,
                    const struct handle_opening *question, struct refusal *refusal, struct err *err)
{
    struct store *beside;
    assert(state->page_size > 0 && state->page_size <= COLLECTION_PAGE_SIZE_MAX);
    enum rc rc = opening_read(store, state->collection, filter_where(state->filter),
                              question->exact, &state->opening, err);
    if (rc == RC_OK)
        rc = find_beginning(store, state, question->around, refusal, err);
    if (rc == RC_OK)
        rc = store_beside(store, &beside, err);
    state->known = rc == RC_OK;
    if (rc == RC_OK)
        rc = shelf_add(beside, state, err);
    state->known = rc == RC_OK;
    return rc;
}

/* ---- asking ---- */

static bool is_idle(const struct handle_state *state, const struct handle_question *question)
{
    return question->now_us - state->used_us >= question->idle_us_max;
}

static bool is_due(const struct handle_state *state, const struct handle_question *question)
{
    int64_t part_us = question->idle_us_max / TOUCHES;
    return question->now_us - state->used_us >= (part_us < TOUCH_US ? part_us : TOUCH_US);
}

static enum rc check(const struct handle_state *state, const struct handle_question *question,
                     struct refusal *refusal)
{
    if (memcmp(state->session, question->session, sizeof state->session) != 0)
        return refusal_set(refusal, REFUSAL_FORBIDDEN, "this query belongs to another session");
    if (is_idle(state, question))
        return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                           "this query was not used for too long: open it again");
    return RC_OK;
}

static enum rc read_known(struct store *store, const struct handle_state *state, int at,
                          bool counted, struct handle_answer *answer, struct refusal *refusal,
                          struct err *err)
{
    const struct walk_place *start = &state->walk.places[at], *end = start + 1;
    struct page_request request = handle_state_request(state);
    if (end->empty) {
        text_clear(&answer->page.items);
        text_append_string(&answer->page.items, "[]");
        return RC_OK;
    }
    request.after = &start->key;
    request.last = &end->key;
    request.page_size = end->size;
    request.counted = counted;
    return page_fetch(store, &request, &answer->page, refusal, err);
}

/* Rows that are not known yet. What comes before is found first and then read as any interval. */
static enum rc read_new(struct store *store, struct handle_state *state,
                        const struct walk_step *step, bool counted, struct handle_answer *answer,
                        struct refusal *refusal, struct err *err)
{
    struct page_request request = handle_state_request(state);
    struct row_key start = {0};
    enum rc rc;
    if (step->kind == WALK_FORWARD) {
        request.counted = counted;
        request.after = &state->walk.places[step->to].key;
        rc = page_fetch(store, &request, &answer->page, refusal, err);
        if (rc == RC_OK)
            walk_take(&state->walk, step, &answer->page.last, answer->page.has_more,
                      state->page_size);
        return rc;
    }
    /* The place itself belongs to the page that ends there. */
    rc = find_place_before(store, state, &state->walk.places[0].key, state->page_size - 1, &start,
                           refusal, err);
    if (rc == RC_OK) {
        walk_take(&state->walk, step, &start, true, state->page_size);
        rc = read_known(store, state, 0, counted, answer, refusal, err);
    }
    row_key_clear(&start);
    return rc;
}

static enum rc take_step(struct store *store, struct handle_state *state,
                         const struct walk_step *step, bool counted, struct handle_answer *answer,
                         struct refusal *refusal, struct err *err)
{
    enum rc rc = RC_OK;
    answer->keys_used = 0;
    if (step->kind != WALK_NOWHERE)
        answer->keys_used = state->walk.places[step->to].key.count;
    if (step->kind == WALK_FORWARD || step->kind == WALK_BACK)
        return read_new(store, state, step, counted, answer, refusal, err);
    if (step->kind == WALK_KNOWN)
        rc = read_known(store, state, step->to, counted, answer, refusal, err);
    else
        text_append_string(&answer->page.items, "[]");
    if (rc == RC_OK)
        walk_take(&state->walk, step, NULL, false, 0);
    return rc;
}

/* From here on memory is ahead of the shelf until the save has succeeded. */
static enum rc move(struct store *store, struct store *beside, struct handle_state *state,
                    const struct handle_question *question, struct handle_answer *answer,
                    struct refusal *refusal, struct err *err)
{
    struct walk_step step;
    enum rc rc = walk_plan(&state->walk, question->direction,
                           question->named ? &question->page : NULL, &step, refusal);
    if (rc != RC_OK)
        return rc;
    if (question->page_size > 0)
        state->page_size = question->page_size;
    text_clear(&answer->page.items);
    answer->number = step.number;
    rc = take_step(store, state, &step, question->counted, answer, refusal, err);
    if (rc != RC_OK)
        goto done;
    answer->has_more = walk_has_more(&state->walk);
    answer->has_previous = walk_has_previous(&state->walk);
    answer->opening = state->opening;
    state->used_us = question->now_us;
    rc = shelf_save(beside, state, refusal, err);
done:
    if (rc != RC_OK)
        handle_state_forget(state);
    return rc;
}

enum rc handle_ask(struct store *store, struct handle_state *state,
                   struct handle_question *question, struct handle_answer *answer,
                   struct refusal *refusal, struct err *err)
{
    struct store *beside;
    enum rc rc = store_beside(store, &beside, err);
    /* Whoever follows the query uses it, and only the shelf knows. */
    if (state->known && is_idle(state, question))
        handle_state_forget(state);
    if (state->known)
        handle_state_renew(state, &question->finder);
    if (rc == RC_OK && !state->known)
        rc = shelf_load(beside, state, &question->finder, refusal, err);
    if (rc != RC_OK)
        return rc;
    rc = check(state, question, refusal);
    if (rc != RC_OK) {
        handle_state_forget(state);
        return rc;
    }
    rc = move(store, beside, state, question, answer, refusal, err);
    if (rc != RC_REJECT && rc != RC_OK && !question->named) {
        question->named = true;
        question->page = answer->number;
    }
    return rc;
}

enum rc handle_look_up(struct store *store, struct handle_state *state,
                       const struct handle_question *question, struct refusal *refusal,
                       struct err *err)
{
    struct store *beside;
    enum rc rc = store_beside(store, &beside, err);
    handle_state_forget(state);
    if (rc == RC_OK)
        rc = shelf_load(beside, state, &question->finder, refusal, err);
    if (rc == RC_OK)
        rc = check(state, question, refusal);
    if (rc == RC_OK && is_due(state, question))
        rc = shelf_touch(beside, state->name, question->now_us, err);
    return rc;
}
