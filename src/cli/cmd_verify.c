/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/screen.h"
#include "cli/table.h"
#include "cli/target.h"
#include "ingest/cursor.h"
#include "store/verification.h"

#include <stdio.h>
#include <unistd.h>

#define CURSOR_BYTES 65536

static const char usage[] =
    "usage: tidemark verify [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Compares the store with its own rules, each by its name, and counts what breaks it. Nothing "
    "is\n"
    "changed.\n"
    "  --json            one JSON object: ok, and checks with name, failures and the first one\n"
    "Exit code: 0 all hold, 1 one does not or the store cannot be read, 2 wrong usage.\n";

static enum rc verify_store(struct target *target, struct text *reply, struct json *root,
                            struct err *err)
{
    struct verification verification;
    struct json_writer writer;
    struct json_doc *doc = json_doc_new(CURSOR_BYTES, JSON_DEPTH_MAX);
    enum rc rc = verification_run(target->store, cursor_state_check, doc, &verification, err);
    json_doc_free(doc);
    if (rc != RC_OK)
        return rc;
    json_writer_init(&writer, reply);
    json_begin_object(&writer);
    json_key(&writer, "success");
    json_put_bool(&writer, true);
    verification_print(&verification, &writer);
    json_end_object(&writer);
    text_append_char(reply, '\n');
    return target_parse(target, reply, root, err);
}

static void print_checks(struct json root, bool bold, struct text *out)
{
    static const struct table_column columns[] = {{"RESULT", NULL, TABLE_TEXT, 0},
                                                  {"CHECK", NULL, TABLE_TEXT, 0},
                                                  {"BROKEN", NULL, TABLE_NUMBER, 0},
                                                  {"FIRST", NULL, TABLE_TEXT, 0}};
    struct table table;
    struct json_walk walk = json_walk(json_get(root, "checks"));
    struct bytes key;
    struct json check;
    size_t failed = 0, count = 0;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (; json_walk_next(&walk, &key, &check); count++) {
        struct text number = {0};
        int64_t failures = 1;
        bool good = json_i64(json_get(check, "failures"), &failures) && failures == 0;
        json_print(json_get(check, "failures"), &number);
        failed += !good;
        table_add(&table, bytes_of(good ? "ok" : "FAILED"));
        table_add(&table, json_string_or_absent(json_get(check, "name")));
        table_add(&table, text_bytes(&number));
        table_add(&table, json_string_or_absent(json_get(check, "first")));
        text_free(&number);
    }
    table_print(&table, true, bold, out);
    table_deinit(&table);
    fprintf(stderr, "%zu checks, %zu failed\n", count, failed);
}

int cmd_verify(int argc, char **argv)
{
    static const struct settings_flag flags[] = {{.name = "json"}, {0}};
    bool json = false, good = false;
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &json};
    struct target target;
    struct text reply = {0}, out = {0};
    struct json root = {0};
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = target_open(&target, &err);
    if (rc == RC_OK)
        rc = target.store != NULL ? verify_store(&target, &reply, &root, &err)
                                  : target_post(&target, "/api/admin/verify", "{}",
                                                TARGET_SECONDS_LONG, &reply, &root, &err);
    if (rc == RC_OK && !json)
        print_checks(root, screen_obeys(STDOUT_FILENO), &out);
    code = rc == RC_OK ? target_put(json ? &reply : &out) : target_fail(&err);
    if (rc == RC_OK && (!json_bool(json_get(root, "ok"), &good) || !good))
        code = EXIT_FAILED;
    text_free(&reply);
    text_free(&out);
    target_free(&target);
    return code;
}
