/* SPDX-License-Identifier: Apache-2.0
 *
 * The lists of our accounts on a scripted machine: each test says what the AppView and the store
 * answer and looks at what was asked and written. */
#include "source/circle.h"

#include "http_desk.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_US  INT64_C(60000000)
#define SECOND_US  INT64_C(1000000)
#define REFRESH_US (60 * MINUTE_US)
#define GET        "http://a/xrpc/app.bsky."
#define NOBODY     "{\"error\":\"InvalidRequest\",\"message\":\"Profile not found\"}"

struct desk {
    struct http_desk http; /* first: the machine */
    struct appview *appview;
    struct batch_pool *pool;
    struct source_env env;
    struct circle *circle;
    struct batch *handed; /* at most one: one delivery at a time */
    /* the store */
    const char *sql;
    lookup_fn *fn;
    void *fn_arg;
    unsigned changed;
    /* what was written last, and in all */
    unsigned lines, listings, accounts;
    int64_t id, entries, degree, priority, since_us, sources_min;
    char words[256];
};

static enum rc submit(void *arg, struct batch *batch)
{
    struct desk *desk = arg;
    assert_null(desk->handed);
    desk->handed = batch;
    return RC_OK;
}

static enum rc ask_store(void *arg, const char *sql, const struct field *params, size_t count,
                         lookup_fn *fn, void *fn_arg)
{
    struct desk *desk = arg;
    assert_null(desk->fn);
    assert_true(count == 1 && !params[0].null);
    desk->sql = sql;
    desk->fn = fn;
    desk->fn_arg = fn_arg;
    return RC_OK;
}

static void changed(void *arg)
{
    ((struct desk *)arg)->changed++;
}

static void note(char *words, const struct record *record, unsigned field)
{
    if (record->fields[field].null)
        return;
    snprintf(words + strlen(words), 256 - strlen(words), "%.*s ", (int)record->fields[field].b.len,
             record->fields[field].b.data);
}

static int64_t int_or(const struct record *record, unsigned field, int64_t otherwise)
{
    return record->fields[field].null ? otherwise : record->fields[field].i;
}

/* The writer takes what it was handed. */
static void store(struct desk *desk)
{
    struct batch *batch = desk->handed;
    assert_non_null(batch);
    desk->words[0] = '\0';
    for (struct record *r = batch->first[RECORD_FOLLOW]; r != NULL; r = r->next, desk->lines++)
        note(desk->words, r, FOLLOW_DID);
    for (struct record *r = batch->first[RECORD_ACCOUNT]; r != NULL; r = r->next) {
        desk->accounts++;
        note(desk->words, r, ACCOUNT_DID);
        note(desk->words, r, ACCOUNT_STATUS);
    }
    for (struct record *r = batch->first[RECORD_LISTING]; r != NULL; r = r->next) {
        desk->listings++;
        note(desk->words, r, LISTING_OWNER);
        desk->id = int_or(r, LISTING_ID, -1);
        desk->degree = int_or(r, LISTING_DEGREE, -1);
        desk->entries = int_or(r, LISTING_ENTRIES, -1);
        desk->priority = int_or(r, LISTING_PRIORITY, -1);
        desk->since_us = int_or(r, LISTING_SINCE_US, -1);
        desk->sources_min = int_or(r, LISTING_SOURCES_MIN, -1);
    }
    desk->handed = NULL;
    batch->answered(batch->owner, batch, RC_OK);
}

/* The store answers with `rows` rows of `columns` texts; a NULL is a null, "0" and "1" numbers. */
static void rows(struct desk *desk, size_t count, size_t columns, const char *const *texts)
{
    struct field fields[64];
    assert_true(count * columns <= 64);
    for (size_t i = 0; i < count * columns; i++) {
        bool number = texts[i] != NULL && strlen(texts[i]) == 1;
        fields[i] = number ? field_int(texts[i][0] - '0') : field_text(bytes_of(texts[i]));
    }
    lookup_fn *fn = desk->fn;
    assert_non_null(fn);
    desk->fn = NULL;
    fn(desk->fn_arg, &(struct lookup_answer){.fields = fields, .columns = columns, .rows = count});
    http_desk_pass(&desk->http, 0);
}

static void begin(struct desk *desk, struct circle_options options)
{
    *desk = (struct desk){.pool = batch_pool_new(4, 1 << 17)};
    http_desk_init(&desk->http);
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = desk->pool,
                                    .submit = submit,
                                    .submit_arg = desk,
                                    .ask = ask_store,
                                    .ask_arg = desk};
    desk->appview = http_desk_appview(&desk->http, 8, (struct appview_pace){.backoff_ms = 1000});
    options.tuning = (struct circle_tuning){
        .refresh_us = REFRESH_US, .backfill = true, .lookback_us = 5 * MINUTE_US};
    options.changed = changed;
    options.arg = desk;
    desk->circle = circle_new(&desk->env, desk->appview, &options);
}

