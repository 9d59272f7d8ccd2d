/* SPDX-License-Identifier: Apache-2.0
 *
 * Every number and every alarm that people see follows its cause, and goes when the cause goes. */
#include "daemon_uptime.h"
#include "daemon_view.h"
#include "sys/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define NOW    (INT64_C(1794700000) * SECOND)

/* A daemon that is well: connected, written, all counted. */
static struct daemon_view well(void)
{
    struct daemon_view view = {.at_us = NOW,
                               .started_us = NOW - HOUR,
                               .has_source = true,
                               .source_name = "jetstream",
                               .rate = 480,
                               .connected_percent = 100,
                               .stored = {.size = 1000,
                                          .gaps_open = 0,
                                          .follows = 342,
                                          .backfill_queue = 5,
                                          .urgent_since_us = -1},
                               .size_alert = 3 * INT64_C(1000000000)};
    view.source.state = SOURCE_LIVE;
    view.source.last_event_us = NOW - 2300000;
    view.source.received_us = view.source.committed_us = NOW - 3 * SECOND;
    return view;
}

static struct health_view judged(const struct daemon_view *view)
{
    struct health_view health = {0};
    daemon_view_health(view, NOW, &health);
    return health;
}

static bool complains(const struct daemon_view *view, const char *words)
{
    struct health_view health = judged(view);
    for (size_t i = 0; i < health.reason_count; i++)
        if (strstr(health.reasons[i], words) != NULL)
            return true;
    return false;
}

static double metric_of(const struct daemon_view *view, const char *name)
{
    struct metrics *metrics = metrics_new();
    struct text out = {0};
    char line[96];
    double value = -1;
    daemon_view_metrics(view, NOW, metrics);
    metrics_print(metrics, &out);
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(text_string(&out), line);
    if (at != NULL)
        assert_int_equal(sscanf(at + strlen(line), "%lf", &value), 1);
    text_free(&out);
    metrics_free(metrics);
    return value;
}

static void feeds_of_which_none_can_be_read_are_told(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.has_source = false;
    view.poller = (struct poller_view){.polling = true, .cycles = 2, .last = {.accounts = 3}};
    view.poller.last.failed = 2;
    assert_false(complains(&view, "feed"));
    view.poller.last.skipped = 1;
    assert_true(complains(&view, "none of the 3 feeds could be read in the last round"));
    view.poller.polling = false;
    assert_false(complains(&view, "feed"));
    view.poller = (struct poller_view){.polling = true, .cycles = 2};
    view.poller.last = (struct poller_cycle){.accounts = 3, .skipped = 3};
    assert_false(complains(&view, "feed"));
}

static void a_stream_is_away_while_it_is_not_connected(void **state)
{
    (void)state;
    struct daemon_view view = well();
    assert_int_equal(judged(&view).away_us, 0);
    view.down_us = MINUTE;
    assert_int_equal(judged(&view).away_us, MINUTE);
    view.has_source = false;
    assert_int_equal(judged(&view).away_us, 0);
}

/* R001-113 R001-114 R001-115 R001-116 R001-117 R001-118 */
static void health_shows_what_is(void **state)
{
    (void)state;
    struct daemon_view view = well();
    struct health_view health = judged(&view);
    struct text out = {0};
    assert_true(health_is_good(&health));
    health_print(&health, &out);
    assert_non_null(strstr(text_string(&out),
                           "{\"status\":\"healthy\",\"websocket_connected\":true,"
                           "\"last_event_seconds_ago\":2.3,"));
    assert_non_null(strstr(text_string(&out), "\"follows_count\":342,\"backfill_queue_depth\":5,"));
    assert_int_equal(health.cursor_time_us, NOW - 3 * SECOND);
    view.source.state = SOURCE_WAITING;
    view.stored.follows = 343;
    view.stored.backfill_queue = 0;
    health = judged(&view);
    assert_false(health.websocket_connected);
    assert_int_equal(health.follows_count, 343);
    assert_int_equal(health.backfill_queue_depth, 0);
    text_free(&out);
}

static void what_is_not_known_is_null(void **state)
{
    (void)state;
    struct daemon_view view = well();
    struct text out = {0};
    view.source.last_event_us = view.source.committed_us = 0;
    view.stored = (struct stored_view){-1, -1, -1, -1, -1, -1, -1, -1};
    struct health_view health = judged(&view);
    health_print(&health, &out);
    assert_non_null(strstr(text_string(&out), "\"last_event_seconds_ago\":null,"
                                              "\"cursor_time_us\":null,\"follows_count\":null,"
                                              "\"backfill_queue_depth\":null,\"gaps_open\":null"));
    assert_true(metric_of(&view, "tidemark_store_bytes") < 0);
    text_free(&out);
}

