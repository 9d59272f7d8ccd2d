/* SPDX-License-Identifier: Apache-2.0
 *
 * History and tail together are the present, on both stores. */
#include "notes.h"
#include "query/tail.h"

#include <string.h>

#define CLIENTS 12
#define ROUNDS  NOTES_COMMITS

/* ---- a client, which merges by id: the higher seq wins ---- */

struct client {
    struct notes *world;
    unsigned which;
    struct filter *filter;
    struct order order;
    struct opening opening;
    struct row_key place;
    bool opened, walked;
    struct tail tail;
    struct known {
        int64_t seq;
        bool there;
    } known[NOTES_IDS];
    struct answer { /* what it was told up to, and what it knew then */
        int64_t seq;
        struct known known[NOTES_IDS];
    } told[ROUNDS * 2];
    size_t told_count;
};

static void learn(struct client *client, struct json item, int64_t seq, bool there)
{
    struct bytes id = json_string_or_absent(json_get(item, "id"));
    int64_t number;
    assert_true(bytes_starts_with(id, "k"));
    assert_true(bytes_to_i64(bytes_make(id.data + 1, id.len - 1), &number));
    struct known *known = &client->known[number];
    if (seq >= known->seq)
        *known = (struct known){seq, there};
}

static void note_answer(struct client *client)
{
    struct answer *answer = &client->told[client->told_count];
    if (client->told_count == ROUNDS * 2)
        return;
    answer->seq = client->tail.seq;
    memcpy(answer->known, client->known, sizeof client->known);
    client->told_count++;
}

static struct filter *parse_filter(struct client *client)
{
    static const char *const filters[] = {"{}", "{\"a\":{\"$lt\":5}}", "{\"b\":\"x\"}",
                                          "{\"$not\":{\"a\":1},\"b\":{\"$ne\":\"y\"}}"};
    struct notes *world = client->world;
    struct bench *bench = world->bench;
    struct filter *filter;
    struct json root;
    assert_ok(
        json_parse_copy(world->doc, bytes_of(filters[client->which % 4]), &root, &bench->err));
    assert_int_equal(filter_parse(world->collection, root, &filter, &world->refusal), RC_OK);
    return filter;
}

static void open_query(struct client *client, unsigned which)
{
    struct notes *world = client->world;
    struct bench *bench = world->bench;
    struct json root;
    client->which = which;
    client->filter = parse_filter(client);
    const char *order = which % 3 == 0 ? "[{\"field\":\"a\",\"direction\":\"asc\"}]" : "[]";
    assert_ok(json_parse_copy(world->doc, bytes_of(order), &root, &bench->err));
    assert_int_equal(order_parse(world->collection, root, &client->order, &world->refusal), RC_OK);
    client->opening.kind = COUNT_NONE;
    assert_ok(opening_read(bench->store, world->collection, filter_where(client->filter), false,
                           &client->opening, &bench->err));
    client->opened = true;
    tail_init(&client->tail, world->collection, parse_filter(client), &client->opening,
              client->opening.seq, &world->marks);
    note_answer(client);
}

static void read_history(struct client *client)
{
    struct notes *world = client->world;
    struct bench *bench = world->bench;
    struct page page = {0};
    struct json root, item;
    struct bytes key;
    const struct page_request request = {.collection = world->collection,
                                         .order = &client->order,
                                         .filter = client->filter,
                                         .fence_n = client->opening.fence_n,
                                         .after = &client->place,
                                         .page_size = 3};
    assert_ok(page_fetch(bench->store, &request, &page, &world->refusal, &bench->err));
    assert_ok(json_parse_copy(world->doc, text_bytes(&page.items), &root, &bench->err));
    struct json_walk walk = json_walk(root);
    while (json_walk_next(&walk, &key, &item)) {
        int64_t seq;
        assert_true(json_i64(json_get(item, "seq"), &seq));
        learn(client, item, seq, true);
    }
    client->walked = !page.has_more;
    if (page.has_more)
        row_key_move(&client->place, &page.last);
    page_free(&page);
}

