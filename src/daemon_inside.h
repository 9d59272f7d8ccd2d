/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_inside.h - the daemon from inside: for the files it is made of.
 *
 * Owner: daemon_run().  Thread: the ingest loop, but where a function says otherwise. */
#ifndef DAEMON_INSIDE_H
#define DAEMON_INSIDE_H

#include "daemon.h"
#include "daemon_admin.h"
#include "daemon_parts.h"
#include "daemon_view.h"
#include "store/writer.h"

struct daemon {
    const struct daemon_options *options;
    const struct config *config;
    struct store *store; /* until the writer owns it */
    struct store_position position;
    struct writer *writer;
    struct bell *bell; /* rung by the writer, heard by the server */
    struct loop *loop;
    struct network *network;
    struct batch_pool *pool;
    struct outbox *outbox; /* NULL: not yet, or gone */
    struct lookup *lookup; /* NULL: not yet, or gone */
    struct part_env env;
    struct parts parts;
    unsigned news; /* not yet told */
    struct reset *reset;
    struct backfill_ask *backfill_ask;
    struct quarantine_ask *quarantine_ask;
    struct follows_ask follows_ask;
    struct admin admin;
    struct server *server;
    struct server_options server_options;
    struct text socket_path;
    struct latest *shown;
    struct metrics *metrics;
    struct metric *latency; /* from the wire to the commit */
    int64_t started_us;
    struct timer stop_look, look, news_due;
    int64_t stop_by_us;
    bool opened; /* the parts are, and were not stopped since */
    bool stopping, failed;
};

/* Any thread. */
void daemon_say_failure(const char *what, const struct err *err);
/* The loop ends at once, and the program as failed; `arg` is the daemon. */
void daemon_fail(void *arg);
/* Hands a batch to the writer; `arg` is the daemon. */
must_check enum rc daemon_submit(void *arg, struct batch *batch);

/* Puts together what is shown from now on, and comes back; `arg` is the daemon. */
void daemon_look(void *arg);
/* The serving half asks to be told; any thread. */
void daemon_tell_health(void *arg, struct health_view *out);
void daemon_tell_metrics(void *arg, struct text *out);
void daemon_tell_status(void *arg, struct status_live *out);

/* What a reset does to those who follow a source. */
extern const struct reset_ops daemon_reset_ops;

#endif
