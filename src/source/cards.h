/* SPDX-License-Identifier: Apache-2.0
 *
 * cards.h - the pages behind links: what they are called, what they show, which link they really
 * are.
 *
 * The store notes which links have no card, and which are shorteners. Each is fetched as a stranger
 * named it, step by step: every redirect is a request of its own, so that each host is asked at its
 * pace and each address is checked. A page costs at most 10 s and 1 MiB; more of it is cut off.
 *
 *   free -item-> WAITING (for its host's turn) -> QUEUED (for a place) -> ASKING -> free
 *                   ^-------------------redirect------------------------'
 *
 * Never in the way of a stream: everything is bounded (I6), what fails is tried later, and what is
 * given up is noted with its reason.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_CARDS_H
#define SOURCE_CARDS_H

#include "source/due.h"

#define CARDS_IN_FLIGHT_MAX 64

struct cards_settings {
    uint32_t per_host_ms; /* between two requests to one host */
    uint32_t in_flight;   /* requests under way, at most CARDS_IN_FLIGHT_MAX */
};

struct cards;

struct cards *cards_new(const struct source_env *env, const struct cards_settings *settings);
/* Everything under way was answered or forgotten. */
void cards_free(struct cards *cards);
void cards_start(struct cards *cards);
void cards_tune(struct cards *cards, const struct cards_settings *settings);
/* While the network is there still. */
void cards_stop(struct cards *cards);
bool cards_stopped(const struct cards *cards);
struct due_counts cards_counts(const struct cards *cards);

#endif
