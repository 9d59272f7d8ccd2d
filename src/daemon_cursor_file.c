/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_cursor_file.h"

#include "sys/log.h"
#include "sys/small_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define CONTENT_MAX 64
#define SECOND_US   INT64_C(1000000)
#define CENTURY_US  INT64_C(1000000000000000) /* in 2001 */

static struct cursor_file *of(struct worker_job *job)
{
    return (struct cursor_file *)(void *)((char *)job - offsetof(struct cursor_file, job));
}

static void run(struct worker_job *job, unsigned thread)
{
    struct cursor_file *file = of(job);
    (void)thread;
    file->rc = small_file_write(file->path, text_bytes(&file->content), &file->err);
}

static void say(const struct cursor_file *file)
{
    if (file->rc != RC_OK)
        log_event_limited(LOG_WARN, "jetstream", "cursor_file_not_written",
                          (struct log_field[]){log_string("reason", file->err.text), LOG_END});
}

static void done(struct worker_job *job)
{
    struct cursor_file *file = of(job);
    file->writing = false;
    say(file);
}

enum rc cursor_file_init(struct cursor_file *file, const char *path, int64_t every_seconds,
                         struct worker_pool *workers, struct err *err)
{
    assert(path != NULL && every_seconds > 0);
    *file = (struct cursor_file){.path = path,
                                 .every_us = every_seconds * SECOND_US,
                                 .workers = workers,
                                 .job = {.run = run, .done = done}};
    if (*path == '\0')
        return RC_OK;
    enum rc rc = small_file_make_folders(path, SMALL_FILE_OPEN_FOLDER, err);
    return rc == RC_OK ? rc : err_wrap(err, rc, "jetstream.cursor_file");
}

static void ignore(const struct cursor_file *file, const char *reason)
{
    log_event(LOG_WARN, "jetstream", "cursor_file_ignored",
              (struct log_field[]){log_string("file", file->path), log_string("reason", reason),
                                   LOG_END});
}

int64_t cursor_file_read(const struct cursor_file *file)
{
    struct text content = {0};
    struct err err;
    uint64_t position = 0;
    if (*file->path != '\0' && small_file_read(file->path, CONTENT_MAX, &content, &err) == RC_OK) {
        struct bytes digits =
            bytes_make(text_string(&content), strcspn(text_string(&content), "\r\n "));
        if (!bytes_to_u64(digits, &position) || position > INT64_MAX) {
            position = 0;
            ignore(file, "it is no number");
        }
    }
    text_free(&content);
    return (int64_t)position;
}

int64_t cursor_file_begin(const struct cursor_file *file)
{
    int64_t position = cursor_file_read(file);
    if (position == 0 || position >= CENTURY_US)
        return position;
    ignore(file, "it is no time in microseconds");
    return 0;
}

void cursor_file_know(struct cursor_file *file, int64_t stored)
{
    if (stored > 0 && cursor_file_read(file) == stored)
        file->written = stored;
}

static bool is_worth_it(const struct cursor_file *file, int64_t committed)
{
    return *file->path != '\0' && committed > 0 && committed != file->written;
}

static void fill(struct cursor_file *file, int64_t committed)
{
    text_clear(&file->content);
    text_appendf(&file->content, "%" PRId64 "\n", committed);
    file->written = committed;
}

void cursor_file_look(struct cursor_file *file, int64_t committed, int64_t now_us)
{
    if (file->due_us == 0)
        file->due_us = now_us + file->every_us;
    if (now_us < file->due_us || file->writing)
        return;
    file->due_us = now_us + file->every_us;
    if (!is_worth_it(file, committed))
        return;
    fill(file, committed);
    file->writing = worker_submit(file->workers, &file->job) == RC_OK;
}

void cursor_file_forget(struct cursor_file *file)
{
    assert(!file->writing);
    if (file->written != 0 && cursor_file_read(file) == file->written) {
        file->rc = small_file_remove(file->path, &file->err);
        say(file);
    }
    file->written = 0;
}

void cursor_file_finish(struct cursor_file *file, int64_t committed)
{
    assert(!file->writing);
    if (is_worth_it(file, committed)) {
        fill(file, committed);
        file->rc = small_file_write(file->path, text_bytes(&file->content), &file->err);
        say(file);
    }
    text_free(&file->content);
}
