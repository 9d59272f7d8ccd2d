/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_inside.h"

#include "config_load.h"
#include "daemon_appview.h"
#include "daemon_pictures.h"
#include "daemon_sandbox.h"
#include "daemon_serve.h"
#include "query/collections.h"
#include "store/outbox.h"
#include "sys/bell.h"
#include "sys/clock.h"
#include "sys/held_signals.h"
#include "sys/log.h"
#include "sys/network.h"
#include "sys/thread.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCHES_MAX  32
#define BATCH_BYTES  ((size_t)512 << 10)
#define ASKS_MAX     64
#define STOP_US_MAX  INT64_C(10000000)
#define STOP_LOOK_US INT64_C(20000)

void daemon_say_failure(const char *what, const struct err *err)
{
    log_event(LOG_ERROR, "daemon", what,
              (struct log_field[]){log_string("reason", err->text), LOG_END});
}

/* Whoever started it looks there first, not into a file. */
static void say_end(const struct daemon *daemon, const char *what, const struct err *err)
{
    daemon_say_failure(what, err);
    if (daemon_logs_to_file(daemon->config))
        fprintf(stderr, "tidemark: %s\n", err->text);
}

/* ---- what the parts are given ---- */

/* At the end somebody may still be told something and want to go on: writer and lookup are gone. */
enum rc daemon_submit(void *arg, struct batch *batch)
{
    struct daemon *daemon = arg;
    return daemon->outbox == NULL ? RC_REJECT : outbox_submit(daemon->outbox, batch);
}

static enum rc ask(void *arg, const char *sql, const struct field *params, size_t param_count,
                   lookup_fn *fn, void *fn_arg)
{
    struct daemon *daemon = arg;
    if (daemon->lookup == NULL)
        return RC_AGAIN;
    return lookup_ask(daemon->lookup, sql, params, param_count, fn, fn_arg);
}

static enum rc ask_steadily(void *arg, const struct lookup_question *question, lookup_fn *fn,
                            void *fn_arg)
{
    struct daemon *daemon = arg;
    if (daemon->lookup == NULL)
        return RC_AGAIN;
    return lookup_ask_steadily(daemon->lookup, question, fn, fn_arg);
}

/* Told in a turn of its own: who says it is in the midst of something. */
static void pass_news(void *arg)
{
    struct daemon *daemon = arg;
    unsigned news = daemon->news;
    daemon->news = 0;
    if (!daemon->stopping)
        parts_heed(&daemon->parts, news);
}

static bool hears(void *arg, struct bytes did)
{
    return parts_hear(&((const struct daemon *)arg)->parts, did);
}

static void tell(void *arg, unsigned news)
{
    struct daemon *daemon = arg;
    struct runtime *runtime = loop_runtime(daemon->loop);
    daemon->news |= news;
    runtime->ops->timer_arm(runtime, &daemon->news_due, 0);
}

/* ---- stopping ---- */

static void look_stopped(void *arg)
{
    struct daemon *daemon = arg;
    if (parts_stopped(&daemon->parts) || clock_mono_us() >= daemon->stop_by_us) {
        loop_stop(daemon->loop);
        return;
    }
    struct runtime *runtime = loop_runtime(daemon->loop);
    runtime->ops->timer_arm(runtime, &daemon->stop_look, STOP_LOOK_US);
}

static void stop_parts(struct daemon *daemon)
{
    daemon->stopping = true;
    if (daemon->opened)
        parts_stop(&daemon->parts);
    daemon->opened = false;
}

static void stop(void *arg)
{
    struct daemon *daemon = arg;
    if (daemon->stopping)
        return;
    daemon->stop_by_us = clock_mono_us() + STOP_US_MAX;
    log_event(LOG_INFO, "daemon", "stopping", NULL);
    stop_parts(daemon);
    look_stopped(daemon);
}

void daemon_fail(void *arg)
{
    struct daemon *daemon = arg;
    daemon->failed = true;
    loop_stop(daemon->loop);
}

/* Writer's thread: the store cannot be trusted any more. */
static void on_fatal(void *arg, const struct err *err)
{
    struct daemon *daemon = arg;
    say_end(daemon, "store_failed", err);
    if (loop_post(daemon->loop, daemon_fail, daemon) != RC_OK)
        abort();
}

/* ---- settings that change while it runs ---- */

static void take_over(struct daemon *daemon, const struct config *fresh)
{
    struct text paths = {0};
    struct err err;
    if (daemon_open_log(fresh, &err) != RC_OK)
        daemon_say_failure("log_not_changed", &err);
    parts_reload(&daemon->parts, fresh);
    serve_reload(daemon->server, daemon->server_options.gate.tokens_file != NULL, fresh);
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
    tell(daemon, PART_NEWS_RELOAD);
    if (daemon->options->reload != NULL &&
        daemon->options->reload(daemon->options->reload_arg, &fresh)) {
        take_over(daemon, &fresh);
        config_deinit(&fresh);
        return;
    }
    /* Whoever set the log file aside wants it opened anew, whatever the settings are. */
    if (log_reopen(&err) != RC_OK)
        daemon_say_failure("log_not_reopened", &err);
    log_event(LOG_ERROR, "daemon", "reload_refused",
              (struct log_field[]){log_string("kept", "the settings in force"), LOG_END});
}

