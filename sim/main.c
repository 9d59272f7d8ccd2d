/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: tidemark-sim [option…]\n"
    "A seeded world that speaks the wires of Bluesky's servers on the loopback address, for "
    "tests.\n"
    "Its address is the first line it prints; it ends on SIGTERM or SIGINT.\n"
    "\n"
    "  --port N             port to listen on; 0 picks one (default 0)\n"
    "  --seed S             the world's seed (default 1)\n"
    "  --accounts N         people in the world (default 200)\n"
    "  --follows N          how many of them the first one follows (default 40)\n"
    "  --follows-each N     whom every other person follows at the start (default 0)\n"
    "  --links N            different web pages they link to (default 400)\n"
    "  --web-links P        percent of these pages that lie on this server (default 0)\n"
    "  --web-base URL       the server of these pages, if it is another one\n"
    "  --press              these pages are articles of papers below localhost, in plain words\n"
    "  --named-sites P      percent of pages with names of real sites, at most 50 (default 0)\n"
    "  --events N           events that have happened at the start (default 1000)\n"
    "  --rate R             further events per second; 0: only on request (default 0)\n"
    "  --live-events N      the rate ends after N events; 0: never (default 0)\n"
    "  --start-us T         time of the first event in microseconds, or 'now': the events of the\n"
    "                       start end now (default 1767225600000000)\n"
    "  --gap-us G           time between two events (default 1000000 / rate, or 2100)\n"
    "  --noise P            percent of likes, follows and profiles (default 60)\n"
    "  --ties P             per mille of events with the same time as the one before (default 0)\n"
    "  --retention-hours H  how far back a cursor reaches (default 24)\n"
    "  --ping-ms N          time between pings; 0: none (default 30000)\n"
    "  --pong-wait-ms N     time a client has to answer (default 5000)\n"
    "  --seq-base N         what this host adds to the numbers of its events (default 0)\n"
    "  --v2-software        answer on /subscribe like the newer server\n"
    "  --v1-only            know nothing of the v2 wire\n"
    "  --require-auth       app.bsky methods need a session\n"
    "  --password P         app password of everybody (default tide-mark-sim1-pass)\n"
    "  --token-seconds N    how long an access token is good (default 7200)\n"
    "  --slow-page-ms N     how long slow pages take (default 30000)\n"
    "  --tls                speak TLS, with a certificate made at the start\n"
    "  --tls-cert FILE      speak TLS with this certificate and the key of --tls-key FILE\n"
    "  --tls-save FILE      write the certificate there, so that clients can trust it\n"
    "  --chain-seed S       the chain's seed (default 1)\n"
    "  --chain-accounts N   accounts whose histories are kept (default 4)\n"
    "  --chain-blocks N     blocks mined at the start (default 200)\n"
    "  --chain-first N      number of the first block (default 1000)\n"
    "  --chain-density N    transactions of a usual block, on average (default 2)\n"
    "  --chain-burst N      transactions of a crowded block; 0: none is (default 40)\n"
    "  --chain-mempool N    transactions that wait at the start (default 0)\n"
    "  --chain-window N     rows that numbered pages of an explorer reach (default 10000)\n"
    "  --content-seed S     seed of the chain that names documents (default 1)\n"
    "  --content-empty N    its first blocks, which name nothing (default 0)\n"
    "  --content-blocks N   blocks that follow them (default 60)\n"
    "  --content-density N  logs of a usual block, on average (default 1)\n"
    "  --content-crowded P  percent of blocks with as many logs as fit (default 3)\n"
    "  --content-documents N different documents (default 60)\n"
    "  --content-hard P     percent of them that are missing, gone or nothing (default 0)\n"
    "  --content-large P    percent of them that are of several blocks (default 20)\n"
    "  --content-folders P  percent of them that lie in folders (default 0)\n"
    "  --content-nodes N    nodes that show the chain, each on its port (default 2)\n"
    "  --content-gateways N gateways that have the documents (default 2)\n"
    "  --fault PLAN         arm a fault: name=…&after=N&count=K… (may be repeated)\n"
    "  --help\n";

