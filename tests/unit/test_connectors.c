/* SPDX-License-Identifier: Apache-2.0
 *
 * Every connector that is shipped against answers in its provider's own shape. The answers and the
 * rows that a person reads in them lie in tests/data/connectors, one file per provider. */
#include "base/json_write.h"
#include "base/timestamp.h"
#include "decode/connector_page.h"
#include "decode/csv.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct desk {
    struct json_doc *samples, *doc;
    struct connector *connector;
    struct connector_page page;
    struct text rows, reasons, body, scratch;
    const char *file;
    size_t number; /* of the sample in its file */
    bool met[CONNECTOR_STREAMS_MAX];
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    desk->samples = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    desk->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    connector_page_init(&desk->page);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    connector_free(desk->connector);
    connector_page_deinit(&desk->page);
    json_doc_free(desk->samples);
    json_doc_free(desk->doc);
    text_free(&desk->rows);
    text_free(&desk->reasons);
    text_free(&desk->body);
    text_free(&desk->scratch);
    free(desk);
    return 0;
}

static void read_whole(const char *path, struct text *out)
{
    FILE *file = fopen(path, "rb");
    size_t got;
    if (file == NULL)
        fail_msg("%s is missing", path);
    text_clear(out);
    while ((got = fread(text_reserve(out, 65536), 1, 65536, file)) > 0) {
        out->len += got;
        out->data[out->len] = '\0';
    }
    fclose(file);
}

static void put_field(struct json_writer *writer, const char *key, struct bytes value)
{
    if (value.data == NULL)
        return;
    json_key(writer, key);
    json_put_string(writer, value);
}

static void put_row(struct json_writer *writer, const struct ledger_row *row)
{
    char time[TIMESTAMP_TEXT_MAX];
    json_begin_object(writer);
    put_field(writer, "hash", row->hash);
    if (row->block >= 0) {
        json_key(writer, "block");
        json_put_i64(writer, row->block);
    }
    if (row->time_us >= 0 && timestamp_format(row->time_us, time))
        put_field(writer, "time", bytes_of(time));
    put_field(writer, "from", row->from);
    put_field(writer, "to", row->to);
    put_field(writer, "asset", row->asset);
    put_field(writer, "tokenId", row->token_id);
    put_field(writer, "amount", row->amount);
    put_field(writer, "fee", row->fee);
    put_field(writer, "id", row->id);
    put_field(writer, "kind", bytes_of(row->kind));
    put_field(writer, "status", bytes_of(row->status));
    json_end_object(writer);
}

static void read_rows(struct desk *desk)
{
    struct json_writer rows, reasons;
    struct ledger_row row;
    struct err err;
    enum rc rc;
    text_clear(&desk->rows);
    text_clear(&desk->reasons);
    json_writer_init(&rows, &desk->rows);
    json_writer_init(&reasons, &desk->reasons);
    json_begin_array(&rows);
    json_begin_array(&reasons);
    while ((rc = connector_page_next(&desk->page, &row, &err)) != RC_AGAIN) {
        assert_true(row.raw.len > 0);
        if (rc == RC_OK)
            put_row(&rows, &row);
        else
            json_put_cstring(&reasons, err.text);
    }
    json_end_array(&rows);
    json_end_array(&reasons);
}

/* What the sample says under `key` against what came out; a sample that says nothing is content. */
static void compare(const struct desk *desk, struct json sample, const char *key, const char *got)
{
    struct text said = {0};
    struct json value = json_get(sample, key);
    if (json_type(value) == JSON_ABSENT)
        return;
    json_print(value, &said);
    if (strcmp(text_string(&said), got) != 0)
        fail_msg("%s, sample %zu, %s:\n  said %s\n  got  %s", desk->file, desk->number, key,
                 text_string(&said), got);
    text_free(&said);
}

static void compare_number(const struct desk *desk, struct json sample, const char *key,
                           int64_t got)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)got);
    compare(desk, sample, key, digits);
}

static void check_end(struct desk *desk, struct json sample, const struct connector_answer *answer)
{
    struct text token = {0}, quoted = {0};
    struct json_writer writer;
    int64_t count;
    if (connector_page_token(&desk->page, answer, &token)) {
        json_writer_init(&writer, &quoted);
        json_put_string(&writer, text_bytes(&token));
        compare(desk, sample, "token", text_string(&quoted));
    } else {
        compare(desk, sample, "token", "null");
    }
    compare(desk, sample, "last", connector_page_last(&desk->page, answer) ? "true" : "false");
    compare_number(desk, sample, "passed", (int64_t)desk->page.passed);
    const struct connector_figure *figure = &desk->page.stream->count;
    if (figure->given && connector_figure_read(figure, answer->root, &count))
        compare_number(desk, sample, "count", count);
    text_free(&token);
    text_free(&quoted);
}

