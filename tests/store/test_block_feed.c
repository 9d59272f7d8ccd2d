/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks told by another indexer, from a file that grows and from a server, into the content source
 * and a real store. */
#include "content_bench.h"
#include "source/block_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static FILE *lines; /* that the feed is */
static bool server; /* it is asked for by HTTP; the test answers */
static uint64_t start;

/* ---- the feed ---- */

static void *open_reader(struct content_bench *b)
{
    struct block_feed_settings settings = {.start_block = start};
    if (server)
        settings.url = "http://feed/blocks";
    else
        assert_ok(byte_stream_open(path, &settings.stream, &b->err));
    return block_feed_new(&b->env, &settings);
}

static void feed_reader(struct content_bench *b)
{
    block_feed_feed(b->reader_arg, b->content);
}

static void stop_reader(struct content_bench *b)
{
    block_feed_stop(b->reader_arg);
}

static void close_reader(struct content_bench *b)
{
    block_feed_free(b->reader_arg);
}

static const struct bench_reader reader = {&block_feed_events, open_reader, feed_reader,
                                           stop_reader, close_reader};

static int set_up(void **state)
{
    snprintf(path, sizeof path, "/tmp/tidemark-feed-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    lines = fdopen(fd, "a");
    server = false;
    start = 0;
    return content_bench_set_up(state);
}

static int tear_down(void **state)
{
    int rc = content_bench_tear_down(state);
    fclose(lines);
    unlink(path);
    return rc;
}

/* ---- what it says ---- */

/* A line about a block of a fork that names the documents of these letters. */
static void print_line(struct content_bench *b, struct text *out, uint64_t number, char fork,
                       char fork_before, const char *letters)
{
    text_appendf(out,
                 "{\"cursor\":\"c/%llu%c \\\"\\u00fc\\\"\",\"number\":%llu,\"hash\":\"h%llu%c\","
                 "\"parent\":\"h%llu%c\",\"uris\":[",
                 (unsigned long long)number, fork, (unsigned long long)number,
                 (unsigned long long)number, fork, (unsigned long long)number - 1, fork_before);
    for (const char *at = letters; *at != '\0'; at++)
        text_appendf(out, "%s\"ipfs://%s\"", at == letters ? "" : ",", content_bench_cid(b, *at));
    text_append_string(out, "]}\n");
}

static void tell(struct content_bench *b, const char *words)
{
    fputs(words, lines);
    fflush(lines);
    content_bench_pass(b, 300 * DESK_MS);
}

static void tell_block(struct content_bench *b, uint64_t number, char fork, char fork_before,
                       const char *letters)
{
    struct text out = {0};
    print_line(b, &out, number, fork, fork_before, letters);
    tell(b, text_string(&out));
    text_free(&out);
}

static void tell_undo(struct content_bench *b, uint64_t number, char fork)
{
    char line[128];
    snprintf(line, sizeof line,
             "{\"cursor\":\"c/%llu%c \\\"\\u00fc\\\"\",\"number\":%llu,\"hash\":\"h%llu%c\","
             "\"undo\":true}\n",
             (unsigned long long)number, fork, (unsigned long long)number,
             (unsigned long long)number, fork);
    tell(b, line);
}

/* Everything that is asked for is given and committed. */
static void run(struct content_bench *b)
{
    for (int idle = 0; idle < 3;) {
        bool moved = content_bench_commit(b);
        for (int letter = 'A'; letter <= 'Z'; letter++)
            if (content_bench_asking(b, (char)letter) > 0) {
                content_bench_give(b, (char)letter);
                moved = true;
            }
        if (!moved)
            content_bench_pass(b, 1000 * DESK_MS);
        idle = moved ? 0 : idle + 1;
    }
}

static bool cursor_is(struct content_bench *b, const char *cursor)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM meta WHERE id = 'content' AND cursor = '%s'",
             cursor);
    return content_bench_number(b, sql) == 1;
}

