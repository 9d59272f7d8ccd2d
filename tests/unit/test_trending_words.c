/* SPDX-License-Identifier: Apache-2.0
 *
 * Which words are found in what a link says of itself. */
#include "query/trending_words.h"

#include "query/letter_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool found(const char *title, const char *q)
{
    struct link_words words = {.url = bytes_of("https://news.example/a-1"),
                               .title = bytes_of(title),
                               .description = bytes_of("told by K\xc3\x84THE")};
    return words_match(&words, bytes_of(q));
}

static void a_word_is_found_whatever_its_case(void **state)
{
    (void)state;
    assert_true(found("Night trains", "TRAINS"));
    assert_true(found("\xc3\x96kologie heute", "\xc3\xb6KOLOGIE"));
    assert_true(found("\xc3\xb6kologie heute", "\xc3\x96kologie"));
    assert_true(found("x", "k\xc3\xa4the"));
    assert_true(found("\xd0\x9a\xd0\xbb\xd0\xb8\xd0\xbc\xd0\xb0\xd1\x82",
                      "\xd0\xba\xd0\x9b\xd0\x98\xd0\xbc\xd0\xb0\xd1\x82"));
    assert_true(found("\xce\x91\xce\xb8\xce\xae\xce\xbd\xce\xb1", "\xce\xb1\xce\xb8\xce\x89"));
    assert_false(found("\xc3\x96kologie", "\xc3\xa4kologie"));
    assert_false(found("Night trains", "trainss"));
    assert_false(found("\xc3\x96", "\xc3\xb6x"));
}

static void all_words_have_to_be_there_in_any_order(void **state)
{
    (void)state;
    assert_true(found("Bridge closed after collision", "collision bridge"));
    assert_true(found("Bridge closed after collision", " bridge  news.example "));
    assert_false(found("Bridge closed after collision", "collision ferry"));
    assert_true(found("anything", ""));
    assert_true(found("anything", " "));
}

static void a_muted_entry_is_found_as_it_is_written(void **state)
{
    (void)state;
    static const char *const muted[] = {"\xc3\x96l price"};
    struct config config = {.news.mute_words = {.items = muted, .count = 1}};
    struct link_words words = {.url = bytes_of("https://news.example/a"),
                               .title = bytes_of("The \xc3\xb6L PRICE falls")};
    assert_true(words_are_muted(&words, &config));
    words.title = bytes_of("The price of \xc3\xb6l falls");
    assert_false(words_are_muted(&words, &config));
}

static void bytes_that_are_no_text_are_only_themselves(void **state)
{
    (void)state;
    uint32_t letter, other;
    assert_int_equal(letter_case_read(bytes_make("\xd0", 1), 0, &letter), 1);
    assert_int_equal(letter_case_read(bytes_make("\xd1\x41", 2), 0, &other), 1);
    assert_int_not_equal(letter, other);
    assert_true(found("a\xff", "\xff"));
    assert_false(found("a\xff", "\xfe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_found_whatever_its_case),
        cmocka_unit_test(all_words_have_to_be_there_in_any_order),
        cmocka_unit_test(a_muted_entry_is_found_as_it_is_written),
        cmocka_unit_test(bytes_that_are_no_text_are_only_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
