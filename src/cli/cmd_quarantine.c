/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"

static const char usage[] =
    "usage: tidemark quarantine [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Lists input that could not be used, with the reason, newest first; its bytes with --json.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

int cmd_quarantine(int argc, char **argv)
{
    static const struct table_column columns[] = {
        {"ID", "id", TABLE_NUMBER, 0},
        {"SOURCE", "source", TABLE_TEXT, 24},
        {"PROVIDER", "provider", TABLE_TEXT, 32},
        {"AT", "at", TABLE_TIME, 0},
        {"TIMES", "times", TABLE_NUMBER, 0},
        {"BYTES", "size", TABLE_NUMBER, 0},
        {"REASON", "reason", TABLE_TEXT, 60},
    };
    return listing_command(argc, argv, usage, "quarantine", columns,
                           sizeof columns / sizeof columns[0]);
}
