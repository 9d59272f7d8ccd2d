/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of declared collections: how they come about, grow and are written. */
#include "config_load.h"
#include "store/row_schema.h"
#include "store_bench.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES                                                                                   \
    "collections:\n  messages:\n    fields: {room: text, at: time, size: int, ratio: float, "      \
    "read: bool, more: json}\n    sort: {field: at}\n    indexes: [[room, at]]\n"

static void read_config(struct config *config, const char *yaml)
{
    struct config_problems problems = {0};
    config_init(config);
    config_read_yaml(config, "t.yaml", bytes_of(yaml), &problems);
    assert_string_equal(text_string(&problems.lines), "");
    config_problems_free(&problems);
}

static enum rc grow(struct bench *bench, const char *yaml, unsigned *changes)
{
    struct config config;
    read_config(&config, yaml);
    enum rc rc = row_schema_grow(bench->store, config.collections, config.collection_count, changes,
                                 &bench->err);
    config_deinit(&config);
    return rc;
}

/* Grows the store and has it written to by the shapes 0, 1, ... of the collections. */
static void declare(struct bench *bench, struct row_tables *tables, const char *yaml)
{
    struct config config;
    unsigned changes;
    assert_ok(grow(bench, yaml, &changes));
    read_config(&config, yaml);
    for (size_t i = 0; i < config.collection_count; i++, tables->count++)
        tables->items[tables->count] =
            row_table_new(&config.collections[i], (unsigned)tables->count);
    bench->store->declared = tables;
    config_deinit(&config);
}

static void forget(struct row_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        row_table_free((struct row_table *)(uintptr_t)tables->items[i]);
}

static struct record *add_row(struct bench *bench, const struct row_table *table, int op,
                              const char *id)
{
    struct record *row =
        batch_add_row(&bench->batch, table->columns, (unsigned)table->column_count);
    assert_non_null(row);
    batch_set_int(row, ROW_ACT, row_table_act(table->shape, op));
    batch_set_int(row, ROW_AT_US, 77);
    assert_true(batch_set_text(&bench->batch, row, ROW_COLLECTION, bytes_of("messages")));
    assert_true(batch_set_text(&bench->batch, row, ROW_ID, bytes_of(id)));
    return row;
}

