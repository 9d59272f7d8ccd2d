/* SPDX-License-Identifier: Apache-2.0
 *
 * fake_store.h - a store in memory that answers what a test tells it to.
 *
 * It keeps what a real one promises: a commit is taken only on top of the position it names. The
 * test says for each write what comes back and whether it was kept all the same.
 *
 * Thread: the writer's; the test looks at it after the writer has stopped, or through the counts,
 * which are behind a lock. */
#ifndef TESTS_FAULT_FAKE_STORE_H
#define TESTS_FAULT_FAKE_STORE_H

#include "store/store.h"

#include <pthread.h>

#define FAKE_WRITES_MAX 4096

enum fake_fate {
    FAKE_KEPT,      /* RC_OK */
    FAKE_KEPT_MUTE, /* kept, but the answer is RC_RETRY */
    FAKE_LOST,      /* not kept, RC_RETRY */
    FAKE_BROKEN,    /* not kept, RC_FATAL */
};

struct fake_store {
    struct store store;
    pthread_mutex_t lock;
    struct store_position position;
    enum fake_fate fates[FAKE_WRITES_MAX]; /* of the first writes; those after: `then` */
    size_t fate_count;
    enum fake_fate then;
    bool deaf; /* `position` answers RC_RETRY */
    size_t writes, position_asks, closes;
    size_t kept_sizes[FAKE_WRITES_MAX];                /* records of each commit kept */
    int64_t tried_seq[FAKE_WRITES_MAX];                /* number of each commit sent */
    const struct record *tried_first[FAKE_WRITES_MAX]; /* and its first record */
    size_t kept;
};

void fake_store_init(struct fake_store *fake);
void fake_store_deinit(struct fake_store *fake);
size_t fake_store_writes(struct fake_store *fake);
/* The server comes back, or another process takes over. */
void fake_store_heal(struct fake_store *fake);
void fake_store_take_over(struct fake_store *fake);

#endif
