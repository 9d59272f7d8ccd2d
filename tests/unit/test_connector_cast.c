/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_cast.h"

#include "decode/ledger_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void decimals_are_exact_and_have_one_form(void **state)
{
    static const struct {
        const char *from;
        int scale;
        const char *to;
    } rows[] = {
        {"0", 0, "0"},
        {"-0", 0, "0"},
        {"000", 5, "0"},
        {"0.000", 0, "0"},
        {"1.50", 0, "1.5"},
        {"0012", 0, "12"},
        {"1200", 0, "1200"},
        {"1200", -2, "12"},
        {"1", -3, "0.001"},
        {"-12.5", 1, "-125"},
        {"1.5", 9, "1500000000"},
        {"0.1", 18, "100000000000000000"},
        {"1e3", 0, "1000"},
        {"1.5E-3", 0, "0.0015"},
        {"2e+2", 0, "200"},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935", 0,
         "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
        {"", 0, NULL},
        {"-", 0, NULL},
        {".5", 0, NULL},
        {"5.", 0, NULL},
        {"1.2.3", 0, NULL},
        {"+1", 0, NULL},
        {" 1", 0, NULL},
        {"1,000", 0, NULL},
        {"0x10", 0, NULL},
        {"1e", 0, NULL},
        {"1e+-3", 0, NULL},
        {"1e999", 0, NULL},
        {"NaN", 0, NULL},
    };
    char out[EXACT_DECIMAL_MAX];
    size_t len;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool read = exact_decimal(bytes_of(rows[i].from), rows[i].scale, out, &len);
        assert_int_equal(read, rows[i].to != NULL);
        if (read) {
            assert_int_equal(len, strlen(rows[i].to));
            assert_memory_equal(out, rows[i].to, len);
        }
    }
}

static void hexadecimal_becomes_decimal_to_the_last_digit(void **state)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"0x0", "0"},
        {"0x00000000000000000000000000000000000000000000000000000000000000ff", "255"},
        {"0xDE0B6B3A7640000", "1000000000000000000"},
        {"0x3b9aca00", "1000000000"},
        {"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
         "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
        {"0x1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", NULL},
        {"0x", NULL},
        {"ff", NULL},
        {"0xfg", NULL},
        {"", NULL},
    };
    char out[EXACT_DECIMAL_MAX];
    size_t len;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool read = exact_hex(bytes_of(rows[i].from), out, &len);
        assert_int_equal(read, rows[i].to != NULL);
        if (read) {
            assert_int_equal(len, strlen(rows[i].to));
            assert_memory_equal(out, rows[i].to, len);
        }
    }
}

static void sums_and_products_are_exact(void **state)
{
    static const struct {
        const char *a, *b, *sum, *difference, *product;
    } rows[] = {
        {"0", "0", "0", "0", "0"},
        {"1", "2", "3", "-1", "2"},
        {"-1", "2", "1", "-3", "-2"},
        {"-5", "-7", "-12", "2", "35"},
        {"999", "1", "1000", "998", "999"},
        {"0.1", "0.2", "0.3", "-0.1", "0.02"},
        {"100", "0.001", "100.001", "99.999", "0.1"},
        {"1000000000000000000000", "1", "1000000000000000000001", "999999999999999999999",
         "1000000000000000000000"},
        {"10", "10.0", "20", "0", "100"},
        {"-0.5", "0.5", "0", "-1", "-0.25"},
        {"21000", "123456789012", "123456810012", "-123456768012", "2592592569252000"},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935", "1",
         "115792089237316195423570985008687907853269984665640564039457584007913129639936",
         "115792089237316195423570985008687907853269984665640564039457584007913129639934",
         "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
    };
    char out[EXACT_DECIMAL_MAX];
    size_t len;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes a = bytes_of(rows[i].a), b = bytes_of(rows[i].b);
        assert_true(exact_add(a, b, false, out, &len));
        assert_true(bytes_equal_string(bytes_make(out, len), rows[i].sum));
        assert_true(exact_add(b, a, false, out, &len));
        assert_true(bytes_equal_string(bytes_make(out, len), rows[i].sum));
        assert_true(exact_add(a, b, true, out, &len));
        assert_true(bytes_equal_string(bytes_make(out, len), rows[i].difference));
        assert_true(exact_multiply(a, b, out, &len));
        assert_true(bytes_equal_string(bytes_make(out, len), rows[i].product));
    }
    assert_false(exact_add(bytes_of("x"), bytes_of("1"), false, out, &len));
    assert_false(exact_add(bytes_of("1e90"), bytes_of("1e-90"), false, out, &len));
    assert_false(exact_multiply(bytes_of("1"), bytes_of(""), out, &len));
}

