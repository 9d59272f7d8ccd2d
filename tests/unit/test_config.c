/* SPDX-License-Identifier: Apache-2.0 */
#include "test_config.h"
#include "query/collection.h"

#include "cli/commands.h"

/* One number: its default, a value within, and both sides of both bounds. */
static void check_number(const char *path, int64_t initial, int64_t min, int64_t max)
{
    struct config config;
    struct config_problems problems = {0};
    char text[32];
    config_init(&config);
    struct section section = config_section(&config);
    const struct setting *setting = section_find(&section, bytes_of(path));
    assert_non_null(setting);
    const int64_t *value = (const void *)((const char *)&config + setting->offset);
    assert_int_equal(*value, initial);
    const int64_t good[] = {min, max}, bad[] = {min - 1, max + 1};
    for (size_t i = 0; i < 2; i++) {
        struct text block = {0}; /* through a file, as people write it */
        text_appendf(&block, "%.*s:\n  %s: %lld\n", (int)strcspn(path, "."), path,
                     strchr(path, '.') + 1, (long long)good[i]);
        config_read_yaml(&config, "t.yaml", text_bytes(&block), &problems);
        assert_int_equal(problems.count, 0);
        assert_int_equal(*value, good[i]);
        text_free(&block);
        snprintf(text, sizeof text, "%lld", (long long)bad[i]);
        config_set(&config, "--set", path, text, &problems);
        assert_int_equal(problems.count, 1);
        assert_int_equal(*value, good[i]);
        assert_non_null(strstr(problems.lines.data, "it must be"));
        config_problems_free(&problems);
    }
    config_deinit(&config);
}

static void numbers_of_the_seeds_have_their_defaults_and_bounds(void **state)
{
    (void)state;
    /* R000-42, R000-43, R000-44, R000-45, R000-46, R000-47 (accepted, default, bounds) */
    check_number("polling.interval_minutes", 15, 1, 1440);
    check_number("polling.posts_per_page", 50, 1, 100);
    check_number("polling.initial_lookback_hours", 24, 1, 8760);
    check_number("polling.max_retries", 3, 0, 20);
    check_number("polling.retry_backoff_ms", 1000, 1, 60000);
    check_number("polling.max_pages_per_user", 100, 1, 10000);
    check_number("polling.after_outage_seconds", 300, 1, 86400);
    /* R001-93, R001-94, R001-95 (accepted, default, bounds) */
    check_number("jetstream.reconnect_delay_seconds", 5, 1, 3600);
    check_number("jetstream.max_reconnect_attempts", 0, 0, 1000000);
    check_number("jetstream.cursor_save_interval_seconds", 10, 1, 3600);
    /* R001-97, R001-99 (accepted, default, bounds) */
    check_number("did_manager.refresh_interval_minutes", 60, 1, 10080);
    check_number("did_manager.backfill_lookback_hours", 24, 1, 8760);
    /* R001-100, R001-101, R001-102 (accepted, default, bounds) */
    check_number("retention.window_hours", 24, 1, 87600);
    check_number("retention.cleanup_interval_minutes", 60, 1, 10080);
    check_number("retention.keep_trending_threshold", 5, 1, 1000000);
    check_number("retention.keep_trending_max_days", 30, 1, 3650);
    /* R001-103, R001-104, R001-105, R001-106 (accepted, default, bounds) */
    check_number("backfill.posts_per_page", 50, 1, 100);
    check_number("backfill.max_concurrent", 10, 1, 100);
    check_number("backfill.rate_limit_ms", 100, 0, 60000);
    check_number("backfill.max_retries", 3, 0, 20);
}

