/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/cursor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct kind_row {
    const char *name;
    bool number, scoped;
};

static const struct kind_row kinds[CURSOR_KINDS] = {
    [CURSOR_NONE] = {"none", false, false},
    [CURSOR_BLOCK_NUMBER] = {"blockNumber", true, false},
    [CURSOR_TIMESTAMP] = {"timestamp", true, false},
    [CURSOR_TX_HASH] = {"txHash", false, false},
    [CURSOR_SLOT] = {"slot", true, false},
    [CURSOR_SIGNATURE] = {"signature", false, false},
    [CURSOR_PAGE_TOKEN] = {"pageToken", false, true},
    [CURSOR_SEQ] = {"seq", true, true},
    [CURSOR_TIME_US] = {"timeUs", true, false},
};

const char *cursor_kind_name(enum cursor_kind kind)
{
    assert(kind < CURSOR_KINDS);
    assert(kinds[kind].name != NULL);
    return kinds[kind].name;
}

enum cursor_kind cursor_kind_parse(struct bytes name)
{
    assert(CURSOR_NONE == 0);
    assert(name.data != NULL || name.len == 0);
    for (unsigned kind = CURSOR_NONE + 1; kind < CURSOR_KINDS; kind++)
        if (bytes_equal_string(name, kinds[kind].name))
            return (enum cursor_kind)kind;
    return CURSOR_NONE;
}

bool cursor_kind_is_number(enum cursor_kind kind)
{
    assert(kind < CURSOR_KINDS);
    assert(kinds[kind].name != NULL);
    return kinds[kind].number;
}

bool cursor_kind_is_scoped(enum cursor_kind kind)
{
    assert(kind < CURSOR_KINDS);
    assert(kinds[kind].name != NULL);
    return kinds[kind].scoped;
}

/* Leaves `out` empty when it does not fit: a cut name would be another's. */
static void copy_whole(char *out, size_t size, struct bytes from)
{
    out[0] = '\0';
    if (from.len == 0 || from.len >= size || memchr(from.data, '\0', from.len) != NULL)
        return;
    memcpy(out, from.data, from.len);
    out[from.len] = '\0';
}

struct cursor cursor_make_number(enum cursor_kind kind, int64_t number, const char *provider)
{
    struct cursor cursor = {.kind = kind, .number = number};
    assert(kind < CURSOR_KINDS);
    assert(cursor_kind_is_number(kind));
    copy_whole(cursor.provider, sizeof cursor.provider, bytes_of(provider));
    return cursor;
}

struct cursor cursor_make_text(enum cursor_kind kind, struct bytes text, const char *provider)
{
    struct cursor cursor = {.kind = kind};
    assert(kind != CURSOR_NONE && kind < CURSOR_KINDS);
    assert(!cursor_kind_is_number(kind));
    copy_whole(cursor.text, sizeof cursor.text, text);
    copy_whole(cursor.provider, sizeof cursor.provider, bytes_of(provider));
    return cursor;
}

bool cursor_equal(const struct cursor *a, const struct cursor *b)
{
    assert(a->kind < CURSOR_KINDS);
    assert(b->kind < CURSOR_KINDS);
    return a->kind == b->kind && a->inclusive == b->inclusive && a->number == b->number &&
           strcmp(a->text, b->text) == 0 && strcmp(a->provider, b->provider) == 0;
}

/* Bytes that follow a UTF-8 lead byte, and the least code point they may make; -1: no lead. */
static int utf8_tail(unsigned char lead, unsigned *point, unsigned *least)
{
    if (lead < 0x80) {
        *point = lead;
        *least = 0;
        return 0;
    }
    int tail = lead >= 0xf0 && lead < 0xf8   ? 3
               : lead >= 0xe0 && lead < 0xf0 ? 2
               : lead >= 0xc0 && lead < 0xe0 ? 1
                                             : -1;
    static const unsigned leasts[] = {0, 0x80, 0x800, 0x10000};
    if (tail > 0) {
        *point = lead & (0x3fU >> tail);
        *least = leasts[tail];
    }
    return tail;
}

