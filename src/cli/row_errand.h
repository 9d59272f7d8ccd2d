/* SPDX-License-Identifier: Apache-2.0
 *
 * row_errand.h - has the running daemon do something with one row that a listing shows.
 *
 * Only a daemon can do it: without one the command fails and says so.
 *
 * Owner: the command. */
#ifndef CLI_ROW_ERRAND_H
#define CLI_ROW_ERRAND_H

struct row_errand {
    const char *usage;
    const char *listing; /* the command that shows the ids */
    const char *path;    /* where the daemon takes it */
    const char *action;  /* NULL: the path says it */
    const char *done;    /* said behind the id */
};

/* A whole command; its one word is the id. */
int row_errand_command(int argc, char **argv, const struct row_errand *errand);

#endif
