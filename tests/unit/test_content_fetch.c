/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents from gateways that are good, slow, lying, full or gone. */
#include "fetch_bench.h"

#include <stdio.h>
#include <string.h>

static void a_block_is_asked_for_as_it_is_and_checked(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("hello world"));
    fetch_bench_begin(b, block, 0);
    assert_int_equal(b->desk.sent_count, 1);
    assert_string_equal(b->desk.sent[0].url,
                        "http://user:key@a.example/ipfs/"
                        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e?format=raw");
    fetch_bench_give(b, "a.example", block);
    assert_int_equal(b->ended, 1);
    assert_int_equal(b->rc, RC_OK);
    assert_string_equal(text_string(&b->content), "hello world");
    assert_int_equal(fetch_bench_provider(b, "a.example")->successes, 1);
}

/* Every block of a file is fetched, several at a time; any gateway may give any of them. */
static void a_file_of_many_blocks_comes_together(void **state)
{
    struct bench *b = *state;
    static char file[1000];
    for (size_t i = 0; i < sizeof file; i++)
        file[i] = (char)(i * 7 / 3);
    size_t root = ipfs_blocks_add_file(&b->blocks, bytes_make(file, sizeof file),
                                       &(struct ipfs_shape){100, 4, false});
    fetch_bench_begin(b, root, 0);
    unsigned most = 0;
    while (b->ended == 0) {
        unsigned open = fetch_bench_open_requests(b);
        most = open > most ? open : most;
        for (size_t i = 0; i < b->blocks.count && b->ended == 0; i++)
            if (fetch_bench_find(b, "example", i) >= 0)
                fetch_bench_give(b, "example", i);
        http_desk_pass(&b->desk, 0);
    }
    assert_int_equal(b->rc, RC_OK);
    assert_int_equal(most, CONTENT_BLOCKS_AT_ONCE);
    assert_int_equal(b->desk.sent_count, b->blocks.count);
    assert_int_equal(b->content.len, sizeof file);
    assert_memory_equal(b->content.data, file, sizeof file);
}

/* Bytes that fail their hash are never the document, and the gateway loses its standing. */
static void a_liar_is_not_believed_and_falls_behind(void **state)
{
    struct bench *b = *state;
    size_t lied = ipfs_blocks_add(&b->blocks, true, bytes_of("the truth"));
    size_t other = ipfs_blocks_add(&b->blocks, true, bytes_of("another truth"));
    fetch_bench_begin(b, lied, 0);
    int at = fetch_bench_find(b, "a.example", lied);
    http_desk_answer(&b->desk, (size_t)at, 200, "the truth!");
    assert_int_equal(b->ended, 0);
    fetch_bench_give(b, "b.example", lied);
    assert_string_equal(text_string(&b->content), "the truth");
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 1);
    fetch_bench_begin(b, other, 0);
    assert_int_equal(fetch_bench_find(b, "a.example", other), -1);
    fetch_bench_give(b, "example", other);
    assert_int_equal(b->ended, 2);
}

/* R002-03: a slow gateway is not waited for: who answers first wins, the other is let go. */
static void a_slow_gateway_is_overtaken(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("slow"));
    fetch_bench_begin(b, block, 0);
    http_desk_pass(&b->desk, 999 * DESK_MS);
    assert_int_equal(fetch_bench_open_requests(b), 1);
    http_desk_pass(&b->desk, 1 * DESK_MS);
    assert_int_equal(fetch_bench_open_requests(b), 2);
    fetch_bench_give(b, "b.example:8080", block);
    assert_int_equal(b->ended, 1);
    assert_int_equal(fetch_bench_open_requests(b), 0);
    assert_true(b->desk.sent[0].cancelled);
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 0);
}

static void when_all_fail_each_says_why_and_nothing_is_content(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("gone"));
    fetch_bench_begin(b, block, 0);
    fetch_bench_refuse(b, "a.example", block, 404);
    fetch_bench_refuse(b, "b.example", block, 410);
    assert_int_equal(b->ended, 0);
    fetch_bench_refuse(b, "c.example", block, 504);
    assert_int_equal(b->ended, 1);
    assert_int_equal(b->rc, RC_RETRY);
    assert_string_equal(b->said, "a.example: transient: the gateway answers 404; "
                                 "b.example:8080: permanent: the gateway answers 410; "
                                 "c.example: transient: the gateway answers 504; ");
    /* Not having a block is no fault of theirs. */
    for (int i = 0; i < 3; i++)
        assert_int_equal(gateways_group(b->gateways)->providers[i].failures, 0);
}

