/* SPDX-License-Identifier: Apache-2.0 */
#include "store/row_schema.h"

#include "base/digest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define INDEXES_MAX (CONFIG_INDEXES_MAX + 1)

static const char *const type_names[] = {"text", "int", "float", "bool", "time", "json"};

/* One collection against what the store has made of it. */
struct growth {
    const struct config_collection *collection;
    struct text *script;
    bool known, filled;
    bool has_field[CONFIG_FIELDS_MAX];
    struct config_list wanted[INDEXES_MAX];
    char names[INDEXES_MAX][ROW_TABLE_NAME_MAX];
    bool has_index[INDEXES_MAX];
    size_t wanted_count;
    enum rc rc;
    struct err *err;
};

struct config_list row_schema_default_order(const struct config_collection *collection)
{
    bool arrival = collection->sort_field[0] == '\0';
    return (struct config_list){&collection->sort_field, arrival ? 0 : 1};
}

void row_schema_index_name(const char *collection, const struct config_list *fields,
                           char out[ROW_TABLE_NAME_MAX])
{
    uint8_t digest[DIGEST_SIZE];
    struct text list = {0};
    for (size_t i = 0; i < fields->count; i++)
        text_appendf(&list, "%s,", fields->items[i]);
    digest_sha256(text_bytes(&list), digest);
    text_free(&list);
    int len = snprintf(out, ROW_TABLE_NAME_MAX, ROW_TABLE_INDEX_PREFIX "%s_%02x%02x%02x%02x",
                       collection, digest[0], digest[1], digest[2], digest[3]);
    assert(len > 0 && len < ROW_TABLE_NAME_MAX);
}

static bool take_field(void *arg, const struct field *columns, size_t count)
{
    struct growth *growth = arg;
    const struct config_collection *collection = growth->collection;
    assert(count == 3 && columns[0].type == FIELD_TEXT);
    if (!bytes_equal_string(columns[0].b, collection->name)) {
        growth->rc = err_set(growth->err, RC_REJECT,
                             "collections.%s differs only in case from a collection that the store "
                             "has already: write it %.*s, or give it another name",
                             collection->name, (int)columns[0].b.len, columns[0].b.data);
        return false;
    }
    growth->known = true;
    for (size_t i = 0; i < collection->field_count; i++) {
        const struct config_field *field = &collection->fields[i];
        struct bytes name = columns[1].b;
        if (strlen(field->name) != name.len || strncasecmp(field->name, name.data, name.len) != 0)
            continue;
        growth->has_field[i] = true;
        if (bytes_equal_string(name, field->name) &&
            bytes_equal_string(columns[2].b, type_names[field->type]))
            continue;
        growth->rc = err_set(growth->err, RC_REJECT,
                             "collections.%s.fields.%s is %s, and the store holds %.*s as %.*s: "
                             "give the new field another name",
                             collection->name, field->name, type_names[field->type], (int)name.len,
                             name.data, (int)columns[2].b.len, columns[2].b.data);
    }
    return growth->rc == RC_OK;
}

static bool take_index(void *arg, const struct field *columns, size_t count)
{
    struct growth *growth = arg;
    bool wanted = false;
    assert(count == 1 && columns[0].type == FIELD_TEXT);
    for (size_t i = 0; i < growth->wanted_count; i++)
        if (bytes_equal_string(columns[0].b, growth->names[i]))
            wanted = growth->has_index[i] = true;
    if (!wanted)
        text_appendf(growth->script,
                     "DROP INDEX IF EXISTS \"%.*s\";\n"
                     "DELETE FROM declared_indexes WHERE name = '%.*s';\n",
                     (int)columns[0].b.len, columns[0].b.data, (int)columns[0].b.len,
                     columns[0].b.data);
    return true;
}

static bool take_presence(void *arg, const struct field *columns, size_t count)
{
    (void)columns, (void)count;
    *(bool *)arg = true;
    return false;
}

static void want_index(struct growth *growth, const struct config_list *fields)
{
    size_t at = growth->wanted_count;
    assert(at < INDEXES_MAX);
    row_schema_index_name(growth->collection->name, fields, growth->names[at]);
    for (size_t i = 0; i < at; i++)
        if (strcmp(growth->names[i], growth->names[at]) == 0)
            return;
    growth->wanted[at] = *fields;
    growth->wanted_count++;
}

