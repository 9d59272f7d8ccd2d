/* SPDX-License-Identifier: Apache-2.0
 *
 * atproto_id.h - the identifiers of the AT protocol as text, made and checked.
 *
 * Made from numbers, so that an identifier can be made again at any time instead of being kept.
 * The checks are those a server does before it accepts a filter. */
#ifndef SIM_ATPROTO_ID_H
#define SIM_ATPROTO_ID_H

#include "base/bytes.h"
#include "sim/seeded.h"

#define DID_SIZE  33
#define TID_SIZE  14
#define CID_SIZE  60
#define ISO_SIZE  28
#define NAME_SIZE 64

/* did:plc: and 24 characters. */
void did_write(struct draw *draw, char out[DID_SIZE]);
/* 13 characters whose byte order is the order of (us, clock_id); clock_id < 1024. */
void tid_write(int64_t us, unsigned clock_id, char out[TID_SIZE]);
/* A CIDv1 of dag-cbor and SHA-256 in shape; the digest is drawn, not computed. */
void cid_write(struct draw *draw, char out[CID_SIZE]);
/* RFC 3339 UTC with 3 or 6 fractional digits. */
void iso_write(int64_t us, int digits, char out[ISO_SIZE]);

bool did_is_valid(struct bytes did);
bool nsid_is_valid(struct bytes nsid);

#endif
