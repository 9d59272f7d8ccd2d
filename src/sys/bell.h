/* SPDX-License-Identifier: Apache-2.0
 *
 * bell.h - tells one listener, on whatever thread, that something happened.
 *
 * Whoever rings need not know whether anybody listens, nor the listener who rings; what happened
 * the listener finds out for itself. After bell_silence() has returned the function is not called
 * any more.
 *
 * Owner: whoever brings the two together.  Thread: any. */
#ifndef SYS_BELL_H
#define SYS_BELL_H

struct bell;

typedef void bell_fn(void *arg);

struct bell *bell_new(void);
/* Nobody rings or listens any more. */
void bell_free(struct bell *bell);
/* `fn` is called on the ringing thread, must only pass it on, and must not touch the bell. */
void bell_listen(struct bell *bell, bell_fn *fn, void *arg);
void bell_silence(struct bell *bell);
void bell_ring(struct bell *bell);

#endif
