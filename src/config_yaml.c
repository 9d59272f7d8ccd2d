/* SPDX-License-Identifier: Apache-2.0 */
#include "config_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_BYTES_MAX            63
#define COLLECTION_NAME_BYTES_MAX 48 /* tables and indexes are named after it */

/* ---- a map against a table ---- */

struct reader {
    struct config *config;
    const struct section *section;
    const char *file;
    section_special_fn *special;
    void *arg;
    struct config_problems *problems;
};

static struct config_origin place(const char *file, const struct yaml_node *node)
{
    return (struct config_origin){CONFIG_FILE, file, node->line, node->column};
}

static bool is_block(const struct section *section, struct bytes path)
{
    for (size_t i = 0; i < section->count; i++) {
        const char *known = section->settings[i].path;
        if (strncmp(known, path.data, path.len) == 0 && known[path.len] == '.')
            return true;
    }
    return false;
}

/* A key that is right elsewhere ("interval_minutes" outside its block) is named with its path. */
static struct bytes find_elsewhere(const struct section *section, struct bytes key)
{
    for (size_t i = 0; i < section->count; i++) {
        const char *dot = strrchr(section->settings[i].path, '.');
        if (dot != NULL && bytes_equal_string(key, dot + 1))
            return bytes_of(section->settings[i].path);
    }
    return BYTES_ABSENT;
}

static void report_unknown(const struct reader *reader, struct bytes within,
                           const struct yaml_node *key)
{
    static const char *const others[] = {"providers", "collections", "fields", "indexes"};
    const struct section *section = reader->section;
    struct suggestion suggestion = suggestion_begin(key->text);
    struct text sentence = {0};
    for (size_t i = 0; i < section->count; i++) {
        struct bytes path = bytes_of(section->settings[i].path);
        if (path.len <= within.len || memcmp(path.data, within.data, within.len) != 0)
            continue;
        const char *start = path.data + within.len;
        suggestion_try(&suggestion, bytes_make(start, strcspn(start, ".")));
    }
    /* Keys beside the table: the first two belong to the file, the others to a collection. */
    size_t from = section->settings == config_settings              ? 0
                  : section->settings == config_collection_settings ? 2
                                                                    : 4;
    for (size_t i = from; within.len == 0 && i < 4 && i < from + 2; i++)
        suggestion_try(&suggestion, bytes_of(others[i]));
    if (suggestion.best.data == NULL)
        suggestion.best = find_elsewhere(section, key->text);
    text_append_string(&sentence, "unknown key ");
    suggestion_quote(key->text, &sentence);
    if (section->prefix[0] != 0 || within.len > 0) {
        size_t prefix = strlen(section->prefix);
        text_append_string(&sentence, " in ");
        text_append(&sentence, section->prefix, within.len > 0 ? prefix : prefix - 1);
        text_append(&sentence, within.data, within.len > 0 ? within.len - 1 : 0);
    }
    suggestion_end(&suggestion, "", &sentence);
    config_problem(reader->problems, place(reader->file, key), "%s", text_string(&sentence));
    text_free(&sentence);
}

/* True, and a problem, when the key was there before. */
static bool repeated(const char *file, const struct yaml_node *value,
                     struct config_problems *problems)
{
    if (value->repeats == 0)
        return false;
    struct text quoted = {0};
    suggestion_quote(value->key->text, &quoted);
    config_problem(problems, place(file, value->key), "the key %s is given twice; first in line %u",
                   text_string(&quoted), value->repeats);
    text_free(&quoted);
    return true;
}

/* `within` is "" or ends with a dot. The table bounds the depth of the recursion. */
static void read_map(const struct reader *reader, const struct yaml_node *map, struct bytes within)
{
    struct text path = {0};
    for (const struct yaml_node *value = map->first; value != NULL; value = value->next) {
        const struct yaml_node *key = value->key;
        if (repeated(reader->file, value, reader->problems))
            continue;
        text_clear(&path);
        text_append(&path, within.data, within.len);
        text_append(&path, key->text.data, key->text.len);
        bool dotted = memchr(key->text.data, '.', key->text.len) != NULL || key->text.len == 0 ||
                      memchr(key->text.data, 0, key->text.len) != NULL;
        const struct setting *setting = section_find(reader->section, text_bytes(&path));
        if (!dotted && setting != NULL) {
            section_set(reader->config, reader->section, setting, value, place(reader->file, value),
                        reader->problems);
        } else if (!dotted && is_block(reader->section, text_bytes(&path))) {
            text_append_char(&path, '.');
            if (value->kind == YAML_MAP)
                read_map(reader, value, text_bytes(&path));
            else if (!yaml_node_null(value))
                config_problem(reader->problems, place(reader->file, value),
                               "%s%.*s is %s; it must be a map of settings",
                               reader->section->prefix, (int)path.len - 1, path.data,
                               yaml_node_kind(value));
        } else if (within.len > 0 || reader->special == NULL ||
                   !reader->special(reader->arg, value)) {
            report_unknown(reader, within, key);
        }
    }
    text_free(&path);
}

