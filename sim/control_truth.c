/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/query_string.h"
#include "sim/sim.h"
#include "sim/truth_link.h"
#include "sim/truth_people.h"

#include <stdlib.h>
#include <string.h>

#define SOURCES_MIN 2

/* Sets the flags of accounts that a comma-separated list names. */
static void flag_dids(const struct world *world, struct bytes list, bool *accounts)
{
    while (list.len > 0) {
        const char *comma = memchr(list.data, ',', list.len);
        size_t len = comma == NULL ? list.len : (size_t)(comma - list.data);
        uint32_t account = world_find_did(world, bytes_make(list.data, len));
        if (account != WORLD_NONE)
            accounts[account] = true;
        size_t step = comma == NULL ? len : len + 1;
        list = bytes_make(list.data + step, list.len - step);
    }
}

/* Reads `dids` (comma-separated, may be repeated) into one flag per account; NULL without any. */
static bool *read_dids(const struct world *world, struct bytes query)
{
    bool *accounts = NULL;
    struct query_walk walk = query_walk(query);
    while (query_walk_next(&walk)) {
        if (!bytes_equal_string(walk.name, "dids"))
            continue;
        if (accounts == NULL)
            accounts = memory_new_zeroed(world_settings(world)->accounts, sizeof *accounts);
        flag_dids(world, walk.value, accounts);
    }
    query_walk_deinit(&walk);
    return accounts;
}

/* The account that `actor` names, or account 0. */
static uint32_t read_actor(const struct world *world, struct bytes query, bool *named)
{
    char did[64];
    *named = query_get(query, "actor", did, sizeof did);
    return *named ? world_find_did(world, bytes_of(did)) : 0;
}

static bool *read_scope(const struct world *world, struct bytes query)
{
    bool named;
    uint32_t actor = read_actor(world, query, &named);
    if (actor != WORLD_NONE && (named || query_get_u64(query, "follows", 0) == 1))
        return world_follows(world, actor);
    return read_dids(world, query);
}

static truth_link_fn *find_link_answer(const char *what)
{
    if (strcmp(what, "links") == 0)
        return truth_links_write;
    if (strcmp(what, "post_links") == 0)
        return truth_post_links_write;
    if (strcmp(what, "shares") == 0)
        return truth_shares_write;
    return strcmp(what, "trending") == 0 ? truth_trending_write : NULL;
}

/* Trending counts people of a degree in the light of the whole world. */
static bool *read_people(const struct world *world, struct bytes query)
{
    bool named;
    uint32_t actor = read_actor(world, query, &named);
    unsigned degree = (unsigned)query_get_u64(query, "degree", 0);
    if (degree == 0 || actor == WORLD_NONE)
        return NULL;
    return truth_network(world, actor, degree,
                         (unsigned)query_get_u64(query, "min_sources", SOURCES_MIN));
}

static void answer_links(const struct world *world, truth_link_fn *answer, struct bytes query,
                         const struct truth_scope *scope, struct text *body)
{
    uint64_t depth = query_get_u64(query, "depth", 1);
    bool *people = read_people(world, query);
    struct truth_link_question question = {
        .scope = {.accounts = scope->accounts == NULL ? people : scope->accounts,
                  .summary_only = scope->summary_only,
                  .from_us = scope->from_us},
        .depth = depth > TRUTH_DEPTH_MAX ? TRUTH_DEPTH_MAX : (unsigned)depth,
        .merged = query_get_u64(query, "merged", 0) == 1,
        .people = people,
        .since_us = (int64_t)query_get_u64(query, "since_us", 0),
        .until_us = (int64_t)query_get_u64(query, "until_us", INT64_MAX),
        .limit = query_get_u64(query, "limit", UINT64_MAX),
    };
    answer(world, &question, body);
    free(people);
}

void control_truth(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct bytes query = http_exchange_request(exchange)->query;
    char what[32] = "posts";
    struct text body = {0};
    bool named;
    uint32_t actor = read_actor(sim->world, query, &named);
    query_get(query, "what", what, sizeof what);
    bool *accounts = read_scope(sim->world, query);
    struct truth_scope scope = {.accounts = accounts,
                                .summary_only = query_get_u64(query, "summary", 0) == 1,
                                .from_us = (int64_t)query_get_u64(query, "from_us", 0)};
    truth_link_fn *answer = find_link_answer(what);
    if (actor == WORLD_NONE)
        http_reply_text(exchange, 400, "nobody has this DID\n");
    else if (strcmp(what, "posts") == 0)
        truth_write(sim->world, &scope, &body);
    else if (strcmp(what, "follows") == 0)
        truth_follows_write(sim->world, actor, &body);
    else if (strcmp(what, "profiles") == 0)
        truth_profiles_write(sim->world, accounts, &body);
    else if (answer != NULL)
        answer_links(sim->world, answer, query, &scope, &body);
    else
        http_reply_text(exchange, 400, "there is no truth of that name\n");
    if (body.len > 0)
        http_reply(exchange, 200, "application/x-ndjson", NULL, text_bytes(&body));
    text_free(&body);
    free(accounts);
}
