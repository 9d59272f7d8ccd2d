/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_script.h - a TLS server for one connection, with a certificate made on the spot.
 *
 * It runs on a thread of its own: accepts, shakes hands and answers. A websocket upgrade gets one
 * binary message of TLS_SCRIPT_BYTES times 's' and a close frame with code 1000, any other request
 * the same bytes as a body. */
#ifndef TEST_TLS_SCRIPT_H
#define TEST_TLS_SCRIPT_H

#define TLS_SCRIPT_BYTES 1000000

struct tls_script;

struct tls_script *tls_script_new(void);
unsigned tls_script_port(const struct tls_script *tls);
/* A file with the certificate, for clients that shall trust it. */
const char *tls_script_ca_file(const struct tls_script *tls);
void tls_script_free(struct tls_script *tls);

#endif
