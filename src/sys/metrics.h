/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.h - numbers about the running program, and their Prometheus text.
 *
 * A metric is a counter, a gauge or a histogram; metrics of one name differ in their labels. Always
 * holds: there are at most METRICS_SERIES_MAX metrics of one name; what would be one more shares a
 * last one whose label values are "_other", so that a stranger's words cannot fill the memory (I6).
 * Once handed out, a metric stays where it is until the registry is freed.
 *
 * A histogram counts whole numbers (microseconds, bytes) in buckets that are an eighth of a power
 * of two wide, so a quantile is off by an eighth at most; the text shows every power of two.
 *
 * Owner: who made the registry.  Thread: any; changing a metric takes no lock, finding one does. */
#ifndef SYS_METRICS_H
#define SYS_METRICS_H

#include "base/bytes.h"

#define METRICS_LABELS_MAX      4
#define METRICS_LABEL_BYTES_MAX 128
#define METRICS_SERIES_MAX      64

struct metrics;
struct metric;

struct metric_label {
    const char *name; /* a literal of letters, digits and _ */
    const char *value;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* Each finds the metric of that name and those labels, or makes it. `name` and `help` are literals;
 * a name has one type. Labels longer than METRICS_LABEL_BYTES_MAX are cut. */
struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                               const struct metric_label *labels, size_t label_count);
struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                             const struct metric_label *labels, size_t label_count);
/* What is observed is shown multiplied by `scale`: 1e-6 for microseconds as seconds. */
struct metric *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
                                 double scale, const struct metric_label *labels,
                                 size_t label_count);

void metric_count(struct metric *counter, uint64_t more);
void metric_set(struct metric *gauge, double value);
void metric_observe(struct metric *histogram, uint64_t value);

/* A counter's or gauge's value; how often a histogram was observed. */
double metric_value(const struct metric *metric);
/* An estimate of the value that the share `q` (0 to 1) of all observations does not exceed, scaled;
 * 0 when there is none. */
double metric_quantile(const struct metric *histogram, double q);

/* Appends everything in Prometheus' text format 0.0.4, in the order of first use. */
void metrics_print(struct metrics *metrics, struct text *out);

#endif
