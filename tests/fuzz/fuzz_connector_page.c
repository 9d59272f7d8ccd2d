/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON as an answer to connectors of every shape: judged, and read to its end; every record is
 * a row in canonical form, passed over, or refused with a sentence and its bytes. The first byte
 * chooses the connector. */
#include "decode/connector_page.h"
#include "decode/csv.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD                                                                                       \
    "version: 1\nprovider: f\nplatforms: {f: {native: F}}\nidentifier: text\n"                     \
    "base_url: https://f.example\nstreams:\n  s:\n    request: {path: /}\n"

static const char *const files[] = {
    HEAD
    "    page: {by: token, size: 3, next: {from: last_record, at: /h, add: 1}, stop: [empty]}\n"
    "    resume: {kind: none}\n"
    "    records: {at: /r}\n"
    "    where: {any: [{at: /f, cast: lower, is: $account}, {at: /t, exists: true}]}\n"
    "    map: {hash: {at: [/h, /i], cast: lower}, block: /b, time: {at: /t, cast: unix_s}, "
    "from: /f, asset: {var: native}, amount: {at: /v, unit: gwei}, fee: {at: /x, cast: hex}, "
    "status: {at: /s, when: {\"0\": confirmed, \"\": failed}}}\n"
    "    identity: {of: [platform, hash, from, amount, row], equals: block}\n"
    "    responses: [{when: {status: 200, at: /e, contains: rate}, do: rate_limited}]\n",
    HEAD "    page: {by: token, next: {from: body, at: /n, cast: json}, stop: [token_absent]}\n"
         "    resume: {kind: none}\n"
         "    records: {at: \"\", shape: entries, key_as: id, each: /p}\n"
         "    map: {hash: ^/id, time: {at: /t, cast: rfc3339}, token_id: {at: /k, cast: hex}, id: "
         "{at: ^/o, cast: json}}\n"
         "    identity: {of: [hash, kind, id]}\n",
    HEAD
    "    page: {by: link, next: {from: header, at: link}, stop: [{flag: {at: /m, not_in: "
    "[x]}}]}\n"
    "    resume: {kind: none}\n"
    "    records: {at: /d, shape: values, absent: empty}\n"
    "    map: {hash: /h, block: {at: /b, cast: hex}, time: {at: [/a, /c], cast: ripple_s}, amount: "
    "{sum: [{each: /o, at: /v, where: {at: /t, is: $account}}], less: [{each: /i, at: /v}], "
    "unit: ether}, fee: {times: [/g, /p]}}\n"
    "    identity: {of: [hash]}\n",
};
#define FILES (sizeof files / sizeof files[0])

static struct connector *connector_at(size_t index)
{
    static struct connector *loaded[FILES];
    struct err err;
    if (loaded[index] == NULL &&
        connector_load(bytes_of(files[index]), "f", &loaded[index], &err) != RC_OK)
        assert(strcmp(err.text, "") == 0);
    return loaded[index];
}

static void check_decimal(struct bytes amount)
{
    size_t digits = amount.len > 0 && amount.data[0] == '-' ? 1 : 0;
    if (amount.data == NULL)
        return;
    assert(amount.len > digits);
    assert(amount.data[digits] != '0' || amount.len == digits + 1 ||
           amount.data[digits + 1] == '.');
}

static void check_page(const struct connector *connector, const struct connector_answer *answer)
{
    static struct connector_page page;
    struct connector_vars vars =
        connector_vars_first(&connector->streams[0], bytes_of("f"), bytes_of("me"));
    struct ledger_row row;
    struct err err = {{0}};
    struct text token = {0};
    enum rc rc;
    if (page.scratch.block == NULL)
        connector_page_init(&page);
    (void)connector_judge(connector, &connector->streams[0], &vars, answer, &err);
    if (connector_page_open(&page, connector, &connector->streams[0], &vars, answer->root, &err) !=
        RC_OK)
        return;
    while ((rc = connector_page_next(&page, &row, &err)) != RC_AGAIN) {
        assert(row.raw.len > 0);
        if (rc != RC_OK)
            continue;
        assert(row.block >= -1 && row.time_us >= -1 && row.status != NULL);
        check_decimal(row.amount);
        check_decimal(row.fee);
    }
    bool more = connector_page_token(&page, answer, &token);
    assert(more == (token.len > 0));
    (void)connector_page_last(&page, answer);
    text_free(&token);
}

static void check_csv(struct bytes file)
{
    struct csv csv;
    struct text row = {0};
    struct bytes raw;
    struct err err;
    enum rc rc = csv_open(&csv, file, &err);
    size_t left = csv.rest.len;
    while (rc != RC_AGAIN && csv.column_count > 0) {
        rc = csv_next(&csv, &row, &raw, &err);
        assert(rc == RC_AGAIN || csv.rest.len < left);
        left = csv.rest.len;
        text_clear(&row);
    }
    text_free(&row);
    csv_close(&csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    struct connector_answer answer = {.status = 200};
    struct err err = {{0}};
    if (size == 0)
        return -1;
    struct bytes input = bytes_make(data + 1, size - 1);
    if (data[0] % 4 == 3) {
        check_csv(input);
        return 0;
    }
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    answer.headers = input;
    static struct text scratch, body;
    text_clear(&body);
    text_append(&body, input.data, input.len);
    text_reserve(&body, ARENA_PAD);
    if (connector_parse(doc, text_bytes(&body), &scratch, &answer.root, &err) == RC_OK)
        check_page(connector_at(data[0] % 4 % FILES), &answer);
    return 0;
}
