/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include "config_load.h"
#include "daemon_admin.h"
#include "daemon_firehose.h"
#include "daemon_providers.h"
#include "daemon_view.h"
#include "serve/server.h"
#include "store/outbox.h"
#include "store/writer.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/network.h"
#include "sys/thread.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCHES_MAX  32
#define BATCH_BYTES  ((size_t)512 << 10)
#define STOP_US_MAX  INT64_C(10000000)
#define LOOK_US      INT64_C(200000)
#define STOP_LOOK_US INT64_C(20000)
#define RATE_US      INT64_C(2000000)

struct daemon {
    const struct daemon_options *options;
    const struct config *config;
    struct store *store; /* until the writer owns it */
    struct store_position position;
    struct text jetstream_cursor;
    struct gap_set jetstream_gaps;
    struct writer *writer;
    struct loop *loop;
    struct network *network;
    struct batch_pool *pool;
    struct outbox *outbox;
    struct source *source;
    struct source_tuning tuning;
    struct reset *reset;
    struct admin admin;
    struct server *server;
    struct server_options server_options;
    struct text socket_path;
    struct firehose firehose;
    struct latest *shown;
    struct daemon_providers providers;
    struct metrics *metrics;
    int64_t started_us;
    double rate;          /* events per second; below 0: not known yet */
    int64_t rate_us;      /* since when it is being measured */
    uint64_t rate_events; /* that had come by then */
    struct timer stop_look, look;
    int64_t stop_by_us;
    bool stopping, source_stopping, failed;
};

static void say_failure(const char *what, const struct err *err)
{
    log_event(LOG_ERROR, "daemon", what,
              (struct log_field[]){log_string("reason", err->text), LOG_END});
}

/* ---- what is shown ---- */

static void measure_rate(struct daemon *daemon, uint64_t events)
{
    int64_t now_us = clock_mono_us();
    if (now_us - daemon->rate_us < RATE_US)
        return;
    if (daemon->rate_us > 0 && events >= daemon->rate_events)
        daemon->rate =
            (double)(events - daemon->rate_events) * 1e6 / (double)(now_us - daemon->rate_us);
    daemon->rate_us = now_us;
    daemon->rate_events = events;
}

static void show(void *arg)
{
    struct daemon *daemon = arg;
    struct runtime *runtime = loop_runtime(daemon->loop);
    struct daemon_view view = {.at_us = clock_wall_us(),
                               .started_us = daemon->started_us,
                               .has_source = daemon->source != NULL};
    if (daemon->source != NULL) {
        daemon->source->ops->view(daemon->source, &view.source);
        measure_rate(daemon, view.source.events);
        view.source_name = daemon->source->ops->name;
        if (!daemon->stopping)
            daemon_providers_look(&daemon->providers, view.source_name, &view.source, view.at_us,
                                  daemon->pool, daemon->outbox);
    }
    view.rate = daemon->rate;
    writer_state(daemon->writer, &view.writer);
    view.queued = writer_queued(daemon->writer);
    latest_put(daemon->shown, &view);
    firehose_look(&daemon->firehose, view.source.committed_us, clock_mono_us());
    log_flush();
    runtime->ops->timer_arm(runtime, &daemon->look, LOOK_US);
}

static void tell_health(void *arg, struct health_view *out)
{
    struct daemon *daemon = arg;
    struct daemon_view view;
    latest_get(daemon->shown, &view);
    daemon_view_health(&view, clock_wall_us(), out);
}

static void tell_metrics(void *arg, struct text *out)
{
    struct daemon *daemon = arg;
    struct daemon_view view;
    latest_get(daemon->shown, &view);
    daemon_view_metrics(&view, clock_wall_us(), daemon->metrics);
    metrics_print(daemon->metrics, out);
}

static void tell_status(void *arg, struct status_live *out)
{
    struct daemon *daemon = arg;
    struct daemon_view view;
    latest_get(daemon->shown, &view);
    daemon_view_status(&view, clock_wall_us(), out);
    out->pid = getpid();
}

/* ---- stopping ---- */

static void look_stopped(void *arg)
{
    struct daemon *daemon = arg;
    bool stopped = daemon->source == NULL || daemon->source->ops->stopped(daemon->source);
    if (stopped || clock_mono_us() >= daemon->stop_by_us) {
        loop_stop(daemon->loop);
        return;
    }
    struct runtime *runtime = loop_runtime(daemon->loop);
    runtime->ops->timer_arm(runtime, &daemon->stop_look, STOP_LOOK_US);
}

