/* SPDX-License-Identifier: Apache-2.0
 *
 * crashpoint.h - the places where a test may kill the program.
 *
 * A closed list. With TIDEMARK_CRASH_AT=name:k the process gets SIGKILL at the k-th pass of that
 * point (k counts from 1; without ":k" it is 1). With TIDEMARK_CRASH_TRACE=FILE each point's name
 * is appended to FILE at its first pass, so that a test can prove which points it reached. Both are
 * read once, at the first pass of any point; a name that is not on the list aborts, or a test that
 * misspells it would pass for ever. Without them a pass costs one load.
 *
 * Any thread. */
#ifndef SYS_CRASHPOINT_H
#define SYS_CRASHPOINT_H

#define CRASHPOINTS(X)                                                                             \
    X(CRASH_AFTER_ROWS, "after_rows")                                                              \
    X(CRASH_AFTER_CURSOR, "after_cursor")                                                          \
    X(CRASH_BEFORE_COMMIT, "before_commit")                                                        \
    X(CRASH_AFTER_COMMIT, "after_commit")                                                          \
    X(CRASH_BEFORE_ACK, "before_ack")                                                              \
    X(CRASH_DURING_MIGRATE, "during_migrate")                                                      \
    X(CRASH_AFTER_MIGRATE, "after_migrate")

#define CRASHPOINT_MEMBER(point, name) point,
enum crashpoint { CRASHPOINTS(CRASHPOINT_MEMBER) CRASHPOINT_COUNT };
#undef CRASHPOINT_MEMBER

void crashpoint(enum crashpoint point);
const char *crashpoint_name(enum crashpoint point);

#endif
