/* SPDX-License-Identifier: Apache-2.0
 *
 * url.h - an http or https address, as strangers write it, taken apart.
 *
 * Reads what a browser would read and means what a browser would ask for (the WHATWG rules for
 * special schemes): blanks around it and line breaks within it go, backslashes are slashes, names
 * are folded to lower-case ASCII (IDNA, non-transitional), 0x7f.1 is 127.0.0.1, dot segments are
 * resolved, what may not stand in a part is escaped.
 *
 * Always holds for what was parsed: printable ASCII only; `host` is lower case and not empty;
 * `path` begins with a slash; `port` is 0 when it is the scheme's own; printing and parsing again
 * gives the same parts. User names and passwords are dropped: whoever shares a link does not mean
 * to share those.
 *
 * Stricter than a browser: a host label is letters, digits, - and _ and is not empty; a name that
 * libidn2 refuses (an emoji) refuses the address.
 *
 * The parts point into the struct itself, so it is never copied. Owner: the caller. Pure; any
 * thread; allocates only inside libidn2, for a name that is not ASCII. */
#ifndef DECODE_URL_H
#define DECODE_URL_H

#include "base/bytes.h"
#include "base/err.h"

#define URL_BYTES_MAX 4096 /* of what is read, and of what is printed */
#define URL_HOST_MAX  254  /* a name with its closing dot */

enum url_host_kind { URL_HOST_NAME, URL_HOST_IPV4, URL_HOST_IPV6 };

struct url {
    bool https;
    uint16_t port; /* 0: the scheme's own */
    enum url_host_kind host_kind;
    struct bytes host;     /* an IPv6 address in its brackets */
    struct bytes path;     /* from its first slash */
    struct bytes query;    /* without the ?; absent: there is none */
    struct bytes fragment; /* without the #; absent: there is none */
    char room[URL_BYTES_MAX];
};

/* RC_REJECT: no http or https address, or too long; `url` is undefined then. */
must_check enum rc url_parse(struct bytes input, struct url *url, struct err *err);
/* The same for a reference (//host/x, /x, x, ?x) that stands on the page `base`. */
must_check enum rc url_join(const struct url *base, struct bytes reference, struct url *url,
                            struct err *err);
/* Appends the address; without its fragment unless `fragment`. */
void url_print(const struct url *url, bool fragment, struct text *out);
/* Names this machine or a private network: nothing that a public page may point at. */
bool url_is_local(const struct url *url);

#endif