static void stop_source(struct daemon *daemon)
{
    if (daemon->source != NULL && !daemon->source_stopping)
        daemon->source->ops->stop(daemon->source);
    daemon->source_stopping = true;
}

static void stop(void *arg)
{
    struct daemon *daemon = arg;
    if (daemon->stopping)
        return;
    daemon->stopping = true;
    daemon->stop_by_us = clock_mono_us() + STOP_US_MAX;
    log_event(LOG_INFO, "daemon", "stopping", NULL);
    stop_source(daemon);
    look_stopped(daemon);
}

static void fail_stop(void *arg)
{
    struct daemon *daemon = arg;
    daemon->failed = true;
    loop_stop(daemon->loop);
}

/* Writer's thread: the store cannot be trusted any more. */
static void on_fatal(void *arg, const struct err *err)
{
    struct daemon *daemon = arg;
    say_failure("store_failed", err);
    if (loop_post(daemon->loop, fail_stop, daemon) != RC_OK)
        abort();
}

/* ---- settings that change while it runs ---- */

static struct source_tuning tuning_of(const struct config *config)
{
    return (struct source_tuning){
        .reconnect_delay_seconds = (uint32_t)config->jetstream.reconnect_delay_seconds,
        .max_reconnect_attempts = (uint32_t)config->jetstream.max_reconnect_attempts};
}

static void take_over(struct daemon *daemon, const struct config *fresh)
{
    struct text paths = {0};
    struct err err;
    if (daemon_open_log(fresh, &err) != RC_OK)
        say_failure("log_not_changed", &err);
    daemon->tuning = tuning_of(fresh);
    if (daemon->source != NULL)
        daemon->source->ops->tune(daemon->source, &daemon->tuning);
    firehose_tune(&daemon->firehose, fresh);
    size_t count = config_restart_needed(daemon->config, fresh, &paths);
    const char *at = text_string(&paths);
    for (size_t len; (len = strcspn(at, "\n")) > 0; at += len + (at[len] != '\0'))
        log_event(LOG_WARN, "daemon", "restart_needed",
                  (struct log_field[]){log_text("setting", bytes_make(at, len)), LOG_END});
    text_free(&paths);
    log_event(LOG_INFO, "daemon", "reloaded",
              (struct log_field[]){log_int("restart_needed", (int64_t)count), LOG_END});
}

static void reload(void *arg)
{
    struct daemon *daemon = arg;
    struct config fresh;
    struct err err;
    firehose_refresh(&daemon->firehose);
    if (daemon->options->reload != NULL &&
        daemon->options->reload(daemon->options->reload_arg, &fresh)) {
        take_over(daemon, &fresh);
        config_deinit(&fresh);
        return;
    }
    /* Whoever set the log file aside wants it opened anew, whatever the settings are. */
    if (log_reopen(&err) != RC_OK)
        say_failure("log_not_reopened", &err);
    log_event(LOG_ERROR, "daemon", "reload_refused",
              (struct log_field[]){log_string("kept", "the settings in force"), LOG_END});
}

enum rc daemon_open_log(const struct config *config, struct err *err)
{
    struct log_options options = {
        .format = config->log.format == CONFIG_LOG_JSON ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT,
        .level = (enum log_level)config->log.level,
        .file = config->log.file,
    };
    if (config->log.rotate[0] != '\0' &&
        !log_rotate_parse(bytes_of(config->log.rotate), &options.rotate_bytes,
                          &options.rotate_count))
        return err_set(err, RC_REJECT, "log.rotate is \"%s\"; it must look like 10M:5",
                       config->log.rotate);
    return log_open(&options, err);
}

/* ---- starting ---- */

static bool take_text(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1);
    if (!columns[0].null)
        text_append(arg, columns[0].b.data, columns[0].b.len);
    return false;
}

/* Where the sources stand, as stored. */
static enum rc read_positions(struct daemon *daemon, struct err *err)
{
    struct field params[GAP_LOAD_PARAMS];
    enum rc rc = store_query(
        daemon->store, "SELECT state FROM cursors WHERE source = 'jetstream' AND stream = 'live'",
        NULL, 0, take_text, &daemon->jetstream_cursor, err);
    if (rc != RC_OK)
        return rc;
    gap_load_begin(&daemon->jetstream_gaps, params);
    rc = store_query(daemon->store, gap_load_sql, params, GAP_LOAD_PARAMS, gap_load_row,
                     &daemon->jetstream_gaps, err);
    return rc == RC_OK ? firehose_load(&daemon->firehose, daemon->store, err) : rc;
}