static void a_cursor_in_the_future_is_an_alarm_that_names_the_way_out(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.source.committed_us = NOW + HOUR;
    assert_false(complains(&view, "cursor"));
    view.source.committed_us = NOW + 48 * HOUR;
    assert_true(complains(&view, "48.0 hours ahead"));
    assert_true(complains(&view, "`tidemark reset jetstream`"));
    view.source.committed_us = NOW - SECOND;
    assert_false(complains(&view, "cursor"));
}

/* R001-125 */
static void a_connection_lost_for_more_than_five_minutes_is_an_alarm(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.source.state = SOURCE_WAITING;
    view.down_us = 5 * MINUTE - SECOND;
    assert_false(complains(&view, "disconnected"));
    view.down_us = 5 * MINUTE + SECOND;
    assert_true(complains(&view, "disconnected"));
    view.source.state = SOURCE_LIVE;
    view.down_us = 0;
    assert_false(complains(&view, "disconnected"));
}

/* R001-126: a filter may be quiet, the whole network is not. */
static void silence_is_an_alarm_only_where_everybody_is_followed(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.source.last_event_us = NOW - 2 * MINUTE - SECOND;
    assert_false(complains(&view, "nothing"));
    view.everybody = true;
    assert_true(complains(&view, "nothing"));
    view.source.last_event_us = NOW - 2 * MINUTE + SECOND;
    assert_false(complains(&view, "nothing"));
}

/* R001-127: not how many wait, which a first start explains, but how long what is urgent does. */
static void a_gap_that_waits_too_long_is_an_alarm(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.stored.backfill_queue = 342;
    assert_false(complains(&view, "waited"));
    view.stored.urgent_since_us = NOW - 10 * MINUTE - SECOND;
    assert_true(complains(&view, "waited"));
    view.stored.urgent_since_us = NOW - 10 * MINUTE + SECOND;
    assert_false(complains(&view, "waited"));
}

/* R001-122 R001-128 */
static void a_database_that_grew_too_large_is_an_alarm(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.stored.size = view.size_alert;
    assert_false(complains(&view, "GB"));
    view.stored.size = view.size_alert + 1;
    assert_true(complains(&view, "GB"));
    assert_true(metric_of(&view, "tidemark_store_bytes") == (double)view.stored.size);
    view.size_alert = 0;
    assert_false(complains(&view, "GB"));
}

/* R001-124 */
static void the_lag_grows_with_what_is_owed_and_not_with_silence(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.source.last_event_us = NOW - HOUR;
    view.source.received_us = view.source.committed_us = NOW - HOUR - SECOND;
    assert_int_equal(daemon_view_lag_us(&view, NOW), SECOND); /* nobody writes at night */
    view.source.state = SOURCE_WAITING;
    assert_int_equal(daemon_view_lag_us(&view, NOW), HOUR + SECOND); /* who knows */
    view.source.state = SOURCE_LIVE;
    view.source.last_event_us = NOW;
    view.source.committed_us = NOW - 90 * SECOND;
    view.source.received_us = NOW;
    assert_int_equal(daemon_view_lag_us(&view, NOW), 90 * SECOND); /* a writer that stalls */
    view.source.received_us = view.source.committed_us = NOW - HOUR;
    assert_int_equal(daemon_view_lag_us(&view, NOW), HOUR); /* a replay that catches up */
    assert_true(metric_of(&view, "tidemark_cursor_lag_seconds") == 3600);
}

/* R001-120 R001-121 */
static void metrics_say_what_health_says(void **state)
{
    (void)state;
    struct daemon_view view = well();
    assert_true(metric_of(&view, "tidemark_events_per_second") == 480);
    assert_true(metric_of(&view, "tidemark_backfill_queue_depth") == 5);
    assert_true(metric_of(&view, "tidemark_websocket_connected") == 1);
    view.stored.urgent_since_us = NOW - MINUTE;
    assert_true(metric_of(&view, "tidemark_backfill_urgent_age_seconds") == 60);
    view.source.provider_count = 1;
    view.source.providers[0] = (struct source_provider){.name = "h", .state = "open"};
    assert_true(metric_of(&view, "tidemark_provider_usable{provider=\"h\"}") == 0);
    view.source.providers[0] = (struct source_provider){.name = "h", .state = "closed"};
    assert_true(metric_of(&view, "tidemark_provider_usable{provider=\"h\"}") == 1);
}

