/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/metrics.h"

#include "base/json_write.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define OTHER "_other"
/* Eight to a power of two, for every 64-bit number. */
#define BUCKETS 496
/* Powers of two that the text shows; above lies +Inf. */
#define SHOWN_POWERS 28

enum type { COUNTER, GAUGE, HISTOGRAM };

struct histogram {
    atomic_uint_least64_t sum;
    atomic_uint_least64_t counts[BUCKETS];
};

struct metric {
    struct metric *next;
    enum type type;
    double scale;
    atomic_uint_least64_t value; /* of a gauge: the bits of a double */
    struct histogram *histogram;
    struct text labels; /* as printed, without braces */
};

struct family {
    struct family *next;
    const char *name, *help;
    enum type type;
    struct metric *first, *last;
    size_t count;
};

struct metrics {
    pthread_mutex_t lock;
    struct family *first, *last;
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = memory_new_zeroed(1, sizeof *metrics);
    int failed = pthread_mutex_init(&metrics->lock, NULL);
    assert(failed == 0);
    (void)failed;
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    while (metrics->first != NULL) {
        struct family *family = metrics->first;
        metrics->first = family->next;
        while (family->first != NULL) {
            struct metric *metric = family->first;
            family->first = metric->next;
            text_free(&metric->labels);
            free(metric->histogram);
            free(metric);
        }
        free(family);
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

/* ---- names and labels ---- */

static bool name_valid(const char *name, const char *beside)
{
    for (const char *c = name; *c != 0; c++) {
        if (!isalpha((unsigned char)*c) && *c != '_' && !strchr(beside, *c) &&
            (c == name || !isdigit((unsigned char)*c)))
            return false;
    }
    return name[0] != 0;
}

/* The JSON writer makes valid UTF-8 of anything; of its escapes this format knows three. */
static void put_label_value(const char *value, struct text *out)
{
    struct text quoted = {0};
    struct json_writer writer;
    struct bytes bytes = bytes_make(value, strnlen(value, METRICS_LABEL_BYTES_MAX));
    while (value[bytes.len] != 0 && bytes.len > 0 &&
           ((unsigned char)value[bytes.len] & 0xc0) == 0x80)
        bytes.len--;
    json_writer_init(&writer, &quoted);
    json_put_string(&writer, bytes);
    for (size_t i = 0; i < quoted.len; i++) {
        char c = quoted.data[i];
        if (c != '\\') {
            text_append_char(out, c);
            continue;
        }
        char escaped = quoted.data[++i];
        i += escaped == 'u' ? 4 : 0;
        if (escaped == 'n' || escaped == '"' || escaped == '\\')
            text_appendf(out, "\\%c", escaped);
        else
            text_append_char(out, '?');
    }
    text_free(&quoted);
}

static struct text print_labels(const struct metric_label *labels, size_t count,
                                const char *instead)
{
    struct text out = {0};
    assert(count <= METRICS_LABELS_MAX);
    for (size_t i = 0; i < count; i++) {
        assert(name_valid(labels[i].name, "") && strncmp(labels[i].name, "__", 2) != 0);
        text_appendf(&out, "%s%s=", i > 0 ? "," : "", labels[i].name);
        put_label_value(instead != NULL ? instead : labels[i].value, &out);
    }
    return out;
}

/* ---- finding and making; under the lock ---- */

static struct family *find_family(struct metrics *metrics, enum type type, const char *name,
                                  const char *help)
{
    for (struct family *family = metrics->first; family != NULL; family = family->next) {
        if (strcmp(family->name, name) == 0) {
            assert(family->type == type);
            return family;
        }
    }
    assert(name_valid(name, ":"));
    struct family *family = memory_new_zeroed(1, sizeof *family);
    *family = (struct family){.name = name, .help = help, .type = type};
    if (metrics->last == NULL)
        metrics->first = family;
    else
        metrics->last->next = family;
    metrics->last = family;
    return family;
}

static struct metric *find_metric(const struct family *family, const struct text *labels)
{
    for (struct metric *metric = family->first; metric != NULL; metric = metric->next) {
        if (bytes_equal(text_bytes(&metric->labels), text_bytes(labels)))
            return metric;
    }
    return NULL;
}

static struct metric *add_metric(struct family *family, struct text labels, double scale)
{
    struct metric *metric = memory_new_zeroed(1, sizeof *metric);
    metric->type = family->type;
    metric->scale = scale;
    metric->labels = labels;
    if (family->type == HISTOGRAM)
        metric->histogram = memory_new_zeroed(1, sizeof *metric->histogram);
    if (family->last == NULL)
        family->first = metric;
    else
        family->last->next = metric;
    family->last = metric;
    family->count++;
    return metric;
}

static struct metric *take(struct metrics *metrics, enum type type, const char *name,
                           const char *help, double scale, const struct metric_label *labels,
                           size_t label_count)
{
    struct text text = print_labels(labels, label_count, NULL);
    pthread_mutex_lock(&metrics->lock);
    struct family *family = find_family(metrics, type, name, help);
    struct metric *metric = find_metric(family, &text);
    if (metric == NULL && family->count >= METRICS_SERIES_MAX - 1) {
        text_free(&text);
        text = print_labels(labels, label_count, OTHER);
        metric = find_metric(family, &text);
    }
    if (metric == NULL)
        metric = add_metric(family, text, scale);
    else
        text_free(&text);
    assert(metric->scale == scale && family->count <= METRICS_SERIES_MAX);
    pthread_mutex_unlock(&metrics->lock);
    return metric;
}

struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                               const struct metric_label *labels, size_t label_count)
{
    return take(metrics, COUNTER, name, help, 1, labels, label_count);
}

struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                             const struct metric_label *labels, size_t label_count)
{
    return take(metrics, GAUGE, name, help, 1, labels, label_count);
}

