/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

/* ---- after a commit ---- */

static bool is_accounted(const struct sim_content *content, struct sim_ref ref)
{
    const struct sim_stored *stored = &content->documents[ref.document].stored[ref.spelling];
    if (stored->whole)
        return stored->owed == NOTHING_OWED;
    return stored->known && stored->owed != NOTHING_OWED;
}

/* Another spelling of it is owed or dead, and this one waits for what comes of that. */
static bool echoes(const struct sim_content *content, struct sim_ref ref)
{
    const struct sim_document *document = &content->documents[ref.document];
    bool other = false;
    for (unsigned i = 0; i < SIM_SPELLINGS; i++)
        other = other || document->stored[i].owed != NOTHING_OWED;
    return other && document->stored[ref.spelling].known;
}

/* The references of one block are stored, no other ones, and each has its document. */
static void check_block(struct sim_world *world, size_t index)
{
    const struct sim_content *content = world->content;
    const struct sim_block *block = &content->blocks[index];
    const struct sim_stored_block *stored = &content->stored[block->number];
    if (stored->known && stored->hash != SIM_NO_BLOCK && stored->hash != index)
        sim_fail(world, "block %" PRIu64 " is stored as one that the position's chain has not",
                 block->number);
    if (block->ref_count > 0 && (!stored->known || stored->documents != block->ref_count))
        sim_fail(world, "block %" PRIu64 " names %u documents, %" PRId64 " are counted",
                 block->number, block->ref_count, stored->known ? stored->documents : -1);
    for (unsigned i = 0; i < SIM_REFS_MAX; i++) {
        const struct sim_ref *ref = &stored->refs[i];
        if (stored->there[i] != (i < block->ref_count))
            sim_fail(world, "reference %u of block %" PRIu64 " %s", i, block->number,
                     stored->there[i] ? "is of a block that was undone" : "is not stored");
        if (!stored->there[i])
            continue;
        if (ref->document != block->refs[i].document || ref->spelling != block->refs[i].spelling)
            sim_fail(world, "reference %u of block %" PRIu64 " is another one", i, block->number);
        if (!is_accounted(content, *ref) && !echoes(content, *ref))
            sim_fail(world,
                     "I2/I7: the position %" PRIu64 " passed block %" PRIu64
                     ", whose document %u is neither stored nor owed nor dead",
                     content->position, block->number, ref->document);
    }
}

void sim_content_verdict_commit(struct sim_world *world)
{
    struct sim_content *content = world->content;
    content->undone = false;
    if (content->cursor.len == 0 || content->position < SIM_START)
        return;
    /* A position without a hash is so deep that its block is the chain's for good. */
    size_t at = content->position_block != SIM_NO_BLOCK ? content->position_block
                                                        : content->chain[content->position];
    for (; content->blocks[at].number >= SIM_START; at = content->blocks[at].parent)
        check_block(world, at);
}

/* ---- at the end ---- */

/* What is owed is fetched at a time of the wall clock: if that was set back, not for hours. */
static bool is_settled(const struct sim_world *world, struct sim_ref ref)
{
    const struct sim_document *document = &world->content->documents[ref.document];
    bool in_time = !sim_has(&world->swarm, FAULT_WALL_BACK);
    if (document->hopeless || document->no_address || !in_time)
        return document->stored[ref.spelling].known;
    return document->stored[ref.spelling].whole;
}

bool sim_content_verdict_drained(const struct sim_world *world)
{
    const struct sim_content *content = world->content;
    uint64_t target = content->head - content->confirmations;
    if (target < SIM_START)
        return content->head == content->last; /* nothing is deep enough to be read */
    if (content->head < content->last || content->cursor.len == 0 || content->position != target)
        return false;
    if (content->position_block != SIM_NO_BLOCK &&
        content->position_block != content->chain[content->position])
        return false;
    for (uint64_t number = SIM_START; number <= content->position; number++) {
        const struct sim_block *block = &content->blocks[content->chain[number]];
        for (unsigned i = 0; i < block->ref_count; i++)
            if (!is_settled(world, block->refs[i]))
                return false;
    }
    return true;
}

void sim_content_verdict_end(struct sim_world *world)
{
    const struct sim_content *content = world->content;
    sim_content_verdict_commit(world);
    for (uint64_t number = content->position + 1; number <= content->last; number++)
        for (unsigned i = 0; i < SIM_REFS_MAX; i++)
            if (content->stored[number].there[i])
                sim_fail(world, "block %" PRIu64 " has references, and the position is %" PRIu64,
                         number, content->position);
}
