/* SPDX-License-Identifier: Apache-2.0
 *
 * handle_shelf.h - where every handle is kept: on disk, beside the store.
 *
 * The shelf is the truth about a handle; what is in memory is a copy. A handle is kept before
 * anybody hears of it, and its next state before the page that leads to it leaves, so a process may
 * end between any two requests and another one goes on. Whoever keeps a state says which version he
 * had: of two who went on from the same one the second is refused. What the machine loses with its
 * power is lost here, too.
 *
 * Owner: the caller, with a connection beside the store.  Thread: any that owns it. */
#ifndef QUERY_HANDLE_SHELF_H
#define QUERY_HANDLE_SHELF_H

#include "query/handle_state.h"
#include "store/store.h"

#define SHELF_SLICE_MAX 500

must_check enum rc shelf_add(struct store *beside, const struct handle_state *state,
                             struct err *err);
/* Fills in the state of this name. RC_REJECT: there is none, or it is no query any more. */
must_check enum rc shelf_load(struct store *beside, struct handle_state *state,
                              const struct handle_finder *finder, struct refusal *refusal,
                              struct err *err);
/* Keeps its next version. RC_REJECT: it is gone (HANDLE_NOT_FOUND), or somebody else kept one
 * meanwhile (CONFLICT). */
must_check enum rc shelf_save(struct store *beside, struct handle_state *state,
                              struct refusal *refusal, struct err *err);
/* It was used, and nothing of it changed. */
must_check enum rc shelf_touch(struct store *beside, const uint8_t name[HANDLE_NAME_SIZE],
                               int64_t used_us, struct err *err);
/* Takes it away; `removed` says whether it was there. RC_REJECT: another session's (FORBIDDEN). */
must_check enum rc shelf_remove(struct store *beside, const uint8_t name[HANDLE_NAME_SIZE],
                                const uint8_t session[HANDLE_SESSION_SIZE], bool *removed,
                                struct refusal *refusal, struct err *err);
/* Takes away at most SHELF_SLICE_MAX of those not used since `since_us`; of a session's. */
must_check enum rc shelf_expire(struct store *beside, int64_t since_us, size_t *removed,
                                struct err *err);
must_check enum rc shelf_end_session(struct store *beside,
                                     const uint8_t session[HANDLE_SESSION_SIZE], size_t *removed,
                                     struct err *err);
must_check enum rc shelf_count(struct store *beside, int64_t *count, struct err *err);

/* What people may know of one; borrowed for the call. */
struct shelf_line {
    int64_t id;
    uint8_t name[HANDLE_NAME_SIZE], session[HANDLE_SESSION_SIZE];
    struct bytes collection, filter;
    int64_t page, page_size, seq, opened_us, used_us;
};

typedef void shelf_line_fn(void *arg, const struct shelf_line *line);

/* The newest first, from the one opened before line `before` (0: the newest) on. */
must_check enum rc shelf_list(struct store *beside, int64_t before, unsigned lines_max,
                              shelf_line_fn *fn, void *arg, struct err *err);

#endif
