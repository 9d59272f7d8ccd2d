/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                       \
    "version: 1\nprovider: demo\nplatforms: {demo: {}}\nidentifier: text\n"                        \
    "base_url: https://demo.example\nstreams:\n  all:\n    request: {path: /x}\n"                  \
    "    resume: {kind: none}\n"

struct desk {
    struct connector *connector;
    const struct connector_stream *stream;
    struct connector_vars vars;
    struct connector_page page;
    struct json_doc *doc;
    struct json root;
    struct ledger_row row;
    struct err err;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    connector_page_init(&desk->page);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    connector_free(desk->connector);
    connector_page_deinit(&desk->page);
    json_doc_free(desk->doc);
    free(desk);
    return 0;
}

static void load(struct desk *desk, const char *stream)
{
    struct text yaml = {0};
    text_appendf(&yaml, "%s%s", HEAD, stream);
    connector_free(desk->connector);
    desk->connector = NULL;
    if (connector_load(text_bytes(&yaml), "t", &desk->connector, &desk->err) != RC_OK)
        fail_msg("%s", desk->err.text);
    text_free(&yaml);
    desk->stream = &desk->connector->streams[0];
    desk->vars = connector_vars_first(desk->stream, bytes_of("demo"), bytes_of("Me"));
}

static struct json parse(struct desk *desk, const char *json)
{
    assert_int_equal(json_parse_copy(desk->doc, bytes_of(json), &desk->root, &desk->err), RC_OK);
    return desk->root;
}

static enum rc open_page(struct desk *desk, const char *json)
{
    return connector_page_open(&desk->page, desk->connector, desk->stream, &desk->vars,
                               parse(desk, json), &desk->err);
}

static enum rc next(struct desk *desk)
{
    return connector_page_next(&desk->page, &desk->row, &desk->err);
}

static enum connector_verdict judge(struct desk *desk, int status, const char *headers,
                                    const char *json)
{
    struct connector_answer answer = {status, bytes_of(headers), {0}};
    if (json != NULL)
        answer.root = parse(desk, json);
    return connector_judge(desk->connector, desk->stream, &desk->vars, &answer, &desk->err).verdict;
}

#define SIMPLE "    records: {at: /r}\n    map: {hash: /h}\n    identity: {of: [hash]}\n"

