/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a provider goes on. In this order, each time `primary` before `alternatives`:
 *   1  the same provider: its own unexpired pageToken or seq, then `primary` of any kind it
 *      supports, since it was made by and for this provider
 *   2  the kind it prefers
 *   3  blockNumber or slot    4  timestamp or timeUs    5  txHash or signature
 * Of several alternatives of one numeric kind the highest counts: all are positions of the same
 * last row, and an older one would only repeat work. A blockNumber of 0 says nothing and is taken
 * when nothing else fits.
 *
 * A rewind happens here and nowhere else, once, and only when another provider goes on: by the
 * larger of the replay window and the way back to where the old provider was last proved good,
 * never below 0. It applies to blockNumber, timestamp and timeUs, on which providers disagree near
 * the head. A slot, like a txHash or a signature, is handed on unchanged: it names a place in an
 * order all providers share, and a slot some below it may not exist. */
#include "ingest/cursor.h"

#include <assert.h>
#include <string.h>

static bool is_expired(const struct cursor_state *state, const struct cursor_ask *ask)
{
    assert(ask->token_ms_max >= 0);
    assert(state->updated_ms >= 0);
    return ask->token_ms_max > 0 && ask->now_ms > state->updated_ms &&
           ask->now_ms - state->updated_ms > ask->token_ms_max;
}

/* A position this provider can use at all; `tokens` says whether scoped ones count. */
static bool fits(const struct cursor *cursor, const struct cursor_ask *ask, bool tokens)
{
    assert(cursor->kind < CURSOR_KINDS);
    assert(ask->provider_name != NULL);
    if (cursor->kind == CURSOR_NONE || (ask->supported & cursor_bit(cursor->kind)) == 0)
        return false;
    if (!cursor_kind_is_scoped(cursor->kind))
        return true;
    return tokens && strcmp(cursor->provider, ask->provider_name) == 0;
}

static bool says_nothing(const struct cursor *cursor)
{
    return cursor->kind == CURSOR_BLOCK_NUMBER && cursor->number == 0;
}

/* The best position among `wanted` kinds: primary, else the kind listed first, the highest of
 * it. */
static const struct cursor *find(const struct cursor_state *state, const struct cursor_ask *ask,
                                 unsigned wanted, bool tokens)
{
    const struct cursor *best = NULL;
    assert(wanted != 0);
    assert(state->alternative_count <= CURSOR_ALTERNATIVES_MAX);
    if ((wanted & cursor_bit(state->primary.kind)) != 0 && fits(&state->primary, ask, tokens) &&
        !says_nothing(&state->primary))
        return &state->primary;
    for (unsigned i = 0; i < state->alternative_count; i++) {
        const struct cursor *other = &state->alternatives[i];
        if ((wanted & cursor_bit(other->kind)) == 0 || !fits(other, ask, tokens) ||
            says_nothing(other))
            continue;
        if (best == NULL || (best->kind == other->kind && other->number > best->number))
            best = other;
    }
    return best;
}

static const struct cursor *choose(const struct cursor_state *state, const struct cursor_ask *ask,
                                   bool same_provider)
{
    static const unsigned order[] = {
        1U << CURSOR_BLOCK_NUMBER | 1U << CURSOR_SLOT,
        1U << CURSOR_TIMESTAMP | 1U << CURSOR_TIME_US,
        1U << CURSOR_TX_HASH | 1U << CURSOR_SIGNATURE,
    };
    const unsigned scoped = cursor_bit(CURSOR_PAGE_TOKEN) | cursor_bit(CURSOR_SEQ);
    const struct cursor *found = NULL;
    assert(ask->preferred < CURSOR_KINDS);
    if (same_provider && !is_expired(state, ask))
        found = find(state, ask, scoped, true);
    if (found == NULL && same_provider && fits(&state->primary, ask, false) &&
        !says_nothing(&state->primary))
        found = &state->primary;
    if (found == NULL && ask->preferred != CURSOR_NONE)
        found = find(state, ask, cursor_bit(ask->preferred), false);
    for (size_t i = 0; found == NULL && i < sizeof order / sizeof *order; i++)
        found = find(state, ask, order[i], false);
    if (found == NULL && fits(&state->primary, ask, false))
        found = &state->primary;
    for (unsigned i = 0; found == NULL && i < state->alternative_count; i++)
        if (fits(&state->alternatives[i], ask, false))
            found = &state->alternatives[i];
    assert(found == NULL || (ask->supported & cursor_bit(found->kind)) != 0);
    return found;
}

static void rewind_choice(struct cursor_choice *choice, const struct cursor_ask *ask)
{
    struct cursor *cursor = &choice->cursor;
    bool block = cursor->kind == CURSOR_BLOCK_NUMBER;
    assert(!choice->same_provider && choice->rewound_by == 0);
    assert(ask->replay_blocks >= 0 && ask->replay_us >= 0);
    if (!block && cursor->kind != CURSOR_TIMESTAMP && cursor->kind != CURSOR_TIME_US)
        return;
    int64_t by = block ? ask->replay_blocks : ask->replay_us;
    int64_t proved = block ? ask->proved_block : ask->proved_us;
    if (proved >= 0 && proved < cursor->number && cursor->number - proved > by)
        by = cursor->number - proved;
    if (by > cursor->number)
        by = cursor->number;
    if (by == 0)
        return;
    cursor->number -= by;
    cursor->inclusive = true; /* overlap is wanted here, also at its edge */
    choice->rewound_by = by;
    assert(cursor->number >= 0);
}

enum rc cursor_resolve(const struct cursor_state *state, const struct cursor_ask *ask,
                       struct cursor_choice *choice, struct err *err)
{
    assert(ask->provider_name != NULL && ask->provider_name[0] != '\0');
    assert(state->primary.kind < CURSOR_KINDS);
    *choice = (struct cursor_choice){.same_provider =
                                         strcmp(state->provider_name, ask->provider_name) == 0};
    if (state->primary.kind == CURSOR_NONE && state->alternative_count == 0)
        return RC_OK;
    const struct cursor *found = choose(state, ask, choice->same_provider);
    /* The stand-in of a source that never said anything is "from the beginning" for everybody. */
    if (found == NULL && says_nothing(&state->primary) && state->alternative_count == 0)
        return RC_OK;
    if (found == NULL)
        return err_set(err, RC_REJECT, "%s understands none of the stored positions (primary: %s)",
                       ask->provider_name, cursor_kind_name(state->primary.kind));
    choice->cursor = *found;
    if (!choice->same_provider)
        rewind_choice(choice, ask);
    return RC_OK;
}