static void who_follows_nobody_for_a_misspelling_is_told(void **state)
{
    (void)state;
    struct daemon_view view = well();
    view.circle = (struct circle_view){.actors = 2, .listed = 0, .in_trouble = 1};
    assert_true(complains(&view, "nobody is followed"));
    view.circle.listed = 1; /* an older list stands */
    assert_false(complains(&view, "nobody is followed"));
    view.circle = (struct circle_view){.actors = 2};
    assert_false(complains(&view, "nobody is followed")); /* it is being read */
}

static void lines_that_the_log_lost_are_counted(void **state)
{
    (void)state;
    struct daemon_view view = well();
    assert_int_equal(log_open(&(struct log_options){.file = "/dev/full"}, NULL), RC_OK);
    assert_true(metric_of(&view, "tidemark_log_lines_lost_total") == 0);
    log_event(LOG_ERROR, "a", "b", NULL);
    assert_true(metric_of(&view, "tidemark_log_lines_lost_total") == 1);
}

static void health_and_metrics_tell_of_accounts_and_their_providers(void **state)
{
    (void)state;
    struct daemon_view view = well();
    struct status_live live = {.pid = 0};
    struct text out = {0};
    struct health_view none = judged(&view);
    assert_int_equal(none.accounts.oldest_success_us_ago, -1);
    view.ledger.accounts = 5;
    view.ledger.complete = 3;
    view.ledger.failing = 1;
    view.ledger.running = 2;
    view.ledger.oldest_success_us = NOW - HOUR;
    view.ledger.provider_count = 1;
    memcpy(view.ledger.providers[0].platform, "ethereum", sizeof "ethereum");
    view.ledger.providers[0].provider = (struct source_provider){.name = "etherscan",
                                                                 .state = "open",
                                                                 .reason = "503",
                                                                 .successes = 9,
                                                                 .failures = 1,
                                                                 .latency_us = 120000};
    struct health_view health = judged(&view);
    health_print(&health, &out);
    assert_non_null(strstr(text_string(&out),
                           "\"accounts\":{\"count\":5,\"complete\":3,\"running\":2,"
                           "\"failed\":1,\"oldest_success_seconds_ago\":3600}"));
    daemon_view_status(&view, NOW, &live);
    assert_int_equal(live.ledger_count, 1);
    assert_string_equal(live.ledger[0].platform, "ethereum");
    assert_string_equal(live.ledger[0].provider.reason, "503");
    assert_int_equal(live.ledger[0].provider.latency_us, 120000);
    assert_int_equal(live.progress.imports.complete, 3);
    assert_true(metric_of(&view, "tidemark_ledger_oldest_success_seconds") == 3600);
    const char labels[] = "{platform=\"ethereum\",provider=\"etherscan\"}";
    char name[128];
    snprintf(name, sizeof name, "tidemark_ledger_provider_usable%s", labels);
    assert_true(metric_of(&view, name) == 0);
    snprintf(name, sizeof name, "tidemark_ledger_provider_failures%s", labels);
    assert_true(metric_of(&view, name) == 1);
    text_free(&out);
}