static void a_declared_collection_gets_its_table_and_grows_without_losing_rows(void **state)
{
    struct bench *bench = *state;
    unsigned changes;
    assert_ok(grow(bench, MESSAGES, &changes));
    assert_int_equal(changes, 8); /* six fields, two indexes */
    assert_ok(grow(bench, MESSAGES, &changes));
    assert_int_equal(changes, 0);
    run_script(bench, "INSERT INTO data_messages (n, id, seq, room) VALUES (1, 'a', 1, 'x')");
    assert_ok(grow(bench,
                   "collections: {messages: {fields: {room: text, at: time, size: int, "
                   "ratio: float, read: bool, more: json, tag: text}, sort: {field: at}, "
                   "indexes: [[room, at], [tag]]}, others: {fields: {a: int}}}",
                   &changes));
    assert_int_equal(changes, 3); /* tag, its index, others.a */
    assert_int_equal(number(bench, "SELECT count(*) FROM data_messages WHERE tag IS NULL"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM data_others"), 0);
}

static void an_index_of_a_table_with_rows_is_noted_and_built_later(void **state)
{
    struct bench *bench = *state;
    struct row_index index = {0};
    struct text ready = {0};
    struct config config;
    char name[ROW_TABLE_NAME_MAX];
    unsigned changes;
    const char *with_index = "collections: {messages: {fields: {room: text}, indexes: [[room]]}}";
    assert_ok(grow(bench, "collections: {messages: {fields: {room: text}}}", &changes));
    run_script(bench, "INSERT INTO data_messages (n, id, seq, room) VALUES (1, 'a', 1, 'x')");
    assert_ok(grow(bench, with_index, &changes));
    read_config(&config, with_index);
    row_schema_index_name("messages", &config.collections[0].indexes[0], name);
    config_deinit(&config);
    assert_ok(row_schema_ready(bench->store, &ready, &bench->err));
    assert_false(row_schema_is_ready(text_bytes(&ready), name));
    assert_ok(row_schema_next_index(bench->store, &index, &bench->err));
    assert_string_equal(index.name, name);
    assert_ok(row_schema_index_done(bench->store, &index, true, &bench->err));
    text_clear(&ready);
    assert_ok(row_schema_ready(bench->store, &ready, &bench->err));
    assert_true(row_schema_is_ready(text_bytes(&ready), name));
    assert_ok(row_schema_next_index(bench->store, &index, &bench->err));
    assert_string_equal(index.name, "");
    row_index_free(&index);
    text_free(&ready);
}

static void an_index_is_built_beside_the_writer_where_a_store_can(void **state)
{
    struct bench *bench = *state;
    struct row_index index = {0};
    struct store *builder;
    unsigned changes;
    if (bench->store->ops->build == NULL)
        return; /* the writer builds it itself */
    assert_ok(grow(bench, "collections: {messages: {fields: {room: text}}}", &changes));
    run_script(bench, "INSERT INTO data_messages (n, id, seq, room) VALUES (1, 'a', 1, 'x')");
    assert_ok(grow(bench, "collections: {messages: {fields: {room: text}, indexes: [[room]]}}",
                   &changes));
    assert_ok(row_schema_next_index(bench->store, &index, &bench->err));
    assert_ok(store_open(bench->fixture.url, STORE_BUILD, &builder, &bench->err));
    builder->patient = true;
    assert_ok(builder->ops->build(builder, text_string(&index.build_apart), &bench->err));
    store_close(builder);
    assert_int_equal(
        number(bench,
               "SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid = "
               "(SELECT 'by_messages_' || left(encode(sha256('room,'), 'hex'), 8))::regclass"),
        1);
    assert_ok(row_schema_index_done(bench->store, &index, false, &bench->err));
    row_index_free(&index);
}

static void what_would_lose_values_is_refused_with_the_field_and_both_types(void **state)
{
    struct bench *bench = *state;
    unsigned changes;
    assert_ok(grow(bench, "collections: {messages: {fields: {room: text, at: time}}}", &changes));
    assert_int_equal(grow(bench,
                          "collections: {other: {fields: {a: int}}, "
                          "messages: {fields: {room: int, at: time}}}",
                          &changes),
                     RC_REJECT);
    assert_string_equal(bench->err.text,
                        "collections.messages.fields.room is int, and the store holds room as "
                        "text: give the new field another name");
    assert_int_equal(number(bench, "SELECT count(*) FROM declared_fields"), 2);
    assert_int_equal(grow(bench, "collections: {messages: {fields: {Room: text}}}", &changes),
                     RC_REJECT);
    assert_int_equal(grow(bench, "collections: {Messages: {fields: {room: text}}}", &changes),
                     RC_REJECT);
    assert_non_null(strstr(bench->err.text, "differs only in case"));
    /* A field that is no longer declared keeps what is in it. */
    run_script(bench, "INSERT INTO data_messages (n, id, seq, room) VALUES (1, 'a', 1, 'x')");
    assert_ok(grow(bench, "collections: {messages: {fields: {at: time}}}", &changes));
    assert_ok(grow(bench, "collections: {messages: {fields: {at: time, room: text}}}", &changes));
    assert_string_equal(word(bench, "SELECT room FROM data_messages"), "x");
}

static void rows_are_put_changed_and_deleted_in_their_own_types(void **state)
{
    struct bench *bench = *state;
    struct row_tables tables = {0};
    declare(bench, &tables, MESSAGES);
    struct record *row = add_row(bench, tables.items[0], RECORD_OP_PUT, "a");
    assert_true(batch_set_text(&bench->batch, row, ROW_COLUMNS, bytes_of("x")));
    batch_set_int(row, ROW_COLUMNS + 1, 1700000000000001);
    batch_set_int(row, ROW_COLUMNS + 2, INT64_MIN);
    row->fields[ROW_COLUMNS + 3] = field_real(0.1);
    assert_true(batch_set_text(&bench->batch, row, ROW_EXTRA, bytes_of("{\"k\":1}")));
    add_row(bench, tables.items[0], RECORD_OP_PUT, "b");
    assert_ok(write_batch(bench));
    int64_t n = number(bench, "SELECT n FROM data_messages WHERE id = 'a'");
    assert_int_equal(number(bench, "SELECT count(*) FROM data_messages WHERE room = 'x' AND at = "
                                   "1700000000000001 AND ratio = 0.1 AND extra = '{\"k\":1}' "
                                   "AND seq = 1 AND read IS NULL"),
                     1);
    assert_true(number(bench, "SELECT size FROM data_messages WHERE id = 'a'") == INT64_MIN);
    row = add_row(bench, tables.items[0], RECORD_OP_PUT, "a");
    assert_true(batch_set_text(&bench->batch, row, ROW_COLUMNS, bytes_of("y")));
    add_row(bench, tables.items[0], RECORD_OP_DELETE, "b");
    add_row(bench, tables.items[0], RECORD_OP_DELETE, "never there");
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT room FROM data_messages"), "y");
    assert_int_equal(number(bench, "SELECT n FROM data_messages WHERE seq = 2"), n);
    assert_int_equal(number(bench, "SELECT count(*) FROM tombstones"), 1);
    assert_int_equal(number(bench, "SELECT seq FROM tombstones WHERE key = 'b' AND "
                                   "collection = 'messages' AND n IS NOT NULL AND at_us = 77"),
                     2);
    forget(&tables);
}

static void a_collection_can_be_declared_between_two_commits(void **state)
{
    struct bench *bench = *state;
    struct row_tables tables = {0};
    declare(bench, &tables, "collections: {messages: {fields: {a: int}}}");
    add_row(bench, tables.items[0], RECORD_OP_PUT, "old");
    assert_ok(write_batch(bench));
    declare(bench, &tables, "collections: {messages: {fields: {a: int, b: text}}}");
    struct record *row = add_row(bench, tables.items[1], RECORD_OP_PUT, "new");
    assert_true(batch_set_text(&bench->batch, row, ROW_COLUMNS + 1, bytes_of("b")));
    /* One that was on its way, made for the shape before. */
    batch_set_int(add_row(bench, tables.items[0], RECORD_OP_PUT, "late"), ROW_COLUMNS, 5);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT b FROM data_messages WHERE id = 'new'"), "b");
    assert_int_equal(number(bench, "SELECT a FROM data_messages WHERE id = 'late'"), 5);
    forget(&tables);
}

static void the_key_of_a_request_is_kept_with_its_rows(void **state)
{
    struct bench *bench = *state;
    struct row_tables tables = {0};
    declare(bench, &tables, MESSAGES);
    struct record *row = add_row(bench, tables.items[0], RECORD_OP_PUT, "a");
    assert_true(batch_set_text(&bench->batch, row, ROW_KEY, bytes_of("k1")));
    assert_true(batch_set_text(&bench->batch, row, ROW_DIGEST, bytes_of("dd")));
    add_row(bench, tables.items[0], RECORD_OP_PUT, "b");
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT seq FROM request_keys WHERE collection = 'messages' "
                                   "AND key = 'k1' AND at_us = 77"),
                     1);
    struct record *prune = batch_add(&bench->batch, RECORD_PRUNE);
    batch_set_int(prune, PRUNE_TOMBSTONES_US, 78);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM request_keys"), 0);
    forget(&tables);
}

