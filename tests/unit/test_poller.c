/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of polling on a scripted machine, where a day passes at once: when they begin, whom they
 * leave alone, what they say. A store of a few columns keeps what the poller hands over. */
#include "source/poller.h"

#include "base/timestamp.h"
#include "http_desk.h"
#include "sys/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MINUTE       INT64_C(60000000)
#define HOUR         (60 * MINUTE)
#define STEP         INT64_C(1000000)
#define PEOPLE       3
#define BATCHES      8
#define QUESTIONS    4
#define LIST_COLUMNS 11

struct person {
    char did[40], handle[16], cursor[TIMESTAMP_TEXT_MAX], state[1024];
    bool row;
    int64_t active, status_us;
};

struct question {
    bool list;  /* else: what is stored of one person, ... */
    bool again; /* ... after what was told before */
    char after[40];
    lookup_fn *fn;
    void *arg;
};

struct desk {
    struct http_desk http; /* first: the machine */
    struct appview *appview;
    struct source_env env;
    struct poller *poller;
    struct person people[PEOPLE];
    struct batch *submitted[BATCHES];
    size_t submitted_count;
    struct question questions[QUESTIONS];
    size_t question_count;
    size_t answered;      /* requests of the desk */
    int64_t latency_us;   /* of each answer */
    const char *standing; /* of the first person; NULL: is there */
    unsigned feeds;
    bool nobody;        /* is followed */
    bool empty;         /* are all feeds */
    const char *stored; /* of everybody; NULL: nothing */
    int64_t stored_us;
    unsigned deletes;
};

/* ---- the store ---- */

static enum rc submit(void *arg, struct batch *batch)
{
    struct desk *desk = arg;
    assert_true(desk->submitted_count < BATCHES);
    desk->submitted[desk->submitted_count++] = batch;
    return RC_OK;
}

static enum rc ask(void *arg, const char *sql, const struct field *params, size_t param_count,
                   lookup_fn *fn, void *fn_arg)
{
    struct desk *desk = arg;
    assert_true(desk->question_count < QUESTIONS && param_count > 0);
    struct question *question = &desk->questions[desk->question_count++];
    *question =
        (struct question){.list = strstr(sql, "FROM follows") != NULL, .fn = fn, .arg = fn_arg};
    snprintf(question->after, sizeof question->after, "%.*s", (int)params[0].b.len,
             params[0].b.len == 0 ? "" : params[0].b.data);
    question->again = !question->list && params[param_count - 1].b.len > 0;
    return RC_OK;
}

static struct field text_field(const char *text)
{
    return *text == '\0' ? field_null(FIELD_TEXT) : field_text(bytes_of(text));
}

static void answer_question(struct desk *desk)
{
    struct field rows[PEOPLE * LIST_COLUMNS];
    struct lookup_answer answer = {.fields = rows, .columns = LIST_COLUMNS};
    struct question question = desk->questions[--desk->question_count];
    for (size_t i = 0; question.list && !desk->nobody && i < PEOPLE; i++) {
        const struct person *person = &desk->people[i];
        if (strcmp(person->did, question.after) <= 0)
            continue;
        const struct field row[LIST_COLUMNS] = {text_field(person->did),
                                                text_field(person->handle),
                                                text_field(person->row ? person->handle : ""),
                                                text_field(person->cursor),
                                                text_field(person->state),
                                                field_int(1),
                                                field_int(person->active),
                                                field_int(person->status_us),
                                                field_null(FIELD_TEXT),
                                                field_null(FIELD_INT),
                                                field_int(0)};
        memcpy(rows + answer.rows++ * LIST_COLUMNS, row, sizeof row);
    }
    if (!question.list && !question.again && desk->stored != NULL) {
        rows[0] = field_text(bytes_of("app.bsky.feed.post"));
        rows[1] = field_text(bytes_of(desk->stored));
        rows[2] = rows[3] = field_null(FIELD_TEXT);
        rows[4] = field_int(desk->stored_us);
        answer.rows = 1;
    }
    question.fn(question.arg, &answer);
}

static struct person *find(struct desk *desk, struct bytes name)
{
    for (size_t i = 0; i < PEOPLE; i++)
        if (bytes_equal_string(name, desk->people[i].did) ||
            bytes_equal_string(name, desk->people[i].handle))
            return &desk->people[i];
    fail_msg("somebody unknown is stored");
    return NULL;
}