/* A row that left was in the result at some commit since the client was told last. */
static void check_it_was_there(struct client *client, struct bytes id, int64_t seq)
{
    struct notes *world = client->world;
    int64_t number;
    bool was = false;
    assert_true(bytes_to_i64(bytes_make(id.data + 1, id.len - 1), &number));
    for (int64_t at = client->tail.seq; at < seq; at++) {
        const struct note *note = &world->then[at][number];
        struct bytes b =
            note->b == NULL || note->b[0] == 'N' ? BYTES_ABSENT : bytes_make(note->b + 1, 1);
        const struct field columns[] = {field_text(id), field_int(note->a), field_text(b),
                                        field_int(0)};
        was |= note->there && filter_matches(client->filter, columns);
    }
    if (!was)
        fail_msg("k%" PRId64 " left at %" PRId64 " and was never there", number, seq);
    world->leaves++;
}

static void hear(struct client *client, struct json change)
{
    struct bytes op = json_string_or_absent(json_get(change, "op"));
    struct json item = json_get(change, "item");
    int64_t seq;
    assert_true(json_i64(json_get(change, "seq"), &seq));
    bool leaves = bytes_equal_string(op, "leave");
    assert_true(leaves || bytes_equal_string(op, "enter") || bytes_equal_string(op, "update"));
    assert_int_equal(json_count(item), leaves ? 1 : notes.column_count);
    if (leaves && client->world->collection->pasts != NULL)
        check_it_was_there(client, json_string_or_absent(json_get(item, "id")), seq);
    learn(client, item, seq, !leaves);
}

static void read_tail(struct client *client)
{
    struct notes *world = client->world;
    struct bench *bench = world->bench;
    struct text text = {0};
    struct json_writer writer;
    struct json root, change;
    struct bytes key;
    assert_ok(changes_read(bench->store, world->collection, client->tail.seq, &world->changes,
                           &world->refusal, &bench->err));
    json_writer_init(&writer, &text);
    json_begin_array(&writer);
    size_t count = tail_print(&client->tail, &world->changes, &writer);
    json_end_array(&writer);
    assert_ok(json_parse_copy(world->doc, text_bytes(&text), &root, &bench->err));
    assert_int_equal(json_count(root), count);
    struct json_walk walk = json_walk(root);
    while (json_walk_next(&walk, &key, &change))
        hear(client, change);
    tail_move(&client->tail, &world->changes);
    assert_false(
        tail_sees(&client->tail, &world->changes)); /* others may need to read them still */
    text_free(&text);
    tail_marks_add(&world->marks, &world->changes);
    note_answer(client);
}

/* It comes back: the last replies never reached it, or it has forgotten that they did. */
static void reconnect(struct client *client)
{
    struct notes *world = client->world;
    uint32_t which = chance_below(&world->chance, (uint32_t)client->told_count);
    bool lost = chance_below(&world->chance, 2) == 0;
    const struct answer *answer = &client->told[lost ? which : 0];
    if (lost) {
        memcpy(client->known, answer->known, sizeof client->known);
        row_key_clear(&client->place);
        client->walked = false;
        client->told_count = which + 1;
    }
    tail_deinit(&client->tail);
    tail_init(&client->tail, world->collection, parse_filter(client), &client->opening, answer->seq,
              &world->marks);
}

struct comparison {
    struct client *client;
    unsigned rows;
};

static bool compare_row(void *arg, const struct field *columns, size_t count)
{
    struct comparison *comparison = arg;
    int64_t number;
    assert_int_equal(count, 2);
    assert_true(bytes_to_i64(bytes_make(columns[0].b.data + 1, columns[0].b.len - 1), &number));
    const struct known *known = &comparison->client->known[number];
    if (!known->there || known->seq != columns[1].i)
        fail_msg("k%" PRId64 ": the client has seq %" PRId64 ", the store %" PRId64, number,
                 known->there ? known->seq : -1, columns[1].i);
    comparison->rows++;
    return true;
}

static void check_present(struct client *client)
{
    struct bench *bench = client->world->bench;
    struct comparison comparison = {client, 0};
    struct where where = filter_where(client->filter);
    struct text sql = {0};
    unsigned known = 0;
    text_appendf(&sql, "SELECT t.id, t.seq FROM note t WHERE %s%s%s",
                 client->world->collection->only == NULL ? "1 = 1" : "t.a <> 9",
                 where.sql == NULL ? "" : " AND ", where.sql == NULL ? "" : where.sql);
    assert_ok(store_query(bench->store, text_string(&sql), where.params, where.count, compare_row,
                          &comparison, &bench->err));
    text_free(&sql);
    for (unsigned i = 0; i < NOTES_IDS; i++)
        known += client->known[i].there;
    assert_int_equal(known, comparison.rows);
}

