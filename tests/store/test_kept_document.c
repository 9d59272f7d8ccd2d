/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store has of a content address, on both stores: the bytes, whole and in pieces, or why
 * there are none and when they are tried again. */
#include "query/kept_document.h"
#include "store_bench.h"

#include <stdio.h>
#include <string.h>

#define SIZE 1300

static void put_bytes(struct bench *bench, int n, const char *name, size_t size)
{
    struct text sql = {0};
    bool sqlite = both_stores_kind == FIXTURE_SQLITE;
    text_appendf(&sql,
                 "INSERT INTO ipfs_cache (n, uri, canonical, is_errored, block, data) VALUES "
                 "(%d, 'ipfs://%s', 'ipfs://%s', FALSE, 5, %s",
                 n, name, name, sqlite ? "X'" : "decode('");
    for (size_t i = 0; i < size; i++)
        text_appendf(&sql, "%02x", (unsigned)(i * 7 % 256));
    text_append_string(&sql, sqlite ? "')" : "', 'hex'))");
    run_script(bench, text_string(&sql));
    text_free(&sql);
}

static struct kept_document find(struct bench *bench, const char *name)
{
    struct kept_document found;
    assert_ok(kept_document_find(bench->store, name, &found, &bench->err));
    return found;
}

static void pieces_of_a_document_are_its_bytes(void **state)
{
    struct bench *bench = *state;
    struct text piece = {0}, whole = {0};
    put_bytes(bench, 1, "a", SIZE);
    struct kept_document found = find(bench, "a");
    assert_int_equal(found.state, KEPT_WHOLE);
    assert_int_equal(found.size, SIZE);
    assert_int_equal(found.head_len, KEPT_DOCUMENT_HEAD_MAX);
    for (int64_t at = 0; at < SIZE; at += 400) {
        int64_t len = at + 400 < SIZE ? 400 : SIZE - at;
        assert_ok(kept_document_read(bench->store, &found, at, len, &piece, &bench->err));
        assert_int_equal(piece.len, len);
        text_append(&whole, piece.data, piece.len);
    }
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal((uint8_t)whole.data[i], i * 7 % 256);
    assert_memory_equal(found.head, whole.data, found.head_len);
    /* It left the store between two pieces: there are fewer bytes, not others. */
    run_script(bench, "DELETE FROM ipfs_cache");
    assert_ok(kept_document_read(bench->store, &found, 400, 400, &piece, &bench->err));
    assert_int_equal(piece.len, 0);
    text_free(&piece);
    text_free(&whole);
}

static void an_empty_document_is_whole(void **state)
{
    struct bench *bench = *state;
    put_bytes(bench, 1, "a", 0);
    struct kept_document found = find(bench, "a");
    assert_int_equal(found.state, KEPT_WHOLE);
    assert_true(found.size == 0 && found.head_len == 0);
}

#define WITHOUT_BYTES "INSERT INTO ipfs_cache (n, uri, canonical, is_errored, block) VALUES "
#define OWE                                                                                        \
    "INSERT INTO owed (id, source, stream, item, state, reason, next_us, since_us, seq) VALUES "

static void what_is_owed_says_why_and_when(void **state)
{
    struct bench *bench = *state;
    run_script(bench, WITHOUT_BYTES "(1, 'ipfs://a', 'ipfs://a', TRUE, 5), "
                                    "(2, 'ipfs://b', 'ipfs://b', TRUE, 5), "
                                    "(3, 'ipfs://c', 'ipfs://c', TRUE, 5)");
    run_script(bench,
               OWE "(1, 'content', 'content', 'ipfs://a', 'owed', 'no gateway has it', 77, "
                   "1, 1), (2, 'content', 'content', 'ipfs://b', 'dead', 'not found at two', "
                   "NULL, 1, 1),"
                   "(3, 'cards', 't', 'ipfs://c', 'owed', 'of somebody else', 9, 1, 1)");
    struct kept_document found = find(bench, "a");
    assert_int_equal(found.state, KEPT_OWED);
    assert_string_equal(found.reason, "no gateway has it");
    assert_int_equal(found.next_us, 77);
    found = find(bench, "b");
    assert_int_equal(found.state, KEPT_DEAD);
    assert_string_equal(found.reason, "not found at two");
    assert_int_equal(found.next_us, 0);
    found = find(bench, "c");
    assert_int_equal(found.state, KEPT_DEAD);
    assert_string_equal(found.reason, "nobody tries any more");
}

/* One document under two spellings: whichever row has the bytes is shown. */
static void bytes_under_another_spelling_are_found(void **state)
{
    struct bench *bench = *state;
    run_script(bench, WITHOUT_BYTES "(1, 'ipfs://A', 'ipfs://a', TRUE, 5)");
    run_script(bench, OWE "(1, 'content', 'content', 'ipfs://A', 'owed', 'waits', 7, 1, 1)");
    assert_int_equal(find(bench, "a").state, KEPT_OWED);
    put_bytes(bench, 2, "a", 3);
    struct kept_document found = find(bench, "a");
    assert_true(found.state == KEPT_WHOLE && found.size == 3 && found.n == 2);
    assert_int_equal(find(bench, "A").state, KEPT_OWED);
}

static void of_the_unknown_it_is_told_how_far_was_read(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(find(bench, "a").state, KEPT_UNKNOWN);
    assert_int_equal(find(bench, "a").read_up_to, -1);
    run_script(bench, "INSERT INTO meta (id, cursor, block_number) VALUES ('content', 'x', 4711)");
    assert_int_equal(find(bench, "a").read_up_to, 4711);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(pieces_of_a_document_are_its_bytes),
        ON_STORE(an_empty_document_is_whole),
        ON_STORE(what_is_owed_says_why_and_when),
        ON_STORE(bytes_under_another_spelling_are_found),
        ON_STORE(of_the_unknown_it_is_told_how_far_was_read),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
