/* SPDX-License-Identifier: Apache-2.0 */
#include "config_table.h"

#include <ctype.h>
#include <string.h>

#define COMMENT_COLUMN 56

/* ---- the effective configuration ---- */

static void print_origin(const struct config_origin *origin, size_t line_start, struct text *out)
{
    static const char *const from[] = {"default", "file", "environment", "flag"};
    do
        text_append_char(out, ' ');
    while (out->len - line_start < COMMENT_COLUMN);
    text_append_string(out, "# ");
    text_append_string(out, origin->name == NULL ? from[origin->from] : origin->name);
    if (origin->line > 0)
        text_appendf(out, ":%u:%u", origin->line, origin->column);
    text_append_char(out, '\n');
}

static void print_value(const struct section *section, size_t i, const char *key, unsigned indent,
                        struct text *out)
{
    size_t start = out->len;
    text_appendf(out, "%*s%s: ", (int)indent, "", key);
    setting_print(&section->settings[i], section->base, out);
    print_origin(&section->origins[i], start, out);
}

/* A secret that was not given is left out, and so is one out of a file: the row after it, its
 * file's, stands for it. */
static bool hidden(const struct section *section, size_t i)
{
    return section->settings[i].type == SETTING_SECRET &&
           (section->origins[i].from == CONFIG_DEFAULT ||
            section->origins[i].from == section->origins[i + 1].from);
}

/* Rows of one block stand together, so a heading is due when the block changes. */
static void print_section(const struct section *section, unsigned indent, struct text *out)
{
    const char *previous = "";
    for (size_t i = 0; i < section->count; i++) {
        const char *path = section->settings[i].path, *at = path, *dot;
        unsigned depth = indent;
        bool same = true;
        if (hidden(section, i))
            continue;
        for (; (dot = strchr(at, '.')) != NULL; at = dot + 1, depth += 2) {
            same = same && strncmp(previous, path, (size_t)(dot + 1 - path)) == 0;
            if (!same)
                text_appendf(out, "%*s%.*s:\n", (int)depth, "", (int)(dot - at), at);
        }
        print_value(section, i, at, depth, out);
        previous = path;
    }
}

static void print_providers(const struct config *config, struct text *out)
{
    struct text prefix = {0};
    if (config->provider_count > 0)
        text_append_string(out, "providers:\n");
    for (size_t i = 0; i < config->provider_count; i++) {
        struct section section = config_provider_section(&config->providers[i], &prefix);
        text_appendf(out, "  %s:\n", config->providers[i].name);
        for (size_t k = 0; k < section.count; k++) {
            bool given = section.origins[k].from != CONFIG_DEFAULT;
            if (hidden(&section, k) || (section.settings[k].empty_allowed && !given))
                continue;
            print_value(&section, k, section.settings[k].path, 4, out);
        }
    }
    text_free(&prefix);
}

static void print_collection(const struct config_collection *collection, struct text *out)
{
    static const char *const types[] = {"text", "int", "float", "bool", "time", "json"};
    struct text prefix = {0};
    struct section section = config_collection_section(collection, &prefix);
    size_t start = out->len;
    text_appendf(out, "  %s:", collection->name);
    print_origin(&collection->origin, start, out);
    text_append_string(out, "    fields: {");
    for (size_t i = 0; i < collection->field_count; i++)
        text_appendf(out, "%s%s: %s", i > 0 ? ", " : "", collection->fields[i].name,
                     types[collection->fields[i].type]);
    text_append_string(out, "}\n");
    print_section(&section, 4, out);
    text_append_string(out, "    indexes: [");
    for (size_t i = 0; i < collection->index_count; i++) {
        text_append_string(out, i > 0 ? ", [" : "[");
        for (size_t k = 0; k < collection->indexes[i].count; k++)
            text_appendf(out, "%s%s", k > 0 ? ", " : "", collection->indexes[i].items[k]);
        text_append_char(out, ']');
    }
    text_append_string(out, "]\n");
    text_free(&prefix);
}

void config_print(const struct config *config, struct text *out)
{
    struct section section = config_section(config);
    print_section(&section, 0, out);
    print_providers(config, out);
    if (config->collection_count > 0)
        text_append_string(out, "collections:\n");
    for (size_t i = 0; i < config->collection_count; i++)
        print_collection(&config->collections[i], out);
}

/* ---- documentation ---- */

static void docs_cell(const char *words, struct text *out)
{
    for (; *words != 0; words++) {
        if (*words == '|')
            text_append_char(out, '\\');
        text_append_char(out, *words);
    }
}

