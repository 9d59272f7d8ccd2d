/* SPDX-License-Identifier: Apache-2.0
 *
 * things.h - a store with a table of things to page through.
 *
 * Things have a number, a whole number that is never NULL, and a text and a real that may be. */
#ifndef TESTS_THINGS_H
#define TESTS_THINGS_H

#include "both_stores.h"
#include "query/collection.h"
#include "store/store.h"

extern const struct collection things;

/* Makes a store of the kind that is being tested and opens it for writing. */
must_check enum rc things_open(struct fixture *fixture, struct store **store, struct err *err);

#endif
