/* SPDX-License-Identifier: Apache-2.0 */
#include "query/collections.h"

#include "base/arena.h"
#include "base/suggestion.h"
#include "query/collection_declared.h"
#include "store/row_schema.h"
#include "sys/thread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct collections_draft {
    struct collections_draft *older;
    struct arena arena;
    struct config_collection *list;
    size_t count;
    struct row_table *tables[CONFIG_COLLECTIONS_MAX];
    bool fresh[CONFIG_COLLECTIONS_MAX]; /* the table was made for this draft */
};

/* What is found at one time; never changed once it can be. */
struct generation {
    struct generation *older;
    struct arena arena;
    size_t count;
    struct collection declared[];
};

struct collections {
    struct latest *newest; /* of struct generation * */
    struct generation *generations;
    struct collections_draft *installed; /* the newest first */
    struct text ready;                   /* what the newest generation was made with */
    unsigned shape_count;
};

struct collections *collections_new(void)
{
    struct collections *collections = memory_new_zeroed(1, sizeof *collections);
    collections->newest = latest_new(sizeof(struct generation *));
    return collections;
}

static void free_draft(struct collections_draft *draft)
{
    for (size_t i = 0; i < draft->count; i++)
        if (draft->fresh[i])
            row_table_free(draft->tables[i]);
    arena_deinit(&draft->arena);
    free(draft);
}

void collections_free(struct collections *collections)
{
    if (collections == NULL)
        return;
    for (struct generation *at; (at = collections->generations) != NULL;) {
        collections->generations = at->older;
        arena_deinit(&at->arena);
        free(at);
    }
    for (struct collections_draft *at; (at = collections->installed) != NULL;) {
        collections->installed = at->older;
        free_draft(at);
    }
    text_free(&collections->ready);
    latest_free(collections->newest);
    free(collections);
}

static struct generation *find_newest(struct collections *collections)
{
    struct generation *newest = NULL;
    if (collections != NULL)
        latest_get(collections->newest, &newest);
    return newest;
}

const struct collection *collections_find(struct collections *collections, struct bytes name)
{
    struct generation *newest = find_newest(collections);
    for (size_t i = 0; newest != NULL && i < newest->count; i++)
        if (bytes_equal_string(name, newest->declared[i].name))
            return &newest->declared[i];
    return collection_find(name);
}

enum rc collections_refuse(struct collections *collections, struct bytes name,
                           struct refusal *refusal)
{
    struct generation *newest = find_newest(collections);
    size_t declared = newest == NULL ? 0 : newest->count;
    struct suggestion nearest = suggestion_begin(name);
    struct text words = {0}, names = {0};
    for (size_t i = 0; i < declared + collections_built_in_count; i++) {
        const char *one =
            i < declared ? newest->declared[i].name : collections_built_in[i - declared].name;
        suggestion_try(&nearest, bytes_of(one));
        text_appendf(&names, "%s%s", i == 0 ? "" : ", ", one);
    }
    text_append_string(&words, "there is no collection ");
    suggestion_quote(name, &words);
    suggestion_end(&nearest, "", &words);
    enum rc rc = refusal_set(refusal, REFUSAL_UNKNOWN_COLLECTION, "%s; there are %s",
                             text_string(&words), text_string(&names));
    text_free(&words);
    text_free(&names);
    return rc;
}

/* ---- drafts ---- */

static void *take(struct arena *arena, size_t size)
{
    void *memory = arena_take(arena, size);
    assert(memory != NULL);
    return memory;
}

static const char *keep(struct arena *arena, const char *name)
{
    size_t size = strlen(name) + 1;
    return memcpy(take(arena, size), name, size);
}

static const char *find_name(const struct config_collection *in, const char *name)
{
    for (size_t i = 0; i < in->field_count; i++)
        if (strcmp(in->fields[i].name, name) == 0)
            return in->fields[i].name;
    assert(name[0] == '\0');
    return "";
}

