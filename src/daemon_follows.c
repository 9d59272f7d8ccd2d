/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_follows.h"

#include "source/jetstream.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>

#define PAGE_ROWS 10000 /* as page_sql says: no reading may be long */
#define RETRY_US  INT64_C(10000000)

/* The table of follows may hold more than the lists gave, before the first of them stands. */
static const char all_sql[] = "SELECT did FROM circle UNION SELECT did FROM follows";
static const char page_sql[] =
    "SELECT did FROM (SELECT did FROM (SELECT did FROM circle WHERE did > ?1 ORDER BY did "
    "LIMIT 10000) c UNION SELECT did FROM (SELECT did FROM follows WHERE did > ?1 ORDER BY did "
    "LIMIT 10000) f) page ORDER BY did LIMIT 10000";

static bool take_did(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1);
    if (!columns[0].null && columns[0].b.len > 0)
        id_set_add(arg, columns[0].b);
    return true;
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

/* `read` takes the place of what is known. */
static void change(struct follows *follows, const struct id_set *read)
{
    struct text memory[2] = {{0}, {0}};
    struct bytes *added = NULL, *removed = NULL;
    size_t more = find_more(read, &follows->known, &memory[0], &added);
    size_t less = find_more(&follows->known, read, &memory[1], &removed);
    if (follows->source != NULL)
        jetstream_change_follows(follows->source, added, more, removed, less);
    log_event(more + less > 0 ? LOG_INFO : LOG_DEBUG, "follows", "read",
              (struct log_field[]){log_int("added", (int64_t)more),
                                   log_int("removed", (int64_t)less),
                                   log_int("count", (int64_t)id_set_count(read)), LOG_END});
    id_set_deinit(&follows->known);
    follows->known = *read;
    free(added);
    free(removed);
    text_free(&memory[0]);
    text_free(&memory[1]);
}

static void retry(void *arg)
{
    follows_refresh(arg);
}

static void give_up(struct follows *follows, const char *reason)
{
    struct runtime *runtime = follows->env->runtime;
    log_event_limited(LOG_WARN, "follows", "not_read",
                      (struct log_field[]){log_string("reason", reason), LOG_END});
    id_set_deinit(&follows->reading);
    follows->asking = false;
    follows->waiting = true;
    runtime->ops->timer_arm(runtime, &follows->retry, RETRY_US);
}

static void on_answer(void *arg, const struct lookup_answer *answer);

static void ask_page(struct follows *follows)
{
    const struct source_env *env = follows->env;
    struct field behind = field_text(bytes_of(text_string(&follows->last)));
    struct lookup_question question = {.sql = page_sql, .params = &behind, .param_count = 1};
    if (env->ask_steadily(env->ask_arg, &question, on_answer, follows) != RC_OK)
        give_up(follows, "too many questions wait for the store");
}

static void on_answer(void *arg, const struct lookup_answer *answer)
{
    struct follows *follows = arg;
    if (answer->rc != RC_OK) {
        give_up(follows, answer->err.text);
        return;
    }
    for (size_t i = 0; i < answer->rows; i++)
        (void)take_did(&follows->reading, &answer->fields[i], 1);
    if (answer->rows == PAGE_ROWS) {
        struct bytes last = answer->fields[answer->rows - 1].b;
        text_clear(&follows->last);
        text_append(&follows->last, last.data, last.len);
        ask_page(follows);
        return;
    }
    follows->asking = false;
    change(follows, &follows->reading);
    if (follows->again)
        follows_refresh(follows);
}

void follows_init(struct follows *follows, const struct source_env *env, uint64_t seed)
{
    *follows = (struct follows){.env = env, .retry = {.fn = retry, .arg = follows}};
    id_set_init(&follows->known, seed);
}

void follows_deinit(struct follows *follows)
{
    struct runtime *runtime = follows->env->runtime;
    assert(!follows->asking);
    runtime->ops->timer_disarm(runtime, &follows->retry);
    id_set_deinit(&follows->known);
    text_free(&follows->last);
}

enum rc follows_load(struct follows *follows, struct store *store, struct err *err)
{
    return store_query(store, all_sql, NULL, 0, take_did, &follows->known, err);
}

void follows_tell(struct follows *follows, struct source *source)
{
    struct text memory = {0};
    struct bytes *all;
    struct id_set none;
    id_set_init(&none, 0);
    follows->source = source;
    size_t count = find_more(&follows->known, &none, &memory, &all);
    jetstream_change_follows(source, all, count, NULL, 0);
    free(all);
    text_free(&memory);
}

void follows_refresh(struct follows *follows)
{
    struct runtime *runtime = follows->env->runtime;
    if (follows->source == NULL)
        return;
    follows->again = follows->asking;
    if (follows->asking)
        return;
    runtime->ops->timer_disarm(runtime, &follows->retry);
    follows->waiting = false;
    follows->asking = true;
    id_set_init(&follows->reading, follows->known.seed);
    text_clear(&follows->last);
    ask_page(follows);
}

void follows_expect(struct follows *follows, struct bytes did)
{
    if (!follows->asking && !follows->waiting && !id_set_contains(&follows->known, did))
        follows_refresh(follows);
}
