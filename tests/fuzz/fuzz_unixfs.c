/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a content address with a path, as blocks of a file and as directories: refused with
 * a sentence, or read within the bounds. Every block is given for whatever address is wanted next.
 */
#include "decode/ipfs_uri.h"
#include "decode/unixfs.h"
#include "decode/unixfs_path.h"

#include <assert.h>
#include <string.h>

#define SIZE_MAX_BYTES ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_address(struct bytes input)
{
    struct cid cid, again;
    struct err err = {{0}};
    char text[CID_TEXT_SIZE];
    if (cid_parse(input, &cid, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    cid_format(&cid, text);
    assert(strlen(text) == CID_TEXT_SIZE - 1);
    assert(cid_parse(bytes_of(text), &again, &err) == RC_OK && cid_equal(&cid, &again));
}

/* One spelling stays as it is. */
static void spell_address(struct bytes input)
{
    struct cid cid;
    struct err err = {{0}};
    char once[IPFS_URI_SPELLED_SIZE], twice[IPFS_URI_SPELLED_SIZE];
    if (ipfs_uri_spell(input, true, &cid, once, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    if (ipfs_uri_spell(bytes_of(once), true, &cid, twice, &err) == RC_OK)
        assert(strcmp(once, twice) == 0);
    else
        assert(strlen(once) >= IPFS_URI_NAME_MAX);
}

static void read_directory(struct bytes block)
{
    const struct cid directory = {.codec = CID_DAG_PB};
    struct unixfs_way way = {.path = bytes_of("a/b%20c")};
    struct cid next;
    struct err err = {{0}};
    if (unixfs_path_step(&directory, block, &way, &next, &err) != RC_OK)
        assert(err.text[0] != '\0');
    else
        assert(bytes_equal_string(way.path, way.shards > 0 ? "a/b%20c" : "b%20c"));
}

/* Blocks are divided by their length in one byte. */
static void read_blocks(struct bytes rest)
{
    struct cid wanted = {.codec = CID_DAG_PB};
    struct unixfs_reading reading;
    struct err err = {{0}};
    unixfs_begin(&reading, &wanted, SIZE_MAX_BYTES);
    while (rest.len > 0 && unixfs_want(&reading, &wanted)) {
        size_t len = (uint8_t)rest.data[0];
        len = len < rest.len - 1 ? len : rest.len - 1;
        struct bytes block = bytes_make(rest.data + 1, len);
        rest = bytes_make(rest.data + 1 + len, rest.len - 1 - len);
        if (unixfs_give(&reading, &wanted, block, &err) != RC_OK) {
            assert(err.text[0] != '\0' && !unixfs_is_whole(&reading));
            break;
        }
        assert(reading.content.len <= SIZE_MAX_BYTES);
        assert(reading.place_count <= UNIXFS_BLOCKS_MAX);
    }
    unixfs_end(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_address(bytes_make(data, size));
    spell_address(bytes_make(data, size));
    read_directory(bytes_make(data, size));
    read_blocks(bytes_make(data, size));
    return 0;
}
