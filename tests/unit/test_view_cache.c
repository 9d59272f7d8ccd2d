/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of the last moments: which one is given, and how many are kept. */
#include "serve/view_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    *state = view_cache_new();
    return 0;
}

static int tear_down(void **state)
{
    view_cache_free(*state);
    return 0;
}

static void keep(struct view_cache *cache, const char *name, int64_t begun_us, const char *page)
{
    view_cache_keep(cache, bytes_of(name), begun_us, bytes_of(page));
}

static bool gives(struct view_cache *cache, const char *name, int64_t since_us, const char *page)
{
    struct text out = {0};
    bool found = view_cache_find(cache, bytes_of(name), since_us, &out);
    bool same = found && strcmp(text_string(&out), page) == 0;
    text_free(&out);
    return same;
}

static void the_newest_of_a_name_is_given_if_it_is_new_enough(void **state)
{
    keep(*state, "/", 100, "first");
    assert_true(gives(*state, "/", 100, "first"));
    assert_false(gives(*state, "/", 101, "first"));
    assert_false(gives(*state, "/?hours=1", 0, "first"));
    keep(*state, "/", 200, "second");
    keep(*state, "/", 150, "begun before, made later");
    assert_true(gives(*state, "/", 200, "second"));
}

static void the_one_made_longest_ago_makes_room(void **state)
{
    char name[24];
    for (int i = 0; i <= VIEW_CACHE_PAGES; i++) {
        snprintf(name, sizeof name, "/?hours=%d", i + 1);
        keep(*state, name, i + 1, name);
    }
    assert_false(gives(*state, "/?hours=1", 0, "/?hours=1"));
    assert_true(gives(*state, "/?hours=2", 0, "/?hours=2"));
    assert_true(gives(*state, name, 0, name));
}

static void a_large_page_is_not_kept(void **state)
{
    struct text page = {0};
    memset(text_reserve(&page, VIEW_CACHE_PAGE_BYTES + 1), 'x', VIEW_CACHE_PAGE_BYTES + 1);
    struct bytes large = bytes_make(page.data, VIEW_CACHE_PAGE_BYTES + 1);
    struct text out = {0};
    view_cache_keep(*state, bytes_of("/"), 1, large);
    assert_false(view_cache_find(*state, bytes_of("/"), 0, &out));
    large.len--;
    view_cache_keep(*state, bytes_of("/"), 1, large);
    assert_true(view_cache_find(*state, bytes_of("/"), 0, &out));
    assert_int_equal(out.len, VIEW_CACHE_PAGE_BYTES);
    text_free(&out);
    text_free(&page);
}

int main(void)
{
#define ON_CACHE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_CACHE(the_newest_of_a_name_is_given_if_it_is_new_enough),
        ON_CACHE(the_one_made_longest_ago_makes_room),
        ON_CACHE(a_large_page_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