static int64_t references(struct content_bench *b)
{
    return content_bench_number(b, "SELECT count(*) FROM document_refs");
}

static int64_t quarantined(struct content_bench *b, const char *like)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM quarantine WHERE source = 'content' AND reason LIKE '%s'", like);
    return content_bench_number(b, sql);
}

static const char *trouble(struct content_bench *b)
{
    static struct block_feed_view view;
    block_feed_look(b->reader_arg, &view);
    return view.trouble;
}

/* R002-01, R002-18: any indexer can drive it; its cursor is kept byte for byte, and after a crash
 * the feed is read from its beginning and nothing happens twice. */
static void a_feed_is_followed_and_gone_on_with_after_a_crash(void **state)
{
    struct content_bench *b = *state;
    content_bench_read_by(b, &reader);
    tell_block(b, 100, 'a', 'a', "A");
    tell_block(b, 101, 'a', 'a', "");
    tell_block(b, 102, 'a', 'a', "BC");
    run(b);
    assert_int_equal(content_bench_position(b), 102);
    assert_true(cursor_is(b, "c/102a \"\xc3\xbc\""));
    tell_block(b, 103, 'a', 'a', "D"); /* under way */
    content_bench_crash(b);
    content_bench_pass(b, 300 * DESK_MS);
    assert_int_equal(content_bench_asking(b, 'D'), 1);
    assert_int_equal(b->desk.sent_count, 1); /* and nothing that is there */
    tell_block(b, 104, 'a', 'a', "A");
    run(b);
    assert_int_equal(content_bench_position(b), 104);
    assert_true(cursor_is(b, "c/104a \"\xc3\xbc\""));
    assert_int_equal(references(b), 5);
    assert_int_equal(content_bench_holes(b), 0);
    assert_int_equal(quarantined(b, "%"), 0);
}

/* The feed goes on by itself after what is stored: its first line is the next block. */
static void a_feed_that_goes_on_by_itself_is_taken_as_it_is(void **state)
{
    struct content_bench *b = *state;
    content_bench_read_by(b, &reader);
    tell_block(b, 100, 'a', 'a', "A");
    run(b);
    assert_int_equal(ftruncate(fileno(lines), 0), 0);
    content_bench_crash(b);
    tell_block(b, 101, 'a', 'a', "B");
    run(b);
    assert_int_equal(content_bench_position(b), 101);
    assert_int_equal(references(b), 2);
}

/* R002-18: an undo takes blocks back, in the store and under way; after each step a crash. */
static void an_undo_in_the_feed_is_undone(void **state)
{
    struct content_bench *b = *state;
    for (int crash = 0; crash < 4; crash++) {
        assert_int_equal(ftruncate(fileno(lines), 0), 0);
        content_bench_wipe(b);
        content_bench_read_by(b, &reader);
        tell_block(b, 100, 'a', 'a', "A");
        tell_block(b, 101, 'a', 'a', "B");
        run(b);
        tell_block(b, 102, 'a', 'a', "C");
        if (crash == 1)
            content_bench_crash(b);
        tell_undo(b, 100, 'a');
        if (crash == 2)
            content_bench_crash(b);
        while (content_bench_commit(b))
            ;
        if (crash == 3)
            content_bench_crash(b);
        tell_block(b, 101, 'b', 'a', "D");
        run(b);
        assert_int_equal(content_bench_position(b), 101);
        assert_true(cursor_is(b, "c/101b \"\xc3\xbc\""));
        assert_int_equal(references(b), 2);
        assert_true(content_bench_stored(b, 'D') && content_bench_stored(b, 'B'));
        assert_int_equal(content_bench_number(b, "SELECT count(*) FROM chain_blocks "
                                                 "WHERE hash = 'h101b'"),
                         1);
    }
}

/* R002-12: a line that is none is kept, with its number and the reason; the next one is read, and
 * the position passes it only with the row. */
