/* SPDX-License-Identifier: Apache-2.0 */
#include "test_config.h"

#define CANARY "canary-3f9b1c77"

static void providers_become_typed_entries(void **state)
{
    (void)state;
    char *const environment[] = {(char[]){"TIDEMARK_PROVIDERS_MY_NODE_API_KEY=k2"},
                                 (char[]){"TIDEMARK_PROVIDERS_KRAKEN_API_SECRET=s"}, NULL};
    struct loaded a = load_all("providers:\n"
                               "  etherscan: {base_url: \"http://127.0.0.1:9/api\", api_key: k1, "
                               "priority: 1}\n"
                               "  my-node: {enabled: false}\n",
                               environment, "providers.moralis.enabled", "no");
    expect_good(&a);
    assert_int_equal(a.config.provider_count, 4);
    const struct config_provider *etherscan = config_provider_find(&a.config, "etherscan");
    assert_string_equal(etherscan->base_url, "http://127.0.0.1:9/api");
    assert_true(bytes_equal_string(secret_reveal(&etherscan->api_key), "k1"));
    assert_true(etherscan->enabled);
    assert_int_equal(etherscan->priority, 1);
    const struct config_provider *node = config_provider_find(&a.config, "my-node");
    assert_true(bytes_equal_string(secret_reveal(&node->api_key), "k2"));
    assert_false(node->enabled);
    assert_int_equal(node->priority, 100);
    const struct config_provider *kraken = config_provider_find(&a.config, "kraken");
    assert_true(secret_given(&kraken->api_secret));
    assert_false(secret_given(&kraken->api_key));
    assert_false(config_provider_find(&a.config, "moralis")->enabled);
    assert_null(config_provider_find(&a.config, "none"));
    unload(&a);
    expect("providers: {\"A b\": {}}\n",
           "t.yaml:1:13: providers has the name \"A b\"; it must be 1 "
           "to 63 lowercase letters, digits, - and _\n");
    expect("providers: [x]\n", "t.yaml:1:12: providers is a list; it must be a map\n");
    expect("providers: {x: 5}\n",
           "t.yaml:1:16: providers.x is text; it must be a map of settings\n");
}

static void one_appview_needs_no_brackets_and_a_login_both_halves(void **state)
{
    (void)state;
    struct text shown = {0};
    struct loaded a = load("bluesky: {appview: http://one.example}\n");
    expect_good(&a);
    assert_int_equal(a.config.bluesky.appview.count, 1);
    assert_string_equal(a.config.bluesky.appview.items[0], "http://one.example");
    unload(&a);
    a = load("bluesky:\n  appview: [http://one.example, http://two.example]\n"
             "  identifier: me.example\n  app_password: " CANARY "\n"
             "  second_degree: {enabled: true, sources_min: 2}\n");
    expect_good(&a);
    assert_int_equal(a.config.bluesky.appview.count, 2);
    assert_true(a.config.bluesky.second_degree.enabled);
    assert_int_equal(a.config.bluesky.second_degree.sources_min, 2);
    assert_true(bytes_equal_string(secret_reveal(&a.config.bluesky.app_password), CANARY));
    config_print(&a.config, &shown);
    assert_null(strstr(text_string(&shown), CANARY));
    assert_non_null(strstr(text_string(&shown), "  second_degree:\n    enabled: true"));
    text_free(&shown);
    unload(&a);
    expect("bluesky: {appview: nowhere}\n",
           "t.yaml:1:20: bluesky.appview has the entry \"nowhere\"; it must be an https:// or "
           "http:// address with a host of up to 58 letters and no user\n");
    expect("serve: {listen: \"localhost:8080\"}\n",
           "t.yaml:1:17: serve.listen is \"localhost:8080\"; it must be an address "
           "and a port, like 127.0.0.1:8080\n");
    expect("bluesky: {appview: \"https://me:p@a.example\", pds: \"http://me@b.example\"}\n",
           "t.yaml:1:20: bluesky.appview has the entry \"https://********@a.example\"; it must "
           "be an https:// or http:// address with a host of up to 58 letters and no user\n"
           "t.yaml:1:51: bluesky.pds is \"http://********@b.example\"; it must be an https:// or "
           "http:// address with a host of up to 58 letters and no user\n");
    expect("bluesky: {identifier: me.example}\n",
           "t.yaml:1:23: bluesky.identifier is given and bluesky.app_password is not; a login "
           "needs both\n");
}

