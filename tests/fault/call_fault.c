/* SPDX-License-Identifier: Apache-2.0
 *
 * call_fault - a library to be loaded before the C library: the n-th call of a kind fails, and the
 * clock on the wall is off.
 *
 * What fails is told by a file (TIDEMARK_TEST_CALLS) that test and program share as memory, so a
 * test may change its mind while the program runs, and reads there how often each kind was called
 * and how often it failed. tests/support/call_faults.py is the other side; both know the layout:
 * 64-bit numbers, first what is added to the clock in microseconds and how often, then five for
 * each kind.
 *
 * Memory: only what the program itself asks for counts; what a library does without it is the
 * library's. Files: only regular ones count, and none of the standard three, so that the program
 * can still say what is wrong. Without the file everything is as it was. Thread: any. */
#undef _FILE_OFFSET_BITS /* both names of a call are meant, the old and the 64-bit one */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US INT64_C(1000000)

enum kind {
    KIND_WRITE,
    KIND_FSYNC,
    KIND_OPEN,
    KIND_CONNECT,
    KIND_RECV,
    KIND_SEND,
    KIND_ACCEPT,
    KIND_MALLOC,
    KIND_THREAD,
    KIND_COUNT
};

struct plan {
    _Atomic int64_t first, last; /* the calls that fail, counted from 1; 0: none */
    _Atomic int64_t error;
    _Atomic int64_t calls, failed;
};

struct shared {
    _Atomic int64_t clock_us, clock_told;
    struct plan plans[KIND_COUNT];
};

static struct shared *shared;
static uintptr_t program_from, program_to; /* where its code lies */

/* The first object is the program. */
static int note_program(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        program_from = object->dlpi_addr + part->p_vaddr;
        program_to = program_from + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void attach(void)
{
    const char *path = getenv("TIDEMARK_TEST_CALLS");
    if (path == NULL)
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || memory == MAP_FAILED)
        abort();
    syscall(SYS_close, fd);
    dl_iterate_phdr(note_program, NULL);
    shared = memory;
}

/* Counts a call; true, and errno says why, when it is one of those that fail. */
static bool fails(enum kind kind)
{
    if (shared == NULL)
        return false;
    struct plan *plan = &shared->plans[kind];
    int64_t call = atomic_fetch_add(&plan->calls, 1) + 1, first = plan->first;
    if (first == 0 || call < first || call > plan->last)
        return false;
    atomic_fetch_add(&plan->failed, 1);
    errno = (int)plan->error;
    return true;
}

static bool file_fails(int fd, enum kind kind)
{
    struct stat about;
    return shared != NULL && fd > STDERR_FILENO && fstat(fd, &about) == 0 &&
           S_ISREG(about.st_mode) && fails(kind);
}

/* A connection on which this fails is over for both sides, as when a network fails. */
static bool socket_fails(int fd, enum kind kind)
{
    struct stat about;
    if (shared == NULL || fd <= STDERR_FILENO || fstat(fd, &about) != 0 ||
        !S_ISSOCK(about.st_mode) || !fails(kind))
        return false;
    int why = errno;
    if (kind == KIND_SEND || kind == KIND_RECV)
        syscall(SYS_shutdown, fd, SHUT_RDWR);
    errno = why;
    return true;
}

/* ---- files ---- */

ssize_t write(int fd, const void *data, size_t size)
{
    if (file_fails(fd, KIND_WRITE) || socket_fails(fd, KIND_SEND))
        return -1;
    return syscall(SYS_write, fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (file_fails(fd, KIND_WRITE) || socket_fails(fd, KIND_SEND))
        return -1;
    return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    return file_fails(fd, KIND_WRITE) ? -1 : syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite64(fd, data, size, at);
}

int fsync(int fd)
{
    return fails(KIND_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(KIND_FSYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

static int open_with(int folder, const char *path, int flags, va_list more)
{
    mode_t mode = 0;
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(more, mode_t);
    return fails(KIND_OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#include "open_calls.h" /* led to open_with() */

/* ---- sockets ---- */

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    return fails(KIND_CONNECT) ? -1 : (int)syscall(SYS_connect, fd, address.__sockaddr__, size);
}

static int taken(long fd)
{
    if (fd < 0 && shared != NULL && (errno == EMFILE || errno == ENFILE))
        atomic_fetch_add(&shared->plans[KIND_ACCEPT].failed, 1); /* the machine itself fails */
    return (int)fd;
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *size, int flags)
{
    return fails(KIND_ACCEPT) ? -1
                              : taken(syscall(SYS_accept4, fd, address.__sockaddr__, size, flags));
}

int accept(int fd, __SOCKADDR_ARG address, socklen_t *size)
{
    return accept4(fd, address, size, 0);
}

ssize_t read(int fd, void *data, size_t size)
{
    return socket_fails(fd, KIND_RECV) ? -1 : syscall(SYS_read, fd, data, size);
}

ssize_t recvfrom(int fd, void *data, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *len)
{
    return fails(KIND_RECV) ? -1
                            : syscall(SYS_recvfrom, fd, data, size, flags, from.__sockaddr__, len);
}

ssize_t recv(int fd, void *data, size_t size, int flags)
{
    return recvfrom(fd, data, size, flags, NULL, NULL);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return fails(KIND_RECV) ? -1 : syscall(SYS_recvmsg, fd, message, flags);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, __CONST_SOCKADDR_ARG to,
               socklen_t len)
{
    return fails(KIND_SEND) ? -1 : syscall(SYS_sendto, fd, data, size, flags, to.__sockaddr__, len);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    return sendto(fd, data, size, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    return fails(KIND_SEND) ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}

/* ---- threads, memory, time ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *options, void *(*run)(void *),
                   void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next, &found, sizeof next);
    return fails(KIND_THREAD) ? errno : next(thread, options, run, arg);
}

#ifdef WITH_MALLOC /* a sanitizer has its own */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool memory_fails(const void *caller)
{
    uintptr_t from = (uintptr_t)caller;
    return from >= program_from && from < program_to && fails(KIND_MALLOC);
}

void *malloc(size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
#endif

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    int64_t off_us = shared == NULL ? 0 : shared->clock_us;
    if (failed == 0 && off_us != 0 && clock == CLOCK_REALTIME) {
        now->tv_sec += off_us / SECOND_US;
        atomic_fetch_add(&shared->clock_told, 1);
    }
    return failed;
}
