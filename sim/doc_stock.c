/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/doc_stock.h"

#include "sim/seeded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX   3000u
#define CHUNK_MIN  100u
#define FANOUT     3u
#define GONE_AFTER 2u /* gateways that have to say so */

/* A node of UnixFS that is a folder without anything in it. */
static const char empty_folder[] = "\x0a\x02\x08\x01";

static void write_file(struct draw *draw, uint64_t seed, uint32_t number, struct text *out)
{
    uint32_t size = draw_skewed(draw, FILE_MAX);
    text_appendf(out, "{\"document\":%u,\"seed\":%llu,\"name\":\"", number,
                 (unsigned long long)seed);
    while (out->len < size)
        text_append_char(out, (char)('a' + draw_below(draw, 26)));
    text_append_string(out, "\"}");
}

static enum doc_fate draw_fate(struct draw *draw, uint32_t hard_percent)
{
    static const enum doc_fate hard[] = {DOC_MISSING, DOC_GONE, DOC_FOLDER, DOC_NONSENSE};
    if (draw_below(draw, 100) >= hard_percent)
        return DOC_SOUND;
    return hard[draw_below(draw, sizeof hard / sizeof hard[0])];
}

/* Adds the blocks of a file; small ones are bare bytes, or a leaf as older tools make it. */
static void add_file(struct doc_stock *stock, struct doc *doc, struct draw *draw, bool large)
{
    struct ipfs_shape shape = {.chunk = FILE_MAX * 2, .fanout = FANOUT};
    shape.raw_leaves = draw_below(draw, 3) != 0;
    if (large)
        shape.chunk = CHUNK_MIN + draw_below(draw, FILE_MAX / 3);
    doc->root = ipfs_blocks_add_file(&stock->blocks, text_bytes(&doc->file), &shape);
}

static void put_in_folders(struct doc_stock *stock, struct doc *doc, uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "no %u.json", number);
    size_t inner = ipfs_blocks_add_folder(&stock->blocks, IPFS_FOLDER, name, doc->root);
    doc->root = ipfs_blocks_add_folder(&stock->blocks, IPFS_FOLDER, "notes", inner);
}

static void add_doc(struct doc_stock *stock, const struct doc_stock_options *options,
                    uint32_t number, size_t *spoiled)
{
    struct draw draw = draw_make(options->seed, number, SALT_DOCUMENT);
    struct doc *doc = &stock->docs[number];
    doc->fate = draw_fate(&draw, options->hard_percent);
    bool large = draw_below(&draw, 100) < options->large_percent;
    write_file(&draw, options->seed, number, &doc->file);
    size_t first = stock->blocks.count;
    if (doc->fate == DOC_FOLDER)
        doc->root = ipfs_blocks_add(&stock->blocks, false,
                                    bytes_make(empty_folder, sizeof empty_folder - 1));
    else if (doc->fate != DOC_NONSENSE)
        add_file(stock, doc, &draw, large);
    doc->in_folder = doc->fate != DOC_NONSENSE && draw_below(&draw, 100) < options->folder_percent;
    if (doc->in_folder && doc->fate != DOC_FOLDER) /* of an empty folder the path finds nothing */
        put_in_folders(stock, doc, number);
    /* The first block of it is a leaf, or all there is. */
    *spoiled = draw_below(&draw, 2) == 0 ? first : doc->root;
}

/* 404 and 504 say "not here", 410 and 451 "nowhere any more". */
static uint16_t status_of(enum doc_fate fate, uint32_t number)
{
    if (fate == DOC_MISSING)
        return number % 2 == 0 ? 404 : 504;
    if (fate == DOC_GONE)
        return number % 2 == 0 ? 410 : 451;
    return 0;
}

void doc_stock_init(struct doc_stock *stock, const struct doc_stock_options *options)
{
    *stock = (struct doc_stock){.count = options->documents};
    stock->docs = memory_new_zeroed(options->documents, sizeof *stock->docs);
    size_t *spoiled = memory_new_zeroed(options->documents, sizeof *spoiled);
    for (uint32_t i = 0; i < options->documents; i++)
        add_doc(stock, options, i, &spoiled[i]);
    stock->statuses = memory_new_zeroed(stock->blocks.count + 1, sizeof *stock->statuses);
    stock->served = memory_new_zeroed(stock->blocks.count + 1, sizeof *stock->served);
    for (uint32_t i = 0; i < options->documents; i++)
        if (status_of(stock->docs[i].fate, i) != 0)
            stock->statuses[spoiled[i]] = status_of(stock->docs[i].fate, i);
    free(spoiled);
}

void doc_stock_deinit(struct doc_stock *stock)
{
    for (uint32_t i = 0; i < stock->count; i++)
        text_free(&stock->docs[i].file);
    ipfs_blocks_free(&stock->blocks);
    free(stock->docs);
    free(stock->statuses);
    free(stock->served);
}

void doc_name(const struct doc_stock *stock, uint32_t doc, uint32_t spelling,
              char out[DOC_NAME_SIZE])
{
    char hex[DIGEST_HEX_SIZE];
    if (stock->docs[doc].fate == DOC_NONSENSE) {
        snprintf(out, DOC_NAME_SIZE, "nonsense%u", doc);
        return;
    }
    const struct ipfs_block *block = &stock->blocks.blocks[stock->docs[doc].root];
    int used;
    digest_hex(block->digest, hex);
    if (spelling == 1)
        used = snprintf(out, DOC_NAME_SIZE, "f01%s1220%s", block->raw ? "55" : "70", hex);
    else
        used = snprintf(out, DOC_NAME_SIZE, "%s",
                        spelling == 2 && !block->raw ? block->cid_v0 : block->cid);
    if (stock->docs[doc].in_folder)
        snprintf(out + used, DOC_NAME_SIZE - (size_t)used,
                 spelling == 1 ? "//%%6Eotes/no%%20%u%%2ejson" : "/notes/no%%20%u.json", doc);
}

const char *doc_verdict(const struct doc_stock *stock, uint32_t doc, unsigned gateways)
{
    switch (stock->docs[doc].fate) {
    case DOC_SOUND:
        return "stored";
    case DOC_MISSING:
        return "owed";
    case DOC_GONE:
        return gateways >= GONE_AFTER ? "dead" : "owed";
    case DOC_FOLDER:
    case DOC_NONSENSE:
    default:
        return "dead";
    }
}