static void what_was_refused_is_not_called_missing(void **state)
{
    (void)state;
    expect("content: {contract: \"0x12\", rpc: [http://n]}\n",
           "t.yaml:1:21: content.contract is \"0x12\"; it must be 0x and 40 hexadecimal digits\n");
    expect("content: {rpc: [http://n]}\n",
           "t.yaml:1:16: content.rpc is given and content.contract is not; this pipeline needs "
           "both\n");
}

static void a_secret_comes_from_its_file(void **state)
{
    (void)state;
    char path[] = P_tmpdir "/config_secret_XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, CANARY "\n", strlen(CANARY) + 1), (ssize_t)strlen(CANARY) + 1);
    close(fd);
    struct text yaml = {0};
    text_appendf(&yaml, "providers: {kraken: {api_key_file: %s}}\n", path);
    struct loaded a = load(yaml.data);
    expect_good(&a);
    assert_true(bytes_equal_string(secret_reveal(&a.config.providers[0].api_key), CANARY));
    unload(&a);
    /* A stronger origin wins over a weaker file; two of one origin are one too many. */
    char *const environment[] = {(char[]){"TIDEMARK_PROVIDERS_KRAKEN_API_KEY=stronger"}, NULL};
    a = load_all(yaml.data, environment, NULL, NULL);
    expect_good(&a);
    assert_true(bytes_equal_string(secret_reveal(&a.config.providers[0].api_key), "stronger"));
    unload(&a);
    text_clear(&yaml);
    text_appendf(&yaml, "providers:\n  kraken:\n    api_key: x\n    api_key_file: %s\n", path);
    expect(yaml.data,
           "t.yaml:4:19: both providers.kraken.api_key and providers.kraken.api_key_file "
           "are given; give one\n");
    unlink(path);
    text_free(&yaml);
    expect("providers:\n  kraken:\n    api_secret_file: no/such/file\n",
           "t.yaml:3:22: providers.kraken.api_secret_file: cannot open no/such/file: No such file "
           "or directory\n");
    expect("providers: {kraken: {api_secret_file: /dev/null}}\n",
           "t.yaml:1:39: providers.kraken.api_secret_file: what /dev/null holds must be 1 to 4096 "
           "bytes without control characters\n");
}

static void no_secret_is_ever_printed(void **state)
{
    (void)state;
    struct text out = {0};
    struct loaded a = load("store: {url: \"postgresql://me:" CANARY "@db/x?password=" CANARY
                           "&sslmode=require\"}\n"
                           "content:\n"
                           "  contract: \"0x1234567890123456789012345678901234567890\"\n"
                           "  rpc: [\"https://node.example/v3/" CANARY "-key\"]\n"
                           "providers:\n"
                           "  kraken: {api_key: " CANARY ", api_secret: " CANARY "}\n"
                           "  alchemy: {base_url: \"https://eth.example/v2/" CANARY "-key\"}\n");
    expect_good(&a);
    config_print(&a.config, &out);
    assert_null(strstr(out.data, CANARY));
    assert_non_null(strstr(out.data,
                           "url: \"postgresql://me:********@db/x?password=********&sslmode"
                           "=require\""));
    assert_non_null(strstr(out.data, "rpc: [\"https://node.example/v3/********\"]"));
    assert_non_null(strstr(out.data, "api_key: \"********\""));
    unload(&a);
    text_free(&out);
    /* Nor in a problem, where people copy it from. */
    static const char *const bad[] = {
        "providers: {kraken: {api_key: \"" CANARY "\\n\"}}",
        "providers: {kraken: {api_key: [" CANARY "]}}",
        "providers: {kraken: {base_url: \"htps://u:" CANARY "@h\"}}",
        "store: {url: \"postgres:/u:" CANARY "@h/db\"}",
        "store: {url: \"pgsql://u:pa?ss/" CANARY "@h/db\"}",
        "store: {url: \"mysql://h/db?password=" CANARY "\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct loaded b = load(bad[i]);
        assert_int_equal(b.problems.count, 1);
        assert_null(strstr(b.problems.lines.data, CANARY));
        unload(&b);
    }
    expect("providers: {kraken: {api_key: \"********\"}}",
           "t.yaml:1:31: providers.kraken.api_key cannot be used; it must be the secret itself, "
           "not the mask that stands for it\n");
}

