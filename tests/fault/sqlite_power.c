/* SPDX-License-Identifier: Apache-2.0 */
#include "sqlite_power.h"

#include "base/bytes.h"
#include "test_seed.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX    8
#define SECTOR_BYTES 512

/* One change since the last sync, in order. */
struct change {
    bool truncate;
    sqlite3_int64 at; /* or the new size */
    struct text data;
};

struct disk_file {
    char path[512];
    struct text synced; /* what survives for certain */
    bool named;         /* its name is on the disk: its folder was synced since it was made */
    bool made;          /* since then, and not deleted */
    bool deleted;       /* since then */
    bool fresh;         /* a log never synced: SQLite syncs the folder with its first sync */
    struct change *changes;
    size_t count, room;
};

struct power_file {
    sqlite3_file base;
    struct disk_file *disk;
    sqlite3_file *real; /* lies behind this struct */
};

static sqlite3_vfs *real_vfs, power_vfs;
static struct disk_file files[FILES_MAX];
static size_t file_count;
static long steps, gone_at;

static bool power_fails(void)
{
    steps++;
    return gone_at != 0 && steps >= gone_at;
}

void sqlite_power_on(long after)
{
    steps = 0;
    gone_at = after;
}

bool sqlite_power_is_off(void)
{
    return gone_at != 0 && steps >= gone_at;
}

long sqlite_power_steps(void)
{
    return steps;
}

static void forget_changes(struct disk_file *disk)
{
    for (size_t i = 0; i < disk->count; i++)
        text_free(&disk->changes[i].data);
    disk->count = 0;
}

/* Its deletion is on the disk. */
static void bury(struct disk_file *disk)
{
    disk->named = disk->made = disk->deleted = false;
    text_clear(&disk->synced);
    forget_changes(disk);
}

static void read_whole(const char *path, struct text *out)
{
    int fd = open(path, O_RDONLY);
    text_clear(out);
    for (ssize_t got = 1; fd >= 0 && got > 0;) {
        got = read(fd, text_reserve(out, 65536), 65536);
        out->len += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
}

static struct disk_file *find_file(const char *path)
{
    for (size_t i = 0; i < file_count; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    if (file_count == FILES_MAX)
        abort();
    struct disk_file *disk = &files[file_count++];
    *disk = (struct disk_file){0};
    snprintf(disk->path, sizeof disk->path, "%s", path);
    disk->named = access(path, F_OK) == 0;
    read_whole(path, &disk->synced);
    return disk;
}

static void note(struct disk_file *disk, bool truncate, sqlite3_int64 at, const void *data,
                 size_t size)
{
    if (disk->count == disk->room) {
        disk->room = disk->room == 0 ? 64 : disk->room * 2;
        disk->changes = memory_resize(disk->changes, disk->room * sizeof(struct change));
    }
    struct change *change = &disk->changes[disk->count++];
    *change = (struct change){.truncate = truncate, .at = at};
    if (size > 0)
        text_append(&change->data, data, size);
}

/* ---- the file layer --------------------------------------------------------------------------*/

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct power_file *)file)->real;
}

static struct disk_file *disk_of(sqlite3_file *file)
{
    return ((struct power_file *)file)->disk;
}

static int power_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int power_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    if (sqlite_power_is_off())
        return SQLITE_IOERR_READ;
    return real_of(file)->pMethods->xRead(real_of(file), data, size, at);
}

static int power_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    bool was_off = sqlite_power_is_off(), fails = power_fails();
    if (!was_off) /* the write under way when it goes may arrive in part */
        note(disk_of(file), false, at, data, (size_t)size);
    return fails ? SQLITE_IOERR_WRITE
                 : real_of(file)->pMethods->xWrite(real_of(file), data, size, at);
}

static int power_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    bool was_off = sqlite_power_is_off(), fails = power_fails();
    if (!was_off)
        note(disk_of(file), true, size, NULL, 0);
    return fails ? SQLITE_IOERR_TRUNCATE : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

/* All files lie in one folder. */
static void sync_folder(void)
{
    for (size_t i = 0; i < file_count; i++) {
        if (files[i].deleted)
            bury(&files[i]);
        files[i].named |= files[i].made;
        files[i].made = false;
    }
}

/* The bytes; the name of a file is its folder's. */
static int power_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    struct disk_file *disk = disk_of(file);
    if (power_fails())
        return SQLITE_IOERR_FSYNC;
    read_whole(disk->path, &disk->synced);
    forget_changes(disk);
    if (disk->fresh)
        sync_folder();
    disk->fresh = false;
    return SQLITE_OK;
}

static int power_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int power_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int power_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int power_check_reserved(sqlite3_file *file, int *taken)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), taken);
}

static int power_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int power_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int power_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int power_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int power_shm_lock(sqlite3_file *file, int at, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), at, count, flags);
}

static void power_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int power_shm_unmap(sqlite3_file *file, int forget)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), forget);
}