static void an_answer_without_a_rule_is_judged_by_its_status(void **state)
{
    static const struct {
        int status;
        enum connector_verdict verdict;
    } rows[] = {{200, VERDICT_OK},           {204, VERDICT_OK},    {301, VERDICT_FATAL},
                {400, VERDICT_FATAL},        {401, VERDICT_AUTH},  {403, VERDICT_AUTH},
                {404, VERDICT_FATAL},        {408, VERDICT_RETRY}, {425, VERDICT_RETRY},
                {429, VERDICT_RATE_LIMITED}, {500, VERDICT_RETRY}, {503, VERDICT_RETRY}};
    struct desk *desk = *state;
    load(desk, SIMPLE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(judge(desk, rows[i].status, "", "{}"), rows[i].verdict);
    assert_int_equal(judge(desk, 200, "", NULL), VERDICT_RETRY);
    assert_string_equal(desk->err.text, "HTTP 200, but the body is no JSON");
}

/* Redirects are not followed: whoever wrote the connector learns where it leads. */
static void a_redirect_says_where_it_leads(void **state)
{
    struct desk *desk = *state;
    load(desk, SIMPLE);
    assert_int_equal(judge(desk, 301, "location: https://new.example/x?key=1\r\n", "{}"),
                     VERDICT_FATAL);
    assert_string_equal(desk->err.text, "HTTP 301, to https://new.example: redirects are not "
                                        "followed; put that address into the connector");
    assert_int_equal(judge(desk, 308, "", "{}"), VERDICT_FATAL);
    assert_string_equal(desk->err.text, "HTTP 308");
    assert_int_equal(judge(desk, 404, "location: https://new.example/\r\n", "{}"), VERDICT_FATAL);
    assert_string_equal(desk->err.text, "HTTP 404");
}

static void the_first_rule_that_matches_counts(void **state)
{
    struct desk *desk = *state;
    load(desk, SIMPLE "    responses:\n"
                      "    - {when: {status: [200, 403], at: /e/0, contains: \"Rate LIMIT\"}, do: "
                      "rate_limited, wait_seconds: 7}\n"
                      "    - {when: {header: x-left, is: \"0\"}, do: rate_limited}\n"
                      "    - {when: {at: /code, not_in: [\"0\", \"\"]}, do: fatal}\n"
                      "    - {when: {at: /gone, exists: true}, do: restart}\n"
                      "    - {when: {status: 404}, do: empty}\n");
    assert_int_equal(judge(desk, 200, "", "{\"e\":[\"a rate limit of 5\"]}"), VERDICT_RATE_LIMITED);
    assert_string_equal(desk->err.text, "HTTP 200, \"a rate limit of 5\" (rate_limited)");
    assert_int_equal(judge(desk, 500, "", "{\"e\":[\"rate limit\"]}"), VERDICT_RETRY);
    assert_int_equal(judge(desk, 403, "date: x\r\nX-Left:  0 \r\n", "{}"), VERDICT_RATE_LIMITED);
    assert_int_equal(judge(desk, 403, "x-left: 10\r\n", "{}"), VERDICT_AUTH);
    assert_int_equal(judge(desk, 200, "", "{\"code\":7,\"gone\":1}"), VERDICT_FATAL);
    assert_int_equal(judge(desk, 200, "", "{\"code\":0,\"gone\":{}}"), VERDICT_RESTART);
    assert_int_equal(judge(desk, 200, "", "{\"gone\":null}"), VERDICT_OK);
    assert_int_equal(judge(desk, 404, "", NULL), VERDICT_EMPTY);
}

static void a_rule_for_all_other_troubles_gives_way_to_a_status_that_names_one(void **state)
{
    struct desk *desk = *state;
    load(desk, SIMPLE "    responses:\n"
                      "    - {when: {status: 502, at: /e, exists: true}, do: next_provider}\n"
                      "    - {when: {at: /e, exists: true}, do: next_provider}\n");
    assert_int_equal(judge(desk, 401, "", "{\"e\":\"bad key\"}"), VERDICT_AUTH);
    assert_string_equal(desk->err.text, "HTTP 401, \"bad key\" (auth)");
    assert_int_equal(judge(desk, 403, "", "{\"e\":1}"), VERDICT_AUTH);
    assert_int_equal(judge(desk, 429, "", "{\"e\":1}"), VERDICT_RATE_LIMITED);
    assert_int_equal(judge(desk, 500, "", "{\"e\":1}"), VERDICT_RETRY);
    assert_int_equal(judge(desk, 502, "", "{\"e\":1}"), VERDICT_NEXT_PROVIDER);
    assert_int_equal(judge(desk, 404, "", "{\"e\":1}"), VERDICT_NEXT_PROVIDER);
    assert_int_equal(judge(desk, 200, "", "{\"e\":1}"), VERDICT_NEXT_PROVIDER);
}

static void a_page_of_another_shape_is_refused(void **state)
{
    struct desk *desk = *state;
    load(desk, SIMPLE);
    assert_int_equal(open_page(desk, "{\"r\":\"Max rate limit reached\"}"), RC_REJECT);
    assert_string_equal(desk->err.text, "the answer has no list of records at \"/r\"");
    assert_int_equal(open_page(desk, "{\"r\":null}"), RC_REJECT);
    assert_int_equal(open_page(desk, "{\"r\":{}}"), RC_REJECT);
    assert_int_equal(open_page(desk, "{\"r\":[]}"), RC_OK);
    assert_int_equal(next(desk), RC_AGAIN);
}

/* I7: whatever a record is, it is a row, passed over or refused, and the page goes on. */
static void no_record_is_lost(void **state)
{
    struct desk *desk = *state;
    load(desk, "    records: {at: \"\", each: /parts}\n"
               "    where: {all: [{at: /kind, in: [a, b]}], any: [{at: ^/who, is: $account}, {at: "
               "/to, cast: lower, is: $account}]}\n"
               "    map: {hash: ^/h, to: /to}\n    identity: {of: [hash, to]}\n");
    assert_int_equal(
        open_page(desk,
                  "[{\"h\":\"1\",\"who\":\"Me\",\"parts\":[{\"kind\":\"a\"},{\"kind\":\"c\"}]},"
                  "{\"h\":\"2\"},{\"h\":\"3\",\"parts\":{}},7,"
                  "{\"parts\":[{\"kind\":\"b\",\"to\":\"ME\"}]},"
                  "{\"h\":\"6\",\"who\":\"me\",\"parts\":[{\"kind\":\"a\",\"to\":\"mE\"}]}]"),
        RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.hash, "1"));
    assert_int_equal(next(desk), RC_REJECT);
    assert_string_equal(desk->err.text, "the record has no list at \"/parts\"");
    assert_true(bytes_equal_string(desk->row.raw, "{\"h\":\"3\",\"parts\":{}}"));
    assert_int_equal(next(desk), RC_REJECT);
    assert_string_equal(desk->err.text, "hash (^/h) is missing");
    assert_true(bytes_equal_string(desk->row.raw, "{\"kind\":\"b\",\"to\":\"ME\"}"));
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.hash, "6"));
    assert_int_equal(next(desk), RC_AGAIN);
    assert_int_equal(desk->page.record_count, 6);
    assert_int_equal(desk->page.row_count, 2);
    assert_int_equal(desk->page.refused, 2);
    assert_int_equal(desk->page.passed, 3);
}

