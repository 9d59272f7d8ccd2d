/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_dictionary.h - the zstd dictionaries of the firehose as files.
 *
 * The one of the v1 wire is configured. The one of the v2 wire is what a host handed out last: it
 * is kept in the data folder, where the next run finds it; its number stands inside it. Neither is
 * needed: without them the firehose runs uncompressed, or asks again.
 *
 * Owner: the daemon.  Thread: the ingest loop; the file is written by a worker. */
#ifndef DAEMON_DICTIONARY_H
#define DAEMON_DICTIONARY_H

#include "sys/worker.h"

struct dictionary_files {
    struct text v1, v2; /* as read at the start; empty: none */
    struct text path;   /* of the kept one */
    struct worker_pool *workers;
    struct worker_job job;
    bool writing;
    struct text content;
    struct err err;
    enum rc rc;
};

/* Reads both; `configured` is "" for none. What cannot be read is said and left out. */
void dictionary_files_init(struct dictionary_files *files, const char *configured,
                           struct bytes folder, struct worker_pool *workers);
void dictionary_files_deinit(struct dictionary_files *files);
/* Keeps a dictionary for the next run. */
void dictionary_files_keep(void *files, struct bytes dictionary);

#endif
