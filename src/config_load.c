/* SPDX-License-Identifier: Apache-2.0 */
#include "config_load.h"

#include "config_table.h"
#include "sys/small_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_BYTES_MAX 4096
#define PREFIX           "TIDEMARK_"
#define PROVIDERS        "providers."

/* ---- single values: environment and flags ---- */

/* A list written as "a, b", or as a YAML list when it begins with a bracket. */
static void set_list_text(struct config *config, const struct section *section,
                          const struct setting *setting, struct bytes value,
                          struct config_origin origin, struct config_problems *problems)
{
    if (value.len > 0 && value.data[0] == '[') {
        struct yaml_tree tree;
        struct err err;
        if (yaml_tree_parse(&tree, value, &err) == RC_OK && tree.root != NULL)
            section_set(config, section, setting, tree.root, origin, problems);
        else
            config_problem(problems, origin, "%s%s: %s", section->prefix, setting->path, err.text);
        yaml_tree_free(&tree);
        return;
    }
    struct yaml_node list = {.kind = YAML_LIST}, *items = NULL;
    size_t count = value.len > 0;
    for (size_t i = 0; i < value.len; i++)
        count += value.data[i] == ',';
    items = memory_new_zeroed(count + 1, sizeof *items);
    for (const char *at = value.data; list.count < count; list.count++) {
        size_t len = strcspn(at, ",");
        struct bytes item = bytes_make(at, len);
        for (; item.len > 0 && item.data[0] == ' '; item.data++)
            item.len--;
        while (item.len > 0 && item.data[item.len - 1] == ' ')
            item.len--;
        items[list.count] = (struct yaml_node){
            .kind = YAML_TEXT,
            .text = item,
            .next = list.count + 1 < count ? &items[list.count + 1] : NULL,
        };
        at += len + 1;
    }
    list.first = count > 0 ? items : NULL;
    section_set(config, section, setting, &list, origin, problems);
    free(items);
}

/* `value` must be NUL-terminated. */
static void set_text(struct config *config, const struct section *section,
                     const struct setting *setting, struct bytes value, struct config_origin origin,
                     struct config_problems *problems)
{
    struct yaml_node node = {.kind = YAML_TEXT, .text = value, .plain = true};
    if (setting->type == SETTING_LIST)
        set_list_text(config, section, setting, value, origin, problems);
    else
        section_set(config, section, setting, &node, origin, problems);
}

static void report_unknown_path(struct bytes path, struct config_origin origin,
                                struct config_problems *problems)
{
    struct suggestion suggestion = suggestion_begin(path);
    struct text sentence = {0};
    for (size_t i = 0; i < config_setting_count; i++)
        suggestion_try(&suggestion, bytes_of(config_settings[i].path));
    suggestion_quote(path, &sentence);
    text_append_string(&sentence, " is no setting");
    suggestion_end(&suggestion, "", &sentence);
    config_problem(problems, origin, "%s", text_string(&sentence));
    text_free(&sentence);
}

/* Splits providers.NAME.KEY; NULL when `path` is not of that form or KEY is none. */
static const struct setting *find_provider_key(const char *path, struct bytes *name)
{
    struct section keys = {.settings = config_provider_settings, .count = CONFIG_PROVIDER_KEYS};
    if (!bytes_starts_with(bytes_of(path), PROVIDERS))
        return NULL;
    *name = bytes_of(path + strlen(PROVIDERS));
    const char *dot = strchr(name->data, '.');
    if (dot == NULL)
        return NULL;
    name->len = (size_t)(dot - name->data);
    return section_find(&keys, bytes_of(dot + 1));
}

static void set_provider(struct config *config, struct bytes name, const struct setting *key,
                         struct bytes value, struct config_origin origin,
                         struct config_problems *problems)
{
    struct config_provider *provider = config_provider_take(config, name, origin, problems);
    if (provider == NULL)
        return;
    struct text prefix = {0};
    struct section section = config_provider_section(provider, &prefix);
    set_text(config, &section, key, value, origin, problems);
    text_free(&prefix);
}

void config_set(struct config *config, const char *flag, const char *path, const char *value,
                struct config_problems *problems)
{
    struct config_origin origin = {CONFIG_FLAG, config_keep(config, bytes_of(flag)), 0, 0};
    struct section section = config_section(config);
    struct bytes name;
    const struct setting *setting = section_find(&section, bytes_of(path));
    const struct setting *key = find_provider_key(path, &name);
    if (setting != NULL)
        set_text(config, &section, setting, bytes_of(value), origin, problems);
    else if (key != NULL)
        set_provider(config, name, key, bytes_of(value), origin, problems);
    else
        report_unknown_path(bytes_of(path), origin, problems);
}

/* ---- environment ---- */

static char env_char(char c)
{
    return c == '.' || c == '-' ? '_' : (char)toupper((unsigned char)c);
}

/* Whether `name` is `path` as a variable's name is written, without the program's prefix. */
static bool names_equal(struct bytes name, struct bytes path)
{
    if (name.len != path.len)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] != env_char(path.data[i]))
            return false;
    }
    return true;
}

