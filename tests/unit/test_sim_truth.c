/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/timestamp.h"
#include "sim/event_json.h"
#include "sim/truth.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS_MAX 8192
#define PEOPLE_MAX  64

/* A client that knows nothing but the lines it reads. */
struct naive {
    struct record {
        char uri[160], did[40], rev[16], *text;
        int64_t time_us, created_us;
        bool is_post, gone;
    } records[RECORDS_MAX];
    struct {
        char did[40];
        bool inactive;
    } people[PEOPLE_MAX];
    size_t record_count, people_count;
};

static void copy(struct json value, char *out, size_t size)
{
    struct bytes bytes = json_string_or_absent(value);
    assert_true(bytes.len > 0 && bytes.len < size);
    memcpy(out, bytes.data, bytes.len);
    out[bytes.len] = '\0';
}

static void note_account(struct naive *naive, const char *did, struct json account)
{
    bool active;
    size_t i = 0;
    assert_true(json_bool(json_get(account, "active"), &active));
    while (i < naive->people_count && strcmp(naive->people[i].did, did) != 0)
        i++;
    if (i == naive->people_count) {
        assert_true(naive->people_count++ < PEOPLE_MAX);
        snprintf(naive->people[i].did, sizeof naive->people[i].did, "%s", did);
    }
    naive->people[i].inactive = !active;
}

static struct record *find_record(struct naive *naive, const char *uri)
{
    for (size_t i = 0; i < naive->record_count; i++)
        if (strcmp(naive->records[i].uri, uri) == 0)
            return &naive->records[i];
    return NULL;
}

static void note_version(struct record *record, struct json commit)
{
    struct bytes text = json_string_or_absent(json_pointer(commit, "/record/text"));
    struct bytes created = json_string_or_absent(json_pointer(commit, "/record/createdAt"));
    copy(json_get(commit, "rev"), record->rev, sizeof record->rev);
    assert_true(timestamp_parse(created, &record->created_us));
    free(record->text);
    record->text = memory_new_zeroed(text.len + 1, 1);
    if (text.len > 0)
        memcpy(record->text, text.data, text.len);
}

static void note_commit(struct naive *naive, const char *did, int64_t time_us, struct json commit)
{
    char collection[64], rkey[32], operation[16], uri[160];
    copy(json_get(commit, "collection"), collection, sizeof collection);
    copy(json_get(commit, "rkey"), rkey, sizeof rkey);
    copy(json_get(commit, "operation"), operation, sizeof operation);
    bool is_post = strcmp(collection, "app.bsky.feed.post") == 0;
    if (!is_post && strcmp(collection, "app.bsky.feed.repost") != 0)
        return;
    snprintf(uri, sizeof uri, "at://%s/%s/%s", did, collection, rkey);
    struct record *record = find_record(naive, uri);
    if (strcmp(operation, "create") == 0) {
        assert_null(record);
        assert_true(naive->record_count < RECORDS_MAX);
        record = &naive->records[naive->record_count++];
        snprintf(record->uri, sizeof record->uri, "%s", uri);
        snprintf(record->did, sizeof record->did, "%s", did);
        record->time_us = time_us;
        record->is_post = is_post;
        note_version(record, commit);
        return;
    }
    assert_non_null(record);
    assert_false(record->gone);
    if (strcmp(operation, "delete") == 0)
        record->gone = true;
    else
        note_version(record, commit);
}

static void replay(const struct world *world, struct naive *naive)
{
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    struct text line = {0};
    for (uint32_t k = 0; k < world_count(world); k++) {
        struct json event;
        char did[40], kind[16];
        int64_t time_us;
        text_clear(&line);
        event_json_v1(world, k, 0, &line);
        assert_int_equal(json_parse_copy(doc, text_bytes(&line), &event, NULL), RC_OK);
        copy(json_get(event, "did"), did, sizeof did);
        copy(json_get(event, "kind"), kind, sizeof kind);
        assert_true(json_i64(json_get(event, "time_us"), &time_us));
        if (strcmp(kind, "account") == 0)
            note_account(naive, did, json_get(event, "account"));
        else if (strcmp(kind, "commit") == 0)
            note_commit(naive, did, time_us, json_get(event, "commit"));
    }
    text_free(&line);
    json_doc_free(doc);
}

static bool is_visible(const struct naive *naive, const struct record *record)
{
    for (size_t i = 0; i < naive->people_count; i++)
        if (strcmp(naive->people[i].did, record->did) == 0 && naive->people[i].inactive)
            return false;
    return !record->gone;
}

