/* SPDX-License-Identifier: Apache-2.0
 *
 * config_table.h - the table of settings, and one value against its row.
 *
 * A row is all there is to say about a setting; reading, checking, printing and documenting follow
 * from it. The same rows serve the settings of the program and those of each provider and each
 * collection: a `section` is a table together with the struct its offsets are meant for.
 *
 * Owner: the config code.  Thread: one. */
#ifndef CONFIG_TABLE_H
#define CONFIG_TABLE_H

#include "base/suggestion.h"
#include "base/yaml_tree.h"
#include "config.h"
#include "config_load.h"

#define CONFIG_TEXT_MAX 2048
#define CONFIG_PATH_MAX 256

enum setting_type {
    SETTING_INT,    /* int64_t, min to max */
    SETTING_BOOL,   /* bool */
    SETTING_WORD,   /* an enum: place of the word in `words` */
    SETTING_TEXT,   /* const char *, at most CONFIG_TEXT_MAX bytes */
    SETTING_LIST,   /* struct config_list, at most `max` entries, each as a text */
    SETTING_SECRET, /* struct secret */
};

/* NULL, or what the value must be ("an address like 127.0.0.1:8080"). */
typedef const char *setting_check_fn(struct bytes value);

struct setting {
    const char *path;
    enum setting_type type;
    size_t offset;
    const char *initial; /* the default, as it would be written; NULL: nothing */
    int64_t min, max;
    const char *words;       /* SETTING_WORD, and lists of such: separated by spaces */
    setting_check_fn *check; /* of a text or of each entry; NULL: any */
    bool empty_allowed;      /* of a text */
    bool lines_allowed;      /* in a secret: a private key has several */
    bool single;             /* of a list: one entry may stand without brackets */
    bool url;                /* may carry a password or a key: shown masked */
    bool reloadable;         /* by SIGHUP */
    const char *sentence;
};

struct section {
    const struct setting *settings;
    size_t count;
    void *base;
    struct config_origin *origins;
    const char *prefix; /* "", "providers.etherscan." */
};

extern const struct setting config_settings[], config_provider_settings[],
    config_collection_settings[];
extern const size_t config_setting_count;

struct section config_section(const struct config *config);
/* Where the value of a setting that is in the table comes from. */
struct config_origin config_origin_of(const struct config *config, const char *path);
struct section config_provider_section(const struct config_provider *provider, struct text *prefix);
struct section config_collection_section(const struct config_collection *collection,
                                         struct text *prefix);
const struct setting *section_find(const struct section *section, struct bytes path);
/* All defaults. */
void section_init(struct config *config, const struct section *section);

/* ---- one value ---- */

/* Checks `value` (of a list: one entry); false appends what it must be to `must`. */
bool setting_check(const struct setting *setting, struct bytes value, bool plain,
                   struct text *must);
/* Stores a checked value. */
void setting_store(struct config *config, const struct setting *setting, void *base,
                   struct bytes value);
void setting_store_list(struct config *config, const struct setting *setting, void *base,
                        const struct bytes *items, size_t count);
/* What is allowed, in words ("1 to 100", "true or false"). */
void setting_describe(const struct setting *setting, struct text *out);
/* The stored value as YAML; a secret as its mask. */
void setting_print(const struct setting *setting, const void *base, struct text *out);
bool setting_equal(const struct setting *setting, const void *a, const void *b);

/* Checks the value and keeps it under `origin`, unless a stronger origin gave one before; reports
 * the problem otherwise. */
void section_set(struct config *config, const struct section *section,
                 const struct setting *setting, const struct yaml_node *node,
                 struct config_origin origin, struct config_problems *problems);

/* ---- parts of the loader ---- */

void config_problem(struct config_problems *problems, struct config_origin at, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
/* Memory that lives as long as the config. */
void *config_take(struct config *config, size_t size);
const char *config_keep(struct config *config, struct bytes text);
/* The provider of that name, made when it is new; NULL and a problem when there is no room or the
 * name is none. */
struct config_provider *config_provider_take(struct config *config, struct bytes name,
                                             struct config_origin at,
                                             struct config_problems *problems);

const char *config_check_ws_url(struct bytes value);
const char *config_check_http_url(struct bytes value);
const char *config_check_gateway(struct bytes value);
const char *config_check_appview(struct bytes value);
const char *config_check_any_url(struct bytes value);
const char *config_check_store(struct bytes value);
const char *config_check_listen(struct bytes value);
const char *config_check_origin(struct bytes value);
const char *config_check_rotate(struct bytes value);
const char *config_check_actor(struct bytes value);
const char *config_check_site(struct bytes value);
const char *config_check_weight(struct bytes value);
const char *config_check_account(struct bytes value);
const char *config_check_contract(struct bytes value);
const char *config_check_collection(struct bytes value);
const char *config_check_event(struct bytes value);
/* `url` with user and password, and what looks like a key in path or query, replaced by the mask;
 * the user of a database is shown. */
void config_mask_url(struct bytes url, struct text *out);

/* Reads one map into a section; `special` is asked about keys the table does not know. */
typedef bool section_special_fn(void *arg, const struct yaml_node *value);
void section_read(struct config *config, const struct section *section, const char *file,
                  const struct yaml_node *map, section_special_fn *special, void *arg,
                  struct config_problems *problems);

#endif
