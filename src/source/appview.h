/* SPDX-License-Identifier: Apache-2.0
 *
 * appview.h - questions to AppViews: who is asked, when, and how often again.
 *
 * An AppView is a provider: the next one is asked when one fails, each has its own pace and its own
 * places for requests under way. Questions wait in one bounded queue, the most urgent first, those
 * of equal urgency in the order they came. An answer is JSON, or it is none: a page in place of it,
 * a cut-off one and silence are failures of the provider, after which the question is asked again,
 * at once elsewhere, later where it was asked before. An error that the server calls by name is an
 * answer, except where it speaks of credentials, of pace or of itself. With a login its own server
 * is one of those asked, the first; the others are asked without it.
 *
 * Always holds: every question is answered exactly once unless it is cancelled, never from inside
 * the call that asked; no host is asked faster than its pace, whoever asks (I6).
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_APPVIEW_H
#define SOURCE_APPVIEW_H

#include "base/json.h"
#include "source/source.h"

#define APPVIEW_ENDPOINTS_MAX 8
#define APPVIEW_ERROR_MAX     64

/* Who goes first; lower numbers do. */
#define APPVIEW_URGENT  0 /* a person waits */
#define APPVIEW_FOLLOWS 1 /* who is followed decides what else is worth asking */
#define APPVIEW_GAP     2
#define APPVIEW_NEWS    3
#define APPVIEW_NAMES   4
#define APPVIEW_IDLE    9 /* when nobody else has a question */

/* How hard AppViews may be asked; may change at any time. */
struct appview_pace {
    uint32_t spacing_ms;  /* between two requests to one host */
    uint32_t flights_max; /* under way at one host; 0: no limit */
    uint32_t retries_max; /* after a first attempt that failed */
    uint32_t backoff_ms;  /* before the first of them; at least 1 */
};

/* A login. Its server is asked first, and passes on what it does not know itself. */
struct appview_account {
    const char *pds; /* "https://host" */
    const char *identifier;
    struct bytes password;
};

struct appview_options {
    const struct appview_account *account; /* NULL: none */
    const char *const *endpoints;          /* "https://host", by preference */
    size_t endpoint_count;
    size_t asks_max; /* questions waiting and under way together */
    struct appview_pace pace;
};

struct appview_param {
    const char *name;
    struct bytes value; /* as it is meant; escaped here */
};

struct appview_request {
    const char *method;                 /* "app.bsky.feed.getAuthorFeed" */
    const struct appview_param *params; /* an array is several of one name */
    size_t param_count;
    int priority;
    const char *other_than; /* a provider: while another one works, that one is asked; or NULL */
};

struct appview_answer {
    enum rc rc;                    /* RC_OK: `root` is the answer. RC_REJECT: the server says no,
                                    * for good. RC_RETRY: given up after all retries */
    int status;                    /* of the last attempt; 0: no server answered */
    char error[APPVIEW_ERROR_MAX]; /* the error's own name, "" without one */
    struct err err;                /* what went wrong, in words */
    struct json root;              /* borrowed for the call; a refusal's too */
    struct bytes body;             /* the same, as it came */
    const char *provider;
    int64_t asked_us, answered_us; /* wall time of the last attempt */
};

typedef void appview_fn(void *arg, const struct appview_answer *answer);

struct appview;
struct appview_call; /* a question; gone once its function was called */

struct appview_view {
    size_t waiting, under_way;
    uint64_t requests, answers, refusals, failures, given_up;
};

/* RC_REJECT: an endpoint is no usable address. Everything given is copied. */
must_check enum rc appview_new(struct runtime *runtime, const struct appview_options *options,
                               struct appview **appview, struct err *err);
/* Forgets every question without an answer. */
void appview_free(struct appview *appview);
void appview_tune(struct appview *appview, const struct appview_pace *pace);

/* NULL: the queue is full. What the request points at is copied. The function may ask and cancel,
 * but not free. */
struct appview_call *appview_ask(struct appview *appview, const struct appview_request *request,
                                 appview_fn *fn, void *arg);
/* The same, of one provider alone: only who gave the token of a page understands it. While that one
 * does not work the question is given up. */
struct appview_call *appview_ask_only(struct appview *appview,
                                      const struct appview_request *request, const char *provider,
                                      appview_fn *fn, void *arg);
void appview_cancel(struct appview *appview, struct appview_call *call);

/* How many there are. */
int appview_count(const struct appview *appview);
void appview_look(const struct appview *appview, struct appview_view *view);
/* The AppViews as providers, for people. */
void appview_show(const struct appview *appview, struct source_view *view);

#endif
