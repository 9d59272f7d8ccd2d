/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents on their way into a store and out again: nothing is rounded, cut or lost. */
#include "base/id_set.h"
#include "chance.h"
#include "config_load.h"
#include "query/collections.h"
#include "query/document.h"
#include "query/query_page.h"
#include "query/row_fetch.h"
#include "query/row_print.h"
#include "store/row_schema.h"
#include "store/verification.h"
#include "store_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENTS 400
#define THINGS                                                                                     \
    "collections:\n  things:\n"                                                                    \
    "    fields: {t: text, i: int, f: float, b: bool, at: time, j: json}\n"                        \
    "    sort: {field: i, direction: asc}\n    indexes: [[t, f], [b, at]]\n"

struct declared {
    struct collections *collections;
    struct row_tables tables;
};

static const struct collection *declare(struct bench *bench, struct declared *declared,
                                        const char *yaml)
{
    struct config config;
    struct config_problems problems = {0};
    struct collections_draft *draft;
    struct text ready = {0};
    unsigned changes;
    size_t count;
    config_init(&config);
    config_read_yaml(&config, "t.yaml", bytes_of(yaml), &problems);
    assert_int_equal(problems.count, 0);
    if (declared->collections == NULL)
        declared->collections = collections_new();
    assert_ok(collections_draft_new(declared->collections, config.collections,
                                    config.collection_count, &draft, &bench->err));
    config_deinit(&config); /* the draft has its own copy */
    const struct config_collection *list = collections_draft_list(draft, &count);
    assert_ok(row_schema_grow(bench->store, list, count, &changes, &bench->err));
    assert_ok(row_schema_ready(bench->store, &ready, &bench->err));
    assert_ok(collections_draft_teach(draft, bench->store, &declared->tables, &bench->err));
    bench->store->declared = &declared->tables;
    collections_install(declared->collections, draft, text_bytes(&ready));
    text_free(&ready);
    return collections_find(declared->collections, bytes_of("things"));
}

static struct record *read_document(struct bench *bench, const struct collection *things,
                                    struct json_doc *doc, const char *id, const char *json)
{
    struct json data;
    struct refusal refusal;
    assert_ok(json_parse_copy(doc, bytes_of(json), &data, &bench->err));
    struct record *row = document_add(things, &bench->batch, RECORD_OP_PUT, 5);
    assert_non_null(row);
    assert_true(batch_set_text(&bench->batch, row, ROW_ID, bytes_of(id)));
    if (document_read(things, data, "data", &bench->batch, row, &refusal) != RC_OK)
        fail_msg("%s: %s", json, refusal.err.text);
    return row;
}

static const char *any_text(struct chance *chance)
{
    static const char *const texts[] = {
        "null",          "\"\"",       "\"a\"",      "\"A\"",
        "\"\\u00e9\"",   "\"a'b\"",    "\"a\\\"b\"", "\"\\ud83d\\ude00\"",
        "\"a\\nb\\\\\"", "\"\\u0000\""};
    return texts[chance_below(chance, sizeof texts / sizeof texts[0])];
}

static void any_float(struct chance *chance, char out[64])
{
    static const char *const some[] = {"null",   "0",   "-0.0",       "1e308",
                                       "5e-324", "0.1", "12345678901"};
    uint64_t bits = chance_next(chance);
    double real;
    memcpy(&real, &bits, sizeof real);
    if (!isfinite(real) || chance_below(chance, 3) == 0)
        snprintf(out, 64, "%s", some[chance_below(chance, sizeof some / sizeof some[0])]);
    else
        snprintf(out, 64, "%.17g", real);
}