/* What the store has of it; also whether there are rows. */
static enum rc compare(struct growth *growth, struct store *store)
{
    const struct config_collection *collection = growth->collection;
    const struct field name = field_text(bytes_of(collection->name));
    struct config_list order = row_schema_default_order(collection);
    struct text sql = {0};
    if (order.count > 0)
        want_index(growth, &order);
    for (size_t i = 0; i < collection->index_count; i++)
        want_index(growth, &collection->indexes[i]);
    enum rc rc = store_query(store,
                             "SELECT collection, field, type FROM declared_fields "
                             "WHERE lower(collection) = lower(?1)",
                             &name, 1, take_field, growth, growth->err);
    if (rc == RC_OK)
        rc = growth->rc;
    if (rc == RC_OK)
        rc = store_query(store, "SELECT name FROM declared_indexes WHERE collection = ?1", &name, 1,
                         take_index, growth, growth->err);
    if (rc == RC_OK && growth->known) {
        text_appendf(&sql, "SELECT 1 FROM \"" ROW_TABLE_PREFIX "%s\" LIMIT 1", collection->name);
        rc = store_query(store, text_string(&sql), NULL, 0, take_presence, &growth->filled,
                         growth->err);
    }
    text_free(&sql);
    return rc;
}

static void write_table(struct growth *growth, const struct store_ops *ops)
{
    const char *const *types = ops->column_types;
    const char *name = growth->collection->name;
    text_appendf(growth->script,
                 "CREATE TABLE \"" ROW_TABLE_PREFIX "%s\" ("
                 "n %s CONSTRAINT \"" ROW_TABLE_INDEX_PREFIX "%s_n\" PRIMARY KEY, "
                 "id %s NOT NULL CONSTRAINT \"" ROW_TABLE_INDEX_PREFIX "%s_id\" UNIQUE, "
                 "seq %s NOT NULL, extra %s);\n"
                 "CREATE INDEX \"" ROW_TABLE_INDEX_PREFIX "%s_seq\" ON \"" ROW_TABLE_PREFIX
                 "%s\" (seq);\n",
                 name, types[CONFIG_FIELD_INT], name, types[CONFIG_FIELD_TEXT], name,
                 types[CONFIG_FIELD_INT], types[CONFIG_FIELD_JSON], name, name);
}

static void write_fields(struct growth *growth, const struct store_ops *ops, unsigned *changes)
{
    const struct config_collection *collection = growth->collection;
    for (size_t i = 0; i < collection->field_count; i++) {
        const struct config_field *field = &collection->fields[i];
        if (growth->has_field[i])
            continue;
        text_appendf(growth->script,
                     "ALTER TABLE \"" ROW_TABLE_PREFIX "%s\" ADD COLUMN \"%s\" %s;\n"
                     "INSERT INTO declared_fields (collection, field, type) "
                     "VALUES ('%s', '%s', '%s');\n",
                     collection->name, field->name, ops->column_types[field->type],
                     collection->name, field->name, type_names[field->type]);
        (*changes)++;
    }
}

/* From "(" on; `fields` are names separated by commas. */
static void append_index_columns(struct text *sql, const char *fields, const struct store_ops *ops)
{
    text_append_char(sql, '(');
    for (size_t len; (len = strcspn(fields, ",")) > 0; fields += len + (fields[len] != '\0'))
        text_appendf(sql, "\"%.*s\"%s, ", (int)len, fields, ops->null_first);
    text_append_string(sql, "n)");
}

static void write_indexes(struct growth *growth, const struct store_ops *ops, unsigned *changes)
{
    const char *collection = growth->collection->name;
    struct text fields = {0};
    for (size_t i = 0; i < growth->wanted_count; i++) {
        if (growth->has_index[i])
            continue;
        text_clear(&fields);
        for (size_t k = 0; k < growth->wanted[i].count; k++)
            text_appendf(&fields, "%s%s", k > 0 ? "," : "", growth->wanted[i].items[k]);
        text_appendf(growth->script,
                     "INSERT INTO declared_indexes (name, collection, fields, ready) "
                     "VALUES ('%s', '%s', '%s', %d);\n",
                     growth->names[i], collection, text_string(&fields), !growth->filled);
        (*changes)++;
        if (growth->filled)
            continue;
        text_appendf(growth->script, "CREATE INDEX \"%s\" ON \"" ROW_TABLE_PREFIX "%s\" ",
                     growth->names[i], collection);
        append_index_columns(growth->script, text_string(&fields), ops);
        text_append_string(growth->script, ";\n");
    }
    text_free(&fields);
}

enum rc row_schema_grow(struct store *store, const struct config_collection *collections,
                        size_t count, unsigned *changes, struct err *err)
{
    struct text script = {0};
    enum rc rc = RC_OK;
    assert(store != NULL && changes != NULL && (count == 0 || collections != NULL));
    *changes = 0;
    for (size_t i = 0; i < count && rc == RC_OK; i++) {
        struct growth growth = {
            .collection = &collections[i], .script = &script, .rc = RC_OK, .err = err};
        rc = compare(&growth, store);
        if (rc != RC_OK)
            break;
        if (!growth.known)
            write_table(&growth, store->ops);
        write_fields(&growth, store->ops, changes);
        write_indexes(&growth, store->ops, changes);
    }
    if (rc == RC_OK && script.len > 0)
        rc = store->ops->script(store, text_string(&script), err);
    text_free(&script);
    return rc;
}