static void copy(char *out, size_t size, struct bytes text)
{
    snprintf(out, size, "%.*s", (int)text.len, text.data);
}

static void store(struct desk *desk, struct batch *batch)
{
    for (struct record *row = batch->first[RECORD_POLL]; row != NULL; row = row->next) {
        struct person *person = find(desk, row->fields[POLL_HANDLE].b);
        person->row = true;
        if (!row->fields[POLL_CURSOR].null)
            copy(person->cursor, sizeof person->cursor, row->fields[POLL_CURSOR].b);
    }
    for (struct record *row = batch->first[RECORD_CURSOR]; row != NULL; row = row->next)
        copy(find(desk, row->fields[CURSOR_ROW_STREAM].b)->state, sizeof desk->people[0].state,
             row->fields[CURSOR_ROW_STATE].b);
    for (struct record *row = batch->first[RECORD_POST]; row != NULL; row = row->next)
        desk->deletes += row->fields[POST_OP].i == POST_OP_DELETE;
    for (struct record *row = batch->first[RECORD_ACCOUNT]; row != NULL; row = row->next) {
        struct person *person = find(desk, row->fields[ACCOUNT_DID].b);
        person->active = row->fields[ACCOUNT_ACTIVE].i;
        person->status_us = row->fields[ACCOUNT_AT_US].i;
    }
    batch->answered(batch->owner, batch, RC_OK);
}

/* ---- the AppView ---- */

static void answer_feed(struct desk *desk, size_t number)
{
    char body[1024], seen[TIMESTAMP_TEXT_MAX];
    const char *actor = strstr(desk->http.sent[number].url, "did:");
    if (strstr(desk->http.sent[number].url, "getPosts") != NULL) {
        http_desk_answer(&desk->http, number, 200, "{\"posts\":[]}");
        return;
    }
    bool gone = desk->standing != NULL && strncmp(actor, desk->people[0].did, 32) == 0;
    if (gone && strstr(desk->http.sent[number].url, "getProfile") != NULL) {
        snprintf(body, sizeof body, "{\"error\":\"%s\",\"message\":\"no\"}", desk->standing);
        http_desk_answer(&desk->http, number, 400, body);
        return;
    }
    desk->feeds++;
    if (gone) {
        http_desk_answer(&desk->http, number, 400, "{\"error\":\"InvalidRequest\"}");
        return;
    }
    if (desk->empty) {
        http_desk_answer(&desk->http, number, 200, "{\"feed\":[]}");
        return;
    }
    assert_true(timestamp_format(DESK_T0 - HOUR, seen));
    snprintf(body, sizeof body,
             "{\"feed\":[{\"post\":{\"uri\":\"at://%.32s/app.bsky.feed.post/1\",\"cid\":\"c\","
             "\"record\":{\"text\":\"t\",\"createdAt\":\"%s\"},\"indexedAt\":\"%s\"}}]}",
             actor, seen, seen);
    http_desk_answer(&desk->http, number, 200, body);
}

static void settle(struct desk *desk)
{
    bool busy = true;
    while (busy) {
        busy = desk->question_count > 0 || desk->submitted_count > 0 ||
               desk->answered < desk->http.sent_count;
        if (desk->question_count > 0)
            answer_question(desk);
        else if (desk->submitted_count > 0)
            store(desk, desk->submitted[--desk->submitted_count]);
        else if (busy) {
            http_desk_pass(&desk->http, desk->latency_us);
            answer_feed(desk, desk->answered++);
        }
    }
    if (desk->http.sent_count > DESK_SENT_MAX / 2)
        desk->http.sent_count = desk->answered = 0;
}

/* ---- the poller ---- */

static void begin(struct desk *desk, int64_t interval_us)
{
    *desk = (struct desk){0};
    http_desk_init(&desk->http);
    desk->appview = http_desk_appview(&desk->http, 16, (struct appview_pace){.backoff_ms = 1});
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = batch_pool_new(BATCHES, 65536),
                                    .submit = submit,
                                    .submit_arg = desk,
                                    .ask = ask,
                                    .ask_arg = desk};
    for (size_t i = 0; i < PEOPLE; i++) {
        snprintf(desk->people[i].did, sizeof desk->people[i].did, "did:plc:%024zu", i);
        snprintf(desk->people[i].handle, sizeof desk->people[i].handle, "p%zu.example", i);
        desk->people[i].active = 1;
    }
    desk->poller = poller_new(&desk->env, desk->appview,
                              &(struct poller_settings){.interval_us = interval_us,
                                                        .lookback_us = 24 * HOUR,
                                                        .page_size = 50,
                                                        .pages_max = 100,
                                                        .running_max = 2,
                                                        .alone = true});
}