static const sqlite3_io_methods power_methods = {
    .iVersion = 2,
    .xClose = power_close,
    .xRead = power_read,
    .xWrite = power_write,
    .xTruncate = power_truncate,
    .xSync = power_sync,
    .xFileSize = power_file_size,
    .xLock = power_lock,
    .xUnlock = power_unlock,
    .xCheckReservedLock = power_check_reserved,
    .xFileControl = power_control,
    .xSectorSize = power_sector_size,
    .xDeviceCharacteristics = power_device,
    .xShmMap = power_shm_map,
    .xShmLock = power_shm_lock,
    .xShmBarrier = power_shm_barrier,
    .xShmUnmap = power_shm_unmap,
};

static int power_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *got)
{
    (void)vfs;
    struct power_file *file = (struct power_file *)base;
    file->base.pMethods = NULL;
    if (sqlite_power_is_off())
        return SQLITE_CANTOPEN;
    file->real = (sqlite3_file *)(file + 1);
    if (path == NULL) /* a temporary file: no power cut leaves it behind */
        return real_vfs->xOpen(real_vfs, path, base, flags, got);
    file->disk = find_file(path);
    if (file->disk->deleted) /* a new file of that name: the old one stays away */
        bury(file->disk);
    file->disk->fresh = !file->disk->named && (flags & SQLITE_OPEN_MAIN_DB) == 0;
    int code = real_vfs->xOpen(real_vfs, path, file->real, flags, got);
    if (code == SQLITE_OK) {
        file->base.pMethods = &power_methods;
        file->disk->made = !file->disk->named;
    }
    return code;
}

static int power_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    if (power_fails())
        return SQLITE_IOERR_DELETE;
    struct disk_file *disk = find_file(path);
    disk->deleted = true;
    if (sync_folder)
        bury(disk);
    return real_vfs->xDelete(real_vfs, path, sync_folder);
}

void sqlite_power_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    power_vfs = *real_vfs;
    power_vfs.zName = "power";
    power_vfs.szOsFile = (int)sizeof(struct power_file) + real_vfs->szOsFile;
    power_vfs.xOpen = power_open;
    power_vfs.xDelete = power_delete;
    if (sqlite3_vfs_register(&power_vfs, 1) != SQLITE_OK)
        abort();
}

/* ---- after the cut ---------------------------------------------------------------------------*/

static void put_bytes(struct text *content, size_t at, const char *data, size_t size)
{
    if (at + size > content->len) {
        size_t more = at + size - content->len;
        memset(text_reserve(content, more), 0, more);
        content->len += more;
    }
    memcpy(content->data + at, data, size);
}

/* Some sectors of a write arrive, some do not, some are noise. */
static void tear(struct text *content, const struct change *change, struct seeded *chance)
{
    for (size_t from = 0; from < change->data.len;) {
        size_t left = change->data.len - from;
        size_t size = left < SECTOR_BYTES ? left : SECTOR_BYTES;
        uint64_t fate = seeded_below(chance, 4);
        char noise[SECTOR_BYTES];
        for (size_t i = 0; i < size; i++)
            noise[i] = (char)seeded_next(chance);
        if (fate < 3)
            put_bytes(content, (size_t)change->at + from,
                      fate == 0 ? noise : change->data.data + from, size);
        from += size;
    }
}

static void apply(struct text *content, const struct change *change)
{
    if (!change->truncate)
        put_bytes(content, (size_t)change->at, change->data.data, change->data.len);
    else if ((size_t)change->at < content->len)
        content->len = (size_t)change->at;
}

/* What arrived of the changes: a prefix with its last one torn, or any subset, torn or not. */
static void replay(struct disk_file *disk, struct seeded *chance, struct power_toll *toll)
{
    bool in_order = seeded_below(chance, 2) == 0;
    size_t prefix = (size_t)seeded_below(chance, disk->count + 1);
    for (size_t i = 0; i < disk->count; i++) {
        const struct change *change = &disk->changes[i];
        bool arrives = in_order ? i < prefix : seeded_below(chance, 2) == 0;
        bool torn = in_order ? i + 1 == prefix : seeded_below(chance, 4) == 0;
        if (!arrives) {
            toll->writes_lost++;
        } else if (torn && !change->truncate) {
            toll->writes_torn++;
            tear(&disk->synced, change, chance);
        } else {
            toll->writes_kept++;
            apply(&disk->synced, change);
        }
    }
}

static void write_whole(const struct disk_file *disk)
{
    int fd = open(disk->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    size_t len = disk->synced.len;
    if (fd < 0 || (len > 0 && write(fd, disk->synced.data, len) != (ssize_t)len))
        abort();
    close(fd);
}

void sqlite_power_settle(struct seeded *chance, struct power_toll *toll)
{
    for (size_t i = 0; i < file_count; i++) {
        struct disk_file *disk = &files[i];
        bool luck = seeded_below(chance, 2) == 0;
        bool there = disk->deleted || !disk->named ? luck && (disk->named || disk->made) : true;
        toll->deletes_undone += disk->deleted && there;
        toll->names_lost += disk->made && !there;
        if (there) {
            replay(disk, chance, toll);
            write_whole(disk);
        } else {
            unlink(disk->path);
        }
        forget_changes(disk);
        free(disk->changes);
        text_free(&disk->synced);
    }
    file_count = 0;
}