static void start(struct desk *desk)
{
    circle_start(desk->circle);
    http_desk_pass(&desk->http, 0);
}

static void finish(struct desk *desk)
{
    circle_stop(desk->circle);
    if (desk->fn != NULL)
        rows(desk, 0, 0, NULL);
    if (desk->handed != NULL)
        store(desk);
    assert_true(circle_stopped(desk->circle));
    appview_free(desk->appview);
    circle_free(desk->circle);
    assert_int_equal(batch_pool_left(desk->pool), 4);
    batch_pool_free(desk->pool);
    http_desk_deinit(&desk->http);
}

static void begin_did(struct desk *desk)
{
    begin(desk,
          (struct circle_options){.actors = (const char *const[]){"did:plc:me"}, .actor_count = 1});
}

/* Answers the last request, and lets what follows from it happen. */
static void answer(struct desk *desk, int status, const char *body)
{
    http_desk_answer(&desk->http, desk->http.sent_count - 1, status, body);
    http_desk_pass(&desk->http, 0);
}

static const char *last_url(const struct desk *desk)
{
    return desk->http.sent[desk->http.sent_count - 1].url;
}

/* R001-44 */
static void a_list_is_read_page_by_page_and_then_stands(void **state)
{
    (void)state;
    struct desk desk;
    begin_did(&desk);
    start(&desk);
    assert_string_equal(last_url(&desk), GET "graph.getFollows?actor=did:plc:me&limit=100");
    answer(&desk, 200,
           "{\"follows\":[{\"did\":\"did:plc:a\",\"handle\":\"a.example\"},"
           "{\"did\":\"did:plc:b\"}],\"cursor\":\"next\"}");
    assert_int_equal(desk.http.sent_count, 1); /* what was read is stored first */
    store(&desk);
    assert_string_equal(desk.words, "did:plc:a did:plc:b ");
    assert_string_equal(last_url(&desk),
                        GET "graph.getFollows?actor=did:plc:me&limit=100&cursor=next");
    answer(&desk, 200,
           "{\"follows\":[{\"did\":\"did:plc:b\"},{\"did\":\"did:plc:c\"}]}"); /* it moved */
    store(&desk);
    assert_string_equal(desk.words, "did:plc:c ");
    assert_int_equal(desk.listings, 0);
    rows(&desk, 0, 0, NULL);
    store(&desk);
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
    answer(&desk, 200, "{\"follows\":[]}");
    rows(&desk, 0, 0, NULL);
    store(&desk);
    assert_int_equal(desk.priority, BACKFILL_FOR_FOLLOW);
    circle_refresh(desk.circle); /* an operator does not wait */
    http_desk_pass(&desk.http, 0);
    assert_int_equal(desk.http.sent_count, 4);
    circle_refresh(desk.circle); /* ... and may have changed the list that is being read */
    answer(&desk, 200, "{\"follows\":[]}");
    rows(&desk, 0, 0, NULL);
    store(&desk);
    http_desk_pass(&desk.http, 0);
    assert_int_equal(desk.http.sent_count, 5);
    finish(&desk);
}

/* R001-97 */
static void another_interval_holds_at_once(void **state)
{
    (void)state;
    struct desk desk;
    begin_did(&desk);
    start(&desk);
    answer(&desk, 200, "{\"follows\":[]}");
    rows(&desk, 0, 0, NULL);
    store(&desk);
    http_desk_pass(&desk.http, 0);
    circle_tune(desk.circle, &(struct circle_tuning){.refresh_us = MINUTE_US});
    http_desk_pass(&desk.http, MINUTE_US - 1);
    assert_int_equal(desk.http.sent_count, 1);
    http_desk_pass(&desk.http, 1);
    assert_int_equal(desk.http.sent_count, 2);
    answer(&desk, 200, "{\"follows\":[]}");
    rows(&desk, 0, 0, NULL);
    store(&desk);
    assert_int_equal(desk.since_us, -1); /* and nobody's history is read any more */
    finish(&desk);
}