static void copy_collection(const struct config_collection *from, struct arena *arena,
                            struct config_collection *to)
{
    struct config_field *fields = take(arena, from->field_count * sizeof *fields);
    struct config_list *indexes = take(arena, (from->index_count + 1) * sizeof *indexes);
    *to = *from;
    to->name = keep(arena, from->name);
    for (size_t i = 0; i < from->field_count; i++)
        fields[i] = (struct config_field){keep(arena, from->fields[i].name), from->fields[i].type};
    to->fields = fields;
    to->sort_field = find_name(to, from->sort_field);
    for (size_t i = 0; i < from->index_count; i++) {
        const char **names = take(arena, from->indexes[i].count * sizeof *names);
        for (size_t k = 0; k < from->indexes[i].count; k++)
            names[k] = find_name(to, from->indexes[i].items[k]);
        indexes[i] = (struct config_list){names, from->indexes[i].count};
    }
    to->indexes = indexes;
}

/* Names are at most 63 bytes; what is taken is rounded up. */
static size_t size_of(const struct config_collection *declared, size_t count)
{
    size_t size = 1024 + count * sizeof *declared;
    for (size_t i = 0; i < count; i++)
        size += 512 + declared[i].field_count * (sizeof(struct config_field) + 80) +
                declared[i].index_count * (sizeof(struct config_list) + 96);
    return size;
}

static bool same_fields(const struct config_collection *a, const struct config_collection *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->field_count == b->field_count;
    for (size_t i = 0; same && i < a->field_count; i++)
        same = a->fields[i].type == b->fields[i].type &&
               strcmp(a->fields[i].name, b->fields[i].name) == 0;
    return same;
}

static bool same_declaration(const struct config_collection *a, const struct config_collection *b)
{
    bool same = same_fields(a, b) && strcmp(a->sort_field, b->sort_field) == 0 &&
                a->sort_direction == b->sort_direction && a->page_size == b->page_size &&
                a->index_count == b->index_count;
    for (size_t i = 0; same && i < a->index_count; i++) {
        same = a->indexes[i].count == b->indexes[i].count;
        for (size_t k = 0; same && k < a->indexes[i].count; k++)
            same = strcmp(a->indexes[i].items[k], b->indexes[i].items[k]) == 0;
    }
    return same;
}

/* Whether the table knows the fields of this declaration, as declared or as hidden ones. */
static bool knows_fields(const struct row_table *table, const struct config_collection *its,
                         const struct config_collection *fields)
{
    for (size_t i = 0; i < fields->field_count; i++) {
        const char *name = fields->fields[i].name;
        bool known = row_table_hides(table, name);
        for (size_t k = 0; !known && k < its->field_count; k++)
            known = strcmp(its->fields[k].name, name) == 0;
        if (!known)
            return false;
    }
    return true;
}

/* Whether that holds for all declarations since the `which`th one of `draft`. */
static bool knows_since(const struct collections *collections,
                        const struct collections_draft *draft, size_t which)
{
    const struct config_collection *its = &draft->list[which];
    for (const struct collections_draft *at = collections->installed; at != draft; at = at->older)
        for (size_t i = 0; i < at->count; i++)
            if (strcmp(at->list[i].name, its->name) == 0 &&
                !knows_fields(draft->tables[which], its, &at->list[i]))
                return false;
    return true;
}

/* Its table at that time, if what was declared since hides no other columns behind it. */
static struct row_table *find_table(const struct collections *collections,
                                    const struct config_collection *of)
{
    for (const struct collections_draft *at = collections->installed; at != NULL; at = at->older)
        for (size_t i = 0; i < at->count; i++)
            if (same_fields(&at->list[i], of) && knows_since(collections, at, i))
                return at->tables[i];
    return NULL;
}

