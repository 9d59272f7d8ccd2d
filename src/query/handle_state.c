/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle_state.h"

#include "base/json_write.h"

#include <assert.h>
#include <string.h>

#define WORDS_BYTES_MAX (1 << 20)

void handle_state_forget(struct handle_state *state)
{
    walk_clear(&state->walk);
    filter_free(state->filter);
    struct handle_state rest = {0};
    memcpy(rest.name, state->name, sizeof rest.name);
    memcpy(rest.session, state->session, sizeof rest.session);
    *state = rest;
}

struct page_request handle_state_request(const struct handle_state *state)
{
    return (struct page_request){.collection = state->collection,
                                 .order = &state->order,
                                 .filter = state->filter,
                                 .fence_n = state->opening.fence_n,
                                 .page_size = state->page_size};
}

void handle_state_print_order(const struct handle_state *state, struct text *out)
{
    const struct order *order = &state->order;
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_begin_array(&writer);
    for (size_t i = 0; i < order->count && order->terms[i].name != NULL; i++) {
        json_begin_object(&writer);
        json_key(&writer, "field");
        json_put_cstring(&writer, order->terms[i].name);
        json_key(&writer, "direction");
        json_put_cstring(&writer, order->terms[i].desc ? "desc" : "asc");
        if (order->terms[i].nulls_high) {
            json_key(&writer, "nulls");
            json_put_cstring(&writer,
                             order_term_ends_in_nulls(&order->terms[i]) ? "last" : "first");
        }
        json_end_object(&writer);
    }
    json_end_array(&writer);
}

static bool read_order(struct handle_state *state, struct json_doc *doc, struct bytes words)
{
    struct json root;
    struct err err;
    struct refusal refusal;
    return json_parse_copy(doc, words, &root, &err) == RC_OK &&
           order_parse(state->collection, root, &state->order, &refusal) == RC_OK;
}

static bool read_filter(struct handle_state *state, struct json_doc *doc, struct bytes words)
{
    struct json root = {0};
    struct err err;
    struct refusal refusal;
    return (words.len == 0 || json_parse_copy(doc, words, &root, &err) == RC_OK) &&
           filter_parse(state->collection, root, &state->filter, &refusal) == RC_OK;
}

/* What a field is ordered by may be something else than its value; then nothing is known of it. */
static bool is_of_term(const struct collection *collection, const struct order_term *term,
                       const struct field *part)
{
    const struct column *column = &collection->columns[term->column];
    if (part->null)
        return true;
    if (term->name == NULL)
        return part->type == FIELD_INT;
    return strcmp(column->key, column->sql) != 0 || part->type == column_stored_as(column->type);
}

/* A place that was reached by values of another type is none in this order. */
static bool places_fit(const struct handle_state *state)
{
    const struct walk *walk = &state->walk;
    for (int i = 0; i < walk->count; i++)
        for (size_t k = 0; k < walk->places[i].key.count; k++)
            if (!is_of_term(state->collection, &state->order.terms[k],
                            &walk->places[i].key.parts[k]))
                return false;
    return true;
}

enum rc handle_state_read(struct handle_state *state, const struct handle_words *words,
                          const struct handle_finder *finder, struct refusal *refusal)
{
    struct json_doc *doc = json_doc_new(WORDS_BYTES_MAX, JSON_DEPTH_MAX);
    assert(!state->known);
    state->collection = finder->find(finder->arg, words->collection);
    state->known = state->collection != NULL && read_order(state, doc, words->order_by) &&
                   read_filter(state, doc, words->filter) &&
                   walk_decode(&state->walk, words->walk, state->order.count) && places_fit(state);
    json_doc_free(doc);
    if (state->known)
        return RC_OK;
    handle_state_forget(state);
    return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                       "what this query asked for is not there any more: open it again");
}

void handle_state_renew(struct handle_state *state, const struct handle_finder *finder)
{
    const struct collection *found = finder->find(finder->arg, bytes_of(state->collection->name));
    struct refusal refusal;
    assert(state->known);
    if (found == NULL || found == state->collection)
        return;
    if (order_renew(&state->order, found) && filter_renew(&state->filter, found, &refusal) == RC_OK)
        state->collection = found;
    else
        handle_state_forget(state);
}
