/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_known.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 4
#define KNOWN(position)                                                                            \
    "SELECT t.event_id, " position ", t.block, t.status FROM account a CROSS JOIN "                \
    "raw_transactions t WHERE a.name = ?1 AND t.account_id = a.id AND t.stream = ?2 "              \
    "AND (" position " >= ?3 OR " position " IS NULL) AND t.event_id >= ?5 "                       \
    "AND t.event_id < ?6 ORDER BY t.event_id LIMIT ?4"

const char ledger_known_by_block_sql[] = KNOWN("t.block");
const char ledger_known_by_time_sql[] = KNOWN("t.timestamp_us");
/* What waits may be stored as what another stream has shown. */
const char ledger_known_count_sql[] =
    "SELECT count(*) FROM account a CROSS JOIN raw_transactions t WHERE a.name = ?1 "
    "AND t.account_id = a.id AND t.stream = ?2 AND t.status NOT IN ('orphaned', 'pending') "
    "AND t.event_id >= ?3 AND t.event_id < ?4";

void ledger_known_take(struct ledger_known *known, const struct lookup_answer *answer)
{
    assert(known->rows == NULL && answer->rc == RC_OK && answer->rows <= LEDGER_KNOWN_MAX + 1);
    assert(answer->rows == 0 || answer->columns == COLUMNS);
    known->whole = answer->rows <= LEDGER_KNOWN_MAX;
    known->rows = memory_new_zeroed(answer->rows + 1, sizeof *known->rows);
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *fields = &answer->fields[i * COLUMNS];
        struct ledger_known_row *row = &known->rows[known->count];
        if (fields[0].b.len != EVENT_ID_SIZE)
            continue; /* of another make */
        memcpy(row->id, fields[0].b.data, EVENT_ID_SIZE);
        row->position = fields[1].null ? -1 : fields[1].i;
        row->block = fields[2].null ? -1 : fields[2].i;
        snprintf(row->status, sizeof row->status, "%.*s", (int)fields[3].b.len, fields[3].b.data);
        known->count++;
    }
}

void ledger_known_free(struct ledger_known *known)
{
    free(known->rows);
    *known = (struct ledger_known){0};
}

static int compare_id(const void *id, const void *row)
{
    return memcmp(id, ((const struct ledger_known_row *)row)->id, EVENT_ID_SIZE);
}

struct ledger_known_row *ledger_known_find(struct ledger_known *known,
                                           const uint8_t id[EVENT_ID_SIZE])
{
    if (known->count == 0)
        return NULL;
    return bsearch(id, known->rows, known->count, sizeof *known->rows, compare_id);
}

void ledger_known_see(struct ledger_known *known, struct ledger_known_row *row, int64_t block,
                      const char *status)
{
    row->seen = true;
    if (row->block == block && strcmp(row->status, status) == 0)
        return;
    if (!row->moved) {
        row->block_before = row->block;
        memcpy(row->status_before, row->status, sizeof row->status);
    }
    known->moved = row->moved = true;
    row->block = block;
    snprintf(row->status, sizeof row->status, "%s", status);
}

void ledger_known_keep(struct ledger_known *known)
{
    for (size_t i = 0; known->moved && i < known->count; i++)
        known->rows[i].moved = false;
    known->moved = false;
}

void ledger_known_undo(struct ledger_known *known)
{
    for (size_t i = 0; known->moved && i < known->count; i++) {
        struct ledger_known_row *row = &known->rows[i];
        if (!row->moved)
            continue;
        row->block = row->block_before;
        memcpy(row->status, row->status_before, sizeof row->status);
        row->moved = false;
    }
    known->moved = false;
}

void ledger_known_forget_seen(struct ledger_known *known)
{
    for (size_t i = 0; i < known->count; i++)
        known->rows[i].seen = false;
}