static void other_settings_of_the_seeds_have_their_defaults(void **state)
{
    (void)state;
    struct loaded a = load("");
    const struct config *c = &a.config;
    expect_good(&a);
    /* R001-02, R001-89, R001-90 (accepted, default as corrected to the v2 hosts) */
    assert_string_equal(c->jetstream.endpoint, "wss://jetstream.us-west.bsky.network");
    assert_string_equal(c->jetstream.fallback_endpoint, "wss://jetstream.us-east.bsky.network");
    /* R001-91, R001-92, R001-96, R001-98 (accepted, default) */
    assert_true(c->jetstream.compress);
    assert_int_equal(c->jetstream.wanted_collections.count, 1);
    assert_string_equal(c->jetstream.wanted_collections.items[0], "app.bsky.feed.post");
    assert_string_equal(c->jetstream.cursor_file, "data/jetstream_cursor.txt");
    assert_true(c->did_manager.backfill_enabled);
    unload(&a);

    struct loaded b = load("jetstream:\n"
                           "  endpoint: ws://127.0.0.1:6008/subscribe?x=1\n"
                           "  fallback_endpoint: \"\"\n"
                           "  compress: off\n"
                           "  wanted_collections: [app.bsky.feed.post, app.bsky.feed.*]\n"
                           "  cursor_file: /tmp/c\n"
                           "did_manager: {backfill_enabled: false}\n");
    expect_good(&b);
    assert_string_equal(b.config.jetstream.endpoint, "ws://127.0.0.1:6008/subscribe?x=1");
    assert_string_equal(b.config.jetstream.fallback_endpoint, "");
    assert_false(b.config.jetstream.compress);
    assert_int_equal(b.config.jetstream.wanted_collections.count, 2);
    assert_string_equal(b.config.jetstream.cursor_file, "/tmp/c");
    assert_false(b.config.did_manager.backfill_enabled);
    unload(&b);
}

static void settings_beside_the_seeds_have_their_defaults(void **state)
{
    (void)state;
    struct loaded a = load("");
    const struct config *c = &a.config;
    assert_string_equal(c->store.url, "sqlite:data/tidemark.db");
    assert_string_equal(c->serve.listen, "127.0.0.1:8080");
    assert_string_equal(c->serve.health_listen, "127.0.0.1:8081");
    assert_string_equal(c->serve.tokens_file, "");
    assert_true(c->serve.open_reads);
    assert_int_equal(c->serve.cors_origins.count, 0);
    assert_int_equal(c->log.format, CONFIG_LOG_TEXT);
    assert_int_equal(c->log.level, CONFIG_LOG_INFO);
    assert_string_equal(c->log.file, "");
    assert_int_equal(c->bluesky.mode, CONFIG_MODE_HYBRID);
    assert_int_equal(c->bluesky.actors.count, 0);
    assert_int_equal(c->bluesky.collections.count, 2);
    assert_string_equal(c->bluesky.collections.items[1], "repost");
    assert_string_equal(c->content.event, "any");
    assert_int_equal(c->content.concurrency, 20);
    assert_false(c->fetch.allow_private);
    assert_string_equal(c->fetch.ca_file, "");
    assert_true(c->cards.enabled);
    assert_int_equal(c->cards.per_host_ms, 1000);
    assert_int_equal(c->cards.in_flight, 8);
    assert_int_equal(c->provider_count + c->collection_count, 0);
    unload(&a);
}

/* Defaults and the table itself. */
static void every_row_of_the_table_is_sound(void **state)
{
    (void)state;
    struct text must = {0};
    for (size_t i = 0; i < config_setting_count; i++) {
        const struct setting *s = &config_settings[i];
        assert_non_null(strchr(s->path, '.'));
        assert_true(strlen(s->sentence) > 10 && s->sentence[strlen(s->sentence) - 1] == '.');
        if (s->type != SETTING_LIST && s->initial != NULL)
            assert_true(setting_check(s, bytes_of(s->initial), true, &must));
        if (s->initial == NULL)
            assert_true(s->empty_allowed || s->type == SETTING_SECRET ||
                        (s->type == SETTING_LIST && s->min == 0));
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(s->path, config_settings[k].path);
            assert_int_not_equal(s->offset, config_settings[k].offset);
        }
    }
    text_free(&must);
}

