/* SPDX-License-Identifier: Apache-2.0
 *
 * target.h - what a command works on: the running daemon, or the store when none runs.
 *
 * The store of a running daemon is never opened: the daemon is asked over its socket. A store that
 * somebody writes who does not answer on our socket (a daemon on another machine, one that starts
 * or stops) is left alone, and its holder is named.
 *
 * Owner: the command. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "base/json.h"
#include "cli/settings.h"
#include "record_batch.h"
#include "store/store.h"

#define TARGET_SECONDS      60
#define TARGET_SECONDS_LONG 7200 /* for what reads the whole store */

struct target {
    struct settings settings;
    struct text socket;
    struct store *store; /* NULL while a daemon is asked */
    struct json_doc *doc;
    unsigned seconds_max; /* for the status; TARGET_SECONDS unless the command is in a hurry */
    bool foreign;         /* the daemon that was found has another store */
};

/* What a command understands beside the flags of all. */
struct target_words {
    const char *usage;
    const struct settings_flag *flags;
    void *arg; /* for the flags */
    int words_min, words_max;
};

/* Reads flags and configuration. False: the command ends with *code. True: argv[*first] is the
 * first word, and target_free() is due. */
must_check bool target_begin(struct target *target, const struct target_words *words, int argc,
                             char **argv, int *first, int *code);
void target_free(struct target *target);

/* RC_OK: a daemon is to be asked. RC_AGAIN: none runs. */
must_check enum rc target_find(struct target *target, struct err *err);
/* The same for what nobody but a daemon can do: RC_REJECT with a sentence when none runs. */
must_check enum rc target_demand(struct target *target, struct err *err);
/* Finds the daemon, or opens the store for reading: `store` is NULL when a daemon is to be asked.
 * May be called again to look anew. */
must_check enum rc target_open(struct target *target, struct err *err);
/* Opens the store for writing instead and becomes its one writer; after target_open() found no
 * daemon. */
must_check enum rc target_claim(struct target *target, struct store_position *position,
                                struct err *err);
/* The same, and commits what `fill` puts into a batch; false: it does not fit. */
must_check enum rc target_write(struct target *target, bool (*fill)(void *arg, struct batch *batch),
                                void *arg, struct err *err);
/* Only when a daemon is to be asked. RC_OK: `reply` is what it answered with status 200, or with
 * any status when `status` is given. One that has too much to do is asked again for some seconds.
 * RC_REJECT: it refused; the sentence is its own. */
must_check enum rc target_ask(struct target *target, const char *method, const char *path,
                              const char *body, unsigned seconds_max, int *status,
                              struct text *reply, struct err *err);
/* Asks for something to be done and parses the answer; `reply` takes its text, NULL: unwanted. */
must_check enum rc target_post(struct target *target, const char *path, const char *body,
                               unsigned seconds_max, struct text *reply, struct json *root,
                               struct err *err);
/* The status object, from either. */
must_check enum rc target_status(struct target *target, struct text *out, struct err *err);
/* Parses what was answered; its values last until the next parse. */
must_check enum rc target_parse(struct target *target, const struct text *json, struct json *root,
                                struct err *err);

/* Prints "tidemark: ..." on stderr; EXIT_FAILED. */
int target_fail(const struct err *err);
/* Writes data to stdout; EXIT_FAILED when it cannot be written. */
int target_put(const struct text *text);

#endif
