/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_account_wish.h - what an import of an account is to do: whom to ask, since when, and what
 * to try again.
 *
 * Owner: the part that imports accounts.  Thread: that of the owner. */
#ifndef DAEMON_ACCOUNT_WISH_H
#define DAEMON_ACCOUNT_WISH_H

#include <stdbool.h>
#include <stdint.h>

struct account_wish {
    char *provider;   /* NULL: anybody is asked */
    char *owed;       /* an item for which it owes something, which is tried again; NULL: none */
    int64_t since_us; /* -1: everything */
};

/* Copies the words; account_wish_clear() is due. */
struct account_wish account_wish_make(const char *provider, const char *owed, int64_t since_us);
/* Nothing in particular: everything, from anybody. */
void account_wish_clear(struct account_wish *wish);
/* The same as another one. */
void account_wish_set(struct account_wish *wish, const struct account_wish *as);
/* One import can do both. */
bool account_wish_agrees(const struct account_wish *a, const struct account_wish *b);

#endif
