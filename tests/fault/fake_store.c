/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_store.h"

#include "store/commit.h"

#include <stdlib.h>

static void close_fake(struct store *store)
{
    ((struct fake_store *)store)->closes++;
}

static void keep(struct fake_store *fake, const struct commit *commit)
{
    fake->position.commit_seq = commit->seq;
    fake->position.next_n = commit->next_n;
    fake->kept_sizes[fake->kept++] = commit->begin[RECORD_ID_COUNT];
}

static enum rc write_fake(struct store *store, const struct commit *commit, struct err *err)
{
    struct fake_store *fake = (struct fake_store *)store;
    pthread_mutex_lock(&fake->lock);
    if (fake->writes == FAKE_WRITES_MAX)
        abort();
    size_t at = fake->writes++;
    fake->tried_seq[at] = commit->seq;
    fake->tried_first[at] = commit->begin[RECORD_ID_COUNT] > 0 ? commit->records[0] : NULL;
    enum fake_fate fate = at < fake->fate_count ? fake->fates[at] : fake->then;
    enum rc rc = RC_OK;
    if (commit->epoch != fake->position.epoch || commit->seq != fake->position.commit_seq + 1)
        rc = err_set(err, RC_FATAL, "fenced");
    else if (fate == FAKE_KEPT || fate == FAKE_KEPT_MUTE)
        keep(fake, commit);
    if (rc == RC_OK && fate != FAKE_KEPT)
        rc = err_set(err, fate == FAKE_BROKEN ? RC_FATAL : RC_RETRY, "told to fail");
    pthread_mutex_unlock(&fake->lock);
    return rc;
}

static enum rc position_fake(struct store *store, struct store_position *position, struct err *err)
{
    struct fake_store *fake = (struct fake_store *)store;
    pthread_mutex_lock(&fake->lock);
    fake->position_asks++;
    *position = fake->position;
    enum rc rc = fake->deaf ? err_set(err, RC_RETRY, "told to be deaf") : RC_OK;
    pthread_mutex_unlock(&fake->lock);
    return rc;
}

static const struct store_ops fake_ops = {
    .name = "fake", .close = close_fake, .write = write_fake, .position = position_fake};

void fake_store_init(struct fake_store *fake)
{
    *fake = (struct fake_store){.store = {.ops = &fake_ops}, .position = {1, 0, 1}};
    pthread_mutex_init(&fake->lock, NULL);
}

void fake_store_deinit(struct fake_store *fake)
{
    pthread_mutex_destroy(&fake->lock);
}

size_t fake_store_writes(struct fake_store *fake)
{
    pthread_mutex_lock(&fake->lock);
    size_t writes = fake->writes;
    pthread_mutex_unlock(&fake->lock);
    return writes;
}

void fake_store_heal(struct fake_store *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->then = FAKE_KEPT;
    fake->deaf = false;
    pthread_mutex_unlock(&fake->lock);
}

void fake_store_take_over(struct fake_store *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->position.epoch++;
    pthread_mutex_unlock(&fake->lock);
}