static void finish(struct desk *desk)
{
    poller_stop(desk->poller);
    settle(desk);
    assert_true(poller_stopped(desk->poller));
    poller_free(desk->poller);
    appview_free(desk->appview);
    batch_pool_free(desk->env.pool);
    http_desk_deinit(&desk->http);
}

static void live(struct desk *desk, int64_t us)
{
    for (int64_t end = desk->http.clock.mono_us + us; desk->http.clock.mono_us < end;) {
        poller_look(desk->poller, desk->http.clock.mono_us);
        settle(desk);
        http_desk_pass(&desk->http, STEP);
    }
}

static struct poller_view view_of(const struct desk *desk)
{
    struct poller_view view;
    poller_show(desk->poller, &view);
    return view;
}

/* R000-42 */
static void a_round_begins_every_interval(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 5 * MINUTE);
    poller_allow(desk.poller, true, 0);
    live(&desk, 16 * MINUTE);
    assert_int_equal(view_of(&desk).cycles, 4); /* at 0, 5, 10 and 15 minutes */
    assert_int_equal(desk.feeds, 4 * PEOPLE);
    assert_int_equal(view_of(&desk).last.initial, 0);
    assert_int_equal(view_of(&desk).last.placed, PEOPLE);
    finish(&desk);
}

static void a_first_round_over_nobody_is_made_up_for(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, HOUR);
    poller_allow(desk.poller, true, 0);
    desk.nobody = true;
    live(&desk, MINUTE);
    assert_int_equal(view_of(&desk).cycles, 1);
    desk.nobody = false; /* the list of follows has come */
    poller_heed(desk.poller);
    live(&desk, MINUTE);
    assert_int_equal(desk.feeds, PEOPLE);
    poller_heed(desk.poller);
    live(&desk, MINUTE);
    assert_int_equal(desk.feeds, PEOPLE);
    finish(&desk);
}

/* R001-01 R001-57 */
static void nobody_is_asked_while_the_firehose_works(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 15 * MINUTE);
    poller_allow(desk.poller, false, DESK_T0);
    live(&desk, 2 * HOUR);
    assert_int_equal(desk.feeds, 0);
    poller_allow(desk.poller, true, DESK_T0 + HOUR); /* it brought everything until then */
    live(&desk, MINUTE);
    assert_int_equal(desk.feeds, PEOPLE);
    assert_int_equal(view_of(&desk).last.initial, 0);
    assert_int_equal(view_of(&desk).last.fresh, 0);
    poller_allow(desk.poller, false, DESK_T0 + 3 * HOUR);
    live(&desk, HOUR);
    assert_int_equal(desk.feeds, PEOPLE);
    finish(&desk);
}

static void a_position_ahead_of_the_clock_is_none(void **state)
{
    (void)state;
    struct desk desk;
    char seen[TIMESTAMP_TEXT_MAX];
    begin(&desk, HOUR);
    assert_true(timestamp_format(DESK_T0 + 24 * HOUR, desk.people[0].cursor));
    assert_true(timestamp_format(DESK_T0 + MINUTE / 2, desk.people[1].cursor)); /* clocks differ */
    assert_true(timestamp_format(DESK_T0 - HOUR, seen));
    desk.people[0].row = desk.people[1].row = true;
    poller_allow(desk.poller, true, 0);
    live(&desk, MINUTE);
    assert_int_equal(view_of(&desk).last.initial, 2); /* and who has none yet */
    assert_string_equal(desk.people[0].cursor, seen);
    assert_true(strcmp(desk.people[1].cursor, seen) > 0);
    live(&desk, HOUR);
    assert_int_equal(view_of(&desk).last.initial, 0);
    finish(&desk);
}

