/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_secrets.h"

#include "base/json.h"
#include "base/sign.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STREAM_END "    records: {at: /r}\n    map: {hash: /h}\n    identity: {of: [hash]}\n"

struct desk {
    struct connector *connector;
    struct connector_vars vars;
    struct connector_http http;
    struct err err;
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct desk));
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    connector_free(desk->connector);
    connector_http_free(&desk->http);
    free(desk);
    return 0;
}

/* A connector with `head` at its top and one stream that says `stream`. */
static void load(struct desk *desk, const char *head, const char *stream)
{
    struct text yaml = {0};
    text_appendf(&yaml,
                 "version: 1\nprovider: demo\nidentifier: text\n%sstreams:\n  all:\n%s" STREAM_END,
                 head, stream);
    connector_free(desk->connector);
    desk->connector = NULL;
    if (connector_load(text_bytes(&yaml), "t", &desk->connector, &desk->err) != RC_OK)
        fail_msg("%s", desk->err.text);
    text_free(&yaml);
    desk->vars =
        connector_vars_first(&desk->connector->streams[0], bytes_of("demo"), bytes_of("al ice/ü"));
}

static enum rc build(struct desk *desk, const char *base_url)
{
    const struct connector_stream *stream = &desk->connector->streams[0];
    return connector_build(desk->connector, stream, stream->request, &desk->vars, base_url,
                           &desk->http, &desk->err);
}

static const char *header(const struct desk *desk, const char *name)
{
    for (size_t i = 0; i < desk->http.header_count; i++)
        if (strcmp(desk->http.header_text.data + desk->http.headers[i].name, name) == 0)
            return desk->http.header_text.data + desk->http.headers[i].value;
    return NULL;
}

#define PLAIN "platforms: {demo: {net: main}}\nbase_url: https://$net.demo.example/v1/\n"

static void what_is_absent_leaves_with_its_key_and_its_segment(void **state)
{
    struct desk *desk = *state;
    load(
        desk, PLAIN,
        "    request: {path: /a/$account/txs/$token, query: {c: x y, p: $page, n: $size, f: $from, "
        "t: $token}}\n"
        "    page: {by: keyset, size: 50, stop: [empty]}\n"
        "    resume: {kind: blockNumber}\n");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.url.data,
                        "https://main.demo.example/v1/a/al%20ice%2F%C3%BC/txs?c=x%20y&p=1&n=50");
    assert_string_equal(desk->http.method, "GET");
    assert_int_equal(desk->http.header_count, 0);
    desk->vars.from = 0;
    desk->vars.token = bytes_of("a&b=?");
    assert_int_equal(build(desk, "http://127.0.0.1:1/demo"), RC_OK);
    assert_string_equal(desk->http.url.data,
                        "http://127.0.0.1:1/demo/a/al%20ice%2F%C3%BC/txs/a%26b%3D%3F"
                        "?c=x%20y&p=1&n=50&f=0&t=a%26b%3D%3F");
    assert_false(desk->http.secret_in_url);
}

/* What a node is asked: a range of blocks, and an address as a topic has it. */
static void a_range_and_a_topic_are_written_for_a_node(void **state)
{
    struct desk *desk = *state;
    load(desk, PLAIN,
         "    request: {path: /, jsonrpc: {method: logs, params: [{fromBlock: $from, toBlock: $to, "
         "topics: [\"0x1\", null, $account_word]}]}}\n"
         "    page: {by: range, size: 1000}\n"
         "    resume: {kind: blockNumber, cast: hex}\n"
         "    head: {request: {path: /h}, at: /h}\n");
    desk->vars.account = bytes_of("0xb01683b2f0d38d43fcd4d9aab980166988924132");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_non_null(strstr(desk->http.body.data,
                           "[{\"fromBlock\":\"0x0\",\"toBlock\":\"0x3e7\",\"topics\":[\"0x1\",null,"
                           "\"0x000000000000000000000000b01683b2f0d38d43fcd4d9aab980166988924132\""
                           "]}]"));
    desk->vars.account = bytes_of("alice"); /* is no address */
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_non_null(strstr(desk->http.body.data, "\"topics\":[\"0x1\",null]"));
}

