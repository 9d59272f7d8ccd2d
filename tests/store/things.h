/* SPDX-License-Identifier: Apache-2.0
 *
 * things.h - a store with a table of things to page through.
 *
 * Things have a number, a whole number that is never NULL, and a text and a real that may be. */
#ifndef TESTS_THINGS_H
#define TESTS_THINGS_H

#include "base/json.h"
#include "both_stores.h"
#include "query/collection.h"
#include "store/store.h"

/* On a bench, where what went wrong is told in `err` and `refusal`. */
#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s / %s", rc_name(got_), bench->err.text, bench->refusal.err.text);      \
    } while (0)

extern const struct collection things;

/* Makes a store of the kind that is being tested and opens it for writing. */
must_check enum rc things_open(struct fixture *fixture, struct store **store, struct err *err);
/* The ids of the items of a page, and how many there are. */
size_t things_read_ids(struct json_doc *doc, const struct text *items, int64_t *ids);

#endif