/* Keys stand in the middle of addresses, too, and short ones; words that are none are shown. What
 * is printed is no value: given back it would be asked for, and fail, long after. */
static void a_key_inside_an_address_is_masked_and_the_mask_is_no_value(void **state)
{
    static const char *const shown[][2] = {
        {"rpc: [\"http://host/v3/KEYKEYKEY12345\"]", "[\"http://host/v3/********\"]"},
        {"rpc: [\"https://a.example/9aa3d95b/rpc\"]", "[\"https://a.example/********/rpc\"]"},
        {"rpc: [\"https://a.example/kEyInLetters\"]", "[\"https://a.example/********\"]"},
        {"rpc: [\"https://a.example/eyJhbGciOi.eyJz.x\"]", "[\"https://a.example/********\"]"},
        {"rpc: [\"https://mykeyofletters@a.example\"]", "[\"https://********@a.example\"]"},
        {"rpc: [\"https://me:word@a.example\"]", "[\"https://********@a.example\"]"},
        {"rpc: [\"https://a.example/ext/bc/C/rpc\"]", "[https://a.example/ext/bc/C/rpc]"},
        {"rpc: [\"https://a.example/polygon-mainnet/v1\"]",
         "[https://a.example/polygon-mainnet/v1]"},
        {"heads: [\"wss://a.example/ws/abcd1234\"]", "[\"wss://a.example/ws/********\"]"},
        {"gateways: [\"http://a.example/abcd1234\"]", "[\"http://a.example/********\"]"},
        {"feed: \"http://a.example/blocks/abcd1234\"", "\"http://a.example/blocks/********\""},
        {"feed: /var/lib/indexer/blocks2024.jsonl", "/var/lib/indexer/blocks2024.jsonl"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        struct text yaml = {0}, out = {0};
        text_appendf(&yaml, "content: {%s}\n", shown[i][0]);
        struct loaded a = load(yaml.data);
        config_print(&a.config, &out);
        if (strstr(out.data, shown[i][1]) == NULL)
            fail_msg("%s is not %s in\n%s", shown[i][0], shown[i][1], out.data);
        unload(&a);
        text_free(&yaml);
        text_free(&out);
    }
    expect(
        "providers: {alchemy: {base_url: \"https://eth.example/v2/********\"}}",
        "t.yaml:1:33: providers.alchemy.base_url is \"https://eth.example/v2/********\"; it must "
        "be the address itself, not one with a mask in it\n");
    expect("store: {url: \"postgresql://me:********@db/x\"}",
           "t.yaml:1:14: store.url is \"postgresql://me:********@db/x\"; it must be the address "
           "itself, not one with a mask in it\n");
    expect("bluesky: {appview: [\"https://a.example\", \"https://********@b.example\"]}",
           "t.yaml:1:42: bluesky.appview has the entry \"https://********@b.example\"; it must be "
           "the address itself, not one with a mask in it\n");
}

static void collections_become_typed_entries(void **state)
{
    (void)state;
    struct loaded a = load("collections:\n"
                           "  chat_messages:\n"
                           "    indexes: [[roomId, timestamp]]\n"
                           "    fields: {roomId: text, timestamp: time, n_words: int}\n"
                           "    sort: {field: timestamp, direction: asc}\n"
                           "    page_size: 20\n"
                           "  users:\n"
                           "    fields: {name: text}\n");
    expect_good(&a);
    assert_int_equal(a.config.collection_count, 2);
    const struct config_collection *chat = &a.config.collections[0];
    assert_string_equal(chat->name, "chat_messages");
    assert_int_equal(chat->field_count, 3);
    assert_string_equal(chat->fields[1].name, "timestamp");
    assert_int_equal(chat->fields[1].type, CONFIG_FIELD_TIME);
    assert_string_equal(chat->sort_field, "timestamp");
    assert_int_equal(chat->sort_direction, CONFIG_ASCENDING);
    assert_int_equal(chat->page_size, 20);
    assert_int_equal(chat->index_count, 1);
    assert_int_equal(chat->indexes[0].count, 2);
    assert_string_equal(chat->indexes[0].items[0], "roomId");
    const struct config_collection *users = &a.config.collections[1];
    assert_string_equal(users->sort_field, "");
    assert_int_equal(users->sort_direction, CONFIG_DESCENDING);
    assert_int_equal(users->page_size, 100);
    assert_int_equal(users->index_count, 0);
    unload(&a);
}

static void collections_are_checked(void **state)
{
    (void)state;
    expect("collections:\n"
           "  posts: {fields: {a: text}}\n"
           "  1st: {fields: {a: text}}\n"
           "  none: {}\n"
           "  None: {fields: {a: text}}\n"
           "  c:\n"
           "    fields: {a: text, A: int, id: text, b: number, j: json}\n"
           "    sort: {field: bb, direction: up}\n"
           "    page_size: 1001\n"
           "    indexes: [[a, z], a, [], [j]]\n"
           "    index: []\n",
           "t.yaml:2:3: collections: \"posts\" is built in and cannot be declared\n"
           "t.yaml:3:3: collections: \"1st\" must be 1 to 48 letters, digits and _, not beginning "
           "with a digit\n"
           "t.yaml:4:3: collections.none has no fields: write fields: {name: text}\n"
           "t.yaml:5:3: collections: \"None\" differs from another collection only in case\n"
           "t.yaml:7:23: collections.c.fields: \"A\" differs from another field only in case\n"
           "t.yaml:7:31: collections.c.fields: \"id\" is a name that every table has already\n"
           "t.yaml:7:44: collections.c.fields.b must be text, int, float, bool, time or json\n"
           "t.yaml:8:34: collections.c.sort.direction is \"up\"; it must be asc or desc\n"
           "t.yaml:9:16: collections.c.page_size is 1001; it must be 1 to 1000\n"
           "t.yaml:11:5: unknown key \"index\" in collections.c (did you mean indexes?)\n"
           "t.yaml:10:19: collections.c.indexes names \"z\", which is no declared field\n"
           "t.yaml:10:23: collections.c.indexes: an index must be a list of 1 to 8 fields\n"
           "t.yaml:10:26: collections.c.indexes: an index must be a list of 1 to 8 fields\n"
           "t.yaml:10:31: collections.c.indexes names \"j\", and nothing is ordered by json\n"
           "t.yaml:8:19: collections.c.sort.field names \"bb\", which is no declared field\n");
}

static void a_printed_configuration_names_origins_and_loads_again(void **state)
{
    (void)state;
    char *const environment[] = {(char[]){"TIDEMARK_LOG_LEVEL=warn"}, NULL};
    struct loaded a = load_all("polling:\n  max_retries: 5\nlog: {file: \"a \\\"b\\\" # c\"}\n"
                               "bluesky: {actors: [x.example, did:plc:abc]}\n"
                               "collections: {c: {fields: {a: text}, indexes: [[a], [a]]}}\n"
                               "providers: {p: {priority: 3}}\n",
                               environment, "bluesky.mode", "polling");
    struct text first = {0}, second = {0}, paths = {0};
    expect_good(&a);
    config_print(&a.config, &first);
    assert_non_null(strstr(first.data, "  max_retries: 5                                        "
                                       "# t.yaml:2:16\n"));
    assert_non_null(strstr(first.data, "# TIDEMARK_LOG_LEVEL\n"));
    assert_non_null(strstr(first.data, "# --set\n"));
    assert_non_null(strstr(first.data, "# default\n"));
    struct loaded b = load(first.data);
    expect_good(&b);
    config_print(&b.config, &second);
    assert_int_equal(config_restart_needed(&a.config, &b.config, &paths), 0);
    struct loaded c = load("store: {url: \"sqlite:x\"}\nlog: {level: error}\n");
    assert_int_equal(config_restart_needed(&a.config, &c.config, &paths), 4);
    assert_string_equal(paths.data, "store.url\nbluesky.actors\nbluesky.mode\nproviders\n");
    unload(&a);
    unload(&b);
    unload(&c);
    text_free(&first);
    text_free(&second);
    text_free(&paths);
}

/* The document is good for every command, and has exactly these problems for a daemon. */
static void expect_for_daemon(const char *yaml, const char *lines)
{
    struct loaded loaded = load(yaml);
    expect_good(&loaded);
    config_check_daemon(&loaded.config, &loaded.problems);
    assert_string_equal(text_string(&loaded.problems.lines), lines);
    unload(&loaded);
}

/* With /ipfs at the end of a root every document would be asked for at /ipfs/ipfs/, and refused for
 * good; behind a query nothing would be found either. */
static void a_gateway_is_a_root(void **state)
{
#define ROOT                                                                                       \
    "\"; it must be an https:// or http:// address with a host, without a query or /ipfs at its "  \
    "end\n"
    (void)state;
    expect("content: {gateways: [\"https://g.example/ipfs/\"]}\n",
           "t.yaml:1:22: content.gateways has the entry \"https://g.example/ipfs/" ROOT);
    expect("content: {gateways: [\"https://g.example/a/ipfs\"]}\n",
           "t.yaml:1:22: content.gateways has the entry \"https://g.example/a/ipfs" ROOT);
    expect("content: {gateways: [\"https://g.example?n=1\"]}\n",
           "t.yaml:1:22: content.gateways has the entry \"https://g.example?n=********" ROOT);
    struct loaded good = load("content: {gateways: [\"https://ipfs\", \"https://g.example//\", "
                              "\"https://h.example/ipfs/v1\", \"https://i.example/myipfs\"]}\n");
    expect_good(&good);
    unload(&good);
}

/* What would end a daemon as soon as it starts is found before. */
static void what_a_daemon_would_not_start_with_is_found(void **state)
{
    (void)state;
#define REACH                                                                                      \
    ", which others can reach: without serve.tokens_file only a loopback address is served, "      \
    "127.0.0.1:8080 or [::1]:8080\n"
    expect_for_daemon("serve:\n  listen: 0.0.0.0:8080\n",
                      "t.yaml:2:11: serve.listen is 0.0.0.0:8080" REACH);
    expect_for_daemon("serve: {listen: \"[::]:80\"}\n",
                      "t.yaml:1:17: serve.listen is [::]:80" REACH);
    expect_for_daemon("serve: {listen: \"0.0.0.0:8080\", tokens_file: t}\n", "");
    expect_for_daemon("", "");
#define TWICE "; the addresses of one setting lie on different hosts or ports\n"
    expect_for_daemon("bluesky: {appview: [https://a.example, https://b.example, "
                      "http://a.example/x/]}\n",
                      "t.yaml:1:20: bluesky.appview names a.example twice" TWICE);
#define CHAIN "contract: \"0x1234567890123456789012345678901234567890\", "
    expect_for_daemon("content: {" CHAIN "rpc: [\"http://u:p@n:1/a\", \"http://n:1/b\"], "
                      "gateways: [\"https://g\", \"https://g/\"]}\n",
                      "t.yaml:1:72: content.rpc names n:1 twice" TWICE
                      "t.yaml:1:120: content.gateways names g twice" TWICE);
    expect_for_daemon("content: {gateways: [\"https://g\", \"https://g/\"]}\n", "");
    expect_for_daemon("content: {" CHAIN "rpc: [\"http://n:1\", \"http://n:2\"]}\n", "");
#define HOSTS "jetstream.endpoint and jetstream.fallback_endpoint both name "
#define OTHER "; leave the second empty, or name another host\n"
    expect_for_daemon("jetstream: {endpoint: ws://h/a, fallback_endpoint: wss://h}\n",
                      "t.yaml:1:52: " HOSTS "h" OTHER);
    expect_for_daemon("jetstream: {endpoint: wss://jetstream.us-east.bsky.network/subscribe}\n",
                      "t.yaml:1:23: " HOSTS "jetstream.us-east.bsky.network" OTHER);
    expect_for_daemon("fetch:\n  ca_file: no/such.pem\n",
                      "t.yaml:2:12: fetch.ca_file: cannot open no/such.pem: No such file or "
                      "directory\n");
    expect_for_daemon("fetch: {ca_file: /}\n",
                      "t.yaml:1:18: fetch.ca_file: cannot read /: Is a directory\n");
    expect_for_daemon("fetch: {ca_file: /dev/null}\n",
                      "t.yaml:1:18: fetch.ca_file: /dev/null holds no certificate in PEM: no "
                      "server would be believed\n");
    expect_for_daemon("bluesky: {mode: polling}\n"
                      "jetstream: {endpoint: ws://h/a, fallback_endpoint: wss://h}\n",
                      "");
}

/* The hash of a signature that is not written as the ABI has it is that of no event: nothing would
 * be found, and nobody told. */
static void an_event_is_written_as_the_abi_has_it(void **state)
{
    static const char *const good[] = {
        "any",
        "action",
        "None()",
        "EditPublished(address,string)",
        "_e$1(uint8,int256,bytes1,bytes32,bytes,bool,function)",
        "Many(string[],bytes32[7][],(uint8,(string,bool)[])[2],address)",
    };
    static const char *const bad[] = {
        "Edit",          "1Edit(string)",      "(string)",
        "Edit(uint)",    "Edit(int)",          "Edit(byte)",
        "Edit(uint7)",   "Edit(uint264)",      "Edit(bytes33)",
        "Edit(bytes0)",  "Edit(uint08)",       "Edit(strings)",
        "Edit(,string)", "Edit(string,)",      "Edit(string",
        "Edit(string))", "Edit((string)",      "Edit(string[)",
        "Edit(string]",  "Edit(string[x])",    "Edit(string(bool))",
        "Edit(())",      "Edit((bool)string)", "Edit(address from)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (config_check_event(bytes_of(good[i])) != NULL)
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (config_check_event(bytes_of(bad[i])) == NULL)
            fail_msg("taken: %s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gateway_is_a_root),
        cmocka_unit_test(what_a_daemon_would_not_start_with_is_found),
        cmocka_unit_test(providers_become_typed_entries),
        cmocka_unit_test(one_appview_needs_no_brackets_and_a_login_both_halves),
        cmocka_unit_test(what_was_refused_is_not_called_missing),
        cmocka_unit_test(a_secret_comes_from_its_file),
        cmocka_unit_test(no_secret_is_ever_printed),
        cmocka_unit_test(a_key_inside_an_address_is_masked_and_the_mask_is_no_value),
        cmocka_unit_test(collections_become_typed_entries),
        cmocka_unit_test(collections_are_checked),
        cmocka_unit_test(an_event_is_written_as_the_abi_has_it),
        cmocka_unit_test(a_printed_configuration_names_origins_and_loads_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
