/* SPDX-License-Identifier: Apache-2.0 */
#include "chance.h"
#include "decode/cid.h"
#include "decode/ipfs_uri.h"
#include "decode/murmur.h"
#include "sim/ipfs_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Addresses the whole world knows: a greeting as bare bytes, an empty directory, a greeting and
 * nothing as `ipfs add` makes them. */
static const struct known {
    enum cid_codec codec;
    const char *block;
    size_t block_len;
    const char *canonical;
    const char *others[5];
} known[] = {
    {CID_RAW,
     "hello world",
     11,
     "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e",
     {"BAFKREIFZJUT3TE2NHYEKKLSS27NH3K72YSCO7Y32KOAO5EEI66WOF36N5E",
      "k2cwued9o1pvrt3q271rrqbo49x30tbxwpoeaq75z14e5ui2rzygpbe1",
      "zb2rhj7crUKTQYRGCRATFaQ6YFLTde2YzdqbbhAASkL9uRDXn",
      "f01551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
      "F01551220B94D27B9934D3E08A52E52D7DA7DABFAC484EFE37A5380EE9088F7ACE2EFCDE9"}},
    {CID_DAG_PB,
     "\x0a\x02\x08\x01",
     4,
     "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354",
     {"QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn",
      "zdj7WbTaiJT1fgatdet9Ei9iDB5hdCxkbVyhyh8YTUnXMiwYi"}},
    {CID_DAG_PB,
     "\x0a\x12\x08\x02\x12\x0chello world\n\x18\x0c",
     20,
     "bafybeicg2rebjoofv4kbyovkw7af3rpiitvnl6i7ckcywaq6xjcxnc2mby",
     {"QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o",
      "k2jmtxt4nv2kx0qz1ncwpjwzdixb27xsgqxk7kgho4nnmjceustvi80e"}},
    {CID_DAG_PB,
     "\x0a\x04\x08\x02\x18\x00",
     6,
     "bafybeif7ztnhq65lumvvtr4ekcwd2ifwgm3awq4zfr3srh462rwyinlb4y",
     {"QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH"}},
};

static void check_spelling(const struct known *k, const char *text)
{
    struct cid cid;
    struct err err = {{0}};
    char canonical[CID_TEXT_SIZE];
    if (cid_parse(bytes_of(text), &cid, &err) != RC_OK)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(cid.codec, k->codec);
    assert_true(cid_verifies(&cid, bytes_make(k->block, k->block_len)));
    assert_false(cid_verifies(&cid, bytes_make(k->block, k->block_len - 1)));
    cid_format(&cid, canonical);
    assert_string_equal(canonical, k->canonical);
    cid.digest[DIGEST_SIZE - 1] ^= 1; /* all of it counts */
    assert_false(cid_verifies(&cid, bytes_make(k->block, k->block_len)));
}

static void every_spelling_of_a_known_address_is_one_address(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        check_spelling(&known[i], known[i].canonical);
        for (size_t k = 0; k < 5 && known[i].others[k] != NULL; k++)
            check_spelling(&known[i], known[i].others[k]);
    }
}

/* Each was one of the good ones. */
static void what_is_spelled_in_a_second_way_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "Qm",
        "b",
        "z",
        "hello",
        /* a base32 digit that is not in the alphabet, case mixed, one digit less, one more */
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n51",
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5E",
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5",
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5ea",
        /* bits left over that are not zero */
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5f",
        "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e=",
        /* base58 without its 0, O, I, l; version 0 inside a multibase; half a byte */
        "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff50",
        "zQmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o",
        "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5",
        "f01551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde",
        /* version 2, a varint longer than needed, a byte behind the digest */
        "f02551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
        "f8100551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
        "f01551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde900",
        /* well spelled, but it cannot be checked: dag-cbor, SHA-512, half a SHA-256 */
        "f01711220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
        "f01551320b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
        "f01551210b94d27b9934d3e08a52e52d7da7dabfa",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cid cid = {.codec = CID_RAW, .digest = {7}};
        struct err err = {{0}};
        if (cid_parse(bytes_of(bad[i]), &cid, &err) != RC_REJECT)
            fail_msg("accepted: %s", bad[i]);
        assert_true(err.text[0] != '\0');
        assert_int_equal(cid.digest[0], 7);
    }
}

static void the_reason_tells_what_cannot_be_checked(void **state)
{
    (void)state;
    struct cid cid;
    struct err err;
    assert_int_equal(
        cid_parse(bytes_of("f01711220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088"
                           "f7ace2efcde9"),
                  &cid, &err),
        RC_REJECT);
    assert_string_equal(err.text, "codec 0x71 holds no file, only raw and dag-pb do");
}

