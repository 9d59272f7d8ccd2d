/* SPDX-License-Identifier: Apache-2.0 */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_US_MAX 180000000 /* a busy machine is slower than one thinks */

struct answers *answers_new(size_t batch_bytes)
{
    struct answers *answers = calloc(1, sizeof *answers);
    pthread_mutex_init(&answers->lock, NULL);
    pthread_cond_init(&answers->changed, NULL);
    for (unsigned i = 0; i < ANSWERS_MAX; i++)
        arena_init(&answers->batches[i].arena, batch_bytes);
    return answers;
}

void answers_free(struct answers *answers)
{
    for (unsigned i = 0; i < ANSWERS_MAX; i++)
        arena_deinit(&answers->batches[i].arena);
    pthread_cond_destroy(&answers->changed);
    pthread_mutex_destroy(&answers->lock);
    free(answers);
}

static void note(void *arg, struct batch *batch, enum rc rc)
{
    struct answers *answers = arg;
    size_t i = (size_t)(batch - answers->batches);
    pthread_mutex_lock(&answers->lock);
    answers->times[i]++;
    answers->codes[i] = rc;
    if (answers->count < ANSWERS_MAX)
        answers->order[answers->count] = (unsigned)i;
    answers->count++;
    pthread_cond_broadcast(&answers->changed);
    pthread_mutex_unlock(&answers->lock);
}

struct batch *answers_batch(struct answers *answers, unsigned i)
{
    struct batch *batch = &answers->batches[i];
    struct arena arena = batch->arena;
    arena_reset(&arena);
    *batch = (struct batch){.arena = arena, .committed = note, .courier = answers};
    return batch;
}

void answers_fatal(void *arg, const struct err *err)
{
    struct answers *answers = arg;
    pthread_mutex_lock(&answers->lock);
    answers->fatals++;
    memcpy(answers->fatal_text, err->text, sizeof answers->fatal_text);
    pthread_cond_broadcast(&answers->changed);
    pthread_mutex_unlock(&answers->lock);
}

bool answers_wait(struct answers *answers, unsigned count)
{
    return answers_wait_us(answers, count, WAIT_US_MAX);
}

bool answers_wait_us(struct answers *answers, unsigned count, int64_t wait_us)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t nanoseconds = until.tv_nsec + wait_us % 1000000 * 1000;
    until.tv_sec += wait_us / 1000000 + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&answers->lock);
    while (answers->count < count)
        if (pthread_cond_timedwait(&answers->changed, &answers->lock, &until) != 0)
            break;
    bool enough = answers->count >= count;
    pthread_mutex_unlock(&answers->lock);
    return enough;
}

bool answers_are(struct answers *answers, unsigned count, enum rc rc)
{
    bool good = true;
    pthread_mutex_lock(&answers->lock);
    if (answers->count != count) {
        fprintf(stderr, "answers: %u instead of %u\n", answers->count, count);
        good = false;
    }
    for (unsigned i = 0; i < count && good; i++) {
        good = answers->times[i] == 1 && answers->codes[i] == rc && answers->order[i] == i;
        if (!good)
            fprintf(stderr, "answers: batch %u: %u times, %s, in place %u\n", i, answers->times[i],
                    rc_name(answers->codes[i]), answers->order[i]);
    }
    pthread_mutex_unlock(&answers->lock);
    return good;
}
