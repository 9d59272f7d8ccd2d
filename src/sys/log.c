/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/log.h"

#include "sys/log_line.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMITS_MAX      64
#define ROTATE_PATH_MAX 4096

/* One repeated event. */
struct limit {
    const char *component, *event_type; /* NULL: free */
    enum log_level level;
    int64_t since_us;
    uint64_t suppressed;
};

static struct {
    pthread_mutex_t lock;
    int fd;
    char *path; /* NULL: a stream that is not ours to close */
    uint64_t size;
    bool torn; /* the last write stopped in the middle of its line */
    enum log_format format;
    uint64_t rotate_bytes;
    unsigned rotate_count;
    clock_fn *clock;
    void *clock_arg;
    struct limit limits[LIMITS_MAX];
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO, .clock = clock_wall};

static atomic_int level_least = LOG_INFO;
static atomic_uint_least64_t lost;

static void lock(void)
{
    int failed = pthread_mutex_lock(&sink.lock);
    assert(failed == 0);
    (void)failed;
}

static void unlock(void)
{
    int failed = pthread_mutex_unlock(&sink.lock);
    assert(failed == 0);
    (void)failed;
}

/* ---- the file; all of this under the lock ---- */

static int open_file(const char *path, uint64_t *size)
{
    struct stat about;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd >= 0)
        *size = fstat(fd, &about) == 0 && about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return fd;
}

/* Each step is one rename, the oldest file first: a crash between two of them loses no line. When
 * no new file can be had, the old one goes on growing. */
static void rotate(void)
{
    char from[ROTATE_PATH_MAX], to[ROTATE_PATH_MAX];
    for (unsigned n = sink.rotate_count; n > 0; n--) {
        snprintf(to, sizeof to, "%s.%u", sink.path, n);
        if (n == 1)
            snprintf(from, sizeof from, "%s", sink.path);
        else
            snprintf(from, sizeof from, "%s.%u", sink.path, n - 1);
        if (rename(from, to) != 0 && errno != ENOENT)
            return;
    }
    uint64_t size;
    int fd = open_file(sink.path, &size);
    if (fd < 0)
        return;
    close(sink.fd);
    sink.fd = fd;
    sink.size = size;
    sink.torn = false;
}

static ssize_t write_once(const char *data, size_t len)
{
    ssize_t done;
    do
        done = write(sink.fd, data, len);
    while (done < 0 && errno == EINTR);
    return done;
}

static void put(struct bytes line)
{
    if (sink.path != NULL && sink.rotate_bytes > 0 && sink.size > 0 &&
        sink.size + line.len > sink.rotate_bytes)
        rotate();
    if (sink.torn)
        sink.torn = write_once("\n", 1) != 1;
    ssize_t done = write_once(line.data, line.len);
    if (done > 0)
        sink.size += (uint64_t)done;
    if (done != (ssize_t)line.len) {
        sink.torn = sink.torn || done > 0;
        atomic_fetch_add(&lost, 1);
    }
}

/* ---- counting what repeats; under the lock ---- */

static bool expired(const struct limit *limit, int64_t now_us)
{
    /* A clock that went back ends the period too: better a line too many than silence. */
    return now_us < limit->since_us || now_us - limit->since_us >= LOG_LIMIT_US;
}

static void put_suppressed(struct limit *limit, int64_t now_us)
{
    struct text out = {0};
    struct log_line line = {.level = limit->level,
                            .wall_us = now_us,
                            .component = limit->component,
                            .event_type = limit->event_type,
                            .suppressed = limit->suppressed};
    log_line_format(&line, sink.format, &out);
    put(text_bytes(&out));
    text_free(&out);
    limit->suppressed = 0;
}

static void flush(int64_t now_us, bool all)
{
    for (size_t i = 0; i < LIMITS_MAX; i++) {
        struct limit *limit = &sink.limits[i];
        if (limit->component == NULL || !(all || expired(limit, now_us)))
            continue;
        if (limit->suppressed > 0)
            put_suppressed(limit, now_us);
        *limit = (struct limit){0};
    }
}

/* True when the event may be written; false when it was counted. */
static bool admit(enum log_level level, const char *component, const char *event_type,
                  int64_t now_us, uint64_t *suppressed)
{
    struct limit *place = &sink.limits[0];
    for (size_t i = 0; i < LIMITS_MAX; i++) {
        struct limit *limit = &sink.limits[i];
        if (limit->component != NULL && strcmp(limit->component, component) == 0 &&
            strcmp(limit->event_type, event_type) == 0) {
            if (!expired(limit, now_us)) {
                limit->suppressed++;
                return false;
            }
            place = limit;
            break;
        }
        /* Otherwise a free place, or the one that has waited longest. */
        if (place->component != NULL &&
            (limit->component == NULL || limit->since_us < place->since_us))
            place = limit;
    }
    bool same = place->component != NULL && strcmp(place->component, component) == 0 &&
                strcmp(place->event_type, event_type) == 0;
    if (!same && place->suppressed > 0)
        put_suppressed(place, now_us);
    *suppressed = same ? place->suppressed : 0;
    *place = (struct limit){component, event_type, level, now_us, 0};
    return true;
}