static void act(struct client *client, unsigned which)
{
    struct chance *chance = &client->world->chance;
    unsigned what = chance_below(chance, 16);
    if (!client->opened) {
        if (what == 0)
            open_query(client, which);
    } else if (what < 4) {
        read_tail(client);
    } else if (what == 4) {
        reconnect(client);
    } else if (what < 8 && !client->walked) {
        read_history(client);
    }
}

static void finish(struct client *client, unsigned which)
{
    if (!client->opened)
        open_query(client, which);
    while (!client->walked)
        read_history(client);
    read_tail(client);
    check_present(client);
    tail_deinit(&client->tail);
    filter_free(client->filter);
    row_key_clear(&client->place);
}

static void follow_what_changes(struct bench *bench, const struct collection *collection)
{
    static struct notes world;
    static struct client clients[CLIENTS];
    memset(clients, 0, sizeof clients);
    notes_open(&world, bench, collection);
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i].world = &world;
    for (unsigned round = 0; round < ROUNDS; round++) {
        notes_write_anything(&world);
        for (unsigned i = 0; i < CLIENTS; i++)
            act(&clients[i], i);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        finish(&clients[i], i);
    assert_true(collection->pasts == NULL || world.leaves > 100);
    notes_close(&world);
}

/* R001-16 R004-39 R004-40 */
static void history_and_tail_together_are_the_present(void **state)
{
    follow_what_changes(*state, &notes);
}

/* R004-40 */
static void only_what_was_in_the_result_leaves_it(void **state)
{
    follow_what_changes(*state, &kept_notes);
}

/* ---- single cases ---- */

static const char *print_tail(struct notes *world, struct tail *tail, struct text *text)
{
    struct bench *bench = world->bench;
    struct json_writer writer;
    assert_ok(changes_read(bench->store, tail->collection, tail->seq, &world->changes,
                           &world->refusal, &bench->err));
    text_clear(text);
    json_writer_init(&writer, text);
    json_begin_array(&writer);
    tail_print(tail, &world->changes, &writer);
    json_end_array(&writer);
    tail_move(tail, &world->changes);
    return text_string(text);
}

static void who_follows_without_a_break_is_told_nothing_in_vain(void **state)
{
    static struct notes world;
    static struct client client;
    client = (struct client){.world = &world};
    struct text text = {0};
    notes_open(&world, *state, &notes);
    notes_put(&world, 1, 1, "'x'");
    notes_commit(&world); /* 1 */
    open_query(&client, 1);
    assert_string_equal(print_tail(&world, &client.tail, &text), "[]");
    notes_put(&world, 5, 1, "'x'");
    notes_commit(&world); /* 2 */
    print_tail(&world, &client.tail, &text);
    notes_put(&world, 2, 7, "'x'"); /* does not match, and is new */
    notes_put(&world, 3, 2, "NULL");
    notes_commit(&world); /* 3 */
    assert_string_equal(print_tail(&world, &client.tail, &text),
                        "[{\"op\":\"enter\",\"seq\":3,\"item\":"
                        "{\"id\":\"k3\",\"a\":2,\"b\":null,\"seq\":3}}]");
    notes_put(&world, 3, 3, "NULL");
    notes_put(&world, 1, 9, "'x'"); /* is none of the collection's any more */
    notes_commit(&world);           /* 4 */
    assert_string_equal(print_tail(&world, &client.tail, &text),
                        "[{\"op\":\"leave\",\"seq\":4,\"item\":{\"id\":\"k1\"}},"
                        "{\"op\":\"update\",\"seq\":4,\"item\":"
                        "{\"id\":\"k3\",\"a\":3,\"b\":null,\"seq\":4}}]");
    notes_drop(&world, 3);
    notes_put(&world, 3, 4, "NULL"); /* another row of that id, in one commit */
    notes_commit(&world);            /* 5 */
    assert_string_equal(print_tail(&world, &client.tail, &text),
                        "[{\"op\":\"leave\",\"seq\":5,\"item\":{\"id\":\"k3\"}},"
                        "{\"op\":\"enter\",\"seq\":5,\"item\":"
                        "{\"id\":\"k3\",\"a\":4,\"b\":null,\"seq\":5}}]");
    assert_string_equal(print_tail(&world, &client.tail, &text), "[]");
    text_free(&text);
    tail_deinit(&client.tail);
    filter_free(client.filter);
    notes_close(&world);
}