/* A page is short by what the source sent, not by what became of it. */
static void a_full_page_of_others_records_is_not_the_last(void **state)
{
    struct desk *desk = *state;
    struct connector_answer answer = {.status = 200};
    load(desk, "    page: {by: offset, size: 2, stop: [short_page]}\n"
               "    records: {at: \"\"}\n    where: {at: /mine, is: \"true\"}\n"
               "    map: {hash: /h, block: /b}\n    identity: {of: [hash]}\n");
    assert_int_equal(open_page(desk, "[{\"h\":1,\"b\":-7,\"mine\":true},{\"h\":2}]"), RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_int_equal(desk->row.block, -1);
    assert_string_equal(desk->row.status, "pending");
    assert_int_equal(next(desk), RC_AGAIN);
    assert_int_equal(desk->page.row_count, 1);
    assert_false(connector_page_last(&desk->page, &answer));
    assert_int_equal(open_page(desk, "[{\"h\":1,\"b\":3,\"mine\":true}]"), RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_int_equal(next(desk), RC_AGAIN);
    assert_true(connector_page_last(&desk->page, &answer));
}

/* Nothing at all is another shape, and where positions are times there must be one. */
static void a_time_that_is_null_is_unknown(void **state)
{
    struct desk *desk = *state;
    load(desk, "    records: {at: \"\"}\n    map: {hash: /h, block: /b, time: {at: /t, cast: "
               "unix_s}}\n    identity: {of: [hash]}\n");
    const char *page = "[{\"h\":\"1\",\"b\":7,\"t\":null},{\"h\":\"2\",\"b\":7}]";
    assert_int_equal(open_page(desk, page), RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_int_equal(desk->row.block, 7);
    assert_int_equal(desk->row.time_us, -1);
    assert_int_equal(next(desk), RC_REJECT);
    assert_string_equal(desk->err.text, "time (/t) is missing");
    struct connector_stream timed = *desk->stream;
    timed.resume.kind = RESUME_TIMESTAMP;
    desk->stream = &timed;
    assert_int_equal(open_page(desk, page), RC_OK);
    assert_int_equal(next(desk), RC_REJECT);
    assert_int_equal(next(desk), RC_REJECT);
}

static void the_key_of_an_entry_belongs_to_the_entry(void **state)
{
    struct desk *desk = *state;
    load(desk, "    records: {at: \"\", shape: entries, key_as: id, each: /p}\n"
               "    map: {hash: ^/id, id: /id, to: ^/n}\n    identity: {of: [hash, id]}\n");
    assert_int_equal(open_page(desk, "{\"k\":{\"n\":\"x\",\"p\":[{\"id\":\"own\"},{}]}}"), RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.hash, "k"));
    assert_true(bytes_equal_string(desk->row.id, "own"));
    assert_true(bytes_equal_string(desk->row.to, "x"));
    assert_int_equal(next(desk), RC_REJECT);
    assert_string_equal(desk->err.text, "id (/id) is missing");
    assert_int_equal(next(desk), RC_AGAIN);
}

static void a_field_that_is_too_long_is_refused(void **state)
{
    struct desk *desk = *state;
    struct text json = {0};
    load(desk, SIMPLE);
    text_append_string(&json, "{\"r\":[{\"h\":\"");
    for (unsigned i = 0; i <= LEDGER_FIELD_BYTES_MAX; i++)
        text_append_char(&json, 'x');
    text_append_string(&json, "\"}]}");
    assert_int_equal(open_page(desk, text_string(&json)), RC_OK);
    assert_int_equal(next(desk), RC_REJECT);
    text_free(&json);
}

static void an_amount_can_be_reckoned(void **state)
{
    struct desk *desk = *state;
    load(desk, "    records: {at: \"\"}\n"
               "    map: {hash: /h, amount: {sum: [{each: /out, at: /v, where: {at: /to, is: "
               "$account}}, {each: /more, at: /v}], less: [{each: /in, at: /v}], unit: gwei}, fee: "
               "{times: [/gas, /price]}}\n"
               "    identity: {of: [hash]}\n");
    assert_int_equal(open_page(desk,
                               "[{\"h\":\"1\",\"out\":[{\"v\":\"2.5\",\"to\":\"Me\"},{\"v\":9}],"
                               "\"in\":[{\"v\":\"3\"},{}],\"gas\":\"21000\",\"price\":7},"
                               "{\"h\":\"2\",\"gas\":1},"
                               "{\"h\":\"3\",\"more\":[{\"v\":\"x\"}]}]"),
                     RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.amount, "-500000000"));
    assert_true(bytes_equal_string(desk->row.fee, "147000"));
    assert_int_equal(next(desk), RC_OK);
    assert_null(desk->row.amount.data);
    assert_null(desk->row.fee.data);
    assert_int_equal(next(desk), RC_REJECT);
    assert_string_equal(desk->err.text, "amount (/out) has a part that is no number");
    assert_int_equal(next(desk), RC_AGAIN);
}

static void a_condition_can_be_about_what_is_lacking(void **state)
{
    struct desk *desk = *state;
    load(desk, "    records: {at: \"\"}\n    where: {at: /n, lacks: \"-\"}\n"
               "    map: {hash: /h}\n    identity: {of: [hash]}\n");
    assert_int_equal(
        open_page(desk, "[{\"h\":\"1\",\"n\":12},{\"h\":\"2\",\"n\":-1},{\"h\":\"3\"}]"), RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.hash, "1"));
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.hash, "3"));
    assert_int_equal(next(desk), RC_AGAIN);
    assert_int_equal(desk->page.passed, 1);
}