/* Another encoder than ours agrees, for any bytes. */
static void addresses_that_others_write_are_read(void **state)
{
    (void)state;
    struct chance chance = chance_init("cid");
    struct ipfs_blocks blocks = {0};
    for (unsigned i = 0; i < 500; i++) {
        uint64_t word = chance_next(&chance);
        size_t at = ipfs_blocks_add(&blocks, i % 2 == 0, bytes_make(&word, sizeof word));
        const struct ipfs_block *block = &blocks.blocks[at];
        struct cid cid, again;
        char text[CID_TEXT_SIZE];
        assert_int_equal(cid_parse(bytes_of(block->cid), &cid, NULL), RC_OK);
        assert_memory_equal(cid.digest, block->digest, DIGEST_SIZE);
        assert_int_equal(cid.codec, block->raw ? CID_RAW : CID_DAG_PB);
        cid_format(&cid, text);
        assert_string_equal(text, block->cid);
        if (!block->raw) {
            assert_int_equal(cid_parse(bytes_of(block->cid_v0), &again, NULL), RC_OK);
            assert_true(cid_equal(&cid, &again));
        }
    }
    ipfs_blocks_free(&blocks);
}

/* An address with a path has one spelling, whatever the escapes of its names. */
static void a_path_is_spelled_in_one_way(void **state)
{
    (void)state;
#define LETTERS "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
    const struct {
        const char *name;
        bool escaped;
        const char *spelled;
    } cases[] = {
        {LETTERS, true, LETTERS},
        {LETTERS "/", true, LETTERS},
        {LETTERS "//a/./..//b%20c/", true, LETTERS "/a/./../b%20c"},
        {LETTERS "/%61%2fb+c%", true, LETTERS "/a%2Fb%2Bc%25"},
        {LETTERS "/b c%20d", false, LETTERS "/b%20c%2520d"},
        {"f01551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9/a", true,
         LETTERS "/a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cid cid;
        struct err err;
        char spelled[IPFS_URI_SPELLED_SIZE];
        if (ipfs_uri_spell(bytes_of(cases[i].name), cases[i].escaped, &cid, spelled, &err) != RC_OK)
            fail_msg("%s: %s", cases[i].name, err.text);
        assert_string_equal(spelled, cases[i].spelled);
    }
}

/* As other programs compute them. */
static void names_have_the_hashes_that_shards_go_by(void **state)
{
    (void)state;
    assert_int_equal(murmur3_64(bytes_of("")), 0);
    assert_int_equal(murmur3_64(bytes_of("hello")), UINT64_C(0xcbd8a7b341bd9b02));
    assert_int_equal(murmur3_64(bytes_of("hello, world")), UINT64_C(0x342fac623a5ebc8e));
    assert_int_equal(murmur3_64(bytes_of("The quick brown fox jumps over the lazy dog.")),
                     UINT64_C(0xcd99481f9ee902c9));
}

static void a_path_that_is_too_long_names_nothing(void **state)
{
    (void)state;
    struct cid cid;
    struct err err;
    char name[IPFS_URI_NAME_MAX + 1], spelled[IPFS_URI_SPELLED_SIZE];
    struct bytes next, rest = bytes_make(name, sizeof name);
    snprintf(name, sizeof name, "%s", IPFS_URI_SCHEME LETTERS "/");
    memset(name + strlen(name), '+', sizeof name - strlen(name));
    assert_true(ipfs_uri_next(&rest, &next));
    assert_int_equal(ipfs_uri_spell(next, true, &cid, spelled, &err), RC_REJECT);
    assert_string_equal(err.text, "the path of the address is too long");
    char longer[2 * IPFS_URI_NAME_MAX];
    snprintf(longer, sizeof longer, "%s", IPFS_URI_SCHEME LETTERS "/");
    memset(longer + strlen(longer), 'a', sizeof longer - strlen(longer));
    rest = bytes_make(longer, sizeof longer);
    assert_true(ipfs_uri_next(&rest, &next));
    assert_int_equal(next.len, IPFS_URI_NAME_MAX);
    assert_int_equal(ipfs_uri_spell(next, true, &cid, spelled, &err), RC_REJECT);
    assert_string_equal(err.text, "the address has 256 letters or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_known_address_is_one_address),
        cmocka_unit_test(what_is_spelled_in_a_second_way_is_refused),
        cmocka_unit_test(the_reason_tells_what_cannot_be_checked),
        cmocka_unit_test(addresses_that_others_write_are_read),
        cmocka_unit_test(a_path_is_spelled_in_one_way),
        cmocka_unit_test(names_have_the_hashes_that_shards_go_by),
        cmocka_unit_test(a_path_that_is_too_long_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
