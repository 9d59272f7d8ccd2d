/* SPDX-License-Identifier: Apache-2.0
 *
 * h2_server.h - a server that speaks HTTP/2 over TLS and nothing else: nghttpd, as our child.
 *
 * It serves one file of zeros at /file, with a certificate made on the spot. */
#ifndef TESTS_H2_SERVER_H
#define TESTS_H2_SERVER_H

#include <stddef.h>

struct h2_server;

/* Returns when it takes connections; ends the program when there is no nghttpd. */
struct h2_server *h2_server_new(size_t file_bytes);
void h2_server_free(struct h2_server *server);
unsigned h2_server_port(const struct h2_server *server);
const char *h2_server_ca_file(const struct h2_server *server);

#endif
