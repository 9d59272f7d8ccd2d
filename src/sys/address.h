/* SPDX-License-Identifier: Apache-2.0
 *
 * address.h - which network addresses belong to the public internet.
 *
 * Asked about the address that is about to be connected, after every name was resolved and every
 * spelling read, so nothing a stranger writes gets around it. An IPv4 address inside an IPv6 one
 * (mapped, NAT64, 6to4) counts as that IPv4 address. What is not known to be public is not. */
#ifndef SYS_ADDRESS_H
#define SYS_ADDRESS_H

#include <stdbool.h>

struct sockaddr;

bool address_is_public(const struct sockaddr *address);
/* The same for an address as text without a port, as "192.0.2.1" or "2001:db8::1". */
bool address_text_is_public(const char *text);

#endif
