/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_desk_store.h - the store of a desk: what it is handed, and what it answers. */
#ifndef TESTS_UNIT_LEDGER_DESK_STORE_H
#define TESTS_UNIT_LEDGER_DESK_STORE_H

#include "ledger_desk.h"

/* What a source is given; `arg` is the desk. */
enum rc ledger_desk_submit(void *arg, struct batch *batch);
enum rc ledger_desk_ask(void *arg, const struct lookup_question *question, lookup_fn *fn,
                        void *fn_arg);
/* Keeps what is in a batch. */
void ledger_desk_commit(struct ledger_desk *desk, struct batch *batch);
/* Answers the question that was asked first. */
void ledger_desk_answer(struct ledger_desk *desk);

#endif
