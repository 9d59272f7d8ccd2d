/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/settings.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "usage: tidemark version\n"
                            "Prints the version of this program.\n"
                            "Exit code: 0 done, 2 wrong usage.\n";

int cmd_version(int argc, char **argv)
{
    bool help = argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);
    if (argc > 1) {
        fputs(usage, help ? stdout : stderr);
        return help ? EXIT_DONE : EXIT_USAGE;
    }
    return printf("tidemark %s\n", TIDEMARK_VERSION) > 0 ? EXIT_DONE : EXIT_FAILED;
}