static void a_segment_leaves_whole(void **state)
{
    struct desk *desk = *state;
    load(desk, PLAIN,
         "    request: {path: \"/a/$token-$account/b/$account.$token\"}\n    resume: {kind: "
         "none}\n");
    desk->vars.account = bytes_of("al");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.url.data, "https://main.demo.example/v1/a/b");
}

static void the_key_goes_where_the_connector_says(void **state)
{
    struct desk *desk = *state;
    const char *stream = "    request: {path: /x, query: {a: b}}\n    resume: {kind: none}\n";
    load(desk, PLAIN "auth: {in: query, name: apikey, required: true}\n", stream);
    assert_int_equal(build(desk, NULL), RC_REJECT);
    assert_string_equal(desk->err.text, "demo needs a key: set providers.demo.api_key");
    desk->vars.api_key = bytes_of("k&y");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.url.data, "https://main.demo.example/v1/x?a=b&apikey=k%26y");
    assert_true(desk->http.secret_in_url);

    load(desk, PLAIN "auth: {in: header, name: X-Key, value: \"Key $api_key\"}\n", stream);
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_null(header(desk, "X-Key"));
    desk->vars.api_key = bytes_of("k&y");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(header(desk, "X-Key"), "Key k&y");
    desk->vars.api_key = bytes_of("k\r\nHost: evil");
    assert_int_equal(build(desk, NULL), RC_REJECT);
    assert_null(strstr(desk->err.text, "evil"));

    load(desk, PLAIN "auth: {in: bearer}\n", stream);
    desk->vars.api_key = bytes_of("k&y");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(header(desk, "Authorization"), "Bearer k&y");

    load(desk, PLAIN "auth: {in: path}\n",
         "    request: {path: /v2/$api_key/x}\n    resume: {kind: none}\n");
    desk->vars.api_key = bytes_of("k&y");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.url.data, "https://main.demo.example/v1/v2/k%26y/x");
    assert_true(desk->http.secret_in_url);
}

static void bodies_are_exact(void **state)
{
    struct desk *desk = *state;
    load(desk, PLAIN,
         "    request: {path: /x, form: {a: $account, b: $token, c: \"1\"}}\n"
         "    resume: {kind: none}\n");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.method, "POST");
    assert_string_equal(desk->http.body.data, "a=al%20ice%2F%C3%BC&c=1");
    assert_string_equal(header(desk, "Content-Type"), "application/x-www-form-urlencoded");

    load(desk, PLAIN,
         "    request:\n"
         "      json: {who: $account, row: $size, at: $from, next: $token, deep: [$token, {x: "
         "$token}], yes: true, text: \"true\", n: 7, zero: 007, net: $net}\n"
         "    page: {by: token, size: 20, next: {from: body, at: /m, cast: json}, stop: "
         "[token_absent]}\n"
         "    resume: {kind: blockNumber}\n");
    desk->vars.from = 12;
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.body.data,
                        "{\"who\":\"al ice/ü\",\"row\":20,\"at\":12,\"deep\":[{}],\"yes\":true,"
                        "\"text\":\"true\",\"n\":7,\"zero\":\"007\",\"net\":\"main\"}");
    desk->vars.token = bytes_of("{\"ledger\":5}");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_non_null(strstr(desk->http.body.data, "\"next\":{\"ledger\":5},"));

    load(desk, PLAIN,
         "    request: {jsonrpc: {method: get_it, params: [$account, {b: $from}]}}\n"
         "    resume: {kind: slot, cast: hex}\n");
    desk->vars.from = 255;
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.body.data,
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_it\",\"params\":[\"al "
                        "ice/ü\",{\"b\":\"0xff\"}]}");
}

