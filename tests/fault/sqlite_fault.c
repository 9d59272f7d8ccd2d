/* SPDX-License-Identifier: Apache-2.0 */
#include "sqlite_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fault_plan plan;
static long asked, struck;

static bool strikes(enum fault_call call)
{
    if (plan.call != call || plan.at == 0)
        return false;
    asked++;
    if (asked != plan.at && !(plan.forever && asked > plan.at))
        return false;
    struck++;
    return true;
}

void sqlite_fault_arm(const struct fault_plan *wanted)
{
    plan = *wanted;
    asked = struck = 0;
}

long sqlite_fault_disarm(void)
{
    plan = (struct fault_plan){0};
    return struck;
}

long sqlite_fault_asked(void)
{
    return asked;
}

/* ---- SQLite's table of system calls --------------------------------------------------------- */

static ssize_t failing_pwrite(int fd, const void *data, size_t size, off_t at)
{
    static bool half_done;
    if (half_done || strikes(FAULT_PWRITE)) {
        /* SQLite goes on after a short write; the rest of it is what fails. */
        if (plan.half && !half_done && size > 1) {
            half_done = true;
            return pwrite(fd, data, size / 2, at);
        }
        half_done = false;
        errno = plan.error;
        return -1;
    }
    return pwrite(fd, data, size, at);
}

static ssize_t failing_pread(int fd, void *data, size_t size, off_t at)
{
    if (strikes(FAULT_PREAD)) {
        errno = plan.error;
        return -1;
    }
    return pread(fd, data, size, at);
}

static int failing_open(const char *path, int flags, int mode)
{
    if (strikes(FAULT_OPEN)) {
        errno = plan.error;
        return -1;
    }
    return open(path, flags, mode);
}

static int failing_ftruncate(int fd, off_t size)
{
    if (strikes(FAULT_FTRUNCATE)) {
        errno = plan.error;
        return -1;
    }
    return ftruncate(fd, size);
}

static int failing_fstat(int fd, struct stat *info)
{
    if (strikes(FAULT_FSTAT)) {
        errno = plan.error;
        return -1;
    }
    return fstat(fd, info);
}

static void *failing_mmap(void *at, size_t size, int protection, int flags, int fd, off_t from)
{
    if (strikes(FAULT_MMAP)) {
        errno = plan.error;
        return MAP_FAILED;
    }
    return mmap(at, size, protection, flags, fd, from);
}

static int failing_unlink(const char *path)
{
    if (strikes(FAULT_UNLINK)) {
        errno = plan.error;
        return -1;
    }
    return unlink(path);
}

static void replace_system_calls(sqlite3_vfs *vfs)
{
    const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {
        {"pwrite64", (sqlite3_syscall_ptr)failing_pwrite},
        {"pread64", (sqlite3_syscall_ptr)failing_pread},
        {"open", (sqlite3_syscall_ptr)failing_open},
        {"ftruncate", (sqlite3_syscall_ptr)failing_ftruncate},
        {"fstat", (sqlite3_syscall_ptr)failing_fstat},
        {"mmap", (sqlite3_syscall_ptr)failing_mmap},
        {"unlink", (sqlite3_syscall_ptr)failing_unlink},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int code = vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
        if (code != SQLITE_OK) {
            fprintf(stderr, "sqlite_fault: SQLite does not call %s here\n", calls[i].name);
            abort();
        }
    }
}

/* ---- the file layer --------------------------------------------------------------------------*/

struct shim_file {
    sqlite3_file base;
    bool main;
    sqlite3_file *real; /* lies behind this struct */
};

static sqlite3_vfs *real_vfs, shim_vfs;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct shim_file *)file)->real;
}

static bool strikes_file(enum fault_call call, sqlite3_file *file)
{
    return (!plan.main_only || ((struct shim_file *)file)->main) && strikes(call);
}

static int shim_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int shim_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), data, size, at);
}

static int shim_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    if (strikes_file(FAULT_VFS_WRITE, file)) {
        if (plan.half)
            real_of(file)->pMethods->xWrite(real_of(file), data, size / 2, at);
        return plan.error;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), data, size, at);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (strikes_file(FAULT_VFS_TRUNCATE, file))
        return plan.error;
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

/* The disk is not under test here: a sync that does not fail costs nothing. */
static int shim_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    return strikes_file(FAULT_VFS_SYNC, file) ? plan.error : SQLITE_OK;
}

static int shim_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    if (strikes_file(FAULT_VFS_LOCK, file))
        return plan.error;
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int shim_check_reserved(sqlite3_file *file, int *taken)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), taken);
}

static int shim_file_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int shim_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shim_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    if (strikes_file(FAULT_VFS_SHM_MAP, file))
        return plan.error;
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *file, int at, int count, int flags)
{
    if ((flags & SQLITE_SHM_LOCK) != 0 && strikes_file(FAULT_VFS_SHM_LOCK, file))
        return plan.error;
    return real_of(file)->pMethods->xShmLock(real_of(file), at, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shim_shm_unmap(sqlite3_file *file, int forget)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), forget);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved,
    .xFileControl = shim_file_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_device,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *got)
{
    (void)vfs;
    struct shim_file *file = (struct shim_file *)base;
    file->real = (sqlite3_file *)(file + 1);
    file->main = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    int code = real_vfs->xOpen(real_vfs, path, file->real, flags, got);
    file->base.pMethods = code == SQLITE_OK ? &shim_methods : NULL;
    return code;
}

static int shim_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    if (strikes(FAULT_VFS_DELETE))
        return plan.error;
    return real_vfs->xDelete(real_vfs, path, sync_folder);
}

/* ---- the allocator ---------------------------------------------------------------------------*/

static sqlite3_mem_methods real_memory;

static void *failing_malloc(int size)
{
    return strikes(FAULT_MALLOC) ? NULL : real_memory.xMalloc(size);
}

static void *failing_realloc(void *old, int size)
{
    return strikes(FAULT_MALLOC) ? NULL : real_memory.xRealloc(old, size);
}

void sqlite_fault_install(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods memory = real_memory;
    memory.xMalloc = failing_malloc;
    memory.xRealloc = failing_realloc;
    int code = sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    if (code == SQLITE_OK)
        code = sqlite3_initialize();
    real_vfs = sqlite3_vfs_find(NULL);
    if (code != SQLITE_OK || real_vfs == NULL)
        abort();
    replace_system_calls(real_vfs);
    shim_vfs = *real_vfs;
    shim_vfs.zName = "fault";
    shim_vfs.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
    shim_vfs.xOpen = shim_open;
    shim_vfs.xDelete = shim_delete;
    if (sqlite3_vfs_register(&shim_vfs, 1) != SQLITE_OK)
        abort();
}
