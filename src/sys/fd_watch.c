/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/fd_watch.h"

#include <assert.h>
#include <stdlib.h>
#include <uv.h>

struct fd_watch {
    uv_poll_t poll;
    int events; /* waited for */
    fd_watch_fn *fn;
    void *arg;
};

/* An error counts as ready in both ways: whoever reads or writes then meets it. */
static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct fd_watch *watch = poll->data;
    bool failed = status < 0;
    if (failed)
        watch->events = 0; /* the library has stopped watching */
    watch->fn(watch->arg, failed || (events & (UV_READABLE | UV_DISCONNECT)) != 0,
              failed || (events & UV_WRITABLE) != 0);
}

struct fd_watch *fd_watch_new(struct loop *loop, int fd, fd_watch_fn *fn, void *arg)
{
    assert(fd >= 0 && fn != NULL);
    struct fd_watch *watch = memory_new_zeroed(1, sizeof *watch);
    watch->fn = fn;
    watch->arg = arg;
    watch->poll.data = watch;
    if (uv_poll_init(loop_uv(loop), &watch->poll, fd) != 0)
        abort();
    return watch;
}

static void wait_for(struct fd_watch *watch, int events)
{
    if (events == watch->events)
        return; /* to say it again would be two calls of the kernel */
    watch->events = events;
    if (events == 0)
        uv_poll_stop(&watch->poll);
    else if (uv_poll_start(&watch->poll, events, on_ready) != 0)
        abort();
}

void fd_watch_set(struct fd_watch *watch, bool readable, bool writable)
{
    wait_for(watch, (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0));
}

void fd_watch_set_hang_up(struct fd_watch *watch)
{
    wait_for(watch, UV_DISCONNECT);
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

void fd_watch_free(struct fd_watch *watch)
{
    uv_poll_stop(&watch->poll);
    uv_close((uv_handle_t *)&watch->poll, free_watch);
}
