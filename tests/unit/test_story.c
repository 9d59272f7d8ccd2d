/* SPDX-License-Identifier: Apache-2.0
 *
 * Which titles tell the same story, and which only look like it. */
#include "query/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool same(const char *a, const char *b, bool one_site)
{
    const struct story_article articles[] = {
        {bytes_of(a), bytes_of("a.example")},
        {bytes_of(b), bytes_of(one_site ? "a.example" : "b.example")},
    };
    size_t first[2], mirrored[2];
    const struct story_article turned[] = {articles[1], articles[0]};
    story_group(articles, 2, first);
    story_group(turned, 2, mirrored);
    assert_int_equal(first[0], 0);
    assert_int_equal(first[1], mirrored[1]);
    return first[1] == 0;
}

static void titles_that_are_nearly_the_same_words_are_one_story(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"Night trains break even for the first time", "Night Trains Break Even for First Time"},
        {"Harbour bridge closed after ship collision", "Ship collision: harbour bridge closed"},
        {"River opened after forty years in a pipe | City Post",
         "River opened after forty years in a pipe - The Evening Courier"},
        {"\xe2\x80\x9cWe were wrong\xe2\x80\x9d, says the ferry minister",
         "'We were wrong,' says ferry minister"},
        {"Vier Nachtz\xc3\xbcge fahren wieder nach Wien",
         "Vier Nachtz\xc3\xbcge fahren wieder nach "
         "WIEN \xe2\x80\x94 Blatt"},
        {"Council approves new tram line along the coast",
         "Council approves new tram line along northern coast"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (!same(pairs[i][0], pairs[i][1], false))
            fail_msg("not taken for one story: %s", pairs[i][0]);
    }
}

static void titles_that_only_look_alike_are_not(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"Senate passes climate bill", "Senate rejects climate bill"},
        {"What we know on day 1001 of the strike", "What we know on day 1002 of the strike"},
        {"Review: the new Kestrel 15 phone is good", "Review: the new Kestrel 16 phone is good"},
        {"Morning briefing", "Morning briefing"},
        {"The Daily - Tuesday", "The Daily - Tuesday"},
        {"", ""},
        {"... --- ...", "... --- ..."},
        {"Storm hits the north coast overnight, thousands without power",
         "Storm misses the north coast, ferries run again from Thursday"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (same(pairs[i][0], pairs[i][1], false))
            fail_msg("taken for one story: %s", pairs[i][0]);
    }
}

static void of_one_site_only_the_same_words_are_one_story(void **state)
{
    (void)state;
    assert_true(same("Night trains break even after decades",
                     "Night Trains Break Even After Decades", true));
    assert_false(same("Council approves new tram line along the coast",
                      "Council approves new tram line along northern coast", true));
}

static void a_story_does_not_wander_along_a_chain(void **state)
{
    (void)state;
    /* Each is close to the one before it, the last is far from the first. */
    const struct story_article articles[] = {
        {bytes_of("one two three four five six seven"), bytes_of("a.example")},
        {bytes_of("one two three four five six eight"), bytes_of("b.example")},
        {bytes_of("one two three four five nine eight"), bytes_of("c.example")},
        {BYTES_ABSENT, BYTES_ABSENT},
        {bytes_of("one two three four five nine eight"), bytes_of("d.example")},
    };
    size_t first[5];
    story_group(articles, 5, first);
    const size_t wanted[] = {0, 0, 2, 3, 2};
    assert_memory_equal(first, wanted, sizeof wanted);
}

static void long_and_broken_titles_are_bounded(void **state)
{
    (void)state;
    char title[20001];
    for (size_t i = 0; i < 20000; i++)
        title[i] = i % 5 == 4 ? ' ' : (char)('a' + (i / 5 + i) % 26);
    title[20000] = '\0';
    assert_true(same(title, title, false));
    memset(title, 'w', 20000);
    assert_false(same(title, title, false));
    assert_false(same("\xe2\x80", "\xe2\x80", false));
    assert_false(same("cut \xe2", "cut \xe2", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(titles_that_are_nearly_the_same_words_are_one_story),
        cmocka_unit_test(titles_that_only_look_alike_are_not),
        cmocka_unit_test(of_one_site_only_the_same_words_are_one_story),
        cmocka_unit_test(a_story_does_not_wander_along_a_chain),
        cmocka_unit_test(long_and_broken_titles_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
