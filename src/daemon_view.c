/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_view.h"

#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DISCONNECTED_US_MAX INT64_C(300000000)
#define SILENT_US_MAX       INT64_C(120000000)
#define URGENT_US_MAX       INT64_C(600000000)
#define STALE_US_MAX        INT64_C(10000000)
#define TROUBLED_US_MAX     INT64_C(30000000)   /* a node that is down is replaced sooner */
#define CURSOR_AHEAD_US_MAX INT64_C(3600000000) /* two clocks may be apart by so much */
#define SECOND_US           1000000.0

static void judge_source(const struct daemon_view *view, bool live, struct health_view *out)
{
    const struct source_view *source = &view->source;
    if (source->alerting)
        health_degrade(out, "the firehose could not be reached %" PRIu32 " times in a row: %s",
                       source->failures, source->trouble);
    else if (source->state == SOURCE_STOPPED)
        health_degrade(out, "the firehose is not followed any more: %s", source->trouble);
    else if (view->down_us > DISCONNECTED_US_MAX)
        health_degrade(out, "the firehose is disconnected for more than 5 minutes: %s",
                       source->trouble);
    else if (live && view->everybody && out->last_event_us_ago > SILENT_US_MAX)
        health_degrade(out,
                       "the firehose is connected and has sent nothing for %.0f s, though "
                       "everybody's events are asked for",
                       (double)out->last_event_us_ago / SECOND_US);
}

/* Which of the two is wrong an operator can tell, and only he. */
static void judge_cursor(const struct daemon_view *view, int64_t now_us, struct health_view *out)
{
    int64_t ahead_us = view->source.committed_us - now_us;
    if (ahead_us > CURSOR_AHEAD_US_MAX)
        health_degrade(out,
                       "the cursor of %s is %.1f hours ahead of this machine's clock: set the "
                       "clock, or if it is right, run `tidemark reset %s`",
                       view->source_name, (double)ahead_us / SECOND_US / 3600, view->source_name);
}

static void judge_store(const struct daemon_view *view, int64_t now_us, struct health_view *out)
{
    const struct stored_view *stored = &view->stored;
    if (view->size_alert > 0 && stored->size > view->size_alert)
        health_degrade(out, "the database has %.1f GB, more than store.size_alert_gb allows",
                       (double)stored->size / 1e9);
    if (stored->urgent_since_us >= 0 && now_us - stored->urgent_since_us > URGENT_US_MAX)
        health_degrade(out, "the backfill of a gap or of a new follow has waited for %.0f minutes",
                       (double)(now_us - stored->urgent_since_us) / SECOND_US / 60);
}

/* A misspelt account follows nobody, and nothing would be stored without a word. */
static void judge_circle(const struct circle_view *circle, struct health_view *out)
{
    if (circle->in_trouble > 0 && circle->listed == 0)
        health_degrade(out, "nobody is followed: whom the accounts of bluesky.actors follow could "
                            "not be read yet; the log says why (not_listed)");
}

/* Who is gone is left alone, which is no trouble; who cannot be read is. */
static void judge_poller(const struct poller_view *poller, struct health_view *out)
{
    const struct poller_cycle *last = &poller->last;
    if (poller->polling && last->failed > 0 && last->failed + last->skipped >= last->accounts)
        health_degrade(out,
                       "none of the %" PRIu32 " feeds could be read in the last round; the log "
                       "says why",
                       last->accounts);
}

