/* SPDX-License-Identifier: Apache-2.0
 *
 * doc_stock.h - the documents that the simulated contract names, and what becomes of whoever asks
 * for them.
 *
 * All are drawn from the seed. Most are files, of one block or of several; some are nowhere to be
 * had, some are gone for good, some are no files, and some names are no addresses. Some lie in a
 * folder of a folder, whose address is named with a path. A document has several spellings, which
 * are one address. What is said of a document here is computed from how it
 * was made.
 *
 * Owner: the content world.  Thread: loop. */
#ifndef SIM_DOC_STOCK_H
#define SIM_DOC_STOCK_H

#include "sim/ipfs_blocks.h"

#define DOC_NAME_SIZE 128
#define DOC_SPELLINGS 3u

enum doc_fate {
    DOC_SOUND,
    DOC_MISSING,  /* one of its blocks is nowhere */
    DOC_GONE,     /* one of its blocks was taken down everywhere */
    DOC_FOLDER,   /* what lies there is no file */
    DOC_NONSENSE, /* the name is no address */
};

struct doc_stock_options {
    uint64_t seed;
    uint32_t documents;
    uint32_t hard_percent;   /* that are not sound */
    uint32_t large_percent;  /* of several blocks */
    uint32_t folder_percent; /* in folders */
};

struct doc {
    enum doc_fate fate;
    size_t root; /* its block, or that of the outer folder */
    bool in_folder;
    struct text file;
};

struct doc_stock {
    struct ipfs_blocks blocks;
    uint16_t *statuses; /* by block: what every gateway answers; 0: the block */
    uint32_t *served;   /* by block: how often it was given */
    struct doc *docs;
    uint32_t count;
};

void doc_stock_init(struct doc_stock *stock, const struct doc_stock_options *options);
void doc_stock_deinit(struct doc_stock *stock);
/* The name in one of its spellings, without the scheme; some have fewer, then two are the same. */
void doc_name(const struct doc_stock *stock, uint32_t doc, uint32_t spelling,
              char out[DOC_NAME_SIZE]);
/* What can be known of it in the end: "stored", "owed" or "dead". Gone for good it is only when at
 * least two gateways say so. */
const char *doc_verdict(const struct doc_stock *stock, uint32_t doc, unsigned gateways);

#endif
