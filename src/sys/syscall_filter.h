/* SPDX-License-Identifier: Apache-2.0
 *
 * syscall_filter.h - system calls that the process gives up for good, through seccomp.
 *
 * A list of what is refused, with EPERM: running programs and making processes, looking into or
 * changing others, mounting, namespaces, becoming somebody else, the kernel's own matters, the
 * clock, raw and unusual sockets, typing into the terminal. What is not on it goes on as before, so
 * that no library is surprised by its own next version.
 *
 * Thread: the first, before there is another; those that come later inherit it. */
#ifndef SYS_SYSCALL_FILTER_H
#define SYS_SYSCALL_FILTER_H

#include "base/rc.h"

#include <stdbool.h>

/* At the end of a test's program the leak checker stops its threads from a second process. */
#ifdef __SANITIZE_ADDRESS__
#define SYSCALL_FILTER_SPARES_TRACING
#endif

/* Whether the kernel has such filters. */
bool syscall_filter_offered(void);
/* 0, or -1 with errno set. Without new privileges only. */
must_check int syscall_filter_close(void);

#endif