struct metric *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
                                 double scale, const struct metric_label *labels,
                                 size_t label_count)
{
    return take(metrics, HISTOGRAM, name, help, scale, labels, label_count);
}

/* ---- changing ---- */

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A bucket ends with its power of two: 2^k belongs to the one below it, as `le` wants it. */
static size_t bucket_of(uint64_t value)
{
    uint64_t below = value == 0 ? 0 : value - 1;
    if (below < 8)
        return (size_t)below;
    unsigned power = 63 - (unsigned)__builtin_clzll(below);
    return (size_t)(power - 2) * 8 + ((below >> (power - 3)) & 7);
}

/* Values of a bucket are above `low` and at most `high`. */
static void bucket_bounds(size_t bucket, double *low, double *high)
{
    unsigned power = bucket < 8 ? 3 : (unsigned)(bucket / 8) + 2;
    double width = (double)((uint64_t)1 << (power - 3));
    *low = bucket < 8 ? (double)bucket : (double)(8 + bucket % 8) * width;
    *high = *low + width;
}

void metric_count(struct metric *counter, uint64_t more)
{
    assert(counter->type == COUNTER);
    atomic_fetch_add_explicit(&counter->value, more, memory_order_relaxed);
}

void metric_set(struct metric *gauge, double value)
{
    assert(gauge->type == GAUGE);
    atomic_store_explicit(&gauge->value, to_bits(value), memory_order_relaxed);
}

