/* SPDX-License-Identifier: Apache-2.0
 *
 * account_lookup.h - the accounts behind many handles, asked of the AppViews.
 *
 * Blocks until all are known or it is clear that they cannot be had; 25 go with one question.
 *
 * Owner: a command. */
#ifndef CLI_ACCOUNT_LOOKUP_H
#define CLI_ACCOUNT_LOOKUP_H

#include "base/bytes.h"
#include "config.h"

struct account_name {
    char *handle;       /* or a DID, until it is known */
    char *did;          /* NULL: not known */
    char *display_name; /* NULL: none */
};

/* So many of them were looked at; called before each question and at the end. */
typedef void account_told_fn(void *arg, size_t done, size_t count);

/* Fills in those whose DID is not known; RC_OK also when nobody has some of the handles. */
must_check enum rc account_lookup(const struct config *config, struct account_name *names,
                                  size_t count, account_told_fn *told, void *arg, struct err *err);

#endif
