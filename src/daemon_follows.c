/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_follows.h"

#include "source/jetstream.h"
#include "sys/log.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct follows *of(struct worker_job *job)
{
    return (struct follows *)(void *)((char *)job - offsetof(struct follows, job));
}

static bool take_did(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1);
    if (!columns[0].null && columns[0].b.len > 0)
        id_set_add(arg, columns[0].b);
    return true;
}

static enum rc read_list(struct store *store, struct id_set *into, struct err *err)
{
    return store_query(store, "SELECT did FROM follows", NULL, 0, take_did, into, err);
}

static void run(struct worker_job *job, unsigned thread)
{
    struct follows *follows = of(job);
    struct store *store = NULL;
    (void)thread;
    follows->rc = store_open(follows->store_url, STORE_READ, &store, &follows->err);
    if (follows->rc == RC_OK)
        follows->rc = read_list(store, &follows->read, &follows->err);
    store_close(store);
}

/* Every id of `from` that is not in `than`, as runs of bytes into `memory`. */
static size_t find_more(const struct id_set *from, const struct id_set *than, struct text *memory,
                        struct bytes **out)
{
    struct bytes id;
    size_t count = 0, at = 0;
    struct id_set_walk walk = id_set_walk(from);
    *out = memory_new_zeroed(id_set_count(from) + 1, sizeof **out);
    while (id_set_walk_next(&walk, &id)) {
        if (id_set_contains(than, id))
            continue;
        text_append(memory, id.data, id.len);
        (*out)[count++].len = id.len;
    }
    for (size_t i = 0; i < count; at += (*out)[i++].len)
        (*out)[i].data = memory->data + at;
    return count;
}

static void done(struct worker_job *job)
{
    struct follows *follows = of(job);
    struct text memory[2] = {{0}, {0}};
    struct bytes *added = NULL, *removed = NULL;
    follows->reading = false;
    if (follows->rc != RC_OK) {
        log_event(LOG_WARN, "follows", "not_read",
                  (struct log_field[]){log_string("reason", follows->err.text), LOG_END});
        id_set_clear(&follows->read);
        return;
    }
    size_t more = find_more(&follows->read, &follows->known, &memory[0], &added);
    size_t less = find_more(&follows->known, &follows->read, &memory[1], &removed);
    jetstream_change_follows(follows->source, added, more, removed, less);
    log_event(
        LOG_INFO, "follows", "read",
        (struct log_field[]){log_int("added", (int64_t)more), log_int("removed", (int64_t)less),
                             log_int("count", (int64_t)id_set_count(&follows->read)), LOG_END});
    id_set_deinit(&follows->known);
    follows->known = follows->read;
    id_set_init(&follows->read, follows->known.seed);
    free(added);
    free(removed);
    text_free(&memory[0]);
    text_free(&memory[1]);
}

void follows_init(struct follows *follows, const char *store_url, uint64_t seed)
{
    *follows = (struct follows){.store_url = store_url, .job = {.run = run, .done = done}};
    id_set_init(&follows->known, seed);
    id_set_init(&follows->read, seed);
}

void follows_deinit(struct follows *follows)
{
    assert(!follows->reading);
    id_set_deinit(&follows->known);
    id_set_deinit(&follows->read);
}

enum rc follows_load(struct follows *follows, struct store *store, struct err *err)
{
    return read_list(store, &follows->known, err);
}

void follows_tell(struct follows *follows, struct source *source, struct worker_pool *workers)
{
    struct text memory = {0};
    struct bytes *all;
    follows->source = source;
    follows->workers = workers;
    size_t count = find_more(&follows->known, &follows->read, &memory, &all);
    jetstream_change_follows(source, all, count, NULL, 0);
    free(all);
    text_free(&memory);
}

void follows_refresh(struct follows *follows)
{
    if (!follows->reading && follows->source != NULL)
        follows->reading = worker_submit(follows->workers, &follows->job) == RC_OK;
}
