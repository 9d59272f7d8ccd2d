/* SPDX-License-Identifier: Apache-2.0
 *
 * url_host.h - the host of an address: a name, or a number in one of its many spellings.
 *
 * Pure; any thread. */
#ifndef DECODE_URL_HOST_H
#define DECODE_URL_HOST_H

#include "decode/url.h"
#include "decode/url_text.h"

/* Writes the one spelling of `raw` (as it stands between the slashes and the port). */
must_check enum rc url_host_parse(struct bytes raw, struct url_text *out, enum url_host_kind *kind,
                                  struct err *err);
/* True when the last label is a number, so that the whole must be an IPv4 address. */
bool url_host_ends_in_number(struct bytes host);
/* Decimal, octal and hexadecimal parts, one to four of them. */
bool url_ipv4_parse(struct bytes host, uint32_t *address);
void url_ipv4_print(uint32_t address, struct url_text *out);
/* Without the brackets; no zones. */
bool url_ipv6_parse(struct bytes text, uint16_t pieces[8]);
/* With the brackets, the longest run of zeros left out. */
void url_ipv6_print(const uint16_t pieces[8], struct url_text *out);

/* The part of a name that somebody registered (bbc.co.uk of www.bbc.co.uk), inside `host`; the
 * whole host when it is a number or a public suffix itself. `host` as url_parse gives it. */
struct bytes url_host_registrable(struct bytes host, enum url_host_kind kind);
/* The name ends in a suffix that the public list names, and is not that suffix itself. */
bool url_host_has_known_suffix(struct bytes host);

#endif
