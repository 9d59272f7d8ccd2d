/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked over TLS: with a certificate that is trusted and one that is not, in HTTP/1.1 from
 * a script, and in HTTP/2 from nghttpd, which speaks nothing else. */
#include "h2_server.h"
#include "http_bench.h"
#include "tls_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 3000000, FILES = 100 };
enum { PATIENCE_MS = 600000 }; /* a machine with much else to do takes its time */

static void answer_over_tls(struct bench *bench, struct tls_script *tls,
                            struct http_request request)
{
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", tls_script_port(tls));
    request.url = url;
    fetch(bench, NULL, request);
}

/* A bench whose client trusts `ca_file`. */
static void trust(struct bench *bench, const char *ca_file)
{
    network_free(bench->network);
    bench->network = network_new(bench->loop, &(struct network_options){.ca_file = ca_file});
}

static void a_certificate_nobody_signed_is_refused(void **state)
{
    struct bench *bench = *state;
    struct tls_script *tls = tls_script_new();
    answer_over_tls(bench, tls, (struct http_request){0});
    assert_says(bench, RC_RETRY, "self-signed certificate");
    tls_script_free(tls);
}

static void a_trusted_certificate_gives_an_answer(void **state)
{
    struct bench *bench = *state;
    struct tls_script *tls = tls_script_new();
    trust(bench, tls_script_ca_file(tls));
    answer_over_tls(bench, tls, (struct http_request){0});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 200);
    assert_int_equal(bench->body.len, TLS_SCRIPT_BYTES);
    assert_int_equal(bench->body.data[TLS_SCRIPT_BYTES - 1], 's');
    tls_script_free(tls);
}

static void a_body_over_the_cap_is_refused_over_tls_too(void **state)
{
    struct bench *bench = *state;
    struct tls_script *tls = tls_script_new();
    trust(bench, tls_script_ca_file(tls));
    answer_over_tls(bench, tls, (struct http_request){.body_bytes_max = TLS_SCRIPT_BYTES - 1});
    assert_int_equal(bench->rc, RC_REJECT);
    tls_script_free(tls);
}

static void fetch_h2(struct bench *bench, struct h2_server *server, const char *path, size_t max)
{
    char url[128];
    snprintf(url, sizeof url, "https://127.0.0.1:%u%s", h2_server_port(server), path);
    fetch(bench, NULL,
          (struct http_request){.url = url, .body_bytes_max = max, .total_ms_max = PATIENCE_MS});
}

static void http2_gives_answers_and_refusals(void **state)
{
    struct bench *bench = *state;
    struct h2_server *server = h2_server_new(FILE_BYTES);
    trust(bench, h2_server_ca_file(server));
    fetch_h2(bench, server, "/file", FILE_BYTES);
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 200);
    assert_int_equal(bench->body.len, FILE_BYTES);
    assert_non_null(strstr(text_string(&bench->headers), "\ncontent-length: 3000000\r\n"));
    fetch_h2(bench, server, "/nothing", FILE_BYTES);
    assert_int_equal(bench->status, 404);
    fetch_h2(bench, server, "/file", FILE_BYTES - 1);
    assert_int_equal(bench->rc, RC_REJECT);
    fetch_h2(bench, server, "/file", FILE_BYTES); /* the connection outlives the refusal, or not */
    assert_int_equal(bench->body.len, FILE_BYTES);
    h2_server_free(server);
}

static void many_exchanges_at_once_are_all_answered_over_http2(void **state)
{
    struct bench *bench = *state;
    struct h2_server *server = h2_server_new(FILE_BYTES);
    char url[128];
    trust(bench, h2_server_ca_file(server));
    snprintf(url, sizeof url, "https://127.0.0.1:%u/file", h2_server_port(server));
    bench->wanted = bench->told + FILES;
    for (int i = 0; i < FILES; i++)
        ask(bench, NULL,
            (struct http_request){
                .url = url, .body_bytes_max = FILE_BYTES, .total_ms_max = PATIENCE_MS});
    loop_run(bench->loop);
    assert_int_equal(bench->told, bench->wanted);
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->body.len, FILE_BYTES);
    h2_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_certificate_nobody_signed_is_refused),
        TEST(a_trusted_certificate_gives_an_answer),
        TEST(a_body_over_the_cap_is_refused_over_tls_too),
        TEST(http2_gives_answers_and_refusals),
        TEST(many_exchanges_at_once_are_all_answered_over_http2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
