/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may be asked how much at once, and who leaves before the answer. */
#include "http_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hold(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended || conn->step != 0 || script_head_len(conn) == 0)
        return;
    conn->step = 1;
    if (++bench->requests == 3)
        loop_stop(bench->loop);
}

static int start_narrow(void **state)
{
    return bench_start_with(
        state, (struct network_options){.http_host_calls_max = 3, .http_queue_max = 5});
}

static void a_host_gets_only_so_many_at_once(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->script = hold;
    bench->wanted = 1;
    for (size_t i = 0; i < 8; i++)
        bench->calls[i] = ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->requests, 3);
    assert_int_equal(script_server_accepted(bench->server), 3);
    /* Three are under way and five wait: the ninth is one too many. */
    ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_says(bench, RC_RETRY, "queue full");
    bench->wanted = 2;
    for (size_t i = 0; i < 8; i++)
        ops->http_cancel(bench->runtime, bench->calls[i]);
    bench->script = NULL;
    bench->answer = "HTTP/1.1 204 No\r\n\r\n";
    ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->status, 204);
    assert_int_equal(bench->told, 2);
}

static void all_that_wait_get_their_turn(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    bench->wanted = 8;
    for (size_t i = 0; i < 8; i++)
        ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->told, 8);
    assert_int_equal(bench->requests, 8);
    assert_true(script_server_accepted(bench->server) <= 3);
}

static void a_cancelled_exchange_calls_nobody(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    struct http_call *call = ask(bench, "/", (struct http_request){0});
    ops->http_cancel(bench->runtime, call);
    call = ask(bench, NULL, (struct http_request){.url = "nonsense://x"});
    ops->http_cancel(bench->runtime, call);
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    fetch(bench, "/", (struct http_request){0});
    assert_int_equal(bench->told, 1);
    ask(bench, "/", (struct http_request){0}); /* left to the network's end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_host_gets_only_so_many_at_once, start_narrow,
                                        bench_finish),
        cmocka_unit_test_setup_teardown(all_that_wait_get_their_turn, start_narrow, bench_finish),
        TEST(a_cancelled_exchange_calls_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
