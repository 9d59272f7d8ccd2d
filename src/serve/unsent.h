/* SPDX-License-Identifier: Apache-2.0
 *
 * unsent.h - how much memory answers take that their clients have not taken, all together.
 *
 * Whoever keeps bytes for a client says how many, each time that changes. As long as they are more
 * than `max`, nothing is read from the store whose answer may be large, and who is pushed changes
 * and has anything unsent is pushed no more (I6). What is being read at that moment still comes on
 * top: one answer for each reader.
 *
 * Owner: the server.  Thread: the serving loop, but for unsent_was_over(). */
#ifndef SERVE_UNSENT_H
#define SERVE_UNSENT_H

#include <stdbool.h>
#include <stddef.h>

struct latest;

struct unsent {
    size_t bytes, max;
    struct latest *over; /* a bool, for other threads */
};

void unsent_init(struct unsent *unsent, size_t max);
void unsent_deinit(struct unsent *unsent);
/* `mine`: what the caller has noted; it has so many now. */
void unsent_note(struct unsent *unsent, size_t *mine, size_t now);
bool unsent_is_over(const struct unsent *unsent);
/* The same a moment ago, for any thread. */
bool unsent_was_over(const struct unsent *unsent);

#endif
