/* SPDX-License-Identifier: Apache-2.0
 *
 * A process writes the workload through the real writer and is killed at a named place; another one
 * goes on, until all is written. On both stores, at every place, at its first, second and some
 * later time: each process finds whole commits and at least what was acknowledged, and the end is
 * what an unkilled run gives.
 *
 * Called with --child URL FILE it is the process: it appends the number of every commit it was told
 * of to FILE. */
#include "answers.h"
#include "fixture.h"
#include "sys/clock.h"
#include "sys/crashpoint.h"
#include "test_seed.h"
#include "workload.h"

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

#define COMMITS     8
#define POINTS      (CRASH_AFTER_MIGRATE + 1) /* the writer's own; tests/crash has the others */
#define STARTS_MAX  10
#define WAIT_US_MAX 180000000 /* a busy machine is slower than one thinks */

static struct workload workload;
static enum fixture_kind kind;
static struct seeded chance;
static unsigned executed;

/* ---- the child -------------------------------------------------------------------------------*/

/* The server may not yet have seen the end of the process before. */
static struct store *open_when_free(const char *url)
{
    struct store *store = NULL;
    struct err err;
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (store_open(url, STORE_WRITE, &store, &err) != RC_OK)
        if (clock_mono_us() > until) {
            fprintf(stderr, "child: %s\n", err.text);
            _exit(1);
        }
    return store;
}

static void acknowledge(int fd, int64_t k)
{
    char line[32];
    int len = snprintf(line, sizeof line, "%lld\n", (long long)k);
    if (write(fd, line, (size_t)len) != len)
        _exit(1);
}

static int be_child(const char *url, const char *path)
{
    struct err err;
    struct store_position position;
    unsigned applied, handed = 0;
    int64_t stands;
    struct store *store = open_when_free(url);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct answers *answers = answers_new(256u << 10);
    /* Where to go on comes from the cursor, as it does for a source. */
    if (fd < 0 || store_migrate(store, &applied, &err) != RC_OK ||
        store_claim(store, "child", NULL, 1, &position, &err) != RC_OK ||
        store_query_int(store, "SELECT position FROM cursors WHERE source = 'ledger'", 0, &stands,
                        &err) != RC_OK) {
        fprintf(stderr, "child: %s\n", err.text);
        return 1;
    }
    struct writer_options options = {
        .gather_us = 1, .fatal = answers_fatal, .arg = answers, .retry_us_min = 2000};
    struct writer *writer = writer_start(store, position, &options);
    for (int64_t k = stands + 1; k <= COMMITS; k++) {
        struct batch *batch = answers_batch(answers, handed);
        batch_fn *committed = batch->committed;
        workload_fill(batch, k);
        batch->committed = committed;
        batch->courier = answers;
        if (writer_submit(writer, batch) != RC_OK || !answers_wait(answers, ++handed) ||
            !answers_are(answers, handed, RC_OK))
            return 1;
        acknowledge(fd, k);
    }
    writer_stop(writer, NULL);
    answers_free(answers);
    close(fd);
    return 0;
}

/* ---- the parent ------------------------------------------------------------------------------*/

struct scene {
    struct fixture fixture;
    char acknowledged[320], trace[320];
};

