/* SPDX-License-Identifier: Apache-2.0
 *
 * ipfs_uri.h - ipfs:// addresses inside bytes that strangers wrote.
 *
 * An address is the scheme and the letters and digits behind it (`ipfs://ipfs/` is written, too);
 * what follows them, a path or anything else, is not part of it. Whether those name a content is
 * the reader's question. Borrows. Pure; any thread. */
#ifndef DECODE_IPFS_URI_H
#define DECODE_IPFS_URI_H

#include "base/bytes.h"
#include "base/rc.h"

#define IPFS_URI_SCHEME   "ipfs://"
#define IPFS_URI_NAME_MAX 128 /* more letters than this are cut: they name nothing either way */

/* Cuts all up to the end of the next address off `rest`; false: there is none. */
must_check bool ipfs_uri_next(struct bytes *rest, struct bytes *name);

#endif
