/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <string.h>

static const struct column note_columns[] = {
    {"id", COLUMN_TEXT, "t.id", "t.id", false},
    {"a", COLUMN_INT, "t.a", "t.a", false},
    {"b", COLUMN_TEXT, "t.b", "t.b", true},
    {"seq", COLUMN_INT, "t.seq", "t.seq", false},
};
static const struct collection_order note_order[] = {{1, true}};
const struct collection notes = {
    .name = "notes",
    .table = "note t",
    .joins = "",
    .n = "t.n",
    .only = "t.a <> 9",
    .columns = note_columns,
    .column_count = 4,
    .order = note_order,
    .order_count = 1,
    .page_size = 100,
    .tombstones = "notes",
    .seq = "t.seq",
};

/* The same, and what its rows were is kept. */
const struct collection kept_notes = {
    .name = "kept",
    .table = "note t",
    .joins = "",
    .n = "t.n",
    .columns = note_columns,
    .column_count = 4,
    .order = note_order,
    .order_count = 1,
    .page_size = 100,
    .pasts = "kept",
    .seq = "t.seq",
};

void notes_open(struct notes *world, struct bench *bench, const struct collection *collection)
{
    memset(world, 0, sizeof *world);
    world->bench = bench;
    world->collection = collection;
    world->seq = world->next_n = 1;
    world->chance = chance_init("changes");
    world->doc = json_doc_new(8 << 20, JSON_DEPTH_MAX);
    run_script(bench, both_stores_kind == FIXTURE_SQLITE
                          ? "CREATE TABLE note (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
                            "seq INTEGER NOT NULL, a INTEGER NOT NULL, b TEXT);"
                            "CREATE INDEX note_seq ON note (seq)"
                          : "CREATE TABLE note (n BIGINT PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
                            "seq BIGINT NOT NULL, a BIGINT NOT NULL, b TEXT COLLATE \"C\");"
                            "CREATE INDEX note_seq ON note (seq)");
}

void notes_close(struct notes *world)
{
    changes_free(&world->changes);
    json_doc_free(world->doc);
    text_free(&world->script);
}

void notes_commit(struct notes *world)
{
    text_appendf(&world->script,
                 "UPDATE engine SET commit_seq = %" PRId64 ", next_n = %" PRId64 ";", world->seq,
                 world->next_n);
    run_script(world->bench, text_string(&world->script));
    text_clear(&world->script);
    if (world->seq < NOTES_COMMITS + 10)
        memcpy(world->then[world->seq], world->now, sizeof world->then[0]);
    world->seq++;
}

/* Whoever changes a row writes down what it was at the commit before. */
static void keep_past(struct notes *world, unsigned id)
{
    const struct note *was = &world->then[world->seq - 1][id % NOTES_IDS];
    if (world->collection->pasts == NULL || id >= NOTES_IDS || !was->there)
        return;
    text_appendf(&world->script,
                 "INSERT INTO past_rows (collection, seq, key, at_us, item) VALUES ('kept', "
                 "%" PRId64 ", 'k%u', 0, '{\"id\":\"k%u\",\"a\":%u,\"b\":%s}') "
                 "ON CONFLICT (collection, seq, key) DO NOTHING;",
                 world->seq, id, id, was->a,
                 was->b[0] == 'N'   ? "null"
                 : was->b[1] == 'x' ? "\"x\""
                                    : "\"y\"");
}

void notes_put(struct notes *world, unsigned id, unsigned a, const char *b)
{
    keep_past(world, id);
    world->now[id] = (struct note){true, a, b};
    text_appendf(&world->script,
                 "INSERT INTO note (n, id, seq, a, b) VALUES (%" PRId64 ", 'k%u', %" PRId64
                 ", %u, %s) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, a = excluded.a, "
                 "b = excluded.b;",
                 world->next_n++, id, world->seq, a, b);
}

void notes_drop(struct notes *world, unsigned id)
{
    keep_past(world, id);
    world->now[id].there = false;
    text_appendf(&world->script,
                 "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
                 "SELECT 'notes', id, '', n, %" PRId64 ", 0 FROM note WHERE id = 'k%u' "
                 "ON CONFLICT (collection, key) DO UPDATE SET n = excluded.n, seq = excluded.seq;"
                 "DELETE FROM note WHERE id = 'k%u';",
                 world->seq, id, id);
}

void notes_write_anything(struct notes *world)
{
    static const char *const words[] = {"NULL", "'x'", "'y'"};
    struct chance *chance = &world->chance;
    for (unsigned acts = 1 + chance_below(chance, 6); acts > 0; acts--) {
        unsigned id = chance_below(chance, NOTES_IDS);
        if (chance_below(chance, 4) == 0)
            notes_drop(world, id);
        else
            notes_put(world, id, chance_below(chance, 10), words[chance_below(chance, 3)]);
    }
    notes_commit(world);
}
