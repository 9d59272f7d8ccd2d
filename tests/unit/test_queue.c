/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/loop.h"
#include "sys/thread_queue.h"
#include "sys/worker.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PRODUCERS = 3, EACH = 5000, JOBS = 2000, WORKERS = 3 };

static void items_come_out_in_order_up_to_the_bound(void **state)
{
    (void)state;
    int items[5];
    struct queue *queue = queue_new(3);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(queue_push(queue, &items[i]), RC_OK);
        assert_int_equal(queue_push(queue, &items[3]), RC_AGAIN);
        assert_int_equal(queue_count(queue), 3);
        assert_ptr_equal(queue_pop(queue, 0), &items[0]);
        assert_int_equal(queue_push(queue, &items[3]), RC_OK);
        for (int i = 1; i < 4; i++)
            assert_ptr_equal(queue_pop(queue, QUEUE_FOR_EVER), &items[i]);
        assert_null(queue_pop(queue, 0));
        assert_null(queue_pop(queue, 1));
    }
    queue_free(queue);
}

static void a_closed_queue_gives_out_what_it_holds(void **state)
{
    (void)state;
    int item;
    struct queue *queue = queue_new(2);
    assert_int_equal(queue_push(queue, &item), RC_OK);
    assert_false(queue_is_closed(queue));
    queue_close(queue);
    assert_true(queue_is_closed(queue));
    assert_int_equal(queue_push(queue, &item), RC_REJECT);
    assert_ptr_equal(queue_pop(queue, QUEUE_FOR_EVER), &item);
    assert_null(queue_pop(queue, QUEUE_FOR_EVER));
    queue_free(queue);
}

static void *pop_one(void *arg)
{
    return queue_pop(arg, QUEUE_FOR_EVER);
}

static void a_blocked_pop_is_freed_by_a_push_or_a_close(void **state)
{
    (void)state;
    int item;
    pthread_t thread;
    void *got;
    struct queue *queue = queue_new(2);
    assert_int_equal(pthread_create(&thread, NULL, pop_one, queue), 0);
    assert_int_equal(queue_push(queue, &item), RC_OK);
    pthread_join(thread, &got);
    assert_ptr_equal(got, &item);
    assert_int_equal(pthread_create(&thread, NULL, pop_one, queue), 0);
    queue_close(queue);
    pthread_join(thread, &got);
    assert_null(got);
    queue_free(queue);
}

struct item {
    int producer, number;
};

struct producer {
    struct queue *queue;
    struct item items[EACH];
    pthread_t thread;
};

static void *produce(void *arg)
{
    struct producer *producer = arg;
    for (int i = 0; i < EACH; i++)
        while (queue_push(producer->queue, &producer->items[i]) == RC_AGAIN)
            sched_yield();
    return NULL;
}

static struct producer *start_producers(struct queue *queue)
{
    struct producer *producers = memory_new_zeroed(PRODUCERS, sizeof *producers);
    for (int p = 0; p < PRODUCERS; p++) {
        producers[p].queue = queue;
        for (int i = 0; i < EACH; i++)
            producers[p].items[i] = (struct item){p, i};
        assert_int_equal(pthread_create(&producers[p].thread, NULL, produce, &producers[p]), 0);
    }
    return producers;
}

static void stop_producers(struct producer *producers)
{
    for (int p = 0; p < PRODUCERS; p++)
        pthread_join(producers[p].thread, NULL);
    free(producers);
}

static void each_producer_s_order_is_kept(void **state)
{
    (void)state;
    struct queue *queue = queue_new(64);
    struct producer *producers = start_producers(queue);
    int next[PRODUCERS] = {0};
    for (int i = 0; i < PRODUCERS * EACH; i++) {
        struct item *item = queue_pop(queue, QUEUE_FOR_EVER);
        assert_int_equal(item->number, next[item->producer]++);
    }
    assert_null(queue_pop(queue, 0));
    stop_producers(producers);
    queue_free(queue);
}

/* ---- workers ---- */

struct work {
    struct loop *loop;
    struct worker_pool *pool;
    pthread_t loop_thread;
    size_t submitted, done, refused;
    atomic_size_t ran;
};

struct job {
    struct worker_job job;
    struct work *work;
    size_t input, output;
    unsigned thread;
    bool ran;
};

static void square(struct worker_job *worker_job, unsigned thread)
{
    struct job *job = (struct job *)worker_job;
    job->output = job->input * job->input;
    job->thread = thread;
    job->ran = true;
    atomic_fetch_add(&job->work->ran, 1);
}

static void submit_more(struct work *work);

static void collect(struct worker_job *worker_job)
{
    struct job *job = (struct job *)worker_job;
    struct work *work = job->work;
    assert_true(pthread_equal(pthread_self(), work->loop_thread));
    assert_true(job->ran && job->thread < WORKERS);
    assert_int_equal(job->output, job->input * job->input);
    free(job);
    work->done++;
    submit_more(work);
    if (work->done == JOBS && work->loop != NULL)
        loop_stop(work->loop);
}

static void submit_more(struct work *work)
{
    while (work->submitted < JOBS) {
        struct job *job = memory_new_zeroed(1, sizeof *job);
        *job = (struct job){.job = {.run = square, .done = collect}, .work = work};
        job->input = work->submitted;
        if (worker_submit(work->pool, &job->job) != RC_OK) {
            free(job);
            work->refused++;
            return;
        }
        work->submitted++;
    }
}

static void every_job_runs_and_is_told_on_the_loop(void **state)
{
    (void)state;
    struct work work = {.loop = loop_new(), .loop_thread = pthread_self()};
    work.pool = worker_pool_new(work.loop, WORKERS, 32);
    submit_more(&work);
    assert_true(work.refused > 0 && work.submitted == 32);
    /* Jobs that ran and were not told yet count, too. */
    while (atomic_load(&work.ran) < 32)
        sched_yield();
    submit_more(&work);
    assert_int_equal(work.submitted, 32);
    loop_run(work.loop);
    assert_int_equal(work.done, JOBS);
    worker_pool_free(work.pool);
    loop_free(work.loop);
}

static void a_freed_pool_finishes_what_it_has(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    struct work work = {.loop_thread = pthread_self(), .submitted = JOBS - 20};
    work.pool = worker_pool_new(loop, WORKERS, 32);
    submit_more(&work);
    worker_pool_free(work.pool);
    assert_int_equal(work.done, 20);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_in_order_up_to_the_bound),
        cmocka_unit_test(a_closed_queue_gives_out_what_it_holds),
        cmocka_unit_test(a_blocked_pop_is_freed_by_a_push_or_a_close),
        cmocka_unit_test(each_producer_s_order_is_kept),
        cmocka_unit_test(every_job_runs_and_is_told_on_the_loop),
        cmocka_unit_test(a_freed_pool_finishes_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