static void a_line_that_is_none_is_quarantined_and_the_next_is_read(void **state)
{
    struct content_bench *b = *state;
    content_bench_read_by(b, &reader);
    tell_block(b, 100, 'a', 'a', "A");
    tell(b, "\n{\"cursor\":\"c\",\"numb");
    tell(b, "er\":101,\"uris\":[\"https://no\"]}\n"); /* in two pieces */
    tell(b, "not JSON\n");
    tell_block(b, 102, 'a', 'a', "B");
    while (content_bench_position(b) < 102) {
        assert_true(content_bench_position(b) < 101 || quarantined(b, "%") == 2);
        run(b);
    }
    assert_int_equal(quarantined(b, "content.feed, line 3: `uris[0]`%"), 1);
    assert_int_equal(quarantined(b, "content.feed, line 4: %"), 1);
    assert_non_null(strstr(trouble(b), "line 4"));
    assert_int_equal(content_bench_number(b, "SELECT max(length(raw)) FROM quarantine"), 49);
    assert_int_equal(references(b), 2);
}

/* R002-12: a uri that is none is kept with its line; what else the block names is taken, its place
 * and its cursor are its own, and the position passes it only with the row. Told again, from before
 * what is stored, it is not kept again. */
static void a_uri_that_is_none_costs_its_block_nothing_else(void **state)
{
    struct content_bench *b = *state;
    char line[256];
    content_bench_read_by(b, &reader);
    tell_block(b, 100, 'a', 'a', "A");
    snprintf(line, sizeof line,
             "{\"cursor\":\"c101\",\"number\":101,\"hash\":\"h101\",\"uris\":[\"ipfs://%s\","
             "\"http://x\",7]}\n",
             content_bench_cid(b, 'B'));
    tell(b, line);
    tell(b, "{\"cursor\":\"c102\",\"number\":102,\"parent\":\"h101\",\"uris\":[\"http://y\"]}\n");
    for (int i = 0; i < 10 && content_bench_position(b) < 102; i++) {
        assert_true(content_bench_position(b) < 101 || quarantined(b, "%line 2%") == 1);
        run(b);
    }
    assert_int_equal(content_bench_position(b), 102);
    assert_true(cursor_is(b, "c102"));
    assert_true(content_bench_stored(b, 'B'));
    assert_int_equal(references(b), 2);
    assert_int_equal(content_bench_holes(b), 0);
    assert_int_equal(quarantined(b, "content.feed, line 2: `uris[1]` and 1 more%"), 1);
    assert_int_equal(quarantined(b, "content.feed, line 3: `uris[0]`: no %"), 1);
    assert_non_null(strstr(trouble(b), "line 3"));
    content_bench_crash(b);
    tell_block(b, 103, 'a', 'a', "C");
    run(b);
    assert_int_equal(content_bench_position(b), 103);
    assert_int_equal(content_bench_number(b, "SELECT max(times) FROM quarantine"), 1);
}

/* A line that never ends does not fill the memory. */
static void a_line_that_is_too_long_is_cut_and_passed_over(void **state)
{
    struct content_bench *b = *state;
    content_bench_read_by(b, &reader);
    char *long_line = calloc(1, (3 << 20) + 2);
    memset(long_line, 'x', 3 << 20);
    long_line[3 << 20] = '\n';
    tell(b, long_line);
    free(long_line);
    tell_block(b, 100, 'a', 'a', "A");
    run(b);
    assert_int_equal(content_bench_position(b), 100);
    assert_int_equal(quarantined(b, "content.feed, line 1: it is longer%"), 1);
    assert_int_equal(content_bench_number(b, "SELECT size FROM quarantine"), 3 << 20);
}

