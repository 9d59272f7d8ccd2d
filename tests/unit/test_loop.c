/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, POSTS = 20000 };

struct bench {
    struct loop *loop;
    struct runtime *runtime;
    struct timer timers[3];
    int64_t due_us;
    int fired, order[8];
    bool inside;
    size_t count[THREADS];
    size_t total;
};

static int start(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->runtime = loop_runtime(bench->loop);
    *state = bench;
    return 0;
}

static int finish(void **state)
{
    struct bench *bench = *state;
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static void stop(void *arg)
{
    struct bench *bench = arg;
    assert_false(bench->inside);
    bench->fired++;
    loop_stop(bench->loop);
}

static void note_second(void *arg)
{
    struct bench *bench = arg;
    bench->order[bench->fired++] = 2;
}

static void note_third_and_stop(void *arg)
{
    struct bench *bench = arg;
    bench->order[bench->fired++] = 3;
    loop_stop(bench->loop);
}

static void note_first(void *arg)
{
    struct bench *bench = arg;
    bench->order[bench->fired++] = 1;
}

static void timers_fire_in_the_order_they_are_due(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->timers[0] = (struct timer){.fn = note_third_and_stop, .arg = bench};
    bench->timers[1] = (struct timer){.fn = note_second, .arg = bench};
    bench->timers[2] = (struct timer){.fn = note_first, .arg = bench};
    do { /* again, if others had the processor in between */
        ops->timer_arm(bench->runtime, &bench->timers[0], 4000);
        ops->timer_arm(bench->runtime, &bench->timers[1], 2000);
        ops->timer_arm(bench->runtime, &bench->timers[2], 0);
    } while (bench->timers[0].due_us < bench->timers[1].due_us ||
             bench->timers[1].due_us < bench->timers[2].due_us);
    loop_run(bench->loop);
    assert_int_equal(bench->fired, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(bench->order[i], i + 1);
}

static void check_due_and_stop(void *arg)
{
    struct bench *bench = arg;
    assert_true(bench->runtime->ops->mono_us(bench->runtime) >= bench->due_us);
    bench->due_us = bench->runtime->ops->mono_us(bench->runtime) + 300;
    if (++bench->fired == 20)
        loop_stop(bench->loop);
    else
        bench->runtime->ops->timer_arm(bench->runtime, &bench->timers[0], 300);
}

static void a_timer_is_never_early(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->timers[0] = (struct timer){.fn = check_due_and_stop, .arg = bench};
    bench->due_us = ops->mono_us(bench->runtime) + 1500;
    ops->timer_arm(bench->runtime, &bench->timers[0], 1500);
    loop_run(bench->loop);
    assert_int_equal(bench->fired, 20);
}

static void fail_the_test(void *arg)
{
    (void)arg;
    fail_msg("a disarmed timer fired");
}

static void a_disarmed_timer_stays_silent(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->timers[0] = (struct timer){.fn = fail_the_test};
    bench->timers[1] = (struct timer){.fn = stop, .arg = bench};
    ops->timer_arm(bench->runtime, &bench->timers[0], 0);
    ops->timer_arm(bench->runtime, &bench->timers[1], 1000);
    ops->timer_disarm(bench->runtime, &bench->timers[0]);
    ops->timer_disarm(bench->runtime, &bench->timers[0]);
    loop_run(bench->loop);
    assert_int_equal(bench->fired, 1);
}

static void nothing_is_called_from_inside_the_call_that_asked(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->timers[0] = (struct timer){.fn = stop, .arg = bench};
    bench->inside = true;
    ops->timer_arm(bench->runtime, &bench->timers[0], 0);
    assert_int_equal(loop_post(bench->loop, stop, bench), RC_OK);
    bench->inside = false;
    loop_run(bench->loop);
    loop_run(bench->loop);
    assert_int_equal(bench->fired, 2);
}

/* It arms itself again at once, for ever; the post must still get its turn. */
static void arm_again(void *arg)
{
    struct bench *bench = arg;
    bench->fired++;
    bench->runtime->ops->timer_arm(bench->runtime, &bench->timers[0], 0);
}

static void disarm_and_stop(void *arg)
{
    struct bench *bench = arg;
    bench->runtime->ops->timer_disarm(bench->runtime, &bench->timers[0]);
    loop_stop(bench->loop);
}

static void post_disarm(void *arg)
{
    struct bench *bench = arg;
    assert_int_equal(loop_post(bench->loop, disarm_and_stop, bench), RC_OK);
}

static void a_timer_that_rearms_itself_does_not_keep_the_loop(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->timers[0] = (struct timer){.fn = arm_again, .arg = bench};
    bench->timers[1] = (struct timer){.fn = post_disarm, .arg = bench};
    ops->timer_arm(bench->runtime, &bench->timers[0], 0);
    ops->timer_arm(bench->runtime, &bench->timers[1], 2000);
    loop_run(bench->loop);
    assert_true(bench->fired > 0);
}

struct poster {
    struct bench *bench;
    size_t which;
};

static void count_post(void *arg)
{
    struct poster *poster = arg;
    struct bench *bench = poster->bench;
    bench->count[poster->which]++;
    if (++bench->total == (size_t)THREADS * POSTS)
        loop_stop(bench->loop);
}

static void *post_many(void *arg)
{
    struct poster *poster = arg;
    for (int i = 0; i < POSTS; i++)
        while (loop_post(poster->bench->loop, count_post, poster) == RC_AGAIN)
            sched_yield();
    return NULL;
}

static void each_post_of_many_threads_runs_once(void **state)
{
    struct bench *bench = *state;
    pthread_t threads[THREADS];
    struct poster posters[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        posters[i] = (struct poster){bench, i};
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
    }
    loop_run(bench->loop);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(bench->count[i], POSTS);
    }
}

static void add_one(void *arg)
{
    (*(int *)arg)++;
}

static void a_full_post_queue_says_again(void **state)
{
    struct bench *bench = *state;
    int ran = 0;
    for (int i = 0; i < LOOP_POST_MAX; i++)
        assert_int_equal(loop_post(bench->loop, add_one, &ran), RC_OK);
    assert_int_equal(loop_post(bench->loop, add_one, &ran), RC_AGAIN);
    loop_stop(bench->loop);
    loop_run(bench->loop);
    assert_int_equal(ran, LOOP_POST_MAX);
    assert_int_equal(loop_post(bench->loop, add_one, &ran), RC_OK);
}

static void *wake_many(void *arg)
{
    for (int i = 0; i < POSTS; i++)
        loop_waker_wake(arg);
    return NULL;
}

static void a_waker_runs_after_the_last_wake(void **state)
{
    struct bench *bench = *state;
    struct loop_waker *waker = loop_waker_new(bench->loop, stop, bench);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake_many, waker), 0);
    loop_run(bench->loop);
    pthread_join(thread, NULL);
    int before = bench->fired;
    assert_true(before >= 1 && before <= POSTS);
    loop_waker_wake(waker);
    loop_run(bench->loop);
    assert_true(bench->fired > before);
    loop_waker_free(waker);
}

