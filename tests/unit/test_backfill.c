/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of histories on a scripted machine, where hours pass at once: how many are read at a
 * time, how long that takes, and what people are told meanwhile. */
#include "source/backfill.h"

#include "http_desk.h"
#include "sys/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND       INT64_C(1000000)
#define MINUTE       (60 * SECOND)
#define HOUR         (60 * MINUTE)
#define STEP         (SECOND / 5)
#define PEOPLE       342
#define ACCOUNT_US   (34 * SECOND) /* what the reading of one takes */
#define BATCHES      24
#define QUESTIONS    4
#define PICK_COLUMNS 12

struct question {
    enum { PICK, COUNT, STORED, NOBODY } what;
    int64_t limit;
    lookup_fn *fn;
    void *arg;
};

struct desk {
    struct http_desk http; /* first: the machine */
    struct appview *appview;
    struct source_env env;
    struct backfill *backfill;
    char dids[PEOPLE][40];
    bool done[PEOPLE];
    size_t left;
    size_t counting; /* the first ones count: what they share is to be heard ... */
    bool heard;      /* ... and is */
    struct batch *submitted[BATCHES];
    size_t submitted_count;
    struct question questions[QUESTIONS];
    size_t question_count;
    int64_t due_us[DESK_SENT_MAX]; /* of the answers */
    size_t timed;                  /* requests that have one */
    unsigned under_way_max;
    bool circular;    /* every page of a feed leads to another one */
    unsigned turns;   /* such pages */
    bool compare;     /* one live post of everybody is stored, which no feed shows */
    int64_t later_us; /* nobody is to be read before */
    char state[1024]; /* of the feed */
    unsigned deletes, moves;
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
    assert_true(desk->question_count < QUESTIONS);
    struct question *question = &desk->questions[desk->question_count++];
    *question = (struct question){.what = NOBODY, .fn = fn, .arg = fn_arg};
    if (strcmp(sql, "SELECT count(*) FROM backfill_queue") == 0) {
        question->what = COUNT;
    } else if (strstr(sql, "FROM backfill_queue q LEFT JOIN") != NULL) {
        assert_int_equal(param_count, 5);
        question->what = PICK;
        question->limit = params[1].i;
    } else if (strstr(sql, "JOIN post p") != NULL && params[param_count - 1].b.len == 0) {
        question->what = STORED;
    }
    return RC_OK;
}

static size_t list_queue(const struct desk *desk, int64_t limit, struct field *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < PEOPLE && count < (size_t)limit; i++) {
        if (desk->done[i] || desk->later_us > DESK_T0 + desk->http.clock.mono_us)
            continue;
        struct field *row = rows + count++ * PICK_COLUMNS;
        for (size_t k = 0; k < PICK_COLUMNS; k++)
            row[k] = field_null(FIELD_TEXT);
        row[0] = field_text(bytes_of(desk->dids[i]));
        row[1] = field_int(BACKFILL_FOR_START);
        row[2] = field_int(DESK_T0 - 24 * HOUR);
        row[4] = row[6] = field_int(0); /* attempts, commits */
        row[7] = field_int(desk->compare);
        row[8] = field_int(1); /* active */
        if (desk->state[0] != '\0')
            row[5] = field_text(bytes_of(desk->state));
        row[11] = field_int(i < desk->counting);
    }
    return count;
}

static void answer_question(struct desk *desk)
{
    struct field rows[2 * BACKFILL_RUNNING_MAX * PICK_COLUMNS];
    struct question question = desk->questions[--desk->question_count];
    struct lookup_answer answer = {.fields = rows, .columns = 1};
    if (question.what == COUNT) {
        rows[0] = field_int((int64_t)desk->left);
        answer.rows = 1;
    } else if (question.what == PICK) {
        answer.columns = PICK_COLUMNS;
        answer.rows = list_queue(desk, question.limit, rows);
    } else if (question.what == STORED && desk->compare) {
        rows[0] = field_text(bytes_of("app.bsky.feed.post"));
        rows[1] = rows[2] = field_text(bytes_of("r1"));
        rows[3] = field_null(FIELD_TEXT);
        rows[4] = field_int(DESK_T0 - HOUR);
        answer.rows = 1;
    }
    question.fn(question.arg, &answer);
}

static void store(struct desk *desk, struct batch *batch)
{
    for (struct record *row = batch->first[RECORD_CURSOR]; desk->compare && row != NULL;
         row = row->next)
        snprintf(desk->state, sizeof desk->state, "%.*s", (int)row->fields[CURSOR_ROW_STATE].b.len,
                 row->fields[CURSOR_ROW_STATE].b.data);
    for (struct record *row = batch->first[RECORD_POST]; row != NULL; row = row->next)
        desk->deletes += row->fields[POST_OP].i == POST_OP_DELETE;
    for (struct record *row = batch->first[RECORD_BACKFILL]; !desk->circular && row != NULL;
         row = row->next) {
        if (desk->compare && row->fields[BACKFILL_OP].i == BACKFILL_OP_MOVE) {
            desk->later_us = row->fields[BACKFILL_NEXT_US].i;
            desk->moves++;
            continue;
        }
        assert_int_equal(row->fields[BACKFILL_OP].i, BACKFILL_OP_DONE);
        size_t i = 0;
        while (!bytes_equal_string(row->fields[BACKFILL_DID].b, desk->dids[i]))
            i++;
        assert_false(desk->done[i]); /* nobody is read twice */
        desk->done[i] = true;
        desk->left--;
    }
    batch->answered(batch->owner, batch, RC_OK);
}

