/* SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon shows of itself: put together on the loop, told to the serving half. */
#include "daemon_inside.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/thread.h"

#include <unistd.h>

#define LOOK_US INT64_C(200000)

/* ---- what is shown ---- */

void daemon_look(void *arg)
{
    struct daemon *daemon = arg;
    struct runtime *runtime = loop_runtime(daemon->loop);
    if (daemon->failed) /* a part may be half gone, and the loop is about to end */
        return;
    struct daemon_view view = {
        .at_us = clock_wall_us(), .started_us = daemon->started_us, .rate = -1};
    parts_look(&daemon->parts, clock_mono_us(), &view);
    writer_state(daemon->writer, &view.writer);
    view.queued = writer_queued(daemon->writer);
    latest_put(daemon->shown, &view);
    log_flush();
    runtime->ops->timer_arm(runtime, &daemon->look, LOOK_US);
}

void daemon_tell_health(void *arg, struct health_view *out)
{
    struct daemon *daemon = arg;
    struct daemon_view view;
    latest_get(daemon->shown, &view);
    daemon_view_health(&view, clock_wall_us(), out);
}

void daemon_tell_metrics(void *arg, struct text *out)
{
    struct daemon *daemon = arg;
    struct daemon_view view;
    latest_get(daemon->shown, &view);
    daemon_view_metrics(&view, clock_wall_us(), daemon->metrics);
    metric_set(metrics_gauge(daemon->metrics, "tidemark_event_commit_p50_seconds",
                             "Half of all live events were committed within this time.", NULL, 0),
               metric_quantile(daemon->latency, 0.5));
    metric_set(metrics_gauge(daemon->metrics, "tidemark_event_commit_p95_seconds",
                             "All but one in twenty were committed within this time.", NULL, 0),
               metric_quantile(daemon->latency, 0.95));
    metric_set(metrics_gauge(daemon->metrics, "tidemark_event_commit_p99_seconds",
                             "All but one in a hundred were committed within this time.", NULL, 0),
               metric_quantile(daemon->latency, 0.99));
    metrics_print(daemon->metrics, out);
}

void daemon_tell_status(void *arg, struct status_live *out)
{
    struct daemon *daemon = arg;
    struct daemon_view view;
    latest_get(daemon->shown, &view);
    daemon_view_status(&view, clock_wall_us(), out);
    out->progress.commit_p50 = metric_quantile(daemon->latency, 0.5);
    out->progress.commit_p95 = metric_quantile(daemon->latency, 0.95);
    out->progress.commit_p99 = metric_quantile(daemon->latency, 0.99);
    out->pid = getpid();
}