/* Against numbers that the machine can add itself. */
static void small_numbers_agree_with_the_machine(void **state)
{
    char out[EXACT_DECIMAL_MAX], a[DECIMAL_MAX], b[DECIMAL_MAX], sum[DECIMAL_MAX];
    size_t len;
    (void)state;
    for (int64_t x = -123456; x < 123456; x += 2711)
        for (int64_t y = -98765; y < 98765; y += 1777) {
            struct bytes first = decimal_of(x, a), second = decimal_of(y, b);
            assert_true(exact_add(first, second, true, out, &len));
            assert_true(bytes_equal(bytes_make(out, len), decimal_of(x - y, sum)));
            assert_true(exact_multiply(first, second, out, &len));
            assert_true(bytes_equal(bytes_make(out, len), decimal_of(x * y, sum)));
        }
}

static void times_become_microseconds(void **state)
{
    static const struct {
        const char *json;
        enum connector_cast cast;
        int64_t us; /* -1: refused */
    } rows[] = {
        {"\"1700000000\"", CAST_UNIX_S, INT64_C(1700000000000000)},
        {"1700000000", CAST_UNIX_S, INT64_C(1700000000000000)},
        {"\"0x6553f100\"", CAST_UNIX_S, INT64_C(1700000000000000)},
        {"\"0x\"", CAST_UNIX_S, -1},
        {"1700000000.25", CAST_UNIX_S, INT64_C(1700000000250000)},
        {"\"1700000000.1234567\"", CAST_UNIX_S, INT64_C(1700000000123456)},
        {"1700000000123", CAST_UNIX_MS, INT64_C(1700000000123000)},
        {"\"1700000000123456789\"", CAST_UNIX_NS, INT64_C(1700000000123456)},
        {"1700000000123456789", CAST_UNIX_NS, INT64_C(1700000000123456)},
        {"\"2023-11-14T22:13:20.5Z\"", CAST_RFC3339, INT64_C(1700000000500000)},
        {"\"2023-11-14 22:13:20\"", CAST_CSV_UTC, INT64_C(1700000000000000)},
        {"\"2023-11-14T22:13:20\"", CAST_CSV_UTC, -1},
        {"\"2023-11-14 22:13\"", CAST_CSV_UTC, -1},
        {"753315200", CAST_RIPPLE_S, INT64_C(1700000000000000)},
        {"\"yesterday\"", CAST_UNIX_S, -1},
        {"-5", CAST_UNIX_S, -1},
        {"1e30", CAST_UNIX_S, -1},
        {"\"99999999999999999999\"", CAST_UNIX_S, -1},
        {"{}", CAST_UNIX_S, -1},
        {"true", CAST_UNIX_S, -1},
    };
    struct json_doc *doc = json_doc_new(4096, JSON_DEPTH_MAX);
    struct arena arena;
    struct json value;
    struct err err;
    int64_t us;
    (void)state;
    arena_init(&arena, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(json_parse_copy(doc, bytes_of(rows[i].json), &value, &err), RC_OK);
        struct connector_scalar scalar = connector_scalar(value, &arena);
        bool read = connector_cast_time(&scalar, rows[i].cast, &us);
        assert_int_equal(read, rows[i].us >= 0);
        if (read)
            assert_int_equal(us, rows[i].us);
    }
    arena_deinit(&arena);
    json_doc_free(doc);
}

