/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite_fault.h - the n-th call SQLite makes to the machine fails.
 *
 * Two layers: SQLite's own table of system calls, where an errno is answered, and a file layer
 * around the default one, for what that table does not hold (fsync, shared memory, locks, delete);
 * besides them its allocator. One plan at a time says which call fails, from which time on and how;
 * it counts what was asked and what failed, so that a test can demand that its fault happened.
 *
 * Thread: any may call SQLite; the plan is changed between runs only. */
#ifndef TESTS_FAULT_SQLITE_FAULT_H
#define TESTS_FAULT_SQLITE_FAULT_H

#include <stdbool.h>

enum fault_call {
    FAULT_NONE,
    FAULT_PWRITE, /* system calls: `error` is an errno */
    FAULT_PREAD,
    FAULT_OPEN,
    FAULT_FTRUNCATE,
    FAULT_FSTAT,
    FAULT_MMAP,
    FAULT_UNLINK,
    FAULT_VFS_WRITE, /* the file layer: `error` is SQLite's code */
    FAULT_VFS_SYNC,
    FAULT_VFS_TRUNCATE,
    FAULT_VFS_DELETE,
    FAULT_VFS_SHM_MAP,
    FAULT_VFS_SHM_LOCK,
    FAULT_VFS_LOCK,
    FAULT_MALLOC, /* the allocator: answers NULL */
};

struct fault_plan {
    enum fault_call call;
    int error;
    bool half;      /* writes half of it first */
    bool forever;   /* from the n-th on, not once */
    bool main_only; /* file layer: only the database itself, not its log */
    long at;        /* n, from 1; 0: never */
};

/* Call once, before SQLite is used at all. */
void sqlite_fault_install(void);
void sqlite_fault_arm(const struct fault_plan *plan);
/* Everything works again; returns how often the plan struck. */
long sqlite_fault_disarm(void);
/* How many calls of the planned kind there were since it was armed. */
long sqlite_fault_asked(void);

#endif