/* PROVIDERS_ETHERSCAN_API_KEY: the longest key that ends the name decides where the provider's
 * own name ends. */
static bool set_provider_variable(struct config *config, struct bytes name, struct bytes value,
                                  struct config_origin origin, struct config_problems *problems)
{
    const struct setting *key = NULL;
    size_t start = strlen(PROVIDERS), key_len = 0;
    if (name.len <= start || !names_equal(bytes_make(name.data, start), bytes_of(PROVIDERS)))
        return false;
    for (size_t i = 0; i < CONFIG_PROVIDER_KEYS; i++) {
        struct bytes path = bytes_of(config_provider_settings[i].path);
        if (name.len < start + path.len + 2 || path.len <= key_len ||
            name.data[name.len - path.len - 1] != '_' ||
            !names_equal(bytes_make(name.data + name.len - path.len, path.len), path))
            continue;
        key = &config_provider_settings[i];
        key_len = path.len;
    }
    if (key == NULL)
        return false;
    struct bytes whose = bytes_make(name.data + start, name.len - start - key_len - 1);
    struct text lower = {0};
    for (size_t i = 0; i < whose.len; i++)
        text_append_char(&lower, (char)tolower((unsigned char)whose.data[i]));
    struct bytes provider = text_bytes(&lower);
    for (size_t i = 0; i < config->provider_count; i++) {
        struct bytes known = bytes_of(config->providers[i].name);
        if (names_equal(whose, known))
            provider = known;
    }
    set_provider(config, provider, key, value, origin, problems);
    text_free(&lower);
    return true;
}

/* Whether the name begins with a block of settings: then it was meant for us. */
static bool begins_with_block(struct bytes name)
{
    if (bytes_starts_with(name, "PROVIDERS_") || bytes_starts_with(name, "COLLECTIONS_"))
        return true;
    for (size_t i = 0; i < config_setting_count; i++) {
        size_t len = strcspn(config_settings[i].path, ".") + 1;
        if (name.len >= len &&
            names_equal(bytes_make(name.data, len), bytes_make(config_settings[i].path, len)))
            return true;
    }
    return false;
}

static void report_unknown_variable(struct bytes name, struct config_origin origin,
                                    struct config_problems *problems)
{
    struct suggestion suggestion = suggestion_begin(name);
    struct text sentence = {0}, names[2] = {{0}, {0}};
    unsigned turn = 0;
    for (size_t i = 0; i < config_setting_count; i++) {
        struct text *candidate = &names[turn]; /* the best one so far stays untouched */
        text_clear(candidate);
        for (const char *c = config_settings[i].path; *c != 0; c++)
            text_append_char(candidate, env_char(*c));
        size_t before = suggestion.distance;
        suggestion_try(&suggestion, text_bytes(candidate));
        turn = suggestion.distance < before ? 1 - turn : turn;
    }
    text_append_string(&sentence, "no setting has this name");
    suggestion_end(&suggestion, PREFIX, &sentence);
    config_problem(problems, origin, "%s", text_string(&sentence));
    text_free(&sentence);
    text_free(&names[0]);
    text_free(&names[1]);
}

static void read_variable(struct config *config, const char *variable,
                          struct config_problems *problems)
{
    const char *equals = strchr(variable, '=');
    if (equals == NULL || strncmp(variable, PREFIX, strlen(PREFIX)) != 0)
        return;
    struct bytes full = bytes_make(variable, (size_t)(equals - variable));
    struct bytes name = bytes_make(variable + strlen(PREFIX), full.len - strlen(PREFIX));
    if (!begins_with_block(name))
        return;
    struct config_origin origin = {CONFIG_ENVIRONMENT, config_keep(config, full), 0, 0};
    struct section section = config_section(config);
    struct bytes value = bytes_of(equals + 1);
    for (size_t i = 0; i < section.count; i++) {
        if (names_equal(name, bytes_of(section.settings[i].path))) {
            set_text(config, &section, &section.settings[i], value, origin, problems);
            return;
        }
    }
    if (!set_provider_variable(config, name, value, origin, problems))
        report_unknown_variable(name, origin, problems);
}

void config_read_environment(struct config *config, char *const *environment,
                             struct config_problems *problems)
{
    for (; *environment != NULL; environment++)
        read_variable(config, *environment, problems);
}

/* ---- the end of loading ---- */

