/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_detail.h - a record that needs one more request, and one that an earlier run has stored
 * without its answer.
 *
 * Owner: a stream of a ledger.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_DETAIL_H
#define SOURCE_LEDGER_DETAIL_H

#include "base/json.h"

struct ledger_detail {
    struct json record;
    int64_t position;
    bool wanted;  /* one more request is made for it */
    bool repeats; /* the page has shown its row already */
};

#define LEDGER_DEBTS_MAX    32 /* tried again in one run */
#define LEDGER_DEBT_KEY_MAX 256

/* A record that an earlier run has stored without its detail. */
struct ledger_debt {
    char key[LEDGER_DEBT_KEY_MAX];
    int64_t position, attempts;
    bool failed; /* it is not to be had this time either */
    bool paid;   /* the detail came ... */
    bool stored; /* ... and is in a batch ... */
    bool told;   /* ... with which the debt ends */
};

#endif
