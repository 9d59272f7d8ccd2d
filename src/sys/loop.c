/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/loop.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <uv.h>

#define RANDOM_WORDS 32 /* 256 bytes: what getrandom() gives whole and uninterrupted */

struct posted {
    loop_fn *fn;
    void *arg;
};

struct watched_signal {
    uv_signal_t handle;
    loop_fn *fn;
    void *arg;
};

struct loop {
    struct runtime runtime; /* first: loop_of() */
    struct runtime_ops ops;
    void *network;
    uv_loop_t uv;

    struct timer_heap timers;
    uv_timer_t timer;
    bool firing;

    uint64_t random[RANDOM_WORDS];
    size_t random_left;

    struct watched_signal signals[LOOP_SIGNAL_MAX];
    size_t signal_count;

    uv_async_t wake;
    atomic_bool stopping;
    pthread_mutex_t mutex; /* guards the ring below */
    struct posted posts[LOOP_POST_MAX];
    size_t post_head, post_count;
};

struct loop_waker {
    uv_async_t handle;
    loop_fn *fn;
    void *arg;
};

/* ---- time and chance ---- */

static int64_t wall_us(struct runtime *runtime)
{
    (void)runtime;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t mono_us(struct runtime *runtime)
{
    (void)runtime;
    return (int64_t)(uv_hrtime() / 1000);
}

static uint64_t random_word(struct runtime *runtime)
{
    struct loop *loop = loop_of(runtime);
    if (loop->random_left == 0) {
        ssize_t got = getrandom(loop->random, sizeof loop->random, 0);
        if (got != (ssize_t)sizeof loop->random)
            abort();
        loop->random_left = RANDOM_WORDS;
    }
    uint64_t word = loop->random[--loop->random_left];
    loop->random[loop->random_left] = 0;
    return word;
}

/* ---- timers ---- */

static void fire(uv_timer_t *handle);

static void set_alarm(struct loop *loop)
{
    int64_t due;
    if (loop->firing)
        return;
    if (!timer_heap_next(&loop->timers, &due)) {
        uv_timer_stop(&loop->timer);
        return;
    }
    uv_update_time(&loop->uv);
    int64_t left_us = due - mono_us(&loop->runtime);
    uint64_t ms = left_us <= 0 ? 0 : ((uint64_t)left_us + 999) / 1000;
    uv_timer_start(&loop->timer, fire, ms, 0);
}

/* Only what was due when the turn began: a timer that arms itself cannot keep the loop here. */
static void fire(uv_timer_t *handle)
{
    struct loop *loop = handle->data;
    int64_t now = mono_us(&loop->runtime);
    loop->firing = true;
    for (struct timer *timer; (timer = timer_heap_pop(&loop->timers, now)) != NULL;)
        timer->fn(timer->arg);
    loop->firing = false;
    set_alarm(loop);
}

static void timer_arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    struct loop *loop = loop_of(runtime);
    assert(delay_us >= 0 && delay_us < INT64_MAX / 2);
    /* One microsecond on: what is armed while timers fire belongs to the next turn. */
    timer_heap_arm(&loop->timers, timer, mono_us(runtime) + delay_us + 1);
    set_alarm(loop);
}

static void timer_disarm(struct runtime *runtime, struct timer *timer)
{
    struct loop *loop = loop_of(runtime);
    if (timer->index == 0)
        return;
    timer_heap_disarm(&loop->timers, timer);
    set_alarm(loop);
}

/* ---- calls from other threads ---- */

static bool take_post(struct loop *loop, struct posted *out)
{
    pthread_mutex_lock(&loop->mutex);
    bool any = loop->post_count > 0;
    if (any) {
        *out = loop->posts[loop->post_head];
        loop->post_head = (loop->post_head + 1) % LOOP_POST_MAX;
        loop->post_count--;
    }
    pthread_mutex_unlock(&loop->mutex);
    return any;
}

static void on_wake(uv_async_t *handle)
{
    struct loop *loop = handle->data;
    if (atomic_exchange(&loop->stopping, false))
        uv_stop(&loop->uv);
    pthread_mutex_lock(&loop->mutex);
    size_t waiting = loop->post_count;
    pthread_mutex_unlock(&loop->mutex);
    struct posted post;
    for (; waiting > 0 && take_post(loop, &post); waiting--)
        post.fn(post.arg);
}

