/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_scan.h"

#include <assert.h>

void ledger_scan_init(struct ledger_scan *scan, uint32_t gap)
{
    assert(gap > 0 && gap < EXTENDED_KEY_NUMBERS);
    *scan = (struct ledger_scan){.gap = gap};
    for (unsigned i = 0; i < EXTENDED_KEY_CHAINS; i++)
        scan->chains[i].end = gap;
}

bool ledger_scan_next(struct ledger_scan *scan, struct scan_place *place)
{
    unsigned best = EXTENDED_KEY_CHAINS;
    for (unsigned i = 0; i < EXTENDED_KEY_CHAINS; i++)
        if (scan->chains[i].next < scan->chains[i].end &&
            (best == EXTENDED_KEY_CHAINS || scan->chains[i].next < scan->chains[best].next))
            best = i;
    if (best == EXTENDED_KEY_CHAINS)
        return false;
    *place = (struct scan_place){best, scan->chains[best].next++};
    return true;
}

void ledger_scan_used(struct ledger_scan *scan, struct scan_place place)
{
    assert(place.chain < EXTENDED_KEY_CHAINS && place.number < scan->chains[place.chain].next);
    uint64_t end = (uint64_t)place.number + 1 + scan->gap;
    if (end > EXTENDED_KEY_NUMBERS)
        end = EXTENDED_KEY_NUMBERS;
    if (end > scan->chains[place.chain].end)
        scan->chains[place.chain].end = (uint32_t)end;
}
