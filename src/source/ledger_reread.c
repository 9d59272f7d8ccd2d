/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_reread.h"

#include <assert.h>
#include <string.h>

void ledger_reread_init(struct ledger_reread *reread, struct ledger_known *known)
{
    *reread = (struct ledger_reread){.known = known, .from = -1};
}

void ledger_reread_begin(struct ledger_reread *reread, int64_t complete)
{
    reread->from = complete;
    reread->fresh_from = 0;
}

static void excuse(struct ledger_known *known, int64_t from, int64_t to)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->rows[i].position >= from && known->rows[i].position < to)
            known->rows[i].seen = true;
}

void ledger_reread_resume(struct ledger_reread *reread, const struct ledger_place *place,
                          int64_t reached)
{
    assert(reread->from == place->complete);
    reread->fresh_from = place->top - place->settle;
    if (reread->from < 0)
        reread->from = 0; /* not everything: its first part is not read again */
    if (reached >= 0)
        excuse(reread->known, reached, reread->fresh_from);
    else if (reread->fresh_from > reread->from)
        reread->from = reread->fresh_from;
}

void ledger_reread_end_at(struct ledger_reread *reread, int64_t position)
{
    if (position >= reread->from)
        reread->from = position + 1;
}

static bool is_absent(const struct ledger_reread *reread, const struct ledger_known_row *row)
{
    bool gone = strcmp(row->status, "orphaned") == 0;
    return reread->known->whole && !row->seen && !gone && row->position >= 0 &&
           row->position >= reread->from;
}

const struct ledger_known_row *ledger_reread_absent(const struct ledger_reread *reread, size_t *at)
{
    while (*at < reread->known->count) {
        const struct ledger_known_row *row = &reread->known->rows[(*at)++];
        if (is_absent(reread, row))
            return row;
    }
    return NULL;
}

size_t ledger_reread_count_absent(const struct ledger_reread *reread)
{
    size_t at = 0, count = 0;
    while (ledger_reread_absent(reread, &at) != NULL)
        count++;
    return count;
}

bool ledger_reread_misses(const struct ledger_reread *reread, int64_t from, int64_t to)
{
    const struct ledger_known_row *row;
    size_t at = 0;
    while ((row = ledger_reread_absent(reread, &at)) != NULL)
        if (row->position >= from && row->position < to)
            return true;
    return false;
}

bool ledger_reread_has_passed(const struct ledger_reread *reread, const struct ledger_walk *walk)
{
    if (walk->leg_count != 1 || walk->legs[0].last < 0)
        return false;
    return ledger_reread_misses(reread, walk->legs[0].last + 1,
                                walk->continued ? reread->fresh_from : INT64_MAX);
}

int64_t ledger_reread_doubt(struct ledger_reread *reread)
{
    int64_t first = -1;
    for (size_t i = 0; i < reread->known->count; i++) {
        struct ledger_known_row *row = &reread->known->rows[i];
        if (!is_absent(reread, row))
            continue;
        row->doubted = true;
        if (first < 0 || row->position < first)
            first = row->position;
    }
    return first;
}
