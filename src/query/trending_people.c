/* SPDX-License-Identifier: Apache-2.0 */
#include "query/trending_people.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HANDLE_MAX 253

struct finding {
    int64_t actor;
};

static bool take_actor(void *arg, const struct field *columns, size_t count)
{
    struct finding *finding = arg;
    assert(count == 1);
    finding->actor = columns[0].i;
    return false;
}

enum rc people_find(struct store *store, struct bytes name, int64_t *actor, struct err *err)
{
    struct finding finding = {0};
    char handle[HANDLE_MAX];
    bool did = name.len > 4 && memcmp(name.data, "did:", 4) == 0;
    if (!did && name.len <= sizeof handle) { /* people write them as they like */
        for (size_t i = 0; i < name.len; i++)
            handle[i] = (char)tolower((unsigned char)name.data[i]);
        name.data = handle;
    }
    struct field param = field_text(name);
    enum rc rc = store_query(store,
                             did ? "SELECT id FROM actors WHERE did = ?1"
                                 : "SELECT id FROM actors WHERE handle = ?1",
                             &param, 1, take_actor, &finding, err);
    *actor = finding.actor;
    return rc;
}

/* Mostly every account's shares have followed its standing, and a share says it all. */
static enum rc append_there(struct people *people, struct store *store, struct err *err)
{
    struct finding changed = {0};
    enum rc rc = store_query(store, "SELECT actor FROM standing LIMIT 1", NULL, 0, take_actor,
                             &changed, err);
    text_append_string(&people->counts, changed.actor != 0 ? PEOPLE_ARE_THERE : "s.counted = 1");
    return rc;
}

static enum rc append_muted(struct people *people, struct store *store,
                            const struct config_list *muted, struct err *err)
{
    for (size_t i = 0; i < muted->count; i++) {
        int64_t actor;
        enum rc rc = people_find(store, bytes_of(muted->items[i]), &actor, err);
        if (rc != RC_OK)
            return rc;
        if (actor != 0)
            text_appendf(&people->counts, " AND s.actor <> %" PRId64, actor);
    }
    return RC_OK;
}

/* "ACTOR=PERCENT", as the configuration has checked. */
static enum rc take_weight(struct people *people, struct store *store, const char *entry,
                           struct err *err)
{
    const char *equals = strrchr(entry, '=');
    int64_t percent = 100, actor;
    assert(equals != NULL);
    bool number = bytes_to_i64(bytes_of(equals + 1), &percent);
    assert(number);
    enum rc rc = people_find(store, bytes_make(entry, (size_t)(equals - entry)), &actor, err);
    if (rc != RC_OK || actor == 0)
        return rc;
    struct person *person = &people->persons[people->person_count++];
    *person = (struct person){actor, (double)percent / 100};
    if (person->weight > people->weight_max)
        people->weight_max = person->weight;
    return RC_OK;
}

static void append_weighted(struct people *people)
{
    text_appendf(&people->plain, "%s", text_string(&people->counts));
    if (people->person_count == 0)
        return;
    text_appendf(&people->weighted, "%s AND s.actor IN (", text_string(&people->counts));
    text_append_string(&people->plain, " AND s.actor NOT IN (");
    for (size_t i = 0; i < people->person_count; i++) {
        const char *comma = i > 0 ? ", " : "";
        text_appendf(&people->weighted, "%s%" PRId64, comma, people->persons[i].actor);
        text_appendf(&people->plain, "%s%" PRId64, comma, people->persons[i].actor);
    }
    text_append_char(&people->weighted, ')');
    text_append_char(&people->plain, ')');
}

enum rc people_init(struct people *people, struct store *store, const struct config *config,
                    int64_t degree, struct err *err)
{
    const struct config_list *weights = &config->news.weights;
    assert(weights->count <= PEOPLE_WEIGHTS_MAX);
    *people = (struct people){.weight_max = 1};
    people->persons = memory_new_zeroed(weights->count + 1, sizeof *people->persons);
    enum rc rc = append_there(people, store, err);
    if (config->bluesky.actors.count > 0)
        text_appendf(&people->counts,
                     " AND s.actor IN (SELECT a.id FROM circle c CROSS JOIN actors a "
                     "WHERE a.did = c.did AND c.degree <= %" PRId64 ")",
                     degree);
    if (rc == RC_OK)
        rc = append_muted(people, store, &config->news.mute_accounts, err);
    for (size_t i = 0; i < weights->count && rc == RC_OK; i++)
        rc = take_weight(people, store, weights->items[i], err);
    append_weighted(people);
    return rc;
}

void people_deinit(struct people *people)
{
    text_free(&people->counts);
    text_free(&people->plain);
    text_free(&people->weighted);
    free(people->persons);
}

double people_weight(const struct people *people, int64_t actor)
{
    for (size_t i = 0; i < people->person_count; i++)
        if (people->persons[i].actor == actor)
            return people->persons[i].weight;
    return 1;
}
