/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_request.h - a request of a connector, down to its bytes.
 *
 * What is not there (-1, absent) is left out with the key, list item or path segment that names it.
 * Everything in a URL is percent-encoded but unreserved characters. A key or secret appears in the
 * request and nowhere else: sentences never quote one, and a masked copy is made for people.
 *
 * Owner: the caller, whose buffers are used again for the next request.  Pure: no I/O, no clock;
 * the nonce and the time come with the variables. */
#ifndef DECODE_CONNECTOR_REQUEST_H
#define DECODE_CONNECTOR_REQUEST_H

#include "decode/connector.h"

#define CONNECTOR_HEADERS_MAX 16

struct connector_vars {
    struct bytes account, platform; /* the identifier without its platform; the platform's name */
    int64_t from, to;               /* block, slot, or microseconds for a timestamp; -1: none */
    int64_t page, offset, size;     /* -1: not paged that way */
    int64_t now_ms, nonce;          /* -1: not known; signers need them */
    int64_t since_s;                /* whose block is asked for; -1: none */
    struct bytes token;             /* or the link of the next page; absent: the first page */
    struct bytes key;               /* of the record whose detail is asked for */
    struct bytes part;              /* the value of a listed partition */
    unsigned partition;
    struct bytes api_key, api_secret;
    uint64_t chance; /* random bits; where a signature must not repeat */
};

/* Nothing is known but the account, its platform and the stream's page size and first page. */
struct connector_vars connector_vars_first(const struct connector_stream *stream,
                                           struct bytes platform, struct bytes account);

struct connector_header {
    size_t name, value; /* where they begin in `header_text`, each with a NUL after it */
};

struct connector_http {
    const char *method;
    struct text url, body, header_text;
    struct connector_header headers[CONNECTOR_HEADERS_MAX];
    size_t header_count;
    bool secret_in_url; /* the URL must not be shown */
};

/* `stream` is whose walk the request belongs to, and `request` its own or that of its detail,
 * count, head or list. `base_url` replaces scheme, host and path prefix of the connector's own
 * address; NULL: its own. RC_REJECT: what is missing (a key, the platform) or not allowed (a link
 * to a host outside the list). */
must_check enum rc connector_build(const struct connector *connector,
                                   const struct connector_stream *stream,
                                   const struct connector_request *request,
                                   const struct connector_vars *vars, const char *base_url,
                                   struct connector_http *http, struct err *err);
void connector_http_free(struct connector_http *http);
/* Its value is a key, or made of one. */
bool connector_header_is_secret(const struct connector *connector, const char *name);
/* Method, URL, headers and body as lines for people, every key and signature masked. */
void connector_http_show(const struct connector *connector, const struct connector_http *http,
                         const struct connector_vars *vars, struct text *out);
/* `url` is on the host of the address in force, or on one that the connector lists. */
bool connector_host_allowed(const struct connector *connector, const struct connector_vars *vars,
                            const char *base_url, struct bytes url);

#endif