static void any_document(struct chance *chance, char out[1024])
{
    static const char *const ints[] = {
        "null", "0", "-1", "7", "9223372036854775807", "-9223372036854775808"};
    static const char *const bools[] = {"null", "true", "false"};
    static const char *const times[] = {
        "null", "\"2026-01-31T09:00:00Z\"", "\"2026-01-31T09:00:00.123456Z\"",
        "\"1969-12-31T23:59:59.999Z\"", "\"2026-01-31T10:30:00+01:30\""};
    static const char *const jsons[] = {"null",     "{}",    "[1,2.5,null,\"x\"]",
                                        "\"text\"", "false", "{\"a\":{\"b\":[{}]}}"};
    char real[64];
    any_float(chance, real);
    snprintf(out, 1024,
             "{\"t\":%s,\"i\":%s,\"f\":%s,\"b\":%s,\"at\":%s,\"j\":%s,\"more\":%s,\"n\":%s}",
             any_text(chance), ints[chance_below(chance, 6)], real, bools[chance_below(chance, 3)],
             times[chance_below(chance, 5)], jsons[chance_below(chance, 6)], any_text(chance),
             jsons[chance_below(chance, 6)]);
}

static void what_is_read_is_what_was_written(void **state)
{
    struct bench *bench = *state;
    struct declared declared = {0};
    struct chance chance = chance_init("documents");
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    const struct collection *things = declare(bench, &declared, THINGS);
    struct text told[DOCUMENTS] = {0}, item = {0};
    char id[16], json[1024];
    struct json_writer writer;
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        snprintf(id, sizeof id, "d%u", i);
        any_document(&chance, json);
        struct record *row = read_document(bench, things, doc, id, json);
        json_writer_init(&writer, &told[i]);
        row_print(things, &row->fields[ROW_ID], &row->fields[ROW_EXTRA], &writer);
        if (i % 100 == 99)
            assert_ok(write_batch(bench));
    }
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        snprintf(id, sizeof id, "d%u", i);
        text_clear(&item);
        assert_ok(row_fetch(bench->store, things, bytes_of(id), &item, &bench->err));
        assert_string_equal(text_string(&item), text_string(&told[i]));
        text_free(&told[i]);
    }
    text_free(&item);
    json_doc_free(doc);
    collections_free(declared.collections);
}

/* Every row comes once, by each index and both ways, whatever is NULL or equal. */
static void every_order_with_an_index_walks_every_row_once(void **state)
{
    static const char *const orders[] = {
        "[]", "[{\"field\":\"id\"}]", "[{\"field\":\"i\",\"direction\":\"desc\"}]",
        "[{\"field\":\"t\"},{\"field\":\"f\"}]",
        "[{\"field\":\"b\",\"direction\":\"desc\"},{\"field\":\"at\",\"direction\":\"desc\"}]"};
    struct bench *bench = *state;
    struct declared declared = {0};
    struct chance chance = chance_init("walk");
    struct json_doc *doc = json_doc_new(1 << 22, JSON_DEPTH_MAX);
    const struct collection *things = declare(bench, &declared, THINGS);
    char id[16], json[1024];
    struct json root, value;
    struct bytes key, name;
    for (unsigned i = 0; i < DOCUMENTS / 4; i++) {
        snprintf(id, sizeof id, "d%u", i);
        any_document(&chance, json);
        read_document(bench, things, doc, id, json);
    }
    assert_ok(write_batch(bench));
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct page page = {0};
        struct row_key after = {0};
        struct order order;
        struct refusal refusal;
        struct id_set seen;
        id_set_init(&seen, 1);
        assert_ok(json_parse_copy(doc, bytes_of(orders[i]), &root, &bench->err));
        assert_int_equal(order_parse(things, root, &order, &refusal), RC_OK);
        assert_non_null(order_index(things, &order, 0));
        do {
            const struct page_request request = {.collection = things,
                                                 .order = &order,
                                                 .fence_n = bench->position.next_n,
                                                 .after = &after,
                                                 .page_size = 7};
            assert_ok(page_fetch(bench->store, &request, &page, &refusal, &bench->err));
            row_key_move(&after, &page.last);
            assert_ok(json_parse_copy(doc, text_bytes(&page.items), &root, &bench->err));
            struct json_walk walk = json_walk(root);
            while (json_walk_next(&walk, &key, &value)) {
                assert_true(json_string(json_get(value, "id"), &name));
                assert_true(id_set_add(&seen, name));
            }
        } while (page.has_more);
        assert_int_equal(id_set_count(&seen), DOCUMENTS / 4);
        id_set_deinit(&seen);
        row_key_clear(&after);
        page_free(&page);
    }
    json_doc_free(doc);
    collections_free(declared.collections);
}

