/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_cursor_file.h - the firehose's cursor in a file, for operators.
 *
 * One line, the committed position in microseconds, put there in one step every so often and at the
 * end. The file never runs ahead of the database and is read only when the database knows nothing:
 * the truth commits with the rows. Writing happens on a worker; a failure is said and the next one
 * is tried in its time.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_CURSOR_FILE_H
#define DAEMON_CURSOR_FILE_H

#include "sys/worker.h"

struct cursor_file {
    const char *path; /* "": there is none */
    int64_t every_us, due_us;
    int64_t written; /* by this run or the one before; 0: nothing yet */
    struct worker_pool *workers;
    struct worker_job job;
    bool writing;
    struct text content;
    struct err err;
    enum rc rc;
};

/* RC_REJECT: the folder it is to lie in cannot be had. */
must_check enum rc cursor_file_init(struct cursor_file *file, const char *path,
                                    int64_t every_seconds, struct worker_pool *workers,
                                    struct err *err);
/* The position an operator, or an earlier run, left there; 0: none. */
int64_t cursor_file_read(const struct cursor_file *file);
/* The same, to begin with: what is no time in microseconds of this century is said and not taken.
 * Seconds or milliseconds would have every history read from its beginning. */
int64_t cursor_file_begin(const struct cursor_file *file);
/* The store's own position, 0: none. A file that says the same was left by the run before. */
void cursor_file_know(struct cursor_file *file, int64_t stored);
/* Writes the committed position when its time has come; called now and then. */
void cursor_file_look(struct cursor_file *file, int64_t committed, int64_t now_us);
/* The position was reset, and nothing is being written: what this run wrote, or the one before
 * left, is no longer wanted. What an operator put there is where to begin. */
void cursor_file_forget(struct cursor_file *file);
/* Writes it at once, on this thread. The workers are gone. */
void cursor_file_finish(struct cursor_file *file, int64_t committed);

#endif