/* ---- opening and closing ---- */

void log_claim_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static bool is_stream(const struct log_options *options, int *fd)
{
    const char *file = options->file == NULL ? "" : options->file;
    if (strcmp(file, "stdout") == 0 || (file[0] == 0 && options->format == LOG_FORMAT_JSON))
        *fd = STDOUT_FILENO;
    else if (strcmp(file, "stderr") == 0 || file[0] == 0)
        *fd = STDERR_FILENO;
    else
        return false;
    return true;
}

static void release(void)
{
    if (sink.path != NULL)
        close(sink.fd);
    free(sink.path);
    sink.path = NULL;
}

enum rc log_open(const struct log_options *options, struct err *err)
{
    int fd;
    uint64_t size = 0;
    bool stream = is_stream(options, &fd);
    if (!stream) {
        if (strlen(options->file) > ROTATE_PATH_MAX - 16)
            return err_set(err, RC_REJECT, "the name of the log file is too long");
        fd = open_file(options->file, &size);
        if (fd < 0)
            return err_set(err, RC_REJECT, "cannot open the log file %s: %s", options->file,
                           strerror(errno));
    }
    lock();
    release();
    sink.fd = fd;
    sink.path = stream ? NULL : memory_copy_string(options->file);
    sink.size = size;
    sink.torn = false;
    sink.format = options->format;
    sink.rotate_bytes = options->rotate_count > 0 ? options->rotate_bytes : 0;
    sink.rotate_count = options->rotate_count;
    sink.clock = options->clock == NULL ? clock_wall : options->clock;
    sink.clock_arg = options->clock_arg;
    unlock();
    atomic_store(&level_least, (int)options->level);
    return RC_OK;
}

void log_close(void)
{
    lock();
    flush(sink.clock(sink.clock_arg), true);
    release();
    sink.fd = STDERR_FILENO;
    sink.format = LOG_FORMAT_TEXT;
    sink.rotate_bytes = 0;
    sink.torn = false;
    sink.clock = clock_wall;
    sink.clock_arg = NULL;
    unlock();
    atomic_store(&level_least, LOG_INFO);
}

enum rc log_reopen(struct err *err)
{
    enum rc rc = RC_OK;
    lock();
    if (sink.path != NULL) {
        uint64_t size;
        int fd = open_file(sink.path, &size);
        if (fd < 0) {
            rc = err_set(err, RC_RETRY, "cannot open the log file %s: %s", sink.path,
                         strerror(errno));
        } else {
            close(sink.fd);
            sink.fd = fd;
            sink.size = size;
            sink.torn = false;
        }
    }
    unlock();
    return rc;
}

bool log_rotate_parse(struct bytes text, uint64_t *bytes, unsigned *count)
{
    const char *colon = text.len == 0 ? NULL : memchr(text.data, ':', text.len);
    if (colon == NULL || colon < text.data + 2)
        return false;
    size_t digits = (size_t)(colon - text.data) - 1;
    unsigned shift = colon[-1] == 'K' ? 10 : colon[-1] == 'M' ? 20 : colon[-1] == 'G' ? 30 : 0;
    uint64_t size, files;
    if (shift == 0 || !bytes_to_u64(bytes_make(text.data, digits), &size) || size < 1 ||
        size > 1023)
        return false;
    if (!bytes_to_u64(bytes_make(colon + 1, text.len - digits - 2), &files) || files < 1 ||
        files > 100)
        return false;
    *bytes = size << shift;
    *count = (unsigned)files;
    return true;
}

/* ---- saying something ---- */

bool log_wants(enum log_level level)
{
    return (int)level >= atomic_load(&level_least);
}

static void say(struct log_line *line, bool limited)
{
    struct text out = {0};
    if (!log_wants(line->level))
        return;
    lock();
    line->wall_us = sink.clock(sink.clock_arg);
    enum log_format format = sink.format;
    bool admitted = !limited || admit(line->level, line->component, line->event_type, line->wall_us,
                                      &line->suppressed);
    unlock();
    if (!admitted)
        return;
    log_line_format(line, format, &out);
    lock();
    put(text_bytes(&out));
    unlock();
    text_free(&out);
}

void log_event(enum log_level level, const char *component, const char *event_type,
               const struct log_field *fields)
{
    say(
        &(struct log_line){
            .level = level, .component = component, .event_type = event_type, .fields = fields},
        false);
}

void log_event_limited(enum log_level level, const char *component, const char *event_type,
                       const struct log_field *fields)
{
    say(
        &(struct log_line){
            .level = level, .component = component, .event_type = event_type, .fields = fields},
        true);
}

void log_tagged(enum log_level level, const char *component, const char *event_type,
                const char *tag, struct bytes words, const struct log_field *fields)
{
    say(&(struct log_line){.level = level,
                           .component = component,
                           .event_type = event_type,
                           .tag = tag,
                           .words = words,
                           .fields = fields},
        false);
}

void log_flush(void)
{
    lock();
    flush(sink.clock(sink.clock_arg), false);
    unlock();
}

uint64_t log_lost(void)
{
    return atomic_load(&lost);
}
