/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                       \
    "version: 1\n"                                                                                 \
    "provider: demo\n"                                                                             \
    "platforms: {demo: {net: main}}\n"                                                             \
    "identifier: text\n"                                                                           \
    "base_url: https://api.demo.example\n"
#define STREAM                                                                                     \
    "streams:\n"                                                                                   \
    "  all:\n"                                                                                     \
    "    request: {path: /x}\n"                                                                    \
    "    resume: {kind: none}\n"                                                                   \
    "    records: {at: /r}\n"                                                                      \
    "    map: {hash: /h}\n"                                                                        \
    "    identity: {of: [hash]}\n"

static enum rc load(const char *yaml, struct connector **out, struct err *err)
{
    *out = NULL;
    return connector_load(bytes_of(yaml), "demo.yaml", out, err);
}

static void a_small_file_has_its_defaults(void **state)
{
    struct connector *connector;
    struct err err;
    (void)state;
    assert_int_equal(load(HEAD STREAM, &connector, &err), RC_OK);
    assert_string_equal(connector->provider, "demo");
    assert_int_equal(connector->timeout_ms, 30000);
    assert_int_equal(connector->priority, 100);
    assert_int_equal(connector->rate.burst, 1);
    const struct connector_stream *stream = connector_stream(connector, bytes_of("all"));
    assert_non_null(stream);
    assert_string_equal(stream->kind, "all");
    assert_string_equal(stream->request->method, "GET");
    assert_true(connector_stream_serves(stream, bytes_of("demo")));
    assert_null(connector_stream(connector, bytes_of("none")));
    connector_free(connector);
}

static void numbers_are_kept_in_the_units_of_their_names(void **state)
{
    struct connector *connector;
    struct err err;
    (void)state;
    assert_int_equal(load(HEAD "rate: {per_second: 0.4, per_minute: 120, burst: 8}\n"
                               "timeout_seconds: 10\n"
                               "replay: {blocks: 4, seconds: 1.5}\n" STREAM,
                          &connector, &err),
                     RC_OK);
    assert_int_equal(connector->rate.per_1000_seconds, 400);
    assert_int_equal(connector->timeout_ms, 10000);
    assert_int_equal(connector->replay_blocks, 4);
    assert_int_equal(connector->replay_us, 1500000);
    connector_free(connector);
}