static int run(int argc, const char *const *words)
{
    char copies[8][128], *argv[9] = {0};
    for (int i = 0; i < argc; i++) {
        snprintf(copies[i], sizeof copies[i], "%s", words[i]);
        argv[i] = copies[i];
    }
    return cmd_config(argc, argv);
}

/* R001-107 */
static void both_printed_files_load_unchanged_alone_and_joined(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/data/config_polling.yaml",
                                        "tests/data/config_jetstream.yaml"};
    char joined[] = P_tmpdir "/config_joined_XXXXXX";
    int fd = mkstemp(joined);
    assert_true(fd >= 0);
    for (size_t i = 0; i < 2; i++) {
        char text[4096];
        FILE *file = fopen(files[i], "r");
        assert_non_null(file);
        size_t len = fread(text, 1, sizeof text, file);
        assert_in_range(len, 100, sizeof text - 1);
        fclose(file);
        assert_int_equal(write(fd, text, len), (ssize_t)len);
        assert_int_equal(run(4, (const char *const[]){"config", "check", "-c", files[i]}), 0);
    }
    close(fd);
    int code = run(4, (const char *const[]){"config", "check", "-c", joined});
    struct config config;
    struct config_problems problems = {0};
    enum rc rc = config_load(&config, &(struct config_sources){.file = joined}, &problems);
    unlink(joined);
    assert_int_equal(code, 0);
    assert_int_equal(rc, RC_OK);
    assert_string_equal(config.jetstream.endpoint,
                        "wss://jetstream2.us-west.bsky.network/subscribe");
    struct section section = config_section(&config);
    size_t from_file = 0;
    for (size_t i = 0; i < section.count; i++)
        from_file += section.origins[i].from == CONFIG_FILE;
    assert_int_equal(from_file, 6 + 8 + 3 + 3 + 4); /* every line of both took effect */
    config_deinit(&config);
}

static void a_value_out_of_bounds_is_named_with_its_place(void **state)
{
    (void)state;
    /* R000-43 (bounds) */
    expect("polling:\n  posts_per_page: 101\n",
           "t.yaml:2:19: polling.posts_per_page is 101; it must be 1 to 100\n");
    expect("polling: {max_retries: -1}\n",
           "t.yaml:1:24: polling.max_retries is -1; it must be 0 to 20\n");
}

static void a_value_of_the_wrong_type_is_named_with_its_place(void **state)
{
    (void)state;
    expect("polling: {interval_minutes: soon}\n",
           "t.yaml:1:29: polling.interval_minutes is \"soon\"; it must be a whole number, 1 to "
           "1440\n");
    expect("polling: {interval_minutes: \"5\"}\n",
           "t.yaml:1:29: polling.interval_minutes is 5; it must be a whole number without quotes, "
           "1 to 1440\n");
    expect("polling: {interval_minutes: [5]}\n",
           "t.yaml:1:29: polling.interval_minutes is a list; it must be a single value\n");
    expect("polling: {interval_minutes: }\n",
           "t.yaml:1:29: polling.interval_minutes has no value\n");
    expect("polling: {interval_minutes: 99999999999999999999}\n",
           "t.yaml:1:29: polling.interval_minutes is \"99999999999999999999\"; it must be a whole "
           "number, 1 to 1440\n");
    expect("jetstream: {compress: maybe}\n",
           "t.yaml:1:23: jetstream.compress is \"maybe\"; it must be true or false\n");
    expect("jetstream: {wanted_collections: x}\n",
           "t.yaml:1:33: jetstream.wanted_collections is text; it must be a list\n");
    expect(
        "bluesky: {mode: hybird}\n",
        "t.yaml:1:17: bluesky.mode is \"hybird\"; it must be hybrid, firehose, polling or off\n");
    expect("polling: 5\n", "t.yaml:1:10: polling is text; it must be a map of settings\n");
    expect("- polling\n", "t.yaml:1:1: the file is a list; it must be a map of settings\n");
    expect("log: {file: \"a\\0b\"}\n",
           "t.yaml:1:13: log.file is \"a?b\"; it must be text without control characters\n");
}

