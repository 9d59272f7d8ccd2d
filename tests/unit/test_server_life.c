/* SPDX-License-Identifier: Apache-2.0
 *
 * How the server begins, waits and ends. */
#include "server_bench.h"

#include <microhttpd.h>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_health_address_serves_health_alone(void **state)
{
    struct bench *bench = *state;
    http_peer_close(&bench->peer);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_HEALTH));
    assert_int_equal(bench_get(bench, "/health"), 200);
    assert_int_equal(bench_get(bench, "/metrics"), 200);
    assert_int_equal(bench_get(bench, "/"), 404);
    assert_int_equal(bench_post(bench, "/api/data/query-open", "{\"collection\":\"posts\"}"), 404);
}

static void the_socket_is_private_and_gone_afterwards(void **state)
{
    struct bench *bench = *state;
    struct stat info;
    http_peer_close(&bench->peer);
    assert_int_equal(lstat(bench->socket_path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    http_peer_connect_unix(&bench->peer, bench->socket_path);
    assert_int_equal(bench_post(bench, "/api/data/query-open", "{\"collection\":\"posts\"}"), 200);
    server_stop(bench->server);
    server_free(bench->server);
    bench->server = NULL;
    assert_int_not_equal(lstat(bench->socket_path, &info), 0);
    assert_true(http_peer_ended(&bench->peer));
}

static void a_dead_ones_socket_is_replaced_and_a_living_ones_is_not(void **state)
{
    struct bench *bench = *state;
    struct server_options options = {.socket_path = bench->socket_path,
                                     .store_url = bench->fixture.url};
    struct server *second;
    char moved[320], file[320];
    assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "running tidemark listens there"));
    /* What a killed process leaves behind: a socket file that nobody answers. */
    snprintf(moved, sizeof moved, "%s/old.sock", bench->fixture.folder);
    assert_int_equal(link(bench->socket_path, moved), 0);
    server_stop(bench->server);
    server_free(bench->server);
    bench->server = NULL;
    options.socket_path = moved;
    assert_int_equal(server_start(&options, &second, &bench->err), RC_OK);
    server_stop(second);
    server_free(second);
    snprintf(file, sizeof file, "%s/store.db", bench->fixture.folder);
    options.socket_path = file;
    assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "no socket"));
}

static void an_address_that_cannot_be_had_is_an_error_that_says_so(void **state)
{
    struct bench *bench = *state;
    char taken[32], path[300];
    const char *const bad[] = {
        "",        "8080",        "localhost:8080", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x",
        "[::1:80", "300.0.0.1:80"};
    struct server_options options = {.store_url = bench->fixture.url};
    struct server *second;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.listen = bad[i];
        assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
        assert_non_null(strstr(bench->err.text, "HOST:PORT"));
    }
    snprintf(taken, sizeof taken, "127.0.0.1:%u", server_port(bench->server, LISTENER_MAIN));
    options.listen = taken;
    assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, taken));
    options.listen = "127.0.0.1:0";
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    options.socket_path = path;
    assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "shorter data directory"));
}

static bool library_fails;

/* Stands before the library's own. */
struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accepts,
                                    void *accepts_arg, MHD_AccessHandlerCallback handles,
                                    void *handles_arg, ...)
{
    va_list args;
    va_start(args, handles_arg);
    struct MHD_Daemon *daemon =
        library_fails
            ? NULL
            : MHD_start_daemon_va(flags, port, accepts, accepts_arg, handles, handles_arg, args);
    va_end(args);
    return daemon;
}

static size_t count_listening(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        int listens = 0;
        socklen_t len = sizeof listens;
        count += getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0;
    }
    return count;
}

static void a_library_that_does_not_start_leaves_nothing_open(void **state)
{
    struct bench *bench = *state;
    struct server *second;
    char path[300];
    snprintf(path, sizeof path, "%s/second.sock", bench->fixture.folder);
    const struct server_options wanted[] = {
        {.store_url = bench->fixture.url, .socket_path = path},
        {.store_url = bench->fixture.url, .listen = "127.0.0.1:0"},
    };
    library_fails = true;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t before = count_listening();
        assert_int_equal(server_start(&wanted[i], &second, &bench->err), RC_REJECT);
        assert_int_equal(count_listening(), before);
    }
    library_fails = false;
    assert_int_equal(access(path, F_OK), -1);
}