void section_read(struct config *config, const struct section *section, const char *file,
                  const struct yaml_node *map, section_special_fn *special, void *arg,
                  struct config_problems *problems)
{
    struct reader reader = {config, section, file, special, arg, problems};
    if (yaml_node_null(map))
        return;
    if (map->kind == YAML_MAP) {
        read_map(&reader, map, bytes_of(""));
        return;
    }
    size_t prefix = strlen(section->prefix);
    config_problem(problems, place(file, map), "%.*s is %s; it must be a map of settings",
                   prefix > 0 ? (int)prefix - 1 : 8, prefix > 0 ? section->prefix : "the file",
                   yaml_node_kind(map));
}

/* ---- collections ---- */

struct collection_reader {
    struct config *config;
    struct config_collection *collection;
    const char *file;
    struct config_problems *problems;
    const struct yaml_node *indexes; /* read last: they name fields */
};

static bool name_valid(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c >= 0x80 || !(isalpha(c) || c == '_' || (i > 0 && isdigit(c))))
            return false;
    }
    return name.len > 0 && name.len <= NAME_BYTES_MAX;
}

static bool among(struct bytes name, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == name.len && strncasecmp(*words, name.data, name.len) == 0)
            return true;
    }
    return false;
}

static bool field_usable(const struct collection_reader *reader, const struct config_field *fields,
                         size_t count, const struct yaml_node *key)
{
    static const char *const taken[] = {"id",   "n",    "seq",      "extra", "ctid", "cmin", "cmax",
                                        "xmin", "xmax", "tableoid", "rowid", "oid",  NULL};
    const char *wrong = NULL;
    if (!name_valid(key->text))
        wrong = "must be 1 to 63 letters, digits and _, not beginning with a digit";
    else if (among(key->text, taken))
        wrong = "is a name that every table has already";
    for (size_t i = 0; wrong == NULL && i < count; i++) {
        if (strcasecmp(fields[i].name, key->text.data) == 0)
            wrong = "differs from another field only in case";
    }
    if (wrong == NULL)
        return true;
    struct text quoted = {0};
    suggestion_quote(key->text, &quoted);
    config_problem(reader->problems, place(reader->file, key), "collections.%s.fields: %s %s",
                   reader->collection->name, text_string(&quoted), wrong);
    text_free(&quoted);
    return false;
}

static void read_fields(struct collection_reader *reader, const struct yaml_node *map)
{
    static const char *const types[] = {"text", "int", "float", "bool", "time", "json"};
    struct config_collection *collection = reader->collection;
    if (map->kind != YAML_MAP || map->count > CONFIG_FIELDS_MAX) {
        config_problem(reader->problems, place(reader->file, map),
                       "collections.%s.fields must be a map of 1 to %d names and types",
                       collection->name, CONFIG_FIELDS_MAX);
        return;
    }
    struct config_field *fields = config_take(reader->config, (map->count + 1) * sizeof *fields);
    size_t count = 0;
    for (const struct yaml_node *value = map->first; value != NULL; value = value->next) {
        if (repeated(reader->file, value, reader->problems) ||
            !field_usable(reader, fields, count, value->key))
            continue;
        unsigned type = 0;
        while (type < 6 &&
               (value->kind != YAML_TEXT || !bytes_equal_string(value->text, types[type])))
            type++;
        if (type == 6) {
            config_problem(reader->problems, place(reader->file, value),
                           "collections.%s.fields.%s must be text, int, float, bool, time or json",
                           collection->name, value->key->text.data);
            type = CONFIG_FIELD_TEXT; /* the name stands, so that its uses are no problems too */
        }
        fields[count++] = (struct config_field){config_keep(reader->config, value->key->text),
                                                (enum config_field_type)type};
    }
    collection->fields = fields;
    collection->field_count = count;
}

