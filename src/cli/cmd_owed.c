/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"
#include "cli/row_errand.h"

#include <string.h>

static const char usage[] =
    "usage: tidemark owed [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "       tidemark owed retry ID [-c FILE] [--set PATH=VALUE]...\n"
    "Lists what a cursor has passed and what is still to be fetched, newest first; what is given\n"
    "up is dead. `retry` has the running daemon try one again at once, owed or dead: a document of "
    "a\n"
    "chain, or a transaction of an account, which is imported for that.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

int cmd_owed(int argc, char **argv)
{
    static const struct row_errand retry = {.usage = usage,
                                            .listing = "owed",
                                            .path = "/api/admin/owed-retry",
                                            .done = "is tried again now"};
    if (argc > 1 && strcmp(argv[1], "retry") == 0)
        return row_errand_command(argc - 1, argv + 1, &retry);
    static const struct table_column columns[] = {
        {"ID", "id", TABLE_NUMBER, 0},        {"SOURCE", "source", TABLE_TEXT, 24},
        {"STREAM", "stream", TABLE_TEXT, 24}, {"ITEM", "item", TABLE_TEXT, 40},
        {"STATE", "state", TABLE_TEXT, 0},    {"TRIES", "attempts", TABLE_NUMBER, 0},
        {"NEXT", "nextAt", TABLE_TIME, 0},    {"REASON", "reason", TABLE_TEXT, 60},
    };
    return listing_command(argc, argv, usage, "owed", columns, sizeof columns / sizeof columns[0]);
}