static void a_reading_ends_after_a_whole_commit(void **state)
{
    static const unsigned sizes[] = {700, 700, 2500, 1};
    static const size_t readings[] = {1400, 2500, 1};
    static struct notes world;
    struct bench *bench = *state;
    int64_t since = 0;
    unsigned id = 0;
    notes_open(&world, bench, &notes);
    for (size_t i = 0; i < 4; i++) {
        for (unsigned k = 0; k < sizes[i]; k++)
            notes_put(&world, id++, 1, "NULL");
        notes_commit(&world);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_ok(
            changes_read(bench->store, &notes, since, &world.changes, &world.refusal, &bench->err));
        assert_int_equal(world.changes.count, readings[i]);
        assert_int_equal(world.changes.more, i < 2);
        since = world.changes.seq;
    }
    assert_int_equal(since, 4);
    for (unsigned k = 0; k < 1200; k++)
        notes_drop(&world, k);
    notes_commit(&world);
    notes_drop(&world, 1200);
    notes_commit(&world);
    assert_ok(
        changes_read(bench->store, &notes, since, &world.changes, &world.refusal, &bench->err));
    assert_int_equal(world.changes.count, 1200);
    assert_int_equal(world.changes.seq, 5);
    assert_true(world.changes.more);
    notes_close(&world);
}

/* However few the rows are. */
static void a_reading_of_large_rows_ends_after_a_whole_commit(void **state)
{
    static const size_t readings[] = {4, 3, 1}; /* 300 kB each, in commits of 1, 3, 3 and 1 */
    static const unsigned sizes[] = {1, 3, 3, 1};
    static struct notes world;
    struct bench *bench = *state;
    char *words = malloc(300003);
    int64_t since = 0;
    unsigned id = 0;
    snprintf(words, 300003, "'%0300000d'", 7);
    notes_open(&world, bench, &notes);
    for (size_t i = 0; i < 4; i++) {
        for (unsigned k = 0; k < sizes[i]; k++)
            notes_put(&world, id++, 1, words);
        notes_commit(&world);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_ok(
            changes_read(bench->store, &notes, since, &world.changes, &world.refusal, &bench->err));
        assert_int_equal(world.changes.count, readings[i]);
        assert_int_equal(world.changes.more, i < 2);
        since = world.changes.seq;
    }
    assert_int_equal(since, 4);
    free(words);
    notes_close(&world);
}

/* What it has become is read later; that it is no longer what it was is told now. */
static void a_row_that_went_on_to_change_has_left_meanwhile(void **state)
{
    static struct notes world;
    struct bench *bench = *state;
    static struct client client;
    client = (struct client){.world = &world};
    struct text text = {0};
    notes_open(&world, bench, &kept_notes);
    notes_put(&world, 1, 1, "'x'");
    notes_put(&world, 2, 7, "'x'");
    notes_commit(&world);   /* 1 */
    open_query(&client, 1); /* a < 5 */
    notes_put(&world, 1, 8, "'x'");
    notes_put(&world, 2, 8, "'x'");
    notes_commit(&world); /* 2 */
    for (unsigned i = 0; i < CHANGES_ROWS_GOAL; i++)
        notes_put(&world, 100 + i, 9, "NULL");
    notes_commit(&world); /* 3 */
    notes_put(&world, 1, 6, "'x'");
    notes_put(&world, 2, 6, "'x'");
    notes_commit(&world); /* 4 */
    assert_string_equal(print_tail(&world, &client.tail, &text),
                        "[{\"op\":\"leave\",\"seq\":2,\"item\":{\"id\":\"k1\"}}]");
    assert_int_equal(client.tail.seq, 3);
    assert_string_equal(print_tail(&world, &client.tail, &text), "[]");
    assert_int_equal(client.tail.seq, 4);
    text_free(&text);
    tail_deinit(&client.tail);
    filter_free(client.filter);
    notes_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(history_and_tail_together_are_the_present),
        ON_STORE(only_what_was_in_the_result_leaves_it),
        ON_STORE(who_follows_without_a_break_is_told_nothing_in_vain),
        ON_STORE(a_reading_ends_after_a_whole_commit),
        ON_STORE(a_reading_of_large_rows_ends_after_a_whole_commit),
        ON_STORE(a_row_that_went_on_to_change_has_left_meanwhile),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
