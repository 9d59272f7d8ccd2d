/* SPDX-License-Identifier: Apache-2.0
 *
 * store_environment.h - a PostgreSQL store's address as the environment that the server's own
 * programs read: a password stands in no list of processes that way.
 *
 * Thread: any. */
#ifndef STORE_STORE_ENVIRONMENT_H
#define STORE_STORE_ENVIRONMENT_H

#include "base/err.h"

typedef void store_variable_fn(void *arg, const char *name, const char *value);

/* Tells every variable. RC_REJECT: `url` is none of theirs, or says what has no variable. */
must_check enum rc store_environment(const char *url, store_variable_fn *fn, void *arg,
                                     struct err *err);

#endif