static enum rc open_store(struct daemon *daemon, struct err *err)
{
    unsigned applied;
    char host[64] = "", holder[128];
    enum rc rc = store_open(daemon->config->store.url, STORE_WRITE, &daemon->store, err);
    if (rc == RC_OK)
        rc = store_migrate(daemon->store, &applied, err);
    if (rc != RC_OK)
        return rc;
    if (applied > 0)
        log_event(LOG_INFO, "store", "migrated",
                  (struct log_field[]){log_int("steps", applied), LOG_END});
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    snprintf(holder, sizeof holder, "pid %ld on %s", (long)getpid(),
             host[0] == '\0' ? "an unnamed host" : host);
    rc = store_claim(daemon->store, holder, daemon->config->serve.listen, clock_wall_us(),
                     &daemon->position, err);
    return rc == RC_OK ? read_positions(daemon, err) : rc;
}

/* "" is how the configuration says "none". */
static const char *or_none(const char *address)
{
    return *address == '\0' ? NULL : address;
}

static enum rc submit(void *arg, struct batch *batch)
{
    struct daemon *daemon = arg;
    return outbox_submit(daemon->outbox, batch);
}

static enum rc open_files(struct daemon *daemon, struct err *err)
{
    config_socket_path(daemon->config, &daemon->socket_path);
    struct bytes folder = text_bytes(&daemon->socket_path);
    folder.len -= strlen(strrchr(text_string(&daemon->socket_path), '/'));
    return firehose_open(&daemon->firehose, daemon->loop, folder, err);
}

static enum rc make_source(struct daemon *daemon, struct err *err)
{
    struct source_env env = {.runtime = loop_runtime(daemon->loop),
                             .pool = daemon->pool,
                             .submit = submit,
                             .submit_arg = daemon};
    struct jetstream_options options = {
        .reconnect_delay_seconds = daemon->tuning.reconnect_delay_seconds,
        .max_reconnect_attempts = daemon->tuning.max_reconnect_attempts,
        .cursor_state = text_bytes(&daemon->jetstream_cursor),
        .gaps = &daemon->jetstream_gaps,
    };
    return firehose_make(&daemon->firehose, &env, &options, &daemon->source, err);
}

/* ---- forgetting a position ---- */

static bool is_followed(const struct daemon *daemon, const char *name)
{
    return daemon->source != NULL && strcmp(daemon->source->ops->name, name) == 0;
}

static void stop_for_reset(void *arg, const char *name)
{
    struct daemon *daemon = arg;
    if (is_followed(daemon, name))
        stop_source(daemon);
}

static bool stopped_for_reset(void *arg, const char *name)
{
    struct daemon *daemon = arg;
    return !is_followed(daemon, name) || daemon->source->ops->stopped(daemon->source);
}

static void restart_after_reset(void *arg, const char *name)
{
    struct daemon *daemon = arg;
    struct err err;
    if (!is_followed(daemon, name) || daemon->stopping)
        return;
    daemon->source->ops->free(daemon->source);
    daemon->source = NULL;
    daemon->source_stopping = false;
    daemon->rate_us = 0;
    text_free(&daemon->jetstream_cursor);
    firehose_forget(&daemon->firehose);
    if (make_source(daemon, &err) != RC_OK) {
        say_failure("source_not_restarted", &err);
        fail_stop(daemon);
        return;
    }
    daemon->source->ops->start(daemon->source);
    show(daemon);
}

static const struct reset_ops reset_ops = {.stop_source = stop_for_reset,
                                           .source_stopped = stopped_for_reset,
                                           .restart_source = restart_after_reset,
                                           .submit = submit};

static void start_writer(struct daemon *daemon)
{
    daemon->metrics = metrics_new();
    struct writer_options options = {
        .batches_max = BATCHES_MAX * 2,
        .latency_us = metrics_histogram(daemon->metrics, "tidemark_event_commit_seconds",
                                        "From the wire to the commit.", 1e-6, NULL, 0),
        .fatal = on_fatal,
        .arg = daemon};
    daemon->loop = loop_new();
    daemon->network = network_new(daemon->loop, &(struct network_options){0});
    daemon->pool = batch_pool_new(BATCHES_MAX, BATCH_BYTES);
    daemon->writer = writer_start(daemon->store, daemon->position, &options);
    daemon->store = NULL;
    daemon->outbox = outbox_new(daemon->loop, daemon->writer, BATCHES_MAX);
    daemon->reset = reset_new(daemon->loop, daemon->pool, &reset_ops, daemon);
    daemon->tuning = tuning_of(daemon->config);
    daemon->rate = -1;
    daemon->stop_look = (struct timer){.fn = look_stopped, .arg = daemon};
    daemon->look = (struct timer){.fn = show, .arg = daemon};
    daemon->shown = latest_new(sizeof(struct daemon_view));
    daemon->started_us = clock_wall_us();
}

