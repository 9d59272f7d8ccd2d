/* SPDX-License-Identifier: Apache-2.0
 *
 * What each address answers. */
#include "server_bench.h"
#include "store/store.h"
#include "sys/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void health_gives_the_documented_keys_first(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench_get(bench, "/health"), 200);
    const char *start = "{\"status\":\"healthy\",\"websocket_connected\":true,"
                        "\"last_event_seconds_ago\":2.5,\"cursor_time_us\":1700000000000000,"
                        "\"follows_count\":150,\"backfill_queue_depth\":0,";
    assert_int_equal(strncmp(bench_body(bench), start, strlen(start)), 0);
    bench->sick = true;
    assert_int_equal(bench_get(bench, "/health"), 503);
    assert_true(bench_says(bench, "\"status\":\"degraded\""));
    assert_true(bench_says(bench, "no event for 7 minutes"));
}

static size_t count_items(struct bench *bench)
{
    size_t count = 0;
    for (const char *at = bench_body(bench); (at = strstr(at, "{\"id\":")) != NULL; at++)
        count++;
    return count;
}

/* R004-08 R004-11 R004-12 R004-13 R004-14 R004-15 R004-17 R004-18 */
static void a_query_is_opened_paged_to_its_end_and_closed(void **state)
{
    struct bench *bench = *state;
    static const size_t sizes[] = {100, 100, 100, 92, 0, 0};
    char handle[37], words[64];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_true(
        bench_says(bench, "\"totalCount\":392,\"totalCountKind\":\"exact\",\"pageSize\":100"));
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(bench_next(bench, handle), 200);
        assert_int_equal(count_items(bench), sizes[i]);
        snprintf(words, sizeof words, "\"pageNumber\":%zu,\"hasMore\":%s,\"totalCount\":392",
                 i < 4 ? i : 4, i < 3 ? "true" : "false");
        assert_true(bench_says(bench, words));
    }
    snprintf(words, sizeof words, "{\"queryHandle\":\"%s\"}", handle);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bench_post(bench, "/api/data/query-close", words), 200);
        assert_string_equal(bench_body(bench), "{\"success\":true}\n");
    }
    assert_int_equal(bench_next(bench, handle), 404);
    assert_true(bench_says(bench, "\"code\":\"HANDLE_NOT_FOUND\""));
}

/* R004-02 R004-07 */
static void a_filter_gives_exactly_the_rows_that_match(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    bench_open_query(bench,
                     "{\"collection\":\"posts\",\"pageSize\":2,\"filter\":{\"kind\":\"post\","
                     "\"rkey\":{\"$in\":[\"7\",\"13\",\"390\",\"x\"]}}}",
                     handle);
    assert_true(bench_says(bench, "\"totalCount\":3,\"totalCountKind\":\"exact\""));
    assert_int_equal(bench_next(bench, handle), 200);
    assert_int_equal(count_items(bench), 2);
    assert_true(bench_says(bench, "\"rkey\":\"390\""));
    assert_true(bench_says(bench, "\"hasMore\":true"));
    assert_int_equal(bench_next(bench, handle), 200);
    assert_int_equal(count_items(bench), 1);
    assert_true(bench_says(bench, "\"rkey\":\"7\""));
    assert_true(bench_says(bench, "\"hasMore\":false"));
    bench_open_query(bench, "{\"collection\":\"posts\",\"filter\":{}}", handle);
    assert_true(bench_says(bench, "\"totalCount\":392"));
}

