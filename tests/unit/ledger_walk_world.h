/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_walk_world.h - a made-up chain, the provider that shows it, and the client that walks over
 * it. */
#ifndef TESTS_UNIT_LEDGER_WALK_WORLD_H
#define TESTS_UNIT_LEDGER_WALK_WORLD_H

#include "chance.h"
#include "source/ledger_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WALK_ROWS_MAX 4000

struct walk_entry {
    int64_t block;
    uint8_t what; /* rows of a block with the same `what` are equal */
    uint8_t side; /* bit per partition that lists it */
};

/* A provider: its chain oldest first, and how it is asked. */
struct walk_world {
    struct chance chance;
    struct walk_entry chain[WALK_ROWS_MAX];
    size_t count;
    struct connector_stream shape;
    unsigned requests;
    size_t mempool; /* rows in no block, which lead a list that is newest first */
};

/* What a client has: each row's (block, what, ordinal), and how often it was new. */
struct walk_shelf {
    struct {
        struct walk_entry entry;
        uint32_t ordinal;
    } rows[WALK_ROWS_MAX];
    size_t count, repeated;
};

/* So many rows behind the newest, in blocks by chance. */
void walk_world_mine(struct walk_world *world, unsigned rows);
/* Asks for one page. `stop` rows in, the client dies: false. */
bool walk_world_ask(struct walk_world *world, struct ledger_walk *walk, struct walk_shelf *shelf,
                    size_t stop, struct err *err);
/* Every row is on the shelf, with its ordinal, once. */
void walk_world_expect(const struct walk_world *world, const struct walk_shelf *shelf);
int64_t walk_world_head(const struct walk_world *world);
/* Of a provider whose pages are of any size. */
struct connector_stream walk_shape(struct chance *chance, enum connector_order order,
                                   enum connector_paging by);

#endif
