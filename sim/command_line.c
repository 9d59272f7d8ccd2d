/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/command_line.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_ID 256

static const char preface[] =
    "usage: tidemark-sim [option…]\n"
    "A seeded world that speaks the wires of Bluesky's servers on the loopback address, for "
    "tests.\n"
    "Its address is the first line it prints; it ends on SIGTERM or SIGINT.\n"
    "\n";

_Noreturn void command_line_fail(const char *sentence)
{
    fprintf(stderr, "tidemark-sim: %s\n", sentence);
    exit(2);
}

/* ---- options that are more than a value in its place ---- */

static void take_web_base(struct command_line *line, const char *value)
{
    struct world_options *world = &line->options.world;
    if (strlen(value) >= sizeof world->web_base)
        command_line_fail("--web-base is too long");
    memcpy(world->web_base, value, strlen(value) + 1);
}

static void take_start(struct command_line *line, const char *value)
{
    uint64_t us;
    line->start_now = strcmp(value, "now") == 0;
    if (line->start_now)
        return;
    if (!bytes_to_u64(bytes_of(value), &us) || us < 1000000000000000 || us > 9000000000000000)
        command_line_fail("--start-us takes 'now', or microseconds from 1000000000000000 to "
                          "9000000000000000");
    line->options.world.start_us = (int64_t)us;
}

static void take_retention(struct command_line *line, const char *value)
{
    uint64_t hours;
    if (!bytes_to_u64(bytes_of(value), &hours) || hours > 1000000)
        command_line_fail("--retention-hours takes a number from 0 to 1000000");
    line->options.retention_us = (int64_t)hours * 3600 * 1000000;
}

static void take_content_seed(struct command_line *line, const char *value)
{
    struct content_options *content = &line->options.content;
    if (!bytes_to_u64(bytes_of(value), &content->chain.seed))
        command_line_fail("--content-seed takes a number");
    content->stock.seed = content->chain.seed;
}

static void take_certificate(struct command_line *line, const char *value)
{
    line->options.tls_cert_file = value;
    line->options.tls = true;
}

static void take_tls_save(struct command_line *line, const char *value)
{
    line->tls_save = value;
    line->options.tls = true;
}

static void take_fault(struct command_line *line, const char *value)
{
    struct err err;
    if (fault_plan_arm(&line->faults, bytes_of(value), &err) != RC_OK)
        command_line_fail(err.text);
}

static void show_help(struct command_line *line, const char *value);

/* ---- all of them ---- */

enum takes { TAKES_NOTHING, TAKES_NUMBER, TAKES_WORD };

struct known_option {
    const char *name;
    const char *value; /* what it is called; NULL: it takes none */
    enum takes takes;
    size_t offset, size; /* of the place in a command line where it goes */
    uint64_t low, high;  /* of a number */
    const char *about;   /* NULL: another line tells of it */
    void (*take)(struct command_line *line, const char *value); /* in place of a place */
};

#define PLACE(member)                                                                              \
    .offset = offsetof(struct command_line, member),                                               \
    .size = sizeof((struct command_line *)NULL)->member
#define NUMBER(name_, value_, member, low_, high_, about_)                                         \
    {                                                                                              \
        .name = (name_), .value = (value_), .takes = TAKES_NUMBER, PLACE(member), .low = (low_),   \
        .high = (high_), .about = (about_)                                                         \
    }
#define WORD(name_, value_, member, about_)                                                        \
    {                                                                                              \
        .name = (name_), .value = (value_), .takes = TAKES_WORD, PLACE(member), .about = (about_)  \
    }
#define FLAG(name_, member, about_)                                                                \
    {                                                                                              \
        .name = (name_), PLACE(member), .about = (about_)                                          \
    }
#define OWN(name_, value_, take_, about_)                                                          \
    {                                                                                              \
        .name = (name_), .value = (value_), .take = (take_), .about = (about_)                     \
    }