static void a_gateway_that_refused_for_good_is_left_out(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("left out"));
    fetch_bench_begin(b, block, 1U << 0 | 1U << 1);
    assert_int_equal(b->desk.sent_count, 1);
    fetch_bench_refuse(b, "c.example", block, 451);
    assert_string_equal(b->said, "c.example: permanent: the gateway answers 451; ");
    /* When all refused, all are asked again. */
    fetch_bench_begin(b, block, 7);
    fetch_bench_give(b, "a.example", block);
    assert_int_equal(b->rc, RC_OK);
}

/* A 429 pauses the gateway; the others do its work until its time has come. */
static void a_limit_is_kept(void **state)
{
    struct bench *b = *state;
    size_t first = ipfs_blocks_add(&b->blocks, true, bytes_of("1"));
    size_t second = ipfs_blocks_add(&b->blocks, true, bytes_of("2"));
    fetch_bench_begin(b, first, 6); /* a.example only */
    int at = fetch_bench_find(b, "a.example", first);
    http_desk_answer_with(&b->desk, (size_t)at,
                          (struct http_response){.status = 429, .retry_after_ms = 20000}, "");
    assert_string_equal(b->said, "a.example: rate-limited: the gateway answers 429; ");
    fetch_bench_begin(b, second, 6);
    http_desk_pass(&b->desk, 19999 * DESK_MS);
    assert_int_equal(fetch_bench_open_requests(b), 0);
    http_desk_pass(&b->desk, 1 * DESK_MS);
    fetch_bench_give(b, "a.example", second);
    assert_int_equal(b->ended, 2);
}

static void break_gateway(struct bench *b, const char *gateway, uint32_t without, size_t block)
{
    for (int round = 0; round < PROVIDER_OPEN_FAILURES; round++) {
        fetch_bench_begin(b, block, without);
        fetch_bench_refuse(b, gateway, block, 500);
    }
}

/* Who could be asked said no, the others are left alone for long: nobody waits for them. */
static void a_refusal_does_not_wait_for_broken_gateways(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("elsewhere"));
    break_gateway(b, "a.example", 6, block);
    break_gateway(b, "b.example", 5, block);
    unsigned ended = b->ended;
    fetch_bench_begin(b, block, 0);
    fetch_bench_refuse(b, "c.example", block, 404);
    assert_int_equal(b->ended, ended + 1);
    assert_string_equal(b->said, "c.example: transient: the gateway answers 404; ");
    http_desk_pass(&b->desk, PROVIDER_OPEN_US_MIN - 1000 * DESK_MS);
    fetch_bench_begin(b, block, 0);
    fetch_bench_refuse(b, "c.example", block, 404);
    assert_int_equal(b->ended, ended + 1);
    http_desk_pass(&b->desk, 1000 * DESK_MS);
    fetch_bench_give(b, "a.example", block);
    assert_int_equal(b->ended, ended + 2);
    assert_int_equal(b->rc, RC_OK);
}

/* Without any gateway that may be asked, a call waits for its time and then says so. */
static void broken_gateways_are_left_alone_and_then_probed(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("broken"));
    break_gateway(b, "a.example", 6, block);
    size_t sent = b->desk.sent_count;
    fetch_bench_begin(b, block, 6);
    http_desk_pass(&b->desk, PROVIDER_OPEN_US_MIN - 1);
    assert_int_equal(b->desk.sent_count, sent);
    http_desk_pass(&b->desk, 1);
    assert_int_equal(b->desk.sent_count, sent + 1);
    fetch_bench_refuse(b, "a.example", block, 500);
    fetch_bench_begin(b, block, 6);
    http_desk_pass(&b->desk, 2 * PROVIDER_OPEN_US_MIN);
    fetch_bench_refuse(b, "a.example", block, 500);
    unsigned ended = b->ended;
    fetch_bench_begin(
        b, block, 6); /* its opening is twice as long each time: beyond the time of a call now */
    http_desk_pass(&b->desk, 59 * 1000 * DESK_MS);
    assert_int_equal(b->ended, ended);
    http_desk_pass(&b->desk, 1000 * DESK_MS);
    assert_int_equal(b->ended, ended + 1);
    assert_int_equal(b->rc, RC_RETRY);
}

