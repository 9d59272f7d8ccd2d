/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a websocket's other end counts as alive, on a clock that the test moves. */
#include "desk_clock.h"
#include "serve/listener.h"
#include "serve/ws_wire.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES       (16 << 20) /* more than the kernel takes for who does not read */
#define RECEIVE_MAX 16384
#define ROUND       (1 << 18) /* many times what the kernel keeps on the reader's side */
#define WAIT_MS     30000
#define DRAIN_MAX   (PAGES * 2) /* bytes: the pages, and a word for each look at them */
#define LOOKS_MAX   1000        /* the kernel takes what it takes, in the test's time at once */

struct desk {
    struct desk_clock clock; /* first */
    struct loop *loop;
    struct ws_wire wire;
    struct unsent unsent;
    int client, server;
    int closed, drained;
    int64_t taken; /* bytes that the client has read */
};

static struct desk *at_hand; /* for what the wire calls */

/* ---- what the wire needs of the server ---- */

void listener_run(struct listener *listener)
{
    (void)listener;
}

enum MHD_Result MHD_upgrade_action(struct MHD_UpgradeResponseHandle *upgraded,
                                   enum MHD_UpgradeAction action, ...)
{
    (void)upgraded, (void)action;
    return MHD_YES;
}

static void take_message(struct ws_wire *wire, struct bytes text)
{
    (void)wire, (void)text;
}

static void note(struct ws_wire *wire)
{
    (void)wire;
}

static void note_drained(struct ws_wire *wire)
{
    (void)wire;
    at_hand->drained++;
    loop_stop(at_hand->loop);
}

static void note_closed(struct ws_wire *wire)
{
    (void)wire;
    at_hand->closed++;
}

/* ---- both ends ---- */