/* R002-06: numbers that are left out are empty blocks; blocks below the start are nobody's. */
static void numbers_that_are_left_out_name_nothing(void **state)
{
    struct content_bench *b = *state;
    start = 100;
    content_bench_read_by(b, &reader);
    tell_block(b, 99, 'a', 'a', "X");
    tell_block(b, 100, 'a', 'a', "A");
    tell_block(b, 5000, 'a', 'a', "B"); /* far more than are under way at a time */
    run(b);
    assert_int_equal(content_bench_position(b), 5000);
    assert_int_equal(references(b), 2);
}

/* The same block again changes nothing; another one in its place, without an undo, stops it. */
static void a_contradiction_without_an_undo_stops_the_reading(void **state)
{
    struct content_bench *b = *state;
    struct block_feed_view view;
    content_bench_read_by(b, &reader);
    tell_block(b, 100, 'a', 'a', "A");
    tell_block(b, 101, 'a', 'a', "B");
    tell_block(b, 100, 'a', 'a', "A");
    tell_block(b, 101, 'a', 'a', "B");
    tell_block(b, 102, 'b', 'b', "C");
    run(b);
    block_feed_look(b->reader_arg, &view);
    assert_true(view.stuck);
    assert_non_null(strstr(view.trouble, "line 5: block 102 has the parent h101b, but block 101 is "
                                         "h101a: an undo is missing"));
    assert_int_equal(content_bench_position(b), 101);
    assert_int_equal(references(b), 2);
}

/* A number that is really a time: nothing is made of it, and the position stays. */
static void a_jump_that_cannot_be_believed_stops_the_reading(void **state)
{
    struct content_bench *b = *state;
    struct block_feed_view view;
    content_bench_read_by(b, &reader);
    tell_block(b, 100, 'a', 'a', "A");
    tell_block(b, 1763481600, 'a', 'a', "B");
    tell_block(b, 101, 'a', 'a', "C");
    run(b);
    block_feed_look(b->reader_arg, &view);
    assert_true(view.stuck);
    assert_non_null(strstr(view.trouble, "line 2: block 1763481600 comes after block 100"));
    assert_non_null(strstr(view.trouble, "set content.start_block to 1763481600"));
    assert_int_equal(content_bench_position(b), 100);
    assert_int_equal(references(b), 1);
}

/* ---- a file that begins anew ---- */

/* The file loses what it holds and gets blocks `from` to `to` at once, before anybody looks. */
static void rewrite(struct content_bench *b, uint64_t from, uint64_t to)
{
    struct text out = {0};
    assert_int_equal(ftruncate(fileno(lines), 0), 0);
    for (uint64_t number = from; number <= to; number++)
        print_line(b, &out, number, 'a', 'a', (char[]){(char)('A' + number - 100), '\0'});
    tell(b, text_string(&out));
    text_free(&out);
}

static void tell_some(struct content_bench *b, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number <= to; number++)
        tell_block(b, number, 'a', 'a', (char[]){(char)('A' + number - 100), '\0'});
    run(b);
}

/* R002-18: the indexer empties its file and writes what follows, more than had been read. */
static void a_file_that_was_emptied_and_filled_is_read_from_its_beginning(void **state)
{
    struct content_bench *b = *state;
    content_bench_read_by(b, &reader);
    tell_some(b, 100, 103);
    rewrite(b, 104, 115);
    run(b);
    assert_int_equal(content_bench_position(b), 115);
    assert_int_equal(references(b), 16);
    rewrite(b, 116, 117); /* less than had been read */
    run(b);
    assert_int_equal(references(b), 18);
    rewrite(b, 110, 119); /* it begins with what was taken already */
    run(b);
    assert_int_equal(content_bench_position(b), 119);
    assert_int_equal(references(b), 20);
    assert_int_equal(content_bench_holes(b), 0);
    assert_int_equal(quarantined(b, "%"), 0);
    assert_string_equal(trouble(b), "");
}

/* The file's name goes to another one. The old one is read to its end, also what was added after
 * that, until there is something in the new one; a line that was left without its end is kept. */