void daemon_view_health(const struct daemon_view *view, int64_t now_us, struct health_view *out)
{
    const struct source_view *source = &view->source;
    bool live = view->has_source && source->state == SOURCE_LIVE;
    out->follows_count = view->stored.follows;
    out->backfill_queue_depth = view->stored.backfill_queue;
    out->gaps_open = view->stored.gaps_open;
    out->accounts = (struct health_accounts){
        .count = (int64_t)view->ledger.accounts,
        .complete = (int64_t)view->ledger.complete,
        .running = view->ledger.running,
        .failed = (int64_t)view->ledger.failing,
        .oldest_success_us_ago =
            view->ledger.oldest_success_us == 0 ? -1 : now_us - view->ledger.oldest_success_us};
    out->websocket_connected = live;
    out->away_us = view->has_source ? view->down_us : 0;
    out->last_event_us_ago = source->last_event_us == 0 ? -1 : now_us - source->last_event_us;
    out->cursor_time_us = source->committed_us == 0 ? -1 : source->committed_us;
    out->commit_seq = view->writer.position.commit_seq;
    out->uptime_us = now_us - view->started_us;
    if (view->writer.in_trouble) {
        memcpy(out->writer_trouble, view->writer.trouble, sizeof out->writer_trouble);
        health_degrade(out, "the store is not being written: %s", view->writer.trouble);
    }
    if (view->has_source) {
        judge_source(view, live, out);
        judge_cursor(view, now_us, out);
    }
    if (view->documents.chain.stuck)
        health_degrade(out, "the chain is not followed any further: %s",
                       view->documents.chain.trouble);
    else if (view->documents.troubled_us > TROUBLED_US_MAX)
        health_degrade(out, "the chain has not been followed for %.0f s: %s",
                       (double)view->documents.troubled_us / SECOND_US,
                       view->documents.chain.trouble);
    judge_circle(&view->circle, out);
    judge_poller(&view->poller, out);
    judge_store(view, now_us, out);
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

static void show_progress(const struct daemon_view *view, struct status_progress *progress)
{
    const struct documents_view *documents = &view->documents;
    const struct content_view *content = &documents->content;
    progress->backfill.queued = view->stored.backfill_queue;
    progress->backfill.running = view->backfill.running;
    progress->backfill.completed = (int64_t)view->backfill.completed;
    progress->backfill.failed = (int64_t)view->backfill.failed;
    progress->backfill.per_minute = view->backfill.per_minute;
    progress->imports.accounts = (int64_t)view->ledger.accounts;
    progress->imports.complete = (int64_t)view->ledger.complete;
    progress->imports.failing = (int64_t)view->ledger.failing;
    progress->imports.oldest_success_us = view->ledger.oldest_success_us;
    progress->imports.running = view->ledger.running;
    progress->imports.completed = (int64_t)view->ledger.completed;
    progress->imports.failed = (int64_t)view->ledger.failed;
    progress->documents.followed = documents->on;
    progress->documents.head = documents->chain.head == 0 ? -1 : (int64_t)documents->chain.head;
    progress->documents.block = content->committed.known ? (int64_t)content->committed.number : -1;
    progress->documents.waiting = (int64_t)content->waiting;
    progress->documents.fetching = (int64_t)content->fetching;
    progress->documents.stored = (int64_t)content->stored;
    progress->documents.owed = (int64_t)content->owed;
}

static void show_provider(const struct source_provider *from, struct status_provider *to)
{
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->state, sizeof to->state, "%s", from->state);
    snprintf(to->reason, sizeof to->reason, "%s", from->reason);
    snprintf(to->chosen, sizeof to->chosen, "%s", from->chosen);
    to->current = from->current;
    to->successes = (int64_t)from->successes;
    to->failures = (int64_t)from->failures;
    to->latency_us = from->latency_us;
}

static void show_source(const struct daemon_view *view, int64_t now_us, struct status_source *shown)
{
    const struct source_view *source = &view->source;
    shown->name = view->source_name;
    shown->state = state_name(source->state);
    shown->rate = view->rate;
    shown->committed_us = source->committed_us;
    shown->last_event_us = source->last_event_us;
    shown->lag_us = daemon_view_lag_us(view, now_us);
    shown->events = (int64_t)source->events;
    shown->reconnects = (int64_t)source->reconnects;
    snprintf(shown->provider, sizeof shown->provider, "%s", source->provider);
    snprintf(shown->trouble, sizeof shown->trouble, "%s", source->trouble);
    for (size_t i = 0; i < source->provider_count && i < STATUS_PROVIDERS_MAX; i++)
        show_provider(&source->providers[i], &shown->providers[shown->provider_count++]);
}

static enum source_state state_of(const struct evm_chain_view *chain)
{
    if (chain->stuck)
        return SOURCE_STOPPED;
    if (chain->trouble[0] != '\0')
        return SOURCE_WAITING;
    return chain->head == 0 ? SOURCE_DIALLING : SOURCE_LIVE;
}

/* How far it is behind is told in blocks, beside what else is under way. */
static void show_chain(const struct documents_view *documents, struct status_source *shown)
{
    shown->name = CONTENT_SOURCE;
    shown->state = state_name(state_of(&documents->chain));
    shown->rate = -1;
    shown->lag_us = -1;
    shown->events = (int64_t)documents->content.stored;
    snprintf(shown->trouble, sizeof shown->trouble, "%s", documents->chain.trouble);
    for (size_t i = 0; i < documents->node_count; i++)
        if (documents->nodes[i].current)
            snprintf(shown->provider, sizeof shown->provider, "%s", documents->nodes[i].name);
}

