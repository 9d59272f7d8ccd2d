/* SPDX-License-Identifier: Apache-2.0
 *
 * Accounts that a daemon keeps: imported when it starts, and again after each interval, without a
 * command. The test is the provider, the store and the clock. */
#include "config_load.h"
#include "daemon_ledger.h"
#include "ledger_desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)

struct keeping {
    struct ledger_desk *desk;
    char folder[64], connector[96];
    struct config config;
    struct part_env env;
    struct part *part;
};

static void set(struct config *config, const char *path, const char *value)
{
    struct config_problems problems = {0};
    config_set(config, "test", path, value, &problems);
    assert_int_equal(problems.count, 0);
    config_problems_free(&problems);
}

static struct keeping *keep(const char *minutes)
{
    struct keeping *keeping = calloc(1, sizeof *keeping);
    struct text yaml = {0};
    struct err err;
    keeping->desk = ledger_desk_new("rise", 1, 25);
    snprintf(keeping->folder, sizeof keeping->folder, "/tmp/tidemark-keeping-XXXXXX");
    assert_non_null(mkdtemp(keeping->folder));
    snprintf(keeping->connector, sizeof keeping->connector, "%s/alpha.yaml", keeping->folder);
    ledger_desk_connector("rise", 0, &yaml);
    FILE *file = fopen(keeping->connector, "w");
    assert_non_null(file);
    fputs(text_string(&yaml), file);
    fclose(file);
    text_free(&yaml);
    config_init(&keeping->config);
    set(&keeping->config, "ledger.connectors", keeping->folder);
    set(&keeping->config, "ledger.accounts", "[chain:me]");
    set(&keeping->config, "ledger.interval_minutes", minutes);
    keeping->env = (struct part_env){.config = &keeping->config,
                                     .runtime = keeping->desk->env.runtime,
                                     .source = keeping->desk->env};
    keeping->part = ledger_part_new(&keeping->env);
    assert_int_equal(keeping->part->ops->open(keeping->part, &err), RC_OK);
    return keeping;
}

static void release(struct keeping *keeping)
{
    keeping->part->ops->free(keeping->part);
    config_deinit(&keeping->config);
    unlink(keeping->connector);
    rmdir(keeping->folder);
    ledger_desk_free(keeping->desk);
    free(keeping);
}

/* What happens within so many seconds. */
static void live(struct keeping *keeping, unsigned seconds)
{
    struct ledger_desk *desk = keeping->desk;
    for (unsigned i = 0; i < seconds; i++) {
        keeping->part->ops->look(keeping->part, desk->http.clock.mono_us, NULL);
        for (bool more = true; more;)
            more = ledger_desk_step(desk);
        http_desk_pass(&desk->http, SECOND);
    }
}

static void reload(struct keeping *keeping, const char *minutes)
{
    set(&keeping->config, "ledger.interval_minutes", minutes);
    keeping->part->ops->reload(keeping->part, &keeping->config);
}

static void an_account_is_brought_up_to_date_after_each_interval(void **state)
{
    (void)state;
    struct keeping *keeping = keep("10");
    struct ledger_desk *desk = keeping->desk;
    live(keeping, 30);
    ledger_desk_expect_truth(desk);
    assert_string_equal(desk->session, "completed");
    for (unsigned round = 0; round < 3; round++) {
        ledger_desk_mine(desk, 200 + round, 2);
        size_t asked = desk->http.sent_count, stored = desk->row_count;
        live(keeping, 7 * 60);
        assert_int_equal(desk->http.sent_count, asked); /* not before it is time */
        assert_int_equal(desk->row_count, stored);
        live(keeping, 3 * 60);
        assert_int_equal(desk->http.sent_count, asked + 1);
        ledger_desk_expect_truth(desk);
    }
    release(keeping);
}

/* A round that fails is not the last one. */
static void an_account_that_failed_is_tried_again_with_the_next_round(void **state)
{
    (void)state;
    struct keeping *keeping = keep("10");
    struct ledger_desk *desk = keeping->desk;
    desk->faults[0] = FAULT_KEY;
    desk->fault_end[0] = 1;
    live(keeping, 30);
    assert_string_equal(desk->session, "failed");
    live(keeping, 10 * 60);
    assert_string_equal(desk->session, "completed");
    ledger_desk_expect_truth(desk);
    release(keeping);
}

/* Counted from the last import, not from the change; 0: only when asked. */
static void a_new_interval_holds_from_the_last_import_on(void **state)
{
    (void)state;
    struct keeping *keeping = keep("0");
    struct ledger_desk *desk = keeping->desk;
    live(keeping, 3600);
    assert_int_equal(desk->http.sent_count, 0);
    reload(keeping, "60");
    live(keeping, 30);
    ledger_desk_expect_truth(desk);
    ledger_desk_mine(desk, 300, 2);
    live(keeping, 15 * 60);
    reload(keeping, "20");
    live(keeping, 6 * 60);
    ledger_desk_expect_truth(desk);
    size_t asked = desk->http.sent_count;
    reload(keeping, "0");
    live(keeping, 3600);
    assert_int_equal(desk->http.sent_count, asked);
    release(keeping);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_is_brought_up_to_date_after_each_interval),
        cmocka_unit_test(an_account_that_failed_is_tried_again_with_the_next_round),
        cmocka_unit_test(a_new_interval_holds_from_the_last_import_on),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
