/* SPDX-License-Identifier: Apache-2.0
 *
 * cid.h - a content address: which bytes are meant, said by their own hash.
 *
 * One content has many spellings (version 0 and 1, several alphabets); here it has one form, the
 * codec and the digest, and one canonical text, version 1 in lowercase base32. Two spellings of one
 * content are equal. Read are version 0 (base58btc) and version 1 in base16, base32, base36 and
 * base58btc; only SHA-256 and the codecs `raw` and `dag-pb`, because only those can be checked.
 *
 * Strict: what decodes in a second way, has bits left over or bytes behind it, is refused. Pure;
 * any thread. */
#ifndef DECODE_CID_H
#define DECODE_CID_H

#include "base/digest.h"
#include "base/err.h"

#define CID_TEXT_SIZE 60 /* of the canonical text, with its NUL */
#define CID_TEXT_MAX  128
#define CID_BYTES     36 /* of version 1 in binary */

enum cid_codec { CID_RAW = 0x55, CID_DAG_PB = 0x70 };

struct cid {
    enum cid_codec codec;
    uint8_t digest[DIGEST_SIZE];
};

/* RC_REJECT: it is no content address, or none whose content could be checked (see `err`). */
must_check enum rc cid_parse(struct bytes text, struct cid *cid, struct err *err);
/* The same for the binary form, of either version, as links between blocks carry it. */
must_check enum rc cid_parse_binary(struct bytes binary, struct cid *cid, struct err *err);
/* The canonical text. */
void cid_format(const struct cid *cid, char out[CID_TEXT_SIZE]);
bool cid_equal(const struct cid *a, const struct cid *b);
/* Whether these are the bytes that the address stands for. */
bool cid_verifies(const struct cid *cid, struct bytes block);

#endif
