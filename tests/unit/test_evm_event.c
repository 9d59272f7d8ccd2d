/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/evm_event.h"
#include "decode/keccak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CONTRACT "0xb01683b2f0d38d43fcd4d9aab980166988924132"
#define NAME_1   "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o"
#define NAME_2   "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
#define ZERO_64  "0000000000000000000000000000000000000000000000000000000000000000"

static const char *hash_of(const char *text)
{
    static char out[EVM_HASH_TEXT_SIZE];
    struct evm_hash hash;
    keccak_256(bytes_of(text), hash.bytes);
    evm_hash_format(&hash, out);
    return out;
}

/* Names and their hashes as they are found on chains. */
static void hashes_are_those_the_chains_use(void **state)
{
    (void)state;
    assert_string_equal(hash_of(""),
                        "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    assert_string_equal(hash_of("Transfer(address,address,uint256)"),
                        "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
    assert_string_equal(hash_of("GOVERNANCE.EDITS_PUBLISHED"),
                        "0x4fa19215d8045febfe0318814bb31d47009389b078ae12e4230ecef644adc65e");
    assert_string_equal(hash_of("GOVERNANCE.PROPOSAL_CREATED"),
                        "0xcf4356ed126c00d2e547ace2f69991a972d322b45371d61ce5478b1cb9acb4c2");
}

/* One block of padding, one byte less, one more: each takes the same way as a known long text. */
static void every_length_is_absorbed_and_lengths_differ(void **state)
{
    (void)state;
    char text[300];
    uint8_t before[KECCAK_SIZE] = {0}, hash[KECCAK_SIZE];
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len < sizeof text; len++) {
        keccak_256(bytes_make(text, len), hash);
        assert_memory_not_equal(before, hash, KECCAK_SIZE);
        memcpy(before, hash, KECCAK_SIZE);
    }
    keccak_256(bytes_make(text, 200), hash);
    char hex[EVM_HASH_TEXT_SIZE];
    evm_hash_format((const struct evm_hash *)(const void *)hash, hex);
    assert_string_equal(hex, "0x96ea54061def936c4be90b518992fdc6f12f535068a256229aca54267b4d084d");
}

/* ---- logs ---- */

static struct json_doc *doc;

static struct json parse(const char *text)
{
    struct json root;
    struct err err;
    if (json_parse_copy(doc, bytes_of(text), &root, &err) != RC_OK)
        fail_msg("%s", err.text);
    return root;
}

/* The data of a log: words given as digits, strings as text padded to whole words. */
struct data {
    struct text hex;
};

static void put_word(struct data *data, unsigned value)
{
    text_appendf(&data->hex, "%064x", value);
}

static void put_string(struct data *data, const char *string)
{
    size_t len = strlen(string);
    put_word(data, (unsigned)len);
    for (size_t i = 0; i < (len + 31) / 32 * 32; i++)
        text_appendf(&data->hex, "%02x", i < len ? (unsigned)(unsigned char)string[i] : 0);
}

static struct evm_log make_log(const struct data *data, const char *const *topics, size_t count)
{
    struct text json = {0};
    struct evm_log log;
    struct err err;
    text_appendf(&json,
                 "{\"address\":\"0xB01683B2f0d38d43fcd4D9aAB980166988924132\",\"blockNumber\":"
                 "\"0x64\",\"blockHash\":\"0x" ZERO_64 "\",\"logIndex\":\"0x3\",\"data\":\"0x%s\","
                 "\"topics\":[",
                 text_string(&data->hex));
    for (size_t i = 0; i < count; i++)
        text_appendf(&json, "%s\"%s\"", i > 0 ? "," : "", topics[i]);
    text_append_string(&json, "],\"removed\":false}");
    enum rc rc = evm_log_read(parse(text_string(&json)), &log, &err);
    if (rc != RC_OK)
        fail_msg("%s", err.text);
    text_free(&json);
    return log;
}

static void take_name(void *arg, struct bytes name)
{
    text_append(arg, name.data, name.len);
    text_append_char(arg, ' ');
}

/* What the event finds in the log, divided by blanks. */
static void expect_names(const char *event_text, const struct evm_log *log, const char *names)
{
    struct evm_event event;
    struct text said = {0}, scratch = {0};
    struct err err = {{0}};
    assert_int_equal(evm_event_parse(bytes_of(event_text), bytes_of(CONTRACT), &event, &err),
                     RC_OK);
    assert_true(evm_event_matches(&event, log));
    evm_event_names(&event, log, &scratch, take_name, &said);
    assert_string_equal(text_string(&said), names);
    text_free(&said);
    text_free(&scratch);
}