static enum rc start_server(struct daemon *daemon, struct err *err)
{
    const struct config *config = daemon->config;
    struct server_options options = {.listen = or_none(config->serve.listen),
                                     .health_listen = or_none(config->serve.health_listen),
                                     .socket_path = text_string(&daemon->socket_path),
                                     .store_url = config->store.url,
                                     .health = tell_health,
                                     .metrics = tell_metrics,
                                     .status = tell_status,
                                     .arg = daemon};
    daemon->admin.reset = daemon->reset;
    admin_add_routes(&daemon->admin, &options);
    daemon->server_options = options;
    enum rc rc = server_start(&daemon->server_options, &daemon->server, err);
    if (rc == RC_OK)
        log_event(LOG_INFO, "serve", "listening",
                  (struct log_field[]){
                      log_int("port", server_port(daemon->server, LISTENER_MAIN)),
                      log_int("health_port", server_port(daemon->server, LISTENER_HEALTH)),
                      log_string("socket", text_string(&daemon->socket_path)), LOG_END});
    return rc;
}

static void stop_writer(struct daemon *daemon)
{
    struct err err;
    if (writer_stop(daemon->writer, &err) == RC_OK)
        return;
    say_failure("not_all_committed", &err); /* the next start asks for it again */
    daemon->failed = true;
}

/* What was committed is down: the last word goes into the file. */
static void free_source(struct daemon *daemon)
{
    struct source_view view = {0};
    if (daemon->source != NULL) {
        daemon->source->ops->view(daemon->source, &view);
        daemon->source->ops->free(daemon->source);
    }
    firehose_close(&daemon->firehose, view.committed_us);
}

static void stop_all(struct daemon *daemon)
{
    if (daemon->reset != NULL)
        reset_abandon(daemon->reset);
    if (daemon->server != NULL)
        server_stop(daemon->server);
    if (daemon->writer != NULL)
        stop_writer(daemon);
    store_close(daemon->store);
    if (daemon->outbox != NULL)
        outbox_free(daemon->outbox);
    if (daemon->reset != NULL)
        reset_free(daemon->reset);
    if (daemon->network != NULL)
        network_free(daemon->network);
    firehose_stop(&daemon->firehose);
    free_source(daemon);
    if (daemon->loop != NULL) {
        struct runtime *runtime = loop_runtime(daemon->loop);
        runtime->ops->timer_disarm(runtime, &daemon->stop_look);
        runtime->ops->timer_disarm(runtime, &daemon->look);
        loop_free(daemon->loop);
    }
    if (daemon->pool != NULL)
        batch_pool_free(daemon->pool);
    if (daemon->shown != NULL)
        latest_free(daemon->shown);
    if (daemon->metrics != NULL)
        metrics_free(daemon->metrics);
    text_free(&daemon->jetstream_cursor);
    text_free(&daemon->socket_path);
    gap_set_deinit(&daemon->jetstream_gaps);
}

int daemon_run(const struct daemon_options *options)
{
    struct daemon daemon = {.options = options, .config = options->config};
    struct err err;
    gap_set_init(&daemon.jetstream_gaps, "jetstream", "live", 0);
    firehose_init(&daemon.firehose, options->config, (uint64_t)clock_wall_us());
    enum rc rc = open_store(&daemon, &err);
    if (rc == RC_OK) {
        start_writer(&daemon);
        rc = open_files(&daemon, &err);
    }
    if (rc == RC_OK)
        rc = make_source(&daemon, &err);
    if (rc == RC_OK) {
        show(&daemon);
        rc = start_server(&daemon, &err);
    }
    if (rc == RC_OK) {
        loop_on_signal(daemon.loop, SIGTERM, stop, &daemon);
        loop_on_signal(daemon.loop, SIGINT, stop, &daemon);
        loop_on_signal(daemon.loop, SIGHUP, reload, &daemon);
        log_event(LOG_INFO, "daemon", "started",
                  (struct log_field[]){log_string("version", TIDEMARK_VERSION),
                                       log_int("epoch", daemon.position.epoch),
                                       log_int("commit_seq", daemon.position.commit_seq), LOG_END});
        daemon.source->ops->start(daemon.source);
        loop_run(daemon.loop);
    } else {
        say_failure("cannot_start", &err);
        daemon.failed = true;
    }
    stop_all(&daemon);
    log_event(LOG_INFO, "daemon", "stopped", NULL);
    return daemon.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