static void an_unknown_key_names_its_place_and_the_nearest_one(void **state)
{
    (void)state;
    expect("polling:\n  intervall_minutes: 5\n",
           "t.yaml:2:3: unknown key \"intervall_minutes\" in polling (did you mean "
           "interval_minutes?)\n");
    expect("poling: {}\n", "t.yaml:1:1: unknown key \"poling\" (did you mean polling?)\n");
    expect("lgo: {}\n", "t.yaml:1:1: unknown key \"lgo\" (did you mean log?)\n");
    expect("provider: {}\n", "t.yaml:1:1: unknown key \"provider\" (did you mean providers?)\n");
    expect("posts_per_page: 5\n",
           "t.yaml:1:1: unknown key \"posts_per_page\" (did you mean polling.posts_per_page?)\n");
    expect("zzzzzz: 5\n", "t.yaml:1:1: unknown key \"zzzzzz\"\n");
    expect("polling.interval_minutes: 5\n",
           "t.yaml:1:1: unknown key \"polling.interval_minutes\"\n");
    expect("providers: {kraken: {apikey: x}}\n",
           "t.yaml:1:22: unknown key \"apikey\" in providers.kraken (did you mean api_key?)\n");
}

static void addresses_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"jetstream2.us-west.bsky.network",
                                      "https://host",
                                      "wss://",
                                      "wss://host:0",
                                      "wss://host:65536",
                                      "wss://ho st",
                                      "wss://user@",
                                      "wss://[::1",
                                      "wss://host/#part",
                                      "wss://u:p@host/"};
    static const char *const good[] = {"wss://host", "ws://[::1]:80/x?y=z", "ws://h:65535",
                                       "wss://host/a@b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct loaded a = load_all("", NULL, "jetstream.endpoint", bad[i]);
        assert_int_equal(a.problems.count, 1);
        assert_non_null(strstr(a.problems.lines.data, "a wss:// or ws:// address with a host"));
        unload(&a);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct loaded a = load_all("", NULL, "jetstream.endpoint", good[i]);
        expect_good(&a);
        unload(&a);
    }
    expect("jetstream:\n  endpoint: http://x\n",
           "t.yaml:2:13: jetstream.endpoint is \"http://x\"; it must be a wss:// or ws:// address "
           "with a host\n");
    expect("serve: {listen: 8080}\n",
           "t.yaml:1:17: serve.listen is \"8080\"; it must be an address "
           "and a port, like 127.0.0.1:8080\n");
    expect("serve: {cors_origins: [\"https://a.example:8\", \"*\"]}\n",
           "t.yaml:1:47: serve.cors_origins has the entry \"*\"; it must be an origin like "
           "https://news.example:8443, without a path\n");
    expect("serve: {listen: \"[::]:8081\", health_listen: \"[::]:8081\"}\n",
           "t.yaml:1:45: serve.health_listen is the same address as serve.listen; leave it empty, "
           "/health is served there too\n");
    expect(
        "store: {url: 'sqlite::memory:'}\n",
        "t.yaml:1:14: store.url is \"sqlite::memory:\"; it must be sqlite:PATH of a file: memory "
        "keeps nothing\n");
    expect("store: {url: mysql://x}\n", "t.yaml:1:14: store.url is \"mysql://x\"; it must be "
                                        "sqlite:PATH or postgresql://...\n");
    expect("store: {url: \"postgresql://u:a/b@h/db\"}\n",
           "t.yaml:1:14: store.url is \"postgresql://u:********@h/db\"; it must be an address "
           "whose user and password have / ? # [ ] and @ written as %2F %3F %23 %5B %5D and %40\n");
    expect("log: {rotate: 10:5}\n", "t.yaml:1:15: log.rotate is \"10:5\"; it must be a size and a "
                                    "count, like 10M:5 (K, M or G; 1 to 100 files)\n");
}

