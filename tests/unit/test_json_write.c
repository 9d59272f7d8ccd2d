/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"
#include "test_seed.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void commas_and_nesting_are_the_writers_business(void **state)
{
    (void)state;
    struct text text = {0};
    struct json_writer writer;
    json_writer_init(&writer, &text);
    json_begin_object(&writer);
    json_key(&writer, "a");
    json_put_i64(&writer, INT64_MIN);
    json_key_bytes(&writer, bytes_make("bcd", 1));
    json_begin_array(&writer);
    json_put_u64(&writer, UINT64_MAX);
    json_begin_object(&writer);
    json_end_object(&writer);
    json_begin_array(&writer);
    json_end_array(&writer);
    json_put_bool(&writer, true);
    json_put_bool(&writer, false);
    json_put_null(&writer);
    json_end_array(&writer);
    json_key(&writer, "c");
    json_put_cstring(&writer, NULL);
    json_key(&writer, "d");
    json_put_string(&writer, BYTES_ABSENT);
    json_key(&writer, "e");
    json_put_string(&writer, bytes_make("", 0));
    json_key(&writer, "f");
    json_put_raw(&writer, bytes_of("{\"raw\":1}"));
    json_end_object(&writer);
    assert_string_equal(text_string(&text),
                        "{\"a\":-9223372036854775808,\"b\":[18446744073709551615,{},[],true,false,"
                        "null],\"c\":null,\"d\":null,\"e\":\"\",\"f\":{\"raw\":1}}");
    text_free(&text);
}

static void containers_nest_to_the_limit(void **state)
{
    (void)state;
    struct text text = {0};
    struct json_writer writer;
    json_writer_init(&writer, &text);
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++) {
        if (i % 3 == 0) {
            json_begin_object(&writer);
            json_key(&writer, "k");
        } else {
            json_begin_array(&writer);
        }
    }
    json_put_null(&writer);
    for (int i = JSON_WRITE_DEPTH_MAX; i-- > 0;)
        i % 3 == 0 ? json_end_object(&writer) : json_end_array(&writer);
    assert_true(bytes_starts_with(text_bytes(&text), "{\"k\":[[{\"k\":[["));
    assert_string_equal(text_string(&text) + text.len - 7, "}]]}]]}");
    text_free(&text);
}

