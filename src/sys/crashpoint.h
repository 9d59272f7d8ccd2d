/* SPDX-License-Identifier: Apache-2.0 - placeholder replaced by the full list */
#ifndef SYS_CRASHPOINT_H
#define SYS_CRASHPOINT_H
enum crashpoint {
    CRASH_AFTER_ROWS,
    CRASH_AFTER_CURSOR,
    CRASH_BEFORE_COMMIT,
    CRASH_AFTER_COMMIT,
    CRASH_BEFORE_ACK,
    CRASH_DURING_MIGRATE,
    CRASH_AFTER_MIGRATE
};
static inline void crashpoint(enum crashpoint p)
{
    (void)p;
}
#endif
