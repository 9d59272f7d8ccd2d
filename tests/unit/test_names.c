/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and pictures on a scripted machine. */
#include "source/names.h"

#include "http_desk.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)

struct desk {
    struct http_desk http;
    struct appview *appview;
    struct batch_pool *pool;
    struct source_env env;
    struct names *names;
    struct batch *handed;
    lookup_fn *fn;
    void *fn_arg;
    int64_t before_us;
};

static enum rc submit(void *arg, struct batch *batch)
{
    ((struct desk *)arg)->handed = batch;
    return RC_OK;
}

static enum rc ask_store(void *arg, const char *sql, const struct field *params, size_t count,
                         lookup_fn *fn, void *fn_arg)
{
    struct desk *desk = arg;
    assert_true(strstr(sql, "LIMIT 25") != NULL && count == 1 && desk->fn == NULL);
    desk->before_us = params[0].i;
    desk->fn = fn;
    desk->fn_arg = fn_arg;
    return RC_OK;
}

static void begin(struct desk *desk)
{
    *desk = (struct desk){.pool = batch_pool_new(1, 1 << 17)};
    http_desk_init(&desk->http);
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = desk->pool,
                                    .submit = submit,
                                    .submit_arg = desk,
                                    .ask = ask_store,
                                    .ask_arg = desk};
    desk->appview = http_desk_appview(&desk->http, 2, (struct appview_pace){.backoff_ms = 1000});
    desk->names = names_new(&desk->env, desk->appview);
    names_start(desk->names);
    http_desk_pass(&desk->http, MINUTE_US);
}

static void rows(struct desk *desk, size_t count, const struct field *dids)
{
    lookup_fn *fn = desk->fn;
    assert_non_null(fn);
    desk->fn = NULL;
    fn(desk->fn_arg, &(struct lookup_answer){.fields = dids, .columns = 1, .rows = count});
}

static void finish(struct desk *desk)
{
    names_stop(desk->names);
    if (desk->fn != NULL)
        rows(desk, 0, NULL);
    assert_true(names_stopped(desk->names));
    appview_free(desk->appview);
    names_free(desk->names);
    assert_int_equal(batch_pool_left(desk->pool), 1);
    batch_pool_free(desk->pool);
    http_desk_deinit(&desk->http);
}

static struct batch *taken(struct desk *desk)
{
    struct batch *batch = desk->handed;
    assert_non_null(batch);
    desk->handed = NULL;
    return batch;
}

static void those_without_names_are_asked_for_together(void **state)
{
    (void)state;
    struct desk desk;
    struct field dids[] = {field_text(bytes_of("did:plc:a")), field_text(bytes_of("did:plc:b"))};
    begin(&desk);
    assert_int_equal(desk.before_us, DESK_T0 + MINUTE_US - 1440 * MINUTE_US);
    rows(&desk, 2, dids);
    assert_string_equal(desk.http.sent[0].url, "http://a/xrpc/app.bsky.actor.getProfiles"
                                               "?actors=did:plc:a&actors=did:plc:b");
    http_desk_answer(&desk.http, 0, 200,
                     "{\"profiles\":[{\"did\":\"did:plc:b\",\"handle\":\"b.example\","
                     "\"displayName\":\"B\",\"avatar\":\"https://x/y\"},{\"did\":\"did:plc:x\"}]}");
    struct batch *batch = taken(&desk);
    const struct record *known = batch->first[RECORD_PROFILE], *unknown = known->next;
    assert_int_equal(batch->record_count, 2);
    assert_true(bytes_equal_string(known->fields[PROFILE_DID].b, "did:plc:b"));
    assert_true(bytes_equal_string(known->fields[PROFILE_DISPLAY_NAME].b, "B"));
    assert_true(bytes_equal_string(known->fields[PROFILE_AVATAR].b, "https://x/y"));
    /* Whoever is not shown is remembered as asked for, and nothing is taken away. */
    assert_true(bytes_equal_string(unknown->fields[PROFILE_DID].b, "did:plc:a"));
    assert_true(unknown->fields[PROFILE_HANDLE].null);
    assert_int_equal(unknown->fields[PROFILE_AT_US].i, DESK_T0 + MINUTE_US);
    batch->answered(batch->owner, batch, RC_OK);
    http_desk_pass(&desk.http, MINUTE_US - 1);
    assert_null(desk.fn);
    http_desk_pass(&desk.http, 1);
    assert_non_null(desk.fn);
    finish(&desk);
}

static void a_full_round_is_followed_by_the_next_at_once(void **state)
{
    (void)state;
    struct desk desk;
    static char names[25][16];
    struct field dids[25];
    for (int i = 0; i < 25; i++) {
        snprintf(names[i], sizeof names[i], "did:plc:%d", i);
        dids[i] = field_text(bytes_of(names[i]));
    }
    begin(&desk);
    rows(&desk, 25, dids);
    http_desk_answer(&desk.http, 0, 200, "{\"profiles\":[]}");
    struct batch *batch = taken(&desk);
    assert_int_equal(batch->record_count, 25);
    batch->answered(batch->owner, batch, RC_OK);
    http_desk_pass(&desk.http, 0);
    rows(&desk, 25, dids);
    http_desk_answer(&desk.http, 1, 503, ""); /* nothing is written, and it waits */
    assert_null(desk.handed);
    http_desk_pass(&desk.http, MINUTE_US);
    assert_non_null(desk.fn);
    finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_without_names_are_asked_for_together),
        cmocka_unit_test(a_full_round_is_followed_by_the_next_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