static void the_chain_is_shown_with_its_nodes_and_gateways(void **state)
{
    (void)state;
    struct daemon_view view = well();
    struct status_live live = {0};
    daemon_view_status(&view, NOW, &live);
    assert_int_equal(live.source_count, 1);
    view.documents.on = true;
    view.documents.node_count = 2;
    view.documents.nodes[0] = (struct source_provider){"a", "open", .failures = 3};
    view.documents.nodes[1] = (struct source_provider){"b", "closed", .current = true};
    view.documents.gateway_count = 1;
    view.documents.gateways[0] =
        (struct source_provider){"g", "closed", .successes = 7, .latency_us = 4000};
    view.documents.content.stored = 5;
    live = (struct status_live){0};
    daemon_view_status(&view, NOW, &live);
    assert_int_equal(live.source_count, 2);
    assert_string_equal(live.sources[1].name, "content");
    assert_string_equal(live.sources[1].state, "dialling"); /* no node has said where it stands */
    assert_string_equal(live.sources[1].provider, "b");
    assert_int_equal(live.sources[1].events, 5);
    assert_true(live.sources[1].rate < 0 && live.sources[1].lag_us < 0);
    assert_int_equal(live.ledger_count, 3);
    assert_string_equal(live.ledger[0].platform, "content.rpc");
    assert_int_equal(live.ledger[0].provider.failures, 3);
    assert_true(live.ledger[1].provider.current);
    assert_string_equal(live.ledger[2].platform, "content.gateways");
    assert_string_equal(live.ledger[2].provider.name, "g");
    assert_int_equal(live.ledger[2].provider.successes, 7);
    static const struct {
        uint64_t head;
        const char *trouble;
        bool stuck;
        const char *state;
    } cases[] = {
        {9, "", false, "live"}, {9, "503", false, "waiting"}, {9, "gone", true, "stopped"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        view.documents.chain.head = cases[i].head;
        view.documents.chain.stuck = cases[i].stuck;
        snprintf(view.documents.chain.trouble, sizeof view.documents.chain.trouble, "%s",
                 cases[i].trouble);
        live = (struct status_live){0};
        daemon_view_status(&view, NOW, &live);
        assert_string_equal(live.sources[1].state, cases[i].state);
        assert_string_equal(live.sources[1].trouble, cases[i].trouble);
    }
}

/* R001-119 */
static void a_minute_down_in_a_hundred_is_ninety_nine_percent(void **state)
{
    (void)state;
    struct uptime uptime = {0};
    for (int minute = 0; minute <= 100; minute++)
        uptime_tell(&uptime, minute != 40, 0, SECOND + minute * MINUTE);
    assert_true(uptime_percent(&uptime) > 98.99 && uptime_percent(&uptime) < 99.01);
    assert_int_equal(uptime_down_us(&uptime, 200 * MINUTE), 0);
    uptime_tell(&uptime, false, 0, SECOND + 101 * MINUTE);
    assert_int_equal(uptime_down_us(&uptime, SECOND + 103 * MINUTE), 2 * MINUTE);
}

static void a_days_bytes_are_those_of_24_hours(void **state)
{
    (void)state;
    struct uptime uptime = {0};
    uint64_t bytes = 0;
    for (int hour = 0; hour < 60; hour++)
        uptime_tell(&uptime, true, bytes += 100, SECOND + hour * HOUR);
    assert_int_equal(uptime_day_bytes(&uptime), 2400);
    uptime_tell(&uptime, true, 40, SECOND + 60 * HOUR); /* counted anew */
    assert_int_equal(uptime_day_bytes(&uptime), 2340);
    uptime_tell(&uptime, true, 40, SECOND + 90 * HOUR);
    assert_int_equal(uptime_day_bytes(&uptime), 0);
}

/* Nodes that fail for a moment are replaced; that none answers is said, and why. */
static void a_chain_that_is_not_followed_is_said(void **state)
{
    struct daemon_view view = well();
    (void)state;
    snprintf(view.documents.chain.trouble, sizeof view.documents.chain.trouble,
             "node.example: the node refuses: no credit left");
    view.documents.troubled_us = 20 * SECOND;
    assert_int_equal(judged(&view).reason_count, 0);
    view.documents.troubled_us = 40 * SECOND;
    assert_true(complains(&view, "the chain has not been followed for 40 s: node.example: the node "
                                 "refuses: no credit left"));
    view.documents.troubled_us = 0;
    assert_int_equal(judged(&view).reason_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_that_is_not_followed_is_said),
        cmocka_unit_test(health_shows_what_is),
        cmocka_unit_test(feeds_of_which_none_can_be_read_are_told),
        cmocka_unit_test(a_stream_is_away_while_it_is_not_connected),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(a_cursor_in_the_future_is_an_alarm_that_names_the_way_out),
        cmocka_unit_test(a_connection_lost_for_more_than_five_minutes_is_an_alarm),
        cmocka_unit_test(silence_is_an_alarm_only_where_everybody_is_followed),
        cmocka_unit_test(a_gap_that_waits_too_long_is_an_alarm),
        cmocka_unit_test(a_database_that_grew_too_large_is_an_alarm),
        cmocka_unit_test(the_lag_grows_with_what_is_owed_and_not_with_silence),
        cmocka_unit_test(metrics_say_what_health_says),
        cmocka_unit_test(who_follows_nobody_for_a_misspelling_is_told),
        cmocka_unit_test(lines_that_the_log_lost_are_counted),
        cmocka_unit_test(health_and_metrics_tell_of_accounts_and_their_providers),
        cmocka_unit_test(the_chain_is_shown_with_its_nodes_and_gateways),
        cmocka_unit_test(a_minute_down_in_a_hundred_is_ninety_nine_percent),
        cmocka_unit_test(a_days_bytes_are_those_of_24_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
