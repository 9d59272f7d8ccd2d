/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include "store/commit.h"

#include <stdlib.h>

#define SECOND_US INT64_C(1000000)

/* `seen` is the commit that had changed the row when it was looked at last; 0: it was not there. */
static void check_row(const struct sim_world *world, const char *what, size_t number, int64_t seq,
                      int64_t *seen)
{
    if (seq > world->db.position.commit_seq)
        sim_fail(world, "I5: %s %zu is of commit %" PRId64 ", and there are only %" PRId64, what,
                 number, seq, world->db.position.commit_seq);
    if (seq < *seen)
        sim_fail(world, "I5: %s %zu was of commit %" PRId64 ", now it is of %" PRId64, what, number,
                 *seen, seq);
    if (seq != *seen && seq <= world->reader.fence)
        sim_fail(world, "I5: %s %zu of commit %" PRId64 " was not there after commit %" PRId64,
                 what, number, seq, world->reader.fence);
    *seen = seq;
}

void sim_reader_look(struct sim_world *world)
{
    struct sim_reader *reader = &world->reader;
    int64_t now = world->db.position.commit_seq;
    if (now < reader->fence)
        sim_fail(world, "I5: there were %" PRId64 " commits, now there are %" PRId64, reader->fence,
                 now);
    for (size_t i = 0; i < SIM_KEYS; i++) {
        const struct sim_post *post = &world->db.posts[i];
        if (post->known)
            check_row(world, "post", i, post->changed, &reader->posts[i]);
    }
    for (size_t i = 0; world->ledger != NULL && i < world->ledger->row_count; i++) {
        struct sim_stored_row *row = &world->ledger->rows[i];
        check_row(world, "row", row->number, row->seq, &row->seen);
    }
    for (size_t i = 0; world->content != NULL && i < world->content->document_count; i++)
        for (unsigned s = 0; s < SIM_SPELLINGS; s++) {
            struct sim_stored *stored = &world->content->documents[i].stored[s];
            if (stored->known)
                check_row(world, "document", i, stored->seq, &stored->seen);
        }
    reader->fence = now;
    sim_saw(SIGHT_READ);
}

static void take_turn(void *arg)
{
    struct sim_world *world = arg;
    sim_reader_look(world);
    timer_heap_arm(&world->timers, &world->reader.turn,
                   world->now_us + sim_between(&world->swarm, SECOND_US / 10,
                                               (world->plan.days > 0 ? 3600 : 20) * SECOND_US));
}

void sim_reader_init(struct sim_world *world)
{
    world->reader.turn = (struct timer){.fn = take_turn, .arg = world};
    world->reader.posts = memory_new_zeroed(SIM_KEYS, sizeof *world->reader.posts);
    timer_heap_arm(&world->timers, &world->reader.turn, world->now_us + SECOND_US);
}

void sim_reader_deinit(struct sim_world *world)
{
    timer_heap_disarm(&world->timers, &world->reader.turn);
    free(world->reader.posts);
}

/* ---- what is answered for ---- */

static void check_post(const struct sim_world *world, const struct record *record)
{
    const struct field *fields = record->fields;
    size_t rev, key = sim_key(fields[POST_DID].b, fields[POST_COLLECTION].b, fields[POST_RKEY].b);
    if (record->folded || record->refused || key == SIM_KEYS ||
        !sim_number_after(fields[POST_REV].b, "3sim", &rev))
        return;
    const struct sim_post *post = &world->db.posts[key];
    if (!post->known || post->rev < rev)
        sim_fail(world, "I5: post %zu is answered for, and its revision %zu is not there", key,
                 rev);
}

void sim_reader_answered(struct sim_world *world, const struct batch *batch)
{
    if (batch->seq <= 0 || batch->seq > world->db.position.commit_seq)
        sim_fail(world, "I5: a batch is answered for by commit %" PRId64 ", there are %" PRId64,
                 batch->seq, world->db.position.commit_seq);
    for (const struct record *row = batch->first[RECORD_POST]; row != NULL; row = row->next)
        check_post(world, row);
    for (const struct record *row = batch->first[RECORD_TRANSACTION]; row != NULL; row = row->next)
        if (!sim_ledger_has(world, row->fields[TRANSACTION_EVENT_ID].b))
            sim_fail(world, "I5: a row of an account is answered for, and is not there");
}

void sim_reader_plant(struct sim_world *world, const struct commit *commit)
{
    for (size_t i = commit->begin[RECORD_POST]; i < commit->begin[RECORD_POST + 1]; i++) {
        const struct field *fields = commit->records[i]->fields;
        size_t key = sim_key(fields[POST_DID].b, fields[POST_COLLECTION].b, fields[POST_RKEY].b);
        if (key == SIM_KEYS)
            continue;
        world->db.posts[key].known = true;
        world->db.posts[key].changed = commit->seq;
    }
}
