/* SPDX-License-Identifier: Apache-2.0
 *
 * commands.h - the subcommands. argv[0] is the command's name; the answer is the exit code: 0 done,
 * 1 failed, 2 wrong usage. Data goes to stdout, words to stderr. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_backfill(int argc, char **argv);
int cmd_backup(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_connector(int argc, char **argv);
int cmd_digest(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_follows(int argc, char **argv);
int cmd_gaps(int argc, char **argv);
int cmd_handles(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_migrate(int argc, char **argv);
int cmd_migrate_follows(int argc, char **argv);
int cmd_owed(int argc, char **argv);
int cmd_providers(int argc, char **argv);
int cmd_quarantine(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_reconcile(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