static const struct config_field *find_field(const struct config_collection *collection,
                                             struct bytes name)
{
    for (size_t i = 0; i < collection->field_count; i++) {
        if (bytes_equal_string(name, collection->fields[i].name))
            return &collection->fields[i];
    }
    return NULL;
}

/* One that rows can be ordered by. */
static bool is_key(const struct config_field *field)
{
    return field != NULL && field->type != CONFIG_FIELD_JSON;
}

static void report_no_field(const struct collection_reader *reader, const char *what,
                            struct bytes name, struct config_origin at)
{
    struct suggestion suggestion = suggestion_begin(name);
    struct text sentence = {0};
    const struct config_field *field = find_field(reader->collection, name);
    for (size_t i = 0; field == NULL && i < reader->collection->field_count; i++)
        suggestion_try(&suggestion, bytes_of(reader->collection->fields[i].name));
    suggestion_quote(name, &sentence);
    text_append_string(&sentence, field == NULL ? ", which is no declared field"
                                                : ", and nothing is ordered by json");
    suggestion_end(&suggestion, "", &sentence);
    config_problem(reader->problems, at, "collections.%s.%s names %s", reader->collection->name,
                   what, text_string(&sentence));
    text_free(&sentence);
}

static bool read_index(struct collection_reader *reader, const struct yaml_node *node,
                       struct config_list *index)
{
    const char **names = config_take(reader->config, CONFIG_INDEX_FIELDS_MAX * sizeof *names);
    size_t count = 0;
    bool ok = node->kind == YAML_LIST && node->count >= 1 && node->count <= CONFIG_INDEX_FIELDS_MAX;
    if (!ok)
        config_problem(reader->problems, place(reader->file, node),
                       "collections.%s.indexes: an index must be a list of 1 to %d fields",
                       reader->collection->name, CONFIG_INDEX_FIELDS_MAX);
    for (const struct yaml_node *item = ok ? node->first : NULL; item != NULL; item = item->next) {
        struct bytes name = item->kind == YAML_TEXT ? item->text : bytes_of("");
        const struct config_field *field = find_field(reader->collection, name);
        names[count++] = field == NULL ? "" : field->name;
        if (!is_key(field)) {
            report_no_field(reader, "indexes", name, place(reader->file, item));
            ok = false;
        }
    }
    *index = (struct config_list){names, count};
    return ok;
}

static void read_indexes(struct collection_reader *reader, const struct yaml_node *list)
{
    if (list == NULL || yaml_node_null(list))
        return;
    if (list->kind != YAML_LIST || list->count > CONFIG_INDEXES_MAX) {
        config_problem(reader->problems, place(reader->file, list),
                       "collections.%s.indexes must be a list of at most %d lists of fields",
                       reader->collection->name, CONFIG_INDEXES_MAX);
        return;
    }
    struct config_list *indexes = config_take(reader->config, (list->count + 1) * sizeof *indexes);
    size_t count = 0;
    for (const struct yaml_node *item = list->first; item != NULL; item = item->next)
        count += read_index(reader, item, &indexes[count]);
    reader->collection->indexes = indexes;
    reader->collection->index_count = count;
}

static bool read_collection_key(void *arg, const struct yaml_node *value)
{
    struct collection_reader *reader = arg;
    if (bytes_equal_string(value->key->text, "fields"))
        read_fields(reader, value);
    else if (bytes_equal_string(value->key->text, "indexes"))
        reader->indexes = value;
    else
        return false;
    return true;
}

static bool collection_name_usable(const struct config *config, struct bytes name,
                                   struct config_origin at, struct config_problems *problems)
{
    static const char *const built_in[] = {
        "posts",     "links",  "follows", "transactions", "accounts",   "import_sessions",
        "documents", "blocks", "gaps",    "owed",         "quarantine", NULL};
    const char *wrong = NULL;
    if (!name_valid(name) || name.len > COLLECTION_NAME_BYTES_MAX)
        wrong = "must be 1 to 48 letters, digits and _, not beginning with a digit";
    else if (among(name, built_in))
        wrong = "is built in and cannot be declared";
    for (size_t i = 0; wrong == NULL && i < config->collection_count; i++)
        if (strcasecmp(config->collections[i].name, name.data) == 0)
            wrong = "differs from another collection only in case";
    if (wrong == NULL)
        return true;
    struct text quoted = {0};
    suggestion_quote(name, &quoted);
    config_problem(problems, at, "collections: %s %s", text_string(&quoted), wrong);
    text_free(&quoted);
    return false;
}