static void a_query_can_be_explained(void **state)
{
    struct bench *bench = *state;
    char handle[37], body[96];
    bench_open_query(
        bench, "{\"collection\":\"posts\",\"explain\":true,\"filter\":{\"rkey\":\"7\"}}", handle);
    assert_true(bench_says(bench, "\"explain\":{\"index\":[\"sharedAt\"],\"pinned\":[]}"));
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",\"explain\":true}", handle);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 200);
    assert_int_equal(count_items(bench), 1);
    assert_true(bench_says(bench, "\"rowsScanned\":392,\"rowsReturned\":1}"));
    bench_open_query(bench,
                     "{\"collection\":\"posts\",\"explain\":true,\"filter\":{\"id\":\"7\"},"
                     "\"orderBy\":[{\"field\":\"id\"}]}",
                     handle);
    assert_true(bench_says(bench, "\"explain\":{\"index\":[\"id\"],\"pinned\":[\"id\"]}"));
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",\"explain\":true}", handle);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 200);
    assert_true(bench_says(bench, "\"rowsScanned\":1,\"rowsReturned\":1}"));
    bench_open_query(bench,
                     "{\"collection\":\"posts\",\"explain\":true,\"allowScan\":true,"
                     "\"orderBy\":[{\"field\":\"text\"}]}",
                     handle);
    assert_true(bench_says(bench, "\"explain\":{\"index\":null}"));
    assert_int_equal(bench_next(bench, handle), 200);
    assert_false(bench_says(bench, "explain"));
}

/* R004-20 R004-33 */
static void nothing_a_client_sends_along_changes_its_query(void **state)
{
    struct bench *bench = *state;
    static const char along[] =
        "\"collection\":\"gaps\",\"filter\":{\"kind\":\"repost\"},\"orderBy\":[{\"field\":\"id\"}],"
        "\"queryId\":\"x\",\"totalCount\":1,\"hasMore\":false,\"currentPage\":3,\"currentCursor\":"
        "7,"
        "\"seq\":0,\"session\":\"0\"";
    char plain[37], laden[37], body[512];
    struct text before = {0};
    bench_open_query(bench, "{\"collection\":\"posts\"}", plain);
    bench_open_query(bench, "{\"collection\":\"posts\"}", laden);
    for (int page = 0; page < 4; page++) {
        assert_int_equal(bench_next(bench, plain), 200);
        text_clear(&before);
        text_append(&before, bench->answer.body.data, bench->answer.body.len);
        snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",%s}", laden, along);
        assert_int_equal(bench_post(bench, "/api/data/query-next", body), 200);
        assert_string_equal(bench_body(bench), text_string(&before));
    }
    text_free(&before);
}

static void a_handle_is_a_uuid_and_tells_no_place(void **state) /* R004-06 */
{
    struct bench *bench = *state;
    char handle[37], body[128];
    bench_open_query(bench, "{\"collection\":\"posts\",\"around\":\"200\"}", handle);
    for (int i = 0; i < 36; i++)
        assert_true(i == 8 || i == 13 || i == 18 || i == 23
                        ? handle[i] == '-'
                        : strchr("0123456789abcdef", handle[i]) != NULL);
    assert_int_equal(handle[14], '4');
    assert_non_null(strchr("89ab", handle[19]));
    assert_false(bench_says(bench, "sharedAt"));
    assert_false(bench_says(bench, "1970-01-01"));
    assert_int_equal(bench_next(bench, handle), 200);
    assert_true(bench_says(bench, "{\"id\":\"200\",")); /* in its page, and nowhere else */
    const char *items_end = strrchr(bench_body(bench), ']');
    assert_non_null(items_end);
    assert_null(strstr(items_end, "1970"));
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",\"page\":9}", handle);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 409);
    assert_false(bench_says(bench, "1970"));
}

static void a_lost_reply_is_asked_for_again(void **state) /* R004-16 */
{
    struct bench *bench = *state;
    char handle[37], body[128];
    struct text before = {0};
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_int_equal(bench_next(bench, handle), 200);
    assert_int_equal(bench_next(bench, handle), 200);
    text_append(&before, bench->answer.body.data, bench->answer.body.len);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",\"page\":1}", handle);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 200);
    assert_string_equal(bench_body(bench), text_string(&before));
    text_free(&before);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",\"page\":0}", handle);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 409);
    assert_true(bench_says(bench, "\"code\":\"CONFLICT\""));
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\",\"page\":2}", handle);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 200);
}