static void a_signal_reaches_its_function(void **state)
{
    struct bench *bench = *state;
    loop_on_signal(bench->loop, SIGUSR1, stop, bench);
    raise(SIGUSR1);
    loop_run(bench->loop);
    assert_int_equal(bench->fired, 1);
}

static void clocks_go_forward_and_chance_differs(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    int64_t before = ops->mono_us(bench->runtime);
    assert_true(ops->wall_us(bench->runtime) > INT64_C(1700000000000000));
    uint64_t seen[100];
    for (int i = 0; i < 100; i++) {
        seen[i] = ops->random(bench->runtime);
        for (int j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
    }
    assert_true(ops->mono_us(bench->runtime) >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_fire_in_the_order_they_are_due, start, finish),
        cmocka_unit_test_setup_teardown(a_timer_is_never_early, start, finish),
        cmocka_unit_test_setup_teardown(a_disarmed_timer_stays_silent, start, finish),
        cmocka_unit_test_setup_teardown(nothing_is_called_from_inside_the_call_that_asked, start,
                                        finish),
        cmocka_unit_test_setup_teardown(a_timer_that_rearms_itself_does_not_keep_the_loop, start,
                                        finish),
        cmocka_unit_test_setup_teardown(each_post_of_many_threads_runs_once, start, finish),
        cmocka_unit_test_setup_teardown(a_full_post_queue_says_again, start, finish),
        cmocka_unit_test_setup_teardown(a_waker_runs_after_the_last_wake, start, finish),
        cmocka_unit_test_setup_teardown(a_signal_reaches_its_function, start, finish),
        cmocka_unit_test_setup_teardown(clocks_go_forward_and_chance_differs, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
