/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to addresses that strangers name. All servers of a test are on loopback, so here
 * 127.0.0.1 plays the public internet and every other address is private. */
#include "script_server.h"
#include "sys/address.h"
#include "sys/http_client.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <zstd.h>

#include <cmocka.h>

bool address_is_public(const struct sockaddr *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)address;
    return address->sa_family == AF_INET && in->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

bool address_text_is_public(const char *text)
{
    return strcmp(text, "127.0.0.1") == 0;
}

struct bench {
    struct loop *loop;
    struct http_client *client;
    struct script_server *server, *other;
    struct text answer;   /* to every path but "/end" and "/back" */
    struct text heard[2]; /* by `server` and by `other` */
    size_t requests;
    bool told;
    enum rc rc;
    int status;
    struct text body, effective_url;
    struct err err;
};

static void on_told(void *arg, const struct http_response *response)
{
    struct bench *bench = arg;
    bench->told = true;
    bench->rc = response->rc;
    bench->status = response->status;
    bench->err = response->err;
    text_clear(&bench->body);
    text_clear(&bench->effective_url);
    if (response->body.len > 0)
        text_append(&bench->body, response->body.data, response->body.len);
    text_append_string(&bench->effective_url, response->effective_url);
    loop_stop(bench->loop);
}

static void fetch_url(struct bench *bench, const char *url, struct http_request request)
{
    request.url = url;
    bench->told = false;
    http_client_send(bench->client, &request, on_told, bench);
    loop_run(bench->loop);
    assert_true(bench->told);
}

static void fetch(struct bench *bench, const char *path, struct http_request request)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", script_server_port(bench->server), path);
    fetch_url(bench, url, request);
}

static void assert_says(struct bench *bench, enum rc rc, const char *words)
{
    if (bench->rc != rc || strstr(bench->err.text, words) == NULL)
        fail_msg("%s \"%s\" is not %s \"%s\"", rc_name(bench->rc), bench->err.text, rc_name(rc),
                 words);
}

static void send_back(struct script_conn *conn, unsigned port)
{
    struct text moved = {0};
    text_appendf(&moved,
                 "HTTP/1.1 302 Moved\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:%u/end"
                 "\r\n\r\n",
                 port);
    script_send(conn, text_bytes(&moved));
    text_free(&moved);
}

static void answer(struct script_conn *conn, struct text *heard)
{
    struct bench *bench = conn->arg;
    size_t len = script_head_len(conn);
    /* Bodies of requests are "ping" in this file. */
    size_t body = script_heard(conn, "Content-Length: 4\r\n") ? 4 : 0;
    if (len == 0 || conn->received.len < len + body)
        return;
    bool end = memmem(conn->received.data, len, " /end HTTP", 10) != NULL;
    bool back = memmem(conn->received.data, len, " /back HTTP", 11) != NULL;
    bench->requests++;
    text_append(heard, conn->received.data, len + body);
    script_take(conn, len + body);
    if (end)
        script_say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nend!");
    else if (back)
        send_back(conn, script_server_port(bench->server));
    else
        script_send(conn, text_bytes(&bench->answer));
}

static void serve(struct script_conn *conn, bool ended)
{
    if (!ended)
        answer(conn, &((struct bench *)conn->arg)->heard[0]);
}

static void serve_other(struct script_conn *conn, bool ended)
{
    if (!ended)
        answer(conn, &((struct bench *)conn->arg)->heard[1]);
}

static int start(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->client = http_client_new(bench->loop, &(struct http_client_options){.any_port = true});
    bench->server = script_server_new(bench->loop, serve, bench);
    bench->other = script_server_new(bench->loop, serve_other, bench);
    *state = bench;
    return 0;
}

static int finish(void **state)
{
    struct bench *bench = *state;
    http_client_free(bench->client);
    script_server_free(bench->server);
    script_server_free(bench->other);
    loop_free(bench->loop);
    text_free(&bench->answer);
    text_free(&bench->heard[0]);
    text_free(&bench->heard[1]);
    text_free(&bench->body);
    text_free(&bench->effective_url);
    free(bench);
    return 0;
}

static void redirect_to(struct bench *bench, int status, const char *location)
{
    text_clear(&bench->answer);
    text_appendf(&bench->answer, "HTTP/1.1 %d Moved\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n",
                 status, location);
}

/* ---- redirects ---- */

static void a_redirect_is_followed_to_its_end(void **state)
{
    struct bench *bench = *state;
    redirect_to(bench, 302, "../end");
    fetch(bench, "/a/b", (struct http_request){.stranger = true, .redirects_max = 3});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 200);
    assert_string_equal(text_string(&bench->body), "end!");
    assert_non_null(strstr(text_string(&bench->effective_url), "/end"));
    assert_int_equal(bench->requests, 2);
}

