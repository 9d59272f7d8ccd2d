/* SPDX-License-Identifier: Apache-2.0
 *
 * visitor.h - whether a request that came to a loopback address was meant for it.
 *
 * A page on the internet can make a browser talk to this machine: under a name of its own that it
 * points here, or by posting across origins. The first is told by the Host header, which then names
 * no loopback address; the second by the Origin header, which then is not the page of that host.
 * Programs that are no browsers send what they like, and are not meant.
 *
 * A browser's websocket can carry no header of the page's choice but the list of protocols that it
 * offers. So a token may come as one of them, beside the protocol that is then spoken:
 *   Sec-WebSocket-Protocol: tidemark, tidemark.bearer.TOKEN
 *
 * Pure: no I/O. */
#ifndef SERVE_VISITOR_H
#define SERVE_VISITOR_H

#include "base/bytes.h"
#include "base/digest.h"

#define VISITOR_PROTOCOL "tidemark"
#define VISITOR_BEARER   VISITOR_PROTOCOL ".bearer."

/* Who asks, as far as the gate needs it when the same one asks again. */
struct visitor_id {
    bool bearer; /* of a token that is known */
    uint8_t token[DIGEST_SIZE];
    uint8_t address[8]; /* or the network it is of */
    size_t address_len; /* 0: not counted */
};

/* Whether `host` (the header's value) is localhost, 127.0.0.0/8 or [::1], with any port or none. */
bool visitor_means_loopback(const char *host);
/* Whether a page of `origin` may change something at `host`. `site` is the Sec-Fetch-Site header,
 * by which a browser says so itself when a proxy has changed the host. NULL: it was not sent. */
bool visitor_may_write(const char *host, const char *origin, const char *site);
/* Whether the list in a header's value (NULL: it was not sent) has this word, in any case. */
bool visitor_names(const char *list, const char *word);
/* The token among the protocols that a websocket offers; absent: there is none. */
struct bytes visitor_offered_token(const char *protocols);

#endif
