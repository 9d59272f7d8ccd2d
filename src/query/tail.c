/* SPDX-License-Identifier: Apache-2.0 */
#include "query/tail.h"

#include <assert.h>

/* The first row that surely was not there at `seq`, and the one below which all surely were. */
static void look_up(struct tail *tail, const struct tail_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++) {
        const struct tail_mark *mark = &marks->at[(marks->first + i) % TAIL_MARKS_MAX];
        if (mark->seq <= tail->seq && mark->next_n > tail->old_below)
            tail->old_below = mark->next_n;
        if (mark->seq >= tail->seq && mark->next_n < tail->new_from)
            tail->new_from = mark->next_n;
    }
}

void tail_init(struct tail *tail, const struct collection *collection, struct filter *filter,
               const struct opening *opening, int64_t since, const struct tail_marks *marks)
{
    *tail = (struct tail){
        .collection = collection, .filter = filter, .seq = since, .new_from = INT64_MAX};
    if (since >= opening->seq)
        tail->old_below = opening->fence_n;
    if (since > opening->seq)
        look_up(tail, marks);
    assert(tail->old_below <= tail->new_from);
}

void tail_deinit(struct tail *tail)
{
    filter_free(tail->filter);
    *tail = (struct tail){0};
}

enum rc tail_renew(struct tail *tail, const struct collection *collection, struct refusal *refusal)
{
    if (filter_renew(&tail->filter, collection, refusal) != RC_OK)
        return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                           "what this query asked for is not there any more: open it again");
    tail->collection = collection;
    return RC_OK;
}

/* Whether the row may have been in the result since tail->seq. */
static bool may_have_been(const struct tail *tail, const struct change *change)
{
    const struct collection *collection = tail->collection;
    if (collection->pasts == NULL)
        return change->n < tail->new_from &&
               (change->columns == NULL ||
                filter_may_match(tail->filter, change->columns, change->known));
    for (size_t i = 0; i < change->past_count; i++)
        if (change->pasts[i].seq > tail->seq &&
            filter_matches(tail->filter, change->pasts[i].columns))
            return true;
    return false;
}

static const char *judge(const struct tail *tail, const struct change *change)
{
    if (change->seq <= tail->seq)
        return NULL;
    if (change->gone || !filter_matches(tail->filter, change->columns))
        return may_have_been(tail, change) ? "leave" : NULL;
    return change->n < tail->old_below ? "update" : "enter";
}

static void put_id(struct json_writer *writer, struct bytes id)
{
    json_begin_object(writer);
    json_key(writer, "id");
    json_put_string(writer, id);
    json_end_object(writer);
}

size_t tail_print(const struct tail *tail, const struct changes *changes,
                  struct json_writer *writer)
{
    size_t count = 0;
    assert(changes->since <= tail->seq);
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->items[i];
        const char *op = judge(tail, change);
        if (op == NULL)
            continue;
        json_begin_object(writer);
        json_key(writer, "op");
        json_put_cstring(writer, op);
        json_key(writer, "seq");
        json_put_i64(writer, change->seq);
        json_key(writer, "item");
        if (op[0] == 'l')
            put_id(writer, change->id);
        else
            json_put_raw(writer, change->item);
        json_end_object(writer);
        count++;
    }
    return count;
}

bool tail_sees(const struct tail *tail, const struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (judge(tail, &changes->items[i]) != NULL)
            return true;
    return false;
}

void tail_move(struct tail *tail, const struct changes *changes)
{
    if (changes->seq <= tail->seq)
        return;
    tail->seq = changes->seq;
    if (!changes->more)
        tail->old_below = changes->next_n;
    tail->new_from = changes->more ? INT64_MAX : changes->next_n;
}

void tail_marks_add(struct tail_marks *marks, const struct changes *changes)
{
    const struct tail_mark *newest =
        &marks->at[(marks->first + marks->count + TAIL_MARKS_MAX - 1) % TAIL_MARKS_MAX];
    if (changes->more || (marks->count > 0 && newest->seq >= changes->seq))
        return;
    if (marks->count == TAIL_MARKS_MAX) {
        marks->first = (marks->first + 1) % TAIL_MARKS_MAX;
        marks->count--;
    }
    marks->at[(marks->first + marks->count++) % TAIL_MARKS_MAX] =
        (struct tail_mark){changes->seq, changes->next_n};
}