static void check_row(struct naive *naive, struct json row, EVP_MD_CTX *hash)
{
    char uri[160], rev[16];
    int64_t time_us, created_us;
    struct bytes created = json_string_or_absent(json_get(row, "createdAt"));
    copy(json_get(row, "uri"), uri, sizeof uri);
    copy(json_get(row, "rev"), rev, sizeof rev);
    struct record *record = find_record(naive, uri);
    assert_non_null(record);
    assert_true(is_visible(naive, record));
    assert_string_equal(record->rev, rev);
    assert_true(json_i64(json_get(row, "time_us"), &time_us) && time_us == record->time_us);
    assert_true(timestamp_parse(created, &created_us) && created_us == record->created_us);
    assert_true(bytes_equal_string(json_string_or_absent(json_get(row, "kind")),
                                   record->is_post ? "post" : "repost"));
    if (record->is_post)
        assert_true(bytes_equal_string(json_string_or_absent(json_get(row, "text")), record->text));
    EVP_DigestUpdate(hash, uri, strlen(uri));
    EVP_DigestUpdate(hash, "\t", 1);
    EVP_DigestUpdate(hash, rev, strlen(rev));
    EVP_DigestUpdate(hash, "\n", 1);
}

static void check_summary(const struct naive *naive, struct json summary, const char *hash)
{
    int64_t records, expected = 0;
    for (size_t i = 0; i < naive->record_count; i++)
        expected += is_visible(naive, &naive->records[i]);
    assert_true(json_i64(json_get(summary, "records"), &records));
    assert_true(records == expected && expected > 100);
    assert_true(bytes_equal_string(json_string_or_absent(json_get(summary, "hash")), hash));
}

static void check_truth(struct naive *naive, const struct text *truth)
{
    struct json_doc *doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    struct json value;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    char hex[65];
    const char *head_end = strchr(truth->data, '\n') + 1, *at = head_end;
    EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    while (*at != '\0') {
        const char *end = strchr(at, '\n');
        struct bytes line = bytes_make(at, (size_t)(end - at));
        assert_int_equal(json_parse_copy(doc, line, &value, NULL), RC_OK);
        check_row(naive, value, hash);
        at = end + 1;
    }
    EVP_DigestFinal_ex(hash, digest, NULL);
    EVP_MD_CTX_free(hash);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    struct bytes head = bytes_make(truth->data, (size_t)(head_end - truth->data));
    assert_int_equal(json_parse_copy(doc, head, &value, NULL), RC_OK);
    check_summary(naive, value, hex);
    json_doc_free(doc);
}

static void truth_equals_a_naive_replay_of_the_log(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct world_options options = world_options_default();
        struct naive *naive = memory_new_zeroed(1, sizeof *naive);
        struct text truth = {0};
        options.seed = seed;
        options.accounts = 40;
        struct world *world = world_new(&options);
        world_grow(world, 4000);
        replay(world, naive);
        truth_write(world, &(struct truth_scope){0}, &truth);
        check_truth(naive, &truth);
        for (size_t i = 0; i < naive->record_count; i++)
            free(naive->records[i].text);
        free(naive);
        text_free(&truth);
        world_free(world);
    }
}

static void truth_is_sorted_and_narrowed_as_asked(void **state)
{
    (void)state;
    struct world_options options = world_options_default();
    struct world *world = world_new(&options);
    struct text all = {0}, part = {0};
    unsigned rows = 0;
    world_grow(world, 4000);
    truth_write(world, &(struct truth_scope){0}, &all);
    bool *follows = world_follows(world, 0);
    truth_write(world, &(struct truth_scope){.accounts = follows}, &part);
    free(follows);
    struct bytes last = BYTES_ABSENT;
    for (const char *at = strchr(part.data, '\n') + 1; *at != '\0'; rows++) {
        const char *end = strchr(at, '\n') + 1;
        /* did, collection and rkey stand first in a line, so lines sort like them. */
        struct bytes line = bytes_make(at, (size_t)(end - at));
        assert_true(bytes_compare(last, line) < 0);
        assert_non_null(memmem(all.data, all.len, line.data, line.len));
        last = line;
        at = end;
    }
    assert_true(rows > 50 && part.len < all.len);
    text_free(&all);
    text_free(&part);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_equals_a_naive_replay_of_the_log),
        cmocka_unit_test(truth_is_sorted_and_narrowed_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
