/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "config_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 63

struct config_memory {
    struct config_memory *next;
    max_align_t data[];
};

void *config_take(struct config *config, size_t size)
{
    struct config_memory *block = memory_new_zeroed(1, sizeof *block + size);
    block->next = config->memory;
    config->memory = block;
    return block->data;
}

const char *config_keep(struct config *config, struct bytes text)
{
    char *kept = config_take(config, text.len + 1);
    if (text.len > 0)
        memcpy(kept, text.data, text.len);
    return kept;
}

void config_init(struct config *config)
{
    *config = (struct config){0};
    config->origins = config_take(config, config_setting_count * sizeof *config->origins);
    config->providers = config_take(config, CONFIG_PROVIDERS_MAX * sizeof *config->providers);
    config->collections = config_take(config, CONFIG_COLLECTIONS_MAX * sizeof *config->collections);
    struct section section = config_section(config);
    section_init(config, &section);
}

void config_deinit(struct config *config)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        secret_clear(&config->providers[i].api_key);
        secret_clear(&config->providers[i].api_secret);
    }
    secret_clear(&config->bluesky.app_password);
    while (config->memory != NULL) {
        struct config_memory *block = config->memory;
        config->memory = block->next;
        free(block);
    }
    *config = (struct config){0};
}

void config_problem(struct config_problems *problems, struct config_origin at, const char *format,
                    ...)
{
    if (problems->count++ >= CONFIG_PROBLEMS_MAX)
        return;
    if (at.name != NULL)
        text_append_string(&problems->lines, at.name);
    if (at.line > 0)
        text_appendf(&problems->lines, ":%u:%u", at.line, at.column);
    if (at.name != NULL)
        text_append_string(&problems->lines, ": ");
    va_list args;
    va_start(args, format);
    text_vappendf(&problems->lines, format, args);
    va_end(args);
    text_append_char(&problems->lines, '\n');
}

void config_problems_free(struct config_problems *problems)
{
    text_free(&problems->lines);
    problems->count = 0;
}

const struct config_provider *config_provider_find(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        if (strcmp(config->providers[i].name, name) == 0)
            return &config->providers[i];
    }
    return NULL;
}

static bool provider_name_valid(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (!islower((unsigned char)c) && !isdigit((unsigned char)c) && c != '-' && c != '_')
            return false;
    }
    return name.len > 0 && name.len <= NAME_BYTES_MAX;
}

struct config_provider *config_provider_take(struct config *config, struct bytes name,
                                             struct config_origin at,
                                             struct config_problems *problems)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        if (bytes_equal_string(name, config->providers[i].name))
            return &config->providers[i];
    }
    if (!provider_name_valid(name)) {
        struct text quoted = {0};
        suggestion_quote(name, &quoted);
        config_problem(problems, at,
                       "providers has the name %s; it must be 1 to %d lowercase letters, digits, "
                       "- and _",
                       text_string(&quoted), NAME_BYTES_MAX);
        text_free(&quoted);
        return NULL;
    }
    if (config->provider_count == CONFIG_PROVIDERS_MAX) {
        config_problem(problems, at, "providers has more than %d entries", CONFIG_PROVIDERS_MAX);
        return NULL;
    }
    struct config_provider *provider = &config->providers[config->provider_count++];
    struct text prefix = {0};
    provider->name = config_keep(config, name);
    struct section section = config_provider_section(provider, &prefix);
    section_init(config, &section);
    text_free(&prefix);
    return provider;
}

void config_socket_path(const struct config *config, struct text *path)
{
    const char *url = config->store.url;
    struct bytes folder = bytes_of(config->store.data_dir);
    if (folder.len == 0 && strncmp(url, "sqlite:", 7) == 0) {
        const char *file = strncmp(url + 7, "//", 2) == 0 ? url + 9 : url + 7;
        const char *slash = strrchr(file, '/');
        folder = slash == NULL ? bytes_of(".") : bytes_make(file, (size_t)(slash - file));
    } else if (folder.len == 0) {
        folder = bytes_of("data");
    }
    text_append(path, folder.data, folder.len);
    text_append_string(path, "/tidemark.sock");
}
