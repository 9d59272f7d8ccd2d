/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle_state.h"

#include "base/json_write.h"

#include <assert.h>
#include <string.h>

#define WORDS_BYTES_MAX (1 << 20)

void handle_state_forget(struct handle_state *state)
{
    walk_clear(&state->walk);
    where_free(&state->where);
    text_free(&state->filter_json);
    struct handle_state rest = {0};
    memcpy(rest.name, state->name, sizeof rest.name);
    memcpy(rest.session, state->session, sizeof rest.session);
    *state = rest;
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

enum rc handle_state_read(struct handle_state *state, const struct handle_words *words,
                          const struct handle_finder *finder, struct refusal *refusal)
{
    struct json_doc *doc = json_doc_new(WORDS_BYTES_MAX, JSON_DEPTH_MAX);
    assert(!state->known);
    state->collection = finder->find(finder->arg, words->collection);
    state->known = state->collection != NULL && read_order(state, doc, words->order_by) &&
                   walk_decode(&state->walk, words->walk, state->order.count);
    json_doc_free(doc);
    if (state->known)
        return RC_OK;
    handle_state_forget(state);
    return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                       "what this query asked for is not there any more: open it again");
}