static void a_change_keeps_what_it_does_not_name(void **state)
{
    struct bench *bench = *state;
    struct declared declared = {0};
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    const struct collection *before =
        declare(bench, &declared, "collections: {things: {fields: {t: text}}}");
    struct refusal refusal;
    struct text item = {0};
    struct json data;
    struct json_writer writer;
    /* What was stored before its field was declared, and is of the type or not. */
    const struct field stored[] = {field_text(bytes_of("d")), field_text(bytes_of("old")),
                                   field_null(FIELD_INT), field_null(FIELD_INT)};
    const struct field extra =
        field_text(bytes_of("{\"i\":7,\"at\":\"never\",\"x\":{\"y\":1},\"z\":0}"));
    const struct collection *after =
        declare(bench, &declared, "collections: {things: {fields: {t: text, i: int, at: time}}}");
    assert_int_not_equal(before->shape, after->shape);
    assert_int_equal(before->column_count, 2); /* what was found stays as it was */
    assert_ok(json_parse_copy(doc, bytes_of("{\"z\":null,\"w\":[2]}"), &data, &bench->err));
    struct record *row = document_add(after, &bench->batch, RECORD_OP_PUT, 5);
    assert_true(batch_set_text(&bench->batch, row, ROW_ID, bytes_of("d")));
    assert_int_equal(document_change(after, stored, &extra, data, &bench->batch, row, &refusal),
                     RC_OK);
    json_writer_init(&writer, &item);
    row_print(after, &row->fields[ROW_ID], &row->fields[ROW_EXTRA], &writer);
    assert_string_equal(text_string(&item), "{\"id\":\"d\",\"t\":\"old\",\"i\":7,\"at\":\"never\","
                                            "\"x\":{\"y\":1},\"z\":null,\"w\":[2]}");
    assert_false(row->fields[ROW_COLUMNS + 1].null); /* it moved to its column */
    text_free(&item);
    json_doc_free(doc);
    collections_free(declared.collections);
}

/* Has the document written with this, as an update does when its row is not looked at. */
static void put_document(struct bench *bench, const struct collection *things, const char *id,
                         const char *json)
{
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    (void)read_document(bench, things, doc, id, json);
    assert_ok(write_batch(bench));
    json_doc_free(doc);
}

/* What is in the column `t`, and what is shown. */
static void assert_document(struct bench *bench, const struct collection *things, const char *id,
                            const char *column, const char *shown)
{
    struct text sql = {0}, item = {0};
    text_appendf(&sql, "SELECT coalesce(t, 'none') FROM data_things WHERE id = '%s'", id);
    assert_string_equal(word(bench, text_string(&sql)), column);
    assert_ok(row_fetch(bench->store, things, bytes_of(id), &item, &bench->err));
    assert_string_equal(text_string(&item), shown);
    text_free(&sql);
    text_free(&item);
}

