/* SPDX-License-Identifier: Apache-2.0
 *
 * The lists of our accounts on a scripted machine: each test says what the AppView and the store
 * answer and looks at what was asked and written. */
#include "circle_desk.h"

#include <stdio.h>
#include <string.h>

#define GET    "http://a/xrpc/app.bsky."
#define NOBODY "{\"error\":\"InvalidRequest\",\"message\":\"Profile not found\"}"

/* R001-44 */
static void a_list_is_read_page_by_page_and_then_stands(void **state)
{
    (void)state;
    struct circle_desk desk;
    circle_desk_begin_did(&desk);
    circle_desk_start(&desk);
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:me&limit=100");
    circle_desk_answer(&desk, 200,
                       "{\"follows\":[{\"did\":\"did:plc:a\",\"handle\":\"a.example\"},"
                       "{\"did\":\"did:plc:b\"}],\"cursor\":\"next\"}");
    assert_int_equal(desk.http.sent_count, 1); /* what was read is stored first */
    circle_desk_store(&desk);
    assert_string_equal(desk.words, "did:plc:a did:plc:b ");
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:me&limit=100&cursor=next");
    circle_desk_answer(
        &desk, 200,
        "{\"follows\":[{\"did\":\"did:plc:b\"},{\"did\":\"did:plc:c\"}]}"); /* it moved */
    circle_desk_store(&desk);
    assert_string_equal(desk.words, "did:plc:c ");
    assert_int_equal(desk.listings, 0);
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    assert_int_equal(desk.listings, 1);
    assert_int_equal(desk.entries, 3);
    assert_int_equal(desk.degree, 1);
    assert_int_equal(desk.priority, BACKFILL_FOR_START);
    assert_int_equal(desk.since_us, DESK_T0 - 5 * MINUTE_US);
    assert_int_equal(desk.changed, 1);
    http_desk_pass(&desk.http, REFRESH_US - 1);
    assert_int_equal(desk.http.sent_count, 2);
    http_desk_pass(&desk.http, 1);
    assert_int_equal(desk.http.sent_count, 3);
    circle_desk_answer(&desk, 200, "{\"follows\":[]}");
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    assert_int_equal(desk.priority, BACKFILL_FOR_FOLLOW);
    circle_refresh(desk.circle); /* an operator does not wait */
    http_desk_pass(&desk.http, 0);
    assert_int_equal(desk.http.sent_count, 4);
    circle_refresh(desk.circle); /* ... and may have changed the list that is being read */
    circle_desk_answer(&desk, 200, "{\"follows\":[]}");
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    http_desk_pass(&desk.http, 0);
    assert_int_equal(desk.http.sent_count, 5);
    circle_desk_finish(&desk);
}

/* R001-97 */
static void another_interval_holds_at_once(void **state)
{
    (void)state;
    struct circle_desk desk;
    circle_desk_begin_did(&desk);
    circle_desk_start(&desk);
    circle_desk_answer(&desk, 200, "{\"follows\":[]}");
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    http_desk_pass(&desk.http, 0);
    circle_tune(desk.circle, &(struct circle_tuning){.refresh_us = MINUTE_US});
    http_desk_pass(&desk.http, MINUTE_US - 1);
    assert_int_equal(desk.http.sent_count, 1);
    http_desk_pass(&desk.http, 1);
    assert_int_equal(desk.http.sent_count, 2);
    circle_desk_answer(&desk, 200, "{\"follows\":[]}");
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    assert_int_equal(desk.since_us, -1); /* and nobody's history is read any more */
    circle_desk_finish(&desk);
}

/* R001-52 */
static void a_list_that_breaks_off_is_never_ended(void **state)
{
    (void)state;
    static const char *const bad[] = {"<html>", "{\"follows\":7}",
                                      "{\"follows\":[{\"handle\":\"x.example\"}]}",
                                      "{\"follows\":[],\"cursor\":\"next\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct circle_desk desk;
        circle_desk_begin_did(&desk);
        circle_desk_start(&desk);
        circle_desk_answer(&desk, 200,
                           "{\"follows\":[{\"did\":\"did:plc:a\"}],\"cursor\":\"next\"}");
        circle_desk_store(&desk);
        circle_desk_answer(&desk, 200, bad[i]);
        assert_null(desk.handed);
        assert_int_equal(desk.changed, 0);
        size_t sent = desk.http.sent_count;
        http_desk_pass(&desk.http, 10 * DESK_MS * 1000); /* then it is begun anew */
        assert_int_equal(desk.http.sent_count, sent + 1);
        assert_null(strstr(circle_desk_last_url(&desk), "cursor"));
        circle_desk_finish(&desk);
    }
}

