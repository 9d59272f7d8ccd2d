/* SPDX-License-Identifier: Apache-2.0 */
#include "store/committer.h"

#include <assert.h>

void committer_init(struct committer *committer, struct store *store,
                    struct store_position position)
{
    assert(store != NULL && position.next_n > 0);
    *committer = (struct committer){.store = store,
                                    .position = position,
                                    .commit = commit_new(),
                                    .delay_us_min = COMMITTER_DELAY_US_MIN,
                                    .delay_us = COMMITTER_DELAY_US_MIN};
}

void committer_deinit(struct committer *committer)
{
    assert(committer->commit->first == NULL);
    commit_free(committer->commit);
}

bool committer_add(struct committer *committer, struct batch *batch)
{
    assert(!committer->asking && batch != NULL);
    return commit_add(committer->commit, batch);
}

size_t committer_gathered(const struct committer *committer)
{
    assert(committer->commit != NULL);
    return committer->commit->gathered;
}

static enum rc read_position(struct committer *committer, struct store_position *now,
                             struct err *err)
{
    enum rc rc = committer->store->ops->position(committer->store, now, err);
    return rc == RC_OK || rc == RC_FATAL ? rc : RC_RETRY;
}

enum rc committer_look(struct committer *committer, struct err *err)
{
    struct store_position now;
    assert(!committer->asking && committer->commit->first == NULL);
    enum rc rc = read_position(committer, &now, err);
    if (rc == RC_OK && (now.epoch != committer->position.epoch ||
                        now.commit_seq != committer->position.commit_seq))
        rc = err_set(err, RC_FATAL, "another process has taken this store over");
    return rc;
}

/* RC_OK: the last write arrived. RC_AGAIN: it did not, send it again. */
static enum rc ask(struct committer *committer, struct err *err)
{
    struct store_position now, *mine = &committer->position;
    enum rc rc = read_position(committer, &now, err);
    if (rc != RC_OK)
        return rc;
    if (now.epoch != mine->epoch || now.commit_seq < mine->commit_seq ||
        now.commit_seq > mine->commit_seq + 1)
        return err_set(err, RC_FATAL, "another process has taken this store over");
    bool arrived = now.commit_seq == mine->commit_seq + 1;
    *mine = now;
    return arrived ? RC_OK : RC_AGAIN;
}

enum rc committer_step(struct committer *committer, int64_t now_us, int64_t *wait_us,
                       struct err *err)
{
    assert(committer->commit->first != NULL && wait_us != NULL);
    enum rc rc = committer->asking ? ask(committer, err) : RC_AGAIN;
    if (rc == RC_AGAIN)
        rc = commit_write(committer->commit, committer->store, &committer->position, now_us, err);
    committer->asking = rc == RC_RETRY;
    if (rc == RC_OK)
        committer->delay_us = committer->delay_us_min;
    if (rc != RC_RETRY)
        return rc;
    *wait_us = committer->delay_us;
    committer->delay_us *= 2;
    if (committer->delay_us > COMMITTER_DELAY_US_MAX)
        committer->delay_us = COMMITTER_DELAY_US_MAX;
    committer->retries++;
    return RC_RETRY;
}

struct batch *committer_take(struct committer *committer)
{
    assert(committer->commit != NULL);
    committer->refused += committer->commit->refused_count;
    committer->asking = false;
    return commit_take_batches(committer->commit);
}
