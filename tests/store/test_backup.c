/* SPDX-License-Identifier: Apache-2.0
 *
 * The copy of an SQLite store that is being written meanwhile. PostgreSQL is copied by its own
 * tools, and says so. */
#include "fixture.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* More than two slices of pages. */
#define FILL                                                                                       \
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 3000) "              \
    "INSERT INTO meta (id, cursor, block_number) "                                                 \
    "SELECT 'row' || n, hex(zeroblob(2500)), 1 FROM i"

struct bench {
    struct fixture fixture;
    struct store *writer, *reader;
    char copy[512];
    unsigned asked, stop_at;
    struct err err;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    unsigned applied;
    fixture_open(&bench->fixture, FIXTURE_SQLITE);
    snprintf(bench->copy, sizeof bench->copy, "%s/copy.db", bench->fixture.folder);
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &bench->writer, &bench->err),
                     RC_OK);
    assert_int_equal(store_migrate(bench->writer, &applied, &bench->err), RC_OK);
    assert_int_equal(bench->writer->ops->script(bench->writer, FILL, &bench->err), RC_OK);
    assert_int_equal(store_open(bench->fixture.url, STORE_READ, &bench->reader, &bench->err),
                     RC_OK);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    store_close(bench->reader);
    store_close(bench->writer);
    unlink(bench->copy);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

/* Between two slices the writer commits to every page there is. */
static bool write_meanwhile(void *arg)
{
    struct bench *bench = arg;
    bench->asked++;
    assert_int_equal(bench->writer->ops->script(bench->writer,
                                                "UPDATE meta SET block_number = block_number + 1",
                                                &bench->err),
                     RC_OK);
    return bench->asked == bench->stop_at;
}

static int64_t count_of(struct bench *bench, struct store *store, const char *sql)
{
    int64_t value;
    assert_int_equal(store_query_int(store, sql, -1, &value, &bench->err), RC_OK);
    return value;
}

static void a_copy_is_one_moment_however_much_is_written_meanwhile(void **state)
{
    struct bench *bench = *state;
    struct store *copy;
    char url[600];
    bench->reader->stop = write_meanwhile;
    bench->reader->stop_arg = bench;
    assert_int_equal(bench->reader->ops->backup(bench->reader, bench->copy, &bench->err), RC_OK);
    assert_in_range(bench->asked, 3, 50); /* it was sliced, and did not begin anew each time */
    snprintf(url, sizeof url, "sqlite:%s", bench->copy);
    assert_int_equal(store_open(url, STORE_READ, &copy, &bench->err), RC_OK);
    assert_int_equal(count_of(bench, copy, "SELECT count(*) FROM meta"), 3000);
    assert_int_equal(count_of(bench, copy, "SELECT min(block_number) FROM meta"),
                     count_of(bench, copy, "SELECT max(block_number) FROM meta"));
    assert_int_equal(count_of(bench, copy,
                              "SELECT count(*) FROM pragma_integrity_check "
                              "WHERE integrity_check <> 'ok'"),
                     0);
    store_close(copy);
    assert_int_equal(count_of(bench, bench->reader, "SELECT min(block_number) FROM meta"),
                     1 + bench->asked); /* the reader holds no old moment any more */
}

static void a_copy_that_is_broken_off_leaves_no_file(void **state)
{
    struct bench *bench = *state;
    bench->reader->stop = write_meanwhile;
    bench->reader->stop_arg = bench;
    bench->stop_at = 2;
    assert_int_equal(bench->reader->ops->backup(bench->reader, bench->copy, &bench->err), RC_RETRY);
    assert_int_equal(access(bench->copy, F_OK), -1);
    bench->reader->stop = NULL;
    assert_int_equal(bench->reader->ops->backup(bench->reader, bench->copy, &bench->err), RC_OK);
    assert_int_equal(bench->reader->ops->backup(bench->reader, bench->copy, &bench->err),
                     RC_REJECT);
    assert_non_null(strstr(bench->err.text, "overwrites nothing"));
}

static void a_long_read_is_broken_off(void **state)
{
    struct bench *bench = *state;
    int64_t value;
    bench->reader->stop = write_meanwhile;
    bench->reader->stop_arg = bench;
    bench->stop_at = 1;
    assert_int_equal(store_query_int(bench->reader, "SELECT count(*) FROM meta a, meta b, meta c",
                                     0, &value, &bench->err),
                     RC_AGAIN);
    assert_non_null(strstr(bench->err.text, "stopping"));
    assert_int_equal(count_of(bench, bench->writer, "SELECT count(*) FROM meta"), 3000);
}

int main(void)
{
#define BACKUP(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        BACKUP(a_copy_is_one_moment_however_much_is_written_meanwhile),
        BACKUP(a_copy_that_is_broken_off_leaves_no_file),
        BACKUP(a_long_read_is_broken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