/* No token is asked for on the main address, so nobody else may reach it. */
static void only_this_machine_is_served(void **state)
{
    struct bench *bench = *state;
    static const char *const open_to_others[] = {"0.0.0.0:0", "[::]:0", "192.168.0.1:0",
                                                 "[::ffff:127.0.0.1]:0"};
    struct server_options options = {.store_url = bench->fixture.url};
    struct server *second;
    for (size_t i = 0; i < sizeof open_to_others / sizeof open_to_others[0]; i++) {
        options.listen = open_to_others[i];
        assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
        assert_non_null(strstr(bench->err.text, "without serve.tokens_file only a loopback"));
    }
    options.listen = "127.8.9.10:0";
    assert_int_equal(server_start(&options, &second, &bench->err), RC_OK);
    server_stop(second);
    server_free(second);
    options.listen = "127.0.0.1:0"; /* health tells nothing that needs a token */
    options.health_listen = "0.0.0.0:0";
    assert_int_equal(server_start(&options, &second, &bench->err), RC_OK);
    server_stop(second);
    server_free(second);
}

static void a_store_that_comes_back_is_read_again(void **state)
{
    struct bench *bench = *state;
    char path[300], away[300];
    snprintf(path, sizeof path, "%s/store.db", bench->fixture.folder);
    snprintf(away, sizeof away, "%s/away.db", bench->fixture.folder);
    assert_int_equal(rename(path, away), 0);
    bench_restart(bench); /* who has the file open would not miss it */
    bench_reconnect(bench);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bench_get(bench, "/api/status"), 503);
        assert_int_equal(bench_get(bench, "/health"), 200); /* it never asks the store */
    }
    assert_int_equal(rename(away, path), 0);
    assert_int_equal(bench_get(bench, "/api/status"), 200);
}

static void *stop_server(void *arg)
{
    struct bench *bench = arg;
    server_stop(bench->server);
    server_free(bench->server);
    return NULL;
}

/* Asks until the server says that it is stopping. */
static void wait_for_drain(struct bench *bench)
{
    while (bench_get(bench, "/metrics") == 200)
        bench_reconnect(bench);
}

