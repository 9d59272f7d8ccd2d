/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_account.h - one import of one account: a session and its streams.
 *
 *   the account and the session are stored; all streams are read, each on its own; when the last
 *   one has ended, the session is closed with what became of them.
 *
 * An extended public key is the account of a wallet: in place of streams of its own it has the
 * accounts of its addresses, and its session sums up theirs.
 *
 * Always holds: a session is completed only when every stream is. A session that a crash left
 * behind is closed by the next one of the account.
 *
 * Owner: whoever wants the import.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_ACCOUNT_H
#define SOURCE_LEDGER_ACCOUNT_H

#include "source/ledger_stream.h"

struct ledger_account;

struct ledger_account_options {
    const char *only;   /* the one provider that may be asked; NULL: all */
    int64_t since_us;   /* -1: from the beginning */
    uint32_t gap_limit; /* unused addresses in a row that end a wallet */
    const char *parent; /* the wallet it was derived from; NULL: none */
    const char *owed;   /* the item for which more is asked now, due or dead; NULL: what is due */
};

struct ledger_account_view {
    const char *name;
    const char *status;          /* of the session: "started", "completed", "failed", "cancelled" */
    enum ledger_outcome outcome; /* LEDGER_UNDECIDED: it is not over */
    int64_t started_us;
    size_t stream_count;
    char trouble[ERR_TEXT_MAX]; /* "": none */
};

/* `name` is PLATFORM:IDENTIFIER, or the platform alone where there is one account only. RC_REJECT:
 * nobody serves the platform, or the identifier is none of it. RC_FATAL: whoever does needs a key
 * that was not given. `ended` is called once, when the session is closed. */
must_check enum rc ledger_account_new(const struct source_env *env,
                                      struct ledger_providers *providers, struct bytes name,
                                      const struct ledger_account_options *options,
                                      void (*ended)(void *arg, struct ledger_account *account),
                                      void *arg, struct ledger_account **out, struct err *err);
/* The same about the name alone. */
must_check enum rc ledger_account_check(struct ledger_providers *providers, struct bytes name,
                                        int64_t now_us, struct err *err);
/* An import of an exported file, which is taken over also when it is refused. Of the options a time
 * and a provider count: RC_REJECT when the file is another's. */
must_check enum rc ledger_account_new_file(const struct source_env *env,
                                           struct ledger_providers *providers,
                                           struct ledger_file *file,
                                           const struct ledger_account_options *options,
                                           void (*ended)(void *arg, struct ledger_account *account),
                                           void *arg, struct ledger_account **out, struct err *err);
void ledger_account_start(struct ledger_account *account);
/* Stores what is under way and closes the session as cancelled. */
void ledger_account_stop(struct ledger_account *account);
void ledger_account_look(const struct ledger_account *account, struct ledger_account_view *view);
void ledger_account_look_stream(const struct ledger_account *account, size_t number,
                                struct ledger_stream_view *view);
void ledger_account_free(struct ledger_account *account);

#endif
