/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"
#include "query/handle_roll.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <stdlib.h>

static const char usage[] =
    "usage: tidemark handles [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Lists the open queries, the newest first. One that is parked is on disk only and comes back\n"
    "when it is asked; without a running daemon all of them are.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

static const char *all_parked(const void *arg, const uint8_t name[HANDLE_NAME_SIZE])
{
    (void)arg, (void)name;
    return "parked";
}

static enum rc read_shelf(struct store *store, int64_t before, struct text *page, struct err *err)
{
    struct handle_roll *lines = memory_new_zeroed(1, sizeof *lines);
    struct json_writer writer;
    enum rc rc = handle_roll_read(store, before, lines, err);
    if (rc == RC_OK) {
        json_writer_init(&writer, page);
        json_begin_object(&writer);
        handle_roll_print(lines, clock_wall_us(), all_parked, NULL, &writer);
        json_end_object(&writer);
    }
    handle_roll_free(lines);
    free(lines);
    return rc;
}

static enum rc read_handles(void *arg, struct target *target, struct text *page, struct json *items,
                            bool *more, struct err *err)
{
    int64_t *before = arg;
    struct text path = {0};
    struct json root;
    text_appendf(&path, "/api/admin/handles?before=%" PRId64, *before);
    enum rc rc = target->store != NULL ? read_shelf(target->store, *before, page, err)
                                       : target_ask(target, "GET", text_string(&path), NULL,
                                                    TARGET_SECONDS, NULL, page, err);
    if (rc == RC_OK)
        rc = target_parse(target, page, &root, err);
    if (rc == RC_OK) {
        *items = json_get(root, "handles");
        *more = json_i64(json_get(root, "before"), before);
    }
    text_free(&path);
    return rc;
}

int cmd_handles(int argc, char **argv)
{
    static const struct table_column columns[] = {
        {"HANDLE", "handle", TABLE_TEXT, 0},      {"COLLECTION", "collection", TABLE_TEXT, 32},
        {"STATE", "state", TABLE_TEXT, 0},        {"PAGE", "page", TABLE_NUMBER, 0},
        {"SIZE", "pageSize", TABLE_NUMBER, 0},    {"SESSION", "session", TABLE_TEXT, 0},
        {"AGE S", "ageSeconds", TABLE_NUMBER, 0}, {"IDLE S", "idleSeconds", TABLE_NUMBER, 0},
        {"SEQ", "seq", TABLE_NUMBER, 0},
    };
    int64_t before = 0;
    return listing_read_command(argc, argv, usage, read_handles, &before, columns,
                                sizeof columns / sizeof columns[0]);
}