/* What JSON would change on its way through is refused beforehand. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        unsigned point = 0, least = 0;
        int tail = utf8_tail(*at++, &point, &least);
        if (tail < 0)
            return false;
        for (; tail > 0; tail--, at++) {
            if ((*at & 0xc0) != 0x80)
                return false;
            point = point << 6 | (*at & 0x3fU);
        }
        if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
    }
    return true;
}

static enum rc validate_cursor(const struct cursor *cursor, const char *field, struct err *err)
{
    assert(cursor != NULL && field != NULL);
    if (cursor->kind == CURSOR_NONE || cursor->kind >= CURSOR_KINDS)
        return err_set(err, RC_REJECT, "%s.type: there must be a kind of cursor", field);
    const struct kind_row *kind = &kinds[cursor->kind];
    assert(kind->name != NULL);
    if (kind->number && (cursor->number < 0 || cursor->text[0] != '\0'))
        return err_set(err, RC_REJECT, "%s.value: a %s must be a whole number of at least 0", field,
                       kind->name);
    if (!kind->number && (cursor->text[0] == '\0' || cursor->number != 0))
        return err_set(err, RC_REJECT, "%s.value: a %s must be a string of 1 to %d bytes", field,
                       kind->name, CURSOR_VALUE_MAX);
    if (!is_utf8(cursor->text))
        return err_set(err, RC_REJECT, "%s.value: must be valid UTF-8", field);
    if (kind->scoped && cursor->provider[0] == '\0')
        return err_set(err, RC_REJECT, "%s.providerName: a %s belongs to one provider, name it",
                       field, kind->name);
    if (!kind->scoped && cursor->provider[0] != '\0')
        return err_set(err, RC_REJECT, "%s.providerName: a %s belongs to no provider", field,
                       kind->name);
    if (!is_utf8(cursor->provider))
        return err_set(err, RC_REJECT, "%s.providerName: must be valid UTF-8", field);
    return RC_OK;
}

static enum rc validate_metadata(const struct cursor_state *state, struct err *err)
{
    assert(state->completion <= CURSOR_COMPLETE);
    bool any = state->updated_ms != 0 || state->completion != CURSOR_UNSAID ||
               state->custom[0] != '\0' || state->extra[0] != '\0';
    assert(memchr(state->custom, '\0', sizeof state->custom) != NULL);
    if (state->provider_name[0] == '\0' && any)
        return err_set(err, RC_REJECT, "metadata.providerName: must not be empty");
    if (!is_utf8(state->provider_name))
        return err_set(err, RC_REJECT, "metadata.providerName: must be valid UTF-8");
    if (state->updated_ms < 0)
        return err_set(err, RC_REJECT, "metadata.updatedAt: must be at least 0");
    return RC_OK;
}

enum rc cursor_state_validate(const struct cursor_state *state, struct err *err)
{
    enum rc rc = validate_cursor(&state->primary, "primary", err);
    if (state->alternative_count > CURSOR_ALTERNATIVES_MAX)
        return err_set(err, RC_REJECT, "alternatives: at most %d", CURSOR_ALTERNATIVES_MAX);
    for (unsigned i = 0; rc == RC_OK && i < state->alternative_count; i++) {
        char field[32];
        snprintf(field, sizeof field, "alternatives[%u]", i);
        rc = validate_cursor(&state->alternatives[i], field, err);
    }
    if (rc == RC_OK && state->high_water.kind != CURSOR_NONE)
        rc = validate_cursor(&state->high_water, "highWater", err);
    if (rc == RC_OK && state->backfill.kind != CURSOR_NONE)
        rc = validate_cursor(&state->backfill, "backfill", err);
    if (rc != RC_OK)
        return rc;
    assert(memchr(state->last_transaction_id, '\0', sizeof state->last_transaction_id) != NULL);
    if (!is_utf8(state->last_transaction_id))
        return err_set(err, RC_REJECT, "lastTransactionId: must be valid UTF-8");
    if (state->total_fetched < 0)
        return err_set(err, RC_REJECT, "totalFetched: must be at least 0");
    assert(state->alternative_count <= CURSOR_ALTERNATIVES_MAX);
    return validate_metadata(state, err);
}

/* A position that says no more than "the beginning". */
static bool says_nothing(const struct cursor *cursor)
{
    return cursor->kind == CURSOR_NONE ||
           (cursor->kind == CURSOR_BLOCK_NUMBER && cursor->number == 0);
}

