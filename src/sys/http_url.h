/* SPDX-License-Identifier: Apache-2.0
 *
 * http_url.h - an address that may be fetched, and the origin it belongs to.
 *
 * Pure. Sentences about a bad address never repeat it: it may carry a key. */
#ifndef SYS_HTTP_URL_H
#define SYS_HTTP_URL_H

#include "base/bytes.h"
#include "base/err.h"

struct http_url {
    char *text;   /* absolute */
    char *origin; /* "https://host:443", lowercase, the port always named */
    char *host;
};

struct http_url_rules {
    bool stranger; /* no user names, ports 80 and 443 only */
    bool any_port; /* ... but for the ports */
};

/* Reads `url`, relative to `base` when that is not NULL. RC_REJECT: not an http or https address,
 * or against the rules. `out` is left alone then. */
must_check enum rc http_url_parse(const char *url, const char *base,
                                  const struct http_url_rules *rules, struct http_url *out,
                                  struct err *err);
void http_url_deinit(struct http_url *url);

#endif
