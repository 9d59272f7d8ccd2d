/* SPDX-License-Identifier: Apache-2.0
 *
 * config_lists.h - settings that come in numbers: providers and collections, each under its name,
 * and where a value comes from. */
#ifndef CONFIG_LISTS_H
#define CONFIG_LISTS_H

#include "base/bytes.h"
#include "base/secret.h"

#define CONFIG_PROVIDERS_MAX     64
#define CONFIG_COLLECTIONS_MAX   64
#define CONFIG_FIELDS_MAX        47
#define CONFIG_INDEXES_MAX       16
#define CONFIG_INDEX_FIELDS_MAX  8
#define CONFIG_PROVIDER_KEYS     7
#define CONFIG_PROVIDER_PRIORITY 6 /* of the keys: the one that is the priority */
#define CONFIG_COLLECTION_KEYS   3

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

#endif