enum option_id {
    OPTION_PORT = 256,
    OPTION_SEED,
    OPTION_ACCOUNTS,
    OPTION_FOLLOWS,
    OPTION_FOLLOWS_EACH,
    OPTION_LINKS,
    OPTION_WEB_LINKS,
    OPTION_WEB_BASE,
    OPTION_PRESS,
    OPTION_NAMED_SITES,
    OPTION_EVENTS,
    OPTION_RATE,
    OPTION_LIVE_EVENTS,
    OPTION_START_US,
    OPTION_GAP_US,
    OPTION_NOISE,
    OPTION_TIES,
    OPTION_RETENTION_HOURS,
    OPTION_PING_MS,
    OPTION_PONG_WAIT_MS,
    OPTION_SEQ_BASE,
    OPTION_V2_SOFTWARE,
    OPTION_V1_ONLY,
    OPTION_REQUIRE_AUTH,
    OPTION_PASSWORD,
    OPTION_TOKEN_SECONDS,
    OPTION_SLOW_PAGE_MS,
    OPTION_TLS,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_TLS_SAVE,
    OPTION_CHAIN_SEED,
    OPTION_CHAIN_ACCOUNTS,
    OPTION_CHAIN_BLOCKS,
    OPTION_CHAIN_FIRST,
    OPTION_CHAIN_DENSITY,
    OPTION_CHAIN_BURST,
    OPTION_CHAIN_MEMPOOL,
    OPTION_CHAIN_WINDOW,
    OPTION_CONTENT_SEED,
    OPTION_CONTENT_EMPTY,
    OPTION_CONTENT_BLOCKS,
    OPTION_CONTENT_DENSITY,
    OPTION_CONTENT_CROWDED,
    OPTION_CONTENT_DOCUMENTS,
    OPTION_CONTENT_HARD,
    OPTION_CONTENT_LARGE,
    OPTION_CONTENT_FOLDERS,
    OPTION_CONTENT_NODES,
    OPTION_CONTENT_GATEWAYS,
    OPTION_FAULT,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"accounts", required_argument, NULL, OPTION_ACCOUNTS},
    {"follows", required_argument, NULL, OPTION_FOLLOWS},
    {"follows-each", required_argument, NULL, OPTION_FOLLOWS_EACH},
    {"links", required_argument, NULL, OPTION_LINKS},
    {"web-links", required_argument, NULL, OPTION_WEB_LINKS},
    {"web-base", required_argument, NULL, OPTION_WEB_BASE},
    {"press", no_argument, NULL, OPTION_PRESS},
    {"named-sites", required_argument, NULL, OPTION_NAMED_SITES},
    {"events", required_argument, NULL, OPTION_EVENTS},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"live-events", required_argument, NULL, OPTION_LIVE_EVENTS},
    {"start-us", required_argument, NULL, OPTION_START_US},
    {"gap-us", required_argument, NULL, OPTION_GAP_US},
    {"noise", required_argument, NULL, OPTION_NOISE},
    {"ties", required_argument, NULL, OPTION_TIES},
    {"retention-hours", required_argument, NULL, OPTION_RETENTION_HOURS},
    {"ping-ms", required_argument, NULL, OPTION_PING_MS},
    {"pong-wait-ms", required_argument, NULL, OPTION_PONG_WAIT_MS},
    {"seq-base", required_argument, NULL, OPTION_SEQ_BASE},
    {"v2-software", no_argument, NULL, OPTION_V2_SOFTWARE},
    {"v1-only", no_argument, NULL, OPTION_V1_ONLY},
    {"require-auth", no_argument, NULL, OPTION_REQUIRE_AUTH},
    {"password", required_argument, NULL, OPTION_PASSWORD},
    {"token-seconds", required_argument, NULL, OPTION_TOKEN_SECONDS},
    {"slow-page-ms", required_argument, NULL, OPTION_SLOW_PAGE_MS},
    {"tls", no_argument, NULL, OPTION_TLS},
    {"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
    {"tls-key", required_argument, NULL, OPTION_TLS_KEY},
    {"tls-save", required_argument, NULL, OPTION_TLS_SAVE},
    {"chain-seed", required_argument, NULL, OPTION_CHAIN_SEED},
    {"chain-accounts", required_argument, NULL, OPTION_CHAIN_ACCOUNTS},
    {"chain-blocks", required_argument, NULL, OPTION_CHAIN_BLOCKS},
    {"chain-first", required_argument, NULL, OPTION_CHAIN_FIRST},
    {"chain-density", required_argument, NULL, OPTION_CHAIN_DENSITY},
    {"chain-burst", required_argument, NULL, OPTION_CHAIN_BURST},
    {"chain-mempool", required_argument, NULL, OPTION_CHAIN_MEMPOOL},
    {"chain-window", required_argument, NULL, OPTION_CHAIN_WINDOW},
    {"content-seed", required_argument, NULL, OPTION_CONTENT_SEED},
    {"content-empty", required_argument, NULL, OPTION_CONTENT_EMPTY},
    {"content-blocks", required_argument, NULL, OPTION_CONTENT_BLOCKS},
    {"content-density", required_argument, NULL, OPTION_CONTENT_DENSITY},
    {"content-crowded", required_argument, NULL, OPTION_CONTENT_CROWDED},
    {"content-documents", required_argument, NULL, OPTION_CONTENT_DOCUMENTS},
    {"content-hard", required_argument, NULL, OPTION_CONTENT_HARD},
    {"content-large", required_argument, NULL, OPTION_CONTENT_LARGE},
    {"content-folders", required_argument, NULL, OPTION_CONTENT_FOLDERS},
    {"content-nodes", required_argument, NULL, OPTION_CONTENT_NODES},
    {"content-gateways", required_argument, NULL, OPTION_CONTENT_GATEWAYS},
    {"fault", required_argument, NULL, OPTION_FAULT},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

struct settings {
    struct sim_options options;
    struct fault_plan faults;
    int64_t gap_us; /* 0: follows from the rate */
    bool start_now;
    const char *tls_save;
};

static void fail(const char *sentence)
{
    fprintf(stderr, "tidemark-sim: %s\n", sentence);
    exit(2);
}

static uint64_t number_of(const char *name, const char *value, uint64_t low, uint64_t high)
{
    uint64_t number;
    char sentence[200];
    if (!bytes_to_u64(bytes_of(value), &number) || number < low || number > high) {
        snprintf(sentence, sizeof sentence, "--%s takes a number from %llu to %llu, not '%s'", name,
                 (unsigned long long)low, (unsigned long long)high, value);
        fail(sentence);
    }
    return number;
}

static void set_world(struct settings *settings, int id, const char *name, const char *value)
{
    struct world_options *world = &settings->options.world;
    switch (id) {
    case OPTION_SEED:
        world->seed = number_of(name, value, 0, UINT64_MAX);
        break;
    case OPTION_ACCOUNTS:
        world->accounts = (uint32_t)number_of(name, value, 2, 10000000);
        break;
    case OPTION_FOLLOWS:
        world->follows = (uint32_t)number_of(name, value, 0, 10000000);
        break;
    case OPTION_FOLLOWS_EACH:
        world->follows_each = (uint32_t)number_of(name, value, 0, 100000);
        break;
    case OPTION_LINKS:
        world->links = (uint32_t)number_of(name, value, 1, 100000000);
        break;
    case OPTION_WEB_LINKS:
        world->web_percent = (uint32_t)number_of(name, value, 0, 100);
        break;
    case OPTION_WEB_BASE:
        if (strlen(value) >= sizeof world->web_base)
            fail("--web-base is too long");
        memcpy(world->web_base, value, strlen(value) + 1);
        break;
    case OPTION_PRESS:
        world->press = true;
        break;
    case OPTION_NAMED_SITES:
        world->named_percent = (uint32_t)number_of(name, value, 0, 50);
        break;
    case OPTION_START_US:
        settings->start_now = strcmp(value, "now") == 0;
        if (!settings->start_now)
            world->start_us = (int64_t)number_of(name, value, 1000000000000000, 9000000000000000);
        break;
    case OPTION_GAP_US:
        settings->gap_us = (int64_t)number_of(name, value, 1, 1000000000000);
        break;
    case OPTION_NOISE:
        world->noise_percent = (uint32_t)number_of(name, value, 0, 100);
        break;
    case OPTION_TIES:
        world->ties_permille = (uint32_t)number_of(name, value, 0, 1000);
        break;
    default:
        abort();
    }
}

static void set_content(struct settings *settings, int id, const char *name, const char *value)
{
    struct content_options *content = &settings->options.content;
    switch (id) {
    case OPTION_CONTENT_SEED:
        content->chain.seed = content->stock.seed = number_of(name, value, 0, UINT64_MAX);
        break;
    case OPTION_CONTENT_EMPTY:
        content->chain.empty = (uint32_t)number_of(name, value, 0, 1000000000);
        break;
    case OPTION_CONTENT_BLOCKS:
        content->chain.blocks = (uint32_t)number_of(name, value, 0, 1000000000);
        break;
    case OPTION_CONTENT_DENSITY:
        content->chain.density = (uint32_t)number_of(name, value, 0, DOC_LOGS_MAX);
        break;
    case OPTION_CONTENT_CROWDED:
        content->chain.crowded = (uint32_t)number_of(name, value, 0, 100);
        break;
    case OPTION_CONTENT_DOCUMENTS:
        content->stock.documents = (uint32_t)number_of(name, value, 0, 100000);
        break;
    case OPTION_CONTENT_HARD:
        content->stock.hard_percent = (uint32_t)number_of(name, value, 0, 100);
        break;
    case OPTION_CONTENT_LARGE:
        content->stock.large_percent = (uint32_t)number_of(name, value, 0, 100);
        break;
    case OPTION_CONTENT_FOLDERS:
        content->stock.folder_percent = (uint32_t)number_of(name, value, 0, 100);
        break;
    case OPTION_CONTENT_NODES:
        content->nodes = (uint32_t)number_of(name, value, 0, CONTENT_HOSTS_MAX);
        break;
    case OPTION_CONTENT_GATEWAYS:
        content->gateways = (uint32_t)number_of(name, value, 0, CONTENT_HOSTS_MAX);
        break;
    default:
        set_world(settings, id, name, value);
    }
}

static void set_chain(struct settings *settings, int id, const char *name, const char *value)
{
    struct chain_options *chain = &settings->options.chain;
    switch (id) {
    case OPTION_CHAIN_SEED:
        chain->seed = number_of(name, value, 0, UINT64_MAX);
        break;
    case OPTION_CHAIN_ACCOUNTS:
        chain->accounts = (uint32_t)number_of(name, value, 1, 100000);
        break;
    case OPTION_CHAIN_BLOCKS:
        chain->blocks = (uint32_t)number_of(name, value, 1, 100000000);
        break;
    case OPTION_CHAIN_FIRST:
        chain->first_block = (uint32_t)number_of(name, value, 1, 1000000000);
        break;
    case OPTION_CHAIN_DENSITY:
        chain->density = (uint32_t)number_of(name, value, 0, 100000);
        break;
    case OPTION_CHAIN_BURST:
        chain->burst = (uint32_t)number_of(name, value, 0, 1000000);
        break;
    case OPTION_CHAIN_MEMPOOL:
        chain->mempool = (uint32_t)number_of(name, value, 0, 100000);
        break;
    case OPTION_CHAIN_WINDOW:
        settings->options.explorer_window = (uint32_t)number_of(name, value, 1, 1000000000);
        break;
    default:
        set_content(settings, id, name, value);
    }
}

/* Who may ask, over what, and how slowly pages come. */
static void set_access(struct settings *settings, int id, const char *name, const char *value)
{
    struct sim_options *options = &settings->options;
    switch (id) {
    case OPTION_REQUIRE_AUTH:
        options->require_auth = true;
        break;
    case OPTION_PASSWORD:
        options->password = value;
        break;
    case OPTION_TOKEN_SECONDS:
        options->token_seconds = number_of(name, value, 0, 100000000);
        break;
    case OPTION_SLOW_PAGE_MS:
        options->slow_page_ms = number_of(name, value, 0, 3600000);
        break;
    case OPTION_TLS_CERT:
        options->tls_cert_file = value;
        options->tls = true;
        break;
    case OPTION_TLS_KEY:
        options->tls_key_file = value;
        break;
    case OPTION_TLS_SAVE:
        settings->tls_save = value;
        options->tls = true;
        break;
    case OPTION_TLS:
        options->tls = true;
        break;
    default:
        set_chain(settings, id, name, value);
    }
}

static void set_option(struct settings *settings, int id, const char *name, const char *value)
{
    struct sim_options *options = &settings->options;
    struct err err;
    switch (id) {
    case OPTION_PORT:
        options->port = (unsigned)number_of(name, value, 0, 65535);
        break;
    case OPTION_EVENTS:
        options->events = (uint32_t)number_of(name, value, 0, 100000000);
        break;
    case OPTION_RATE:
        options->rate = (uint32_t)number_of(name, value, 0, 1000000);
        break;
    case OPTION_LIVE_EVENTS:
        options->live_events = (uint32_t)number_of(name, value, 0, 1000000000);
        break;
    case OPTION_RETENTION_HOURS:
        options->retention_us = (int64_t)number_of(name, value, 0, 1000000) * 3600 * 1000000;
        break;
    case OPTION_PING_MS:
        options->ping_ms = number_of(name, value, 0, 3600000);
        break;
    case OPTION_PONG_WAIT_MS:
        options->pong_wait_ms = number_of(name, value, 1, 3600000);
        break;
    case OPTION_SEQ_BASE:
        options->seq_base = (int64_t)number_of(name, value, 0, 100000000000000);
        break;
    case OPTION_V2_SOFTWARE:
        options->v2_software = true;
        break;
    case OPTION_V1_ONLY:
        options->v1_only = true;
        break;
    case OPTION_FAULT:
        if (fault_plan_arm(&settings->faults, bytes_of(value), &err) != RC_OK)
            fail(err.text);
        break;
    default:
        set_access(settings, id, name, value);
    }
}

static void read_options(struct settings *settings, int argc, char **argv)
{
    int id, index = 0;
    settings->options = sim_options_default();
    settings->options.world.web_base[0] = '\0';
    while ((id = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (id == OPTION_HELP) {
            fputs(usage, stdout);
            exit(0);
        }
        if (id == '?')
            exit(2);
        set_option(settings, id, long_options[index].name, optarg);
    }
    if (optind < argc)
        fail("takes no arguments; see --help");
    if ((settings->options.tls_cert_file == NULL) != (settings->options.tls_key_file == NULL))
        fail("--tls-cert and --tls-key go together");
    struct world_options *world = &settings->options.world;
    if (settings->gap_us != 0)
        world->gap_us = settings->gap_us;
    else if (settings->options.rate > 0)
        world->gap_us = 1000000 / settings->options.rate;
    if (settings->start_now) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        world->start_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 -
                          (int64_t)settings->options.events * world->gap_us;
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

static void save_certificate(const struct sim *sim, const char *path)
{
    struct bytes certificate = tls_keys_certificate(sim->keys);
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(certificate.data, 1, certificate.len, file) != certificate.len ||
        fclose(file) != 0)
        fail("cannot write the file of --tls-save");
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    struct sim sim;
    struct err err;
    uv_loop_t loop;
    uv_signal_t on_term, on_int;
    char address[64];
    read_options(&settings, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop);
    if (sim_start(&sim, &loop, &settings.options, &err) != RC_OK) {
        fprintf(stderr, "tidemark-sim: %s\n", err.text);
        return 1;
    }
    sim.faults = settings.faults;
    sim_faults_changed(&sim);
    uv_signal_init(&loop, &on_term);
    uv_signal_init(&loop, &on_int);
    uv_signal_start(&on_term, on_signal, SIGTERM);
    uv_signal_start(&on_int, on_signal, SIGINT);
    if (settings.tls_save != NULL)
        save_certificate(&sim, settings.tls_save);
    sim_address(&sim, address);
    puts(address);
    if (sim.plain != NULL) {
        sim_plain_address(&sim, address);
        puts(address);
    }
    fflush(stdout);
    uv_run(&loop, UV_RUN_DEFAULT);
    sim_stop(&sim);
    uv_close((uv_handle_t *)&on_term, NULL);
    uv_close((uv_handle_t *)&on_int, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    sim_deinit(&sim);
    return uv_loop_close(&loop) == 0 ? 0 : 1;
}
