/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_account_wish.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

static char *copy_or_null(const char *text)
{
    return text == NULL ? NULL : memory_copy_string(text);
}

struct account_wish account_wish_make(const char *provider, const char *owed, int64_t since_us)
{
    return (struct account_wish){
        .provider = copy_or_null(provider), .owed = copy_or_null(owed), .since_us = since_us};
}

void account_wish_clear(struct account_wish *wish)
{
    free(wish->provider);
    free(wish->owed);
    *wish = (struct account_wish){.since_us = -1};
}

void account_wish_set(struct account_wish *wish, const struct account_wish *as)
{
    struct account_wish copy = account_wish_make(as->provider, as->owed, as->since_us);
    account_wish_clear(wish);
    *wish = copy;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool account_wish_agrees(const struct account_wish *a, const struct account_wish *b)
{
    bool owed = a->owed == NULL || b->owed == NULL || is_same(a->owed, b->owed);
    return owed && is_same(a->provider, b->provider) && a->since_us == b->since_us;
}
