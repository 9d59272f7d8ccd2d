/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>

#define THREADS 4
#define ROUNDS  20000

static int make(void **state)
{
    *state = metrics_new();
    return 0;
}

static int unmake(void **state)
{
    metrics_free(*state);
    return 0;
}

static void expect(struct metrics *metrics, const char *wanted)
{
    struct text out = {0};
    metrics_print(metrics, &out);
    assert_string_equal(text_string(&out), wanted);
    text_free(&out);
}

static void counters_and_gauges_are_printed_with_help_and_type(void **state)
{
    struct metrics *metrics = *state;
    struct metric_label west[] = {{"host", "west"}, {"kind", "a"}};
    struct metric_label east[] = {{"host", "east"}, {"kind", "a"}};
    metric_count(metrics_counter(metrics, "events_total", "Events.", west, 2), 5);
    metric_set(metrics_gauge(metrics, "uptime_percent", "Uptime.", NULL, 0), 99.5);
    metric_count(metrics_counter(metrics, "events_total", "Events.", east, 2), UINT64_MAX);
    metric_count(metrics_counter(metrics, "events_total", "Events.", west, 2), 2);
    metric_set(metrics_gauge(metrics, "uptime_percent", "Uptime.", NULL, 0), 98);
    expect(metrics, "# HELP events_total Events.\n"
                    "# TYPE events_total counter\n"
                    "events_total{host=\"west\",kind=\"a\"} 7\n"
                    "events_total{host=\"east\",kind=\"a\"} 18446744073709551615\n"
                    "# HELP uptime_percent Uptime.\n"
                    "# TYPE uptime_percent gauge\n"
                    "uptime_percent 98\n");
}

static void words_are_escaped(void **state)
{
    struct metrics *metrics = *state;
    struct metric_label odd[] = {{"a", "q\"b\\n\nx\x01\xff"}};
    metric_set(metrics_gauge(metrics, "g", "back\\slash\nline \"quoted\"", odd, 1), NAN);
    struct metric_label more[] = {{"a", ""}};
    metric_set(metrics_gauge(metrics, "g", "", more, 1), -INFINITY);
    expect(metrics, "# HELP g back\\\\slash\\nline \"quoted\"\n"
                    "# TYPE g gauge\n"
                    "g{a=\"q\\\"b\\\\n\\nx?\xef\xbf\xbd\"} NaN\n"
                    "g{a=\"\"} -Inf\n");
}

static void a_long_label_is_cut_between_characters(void **state)
{
    struct metrics *metrics = *state;
    char value[400], wanted[600];
    for (int i = 0; i < 133; i++)
        memcpy(value + 3 * i, "\xe2\x82\xac", 4);
    metrics_gauge(metrics, "g", "h", (struct metric_label[]){{"a", value}}, 1);
    snprintf(wanted, sizeof wanted, "# HELP g h\n# TYPE g gauge\ng{a=\"%.126s\"} 0\n", value);
    expect(metrics, wanted);
}

static void labels_beyond_the_bound_share_one_metric(void **state)
{
    struct metrics *metrics = *state;
    struct metric *last = NULL;
    for (int i = 0; i < 1000; i++) {
        char value[16];
        snprintf(value, sizeof value, "v%d", i);
        last = metrics_counter(metrics, "c", "h", (struct metric_label[]){{"a", value}}, 1);
        metric_count(last, 1);
    }
    struct text out = {0};
    size_t lines = 0;
    metrics_print(metrics, &out);
    for (size_t i = 0; i < out.len; i++)
        lines += out.data[i] == '\n';
    assert_int_equal(lines, 2 + METRICS_SERIES_MAX);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "c{a=\"_other\"} %d\n", 1000 - (METRICS_SERIES_MAX - 1));
    assert_non_null(strstr(out.data, wanted));
    assert_true(metric_value(last) == 1000 - (METRICS_SERIES_MAX - 1));
    /* The early ones are still found. */
    assert_true(metric_value(metrics_counter(metrics, "c", "h",
                                             (struct metric_label[]){{"a", "v3"}}, 1)) == 1);
    text_free(&out);
}

