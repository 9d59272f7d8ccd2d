/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/truth_people.h"
#include "sim/event_json.h"

#include <stdlib.h>
#include <string.h>

struct person {
    const char *did; /* first, for the comparison */
    uint32_t account;
};

static int compare_people(const void *left, const void *right)
{
    const struct person *a = left, *b = right;
    return strcmp(a->did, b->did);
}

/* The accounts whose flag is set (NULL: all), in the order of their DIDs. */
static struct person *list_people(const struct world *world, const bool *accounts, size_t *count)
{
    uint32_t all = world_settings(world)->accounts;
    struct person *people = memory_new(sizeof *people * all);
    size_t found = 0;
    for (uint32_t i = 0; i < all; i++)
        if (accounts == NULL || accounts[i])
            people[found++] = (struct person){world_account(world, i)->did, i};
    qsort(people, found, sizeof *people, compare_people);
    *count = found;
    return people;
}

static void put_names(const struct world *world, uint32_t account, struct text *out)
{
    const struct world_account *who = world_account(world, account);
    char handle[NAME_SIZE], name[NAME_SIZE];
    world_handle(world, account, who->renamed, handle);
    world_display_name(world, account, who->profiled, name);
    text_appendf(out, "{\"did\":\"%s\",\"handle\":\"%s\",\"displayName\":", who->did, handle);
    event_json_string(out, bytes_of(name));
}

void truth_follows_write(const struct world *world, uint32_t account, struct text *out)
{
    bool *follows = world_follows(world, account);
    size_t count;
    for (uint32_t i = 0; i < world_settings(world)->accounts; i++)
        follows[i] = follows[i] && world_account(world, i)->status == ACCOUNT_ACTIVE;
    struct person *people = list_people(world, follows, &count);
    text_appendf(out, "{\"follows\":%zu}\n", count);
    for (size_t i = 0; i < count; i++) {
        put_names(world, people[i].account, out);
        text_append_string(out, "}\n");
    }
    free(people);
    free(follows);
}

void truth_profiles_write(const struct world *world, const bool *accounts, struct text *out)
{
    size_t count;
    struct person *people = list_people(world, accounts, &count);
    text_appendf(out, "{\"profiles\":%zu}\n", count);
    for (size_t i = 0; i < count; i++) {
        const struct world_account *who = world_account(world, people[i].account);
        char avatar[AVATAR_SIZE];
        world_avatar(world, people[i].account, who->profiled, avatar);
        put_names(world, people[i].account, out);
        text_appendf(out, ",\"avatar\":\"%s\",\"active\":%s,\"status\":\"%s\",\"followed\":%s}\n",
                     avatar, who->status == ACCOUNT_ACTIVE ? "true" : "false",
                     world_status_name(who->status), who->followed ? "true" : "false");
    }
    free(people);
}

bool *truth_network(const struct world *world, uint32_t account, unsigned degree,
                    unsigned min_sources)
{
    uint32_t all = world_settings(world)->accounts;
    bool *network = world_follows(world, account);
    if (degree < 2)
        return network;
    uint32_t *sources = memory_new_zeroed(all, sizeof *sources);
    for (uint32_t i = 0; i < all; i++) {
        if (!network[i] || world_account(world, i)->status != ACCOUNT_ACTIVE)
            continue;
        bool *follows = world_follows(world, i);
        for (uint32_t j = 0; j < all; j++)
            sources[j] += follows[j];
        free(follows);
    }
    for (uint32_t i = 0; i < all; i++)
        network[i] = network[i] || (i != account && sources[i] >= min_sources);
    free(sources);
    return network;
}
