/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/cursor.h"

#include "base/json.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct json_doc *doc;

static int open_doc(void **state)
{
    (void)state;
    doc = json_doc_new(1 << 16, 32);
    return 0;
}

static int close_doc(void **state)
{
    (void)state;
    json_doc_free(doc);
    return 0;
}

static struct cursor block(int64_t number)
{
    return cursor_make_number(CURSOR_BLOCK_NUMBER, number, NULL);
}

static struct cursor token(const char *value, const char *provider)
{
    return cursor_make_text(CURSOR_PAGE_TOKEN, bytes_of(value), provider);
}

static void print(const struct cursor_state *state, struct text *out)
{
    struct err err;
    text_clear(out);
    if (cursor_state_to_json(state, doc, out, &err) != RC_OK)
        fail_msg("%s", err.text);
}

static bool states_equal(const struct cursor_state *a, const struct cursor_state *b)
{
    bool equal =
        cursor_equal(&a->primary, &b->primary) && a->alternative_count == b->alternative_count &&
        strcmp(a->last_transaction_id, b->last_transaction_id) == 0 &&
        a->total_fetched == b->total_fetched && strcmp(a->provider_name, b->provider_name) == 0 &&
        a->updated_ms == b->updated_ms && a->completion == b->completion &&
        cursor_equal(&a->high_water, &b->high_water) && cursor_equal(&a->backfill, &b->backfill) &&
        strcmp(a->custom, b->custom) == 0 && strcmp(a->extra, b->extra) == 0;
    for (unsigned i = 0; equal && i < a->alternative_count; i++)
        equal = cursor_equal(&a->alternatives[i], &b->alternatives[i]);
    return equal;
}

/* R003-01: every kind there and back, under the seed's names. */
static void every_kind_survives_a_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *cursor, *json;
    } rows[] = {
        {"blockNumber", "{\"type\":\"blockNumber\",\"value\":18000000}"},
        {"timestamp", "{\"type\":\"timestamp\",\"value\":1765497600123}"},
        {"txHash", "{\"type\":\"txHash\",\"value\":\"0xabc\"}"},
        {"slot", "{\"type\":\"slot\",\"value\":0}"},
        {"signature", "{\"type\":\"signature\",\"value\":\"5VERv8\\\"x\"}"},
        {"pageToken", "{\"type\":\"pageToken\",\"value\":\"t/+=\",\"providerName\":\"infura\"}"},
        {"seq", "{\"type\":\"seq\",\"value\":9223372036854775807,\"providerName\":\"relay\"}"},
        {"timeUs", "{\"type\":\"timeUs\",\"value\":1765497600123456,\"inclusive\":true}"},
    };
    struct text json = {0}, again = {0};
    struct cursor_state read;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_clear(&json);
        text_appendf(&json, "{\"primary\":%s,\"lastTransactionId\":\"\",\"totalFetched\":0}",
                     rows[i].json);
        if (cursor_state_from_json(&read, doc, text_bytes(&json), &err) != RC_OK)
            fail_msg("%s", err.text);
        assert_string_equal(cursor_kind_name(read.primary.kind), rows[i].cursor);
        print(&read, &again);
        assert_string_equal(text_string(&again), text_string(&json));
    }
    text_free(&json);
    text_free(&again);
}

/* R003-02: held in microseconds, shown in milliseconds; what is left over is not lost. */
static void a_timestamp_is_shown_in_13_digits(void **state)
{
    (void)state;
    struct cursor_state held = {.primary =
                                    cursor_make_number(CURSOR_TIMESTAMP, 1765497600123000, NULL)},
                        read;
    struct text json = {0};
    struct err err;
    print(&held, &json);
    assert_non_null(strstr(text_string(&json), "\"value\":1765497600123}"));
    held.primary.number = 1765497600123456;
    print(&held, &json);
    assert_non_null(strstr(text_string(&json), "\"value\":1765497600123,\"us\":456}"));
    assert_int_equal(cursor_state_from_json(&read, doc, text_bytes(&json), &err), RC_OK);
    assert_true(states_equal(&held, &read));
    text_free(&json);
}

#define REST    ",\"lastTransactionId\":\"\",\"totalFetched\":0"
#define PRIMARY "\"primary\":{\"type\":\"slot\",\"value\":1}"