/* Its tokens mean something else to another AppView, or nothing. */
static void a_list_that_one_appview_breaks_off_is_not_ended_by_another(void **state)
{
    (void)state;
    struct circle_desk desk;
    circle_desk_begin_with(
        &desk,
        (struct circle_options){.actors = (const char *const[]){"did:plc:me"}, .actor_count = 1},
        2);
    circle_desk_start(&desk);
    circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"}],\"cursor\":\"2\"}");
    circle_desk_store(&desk);
    circle_desk_answer(&desk, 503, "");
    http_desk_pass(&desk.http, SECOND_US); /* the same one is asked once more */
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:me&limit=100&cursor=2");
    circle_desk_answer(&desk, 503, "");
    assert_null(desk.handed);
    assert_int_equal(desk.listings, 0);
    size_t sent = desk.http.sent_count;
    http_desk_pass(&desk.http, 10 * SECOND_US);
    assert_int_equal(desk.http.sent_count, sent + 1);
    assert_string_equal(circle_desk_last_url(&desk),
                        "http://b/xrpc/app.bsky.graph.getFollows?actor=did:plc:me&limit=100");
    circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"}],\"cursor\":\"1\"}");
    circle_desk_store(&desk);
    assert_non_null(strstr(circle_desk_last_url(&desk), "http://b/"));
    circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:b\"}]}");
    circle_desk_store(&desk);
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    assert_int_equal(desk.listings, 1);
    assert_int_equal(desk.entries, 2);
    circle_desk_finish(&desk);
}

/* Each page leads to another, and none has anybody new. */
static void a_list_that_goes_round_in_circles_is_given_up(void **state)
{
    (void)state;
    struct circle_desk desk;
    const unsigned many = 1100;
    unsigned asked = 0;
    circle_desk_begin_did(&desk);
    circle_desk_start(&desk);
    circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"}],\"cursor\":\"0\"}");
    circle_desk_store(&desk);
    while (asked < many && strstr(circle_desk_last_url(&desk), "cursor=") != NULL) {
        circle_desk_answer(&desk, 200,
                           asked++ % 2 == 0
                               ? "{\"follows\":[{\"did\":\"did:plc:a\"}],\"cursor\":\"1\"}"
                               : "{\"follows\":[],\"cursor\":\"0\"}");
        http_desk_pass(&desk.http, 10 * DESK_MS * 1000);
        if (desk.http.sent_count == DESK_SENT_MAX) { /* those before the last are answered */
            desk.http.sent[0] = desk.http.sent[DESK_SENT_MAX - 1];
            desk.http.sent_count = 1;
        }
    }
    assert_true(asked < many); /* it is begun anew by now */
    assert_int_equal(desk.changed, 0);
    circle_desk_finish(&desk);
}

/* R001-46 R001-47 */
static void handles_are_found_by_the_25_and_only_once(void **state)
{
    (void)state;
    struct circle_desk desk;
    static char names[60][24];
    static const char *actors[60];
    for (int i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "u%d.example", i);
        actors[i] = names[i];
    }
    circle_desk_begin(&desk, (struct circle_options){.actors = actors, .actor_count = 60});
    circle_desk_start(&desk);
    static const int asked[] = {25, 25, 10};
    for (size_t i = 0; i < 3; i++) {
        int count = 0;
        for (const char *at = circle_desk_last_url(&desk); (at = strstr(at, "actors=")) != NULL;
             at++)
            count++;
        assert_int_equal(count, asked[i]);
        circle_desk_answer(&desk, 200, "{\"profiles\":[]}");
    }
    assert_int_equal(desk.http.sent_count, 3);
    http_desk_pass(&desk.http, 10 * DESK_MS * 1000);
    circle_desk_answer(&desk, 200,
                       "{\"profiles\":[{\"did\":\"did:plc:me\",\"handle\":\"U0.example\"}]}");
    circle_refresh(desk.circle);
    size_t met = desk.http.sent_count;
    while (strstr(circle_desk_last_url(&desk), "getFollows") == NULL && met++ < 20)
        circle_desk_answer(&desk, 200, "{\"profiles\":[]}");
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:me&limit=100");
    circle_desk_finish(&desk);
}

