/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void random_bytes_become_a_version_4_uuid(void **state)
{
    (void)state;
    char text[UUID_TEXT_SIZE];
    uint8_t raw[16];
    memset(raw, 0xff, sizeof raw);
    uuid_format(raw, text);
    assert_string_equal(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_int_equal(raw[6], 0xff);
    memset(raw, 0, sizeof raw);
    uuid_format(raw, text);
    assert_string_equal(text, "00000000-0000-4000-8000-000000000000");
}

static void a_uuid_is_read_with_all_its_dashes_or_none(void **state)
{
    (void)state;
    uint8_t raw[16], plain[16];
    assert_true(uuid_parse(bytes_of("01234567-89ab-1cde-0f00-fedcba987654"), raw));
    assert_memory_equal(raw, "\x01\x23\x45\x67\x89\xab\x1c\xde\x0f\x00\xfe\xdc\xba\x98\x76\x54",
                        16);
    assert_true(uuid_parse(bytes_of("0123456789AB1CDE0F00FEDCBA987654"), plain));
    assert_memory_equal(raw, plain, 16);
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "01234567-89ab-4cde-8f00-fedcba98765",
        "01234567-89ab-4cde-8f00-fedcba9876543",
        "01234567-89ab-4cde-8f00-fedcba98765g",
        "0123456789ab-4cde-8f00-fedcba987654",
        "012345678-9ab-4cde-8f00-fedcba987654",
        "01234567+89ab-4cde-8f00-fedcba987654",
        "01234567-89ab-4cde-8f00fedcba987654-",
        "0123456789ab4cde8f00fedcba98765",
        "0123456789ab4cde8f00fedcba9876 4",
        "{1234567-89ab-4cde-8f00-fedcba98765}",
        "0123456789ab4cde8f00-fedcba98765",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t raw[16] = {7};
        if (uuid_parse(bytes_of(bad[i]), raw))
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(raw[0], 7);
    }
}

static void what_was_formatted_reads_back(void **state)
{
    (void)state;
    struct seeded random = seeded_start(__func__);
    for (int i = 0; i < 100000; i++) {
        uint8_t raw[16], back[16];
        char text[UUID_TEXT_SIZE], again[UUID_TEXT_SIZE];
        uint64_t halves[2] = {seeded_next(&random), seeded_next(&random)};
        memcpy(raw, halves, sizeof raw);
        uuid_format(raw, text);
        assert_int_equal(strlen(text), 36);
        assert_true(uuid_parse(bytes_of(text), back));
        assert_int_equal(back[6] >> 4, 4);
        assert_int_equal(back[8] >> 6, 2);
        assert_int_equal(back[6] & 0x0f, raw[6] & 0x0f);
        assert_int_equal(back[8] & 0x3f, raw[8] & 0x3f);
        back[6] = raw[6];
        back[8] = raw[8];
        assert_memory_equal(back, raw, sizeof raw);
        uuid_format(back, again);
        assert_string_equal(again, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bytes_become_a_version_4_uuid),
        cmocka_unit_test(a_uuid_is_read_with_all_its_dashes_or_none),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(what_was_formatted_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
