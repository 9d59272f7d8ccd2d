/* SPDX-License-Identifier: Apache-2.0
 *
 * import_engine.h - imports accounts without a daemon: a loop, a writer and the ledger alone.
 *
 * The engine takes the store's lock, so no daemon and no second import runs meanwhile. A few
 * accounts are read at a time; the limits of a provider hold for all together.
 *
 * Owner: the command.  Thread: the main one, which runs the loop. */
#ifndef CLI_IMPORT_ENGINE_H
#define CLI_IMPORT_ENGINE_H

#include "cli/import_view.h"
#include "config.h"

struct import_engine;

struct import_watch {
    /* A few times a second, and once more when all are over. */
    void (*look)(void *arg, struct import_engine *engine);
    void *arg;
};

/* Reads the connectors; nothing is made or opened for writing yet, so that an import that cannot
 * begin (a name nobody knows, a key that is missing) leaves nothing behind. */
must_check enum rc import_engine_open(const struct config *config, struct import_engine **out,
                                      struct err *err);
/* `name` may be csv:PATH, an exported file. Codes as ledger_account_new. */
must_check enum rc import_engine_add(struct import_engine *engine, const char *name,
                                     const struct ledger_account_options *options, struct err *err);
/* After the accounts were added: opens the store, making it if need be, and takes its lock. */
must_check enum rc import_engine_start(struct import_engine *engine, const struct config *config,
                                       struct err *err);
/* Until all accounts are over, or a signal came and what was under way is stored. RC_OK: the store
 * took everything. */
must_check enum rc import_engine_run(struct import_engine *engine, const struct import_watch *watch,
                                     struct err *err);
size_t import_engine_count(const struct import_engine *engine);
const struct ledger_account *import_engine_account(const struct import_engine *engine,
                                                   size_t number);
bool import_engine_interrupted(const struct import_engine *engine);
int64_t import_engine_mono(const struct import_engine *engine);
/* Gives the store's lock back. */
void import_engine_close(struct import_engine *engine);

#endif