static const struct {
    const char *yaml, *sentence;
} mistakes[] = {
    {"", "demo.yaml:1:1: the file is empty"},
    {"- a\n", "demo.yaml:1:1: the file must be a map, and this is a list"},
    {"version: 2\n", "demo.yaml:1:10: version must be 1"},
    {"provider: x\n", "demo.yaml:1:1: the file needs the key version"},
    {HEAD "prioritty: 3\n" STREAM,
     "demo.yaml:6:1: the file has no key \"prioritty\" (did you mean priority?)"},
    {HEAD "priority: many\n" STREAM,
     "demo.yaml:6:11: priority must be a whole number from 0 to 1000"},
    {HEAD "rate: {per_second: 0.0001}\n" STREAM,
     "demo.yaml:6:20: per_second must be a number from 0.001 to 1000 with at most three "
     "decimals"},
    {HEAD "sign: krakn\n" STREAM, "demo.yaml:6:7: expected none, kraken or coinbase"},
    {"version: 1\nprovider: x\nplatforms: {a: {h: x}, b: {}}\nidentifier: none\n"
     "base_url: https://$h/\n" STREAM,
     "demo.yaml:5:11: base_url is no https:// address for the platform b: one of its variables is "
     "absent"},
    {"version: 1\nprovider: x\nplatforms: {a: {h: \"file:///etc\"}}\nidentifier: none\n"
     "base_url: $h\n" STREAM,
     "demo.yaml:5:11: base_url is no https:// address for the platform a"},
    {HEAD "auth: {in: query}\n" STREAM,
     "demo.yaml:6:7: auth needs the key name: which parameter or header"},
    {HEAD "hosts: [https://x]\n" STREAM,
     "demo.yaml:6:9: expected the name of a host, nothing around it"},
    {HEAD, "demo.yaml:1:1: the file needs the key streams"},
    {HEAD "streams: {all: {request: {path: /$accont}}}\n",
     "demo.yaml:6:33: there is no variable \"accont\" (did you mean $account?)"},
    {HEAD "streams: {all: {request: {path: /$ne}}}\n",
     "demo.yaml:6:33: there is no variable \"ne\" (did you mean $net?)"},
    {HEAD "streams: {all: {request: {query: {k: $api_key}}}}\n",
     "demo.yaml:6:38: $api_key stands only in auth.value and in a path"},
    {HEAD "streams: {all: {request: {form: {a: b}, json: {a: b}}}}\n",
     "demo.yaml:6:47: a request has one body: form, json or jsonrpc"},
    {HEAD "streams: {all: {request: {path: /x}, records: {at: r}}}\n",
     "demo.yaml:6:52: expected a JSON pointer such as /result/0/hash"},
    {HEAD "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}}}\n",
     "demo.yaml:6:16: a stream needs the key map"},
    {HEAD "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: "
          "{hesh: /h}}}\n",
     "demo.yaml:6:85: a row has no field \"hesh\" (did you mean hash?)"},
    {HEAD "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: "
          "{time: /h}}}\n",
     "demo.yaml:6:91: time is a time; its cast must be unix_s, unix_ms, unix_us, unix_ns, "
     "rfc3339, csv_utc or ripple_s"},
    {HEAD "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: "
          "{hash: /h}, identity: "
          "{of: [status]}}}\n",
     "demo.yaml:6:112: status may change, so it cannot be part of an identity"},
    {HEAD "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: {to: "
          "/h}, identity: "
          "{of: [to]}}}\n",
     "demo.yaml:6:104: an identity needs one of hash, id and row: the rest may repeat"},
    /* R003-36 */
    {HEAD "streams: {all: {request: {path: /x}, records: {at: /r}}}\n",
     "demo.yaml:6:16: a stream needs the key resume: where a walk can begin; {kind: none}, if only "
     "at the beginning"},
    {HEAD STREAM "    page: {by: token, stop: [token_absent]}\n",
     "demo.yaml:13:11: page needs the key next: where the token is read"},
    {HEAD STREAM "    page: {by: keyset, size: 10, stop: [short_page]}\n",
     "demo.yaml:13:11: going on from the last position needs the key resume"},
    {HEAD STREAM "    page: {by: range, size: 10}\n",
     "demo.yaml:8:5: pages by range need the key head: where they end"},
    {HEAD STREAM "    page: {by: range, size: 10}\n    head: {request: {path: /h}, at: /h}\n",
     "demo.yaml:13:11: pages by range go up from a block that is included: order asc, resume by "
     "blockNumber or slot"},
    {HEAD STREAM "    page: {by: number, stop: [full]}\n",
     "demo.yaml:13:31: expected short_page, empty or token_absent"},
    {HEAD STREAM "    responses: [{when: {at: /e}, do: retry}]\n",
     "demo.yaml:13:24: a condition needs one of is, in, not_in, contains, lacks and exists"},
    {HEAD STREAM "    responses: [{when: {status: 99}, do: retry}]\n",
     "demo.yaml:13:33: status must be an HTTP status (100 to 599) or a list of them"},
    {HEAD STREAM "    where: {status: 200}\n",
     "demo.yaml:13:12: a record has neither status nor headers"},
    {HEAD STREAM "    platforms: [other]\n",
     "demo.yaml:13:17: the connector has no platform \"other\""},
    {HEAD
     "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: {hash: "
     "{times: [/a, /b]}}}}\n",
     "demo.yaml:6:91: only amount and fee are reckoned"},
    {HEAD
     "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: {fee: "
     "{at: /a, times: [/a, /b]}}}}\n",
     "demo.yaml:6:90: a field needs one of at, sum, times, const and var"},
    {HEAD
     "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: {fee: "
     "{at: /a, unit: {other: sat}}}}}\n",
     "demo.yaml:6:106: the connector has no such platform"},
    {HEAD
     "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: {fee: "
     "{at: /a, unit: {}}}}}\n",
     "demo.yaml:6:105: demo has no unit"},
    {HEAD
     "streams: {all: {request: {path: /x}, resume: {kind: none}, records: {at: /r}, map: {hash: "
     "{at: /a, unit: {demo: sat}}}}}\n",
     "demo.yaml:6:91: only amount and fee have a unit"},
    {HEAD STREAM "    partitions: [{a: x}, {b: $a}]\n",
     "demo.yaml:13:30: there is no variable \"a\""},
    {HEAD STREAM STREAM, "demo.yaml:13:1: this key is given twice; first in line 6"},
    {HEAD "streams: {all: {csv: {header: \"a,b\"}, request: {path: /}}}\n",
     "demo.yaml:6:16: a stream has one of request and csv"},
    {"version: 1\nprovider: \"a b\"\n",
     "demo.yaml:2:11: expected a name: 1 to 63 letters, digits, _ and -, a letter first"},
    {"a: [\n", NULL},
};

/* A file that is wrong says where, what was expected and which key was meant. */
static void every_mistake_is_named_by_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct connector *connector;
        struct err err = {""};
        assert_int_equal(load(mistakes[i].yaml, &connector, &err), RC_REJECT);
        assert_null(connector);
        if (mistakes[i].sentence != NULL)
            assert_string_equal(err.text, mistakes[i].sentence);
        else
            assert_memory_equal(err.text, "demo.yaml:", 10);
    }
}