/* R000-28 */
static void who_is_gone_is_left_alone_for_a_day(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, HOUR);
    poller_allow(desk.poller, true, 0);
    desk.standing = "AccountDeactivated";
    live(&desk, HOUR);
    assert_int_equal(desk.feeds, PEOPLE);
    assert_int_equal(desk.people[0].active, 0);
    live(&desk, 22 * HOUR);
    assert_int_equal(desk.feeds, PEOPLE + 22 * (PEOPLE - 1));
    desk.standing = NULL;
    live(&desk, 2 * HOUR);
    assert_int_equal(desk.people[0].active, 1);
    assert_true(desk.people[0].cursor[0] != '\0');
    finish(&desk);
}

/* R000-60 */
static void a_slow_round_is_told(void **state)
{
    (void)state;
    struct desk desk;
    struct err err;
    char path[] = "/tmp/tidemark-poller-XXXXXX", words[4096] = "";
    close(mkstemp(path));
    assert_int_equal(log_open(&(struct log_options){.level = LOG_WARN, .file = path}, &err), RC_OK);
    begin(&desk, HOUR);
    poller_allow(desk.poller, true, 0);
    desk.latency_us = 9 * STEP;
    live(&desk, MINUTE);
    assert_true(view_of(&desk).last.took_us <= 30 * STEP);
    desk.latency_us = 11 * STEP;
    live(&desk, HOUR);
    assert_true(view_of(&desk).last.took_us > 30 * STEP);
    finish(&desk);
    log_close();
    FILE *file = fopen(path, "r");
    assert_true(fread(words, 1, sizeof words - 1, file) > 0);
    fclose(file);
    unlink(path);
    const char *first = strstr(words, "msg=slow_cycle");
    assert_non_null(first);
    assert_null(strstr(first + 1, "msg=slow_cycle"));
    assert_non_null(strstr(words, "ms=33000"));
}

/* One answer may be a mistake. */
static void a_feed_that_shows_nothing_any_more_is_believed_the_second_time(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 5 * MINUTE);
    poller_allow(desk.poller, true, 0);
    live(&desk, MINUTE);
    desk.stored = "1";
    desk.stored_us = DESK_T0 - HOUR;
    for (int round = 0; round < 2; round++) {
        desk.empty = true;
        live(&desk, 5 * MINUTE);
        assert_int_equal(desk.deletes, 0);
        desk.empty = false;
        live(&desk, 5 * MINUTE);
        assert_int_equal(desk.deletes, 0);
    }
    desk.empty = true;
    live(&desk, 10 * MINUTE);
    assert_int_equal(desk.deletes, PEOPLE);
    finish(&desk);
}

/* It came live, and the feed may be behind. */
static void what_lies_above_all_that_a_feed_shows_is_gone_the_second_time(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 5 * MINUTE);
    poller_allow(desk.poller, true, 0);
    live(&desk, MINUTE);
    desk.stored = "2";
    desk.stored_us = DESK_T0 - HOUR / 2;
    live(&desk, 5 * MINUTE);
    assert_int_equal(desk.deletes, 0);
    live(&desk, 5 * MINUTE);
    assert_int_equal(desk.deletes, PEOPLE);
    desk.stored_us = DESK_T0 - HOUR - MINUTE; /* the feed shows what came after it */
    live(&desk, 5 * MINUTE);
    assert_int_equal(desk.deletes, 2 * PEOPLE);
    finish(&desk);
}

/* Of somebody who was followed before, or heard by the firehose, there may be posts. */
static void a_first_reading_finds_what_is_gone_too(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 5 * MINUTE);
    poller_allow(desk.poller, true, 0);
    desk.stored = "2";
    desk.stored_us = DESK_T0 - HOUR - MINUTE;
    live(&desk, MINUTE);
    assert_int_equal(view_of(&desk).last.initial, PEOPLE);
    assert_int_equal(desk.deletes, PEOPLE);
    finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_begins_every_interval),
        cmocka_unit_test(a_first_round_over_nobody_is_made_up_for),
        cmocka_unit_test(nobody_is_asked_while_the_firehose_works),
        cmocka_unit_test(a_position_ahead_of_the_clock_is_none),
        cmocka_unit_test(who_is_gone_is_left_alone_for_a_day),
        cmocka_unit_test(a_slow_round_is_told),
        cmocka_unit_test(a_feed_that_shows_nothing_any_more_is_believed_the_second_time),
        cmocka_unit_test(what_lies_above_all_that_a_feed_shows_is_gone_the_second_time),
        cmocka_unit_test(a_first_reading_finds_what_is_gone_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
