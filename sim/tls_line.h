/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_line.h - the server's side of TLS, between bytes on the wire and plain bytes.
 *
 * Does no I/O: what came off the wire is fed in, what has to go out is appended to a text. The
 * certificate names the loopback address and localhost; it is made at the start or read from files.
 *
 * Owner: one connection each; the keys outlive them.  Thread: loop. */
#ifndef SIM_TLS_LINE_H
#define SIM_TLS_LINE_H

#include "base/bytes.h"
#include "base/err.h"

struct tls_keys;
struct tls_line;

/* What a new connection meets. */
enum tls_manner {
    TLS_PROPER,
    TLS_STRANGE, /* a certificate that nobody signed */
    TLS_GARBAGE, /* no handshake at all */
};

/* Without files a certificate is made that is good for some days. */
must_check enum rc tls_keys_new(const char *certificate_file, const char *key_file,
                                struct tls_keys **out, struct err *err);
void tls_keys_free(struct tls_keys *keys);
/* The certificate in PEM. */
struct bytes tls_keys_certificate(const struct tls_keys *keys);

struct tls_line *tls_line_new(struct tls_keys *keys, bool strange);
void tls_line_free(struct tls_line *line);
/* Takes bytes off the wire. False when the other side broke the protocol; what has to be said about
 * that is in `wire` all the same. */
bool tls_line_feed(struct tls_line *line, struct bytes input, struct text *plain,
                   struct text *wire);
/* Appends plain bytes in the form that goes out. The handshake must have ended. */
void tls_line_wrap(struct tls_line *line, struct bytes plain, struct text *wire);
/* Appends the farewell, once. */
void tls_line_end(struct tls_line *line, struct text *wire);

#endif
