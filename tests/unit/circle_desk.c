/* SPDX-License-Identifier: Apache-2.0 */
#include "circle_desk.h"

#include <stdio.h>
#include <string.h>

static enum rc submit(void *arg, struct batch *batch)
{
    struct circle_desk *desk = arg;
    assert_null(desk->handed);
    desk->handed = batch;
    return RC_OK;
}

static enum rc ask_store(void *arg, const char *sql, const struct field *params, size_t count,
                         lookup_fn *fn, void *fn_arg)
{
    struct circle_desk *desk = arg;
    assert_null(desk->fn);
    assert_true(count == 1 && !params[0].null);
    desk->sql = sql;
    desk->fn = fn;
    desk->fn_arg = fn_arg;
    return RC_OK;
}

static void changed(void *arg)
{
    ((struct circle_desk *)arg)->changed++;
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

void circle_desk_store(struct circle_desk *desk)
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

void circle_desk_rows(struct circle_desk *desk, size_t count, size_t columns,
                      const char *const *texts)
{
    struct field fields[128];
    assert_true(count * columns <= 128);
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

void circle_desk_begin_with(struct circle_desk *desk, struct circle_options options,
                            size_t appviews)
{
    struct err err;
    struct appview_options asked = {
        .endpoints = (const char *const[]){"http://a", "http://b"},
        .endpoint_count = appviews,
        .asks_max = 8,
        .pace = {.backoff_ms = 1000, .retries_max = (uint32_t)appviews - 1}};
    *desk = (struct circle_desk){.pool = batch_pool_new(4, 1 << 17)};
    http_desk_init(&desk->http);
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = desk->pool,
                                    .submit = submit,
                                    .submit_arg = desk,
                                    .ask = ask_store,
                                    .ask_arg = desk};
    assert_int_equal(appview_new(&desk->http.clock.runtime, &asked, &desk->appview, &err), RC_OK);
    options.tuning = (struct circle_tuning){
        .refresh_us = REFRESH_US, .backfill = true, .lookback_us = 5 * MINUTE_US};
    options.changed = changed;
    options.arg = desk;
    desk->circle = circle_new(&desk->env, desk->appview, &options);
}

void circle_desk_begin(struct circle_desk *desk, struct circle_options options)
{
    circle_desk_begin_with(desk, options, 1);
}

void circle_desk_start(struct circle_desk *desk)
{
    circle_start(desk->circle);
    http_desk_pass(&desk->http, 0);
}

void circle_desk_finish(struct circle_desk *desk)
{
    circle_stop(desk->circle);
    if (desk->fn != NULL)
        circle_desk_rows(desk, 0, 0, NULL);
    if (desk->handed != NULL)
        circle_desk_store(desk);
    assert_true(circle_stopped(desk->circle));
    appview_free(desk->appview);
    circle_free(desk->circle);
    assert_int_equal(batch_pool_left(desk->pool), 4);
    batch_pool_free(desk->pool);
    http_desk_deinit(&desk->http);
}

void circle_desk_begin_did(struct circle_desk *desk)
{
    circle_desk_begin(desk, (struct circle_options){.actors = (const char *const[]){"did:plc:me"},
                                                    .actor_count = 1});
}

void circle_desk_answer(struct circle_desk *desk, int status, const char *body)
{
    http_desk_answer(&desk->http, desk->http.sent_count - 1, status, body);
    http_desk_pass(&desk->http, 0);
}

const char *circle_desk_last_url(const struct circle_desk *desk)
{
    return desk->http.sent[desk->http.sent_count - 1].url;
}