enum rc collections_draft_new(struct collections *collections,
                              const struct config_collection *declared, size_t count,
                              struct collections_draft **out, struct err *err)
{
    struct collections_draft *draft = memory_new_zeroed(1, sizeof *draft);
    enum rc rc = RC_OK;
    assert(count <= CONFIG_COLLECTIONS_MAX);
    arena_init(&draft->arena, size_of(declared, count));
    draft->list = take(&draft->arena, (count + 1) * sizeof *draft->list);
    for (; draft->count < count && rc == RC_OK; draft->count++) {
        size_t i = draft->count;
        copy_collection(&declared[i], &draft->arena, &draft->list[i]);
        draft->tables[i] = find_table(collections, &draft->list[i]);
        draft->fresh[i] = draft->tables[i] == NULL;
        if (draft->fresh[i])
            draft->tables[i] = row_table_new(&draft->list[i], collections->shape_count++);
        if (collections->shape_count > ROW_TABLES_MAX)
            rc = err_set(err, RC_REJECT,
                         "the fields of collections were changed too often since the start: "
                         "restart to change them again");
    }
    if (rc != RC_OK) {
        collections->shape_count = ROW_TABLES_MAX;
        free_draft(draft);
        draft = NULL;
    }
    *out = draft;
    return rc;
}

const struct config_collection *collections_draft_list(const struct collections_draft *draft,
                                                       size_t *count)
{
    *count = draft->count;
    return draft->list;
}

enum rc collections_draft_teach(const struct collections_draft *draft, struct store *store,
                                struct row_tables *tables, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < draft->count && rc == RC_OK; i++)
        if (draft->fresh[i])
            rc = row_schema_hide(store, &draft->list[i], draft->tables[i], err);
    for (size_t i = 0; i < draft->count && rc == RC_OK; i++) {
        if (!draft->fresh[i])
            continue;
        assert(tables->count < ROW_TABLES_MAX);
        tables->items[tables->count++] = draft->tables[i];
    }
    return rc;
}

void collections_draft_free(struct collections_draft *draft)
{
    free_draft(draft);
}

/* ---- what is found ---- */

/* Makes what is found of the newest declaration. */
static void show(struct collections *collections)
{
    const struct collections_draft *draft = collections->installed;
    size_t size = 0;
    struct generation *next =
        memory_new_zeroed(1, sizeof *next + draft->count * sizeof(struct collection));
    for (size_t i = 0; i < draft->count; i++)
        size += collection_declared_size(&draft->list[i]);
    arena_init(&next->arena, size + 64);
    next->count = draft->count;
    for (size_t i = 0; i < draft->count; i++)
        collection_declare(&draft->list[i], draft->tables[i]->shape,
                           text_bytes(&collections->ready), &next->arena, &next->declared[i]);
    next->older = collections->generations;
    collections->generations = next;
    latest_put(collections->newest, &next);
}

static bool take_ready(struct collections *collections, struct bytes ready)
{
    if (bytes_equal(text_bytes(&collections->ready), ready))
        return false;
    text_clear(&collections->ready);
    text_append(&collections->ready, ready.data, ready.len);
    return true;
}

void collections_set_ready(struct collections *collections, struct bytes ready)
{
    if (collections->installed != NULL && take_ready(collections, ready))
        show(collections);
}

/* What is in force is declared again: nothing is to be learned from the draft. */
static bool says_the_same(const struct collections_draft *draft,
                          const struct collections_draft *installed)
{
    bool same = installed != NULL && draft->count == installed->count;
    for (size_t i = 0; same && i < draft->count; i++)
        same = !draft->fresh[i] && same_declaration(&draft->list[i], &installed->list[i]);
    return same;
}

void collections_install(struct collections *collections, struct collections_draft *draft,
                         struct bytes ready)
{
    if (says_the_same(draft, collections->installed)) {
        free_draft(draft);
        collections_set_ready(collections, ready);
        return;
    }
    draft->older = collections->installed;
    collections->installed = draft;
    (void)take_ready(collections, ready);
    show(collections);
}