/* PostgreSQL has no room for a key of this length; SQLite refuses what is over its limit. */
static void rows_that_belong_together_are_refused_together(void **state)
{
    struct bench *bench = *state;
    struct row_tables tables = {0};
    char *noise = malloc(20000);
    uint32_t chance = 1;
    declare(bench, &tables, MESSAGES);
    run_script(bench, bench->store->ops->build == NULL
                          ? "CREATE TRIGGER t BEFORE INSERT ON data_messages WHEN length(new.room) "
                            "> 9999 BEGIN SELECT RAISE(ABORT, 'too long'); END"
                          : "SELECT 1");
    for (size_t i = 0; i < 20000; i++, chance = chance * 1664525 + 1013904223)
        noise[i] = (char)('a' + (chance >> 24) % 26);
    struct batch others = {0};
    arena_init(&others.arena, 4096);
    struct record *post = batch_add(&others, RECORD_CURSOR);
    assert_true(batch_set_text(&others, post, CURSOR_ROW_SOURCE, bytes_of("s")));
    assert_true(batch_set_text(&others, post, CURSOR_ROW_STREAM, bytes_of("t")));
    assert_true(batch_set_text(&others, post, CURSOR_ROW_STATE, bytes_of("{}")));
    batch_set_int(post, CURSOR_ROW_AT_US, 1);
    add_row(bench, tables.items[0], RECORD_OP_PUT, "good");
    struct record *row = add_row(bench, tables.items[0], RECORD_OP_PUT, "bad");
    assert_true(batch_set_text(&bench->batch, row, ROW_COLUMNS, bytes_make(noise, 20000)));
    bench->batch.together = true;
    assert_true(commit_add(bench->commit, &bench->batch));
    assert_true(commit_add(bench->commit, &others));
    assert_ok(commit_write(bench->commit, bench->store, &bench->position, 42, &bench->err));
    assert_true(bench->batch.refused && !others.refused);
    assert_int_equal(number(bench, "SELECT count(*) FROM data_messages"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM cursors"), 1);
    commit_take_batches(bench->commit);
    arena_deinit(&others.arena);
    bench->batch = (struct batch){.arena = bench->batch.arena};
    free(noise);
    forget(&tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_declared_collection_gets_its_table_and_grows_without_losing_rows),
        ON_STORE(an_index_of_a_table_with_rows_is_noted_and_built_later),
        ON_STORE(an_index_is_built_beside_the_writer_where_a_store_can),
        ON_STORE(what_would_lose_values_is_refused_with_the_field_and_both_types),
        ON_STORE(rows_are_put_changed_and_deleted_in_their_own_types),
        ON_STORE(a_collection_can_be_declared_between_two_commits),
        ON_STORE(the_key_of_a_request_is_kept_with_its_rows),
        ON_STORE(rows_that_belong_together_are_refused_together),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
