/* SPDX-License-Identifier: Apache-2.0
 *
 * handle_roll.h - the handles on the shelf as people see them, some at a time.
 *
 * Owner: the caller.  Thread: reading, any that owns the store's connection; printing, the one that
 * knows how each stands. */
#ifndef QUERY_HANDLE_ROLL_H
#define QUERY_HANDLE_ROLL_H

#include "base/json_write.h"
#include "query/handle_shelf.h"

#define HANDLE_ROLL_MAX 500

struct handle_roll_line {
    struct shelf_line line;
    size_t collection_at; /* in `words` */
};

struct handle_roll {
    struct handle_roll_line lines[HANDLE_ROLL_MAX];
    size_t count;
    struct text words;
};

/* The newest first, from the one opened before `before` (0: the newest) on. May be called again on
 * the same page. */
must_check enum rc handle_roll_read(struct store *store, int64_t before, struct handle_roll *page,
                                    struct err *err);
void handle_roll_free(struct handle_roll *page);

typedef const char *handle_standing_fn(const void *arg, const uint8_t name[HANDLE_NAME_SIZE]);

/* Writes the members `handles`, an array, and `before`, where the next page begins: null after the
 * last one. */
void handle_roll_print(const struct handle_roll *page, int64_t now_us, handle_standing_fn *standing,
                       const void *arg, struct json_writer *writer);

#endif
