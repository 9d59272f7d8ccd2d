/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timestamp.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static int64_t parsed(const char *text)
{
    int64_t us;
    if (!timestamp_parse(bytes_of(text), &us))
        fail_msg("refused: %s", text);
    return us;
}

static void known_instants_are_read(void **state)
{
    (void)state;
    assert_true(parsed("1970-01-01T00:00:00Z") == 0);
    assert_true(parsed("1970-01-01t00:00:00z") == 0);
    assert_true(parsed("2025-08-11T23:26:32.374Z") == INT64_C(1754954792374000));
    assert_true(parsed("2025-08-12T01:26:32.374+02:00") == INT64_C(1754954792374000));
    assert_true(parsed("2025-08-11T17:56:32.374-05:30") == INT64_C(1754954792374000));
    assert_true(parsed("1969-12-31T23:59:59.999999Z") == -1);
    assert_true(parsed("1970-01-01T00:00:00.0000019Z") == 1);
    assert_true(parsed("1970-01-01T00:00:00.5-00:00") == SECOND / 2);
    assert_true(parsed("1970-01-01T00:00:00.12345678901234567890Z") == 123456);
    assert_true(parsed("2000-02-29T00:00:00Z") == 951782400 * SECOND);
    assert_true(parsed("0000-01-01T00:00:00Z") == INT64_C(-62167219200) * SECOND);
    assert_true(parsed("9999-12-31T23:59:59.999999Z") == INT64_C(253402300800) * SECOND - 1);
}

static void a_leap_second_stands_only_at_the_end_of_a_month(void **state)
{
    (void)state;
    int64_t us;
    assert_true(parsed("2016-12-31T23:59:60Z") == parsed("2017-01-01T00:00:00Z"));
    assert_true(parsed("2016-12-31T23:59:60.25Z") == parsed("2017-01-01T00:00:00.25Z"));
    assert_true(parsed("2017-01-01T01:59:60+02:00") == parsed("2017-01-01T00:00:00Z"));
    assert_true(parsed("1990-12-31T15:59:60-08:00") == parsed("1991-01-01T00:00:00Z"));
    assert_true(parsed("1968-02-29T23:59:60Z") == parsed("1968-03-01T00:00:00Z"));
    assert_false(timestamp_parse(bytes_of("2016-12-30T23:59:60Z"), &us));
    assert_false(timestamp_parse(bytes_of("2016-12-31T22:59:60Z"), &us));
    assert_false(timestamp_parse(bytes_of("2016-12-31T23:59:60+01:00"), &us));
    assert_false(timestamp_parse(bytes_of("9999-12-31T23:59:60Z"), &us));
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "2025",
        "2025-08-11",
        "2025-08-11T23:26:32",
        "2025-08-11 23:26:32Z",
        "2025-08-11T23:26Z",
        "2025-08-11T23:26:32.Z",
        "2025-08-11T23:26:32,5Z",
        "2025-08-11T23:26:32+0200",
        "2025-08-11T23:26:32+02",
        "2025-08-11T23:26:32+24:00",
        "2025-08-11T23:26:32+02:60",
        "2025-08-11T24:00:00Z",
        "2025-08-11T23:60:00Z",
        "2025-08-11T23:26:61Z",
        "2025-00-11T23:26:32Z",
        "2025-13-11T23:26:32Z",
        "2025-08-00T23:26:32Z",
        "2025-08-32T23:26:32Z",
        "2025-06-31T23:26:32Z",
        "2025-02-29T23:26:32Z",
        "1900-02-29T00:00:00Z",
        "25-08-11T23:26:32Z",
        "+2025-08-11T23:26:32Z",
        "12025-08-11T23:26:32Z",
        " 2025-08-11T23:26:32Z",
        "2025-08-11T23:26:32Z ",
        "2025-08-11T23:26:32ZZ",
        "2025-8-11T23:26:32Z",
        "-025-08-11T23:26:32Z",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "1754954792374",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t us = 42;
        if (timestamp_parse(bytes_of(bad[i]), &us))
            fail_msg("accepted: %s", bad[i]);
        assert_true(us == 42);
    }
    int64_t us;
    assert_false(timestamp_parse(bytes_make("2025-08-11T23:26:32Z\0", 21), &us));
    assert_false(timestamp_parse(BYTES_ABSENT, &us));
}

