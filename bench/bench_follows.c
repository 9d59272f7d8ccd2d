/* SPDX-License-Identifier: Apache-2.0
 *
 * How long it takes to know whether an event is somebody's whom we follow, as the follows grow from
 * a hundred to a million, against the same with a hundred: ten thousand times as many may miss the
 * processor's caches, no more. One event of a hundred is wanted, and whose event comes next cannot
 * be foreseen. The best round counts. */
#include "source/jetstream_filter.h"

#include "base/bytes.h"
#include "curve_point.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DID_LEN = 32, EVENTS = 1 << 20, ROUNDS = 5, WANTED_OF = 100, FOLLOWS_MAX = 1000000 };
#define GOAL 5.0

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Person number `n`: the same letters every time, and unlike those of its neighbours. */
static void write_did(char did[DID_LEN], uint64_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint64_t state = n * 0x9e3779b97f4a7c15U + 1;
    memcpy(did, "did:plc:", 8);
    for (int i = 8; i < DID_LEN; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        did[i] = letters[state >> 59];
    }
}

/* Who writes the events: the followed are numbers below `follows`. */
static void draw_authors(char (*authors)[DID_LEN], uint64_t follows)
{
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t who = next_random();
        write_did(authors[i], who % WANTED_OF == 0 ? who / WANTED_OF % follows
                                                   : FOLLOWS_MAX + who % (10 * FOLLOWS_MAX));
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others may share the machine */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double judge_all(const struct jetstream_filter *filter, char (*authors)[DID_LEN])
{
    size_t wanted = 0;
    double before = now_s();
    for (size_t i = 0; i < EVENTS; i++)
        wanted += jetstream_filter_wants(filter, (struct bytes){authors[i], DID_LEN});
    double took = now_s() - before;
    if (wanted < EVENTS / WANTED_OF / 2 || wanted > EVENTS / WANTED_OF * 2)
        abort(); /* it does not know whom it follows */
    return took;
}

/* Seconds for an event. */
static double measure(const struct jetstream_filter *filter, char (*authors)[DID_LEN],
                      uint64_t follows)
{
    double best = 0;
    draw_authors(authors, follows);
    for (int round = 0; round < ROUNDS; round++) {
        double took = judge_all(filter, authors) / EVENTS;
        if (best == 0 || took < best)
            best = took;
    }
    return best;
}

int main(void)
{
    struct jetstream_filter filter;
    char(*authors)[DID_LEN] = memory_new(EVENTS * sizeof *authors);
    uint64_t known = 0;
    double few = 0;
    bool ok = true;
    jetstream_filter_init(&filter, false, next_random());
    for (uint64_t follows = 100; follows <= FOLLOWS_MAX; follows *= 10) {
        for (; known < follows; known++) {
            char did[DID_LEN];
            write_did(did, known);
            id_set_add(&filter.wanted, (struct bytes){did, DID_LEN});
        }
        double took = measure(&filter, authors, follows);
        if (few == 0)
            few = took;
        ok &= curve_point("follows", (double)follows, took * 1e9, "ns/event", few * 1e9, GOAL);
    }
    jetstream_filter_deinit(&filter);
    free(authors);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