static void positions_are_written_as_the_source_wants_them(void **state)
{
    static const struct {
        const char *resume, *written;
    } rows[] = {
        {"{kind: timestamp, cast: unix_s}", "1700000000"},
        {"{kind: timestamp, cast: unix_s, exclusive: true}", "1699999999"},
        {"{kind: timestamp, cast: unix_ms}", "1700000000123"},
        {"{kind: timestamp, cast: unix_us}", "1700000000123456"},
        {"{kind: timestamp, cast: unix_ns}", "1700000000123456000"},
        {"{kind: timestamp, cast: rfc3339}", "2023-11-14T22%3A13%3A20.123456Z"},
        {"{kind: timestamp, cast: date}", "2023-11-14"},
        {"{kind: timestamp, cast: date, exclusive: true}", "2023-11-13"},
        {"{kind: blockNumber, exclusive: true}", "1700000000123455"},
    };
    struct desk *desk = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text stream = {0}, url = {0};
        text_appendf(&stream, "    request: {path: /x, query: {f: $from}}\n    resume: %s\n",
                     rows[i].resume);
        load(desk, PLAIN, text_string(&stream));
        desk->vars.from = INT64_C(1700000000123456);
        assert_int_equal(build(desk, NULL), RC_OK);
        text_appendf(&url, "https://main.demo.example/v1/x?f=%s", rows[i].written);
        assert_string_equal(desk->http.url.data, text_string(&url));
        text_free(&stream);
        text_free(&url);
    }
}

static void partitions_change_constants(void **state)
{
    struct desk *desk = *state;
    load(desk, PLAIN,
         "    partitions: [{sender: $account}, {receiver: \"to-$account\"}]\n"
         "    request: {path: /x, query: {from: $sender, to: $receiver}}\n"
         "    resume: {kind: none}\n");
    desk->vars.account = bytes_of("al");
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.url.data, "https://main.demo.example/v1/x?from=al");
    desk->vars.partition = 1;
    assert_int_equal(build(desk, NULL), RC_OK);
    assert_string_equal(desk->http.url.data, "https://main.demo.example/v1/x?to=to-al");
}

static void a_link_stays_on_known_hosts(void **state)
{
    static const struct {
        const char *link, *base;
        bool allowed;
    } rows[] = {
        {"https://main.demo.example/next?p=2", NULL, true},
        {"https://MAIN.demo.example/next", NULL, true},
        {"https://cdn.example/next", NULL, true},
        {"http://cdn.example/next", NULL, false},
        {"http://main.demo.example/next", NULL, false},
        {"https://main.demo.example:444/next", NULL, false},
        {"https://main.demo.example@evil.example/next", NULL, false},
        {"https://evil.example/main.demo.example", NULL, false},
        {"https://main.demo.example\\@evil.example/", NULL, false},
        {"/relative", NULL, false},
        {"http://127.0.0.1:5/x", "http://127.0.0.1:5/demo", true},
        {"http://127.0.0.1:6/x", "http://127.0.0.1:5/demo", false},
    };
    struct desk *desk = *state;
    load(desk, PLAIN "hosts: [cdn.example]\n",
         "    request: {path: /x}\n    resume: {kind: none}\n"
         "    page: {by: link, next: {from: header, at: link}, stop: [token_absent]}\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        desk->vars.token = bytes_of(rows[i].link);
        assert_int_equal(build(desk, rows[i].base), rows[i].allowed ? RC_OK : RC_REJECT);
        if (rows[i].allowed)
            assert_string_equal(desk->http.url.data, rows[i].link);
    }
}

#define KRAKEN_SECRET                                                                              \
    "kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg=="

