/* SPDX-License-Identifier: Apache-2.0
 *
 * config.h - every setting of the program, typed and within its bounds.
 *
 * A setting has a path (polling.interval_minutes), a default, and at most three other origins, each
 * stronger than the one before: file, environment (TIDEMARK_POLLING_INTERVAL_MINUTES), flag. Always
 * holds, also while problems are being reported: every member has a valid value, because a refused
 * value changes nothing; text is never NULL ("" is "not given").
 *
 * Owner: who called config_init; read-only and shared by all threads once loaded. A reload makes a
 * second struct. */
#ifndef CONFIG_H
#define CONFIG_H

#include "base/err.h"
#include "config_lists.h"

#define CONFIG_HOST_MAX         64 /* of "host:port", where it is a provider's name */
#define CONFIG_APPVIEW_HOST_MAX 58 /* which may have a word before it */

enum config_mode { CONFIG_MODE_HYBRID, CONFIG_MODE_FIREHOSE, CONFIG_MODE_POLLING, CONFIG_MODE_OFF };
enum config_sandbox { CONFIG_SANDBOX_AUTO, CONFIG_SANDBOX_ON, CONFIG_SANDBOX_OFF };
enum config_log_format { CONFIG_LOG_TEXT, CONFIG_LOG_JSON };
enum config_log_level { CONFIG_LOG_DEBUG, CONFIG_LOG_INFO, CONFIG_LOG_WARN, CONFIG_LOG_ERROR };

struct config {
    struct {
        int64_t interval_minutes, posts_per_page, initial_lookback_hours, max_retries,
            retry_backoff_ms, max_pages_per_user, after_outage_seconds;
    } polling;
    struct {
        const char *endpoint, *fallback_endpoint, *cursor_file, *dictionary_file;
        bool compress;
        struct config_list wanted_collections;
        int64_t reconnect_delay_seconds, max_reconnect_attempts, cursor_save_interval_seconds;
    } jetstream;
    struct {
        int64_t refresh_interval_minutes, backfill_lookback_hours;
        bool backfill_enabled;
    } did_manager;
    struct {
        bool enabled;
        int64_t window_hours, cleanup_interval_minutes, keep_trending_threshold,
            keep_trending_max_days;
    } retention;
    struct {
        int64_t half_life_hours, single_domain_percent;
        struct config_list mute_accounts, mute_domains, mute_words, weights;
    } news;
    struct {
        int64_t posts_per_page, max_concurrent, rate_limit_ms, max_retries;
    } backfill;
    struct {
        const char *url, *data_dir;
        int64_t size_alert_gb;
    } store;
    struct {
        const char *listen, *health_listen, *tokens_file;
        bool open_reads;
        struct config_list cors_origins;
        int64_t address_requests_per_second, token_requests_per_second, burst_seconds;
        int64_t connections_max, connections_per_address, idle_seconds, request_seconds;
        int64_t handle_idle_seconds, session_grace_seconds;
        int64_t handles_open_max, handles_of_session_max, handles_kept_max;
    } serve;
    struct {
        enum config_sandbox mode;
    } sandbox;
    struct {
        enum config_log_format format;
        enum config_log_level level;
        const char *file, *rotate;
    } log;
    struct {
        struct config_list actors, collections, appview;
        enum config_mode mode;
        const char *identifier, *app_password_file, *pds;
        struct secret app_password;
        struct {
            bool enabled;
            int64_t sources_min, max;
        } second_degree;
    } bluesky;
    struct {
        struct config_list accounts;
        const char *connectors;
        int64_t interval_minutes, gap_limit;
    } ledger;
    struct {
        struct config_list rpc, heads, gateways;
        const char *contract, *event, *feed, *collection;
        int64_t start_block, confirmations, reorg_depth, concurrency;
    } content;
    struct {
        bool allow_private;
        const char *ca_file;
    } fetch;
    struct {
        bool enabled;
        int64_t per_host_ms, in_flight;
    } cards;
    struct {
        bool images;
        int64_t images_mb;
        const char *images_cdn;
    } page;
    struct config_provider *providers; /* in order of appearance */
    size_t provider_count;
    struct config_collection *collections;
    size_t collection_count;
    struct config_origin *origins; /* one per setting outside the two lists above */
    struct config_memory *memory;  /* what all of this points at */
};

static inline bool config_has_firehose(const struct config *config)
{
    return config->bluesky.mode == CONFIG_MODE_HYBRID ||
           config->bluesky.mode == CONFIG_MODE_FIREHOSE;
}

/* Where commands find the running daemon: tidemark.sock in the data directory as configured, or
 * where the SQLite file lies, or in data. */
void config_socket_path(const struct config *config, struct text *path);
/* NULL when nothing was configured for it. */
const struct config_provider *config_provider_find(const struct config *config, const char *name);

#endif