/* R004-01 R004-03 R004-04 R004-05 R004-09 R004-33 */
static void a_wrong_command_is_refused_with_its_code_and_status(void **state)
{
#define OPEN(members) "/api/data/query-open", "{\"collection\":\"posts\"" members "}"
    static const struct {
        const char *path, *body;
        int status;
        const char *code;
    } cases[] = {
        {"/api/data/query-open", "", 400, "BAD_REQUEST"},
        {"/api/data/query-open", "[]", 400, "BAD_REQUEST"},
        {"/api/data/query-open", "{\"collection\":", 400, "BAD_REQUEST"},
        {"/api/data/query-open", "{}", 400, "BAD_REQUEST"},
        {"/api/data/query-open", "{\"collection\":7}", 400, "BAD_REQUEST"},
        {"/api/data/query-open", "{\"collection\":\"nope\"}", 404, "UNKNOWN_COLLECTION"},
        {OPEN(",\"pageSize\":0"), 400, "LIMIT_RANGE"},
        {OPEN(",\"pageSize\":-1"), 400, "LIMIT_RANGE"},
        {OPEN(",\"pageSize\":1000000000"), 400, "LIMIT_RANGE"},
        {OPEN(",\"pageSize\":18446744073709551615"), 400, "LIMIT_RANGE"},
        {OPEN(",\"pageSize\":\"7\""), 400, "BAD_REQUEST"},
        {OPEN(",\"count\":\"some\""), 400, "BAD_REQUEST"},
        {OPEN(",\"explain\":1"), 400, "BAD_REQUEST"},
        {OPEN(",\"allowScan\":\"yes\""), 400, "BAD_REQUEST"},
        {OPEN(",\"filter\":{\"kind\":7}"), 400, "BAD_FILTER"},
        {OPEN(",\"filter\":{\"kind\":{\"$like\":\"p\"}}"), 400, "UNKNOWN_OPERATOR"},
        {OPEN(",\"filter\":{\"sort\":\"p\"}"), 400, "UNKNOWN_FIELD"},
        {OPEN(",\"orderBy\":[{\"field\":\"nope\"}]"), 400, "UNKNOWN_FIELD"},
        {OPEN(",\"orderBy\":[{\"field\":\"id\",\"direction\":\"up\"}]"), 400, "BAD_ORDER"},
        {OPEN(",\"orderBy\":[{\"field\":\"text\"}]"), 400, "NO_INDEX"},
        {"/api/data/query-next", "{}", 400, "BAD_REQUEST"},
        {"/api/data/query-next", "{\"queryHandle\":\"x\"}", 404, "HANDLE_NOT_FOUND"},
        {"/api/data/query-next", "{\"queryHandle\":\"' OR 1=1 --\"}", 404, "HANDLE_NOT_FOUND"},
        {"/api/data/query-next", "{\"queryHandle\":\"x\",\"page\":-1}", 404, "HANDLE_NOT_FOUND"},
        {"/api/data/query-next", "{\"queryHandle\":\"x\",\"page\":1.5}", 400, "BAD_REQUEST"},
        {"/api/data/query-next", "{\"queryHandle\":\"x\",\"pageSize\":1001}", 400, "LIMIT_RANGE"},
        {"/api/data/query-prev", "{\"queryHandle\":\"x\"}", 404, "HANDLE_NOT_FOUND"},
        {"/api/data/query-next", "{\"queryHandle\":\"00000000-0000-4000-8000-000000000000\"}", 404,
         "HANDLE_NOT_FOUND"},
        {OPEN(",\"around\":\"1\""), 404, "NOT_FOUND"},
        {OPEN(",\"around\":[]"), 400, "BAD_REQUEST"},
        {"/api/data/query-next", "{\"queryHandle\":\"x\",\"page\":\"0\"}", 400, "BAD_REQUEST"},
        {"/api/data/query-close", "{\"queryHandle\":7}", 400, "BAD_REQUEST"},
    };
    struct bench *bench = *state;
    char words[96];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = bench_post(bench, cases[i].path, cases[i].body);
        snprintf(words, sizeof words, "{\"success\":false,\"code\":\"%s\",\"error\":\"",
                 cases[i].code);
        if (status != cases[i].status || !bench_says(bench, words))
            fail_msg("%s %s: %d %s", cases[i].path, cases[i].body, status, bench_body(bench));
        assert_false(bench_says(bench, "queryHandle\":\""));
    }
    assert_int_equal(
        bench_post(bench, OPEN(",\"orderBy\":[{\"field\":\"text\"}],\"allowScan\":true")), 200);
    assert_false(bench_says(bench, "\"error\""));
    assert_int_equal(bench_post(bench, OPEN(",\"pageSize\":7,\"count\":\"none\"")), 200);
    assert_true(
        bench_says(bench, "\"totalCount\":null,\"totalCountKind\":\"none\",\"pageSize\":7,"));
}