enum rc loop_post(struct loop *loop, loop_fn *fn, void *arg)
{
    assert(fn != NULL);
    pthread_mutex_lock(&loop->mutex);
    bool room = loop->post_count < LOOP_POST_MAX;
    if (room) {
        size_t at = (loop->post_head + loop->post_count) % LOOP_POST_MAX;
        loop->posts[at] = (struct posted){fn, arg};
        loop->post_count++;
    }
    pthread_mutex_unlock(&loop->mutex);
    if (!room)
        return RC_AGAIN;
    uv_async_send(&loop->wake);
    return RC_OK;
}

static void on_waker(uv_async_t *handle)
{
    struct loop_waker *waker = handle->data;
    waker->fn(waker->arg);
}

static void free_waker(uv_handle_t *handle)
{
    free(handle->data);
}

struct loop_waker *loop_waker_new(struct loop *loop, loop_fn *fn, void *arg)
{
    assert(fn != NULL);
    struct loop_waker *waker = memory_new_zeroed(1, sizeof *waker);
    waker->fn = fn;
    waker->arg = arg;
    waker->handle.data = waker;
    if (uv_async_init(&loop->uv, &waker->handle, on_waker) != 0)
        abort();
    return waker;
}

void loop_waker_wake(struct loop_waker *waker)
{
    uv_async_send(&waker->handle);
}

void loop_waker_free(struct loop_waker *waker)
{
    uv_close((uv_handle_t *)&waker->handle, free_waker);
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *handle, int signo)
{
    (void)signo;
    struct watched_signal *watched = handle->data;
    watched->fn(watched->arg);
}

void loop_on_signal(struct loop *loop, int signo, loop_fn *fn, void *arg)
{
    assert(fn != NULL && loop->signal_count < LOOP_SIGNAL_MAX);
    struct watched_signal *watched = &loop->signals[loop->signal_count++];
    watched->fn = fn;
    watched->arg = arg;
    watched->handle.data = watched;
    if (uv_signal_init(&loop->uv, &watched->handle) != 0 ||
        uv_signal_start(&watched->handle, on_signal, signo) != 0)
        abort();
}

/* ---- life ---- */

struct loop *loop_new(void)
{
    struct loop *loop = memory_new_zeroed(1, sizeof *loop);
    loop->ops = (struct runtime_ops){
        .wall_us = wall_us,
        .mono_us = mono_us,
        .random = random_word,
        .timer_arm = timer_arm,
        .timer_disarm = timer_disarm,
    };
    loop->runtime.ops = &loop->ops;
    signal(SIGPIPE, SIG_IGN);
    if (pthread_mutex_init(&loop->mutex, NULL) != 0 || uv_loop_init(&loop->uv) != 0 ||
        uv_timer_init(&loop->uv, &loop->timer) != 0 ||
        uv_async_init(&loop->uv, &loop->wake, on_wake) != 0)
        abort();
    loop->timer.data = loop->wake.data = loop;
    return loop;
}

void loop_free(struct loop *loop)
{
    assert(loop->network == NULL);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    for (size_t i = 0; i < loop->signal_count; i++)
        uv_close((uv_handle_t *)&loop->signals[i].handle, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int left = uv_loop_close(&loop->uv);
    assert(left == 0);
    (void)left;
    timer_heap_deinit(&loop->timers);
    pthread_mutex_destroy(&loop->mutex);
    free(loop);
}

void loop_run(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stopping, true);
    uv_async_send(&loop->wake);
}

struct runtime *loop_runtime(struct loop *loop)
{
    return &loop->runtime;
}

struct loop *loop_of(struct runtime *runtime)
{
    _Static_assert(offsetof(struct loop, runtime) == 0, "a loop begins with its runtime");
    return (struct loop *)runtime;
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_attach(struct loop *loop, void *network, const struct runtime_ops *ops)
{
    static const struct runtime_ops none;
    const struct runtime_ops *from = ops != NULL ? ops : &none;
    assert((network != NULL) == (ops != NULL));
    loop->network = network;
    loop->ops.http_send = from->http_send;
    loop->ops.http_cancel = from->http_cancel;
    loop->ops.ws_open = from->ws_open;
    loop->ops.ws_send_text = from->ws_send_text;
    loop->ops.ws_hold = from->ws_hold;
    loop->ops.ws_close = from->ws_close;
}

void *loop_network(const struct loop *loop)
{
    return loop->network;
}
