/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of follows as the daemon reads it again: page by page, whole or not at all, and once
 * more after a while when it could not be read. The store is played here, the source too. */
#include "daemon_follows.h"

#include "source/jetstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_ROWS 10000
#define ID_SIZE   24

struct desk {
    struct runtime runtime;
    struct source_env env;
    struct follows follows;
    struct timer *armed;
    lookup_fn *fn; /* of the question that waits; NULL: none does */
    char behind[ID_SIZE];
    size_t stored, asked;
    bool full; /* no question is taken */
    size_t told, added, removed;
};

static struct desk *desk;

void jetstream_change_follows(struct source *source, const struct bytes *added, size_t added_count,
                              const struct bytes *removed, size_t removed_count)
{
    (void)source;
    (void)added;
    (void)removed;
    desk->told++;
    desk->added = added_count;
    desk->removed = removed_count;
}

static void arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    (void)runtime;
    assert_true(delay_us > 0);
    desk->armed = timer;
}

static void disarm(struct runtime *runtime, struct timer *timer)
{
    (void)runtime;
    (void)timer;
    desk->armed = NULL;
}

static enum rc take_question(void *arg, const struct lookup_question *question, lookup_fn *fn,
                             void *fn_arg)
{
    (void)arg;
    assert_ptr_equal(fn_arg, &desk->follows);
    assert_true(question->param_count == 1 && !question->params[0].null);
    if (desk->full)
        return RC_AGAIN;
    assert_null(desk->fn);
    snprintf(desk->behind, sizeof desk->behind, "%.*s", (int)question->params[0].b.len,
             question->params[0].b.data);
    desk->fn = fn;
    desk->asked++;
    return RC_OK;
}

/* The page that was asked for, of as many as are stored. */
static void answer_page(void)
{
    static char ids[PAGE_ROWS][ID_SIZE];
    static struct field fields[PAGE_ROWS];
    struct lookup_answer answer = {.rc = RC_OK, .fields = fields, .columns = 1};
    lookup_fn *fn = desk->fn;
    size_t first = *desk->behind == '\0' ? 0 : strtoul(desk->behind + 8, NULL, 10) + 1;
    for (size_t i = first; i < desk->stored && answer.rows < PAGE_ROWS; i++) {
        int len = snprintf(ids[answer.rows], ID_SIZE, "did:web:%08zu", i);
        fields[answer.rows] = field_text(bytes_make(ids[answer.rows], (size_t)len));
        answer.rows++;
    }
    desk->fn = NULL;
    fn(&desk->follows, &answer);
}

static void answer_all(void)
{
    while (desk->fn != NULL)
        answer_page();
}

static void refuse(void)
{
    struct lookup_answer answer = {.rc = RC_RETRY, .err = {"the store is away"}};
    lookup_fn *fn = desk->fn;
    desk->fn = NULL;
    fn(&desk->follows, &answer);
}

static int open_desk(void **state)
{
    static struct source source;
    static const struct runtime_ops ops = {.timer_arm = arm, .timer_disarm = disarm};
    static struct desk room;
    room = (struct desk){.runtime = {.ops = &ops}};
    desk = &room;
    room.env = (struct source_env){.runtime = &room.runtime, .ask_steadily = take_question};
    follows_init(&room.follows, &room.env, 7);
    follows_tell(&room.follows, &source);
    room.told = 0;
    *state = desk;
    return 0;
}

static int close_desk(void **state)
{
    (void)state;
    follows_deinit(&desk->follows);
    assert_null(desk->armed);
    return 0;
}

static void a_list_of_many_pages_is_told_once(void **state)
{
    (void)state;
    desk->stored = 2 * PAGE_ROWS; /* the last page is full: one more tells that it was the last */
    follows_refresh(&desk->follows);
    answer_all();
    assert_int_equal(desk->asked, 3);
    assert_int_equal(desk->told, 1);
    assert_int_equal(desk->added, 2 * PAGE_ROWS);
    desk->stored = PAGE_ROWS + 5;
    follows_refresh(&desk->follows);
    answer_all();
    assert_int_equal(desk->told, 2);
    assert_int_equal(desk->added, 0);
    assert_int_equal(desk->removed, PAGE_ROWS - 5);
}

static void half_a_list_changes_nothing_and_is_read_again(void **state)
{
    (void)state;
    desk->stored = PAGE_ROWS + 1;
    follows_refresh(&desk->follows);
    answer_page();
    refuse();
    assert_int_equal(desk->told, 0);
    assert_non_null(desk->armed);
    desk->armed->fn(desk->armed->arg);
    assert_null(desk->armed);
    assert_string_equal(desk->behind, "");
    answer_all();
    assert_int_equal(desk->added, PAGE_ROWS + 1);
}

static void a_store_with_too_many_questions_is_asked_later(void **state)
{
    (void)state;
    desk->stored = 3;
    desk->full = true;
    follows_refresh(&desk->follows);
    assert_true(desk->asked == 0 && desk->armed != NULL);
    desk->full = false;
    desk->armed->fn(desk->armed->arg);
    answer_all();
    assert_int_equal(desk->added, 3);
}

static void what_changes_while_it_is_read_is_read_again(void **state)
{
    (void)state;
    desk->stored = 3;
    follows_refresh(&desk->follows);
    follows_refresh(&desk->follows);
    follows_refresh(&desk->follows);
    answer_page();
    desk->stored = 4;
    assert_non_null(desk->fn);
    answer_all();
    assert_int_equal(desk->asked, 2);
    assert_int_equal(desk->told, 2);
    assert_int_equal(desk->added, 1);
}

static void one_who_is_expected_and_not_known_is_looked_for(void **state)
{
    (void)state;
    desk->stored = 2;
    follows_refresh(&desk->follows);
    answer_all();
    follows_expect(&desk->follows, bytes_of("did:web:00000001"));
    assert_int_equal(desk->asked, 1);
    follows_expect(&desk->follows, bytes_of("did:web:00000002"));
    follows_expect(&desk->follows, bytes_of("did:web:00000002")); /* it is being read already */
    refuse();
    follows_expect(&desk->follows, bytes_of("did:web:00000002")); /* it will be, in a while */
    assert_int_equal(desk->asked, 2);
    desk->stored = 3;
    desk->armed->fn(desk->armed->arg);
    answer_all();
    assert_int_equal(desk->asked, 3);
    assert_int_equal(desk->added, 1);
    follows_expect(&desk->follows, bytes_of("did:web:00000002"));
    assert_int_equal(desk->asked, 3);
}

#define ON_DESK(test_) cmocka_unit_test_setup_teardown(test_, open_desk, close_desk)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DESK(a_list_of_many_pages_is_told_once),
        ON_DESK(half_a_list_changes_nothing_and_is_read_again),
        ON_DESK(a_store_with_too_many_questions_is_asked_later),
        ON_DESK(what_changes_while_it_is_read_is_read_again),
        ON_DESK(one_who_is_expected_and_not_known_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