/* R001-52 */
static void a_list_that_breaks_off_is_never_ended(void **state)
{
    (void)state;
    static const char *const bad[] = {"<html>", "{\"follows\":7}",
                                      "{\"follows\":[{\"handle\":\"x.example\"}]}",
                                      "{\"follows\":[],\"cursor\":\"next\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct desk desk;
        begin_did(&desk);
        start(&desk);
        answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"}],\"cursor\":\"next\"}");
        store(&desk);
        answer(&desk, 200, bad[i]);
        assert_null(desk.handed);
        assert_int_equal(desk.changed, 0);
        size_t sent = desk.http.sent_count;
        http_desk_pass(&desk.http, 10 * DESK_MS * 1000); /* then it is begun anew */
        assert_int_equal(desk.http.sent_count, sent + 1);
        assert_null(strstr(last_url(&desk), "cursor"));
        finish(&desk);
    }
}

/* R001-46 R001-47 */
static void handles_are_found_by_the_25_and_only_once(void **state)
{
    (void)state;
    struct desk desk;
    static char names[60][24];
    static const char *actors[60];
    for (int i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "u%d.example", i);
        actors[i] = names[i];
    }
    begin(&desk, (struct circle_options){.actors = actors, .actor_count = 60});
    start(&desk);
    static const int asked[] = {25, 25, 10};
    for (size_t i = 0; i < 3; i++) {
        int count = 0;
        for (const char *at = last_url(&desk); (at = strstr(at, "actors=")) != NULL; at++)
            count++;
        assert_int_equal(count, asked[i]);
        answer(&desk, 200, "{\"profiles\":[]}");
    }
    assert_int_equal(desk.http.sent_count, 3);
    http_desk_pass(&desk.http, 10 * DESK_MS * 1000);
    answer(&desk, 200, "{\"profiles\":[{\"did\":\"did:plc:me\",\"handle\":\"U0.example\"}]}");
    circle_refresh(desk.circle);
    size_t met = desk.http.sent_count;
    while (strstr(last_url(&desk), "getFollows") == NULL && met++ < 20)
        answer(&desk, 200, "{\"profiles\":[]}");
    assert_string_equal(last_url(&desk), GET "graph.getFollows?actor=did:plc:me&limit=100");
    finish(&desk);
}

static void what_the_store_knows_needs_no_question(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk,
          (struct circle_options){.actors = (const char *const[]){"me.example"}, .actor_count = 1});
    struct field mine[] = {field_text(bytes_of("did:plc:me")), field_text(bytes_of("me.example")),
                           field_int(7)};
    struct field other[] = {field_text(bytes_of("did:plc:x")), field_text(bytes_of("x.example")),
                            field_int(7)};
    assert_true(circle_load_row(desk.circle, mine, 3));
    assert_true(circle_load_row(desk.circle, other, 3));
    start(&desk);
    store(&desk); /* who is no longer ours goes first, with the list */
    assert_string_equal(desk.words, "did:plc:x ");
    assert_int_equal(desk.degree, 0);
    assert_int_equal(desk.changed, 1);
    http_desk_pass(&desk.http, 0);
    assert_string_equal(last_url(&desk), GET "graph.getFollows?actor=did:plc:me&limit=100");
    finish(&desk);
}

/* Else no list is taken until the clock is where it was. */
static void after_a_clock_was_set_back_a_list_is_newer_all_the_same(void **state)
{
    (void)state;
    struct desk desk;
    int64_t stored = DESK_T0 + 3600 * SECOND_US;
    begin_did(&desk);
    struct field mine[] = {field_text(bytes_of("did:plc:me")), field_text(bytes_of("did:plc:me")),
                           field_int(stored)};
    assert_true(circle_load_row(desk.circle, mine, 3));
    start(&desk);
    for (int i = 1; i <= 3; i++) {
        answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"}]}");
        assert_int_equal(desk.handed->first[RECORD_FOLLOW]->fields[FOLLOW_LISTING].i, stored + i);
        store(&desk);
        rows(&desk, 0, 0, NULL);
        store(&desk);
        assert_int_equal(desk.id, stored + i);
        /* Histories are read back from now. */
        assert_int_equal(desk.since_us, desk_wall_us(&desk.http.clock.runtime) - 5 * MINUTE_US);
        desk.http.clock.back_us += 60 * MINUTE_US;
        circle_refresh(desk.circle);
        http_desk_pass(&desk.http, 0);
    }
    finish(&desk);
}