static void a_file_that_is_too_large_is_refused(void **state)
{
    struct connector *connector = NULL;
    struct err err;
    struct text yaml = {0};
    (void)state;
    text_append_string(&yaml, HEAD STREAM);
    while (yaml.len <= CONNECTOR_BYTES_MAX)
        text_append_string(&yaml, "# more and more\n");
    assert_int_equal(connector_load(text_bytes(&yaml), "big.yaml", &connector, &err), RC_REJECT);
    assert_string_equal(err.text, "big.yaml:1:1: a connector has at most 65536 bytes");
    text_free(&yaml);
}

static void identifiers_have_one_form(void **state)
{
    static const struct {
        enum connector_identifier kind;
        const char *from, *to;
    } rows[] = {
        {IDENTIFIER_EVM_ADDRESS, "0xAB5801a7D398351b8bE11C439e05C5B3259aeC9B",
         "0xab5801a7d398351b8be11c439e05c5b3259aec9b"},
        {IDENTIFIER_EVM_ADDRESS, "0xAB58", NULL},
        {IDENTIFIER_EVM_ADDRESS, "0xZB5801a7D398351b8bE11C439e05C5B3259aeC9B", NULL},
        {IDENTIFIER_BITCOIN_ADDRESS, "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
         "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
        {IDENTIFIER_BITCOIN_ADDRESS, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
         "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"},
        {IDENTIFIER_BITCOIN_ADDRESS, "0OIl", NULL},
        /* all of its letters are base58's, too */
        {IDENTIFIER_BITCOIN_ADDRESS, "bc1qqgy3q9c7y5krxwjpfp84vhtydde8nqy8sw6vy9",
         "bc1qqgy3q9c7y5krxwjpfp84vhtydde8nqy8sw6vy9"},
        {IDENTIFIER_BITCOIN_ADDRESS, "BC1QQGY3Q9C7Y5KRXWJPFP84VHTYDDE8NQY8SW6VY9",
         "bc1qqgy3q9c7y5krxwjpfp84vhtydde8nqy8sw6vy9"},
        {IDENTIFIER_BITCOIN_ADDRESS, "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
         "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"},
        {IDENTIFIER_BECH32, "cosmos1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5lzv7xu",
         "cosmos1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5lzv7xu"},
        {IDENTIFIER_BECH32, "Cosmos1qypqxpq9", NULL},
        {IDENTIFIER_NONE, "", ""},
        {IDENTIFIER_NONE, "x", NULL},
        {IDENTIFIER_TEXT, "alice.near", "alice.near"},
        {IDENTIFIER_TEXT, "a b", NULL},
        {IDENTIFIER_SS58, "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
         "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"},
    };
    struct text out = {0};
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum rc rc = connector_identifier_read(rows[i].kind, bytes_of(rows[i].from), &out, &err);
        assert_int_equal(rc, rows[i].to == NULL ? RC_REJECT : RC_OK);
        if (rows[i].to != NULL)
            assert_string_equal(text_string(&out), rows[i].to);
    }
    text_free(&out);
}

/* A letter too many, too few or wrong would be an account without a history. */
static void mistyped_addresses_are_told(void **state)
{
    static const struct {
        enum connector_identifier kind;
        const char *right, *wrong[5];
    } rows[] = {
        {IDENTIFIER_BITCOIN_ADDRESS,
         "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
         {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t",
          "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t44",
          "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
          "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T5"}},
        {IDENTIFIER_BITCOIN_ADDRESS, /* BIP350 */
         "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
         {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj9"}},
        {IDENTIFIER_BITCOIN_ADDRESS,
         "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
         {"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN",
          "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN22", "11BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
          "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2x1BvBMSEY"}},
        {IDENTIFIER_BITCOIN_ADDRESS,
         "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf",
         {"37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgF"}},
        {IDENTIFIER_BITCOIN_ADDRESS,
         "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
         {"bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6q",
          "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6"}},
        {IDENTIFIER_BECH32,
         "cosmos1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5lzv7xu",
         {"cosmos1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5lzv7xx"}},
    };
    struct text out = {0};
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes right = bytes_of(rows[i].right);
        assert_int_equal(connector_identifier_read(rows[i].kind, right, &out, &err), RC_OK);
        for (size_t k = 0; k < 5 && rows[i].wrong[k] != NULL; k++) {
            struct bytes wrong = bytes_of(rows[i].wrong[k]);
            if (connector_identifier_read(rows[i].kind, wrong, &out, &err) != RC_REJECT)
                fail_msg("%s", rows[i].wrong[k]);
            assert_string_equal(err.text, "the address is mistyped: its checksum differs");
        }
    }
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_has_its_defaults),
        cmocka_unit_test(numbers_are_kept_in_the_units_of_their_names),
        cmocka_unit_test(every_mistake_is_named_by_line_and_column),
        cmocka_unit_test(a_file_that_is_too_large_is_refused),
        cmocka_unit_test(identifiers_have_one_form),
        cmocka_unit_test(mistyped_addresses_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