/* ---- starting ---- */

static enum rc make_parts(struct daemon *daemon, struct err *err)
{
    config_socket_path(daemon->config, &daemon->socket_path);
    struct bytes folder = text_bytes(&daemon->socket_path);
    folder.len -= strlen(strrchr(text_string(&daemon->socket_path), '/'));
    daemon->loop = loop_new();
    const char *ca_file = daemon->config->fetch.ca_file;
    struct network_options network = {.ca_file = ca_file[0] == '\0' ? NULL : ca_file,
                                      .allow_private = daemon->config->fetch.allow_private};
    content_part_widen(daemon->config, &network);
    daemon->network = network_new(daemon->loop, &network);
    daemon->pool = batch_pool_new(BATCHES_MAX, BATCH_BYTES);
    daemon->env = (struct part_env){.config = daemon->config,
                                    .loop = daemon->loop,
                                    .runtime = loop_runtime(daemon->loop),
                                    .folder = folder,
                                    .source = {.runtime = loop_runtime(daemon->loop),
                                               .pool = daemon->pool,
                                               .submit = daemon_submit,
                                               .submit_arg = daemon,
                                               .ask = ask,
                                               .ask_steadily = ask_steadily,
                                               .ask_arg = daemon},
                                    .tell = tell,
                                    .tell_arg = daemon,
                                    .hears = hears,
                                    .hears_arg = daemon,
                                    .collections = collections_new()};
    enum rc rc =
        daemon_appview_make(daemon->config, daemon->env.runtime, &daemon->env.appview, err);
    if (rc == RC_OK)
        parts_make(&daemon->parts, &daemon->env);
    return rc;
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
    return store_claim(daemon->store, holder, daemon->config->serve.listen, clock_wall_us(),
                       &daemon->position, err);
}

static void start_writer(struct daemon *daemon)
{
    daemon->metrics = metrics_new();
    daemon->latency =
        metrics_histogram(daemon->metrics, "tidemark_event_commit_seconds",
                          "From the wire to the commit, of events that came live.", 1e-6, NULL, 0);
    daemon->bell = bell_new();
    struct writer_options options = {.batches_max = BATCHES_MAX * 2 + SERVER_WRITES_MAX,
                                     .latency_us = daemon->latency,
                                     .bell = daemon->bell,
                                     .fatal = on_fatal,
                                     .arg = daemon};
    daemon->writer = writer_start(daemon->store, daemon->position, &options);
    daemon->store = NULL;
    daemon->outbox = outbox_new(daemon->loop, daemon->writer, BATCHES_MAX);
    daemon->lookup = lookup_new(daemon->loop, daemon->config->store.url, ASKS_MAX);
    daemon->reset = reset_new(daemon->loop, daemon->pool, &daemon_reset_ops, daemon);
    daemon->backfill_ask = backfill_ask_new(&daemon->env);
    daemon->quarantine_ask =
        quarantine_ask_new(&daemon->env, parts_follower(&daemon->parts, "jetstream"));
    follows_ask_init(&daemon->follows_ask, &daemon->env);
    daemon->stop_look = (struct timer){.fn = look_stopped, .arg = daemon};
    daemon->look = (struct timer){.fn = daemon_look, .arg = daemon};
    daemon->news_due = (struct timer){.fn = pass_news, .arg = daemon};
    daemon->shown = latest_new(sizeof(struct daemon_view));
    daemon->started_us = clock_wall_us();
}

static enum rc start_server(struct daemon *daemon, struct err *err)
{
    struct server_options options;
    serve_options_init(&options, daemon->config);
    options.socket_path = text_string(&daemon->socket_path);
    options.writer = daemon->writer;
    options.collections = daemon->env.collections;
    options.health = daemon_tell_health;
    options.metrics = daemon_tell_metrics;
    options.status = daemon_tell_status;
    options.arg = daemon;
    options.bell = daemon->bell;
    options.pictures = pictures_part_desk(parts_pictures(&daemon->parts));
    daemon->admin.reset = daemon->reset;
    daemon->admin.backfill = daemon->backfill_ask;
    daemon->admin.follows = &daemon->follows_ask;
    daemon->admin.quarantine = daemon->quarantine_ask;
    daemon->admin.ledger = parts_ledger(&daemon->parts);
    daemon->admin.content = parts_follower(&daemon->parts, CONTENT_SOURCE);
    if (daemon->admin.content != NULL) {
        options.awaits_document = content_part_awaits;
        options.awaits_arg = daemon->admin.content;
    }
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

static enum rc enter_sandbox(struct daemon *daemon, struct err *err)
{
    return daemon_enter_sandbox(daemon->options, err);
}

static enum rc load_parts(struct daemon *daemon, struct err *err)
{
    return parts_load(&daemon->parts, daemon->store, err);
}

static enum rc open_parts(struct daemon *daemon, struct err *err)
{
    start_writer(daemon);
    enum rc rc = parts_open(&daemon->parts, err);
    daemon->opened = rc == RC_OK;
    if (daemon->opened)
        daemon_look(daemon);
    return rc;
}

/* A stop that was asked for meanwhile ends it between two steps, where everything can be undone. */
static enum rc start(struct daemon *daemon, struct err *err)
{
    typedef enum rc step_fn(struct daemon * daemon, struct err * err);
    static step_fn *const steps[] = {enter_sandbox, make_parts, open_store,
                                     load_parts,    open_parts, start_server};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < sizeof steps / sizeof steps[0]; i++) {
        daemon->stopping = held_signals_ask_stop();
        if (daemon->stopping)
            break;
        rc = steps[i](daemon, err);
    }
    return rc;
}

