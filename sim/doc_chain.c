/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/doc_chain.h"

#include "sim/seeded.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACES 5u

static void add_stretch(struct doc_chain *chain, uint64_t first, bool empty)
{
    if (chain->stretch_count == chain->stretch_cap) {
        chain->stretch_cap = chain->stretch_cap == 0 ? 16 : chain->stretch_cap * 2;
        chain->stretches =
            memory_resize(chain->stretches, chain->stretch_cap * sizeof *chain->stretches);
    }
    chain->stretches[chain->stretch_count++] = (struct doc_stretch){first, chain->forks, empty};
}

static void add_orphans(struct doc_chain *chain, const struct doc_orphans *orphans)
{
    if (chain->orphan_count == chain->orphan_cap) {
        chain->orphan_cap = chain->orphan_cap == 0 ? 16 : chain->orphan_cap * 2;
        chain->orphans = memory_resize(chain->orphans, chain->orphan_cap * sizeof *chain->orphans);
    }
    chain->orphans[chain->orphan_count++] = *orphans;
}

void doc_chain_init(struct doc_chain *chain, const struct doc_chain_options *options)
{
    *chain = (struct doc_chain){.options = *options};
    add_stretch(chain, 0, true); /* block 0 names nothing */
    doc_chain_mine(chain, options->empty, true);
    doc_chain_mine(chain, options->blocks, false);
}

void doc_chain_deinit(struct doc_chain *chain)
{
    free(chain->stretches);
    free(chain->orphans);
}

void doc_chain_mine(struct doc_chain *chain, uint64_t blocks, bool empty)
{
    const struct doc_stretch *last = &chain->stretches[chain->stretch_count - 1];
    if (blocks == 0)
        return;
    if (last->empty != empty || last->fork != chain->forks)
        add_stretch(chain, chain->head + 1, empty);
    chain->head += blocks;
}

void doc_chain_reorganise(struct doc_chain *chain, uint64_t depth)
{
    uint64_t last = chain->head;
    if (depth > chain->head)
        depth = chain->head;
    chain->head -= depth;
    while (chain->stretch_count > 0 && last > chain->head) {
        struct doc_stretch *stretch = &chain->stretches[chain->stretch_count - 1];
        uint64_t first = stretch->first > chain->head ? stretch->first : chain->head + 1;
        add_orphans(chain, &(struct doc_orphans){first, last, stretch->fork, stretch->empty});
        chain->stretch_count -= stretch->first > chain->head;
        last = first - 1;
    }
    chain->forks++;
    add_stretch(chain, chain->head + 1, false);
    chain->head += depth + 1;
}

bool doc_chain_block(const struct doc_chain *chain, uint64_t number, struct doc_block *out)
{
    size_t at = chain->stretch_count;
    if (number > chain->head)
        return false;
    while (at > 0 && chain->stretches[at - 1].first > number)
        at--;
    assert(at > 0);
    *out =
        (struct doc_block){number, chain->stretches[at - 1].fork, chain->stretches[at - 1].empty};
    return true;
}

/* Number and fork stand in front, so that a block can be found by its hash. */
void doc_chain_hash(const struct doc_chain *chain, const struct doc_block *block,
                    uint8_t out[DIGEST_SIZE])
{
    struct draw draw =
        draw_make(chain->options.seed, block->number << 20 ^ block->fork, SALT_DOC_HASH);
    for (unsigned i = 0; i < DIGEST_SIZE; i++)
        out[i] = (uint8_t)draw_next(&draw);
    for (unsigned i = 0; i < 4; i++) {
        out[i] = (uint8_t)(block->number >> (24 - 8 * i));
        out[4 + i] = (uint8_t)(block->fork >> (24 - 8 * i));
    }
}

static bool find_orphan(const struct doc_chain *chain, uint64_t number, uint32_t fork,
                        struct doc_block *out)
{
    for (size_t i = 0; i < chain->orphan_count; i++) {
        const struct doc_orphans *orphans = &chain->orphans[i];
        if (orphans->fork != fork || number < orphans->first || number > orphans->last)
            continue;
        *out = (struct doc_block){number, fork, orphans->empty};
        return true;
    }
    return false;
}

bool doc_chain_find(const struct doc_chain *chain, const uint8_t hash[DIGEST_SIZE],
                    struct doc_block *out)
{
    uint8_t right[DIGEST_SIZE];
    uint64_t number = 0;
    uint32_t fork = 0;
    for (unsigned i = 0; i < 4; i++) {
        number = number << 8 | hash[i];
        fork = fork << 8 | hash[4 + i];
    }
    bool known = (doc_chain_block(chain, number, out) && out->fork == fork) ||
                 find_orphan(chain, number, fork, out);
    if (!known)
        return false;
    doc_chain_hash(chain, out, right);
    return memcmp(right, hash, DIGEST_SIZE) == 0;
}

bool doc_chain_parent(const struct doc_chain *chain, const struct doc_block *block,
                      struct doc_block *out)
{
    struct doc_block at;
    if (block->number == 0)
        return false;
    /* The newest block below it that is no younger than its fork. */
    for (uint32_t fork = block->fork + 1; fork-- > 0;) {
        if (doc_chain_block(chain, block->number - 1, &at) && at.fork == fork) {
            *out = at;
            return true;
        }
        if (find_orphan(chain, block->number - 1, fork, out))
            return true;
    }
    return false;
}

static void draw_log(const struct doc_chain *chain, struct draw *draw, struct doc_log *log)
{
    static const enum doc_log_kind kinds[] = {DOC_LOG_ACTION,    DOC_LOG_ACTION,    DOC_LOG_ACTION,
                                              DOC_LOG_PUBLISHED, DOC_LOG_PUBLISHED, DOC_LOG_NOISE,
                                              DOC_LOG_STRANGER};
    *log = (struct doc_log){.kind = kinds[draw_below(draw, sizeof kinds / sizeof kinds[0])],
                            .space = draw_below(draw, SPACES)};
    if (log->kind == DOC_LOG_NOISE)
        return;
    log->name_count = log->kind == DOC_LOG_PUBLISHED ? 1 : 1 + draw_skewed(draw, DOC_LOG_NAMES_MAX);
    for (unsigned i = 0; i < log->name_count; i++) {
        log->names[i].doc = draw_below(draw, chain->options.documents);
        log->names[i].spelling = draw_skewed(draw, 3);
    }
}

unsigned doc_chain_logs(const struct doc_chain *chain, const struct doc_block *block,
                        struct doc_log out[DOC_LOGS_MAX])
{
    struct draw draw =
        draw_make(chain->options.seed, block->number << 20 ^ block->fork, SALT_DOC_BLOCK);
    if (block->empty || chain->options.documents == 0)
        return 0;
    unsigned count = draw_below(&draw, 2 * chain->options.density + 1);
    if (draw_below(&draw, 100) < chain->options.crowded)
        count = DOC_LOGS_MAX;
    if (count > DOC_LOGS_MAX)
        count = DOC_LOGS_MAX;
    for (unsigned i = 0; i < count; i++)
        draw_log(chain, &draw, &out[i]);
    return count;
}
