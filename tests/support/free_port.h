/* SPDX-License-Identifier: Apache-2.0
 *
 * free_port - a port for a server that must be told its own. */
#ifndef TIDEMARK_FREE_PORT_H
#define TIDEMARK_FREE_PORT_H

/* A loopback port that nobody has, and that the kernel gives to no outgoing connection: it is still
 * free when the server gets to it. 0: none was found. */
unsigned free_port(void);

#endif