static void strings_of_a_signature_are_read_as_they_are_laid_out(void **state)
{
    (void)state;
    static const char signature[] = "EditPublished(address,string)";
    struct data plain = {{0}}, indexed = {{0}};
    const char *topics[] = {hash_of(signature), "0x" ZERO_64};
    put_word(&plain, 7);
    put_word(&plain, 64);
    put_string(&plain, "ipfs://" NAME_1);
    struct evm_log log = make_log(&plain, topics, 1);
    expect_names(signature, &log, NAME_1 " ");
    /* The address travels as a topic: the string is the first word then. Bare, it is a name too. */
    put_word(&indexed, 32);
    put_string(&indexed, NAME_2);
    log = make_log(&indexed, topics, 2);
    expect_names(signature, &log, NAME_2 " ");
    /* Words are no name. */
    text_clear(&plain.hex);
    put_word(&plain, 7);
    put_word(&plain, 64);
    put_string(&plain, "a title");
    log = make_log(&plain, topics, 1);
    expect_names(signature, &log, "");
    /* Read with a topic less than there is, it is no string: the data is searched. */
    log = make_log(&indexed, topics, 1);
    expect_names(signature, &log, "");
    text_free(&plain.hex);
    text_free(&indexed.hex);
}

/* R002-12: a string that is a content address, with a path behind it or not, and nothing else. */
static void a_bare_address_may_have_a_path(void **state)
{
    static const char signature[] = "Pinned(string)";
    static const struct {
        const char *string, *names;
    } cases[] = {
        {NAME_1 "/img/my%201.png", NAME_1 "/img/my%201.png "},
        {NAME_2 "/a", NAME_2 "/a "},
        {NAME_1 "/", NAME_1 " "},
        {NAME_1 ".", NAME_1 " "},
        {NAME_1 "/a b", ""},
        {NAME_1 " and more", ""},
        {"see " NAME_1, ""},
        {"docs/readme.md", ""},
        {"/" NAME_1, ""},
        {"ipfs://" NAME_1 "/a " NAME_2 "/b", NAME_1 "/a "},
    };
    const char *topics[] = {hash_of(signature)};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct data data = {{0}};
        put_word(&data, 32);
        put_string(&data, cases[i].string);
        struct evm_log log = make_log(&data, topics, 1);
        expect_names(signature, &log, cases[i].names);
        text_free(&data.hex);
    }
}

static void data_that_is_laid_out_in_another_way_is_searched(void **state)
{
    (void)state;
    static const char signature[] = "Note(string,string)";
    static const unsigned wrong[][2] = {{64, 9999}, {9999, 64}, {64, 129}, {0xffffffff, 64}};
    const char *topics[] = {hash_of(signature)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct data data = {{0}};
        put_word(&data, wrong[i][0]);
        put_word(&data, wrong[i][1]);
        put_string(&data, "ipfs://" NAME_1);
        struct evm_log log = make_log(&data, topics, 1);
        expect_names(signature, &log, NAME_1 " ");
        text_free(&data.hex);
    }
}

/* Nothing in a log says which parameters travel as topics: it is the rest that fits the data. */
static void any_parameter_may_travel_as_a_topic(void **state)
{
    static const char middle[] = "Minted(uint256,string,uint256)", two[] = "Named(string,string)";
    static const unsigned firsts[] = {0, 32, 64, 96, 5};
    static const char *const strings[] = {"ipfs://" NAME_1, NAME_1};
    (void)state;
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
        for (size_t k = 0; k < 2; k++) {
            struct data data = {{0}};
            const char *topics[] = {hash_of(middle), "0x" ZERO_64};
            put_word(&data, firsts[i]); /* a number may look like a place */
            put_word(&data, 64);
            put_string(&data, strings[k]);
            struct evm_log log = make_log(&data, topics, 2); /* the last parameter is a topic */
            expect_names(middle, &log, NAME_1 " ");
            text_free(&data.hex);
        }
    for (size_t k = 0; k < 2; k++) {
        struct data data = {{0}};
        const char *topics[] = {hash_of(two), "0x" ZERO_64};
        put_word(&data, 32);
        put_string(&data, strings[k]); /* of the other string, the topic is a hash */
        struct evm_log log = make_log(&data, topics, 2);
        expect_names(two, &log, NAME_1 " ");
        text_free(&data.hex);
    }
}