static void a_file_that_was_replaced_is_gone_on_with(void **state)
{
    struct content_bench *b = *state;
    char other[sizeof path + 8];
    content_bench_read_by(b, &reader);
    tell_some(b, 100, 101);
    snprintf(other, sizeof other, "%s.old", path);
    assert_int_equal(rename(path, other), 0);
    FILE *fresh = fopen(path, "a");
    assert_non_null(fresh);
    content_bench_pass(b, 1000 * DESK_MS);
    tell_some(b, 102, 103);
    tell(b, "{\"cursor\":");
    fclose(lines);
    lines = fresh;
    tell_some(b, 104, 105);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(content_bench_position(b), 105);
    assert_int_equal(references(b), 6);
    assert_int_equal(content_bench_holes(b), 0);
    assert_int_equal(quarantined(b, "content.feed, line 5: %"), 1);
}

/* ---- by HTTP ---- */

/* The question that is open, or -1. */
static int question(struct content_bench *b)
{
    for (size_t i = 0; i < b->desk.sent_count; i++)
        if (b->desk.sent[i].done != NULL && strstr(b->desk.sent[i].url, "http://feed/") != NULL)
            return (int)i;
    return -1;
}

static void answer(struct content_bench *b, int status, const char *body)
{
    int at = question(b);
    assert_true(at >= 0);
    http_desk_answer(&b->desk, (size_t)at, status, body);
    run(b);
}

/* R002-18: the server is asked for what follows the last cursor, also after a crash; one that sends
 * everything again does no harm, and one that fails is asked again. */
static void a_server_is_asked_for_what_follows_the_cursor(void **state)
{
    struct content_bench *b = *state;
    struct text body = {0};
    server = true;
    content_bench_read_by(b, &reader);
    assert_string_equal(b->desk.sent[question(b)].url, "http://feed/blocks");
    print_line(b, &body, 100, 'a', 'a', "A");
    print_line(b, &body, 101, 'a', 'a', "B");
    answer(b, 200, text_string(&body));
    assert_int_equal(content_bench_position(b), 101);
    assert_string_equal(b->desk.sent[question(b)].url,
                        "http://feed/blocks?cursor=c%2F101a%20%22%C3%BC%22");
    answer(b, 503, "");
    assert_non_null(strstr(trouble(b), "503"));
    content_bench_crash(b);
    assert_string_equal(b->desk.sent[question(b)].url,
                        "http://feed/blocks?cursor=c%2F101a%20%22%C3%BC%22");
    print_line(b, &body, 102, 'a', 'a', "C"); /* with all that was sent before */
    body.len--;                               /* its last line does not end */
    answer(b, 200, text_string(&body));
    assert_int_equal(content_bench_position(b), 102);
    answer(b, 200, "");
    assert_true(question(b) >= 0);
    assert_int_equal(references(b), 3);
    assert_int_equal(quarantined(b, "%"), 0);
    text_free(&body);
}

int main(void)
{
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_feed_is_followed_and_gone_on_with_after_a_crash),
        ON_STORE(a_feed_that_goes_on_by_itself_is_taken_as_it_is),
        ON_STORE(an_undo_in_the_feed_is_undone),
        ON_STORE(a_line_that_is_none_is_quarantined_and_the_next_is_read),
        ON_STORE(a_uri_that_is_none_costs_its_block_nothing_else),
        ON_STORE(a_line_that_is_too_long_is_cut_and_passed_over),
        ON_STORE(numbers_that_are_left_out_name_nothing),
        ON_STORE(a_contradiction_without_an_undo_stops_the_reading),
        ON_STORE(a_jump_that_cannot_be_believed_stops_the_reading),
        ON_STORE(a_file_that_was_emptied_and_filled_is_read_from_its_beginning),
        ON_STORE(a_file_that_was_replaced_is_gone_on_with),
        ON_STORE(a_server_is_asked_for_what_follows_the_cursor),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