/* ---- the AppView: every reading is one page, which takes its time ---- */

/* At once: page A names page B, and B names A. */
static void answer_in_circles(struct desk *desk)
{
    size_t last = desk->http.sent_count - 1;
    if (desk->http.sent_count == 0 || desk->http.sent[last].done == NULL)
        return;
    if (last + 1 == DESK_SENT_MAX) { /* those before it are answered */
        desk->http.sent[0] = desk->http.sent[last];
        desk->http.sent_count = 1;
        last = 0;
    }
    http_desk_answer(&desk->http, last, 200,
                     desk->turns++ % 2 == 0 ? "{\"feed\":[],\"cursor\":\"A\"}"
                                            : "{\"feed\":[],\"cursor\":\"B\"}");
}

static void answer_feeds(struct desk *desk)
{
    unsigned under_way = 0;
    if (desk->circular) {
        answer_in_circles(desk);
        return;
    }
    for (; desk->timed < desk->http.sent_count; desk->timed++)
        desk->due_us[desk->timed] = desk->http.clock.mono_us + ACCOUNT_US;
    for (size_t i = 0; i < desk->http.sent_count; i++)
        under_way += desk->http.sent[i].done != NULL;
    if (under_way > desk->under_way_max)
        desk->under_way_max = under_way;
    for (size_t i = 0; i < desk->timed; i++)
        if (desk->http.sent[i].done != NULL && desk->due_us[i] <= desk->http.clock.mono_us)
            http_desk_answer(&desk->http, i, 200,
                             strstr(desk->http.sent[i].url, "getPosts") != NULL ? "{\"posts\":[]}"
                                                                                : "{\"feed\":[]}");
}

static void settle(struct desk *desk)
{
    do {
        if (desk->question_count > 0)
            answer_question(desk);
        else if (desk->submitted_count > 0)
            store(desk, desk->submitted[--desk->submitted_count]);
        answer_feeds(desk);
    } while (desk->question_count > 0 || desk->submitted_count > 0);
}

/* ---- the backfill ---- */

static bool hears(void *arg, struct bytes did)
{
    const struct desk *desk = arg;
    assert_int_equal(did.len, strlen(desk->dids[0]));
    return desk->heard;
}

static void begin(struct desk *desk, size_t people, uint32_t workers)
{
    struct err err;
    const char *endpoint = "http://a";
    *desk = (struct desk){.left = people};
    http_desk_init(&desk->http);
    struct appview_options options = {
        .endpoints = &endpoint,
        .endpoint_count = 1,
        .asks_max = 64,
        .pace = {.spacing_ms = 100, .flights_max = workers, .backoff_ms = 1}};
    assert_int_equal(appview_new(&desk->http.clock.runtime, &options, &desk->appview, &err), RC_OK);
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = batch_pool_new(BATCHES, 65536),
                                    .submit = submit,
                                    .submit_arg = desk,
                                    .ask = ask,
                                    .ask_arg = desk};
    for (size_t i = 0; i < PEOPLE; i++) {
        snprintf(desk->dids[i], sizeof desk->dids[i], "did:plc:%024zu", i);
        desk->done[i] = i >= people;
    }
    desk->backfill = backfill_new(&desk->env, desk->appview,
                                  &(struct backfill_settings){.page_size = 50,
                                                              .running_max = workers,
                                                              .lookback_us = 24 * HOUR,
                                                              .follows = true,
                                                              .hears = hears,
                                                              .hears_arg = desk});
    backfill_release(desk->backfill);
}

static void live(struct desk *desk)
{
    backfill_look(desk->backfill, desk->http.clock.mono_us);
    settle(desk);
    http_desk_pass(&desk->http, STEP);
    settle(desk);
}

/* Until everybody was read; how long that took. */
static int64_t work_off(struct desk *desk)
{
    while (desk->left > 0) {
        assert_true(desk->http.clock.mono_us < 5 * HOUR);
        live(desk);
    }
    int64_t took_us = desk->http.clock.mono_us;
    for (int i = 0; i < 20; i++) /* it finds that nothing is left */
        live(desk);
    return took_us;
}

static void finish(struct desk *desk)
{
    backfill_stop(desk->backfill);
    settle(desk);
    assert_true(backfill_stopped(desk->backfill));
    backfill_free(desk->backfill);
    appview_free(desk->appview);
    batch_pool_free(desk->env.pool);
    http_desk_deinit(&desk->http);
}