static void ports_of_a_server_are_checked(void **state)
{
    (void)state;
#define PORTS "\"; it must be an address whose ports are 1 to 65535\n"
    expect("store: {url: postgresql://h:99999/db}\n",
           "t.yaml:1:14: store.url is \"postgresql://h:99999/db" PORTS);
    expect("store: {url: \"postgres://u@a:1,[::1]:0/db\"}\n",
           "t.yaml:1:14: store.url is \"postgres://u@a:1,[::1]:0/db" PORTS);
    expect("store: {url: \"postgresql://h:54x?sslmode=disable\"}\n",
           "t.yaml:1:14: store.url is \"postgresql://h:54x?sslmode=disable" PORTS);
    static const char *const servers[] = {
        "postgresql:///db",
        "postgresql://h/db",
        "postgresql://h:5432",
        "postgresql://u:p@h:/db",
        "postgresql://a:1,b,[::1]:2/db",
        "postgresql://%2Frun%2Fpg/db",
        "postgresql://[::1]/db",
    };
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        char yaml[96];
        snprintf(yaml, sizeof yaml, "store: {url: \"%s\"}\n", servers[i]);
        expect(yaml, "");
    }
}

static void entries_of_lists_are_checked_one_by_one(void **state)
{
    (void)state;
    expect("bluesky:\n  actors:\n    - you.bsky.social\n    - nobody\n    - [x]\n    - "
           "you.bsky.social\n",
           "t.yaml:4:7: bluesky.actors has the entry \"nobody\"; it must be a handle like "
           "you.bsky.social or a DID like did:plc:...\n"
           "t.yaml:5:7: bluesky.actors has an entry that is a list\n"
           "t.yaml:6:7: bluesky.actors has the same entry twice\n");
    expect("bluesky: {collections: []}\n",
           "t.yaml:1:24: bluesky.collections has 0 entries; it must have 1 to 2\n");
    expect("bluesky: {collections: [like]}\n", "t.yaml:1:25: bluesky.collections has the entry "
                                               "\"like\"; it must be post or repost\n");
    expect("news: {mute_domains: [\"https://bad.example/\"]}\n",
           "t.yaml:1:23: news.mute_domains has the entry \"https://bad.example/\"; it must be the "
           "name of a site like example.org, without https:// and /; letters beyond a-z as "
           "xn--...\n");
    struct loaded a = load("ledger: {accounts: [\"ethereum:0xabc\", kraken]}\n"
                           "content: {rpc: [http://127.0.0.1:8545], contract: "
                           "\"0x1234567890123456789012345678901234567890\", event: "
                           "\"EditPublished(address,string)\", gateways: [https://ipfs.io]}\n");
    expect_good(&a);
    assert_int_equal(a.config.ledger.accounts.count, 2);
    assert_string_equal(a.config.content.rpc.items[0], "http://127.0.0.1:8545");
    unload(&a);
    expect("ledger: {accounts: [\"csv:a.csv\"]}\n",
           "t.yaml:1:21: ledger.accounts has the entry \"csv:a.csv\"; it must be CHAIN:ADDRESS or "
           "the name of an exchange; a file is read by `tidemark import csv:PATH`\n");
    expect("content: {contract: \"0x1234567890123456789012345678901234567890\"}\n",
           "t.yaml:1:21: content.contract is given and content.rpc is not; this pipeline needs "
           "both\n");
}

static void every_problem_is_reported_up_to_a_bound(void **state)
{
    (void)state;
    expect("polling: {posts_per_page: 0, max_retries: x}\nretention: {window: 5}\nlog:\n  level: "
           "loud\n  level: info\n",
           "t.yaml:1:27: polling.posts_per_page is 0; it must be 1 to 100\n"
           "t.yaml:1:43: polling.max_retries is \"x\"; it must be a whole number, 0 to 20\n"
           "t.yaml:2:13: unknown key \"window\" in retention\n"
           "t.yaml:4:10: log.level is \"loud\"; it must be debug, info, warn or error\n"
           "t.yaml:5:3: the key \"level\" is given twice; first in line 4\n");
    struct text yaml = {0};
    for (int i = 0; i < 200; i++)
        text_appendf(&yaml, "k%d: 1\n", i);
    struct loaded a = load(yaml.data);
    size_t lines = 0;
    for (const char *c = a.problems.lines.data; *c != 0; c++)
        lines += *c == '\n';
    assert_int_equal(a.problems.count, 200);
    assert_int_equal(lines, CONFIG_PROBLEMS_MAX);
    unload(&a);
    text_free(&yaml);
}