static void bytes_name_documents_as_strings_do(void **state)
{
    static const char signature[] = "Published(bytes32,bytes,string)";
    const char *topics[] = {hash_of(signature), "0x" ZERO_64};
    struct data data = {{0}};
    (void)state;
    put_word(&data, 64);
    put_word(&data, 64 + 96);
    put_string(&data, "ipfs://" NAME_1);
    put_string(&data, "a title");
    struct evm_log log = make_log(&data, topics, 2);
    expect_names(signature, &log, NAME_1 " ");
    text_free(&data.hex);
}

/* More parameters than topics and data have, or fewer: what is there is searched. */
static void more_topics_than_parameters_are_searched(void **state)
{
    static const char signature[] = "None()";
    const char *topics[] = {hash_of(signature), "0x" ZERO_64, "0x" ZERO_64, "0x" ZERO_64};
    struct data data = {{0}};
    (void)state;
    put_string(&data, "ipfs://" NAME_1);
    struct evm_log log = make_log(&data, topics, 4);
    expect_names(signature, &log, NAME_1 " ");
    text_free(&data.hex);
}

static void anonymous_actions_are_searched_and_tell_their_space(void **state)
{
    (void)state;
    static const char *const topics[] = {
        "0x0123456789abcdef0123456789abcdef00000000000000000000000000000000", "0x" ZERO_64,
        "0x4fa19215d8045febfe0318814bb31d47009389b078ae12e4230ecef644adc65e", "0x" ZERO_64};
    struct data data = {{0}};
    struct evm_event event;
    char space[EVM_SPACE_TEXT_SIZE];
    put_word(&data, 32);
    put_string(&data, "see ipfs://" NAME_1 "/a.json, ipfs://ipfs/" NAME_2 "\" and ipfs://, ipfs:");
    struct evm_log log = make_log(&data, topics, 4);
    expect_names("action", &log, NAME_1 "/a.json " NAME_2 " ");
    expect_names("any", &log, NAME_1 "/a.json " NAME_2 " ");
    assert_int_equal(evm_event_parse(bytes_of("action"), bytes_of(CONTRACT), &event, NULL), RC_OK);
    assert_true(evm_event_space(&event, &log, space));
    assert_string_equal(space, "01234567-89ab-cdef-0123-456789abcdef");
    log = make_log(&data, topics, 3);
    assert_false(evm_event_matches(&event, &log));
    log = make_log(&data, topics, 4);
    log.address[0] ^= 1;
    assert_false(evm_event_matches(&event, &log));
    text_free(&data.hex);
}

static void types_that_are_not_laid_out_flat_are_searched(void **state)
{
    (void)state;
    static const char signature[] = "Many(string[],(uint8,string))";
    const char *topics[] = {hash_of(signature)};
    struct data data = {{0}};
    put_word(&data, 3);
    put_string(&data, "ipfs://" NAME_1 "ipfs");
    struct evm_log log = make_log(&data, topics, 1);
    expect_names(signature, &log, NAME_1 "ipfs ");
    text_free(&data.hex);
}

static void what_is_no_event_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "Edit", "(string)", "Edit(string", "Edit(,string)"};
    struct evm_event event;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (evm_event_parse(bytes_of(bad[i]), bytes_of(CONTRACT), &event, &err) != RC_REJECT)
            fail_msg("accepted: %s", bad[i]);
    assert_int_equal(evm_event_parse(bytes_of("any"), bytes_of("0x12"), &event, &err), RC_REJECT);
}

/* ---- blocks ---- */

static void numbers_are_hexadecimal_and_fit(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "0x", "12", "0xg", "0x10000000000000000", "1x2", "0x-1"};
    uint64_t value = 7;
    assert_true(evm_quantity(bytes_of("0x0"), &value));
    assert_int_equal(value, 0);
    assert_true(evm_quantity(bytes_of("0xFfffffffffffffff"), &value));
    assert_true(value == UINT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (evm_quantity(bytes_of(bad[i]), &value))
            fail_msg("accepted: %s", bad[i]);
}

static void put_bits(uint8_t bloom[EVM_BLOOM_SIZE], struct bytes name)
{
    uint8_t hash[KECCAK_SIZE];
    keccak_256(name, hash);
    for (unsigned i = 0; i < 6; i += 2) {
        unsigned bit = (hash[i] * 256U + hash[i + 1]) & 2047;
        bloom[255 - bit / 8] |= (uint8_t)(1U << bit % 8);
    }
}