/* R003-14, R003-03: each invalid shape is refused by the name of its field. */
static void an_invalid_state_is_refused_by_field(void **state)
{
    (void)state;
    static const struct {
        const char *json, *field;
    } rows[] = {
        {"[]", "a cursor state"},
        {"{}", "primary:"},
        {"{" PRIMARY ",\"totalFetched\":0}", "lastTransactionId:"},
        {"{" PRIMARY ",\"lastTransactionId\":\"\"}", "totalFetched:"},
        {"{" PRIMARY ",\"lastTransactionId\":7,\"totalFetched\":0}", "lastTransactionId:"},
        {"{" PRIMARY ",\"lastTransactionId\":\"\",\"totalFetched\":-1}", "totalFetched:"},
        {"{" PRIMARY ",\"lastTransactionId\":\"\",\"totalFetched\":1.0}", "totalFetched:"},
        {"{" PRIMARY REST ",\"colour\":1}", "colour:"},
        {"{" PRIMARY "," PRIMARY REST "}", "primary: is there twice"},
        {"{\"primary\":5" REST "}", "primary:"},
        {"{\"primary\":{\"value\":5}" REST "}", "primary.type:"},
        {"{\"primary\":{\"type\":\"none\",\"value\":5}" REST "}", "primary.type:"},
        {"{\"primary\":{\"type\":\"blockNumber\"}" REST "}", "primary.value:"},
        {"{\"primary\":{\"type\":\"blockNumber\",\"value\":-1}" REST "}", "primary.value:"},
        {"{\"primary\":{\"type\":\"slot\",\"value\":\"1\"}" REST "}", "primary.value:"},
        {"{\"primary\":{\"type\":\"timestamp\",\"value\":9223372036854775}" REST "}", ""},
        {"{\"primary\":{\"type\":\"timestamp\",\"value\":9223372036854776}" REST "}",
         "primary.value:"},
        {"{\"primary\":{\"type\":\"timestamp\",\"value\":1,\"us\":1000}" REST "}", "primary.us:"},
        {"{\"primary\":{\"type\":\"slot\",\"value\":1,\"us\":1}" REST "}", "primary.us:"},
        {"{\"primary\":{\"type\":\"slot\",\"value\":1,\"value\":2}" REST "}", "primary.value:"},
        {"{\"primary\":{\"type\":\"slot\",\"value\":1,\"inclusive\":1}" REST "}",
         "primary.inclusive:"},
        {"{\"primary\":{\"type\":\"txHash\",\"value\":7}" REST "}", "primary.value:"},
        {"{\"primary\":{\"type\":\"signature\",\"value\":\"\"}" REST "}", "primary.value:"},
        {"{\"primary\":{\"type\":\"pageToken\",\"value\":\"t\"}" REST "}", "primary.providerName:"},
        {"{\"primary\":{\"type\":\"seq\",\"value\":7}" REST "}", "primary.providerName:"},
        {"{\"primary\":{\"type\":\"slot\",\"value\":7,\"providerName\":\"a\"}" REST "}",
         "primary.providerName:"},
        {"{" PRIMARY ",\"alternatives\":{}" REST "}", "alternatives:"},
        {"{" PRIMARY ",\"alternatives\":[{\"type\":\"slot\",\"value\":1},{\"type\":\"x\"}]" REST
         "}",
         "alternatives[1].type:"},
        {"{" PRIMARY REST ",\"metadata\":[]}", "metadata:"},
        {"{" PRIMARY REST ",\"metadata\":{\"updatedAt\":1}}", "metadata.providerName:"},
        {"{" PRIMARY REST ",\"metadata\":{\"providerName\":\"\",\"updatedAt\":1}}",
         "metadata.providerName:"},
        {"{" PRIMARY REST ",\"metadata\":{\"providerName\":\"a\"}}", "metadata.updatedAt:"},
        {"{" PRIMARY REST ",\"metadata\":{\"providerName\":\"a\",\"updatedAt\":\"1\"}}",
         "metadata.updatedAt:"},
        {"{" PRIMARY REST ",\"metadata\":{\"providerName\":\"a\",\"updatedAt\":1,"
         "\"isComplete\":1}}",
         "metadata.isComplete:"},
        {"{" PRIMARY REST ",\"highWater\":null}", "highWater:"},
        {"{" PRIMARY REST ",\"backfill\":{\"type\":\"slot\"}}", "backfill.value:"},
    };
    struct cursor_state before = {.primary = block(7), .total_fetched = 3}, after;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        after = before;
        enum rc rc = cursor_state_from_json(&after, doc, bytes_of(rows[i].json), &err);
        assert_int_equal(rc, rows[i].field[0] == '\0' ? RC_OK : RC_REJECT);
        if (rc == RC_OK)
            continue;
        if (strncmp(err.text, rows[i].field, strlen(rows[i].field)) != 0)
            fail_msg("%s: said %s", rows[i].json, err.text);
        assert_true(states_equal(&before, &after));
    }
}

