/* SPDX-License-Identifier: Apache-2.0 */
#include "chance.h"
#include "decode/unixfs.h"
#include "sim/ipfs_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SIZE_MAX_BYTES ((size_t)1 << 20)
#define WANTED_MAX     64

static struct cid cid_of(const char *text)
{
    struct cid cid;
    assert_int_equal(cid_parse(bytes_of(text), &cid, NULL), RC_OK);
    return cid;
}

static struct bytes block_of(const struct ipfs_blocks *blocks, const struct cid *cid)
{
    char text[CID_TEXT_SIZE];
    cid_format(cid, text);
    const struct ipfs_block *block = ipfs_blocks_find(blocks, bytes_of(text));
    assert_non_null(block);
    return text_bytes(&block->bytes);
}

/* Asks for up to WANTED_MAX blocks and gives one of those at random, until nothing is wanted. */
static enum rc read_file(const struct ipfs_blocks *blocks, struct unixfs_reading *reading,
                         struct chance *chance, unsigned *asked, struct err *err)
{
    struct cid wanted[WANTED_MAX];
    size_t count = 0;
    for (*asked = 0;;) {
        while (count < WANTED_MAX && unixfs_want(reading, &wanted[count])) {
            count++;
            ++*asked;
        }
        if (count == 0)
            return RC_OK;
        uint32_t at = chance_below(chance, (uint32_t)count);
        struct cid cid = wanted[at];
        wanted[at] = wanted[--count];
        enum rc rc = unixfs_give(reading, &cid, block_of(blocks, &cid), err);
        if (rc != RC_OK)
            return rc;
    }
}

static void fill(struct chance *chance, char *file, size_t len, bool varied)
{
    for (size_t i = 0; i < len; i++)
        file[i] = varied ? (char)chance_next(chance) : 0;
}

static void a_file_of_any_shape_comes_out_as_it_went_in(void **state)
{
    (void)state;
    static const struct ipfs_shape shapes[] = {
        {262144, 174, false}, {262144, 174, true}, {100, 3, false}, {100, 2, true}, {7, 5, true}};
    static const size_t sizes[] = {0, 1, 99, 100, 101, 700, 4321};
    static char file[4321];
    struct chance chance = chance_init("unixfs");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (int varied = 0; varied < 2; varied++) {
                struct ipfs_blocks blocks = {0};
                struct unixfs_reading reading;
                unsigned asked;
                struct err err = {{0}};
                fill(&chance, file, sizes[i], varied);
                size_t root = ipfs_blocks_add_file(&blocks, bytes_make(file, sizes[i]), &shapes[s]);
                struct cid cid = cid_of(blocks.blocks[root].cid);
                unixfs_begin(&reading, &cid, SIZE_MAX_BYTES);
                assert_false(unixfs_is_whole(&reading));
                enum rc rc = read_file(&blocks, &reading, &chance, &asked, &err);
                if (rc != RC_OK)
                    fail_msg("shape %zu size %zu: %s", s, sizes[i], err.text);
                assert_true(unixfs_is_whole(&reading));
                assert_int_equal(reading.content.len, sizes[i]);
                assert_memory_equal(text_string(&reading.content), file, sizes[i]);
                if (varied)
                    assert_int_equal(asked, blocks.count);
                unixfs_end(&reading);
                ipfs_blocks_free(&blocks);
            }
}

/* A reading that is given one root block, and what it says to that. */
static void refuse_block(struct bytes block, size_t size_max, const char *why)
{
    struct ipfs_blocks blocks = {0};
    struct unixfs_reading reading;
    struct err err = {{0}};
    struct cid cid, wanted;
    size_t root = ipfs_blocks_add(&blocks, false, block);
    cid = cid_of(blocks.blocks[root].cid);
    unixfs_begin(&reading, &cid, size_max);
    assert_true(unixfs_want(&reading, &wanted));
    enum rc rc = unixfs_give(&reading, &cid, block, &err);
    if (rc != RC_REJECT || strstr(err.text, why) == NULL)
        fail_msg("%s: rc %d, said '%s'", why, (int)rc, err.text);
    assert_false(unixfs_want(&reading, &wanted));
    assert_false(unixfs_is_whole(&reading));
    unixfs_end(&reading);
    ipfs_blocks_free(&blocks);
}