static void three_digits_are_written_when_exact_and_six_otherwise(void **state)
{
    (void)state;
    char text[TIMESTAMP_TEXT_MAX];
    assert_true(timestamp_format(0, text));
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    assert_true(timestamp_format(INT64_C(1754954792374000), text));
    assert_string_equal(text, "2025-08-11T23:26:32.374Z");
    assert_true(timestamp_format(INT64_C(1754954792374010), text));
    assert_string_equal(text, "2025-08-11T23:26:32.374010Z");
    assert_true(timestamp_format(-1, text));
    assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
    assert_false(timestamp_format(INT64_C(-62167219200) * SECOND - 1, text));
    assert_false(timestamp_format(INT64_C(253402300800) * SECOND, text));
    assert_false(timestamp_format(INT64_MIN, text));
    assert_false(timestamp_format(INT64_MAX, text));
}

/* What the C library makes of an instant. */
static void library_text(int64_t us, char out[TIMESTAMP_TEXT_MAX])
{
    time_t seconds = (time_t)(us / SECOND);
    int fraction = (int)(us % SECOND);
    struct tm tm;
    if (fraction < 0) {
        fraction += (int)SECOND;
        seconds--;
    }
    assert_non_null(gmtime_r(&seconds, &tm));
    assert_true(timegm(&tm) == seconds);
    int len = snprintf(out, TIMESTAMP_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    bool exact = fraction % 1000 == 0;
    snprintf(out + len, (size_t)(TIMESTAMP_TEXT_MAX - len), "%0*dZ", exact ? 3 : 6,
             exact ? fraction / 1000 : fraction);
}

static void assert_agrees(int64_t us)
{
    char ours[TIMESTAMP_TEXT_MAX], theirs[TIMESTAMP_TEXT_MAX];
    int64_t back;
    library_text(us, theirs);
    assert_true(timestamp_format(us, ours));
    assert_string_equal(ours, theirs);
    assert_true(timestamp_parse(bytes_of(ours), &back));
    assert_true(back == us);
}

static void days_across_the_whole_range_agree_with_the_c_library(void **state)
{
    (void)state;
    const int64_t day = 86400 * SECOND;
    /* 5 and the 146,097 days of the calendar's cycle share no divisor: every date of it is met. */
    for (int64_t i = -719528; i < 3652425 - 719528; i += 5) {
        assert_agrees(i * day);
        assert_agrees((i + 1) * day - 1);
    }
}

static void random_instants_agree_with_the_c_library(void **state)
{
    (void)state;
    struct seeded random = seeded_start(__func__);
    const int64_t min = INT64_C(-62167219200) * SECOND;
    const uint64_t span = (uint64_t)(INT64_C(253402300800) * SECOND - min);
    for (int i = 0; i < 300000; i++) {
        int64_t us = min + (int64_t)(seeded_next(&random) % span);
        assert_agrees(i % 2 == 0 ? us : us - us % 1000);
    }
}

static void a_wait_is_said_in_as_many_digits_as_matter(void **state)
{
    static const struct {
        double seconds;
        const char *words;
    } waits[] = {{0.0000004, "0.0 ms"}, {0.0062, "6.2 ms"},  {0.00996, "10 ms"},
                 {0.875, "875 ms"},     {0.99949, "999 ms"}, {0.9996, "1.0 s"},
                 {1.44, "1.4 s"},       {9.96, "10 s"},      {3600, "3600 s"}};
    char words[TIMESTAMP_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        timestamp_format_wait(waits[i].seconds, words);
        assert_string_equal(words, waits[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_instants_are_read),
        cmocka_unit_test(a_leap_second_stands_only_at_the_end_of_a_month),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(three_digits_are_written_when_exact_and_six_otherwise),
        cmocka_unit_test(days_across_the_whole_range_agree_with_the_c_library),
        cmocka_unit_test(random_instants_agree_with_the_c_library),
        cmocka_unit_test(a_wait_is_said_in_as_many_digits_as_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
