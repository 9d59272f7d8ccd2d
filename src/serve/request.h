/* SPDX-License-Identifier: Apache-2.0
 *
 * request.h - one HTTP request on its way through the server, and the routes it may take.
 *
 * A route's `begin` runs on the serving loop and either answers or leaves it to `work`, which runs
 * on a reader's thread with a store; then `finish`, on the loop again, must answer. While `work`
 * runs nobody else touches the request. One that is parked waits for something else; whoever it
 * waits for goes on with it. Every request is answered exactly once; a failure is always
 * {success:false, code, error, hint}.
 *
 * Owner: the listener it came through.  Thread: the serving loop, but for `work`. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "base/json_write.h"
#include "config_tokens.h"
#include "query/collections.h"
#include "query/handle.h"
#include "serve/coding.h"
#include "serve/service.h"
#include "serve/visitor.h"
#include "store/reader_pool.h"
#include "sys/runtime.h"
#include "sys/worker.h"
#include "sys/ws_upgrade.h"

#include <sys/types.h>

struct MHD_UpgradeResponseHandle;
struct listener;

typedef void route_fn(struct request *request);
typedef enum rc route_work_fn(struct request *request, struct store *store, struct err *err);

#define ON_ALL    7u
#define ON_MAIN   (1u << LISTENER_MAIN | 1u << LISTENER_SOCKET)
#define ON_SOCKET (1u << LISTENER_SOCKET)

struct route {
    const char *method, *path; /* a GET route answers HEAD too; `{}` is one part of a path */
    unsigned listeners;        /* where it exists: ON_ALL, ON_MAIN or ON_SOCKET */
    enum scope scope;          /* what a visitor must have; SCOPE_ANYONE: nothing */
    route_fn *begin;
    route_work_fn *work; /* NULL: needs no store, `begin` answers */
    route_fn *finish;
    bool while_draining; /* answers even then */
    size_t body_max;     /* bytes; 0: LISTENER_BODY_MAX */
    bool large;          /* its answers may be: it has to wait for its client, and for others */
};

#define REQUEST_HOST_MAX 256

struct request {
    struct reader_job job; /* first: its result is `job.rc`, `job.err` */
    struct service *service;
    struct listener *listener;
    struct MHD_Connection *connection;
    enum listener_kind from;
    unsigned scopes; /* the visitor's */
    struct visitor_id visitor;
    const struct route *route;
    char path_part[320];                  /* what stood where the route has `{}` */
    uint8_t session[HANDLE_SESSION_SIZE]; /* the one named, else the token's, else zero */
    struct text body;
    uint64_t body_announced;
    size_t body_seen;        /* bytes that came, kept or not */
    struct refusal refusal;  /* filled by `work` with RC_REJECT */
    int64_t behind_until_us; /* monotonic; it waits for a commit until then; 0: it does not */
    void *data;              /* the route's own; given back by `free_data` */
    void (*free_data)(void *data);
    route_fn *resume; /* of whom it came through: it was answered after a while */
    bool (*hold)(struct request *request); /* whether a large answer is `held` back; or NULL */
    route_fn *gone;                        /* while its client is watched: it hung up; else NULL */
    struct fd_watch *hang_up;
    bool old_http, head_only, chunked, body_unkept; /* HTTP/1.0; a HEAD; in chunks; too many */
    char asked_host[REQUEST_HOST_MAX]; /* with its port, where the address was whole; else "" */
    bool answered, begun, dispatched, waiting, parked, reading, held;
    int status;         /* 0: not answered */
    bool close, varies; /* the connection ends after it; with what the client accepts */
    const char *content_type, *allow, *policy, *challenge, *location;
    unsigned retry_after_s;
    const char *cors_origin; /* of a page that may use the answer; NULL: none */
    bool cors, preflight;    /* the answer depends on that page; only asks what it may ask */
    const char *etag;    /* of what is there, so that nobody needs to fetch it twice; NULL: none */
    const char *caching; /* what is said of keeping it; NULL: to ask again each time */
    bool same_origin, ranges; /* only pages from here may show it; parts can be asked for */
    char content_range[80];   /* which part this is; "": all of it */
    enum coding coding;       /* of the reply */
    struct text reply;
    size_t reply_counted; /* bytes of it that are noted as unsent */
    struct worker_job packing;
    /* The answer is a stream: writes up to `size` bytes of it; 0: there are none now, and
     * listener_wake() says when; -1: it has ended. NULL: the reply is all there is. */
    ssize_t (*give)(struct request *request, char *to, size_t size);
    int64_t give_bytes; /* so many are in the stream; 0: nobody knows */
    bool dry;           /* waits for more of the stream */
    /* With 101: takes the connection over; `early` came behind the request. NULL: stays HTTP. */
    void (*upgrade)(struct request *request, int fd, struct MHD_UpgradeResponseHandle *upgraded,
                    struct bytes early);
    char accept[WS_UPGRADE_KEY_SIZE]; /* the answer to a websocket's key */
    const char *protocol;             /* and to the protocols it offered; NULL: none */
};

/* The value of a header, or NULL. */
const char *request_header(const struct request *request, const char *name);
/* Whether the list in a header, in one line or in many, has this word, in any case. */
bool request_names(const struct request *request, const char *header, const char *word);
/* Which host was asked, and perhaps its port; NULL: the client does not say. */
const char *request_host(const struct request *request);
/* Begins a reply {"success":true; the caller adds members and calls request_send_json(). */
void request_begin_json(struct request *request, struct json_writer *writer);
void request_send_json(struct request *request, struct json_writer *writer);
void request_send(struct request *request, int status, const char *content_type); /* the reply */
/* Whether the client has what this tag (with quotes) stands for. */
bool request_has_tag(const struct request *request, const char *etag);
/* Answers with `content`, which never changes without its `etag` (with quotes); who has it already
 * is told so. Both outlive the request. */
void request_send_known(struct request *request, const char *content_type, const char *etag,
                        struct bytes content);
/* Answers {success:false, code, error, hint} with the code's HTTP status. */
void request_refuse(struct request *request, enum refusal_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void request_refuse_with(struct request *request, const struct refusal *refusal);
/* Appends what a refused request is answered. */
void request_print_refusal(const struct refusal *refusal, struct text *out);
/* Answers for a `work` that did not end with RC_OK; what the store said goes to the log. */
void request_fail(struct request *request);
/* Has `work` and then `finish` done for a request that was parked; or once more, from `finish`. */
void request_read(struct request *request);
void request_read_again(struct request *request);
/* Ends one that was held back; else whoever did that calls request_read() once more. */
void request_drop_held(struct request *request);
/* One that was parked has been answered, or there is more of its stream; it may be gone then. */
void request_resume(struct request *request);
/* Parses the body, which must be a JSON object; false: the request is answered. */
must_check bool request_parse_body(struct request *request, struct json *root);
/* The same for `work`: into the caller's own document; false: see the request's refusal. */
must_check bool request_parse_body_with(struct request *request, struct json_doc *doc,
                                        struct json *root);
/* `collection`, `id` and `minSeq` (0: left out) of a request; false: see its refusal. */
must_check bool request_find_collection(struct request *request, struct json root,
                                        const struct collection **collection);
must_check bool request_take_id(struct request *request, struct json root, struct bytes *id);
must_check bool request_take_min_seq(struct request *request, struct json root, int64_t *min_seq);
/* RC_REJECT, and a refusal, when the store's last commit is below `min_seq`. */
must_check enum rc request_check_seq(struct request *request, int64_t min_seq, struct store *store,
                                     struct err *err);
int request_status_of(enum refusal_code code);

#endif