static void heed_signals(struct daemon *daemon)
{
    loop_on_signal(daemon->loop, SIGTERM, stop, daemon);
    loop_on_signal(daemon->loop, SIGINT, stop, daemon);
    loop_on_signal(daemon->loop, SIGHUP, reload, daemon);
    held_signals_end();
}

static void run(struct daemon *daemon)
{
    heed_signals(daemon);
    log_event(LOG_INFO, "daemon", "started",
              (struct log_field[]){log_string("version", TIDEMARK_VERSION),
                                   log_int("epoch", daemon->position.epoch),
                                   log_int("commit_seq", daemon->position.commit_seq), LOG_END});
    parts_start(&daemon->parts);
    loop_run(daemon->loop);
    held_signals_begin(); /* nobody listens any more, and what is left to do is to end */
}

/* ---- the end ---- */

static void stop_writer(struct daemon *daemon)
{
    struct err err;
    if (writer_stop(daemon->writer, &err) == RC_OK)
        return;
    daemon_say_failure("not_all_committed", &err); /* the next start asks for it again */
    daemon->failed = true;
}

static void free_loop(struct daemon *daemon)
{
    struct runtime *runtime = loop_runtime(daemon->loop);
    runtime->ops->timer_disarm(runtime, &daemon->stop_look);
    runtime->ops->timer_disarm(runtime, &daemon->look);
    runtime->ops->timer_disarm(runtime, &daemon->news_due);
    loop_free(daemon->loop);
}

/* Whoever asked the store or the writer is told in here how it ended: first of all they hear that
 * nothing is to be begun any more. What ends without a stop, as a start that fails, hears it here.
 */
static void stop_all(struct daemon *daemon)
{
    stop_parts(daemon);
    if (daemon->reset != NULL) {
        reset_abandon(daemon->reset);
        backfill_ask_abandon(daemon->backfill_ask);
        quarantine_ask_abandon(daemon->quarantine_ask);
        follows_ask_abandon(&daemon->follows_ask);
    }
    if (parts_follower(&daemon->parts, CONTENT_SOURCE) != NULL)
        content_part_abandon(parts_follower(&daemon->parts, CONTENT_SOURCE));
    if (parts_ledger(&daemon->parts) != NULL)
        ledger_part_abandon(parts_ledger(&daemon->parts));
    if (daemon->server != NULL)
        server_stop(daemon->server);
    if (daemon->writer != NULL)
        stop_writer(daemon);
    if (daemon->server != NULL)
        server_free(daemon->server);
    store_close(daemon->store);
    if (daemon->outbox != NULL)
        outbox_free(daemon->outbox);
    daemon->outbox = NULL;
    if (daemon->lookup != NULL)
        lookup_free(daemon->lookup);
    daemon->lookup = NULL;
    if (daemon->reset != NULL) {
        reset_free(daemon->reset);
        backfill_ask_free(daemon->backfill_ask);
        quarantine_ask_free(daemon->quarantine_ask);
        follows_ask_deinit(&daemon->follows_ask);
    }
    appview_free(daemon->env.appview);
    if (daemon->network != NULL)
        network_free(daemon->network);
    parts_free(&daemon->parts);
    collections_free(daemon->env.collections);
    if (daemon->loop != NULL)
        free_loop(daemon);
    if (daemon->pool != NULL)
        batch_pool_free(daemon->pool);
    if (daemon->shown != NULL)
        latest_free(daemon->shown);
    if (daemon->metrics != NULL)
        metrics_free(daemon->metrics);
    if (daemon->bell != NULL)
        bell_free(daemon->bell);
    text_free(&daemon->socket_path);
}

int daemon_run(const struct daemon_options *options)
{
    struct daemon daemon = {.options = options, .config = options->config};
    struct err err = {.text = ""};
    if (start(&daemon, &err) != RC_OK) {
        say_end(&daemon, "cannot_start", &err);
        daemon.failed = true;
    } else if (!daemon.stopping) {
        run(&daemon);
    }
    stop_all(&daemon);
    log_event(LOG_INFO, "daemon", "stopped", NULL);
    return daemon.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