/* The example of Kraken's own documentation. */
static void krakens_published_example_comes_out(void **state)
{
    struct desk *desk = *state;
    load(desk, "platforms: {demo: {}}\nbase_url: https://api.kraken.com\nsign: kraken\n",
         "    request:\n"
         "      path: /0/private/AddOrder\n"
         "      form: {nonce: $nonce, ordertype: limit, pair: XBTUSD, price: \"37500\", type: buy, "
         "volume: \"1.25\"}\n"
         "    resume: {kind: none}\n");
    desk->vars.api_key = bytes_of("the-key");
    desk->vars.api_secret = bytes_of(KRAKEN_SECRET);
    desk->vars.nonce = INT64_C(1616492376594);
    assert_int_equal(build(desk, "http://127.0.0.1:1/kraken"), RC_OK);
    assert_string_equal(header(desk, "API-Key"), "the-key");
    assert_string_equal(
        header(desk, "API-Sign"),
        "4/dpxb3iT4tp/ZCVEwSnEsLxx0bqyhLpdfOpc6fn7OR8+UClSV5n9E6aSS8MPtnRfp32bAb0nmbRn6H8ndwLUQ==");
    desk->vars.api_secret = bytes_of("not base64, canary");
    assert_int_equal(build(desk, NULL), RC_REJECT);
    assert_string_equal(desk->err.text, "providers.demo.api_secret must be base64");
}

static void write_key(EVP_PKEY *key, struct text *pem)
{
    char *data;
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    long len = BIO_get_mem_data(bio, &data);
    text_append(pem, data, (size_t)len);
    BIO_free(bio);
}

static void decode_url(const char *from, size_t len, struct text *out)
{
    struct text padded = {0};
    for (size_t i = 0; i < len; i++)
        text_append_char(&padded, (char)(from[i] == '-' ? '+' : from[i] == '_' ? '/' : from[i]));
    while (padded.len % 4 != 0)
        text_append_char(&padded, '=');
    text_clear(out);
    assert_true(sign_base64_decode(text_bytes(&padded), out));
    text_free(&padded);
}

static void verify_token(EVP_PKEY *key, const char *token, const char *second_dot)
{
    struct text raw = {0};
    unsigned char *der = NULL;
    decode_url(second_dot + 1, strlen(second_dot + 1), &raw);
    assert_int_equal(raw.len, SIGN_ES256_SIZE);
    const unsigned char *pair_bytes = (const unsigned char *)raw.data;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(pair_bytes, 32, NULL), BN_bin2bn(pair_bytes + 32, 32, NULL));
    int len = i2d_ECDSA_SIG(pair, &der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(context, der, (size_t)len, (const unsigned char *)token,
                                      (size_t)(second_dot - token)),
                     1);
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    text_free(&raw);
}

static void coinbases_token_verifies_with_the_public_key(void **state)
{
    struct desk *desk = *state;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    struct text pem = {0}, part = {0};
    struct json_doc *doc = json_doc_new(4096, JSON_DEPTH_MAX);
    struct json claims;
    write_key(key, &pem);
    load(desk, "platforms: {demo: {}}\nbase_url: https://api.coinbase.com\nsign: coinbase\n",
         "    request: {path: /v2/accounts, query: {limit: \"100\"}}\n    resume: {kind: none}\n");
    desk->vars.api_key = bytes_of("organizations/1/apiKeys/2");
    desk->vars.api_secret = text_bytes(&pem);
    desk->vars.now_ms = INT64_C(1700000000500);
    assert_int_equal(build(desk, "http://127.0.0.1:1/coinbase"), RC_OK);
    const char *token = header(desk, "Authorization");
    assert_memory_equal(token, "Bearer ", 7);
    token += 7;
    const char *dot = strchr(token, '.'), *second = strchr(dot + 1, '.');
    verify_token(key, token, second);
    decode_url(dot + 1, (size_t)(second - dot - 1), &part);
    assert_int_equal(json_parse_copy(doc, text_bytes(&part), &claims, &desk->err), RC_OK);
    assert_true(bytes_equal_string(json_string_or_absent(json_get(claims, "uri")),
                                   "GET api.coinbase.com/v2/accounts"));
    assert_true(bytes_equal_string(json_string_or_absent(json_get(claims, "sub")),
                                   "organizations/1/apiKeys/2"));
    int64_t expires;
    assert_true(json_i64(json_get(claims, "exp"), &expires));
    assert_int_equal(expires, 1700000120);
    json_doc_free(doc);
    text_free(&pem);
    text_free(&part);
    EVP_PKEY_free(key);
}