static void open_answer(struct desk *desk, struct json sample,
                        const struct connector_stream *stream, const struct connector_vars *vars,
                        struct connector_answer *answer)
{
    struct err err = {""};
    int64_t status = 200;
    (void)json_i64(json_get(sample, "http"), &status);
    text_clear(&desk->body);
    json_print(json_get(sample, "body"), &desk->body);
    *answer = (struct connector_answer){
        (int)status, json_string_or_absent(json_get(sample, "headers")), {0}};
    text_reserve(&desk->body, ARENA_PAD);
    if (desk->body.len > 0)
        assert_int_equal(connector_parse(desk->doc, text_bytes(&desk->body), &desk->scratch,
                                         &answer->root, &err),
                         RC_OK);
    struct connector_judgement judgement =
        connector_judge(desk->connector, stream, vars, answer, &err);
    struct text verdict = {0};
    text_appendf(&verdict, "\"%s\"", connector_verdict_name(judgement.verdict));
    compare(desk, sample, "verdict", text_string(&verdict));
    compare_number(desk, sample, "wait_ms", judgement.wait_ms);
    text_free(&verdict);
}

/* The file of a sample as the list that its rows become. */
static struct json open_file(struct desk *desk, struct bytes file,
                             const struct connector_stream **stream)
{
    struct csv csv;
    struct err err;
    struct bytes raw;
    struct json root = {0};
    assert_int_equal(csv_open(&csv, file, &err), RC_OK);
    *stream = connector_csv_stream(desk->connector, text_bytes(&csv.columns));
    text_clear(&desk->body);
    text_append_char(&desk->body, '[');
    for (;;) {
        size_t before = desk->body.len;
        if (before > 1)
            text_append_char(&desk->body, ',');
        if (csv_next(&csv, &desk->body, &raw, &err) == RC_OK)
            continue;
        desk->body.len = before;
        break;
    }
    text_append_char(&desk->body, ']');
    assert_int_equal(json_parse_copy(desk->doc, text_bytes(&desk->body), &root, &err), RC_OK);
    csv_close(&csv);
    return root;
}

static void check_sample(struct desk *desk, struct json samples, struct json sample)
{
    struct connector_answer answer = {0};
    struct bytes file = json_string_or_absent(json_get(sample, "file"));
    struct bytes name = json_string_or_absent(json_get(sample, "stream"));
    const struct connector_stream *stream = connector_stream(desk->connector, name);
    struct err err;
    int64_t partition = 0;
    if (file.data != NULL)
        answer.root = open_file(desk, file, &stream);
    if (stream == NULL)
        fail_msg("%s, sample %zu: no such stream", desk->file, desk->number);
    compare(desk, sample, "skip", stream->csv.skip ? "true" : "false");
    desk->met[stream - desk->connector->streams] = true;
    if (stream->csv.skip)
        return;
    struct bytes platform = json_string_or_absent(json_get(sample, "platform"));
    if (platform.data == NULL)
        platform = json_string_or_absent(json_get(samples, "platform"));
    struct connector_vars vars =
        connector_vars_first(stream, platform, json_string_or_absent(json_get(samples, "account")));
    (void)json_i64(json_get(sample, "partition"), &partition);
    vars.partition = (unsigned)partition;
    if (file.data == NULL)
        open_answer(desk, sample, stream, &vars, &answer);
    if (json_type(json_get(sample, "rows")) == JSON_ABSENT)
        return;
    enum rc rc = file.data != NULL ? connector_page_open_list(&desk->page, desk->connector, stream,
                                                              &vars, answer.root, &err)
                                   : connector_page_open(&desk->page, desk->connector, stream,
                                                         &vars, answer.root, &err);
    if (rc != RC_OK)
        fail_msg("%s, sample %zu: %s", desk->file, desk->number, err.text);
    read_rows(desk);
    compare(desk, sample, "rows", text_string(&desk->rows));
    compare(desk, sample, "refused", text_string(&desk->reasons));
    check_end(desk, sample, &answer);
}

static void check_connector(struct desk *desk, const char *path)
{
    struct text yaml = {0}, data = {0}, name = {0};
    struct err err;
    struct json samples, sample;
    struct bytes key;
    read_whole(path, &yaml);
    connector_free(desk->connector);
    desk->connector = NULL;
    if (connector_load(text_bytes(&yaml), path, &desk->connector, &err) != RC_OK)
        fail_msg("%s", err.text);
    text_appendf(&name, "tests/data/connectors/%s.json", desk->connector->provider);
    read_whole(text_string(&name), &data);
    desk->file = text_string(&name);
    if (json_parse_copy(desk->samples, text_bytes(&data), &samples, &err) != RC_OK)
        fail_msg("%s: %s", desk->file, err.text);
    memset(desk->met, 0, sizeof desk->met);
    desk->number = 0;
    struct json_walk walk = json_walk(json_get(samples, "samples"));
    for (; json_walk_next(&walk, &key, &sample); desk->number++)
        check_sample(desk, samples, sample);
    for (size_t i = 0; i < desk->connector->stream_count; i++)
        if (!desk->met[i])
            fail_msg("%s has no sample of the stream %s", desk->file,
                     desk->connector->streams[i].name);
    text_free(&yaml);
    text_free(&data);
    text_free(&name);
}

static void every_shipped_connector_reads_its_providers_answers(void **state)
{
    glob_t found;
    assert_int_equal(glob("connectors/*/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 20);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_connector(*state, found.gl_pathv[i]);
    globfree(&found);
}

/* R003-37 */
static void a_new_provider_needs_no_code(void **state)
{
    check_connector(*state, "tests/data/connectors/madeup.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_shipped_connector_reads_its_providers_answers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_new_provider_needs_no_code, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
