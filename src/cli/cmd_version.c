/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/settings.h"

#include <stdio.h>

int cmd_version(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        fputs("usage: tidemark version\n", stderr);
        return EXIT_USAGE;
    }
    return printf("tidemark %s\n", TIDEMARK_VERSION) > 0 ? EXIT_DONE : EXIT_FAILED;
}
