/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/bell.h"

#include "base/bytes.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct bell {
    pthread_mutex_t lock;
    bell_fn *fn; /* NULL: nobody listens */
    void *arg;
};

struct bell *bell_new(void)
{
    struct bell *bell = memory_new_zeroed(1, sizeof *bell);
    pthread_mutex_init(&bell->lock, NULL);
    return bell;
}

void bell_free(struct bell *bell)
{
    assert(bell->fn == NULL);
    pthread_mutex_destroy(&bell->lock);
    free(bell);
}

static void set_listener(struct bell *bell, bell_fn *fn, void *arg)
{
    pthread_mutex_lock(&bell->lock);
    bell->fn = fn;
    bell->arg = arg;
    pthread_mutex_unlock(&bell->lock);
}

void bell_listen(struct bell *bell, bell_fn *fn, void *arg)
{
    assert(fn != NULL);
    set_listener(bell, fn, arg);
}

void bell_silence(struct bell *bell)
{
    set_listener(bell, NULL, NULL);
}

void bell_ring(struct bell *bell)
{
    pthread_mutex_lock(&bell->lock);
    if (bell->fn != NULL)
        bell->fn(bell->arg);
    pthread_mutex_unlock(&bell->lock);
}