/* Reads the secret of row `number` from the file that the row after it names. */
static void read_secret(const struct section *section, size_t number,
                        struct config_problems *problems)
{
    const struct setting *key = &section->settings[number];
    struct config_origin *of_key = &section->origins[number];
    const struct config_origin *of_file = of_key + 1;
    struct secret *secret = (void *)((char *)section->base + key->offset);
    const char *file;
    memcpy(&file, (char *)section->base + key[1].offset, sizeof file);
    struct text content = {0}, must = {0};
    struct err err;
    if (file[0] == 0 || (secret_given(secret) && of_key->from > of_file->from))
        return;
    if (secret_given(secret) && of_key->from == of_file->from) {
        config_problem(problems, *of_file, "both %s%s and %s%s_file are given; give one",
                       section->prefix, key->path, section->prefix, key->path);
        return;
    }
    if (small_file_read(file, SECRET_BYTES_MAX, &content, &err) != RC_OK) {
        config_problem(problems, *of_file, "%s%s_file: %s", section->prefix, key->path, err.text);
        return;
    }
    struct bytes value = bytes_make(text_string(&content), content.len);
    while (value.len > 0 && strchr(" \t\r\n", value.data[value.len - 1]))
        value.len--;
    if (setting_check(key, value, true, &must)) {
        secret_set(secret, value);
        *of_key = *of_file;
    } else {
        config_problem(problems, *of_file, "%s%s_file: what %s holds must be %s", section->prefix,
                       key->path, file, text_string(&must));
    }
    if (content.data != NULL)
        explicit_bzero(content.data, content.len);
    text_free(&content);
    text_free(&must);
}

static void read_secrets(const struct section *section, struct config_problems *problems)
{
    for (size_t i = 0; i < section->count; i++)
        if (section->settings[i].type == SETTING_SECRET)
            read_secret(section, i, problems);
}

static bool is_declared(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->collection_count; i++)
        if (strcmp(config->collections[i].name, name) == 0)
            return true;
    return false;
}

/* What was refused was given: its own problem is enough. */
static bool is_refused(const struct config_problems *problems, const char *path)
{
    char words[64];
    snprintf(words, sizeof words, ": %s ", path);
    return strstr(text_string(&problems->lines), words) != NULL;
}

static void check_content(const struct config *config, struct config_problems *problems)
{
    bool contract = config->content.contract[0] != 0, rpc = config->content.rpc.count > 0;
    if (contract != rpc && !is_refused(problems, contract ? "content.rpc" : "content.contract"))
        config_problem(problems,
                       config_origin_of(config, contract ? "content.contract" : "content.rpc"),
                       "content.%s is given and content.%s is not; this pipeline needs both",
                       contract ? "contract" : "rpc", contract ? "rpc" : "contract");
    if (config->content.feed[0] != 0 && (contract || rpc))
        config_problem(problems, config_origin_of(config, "content.feed"),
                       "content.feed is given and so is content.%s; blocks come from one of them",
                       contract ? "contract" : "rpc");
    const char *collection = config->content.collection;
    if (collection[0] != 0 && !is_declared(config, collection))
        config_problem(problems, config_origin_of(config, "content.collection"),
                       "content.collection names %s, which is not declared under collections",
                       collection);
}

void config_finish(struct config *config, struct config_problems *problems)
{
    struct text prefix = {0};
    struct section settings = config_section(config);
    read_secrets(&settings, problems);
    for (size_t i = 0; i < config->provider_count; i++) {
        struct section section = config_provider_section(&config->providers[i], &prefix);
        read_secrets(&section, problems);
    }
    text_free(&prefix);
    bool named = config->bluesky.identifier[0] != 0;
    if (named != secret_given(&config->bluesky.app_password))
        config_problem(
            problems,
            config_origin_of(config, named ? "bluesky.identifier" : "bluesky.app_password"),
            "bluesky.%s is given and bluesky.%s is not; a login needs both",
            named ? "identifier" : "app_password", named ? "app_password" : "identifier");
    if (strcmp(config->serve.listen, config->serve.health_listen) == 0 &&
        strcmp(strrchr(config->serve.listen, ':'), ":0") != 0) /* two free ports are two */
        config_problem(problems, config_origin_of(config, "serve.health_listen"),
                       "serve.health_listen is the same address as serve.listen; leave it empty, "
                       "/health is served there too");
    check_content(config, problems);
}

enum rc config_load(struct config *config, const struct config_sources *sources,
                    struct config_problems *problems)
{
    struct text file = {0};
    struct err err;
    config_init(config);
    if (sources->file != NULL && (!sources->file_optional || small_file_exists(sources->file))) {
        if (small_file_read(sources->file, YAML_TREE_BYTES_MAX, &file, &err) == RC_OK)
            config_read_yaml(config, sources->file, text_bytes(&file), problems);
        else
            config_problem(problems, (struct config_origin){0}, "%s", err.text);
    }
    if (sources->environment != NULL)
        config_read_environment(config, sources->environment, problems);
    for (size_t i = 0; i < sources->change_count; i++) {
        const char *equals = strchr(sources->changes[i], '=');
        const char *name = sources->flags != NULL ? sources->flags[i] : NULL;
        struct config_origin flag = {CONFIG_FLAG, name != NULL ? name : "--set", 0, 0};
        if (equals == NULL) {
            config_problem(problems, flag, "\"%s\" is not of the form path=value",
                           sources->changes[i]);
            continue;
        }
        struct text path = {0};
        text_append(&path, sources->changes[i], (size_t)(equals - sources->changes[i]));
        config_set(config, flag.name, path.data, equals + 1, problems);
        text_free(&path);
    }
    config_finish(config, problems);
    if (file.data != NULL)
        explicit_bzero(file.data, file.len);
    text_free(&file);
    return problems->count == 0 ? RC_OK : RC_REJECT;
}
