/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_parts.h - the parts that the configuration asks for, as one.
 *
 * Started in the order of their list, stopped and freed in the reverse one.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_PARTS_H
#define DAEMON_PARTS_H

#include "daemon_part.h"

#define PARTS_MAX 16

struct parts {
    struct part *items[PARTS_MAX];
    size_t count;
};

void parts_make(struct parts *parts, const struct part_env *env);
must_check enum rc parts_load(struct parts *parts, struct store *store, struct err *err);
must_check enum rc parts_open(struct parts *parts, struct err *err);
void parts_start(struct parts *parts);
/* Lets each look after itself and say what it shows. */
void parts_look(struct parts *parts, int64_t now_us, struct daemon_view *view);
void parts_heed(struct parts *parts, unsigned news);
/* What the one says that hears; true without one. */
bool parts_hear(const struct parts *parts, struct bytes did);
void parts_reload(struct parts *parts, const struct config *fresh);
void parts_stop(struct parts *parts);
bool parts_stopped(const struct parts *parts);
void parts_free(struct parts *parts);
/* The one that keeps the position of `source`, or NULL. */
struct part *parts_follower(const struct parts *parts, const char *source);
/* The one that imports accounts; NULL before it is made. */
struct part *parts_ledger(const struct parts *parts);
/* The one that fetches pictures; NULL before it is made. */
struct part *parts_pictures(const struct parts *parts);

#endif
