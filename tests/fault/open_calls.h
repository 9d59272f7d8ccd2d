/* SPDX-License-Identifier: Apache-2.0
 *
 * open_calls.h - all names under which the C library opens a file, led to one.
 *
 * For libraries that stand before the C library: the file that includes this has open_with(), and
 * is the only one of its library that does. */
#ifndef TESTS_OPEN_CALLS_H
#define TESTS_OPEN_CALLS_H

#include <fcntl.h>
#include <stdarg.h>

#define OPEN_CALL(name)                                                                            \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int fd = open_with(AT_FDCWD, path, flags, more);                                           \
        va_end(more);                                                                              \
        return fd;                                                                                 \
    }
#define OPENAT_CALL(name)                                                                          \
    int name(int at, const char *path, int flags, ...)                                             \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int fd = open_with(at, path, flags, more);                                                 \
        va_end(more);                                                                              \
        return fd;                                                                                 \
    }

OPEN_CALL(open)
OPEN_CALL(open64)
OPENAT_CALL(openat)
OPENAT_CALL(openat64)

#endif
