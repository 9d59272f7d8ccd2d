/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/listing.h"

static const char usage[] =
    "usage: tidemark providers [--json] [-c FILE] [--set PATH=VALUE]...\n"
    "Lists the upstreams of each source: which one is in use, how each fares, why one failed "
    "last.\n"
    "  -c FILE           the configuration; without it tidemark.yaml, if it is there\n"
    "  --set PATH=VALUE  one setting; may be repeated\n"
    "  --json            one JSON array\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

int cmd_providers(int argc, char **argv)
{
    static const struct table_column columns[] = {
        {"SOURCE", "source", TABLE_TEXT, 24},           {"PROVIDER", "name", TABLE_TEXT, 48},
        {"CIRCUIT", "state", TABLE_TEXT, 16},           {"IN USE", "current", TABLE_TEXT, 0},
        {"GOOD", "successes", TABLE_NUMBER, 0},         {"FAILED", "failures", TABLE_NUMBER, 0},
        {"ERRORS %", "error_percent", TABLE_NUMBER, 0}, {"MS", "latency_ms", TABLE_NUMBER, 0},
        {"LAST FAILURE", "reason", TABLE_TEXT, 60},     {"LAST CHOSEN", "chosen", TABLE_TEXT, 72},
    };
    return listing_member_command(argc, argv, usage, "/api/status", "providers", columns,
                                  sizeof columns / sizeof columns[0]);
}
