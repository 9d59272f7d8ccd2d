/* SPDX-License-Identifier: Apache-2.0
 *
 * crashpoint.h - the places where a test may kill the program.
 *
 * A closed list. With TIDEMARK_CRASH_AT=name:k the process gets SIGKILL at the k-th pass of that
 * point (k counts from 1; without ":k" it is 1); with TIDEMARK_STOP_AT=name:k it gets SIGTERM there
 * and goes on. With TIDEMARK_CRASH_TRACE=FILE each point's name is appended to FILE at its first
 * pass, so that a test can prove which points it reached. All are read once, at the first pass of
 * any point; a name that is not on the list aborts, or a test that misspells it would pass for
 * ever. Without them a pass costs one load.
 *
 * Any thread. */
#ifndef SYS_CRASHPOINT_H
#define SYS_CRASHPOINT_H

/* While a batch is written, whoever sent it; the schema. */
#define CRASHPOINTS_STORE(X)                                                                       \
    X(CRASH_AFTER_ROWS, "after_rows")                                                              \
    X(CRASH_AFTER_CURSOR, "after_cursor")                                                          \
    X(CRASH_BEFORE_COMMIT, "before_commit")                                                        \
    X(CRASH_AFTER_COMMIT, "after_commit")                                                          \
    X(CRASH_BEFORE_ACK, "before_ack")                                                              \
    X(CRASH_DURING_MIGRATE, "during_migrate")                                                      \
    X(CRASH_AFTER_MIGRATE, "after_migrate")

/* Where a source, a reader or an operator has done half of something. `sent`: the batch is the
 * writer's; `stored`: its sender is about to be told. */
#define CRASHPOINTS_STAGES(X)                                                                      \
    X(CRASH_FILE_SYNCED, "file_synced")                                                            \
    X(CRASH_FILE_RENAMED, "file_renamed")                                                          \
    X(CRASH_STREAM_OPENED, "stream_opened")                                                        \
    X(CRASH_UNIT_SENT, "unit_sent")                                                                \
    X(CRASH_UNIT_STORED, "unit_stored")                                                            \
    X(CRASH_FOLLOWS_PAGE, "follows_page")                                                          \
    X(CRASH_FOLLOWS_END_SENT, "follows_end_sent")                                                  \
    X(CRASH_FOLLOWS_STORED, "follows_stored")                                                      \
    X(CRASH_BACKFILL_PLANNED, "backfill_planned")                                                  \
    X(CRASH_BACKFILL_ENDED, "backfill_ended")                                                      \
    X(CRASH_FEED_PAGE_SENT, "feed_page_sent")                                                      \
    X(CRASH_FEED_PAGE_STORED, "feed_page_stored")                                                  \
    X(CRASH_POLL_CYCLE_ENDED, "poll_cycle_ended")                                                  \
    X(CRASH_CARD_READ, "card_read")                                                                \
    X(CRASH_DEBT_SENT, "debt_sent")                                                                \
    X(CRASH_DEBT_SETTLED, "debt_settled")                                                          \
    X(CRASH_PICTURE_SENT, "picture_sent")                                                          \
    X(CRASH_PICTURE_STORED, "picture_stored")                                                      \
    X(CRASH_IMPORT_SENT, "import_sent")                                                            \
    X(CRASH_IMPORT_OPENED, "import_opened")                                                        \
    X(CRASH_IMPORT_CLOSED, "import_closed")                                                        \
    X(CRASH_LEDGER_PAGE_SENT, "ledger_page_sent")                                                  \
    X(CRASH_LEDGER_PAGE_STORED, "ledger_page_stored")                                              \
    X(CRASH_DOCUMENT_ENDED, "document_ended")                                                      \
    X(CRASH_CONTENT_SENT, "content_sent")                                                          \
    X(CRASH_CONTENT_STORED, "content_stored")                                                      \
    X(CRASH_UNDO_SENT, "undo_sent")                                                                \
    X(CRASH_UNDO_STORED, "undo_stored")                                                            \
    X(CRASH_HANDLE_KEPT, "handle_kept")                                                            \
    X(CRASH_HANDLE_MOVED, "handle_moved")                                                          \
    X(CRASH_HANDLE_REMOVED, "handle_removed")                                                      \
    X(CRASH_SLICE_SENT, "slice_sent")                                                              \
    X(CRASH_SLICE_STORED, "slice_stored")                                                          \
    X(CRASH_RESET_SENT, "reset_sent")                                                              \
    X(CRASH_RESET_STORED, "reset_stored")                                                          \
    X(CRASH_BACKUP_BEGUN, "backup_begun")                                                          \
    X(CRASH_BACKUP_COPIED, "backup_copied")                                                        \
    X(CRASH_BACKUP_NAMED, "backup_named")

#define CRASHPOINTS(X) CRASHPOINTS_STORE(X) CRASHPOINTS_STAGES(X)

#define CRASHPOINT_MEMBER(point, name) point,
enum crashpoint { CRASHPOINTS(CRASHPOINT_MEMBER) CRASHPOINT_COUNT };
#undef CRASHPOINT_MEMBER

void crashpoint(enum crashpoint point);
const char *crashpoint_name(enum crashpoint point);

#endif
