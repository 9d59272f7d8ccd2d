/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "desk_clock.h"
#include "source/chain_heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

/* The machine: the test is the node. */
struct desk {
    struct desk_clock clock; /* first: the runtime is the desk */
    char url[128], sent[256];
    unsigned dials;
    bool open, closed; /* closed: by us */
    const struct ws_events *events;
    void *events_arg;
    uint64_t told;
    unsigned tellings;
    struct chain_heads *heads;
};

static struct ws *ws_open(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    struct desk *desk = (struct desk *)runtime;
    assert_false(desk->open); /* one at a time */
    snprintf(desk->url, sizeof desk->url, "%s", request->url);
    desk->events = events;
    desk->events_arg = arg;
    desk->dials++;
    desk->open = true;
    desk->closed = false;
    return (struct ws *)(void *)desk;
}

static enum rc ws_send_text(struct ws *ws, struct bytes payload)
{
    struct desk *desk = (struct desk *)(void *)ws;
    snprintf(desk->sent, sizeof desk->sent, "%.*s", (int)payload.len, payload.data);
    return RC_OK;
}

static void ws_close(struct ws *ws, uint16_t code, const char *reason)
{
    struct desk *desk = (struct desk *)(void *)ws;
    (void)code;
    (void)reason;
    assert_false(desk->closed);
    desk->closed = true;
}

static const struct runtime_ops ops = {.wall_us = desk_wall_us,
                                       .mono_us = desk_mono_us,
                                       .random = desk_chance,
                                       .timer_arm = desk_arm,
                                       .timer_disarm = desk_disarm,
                                       .ws_open = ws_open,
                                       .ws_send_text = ws_send_text,
                                       .ws_close = ws_close};

static void pass(struct desk *desk, int64_t us)
{
    struct timer *timer;
    desk->clock.mono_us += us;
    while ((timer = timer_heap_pop(&desk->clock.timers, desk->clock.mono_us)) != NULL)
        timer->fn(timer->arg);
}

static void say(struct desk *desk, const char *json)
{
    char padded[1024] = {0};
    snprintf(padded, sizeof padded - ARENA_PAD, "%s", json);
    desk->events->message(desk->events_arg, false, bytes_make(padded, strlen(padded)));
}

static void end(struct desk *desk)
{
    struct err why = {"it ended"};
    desk->open = false;
    desk->events->closed(desk->events_arg, 0, BYTES_ABSENT, &why);
}

static void told(void *arg, uint64_t number)
{
    struct desk *desk = arg;
    desk->told = number;
    desk->tellings++;
}

static int set_up(void **state)
{
    static struct desk desk;
    static const char *const urls[] = {"ws://node-a", "wss://node-b"};
    struct chain_heads_settings settings = {urls, 2, told, &desk};
    desk = (struct desk){.clock = {.runtime = {.ops = &ops}}};
    desk.heads = chain_heads_new(&desk.clock.runtime, &settings);
    chain_heads_start(desk.heads);
    pass(&desk, 0);
    *state = &desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    chain_heads_stop(desk->heads);
    if (desk->open)
        end(desk);
    pass(desk, 100 * SECOND);
    assert_false(desk->open); /* nothing is dialled any more */
    assert_true(chain_heads_stopped(desk->heads));
    chain_heads_free(desk->heads);
    timer_heap_deinit(&desk->clock.timers);
    return 0;
}

static void agree(struct desk *desk)
{
    desk->events->opened(desk->events_arg);
    say(desk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0xcd0c3e8af590364c09d0fa6a1210faf5\"}");
}

static void say_head(struct desk *desk, const char *number)
{
    char json[256];
    snprintf(json, sizeof json,
             "{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":{\"subscription\":"
             "\"0x9\",\"result\":{\"number\":\"%s\",\"hash\":\"0x1\"}}}",
             number);
    say(desk, json);
}

static void heads_are_asked_for_and_told(void **state)
{
    struct desk *desk = *state;
    struct chain_heads_view view;
    assert_string_equal(desk->url, "ws://node-a");
    desk->events->opened(desk->events_arg);
    assert_non_null(strstr(desk->sent, "\"eth_subscribe\",\"params\":[\"newHeads\"]"));
    chain_heads_look(desk->heads, &view);
    assert_false(view.live);
    say(desk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x9\"}");
    say_head(desk, "0x10");
    say_head(desk, "0x11");
    chain_heads_look(desk->heads, &view);
    assert_true(view.live);
    assert_int_equal(view.heads, 2);
    assert_int_equal(desk->told, 17);
}

/* The next address is dialled, later and later; a head makes up for it. */
static void a_connection_that_ends_is_followed_by_another(void **state)
{
    struct desk *desk = *state;
    struct chain_heads_view view;
    agree(desk);
    end(desk);
    chain_heads_look(desk->heads, &view);
    assert_false(view.live);
    assert_string_equal(view.trouble, "it ended");
    pass(desk, SECOND - 1);
    assert_int_equal(desk->dials, 1);
    pass(desk, 1);
    assert_int_equal(desk->dials, 2);
    assert_string_equal(desk->url, "wss://node-b");
    end(desk);
    pass(desk, 2 * SECOND - 1);
    assert_int_equal(desk->dials, 2);
    pass(desk, 1);
    assert_string_equal(desk->url, "ws://node-a");
    agree(desk);
    say_head(desk, "0x1");
    end(desk);
    pass(desk, SECOND);
    assert_int_equal(desk->dials, 4);
}

/* Whatever is no head ends the connection, once, and is said. */
static void what_is_no_head_ends_the_connection(void **state)
{
    struct desk *desk = *state;
    static const char *const cases[] = {
        "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601}}",
        "{\"method\":\"eth_subscription\",\"params\":{\"result\":{\"number\":7}}}"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chain_heads_view view;
        agree(desk);
        say(desk, cases[i]);
        say(desk, cases[i]); /* was on its way already */
        say_head(desk, "0x5");
        assert_true(desk->closed);
        assert_int_equal(desk->tellings, 0);
        chain_heads_look(desk->heads, &view);
        assert_false(view.live);
        assert_string_not_equal(view.trouble, "");
        end(desk);
        pass(desk, 60 * SECOND);
        assert_int_equal(desk->dials, i + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(heads_are_asked_for_and_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_ends_is_followed_by_another, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_head_ends_the_connection, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