/* The page's own primary; CURSOR_NONE when it brings none. */
static struct cursor primary_of(const struct cursor_page *page)
{
    assert(page->extracted != NULL || page->extracted_count == 0);
    if (page->next_token.len > 0)
        return cursor_make_text(CURSOR_PAGE_TOKEN, page->next_token, page->provider_name);
    for (unsigned i = 0; i < page->extracted_count; i++)
        if (page->extracted[i].kind == CURSOR_BLOCK_NUMBER)
            return page->extracted[i];
    assert(page->provider_name != NULL);
    return page->extracted_count > 0 ? page->extracted[0] : (struct cursor){0};
}

/* (I9): an empty page may carry a token on, fill what is unknown or raise the same kind of number;
 * it takes nothing away. */
static bool may_replace(const struct cursor *old, const struct cursor *new, bool empty_page)
{
    assert(old->kind < CURSOR_KINDS);
    assert(new->kind < CURSOR_KINDS);
    if (new->kind == CURSOR_NONE)
        return false;
    if (!empty_page || says_nothing(old))
        return true;
    if (cursor_kind_is_scoped(new->kind))
        return true;
    return old->kind == new->kind &&cursor_kind_is_number(new->kind) && new->number > old->number;
}

/* The newest position known complete does not sink (I4). */
static void raise_high_water(struct cursor *old, const struct cursor *new)
{
    assert(old != new);
    assert(new->kind < CURSOR_KINDS);
    bool lower = old->kind == new->kind &&cursor_kind_is_number(new->kind) &&
                 strcmp(old->provider, new->provider) == 0 && new->number < old->number;
    if (!lower)
        *old = *new;
}

static enum rc take_identity(struct cursor_state *next, const struct cursor_page *page,
                             struct err *err)
{
    assert(page->provider_name != NULL);
    assert(page->records >= 0);
    if (page->last_transaction_id.len > CURSOR_ID_MAX)
        return err_set(err, RC_REJECT, "lastTransactionId: at most %d bytes", CURSOR_ID_MAX);
    if (page->records > 0 && page->last_transaction_id.len > 0)
        copy_whole(next->last_transaction_id, sizeof next->last_transaction_id,
                   page->last_transaction_id);
    else if (next->last_transaction_id[0] == '\0')
        copy_whole(next->last_transaction_id, sizeof next->last_transaction_id,
                   page->last_transaction_id);
    copy_whole(next->provider_name, sizeof next->provider_name, bytes_of(page->provider_name));
    if (next->provider_name[0] == '\0')
        return err_set(err, RC_REJECT, "metadata.providerName: must be 1 to %d bytes",
                       CURSOR_PROVIDER_MAX);
    next->updated_ms = page->now_ms;
    return RC_OK;
}

enum rc cursor_state_advance(struct cursor_state *state, const struct cursor_page *page,
                             struct err *err)
{
    struct cursor_state next = *state;
    struct cursor primary = primary_of(page);
    bool empty = page->records == 0;
    assert(page->records >= 0 && page->completion <= CURSOR_COMPLETE);
    if (page->extracted_count > CURSOR_ALTERNATIVES_MAX)
        return err_set(err, RC_REJECT, "alternatives: at most %d", CURSOR_ALTERNATIVES_MAX);
    if (may_replace(&next.primary, &primary, empty))
        next.primary = primary;
    if (next.primary.kind == CURSOR_NONE)
        next.primary = cursor_make_number(CURSOR_BLOCK_NUMBER, 0, NULL);
    if (page->extracted_count > 0 && (!empty || next.alternative_count == 0)) {
        memset(next.alternatives, 0, sizeof next.alternatives);
        memcpy(next.alternatives, page->extracted, page->extracted_count * sizeof *page->extracted);
        next.alternative_count = page->extracted_count;
    }
    if (page->records > INT64_MAX - next.total_fetched)
        return err_set(err, RC_REJECT, "totalFetched: does not fit");
    next.total_fetched += page->records;
    if (!empty || page->completion != CURSOR_UNSAID)
        next.completion = page->completion;
    if (page->high_water != NULL)
        raise_high_water(&next.high_water, page->high_water);
    if (page->backfill != NULL)
        next.backfill = *page->backfill;
    enum rc rc = take_identity(&next, page, err);
    if (rc == RC_OK)
        rc = cursor_state_validate(&next, err);
    assert(next.total_fetched >= state->total_fetched);
    if (rc == RC_OK)
        *state = next;
    return rc;
}