/* R003-14: before a write, too. */
static void an_invalid_state_is_not_written(void **state)
{
    (void)state;
    char long_text[CURSOR_VALUE_MAX + 2];
    memset(long_text, 'x', sizeof long_text);
    const struct cursor bad[] = {
        {0},
        block(-1),
        cursor_make_text(CURSOR_TX_HASH, bytes_make(long_text, CURSOR_VALUE_MAX + 1), NULL),
        cursor_make_text(CURSOR_TX_HASH, bytes_make("a\0b", 3), NULL),
        cursor_make_text(CURSOR_TX_HASH, bytes_of("\xc3("), NULL),
        cursor_make_text(CURSOR_TX_HASH, bytes_of("\xed\xa0\x80"), NULL),
        cursor_make_text(CURSOR_TX_HASH, bytes_of("\xc0\xaf"), NULL),
        token("t", NULL),
        token("t", ""),
        {.kind = CURSOR_KINDS},
    };
    struct text json = {0};
    struct err err;
    struct cursor_state held = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        held.primary = bad[i];
        assert_int_equal(cursor_state_to_json(&held, doc, &json, &err), RC_REJECT);
        assert_int_equal(strncmp(err.text, "primary.", 8), 0);
        assert_int_equal(json.len, 0);
    }
    held.primary = cursor_make_text(CURSOR_TX_HASH, bytes_make(long_text, CURSOR_VALUE_MAX), NULL);
    assert_int_equal(cursor_state_to_json(&held, doc, &json, &err), RC_OK);
    held.completion = CURSOR_COMPLETE; /* metadata without its provider */
    assert_int_equal(cursor_state_to_json(&held, doc, &json, &err), RC_REJECT);
    snprintf(held.provider_name, sizeof held.provider_name, "%s", "a");
    snprintf(held.custom, sizeof held.custom, "%s", "{\"a\":");
    assert_int_equal(cursor_state_to_json(&held, doc, &json, &err), RC_REJECT);
    assert_int_equal(strncmp(err.text, "metadata.custom", 15), 0);
    held.custom[0] = '\0';
    snprintf(held.extra, sizeof held.extra, "%s", "\"a\":1},\"totalFetched\":9,\"x\":{\"b\":1");
    assert_int_equal(cursor_state_to_json(&held, doc, &json, &err), RC_REJECT);
    snprintf(held.extra, sizeof held.extra, "%s", "\"a\":1,\"updated\\u0041t\":5");
    assert_int_equal(cursor_state_to_json(&held, doc, &json, &err), RC_REJECT);
    text_free(&json);
}

/* R003-11: what nobody here knows survives byte for byte; provider state lives in custom. */
static void unknown_metadata_survives_byte_for_byte(void **state)
{
    (void)state;
    const char *json =
        "\xef\xbb\xbf { \"primary\" : {\"type\":\"timestamp\",\"value\":1700000000000} ,"
        "\"metadata\": {\"offset\" : 1.50e+3, \"provider\\u004eame\":\"kraken\","
        "\"deep\": {\"a\":[1, {\"]}\": \"\\\\\\\"}\"}], \"big\":0.10},\n"
        "\"custom\": {\"page\" : 7, \"s\":\"\\u00e9\"},\"updatedAt\":5,"
        "\"k\\u0065y\":null, \"isComplete\":false},"
        "\"lastTransactionId\":\"x\",\"totalFetched\":12}";
    struct cursor_state read, again;
    struct text written = {0};
    struct err err;
    if (cursor_state_from_json(&read, doc, bytes_of(json), &err) != RC_OK)
        fail_msg("%s", err.text);
    assert_string_equal(read.provider_name, "kraken");
    assert_string_equal(read.custom, "{\"page\" : 7, \"s\":\"\\u00e9\"}");
    assert_string_equal(read.extra,
                        "\"offset\":1.50e+3,\"deep\":{\"a\":[1, {\"]}\": \"\\\\\\\"}\"}], "
                        "\"big\":0.10},\"k\\u0065y\":null");
    print(&read, &written);
    if (cursor_state_from_json(&again, doc, text_bytes(&written), &err) != RC_OK)
        fail_msg("%s", err.text);
    assert_true(states_equal(&read, &again));
    text_free(&written);
}