static void what_is_no_file_ends_at_once(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, false, bytes_make("\x0a\x02\x08\x01", 4));
    fetch_bench_begin(b, block, 0);
    fetch_bench_give(b, "a.example", block);
    assert_int_equal(b->rc, RC_REJECT);
    assert_string_equal(b->said, "a directory, not a file");
}

static void a_fetch_that_is_cancelled_says_nothing(void **state)
{
    struct bench *b = *state;
    static char file[300];
    size_t root = ipfs_blocks_add_file(&b->blocks, bytes_make(file, sizeof file),
                                       &(struct ipfs_shape){100, 4, false});
    fetch_bench_begin(b, root, 0);
    content_fetch_cancel(&b->fetch);
    fetch_bench_begin(b, root, 0);
    fetch_bench_give(b, "a.example", root);
    http_desk_pass(&b->desk, 0);
    assert_int_equal(fetch_bench_open_requests(b), 1); /* three equal blocks are one */
    content_fetch_cancel(&b->fetch);
    assert_int_equal(b->ended, 0);
    assert_int_equal(fetch_bench_open_requests(b), 0);
}

static unsigned growing;

static void note_growth(void *arg)
{
    (void)arg;
    growing++;
}

static void begin_that_may_grow(struct bench *b, size_t block)
{
    struct content_wish wish = {fetch_bench_cid(b, block), BYTES_ABSENT, 2 * CONTENT_LARGE, 0,
                                note_growth};
    growing = 0;
    content_fetch_begin(&b->fetch, b->gateways, &wish, fetch_bench_outcome, b);
    http_desk_pass(&b->desk, 0);
}

/* I6: how large a document is, strangers decide. One that says so takes no memory before its owner
 * lets it. */
static void a_large_file_waits_until_it_may_grow(void **state)
{
    struct bench *b = *state;
    static char file[CONTENT_LARGE + 1];
    for (size_t i = 0; i < sizeof file; i++)
        file[i] = (char)(i >> 20);
    size_t root = ipfs_blocks_add_file(&b->blocks, bytes_make(file, sizeof file),
                                       &(struct ipfs_shape){1 << 20, 4, true});
    begin_that_may_grow(b, root);
    fetch_bench_give(b, "a.example", root);
    http_desk_pass(&b->desk, 0);
    assert_int_equal(growing, 1);
    assert_int_equal(fetch_bench_open_requests(b), 0);
    content_fetch_grow(&b->fetch);
    http_desk_pass(&b->desk, 0);
    for (size_t i = 0; i < b->blocks.count; i++)
        if (fetch_bench_find(b, "example", i) >= 0)
            fetch_bench_give(b, "example", i);
    assert_int_equal(b->ended, 1);
    assert_int_equal(b->rc, RC_OK);
    assert_int_equal(b->content.len, sizeof file);
    assert_memory_equal(b->content.data, file, sizeof file);
    assert_int_equal(growing, 1);
}

/* The same for a bare block: it is refused unread, and asked for anew. */
static void a_large_block_waits_until_it_may_grow(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("large"));
    begin_that_may_grow(b, block);
    assert_int_equal(b->desk.sent[0].body_bytes_max, CONTENT_LARGE);
    for (int at; (at = fetch_bench_find(b, "example", block)) >= 0; http_desk_pass(&b->desk, 0))
        http_desk_answer_with(&b->desk, (size_t)at,
                              (struct http_response){.rc = RC_REJECT, .retry_after_ms = -1}, "");
    assert_int_equal(growing, 1);
    assert_int_equal(b->ended, 0);
    content_fetch_grow(&b->fetch);
    http_desk_pass(&b->desk, 0);
    int at = fetch_bench_find(b, "example", block);
    assert_true(at >= 0);
    assert_int_equal(b->desk.sent[at].body_bytes_max, 2 * CONTENT_LARGE);
    fetch_bench_give(b, "example", block);
    assert_int_equal(b->rc, RC_OK);
    assert_string_equal(text_string(&b->content), "large");
}