static void connect_ends(struct desk *desk)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0), room = RECEIVE_MAX;
    desk->client = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(listening >= 0 && desk->client >= 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(setsockopt(desk->client, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    assert_int_equal(connect(desk->client, (struct sockaddr *)&address, len), 0);
    desk->server = accept(listening, NULL, NULL);
    assert_true(desk->server >= 0);
    close(listening);
}

static int set_up(void **state)
{
    static const struct ws_wire_ops ops = {take_message, note_drained, note, note_closed};
    static const struct runtime_ops clock_ops = {.wall_us = desk_wall_us,
                                                 .mono_us = desk_mono_us,
                                                 .random = desk_chance,
                                                 .timer_arm = desk_arm,
                                                 .timer_disarm = desk_disarm};
    struct desk *desk = memory_new_zeroed(1, sizeof *desk);
    *state = at_hand = desk;
    desk->clock.runtime.ops = &clock_ops;
    desk->loop = loop_new();
    connect_ends(desk);
    struct ws_wire *wire = &desk->wire;
    wire->ops = &ops;
    wire->unsent = &desk->unsent;
    unsent_init(&desk->unsent, SIZE_MAX);
    ws_wire_open(wire, desk->loop, NULL, desk->server, NULL, BYTES_ABSENT);
    /* From here on it is the test's time. */
    wire->runtime->ops->timer_disarm(wire->runtime, &wire->timer);
    wire->runtime = &desk->clock.runtime;
    wire->heard_us = 0;
    desk_arm(wire->runtime, &wire->timer, WS_WIRE_PING_US);
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    if (desk->closed == 0)
        ws_wire_abort(&desk->wire);
    close(desk->client);
    close(desk->server);
    unsent_deinit(&desk->unsent);
    timer_heap_deinit(&desk->clock.timers);
    loop_free(desk->loop);
    free(desk);
    return 0;
}

static void let_pass(struct desk *desk, int64_t us)
{
    struct timer *timer;
    desk->clock.mono_us += us;
    while ((timer = timer_heap_pop(&desk->clock.timers, desk->clock.mono_us)) != NULL)
        timer->fn(timer->arg);
}

static void send_pages(struct desk *desk)
{
    struct text pages = {0};
    memset(text_reserve(&pages, PAGES), 'x', PAGES);
    pages.len = PAGES;
    ws_wire_send(&desk->wire, text_bytes(&pages));
    text_free(&pages);
    assert_true(ws_wire_is_full(&desk->wire));
}

static size_t take_piece(struct desk *desk)
{
    char piece[4096];
    struct pollfd readable = {.fd = desk->client, .events = POLLIN};
    assert_true(poll(&readable, 1, WAIT_MS) > 0);
    ssize_t part = recv(desk->client, piece, sizeof piece, 0);
    assert_true(part > 0);
    desk->taken += part;
    return (size_t)part;
}

/* The client reads so much, and the server goes on with what it has for it. */
static void read_some(struct desk *desk, size_t wanted)
{
    for (size_t got = 0; got < wanted; got += take_piece(desk))
        ws_wire_send(&desk->wire, bytes_of("more"));
}

/* ---- the tests ---- */

/* It says nothing, but it takes what was sent: a ping would reach it only behind all that. */
static void who_reads_slowly_is_alive(void **state)
{
    struct desk *desk = *state;
    send_pages(desk);
    for (int i = 0; i < 8; i++) {
        read_some(desk, ROUND);
        let_pass(desk, WS_WIRE_PING_US);
        assert_int_equal(desk->closed, 0);
    }
    /* And is not for ever: what the kernel still took of it counts, and then nothing does. */
    for (int i = 0; i < LOOKS_MAX && desk->closed == 0; i++)
        let_pass(desk, WS_WIRE_PING_US);
    assert_int_equal(desk->closed, 1);
}

/* Its kernel takes the ping all the same. */
static void who_does_not_answer_a_ping_is_not(void **state)
{
    struct desk *desk = *state;
    char ping[2];
    let_pass(desk, WS_WIRE_PING_US);
    assert_int_equal(recv(desk->client, ping, sizeof ping, MSG_WAITALL), 2);
    assert_memory_equal(ping, "\x89\x00", 2);
    assert_int_equal(desk->closed, 0);
    let_pass(desk, WS_WIRE_PING_US);
    assert_int_equal(desk->closed, 1);
}

/* What was sent before it fell silent was taken long ago. */
static void who_took_all_and_falls_silent_is_not(void **state)
{
    struct desk *desk = *state;
    char frame[6];
    ws_wire_send(&desk->wire, bytes_of("word"));
    assert_int_equal(recv(desk->client, frame, sizeof frame, MSG_WAITALL), 6);
    for (int i = 0; i < LOOKS_MAX && desk->closed == 0; i++)
        let_pass(desk, WS_WIRE_PING_US);
    assert_int_equal(desk->closed, 1);
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

/* All that waited may go with an answer, before the loop says that there is room. */
static void who_has_taken_all_is_listened_to_again(void **state)
{
    struct desk *desk = *state;
    struct runtime *runtime = loop_runtime(desk->loop);
    struct timer give_up = {.fn = stop_loop, .arg = desk->loop};
    send_pages(desk);
    for (size_t got = 0; desk->wire.out.len > desk->wire.out_at && got < DRAIN_MAX; got += ROUND)
        read_some(desk, ROUND);
    assert_int_equal(desk->wire.out.len, desk->wire.out_at);
    while (desk->taken < desk->wire.sent)
        (void)take_piece(desk);
    assert_true(ws_wire_is_full(&desk->wire));
    runtime->ops->timer_arm(runtime, &give_up, (int64_t)WAIT_MS * 1000);
    loop_run(desk->loop);
    runtime->ops->timer_disarm(runtime, &give_up);
    assert_int_equal(desk->drained, 1);
    assert_false(ws_wire_is_full(&desk->wire));
}

int main(void)
{
#define ON_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_DESK(who_reads_slowly_is_alive),
        ON_DESK(who_does_not_answer_a_ping_is_not),
        ON_DESK(who_took_all_and_falls_silent_is_not),
        ON_DESK(who_has_taken_all_is_listened_to_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