/* R003-05, R003-15, R003-16: how a page makes a primary and its alternatives. */
static void a_page_makes_the_cursor(void **state)
{
    (void)state;
    struct cursor_state held = {0};
    struct err err;
    const struct cursor last[] = {
        cursor_make_number(CURSOR_TIMESTAMP, 1700000000000000, NULL),
        block(100),
        cursor_make_text(CURSOR_TX_HASH, bytes_of("0xab"), NULL),
    };
    struct cursor_page page = {.provider_name = "infura", .now_ms = 50};
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_true(cursor_equal(&held.primary, &(struct cursor){.kind = CURSOR_BLOCK_NUMBER}));
    page = (struct cursor_page){.provider_name = "infura",
                                .next_token = bytes_of("p2"),
                                .extracted = last,
                                .extracted_count = 3,
                                .last_transaction_id = bytes_of("id-100"),
                                .records = 25,
                                .now_ms = 60};
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    struct cursor expected = token("p2", "infura");
    assert_true(cursor_equal(&held.primary, &expected));
    assert_int_equal(held.alternative_count, 3);
    assert_true(cursor_equal(&held.alternatives[1], &last[1]));
    assert_string_equal(held.last_transaction_id, "id-100"); /* R003-06 */
    assert_int_equal(held.total_fetched, 25);                /* R003-07 */
    assert_int_equal(held.updated_ms, 60);                   /* R003-09 */
    page.next_token = BYTES_ABSENT;
    page.records = 5;
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_true(cursor_equal(&held.primary, &last[1]));
    assert_int_equal(held.total_fetched, 30);
    page.extracted_count = 1; /* a source without blocks */
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_true(cursor_equal(&held.primary, &last[0]));
}

/* (I9), R003-10, R003-16, R003-23: what an empty page may and may not do. */
static void an_empty_page_takes_nothing_away(void **state)
{
    (void)state;
    struct cursor_state held = {.primary = block(900), .total_fetched = 10, .alternative_count = 1};
    struct err err;
    const struct cursor zero = block(0), lower = block(5), higher = block(901);
    held.alternatives[0] = cursor_make_number(CURSOR_TIMESTAMP, 5000, NULL);
    snprintf(held.last_transaction_id, sizeof held.last_transaction_id, "%s", "id");
    struct cursor_page page = {.provider_name = "b", .now_ms = 1, .extracted = &zero};
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    page.extracted_count = 1;
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    page.extracted = &lower;
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_int_equal(held.primary.number, 900);
    assert_int_equal(held.alternatives[0].kind, CURSOR_TIMESTAMP);
    assert_string_equal(held.last_transaction_id, "id");
    assert_int_equal(held.completion, CURSOR_UNSAID);
    page.completion = CURSOR_COMPLETE; /* a terminal page of duplicates only */
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_int_equal(held.completion, CURSOR_COMPLETE);
    page.completion = CURSOR_UNSAID;
    page.extracted = &higher;
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_int_equal(held.primary.number, 901);
    assert_int_equal(held.completion, CURSOR_COMPLETE); /* survives the next empty page */
    page.next_token = bytes_of("on");                   /* empty, and there is more */
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_int_equal(held.primary.kind, CURSOR_PAGE_TOKEN);
    page.records = 1; /* rows again, and nobody said "complete" */
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_int_equal(held.completion, CURSOR_UNSAID);
    assert_int_equal(held.total_fetched, 11);
}

