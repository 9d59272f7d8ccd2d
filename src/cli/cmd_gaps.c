/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"

static const char usage[] =
    "usage: tidemark gaps [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Lists the intervals that were asked for and not delivered, newest first.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

int cmd_gaps(int argc, char **argv)
{
    static const struct table_column columns[] = {
        {"ID", "id", TABLE_NUMBER, 0},        {"SOURCE", "source", TABLE_TEXT, 24},
        {"STREAM", "stream", TABLE_TEXT, 24}, {"FROM", "from", TABLE_TIME, 0},
        {"TO", "to", TABLE_TIME, 0},          {"CLOSED", "closedAt", TABLE_TIME, 0},
        {"REASON", "reason", TABLE_TEXT, 60},
    };
    return listing_command(argc, argv, usage, "gaps", columns, sizeof columns / sizeof columns[0]);
}