/* R001-51 R001-28 */
static void of_those_missing_only_the_deactivated_stay(void **state)
{
    (void)state;
    struct desk desk;
    static const char *const stored[][5] = {
        {"did:plc:alive", "alive.example", NULL, NULL, NULL},
        {"did:plc:away", "away.example", NULL, "1", NULL},
        {"did:plc:back", "back.example", NULL, "0", "deactivated"},
        {"did:plc:down", "down.example", "Down", NULL, NULL},
        {"did:plc:gone", "gone.example", NULL, NULL, NULL},
        {"did:plc:known", "known.example", NULL, "0", "takendown"},
        {"did:plc:dead", "dead.example", NULL, "0", "deleted"},
    };
    begin_did(&desk);
    start(&desk);
    answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:back\"}]}");
    store(&desk);
    rows(&desk, 7, 5, &stored[0][0]);
    assert_string_equal(last_url(&desk),
                        GET "actor.getProfiles?actors=did:plc:alive&actors=did:plc:away"
                            "&actors=did:plc:down&actors=did:plc:gone");
    answer(&desk, 200, "{\"profiles\":[{\"did\":\"did:plc:alive\"}]}");
    assert_string_equal(last_url(&desk), GET "actor.getProfile?actor=did:plc:away");
    answer(&desk, 400, "{\"error\":\"AccountDeactivated\",\"message\":\"\"}");
    answer(&desk, 400, "{\"error\":\"AccountTakedown\",\"message\":\"\"}");
    answer(&desk, 400, NOBODY);
    store(&desk);
    assert_string_equal(desk.words,
                        "did:plc:away did:plc:down did:plc:known did:plc:away deactivated "
                        "did:plc:back did:plc:down takendown did:plc:gone deleted "
                        "did:plc:dead deleted did:plc:me ");
    assert_int_equal(desk.entries, 4); /* with the one on the list */
    assert_int_equal(desk.accounts, 5);
    finish(&desk);
}

static void nobody_goes_while_the_appview_cannot_tell_why(void **state)
{
    (void)state;
    struct desk desk;
    static const char *const stored[] = {"did:plc:a", "a.example", NULL, NULL, NULL};
    begin_did(&desk);
    start(&desk);
    answer(&desk, 200, "{\"follows\":[]}");
    rows(&desk, 1, 5, stored);
    answer(&desk, 200, "{\"profiles\":[]}");
    answer(&desk, 503, "");
    assert_null(desk.handed);
    assert_int_equal(desk.listings, 0);
    struct circle_view view;
    circle_look(desk.circle, &view);
    assert_int_equal(view.actors, 1);
    assert_int_equal(view.listed, 0);
    assert_int_equal(view.in_trouble, 1);
    finish(&desk);
}

static void the_second_degree_is_read_when_ours_are_done(void **state)
{
    (void)state;
    struct desk desk;
    static const char *const owners[] = {"did:plc:a", "did:plc:b"};
    begin(&desk, (struct circle_options){.actors = (const char *const[]){"did:plc:me"},
                                         .actor_count = 1,
                                         .second_degree = true,
                                         .sources_min = 2,
                                         .second_max = 9});
    start(&desk);
    answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:a\"},{\"did\":\"did:plc:b\"}]}");
    store(&desk);
    rows(&desk, 0, 0, NULL);
    store(&desk);
    assert_int_equal(desk.sources_min, -1);
    http_desk_pass(&desk.http, 0);
    rows(&desk, 2, 1, owners);
    assert_string_equal(last_url(&desk), GET "graph.getFollows?actor=did:plc:a&limit=100");
    answer(&desk, 200, "{\"follows\":[{\"did\":\"did:plc:x\"}]}");
    store(&desk);
    store(&desk);
    assert_int_equal(desk.degree, 2);
    assert_int_equal(desk.sources_min, -1);
    http_desk_pass(&desk.http, 0);
    rows(&desk, 1, 1, owners + 1); /* the last one: then it is counted */
    answer(&desk, 400, NOBODY);    /* whoever cannot be listed follows nobody */
    store(&desk);
    assert_int_equal(desk.entries, 0);
    assert_int_equal(desk.sources_min, 2);
    assert_int_equal(desk.changed, 2);
    http_desk_pass(&desk.http, 0);
    rows(&desk, 0, 0, NULL);
    http_desk_pass(&desk.http, MINUTE_US);
    assert_null(desk.fn);
    finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_page_by_page_and_then_stands),
        cmocka_unit_test(another_interval_holds_at_once),
        cmocka_unit_test(a_list_that_breaks_off_is_never_ended),
        cmocka_unit_test(handles_are_found_by_the_25_and_only_once),
        cmocka_unit_test(what_the_store_knows_needs_no_question),
        cmocka_unit_test(after_a_clock_was_set_back_a_list_is_newer_all_the_same),
        cmocka_unit_test(of_those_missing_only_the_deactivated_stay),
        cmocka_unit_test(nobody_goes_while_the_appview_cannot_tell_why),
        cmocka_unit_test(the_second_degree_is_read_when_ours_are_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