/* R001-68: 342 accounts, 34 s each. */
static void ten_at_a_time_a_cold_start_ends_in_twenty_minutes(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, PEOPLE, 10);
    int64_t took_us = work_off(&desk);
    printf("342 accounts, 10 at a time: %.1f minutes\n", (double)took_us / (double)MINUTE);
    assert_int_equal(desk.under_way_max, 10);
    assert_true(took_us <= 20 * MINUTE);
    finish(&desk);
    begin(&desk, PEOPLE, 1);
    took_us = work_off(&desk);
    printf("one at a time: %.2f hours\n", (double)took_us / (double)HOUR);
    assert_int_equal(desk.under_way_max, 1);
    assert_true(took_us >= PEOPLE * ACCOUNT_US);
    assert_true(took_us <= HOUR * 33 / 10);
    finish(&desk);
}

/* What the log says of `people` accounts. */
static void read_log_of(size_t people, uint32_t workers, char *words, size_t size)
{
    struct desk desk;
    struct err err;
    char path[] = "/tmp/tidemark-backfill-XXXXXX";
    close(mkstemp(path));
    assert_int_equal(log_open(&(struct log_options){.level = LOG_INFO, .file = path}, &err), RC_OK);
    begin(&desk, people, workers);
    work_off(&desk);
    finish(&desk);
    log_close();
    FILE *file = fopen(path, "r");
    words[fread(words, 1, size - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static unsigned count_of(const char *words, const char *what)
{
    unsigned count = 0;
    for (; (words = strstr(words, what)) != NULL; words++)
        count++;
    return count;
}

static void a_long_reading_is_told_of_each_minute_and_when_it_ends(void **state)
{
    (void)state;
    static char words[65536];
    read_log_of(PEOPLE, 10, words, sizeof words);
    unsigned lines = count_of(words, "msg=progress");
    assert_in_range(lines, 18, 20); /* twenty minutes of them */
    assert_non_null(strstr(words, "component=backfill done=10 left=332 per_minute=10 "));
    assert_int_equal(count_of(words, "msg=finished"), 1);
    assert_non_null(strstr(words, "component=backfill done=342 left=0 per_minute=17 "));
}

static void many_at_once_are_told_of_by_the_hundred(void **state)
{
    (void)state;
    static char words[65536];
    read_log_of(PEOPLE, 60, words, sizeof words);
    unsigned lines = count_of(words, "msg=progress");
    assert_in_range(lines, 4, 6); /* three and a half minutes, three hundreds */
    assert_int_equal(count_of(words, "msg=finished"), 1);
}

static void a_short_reading_is_not_worth_a_word(void **state)
{
    (void)state;
    char words[4096];
    read_log_of(5, 10, words, sizeof words);
    assert_string_equal(words, "");
}

/* Else what is shared after the reading, and before it is heard, is in neither. */
static void nobody_is_read_before_what_is_shared_from_then_on_is_heard(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 5, 10);
    desk.counting = 3;
    for (int i = 0; i < 50; i++)
        live(&desk);
    for (size_t i = 0; i < desk.http.sent_count; i++)
        for (size_t k = 0; k < desk.counting; k++)
            assert_null(strstr(desk.http.sent[i].url, desk.dids[k]));
    assert_int_equal(desk.http.sent_count, 2); /* nobody waits for what strangers share */
    desk.heard = true;
    work_off(&desk);
    assert_int_equal(desk.http.sent_count, 5);
    finish(&desk);
}

static void a_feed_that_goes_round_in_circles_is_given_up(void **state)
{
    (void)state;
    struct desk desk;
    struct backfill_view view = {0};
    begin(&desk, 1, 1);
    desk.circular = true;
    while (view.failed == 0 && desk.turns < 1100) {
        live(&desk);
        backfill_show(desk.backfill, &view);
    }
    assert_int_equal(view.failed, 1);
    finish(&desk);
}

/* One empty answer may be a mistake: nothing is deleted for it, and nothing is called read. */
static void a_feed_that_shows_nothing_is_read_again_before_it_is_believed(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, 1, 1);
    desk.compare = true;
    while (desk.moves == 0) {
        assert_true(desk.http.clock.mono_us < HOUR);
        live(&desk);
    }
    assert_int_equal(desk.deletes, 0);
    assert_int_equal(desk.left, 1);
    assert_true(desk.later_us >= DESK_T0 + desk.http.clock.mono_us + MINUTE);
    int64_t took_us = work_off(&desk);
    assert_true(took_us >= 2 * MINUTE);
    assert_int_equal(desk.deletes, 1);
    assert_int_equal(desk.moves, 1);
    assert_null(strstr(desk.state, "doubt"));
    finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_at_a_time_a_cold_start_ends_in_twenty_minutes),
        cmocka_unit_test(a_long_reading_is_told_of_each_minute_and_when_it_ends),
        cmocka_unit_test(many_at_once_are_told_of_by_the_hundred),
        cmocka_unit_test(a_short_reading_is_not_worth_a_word),
        cmocka_unit_test(nobody_is_read_before_what_is_shared_from_then_on_is_heard),
        cmocka_unit_test(a_feed_that_goes_round_in_circles_is_given_up),
        cmocka_unit_test(a_feed_that_shows_nothing_is_read_again_before_it_is_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
