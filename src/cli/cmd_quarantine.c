/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"
#include "cli/row_errand.h"

#include <string.h>

#define PATH "/api/admin/quarantine"

static const char usage[] =
    "usage: tidemark quarantine [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "       tidemark quarantine retry|drop ID [-c FILE] [--set PATH=VALUE]...\n"
    "Lists input that could not be used, with the reason, newest first; its bytes with --json.\n"
    "`retry` has the running daemon take a message of the firehose once more, as if it came now;\n"
    "`drop` has it forget an input.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

int cmd_quarantine(int argc, char **argv)
{
    static const struct row_errand errands[] = {
        {usage, "quarantine", PATH, "retry", "was taken and is out of quarantine"},
        {usage, "quarantine", PATH, "drop", "is dropped"},
    };
    for (size_t i = 0; argc > 1 && i < sizeof errands / sizeof errands[0]; i++)
        if (strcmp(argv[1], errands[i].action) == 0)
            return row_errand_command(argc - 1, argv + 1, &errands[i]);
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