static void what_the_store_knows_needs_no_question(void **state)
{
    (void)state;
    struct circle_desk desk;
    circle_desk_begin(&desk, (struct circle_options){.actors = (const char *const[]){"me.example"},
                                                     .actor_count = 1});
    struct field mine[] = {field_text(bytes_of("did:plc:me")), field_text(bytes_of("me.example")),
                           field_int(7)};
    struct field other[] = {field_text(bytes_of("did:plc:x")), field_text(bytes_of("x.example")),
                            field_int(7)};
    assert_true(circle_load_row(desk.circle, mine, 3));
    assert_true(circle_load_row(desk.circle, other, 3));
    circle_desk_start(&desk);
    circle_desk_store(&desk); /* who is no longer ours goes first, with the list */
    assert_string_equal(desk.words, "did:plc:x ");
    assert_int_equal(desk.degree, 0);
    assert_int_equal(desk.changed, 1);
    http_desk_pass(&desk.http, 0);
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:me&limit=100");
    circle_desk_finish(&desk);
}

/* Else no list is taken until the clock is where it was. */
static void after_a_clock_was_set_back_a_list_is_newer_all_the_same(void **state)
{
    (void)state;
    struct circle_desk desk;
    int64_t stored = DESK_T0 + 3600 * SECOND_US;
    circle_desk_begin_did(&desk);
    struct field mine[] = {field_text(bytes_of("did:plc:me")), field_text(bytes_of("did:plc:me")),
                           field_int(stored)};
    assert_true(circle_load_row(desk.circle, mine, 3));
    circle_desk_start(&desk);
    for (int i = 1; i <= 3; i++) {
        circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"}]}");
        assert_int_equal(desk.handed->first[RECORD_FOLLOW]->fields[FOLLOW_LISTING].i, stored + i);
        circle_desk_store(&desk);
        circle_desk_rows(&desk, 0, 0, NULL);
        circle_desk_store(&desk);
        assert_int_equal(desk.id, stored + i);
        /* Histories are read back from now. */
        assert_int_equal(desk.since_us, desk_wall_us(&desk.http.clock.runtime) - 5 * MINUTE_US);
        desk.http.clock.back_us += 60 * MINUTE_US;
        circle_refresh(desk.circle);
        http_desk_pass(&desk.http, 0);
    }
    circle_desk_finish(&desk);
}

/* R001-51 R001-28 */
static void of_those_missing_only_the_deactivated_stay(void **state)
{
    (void)state;
    struct circle_desk desk;
    static const char *const stored[][5] = {
        {"did:plc:alive", "alive.example", NULL, NULL, NULL},
        {"did:plc:away", "away.example", NULL, "1", NULL},
        {"did:plc:back", "back.example", NULL, "0", "deactivated"},
        {"did:plc:down", "down.example", "Down", NULL, NULL},
        {"did:plc:gone", "gone.example", NULL, NULL, NULL},
        {"did:plc:known", "known.example", NULL, "0", "takendown"},
        {"did:plc:dead", "dead.example", NULL, "0", "deleted"},
    };
    circle_desk_begin_did(&desk);
    circle_desk_start(&desk);
    circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:back\"}]}");
    circle_desk_store(&desk);
    circle_desk_rows(&desk, 7, 5, &stored[0][0]);
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "actor.getProfiles?actors=did:plc:alive&actors=did:plc:away"
                            "&actors=did:plc:down&actors=did:plc:gone");
    circle_desk_answer(&desk, 200, "{\"profiles\":[{\"did\":\"did:plc:alive\"}]}");
    assert_string_equal(circle_desk_last_url(&desk), GET "actor.getProfile?actor=did:plc:away");
    circle_desk_answer(&desk, 400, "{\"error\":\"AccountDeactivated\",\"message\":\"\"}");
    circle_desk_answer(&desk, 400, "{\"error\":\"AccountTakedown\",\"message\":\"\"}");
    circle_desk_answer(&desk, 400, NOBODY);
    circle_desk_store(&desk);
    assert_string_equal(desk.words,
                        "did:plc:away did:plc:down did:plc:known did:plc:away deactivated "
                        "did:plc:back did:plc:down takendown did:plc:gone deleted "
                        "did:plc:dead deleted did:plc:me ");
    assert_int_equal(desk.entries, 4); /* with the one on the list */
    assert_int_equal(desk.accounts, 5);
    circle_desk_finish(&desk);
}