/* ---- columns that are hidden ---- */

struct hiding {
    const struct config_collection *collection;
    struct text names;
};

static bool take_hidden(void *arg, const struct field *columns, size_t count)
{
    struct hiding *hiding = arg;
    assert(count == 1 && columns[0].type == FIELD_TEXT);
    for (size_t i = 0; i < hiding->collection->field_count; i++)
        if (bytes_equal_string(columns[0].b, hiding->collection->fields[i].name))
            return true;
    text_append(&hiding->names, columns[0].b.data, columns[0].b.len);
    text_append_char(&hiding->names, '\n');
    return true;
}

enum rc row_schema_hide(struct store *store, const struct config_collection *collection,
                        struct row_table *table, struct err *err)
{
    const struct field name = field_text(bytes_of(collection->name));
    struct hiding hiding = {.collection = collection};
    enum rc rc =
        store_query(store, "SELECT field FROM declared_fields WHERE collection = ?1 ORDER BY field",
                    &name, 1, take_hidden, &hiding, err);
    if (rc == RC_OK)
        row_table_hide(table, collection->name, text_bytes(&hiding.names));
    text_free(&hiding.names);
    return rc;
}

/* ---- indexes ---- */

static bool take_name(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1 && columns[0].type == FIELD_TEXT);
    text_append(arg, columns[0].b.data, columns[0].b.len);
    text_append_char(arg, '\n');
    return true;
}

enum rc row_schema_ready(struct store *store, struct text *names, struct err *err)
{
    return store_query(store, "SELECT name FROM declared_indexes WHERE ready = 1 ORDER BY name",
                       NULL, 0, take_name, names, err);
}

bool row_schema_is_ready(struct bytes names, const char *index)
{
    size_t len = strlen(index);
    for (size_t at = 0; at < names.len;) {
        const char *end = memchr(names.data + at, '\n', names.len - at);
        assert(end != NULL);
        size_t size = (size_t)(end - names.data) - at;
        if (size == len && memcmp(names.data + at, index, len) == 0)
            return true;
        at += size + 1;
    }
    return false;
}

struct search {
    struct row_index *index;
    const struct store_ops *ops;
};

static bool take_unready(void *arg, const struct field *columns, size_t count)
{
    struct search *search = arg;
    struct row_index *index = search->index;
    struct text rest = {0}, fields = {0};
    assert(count == 3 && columns[0].b.len < ROW_TABLE_NAME_MAX);
    memcpy(index->name, columns[0].b.data, columns[0].b.len);
    index->name[columns[0].b.len] = '\0';
    text_append(&fields, columns[2].b.data, columns[2].b.len);
    text_appendf(&rest, "\"%s\" ON \"" ROW_TABLE_PREFIX "%.*s\" ", index->name,
                 (int)columns[1].b.len, columns[1].b.data);
    append_index_columns(&rest, text_string(&fields), search->ops);
    text_appendf(&index->build, "CREATE INDEX IF NOT EXISTS %s", text_string(&rest));
    text_appendf(&index->build_apart, "CREATE INDEX CONCURRENTLY %s", text_string(&rest));
    text_free(&rest);
    text_free(&fields);
    return false;
}

enum rc row_schema_next_index(struct store *store, struct row_index *index, struct err *err)
{
    struct search search = {index, store->ops};
    char before[ROW_TABLE_NAME_MAX];
    memcpy(before, index->name, sizeof before);
    const struct field after = field_text(bytes_of(before));
    row_index_free(index);
    return store_query(store,
                       "SELECT name, collection, fields FROM declared_indexes WHERE ready = 0 "
                       "AND name > ?1 ORDER BY name LIMIT 1",
                       &after, 1, take_unready, &search, err);
}

enum rc row_schema_index_done(struct store *store, const struct row_index *index, bool build,
                              struct err *err)
{
    struct text script = {0};
    assert(index->name[0] != '\0');
    if (build)
        text_appendf(&script, "%.*s;\n", (int)index->build.len, index->build.data);
    text_appendf(&script, "UPDATE declared_indexes SET ready = 1 WHERE name = '%s';\n",
                 index->name);
    enum rc rc = store->ops->script(store, text_string(&script), err);
    text_free(&script);
    return rc;
}

void row_index_free(struct row_index *index)
{
    text_free(&index->build);
    text_free(&index->build_apart);
    index->name[0] = '\0';
}