static void broken_yaml_is_named_with_its_place(void **state)
{
    (void)state;
    struct loaded a = load("polling:\n  interval_minutes: [5\nlog: {}\n");
    assert_int_equal(a.problems.count, 1);
    assert_ptr_equal(strstr(a.problems.lines.data, "t.yaml:3:4: "), a.problems.lines.data);
    unload(&a);
    expect("log: &l {level: *l}\n", "t.yaml:1:17: an alias that contains itself\n");
    struct loaded b = load("polling: &p {max_retries: 1}\nbackfill: *p\n");
    expect_good(&b);
    assert_int_equal(b.config.backfill.max_retries, 1);
    unload(&b);
}

static void flags_win_over_environment_over_file_over_default(void **state)
{
    (void)state;
    char *const environment[] = {(char[]){"HOME=/"},
                                 (char[]){"TIDEMARK_POLLING_INTERVAL_MINUTES=20"},
                                 (char[]){"TIDEMARK_POLLING_MAX_RETRIES=7"},
                                 (char[]){"TIDEMARK_BLUESKY_ACTORS=a.example, b.example"},
                                 (char[]){"TIDEMARK_CONTENT_RPC=[\"http://a/?x=1,2\"]"},
                                 (char[]){"TIDEMARK_CRASH_AT=commit"},
                                 NULL};
    struct loaded a =
        load_all("polling: {interval_minutes: 10, max_retries: 5, posts_per_page: 9}\n"
                 "content: {contract: \"0x1234567890123456789012345678901234567890\"}",
                 environment, "polling.interval_minutes", "30");
    expect_good(&a);
    assert_int_equal(a.config.polling.interval_minutes, 30);
    assert_int_equal(a.config.polling.max_retries, 7);
    assert_int_equal(a.config.polling.posts_per_page, 9);
    assert_int_equal(a.config.polling.retry_backoff_ms, 1000);
    assert_int_equal(a.config.bluesky.actors.count, 2);
    assert_string_equal(a.config.bluesky.actors.items[1], "b.example");
    assert_int_equal(a.config.content.rpc.count, 1);
    assert_string_equal(a.config.content.rpc.items[0], "http://a/?x=1,2");
    /* The order of the calls does not matter. */
    config_read_yaml(&a.config, "t.yaml", bytes_of("polling: {interval_minutes: 11}"), &a.problems);
    assert_int_equal(a.config.polling.interval_minutes, 30);
    unload(&a);
}

static void environment_and_flags_are_checked_like_the_file(void **state)
{
    (void)state;
    char *const environment[] = {(char[]){"TIDEMARK_POLLING_POSTS_PER_PAGE=101"},
                                 (char[]){"TIDEMARK_LOG_LEVL=info"},
                                 (char[]){"TIDEMARK_STORE_URL="}, NULL};
    struct loaded a = load_all("", environment, "polling.posts_per_pge", "1");
    assert_string_equal(
        a.problems.lines.data,
        "TIDEMARK_POLLING_POSTS_PER_PAGE: polling.posts_per_page is 101; it must be 1 to 100\n"
        "TIDEMARK_LOG_LEVL: no setting has this name (did you mean TIDEMARK_LOG_LEVEL?)\n"
        "TIDEMARK_STORE_URL: store.url is empty; it must be sqlite:PATH or postgresql://...\n"
        "--set: \"polling.posts_per_pge\" is no setting (did you mean polling.posts_per_page?)\n");
    unload(&a);
}