/* Topics of an EVM log hold an address in 32 bytes. */
static void an_address_is_the_end_of_a_word(void **state)
{
    static const struct {
        const char *word, *address; /* NULL: refused */
    } rows[] = {
        {"0x000000000000000000000000B01683b2f0d38d43fcd4d9aab980166988924132",
         "0xb01683b2f0d38d43fcd4d9aab980166988924132"},
        {"0x000000000000000000000001b01683b2f0d38d43fcd4d9aab980166988924132", NULL},
        {"0x00000000000000000000000gb01683b2f0d38d43fcd4d9aab980166988924132", NULL},
        {"0x000000000000000000000000b01683b2f0d38d43fcd4d9aab98016698892413z", NULL},
        {"0xb01683b2f0d38d43fcd4d9aab980166988924132", NULL},
        {"0x", NULL},
    };
    struct arena arena;
    struct bytes out;
    (void)state;
    arena_init(&arena, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct connector_scalar word = connector_scalar_text(bytes_of(rows[i].word));
        bool read = connector_cast_text(&word, CAST_ADDRESS, 0, &arena, &out);
        assert_int_equal(read, rows[i].address != NULL);
        if (read)
            assert_true(bytes_equal_string(out, rows[i].address));
    }
    arena_deinit(&arena);
}

static void an_amount_never_was_a_double(void **state)
{
    struct json_doc *doc = json_doc_new(4096, JSON_DEPTH_MAX);
    struct arena arena;
    struct json value;
    struct bytes out;
    struct err err;
    (void)state;
    arena_init(&arena, 4096);
    assert_int_equal(json_parse_copy(doc,
                                     bytes_of("[0.1234567890123456, 18446744073709551615, 1.50, "
                                              "2.5e-7, 123456789012345.0]"),
                                     &value, &err),
                     RC_OK);
    struct connector_scalar real = connector_scalar(json_at(value, 0), &arena);
    assert_false(connector_cast_text(&real, CAST_DEC, 0, &arena, &out));
    static const char *const exact[] = {"1.5", "0.00000025", "123456789012345"};
    for (size_t i = 0; i < 3; i++) {
        real = connector_scalar(json_at(value, i + 2), &arena);
        assert_true(connector_cast_text(&real, CAST_DEC, 0, &arena, &out));
        assert_true(bytes_equal_string(out, exact[i]));
    }
    struct connector_scalar large = connector_scalar(json_at(value, 1), &arena);
    assert_true(connector_cast_text(&large, CAST_DEC, 9, &arena, &out));
    assert_true(bytes_equal_string(out, "18446744073709551615000000000"));
    arena_deinit(&arena);
    json_doc_free(doc);
}

static void equals_get_different_ids_by_their_ordinal(void **state)
{
    struct ledger_row row = {.key = {1, 2, 3}};
    uint8_t first[EVENT_ID_SIZE], again[EVENT_ID_SIZE], second[EVENT_ID_SIZE];
    (void)state;
    ledger_row_identity(&row, 0, first);
    ledger_row_identity(&row, 0, again);
    ledger_row_identity(&row, 1, second);
    assert_memory_equal(first, again, EVENT_ID_SIZE);
    assert_memory_not_equal(first, second, EVENT_ID_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_exact_and_have_one_form),
        cmocka_unit_test(hexadecimal_becomes_decimal_to_the_last_digit),
        cmocka_unit_test(sums_and_products_are_exact),
        cmocka_unit_test(small_numbers_agree_with_the_machine),
        cmocka_unit_test(times_become_microseconds),
        cmocka_unit_test(an_address_is_the_end_of_a_word),
        cmocka_unit_test(an_amount_never_was_a_double),
        cmocka_unit_test(equals_get_different_ids_by_their_ordinal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
