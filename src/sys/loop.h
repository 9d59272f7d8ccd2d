/* SPDX-License-Identifier: Apache-2.0
 *
 * loop.h - one thread's event loop: sockets, timers, signals, and work handed in by other threads.
 *
 * Always holds: every function given to a loop is called on the thread that runs it, and never from
 * inside the call that gave it. Timers are never early. What other threads hand in waits in a queue
 * with a fixed bound; a waker coalesces and cannot fail.
 *
 * Owner: the daemon, one per half.  Thread: the one that calls loop_run(), except where a function
 * says "any thread". Making a loop ignores SIGPIPE for the whole process. */
#ifndef SYS_LOOP_H
#define SYS_LOOP_H

#include "base/rc.h"
#include "sys/runtime.h"

#define LOOP_POST_MAX   4096
#define LOOP_SIGNAL_MAX 8

struct loop;
struct loop_waker;
struct uv_loop_s;

typedef void loop_fn(void *arg);

struct loop *loop_new(void);
/* Every timer is disarmed and everything made on the loop is freed before. Work that was handed in
 * and not run yet is forgotten. */
void loop_free(struct loop *loop);

/* The machine as sources see it. HTTP and websockets answer once a network was attached. */
struct runtime *loop_runtime(struct loop *loop);
struct loop *loop_of(struct runtime *runtime);
/* libuv's own loop, for code of this folder and for drivers that bring their own sockets. */
struct uv_loop_s *loop_uv(struct loop *loop);

/* Runs until loop_stop(). */
void loop_run(struct loop *loop);
/* Ends the run after the present turn, or the next run before its first. Any thread. */
void loop_stop(struct loop *loop);

/* Has `fn(arg)` called by the loop; RC_AGAIN when LOOP_POST_MAX calls wait already. Any thread. */
must_check enum rc loop_post(struct loop *loop, loop_fn *fn, void *arg);

/* A standing call: however often it is woken before the loop gets to it, `fn` runs once. */
struct loop_waker *loop_waker_new(struct loop *loop, loop_fn *fn, void *arg);
void loop_waker_wake(struct loop_waker *waker); /* any thread */
void loop_waker_free(struct loop_waker *waker);

/* Calls `fn` whenever the process gets `signo`, until the loop is freed. */
void loop_on_signal(struct loop *loop, int signo, loop_fn *fn, void *arg);

/* Puts the network's functions (http_*, ws_*) of `ops` into the runtime's table. `network` is what
 * loop_network() answers; both NULL to detach. */
void loop_attach(struct loop *loop, void *network, const struct runtime_ops *ops);
void *loop_network(const struct loop *loop);

#endif
