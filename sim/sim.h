/* SPDX-License-Identifier: Apache-2.0
 *
 * sim.h - the running simulation: one world, its log growing, and everyone who listens.
 *
 * Owner: the program.  Thread: loop. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "sim/content_world.h"
#include "sim/dictionary.h"
#include "sim/fault.h"
#include "sim/http_server.h"
#include "sim/ledger.h"
#include "sim/request_log.h"
#include "sim/web_page.h"
#include "sim/web_picture.h"
#include "sim/world.h"
#include "sim/xrpc_session.h"

/* A cursor below is a number of this host, one from here on a time in microseconds. */
#define SEQ_CURSOR_END 1000000000000000

struct sim_options {
    struct world_options world;
    struct chain_options chain;
    struct content_options content;
    uint32_t explorer_window; /* rows that numbered pages of an explorer reach */
    unsigned port;
    uint32_t events;      /* that have happened when it starts */
    uint32_t rate;        /* further events per second; 0: only when asked for */
    uint32_t live_events; /* the rate ends after so many; 0: never */
    int64_t retention_us; /* older events are not replayed */
    uint64_t ping_ms, pong_wait_ms;
    int64_t seq_base; /* what this host added to its numbering */
    bool v2_software; /* behaves on the v1 wire like the newer server */
    bool v1_only;     /* knows nothing of the v2 wire */
    bool require_auth;
    const char *password; /* of everybody */
    uint64_t token_seconds;
    uint64_t slow_page_ms;
    bool tls;
    const char *tls_cert_file, *tls_key_file; /* NULL: a certificate is made */
};

struct subscriber;

struct sim_loss {
    uint32_t k;
    enum fault_kind kind;
};

struct sim {
    struct sim_options options;
    uv_loop_t *loop;
    uv_timer_t timer;
    uint64_t begun_ms; /* loop time when live events began */
    struct world *world;
    struct fault_plan faults;
    struct http_server *http;
    struct http_server *plain; /* beside one that speaks TLS; else NULL */
    struct http_route *routes;
    struct tls_keys *keys;                 /* NULL: plain */
    struct dictionary *dictionaries[2][2]; /* by wire, right and wrong; made when first needed */
    struct subscriber *subscribers;
    unsigned connections;
    uint64_t connections_total, frames, frame_bytes, options_updates;
    struct text last_query, last_update; /* of a handshake and of an options_update, as they came */
    struct sim_loss *losses;
    size_t loss_count, loss_cap;
    struct sim_sessions sessions;
    struct request_log requests;
    struct ledger ledger;
    struct content_world content;
};

struct sim_options sim_options_default(void);
/* Makes the world and listens. */
must_check enum rc sim_start(struct sim *sim, uv_loop_t *loop, const struct sim_options *options,
                             struct err *err);
/* "http://127.0.0.1:PORT", or https. */
void sim_address(const struct sim *sim, char out[64]);
/* The same without TLS, where there is one. */
void sim_plain_address(const struct sim *sim, char out[64]);
/* Ends everything; sim_deinit follows when the loop ran dry. */
void sim_stop(struct sim *sim);
void sim_deinit(struct sim *sim);

/* Lets events happen now and tells the subscribers. */
void sim_step(struct sim *sim, uint32_t events);
/* Lets this happen now; returns the number of the event. */
uint32_t sim_append(struct sim *sim, const struct world_event *event, int64_t at_us);
/* To be called whenever faults were armed or disarmed. */
void sim_faults_changed(struct sim *sim);
/* Notes that a client was kept from event k. */
void sim_lose(struct sim *sim, uint32_t k, enum fault_kind kind);
struct dictionary *sim_dictionary(struct sim *sim, enum event_wire wire, bool wrong);
/* The first event still replayed. */
uint32_t sim_replay_floor(const struct sim *sim);
/* The number this host gives to event k, and the first event with a number >= seq; the count when
 * there is none. */
int64_t sim_seq(const struct sim *sim, uint32_t k);
uint32_t sim_find_seq(const struct sim *sim, int64_t seq);

/* GET /subscribe */
http_handler_fn jetstream_v1_subscribe;
/* GET /xrpc/network.bsky.jetstream.… */
http_handler_fn jetstream_v2_subscribe, jetstream_v2_dictionary;

/* GET /xrpc/app.bsky.… and com.atproto.… */
http_handler_fn appview_get_profile, appview_get_profiles, appview_get_follows,
    appview_resolve_handle, appview_get_author_feed, appview_get_posts;

/* POST /xrpc/com.atproto.server.… */
http_handler_fn xrpc_create_session, xrpc_refresh_session;

/* /_sim/… */
http_handler_fn control_follow, control_unfollow, control_stats, control_step, control_act,
    control_arm, control_disarm, control_truth, control_events, control_lost, control_dictionary,
    control_accounts, control_update, control_link, control_requests, control_certificate;

#endif
