/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/batch_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct batch_pool {
    pthread_mutex_t lock;
    struct batch *free;
    unsigned left, count;
    struct batch *all;
    bool *out; /* of each: somebody has it */
};

struct batch_pool *batch_pool_new(unsigned count, size_t arena_bytes)
{
    assert(count > 0);
    struct batch_pool *pool = memory_new_zeroed(1, sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pool->all = memory_new_zeroed(count, sizeof(struct batch));
    pool->out = memory_new_zeroed(count, sizeof *pool->out);
    pool->count = pool->left = count;
    for (unsigned i = 0; i < count; i++) {
        struct batch *batch = &pool->all[i];
        arena_init(&batch->arena, arena_bytes);
        batch->pool = pool;
        batch->next = pool->free;
        pool->free = batch;
    }
    return pool;
}

void batch_pool_free(struct batch_pool *pool)
{
    assert(pool->left == pool->count);
    for (unsigned i = 0; i < pool->count; i++)
        arena_deinit(&pool->all[i].arena);
    pthread_mutex_destroy(&pool->lock);
    free(pool->out);
    free(pool->all);
    free(pool);
}

struct batch *batch_take(struct batch_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct batch *batch = pool->free;
    if (batch != NULL) {
        pool->free = batch->next;
        pool->left--;
        pool->out[batch - pool->all] = true;
    }
    pthread_mutex_unlock(&pool->lock);
    if (batch == NULL)
        return NULL;
    struct arena arena = batch->arena;
    *batch = (struct batch){.arena = arena, .pool = pool};
    arena_reset(&batch->arena);
    return batch;
}

void batch_give_back(struct batch *batch)
{
    struct batch_pool *pool = batch->pool;
    size_t at = (size_t)(batch - pool->all);
    pthread_mutex_lock(&pool->lock);
    assert(at < pool->count && pool->out[at]); /* twice, and two would own it */
    pool->out[at] = false;
    batch->next = pool->free;
    pool->free = batch;
    pool->left++;
    pthread_mutex_unlock(&pool->lock);
}

unsigned batch_pool_left(struct batch_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    unsigned left = pool->left;
    pthread_mutex_unlock(&pool->lock);
    return left;
}