void metric_observe(struct metric *histogram, uint64_t value)
{
    assert(histogram->type == HISTOGRAM);
    struct histogram *inside = histogram->histogram;
    atomic_fetch_add_explicit(&inside->counts[bucket_of(value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&inside->sum, value, memory_order_relaxed);
}

/* ---- reading ---- */

/* A copy, so that what is derived from it agrees with itself; returns the total. */
static uint64_t read_counts(const struct metric *metric, uint64_t counts[BUCKETS])
{
    uint64_t total = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        counts[i] = atomic_load_explicit(&metric->histogram->counts[i], memory_order_relaxed);
        total += counts[i];
    }
    return total;
}

double metric_value(const struct metric *metric)
{
    uint64_t counts[BUCKETS];
    if (metric->type == HISTOGRAM)
        return (double)read_counts(metric, counts);
    uint64_t value = atomic_load_explicit(&metric->value, memory_order_relaxed);
    return metric->type == GAUGE ? from_bits(value) : (double)value;
}

double metric_quantile(const struct metric *histogram, double q)
{
    assert(histogram->type == HISTOGRAM && q >= 0 && q <= 1);
    uint64_t counts[BUCKETS], total = read_counts(histogram, counts), before = 0;
    double rank = q * (double)total, low, high;
    for (size_t i = 0; i < BUCKETS; i++) {
        if (counts[i] > 0 && (double)(before + counts[i]) >= rank) {
            bucket_bounds(i, &low, &high);
            double within = (rank - (double)before) / (double)counts[i];
            return (low + (high - low) * (within < 0 ? 0 : within)) * histogram->scale;
        }
        before += counts[i];
    }
    return 0;
}

static void put_number(double value, struct text *out)
{
    struct json_writer writer;
    if (isnan(value) || isinf(value)) {
        text_append_string(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    json_writer_init(&writer, out);
    if (fabs(value) < 1e15 && value == (double)(int64_t)value)
        json_put_i64(&writer, (int64_t)value);
    else
        json_put_real(&writer, value);
}

/* name{labels,le="..."} and a space */
static void put_head(const struct family *family, const struct metric *metric, const char *suffix,
                     bool le, double bound, struct text *out)
{
    bool labels = metric->labels.len > 0;
    text_appendf(out, "%s%s", family->name, suffix);
    if (labels || le)
        text_appendf(out, "{%s%s", text_string(&metric->labels), labels && le ? "," : "");
    if (le) {
        text_append_string(out, "le=\"");
        put_number(bound, out);
        text_append_char(out, '"');
    }
    text_append_string(out, labels || le ? "} " : " ");
}

static void print_histogram(const struct family *family, const struct metric *metric,
                            struct text *out)
{
    uint64_t counts[BUCKETS], sum, seen = 0;
    sum = atomic_load_explicit(&metric->histogram->sum, memory_order_relaxed);
    uint64_t total = read_counts(metric, counts);
    for (unsigned power = 0, bucket = 0; power < SHOWN_POWERS; power++) {
        uint64_t bound = (uint64_t)1 << power;
        for (; bucket <= bucket_of(bound); bucket++)
            seen += counts[bucket];
        put_head(family, metric, "_bucket", true, (double)bound * metric->scale, out);
        text_appendf(out, "%llu\n", (unsigned long long)seen);
    }
    put_head(family, metric, "_bucket", true, INFINITY, out);
    text_appendf(out, "%llu\n", (unsigned long long)total);
    put_head(family, metric, "_sum", false, 0, out);
    put_number((double)sum * metric->scale, out);
    text_append_char(out, '\n');
    put_head(family, metric, "_count", false, 0, out);
    text_appendf(out, "%llu\n", (unsigned long long)total);
}

static void print_family(const struct family *family, struct text *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    text_appendf(out, "# HELP %s ", family->name);
    for (const char *c = family->help; *c != 0; c++) {
        if (*c == '\n' || *c == '\\')
            text_append_char(out, '\\');
        text_append_char(out, *c == '\n' ? 'n' : *c);
    }
    text_appendf(out, "\n# TYPE %s %s\n", family->name, types[family->type]);
    for (const struct metric *metric = family->first; metric != NULL; metric = metric->next) {
        if (family->type == HISTOGRAM) {
            print_histogram(family, metric, out);
            continue;
        }
        put_head(family, metric, "", false, 0, out);
        if (family->type == GAUGE)
            put_number(metric_value(metric), out);
        else
            text_appendf(
                out, "%llu",
                (unsigned long long)atomic_load_explicit(&metric->value, memory_order_relaxed));
        text_append_char(out, '\n');
    }
}

void metrics_print(struct metrics *metrics, struct text *out)
{
    pthread_mutex_lock(&metrics->lock);
    for (const struct family *family = metrics->first; family != NULL; family = family->next)
        print_family(family, out);
    pthread_mutex_unlock(&metrics->lock);
}