static void what_people_see_has_no_secret(void **state)
{
    struct desk *desk = *state;
    struct text shown = {0};
    load(desk, PLAIN "auth: {in: query, name: apikey}\n",
         "    request: {path: /x/$api_key, headers: {X-Mode: fast}}\n    resume: {kind: none}\n");
    desk->vars.api_key = bytes_of("can&ary");
    assert_int_equal(build(desk, NULL), RC_OK);
    connector_http_show(desk->connector, &desk->http, &desk->vars, &shown);
    assert_string_equal(text_string(&shown),
                        "GET https://main.demo.example/v1/x/********?apikey=********\n"
                        "X-Mode: fast\n");
    text_clear(&shown);
    load(desk, "platforms: {demo: {}}\nbase_url: https://api.kraken.com\nsign: kraken\n",
         "    request: {path: /0/x, form: {nonce: $nonce}}\n    resume: {kind: none}\n");
    desk->vars.api_key = bytes_of("canary-key");
    desk->vars.api_secret = bytes_of(KRAKEN_SECRET);
    desk->vars.nonce = 5;
    assert_int_equal(build(desk, NULL), RC_OK);
    connector_http_show(desk->connector, &desk->http, &desk->vars, &shown);
    assert_string_equal(text_string(&shown), "POST https://api.kraken.com/0/x\n"
                                             "Content-Type: application/x-www-form-urlencoded\n"
                                             "API-Key: ********\nAPI-Sign: ********\nnonce=5\n");
    text_free(&shown);
}

/* What the upstream says, as it is read. */
static void expect_clean(struct desk *desk, const char *said, const char *wanted)
{
    struct text scratch = {0};
    struct bytes body = bytes_of(said);
    struct bytes clean =
        connector_without_secrets(desk->connector, &desk->vars, &desk->http, body, &scratch);
    assert_int_equal(clean.len, strlen(wanted));
    assert_memory_equal(clean.data, wanted, clean.len);
    assert_true(strcmp(said, wanted) != 0 || clean.data == body.data);
    text_free(&scratch);
}

static void what_an_upstream_echoes_holds_no_key(void **state)
{
    struct desk *desk = *state;
    load(desk, PLAIN "auth: {in: header, name: X-Key, value: \"Basic $api_key\"}\n",
         "    request: {path: /x}\n    resume: {kind: none}\n");
    desk->vars.api_key = bytes_of("Canary/Key+1");
    desk->vars.api_secret = bytes_of("quite-secret");
    assert_int_equal(build(desk, NULL), RC_OK);
    expect_clean(desk, "{\"ok\":1}", "{\"ok\":1}");
    expect_clean(desk, "", "");
    expect_clean(desk, "Canary/Key+", "Canary/Key+");
    expect_clean(desk, "bad key Canary/Key+1Canary/Key+1.", "bad key ****************.");
    expect_clean(desk, "{\"a\":\"Canary\\/Key+1\",\"b\":\"?k=Canary%2FKey%2B1&c\"}",
                 "{\"a\":\"********\",\"b\":\"?k=********&c\"}");
    expect_clean(desk, "CANARY/KEY+1 or canary/key+1, quite-secret",
                 "******** or ********, ********");
    desk->vars.api_key = bytes_of("1234567"); /* it may stand in any amount */
    expect_clean(desk, "{\"amount\":\"12345678\"}", "{\"amount\":\"12345678\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_an_upstream_echoes_holds_no_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_absent_leaves_with_its_key_and_its_segment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_range_and_a_topic_are_written_for_a_node, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_segment_leaves_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_key_goes_where_the_connector_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bodies_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(positions_are_written_as_the_source_wants_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(partitions_change_constants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_stays_on_known_hosts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(krakens_published_example_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(coinbases_token_verifies_with_the_public_key, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_people_see_has_no_secret, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
