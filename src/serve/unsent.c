/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/unsent.h"

#include "sys/thread.h"

#include <assert.h>

void unsent_init(struct unsent *unsent, size_t max)
{
    *unsent = (struct unsent){.max = max, .over = latest_new(sizeof(bool))};
}

void unsent_deinit(struct unsent *unsent)
{
    assert(unsent->bytes == 0);
    latest_free(unsent->over);
}

bool unsent_is_over(const struct unsent *unsent)
{
    return unsent->bytes > unsent->max;
}

bool unsent_was_over(const struct unsent *unsent)
{
    bool over;
    latest_get(unsent->over, &over);
    return over;
}

void unsent_note(struct unsent *unsent, size_t *mine, size_t now)
{
    bool before = unsent_is_over(unsent), after;
    assert(unsent->bytes >= *mine);
    unsent->bytes = unsent->bytes - *mine + now;
    *mine = now;
    after = unsent_is_over(unsent);
    if (after != before)
        latest_put(unsent->over, &after);
}