/* Where nothing is said the newest come first, by the field that entities have for it. */
static void choose_sort(struct config_collection *collection, const struct config_origin *origin)
{
    const struct config_field *created = find_field(collection, bytes_of("createdAt"));
    if (origin->from == CONFIG_DEFAULT && is_key(created))
        collection->sort_field = created->name;
}

static void read_collection(struct config *config, const char *file, const struct yaml_node *value,
                            struct config_problems *problems)
{
    if (!collection_name_usable(config, value->key->text, place(file, value->key), problems))
        return;
    if (config->collection_count == CONFIG_COLLECTIONS_MAX) {
        config_problem(problems, place(file, value->key), "collections has more than %d entries",
                       CONFIG_COLLECTIONS_MAX);
        return;
    }
    struct config_collection *collection = &config->collections[config->collection_count++];
    struct collection_reader reader = {config, collection, file, problems, NULL};
    struct text prefix = {0};
    collection->name = config_keep(config, value->key->text);
    collection->origin = place(file, value->key);
    struct section section = config_collection_section(collection, &prefix);
    section_init(config, &section);
    section_read(config, &section, file, value, read_collection_key, &reader, problems);
    read_indexes(&reader, reader.indexes);
    const struct config_origin *sort_origin =
        &section.origins[section_find(&section, bytes_of("sort.field")) - section.settings];
    choose_sort(collection, sort_origin);
    if (collection->field_count == 0)
        config_problem(problems, collection->origin,
                       "collections.%s has no fields: write fields: {name: text}",
                       collection->name);
    else if (collection->sort_field[0] != 0 &&
             !is_key(find_field(collection, bytes_of(collection->sort_field))))
        report_no_field(&reader, "sort.field", bytes_of(collection->sort_field), *sort_origin);
    text_free(&prefix);
}

static void read_collections(struct config *config, const char *file, const struct yaml_node *map,
                             struct config_problems *problems)
{
    for (const struct yaml_node *value = map->first; value != NULL; value = value->next) {
        if (!repeated(file, value, problems))
            read_collection(config, file, value, problems);
    }
}

/* ---- the file ---- */

struct file_reader {
    struct config *config;
    const char *file;
    struct config_problems *problems;
};

static void read_providers(const struct file_reader *reader, const struct yaml_node *map)
{
    struct text prefix = {0};
    for (const struct yaml_node *value = map->first; value != NULL; value = value->next) {
        if (repeated(reader->file, value, reader->problems))
            continue;
        struct config_provider *provider = config_provider_take(
            reader->config, value->key->text, place(reader->file, value->key), reader->problems);
        if (provider == NULL)
            continue;
        struct section section = config_provider_section(provider, &prefix);
        section_read(reader->config, &section, reader->file, value, NULL, NULL, reader->problems);
    }
    text_free(&prefix);
}

static bool read_file_key(void *arg, const struct yaml_node *value)
{
    struct file_reader *reader = arg;
    bool providers = bytes_equal_string(value->key->text, "providers");
    if (!providers && !bytes_equal_string(value->key->text, "collections"))
        return false;
    if (yaml_node_null(value))
        return true;
    if (value->kind != YAML_MAP)
        config_problem(reader->problems, place(reader->file, value), "%s is %s; it must be a map",
                       value->key->text.data, yaml_node_kind(value));
    else if (providers)
        read_providers(reader, value);
    else
        read_collections(reader->config, reader->file, value, reader->problems);
    return true;
}

void config_read_yaml(struct config *config, const char *name, struct bytes yaml,
                      struct config_problems *problems)
{
    struct yaml_tree tree;
    struct err err;
    struct section section = config_section(config);
    struct file_reader reader = {config, config_keep(config, bytes_of(name)), problems};
    if (yaml_tree_parse(&tree, yaml, &err) != RC_OK) {
        struct config_origin at = {CONFIG_FILE, reader.file, tree.line, tree.column};
        config_problem(problems, at, "%s", err.text);
    } else if (tree.root != NULL) {
        section_read(config, &section, reader.file, tree.root, read_file_key, &reader, problems);
    }
    yaml_tree_free(&tree);
}
