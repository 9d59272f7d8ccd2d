/* SPDX-License-Identifier: Apache-2.0
 *
 * thread.h - starting and ending a thread, a value that one thread shows to others, and a lock.
 *
 * A latest holds the last value put into it: one thread puts, any thread gets a whole copy. A lock
 * is for what several threads change in a moment; nobody waits for anything while he has it. */
#ifndef SYS_THREAD_H
#define SYS_THREAD_H

#include <stddef.h>

typedef void thread_fn(void *arg);

struct thread;

/* `name` shows up in the system's tools, 15 characters at most. Signals stay with the main
 * thread. */
struct thread *thread_start(const char *name, thread_fn *fn, void *arg);
/* Waits for its end and forgets it. */
void thread_join(struct thread *thread);
/* Lets others run before the caller goes on. */
void thread_yield(void);

struct latest;

struct latest *latest_new(size_t size); /* zeroed at first */
void latest_free(struct latest *latest);
void latest_put(struct latest *latest, const void *value);
void latest_get(struct latest *latest, void *value);

struct lock;

struct lock *lock_new(void);
void lock_free(struct lock *lock);
void lock_enter(struct lock *lock);
void lock_leave(struct lock *lock);

#endif