/* What a node says of a wallet's transaction: what it moved, and the fee beside it. */
static void places_of_the_record_itself_are_added(void **state)
{
    struct desk *desk = *state;
    load(desk, "    records: {at: \"\"}\n"
               "    map: {hash: /h, amount: {sum: [{at: /v}, {at: /fee}], unit: btc}}\n"
               "    identity: {of: [hash]}\n");
    assert_int_equal(open_page(desk, "[{\"h\":\"1\",\"v\":-1.5,\"fee\":-0.00002820},"
                                     "{\"h\":\"2\",\"v\":0.1},{\"h\":\"3\"},"
                                     "{\"h\":\"4\",\"v\":\"x\"}]"),
                     RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.amount, "-150002820"));
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.amount, "10000000"));
    assert_int_equal(next(desk), RC_OK);
    assert_null(desk->row.amount.data);
    assert_int_equal(next(desk), RC_REJECT);
    assert_string_equal(desk->err.text, "amount (/v) has a part that is no number");
}

static void a_list_is_added_up_however_long(void **state)
{
    struct desk *desk = *state;
    struct text json = {0};
    load(desk, "    records: {at: \"\"}\n"
               "    map: {hash: /h, amount: {sum: [{each: /out, at: /v}]}}\n"
               "    identity: {of: [hash]}\n");
    text_append_string(&json, "[{\"h\":\"1\",\"out\":[{\"v\":1}");
    for (unsigned i = 1; i < 3000; i++)
        text_append_string(&json, ",{\"v\":100000001}");
    text_append_string(&json, "]}]");
    assert_int_equal(open_page(desk, text_string(&json)), RC_OK);
    assert_int_equal(next(desk), RC_OK);
    assert_true(bytes_equal_string(desk->row.amount, "299900003000"));
    text_free(&json);
}

