/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_config.h - `tidemark config check|print|docs`.
 *
 * Data goes to stdout, words to stderr. Answers 0 when all is well, 1 when the configuration has
 * problems or the output cannot be written, 2 for a command line that makes no sense. */
#ifndef CLI_CMD_CONFIG_H
#define CLI_CMD_CONFIG_H

/* argv[0] is the command's own name. */
int cmd_config(int argc, char **argv);

#endif