static const struct known_option known[] = {
    NUMBER("port", "N", options.port, 0, 65535, "port to listen on; 0 picks one (default 0)"),
    NUMBER("seed", "S", options.world.seed, 0, UINT64_MAX, "the world's seed (default 1)"),
    NUMBER("accounts", "N", options.world.accounts, 2, 10000000,
           "people in the world (default 200)"),
    NUMBER("follows", "N", options.world.follows, 0, 10000000,
           "how many of them the first one follows (default 40)"),
    NUMBER("follows-each", "N", options.world.follows_each, 0, 100000,
           "whom every other person follows at the start (default 0)"),
    NUMBER("links", "N", options.world.links, 1, 100000000,
           "different web pages they link to (default 400)"),
    NUMBER("web-links", "P", options.world.web_percent, 0, 100,
           "percent of these pages that lie on this server (default 0)"),
    OWN("web-base", "URL", take_web_base, "the server of these pages, if it is another one"),
    FLAG("press", options.world.press,
         "these pages are articles of papers below localhost, in plain words"),
    NUMBER("named-sites", "P", options.world.named_percent, 0, 50,
           "percent of pages with names of real sites, at most 50 (default 0)"),
    NUMBER("events", "N", options.events, 0, 100000000,
           "events that have happened at the start (default 1000)"),
    NUMBER("rate", "R", options.rate, 0, 1000000,
           "further events per second; 0: only on request (default 0)"),
    NUMBER("live-events", "N", options.live_events, 0, 1000000000,
           "the rate ends after N events; 0: never (default 0)"),
    OWN("start-us", "T", take_start,
        "time of the first event in microseconds, or 'now': the events of the\n"
        "                       start end now (default 1767225600000000)"),
    NUMBER("gap-us", "G", gap_us, 1, 1000000000000,
           "time between two events (default 1000000 / rate, or 2100)"),
    NUMBER("noise", "P", options.world.noise_percent, 0, 100,
           "percent of likes, follows and profiles (default 60)"),
    NUMBER("ties", "P", options.world.ties_permille, 0, 1000,
           "per mille of events with the same time as the one before (default 0)"),
    OWN("retention-hours", "H", take_retention, "how far back a cursor reaches (default 24)"),
    NUMBER("ping-ms", "N", options.ping_ms, 0, 3600000,
           "time between pings; 0: none (default 30000)"),
    NUMBER("pong-wait-ms", "N", options.pong_wait_ms, 1, 3600000,
           "time a client has to answer (default 5000)"),
    NUMBER("seq-base", "N", options.seq_base, 0, 100000000000000,
           "what this host adds to the numbers of its events (default 0)"),
    FLAG("v2-software", options.v2_software, "answer on /subscribe like the newer server"),
    FLAG("v1-only", options.v1_only, "know nothing of the v2 wire"),
    FLAG("require-auth", options.require_auth, "app.bsky methods need a session"),
    WORD("password", "P", options.password,
         "app password of everybody (default tide-mark-sim1-pass)"),
    NUMBER("token-seconds", "N", options.token_seconds, 0, 100000000,
           "how long an access token is good (default 7200)"),
    NUMBER("slow-page-ms", "N", options.slow_page_ms, 0, 3600000,
           "how long slow pages take (default 30000)"),
    FLAG("tls", options.tls, "speak TLS, with a certificate made at the start"),
    OWN("tls-cert", "FILE", take_certificate,
        "speak TLS with this certificate and the key of --tls-key FILE"),
    WORD("tls-key", "FILE", options.tls_key_file, NULL),
    OWN("tls-save", "FILE", take_tls_save,
        "write the certificate there, so that clients can trust it"),
    NUMBER("chain-seed", "S", options.chain.seed, 0, UINT64_MAX, "the chain's seed (default 1)"),
    NUMBER("chain-accounts", "N", options.chain.accounts, 1, 100000,
           "accounts whose histories are kept (default 4)"),
    NUMBER("chain-blocks", "N", options.chain.blocks, 1, 100000000,
           "blocks mined at the start (default 200)"),
    NUMBER("chain-first", "N", options.chain.first_block, 1, 1000000000,
           "number of the first block (default 1000)"),
    NUMBER("chain-density", "N", options.chain.density, 0, 100000,
           "transactions of a usual block, on average (default 2)"),
    NUMBER("chain-burst", "N", options.chain.burst, 0, 1000000,
           "transactions of a crowded block; 0: none is (default 40)"),
    NUMBER("chain-mempool", "N", options.chain.mempool, 0, 100000,
           "transactions that wait at the start (default 0)"),
    NUMBER("chain-window", "N", options.explorer_window, 1, 1000000000,
           "rows that numbered pages of an explorer reach (default 10000)"),
    OWN("content-seed", "S", take_content_seed,
        "seed of the chain that names documents (default 1)"),
    NUMBER("content-empty", "N", options.content.chain.empty, 0, 1000000000,
           "its first blocks, which name nothing (default 0)"),
    NUMBER("content-blocks", "N", options.content.chain.blocks, 0, 1000000000,
           "blocks that follow them (default 60)"),
    NUMBER("content-density", "N", options.content.chain.density, 0, DOC_LOGS_MAX,
           "logs of a usual block, on average (default 1)"),
    NUMBER("content-crowded", "P", options.content.chain.crowded, 0, 100,
           "percent of blocks with as many logs as fit (default 3)"),
    NUMBER("content-documents", "N", options.content.stock.documents, 0, 100000,
           "different documents (default 60)"),
    NUMBER("content-hard", "P", options.content.stock.hard_percent, 0, 100,
           "percent of them that are missing, gone or nothing (default 0)"),
    NUMBER("content-large", "P", options.content.stock.large_percent, 0, 100,
           "percent of them that are of several blocks (default 20)"),
    NUMBER("content-folders", "P", options.content.stock.folder_percent, 0, 100,
           "percent of them that lie in folders (default 0)"),
    NUMBER("content-nodes", "N", options.content.nodes, 0, CONTENT_HOSTS_MAX,
           "nodes that show the chain, each on its port (default 2)"),
    NUMBER("content-gateways", "N", options.content.gateways, 0, CONTENT_HOSTS_MAX,
           "gateways that have the documents (default 2)"),
    OWN("fault", "PLAN", take_fault, "arm a fault: name=…&after=N&count=K… (may be repeated)"),
    OWN("help", NULL, show_help, "this list"),
};
#define KNOWN (sizeof known / sizeof known[0])