/* One gateway has so many places; who finds none waits until one comes free. */
static void places_at_a_gateway_are_bounded(void **state)
{
    struct bench *b = *state;
    enum { FETCHES = 9 }; /* one more than there are places */
    static struct content_fetch fetches[FETCHES];
    size_t blocks[FETCHES];
    for (size_t i = 0; i < FETCHES; i++) {
        char word[16];
        snprintf(word, sizeof word, "place %zu", i);
        blocks[i] = ipfs_blocks_add(&b->blocks, true, bytes_of(word));
        struct content_wish wish = {fetch_bench_cid(b, blocks[i]), BYTES_ABSENT, BENCH_DOCUMENT_MAX,
                                    6, NULL};
        content_fetch_begin(&fetches[i], b->gateways, &wish, fetch_bench_outcome, b);
    }
    http_desk_pass(&b->desk, 100 * DESK_MS);
    assert_int_equal(fetch_bench_open_requests(b), FETCHES - 1);
    for (size_t i = 0; i < FETCHES; i++) {
        fetch_bench_give(b, "a.example", blocks[i]);
        http_desk_pass(&b->desk, 0);
    }
    assert_int_equal(b->ended, FETCHES);
}

/* ---- paths ---- */

static void a_path_leads_through_directories(void **state)
{
    struct bench *b = *state;
    size_t file = ipfs_blocks_add(&b->blocks, true, bytes_of("a picture"));
    size_t inner = ipfs_blocks_add_folder(&b->blocks, IPFS_FOLDER, "my file.png", file);
    size_t outer = ipfs_blocks_add_folder(&b->blocks, IPFS_FOLDER, "img", inner);
    const size_t way[] = {outer, inner, file};
    fetch_bench_begin_path(b, outer, "img/my%20file.png", 6);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(b->ended, 0);
        assert_int_equal(fetch_bench_open_requests(b), 1);
        fetch_bench_give(b, "a.example", way[i]);
        http_desk_pass(&b->desk, 0);
    }
    assert_int_equal(b->rc, RC_OK);
    assert_string_equal(text_string(&b->content), "a picture");
}

/* The hash of "name" begins with 67 CE, that of "my 1.png" with EF. */
static void a_directory_of_shards_is_gone_through_by_the_hashes_of_names(void **state)
{
    struct bench *b = *state;
    size_t file = ipfs_blocks_add(&b->blocks, true, bytes_of("a picture"));
    size_t inner = ipfs_blocks_add_folder(&b->blocks, IPFS_SHARDS, "EFmy 1.png", file);
    size_t second = ipfs_blocks_add_folder(&b->blocks, IPFS_SHARDS, "CEname", inner);
    size_t first = ipfs_blocks_add_folder(&b->blocks, IPFS_SHARDS, "67", second);
    const size_t way[] = {first, second, inner, file};
    fetch_bench_begin_path(b, first, "name/my%201.png", 6);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(b->ended, 0);
        fetch_bench_give(b, "a.example", way[i]);
        http_desk_pass(&b->desk, 0);
    }
    assert_int_equal(b->rc, RC_OK);
    assert_string_equal(text_string(&b->content), "a picture");
}

