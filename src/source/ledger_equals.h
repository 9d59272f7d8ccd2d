/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_equals.h - the ordinal of a row among its equals.
 *
 * Movements that are equal in everything a chain fixes are told apart by their number within their
 * block. Which of them is called the first does not matter, for they are equal; that all of a block
 * are counted, and counted from 0, does. So the counting begins anew with each block, goes on over
 * the end of a page, and a block that is read again is read from its beginning. It cannot be right
 * where rows move from page to page between two requests: a list that is newest first and paged by
 * number has to tell equals apart by itself.
 *
 * Always holds: what is counted are the rows of one block, or of one file, at most `max` different
 * ones (I6).
 *
 * Owner: a walk.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_EQUALS_H
#define SOURCE_LEDGER_EQUALS_H

#include "base/digest.h"
#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_EQUALS_MAX      65536               /* of a block */
#define LEDGER_EQUALS_FILE_MAX (UINT32_C(1) << 22) /* 160 MiB */

struct ledger_equal {
    uint8_t key[EVENT_ID_SIZE];
    uint32_t count; /* 0: a free place */
};

struct ledger_equals {
    struct ledger_equal *slots;
    size_t size, used, max;
    int64_t block; /* the one that is counted; INT64_MIN: none yet */
};

void ledger_equals_init(struct ledger_equals *equals, size_t max);
void ledger_equals_deinit(struct ledger_equals *equals);
/* Forgets what was counted: the block is read again. */
void ledger_equals_clear(struct ledger_equals *equals);
/* RC_REJECT: there are too many different rows in this block to be told apart. */
must_check enum rc ledger_equals_count(struct ledger_equals *equals, int64_t block,
                                       const uint8_t key[EVENT_ID_SIZE], uint32_t *ordinal);

#endif
