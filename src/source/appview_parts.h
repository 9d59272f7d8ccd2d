/* SPDX-License-Identifier: Apache-2.0
 *
 * appview_parts.h - the client of the AppViews and what its parts ask of each other; for them only.
 *
 * Questions wait in one list and are under way in another; an exchange is one attempt at one of
 * them; the login is a provider like the others, except that it needs a token first. */
#ifndef SOURCE_APPVIEW_PARTS_H
#define SOURCE_APPVIEW_PARTS_H

#include "ingest/failover.h"
#include "source/appview.h"
#include "source/appview_session.h"

#define APPVIEW_NAME   "appview"
#define APPVIEW_NEVER  INT64_MAX
#define APPVIEW_ANSWER ((size_t)8 << 20) /* bytes at most */

struct appview_call {
    struct appview_call *next, *prev;
    const char *method; /* in `path` */
    size_t method_len;
    struct text path; /* "/xrpc/METHOD?..." */
    int priority;
    int other_than; /* a provider's number, or PROVIDER_NONE */
    bool bound;     /* nobody is asked but ... */
    int only;       /* ... this one; PROVIDER_NONE: it is not there */
    appview_fn *fn;
    void *arg;
    struct retry retry;
    int64_t since_us, not_before_us; /* monotonic */
    struct http_call *exchange;      /* NULL: waiting */
    struct failover_pick pick;
    int64_t asked_mono_us, asked_us;
    uint64_t token;    /* it went out with; 0: without one */
    unsigned refusals; /* of tokens */
    struct appview *appview;
};

struct call_list {
    struct appview_call *first, *last;
    size_t count;
};

/* The provider that wants a token. */
struct appview_login {
    bool wanted;
    int provider;
    struct appview_session session;
    struct failover_pick pick; /* while the session is busy */
    int64_t began_us;          /* monotonic */
    struct retry retry;        /* of a password that was refused */
    struct timer again;
};

struct appview {
    struct runtime *runtime;
    struct appview_pace pace;
    size_t asks_max;
    char *roots[APPVIEW_ENDPOINTS_MAX]; /* by number of provider, without a slash at the end */
    struct failover group;
    struct failover_stream stream;
    uint64_t switches_told;
    struct appview_login login;
    struct call_list waiting, under_way;
    struct json_doc *doc;
    struct timer wake;
    int64_t out_us; /* monotonic: the first failure since the last answer, or APPVIEW_NEVER */
    uint64_t requests, answers, refusals, failures, given_up;
};

static inline int64_t appview_mono(const struct appview *appview)
{
    return appview->runtime->ops->mono_us(appview->runtime);
}

static inline int64_t appview_wall(const struct appview *appview)
{
    return appview->runtime->ops->wall_us(appview->runtime);
}

/* Behind the last one that is as urgent. */
void appview_call_link(struct call_list *list, struct appview_call *call);
void appview_call_unlink(struct call_list *list, struct appview_call *call);
void appview_call_free(struct appview_call *call);

/* Nobody can answer it: it is bound to one that does not work. */
bool appview_call_is_lost(const struct appview_call *call, int64_t now_us);
/* Sends what can go now. */
void appview_pump(struct appview *appview);
/* Begins an exchange; the provider's bucket has let it through. */
void appview_exchange_send(struct appview_call *call, const struct failover_pick *pick);
/* Ends it without a word. */
void appview_exchange_cancel(struct appview_call *call);

void appview_login_init(struct appview *appview, const struct appview_account *account,
                        int provider);
void appview_login_deinit(struct appview *appview);
/* True when the provider that was picked needs a token first: the pick is taken over, and the
 * questions wait. */
bool appview_login_first(struct appview *appview, const struct failover_pick *pick);
/* True when the refusal is one of the token: the question is worth asking again at once. */
bool appview_login_refused(struct appview_call *call);

#endif