/* The committed page is the generated one. R003-65 R004-49 */
static void the_page_of_settings_is_up_to_date(void **state)
{
    (void)state;
    struct text docs = {0}, page = {0};
    config_docs(&docs);
    collection_docs(&docs);
    FILE *file = fopen("docs/CONFIG.md", "r");
    assert_non_null(file);
    page.len = fread(text_reserve(&page, 65536), 1, 65536, file);
    fclose(file);
    assert_true(bytes_equal(text_bytes(&docs), text_bytes(&page)));
    for (size_t i = 0; i < config_setting_count; i++)
        assert_non_null(strstr(docs.data, config_settings[i].sentence));
    text_free(&docs);
    text_free(&page);
}

static void the_command_answers_with_documented_codes(void **state)
{
    (void)state;
    const char *const usage[] = {"config"}, *const twice[] = {"config", "check", "print"},
                      *const missing[] = {"config", "check", "-c", "no/such/file"},
                      *const bad[] = {"config", "check", "--set", "log.level=loud"},
                      *const shape[] = {"config", "check", "--set", "log.level"},
                      *const good[] = {"config", "--set", "log.level=warn", "check"},
                      *const reach[] = {"config", "check", "--set", "serve.listen=0.0.0.0:8080"},
                      *const shown[] = {"config", "print", "--set", "serve.listen=0.0.0.0:8080"};
    assert_int_equal(run(1, usage), 2);
    assert_int_equal(run(3, twice), 2);
    assert_int_equal(run(4, missing), 1);
    assert_int_equal(run(4, bad), 1);
    assert_int_equal(run(4, shape), 1);
    assert_int_equal(run(4, good), 0);
    assert_int_equal(run(4, reach), 1);
    assert_int_equal(run(4, shown), 0);
}

static void the_socket_lies_in_the_data_directory(void **state)
{
    static const struct {
        const char *url, *data_dir, *path;
    } cases[] = {
        {"sqlite:data/t.db", "", "data/tidemark.sock"},
        {"sqlite:t.db", "", "./tidemark.sock"},
        {"sqlite:/t.db", "", "/tidemark.sock"},
        {"sqlite:/var/lib/t.db", "", "/var/lib/tidemark.sock"},
        {"sqlite://data/t.db", "", "data/tidemark.sock"},
        {"sqlite:///var/lib/t.db", "", "/var/lib/tidemark.sock"},
        {"postgresql://host/t", "", "data/tidemark.sock"},
        {"postgresql://host/t", "/run/t", "/run/t/tidemark.sock"},
        {"sqlite:data/t.db", "other", "other/tidemark.sock"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = {.store = {.url = cases[i].url, .data_dir = cases[i].data_dir}};
        struct text path = {0};
        config_socket_path(&config, &path);
        assert_string_equal(text_string(&path), cases[i].path);
        text_free(&path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_the_seeds_have_their_defaults_and_bounds),
        cmocka_unit_test(other_settings_of_the_seeds_have_their_defaults),
        cmocka_unit_test(settings_beside_the_seeds_have_their_defaults),
        cmocka_unit_test(every_row_of_the_table_is_sound),
        cmocka_unit_test(both_printed_files_load_unchanged_alone_and_joined),
        cmocka_unit_test(a_value_out_of_bounds_is_named_with_its_place),
        cmocka_unit_test(a_value_of_the_wrong_type_is_named_with_its_place),
        cmocka_unit_test(an_unknown_key_names_its_place_and_the_nearest_one),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(ports_of_a_server_are_checked),
        cmocka_unit_test(entries_of_lists_are_checked_one_by_one),
        cmocka_unit_test(every_problem_is_reported_up_to_a_bound),
        cmocka_unit_test(broken_yaml_is_named_with_its_place),
        cmocka_unit_test(flags_win_over_environment_over_file_over_default),
        cmocka_unit_test(environment_and_flags_are_checked_like_the_file),
        cmocka_unit_test(the_socket_lies_in_the_data_directory),
        cmocka_unit_test(the_page_of_settings_is_up_to_date),
        cmocka_unit_test(the_command_answers_with_documented_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
