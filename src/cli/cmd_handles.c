/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"

static const char usage[] =
    "usage: tidemark handles [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Lists the open queries of the running daemon, the one used last first.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

int cmd_handles(int argc, char **argv)
{
    static const struct table_column columns[] = {
        {"HANDLE", "handle", TABLE_TEXT, 0},   {"COLLECTION", "collection", TABLE_TEXT, 32},
        {"STATE", "state", TABLE_TEXT, 0},     {"PAGES", "pages", TABLE_NUMBER, 0},
        {"SIZE", "pageSize", TABLE_NUMBER, 0}, {"IDLE S", "idleSeconds", TABLE_NUMBER, 0},
        {"SEQ", "seq", TABLE_NUMBER, 0},
    };
    return listing_member_command(argc, argv, usage, "/api/admin/handles", "handles", columns,
                                  sizeof columns / sizeof columns[0]);
}
