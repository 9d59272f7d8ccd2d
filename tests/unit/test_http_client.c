/* SPDX-License-Identifier: Apache-2.0 */
#include "http_bench.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- answers ---- */

static void an_answer_comes_with_status_headers_and_body(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n"
                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Rate-Limit:  7 \r\n"
                    "Content-TYPE: text/plain\r\n\r\nhello";
    struct http_header headers[] = {{"Authorization", "Bearer x"}, {"X-Empty", ""}};
    fetch(bench, "/a?b=c", (struct http_request){.headers = headers, .header_count = 2});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 200);
    assert_string_equal(text_string(&bench->body), "hello");
    assert_string_equal(text_string(&bench->headers),
                        "|content-length: 5\r\nx-rate-limit: 7\r\ncontent-type: text/plain\r\n");
    assert_int_equal(bench->retry_after_ms, -1);
    const char *heard = text_string(&bench->heard);
    assert_non_null(strstr(heard, "GET /a?b=c HTTP/1.1\r\n"));
    assert_non_null(strstr(heard, "\r\nUser-Agent: tidemark/"));
    assert_non_null(strstr(heard, "\r\nAuthorization: Bearer x\r\n"));
    assert_non_null(strstr(heard, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(heard, "\r\nAccept-Encoding: "));
    assert_null(strstr(heard, "Cookie"));
}

static void echo_body(struct script_conn *conn, bool ended)
{
    (void)ended;
    size_t head = script_head_len(conn);
    if (head == 0 || conn->received.len < head + 8)
        return;
    script_say(conn, "HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n");
    script_send(conn, bytes_make(conn->received.data, 5));
    script_send(conn, bytes_make(conn->received.data + head, 8));
}

static void a_body_is_posted_as_it_is(void **state)
{
    struct bench *bench = *state;
    bench->script = echo_body;
    fetch(bench, "/", (struct http_request){.method = "POST", .body = bytes_make("{\"a\":\0}", 8)});
    assert_int_equal(bench->status, 201);
    assert_int_equal(bench->body.len, 13);
    assert_memory_equal(bench->body.data, "POST {\"a\":\0}", 13);
}

static void a_head_request_waits_for_no_body(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    fetch(bench, "/", (struct http_request){.method = "HEAD"});
    assert_int_equal(bench->status, 200);
    assert_int_equal(bench->body.len, 0);
}

static void an_error_status_is_an_answer(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nbad";
    fetch(bench, "/", (struct http_request){0});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 500);
    assert_string_equal(text_string(&bench->body), "bad");
}

static void retry_after_is_read_in_both_forms(void **state)
{
    static const struct {
        const char *lines;
        int64_t ms;
    } cases[] = {
        {"Retry-After: 120\r\n", 120000},
        {"Retry-After: 0\r\n", 0},
        {"Date: Tue, 01 Jul 2025 10:00:00 GMT\r\nRetry-After: Tue, 01 Jul 2025 10:01:30 GMT\r\n",
         90000},
        {"Retry-After: Tue, 01 Jul 2025 10:00:00 GMT\r\n", 0},
        {"Retry-After: soon\r\n", -1},
        {"Retry-After: 99999999999999\r\n", INT64_C(31536000000)},
        {"", -1},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text_clear(&bench->answer_text);
        text_appendf(&bench->answer_text, "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n%s\r\n",
                     cases[i].lines);
        fetch(bench, "/", (struct http_request){0});
        assert_int_equal(bench->status, 429);
        assert_int_equal(bench->retry_after_ms, cases[i].ms);
    }
}

/* One byte per turn of the loop. */
struct drip {
    struct bench *bench;
    struct script_conn *conn;
    struct timer timer;
    const char *left;
};

static void drip(void *arg)
{
    struct drip *d = arg;
    script_send(d->conn, bytes_make(d->left++, 1));
    if (*d->left != '\0')
        d->bench->runtime->ops->timer_arm(d->bench->runtime, &d->timer, 0);
}

static struct drip dripping;

static void drip_answer(struct script_conn *conn, bool ended)
{
    if (ended || script_head_len(conn) == 0)
        return;
    script_take(conn, script_head_len(conn));
    dripping.bench = conn->arg;
    dripping.conn = conn;
    dripping.timer = (struct timer){.fn = drip, .arg = &dripping};
    drip(&dripping);
}