/* A filter would find the document by what it no longer is. */
static void a_field_declared_again_has_no_value_that_was_written_over(void **state)
{
    static const char with[] = "collections: {things: {fields: {t: text}}}";
    static const char without[] = "collections: {things: {fields: {i: int}}}";
    static const char more[] = "collections: {things: {fields: {i: int, u: text}}}";
    struct bench *bench = *state;
    struct declared declared = {0};
    const struct collection *things = declare(bench, &declared, with);
    put_document(bench, things, "a", "{\"t\":\"old\"}");
    put_document(bench, things, "b", "{\"t\":\"kept\"}");
    put_document(bench, things, "c", "{\"t\":\"kept\"}");
    put_document(bench, things, "d", "{\"t\":\"old\"}");
    things = declare(bench, &declared, without);
    put_document(bench, things, "a", "{\"t\":\"new\"}");
    put_document(bench, things, "c", "{\"more\":{\"t\":1},\"s\":\"\\\"t\\\":\"}");
    put_document(bench, things, "d", "{\"t\":null}");
    put_document(bench, things, "e", "{\"t\":\"first\"}");
    /* A shape that comes again knows what was declared in the meantime, too. */
    put_document(bench, declare(bench, &declared, more), "f", "{\"u\":\"old\"}");
    things = declare(bench, &declared, without);
    put_document(bench, things, "f", "{\"u\":\"new\"}");
    assert_int_equal(number(bench, "SELECT count(*) FROM data_things WHERE u IS NOT NULL"), 0);
    things = declare(bench, &declared, with);
    assert_document(bench, things, "a", "none", "{\"id\":\"a\",\"t\":\"new\"}");
    assert_document(bench, things, "b", "kept", "{\"id\":\"b\",\"t\":\"kept\"}");
    assert_document(bench, things, "c", "kept",
                    "{\"id\":\"c\",\"t\":\"kept\",\"more\":{\"t\":1},\"s\":\"\\\"t\\\":\"}");
    assert_document(bench, things, "d", "none", "{\"id\":\"d\",\"t\":null}");
    assert_document(bench, things, "e", "none", "{\"id\":\"e\",\"t\":\"first\"}");
    bench->store->declared = NULL;
    collections_free(declared.collections);
}

static enum rc accept(void *arg, struct bytes state, struct err *err)
{
    (void)arg, (void)state, (void)err;
    return RC_OK;
}

/* How often the documents are found wrong; `words` is in the first sentence. */
static int64_t wrong_documents(struct bench *bench, const char *words)
{
    struct verification verification;
    int64_t failures = -1;
    assert_ok(verification_run(bench->store, accept, NULL, &verification, &bench->err));
    for (size_t i = 0; i < verification.count; i++) {
        const struct verification_check *check = &verification.checks[i];
        if (strcmp(check->name, "documents") != 0)
            continue;
        failures = check->failures;
        if (strstr(check->first, words) == NULL)
            fail_msg("%s", check->first);
    }
    return failures;
}

static void a_key_that_stands_twice_is_refused_at_every_depth(void **state)
{
    static const struct {
        const char *json, *key; /* NULL: it is good */
    } documents[] = {
        {"{\"t\":\"a\",\"t\":\"b\"}", "\"t\""},
        {"{\"more\":1,\"i\":2,\"more\":1}", "\"more\""},
        {"{\"a\\u0062\":1,\"ab\":2}", "\"ab\""},
        {"{\"j\":[1,{\"x\":{\"\":1,\"\":2}}]}", "\"\""},
        {"{\"n\":[[{\"q\\n\":1,\"r\":2,\"q\\n\":3}]]}", "\"q\\n\""},
        {"{\"t\":\"a\",\"T\":\"b\",\"n\":{\"t\":{\"t\":1}},\"m\":[{\"t\":1},{\"t\":2}]}", NULL},
    };
    struct bench *bench = *state;
    struct declared declared = {0};
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    const struct collection *things = declare(bench, &declared, THINGS);
    const struct field none = field_null(FIELD_TEXT);
    struct field stored[COLLECTION_COLUMNS_MAX];
    for (size_t i = 0; i < things->column_count; i++)
        stored[i] = field_null(column_stored_as(things->columns[i].type));
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        struct refusal refusal = {0};
        struct json data;
        enum rc wanted = documents[i].key == NULL ? RC_OK : RC_REJECT;
        assert_ok(json_parse_copy(doc, bytes_of(documents[i].json), &data, &bench->err));
        struct record *row = document_add(things, &bench->batch, RECORD_OP_PUT, 5);
        assert_int_equal(document_read(things, data, "data[3]", &bench->batch, row, &refusal),
                         wanted);
        row = document_add(things, &bench->batch, RECORD_OP_PUT, 5);
        struct refusal of_change = {0};
        assert_int_equal(
            document_change(things, stored, &none, data, &bench->batch, row, &of_change), wanted);
        if (wanted == RC_OK)
            continue;
        assert_int_equal(refusal.code, REFUSAL_BAD_DATA);
        assert_int_equal(of_change.code, REFUSAL_BAD_DATA);
        assert_non_null(strstr(refusal.err.text, documents[i].key));
        assert_ptr_equal(strstr(refusal.err.text, "data[3]: "), refusal.err.text);
    }
    json_doc_free(doc);
    bench->store->declared = NULL;
    collections_free(declared.collections);
}

