/* SPDX-License-Identifier: Apache-2.0 */
#include "query/collections.h"

#include "sys/thread.h"

#include <stdlib.h>

/* The declared collections at one time; never changed once it can be found. */
struct generation {
    struct generation *older;
    size_t count;
    const struct collection *declared[];
};

struct collections {
    struct latest *newest; /* of struct generation * */
};

struct collections *collections_new(void)
{
    struct collections *collections = memory_new_zeroed(1, sizeof *collections);
    collections->newest = latest_new(sizeof(struct generation *));
    return collections;
}

void collections_free(struct collections *collections)
{
    latest_free(collections->newest);
    free(collections);
}

const struct collection *collections_find(struct collections *collections, struct bytes name)
{
    struct generation *newest = NULL;
    if (collections != NULL)
        latest_get(collections->newest, &newest);
    for (size_t i = 0; newest != NULL && i < newest->count; i++)
        if (bytes_equal_string(name, newest->declared[i]->name))
            return newest->declared[i];
    return collection_find(name);
}
