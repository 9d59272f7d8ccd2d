/* SPDX-License-Identifier: Apache-2.0
 *
 * verification.h - a store compared with its own rules.
 *
 * Each check has a name and counts what breaks it; a check is one statement, so that it sees one
 * moment even while somebody writes. A store too damaged to be asked fails the check that noticed.
 * Nothing is ever repaired here.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef STORE_VERIFICATION_H
#define STORE_VERIFICATION_H

#include "base/json_write.h"
#include "store/store.h"

#define VERIFICATION_CHECKS_MAX 32
#define VERIFICATION_FIRST_MAX  256

struct verification_check {
    const char *name;
    int64_t failures;
    char first[VERIFICATION_FIRST_MAX]; /* a sentence about the first of them, or "" */
};

struct verification {
    struct verification_check checks[VERIFICATION_CHECKS_MAX];
    size_t count;
};

/* Judges the text of a cursor; RC_REJECT with a sentence when it is none. */
typedef enum rc cursor_judge_fn(void *arg, struct bytes state, struct err *err);

/* RC_RETRY: the store did not answer. RC_AGAIN: it was told to stop, or had no more time. Else the
 * outcome stands in `out`. */
must_check enum rc verification_run(struct store *store, cursor_judge_fn *judge, void *judge_arg,
                                    struct verification *out, struct err *err);
/* One check of it: the documents of declared collections. */
must_check enum rc verification_rows(struct store *store, struct verification_check *check,
                                     struct err *err);
/* Counts a violation; the same for a row whose only column is a sentence about one. */
void verification_note(struct verification_check *check, struct bytes words);
bool verification_take(void *check, const struct field *columns, size_t count);
bool verification_is_good(const struct verification *verification);
/* Writes the members "ok" and "checks" of an object that was begun. */
void verification_print(const struct verification *verification, struct json_writer *writer);

#endif
