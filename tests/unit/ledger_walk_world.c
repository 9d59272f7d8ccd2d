/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_walk_world.h"

#include <stdio.h>
#include <string.h>

void walk_world_mine(struct walk_world *world, unsigned rows)
{
    int64_t block = world->count > 0 ? world->chain[world->count - 1].block + 1 : 100;
    for (unsigned i = 0; i < rows && world->count < WALK_ROWS_MAX; i++) {
        bool next = world->shape.equals == EQUALS_NONE || chance_below(&world->chance, 3) == 0;
        block += next ? 1 + chance_below(&world->chance, 5) : 0;
        uint8_t what = (uint8_t)chance_below(&world->chance, 3);
        /* Equals go from and to the same accounts. */
        world->chain[world->count++] =
            (struct walk_entry){block, what, (uint8_t)(1 + (block + what) % 3)};
    }
}

static void put(struct walk_shelf *shelf, struct walk_entry entry, uint32_t ordinal)
{
    entry.side = 0;
    for (size_t i = 0; i < shelf->count; i++)
        if (shelf->rows[i].entry.block == entry.block && shelf->rows[i].entry.what == entry.what &&
            shelf->rows[i].ordinal == ordinal) {
            shelf->repeated++;
            return;
        }
    assert_true(shelf->count < WALK_ROWS_MAX);
    shelf->rows[shelf->count].entry = entry;
    shelf->rows[shelf->count++].ordinal = ordinal;
}

/* The list as the provider shows it to one partition from `from` on; returns its length. */
static size_t list(const struct walk_world *world, const struct connector_vars *vars,
                   struct walk_entry out[WALK_ROWS_MAX + 8])
{
    size_t count = 0;
    bool sides = world->shape.partition_count > 0, down = world->shape.order == ORDER_DESC;
    bool ranged = world->shape.page.by == PAGE_RANGE;
    for (size_t i = 0; down && i < world->mempool; i++)
        out[count++] = (struct walk_entry){-1, (uint8_t)(i % 2), 3};
    for (size_t i = 0; i < world->count; i++) {
        const struct walk_entry *entry = &world->chain[down ? world->count - 1 - i : i];
        if (entry->block >= vars->from && (!ranged || entry->block <= vars->to) &&
            (!sides || (entry->side >> vars->partition & 1) != 0))
            out[count++] = *entry;
    }
    return count;
}

/* Where the page begins. A token names the row it follows: "block.number within the block". */
static size_t find_start(const struct walk_world *world, const struct connector_vars *vars,
                         const struct walk_entry *rows, size_t count)
{
    long long block, nth;
    if (vars->offset >= 0)
        return (size_t)vars->offset;
    if (vars->page >= 0)
        return (size_t)((vars->page - world->shape.page.first) * world->shape.page.size);
    if (vars->token.len == 0)
        return 0;
    assert_int_equal(sscanf(vars->token.data, "%lld.%lld", &block, &nth), 2);
    for (size_t i = 0; i < count; i++)
        if (rows[i].block == block && nth-- == 0)
            return i + 1;
    fail_msg("no row for the token %s", vars->token.data);
    return 0;
}

bool walk_world_ask(struct walk_world *world, struct ledger_walk *walk, struct walk_shelf *shelf,
                    size_t stop, struct err *err)
{
    static struct walk_entry rows[WALK_ROWS_MAX + 8];
    struct connector_vars vars = {.from = -1};
    char token[64] = "";
    assert_true(ledger_walk_next(walk, &vars));
    size_t count = list(world, &vars, rows), at = find_start(world, &vars, rows, count);
    bool ranged = world->shape.page.by == PAGE_RANGE;
    assert_true(!ranged || (vars.to >= vars.from && vars.to - vars.from < world->shape.page.size &&
                            vars.to <= walk->head));
    size_t size = ranged ? count : (size_t)world->shape.page.size,
           end = at + size < count ? at + size : count;
    world->requests++;
    for (size_t i = at; i < end; i++) {
        struct ledger_row row = {.block = rows[i].block, .time_us = -1, .key = {0}};
        uint32_t ordinal;
        memcpy(row.key, &rows[i].block, 8);
        row.key[8] = rows[i].what;
        assert_int_equal(ledger_walk_row(walk, &row, &ordinal, err), RC_OK);
        put(shelf, rows[i], ordinal);
        if (stop-- == 0)
            return false;
    }
    size_t nth = 0;
    for (size_t i = 0; i + 1 < end; i++)
        nth += rows[i].block == rows[end - 1].block;
    if (end > 0 && end < count)
        snprintf(token, sizeof token, "%lld.%zu", (long long)rows[end - 1].block, nth);
    bool last = world->shape.page.by == PAGE_TOKEN ? end >= count : end - at < size || at > count;
    enum rc rc = ledger_walk_page(walk, end > at ? end - at : 0, last, bytes_of(token), err);
    if (rc != RC_OK)
        fail_msg("%s", err->text);
    return true;
}

void walk_world_expect(const struct walk_world *world, const struct walk_shelf *shelf)
{
    uint32_t nth[3] = {0};
    size_t pending = 0;
    for (size_t i = 0; i < shelf->count; i++)
        pending += shelf->rows[i].entry.block < 0;
    assert_int_equal(pending, world->mempool);
    assert_int_equal(shelf->count - pending, world->count);
    for (size_t i = 0; i < world->count; i++) {
        const struct walk_entry *entry = &world->chain[i];
        if (i == 0 || entry->block != entry[-1].block)
            memset(nth, 0, sizeof nth);
        uint32_t ordinal = nth[entry->what]++;
        size_t found = 0;
        for (size_t k = 0; k < shelf->count; k++)
            found += shelf->rows[k].entry.block == entry->block &&
                     shelf->rows[k].entry.what == entry->what && shelf->rows[k].ordinal == ordinal;
        assert_int_equal(found, 1);
    }
}

int64_t walk_world_head(const struct walk_world *world)
{
    return world->count > 0 ? world->chain[world->count - 1].block : 50;
}

struct connector_stream walk_shape(struct chance *chance, enum connector_order order,
                                   enum connector_paging by)
{
    struct connector_stream shape = {.order = order, .equals = EQUALS_BLOCK};
    shape.page.by = by;
    shape.page.size = 40 + chance_below(chance, 60);
    shape.page.first = by == PAGE_OFFSET ? 0 : 1;
    shape.map[FIELD_BLOCK].mapped = true;
    if (order == ORDER_ASC)
        shape.resume.kind = RESUME_BLOCK_NUMBER;
    if (order == ORDER_ASC && by != PAGE_TOKEN && chance_below(chance, 2) == 0)
        shape.page.window_max = shape.page.size * (1 + chance_below(chance, 4));
    return shape;
}