static void a_detail_goes_under_its_record(void **state)
{
    struct desk *desk = *state;
    struct text merged = {0};
    load(desk, SIMPLE "    detail: {request: {path: /t/$key}, at: /result, for_each: /h, absent: "
                      "owed}\n");
    parse(desk, "[{\"h\":\"a b\",\"n\":1},{},{\"result\":{\"fee\":5}},{\"result\":null}]");
    struct json record = json_at(desk->root, 0);
    assert_true(bytes_equal_string(connector_detail_key(desk->stream, record), "a b"));
    assert_null(connector_detail_key(desk->stream, json_at(desk->root, 1)).data);
    assert_true(connector_detail_merge(desk->stream, record, json_at(desk->root, 2), &merged));
    assert_string_equal(text_string(&merged), "{\"h\":\"a b\",\"n\":1,\"detail\":{\"fee\":5}}");
    assert_false(connector_detail_merge(desk->stream, record, json_at(desk->root, 3), &merged));
    text_clear(&merged);
    assert_true(connector_detail_merge(desk->stream, json_at(desk->root, 1), json_at(desk->root, 2),
                                       &merged));
    assert_string_equal(text_string(&merged), "{\"detail\":{\"fee\":5}}");
    assert_int_equal(desk->stream->detail.absent, MISSING_OWED);
    text_free(&merged);
}

/* Numbers that a reader would round, or refuse the whole body for, keep their digits. */
static void no_digit_of_a_body_is_lost(void **state)
{
    static const struct {
        const char *body, *parsed;
    } rows[] = {
        {"{\"a\":100000000000000000000}", "{\"a\":\"100000000000000000000\"}"},
        {"[0.12345678901234567,-1.5,1e3]", "[\"0.12345678901234567\",-1.5,1000.0]"},
        {"[-123456789012345678901234567890, 7]", "[\"-123456789012345678901234567890\",7]"},
        {"[1234567890.123456789e-3]", "[\"1234567890.123456789e-3\"]"},
        {"{\"12345678901234567890123\":\"1 \\\" 12345678901234567890123\"}",
         "{\"12345678901234567890123\":\"1 \\\" 12345678901234567890123\"}"},
        {"[9223372036854775807,0.5]", "[9223372036854775807,0.5]"},
        {"[0012345678901234567890123]", NULL},
        {"[12345678901234567890123.]", NULL},
        {"[12345678901234567890123e]", NULL},
        {"[123456789012345678901234 5]", NULL},
        {"\"12345678901234567890123", NULL},
    };
    struct desk *desk = *state;
    struct text body = {0}, scratch = {0}, printed = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text_clear(&body);
        text_append_string(&body, rows[i].body);
        text_reserve(&body, ARENA_PAD);
        enum rc rc =
            connector_parse(desk->doc, text_bytes(&body), &scratch, &desk->root, &desk->err);
        assert_int_equal(rc, rows[i].parsed == NULL ? RC_REJECT : RC_OK);
        text_clear(&printed);
        if (rc == RC_OK) {
            json_print(desk->root, &printed);
            assert_string_equal(text_string(&printed), rows[i].parsed);
        }
    }
    text_free(&body);
    text_free(&scratch);
    text_free(&printed);
}

static void figures_are_numbers_or_nothing(void **state)
{
    struct desk *desk = *state;
    int64_t number = 0;
    load(desk,
         SIMPLE "    count: {at: /n}\n    head: {request: {path: /h}, at: /hex, cast: hex}\n");
    parse(desk, "{\"n\":\"12\",\"hex\":\"0x10\"}");
    assert_true(connector_figure_read(&desk->stream->count, desk->root, &number));
    assert_int_equal(number, 12);
    assert_true(connector_figure_read(&desk->stream->head, desk->root, &number));
    assert_int_equal(number, 16);
    assert_false(connector_figure_read(&desk->stream->count, parse(desk, "{\"n\":-1}"), &number));
    assert_false(connector_figure_read(&desk->stream->count, parse(desk, "{\"n\":1.5}"), &number));
    assert_false(connector_figure_read(&desk->stream->count, parse(desk, "{}"), &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_without_a_rule_is_judged_by_its_status, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_redirect_says_where_it_leads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_rule_that_matches_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_rule_for_all_other_troubles_gives_way_to_a_status_that_names_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_page_of_another_shape_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_record_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_page_of_others_records_is_not_the_last, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_time_that_is_null_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_key_of_an_entry_belongs_to_the_entry, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_field_that_is_too_long_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_amount_can_be_reckoned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_condition_can_be_about_what_is_lacking, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(places_of_the_record_itself_are_added, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_is_added_up_however_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_detail_goes_under_its_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_digit_of_a_body_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(figures_are_numbers_or_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