static void slow_bytes_make_one_answer(void **state)
{
    struct bench *bench = *state;
    bench->script = drip_answer;
    dripping = (struct drip){.left = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"};
    fetch(bench, "/", (struct http_request){0});
    assert_int_equal(bench->status, 200);
    assert_string_equal(text_string(&bench->body), "abcdefg");
}

/* ---- trouble ---- */

static void a_truncated_body_is_no_answer(void **state)
{
    struct bench *bench = *state;
    bench->hang_up = true;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this";
    fetch(bench, "/", (struct http_request){0});
    assert_says(bench, RC_RETRY, "127.0.0.1: ");
    bench->answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly";
    fetch(bench, "/", (struct http_request){0});
    assert_says(bench, RC_RETRY, "127.0.0.1: ");
}

static void garbage_is_no_answer(void **state)
{
    struct bench *bench = *state;
    bench->hang_up = true;
    static const char bad_gzip[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                                   "Content-Length: 9\r\n\r\nnot gzip!";
    static const char *const answers[] = {"SSH-2.0-OpenSSH_9.2\r\n", "\x01\x02\x03\x04", "",
                                          "HTTP/1.1 banana\r\n\r\n", bad_gzip};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        bench->answer = answers[i];
        fetch(bench, "/", (struct http_request){0});
        assert_says(bench, RC_RETRY, "127.0.0.1: ");
    }
}

static void a_refused_connection_is_no_answer(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct script_server *gone = script_server_new(bench->loop, drip_answer, bench);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", script_server_port(gone));
    script_server_free(gone);
    fetch(bench, NULL, (struct http_request){.url = url});
    assert_says(bench, RC_RETRY, "onnect");
}

static void a_server_that_says_nothing_is_left_after_its_time(void **state)
{
    struct bench *bench = *state;
    fetch(bench, "/", (struct http_request){.total_ms_max = 40});
    assert_says(bench, RC_RETRY, "timed out");
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this";
    fetch(bench, "/", (struct http_request){.total_ms_max = 40});
    assert_says(bench, RC_RETRY, "timed out");
}

/* Its queue is full, so it answers no further call: the connection has a time of its own. */
static void a_host_that_takes_no_connection_is_left_after_its_time(void **state)
{
    enum { CALLERS = 4 };
    struct bench *bench = *state;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int callers[CALLERS], host = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char url[64];
    assert_int_equal(bind(host, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(host, 0), 0);
    assert_int_equal(getsockname(host, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(callers[i], (struct sockaddr *)&address, size);
    }
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", ntohs(address.sin_port));
    fetch(bench, NULL,
          (struct http_request){.url = url, .connect_ms_max = 40, .total_ms_max = 3600000});
    assert_says(bench, RC_RETRY, "onnect");
    for (int i = 0; i < CALLERS; i++)
        close(callers[i]);
    close(host);
}

static void a_body_over_the_cap_is_refused(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";
    fetch(bench, "/", (struct http_request){.body_bytes_max = 9});
    assert_says(bench, RC_REJECT, "over 9 bytes");
    fetch(bench, "/", (struct http_request){.body_bytes_max = 10});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->body.len, 10);
}

static void endless_headers_are_refused(void **state)
{
    struct bench *bench = *state;
    text_append_string(&bench->answer_text, "HTTP/1.1 200 OK\r\n");
    while (bench->answer_text.len < 80000)
        text_append_string(&bench->answer_text, "X-More: and more and more and more\r\n");
    fetch(bench, "/", (struct http_request){0});
    assert_says(bench, RC_REJECT, "headers are over");
}

static void an_unusable_request_is_told_from_a_later_turn(void **state)
{
    struct bench *bench = *state;
    static const char *const urls[] = {"",        "file:///etc/passwd", "ftp://127.0.0.1/",
                                       "http://", "http://a b/",        "gopher://127.0.0.1:70/x"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        fetch(bench, NULL, (struct http_request){.url = urls[i]});
        assert_says(bench, RC_REJECT, "address");
    }
    struct http_header header = {"X-Test", "a\r\nX-Evil: b"};
    fetch(bench, "/", (struct http_request){.headers = &header, .header_count = 1});
    assert_says(bench, RC_REJECT, "line break");
}

static void a_stranger_cannot_name_this_machine(void **state)
{
    struct bench *bench = *state;
    static const char *const urls[] = {"http://127.0.0.1/",
                                       "http://localhost/",
                                       "http://[::1]/",
                                       "http://127.1/",
                                       "http://0x7f.0.0.1/",
                                       "http://2130706433/",
                                       "http://0/",
                                       "http://[::ffff:7f00:1]/",
                                       "http://[::127.0.0.1]/",
                                       "http://LOCALHOST/",
                                       "https://169.254.169.254/",
                                       "http://[64:ff9b::a00:1]/",
                                       "http://10.0.0.1:443/x",
                                       "https://[fe80::1%25lo]:80/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        fetch(bench, NULL, (struct http_request){.url = urls[i], .stranger = true});
        assert_says(bench, RC_REJECT, "not public");
    }
    fetch(bench, "/", (struct http_request){.stranger = true});
    assert_says(bench, RC_REJECT, "is not allowed");
    fetch(bench, NULL, (struct http_request){.url = "http://a:b@127.0.0.1/", .stranger = true});
    assert_says(bench, RC_REJECT, "not a usable address");
    assert_int_equal(script_server_accepted(bench->server), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_comes_with_status_headers_and_body),
        TEST(a_body_is_posted_as_it_is),
        TEST(a_head_request_waits_for_no_body),
        TEST(an_error_status_is_an_answer),
        TEST(retry_after_is_read_in_both_forms),
        TEST(slow_bytes_make_one_answer),
        TEST(a_truncated_body_is_no_answer),
        TEST(garbage_is_no_answer),
        TEST(a_refused_connection_is_no_answer),
        TEST(a_server_that_says_nothing_is_left_after_its_time),
        TEST(a_host_that_takes_no_connection_is_left_after_its_time),
        TEST(a_body_over_the_cap_is_refused),
        TEST(endless_headers_are_refused),
        TEST(an_unusable_request_is_told_from_a_later_turn),
        TEST(a_stranger_cannot_name_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
