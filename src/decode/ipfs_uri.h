/* SPDX-License-Identifier: Apache-2.0
 *
 * ipfs_uri.h - ipfs:// addresses inside bytes that strangers wrote, and their one spelling.
 *
 * An address is the scheme, the letters and digits behind it (`ipfs://ipfs/` is written, too), and
 * a path if one follows, without the marks that end a sentence. Its name is all but the scheme.
 * Whether that names a content is the reader's question. Borrows. Pure; any thread. */
#ifndef DECODE_IPFS_URI_H
#define DECODE_IPFS_URI_H

#include "decode/cid.h"

#define IPFS_URI_SCHEME       "ipfs://"
#define IPFS_URI_NAME_MAX     256 /* what is longer is cut there, and names nothing */
#define IPFS_URI_SPELLED_SIZE (IPFS_URI_NAME_MAX + CID_TEXT_SIZE)

/* Cuts all up to the end of the next address off `rest`; false: there is none. */
must_check bool ipfs_uri_next(struct bytes *rest, struct bytes *name);

/* Text that is a content address without its scheme, with a path or not, and nothing else but marks
 * that end a sentence. */
must_check bool ipfs_uri_bare(struct bytes text, struct bytes *name);

/* The one spelling of a name: its letters in the canonical form, then each name of its path with
 * one form of escapes. `escaped`: the path has escapes already. RC_REJECT: it names nothing. */
must_check enum rc ipfs_uri_spell(struct bytes name, bool escaped, struct cid *cid,
                                  char out[IPFS_URI_SPELLED_SIZE], struct err *err);
/* The path of a name, behind its first slash; absent: it has none. */
struct bytes ipfs_uri_path(struct bytes name);

#endif
