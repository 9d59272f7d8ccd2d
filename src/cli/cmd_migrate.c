/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/socket_client.h"
#include "cli/target.h"

#include <inttypes.h>
#include <stdio.h>

static const char usage[] =
    "usage: tidemark migrate [-c FILE] [--set PATH=VALUE]...\n"
    "Brings the store's schema to this program's version, making the store if it is not there.\n"
    "Each step is one transaction; a store that is newer than the program is left alone. A "
    "running\n"
    "daemon has done it when it started: then the two versions are compared.\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

static enum rc compare_with_daemon(struct target *target, struct err *err)
{
    struct text reply = {0};
    struct json root;
    struct bytes kind;
    int64_t schema = 0;
    enum rc rc = target_ask(target, "GET", "/api/status", NULL, TARGET_SECONDS, NULL, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(target, &reply, &root, err);
    text_free(&reply);
    if (rc != RC_OK)
        return rc;
    bool known = json_i64(json_pointer(root, "/store/schema"), &schema) &&
                 json_string(json_pointer(root, "/store/kind"), &kind);
    const struct store_ops *ops = known && bytes_equal_string(kind, store_sqlite_ops.name)
                                      ? &store_sqlite_ops
                                      : &store_postgres_ops;
    int newest = store_schema_newest(ops);
    if (!known || schema != newest)
        return err_set(err, RC_REJECT,
                       "the running daemon works with schema %" PRId64 ", this program with %d: "
                       "stop the daemon first",
                       schema, newest);
    fprintf(stderr, "the running daemon keeps the schema at version %d: nothing to do\n", newest);
    return RC_OK;
}

static enum rc migrate(struct target *target, struct err *err)
{
    unsigned applied;
    enum rc rc = store_open(target->settings.config.store.url, STORE_WRITE, &target->store, err);
    if (rc == RC_OK)
        rc = store_migrate(target->store, &applied, err);
    if (rc == RC_OK)
        fprintf(stderr, "the schema is at version %d: %u step%s applied\n",
                store_schema_newest(target->store->ops), applied, applied == 1 ? "" : "s");
    return rc;
}

int cmd_migrate(int argc, char **argv)
{
    const struct target_words words = {.usage = usage};
    struct target target;
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = socket_look(text_string(&target.socket), &err);
    if (rc == RC_OK)
        rc = compare_with_daemon(&target, &err);
    else if (rc == RC_AGAIN)
        rc = migrate(&target, &err);
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    target_free(&target);
    return code;
}