static void show_help(struct command_line *line, const char *value)
{
    (void)line, (void)value;
    fputs(preface, stdout);
    for (size_t i = 0; i < KNOWN; i++) {
        char left[32];
        snprintf(left, sizeof left, "--%s %s", known[i].name,
                 known[i].value == NULL ? "" : known[i].value);
        if (known[i].about != NULL)
            printf("  %-20s %s\n", left, known[i].about);
    }
    exit(0);
}

/* ---- reading ---- */

static uint64_t number_of(const struct known_option *option, const char *value)
{
    uint64_t number;
    char sentence[200];
    if (!bytes_to_u64(bytes_of(value), &number) || number < option->low || number > option->high) {
        snprintf(sentence, sizeof sentence, "--%s takes a number from %llu to %llu, not '%s'",
                 option->name, (unsigned long long)option->low, (unsigned long long)option->high,
                 value);
        command_line_fail(sentence);
    }
    return number;
}

static void put_number(void *place, size_t size, uint64_t number)
{
    uint32_t small = (uint32_t)number;
    assert(size == sizeof small || size == sizeof number);
    memcpy(place, size == sizeof small ? (const void *)&small : (const void *)&number, size);
}

static void take(struct command_line *line, const struct known_option *option, const char *value)
{
    void *place = (char *)line + option->offset;
    if (option->take != NULL)
        option->take(line, value);
    else if (option->takes == TAKES_NUMBER)
        put_number(place, option->size, number_of(option, value));
    else if (option->takes == TAKES_WORD)
        *(const char **)place = value;
    else
        *(bool *)place = true;
}

/* What follows from several of them. */
static void conclude(struct command_line *line)
{
    struct world_options *world = &line->options.world;
    if ((line->options.tls_cert_file == NULL) != (line->options.tls_key_file == NULL))
        command_line_fail("--tls-cert and --tls-key go together");
    if (line->gap_us != 0)
        world->gap_us = line->gap_us;
    else if (line->options.rate > 0)
        world->gap_us = 1000000 / line->options.rate;
    if (line->start_now) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        world->start_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 -
                          (int64_t)line->options.events * world->gap_us;
    }
}

void command_line_read(struct command_line *line, int argc, char **argv)
{
    struct option options[KNOWN + 1] = {{0}};
    int id;
    for (size_t i = 0; i < KNOWN; i++)
        options[i] =
            (struct option){.name = known[i].name,
                            .has_arg = known[i].value == NULL ? no_argument : required_argument,
                            .val = FIRST_ID + (int)i};
    *line = (struct command_line){.options = sim_options_default()};
    line->options.world.web_base[0] = '\0';
    while ((id = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (id == '?')
            exit(2);
        take(line, &known[id - FIRST_ID], optarg);
    }
    if (optind < argc)
        command_line_fail("takes no arguments; see --help");
    conclude(line);
}