static void what_is_wrong_with_documents_is_found(void **state)
{
    static const struct {
        const char *plant, *words;
    } cases[] = {
        {"UPDATE data_things SET seq = seq + 1000", "not made yet"},
        {"UPDATE data_things SET n = n + 1000", "not given yet"},
        {"UPDATE data_things SET extra = '[1]'", "else than an object"},
        {"UPDATE data_things SET extra = '{'", "else than an object"},
        {"UPDATE data_things SET extra = '{\"id\":\"x\"}'", "else than an object"},
        {"UPDATE data_things SET b = 2", "another type in b"},
        {"UPDATE data_things SET j = 'no json'", "another type in j"},
        {"UPDATE data_things SET id = ''", "no id"},
        {"INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
         "SELECT 'things', id, '', n, seq, 1 FROM data_things",
         "\"a\" is deleted at seq"},
    };
    struct bench *bench = *state;
    struct declared declared = {0};
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    const struct collection *collection = declare(bench, &declared, THINGS);
    (void)read_document(bench, collection, doc, "a",
                        "{\"t\":\"x\",\"i\":1,\"f\":0.5,\"b\":true,\"j\":{},\"more\":1}");
    assert_ok(write_batch(bench));
    assert_int_equal(wrong_documents(bench, ""), 0);
    run_script(bench, "CREATE TABLE sound AS SELECT * FROM data_things");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_script(bench, cases[i].plant);
        assert_int_equal(wrong_documents(bench, cases[i].words), 1);
        run_script(bench, "DELETE FROM tombstones; DELETE FROM data_things; "
                          "INSERT INTO data_things SELECT * FROM sound");
    }
    if (both_stores_kind == FIXTURE_SQLITE) {
        run_script(bench, "UPDATE data_things SET i = 'many'");
        assert_int_equal(wrong_documents(bench, "another type in i"), 1);
    }
    json_doc_free(doc);
    collections_free(declared.collections);
}

/* Any number of reloads takes no memory: what was found stays in place and is found again. */
static void the_same_declaration_again_leaves_everything_in_place(void **state)
{
    struct bench *bench = *state;
    struct declared declared = {0};
    static const char *const others[] = {
        "collections: {things: {fields: {a: text}}}",
        "collections: {things: {fields: {a: text}, page_size: 7}}",
        "collections: {things: {fields: {a: text}, sort: {field: a, direction: asc}}}",
        "collections: {things: {fields: {a: text}, sort: {field: a, direction: desc}}}",
        "collections: {things: {fields: {a: text, b: text}, indexes: [[a, b]]}}",
        "collections: {things: {fields: {a: text, b: text}, indexes: [[b, a]]}}",
        "collections: {things: {fields: {a: text, b: text}, indexes: [[b, a], [b]]}}",
        "collections: {things: {fields: {a: text}}, more: {fields: {a: text}}}",
    };
    const struct collection *before = NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct collection *found = declare(bench, &declared, others[i]);
        assert_ptr_not_equal(found, before);
        assert_ptr_equal(declare(bench, &declared, others[i]), found);
        before = found;
    }
    bench->store->declared = NULL;
    collections_free(declared.collections);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(what_is_read_is_what_was_written),
        ON_STORE(every_order_with_an_index_walks_every_row_once),
        ON_STORE(a_change_keeps_what_it_does_not_name),
        ON_STORE(a_field_declared_again_has_no_value_that_was_written_over),
        ON_STORE(a_key_that_stands_twice_is_refused_at_every_depth),
        ON_STORE(what_is_wrong_with_documents_is_found),
        ON_STORE(the_same_declaration_again_leaves_everything_in_place),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
