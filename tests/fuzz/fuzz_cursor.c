/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON as the state of a cursor: refused with a sentence and the state as it was, or it is
 * valid, prints as JSON that reads and prints the same again, and gives every provider a position
 * that it understands, or none with a sentence. */
#include "base/json.h"
#include "ingest/cursor.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)
#define UNTOUCHED 77

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_choice(const struct cursor_state *state, unsigned supported, const char *provider)
{
    const struct cursor_ask ask = {.provider_name = provider,
                                   .supported = supported,
                                   .now_ms = INT64_C(1790000000000),
                                   .token_ms_max = 60000,
                                   .replay_blocks = 2,
                                   .replay_us = 3000000,
                                   .proved_block = -1,
                                   .proved_us = -1};
    struct cursor_choice choice;
    struct err err = {""};
    if (cursor_resolve(state, &ask, &choice, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    const struct cursor *chosen = &choice.cursor;
    assert(chosen->kind < CURSOR_KINDS && choice.rewound_by >= 0);
    if (chosen->kind == CURSOR_NONE)
        return;
    assert((supported & cursor_bit(chosen->kind)) != 0);
    assert(!cursor_kind_is_number(chosen->kind) || chosen->number >= 0);
    /* A position that means something to one provider is never given to another. */
    assert(!cursor_kind_is_scoped(chosen->kind) || strcmp(chosen->provider, provider) == 0);
    assert(!choice.same_provider || choice.rewound_by == 0);
}

static void check_state(const struct cursor_state *state, struct json_doc *doc)
{
    static struct cursor_state again;
    struct text first = {0}, second = {0};
    struct err err = {""};
    enum rc rc = cursor_state_validate(state, &err);
    assert(rc == RC_OK);
    rc = cursor_state_to_json(state, doc, &first, &err);
    assert(rc == RC_OK);
    rc = cursor_state_from_json(&again, doc, text_bytes(&first), &err);
    assert(rc == RC_OK && cursor_equal(&state->primary, &again.primary));
    assert(cursor_equal(&state->high_water, &again.high_water));
    assert(cursor_equal(&state->backfill, &again.backfill));
    assert(state->alternative_count == again.alternative_count);
    assert(state->total_fetched == again.total_fetched && state->completion == again.completion);
    assert(strcmp(state->custom, again.custom) == 0 && strcmp(state->extra, again.extra) == 0);
    rc = cursor_state_to_json(&again, doc, &second, &err);
    assert(rc == RC_OK && bytes_equal(text_bytes(&first), text_bytes(&second)));
    text_free(&first);
    text_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    static struct cursor_state state;
    struct err err = {""};
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    memset(&state, 0, sizeof state);
    state.total_fetched = UNTOUCHED;
    enum rc rc = cursor_state_from_json(&state, doc, bytes_make(data, size), &err);
    enum rc checked = cursor_state_check(doc, bytes_make(data, size), NULL);
    assert(checked == rc);
    if (rc != RC_OK) {
        assert(rc == RC_REJECT && err.text[0] != '\0');
        assert(state.total_fetched == UNTOUCHED && state.primary.kind == CURSOR_NONE);
        assert(state.alternative_count == 0 && state.provider_name[0] == '\0');
        return 0;
    }
    check_state(&state, doc);
    for (unsigned kind = CURSOR_BLOCK_NUMBER; kind < CURSOR_KINDS; kind++)
        check_choice(&state, cursor_bit((enum cursor_kind)kind), "etherscan");
    check_choice(&state, ~0u, state.provider_name[0] == '\0' ? "none" : state.provider_name);
    return 0;
}