static void nobody_goes_while_the_appview_cannot_tell_why(void **state)
{
    (void)state;
    struct circle_desk desk;
    static const char *const stored[] = {"did:plc:a", "a.example", NULL, NULL, NULL};
    circle_desk_begin_did(&desk);
    circle_desk_start(&desk);
    circle_desk_answer(&desk, 200, "{\"follows\":[]}");
    circle_desk_rows(&desk, 1, 5, stored);
    circle_desk_answer(&desk, 200, "{\"profiles\":[]}");
    circle_desk_answer(&desk, 503, "");
    assert_null(desk.handed);
    assert_int_equal(desk.listings, 0);
    struct circle_view view;
    circle_look(desk.circle, &view);
    assert_int_equal(view.actors, 1);
    assert_int_equal(view.listed, 0);
    assert_int_equal(view.in_trouble, 1);
    circle_desk_finish(&desk);
}

static void the_second_degree_is_read_when_ours_are_done(void **state)
{
    (void)state;
    struct circle_desk desk;
    static const char *const owners[] = {"did:plc:a", "did:plc:b"};
    circle_desk_begin(&desk, (struct circle_options){.actors = (const char *const[]){"did:plc:me"},
                                                     .actor_count = 1,
                                                     .second_degree = true,
                                                     .sources_min = 2,
                                                     .second_max = 9});
    circle_desk_start(&desk);
    circle_desk_answer(&desk, 200,
                       "{\"follows\":[{\"did\":\"did:plc:a\"},{\"did\":\"did:plc:b\"}]}");
    circle_desk_store(&desk);
    circle_desk_rows(&desk, 0, 0, NULL);
    circle_desk_store(&desk);
    assert_int_equal(desk.sources_min, -1);
    http_desk_pass(&desk.http, 0);
    circle_desk_rows(&desk, 2, 1, owners);
    assert_string_equal(circle_desk_last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:a&limit=100");
    circle_desk_answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:x\"}]}");
    circle_desk_store(&desk);
    circle_desk_store(&desk);
    assert_int_equal(desk.degree, 2);
    assert_int_equal(desk.sources_min, -1);
    http_desk_pass(&desk.http, 0);
    circle_desk_rows(&desk, 1, 1, owners + 1); /* the last one: then it is counted */
    circle_desk_answer(&desk, 400, NOBODY);    /* whoever cannot be listed follows nobody */
    circle_desk_store(&desk);
    assert_int_equal(desk.entries, 0);
    assert_int_equal(desk.sources_min, 2);
    assert_int_equal(desk.changed, 2);
    http_desk_pass(&desk.http, 0);
    circle_desk_rows(&desk, 0, 0, NULL);
    http_desk_pass(&desk.http, MINUTE_US);
    assert_null(desk.fn);
    circle_desk_finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_page_by_page_and_then_stands),
        cmocka_unit_test(another_interval_holds_at_once),
        cmocka_unit_test(a_list_that_breaks_off_is_never_ended),
        cmocka_unit_test(a_list_that_one_appview_breaks_off_is_not_ended_by_another),
        cmocka_unit_test(a_list_that_goes_round_in_circles_is_given_up),
        cmocka_unit_test(handles_are_found_by_the_25_and_only_once),
        cmocka_unit_test(what_the_store_knows_needs_no_question),
        cmocka_unit_test(after_a_clock_was_set_back_a_list_is_newer_all_the_same),
        cmocka_unit_test(of_those_missing_only_the_deactivated_stay),
        cmocka_unit_test(nobody_goes_while_the_appview_cannot_tell_why),
        cmocka_unit_test(the_second_degree_is_read_when_ours_are_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
