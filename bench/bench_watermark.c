/* SPDX-License-Identifier: Apache-2.0
 *
 * The watermark against the two obvious ways: a ring of flags, which is the least one can do, and
 * an ordered tree of what is pending. All get the same units in the same random order of
 * completion, each through calls of its own, in turns, and must agree on every position; the best
 * round of each counts. Setting up is not measured: it happens once in a process. Against the ring
 * also with few and with many units pending. */
#include "ingest/watermark.h"

#include "base/bytes.h"
#include "curve_point.h"
#include "flag_ring.h"
#include "pending_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPAN_MAX = 65536, UNITS = 8 * SPAN_MAX, ROUNDS = 60, CURVE_ROUNDS = 15 };
#define GOAL_FLAGS 3.0  /* at most that many times the flag ring's time */
#define GOAL_TREE  10.0 /* at least that many times faster than the tree */

static uint64_t span;   /* how many may be pending */
static uint64_t *order; /* each unit's completion; UINT64_MAX: admit the next */
static size_t steps;

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Any of what is in flight completes next, as far as the span lets it. */
static void plan(void)
{
    uint64_t *flight = memory_new(span * sizeof *flight);
    bool *done = memory_new_zeroed(UNITS, sizeof *done);
    uint64_t next = 0, base = 0, count = 0;
    steps = 0;
    order = memory_new(2 * UNITS * sizeof *order);
    while (base < UNITS) {
        while (next < UNITS && next - base < span) {
            flight[count++] = next++;
            order[steps++] = UINT64_MAX;
        }
        uint64_t pick = next_random() % count, ord = flight[pick];
        flight[pick] = flight[--count];
        done[ord] = true;
        order[steps++] = ord;
        while (base < UNITS && done[base])
            base++;
    }
    free(flight);
    free(done);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others may share the machine */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double run_watermark(uint64_t *sum)
{
    struct watermark wm;
    watermark_init(&wm, span);
    double start = now_s();
    for (size_t i = 0; i < steps; i++) {
        struct watermark_ticket ticket;
        if (order[i] == UINT64_MAX) {
            if (watermark_admit(&wm, 1, i, &ticket) != RC_OK)
                abort();
            continue;
        }
        if (watermark_finish(&wm, order[i], 0) != WATERMARK_FINISHED)
            abort();
        if (order[i] == wm.staged &&
            (!watermark_stage(&wm) || !watermark_commit(&wm, wm.staged, 0)))
            abort();
        *sum += wm.base;
    }
    double took = now_s() - start;
    watermark_deinit(&wm);
    return took;
}

static double run_flags(uint64_t *sum)
{
    struct flag_ring ring;
    flag_ring_init(&ring, span);
    double start = now_s();
    for (size_t i = 0; i < steps; i++) {
        if (order[i] == UINT64_MAX) {
            flag_ring_admit(&ring);
            continue;
        }
        flag_ring_finish(&ring, order[i]);
        *sum += ring.base;
    }
    double took = now_s() - start;
    flag_ring_deinit(&ring);
    return took;
}

static double run_tree(uint64_t *sum)
{
    struct pending_tree tree;
    uint64_t next = 0;
    pending_tree_init(&tree, span);
    double start = now_s();
    for (size_t i = 0; i < steps; i++) {
        if (order[i] == UINT64_MAX) {
            pending_tree_add(&tree, next++);
            continue;
        }
        if (!pending_tree_remove(&tree, order[i]))
            abort();
        *sum += pending_tree_first(&tree, next);
    }
    double took = now_s() - start;
    pending_tree_deinit(&tree);
    return took;
}

static void keep_best(double *best, double (*run)(uint64_t *sum), uint64_t *agreed)
{
    uint64_t sum = 0;
    double took = run(&sum);
    if (*agreed != 0 && sum != *agreed)
        abort(); /* they do not agree on the positions */
    *agreed = sum;
    if (*best == 0 || took < *best)
        *best = took;
}

static void report(const char *name, double value, double against, double ratio, double goal,
                   bool ok)
{
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"ns/unit\",\"against\":%.2f,\"ratio\":%.2f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           name, value * 1e9 / UNITS, against * 1e9 / UNITS, ratio, goal, ok ? "true" : "false");
}

static bool measure_pending(uint64_t pending)
{
    double watermark = 0, flags = 0;
    uint64_t sum = 0;
    span = pending;
    plan();
    for (int round = 0; round < CURVE_ROUNDS; round++) {
        keep_best(&watermark, run_watermark, &sum);
        keep_best(&flags, run_flags, &sum);
    }
    free(order);
    return curve_point("pending_units", (double)pending, watermark * 1e9 / UNITS, "ns/unit",
                       flags * 1e9 / UNITS, GOAL_FLAGS);
}

int main(void)
{
    bool flat = true;
    for (uint64_t pending = 64; pending <= SPAN_MAX; pending *= 8)
        flat &= measure_pending(pending);
    span = SPAN_MAX;
    double watermark = 0, flags = 0, tree = 0;
    uint64_t sum = 0;
    plan();
    for (int round = 0; round < ROUNDS; round++) {
        keep_best(&watermark, run_watermark, &sum);
        keep_best(&flags, run_flags, &sum);
        if (round < 3)
            keep_best(&tree, run_tree, &sum);
    }
    bool lean = watermark <= GOAL_FLAGS * flags, fast = watermark * GOAL_TREE <= tree;
    report("watermark_vs_flag_ring", watermark, flags, watermark / flags, GOAL_FLAGS, lean);
    report("watermark_vs_tree", watermark, tree, tree / watermark, GOAL_TREE, fast);
    free(order);
    return lean && fast && flat ? 0 : 1;
}
