/* SPDX-License-Identifier: Apache-2.0
 *
 * commands.h - the subcommands. argv[0] is the command's name; the answer is the exit code: 0 done,
 * 1 failed, 2 wrong usage. Data goes to stdout, words to stderr. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_config(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