static void a_redirect_to_a_private_address_is_refused(void **state)
{
    struct bench *bench = *state;
    char url[64];
    static const char *const hosts[] = {"127.0.0.2", "[::1]", "127.2", "0x7f000002"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        snprintf(url, sizeof url, "http://%s:%u/end", hosts[i], script_server_port(bench->other));
        redirect_to(bench, 302, url);
        fetch(bench, "/", (struct http_request){.stranger = true, .redirects_max = 3});
        assert_says(bench, RC_REJECT, "not public");
    }
    assert_int_equal(script_server_accepted(bench->other), 0);
}

static void a_redirect_loop_ends(void **state)
{
    struct bench *bench = *state;
    redirect_to(bench, 301, "/again");
    fetch(bench, "/", (struct http_request){.stranger = true, .redirects_max = 5});
    assert_says(bench, RC_REJECT, "over 5 redirects");
    assert_int_equal(bench->requests, 6);
}

static void a_redirect_away_from_http_is_refused(void **state)
{
    static const char *const locations[] = {"file:///etc/passwd", "ftp://127.0.0.1/",
                                            "gopher://127.0.0.1/", "http://user:pw@127.0.0.1/",
                                            "http://"};
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++) {
        redirect_to(bench, 302, locations[i]);
        fetch(bench, "/", (struct http_request){.stranger = true, .redirects_max = 3});
        assert_says(bench, RC_REJECT, "address");
    }
}