static int post_as(struct bench *bench, const char *session, const char *path, const char *body)
{
    struct text out = {0};
    text_appendf(
        &out,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nTidemark-Session: %s\r\nContent-Length: %zu\r\n"
        "\r\n%s",
        path, session, strlen(body), body);
    int status = bench_say(bench, text_string(&out));
    text_free(&out);
    return status;
}

static void a_handle_belongs_to_its_session(void **state) /* R004-28 */
{
    struct bench *bench = *state;
    static const char a[] = "000102030405060708090a0b0c0d0e0f",
                      b[] = "10010203-0405-0607-0809-0a0b0c0d0e0f";
    char handle[37], body[128];
    assert_int_equal(post_as(bench, a, OPEN("")), 200);
    bench_take_handle(bench, handle);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"}", handle);
    assert_int_equal(post_as(bench, b, "/api/data/query-next", body), 403);
    assert_true(bench_says(bench, "\"code\":\"FORBIDDEN\""));
    assert_int_equal(post_as(bench, b, "/api/data/query-close", body), 403);
    assert_int_equal(bench_post(bench, "/api/data/query-next", body), 403);
    assert_int_equal(post_as(bench, a, "/api/data/query-next", body), 200);
    assert_int_equal(post_as(bench, "nonsense", "/api/data/query-next", body), 400);
}

