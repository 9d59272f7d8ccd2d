/* SPDX-License-Identifier: Apache-2.0
 *
 * server.h - the serving half: HTTP for people and programs.
 *
 * One loop on a thread of its own, and up to three listeners: the main address, one for health
 * checks, and a unix socket whose users are trusted. Requests that need the store wait without
 * holding a thread while readers work for them. Stopping is a drain: what is under way is finished,
 * what comes meanwhile is answered 503, and after the drain's time everything still waiting is
 * answered and closed.
 *
 * Always holds: connections, waiting requests, bodies and headers are bounded (I6); /health never
 * waits for the store; every request under way is answered before the listeners close.
 *
 * Owner: the daemon.  Thread: start and stop on the daemon's; callbacks on the serving loop. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "config_lists.h"
#include "query/handle.h"
#include "serve/health.h"

#define SERVER_WRITES_MAX 256 /* with the writer at a time */

enum listener_kind { LISTENER_MAIN, LISTENER_HEALTH, LISTENER_SOCKET, LISTENER_COUNT };

struct bell;
struct collections;
struct config;
struct route;
struct status_live;
struct writer;
struct server;

/* Who may ask; all zero: everybody on loopback, as often as they like. */
struct gate_options {
    const char *tokens_file; /* NULL: nobody is asked for a token, and only loopback is served */
    bool reads_need_token;   /* on loopback too */
    struct config_list cors_origins;   /* of pages that may use the API from elsewhere */
    unsigned address_rate, token_rate; /* requests a second; 0: no limit */
    unsigned burst_s;                  /* so many seconds' worth may come at once; 0: 1 */
    bool limit_loopback;               /* addresses of loopback count as any other */
};

/* Who fetches pictures; all NULL: nobody does, and none are shown. Any thread. */
struct server_pictures {
    bool (*enabled)(void *arg);
    /* Has the picture of that name, which lies at `url`, fetched into the store; false: not now.
     * `link`: with which it goes; 0: with none. */
    bool (*want)(void *arg, struct bytes name, int64_t link, struct bytes url);
    void *arg;
};

struct server_options {
    const char *listen;        /* "127.0.0.1:8080"; NULL: none. Port 0: a free one */
    const char *health_listen; /* "127.0.0.1:8081"; NULL: none */
    const char *socket_path;   /* the data directory's tidemark.sock; NULL: none */
    const char *store_url;
    struct writer *writer; /* what writes the store; NULL: nothing can be written here */
    struct gate_options gate;
    unsigned readers;                 /* threads that read the store; 0: 2 */
    unsigned waiting_max;             /* requests that wait for a reader; 0: 256 */
    int64_t query_us_max;             /* a query of the store may take; 0: 250 ms */
    unsigned connections_max;         /* of each listener; 0: 1024 */
    unsigned address_connections_max; /* of one address, loopback excepted; 0: 64 */
    unsigned idle_s_max;              /* a silent connection is closed; 0: 30 */
    unsigned request_s_max;    /* headers must be there, and a body in six times that; 0: 10 */
    size_t answer_bytes_max;   /* unsent, of all clients: large ones are refused; 0: 128 MiB */
    unsigned send_bytes_s_min; /* who takes an answer more slowly is cut; 0: 16 KiB */
    int64_t drain_us_max;      /* 0: 5 s */
    struct handle_limits handles;
    health_fn *health; /* NULL: nothing is known, always healthy */
    /* Appends the numbers as Prometheus text; NULL: there are none. */
    void (*metrics)(void *arg, struct text *out);
    /* Fills in what runs; NULL: nothing does. What it is given was zeroed. */
    void (*status)(void *arg, struct status_live *live);
    void *arg;                       /* for all three */
    const struct config *config;     /* how links are ranked; NULL: none are */
    struct bell *bell;               /* rung after every commit; NULL: never */
    struct collections *collections; /* what can be asked for; NULL: the built-in ones */
    /* Appends the one spelling of a content address and its path, whose escapes are undone; false:
     * it is none. NULL: nobody knows. */
    bool (*spell_address)(struct bytes name, struct text *out);
    /* Whether a block names the document of that spelling that has no row yet; any thread. NULL:
     * nobody knows. */
    bool (*awaits_document)(void *arg, struct bytes name);
    void *awaits_arg;
    struct server_pictures pictures;
    /* Further routes; the built-in ones come first. */
    const struct route *routes;
    size_t route_count;
    void *routes_arg; /* theirs */
};

/* Options and what they point at stay in place until the stop. RC_REJECT: an address cannot be
 * listened on, and the sentence says which and why. */
must_check enum rc server_start(const struct server_options *options, struct server **server,
                                struct err *err);
void server_stop(struct server *server);
/* After the stop, and after the writer's: what it had in hand was still the server's. */
void server_free(struct server *server);
/* Has the tokens of that file in force soon; RC_REJECT: it is not good, and those in force stay.
 * Only for a server that was started with tokens, and from one thread. */
must_check enum rc server_read_tokens(struct server *server, const char *path, struct err *err);
/* The port a listener really has; 0 when there is none. */
unsigned server_port(const struct server *server, enum listener_kind kind);

#endif