static void show_group(const char *name, const struct source_provider *providers, size_t count,
                       struct status_live *out)
{
    for (size_t i = 0; i < count; i++) {
        assert(out->ledger_count < STATUS_LEDGER_MAX);
        struct status_ledger *shown = &out->ledger[out->ledger_count++];
        snprintf(shown->platform, sizeof shown->platform, "%s", name);
        show_provider(&providers[i], &shown->provider);
    }
}

void daemon_view_status(const struct daemon_view *view, int64_t now_us, struct status_live *out)
{
    const struct documents_view *documents = &view->documents;
    out->uptime_us = now_us - view->started_us;
    out->queued = view->queued;
    out->writing = !view->writer.in_trouble;
    show_progress(view, &out->progress);
    for (size_t i = 0; i < view->ledger.provider_count; i++)
        show_group(view->ledger.providers[i].platform, &view->ledger.providers[i].provider, 1, out);
    if (view->has_source)
        show_source(view, now_us, &out->sources[out->source_count++]);
    if (!documents->on)
        return;
    show_chain(documents, &out->sources[out->source_count++]);
    show_group(CONTENT_NODES, documents->nodes, documents->node_count, out);
    show_group(CONTENT_GATEWAYS, documents->gateways, documents->gateway_count, out);
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

int64_t daemon_view_lag_us(const struct daemon_view *view, int64_t now_us)
{
    const struct source_view *source = &view->source;
    if (source->committed_us == 0)
        return 0;
    bool idle = source->state == SOURCE_LIVE && source->received_us <= source->committed_us;
    int64_t lag_us = (idle ? source->last_event_us : now_us) - source->committed_us;
    return lag_us < 0 ? 0 : lag_us;
}

static void set_known(struct metrics *metrics, const char *name, const char *help, int64_t value)
{
    if (value >= 0)
        set(metrics, name, help, (double)value);
}

static void show_stored(const struct daemon_view *view, int64_t now_us, struct metrics *metrics)
{
    const struct stored_view *stored = &view->stored;
    set_known(metrics, "tidemark_store_bytes", "Size of the database.", stored->size);
    set_known(metrics, "tidemark_gaps_open", "Intervals that are known to be missing.",
              stored->gaps_open);
    set_known(metrics, "tidemark_follows", "Accounts followed.", stored->follows);
    set_known(metrics, "tidemark_backfill_queue_depth", "Accounts whose history is to be read.",
              stored->backfill_queue);
    set(metrics, "tidemark_backfill_urgent_age_seconds",
        "Age of the oldest backfill for a gap or a new follow; 0 when there is none.",
        stored->urgent_since_us < 0 ? 0 : (double)(now_us - stored->urgent_since_us) / SECOND_US);
    set_known(metrics, "tidemark_owed", "Work that will be tried again.", stored->owed);
    set_known(metrics, "tidemark_dead", "Work that was given up.", stored->dead);
    set_known(metrics, "tidemark_quarantined", "Inputs that could not be used.",
              stored->quarantined);
}

static void show_cards(const struct due_counts *cards, struct metrics *metrics)
{
    count(metrics, "tidemark_cards_total", "Links whose page was looked at.", cards->done);
    count(metrics, "tidemark_card_failures_total", "Pages that could not be had when asked for.",
          cards->failed);
    count(metrics, "tidemark_cards_given_up_total", "Links that get no card.", cards->dead);
    set(metrics, "tidemark_cards_under_way", "Pages being fetched or waiting for their host.",
        (double)cards->running);
}

static void show_pictures(const struct pictures_counts *pictures, struct metrics *metrics)
{
    count(metrics, "tidemark_pictures_total", "Pictures of links that were fetched.",
          pictures->fetched);
    count(metrics, "tidemark_picture_failures_total", "Pictures that could not be had.",
          pictures->failed);
    count(metrics, "tidemark_pictures_turned_away_total",
          "Wishes for pictures that found too many others.", pictures->turned_away);
    set(metrics, "tidemark_pictures_under_way", "Pictures being fetched or stored.",
        (double)pictures->under_way);
}

static void show_documents(const struct documents_view *documents, struct metrics *metrics)
{
    const struct content_view *content = &documents->content;
    if (!documents->on)
        return;
    set(metrics, "tidemark_chain_head_block", "The newest block a node has told of.",
        (double)documents->chain.head);
    count(metrics, "tidemark_chain_heads_total", "New blocks that a node told of by itself.",
          documents->heads.heads);
    set(metrics, "tidemark_content_block", "The block up to which every document has a row.",
        content->committed.known ? (double)content->committed.number : 0);
    set(metrics, "tidemark_content_lag_blocks", "Blocks taken whose documents are not all there.",
        (double)content->units);
    set(metrics, "tidemark_content_waiting", "Documents that wait to be fetched.",
        (double)content->waiting);
    set(metrics, "tidemark_content_fetching", "Documents being fetched.",
        (double)content->fetching);
    set(metrics, "tidemark_content_owed", "Documents that are tried again later.",
        (double)content->owed);
    count(metrics, "tidemark_content_failures_total", "Documents that no gateway gave when asked.",
          content->failed);
    set(metrics, "tidemark_content_stopped", "1 when the chain is not followed any further.",
        documents->chain.stuck);
}

static void show_subjects(const struct due_counts *subjects, struct metrics *metrics)
{
    count(metrics, "tidemark_subjects_total", "Posts of others that were looked for.",
          subjects->done);
    count(metrics, "tidemark_subject_failures_total", "Times such a post could not be had.",
          subjects->failed);
}

static void show_feeds(const struct daemon_view *view, struct metrics *metrics)
{
    const struct backfill_view *backfill = &view->backfill;
    const struct poller_cycle *cycle = &view->poller.last;
    set(metrics, "tidemark_backfill_running", "Accounts whose history is being read.",
        backfill->running);
    count(metrics, "tidemark_backfill_completed_total", "Histories that were read.",
          backfill->completed);
    count(metrics, "tidemark_backfill_failed_total", "Readings that are tried again later.",
          backfill->failed);
    count(metrics, "tidemark_backfill_dropped_total", "Accounts that are gone.", backfill->dropped);
    count(metrics, "tidemark_feed_pages_total", "Pages of feeds that were read.",
          backfill->pages + view->poller.pages);
    set(metrics, "tidemark_polling", "1 while feeds are polled.", view->poller.polling);
    count(metrics, "tidemark_poll_cycles_total", "Rounds over everybody who is followed.",
          view->poller.cycles);
    set(metrics, "tidemark_poll_accounts", "Accounts of the last round.", cycle->accounts);
    set(metrics, "tidemark_poll_accounts_placed", "Of these with a position.", cycle->placed);
    set(metrics, "tidemark_poll_accounts_fresh", "Of these with something new.", cycle->fresh);
    set(metrics, "tidemark_poll_accounts_initial", "Of these read for the first time.",
        cycle->initial);
    set(metrics, "tidemark_poll_accounts_failed", "Of these that could not be read.",
        cycle->failed + cycle->skipped);
    set(metrics, "tidemark_poll_seconds", "How long the last round took.",
        (double)cycle->took_us / SECOND_US);
}

static void show_fare(const char *platform, const struct source_provider *provider,
                      struct metrics *metrics)
{
    const struct metric_label labels[] = {{"platform", platform}, {"provider", provider->name}};
    metric_set(metrics_gauge(metrics, "tidemark_ledger_provider_usable",
                             "1 while the provider may be asked.", labels, 2),
               strcmp(provider->state, "closed") == 0 || strcmp(provider->state, "half-open") == 0);
    metric_set(metrics_gauge(metrics, "tidemark_ledger_provider_successes",
                             "Requests it answered since the start.", labels, 2),
               (double)provider->successes);
    metric_set(metrics_gauge(metrics, "tidemark_ledger_provider_failures",
                             "Requests it failed since the start.", labels, 2),
               (double)provider->failures);
    if (provider->latency_us >= 0)
        metric_set(metrics_gauge(metrics, "tidemark_ledger_provider_latency_seconds",
                                 "Mean time of its last answers.", labels, 2),
                   (double)provider->latency_us / SECOND_US);
}

static void show_ledger(const struct ledger_view *ledger, int64_t now_us, struct metrics *metrics)
{
    set(metrics, "tidemark_ledger_accounts", "Accounts whose histories are kept.",
        (double)ledger->accounts);
    set(metrics, "tidemark_ledger_accounts_complete", "Of these, whose last import was complete.",
        (double)ledger->complete);
    set(metrics, "tidemark_ledger_accounts_failing", "Of these, whose last import failed.",
        (double)ledger->failing);
    if (ledger->oldest_success_us > 0)
        set(metrics, "tidemark_ledger_oldest_success_seconds",
            "Since the complete import of an account that is longest ago.",
            (double)(now_us - ledger->oldest_success_us) / SECOND_US);
    set(metrics, "tidemark_ledger_imports_running", "Imports under way.", ledger->running);
    count(metrics, "tidemark_ledger_imports_completed_total", "Imports that are complete.",
          ledger->completed);
    count(metrics, "tidemark_ledger_imports_failed_total", "Imports that failed.", ledger->failed);
    for (size_t i = 0; i < ledger->provider_count; i++)
        show_fare(ledger->providers[i].platform, &ledger->providers[i].provider, metrics);
}

static void show_providers(const struct source_view *source, struct metrics *metrics)
{
    for (size_t i = 0; i < source->provider_count; i++) {
        const struct source_provider *provider = &source->providers[i];
        struct metric_label name = {"provider", provider->name};
        metric_set(metrics_gauge(metrics, "tidemark_provider_usable",
                                 "1 while the provider may be asked.", &name, 1),
                   strcmp(provider->state, "open") != 0);
        metric_set(metrics_gauge(metrics, "tidemark_provider_failures",
                                 "Requests it failed since the start.", &name, 1),
                   (double)provider->failures);
    }
}

static void show_connection(const struct daemon_view *view, struct metrics *metrics)
{
    set(metrics, "tidemark_websocket_connected", "1 while the firehose is connected.",
        view->source.state == SOURCE_LIVE);
    set(metrics, "tidemark_websocket_uptime_percent",
        "Share of the time since the start in which the firehose was connected.",
        view->connected_percent);
    set(metrics, "tidemark_events_per_second", "Events taken off the wire, of the last seconds.",
        view->rate < 0 ? 0 : view->rate);
    set(metrics, "tidemark_received_bytes_day", "Bytes of the firehose in the last 24 hours.",
        (double)view->day_bytes);
}

static void show_appview(const struct appview_view *appview, struct metrics *metrics)
{
    count(metrics, "tidemark_appview_requests_total", "Requests to AppViews.", appview->requests);
    count(metrics, "tidemark_appview_failures_total", "Of these, those that came to nothing.",
          appview->failures);
    count(metrics, "tidemark_appview_given_up_total", "Questions nobody answered.",
          appview->given_up);
    set(metrics, "tidemark_appview_queue_depth", "Questions waiting for an AppView.",
        (double)appview->waiting);
}

static void show_circle(const struct circle_view *circle, struct metrics *metrics)
{
    set(metrics, "tidemark_actors", "Accounts whose follows count.", (double)circle->actors);
    set(metrics, "tidemark_actors_in_trouble", "Of these, those whose list could not be read.",
        (double)circle->in_trouble);
}

void daemon_view_metrics(const struct daemon_view *view, int64_t now_us, struct metrics *metrics)
{
    const struct source_view *source = &view->source;
    const struct writer_state *writer = &view->writer;
    set(metrics, "tidemark_uptime_seconds", "Time since the start.",
        (double)(now_us - view->started_us) / SECOND_US);
    count(metrics, "tidemark_log_lines_lost_total", "Lines of the log that could not be written.",
          log_lost());
    show_connection(view, metrics);
    show_stored(view, now_us, metrics);
    show_feeds(view, metrics);
    show_ledger(&view->ledger, now_us, metrics);
    show_providers(source, metrics);
    show_cards(&view->cards, metrics);
    show_pictures(&view->pictures, metrics);
    show_documents(&view->documents, metrics);
    show_subjects(&view->subjects, metrics);
    show_appview(&view->appview, metrics);
    show_circle(&view->circle, metrics);
    set(metrics, "tidemark_cursor_lag_seconds", "How far the committed cursor is behind.",
        (double)daemon_view_lag_us(view, now_us) / SECOND_US);
    set(metrics, "tidemark_writer_queue_depth", "Batches waiting for the writer.", view->queued);
    set(metrics, "tidemark_writer_in_trouble", "1 while the store cannot be written.",
        writer->in_trouble);
    count(metrics, "tidemark_events_total", "Events taken off the wire.", source->events);
    count(metrics, "tidemark_event_bytes_total", "Bytes of these events.", source->bytes);
    count(metrics, "tidemark_records_total", "Records decoded from them.", source->records);
    count(metrics, "tidemark_rejected_total", "Events put into quarantine.", source->rejected);
    count(metrics, "tidemark_addresses_left_out_total", "Addresses in posts that became no link.",
          source->left_out);
    count(metrics, "tidemark_filtered_total",
          "Events of accounts and collections nobody asked for.", source->filtered);
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