static void a_bloom_tells_what_no_log_can_name(void **state)
{
    (void)state;
    static const char signature[] = "EditPublished(address,string)";
    uint8_t bloom[EVM_BLOOM_SIZE] = {0};
    struct evm_event any, edit;
    assert_int_equal(evm_event_parse(bytes_of("any"), bytes_of(CONTRACT), &any, NULL), RC_OK);
    assert_int_equal(evm_event_parse(bytes_of(signature), bytes_of(CONTRACT), &edit, NULL), RC_OK);
    assert_false(evm_event_in_bloom(&any, bloom));
    put_bits(bloom, bytes_make(any.address, EVM_ADDRESS_SIZE));
    assert_true(evm_event_in_bloom(&any, bloom));
    assert_false(evm_event_in_bloom(&edit, bloom));
    put_bits(bloom, bytes_make(edit.topic.bytes, EVM_HASH_SIZE));
    assert_true(evm_event_in_bloom(&edit, bloom));
}

/* The bloom of a real log that everybody can compute: the zero address, known bits. */
static void bits_of_a_bloom_are_where_the_chain_puts_them(void **state)
{
    (void)state;
    uint8_t bloom[EVM_BLOOM_SIZE] = {0}, zero[EVM_ADDRESS_SIZE] = {0};
    /* keccak256 of 20 zero bytes begins 5380 c7b7 ae81. */
    static const unsigned bits[] = {0x5380 & 2047, 0xc7b7 & 2047, 0xae81 & 2047};
    for (unsigned i = 0; i < 3; i++) {
        assert_false(evm_bloom_may_have(bloom, bytes_make(zero, sizeof zero)));
        bloom[255 - bits[i] / 8] |= (uint8_t)(1U << bits[i] % 8);
    }
    assert_true(evm_bloom_may_have(bloom, bytes_make(zero, sizeof zero)));
}

static void a_block_is_read_or_says_what_it_lacks(void **state)
{
    (void)state;
    struct evm_block block;
    struct err err;
    char hash[EVM_HASH_TEXT_SIZE];
#define HEAD "{\"number\":\"0x1b4\",\"timestamp\":\"0x55ba467c\",\"parentHash\":\"0x" ZERO_64 "\""
#define HASH "\"hash\":\"0xdc0818cf78f21a8e70579cb46a43643f78291264dda342ae31049421c82d21ae\""
    assert_int_equal(evm_block_read(parse(HEAD "," HASH "}"), &block, &err), RC_OK);
    assert_int_equal(block.number, 0x1b4);
    assert_false(block.has_bloom);
    evm_hash_format(&block.hash, hash);
    assert_string_equal(hash, "0xdc0818cf78f21a8e70579cb46a43643f78291264dda342ae31049421c82d21ae");
    assert_int_equal(evm_block_read(parse(HEAD "}"), &block, &err), RC_REJECT);
    assert_string_equal(err.text, "the node's block has no usable 'hash'");
    assert_int_equal(evm_block_read(parse(HEAD "," HASH ",\"logsBloom\":\"0x00\"}"), &block, &err),
                     RC_REJECT);
    assert_int_equal(evm_block_read(parse("null"), &block, &err), RC_REJECT);
    struct evm_log log;
    assert_int_equal(evm_log_read(parse("{\"blockNumber\":\"0x1\"}"), &log, &err), RC_REJECT);
    assert_string_equal(err.text, "the node's log has no usable 'blockHash'");
#undef HASH
#undef HEAD
}

int main(void)
{
    doc = json_doc_new(1 << 16, 16);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_the_chains_use),
        cmocka_unit_test(every_length_is_absorbed_and_lengths_differ),
        cmocka_unit_test(strings_of_a_signature_are_read_as_they_are_laid_out),
        cmocka_unit_test(a_bare_address_may_have_a_path),
        cmocka_unit_test(data_that_is_laid_out_in_another_way_is_searched),
        cmocka_unit_test(any_parameter_may_travel_as_a_topic),
        cmocka_unit_test(bytes_name_documents_as_strings_do),
        cmocka_unit_test(more_topics_than_parameters_are_searched),
        cmocka_unit_test(anonymous_actions_are_searched_and_tell_their_space),
        cmocka_unit_test(types_that_are_not_laid_out_flat_are_searched),
        cmocka_unit_test(what_is_no_event_is_refused),
        cmocka_unit_test(numbers_are_hexadecimal_and_fit),
        cmocka_unit_test(a_bloom_tells_what_no_log_can_name),
        cmocka_unit_test(bits_of_a_bloom_are_where_the_chain_puts_them),
        cmocka_unit_test(a_block_is_read_or_says_what_it_lacks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_doc_free(doc);
    return failed;
}