/* Each of these will never be a file, and says why. */
static void a_path_that_leads_nowhere_is_refused_for_good(void **state)
{
    struct bench *b = *state;
    char longest[UNIXFS_NAME_MAX + 2];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    size_t file = ipfs_blocks_add(&b->blocks, true, bytes_of("a file"));
    size_t folder = ipfs_blocks_add_folder(&b->blocks, IPFS_FOLDER, "name", file);
    size_t shards = ipfs_blocks_add_folder(&b->blocks, IPFS_SHARDS, "00name", file);
    size_t others = ipfs_blocks_add(&b->blocks, false, bytes_make("\x0a\x02\x08\x05", 4));
    const struct {
        size_t block;
        const char *path, *why;
    } cases[] = {
        {folder, "nam", "the directory has no `nam`"},
        {folder, "name%00", "the directory has no `name%00`"},
        {folder, "..", "the directory has no `..`"},
        {folder, longest, "the path has a name of more than 255 bytes"},
        {file, "name", "a file where a directory with `name` should be"},
        {shards, "name", "the directory has no `name`"},
        {others, "name", "`name` lies in a directory of shards that are not read"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fetch_bench_begin_path(b, cases[i].block, cases[i].path, 6);
        fetch_bench_give(b, "a.example", cases[i].block);
        assert_int_equal(b->ended, i + 1);
        assert_int_equal(b->rc, RC_REJECT);
        assert_string_equal(b->said, cases[i].why);
    }
}

static void a_path_has_no_more_names_than_are_gone(void **state)
{
    struct bench *b = *state;
    struct text path = {0};
    size_t blocks[UNIXFS_PATH_STEPS_MAX + 2];
    blocks[0] = ipfs_blocks_add(&b->blocks, true, bytes_of("deep"));
    for (unsigned i = 0; i <= UNIXFS_PATH_STEPS_MAX; i++) {
        blocks[i + 1] = ipfs_blocks_add_folder(&b->blocks, IPFS_FOLDER, "a", blocks[i]);
        text_append_string(&path, i == 0 ? "a" : "/a");
    }
    fetch_bench_begin_path(b, blocks[UNIXFS_PATH_STEPS_MAX + 1], text_string(&path), 6);
    for (unsigned i = UNIXFS_PATH_STEPS_MAX + 1; i > 0; i--) {
        assert_int_equal(b->ended, 0);
        fetch_bench_give(b, "a.example", blocks[i]);
        http_desk_pass(&b->desk, 0);
    }
    assert_int_equal(b->rc, RC_REJECT);
    assert_string_equal(b->said, "the path leads through more than 32 blocks");
    text_free(&path);
}

static void a_directory_that_nobody_gives_is_tried_again(void **state)
{
    struct bench *b = *state;
    size_t file = ipfs_blocks_add(&b->blocks, true, bytes_of("a file"));
    size_t folder = ipfs_blocks_add_folder(&b->blocks, IPFS_FOLDER, "name", file);
    fetch_bench_begin_path(b, folder, "name", 6);
    fetch_bench_refuse(b, "a.example", folder, 404);
    assert_int_equal(b->rc, RC_RETRY);
    fetch_bench_begin_path(b, folder, "name", 6);
    content_fetch_cancel(&b->fetch);
    assert_int_equal(fetch_bench_open_requests(b), 0);
    assert_int_equal(b->ended, 1);
}

int main(void)
{
#define ON_BENCH(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, fetch_bench_set_up, fetch_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_BENCH(a_block_is_asked_for_as_it_is_and_checked),
        ON_BENCH(a_file_of_many_blocks_comes_together),
        ON_BENCH(a_liar_is_not_believed_and_falls_behind),
        ON_BENCH(a_slow_gateway_is_overtaken),
        ON_BENCH(when_all_fail_each_says_why_and_nothing_is_content),
        ON_BENCH(a_gateway_that_refused_for_good_is_left_out),
        ON_BENCH(a_limit_is_kept),
        ON_BENCH(a_refusal_does_not_wait_for_broken_gateways),
        ON_BENCH(broken_gateways_are_left_alone_and_then_probed),
        ON_BENCH(what_is_no_file_ends_at_once),
        ON_BENCH(a_fetch_that_is_cancelled_says_nothing),
        ON_BENCH(a_large_file_waits_until_it_may_grow),
        ON_BENCH(a_large_block_waits_until_it_may_grow),
        ON_BENCH(places_at_a_gateway_are_bounded),
        ON_BENCH(a_path_leads_through_directories),
        ON_BENCH(a_directory_of_shards_is_gone_through_by_the_hashes_of_names),
        ON_BENCH(a_path_that_leads_nowhere_is_refused_for_good),
        ON_BENCH(a_path_has_no_more_names_than_are_gone),
        ON_BENCH(a_directory_that_nobody_gives_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