static void a_histogram_is_cumulative_and_agrees_with_its_count(void **state)
{
    struct metrics *metrics = *state;
    struct metric *h = metrics_histogram(metrics, "latency_seconds", "h", 1e-6,
                                         (struct metric_label[]){{"store", "sqlite"}}, 1);
    const uint64_t values[] = {0, 1, 2, 3, 1024, 1025, 300000, UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        metric_observe(h, values[i]);
    struct text out = {0};
    metrics_print(metrics, &out);
    static const char *const lines[] = {
        "# TYPE latency_seconds histogram\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"0.000001\"} 2\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"0.000002\"} 3\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"0.000004\"} 4\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"0.001024\"} 5\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"0.002048\"} 6\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"134.217728\"} 7\n",
        "latency_seconds_bucket{store=\"sqlite\",le=\"+Inf\"} 8\n",
        "latency_seconds_count{store=\"sqlite\"} 8\n",
        "latency_seconds_sum{store=\"sqlite\"} 1099511.929831\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(strstr(out.data, lines[i]));
    assert_true(metric_value(h) == 8);
    text_free(&out);
}

static void quantiles_are_off_by_an_eighth_at_most(void **state)
{
    struct metrics *metrics = *state;
    struct metric *h = metrics_histogram(metrics, "a", "h", 1, NULL, 0);
    assert_true(metric_quantile(h, 0.5) == 0);
    for (uint64_t i = 1; i <= 100000; i++)
        metric_observe(h, i);
    for (int percent = 1; percent <= 100; percent++) {
        double truth = percent * 1000.0, said = metric_quantile(h, percent / 100.0);
        assert_true(fabs(said - truth) <= truth / 8);
    }
    /* Three slow ones in a hundred show. */
    struct metric *slow = metrics_histogram(metrics, "b", "h", 1e-6, NULL, 0);
    for (int i = 0; i < 97; i++)
        metric_observe(slow, 1000);
    for (int i = 0; i < 3; i++)
        metric_observe(slow, 300000);
    assert_true(fabs(metric_quantile(slow, 0.5) - 0.001) <= 0.001 / 8);
    assert_true(fabs(metric_quantile(slow, 0.99) - 0.3) <= 0.3 / 8);
    metric_observe(slow, UINT64_MAX);
    assert_true(metric_quantile(slow, 1) > 1e13);
}

static void every_number_falls_between_the_bounds_of_its_bucket(void **state)
{
    (void)state;
    for (int power = 0; power < 63; power++) {
        for (int step = -1; step <= 1; step++) {
            uint64_t value = (UINT64_C(1) << power) + (uint64_t)(int64_t)step;
            struct metrics *own = metrics_new();
            struct metric *h = metrics_histogram(own, "h", "h", 1, NULL, 0);
            metric_observe(h, value);
            double low = metric_quantile(h, 0), high = metric_quantile(h, 1);
            assert_true(low <= (double)value && (double)value <= high);
            assert_true(high - low <= (value < 8 ? 1 : (double)value / 8));
            metrics_free(own);
        }
    }
}

static void *work(void *arg)
{
    struct metrics *metrics = arg;
    struct metric *gauge = metrics_gauge(metrics, "g", "h", NULL, 0);
    struct metric *h = metrics_histogram(metrics, "h", "h", 1, NULL, 0);
    struct text out = {0};
    for (int i = 0; i < ROUNDS; i++) {
        metric_count(metrics_counter(metrics, "c", "h", NULL, 0), 1);
        metric_set(gauge, ROUNDS);
        metric_observe(h, (uint64_t)i);
        if (i % 5000 == 0)
            metrics_print(metrics, &out);
    }
    text_free(&out);
    return NULL;
}

static void threads_lose_no_count(void **state)
{
    struct metrics *metrics = *state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, metrics), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(metric_value(metrics_counter(metrics, "c", "h", NULL, 0)) == THREADS * ROUNDS);
    assert_true(metric_value(metrics_gauge(metrics, "g", "h", NULL, 0)) == ROUNDS);
    assert_true(metric_value(metrics_histogram(metrics, "h", "h", 1, NULL, 0)) == THREADS * ROUNDS);
}

#define WITH_METRICS(test) cmocka_unit_test_setup_teardown(test, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_METRICS(counters_and_gauges_are_printed_with_help_and_type),
        WITH_METRICS(words_are_escaped),
        WITH_METRICS(a_long_label_is_cut_between_characters),
        WITH_METRICS(labels_beyond_the_bound_share_one_metric),
        WITH_METRICS(a_histogram_is_cumulative_and_agrees_with_its_count),
        WITH_METRICS(quantiles_are_off_by_an_eighth_at_most),
        cmocka_unit_test(every_number_falls_between_the_bounds_of_its_bucket),
        WITH_METRICS(threads_lose_no_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
