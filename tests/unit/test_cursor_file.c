/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_cursor_file.h"
#include "sys/small_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

struct desk {
    char folder[64], path[128];
    struct loop *loop;
    struct worker_pool *workers;
    struct cursor_file file;
};

static void open_desk(struct desk *desk, int64_t every_seconds)
{
    struct err err;
    snprintf(desk->folder, sizeof desk->folder, "/tmp/tidemark-cursor-XXXXXX");
    assert_non_null(mkdtemp(desk->folder));
    snprintf(desk->path, sizeof desk->path, "%s/a/b/cursor.txt", desk->folder);
    desk->loop = loop_new();
    desk->workers = worker_pool_new(desk->loop, 1, 4);
    assert_int_equal(cursor_file_init(&desk->file, desk->path, every_seconds, desk->workers, &err),
                     RC_OK);
}

/* Lets what was begun be done. */
static void settle(struct desk *desk)
{
    worker_pool_free(desk->workers);
    desk->workers = worker_pool_new(desk->loop, 1, 4);
    desk->file.workers = desk->workers;
}

static void close_desk(struct desk *desk, int64_t committed)
{
    char part[160];
    worker_pool_free(desk->workers);
    cursor_file_finish(&desk->file, committed);
    loop_free(desk->loop);
    unlink(desk->path);
    snprintf(part, sizeof part, "%s/a/b", desk->folder);
    assert_int_equal(rmdir(part), 0);
    snprintf(part, sizeof part, "%s/a", desk->folder);
    assert_int_equal(rmdir(part), 0);
    assert_int_equal(rmdir(desk->folder), 0);
}

static int64_t look(struct desk *desk, int64_t committed, int64_t now_us)
{
    cursor_file_look(&desk->file, committed, now_us);
    settle(desk);
    return cursor_file_read(&desk->file);
}

/* R001-39 R001-95: every so many seconds, 10 unless set otherwise. */
static void it_is_written_when_its_time_has_come_and_not_before(void **state)
{
    (void)state;
    static const int64_t intervals[] = {10, 1, 60};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        struct desk desk = {0};
        int64_t every = intervals[i] * SECOND, t = 1000 * SECOND;
        open_desk(&desk, intervals[i]);
        assert_true(look(&desk, 100, t) == 0);
        assert_true(look(&desk, 200, t + every - 1) == 0);
        assert_true(look(&desk, 300, t + every) == 300);
        assert_true(look(&desk, 400, t + 2 * every - 1) == 300);
        assert_true(look(&desk, 500, t + 2 * every) == 500);
        close_desk(&desk, 500);
    }
}

static void the_end_writes_the_last_word(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct text content = {0};
    struct err err;
    open_desk(&desk, 10);
    worker_pool_free(desk.workers);
    cursor_file_finish(&desk.file, INT64_C(1790000000000001));
    assert_int_equal(small_file_read(desk.path, 64, &content, &err), RC_OK);
    assert_string_equal(text_string(&content), "1790000000000001\n");
    text_free(&content);
    desk.workers = worker_pool_new(desk.loop, 1, 4);
    close_desk(&desk, 0);
}

static void what_is_no_number_is_ignored_and_a_reset_forgets(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct err err;
    open_desk(&desk, 10);
    static const char *const bad[] = {"", "\n", "yesterday\n", "-5\n", "99999999999999999999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(small_file_write(desk.path, bytes_of(bad[i]), &err), RC_OK);
        assert_true(cursor_file_read(&desk.file) == 0);
    }
    assert_int_equal(small_file_write(desk.path, bytes_of("17\r\n"), &err), RC_OK);
    assert_true(cursor_file_read(&desk.file) == 17);
    cursor_file_forget(&desk.file);
    assert_true(cursor_file_read(&desk.file) == 17); /* an operator's */
    look(&desk, 100, 1000 * SECOND);
    assert_true(look(&desk, 100, 1010 * SECOND) == 100);
    cursor_file_forget(&desk.file);
    assert_true(cursor_file_read(&desk.file) == 0); /* our own */
    close_desk(&desk, 0);
}

/* It is no operator's either: a reset in the first seconds of a run would go on from there. */
static void what_the_last_run_left_is_forgotten_like_our_own(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct err err;
    open_desk(&desk, 10);
    assert_int_equal(small_file_write(desk.path, bytes_of("17\n"), &err), RC_OK);
    cursor_file_know(&desk.file, 18);
    cursor_file_forget(&desk.file);
    assert_true(cursor_file_read(&desk.file) == 17); /* an operator's */
    cursor_file_know(&desk.file, 17);
    cursor_file_forget(&desk.file);
    assert_true(cursor_file_read(&desk.file) == 0);
    close_desk(&desk, 0);
}

static void what_is_no_time_in_microseconds_is_no_beginning(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct err err;
    open_desk(&desk, 10);
    static const struct {
        const char *text;
        int64_t begin;
    } cases[] = {{"1790000000\n", 0},
                 {"1790000000000\n", 0},
                 {"0\n", 0},
                 {"tomorrow\n", 0},
                 {"1790000000000001\n", INT64_C(1790000000000001)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(small_file_write(desk.path, bytes_of(cases[i].text), &err), RC_OK);
        assert_true(cursor_file_begin(&desk.file) == cases[i].begin);
    }
    close_desk(&desk, 0);
}

/* A crash in the midst of it leaves the old file or the new one, never a part of either. */
static void the_file_is_replaced_and_never_written_to(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct text content = {0};
    struct err err;
    char kept[160];
    open_desk(&desk, 10);
    assert_int_equal(small_file_write(desk.path, bytes_of("41\n"), &err), RC_OK);
    snprintf(kept, sizeof kept, "%s/kept", desk.folder);
    assert_int_equal(link(desk.path, kept), 0);
    assert_int_equal(small_file_write(desk.path, bytes_of("42\n"), &err), RC_OK);
    assert_int_equal(small_file_read(kept, 64, &content, &err), RC_OK);
    assert_string_equal(text_string(&content), "41\n");
    assert_true(cursor_file_read(&desk.file) == 42);
    text_free(&content);
    unlink(kept);
    close_desk(&desk, 0);
}

/* R001-96 */
static void a_folder_that_cannot_be_is_refused_with_its_name(void **state)
{
    (void)state;
    struct desk desk = {0};
    struct cursor_file other;
    struct err err;
    char below[256];
    open_desk(&desk, 10);
    assert_int_equal(small_file_write(desk.path, bytes_of("1\n"), &err), RC_OK);
    snprintf(below, sizeof below, "%s/below/it.txt", desk.path);
    assert_int_equal(cursor_file_init(&other, below, 10, desk.workers, &err), RC_REJECT);
    assert_non_null(strstr(err.text, "jetstream.cursor_file"));
    assert_non_null(strstr(err.text, desk.path));
    close_desk(&desk, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_written_when_its_time_has_come_and_not_before),
        cmocka_unit_test(the_end_writes_the_last_word),
        cmocka_unit_test(what_is_no_number_is_ignored_and_a_reset_forgets),
        cmocka_unit_test(what_the_last_run_left_is_forgotten_like_our_own),
        cmocka_unit_test(what_is_no_time_in_microseconds_is_no_beginning),
        cmocka_unit_test(the_file_is_replaced_and_never_written_to),
        cmocka_unit_test(a_folder_that_cannot_be_is_refused_with_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