/* R004-16 R004-29. Both readers are kept busy, so that the page has to wait. */
static void a_next_during_a_next_is_refused_and_a_close_ends_it(void **state)
{
    struct bench *bench = *state;
    struct http_peer busy[2], next[2];
    struct http_answer answers[2] = {0};
    char handle[37], body[128];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"}", handle);
    for (int i = 0; i < 2; i++) {
        http_peer_connect(&busy[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&busy[i], "/slow", NULL);
        sem_wait(&bench->entered);
        http_peer_connect(&next[i], server_port(bench->server, LISTENER_MAIN));
    }
    http_peer_ask(&next[0], "/api/data/query-next", body);
    http_peer_ask(&next[1], "/api/data/query-next", body);
    /* Whichever came second is answered at once. */
    int second = 0;
    while (recv(next[second].fd, body, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
        second = 1 - second;
    http_peer_read(&next[second], &answers[second], false);
    assert_int_equal(answers[second].status, 409);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"}", handle);
    http_peer_ask(&next[second], "/api/data/query-close", body);
    while (bench_next(bench, handle) == 409) /* until the close has come */
        ;
    assert_int_equal(bench->answer.status, 404);
    for (int i = 0; i < 2; i++)
        sem_post(&bench->leave);
    http_peer_read(&next[second], &answers[second], false);
    assert_int_equal(answers[second].status, 200);
    http_peer_read(&next[1 - second], &answers[1 - second], false);
    assert_int_equal(answers[1 - second].status, 404);
    assert_int_equal(bench_next(bench, handle), 404);
    for (int i = 0; i < 2; i++) {
        http_peer_close(&busy[i]);
        http_peer_close(&next[i]);
        http_answer_free(&answers[i]);
    }
}

/* R004-42: whoever looks for a page that went wrong sees where it began, but nobody's data. */
static void a_cursor_that_is_applied_is_logged_without_its_values(void **state)
{
    struct bench *bench = *state;
    char path[] = "/tmp/tidemark-server-XXXXXX", words[8192] = "", handle[37], wanted[160];
    close(mkstemp(path));
    assert_int_equal(log_open(&(struct log_options){.level = LOG_DEBUG, .file = path}, &bench->err),
                     RC_OK);
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_int_equal(bench_next(bench, handle), 200); /* begins where everything does */
    assert_int_equal(bench_next(bench, handle), 200);
    log_close();
    FILE *file = fopen(path, "r");
    assert_true(fread(words, 1, sizeof words - 1, file) > 0);
    fclose(file);
    unlink(path);
    snprintf(wanted, sizeof wanted,
             "handle=%s page=1 collection=posts fields=sharedAt,n msg=cursor_applied", handle);
    const char *line = strstr(words, wanted);
    assert_non_null(line);
    assert_null(strstr(words, "page=0"));
}

static void status_shows_every_source(void **state)
{
    struct bench *bench = *state;
    struct store *store;
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err), RC_OK);
    assert_int_equal(
        store->ops->script(
            store,
            "INSERT INTO cursors VALUES ('jetstream', 'live', '{\"x\":1}', 5, 1000, 1), "
            "('jetstream', 'more', '{}', NULL, 0, 1);"
            "INSERT INTO gaps VALUES (1, 'jetstream', 'live', 1, 2, 'why', 3, NULL, 1), "
            "(2, 'jetstream', 'live', 2, 3, 'why', 3, 4, 1);"
            "INSERT INTO owed (id, source, stream, item, state, since_us, seq) VALUES "
            "(4, 'content', 't', 'a', 'owed', 1, 1), (5, 'content', 't', 'b', 'dead', 1, 1)",
            &bench->err),
        RC_OK);
    store_close(store);
    assert_int_equal(bench_get(bench, "/api/status"), 200);
    static const char *const expected[] = {
        "\"sources\":[{\"source\":\"content\",",
        "\"gaps\":0,\"owed\":1,\"dead\":1,\"quarantine\":0,\"streams\":[],\"more_streams\":0},"
        "{\"source\":\"jetstream\",",
        "\"gaps\":1,\"owed\":0,\"dead\":0,\"quarantine\":0,\"streams\":["
        "{\"stream\":\"live\",\"position\":5,\"updated_at\":\"1970-01-01T00:00:00.001Z\","
        "\"cursor\":{\"x\":1},\"covered\":[],\"missing\":[]},"
        "{\"stream\":\"more\",\"position\":null,",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_non_null(strstr(bench_body(bench), expected[i]));
}

int main(void)
{
#define SERVER(test)     cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
#define WITH_POSTS(test) cmocka_unit_test_setup_teardown(test, bench_set_up_392, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(health_gives_the_documented_keys_first),
        WITH_POSTS(a_query_is_opened_paged_to_its_end_and_closed),
        WITH_POSTS(a_filter_gives_exactly_the_rows_that_match),
        WITH_POSTS(a_query_can_be_explained),
        WITH_POSTS(nothing_a_client_sends_along_changes_its_query),
        WITH_POSTS(a_handle_is_a_uuid_and_tells_no_place),
        WITH_POSTS(a_lost_reply_is_asked_for_again),
        SERVER(a_wrong_command_is_refused_with_its_code_and_status),
        SERVER(a_handle_belongs_to_its_session),
        SERVER(a_next_during_a_next_is_refused_and_a_close_ends_it),
        WITH_POSTS(a_cursor_that_is_applied_is_logged_without_its_values),
        SERVER(status_shows_every_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
