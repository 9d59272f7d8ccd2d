/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox.h - the process gives up what it will not need, so that who takes it over has not much.
 *
 * Three locks of the kernel, none of which opens again: no new privileges; files and folders (and
 * signals) through Landlock, where only what was allowed before can be read or written and nothing
 * can be run; system calls through seccomp, where what only other kinds of programs need is refused
 * with EPERM. Refused, not killed: a library that tries and goes on without it may do so. Files and
 * sockets that are open already stay so.
 *
 * A kernel may lack the second, the third or both. Then the others hold all the same, and the
 * caller is told what is in force.
 *
 * Owner: who made it.  Thread: the first, before there is another: threads inherit the box from the
 * one that starts them. */
#ifndef SYS_SANDBOX_H
#define SYS_SANDBOX_H

#include "base/err.h"

#include <stdbool.h>

struct sandbox;

enum sandbox_access {
    SANDBOX_READ,  /* files, and names in a folder */
    SANDBOX_WRITE, /* and new files, folders and sockets in a folder */
};

struct sandbox_state {
    int landlock;  /* which version of it; 0: none */
    bool syscalls; /* whether system calls are filtered */
};

/* What this kernel has. */
struct sandbox_state sandbox_offered(void);
struct sandbox *sandbox_new(void);
void sandbox_free(struct sandbox *sandbox); /* NULL is allowed; a box that was entered stays */
/* A file, or a folder with all that is in it, now or later. "~/" in front is the user's home. What
 * is not there cannot be allowed, and is passed over. */
void sandbox_allow(struct sandbox *sandbox, const char *path, enum sandbox_access access);
/* The folder that a file lies in, so that it may be made, or replaced by another of its name; of a
 * link, also where it leads. None for a device or a pipe, which stay what they are. */
void sandbox_allow_folder_of(struct sandbox *sandbox, const char *path, enum sandbox_access access);
/* RC_RETRY: a place that was to be allowed could not be looked at, for want of descriptors or
 * memory, and nothing was given up. RC_FATAL: the kernel has a lock and does not close it; what is
 * in force is told all the same. */
must_check enum rc sandbox_enter(struct sandbox *sandbox, struct sandbox_state *in_force,
                                 struct err *err);

#endif