static void a_drain_answers_what_is_under_way_and_refuses_the_rest(void **state)
{
    struct bench *bench = *state;
    struct http_peer waiting[3];
    struct http_answer answer = {0};
    pthread_t stopping;
    bench->options.drain_us_max = 60000000;
    bench_restart(bench);
    for (int i = 0; i < 3; i++) { /* two run, one waits for a reader */
        http_peer_connect(&waiting[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&waiting[i], "/slow", NULL);
    }
    sem_wait(&bench->entered);
    sem_wait(&bench->entered);
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/health"), 200); /* the third one was heard before it */
    assert_int_equal(pthread_create(&stopping, NULL, stop_server, bench), 0);
    wait_for_drain(bench);
    assert_int_equal(bench->answer.status, 503);
    assert_true(bench_says(bench, "\"code\":\"SHUTTING_DOWN\""));
    assert_true(bench_head_says(bench, "Connection: close"));
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/health"), 503);
    assert_true(bench_says(bench, "the daemon is stopping"));
    for (int i = 0; i < 3; i++)
        sem_post(&bench->leave);
    for (int i = 0; i < 3; i++) {
        http_peer_read(&waiting[i], &answer, false);
        assert_int_equal(answer.status, 200);
        assert_true(http_peer_ended(&waiting[i]));
        http_peer_close(&waiting[i]);
    }
    pthread_join(stopping, NULL);
    bench->server = NULL;
    http_answer_free(&answer);
}

static void a_drain_whose_time_is_over_still_answers_everyone(void **state)
{
    struct bench *bench = *state;
    struct http_peer waiting[5];
    struct http_answer answer = {0};
    pthread_t stopping;
    int served = 0, refused = 0;
    bench->options.drain_us_max = 1;
    bench_restart(bench);
    for (int i = 0; i < 5; i++) {
        http_peer_connect(&waiting[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&waiting[i], "/slow", NULL);
    }
    sem_wait(&bench->entered);
    sem_wait(&bench->entered);
    /* The three others are whole on the server's side once this one is answered. */
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/health"), 200);
    assert_int_equal(pthread_create(&stopping, NULL, stop_server, bench), 0);
    /* Of those that wait some may be begun before the stop comes; the others never are. */
    for (int i = 0; i < 5; i++)
        sem_post(&bench->leave);
    pthread_join(stopping, NULL);
    bench->server = NULL;
    for (int i = 0; i < 5; i++) {
        http_peer_read(&waiting[i], &answer, false);
        served += answer.status == 200;
        refused += answer.status == 503;
        http_peer_close(&waiting[i]);
    }
    assert_int_equal(served + refused, 5);
    assert_true(served >= 2);
    http_answer_free(&answer);
}

static void too_many_waiting_requests_are_told_to_come_back(void **state)
{
    struct bench *bench = *state;
    struct http_peer waiting[3];
    struct http_answer answer = {0};
    bench->options.waiting_max = 3;
    bench_restart(bench);
    for (int i = 0; i < 3; i++) {
        http_peer_connect(&waiting[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&waiting[i], "/slow", NULL);
    }
    sem_wait(&bench->entered);
    sem_wait(&bench->entered);
    do { /* until the third one is whole, too */
        bench_reconnect(bench);
        http_peer_ask(&bench->peer, "/api/status", NULL);
        http_peer_read(&bench->peer, &bench->answer, false);
    } while (bench->answer.status == 0);
    assert_int_equal(bench->answer.status, 503);
    assert_true(bench_says(bench, "\"code\":\"BUSY\""));
    for (int i = 0; i < 3; i++)
        sem_post(&bench->leave);
    for (int i = 0; i < 3; i++) {
        http_peer_read(&waiting[i], &answer, false);
        assert_int_equal(answer.status, 200);
        http_peer_close(&waiting[i]);
    }
    http_answer_free(&answer);
}

/* While both readers are busy it is not read; on the loop it would have been refused. */
static void a_large_document_is_read_where_nobody_waits_for_it(void **state)
{
    struct bench *bench = *state;
    struct http_peer slow[2], large;
    struct http_answer answer = {0};
    char *body = memory_new(100001);
    memset(body, ' ', 100000);
    body[100000] = '\0';
    for (int i = 0; i < 2; i++) {
        http_peer_connect(&slow[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&slow[i], "/slow", NULL);
        sem_wait(&bench->entered);
    }
    http_peer_connect(&large, server_port(bench->server, LISTENER_MAIN));
    http_peer_ask(&large, "/api/data/create", body);
    do
        assert_int_equal(bench_get(bench, "/metrics"), 200);
    while (!bench_says(bench, "tidemark_requests_waiting 3\n"));
    assert_int_equal(bench_post(bench, "/api/data/create", "not JSON"), 400);
    for (int i = 0; i < 2; i++)
        sem_post(&bench->leave);
    for (int i = 0; i < 2; i++) {
        http_peer_read(&slow[i], &answer, false);
        assert_int_equal(answer.status, 200);
        http_peer_close(&slow[i]);
    }
    http_peer_read(&large, &answer, false);
    assert_int_equal(answer.status, 400);
    http_peer_close(&large);
    http_answer_free(&answer);
    free(body);
}

static void a_query_that_takes_too_long_is_ended(void **state)
{
    struct bench *bench = *state;
    bench->options.query_us_max = 1000;
    bench_restart(bench);
    bench_reconnect(bench);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bench_get(bench, "/endless"), 503);
        assert_true(bench_says(bench, "\"code\":\"DEADLINE\""));
    }
}

static void what_one_request_allows_itself_holds_for_no_other(void **state)
{
    struct bench *bench = *state;
    bench->options.query_us_max = 1000;
    bench->options.readers = 1;
    bench_restart(bench);
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/patient"), 200);
    assert_int_equal(bench_get(bench, "/endless"), 503);
    assert_true(bench_says(bench, "\"code\":\"DEADLINE\""));
}

static void a_client_that_leaves_while_it_waits_harms_nobody(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 2; i++) {
        http_peer_ask(&bench->peer, "/slow", NULL);
        sem_wait(&bench->entered);
        bench_reconnect(bench); /* the first connection is gone */
        assert_int_equal(bench_get(bench, "/health"), 200);
        sem_post(&bench->leave);
    }
    assert_int_equal(bench_get(bench, "/api/status"), 200);
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(the_health_address_serves_health_alone),
        SERVER(the_socket_is_private_and_gone_afterwards),
        SERVER(a_dead_ones_socket_is_replaced_and_a_living_ones_is_not),
        SERVER(an_address_that_cannot_be_had_is_an_error_that_says_so),
        SERVER(a_library_that_does_not_start_leaves_nothing_open),
        SERVER(only_this_machine_is_served),
        SERVER(a_store_that_comes_back_is_read_again),
        SERVER(a_drain_answers_what_is_under_way_and_refuses_the_rest),
        SERVER(a_drain_whose_time_is_over_still_answers_everyone),
        SERVER(too_many_waiting_requests_are_told_to_come_back),
        SERVER(a_large_document_is_read_where_nobody_waits_for_it),
        SERVER(a_query_that_takes_too_long_is_ended),
        SERVER(what_one_request_allows_itself_holds_for_no_other),
        SERVER(a_client_that_leaves_while_it_waits_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
