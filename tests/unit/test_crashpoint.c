/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "sys/crashpoint.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PASSES = 5 };

/* In a child: passes every point PASSES times in turn; a byte goes down the pipe after each.
 * Returns how it ended and how many bytes came. */
static int run_child_with(const char *variable, const char *at, const char *trace, size_t *passed)
{
    int pipes[2];
    char buffer[256];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        if (at != NULL)
            setenv(variable, at, 1);
        if (trace != NULL)
            setenv("TIDEMARK_CRASH_TRACE", trace, 1);
        signal(SIGABRT, SIG_DFL);
        for (int pass = 0; pass < PASSES; pass++)
            for (int point = 0; point < CRASHPOINT_COUNT; point++) {
                crashpoint((enum crashpoint)point);
                if (write(pipes[1], "x", 1) != 1)
                    _exit(9);
            }
        _exit(0);
    }
    close(pipes[1]);
    *passed = 0;
    for (ssize_t got; (got = read(pipes[0], buffer, sizeof buffer)) > 0;)
        *passed += (size_t)got;
    close(pipes[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int run_child(const char *crash_at, const char *trace, size_t *passed)
{
    return run_child_with("TIDEMARK_CRASH_AT", crash_at, trace, passed);
}

static void every_point_kills_at_the_pass_that_was_asked_for(void **state)
{
    (void)state;
    for (int point = 0; point < CRASHPOINT_COUNT; point++)
        for (int pass = 1; pass <= PASSES; pass++) {
            char crash_at[64];
            size_t passed;
            snprintf(crash_at, sizeof crash_at, "%s:%d", crashpoint_name((enum crashpoint)point),
                     pass);
            int status = run_child(crash_at, NULL, &passed);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            assert_int_equal(passed, (pass - 1) * CRASHPOINT_COUNT + point);
        }
}

static void without_a_number_it_is_the_first_pass(void **state)
{
    (void)state;
    size_t passed;
    int status = run_child("after_commit", NULL, &passed);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(passed, CRASH_AFTER_COMMIT);
}

/* A child that does not heed it ends there. */
static void a_stop_can_be_asked_for_at_a_point(void **state)
{
    (void)state;
    size_t passed;
    int status = run_child_with("TIDEMARK_STOP_AT", "before_ack:2", NULL, &passed);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(passed, CRASHPOINT_COUNT + CRASH_BEFORE_ACK);
    status = run_child_with("TIDEMARK_STOP_AT", "before_act", NULL, &passed);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void nothing_happens_when_nobody_asks(void **state)
{
    (void)state;
    size_t passed;
    int status = run_child(NULL, NULL, &passed);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(passed, PASSES * CRASHPOINT_COUNT);
    status = run_child("before_ack:999", NULL, &passed);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_name_nobody_knows_aborts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "after_row", "", ":1", "after_rows:", "after_rows:0", "after_rows:x", "after_rows:-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t passed;
        int status = run_child(bad[i], NULL, &passed);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        assert_int_equal(passed, 0);
    }
}

static void the_trace_names_each_point_once(void **state)
{
    (void)state;
    char path[] = "/tmp/crashpoint_XXXXXX", got[4096] = "";
    struct text want = {0};
    size_t passed;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    run_child(NULL, path, &passed);
    for (int point = 0; point < CRASHPOINT_COUNT; point++)
        text_appendf(&want, "%s\n", crashpoint_name((enum crashpoint)point));
    assert_true(read(fd, got, sizeof got - 1) > 0);
    assert_string_equal(got, text_string(&want));
    /* A killed run has left its mark, too, and adds to the file. */
    run_child("after_rows:1", path, &passed);
    memset(got, 0, sizeof got);
    assert_true(read(fd, got, sizeof got - 1) > 0);
    assert_string_equal(got, "after_rows\n");
    text_free(&want);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_kills_at_the_pass_that_was_asked_for),
        cmocka_unit_test(without_a_number_it_is_the_first_pass),
        cmocka_unit_test(a_stop_can_be_asked_for_at_a_point),
        cmocka_unit_test(nothing_happens_when_nobody_asks),
        cmocka_unit_test(a_name_nobody_knows_aborts),
        cmocka_unit_test(the_trace_names_each_point_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
