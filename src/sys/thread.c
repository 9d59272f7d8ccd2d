/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/thread.h"

#include "base/bytes.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct thread {
    pthread_t id;
    thread_fn *fn;
    void *arg;
};

static void *run(void *arg)
{
    struct thread *thread = arg;
    thread->fn(thread->arg);
    return NULL;
}

struct thread *thread_start(const char *name, thread_fn *fn, void *arg)
{
    assert(strlen(name) <= 15);
    struct thread *thread = memory_new(sizeof *thread);
    sigset_t all, before;
    *thread = (struct thread){.fn = fn, .arg = arg};
    sigfillset(&all);
    sigdelset(&all, SIGABRT); /* who ends by it says so, on every thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread->id, NULL, run, thread) != 0)
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setname_np(thread->id, name);
    return thread;
}

void thread_join(struct thread *thread)
{
    pthread_join(thread->id, NULL);
    free(thread);
}

void thread_yield(void)
{
    sched_yield();
}

struct latest {
    pthread_mutex_t lock;
    size_t size;
    char value[];
};

struct latest *latest_new(size_t size)
{
    struct latest *latest = memory_new_zeroed(1, sizeof *latest + size);
    pthread_mutex_init(&latest->lock, NULL);
    latest->size = size;
    return latest;
}

void latest_free(struct latest *latest)
{
    pthread_mutex_destroy(&latest->lock);
    free(latest);
}

void latest_put(struct latest *latest, const void *value)
{
    pthread_mutex_lock(&latest->lock);
    memcpy(latest->value, value, latest->size);
    pthread_mutex_unlock(&latest->lock);
}

void latest_get(struct latest *latest, void *value)
{
    pthread_mutex_lock(&latest->lock);
    memcpy(value, latest->value, latest->size);
    pthread_mutex_unlock(&latest->lock);
}

/* ---- locks ---- */

struct lock {
    pthread_mutex_t mutex;
};

struct lock *lock_new(void)
{
    struct lock *lock = memory_new(sizeof *lock);
    if (pthread_mutex_init(&lock->mutex, NULL) != 0)
        abort();
    return lock;
}

void lock_free(struct lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
}

void lock_enter(struct lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void lock_leave(struct lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}
