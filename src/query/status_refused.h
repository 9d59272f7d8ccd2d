/* SPDX-License-Identifier: Apache-2.0
 *
 * status_refused.h - the input that could not be used lately, and why.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_STATUS_REFUSED_H
#define QUERY_STATUS_REFUSED_H

#include "store/store.h"

#define STATUS_REFUSED_MAX 20 /* the latest */

#define STATUS_EXCERPT_MAX 600

struct status_refused {
    int64_t id, size, times, at_us;
    char source[65], provider[65], reason[200]; /* longer ones are cut */
    char excerpt[STATUS_EXCERPT_MAX]; /* its beginning as text: \xNN is a byte that is none */
    bool whole;                       /* its bytes were kept, all of them */
};

struct status_refusals {
    struct status_refused inputs[STATUS_REFUSED_MAX];
    size_t count;
};

must_check enum rc status_read_refused(struct store *store, struct status_refusals *out,
                                       struct err *err);

#endif
