/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_document.h - what the store has of one content address: the bytes, or why there are none.
 *
 * Bytes are read in pieces, so that nobody ever holds a whole large document; they never change,
 * for their address is their hash, so pieces of one document always fit together.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_KEPT_DOCUMENT_H
#define QUERY_KEPT_DOCUMENT_H

#include "store/store.h"

#define KEPT_DOCUMENT_HEAD_MAX 512

enum kept_state {
    KEPT_UNKNOWN, /* no block that was read names it */
    KEPT_WHOLE,
    KEPT_OWED, /* no gateway had it: it is tried again */
    KEPT_DEAD, /* it was given up */
};

struct kept_document {
    enum kept_state state;
    int64_t n;    /* of its row */
    int64_t size; /* of a whole one */
    uint8_t head[KEPT_DOCUMENT_HEAD_MAX];
    size_t head_len;
    char reason[160];   /* of one that is owed or dead; longer ones are cut */
    int64_t next_us;    /* when one that is owed is tried again */
    int64_t read_up_to; /* of one that is unknown: the last block whose documents are; -1: none */
};

/* Looks for a name in its one spelling; of one that is no address there is none but its own. */
must_check enum rc kept_document_find(struct store *store, const char *name,
                                      struct kept_document *out, struct err *err);
/* Puts `len` bytes from `at` on into `out`; fewer: they are not there any more. */
must_check enum rc kept_document_read(struct store *store, const struct kept_document *document,
                                      int64_t at, int64_t len, struct text *out, struct err *err);

#endif
