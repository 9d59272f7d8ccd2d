/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses as words. */
#include "base/address_words.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void expect_words(const char *url, const char *words)
{
    struct text out = {0};
    address_words_append(bytes_of(url), &out);
    assert_string_equal(text_string(&out), words);
    text_free(&out);
}

static void the_site_and_the_last_part_of_the_path_are_told(void **state)
{
    (void)state;
    expect_words("https://www.e.example/2026/11/the-tide-turns.html?x=1#top",
                 "e.example: the tide turns");
    expect_words("http://e.example:8080/a_b+c/", "e.example: a b c");
    expect_words("https://e.example/news/article-name/12345", "e.example: article name");
    expect_words("https://e.example/12345", "e.example: 12345");
    expect_words("https://e.example/caf%C3%A9%20au--lait", "e.example: caf\xc3\xa9 au lait");
}

static void an_address_without_a_path_is_its_site(void **state)
{
    (void)state;
    expect_words("https://e.example", "e.example");
    expect_words("https://e.example/?q=a/b", "e.example");
    expect_words("https://e.example//--/", "e.example");
}

static void nothing_in_an_address_makes_it_look_like_another(void **state)
{
    (void)state;
    expect_words("https://bank.example@evil.example/login", "evil.example: login");
    expect_words("https://bank.example:x@evil.example:1/", "evil.example");
    expect_words("https://e.example/a%00b%0Ac%7fd", "e.example: a b c d");
    expect_words("https://e.example/%ff%", "e.example: \xef\xbf\xbd%");
    expect_words("https://e.example/%zz%4", "e.example: %zz%4");
    expect_words("javascript:alert(1)", "javascript:alert(1)");
    expect_words("https:///a", "https:///a");
    expect_words("", "");
}

static void expect_redirect(const char *location, const char *words)
{
    char out[ADDRESS_REDIRECT_MAX];
    address_redirect_words(location == NULL ? BYTES_ABSENT : bytes_of(location), out);
    assert_string_equal(out, words);
}

/* Where it leads comes from a stranger, and path and query may hold the key that was sent. */
static void a_redirect_is_told_by_its_host_alone(void **state)
{
    (void)state;
    expect_redirect("https://e.example/v2/KEY?apikey=KEY", ", to https://e.example");
    expect_redirect("HTTP://E.example:8080", ", to http://E.example:8080");
    expect_redirect("http://me:KEY@[::1]:80#x", ", to http://[::1]:80");
    expect_redirect("http://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi.ipfs."
                    "localhost:8080/x",
                    ", to http://...lqabf3oclgtqy55fbzdi.ipfs.localhost:8080");
    expect_redirect("/v2/KEY", ", to another path");
    expect_redirect("v2", ", to another path");
    expect_redirect("//e.example/v2", ", to e.example");
    expect_redirect("https://e.exa\x1b[31mmple/", ", to a place without a name");
    expect_redirect("https:///x", ", to a place without a name");
    expect_redirect("ftp://e.example/", ", to a place without a name");
    expect_redirect("", "");
    expect_redirect(NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_site_and_the_last_part_of_the_path_are_told),
        cmocka_unit_test(an_address_without_a_path_is_its_site),
        cmocka_unit_test(a_redirect_is_told_by_its_host_alone),
        cmocka_unit_test(nothing_in_an_address_makes_it_look_like_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