static void a_redirect_is_the_answer_where_none_is_followed(void **state)
{
    struct bench *bench = *state;
    redirect_to(bench, 302, "/end");
    fetch(bench, "/", (struct http_request){.stranger = true});
    assert_int_equal(bench->status, 302);
    fetch(bench, "/", (struct http_request){.redirects_max = 3}); /* a configured upstream */
    assert_int_equal(bench->status, 302);
    text_clear(&bench->answer);
    text_append_string(&bench->answer, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n");
    fetch(bench, "/", (struct http_request){.stranger = true, .redirects_max = 3});
    assert_int_equal(bench->status, 302); /* it names no place */
    assert_int_equal(bench->requests, 3);
}

static void a_redirect_keeps_the_method_only_where_it_must(void **state)
{
    struct bench *bench = *state;
    struct http_request post = {
        .method = "POST", .body = bytes_of("ping"), .stranger = true, .redirects_max = 1};
    redirect_to(bench, 307, "/end");
    fetch(bench, "/", post);
    assert_non_null(strstr(text_string(&bench->heard[0]), "POST /end HTTP/1.1"));
    text_clear(&bench->heard[0]);
    redirect_to(bench, 303, "/end");
    fetch(bench, "/", post);
    assert_non_null(strstr(text_string(&bench->heard[0]), "GET /end HTTP/1.1"));
    const char *second = strstr(text_string(&bench->heard[0]), "GET /end");
    assert_null(strstr(second, "ping"));
}

static void another_origin_gets_no_secrets(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct http_header headers[] = {{"X-Api-Key", "secret"}, {"Accept", "text/html"}};
    struct http_request request = {
        .headers = headers, .header_count = 2, .stranger = true, .redirects_max = 3};
    snprintf(url, sizeof url, "http://127.0.0.1:%u/end", script_server_port(bench->other));
    redirect_to(bench, 302, url);
    fetch(bench, "/", request);
    assert_string_equal(text_string(&bench->body), "end!");
    assert_non_null(strstr(text_string(&bench->heard[0]), "X-Api-Key: secret"));
    assert_null(strstr(text_string(&bench->heard[1]), "secret"));
    assert_non_null(strstr(text_string(&bench->heard[1]), "Accept: text/html"));
}

static void every_further_origin_gets_the_harmless_headers(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct http_header headers[] = {{"X-Api-Key", "secret"}, {"Accept", "text/html"}};
    struct http_request request = {
        .headers = headers, .header_count = 2, .stranger = true, .redirects_max = 3};
    snprintf(url, sizeof url, "http://127.0.0.1:%u/back", script_server_port(bench->other));
    redirect_to(bench, 302, url);
    fetch(bench, "/", request);
    assert_string_equal(text_string(&bench->body), "end!");
    const char *last = strstr(text_string(&bench->heard[0]), "GET /end");
    assert_non_null(last);
    assert_null(strstr(last, "secret"));
    assert_non_null(strstr(last, "Accept: text/html"));
}

/* ---- connections ---- */

static void a_stranger_gets_no_connection_that_was_made_for_us(void **state)
{
    struct bench *bench = *state;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.2:%u/end", script_server_port(bench->server));
    fetch(bench, "/end", (struct http_request){0});
    assert_int_equal(bench->status, 200);
    fetch(bench, "/end", (struct http_request){.stranger = true});
    assert_int_equal(bench->status, 200);
    assert_int_equal(script_server_accepted(bench->server), 2);
    fetch(bench, "/end", (struct http_request){.stranger = true});
    assert_int_equal(script_server_accepted(bench->server), 2);
    fetch_url(bench, url, (struct http_request){.stranger = true});
    assert_says(bench, RC_REJECT, "not public");
}

static void a_stranger_s_fetch_uses_no_proxy(void **state)
{
    struct bench *bench = *state;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", script_server_port(bench->other));
    setenv("http_proxy", url, 1);
    text_append_string(&bench->answer, "HTTP/1.1 203 Proxied\r\nContent-Length: 0\r\n\r\n");
    fetch(bench, "/end", (struct http_request){.stranger = true});
    assert_int_equal(bench->status, 200);
    assert_int_equal(script_server_accepted(bench->other), 0);
    fetch(bench, "/end", (struct http_request){0});
    assert_int_equal(bench->status, 203);
    assert_int_equal(script_server_accepted(bench->other), 1);
    unsetenv("http_proxy");
}

/* ---- bombs ---- */

/* A gzip stream of about `size` zeros: one literal, then "258 bytes from one back" over and over.
 * Its end is missing; nobody should get that far. */
static void put_gzip_bomb(struct text *out, size_t size)
{
    uint32_t bits = 0;
    unsigned count = 0;
    text_append(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    /* Bits go in from the lowest: last block, fixed codes; literal 0 is 00110000. */
    bits = 1u | 1u << 1 | 0x0cu << 3;
    count = 11;
    for (size_t made = 1; made < size; made += 258) {
        bits |= 0xa3u << count; /* length code 285, 11000101 from its highest bit */
        count += 8 + 5;         /* distance code 0: five zeros */
        for (; count >= 8; count -= 8, bits >>= 8)
            text_append_char(out, (char)bits);
    }
    text_append_char(out, (char)bits);
}

static void put_encoded(struct bench *bench, const char *encoding, const struct text *body)
{
    text_clear(&bench->answer);
    text_appendf(&bench->answer,
                 "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %zu\r\n\r\n", encoding,
                 body->len);
    text_append(&bench->answer, body->data, body->len);
}

static void a_gzip_bomb_is_cut_at_the_cap(void **state)
{
    struct bench *bench = *state;
    struct text bomb = {0};
    put_gzip_bomb(&bomb, 64 * 1024 * 1024);
    assert_true(bomb.len < 1024 * 1024);
    put_encoded(bench, "gzip", &bomb);
    fetch(bench, "/", (struct http_request){.body_bytes_max = 1024 * 1024});
    assert_says(bench, RC_REJECT, "over 1048576 bytes");
    fetch(bench, "/", (struct http_request){.body_bytes_max = 100, .stranger = true});
    assert_says(bench, RC_REJECT, "over 100 bytes");
    text_free(&bomb);
}

static void a_beginning_is_enough_for_whoever_asks_for_one(void **state)
{
    struct bench *bench = *state;
    struct text bomb = {0};
    put_gzip_bomb(&bomb, 64 * 1024 * 1024);
    put_encoded(bench, "gzip", &bomb);
    fetch(bench, "/", (struct http_request){.body_bytes_max = 100, .body_cut = true});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 200);
    assert_int_equal(bench->body.len, 100);
    text_free(&bomb);
}

static void a_zstd_answer_is_decoded_up_to_the_cap(void **state)
{
    struct bench *bench = *state;
    enum { SIZE = 1000000 };
    struct text packed = {0};
    char *zeros = memory_new_zeroed(1, SIZE);
    packed.len = ZSTD_compress(text_reserve(&packed, ZSTD_compressBound(SIZE)),
                               ZSTD_compressBound(SIZE), zeros, SIZE, 3);
    assert_false(ZSTD_isError(packed.len));
    put_encoded(bench, "zstd", &packed);
    fetch(bench, "/", (struct http_request){.body_bytes_max = SIZE});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->body.len, SIZE);
    fetch(bench, "/", (struct http_request){.body_bytes_max = SIZE - 1});
    assert_says(bench, RC_REJECT, "over 999999 bytes");
    text_free(&packed);
    free(zeros);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_redirect_is_followed_to_its_end),
        TEST(a_redirect_to_a_private_address_is_refused),
        TEST(a_redirect_loop_ends),
        TEST(a_redirect_away_from_http_is_refused),
        TEST(a_redirect_is_the_answer_where_none_is_followed),
        TEST(a_redirect_keeps_the_method_only_where_it_must),
        TEST(another_origin_gets_no_secrets),
        TEST(every_further_origin_gets_the_harmless_headers),
        TEST(a_stranger_gets_no_connection_that_was_made_for_us),
        TEST(a_stranger_s_fetch_uses_no_proxy),
        TEST(a_gzip_bomb_is_cut_at_the_cap),
        TEST(a_beginning_is_enough_for_whoever_asks_for_one),
        TEST(a_zstd_answer_is_decoded_up_to_the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
