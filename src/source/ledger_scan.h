/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_scan.h - which addresses of a wallet are read: until enough in a row were never used.
 *
 * Always holds: on each chain by itself, every number from 0 to `gap` beyond the last one that was
 * used is given out, once. What is not known to be used is not thereby unused: whoever could not
 * read an address must not take the end of the scan for the end of the wallet.
 *
 * Owner: a wallet's import.  Pure. */
#ifndef SOURCE_LEDGER_SCAN_H
#define SOURCE_LEDGER_SCAN_H

#include "decode/extended_key.h"

struct scan_place {
    unsigned chain;
    uint32_t number;
};

struct ledger_scan {
    uint32_t gap;
    struct {
        uint32_t next, end; /* given out are the numbers below `next`; wanted those below `end` */
    } chains[EXTENDED_KEY_CHAINS];
};

void ledger_scan_init(struct ledger_scan *scan, uint32_t gap);
/* The chain that is less far goes first. false: nothing is left, unless an address that is still
 * being read turns out to be used. */
bool ledger_scan_next(struct ledger_scan *scan, struct scan_place *place);
void ledger_scan_used(struct ledger_scan *scan, struct scan_place place);

#endif