static void docs_rows(const struct setting *settings, size_t count, const char *env_block,
                      bool reload, struct text *out)
{
    text_appendf(
        out, "\n| key | default | allowed | %senvironment | meaning |\n|---|---|---|%s---|---|\n",
        reload ? "reload | " : "", reload ? "---|" : "");
    for (size_t i = 0; i < count; i++) {
        const struct setting *setting = &settings[i];
        const char *dot = reload ? strchr(setting->path, '.') : NULL;
        struct text allowed = {0};
        setting_describe(setting, &allowed);
        text_appendf(out, "| `%s` | ", dot == NULL ? setting->path : dot + 1);
        if (setting->initial != NULL)
            text_appendf(out, setting->type == SETTING_LIST ? "`[%s]`" : "`%s`", setting->initial);
        else if (setting->type == SETTING_LIST)
            text_append_string(out, "`[]`");
        text_append_string(out, " | ");
        docs_cell(text_string(&allowed), out);
        if (setting->empty_allowed && setting->check != NULL)
            text_append_string(out, ", or empty");
        if (reload)
            text_append_string(out, setting->reloadable ? " | yes" : " | no");
        text_appendf(out, " | `TIDEMARK_%s", env_block);
        for (const char *c = setting->path; *c != 0; c++)
            text_append_char(out, *c == '.' ? '_' : (char)toupper((unsigned char)*c));
        text_append_string(out, "` | ");
        docs_cell(setting->sentence, out);
        text_append_string(out, " |\n");
        text_free(&allowed);
    }
}

static const char docs_head[] =
    "# Configuration\n"
    "\n"
    "<!-- Made by `tidemark config docs`; change the table of settings instead of this page. -->\n"
    "\n"
    "One YAML file, `tidemark.yaml` or the one named with `-c`. A value comes from the first of\n"
    "these that gives one: a flag (`--set path=value`), the environment, the file, the default.\n"
    "`tidemark config check` reads everything and reports every problem with its line and column;\n"
    "`tidemark config print` shows the values in force and where each comes from.\n"
    "\n"
    "In the environment and after `--set` a list is written `a,b` or `[a, b]`. \"Reload: yes\" "
    "means\n"
    "that SIGHUP brings a changed value into force; the others need a restart. Relative paths "
    "start\n"
    "at the working directory. Passwords and keys are shown as `" SECRET_MASK
    "`. Unknown keys, keys\n"
    "given twice and YAML tags are errors; anchors and aliases work.\n";

static const char docs_providers[] =
    "\n## providers\n"
    "\n"
    "A map from a connector's name to what differs from its own file. Give a secret as itself or "
    "as\n"
    "the file that holds it, not both in one place.\n"
    "\n"
    "    providers:\n"
    "      etherscan: {api_key_file: secrets/etherscan, priority: 1}\n"
    "      blockscout: {base_url: \"https://explorer.example\", enabled: false}\n";

static const char docs_collections[] =
    "\n## collections\n"
    "\n"
    "A map from a name to the shape of a collection. `fields` is required: a map from a field to "
    "its\n"
    "type (text, int, float, bool, time or json); `id`, `n`, `seq` and `extra` exist already.\n"
    "`indexes` is a list of lists of fields; the default order has one by itself. Collections are\n"
    "declared in the file only. SIGHUP brings new collections, fields and indexes into force. A "
    "field\n"
    "never changes its type; one that is no longer declared keeps its values, unseen.\n"
    "\n"
    "    collections:\n"
    "      chat_messages:\n"
    "        fields: {roomId: text, timestamp: time, text: text}\n"
    "        sort: {field: timestamp, direction: desc}\n"
    "        page_size: 100\n"
    "        indexes: [[roomId, timestamp]]\n";

void config_docs(struct text *out)
{
    text_append_string(out, docs_head);
    for (size_t i = 0; i < config_setting_count;) {
        size_t block = strcspn(config_settings[i].path, ".") + 1, end = i;
        while (end < config_setting_count &&
               strncmp(config_settings[i].path, config_settings[end].path, block) == 0)
            end++;
        text_appendf(out, "\n## %.*s\n", (int)block - 1, config_settings[i].path);
        docs_rows(&config_settings[i], end - i, "", true, out);
        i = end;
    }
    text_append_string(out, docs_providers);
    docs_rows(config_provider_settings, CONFIG_PROVIDER_KEYS, "PROVIDERS_NAME_", false, out);
    text_append_string(out, docs_collections);
    text_append_string(out, "\n| key | default | allowed | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < CONFIG_COLLECTION_KEYS; i++) {
        const struct setting *setting = &config_collection_settings[i];
        text_appendf(out, "| `%s` | %s | ", setting->path,
                     setting->initial == NULL ? "" : setting->initial);
        setting_describe(setting, out);
        text_appendf(out, " | %s |\n", setting->sentence);
    }
}

/* ---- reload ---- */

static bool providers_equal(const struct config *a, const struct config *b)
{
    bool equal = a->provider_count == b->provider_count;
    for (size_t i = 0; equal && i < a->provider_count; i++) {
        equal = strcmp(a->providers[i].name, b->providers[i].name) == 0;
        for (size_t k = 0; equal && k < CONFIG_PROVIDER_KEYS; k++)
            equal = setting_equal(&config_provider_settings[k], &a->providers[i], &b->providers[i]);
    }
    return equal;
}

size_t config_restart_needed(const struct config *config, const struct config *fresh,
                             struct text *paths)
{
    size_t count = 0;
    for (size_t i = 0; i < config_setting_count; i++) {
        const struct setting *setting = &config_settings[i];
        if (setting->reloadable || setting_equal(setting, config, fresh))
            continue;
        text_appendf(paths, "%s\n", setting->path);
        count++;
    }
    if (!providers_equal(config, fresh)) {
        text_append_string(paths, "providers\n");
        count++;
    }
    return count;
}
