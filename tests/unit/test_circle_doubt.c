/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists from which nearly everybody is gone: whose word counts, and when. */
#include "circle_desk.h"

#include <stdio.h>
#include <string.h>

#define CROWD 20

/* The list as `provider` gives it, with `count` of the crowd that was on it before. */
static void list_crowd(struct circle_desk *desk, const char *provider, int count)
{
    static char dids[CROWD][24];
    const char *stored[CROWD][5] = {{NULL}};
    struct text page = {0};
    text_append_string(&page, "{\"follows\":[");
    for (int i = 0; i < CROWD; i++) {
        snprintf(dids[i], sizeof dids[i], "did:plc:c%02d", i);
        stored[i][0] = stored[i][1] = dids[i];
        if (i < count)
            text_appendf(&page, "%s{\"did\":\"%s\"}", i > 0 ? "," : "", dids[i]);
    }
    text_append_string(&page, "]}");
    assert_non_null(strstr(circle_desk_last_url(desk), "getFollows"));
    assert_int_equal(strncmp(circle_desk_last_url(desk), provider, strlen(provider)), 0);
    circle_desk_answer(desk, 200, text_string(&page));
    if (count > 0)
        circle_desk_store(desk);
    circle_desk_rows(desk, CROWD, 5, &stored[0][0]);
    text_free(&page);
}

static bool is_asked_why(const struct circle_desk *desk)
{
    return strstr(circle_desk_last_url(desk), "getProfiles") != NULL;
}

static void begin_crowd(struct circle_desk *desk, size_t appviews)
{
    circle_desk_begin_with(
        desk,
        (struct circle_options){.actors = (const char *const[]){"did:plc:me"}, .actor_count = 1},
        appviews);
    circle_desk_start(desk);
}

/* One answer without an account may be a fault of the AppView. */
static void a_list_that_lost_nearly_all_is_believed_when_it_is_read_again(void **state)
{
    (void)state;
    static const int left[] = {0, CROWD / 2 - 1};
    for (size_t i = 0; i < 2; i++) {
        struct circle_desk desk;
        struct circle_view view;
        begin_crowd(&desk, 1);
        list_crowd(&desk, "http://a", left[i]);
        assert_false(is_asked_why(&desk));
        circle_look(desk.circle, &view);
        assert_int_equal(view.in_trouble, 1);
        size_t sent = desk.http.sent_count;
        http_desk_pass(&desk.http, REFRESH_US - 1); /* a fault may last for a while */
        assert_int_equal(desk.http.sent_count, sent);
        http_desk_pass(&desk.http, 1);
        list_crowd(&desk, "http://a", CROWD); /* it was one */
        circle_desk_store(&desk);
        assert_int_equal(desk.entries, CROWD);
        http_desk_pass(&desk.http, REFRESH_US);
        list_crowd(&desk, "http://a", left[i]);
        assert_false(is_asked_why(&desk));
        http_desk_pass(&desk.http, REFRESH_US);
        list_crowd(&desk, "http://a", left[i]); /* it is meant */
        assert_true(is_asked_why(&desk));
        assert_int_equal(desk.changed, 1);
        circle_desk_finish(&desk);
    }
}

static void a_list_that_lost_half_is_believed_at_once(void **state)
{
    (void)state;
    struct circle_desk desk;
    begin_crowd(&desk, 2);
    list_crowd(&desk, "http://a", CROWD / 2);
    assert_true(is_asked_why(&desk));
    circle_desk_finish(&desk);
}

static void of_two_appviews_the_other_one_is_asked(void **state)
{
    (void)state;
    struct circle_desk desk;
    begin_crowd(&desk, 2);
    list_crowd(&desk, "http://a", 0);
    http_desk_pass(&desk.http, 10 * SECOND_US);
    list_crowd(&desk, "http://b", CROWD);
    circle_desk_store(&desk);
    assert_int_equal(desk.entries, CROWD);
    http_desk_pass(&desk.http, REFRESH_US);
    list_crowd(&desk, "http://a", 0);
    http_desk_pass(&desk.http, 10 * SECOND_US);
    assert_non_null(strstr(circle_desk_last_url(&desk), "http://b"));
    circle_desk_answer(&desk, 503, "");
    list_crowd(&desk, "http://a", 0); /* which is nobody else */
    assert_false(is_asked_why(&desk));
    http_desk_pass(&desk.http, 30 * SECOND_US);
    list_crowd(&desk, "http://b", 0);
    assert_true(is_asked_why(&desk));
    assert_int_equal(desk.changed, 1);
    circle_desk_finish(&desk);
}

/* One that is gone for good must not keep a list as it was for ever. */
static void a_list_that_only_one_can_give_is_believed_in_the_end(void **state)
{
    (void)state;
    struct circle_desk desk;
    int readings = 1;
    begin_crowd(&desk, 2);
    for (list_crowd(&desk, "http://a", 0); !is_asked_why(&desk); readings++) {
        assert_true(readings < 20);
        size_t sent = desk.http.sent_count;
        for (int i = 0; i < 700 && desk.http.sent_count == sent; i++)
            http_desk_pass(&desk.http, SECOND_US);
        if (strstr(circle_desk_last_url(&desk), "http://b") != NULL)
            circle_desk_answer(&desk, 503, "");
        list_crowd(&desk, "http://a", 0);
    }
    assert_int_equal(readings, 9);
    assert_true(desk.http.clock.mono_us >= 30 * MINUTE_US);
    circle_desk_finish(&desk);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_that_lost_nearly_all_is_believed_when_it_is_read_again),
        cmocka_unit_test(a_list_that_lost_half_is_believed_at_once),
        cmocka_unit_test(of_two_appviews_the_other_one_is_asked),
        cmocka_unit_test(a_list_that_only_one_can_give_is_believed_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