static void a_page_that_would_make_it_invalid_changes_nothing(void **state)
{
    (void)state;
    struct cursor_state held = {.primary = block(900)}, before = held;
    struct err err;
    const struct cursor bad = token("t", NULL);
    struct cursor_page page = {
        .provider_name = "b", .records = 1, .extracted = &bad, .extracted_count = 1};
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_REJECT);
    assert_true(states_equal(&held, &before));
    page.provider_name = "";
    page.extracted_count = 0;
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_REJECT);
    assert_true(states_equal(&held, &before));
}

static void the_high_water_does_not_sink(void **state)
{
    (void)state;
    struct cursor_state held = {0};
    struct err err;
    struct cursor high = block(50), low = block(40), sweep = block(30);
    struct cursor_page page = {.provider_name = "a", .high_water = &high, .backfill = &sweep};
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    page.high_water = &low;
    page.backfill = NULL;
    assert_int_equal(cursor_state_advance(&held, &page, &err), RC_OK);
    assert_int_equal(held.high_water.number, 50);
    assert_int_equal(held.backfill.number, 30);
}

static struct cursor random_cursor(struct seeded *random)
{
    char text[64];
    size_t len = 1 + seeded_below(random, sizeof text - 2);
    enum cursor_kind kind = (enum cursor_kind)(1 + seeded_below(random, CURSOR_KINDS - 1));
    const char *provider = cursor_kind_is_scoped(kind) ? "prov\"ider\xc3\xa9" : NULL;
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(1 + seeded_below(random, 127));
    struct cursor cursor =
        cursor_kind_is_number(kind)
            ? cursor_make_number(
                  kind, (int64_t)(seeded_next(random) >> (1 + seeded_below(random, 60))), provider)
            : cursor_make_text(kind, bytes_make(text, len), provider);
    cursor.inclusive = seeded_below(random, 2) == 0;
    return cursor;
}

static void random_states_survive_a_round_trip(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    struct seeded random = seeded_start("cursor");
    static struct cursor_state held, read;
    struct text json = {0};
    struct err err;
    for (int round = 0; round < ROUNDS; round++) {
        memset(&held, 0, sizeof held);
        held.primary = random_cursor(&random);
        held.alternative_count = (unsigned)seeded_below(&random, CURSOR_ALTERNATIVES_MAX + 1);
        for (unsigned i = 0; i < held.alternative_count; i++)
            held.alternatives[i] = random_cursor(&random);
        held.total_fetched = (int64_t)(seeded_next(&random) >> 1);
        if (seeded_below(&random, 2) == 0)
            held.high_water = random_cursor(&random);
        if (seeded_below(&random, 2) == 0) {
            snprintf(held.provider_name, sizeof held.provider_name, "%s", "p");
            held.updated_ms = (int64_t)seeded_below(&random, 1000000);
            held.completion = (enum cursor_completion)seeded_below(&random, 3);
            snprintf(held.extra, sizeof held.extra, "%s",
                     seeded_below(&random, 2) == 0 ? "\"k\":[1, 2]" : "");
            snprintf(held.custom, sizeof held.custom, "%s",
                     seeded_below(&random, 2) == 0 ? "-0.0" : "");
        }
        print(&held, &json);
        if (cursor_state_from_json(&read, doc, text_bytes(&json), &err) != RC_OK)
            fail_msg("%s in %s", err.text, text_string(&json));
        assert_true(states_equal(&held, &read));
    }
    text_free(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_survives_a_round_trip),
        cmocka_unit_test(a_timestamp_is_shown_in_13_digits),
        cmocka_unit_test(an_invalid_state_is_refused_by_field),
        cmocka_unit_test(an_invalid_state_is_not_written),
        cmocka_unit_test(unknown_metadata_survives_byte_for_byte),
        cmocka_unit_test(a_page_makes_the_cursor),
        cmocka_unit_test(an_empty_page_takes_nothing_away),
        cmocka_unit_test(a_page_that_would_make_it_invalid_changes_nothing),
        cmocka_unit_test(the_high_water_does_not_sink),
        cmocka_unit_test(random_states_survive_a_round_trip),
    };
    return cmocka_run_group_tests(tests, open_doc, close_doc);
}
