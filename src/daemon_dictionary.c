/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_dictionary.h"

#include "sys/log.h"
#include "sys/small_file.h"

#include <assert.h>
#include <stddef.h>

#define DICTIONARY_MAX ((size_t)4 << 20)
#define KEPT_NAME      "jetstream.zdict"

static struct dictionary_files *of(struct worker_job *job)
{
    return (struct dictionary_files *)(void *)((char *)job -
                                               offsetof(struct dictionary_files, job));
}

static void run(struct worker_job *job, unsigned thread)
{
    struct dictionary_files *files = of(job);
    (void)thread;
    files->rc =
        small_file_write(text_string(&files->path), text_bytes(&files->content), &files->err);
}

static void done(struct worker_job *job)
{
    struct dictionary_files *files = of(job);
    files->writing = false;
    text_free(&files->content);
    if (files->rc != RC_OK)
        log_event(LOG_WARN, "jetstream", "dictionary_not_kept",
                  (struct log_field[]){log_string("reason", files->err.text), LOG_END});
}

void dictionary_files_init(struct dictionary_files *files, const char *configured,
                           struct bytes folder, struct worker_pool *workers)
{
    struct err err;
    *files = (struct dictionary_files){.workers = workers, .job = {.run = run, .done = done}};
    text_append(&files->path, folder.data, folder.len);
    text_append_string(&files->path, "/" KEPT_NAME);
    if (*configured != '\0' &&
        small_file_read(configured, DICTIONARY_MAX, &files->v1, &err) != RC_OK)
        log_event(LOG_WARN, "jetstream", "dictionary_unusable",
                  (struct log_field[]){log_string("which", "configured"),
                                       log_string("reason", err.text), LOG_END});
    if (small_file_exists(text_string(&files->path)) &&
        small_file_read(text_string(&files->path), DICTIONARY_MAX, &files->v2, &err) != RC_OK)
        log_event(LOG_WARN, "jetstream", "dictionary_unusable",
                  (struct log_field[]){log_string("which", "kept"), log_string("reason", err.text),
                                       LOG_END});
}

void dictionary_files_deinit(struct dictionary_files *files)
{
    assert(!files->writing);
    text_free(&files->v1);
    text_free(&files->v2);
    text_free(&files->path);
    text_free(&files->content);
}

void dictionary_files_keep(void *arg, struct bytes dictionary)
{
    struct dictionary_files *files = arg;
    if (files->writing)
        return; /* the one before is not down yet; this one can be fetched again */
    text_clear(&files->content);
    text_append(&files->content, dictionary.data, dictionary.len);
    files->writing = worker_submit(files->workers, &files->job) == RC_OK;
}