static int run_child(struct scene *scene, const char *crash_at)
{
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("TIDEMARK_CRASH_AT");
        if (crash_at != NULL)
            setenv("TIDEMARK_CRASH_AT", crash_at, 1);
        setenv("TIDEMARK_CRASH_TRACE", scene->trace, 1);
        execl("/proc/self/exe", "test_crash", "--child", scene->fixture.url, scene->acknowledged,
              (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int64_t last_acknowledged(const struct scene *scene)
{
    long long last = 0, k;
    FILE *file = fopen(scene->acknowledged, "r");
    while (file != NULL && fscanf(file, "%lld", &k) == 1) {
        assert_int_equal(k, last + 1); /* none twice, none left out */
        last = k;
    }
    if (file != NULL)
        fclose(file);
    return last;
}

/* One kill; whether it happened. The number acknowledged may lag one behind: killed before it could
 * be written down. */
static bool crash_once(struct scene *scene, const char *crash_at)
{
    int status = run_child(scene, crash_at);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed && status != 0)
        fail_msg("%s: the process failed by itself", crash_at);
    return killed;
}

static void open_scene(struct scene *scene)
{
    fixture_open(&scene->fixture, kind);
    snprintf(scene->acknowledged, sizeof scene->acknowledged, "%s/acknowledged",
             scene->fixture.folder);
    snprintf(scene->trace, sizeof scene->trace, "%s/trace", scene->fixture.folder);
}

static bool trace_has(const struct scene *scene, const char *name)
{
    char line[64];
    bool found = false;
    FILE *file = fopen(scene->trace, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == '\n';
    if (file != NULL)
        fclose(file);
    return found;
}

/* Kills at the place's `hit`-th time, then at the first time of every process after it, and lets
 * the last one finish. */
static void crash_at_point(enum crashpoint point, unsigned hit, unsigned *fired)
{
    struct scene scene;
    char plan[64];
    open_scene(&scene);
    for (int start = 0; start < STARTS_MAX; start++) {
        snprintf(plan, sizeof plan, "%s:%u", crashpoint_name(point), start == 0 ? hit : 1);
        bool killed = crash_once(&scene, start < 3 ? plan : NULL);
        *fired += killed;
        if (start == 0 && !killed)
            fail_msg("%s was never reached", plan);
        bool in_schema = point == CRASH_DURING_MIGRATE || point == CRASH_AFTER_MIGRATE;
        int64_t acknowledged = last_acknowledged(&scene);
        if (!in_schema || !killed) {
            int64_t held = workload_check(&workload, scene.fixture.url);
            if (held < acknowledged || held > acknowledged + 1)
                fail_msg("%s: %lld acknowledged, %lld held", plan, (long long)acknowledged,
                         (long long)held);
            /* A commit that was durable before its owner knew is not handed over again. */
            if (held == acknowledged + 1) {
                int fd = open(scene.acknowledged, O_WRONLY | O_CREAT | O_APPEND, 0600);
                assert_true(fd >= 0);
                acknowledge(fd, held);
                close(fd);
            }
        }
        if (!killed)
            break;
        assert_true(start + 1 < STARTS_MAX);
    }
    assert_int_equal(workload_check(&workload, scene.fixture.url), COMMITS);
    assert_true(trace_has(&scene, crashpoint_name(point)));
    fixture_close(&scene.fixture);
}

static void a_kill_at_any_place_leaves_whole_commits_and_converges(void **state)
{
    (void)state;
    executed++;
    for (int point = 0; point < POINTS; point++) {
        bool in_schema = point == CRASH_DURING_MIGRATE || point == CRASH_AFTER_MIGRATE;
        unsigned fired = 0;
        unsigned hits[] = {1, 2, in_schema ? 3 : 3 + (unsigned)seeded_below(&chance, 4)};
        for (size_t i = 0; i < sizeof hits / sizeof hits[0]; i++)
            crash_at_point((enum crashpoint)point, hits[i], &fired);
        printf("store=%s crash=%s hits=1,2,%u killed=%u\n", fixture_kind_name(kind),
               crashpoint_name((enum crashpoint)point), hits[2], fired);
        assert_true(fired >= 3);
    }
}

static int learn(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, kind);
    workload_learn(&workload, fixture.url, COMMITS);
    fixture_close(&fixture);
    return 0;
}

static int run_on(enum fixture_kind which)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_place_leaves_whole_commits_and_converges),
    };
    kind = which;
    executed = 0;
    int failed = cmocka_run_group_tests_name(fixture_kind_name(which), tests, learn, NULL);
    printf("store=%s tests=%u\n", fixture_kind_name(which), executed);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--child") == 0)
        return be_child(argv[2], argv[3]);
    chance = seeded_start("crash");
    return run_on(FIXTURE_SQLITE) + run_on(FIXTURE_POSTGRES);
}
