/* SPDX-License-Identifier: Apache-2.0
 *
 * crashpoint.h - the named places where a test may kill the process.
 *
 * TIDEMARK_CRASH_AT=name:k kills it (SIGKILL, nothing is cleaned up) when the place is reached for
 * the k-th time; TIDEMARK_CRASH_TRACE=FILE appends each name to FILE when it is first reached.
 * Without either a place costs one load. The list is closed: a test walks it and demands that each
 * place is reached.
 *
 * Thread: any. */
#ifndef SYS_CRASHPOINT_H
#define SYS_CRASHPOINT_H

#define CRASHPOINTS(X)                                                                             \
    X(CRASH_AFTER_ROWS, "after-rows")         /* rows sent, cursors not yet */                     \
    X(CRASH_AFTER_CURSOR, "after-cursor")     /* all rows sent, the commit not yet numbered */     \
    X(CRASH_BEFORE_COMMIT, "before-commit")   /* everything sent but COMMIT */                     \
    X(CRASH_AFTER_COMMIT, "after-commit")     /* durable, the writer does not know yet */          \
    X(CRASH_BEFORE_ACK, "before-ack")         /* durable, the batches' owners do not know yet */   \
    X(CRASH_DURING_MIGRATE, "during-migrate") /* before a schema step is sent */                   \
    X(CRASH_AFTER_MIGRATE, "after-migrate")   /* a schema step is durable */

#define CRASHPOINT_NAMED(id, name) id,
enum crashpoint { CRASHPOINTS(CRASHPOINT_NAMED) CRASHPOINT_COUNT };
#undef CRASHPOINT_NAMED

void crashpoint(enum crashpoint point);
const char *crashpoint_name(enum crashpoint point);

#endif
