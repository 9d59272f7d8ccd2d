/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DISCONNECTED_US_MAX INT64_C(300000000)
#define STALE_US_MAX        INT64_C(10000000)
#define SECOND_US           1000000.0

void daemon_view_health(const struct daemon_view *view, int64_t now_us, struct health_view *out)
{
    const struct source_view *source = &view->source;
    bool live = view->has_source && source->state == SOURCE_LIVE;
    out->websocket_connected = live;
    out->last_event_us_ago = source->last_event_us == 0 ? -1 : now_us - source->last_event_us;
    out->cursor_time_us = source->committed_us == 0 ? -1 : source->committed_us;
    out->commit_seq = view->writer.position.commit_seq;
    out->uptime_us = now_us - view->started_us;
    if (view->writer.in_trouble) {
        memcpy(out->writer_trouble, view->writer.trouble, sizeof out->writer_trouble);
        health_degrade(out, "the store is not being written: %s", view->writer.trouble);
    }
    if (view->has_source && source->alerting)
        health_degrade(out, "the firehose could not be reached %" PRIu32 " times in a row: %s",
                       source->failures, source->trouble);
    else if (view->has_source && source->state == SOURCE_STOPPED)
        health_degrade(out, "the firehose is not followed any more: %s", source->trouble);
    else if (view->has_source && !live && out->last_event_us_ago > DISCONNECTED_US_MAX)
        health_degrade(out, "the firehose is disconnected for more than 5 minutes: %s",
                       source->trouble);
    if (now_us - view->at_us > STALE_US_MAX)
        health_degrade(out, "the ingest loop has not turned for %.0f s",
                       (double)(now_us - view->at_us) / SECOND_US);
}

static const char *state_name(enum source_state state)
{
    static const char *const names[] = {[SOURCE_IDLE] = "idle",
                                        [SOURCE_DIALLING] = "dialling",
                                        [SOURCE_LIVE] = "live",
                                        [SOURCE_WAITING] = "waiting",
                                        [SOURCE_STOPPED] = "stopped"};
    return names[state];
}

void daemon_view_status(const struct daemon_view *view, int64_t now_us, struct status_live *out)
{
    const struct source_view *source = &view->source;
    out->uptime_us = now_us - view->started_us;
    out->queued = view->queued;
    out->writing = !view->writer.in_trouble;
    if (!view->has_source)
        return;
    struct status_source *shown = &out->sources[out->source_count++];
    shown->name = view->source_name;
    shown->state = state_name(source->state);
    shown->rate = view->rate;
    shown->committed_us = source->committed_us;
    shown->last_event_us = source->last_event_us;
    shown->events = (int64_t)source->events;
    shown->reconnects = (int64_t)source->reconnects;
    snprintf(shown->provider, sizeof shown->provider, "%s", source->provider);
    snprintf(shown->trouble, sizeof shown->trouble, "%s", source->trouble);
    for (size_t i = 0; i < source->provider_count && i < STATUS_PROVIDERS_MAX; i++) {
        const struct source_provider *from = &source->providers[i];
        struct status_provider *to = &shown->providers[shown->provider_count++];
        snprintf(to->name, sizeof to->name, "%s", from->name);
        snprintf(to->state, sizeof to->state, "%s", from->state);
        snprintf(to->reason, sizeof to->reason, "%s", from->reason);
        snprintf(to->chosen, sizeof to->chosen, "%s", from->chosen);
        to->current = from->current;
        to->successes = (int64_t)from->successes;
        to->failures = (int64_t)from->failures;
    }
}

static void set(struct metrics *metrics, const char *name, const char *help, double value)
{
    metric_set(metrics_gauge(metrics, name, help, NULL, 0), value);
}

/* Brings a counter up to what was counted elsewhere. */
static void count(struct metrics *metrics, const char *name, const char *help, uint64_t value)
{
    struct metric *counter = metrics_counter(metrics, name, help, NULL, 0);
    uint64_t shown = (uint64_t)metric_value(counter);
    metric_count(counter, value > shown ? value - shown : 0);
}

void daemon_view_metrics(const struct daemon_view *view, int64_t now_us, struct metrics *metrics)
{
    const struct source_view *source = &view->source;
    const struct writer_state *writer = &view->writer;
    int64_t lag_us = source->committed_us == 0 ? 0 : now_us - source->committed_us;
    set(metrics, "tidemark_uptime_seconds", "Time since the start.",
        (double)(now_us - view->started_us) / SECOND_US);
    set(metrics, "tidemark_websocket_connected", "1 while the firehose is connected.",
        source->state == SOURCE_LIVE);
    set(metrics, "tidemark_cursor_lag_seconds", "Age of the committed cursor.",
        (double)lag_us / SECOND_US);
    set(metrics, "tidemark_writer_queue_depth", "Batches waiting for the writer.", view->queued);
    set(metrics, "tidemark_writer_in_trouble", "1 while the store cannot be written.",
        writer->in_trouble);
    count(metrics, "tidemark_events_total", "Events taken off the wire.", source->events);
    count(metrics, "tidemark_event_bytes_total", "Bytes of these events.", source->bytes);
    count(metrics, "tidemark_records_total", "Records decoded from them.", source->records);
    count(metrics, "tidemark_rejected_total", "Events put into quarantine.", source->rejected);
    count(metrics, "tidemark_filtered_total", "Events of accounts nobody follows here.",
          source->filtered);
    count(metrics, "tidemark_time_ahead_total",
          "Events of a time that had not come; stored, but the cursor stayed.", source->ahead);
    set(metrics, "tidemark_compressed", "1 while the firehose is compressed.", source->compressed);
    set(metrics, "tidemark_filter_accounts", "Accounts asked for; 0 when everybody's events are.",
        (double)source->follows);
    count(metrics, "tidemark_reconnects_total", "Connections lost.", source->reconnects);
    count(metrics, "tidemark_commits_total", "Transactions committed.", writer->commits);
    count(metrics, "tidemark_committed_records_total", "Records in them.", writer->records);
    count(metrics, "tidemark_commit_retries_total", "Commits that had to be tried again.",
          writer->retries);
    count(metrics, "tidemark_refused_rows_total", "Rows the database refused.", writer->refused);
}