static void what_is_no_file_is_refused_with_its_reason(void **state)
{
    (void)state;
#define BLOCK(text) bytes_make(text, sizeof(text) - 1)
    refuse_block(BLOCK("\x0a\x02\x08\x01"), SIZE_MAX_BYTES, "a directory, not a file");
    refuse_block(BLOCK("\x0a\x02\x08\x05"), SIZE_MAX_BYTES, "a sharded directory");
    refuse_block(BLOCK("\x0a\x05\x08\x04\x12\x01x"), SIZE_MAX_BYTES, "a symbolic link");
    refuse_block(BLOCK("\x0a\x02\x08\x03"), SIZE_MAX_BYTES, "another type");
    refuse_block(BLOCK(""), SIZE_MAX_BYTES, "no part of a file");
    refuse_block(BLOCK("<html>504</html>"), SIZE_MAX_BYTES, "is no dag-pb");
    refuse_block(BLOCK("\x1a\x00"), SIZE_MAX_BYTES, "field 3 that dag-pb has not");
    refuse_block(BLOCK("\x0a\x7f\x08\x02"), SIZE_MAX_BYTES, "is no dag-pb");
    refuse_block(BLOCK("\x0a\x02\x08\x02\x0a\x02\x08\x02"), SIZE_MAX_BYTES, "field 1");
    refuse_block(BLOCK("\x0a\x04\x08\x02\x20\x05"), SIZE_MAX_BYTES, "links to 0 blocks");
    refuse_block(BLOCK("\x0a\x08\x08\x02\x12\x02hi\x18\x03"), SIZE_MAX_BYTES,
                 "says it has 3 bytes, its parts have 2");
    refuse_block(BLOCK("\x0a\x08\x08\x02\x12\x02hi\x18\x02"), 1, "larger than 1 bytes");
    refuse_block(BLOCK("\x0a\x02\x08\x02\x12\x02\x12\x00"), SIZE_MAX_BYTES, "leads nowhere");
#undef BLOCK
}

/* A parent that lies about its child: found when the child comes. */
static void a_child_of_another_size_than_announced_is_refused(void **state)
{
    (void)state;
    struct ipfs_blocks blocks = {0};
    struct unixfs_reading reading;
    struct chance chance = chance_init("unixfs");
    struct text node = {0};
    struct err err = {{0}};
    unsigned asked;
    size_t leaf = ipfs_blocks_add(&blocks, true, bytes_of("four"));
    ipfs_node_write(&blocks, &leaf, &(uint64_t){5}, 1, &node);
    size_t root = ipfs_blocks_add(&blocks, false, text_bytes(&node));
    struct cid cid = cid_of(blocks.blocks[root].cid);
    unixfs_begin(&reading, &cid, SIZE_MAX_BYTES);
    assert_int_equal(read_file(&blocks, &reading, &chance, &asked, &err), RC_REJECT);
    assert_string_equal(err.text, "a block has 4 bytes where 5 were announced");
    unixfs_end(&reading);
    text_free(&node);
    ipfs_blocks_free(&blocks);
}

/* Few blocks that say the same again and again would be a file without end. */
static enum rc read_doubled(size_t levels, size_t width, uint64_t leaf_size, struct err *err)
{
    struct ipfs_blocks blocks = {0};
    struct unixfs_reading reading;
    struct chance chance = chance_init("unixfs");
    unsigned asked;
    uint64_t size = leaf_size;
    size_t at = ipfs_blocks_add(&blocks, true, bytes_make("xxxx", leaf_size));
    for (size_t level = 0; level < levels; level++) {
        size_t children[8] = {at, at, at, at, at, at, at, at};
        uint64_t sizes[8] = {size, size, size, size, size, size, size, size};
        struct text node = {0};
        ipfs_node_write(&blocks, children, sizes, width, &node);
        at = ipfs_blocks_add(&blocks, false, text_bytes(&node));
        text_free(&node);
        size *= width;
    }
    struct cid cid = cid_of(blocks.blocks[at].cid);
    unixfs_begin(&reading, &cid, SIZE_MAX_BYTES);
    enum rc rc = read_file(&blocks, &reading, &chance, &asked, err);
    assert_true(reading.place_count <= UNIXFS_BLOCKS_MAX);
    unixfs_end(&reading);
    ipfs_blocks_free(&blocks);
    return rc;
}

static void a_file_that_unfolds_without_end_is_refused(void **state)
{
    (void)state;
    struct err err = {{0}};
    assert_int_equal(read_doubled(3, 8, 4, &err), RC_OK);
    assert_int_equal(read_doubled(20, 8, 4, &err), RC_REJECT);
    assert_string_equal(err.text, "the file is larger than 1048576 bytes");
    assert_int_equal(read_doubled(12, 8, 0, &err), RC_REJECT);
    assert_string_equal(err.text, "the file has more than 4096 blocks");
    assert_int_equal(read_doubled(UNIXFS_DEPTH_MAX, 1, 4, &err), RC_OK);
    assert_int_equal(read_doubled(UNIXFS_DEPTH_MAX + 1, 1, 4, &err), RC_REJECT);
    assert_string_equal(err.text, "the file is nested deeper than 16 blocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_any_shape_comes_out_as_it_went_in),
        cmocka_unit_test(what_is_no_file_is_refused_with_its_reason),
        cmocka_unit_test(a_child_of_another_size_than_announced_is_refused),
        cmocka_unit_test(a_file_that_unfolds_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
