/* SPDX-License-Identifier: Apache-2.0
 *
 * handle.h - the open queries: what each one asks, how far its reader is, when it is forgotten.
 *
 * A handle's collection, order, page size and fence never change after the open. What moves is its
 * position, in three states:
 *   idle      nothing under way; `delivered` pages were recorded
 *   busy      one page is being read (handle_begin): any other next is CONFLICT
 *   closing   closed while busy; gone when the page ends
 * A page's end is recorded before its reply leaves (handle_deliver), so a lost reply can be asked
 * for again: page `delivered - 1` is the same interval of keys (I10), page `delivered` goes on, and
 * every other number is CONFLICT. After the end every further page is empty.
 *
 * The table has a fixed bound; a handle nobody used for the idle time is gone. Time is given by the
 * caller and never read here.
 *
 * Owner: the serving loop.  Thread: its own; a busy handle's request may be read by another thread
 * until its page is delivered or abandoned. */
#ifndef QUERY_HANDLE_H
#define QUERY_HANDLE_H

#include "base/json_write.h"
#include "base/uuid.h"
#include "query/query_page.h"

#define HANDLES_MAX         16384
#define HANDLE_IDLE_US      INT64_C(300000000)
#define HANDLE_SESSION_SIZE 16

struct handles;
struct handle;

/* `handles_max` 0: HANDLES_MAX; `idle_us` 0: HANDLE_IDLE_US. */
struct handles *handles_new(size_t handles_max, int64_t idle_us);
/* None may be busy. */
void handles_free(struct handles *handles);
size_t handles_count(const struct handles *handles);
/* Forgets those whose time is over; returns how many. */
size_t handles_expire(struct handles *handles, int64_t now_us);

struct handle_spec {
    const struct collection *collection;
    struct order order;
    struct filter *filter; /* NULL: all rows; an opened handle has taken it over */
    unsigned page_size;
    uint8_t session[HANDLE_SESSION_SIZE];
    struct opening opening;
};

/* `random` becomes the handle's name. QUOTA_EXCEEDED when the table is full. */
must_check enum rc handle_open(struct handles *handles, const struct handle_spec *spec,
                               const uint8_t random[16], int64_t now_us, struct handle **handle,
                               struct refusal *refusal);
/* HANDLE_NOT_FOUND, or FORBIDDEN when it is another session's. Using it renews it. */
must_check enum rc handle_find(struct handles *handles, struct bytes name,
                               const uint8_t session[HANDLE_SESSION_SIZE], int64_t now_us,
                               struct handle **handle, struct refusal *refusal);

enum handle_step {
    STEP_NEXT,  /* read a new page, then handle_deliver() or handle_abandon() */
    STEP_AGAIN, /* read the last page anew, then the same */
    STEP_END,   /* nothing to read: the reply is empty; the handle is not busy */
};

/* `page` is what was asked for, or -1: the next one. `request` is borrowed from the handle. */
must_check enum rc handle_begin(struct handle *handle, int64_t page, enum handle_step *step,
                                int64_t *number, struct page_request *request,
                                struct refusal *refusal);
/* Records the page (a new one's end is taken out of it) and says whether more follow. RC_REJECT:
 * the handle was closed meanwhile and is gone now. */
must_check enum rc handle_deliver(struct handles *handles, struct handle *handle,
                                  enum handle_step step, struct page *page, int64_t now_us,
                                  bool *has_more, struct refusal *refusal);
/* The page was not read: the position stays where it was. */
void handle_abandon(struct handles *handles, struct handle *handle, int64_t now_us);
/* Closing a busy handle takes its page's reply away from it. */
void handle_close(struct handles *handles, struct handle *handle);

/* Writes an array with what people may know of each handle, the one used last first. */
void handles_print(const struct handles *handles, int64_t now_us, struct json_writer *writer);
const struct handle_spec *handle_spec(const struct handle *handle);
void handle_name(const struct handle *handle, char out[UUID_TEXT_SIZE]);

#endif
