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

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

#define CONFIG_PROVIDERS_MAX    64
#define CONFIG_COLLECTIONS_MAX  64
#define CONFIG_FIELDS_MAX       64
#define CONFIG_INDEXES_MAX      16
#define CONFIG_INDEX_FIELDS_MAX 8
#define CONFIG_PROVIDER_KEYS    7
#define CONFIG_COLLECTION_KEYS  3

enum config_mode { CONFIG_MODE_HYBRID, CONFIG_MODE_FIREHOSE, CONFIG_MODE_POLLING };
enum config_log_format { CONFIG_LOG_TEXT, CONFIG_LOG_JSON };
enum config_log_level { CONFIG_LOG_DEBUG, CONFIG_LOG_INFO, CONFIG_LOG_WARN, CONFIG_LOG_ERROR };
enum config_direction { CONFIG_ASCENDING, CONFIG_DESCENDING };
enum config_field_type {
    CONFIG_FIELD_TEXT,
    CONFIG_FIELD_INT,
    CONFIG_FIELD_FLOAT,
    CONFIG_FIELD_BOOL,
    CONFIG_FIELD_TIME,
    CONFIG_FIELD_JSON,
};

/* Where a value comes from; a higher one wins. */
enum config_from { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENVIRONMENT, CONFIG_FLAG };
struct config_origin {
    enum config_from from;
    const char *name;      /* of the file, variable or flag; NULL for a default */
    unsigned line, column; /* in a file, from 1 */
};

struct config_list {
    const char *const *items;
    size_t count;
};

struct config_provider {
    const char *name, *base_url; /* "" is the connector's own address */
    struct secret api_key, api_secret;
    const char *api_key_file, *api_secret_file;
    bool enabled;
    int64_t priority; /* lower is preferred */
    struct config_origin origins[CONFIG_PROVIDER_KEYS];
};

struct config_field {
    const char *name;
    enum config_field_type type;
};

struct config_collection {
    const char *name;
    const char *sort_field; /* "" is ingest order */
    enum config_direction sort_direction;
    int64_t page_size;
    const struct config_field *fields;
    size_t field_count;
    const struct config_list *indexes; /* names of declared fields */
    size_t index_count;
    struct config_origin origin, origins[CONFIG_COLLECTION_KEYS];
};

struct config {
    struct {
        int64_t interval_minutes, posts_per_page, initial_lookback_hours, max_retries,
            retry_backoff_ms, max_pages_per_user;
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
        int64_t window_hours, cleanup_interval_minutes, keep_trending_threshold,
            keep_trending_max_days;
    } retention;
    struct {
        int64_t posts_per_page, max_concurrent, rate_limit_ms, max_retries;
    } backfill;
    struct {
        const char *url, *data_dir;
        int64_t size_alert_gb;
    } store;
    struct {
        const char *listen, *health_listen, *tokens_file;
    } serve;
    struct {
        enum config_log_format format;
        enum config_log_level level;
        const char *file, *rotate;
    } log;
    struct {
        struct config_list actors, collections;
        const char *appview;
        enum config_mode mode;
    } bluesky;
    struct {
        struct config_list accounts;
        int64_t interval_minutes;
    } ledger;
    struct {
        struct config_list rpc, gateways;
        const char *contract, *event;
        int64_t start_block, confirmations, reorg_depth, concurrency;
    } content;
    struct {
        bool allow_private;
        const char *ca_file;
    } fetch;
    struct config_provider *providers; /* in order of appearance */
    size_t provider_count;
    struct config_collection *collections;
    size_t collection_count;
    struct config_origin *origins; /* one per setting outside the two lists above */
    struct config_memory *memory;  /* what all of this points at */
};

/* Where commands find the running daemon: tidemark.sock in the data directory as configured, or
 * where the SQLite file lies, or in data. */
void config_socket_path(const struct config *config, struct text *path);
/* NULL when nothing was configured for it. */
const struct config_provider *config_provider_find(const struct config *config, const char *name);

#endif
