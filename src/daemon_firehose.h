/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_firehose.h - what the daemon keeps for the firehose: its settings put into a source, the
 * files beside the store, and who is followed.
 *
 * Without an account in `bluesky.actors` everybody's events are wanted; with one, those of the
 * accounts the store says are followed.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_FIREHOSE_H
#define DAEMON_FIREHOSE_H

#include "config.h"
#include "daemon_cursor_file.h"
#include "daemon_dictionary.h"
#include "daemon_follows.h"
#include "source/jetstream.h"

struct firehose {
    const struct config *config;
    struct worker_pool *workers; /* for files and the odd query; NULL before it is opened */
    struct cursor_file cursor_file;
    struct dictionary_files dictionaries;
    struct follows follows;
};

void firehose_init(struct firehose *firehose, const struct config *config, uint64_t seed);
/* Reads who is followed, while the store is still at hand. */
must_check enum rc firehose_load(struct firehose *firehose, struct store *store, struct err *err);
/* Opens the files; `folder` is where the program keeps what is no row. */
must_check enum rc firehose_open(struct firehose *firehose, struct loop *loop, struct bytes folder,
                                 struct err *err);
/* Makes the source; `options` holds what the store said, the rest is filled in here. */
must_check enum rc firehose_make(struct firehose *firehose, const struct source_env *env,
                                 struct jetstream_options *options, struct source **source,
                                 struct err *err);
/* Now and then: the committed position may be due in its file. */
void firehose_look(struct firehose *firehose, int64_t committed, int64_t now_us);
/* An operator asks for new settings and for the follows as they are now. */
void firehose_tune(struct firehose *firehose, const struct config *fresh);
void firehose_refresh(struct firehose *firehose);
/* The position was reset. */
void firehose_forget(struct firehose *firehose);
/* Ends what the workers do; then, with the source gone, writes the last word. */
void firehose_stop(struct firehose *firehose);
void firehose_close(struct firehose *firehose, int64_t committed);

#endif
