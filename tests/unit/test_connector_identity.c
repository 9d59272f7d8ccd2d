/* SPDX-License-Identifier: Apache-2.0
 *
 * The same movements as five providers tell them, from the samples of tests/data/connectors. */
#include "decode/connector_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PROVIDERS 5
#define ROWS_MAX  8

static const char *const providers[PROVIDERS] = {"etherscan", "routescan", "blockscout", "moralis",
                                                 "alchemy"};
static const char *const streams[] = {"normal", "internal", "token"};

struct ids {
    uint8_t keys[ROWS_MAX][EVENT_ID_SIZE];
    uint8_t ids[ROWS_MAX][EVENT_ID_SIZE];
    size_t count;
};

static void read_whole(const char *folder, const char *name, const char *ending, struct text *out)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got;
    while ((got = fread(text_reserve(out, 65536), 1, 65536, file)) > 0) {
        out->len += got;
        out->data[out->len] = '\0';
    }
    fclose(file);
}

static uint32_t ordinal_of(const struct ids *ids, const uint8_t key[EVENT_ID_SIZE])
{
    uint32_t equals = 0;
    for (size_t i = 0; i < ids->count; i++)
        equals += memcmp(ids->keys[i], key, EVENT_ID_SIZE) == 0 ? 1 : 0;
    return equals;
}

static void add_rows(struct connector_page *page, struct ids *out)
{
    struct ledger_row row;
    struct err err;
    while (connector_page_next(page, &row, &err) == RC_OK) {
        assert_true(out->count < ROWS_MAX);
        ledger_row_identity(&row, ordinal_of(out, row.key), out->ids[out->count]);
        memcpy(out->keys[out->count++], row.key, EVENT_ID_SIZE);
    }
}

/* The rows of every good sample of the stream. */
static void read_ids(const char *provider, const char *name, struct ids *out)
{
    struct text yaml = {0}, samples = {0};
    struct connector *connector = NULL;
    struct connector_page page;
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    struct json root, sample;
    struct bytes key;
    struct err err;
    *out = (struct ids){.count = 0};
    read_whole("connectors/evm", provider, ".yaml", &yaml);
    read_whole("tests/data/connectors", provider, ".json", &samples);
    assert_int_equal(connector_load(text_bytes(&yaml), provider, &connector, &err), RC_OK);
    assert_int_equal(json_parse_copy(doc, text_bytes(&samples), &root, &err), RC_OK);
    connector_page_init(&page);
    const struct connector_stream *stream = connector_stream(connector, bytes_of(name));
    struct connector_vars vars =
        connector_vars_first(stream, json_string_or_absent(json_get(root, "platform")),
                             json_string_or_absent(json_get(root, "account")));
    struct json_walk walk = json_walk(json_get(root, "samples"));
    while (json_walk_next(&walk, &key, &sample)) {
        int64_t partition = 0;
        (void)json_i64(json_get(sample, "partition"), &partition);
        vars.partition = (unsigned)partition;
        if (bytes_equal_string(json_string_or_absent(json_get(sample, "stream")), name) &&
            json_count(json_get(sample, "rows")) > 0 &&
            connector_page_open(&page, connector, stream, &vars, json_get(sample, "body"), &err) ==
                RC_OK)
            add_rows(&page, out);
    }
    connector_page_deinit(&page);
    connector_free(connector);
    json_doc_free(doc);
    text_free(&yaml);
    text_free(&samples);
}

/* R003-54, Exitbook 1.8.4 */
static void every_provider_gives_a_movement_the_same_id(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof streams / sizeof streams[0]; s++) {
        struct ids first, other;
        read_ids(providers[0], streams[s], &first);
        assert_int_equal(first.count, 2);
        for (size_t p = 1; p < PROVIDERS; p++) {
            read_ids(providers[p], streams[s], &other);
            assert_int_equal(other.count, first.count);
            assert_memory_equal(other.ids, first.ids, sizeof first.ids);
        }
    }
}

/* R003-54, Exitbook 1.8.5: two equal transfers in one transaction are two rows. */
static void equal_transfers_stay_apart(void **state)
{
    (void)state;
    for (size_t p = 0; p < PROVIDERS; p++) {
        struct ids ids;
        read_ids(providers[p], "token", &ids);
        assert_int_equal(ids.count, 2);
        assert_memory_equal(ids.keys[0], ids.keys[1], EVENT_ID_SIZE);
        assert_memory_not_equal(ids.ids[0], ids.ids[1], EVENT_ID_SIZE);
    }
}

/* The same values in another kind or on another platform are other movements. */
static void kinds_and_platforms_are_apart(void **state)
{
    struct ids normal, internal;
    (void)state;
    read_ids("etherscan", "normal", &normal);
    read_ids("etherscan", "internal", &internal);
    assert_memory_not_equal(normal.ids[0], internal.ids[0], EVENT_ID_SIZE);
    assert_memory_not_equal(normal.ids[0], normal.ids[1], EVENT_ID_SIZE);
}

/* Ids are in every store: they must not change. */
static void ids_are_what_they_always_were(void **state)
{
    struct ids ids;
    char shown[2 * EVENT_ID_SIZE + 1];
    (void)state;
    read_ids("etherscan", "normal", &ids);
    for (size_t i = 0; i < EVENT_ID_SIZE; i++)
        snprintf(shown + 2 * i, 3, "%02x", ids.ids[0][i]);
    assert_string_equal(shown, "be0bc561316589c810bed7c89f164025");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_provider_gives_a_movement_the_same_id),
        cmocka_unit_test(equal_transfers_stay_apart),
        cmocka_unit_test(kinds_and_platforms_are_apart),
        cmocka_unit_test(ids_are_what_they_always_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