static void assert_string_written(const char *data, size_t len, const char *expected)
{
    struct text text = {0};
    struct json_writer writer;
    json_writer_init(&writer, &text);
    json_put_string(&writer, bytes_make(data, len));
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

#define R "\xef\xbf\xbd"

static void strings_are_escaped_and_always_valid(void **state)
{
    (void)state;
    assert_string_written("\"\\/\b\f\n\r\t\x01\x1f\x7f", 11,
                          "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    assert_string_written("a\0b", 3, "\"a" R "b\"");
    assert_string_written("é€😀", 9, "\"é€😀\"");
    assert_string_written("\x80", 1, "\"" R "\"");
    assert_string_written("\xc3", 1, "\"" R "\"");
    assert_string_written("\xc3\"", 2, "\"" R "\\\"\"");
    assert_string_written("\xc0\x80", 2, "\"" R R "\"");
    assert_string_written("\xe2\x82", 2, "\"" R "\"");
    assert_string_written("\xe2\x82x", 3, "\"" R "x\"");
    assert_string_written("\xed\xa0\x80", 3, "\"" R R R "\"");
    assert_string_written("\xe0\x9f\xbf", 3, "\"" R R R "\"");
    assert_string_written("\xf0\x8f\xbf\xbf", 4, "\"" R R R R "\"");
    assert_string_written("\xf4\x90\x80\x80", 4, "\"" R R R R "\"");
    assert_string_written("\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\"");
    assert_string_written("\xf0\x9f\x98!", 4, "\"" R "!\"");
    assert_string_written("\xff\xfe", 2, "\"" R R "\"");
}

static const char *real_text(struct text *text, double value)
{
    struct json_writer writer;
    text_clear(text);
    json_writer_init(&writer, text);
    json_put_real(&writer, value);
    return text_string(text);
}

static void reals_are_written_short_and_stay_reals(void **state)
{
    (void)state;
    struct text text = {0};
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {100.0, "100.0"},
        {123456.789, "123456.789"},
        {1e16, "10000000000000000.0"},
        {1e17, "1e17"},
        {1e22, "1e22"},
        {1.5e300, "1.5e300"},
        {0.000001, "0.000001"},
        {0.0000001, "1e-7"},
        {1.25e-9, "1.25e-9"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e308"},
        {9007199254740993.0, "9007199254740992.0"},
        {(double)UINT64_MAX, "1.8446744073709552e19"},
        {(double)NAN, "null"},
        {(double)INFINITY, "null"},
        {-(double)INFINITY, "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(real_text(&text, cases[i].value), cases[i].text);
    text_free(&text);
}

static void every_real_reads_back_equal_and_no_shorter_one_does(void **state)
{
    (void)state;
    struct seeded random = seeded_start(__func__);
    struct text text = {0};
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = seeded_next(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 2 == 0)
            value = (double)(int64_t)(bits >> 20) / (double)(1 + seeded_below(&random, 1000));
        if (!isfinite(value))
            continue;
        double back = strtod(real_text(&text, value), NULL);
        assert_memory_equal(&back, &value, sizeof value);
        assert_non_null(strpbrk(text_string(&text), ".e"));
        size_t digits = 0, zeros = 0;
        for (const char *at = text_string(&text); *at != '\0' && *at != 'e'; at++) {
            if (*at == '0' && digits > 0)
                zeros++;
            if (*at < '1' || *at > '9')
                continue;
            digits += zeros + 1;
            zeros = 0;
        }
        if (digits > 1) {
            char shorter[64];
            snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 2, value);
            double other = strtod(shorter, NULL);
            assert_memory_not_equal(&other, &value, sizeof value);
        }
    }
    text_free(&text);
}

/* Runs of plain bytes are skipped eight at a time: no place may hide a byte that is not plain. */
static void every_byte_is_seen_wherever_it_stands(void **state)
{
    (void)state;
    struct text out = {0}, wanted = {0};
    static const char controls[] = "\b\t\n\f\r";
    struct json_writer writer;
    char input[20];
    for (size_t len = 1; len <= sizeof input; len++) {
        for (size_t at = 0; at < len; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                memset(input, 'a', len);
                input[at] = (char)byte;
                text_clear(&out);
                text_clear(&wanted);
                json_writer_init(&writer, &out);
                json_put_string(&writer, bytes_make(input, len));
                text_appendf(&wanted, "\"%.*s", (int)at, input);
                if (byte == 0 || byte >= 0x80)
                    text_append_string(&wanted, "\xef\xbf\xbd");
                else if (byte == '"' || byte == '\\')
                    text_appendf(&wanted, "\\%c", byte);
                else if (strchr(controls, (int)byte) != NULL)
                    text_appendf(&wanted, "\\%c", "btnfr"[strchr(controls, (int)byte) - controls]);
                else
                    text_appendf(&wanted, byte < 0x20 ? "\\u%04x" : "%c", byte);
                text_appendf(&wanted, "%.*s\"", (int)(len - at - 1), input + at + 1);
                assert_string_equal(text_string(&out), text_string(&wanted));
            }
        }
    }
    text_free(&out);
    text_free(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_seen_wherever_it_stands),
        cmocka_unit_test(commas_and_nesting_are_the_writers_business),
        cmocka_unit_test(containers_nest_to_the_limit),
        cmocka_unit_test(strings_are_escaped_and_always_valid),
        cmocka_unit_test(reals_are_written_short_and_stay_reals),
        cmocka_unit_test(every_real_reads_back_equal_and_no_shorter_one_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
